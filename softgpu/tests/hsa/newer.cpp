// What runtimes after the build image's added: copies by descriptors, queues by descriptors, mipmapped images.
#include "abi.hpp"
#include "check.hpp"

namespace abi = sg::abi;

namespace newer {

hsa_status_t batch_copy(const abi::CopyOperation*, uint32_t, uint32_t, const hsa_signal_t*) __asm__(
    "hsa_amd_memory_async_batch_copy");
hsa_status_t create_queues(hsa_agent_t, abi::QueueDescriptor*, uint32_t) __asm__("hsa_amd_queue_create");
hsa_status_t queue_info(hsa_queue_t*, int, void*) __asm__("hsa_amd_queue_get_info");
hsa_status_t image_info(hsa_agent_t, const abi::ImageDescriptor*, hsa_access_permission_t,
                        hsa_ext_image_data_info_t*) __asm__("hsa_ext_image_data_get_info_v2");
hsa_status_t create_image(hsa_agent_t, const abi::ImageDescriptor*, const void*, hsa_access_permission_t,
                          hsa_ext_image_t*) __asm__("hsa_ext_image_create_v2");
hsa_status_t level_of(hsa_agent_t, const hsa_ext_image_t*, uint32_t, const abi::ImageDescriptor*,
                      hsa_ext_image_t*) __asm__("hsa_ext_image_mipmap_array_get_level");
hsa_status_t destroy_image(hsa_agent_t, hsa_ext_image_t) __asm__("hsa_ext_image_destroy_v2");

}  // namespace newer

