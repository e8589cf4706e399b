#!/bin/sh
# Measures the run of data/ again, on this machine or on the nodes that the flags name, and says
# whether its figures are as they were. --quick shows in minutes that everything works, and
# compares nothing. Flags: see README.md.
set -eu
cd -- "$(dirname -- "$0")/source"
exec env GOFLAGS= GOWORK=off ./run-cluster.sh rerun ../data "$@"
