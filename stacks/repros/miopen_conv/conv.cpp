// A 3 x 3 convolution of 3 channels to N, 32 x 32 pixels, forward, through MIOpen's C interface: find, then run.
// It is what torch.nn.functional.conv2d asks MIOpen for.
#include <hip/hip_runtime_api.h>
#include <miopen/miopen.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "repro.h"

namespace {

constexpr int kPixels = 32, kInputs = 3, kSide = 3;
constexpr int kWanted = 4;

using Clock = std::chrono::steady_clock;

void check(const char* call, int status) {
  if (status == 0) return;
  const std::string signature = std::string(call) + " returned " + std::to_string(status);
  fprintf(stderr, "%s\n", signature.c_str());
  repro_signature(signature.c_str());
  exit(1);
}
#define CHECK(call, ...) check(#call, static_cast<int>(call(__VA_ARGS__)))

void report(const char* name, Clock::time_point since) {
  repro_metric(name, std::chrono::duration<double, std::milli>(Clock::now() - since).count(), "ms");
}

struct Tensor {
  Tensor(int n, int c, int h, int w) {
    const size_t bytes = sizeof(float) * n * c * h * w;
    CHECK(hipMalloc, &data, bytes);
    CHECK(hipMemset, data, 0, bytes);
    CHECK(miopenCreateTensorDescriptor, &shape);
    CHECK(miopenSet4dTensorDescriptor, shape, miopenFloat, n, c, h, w);
  }
  void* data = nullptr;
  miopenTensorDescriptor_t shape = nullptr;
};

void convolve(int outputs) {
  miopenHandle_t handle = nullptr;
  CHECK(miopenCreate, &handle);
  Tensor x(1, kInputs, kPixels, kPixels), w(outputs, kInputs, kSide, kSide), y(1, outputs, kPixels, kPixels);
  miopenConvolutionDescriptor_t convolution = nullptr;
  CHECK(miopenCreateConvolutionDescriptor, &convolution);
  CHECK(miopenInitConvolutionDescriptor, convolution, miopenConvolution, 1, 1, 1, 1, 1, 1);

  const auto start = Clock::now();
  size_t size = 0;
  CHECK(miopenConvolutionForwardGetWorkSpaceSize, handle, w.shape, x.shape, convolution, y.shape, &size);
  void* workspace = nullptr;
  if (size != 0) CHECK(hipMalloc, &workspace, size);
  int found = 0;
  miopenConvAlgoPerf_t best[kWanted];
  CHECK(miopenFindConvolutionForwardAlgorithm, handle, x.shape, x.data, w.shape, w.data, convolution, y.shape, y.data,
        kWanted, &found, best, workspace, size, false);
  report("find", start);
  if (found < 1) check("miopenFindConvolutionForwardAlgorithm found nothing: it", 1);

  const auto run = Clock::now();
  const float one = 1, zero = 0;
  CHECK(miopenConvolutionForward, handle, &one, x.shape, x.data, w.shape, w.data, convolution, best[0].fwd_algo, &zero,
        y.shape, y.data, workspace, size);
  CHECK(hipDeviceSynchronize);
  report("run", run);
}

}  // namespace

int main(int argc, char** argv) {
  const int outputs = argc == 2 ? atoi(argv[1]) : 0;
  if (outputs < 1) {
    fprintf(stderr, "usage: conv OUTPUT_CHANNELS\n");
    return REPRO_BROKEN;
  }
  int devices = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess || devices == 0) {
    printf("no device\n");
    return REPRO_SKIP;
  }
  convolve(outputs);
  return 0;
}
