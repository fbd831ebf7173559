#include "check.hpp"

int main(int argc, char** argv) {
  if (argc > 1) return act(argv[1]);
  setenv("SOFTGPU_GPUS", "2", 1);
  setenv("SOFTGPU_LARGE_BAR", "0", 1);
  System system = find_system();
  const struct {
    const char* name;
    void (*run)(System&);
  } tests[] = {{"signals", test_signals}, {"queues", test_queues},
               {"memory", test_memory},   {"virtual memory", test_virtual_memory},
               {"newer", test_newer},
               {"faults", test_faults},   {"report", test_report}};
  for (const auto& test : tests) {
    int before = failures;
    test.run(system);
    std::printf("%s: %s\n", test.name, failures == before ? "pass" : "FAIL");
  }
  int before = failures;
  test_shut_down();
  std::printf("shut down: %s\n", failures == before ? "pass" : "FAIL");
  return failures ? 1 : 0;
}
