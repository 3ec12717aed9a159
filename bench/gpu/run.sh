#!/bin/sh
# Measures on a machine with an NVIDIA GPU, PyTorch and Python: run.sh [options], --help lists them. Takes Node, the
# batchwise command and grpcio from bench/gpu/carry (pack.sh makes it) where it is there, and what is installed
# where it is not. Nothing is fetched.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
carry=${CARRY:-$here/carry}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node=node
batchwise=$here/../../packages/cli/bin/batchwise.js
python=${PYTHON:-python3}

# Python unpacks it: xz itself may be missing.
unpack='import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), open(sys.argv[2], "wb"))'
for packed in "$carry"/node-*.xz; do
  if [ -f "$packed" ]; then
    "$python" -c "$unpack" "$packed" "$work/node"
    chmod +x "$work/node"
    node=$work/node
  fi
done
if [ -f "$carry/batchwise.tar.xz" ]; then
  "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$carry/batchwise.tar.xz" "$work" 2>/dev/null
  batchwise=$work/batchwise/node_modules/@batchwise/cli/bin/batchwise.js
fi
# One that is installed is preferred.
if ! "$python" -c 'import grpc' 2>/dev/null; then
  for wheel in "${WHEELS:-$carry/wheels}"/*.whl; do
    if [ -f "$wheel" ]; then "$python" -m zipfile -e "$wheel" "$work/wheels"; fi
  done
  export PYTHONPATH="$work/wheels${PYTHONPATH:+:$PYTHONPATH}"
  "$python" -c 'import grpc; print("grpcio", grpc.__version__)' || echo 'no grpcio for this Python: HTTP only' >&2
fi
"$node" --version
"$node" "$here/src/main.mjs" --python "$python" --batchwise "$batchwise" "$@"
