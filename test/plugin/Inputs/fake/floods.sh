#!/bin/sh
# One line without an end.
read -r line
exec cat /dev/zero
