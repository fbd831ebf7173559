#!/bin/sh
# Build main.hip for the GPUs that this compiler knows. Usage: sh build.sh HELPER_FOLDER
set -eu
old="gfx906 gfx908 gfx90a gfx1030"
for newer in "gfx942 gfx1100 gfx1201" "gfx942 gfx1100" "gfx1100" ""; do
    archs=
    for arch in $old $newer; do archs="$archs --offload-arch=$arch"; done
    # shellcheck disable=SC2086 # one word for each architecture
    hipcc $archs -std=c++17 -O1 main.hip -o main -I"$1" && exit 0
done
exit 1
