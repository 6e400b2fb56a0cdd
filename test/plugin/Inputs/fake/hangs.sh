#!/bin/sh
# Reads the request and says nothing.
read -r line
exec sleep 600
