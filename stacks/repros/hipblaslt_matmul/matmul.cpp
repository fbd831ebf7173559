// Multiply two 128 x 128 fp16 matrices with hipBLASLt's C interface. Say which call failed, time the others.
//
//   matmul once       one heuristic, one product
//   matmul implicit   one product without an algorithm: the library asks its heuristic by itself
//   matmul null       one product whose A is a null pointer; succeeds when the library refuses it
//   matmul times      the host's cost of a heuristic and of a product, over many calls
#include <hip/hip_runtime_api.h>
#include <hipblaslt/hipblaslt.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "repro.h"

namespace {

constexpr int64_t kSide = 128;
constexpr size_t kBytes = kSide * kSide * sizeof(uint16_t);
constexpr uint64_t kWorkspaceLimit = 32 << 20;
constexpr int kWarmUp = 10;
constexpr int kCalls = 1000;

[[noreturn]] void fail(const char* call, int status) {
  const std::string signature = std::string(call) + " returned " + std::to_string(status);
  fprintf(stderr, "%s\n", signature.c_str());
  repro_signature(signature.c_str());
  exit(1);
}

void check(const char* call, int status) {
  if (status != 0) fail(call, status);
}
#define CHECK(call, ...) check(#call, static_cast<int>(call(__VA_ARGS__)))

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::micro>(Clock::now() - since).count();
}

class Product {
 public:
  Product() {
    CHECK(hipStreamCreate, &stream_);
    for (void** matrix : {&a_, &b_, &c_}) {
      CHECK(hipMalloc, matrix, kBytes);
      CHECK(hipMemset, *matrix, 0, kBytes);
    }
    CHECK(hipMalloc, &workspace_, kWorkspaceLimit);
    const auto start = Clock::now();
    CHECK(hipblasLtCreate, &handle_);
    create_us = microseconds(start);
    CHECK(hipblasLtMatrixLayoutCreate, &layout_, HIP_R_16F, kSide, kSide, kSide);
    CHECK(hipblasLtMatmulDescCreate, &product_, HIPBLAS_COMPUTE_32F, HIP_R_32F);
    CHECK(hipblasLtMatmulPreferenceCreate, &preference_);
    CHECK(hipblasLtMatmulPreferenceSetAttribute, preference_, HIPBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
          &kWorkspaceLimit, sizeof kWorkspaceLimit);
  }

  void ask() {
    int found = 0;
    CHECK(hipblasLtMatmulAlgoGetHeuristic, handle_, product_, layout_, layout_, layout_, layout_, preference_, 1,
          &choice_, &found);
    if (found != 1) fail("hipblasLtMatmulAlgoGetHeuristic found no algorithm: it", found);
    CHECK(static_cast<int>, choice_.state);
  }

  int multiply(const hipblasLtMatmulAlgo_t* algorithm, const void* a) {
    const float alpha = 1, beta = 0;
    const size_t size = algorithm == nullptr ? kWorkspaceLimit : choice_.workspaceSize;
    return hipblasLtMatmul(handle_, product_, &alpha, a, layout_, b_, layout_, &beta, c_, layout_, c_, layout_,
                           algorithm, workspace_, size, stream_);
  }
  void multiply_with_choice() { check("hipblasLtMatmul", multiply(&choice_.algo, a_)); }
  void multiply_with_none() { check("hipblasLtMatmul without an algorithm", multiply(nullptr, a_)); }
  int multiply_null() { return multiply(&choice_.algo, nullptr); }
  void wait() { CHECK(hipStreamSynchronize, stream_); }

  double create_us = 0;

 private:
  hipStream_t stream_ = nullptr;
  void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr, *workspace_ = nullptr;
  hipblasLtHandle_t handle_ = nullptr;
  hipblasLtMatrixLayout_t layout_ = nullptr;
  hipblasLtMatmulDesc_t product_ = nullptr;
  hipblasLtMatmulPreference_t preference_ = nullptr;
  hipblasLtMatmulHeuristicResult_t choice_ = {};
};

template <typename Call>
void report(const char* name, Product& product, Call call) {
  for (int i = 0; i < kWarmUp; ++i) call();
  product.wait();
  const auto start = Clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  repro_metric(name, microseconds(start) / kCalls, "us");
  product.wait();
}

void times(Product& product) {
  repro_metric("create", product.create_us / 1000, "ms");
  auto start = Clock::now();
  product.ask();
  repro_metric("first heuristic", microseconds(start) / 1000, "ms");
  start = Clock::now();
  product.multiply_with_choice();
  repro_metric("first product", microseconds(start) / 1000, "ms");
  product.wait();
  report("heuristic", product, [&] { product.ask(); });
  report("product", product, [&] { product.multiply_with_choice(); });
  report("product that asks by itself", product, [&] { product.multiply_with_none(); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  int devices = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess || devices == 0) {
    printf("no device\n");
    return REPRO_SKIP;
  }
  Product product;
  if (mode == "times") {
    times(product);
  } else if (mode == "implicit") {
    product.multiply_with_none();
  } else if (mode == "once" || mode == "null") {
    product.ask();
    if (mode == "once") product.multiply_with_choice();
    if (mode == "null" && product.multiply_null() == 0) fail("hipblasLtMatmul with a null pointer", 0);
  } else {
    fprintf(stderr, "usage: matmul once|implicit|null|times\n");
    return REPRO_BROKEN;
  }
  product.wait();
  return 0;
}
