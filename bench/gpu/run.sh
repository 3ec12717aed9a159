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
# Packages that are installed are preferred. mosec looks for its program in the folders of the interpreter and the user.
for package in grpc:grpcio mosec:mosec; do
  if ! "$python" -c "import ${package%:*}" 2>/dev/null; then
    "$python" -m pip install --quiet --disable-pip-version-check --no-index \
      --find-links "${WHEELS:-$carry/wheels}" --target "$work/wheels" "${package#*:}" ||
      echo "no ${package#*:} for this Python" >&2
  fi
done
mkdir -p "$work/user"
ln -s ../wheels/bin "$work/user/bin"
export PYTHONPATH="$work/wheels${PYTHONPATH:+:$PYTHONPATH}" PYTHONUSERBASE="$work/user"
"$node" --version
"$node" "$here/src/main.mjs" --python "$python" --batchwise "$batchwise" "$@"
