// Load a file that is no code object. https://rocm.docs.amd.com/projects/HIP/en/latest/hip-7-changes.html
#include <string>

#include "hip_check.h"

int main(int argc, char** argv) {
  if (argc != 2) return REPRO_BROKEN;
  const std::string file = argv[1];
  const std::string path = file == "program" ? "/bin/true" : "/tmp/module_" + file;
  if (file == "empty" || file == "text") {
    std::FILE* const out = std::fopen(path.c_str(), "w");
    if (out == nullptr) return REPRO_BROKEN;
    if (file == "text") std::fputs("This is no code object, but long enough for a header of one.\n", out);
    std::fclose(out);
  }
  hipModule_t module = nullptr;
  HIP_REQUIRE(hipStreamSynchronize(nullptr));
  std::printf("loading %s\n", path.c_str());
  std::fflush(stdout);
  return hip_expect("hipModuleLoad", hipModuleLoad(&module, path.c_str()),
                    file == "missing" ? hipErrorFileNotFound : hipErrorInvalidImage);
}
