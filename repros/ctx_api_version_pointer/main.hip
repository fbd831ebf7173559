// hipCtxGetApiVersion writes to an `unsigned int*` since ROCm 7.0; before it was an `int*`.
// https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <hip/hip_runtime_api.h>

#ifdef INT
hipError_t ask(hipCtx_t context, int* version) { return hipCtxGetApiVersion(context, version); }
#else
hipError_t ask(hipCtx_t* context) { return hipCtxGetCurrent(context); }
#endif
