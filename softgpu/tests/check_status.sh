#!/bin/sh
# Fails when an image's own runtime has a text for a status that the library words otherwise, or not at all.
# usage: tests/check_status.sh IMAGE...     (run `make` first)
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/images.sh"
status=0
for image in $images; do
  docker run --rm --network none -v "$here:/softgpu:ro" --tmpfs /tmp:exec "$image" sh -c '
    compiler=$(ls /usr/bin/clang-[0-9]* | tail -n 1)
    "$compiler" -o /tmp/texts /softgpu/tests/status_texts.c -lhsa-runtime64 || exit 1
    /tmp/texts > /tmp/real
    LD_LIBRARY_PATH=/softgpu/build /tmp/texts > /tmp/ours
    grep -vxF -f /tmp/ours /tmp/real && exit 1
    echo "$(wc -l < /tmp/real) status texts, all alike"' | sed "s|^|$image: |" > /tmp/status.$$
  cat /tmp/status.$$
  grep -q 'all alike$' /tmp/status.$$ || status=1
  rm -f /tmp/status.$$
done
exit $status
