// Copies: all directions, odd sizes and offsets, pinned and pageable, 2D and 3D, synchronous and not.
#include "check.hpp"

static void linear() {
  const size_t room = 9 << 20;
  char *a = nullptr, *b = nullptr;
  OK(hipMalloc(reinterpret_cast<void**>(&a), room));
  OK(hipMalloc(reinterpret_cast<void**>(&b), room));
  for (size_t size : {size_t{1}, size_t{3}, size_t{4}, size_t{15}, size_t{17}, size_t{255}, size_t{4096},
                      size_t{65537}, (size_t{1} << 20) + 13, (size_t{8} << 20) + 5}) {
    for (size_t offset : {size_t{0}, size_t{1}, size_t{4}, size_t{333}}) {
      std::vector<unsigned char> in = noise(size, static_cast<unsigned>(size + offset)), out(size + 2, 0xEE);
      OK(hipMemset(b, 0xCC, room));
      OK(hipMemcpy(a + offset, in.data(), size, hipMemcpyHostToDevice));
      OK(hipMemcpy(b + offset, a + offset, size, hipMemcpyDeviceToDevice));
      OK(hipMemcpy(out.data() + 1, b + offset, size, hipMemcpyDeviceToHost));
      CHECK(std::memcmp(in.data(), out.data() + 1, size) == 0);
      CHECK(out.front() == 0xEE && out.back() == 0xEE);
      unsigned char after = 0;
      OK(hipMemcpy(&after, b + offset + size, 1, hipMemcpyDeviceToHost));
      CHECK(after == 0xCC);
    }
  }
  OK(hipFree(a));
  OK(hipFree(b));
}

static void asynchronous() {
  const size_t size = 3 << 20;
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  unsigned char *pinned = nullptr, *device = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), size, hipHostMallocDefault));
  OK(hipMalloc(reinterpret_cast<void**>(&device), size));
  std::vector<unsigned char> in = noise(size);
  std::memcpy(pinned, in.data(), size);
  OK(hipMemcpyAsync(device, pinned, size, hipMemcpyHostToDevice, stream));
  OK(hipStreamSynchronize(stream));
  std::memset(pinned, 0, size);
  OK(hipMemcpyAsync(pinned, device, size, hipMemcpyDefault, stream));
  OK(hipStreamSynchronize(stream));
  CHECK(std::memcmp(pinned, in.data(), size) == 0);
  std::vector<unsigned char> pageable(size);
  OK(hipMemcpyAsync(pageable.data(), device, size, hipMemcpyDeviceToHost, stream));
  OK(hipStreamSynchronize(stream));
  CHECK(pageable == in);
  OK(hipMemcpyDtoH(pageable.data(), device + 1, 1000));
  CHECK(std::memcmp(pageable.data(), in.data() + 1, 1000) == 0);
  OK(hipFree(device));
  OK(hipHostFree(pinned));
  OK(hipStreamDestroy(stream));
}

static void rectangles() {
  const size_t width = 250, height = 33, host_pitch = 300;
  std::vector<unsigned char> in = noise(host_pitch * height), out(host_pitch * height, 0);
  void* device = nullptr;
  size_t pitch = 0;
  OK(hipMallocPitch(&device, &pitch, width, height));
  OK(hipMemcpy2D(device, pitch, in.data(), host_pitch, width, height, hipMemcpyHostToDevice));
  OK(hipMemcpy2D(out.data(), host_pitch, device, pitch, width, height, hipMemcpyDeviceToHost));
  bool same = true, untouched = true;
  for (size_t y = 0; y < height; ++y) {
    same &= std::memcmp(&in[y * host_pitch], &out[y * host_pitch], width) == 0;
    for (size_t x = width; x < host_pitch; ++x) untouched &= out[y * host_pitch + x] == 0;
  }
  CHECK(same);
  CHECK(untouched);
  void* second = nullptr;
  size_t second_pitch = 0;
  OK(hipMallocPitch(&second, &second_pitch, width, height));
  OK(hipMemcpy2D(second, second_pitch, device, pitch, width, height, hipMemcpyDeviceToDevice));
  std::fill(out.begin(), out.end(), 0);
  OK(hipMemcpy2D(out.data(), host_pitch, second, second_pitch, width, height, hipMemcpyDeviceToHost));
  same = true;
  for (size_t y = 0; y < height; ++y)
    same &= std::memcmp(&in[y * host_pitch], &out[y * host_pitch], width) == 0;
  CHECK(same);
  CHECK(hipMemcpy2D(device, width - 1, in.data(), host_pitch, width, height, hipMemcpyHostToDevice) !=
        hipSuccess);
  (void)hipGetLastError();
  OK(hipFree(device));
  OK(hipFree(second));
}

