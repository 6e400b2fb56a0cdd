#!/bin/sh
# Says why it cannot.
while read -r line; do echo '{"id":1,"error":"cannot parse it: libclang crashed"}'; done
