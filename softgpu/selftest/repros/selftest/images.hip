// Arrays and textures: what is copied in comes out. Chips without image instructions refuse them.
#include "check.hpp"

int main() {
  int supported = 0;
  NEED(hipDeviceGetAttribute(&supported, hipDeviceAttributeImageSupport, 0));
  if (!supported) return skip("this chip has no images");
  const size_t width = 100, height = 31;
  std::vector<float> in(width * height), out(width * height, -1);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  hipChannelFormatDesc format = hipCreateChannelDesc<float>();
  hipArray_t array;
  NEED(hipMallocArray(&array, &format, width, height, hipArrayDefault));
  OK(hipMemcpy2DToArray(array, 0, 0, in.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
  OK(hipMemcpy2DFromArray(out.data(), width * 4, array, 0, 0, width * 4, height, hipMemcpyDeviceToHost));
  CHECK(in == out);
  hipResourceDesc resource = {};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = array;
  hipTextureDesc texture = {};
  texture.readMode = hipReadModeElementType;
  hipTextureObject_t object = nullptr;
  OK(hipCreateTextureObject(&object, &resource, &texture, nullptr));
  OK(hipDestroyTextureObject(object));
  OK(hipFreeArray(array));

  format = hipCreateChannelDesc<uchar4>();
  NEED(hipMalloc3DArray(&array, &format, make_hipExtent(20, 10, 6), hipArrayDefault));
  std::vector<unsigned char> box = noise(20 * 10 * 6 * 4), back(box.size(), 0);
  hipMemcpy3DParms p = {};
  p.srcPtr = make_hipPitchedPtr(box.data(), 80, 20, 10);
  p.dstArray = array;
  p.extent = make_hipExtent(20, 10, 6);
  p.kind = hipMemcpyHostToDevice;
  OK(hipMemcpy3D(&p));
  hipMemcpy3DParms q = {};
  q.srcArray = array;
  q.dstPtr = make_hipPitchedPtr(back.data(), 80, 20, 10);
  q.extent = make_hipExtent(20, 10, 6);
  q.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&q));
  CHECK(box == back);
  OK(hipFreeArray(array));
  return done();
}