static void boxes() {
  const size_t w = 36, h = 7, d = 5;
  std::vector<unsigned char> in = noise(w * h * d), out(w * h * d, 0);
  hipPitchedPtr box;
  OK(hipMalloc3D(&box, make_hipExtent(w, h, d)));
  hipMemcpy3DParms p = {};
  p.srcPtr = make_hipPitchedPtr(in.data(), w, w, h);
  p.dstPtr = box;
  p.extent = make_hipExtent(w, h, d);
  p.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&p));
  p.srcPtr = box;
  p.dstPtr = make_hipPitchedPtr(out.data(), w, w, h);
  p.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&p));
  CHECK(in == out);
  OK(hipFree(box.ptr));
}

#if HIP_VERSION >= 71500000  // HIP 7.1 and 7.2 declare it, and say that it is not supported
// Several copies by one call, of sizes with and without remainders, in all directions.
static void batch() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  const size_t room = 1 << 20;
  unsigned char *a = nullptr, *b = nullptr, *pinned = nullptr;
  OK(hipMalloc(reinterpret_cast<void**>(&a), room));
  OK(hipMalloc(reinterpret_cast<void**>(&b), room));
  OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), 2 * room, hipHostMallocDefault));
  std::vector<unsigned char> in = noise(room), out(room);
  std::memcpy(pinned, in.data(), room);
  size_t sizes[] = {100000, 3, 65536, 4099}, first[] = {0, 200000, 300001, 500004};
  hipMemcpyAttributes attributes = {};
  attributes.srcAccessOrder = hipMemcpySrcAccessOrderStream;
  size_t index = 0, failed = 0;
  auto all = [&](unsigned char* to, unsigned char* from) {
    void *targets[4], *sources[4];
    for (int i = 0; i < 4; ++i) {
      targets[i] = to + first[i];
      sources[i] = from + first[i];
    }
    OK(hipMemcpyBatchAsync(targets, sources, sizes, 4, &attributes, &index, 1, &failed, stream));
  };
  OK(hipMemsetAsync(a, 0, room, stream));
  OK(hipMemsetAsync(b, 0, room, stream));
  all(a, pinned);
  all(b, a);
  all(pinned + room, b);
  OK(hipStreamSynchronize(stream));
  OK(hipMemcpy(out.data(), b, room, hipMemcpyDeviceToHost));
  std::vector<unsigned char> wanted(room, 0);
  for (int i = 0; i < 4; ++i) {
    std::memcpy(&wanted[first[i]], &in[first[i]], sizes[i]);
    CHECK(std::memcmp(pinned + room + first[i], &in[first[i]], sizes[i]) == 0);
  }
  CHECK(out == wanted);
  OK(hipFree(a));
  OK(hipFree(b));
  OK(hipHostFree(pinned));
  OK(hipStreamDestroy(stream));
}
#else
static void batch() {}
#endif

int main() {
  linear();
  asynchronous();
  if (pitch_works()) rectangles();
  if (pitch_works()) boxes();
  batch();
  return done();
}
