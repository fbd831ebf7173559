// The folders hip/hcc_detail and hip/nvcc_detail are gone since ROCm 6.0; they were other names of amd_detail and
// nvidia_detail. https://github.com/ROCm/clr/blob/rocm-6.0.2/CHANGELOG.md
#include HEADER
