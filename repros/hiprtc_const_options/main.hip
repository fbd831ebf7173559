// hiprtcCompileProgram takes its options as `const char* const*` since ROCm 7.0, as nvrtcCompileProgram does.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hiprtc.h>

using Const = const char* const*;
using Plain = const char**;

hiprtcResult compile(hiprtcProgram program, OPTIONS options) { return hiprtcCompileProgram(program, 1, options); }
