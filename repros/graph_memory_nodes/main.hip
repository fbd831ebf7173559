// Graphs can allocate and free memory, and be drawn, since ROCm 5.5.
// https://rocm.docs.amd.com/projects/HIPIFY/en/latest/tables/CUDA_Runtime_API_functions_supported_by_HIP.html
#include <hip/hip_runtime_api.h>

void* const address = reinterpret_cast<void*>(&FUNCTION);
