#include "abi.hpp"
#include "check.hpp"

// Declared here as the newest header has them; the oldest has not.
using sg::abi::MemoryAccess;
using sg::abi::VmemHandle;
extern "C" {
hsa_status_t sg_test_reserve(void**, size_t, uint64_t, uint64_t) __asm__("hsa_amd_vmem_address_reserve");
hsa_status_t sg_test_free(void*, size_t) __asm__("hsa_amd_vmem_address_free");
hsa_status_t sg_test_create(hsa_amd_memory_pool_t, size_t, int, uint64_t,
                            VmemHandle*) __asm__("hsa_amd_vmem_handle_create");
hsa_status_t sg_test_release(VmemHandle) __asm__("hsa_amd_vmem_handle_release");
hsa_status_t sg_test_map(void*, size_t, size_t, VmemHandle, uint64_t) __asm__("hsa_amd_vmem_map");
hsa_status_t sg_test_unmap(void*, size_t) __asm__("hsa_amd_vmem_unmap");
hsa_status_t sg_test_access(void*, size_t, const MemoryAccess*, size_t) __asm__("hsa_amd_vmem_set_access");
hsa_status_t sg_test_export(int*, VmemHandle, uint64_t) __asm__("hsa_amd_vmem_export_shareable_handle");
hsa_status_t sg_test_import(int, VmemHandle*) __asm__("hsa_amd_vmem_import_shareable_handle");
}

void test_virtual_memory(System& system) {
  constexpr size_t kSize = 2 << 20;
  void* range = nullptr;
  VmemHandle handle = {};
  OK(sg_test_reserve(&range, 2 * kSize, 0, 0));
  OK(sg_test_create(system.device, kSize, 1, 0, &handle));
  OK(sg_test_map(range, kSize, 0, handle, 0));
  CHECK(sg_test_map(range, kSize, 0, handle, 0) != HSA_STATUS_SUCCESS);
  CHECK(sg_test_map(static_cast<char*>(range) + kSize, 2 * kSize, 0, handle, 0) != HSA_STATUS_SUCCESS);
  MemoryAccess both[] = {{HSA_ACCESS_PERMISSION_RW, system.gpus[0]}, {HSA_ACCESS_PERMISSION_RW, system.cpu}};
  OK(sg_test_access(range, kSize, both, 2));
  static_cast<char*>(range)[100] = 42;
  void* device = nullptr;
  OK(hsa_amd_memory_pool_allocate(system.device, kSize, 0, &device));
  copy(device, system.gpus[0], range, system.gpus[0], kSize);
  static_cast<char*>(range)[100] = 0;
  copy(range, system.gpus[0], device, system.gpus[0], kSize);
  CHECK(static_cast<char*>(range)[100] == 42);
  // The same memory at a second address, through an exported descriptor.
  int file = -1;
  VmemHandle imported = {};
  OK(sg_test_export(&file, handle, 0));
  OK(sg_test_import(file, &imported));
  close(file);
  char* second = static_cast<char*>(range) + kSize;
  OK(sg_test_map(second, kSize, 0, imported, 0));
  OK(sg_test_access(second, kSize, both, 2));
  CHECK(second[100] == 42);
  CHECK(sg_test_free(range, 2 * kSize) != HSA_STATUS_SUCCESS);
  OK(sg_test_unmap(range, kSize));
  OK(sg_test_unmap(second, kSize));
  OK(sg_test_release(handle));
  OK(sg_test_release(imported));
  CHECK(sg_test_release(imported) != HSA_STATUS_SUCCESS);
  OK(sg_test_free(range, 2 * kSize));
  OK(hsa_amd_memory_pool_free(device));
}
