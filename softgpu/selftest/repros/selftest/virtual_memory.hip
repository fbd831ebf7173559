// Virtual memory: reserve, create, map, open, use, close.
#include "check.hpp"

#if HIP_VERSION < 50400000
int main() { return skip("this HIP has no virtual memory"); }
#else
int main() {
  int supported = 0;
  if (hipDeviceGetAttribute(&supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0) !=
          hipSuccess ||
      !supported) {
    return skip("this HIP says that virtual memory is not supported");
  }
  hipMemAllocationProp prop = {};
  prop.type = hipMemAllocationTypePinned;
  prop.location.type = hipMemLocationTypeDevice;
  prop.location.id = 0;
  size_t grain = 0;
  NEED(hipMemGetAllocationGranularity(&grain, &prop, hipMemAllocationGranularityMinimum));
  CHECK(grain >= 4096 && grain % 4096 == 0);
  const size_t piece = (((size_t{1} << 20) + grain - 1) / grain) * grain;
  void* range = nullptr;
  NEED(hipMemAddressReserve(&range, 2 * piece, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t handles[2];
  for (int i = 0; i < 2; ++i) {
    NEED(hipMemCreate(&handles[i], piece, &prop, 0));
    NEED(hipMemMap(static_cast<char*>(range) + i * piece, piece, 0, handles[i], 0));
  }
  hipMemAccessDesc access = {};
  access.location = prop.location;
  access.flags = hipMemAccessFlagsProtReadWrite;
  NEED(hipMemSetAccess(range, 2 * piece, &access, 1));
  unsigned long long flags = 0;
  OK(hipMemGetAccess(&flags, &prop.location, range));
  CHECK(flags == hipMemAccessFlagsProtReadWrite);
  for (int i = 0; i < 2; ++i) {
    std::vector<unsigned char> in = noise(piece, 5 + i), out(piece);
    void* at = static_cast<char*>(range) + i * piece;
    OK(hipMemcpy(at, in.data(), piece, hipMemcpyHostToDevice));
    OK(hipMemcpy(out.data(), at, piece, hipMemcpyDeviceToHost));
    CHECK(in == out);
  }
  hipMemGenericAllocationHandle_t same;
  if (OK(hipMemRetainAllocationHandle(&same, range))) OK(hipMemRelease(same));
  hipMemAllocationProp back = {};
  OK(hipMemGetAllocationPropertiesFromHandle(&back, handles[0]));
  CHECK(back.location.id == 0 && back.location.type == hipMemLocationTypeDevice);
  for (int i = 0; i < 2; ++i) {
    OK(hipMemUnmap(static_cast<char*>(range) + i * piece, piece));
    OK(hipMemRelease(handles[i]));
  }
  OK(hipMemAddressFree(range, 2 * piece));
  return done();
}
#endif
