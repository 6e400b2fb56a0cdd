#!/bin/sh
# Dies on the first request, as libclang does at times.
read -r line
kill -SEGV $$
