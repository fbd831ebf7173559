#include "config.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "status.hpp"

namespace sg {
namespace {

void bad(Config& config, const char* name, const char* text, const char* want) {
  config.errors.push_back(std::string(name) + "=" + text + ": " + want);
}

template <typename T>
bool number(Config& config, const char* name, T& out) {
  const char* text = std::getenv(name);
  if (!text || !*text) return false;
  char* end = nullptr;
  errno = 0;
  unsigned long long value = std::strtoull(text, &end, 0);
  if (errno || *end || *text == '-') {
    bad(config, name, text, "a whole number is wanted");
    return false;
  }
  out = static_cast<T>(value);
  return true;
}

void on_off(Config& config, const char* name, int& out) {
  const char* text = std::getenv(name);
  if (!text || !*text) return;
  if (!std::strcmp(text, "0") || !std::strcmp(text, "1")) {
    out = *text - '0';
  } else {
    bad(config, name, text, "0 or 1 is wanted");
  }
}

// "<status>@<n>": the status as a number or by its HSA name, the n-th dispatch (1 when left out).
void queue_error(Config& config) {
  const char* text = std::getenv("SOFTGPU_QUEUE_ERROR");
  if (!text || !*text) return;
  std::string word = text;
  uint64_t at = 1;
  size_t sign = word.find('@');
  if (sign != std::string::npos) {
    at = std::strtoull(word.c_str() + sign + 1, nullptr, 0);
    word.resize(sign);
  }
  uint32_t status = status_by_name(word.c_str());
  if (!status || !at) return bad(config, "SOFTGPU_QUEUE_ERROR", text, "<HSA status>[@<n>] is wanted");
  config.queue_error_status = status;
  config.queue_error_at = at;
}

}  // namespace

Config read_config() {
  Config config;
  if (const char* chip = std::getenv("SOFTGPU_GFX"); chip && *chip) config.chip = chip;
  if (const char* path = std::getenv("SOFTGPU_REPORT")) config.report = path;
  if (const char* list = std::getenv("ROCR_VISIBLE_DEVICES")) {
    config.visible = list;
    config.has_visible = true;
  }
  number(config, "SOFTGPU_GPUS", config.gpus);
  if (config.gpus > 16) bad(config, "SOFTGPU_GPUS", std::to_string(config.gpus).c_str(), "at most 16");
  if (number(config, "SOFTGPU_VRAM_MB", config.vram_mb) &&
      (config.vram_mb < 64 || config.vram_mb > 1 << 22)) {
    bad(config, "SOFTGPU_VRAM_MB", std::to_string(config.vram_mb).c_str(), "64 to 4194304 is wanted");
  }
  on_off(config, "HSA_XNACK", config.xnack);
  on_off(config, "SOFTGPU_LARGE_BAR", config.large_bar);
  on_off(config, "SOFTGPU_IMAGES", config.images);
  on_off(config, "SOFTGPU_HMM", config.hmm);
  on_off(config, "SOFTGPU_VMM", config.vmm);
  number(config, "SOFTGPU_KERNEL_US", config.kernel_us);
  number(config, "SOFTGPU_COPY_US", config.copy_us);
  number(config, "SOFTGPU_HANG_AT", config.hang_at);
  config.has_oom_after = number(config, "SOFTGPU_OOM_AFTER", config.oom_after);
  number(config, "SOFTGPU_LOST_AT", config.lost_at);
  queue_error(config);
  return config;
}

}  // namespace sg
