#!/bin/sh
# Build one subject into main. Usage: sh build.sh SUBJECT GFX COMMON
set -eu
link=
# Since ROCm 7 the runtime compiler is a library of its own.
if [ "$1" = modules ] && [ -e /usr/lib/x86_64-linux-gnu/libhiprtc.so ]; then link=-lhiprtc; fi
# shellcheck disable=SC2086
exec hipcc --offload-arch="$2" -O1 -Wno-unused-result -I"$3" -o main "$1.hip" $link
