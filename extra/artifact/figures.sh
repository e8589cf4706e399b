#!/bin/sh
# Makes the figures, the report and the tables of data/ again, in figures/, with the program
# of source/. It needs Go and no network. The tables must be the authors', to the byte.
set -eu
cd -- "$(dirname -- "$0")"
env GOFLAGS= GOWORK=off source/run-cluster.sh --version >&2 # builds the programs
source/bin/kvsplot -out figures data >&2
source/bin/kvsplot export --out figures/tables data >&2
if [ -f tables.sha256 ]; then
  (cd figures/tables && sha256sum -c ../../tables.sha256)
fi
