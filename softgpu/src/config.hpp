// What the environment asks of the software GPU. Read once, when the runtime starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sg {

struct Config {
  std::string chip = "gfx90a";
  uint32_t gpus = 1;
  uint64_t vram_mb = 0;  // 0: as on the chip
  int xnack = -1;        // HSA_XNACK; -1: not set
  int large_bar = -1;    // -1: as on the chip
  int images = -1;
  int hmm = -1;
  int vmm = 1;
  std::string visible;  // ROCR_VISIBLE_DEVICES
  bool has_visible = false;
  std::string report;  // path of the trust report, empty: none

  // Faults on demand. Dispatches are user kernels, counted from 1 over the process.
  uint64_t kernel_us = 0;
  uint64_t copy_us = 0;
  uint64_t hang_at = 0;
  uint64_t queue_error_at = 0;
  uint32_t queue_error_status = 0;
  uint64_t oom_after = 0;
  bool has_oom_after = false;
  uint64_t lost_at = 0;

  std::vector<std::string> errors;  // variables that could not be read, in words
};

Config read_config();

}  // namespace sg
