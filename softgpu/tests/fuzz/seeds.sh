#!/bin/sh
# Makes seeds for the fuzz targets: a code object that the image's own compiler wrote. Run it in an
# image, then `make fuzz`.
# usage: seeds.sh output-folder
set -eu
mkdir -p "$1"
source=$(mktemp --suffix=.hip)
cat > "$source" << 'END'
#include <hip/hip_runtime.h>
__device__ int variable = 3;
__device__ int* pointer = &variable;
__global__ void first(int* out, const float* in, int n) { if (threadIdx.x < n) out[threadIdx.x] = in[0] + variable; }
__global__ void second(float4 v, char c, double* d) { __shared__ int s[64]; s[threadIdx.x] = c; d[0] = v.x + s[0]; }
END
bundler=$(ls /usr/bin/clang-offload-bundler-[0-9]* | tail -n 1)
for arch in gfx90a gfx1030; do
  hipcc --genco --offload-arch=$arch -O1 -o "$source.co" "$source"
  target=$("$bundler" --list --type=o --input="$source.co" | grep "$arch")
  "$bundler" --type=o --unbundle --input="$source.co" --targets="$target" --output="$1/$arch.co"
done
rm -f "$source" "$source.co"
