#!/bin/sh
# Build main.hip into main with the functions of hiprtc: from libhiprtc where it exists, else from libamdhip64, which
# held them before ROCm 7. Usage: sh build_hiprtc.sh
set -eu
common=$(dirname "$0")
hipcc --offload-arch=gfx90a --cuda-host-only -c main.hip -o main.o -I"$common"
hipcc main.o -o main -lhiprtc 2>/dev/null || hipcc main.o -o main
