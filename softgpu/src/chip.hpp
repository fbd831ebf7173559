// What is known of a GPU model. The values live in chips/*.chip, one file a model, each with its public
// source.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sg {

struct Chip {
  const char* id = "";         // the file's name: gfx90a-mi210
  const char* gfx = "";        // gfx90a
  const char* alias = "";      // mi210
  const char* marketing = "";  // as rocminfo prints it
  const char* source = "";     // where the values were read
  bool sramecc = false;        // the target id carries sramecc+
  bool xnack = false;          // the target id carries xnack+ or xnack-
  bool hmm = false;            // pageable memory is usable when XNACK is on
  bool apu = false;
  bool large_bar = false;
  bool coherent_host_access = false;
  bool images = true;
  bool cooperative = true;
  bool xgmi = false;
  uint32_t chip_id = 0;
  uint32_t asic_revision = 0;
  uint32_t family_id = 0;
  uint32_t cacheline = 64;
  uint32_t max_clock_mhz = 0;
  uint32_t memory_clock_mhz = 0;
  uint32_t memory_width = 0;
  uint32_t compute_units = 0;
  uint32_t simds_per_cu = 4;
  uint32_t shader_engines = 1;
  uint32_t shader_arrays_per_se = 1;
  uint32_t max_waves_per_cu = 32;
  uint32_t wavefront = 64;
  uint32_t lds_kb = 64;
  uint32_t l1_kb = 16;
  uint32_t l2_kb = 0;
  uint32_t l3_kb = 0;
  uint32_t sdma_engines = 2;
  uint32_t sdma_xgmi_engines = 0;
  uint32_t xcc = 1;
  uint32_t mach = 0;  // EF_AMDGPU_MACH of its code objects
  uint64_t wallclock_hz = 100000000;
  uint64_t vram_kb = 0;
};

const std::vector<Chip>& chips();

// By file name, alias or gfx name (the first file of that gfx in name order); nullptr when there is none.
const Chip* find_chip(const std::string& name);

// amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-
std::string isa_name(const Chip& chip, bool xnack);

}  // namespace sg
