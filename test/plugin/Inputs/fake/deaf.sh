#!/bin/sh
# Reads nothing at all.
exec sleep 600
