#!/bin/sh
# Compiles tests/abi_check.cpp against the HSA headers of each image.
# usage: tests/check_abi.sh IMAGE...
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/images.sh"
status=0
for image in $images; do
  if docker run --rm --network none -v "$here:/softgpu:ro" "$image" sh -c '
    compiler=$(ls /usr/bin/clang++-[0-9]* | tail -n 1)
    "$compiler" -std=c++17 -fsyntax-only -I/softgpu/src /softgpu/tests/abi_check.cpp'; then
    echo "$image: the HSA headers agree"
  else
    echo "$image: the HSA headers DISAGREE"
    status=1
  fi
done
exit $status
