// libFuzzer target: the code object reader, which reads what container images bring.
#include "code_object.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sg::CodeObject code;
  std::string error;
  sg::read_code_object(data, size, &code, &error);
  return 0;
}
