// Devices and their attributes: what must hold on every card.
#include "check.hpp"

int main() {
  int count = 0;
  NEED(hipInit(0));
  NEED(hipGetDeviceCount(&count));
  const char* wanted = std::getenv("SOFTGPU_GPUS");
  CHECK(count == (wanted ? std::atoi(wanted) : 1));
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t p;
    NEED(hipGetDeviceProperties(&p, device));
    CHECK(p.name[0] != 0);
    CHECK(std::strncmp(p.gcnArchName, "gfx", 3) == 0);
    const bool rdna = std::strncmp(p.gcnArchName, "gfx1", 4) == 0;
    CHECK(p.warpSize == (rdna ? 32 : 64));
    CHECK(p.maxThreadsPerBlock == 1024);
    CHECK(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[1] == 1024 && p.maxThreadsDim[2] == 1024);
    CHECK(p.sharedMemPerBlock == 65536);
    CHECK(p.totalGlobalMem > 0 && p.multiProcessorCount > 0 && p.clockRate > 0);
    int value = 0;
    OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, device));
    CHECK(value == p.warpSize);
    OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMaxThreadsPerBlock, device));
    CHECK(value == 1024);
    OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, device));
    CHECK(value == p.multiProcessorCount);
    NEED(hipSetDevice(device));
    int current = -1;
    OK(hipGetDevice(&current));
    CHECK(current == device);
    size_t free_bytes = 0, total = 0;
    OK(hipMemGetInfo(&free_bytes, &total));
    CHECK(free_bytes > 0 && free_bytes <= total && total == p.totalGlobalMem);
    char bus[32] = {};
    OK(hipDeviceGetPCIBusId(bus, sizeof bus, device));
    int again = -1;
    OK(hipDeviceGetByPCIBusId(&again, bus));
    CHECK(again == device);
    hipDevice_t handle;
    OK(hipDeviceGet(&handle, device));
    size_t memory = 0;
    OK(hipDeviceTotalMem(&memory, handle));
    CHECK(memory == p.totalGlobalMem);
  }
  int version = 0;
  OK(hipRuntimeGetVersion(&version));
  CHECK(version > 0);
  GIVES(hipSetDevice(count), hipErrorInvalidDevice);
  (void)hipGetLastError();
  hipDeviceProp_t p;
  GIVES(hipGetDeviceProperties(&p, count), hipErrorInvalidDevice);
  OK(hipDeviceSynchronize());
  return done();
}
