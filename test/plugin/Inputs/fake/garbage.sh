#!/bin/sh
# Answers what is no JSON.
while read -r line; do echo 'warning: }{'; done