namespace {

using namespace newer;

constexpr size_t kSize = 100000;

struct Buffers {
  unsigned char* host = nullptr;
  void* device[3] = {};
};

Buffers make_buffers(System& system) {
  Buffers b;
  OK(hsa_amd_memory_pool_allocate(system.host, 8 * kSize, 0, reinterpret_cast<void**>(&b.host)));
  OK(hsa_amd_agents_allow_access(2, system.gpus.data(), nullptr, b.host));
  for (size_t i = 0; i < 8 * kSize; ++i) b.host[i] = static_cast<unsigned char>(i * 31 >> 3);
  for (void*& p : b.device) OK(hsa_amd_memory_pool_allocate(system.device, kSize, 0, &p));
  return b;
}

void free_buffers(const Buffers& b) {
  OK(hsa_amd_memory_pool_free(b.host));
  for (void* p : b.device) OK(hsa_amd_memory_pool_free(p));
}

abi::CopyOperation linear(void* to, hsa_agent_t to_agent, void* from, hsa_agent_t from_agent) {
  abi::CopyOperation op = {};
  op.version = 1;
  op.source.one = from;
  op.source_agent = from_agent;
  op.target.one = to;
  op.target_agent.one = to_agent;
  op.size.one = kSize;
  return op;
}

void run(std::vector<abi::CopyOperation> list) {
  hsa_signal_t done = make_signal(static_cast<hsa_signal_value_t>(list.size()));
  for (auto& op : list) op.completion = done;
  OK(batch_copy(list.data(), static_cast<uint32_t>(list.size()), 0, nullptr));
  wait_zero(done);
  OK(hsa_signal_destroy(done));
}

bool same(System& system, Buffers& b, void* device, size_t offset) {
  unsigned char* back = b.host + 7 * kSize;
  std::memset(back, 0xEE, kSize);
  copy(back, system.cpu, device, system.gpus[0], kSize);
  return std::memcmp(back, b.host + offset, kSize) == 0;
}

void batches(System& system) {
  Buffers b = make_buffers(system);
  hsa_agent_t gpu = system.gpus[0];
  run({linear(b.device[0], gpu, b.host, system.cpu), linear(b.device[1], gpu, b.host + kSize, system.cpu)});
  CHECK(same(system, b, b.device[0], 0) && same(system, b, b.device[1], kSize));
  abi::CopyOperation swap = linear(b.device[0], gpu, b.device[1], gpu);
  swap.type = abi::kCopySwap;
  swap.target_size = kSize;
  run({swap});
  CHECK(same(system, b, b.device[0], kSize) && same(system, b, b.device[1], 0));
  void* targets[] = {b.device[0], b.device[2]};
  hsa_agent_t agents[] = {gpu, gpu};
  abi::CopyOperation broadcast = linear(nullptr, gpu, b.device[1], gpu);
  broadcast.type = abi::kCopyBroadcast;
  broadcast.entries = 2;
  broadcast.target.list = targets;
  broadcast.target_agent.list = agents;
  run({broadcast});
  CHECK(same(system, b, b.device[0], 0) && same(system, b, b.device[2], 0));
  void* sources[] = {b.host + kSize, b.host + 2 * kSize};
  size_t sizes[] = {kSize, kSize};
  abi::CopyOperation many = broadcast;
  many.type = abi::kCopyLinear;
  many.source.list = sources;
  many.source_agent = system.cpu;
  many.size.list = sizes;
  run({many});
  CHECK(same(system, b, b.device[0], kSize) && same(system, b, b.device[2], 2 * kSize));
  auto** slot = reinterpret_cast<void**>(b.host + 6 * kSize);
  *slot = b.host + 3 * kSize;
  abi::CopyOperation indirect = linear(b.device[0], gpu, static_cast<void*>(slot), system.cpu);
  indirect.type = abi::kCopyIndirectSource;
  run({indirect});
  CHECK(same(system, b, b.device[0], 3 * kSize));
  free_buffers(b);
}

void gated_batch(System& system) {
  Buffers b = make_buffers(system);
  auto* gate = reinterpret_cast<uint64_t*>(b.host + 6 * kSize);
  gate[0] = 3;
  gate[1] = 40;
  abi::CopyOperation op = linear(b.device[0], system.gpus[0], b.host, system.cpu);
  op.wait.function = abi::kWaitGe;
  op.wait.address = gate;
  op.wait.value = 4;
  op.wait.mask = 0xff;
  op.signal.operation = abi::kSignalAdd;
  op.signal.address = gate + 1;
  op.signal.data = 2;
  hsa_signal_t done = op.completion = make_signal(1);
  OK(batch_copy(&op, 1, 0, nullptr));
  CHECK(hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_EQ, 0, 3000000, HSA_WAIT_STATE_BLOCKED) == 1);
  __atomic_store_n(gate, 0x104, __ATOMIC_RELEASE);
  wait_zero(done);
  CHECK(gate[1] == 42 && same(system, b, b.device[0], 0));
  op.version = 2;
  GIVES(batch_copy(&op, 1, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  op.version = 1;
  op.source.one = nullptr;
  GIVES(batch_copy(&op, 1, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  GIVES(batch_copy(&op, 0, 0, nullptr), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_signal_destroy(done));
  free_buffers(b);
}

void described_queues(System& system) {
  abi::QueueDescriptor list[3] = {};
  const uint32_t mask = 0xff;
  for (auto& d : list) {
    d.version = 1;
    d.bytes = 128 * 64;
  }
  list[0].parameters.compute.cu_mask = &mask;
  list[0].parameters.compute.cu_mask_count = 32;
  list[1].engine = abi::kEngineAie;
  GIVES(create_queues(system.gpus[0], list, 3), HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
  CHECK(list[0].queue && !list[1].queue && list[2].queue);
  if (!list[0].queue || !list[2].queue) return;
  CHECK(list[0].queue->size == 128);
  uint32_t seen = 0;
  OK(hsa_amd_queue_cu_get_mask(list[0].queue, 32, &seen));
  CHECK(seen == mask);
  hsa_agent_t owner = {};
  OK(queue_info(list[0].queue, abi::kQueueAgent, &owner));
  CHECK(owner.handle == system.gpus[0].handle);
  uint8_t version[4] = {1, 2, 3, 4};  // only the byte that is asked for may change
  OK(queue_info(list[0].queue, abi::kQueuePrefetchDispatchMajor, version));
  CHECK(version[0] == 0xff && version[1] == 2);
  bool faulted = true;
  OK(queue_info(list[0].queue, abi::kQueueFaulted, &faulted));
  CHECK(!faulted);
  GIVES(queue_info(list[0].queue, abi::kQueueSdmaEngine, &seen), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  list[1] = list[2];
  list[1].engine = abi::kEngineCompute;
  list[1].traffic_class = 1;
  GIVES(create_queues(system.gpus[0], &list[1], 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  GIVES(create_queues(system.gpus[0], list, 0), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_queue_destroy(list[0].queue));
  OK(hsa_queue_destroy(list[2].queue));
}

void mipmaps(System& system) {
  abi::ImageDescriptor d = {};
  d.base.geometry = HSA_EXT_IMAGE_GEOMETRY_2D;
  d.base.width = 200;
  d.base.height = 60;
  d.base.format = {HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT, HSA_EXT_IMAGE_CHANNEL_ORDER_R};
  hsa_ext_image_data_info_t whole = {}, base = {};
  OK(image_info(system.gpus[0], &d, HSA_ACCESS_PERMISSION_RW, &base));
  d.levels = 8;
  OK(image_info(system.gpus[0], &d, HSA_ACCESS_PERMISSION_RW, &whole));
  CHECK(whole.size > base.size && whole.size < 2 * base.size + 8 * 4096);
  d.levels = 9;  // 200 halves to 1 in seven steps
  GIVES(image_info(system.gpus[0], &d, HSA_ACCESS_PERMISSION_RW, &whole), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  d.levels = 8;
  void* data = nullptr;
  OK(hsa_amd_memory_pool_allocate(system.device, whole.size, 0, &data));
  hsa_ext_image_t image = {}, first = {}, second = {};
  OK(create_image(system.gpus[0], &d, data, HSA_ACCESS_PERMISSION_RW, &image));
  OK(level_of(system.gpus[0], &image, 0, &d, &first));
  OK(level_of(system.gpus[0], &image, 1, &d, &second));
  GIVES(level_of(system.gpus[0], &image, 8, &d, &second), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // Levels do not overlap: each keeps what was stored in it.
  std::vector<float> ones(200 * 60, 1), twos(100 * 30, 2), back(200 * 60, 0);
  hsa_ext_image_region_t region = {{0, 0, 0}, {200, 60, 1}}, half = {{0, 0, 0}, {100, 30, 1}};
  OK(hsa_ext_image_import(system.gpus[0], ones.data(), 0, 0, first, &region));
  OK(hsa_ext_image_import(system.gpus[0], twos.data(), 0, 0, second, &half));
  OK(hsa_ext_image_export(system.gpus[0], first, back.data(), 0, 0, &region));
  CHECK(back == ones);
  back.resize(twos.size());
  OK(hsa_ext_image_export(system.gpus[0], second, back.data(), 0, 0, &half));
  CHECK(back == twos);
  for (hsa_ext_image_t each : {first, second, image}) OK(destroy_image(system.gpus[0], each));
  OK(hsa_amd_memory_pool_free(data));
}

// A value is as wide as its type, and no wider.
void widths(System& system) {
  uint64_t groups[2] = {0, 7};
  OK(hsa_agent_get_info(system.gpus[0], static_cast<hsa_agent_info_t>(abi::kKernelGroupsMax), groups));
  CHECK(groups[0] == UINT32_MAX && groups[1] == 7);
  uint64_t dims[4] = {0, 0, 0, 7};
  OK(hsa_agent_get_info(system.gpus[0], static_cast<hsa_agent_info_t>(abi::kKernelGroupsMaxDim), dims));
  CHECK(dims[0] >= INT32_MAX && dims[2] >= UINT16_MAX && dims[3] == 7);
}

}  // namespace

void test_newer(System& system) {
  batches(system);
  gated_batch(system);
  described_queues(system);
  mipmaps(system);
  widths(system);
}
