// Devices and their attributes: what must hold on every card.
#include "check.hpp"

// `name` is gfx90a:sramecc+:xnack-, `chip` what SOFTGPU_GFX says: a gfx name, alone or before a dash, or another
// alias.
static bool is_chip(const char* name, const char* chip) {
  if (std::strncmp(chip, "gfx", 3) != 0) return true;
  const size_t length = std::strcspn(chip, "-");
  return std::strncmp(name, chip, length) == 0 && (name[length] == 0 || name[length] == ':');
}

int main() {
  int count = 0;
  NEED(hipInit(0));
  NEED(hipGetDeviceCount(&count));
  const char* wanted = std::getenv("SOFTGPU_GPUS");
  CHECK(wanted ? count == std::atoi(wanted) : count >= 1);
  for (int device = 0; device < count; ++device) {
    hipDeviceProp_t p;
    NEED(hipGetDeviceProperties(&p, device));
    CHECK(p.name[0] != 0);
    CHECK(std::strncmp(p.gcnArchName, "gfx", 3) == 0);
    if (on_software_gpu()) CHECK(is_chip(p.gcnArchName, std::getenv("SOFTGPU_GFX")));
    const bool rdna = std::strncmp(p.gcnArchName, "gfx1", 4) == 0;
    CHECK(p.warpSize == (rdna ? 32 : 64));
    CHECK(p.maxThreadsPerBlock == 1024);
    CHECK(p.maxThreadsDim[0] == 1024 && p.maxThreadsDim[1] == 1024 && p.maxThreadsDim[2] == 1024);
    // The LDS of a compute unit: https://llvm.org/docs/AMDGPUUsage.html
    CHECK(p.sharedMemPerBlock == (std::strncmp(p.gcnArchName, "gfx950", 6) == 0 ? 163840 : 65536));
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
