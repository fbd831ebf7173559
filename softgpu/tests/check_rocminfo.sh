#!/bin/sh
# rocminfo of each image prints the software GPU. It wants to see a loaded driver first, so it is shown one.
# usage: tests/check_rocminfo.sh IMAGE...
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/images.sh"
status=0
for image in $images; do
  docker run --rm --network none --device /dev/null:/dev/kfd -v "$here:/softgpu:ro" \
    -v "$here/tests/rocminfo/sys-module:/sys/module:ro" -e PATH=/softgpu/tests/rocminfo:/usr/bin:/bin -e USER=root \
    -e LD_LIBRARY_PATH=/softgpu/build "$image" rocminfo 2>&1 |
    awk -v image="$image" '/amdgcn-amd-amdhsa--/ { isa = $2 } /Done/ { done = 1 }
      END { print image ": " (done && isa ? "rocminfo sees " isa : "rocminfo FAILED"); exit !(done && isa) }' || status=1
done
exit $status
