#!/bin/sh
# Two answers to one question.
while read -r line; do printf '{"id":1,"error":"no"}\n{"id":1,"error":"no"}\n'; done
