#!/bin/sh
# Fails when an image's libamdhip64 brings a blit kernel whose name or arguments the library does not emulate.
# The sources of the blit kernels are plain strings in libamdhip64, declarations included.
# usage: tests/check_blits.sh IMAGE...
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/tests/images.sh"
known=$(mktemp)
trap 'rm -f "$known"' EXIT
# {"name", "argument names", function} in the tables of the sources, joined where a line was broken.
cat "$here"/src/blits_linear.cpp "$here"/src/blits_stream.cpp "$here"/src/blits_image.cpp | tr '\n' ' ' | sed 's/" *"//g' |
  grep -o '{"[A-Za-z0-9]*", *"[A-Za-z0-9_ ]*", *[a-z_0-9]*}' |
  sed 's/^{"\([A-Za-z0-9]*\)", *"\([A-Za-z0-9_ ]*\)".*/\1 \2/' | sort -u > "$known"
status=0
for image in $images; do
  found=$(docker run --rm --network none "$image" sh -c '
    strings -n 200 /usr/lib/x86_64-linux-gnu/libamdhip64.so' |
    grep -o '__kernel void __amd_rocclr_[A-Za-z0-9]* *([^)]*)' |
    sed 's/__kernel void __amd_rocclr_\([A-Za-z0-9]*\) *(\([^)]*\))/\1,\2/' |
    awk -F, '{ line = $1; for (i = 2; i <= NF; ++i) { n = split($i, w, /[ *]+/); line = line " " w[n] } print line }' |
    sort -u)
  [ -n "$found" ] || { echo "$image: no blit kernels found: are they stored otherwise now?"; status=1; }
  unknown=$(echo "$found" | grep -vxF -f "$known")
  if [ -n "$unknown" ]; then
    echo "$image: unknown blit kernels:"
    echo "$unknown" | sed 's/^/  /'
    status=1
  else
    echo "$image: $(echo "$found" | wc -l) blit kernels, all known"
  fi
done
exit $status
