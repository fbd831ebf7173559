// libFuzzer target: the msgpack reader, and the look-ups on what it read.
#include "msgpack.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sg::msgpack::Value value;
  if (!sg::msgpack::parse(data, size, &value)) return 0;
  volatile uint64_t sum = value.number("amdhsa.kernels") + value.string(".name").size();
  (void)sum;
  return 0;
}
