#!/bin/sh
# Compares the library's exports with what each image's binaries import, and with what its own runtime exports.
# usage: tests/check_surface.sh IMAGE...
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/images.sh"
status=0
for image in $images; do
  docker run --rm --network none -v "$here:/softgpu:ro" "$image" sh -c '
    names() { nm -D "$@" 2> /dev/null | grep -o "hsa_[a-z0-9_]*@*[A-Z0-9_]*" | sort -u; }
    ours=$(mktemp) wanted=$(mktemp) real=$(mktemp)
    names --defined-only /softgpu/build/libhsa-runtime64.so.1 | grep "@@ROCR_1" | sed "s/@.*//" > "$ours"
    lib=/usr/lib/x86_64-linux-gnu
    for file in $lib/libamdhip64.so $lib/librocprofiler-register.so* $lib/libhipblaslt.so /usr/bin/rocminfo; do
      [ -e "$file" ] && names --undefined-only "$file"
    done | sed "s/@.*//" | sort -u > "$wanted"
    names --defined-only $lib/libhsa-runtime64.so.1 | sed "s/@.*//" | sort -u > "$real"
    missing=$(comm -23 "$wanted" "$ours") unknown=$(comm -23 "$real" "$ours")
    echo "imports $(wc -l < "$wanted"), missing: ${missing:-none}; real exports $(wc -l < "$real"), missing: ${unknown:-none}"
    [ -z "$missing$unknown" ]' | sed "s|^|$image: |" || status=1
done
exit $status
