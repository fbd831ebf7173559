#include "images.hpp"

#include <algorithm>
#include <cstring>

#include "faults.hpp"
#include "report.hpp"

namespace sg::images {
namespace {

constexpr uint32_t kMagic = 0x1a6e5097;
constexpr uint64_t kRowAlignment =
    256;  // https://github.com/ROCm/clr (imagePitchAlignment on gfx9 and later)

bool is_array(hsa_ext_image_geometry_t geometry) {
  return geometry == HSA_EXT_IMAGE_GEOMETRY_1DA || geometry == HSA_EXT_IMAGE_GEOMETRY_2DA ||
         geometry == HSA_EXT_IMAGE_GEOMETRY_2DADEPTH;
}

bool is_plane(hsa_ext_image_geometry_t geometry) {
  return geometry != HSA_EXT_IMAGE_GEOMETRY_1D && geometry != HSA_EXT_IMAGE_GEOMETRY_1DA &&
         geometry != HSA_EXT_IMAGE_GEOMETRY_1DB;
}

// Sizes and pitches; false for a description that makes no image.
bool lay_out(const hsa_ext_image_descriptor_t& d, uint64_t row_pitch, uint64_t slice_pitch, Image* out) {
  out->geometry = d.geometry;
  out->format = d.format;
  out->element = element_size(d.format);
  out->width = d.width;
  out->height = is_plane(d.geometry) ? std::max<uint64_t>(d.height, 1) : 1;
  out->depth = is_array(d.geometry)                      ? std::max<uint64_t>(d.array_size, 1)
               : d.geometry == HSA_EXT_IMAGE_GEOMETRY_3D ? std::max<uint64_t>(d.depth, 1)
                                                         : 1;
  if (!out->element || !out->width) return false;
  const uint64_t row = out->width * out->element;
  const bool one_row = d.geometry == HSA_EXT_IMAGE_GEOMETRY_1DB;
  out->row_pitch = row_pitch ? row_pitch
                   : one_row ? row
                             : (row + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  out->slice_pitch = slice_pitch ? slice_pitch : out->row_pitch * out->height;
  return out->row_pitch >= row && out->slice_pitch >= out->row_pitch;
}

// The description of one level of a mipmap chain.
hsa_ext_image_descriptor_t level_of(const hsa_ext_image_descriptor_t& d, size_t level) {
  hsa_ext_image_descriptor_t out = d;
  auto half = [level](size_t size) { return size ? std::max<size_t>(size >> level, 1) : 0; };
  out.width = half(d.width);
  out.height = half(d.height);
  out.depth = half(d.depth);
  return out;
}

// Bytes of the levels before `level`.
uint64_t level_offset(const hsa_ext_image_descriptor_t& d, size_t level) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < level; ++i) {
    Image image = {};
    if (lay_out(level_of(d, i), 0, 0, &image)) bytes += image.slice_pitch * image.depth;
  }
  return bytes;
}

bool levels_fit(const hsa_ext_image_descriptor_t& d, size_t levels) {
  const size_t longest = std::max({d.width, d.height, d.depth, size_t{1}});
  return levels < 64 && (levels <= 1 || longest >> (levels - 1));
}

hsa_status_t check(hsa_agent_t handle, Agent** agent) {
  SG_REQUIRE_INIT();
  *agent = agent_of(handle);
  SG_REQUIRE(*agent && (*agent)->gpu, HSA_STATUS_ERROR_INVALID_AGENT);
  // Chips without image instructions: https://github.com/ROCm/ROCR-Runtime/blob/rocm-6.2.4
  // (GpuAgent::GetInfo)
  SG_REQUIRE(runtime().images, static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
  report::add(report::Kind::kSoft, "images");
  return HSA_STATUS_SUCCESS;
}

hsa_status_t info(hsa_agent_t handle, const hsa_ext_image_descriptor_t* d, uint64_t row, uint64_t slice,
                  hsa_ext_image_data_info_t* out) {
  Agent* agent = nullptr;
  hsa_status_t status = check(handle, &agent);
  if (status != HSA_STATUS_SUCCESS) return status;
  SG_REQUIRE(d && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Image image = {};
  SG_REQUIRE(lay_out(*d, row, slice, &image),
             static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
  out->size = image.slice_pitch * image.depth;
  out->alignment = kRowAlignment;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t create(hsa_agent_t handle, const hsa_ext_image_descriptor_t* d, const void* data, uint64_t row,
                    uint64_t slice, hsa_ext_image_t* out) {
  Agent* agent = nullptr;
  hsa_status_t status = check(handle, &agent);
  if (status != HSA_STATUS_SUCCESS) return status;
  SG_REQUIRE(d && data && out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  Image laid = {};
  SG_REQUIRE(lay_out(*d, row, slice, &laid),
             static_cast<hsa_status_t>(HSA_EXT_STATUS_ERROR_IMAGE_FORMAT_UNSUPPORTED));
  laid.magic = kMagic;
  laid.levels = 1;
  laid.data = reinterpret_cast<uintptr_t>(data);
  out->handle = reinterpret_cast<uint64_t>(new Image(laid));
  return HSA_STATUS_SUCCESS;
}

struct Sampler {
  uint32_t descriptor[16];
};

hsa_status_t create_sampler(hsa_agent_t handle, hsa_ext_sampler_t* out) {
  Agent* agent = nullptr;
  hsa_status_t status = check(handle, &agent);
  if (status != HSA_STATUS_SUCCESS) return status;
  SG_REQUIRE(out, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  out->handle = reinterpret_cast<uint64_t>(new Sampler{});
  return HSA_STATUS_SUCCESS;
}

hsa_status_t capability(hsa_agent_t handle, const hsa_ext_image_format_t* format, uint32_t* mask) {
  Agent* agent = nullptr;
  hsa_status_t status = check(handle, &agent);
  if (status != HSA_STATUS_SUCCESS) return status;
  SG_REQUIRE(format && mask, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  *mask = element_size(*format) ? HSA_EXT_IMAGE_CAPABILITY_READ_ONLY | HSA_EXT_IMAGE_CAPABILITY_WRITE_ONLY |
                                      HSA_EXT_IMAGE_CAPABILITY_READ_WRITE
                                : HSA_EXT_IMAGE_CAPABILITY_NOT_SUPPORTED;
  return HSA_STATUS_SUCCESS;
}

// Copies a region between an image and linear memory of the host, row by row.
hsa_status_t exchange(hsa_agent_t handle, Image* image, char* linear, size_t row, size_t slice,
                      const hsa_ext_image_region_t* region, bool into_image) {
  Agent* agent = nullptr;
  hsa_status_t status = check(handle, &agent);
  if (status != HSA_STATUS_SUCCESS) return status;
  SG_REQUIRE(image && linear && region, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  transfer::Context context = {~0u, agent};
  const uint64_t bytes = uint64_t{region->range.x} * image->element;
  if (!row) row = bytes;
  if (!slice) slice = row * std::max(region->range.y, 1u);
  for (uint64_t z = 0; z < std::max(region->range.z, 1u); ++z) {
    for (uint64_t y = 0; y < std::max(region->range.y, 1u); ++y) {
      uintptr_t at = image->address(region->offset.x, region->offset.y + y, region->offset.z + z);
      char* host = linear + z * slice + y * row;
      try {
        into_image ? transfer::write(context, at, host, bytes) : transfer::read(context, host, at, bytes);
      } catch (const faults::Stopped&) {
        return HSA_STATUS_ERROR;
      }
    }
  }
  return HSA_STATUS_SUCCESS;
}

}  // namespace

Image* of(uint64_t handle) {
  auto* image = reinterpret_cast<Image*>(handle);
  return image && image->magic == kMagic ? image : nullptr;
}

}  // namespace sg::images

using namespace sg;

SG_API hsa_status_t hsa_ext_image_get_capability(hsa_agent_t agent, hsa_ext_image_geometry_t,
                                                 const hsa_ext_image_format_t* format, uint32_t* mask) {
  return images::capability(agent, format, mask);
}

SG_API hsa_status_t hsa_ext_image_get_capability_with_layout(hsa_agent_t agent, hsa_ext_image_geometry_t,
                                                             const hsa_ext_image_format_t* format,
                                                             hsa_ext_image_data_layout_t, uint32_t* mask) {
  return images::capability(agent, format, mask);
}

SG_API hsa_status_t hsa_ext_image_data_get_info(hsa_agent_t agent, const hsa_ext_image_descriptor_t* d,
                                                hsa_access_permission_t, hsa_ext_image_data_info_t* out) {
  return images::info(agent, d, 0, 0, out);
}

SG_API hsa_status_t hsa_ext_image_data_get_info_with_layout(hsa_agent_t agent,
                                                            const hsa_ext_image_descriptor_t* d,
                                                            hsa_access_permission_t,
                                                            hsa_ext_image_data_layout_t, size_t row,
                                                            size_t slice, hsa_ext_image_data_info_t* out) {
  return images::info(agent, d, row, slice, out);
}

SG_API hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* d,
                                         const void* data, hsa_access_permission_t, hsa_ext_image_t* out) {
  return images::create(agent, d, data, 0, 0, out);
}

SG_API hsa_status_t hsa_ext_image_create_with_layout(hsa_agent_t agent, const hsa_ext_image_descriptor_t* d,
                                                     const void* data, hsa_access_permission_t,
                                                     hsa_ext_image_data_layout_t, size_t row, size_t slice,
                                                     hsa_ext_image_t* out) {
  return images::create(agent, d, data, row, slice, out);
}

SG_API hsa_status_t hsa_amd_image_create(hsa_agent_t agent, const hsa_ext_image_descriptor_t* d,
                                         const hsa_amd_image_descriptor_t*, const void* data,
                                         hsa_access_permission_t, hsa_ext_image_t* out) {
  return images::create(agent, d, data, 0, 0, out);
}

SG_API hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, hsa_ext_image_t handle) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  Image* image = images::of(handle.handle);
  SG_REQUIRE(image, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  image->magic = 0;
  delete image;
  return HSA_STATUS_SUCCESS;
}

SG_API hsa_status_t hsa_ext_image_import(hsa_agent_t agent, const void* from, size_t row, size_t slice,
                                         hsa_ext_image_t to, const hsa_ext_image_region_t* region) {
  return images::exchange(agent, images::of(to.handle), static_cast<char*>(const_cast<void*>(from)), row,
                          slice, region, true);
}

SG_API hsa_status_t hsa_ext_image_export(hsa_agent_t agent, hsa_ext_image_t from, void* to, size_t row,
                                         size_t slice, const hsa_ext_image_region_t* region) {
  return images::exchange(agent, images::of(from.handle), static_cast<char*>(to), row, slice, region, false);
}

SG_API hsa_status_t hsa_ext_sampler_create(hsa_agent_t agent, const hsa_ext_sampler_descriptor_t*,
                                           hsa_ext_sampler_t* out) {
  return images::create_sampler(agent, out);
}

SG_API hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, hsa_ext_sampler_t sampler) {
  SG_REQUIRE_INIT();
  SG_REQUIRE(agent_of(agent), HSA_STATUS_ERROR_INVALID_AGENT);
  delete reinterpret_cast<images::Sampler*>(sampler.handle);
  return HSA_STATUS_SUCCESS;
}

namespace sg::images {

hsa_status_t info_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, hsa_access_permission_t permission,
                     hsa_ext_image_data_info_t* out) SG_EXPORT(hsa_ext_image_data_get_info_v2);
hsa_status_t info_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, hsa_access_permission_t,
                     hsa_ext_image_data_info_t* out) {
  SG_REQUIRE(d && levels_fit(d->base, d->levels), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_status_t status = info(agent, &d->base, 0, 0, out);
  if (status == HSA_STATUS_SUCCESS && d->levels > 1) out->size = level_offset(d->base, d->levels);
  return status;
}

hsa_status_t create_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, const void* data,
                       hsa_access_permission_t permission, hsa_ext_image_t* out)
    SG_EXPORT(hsa_ext_image_create_v2);
hsa_status_t create_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, const void* data,
                       hsa_access_permission_t, hsa_ext_image_t* out) {
  SG_REQUIRE(d && levels_fit(d->base, d->levels), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  hsa_status_t status = create(agent, &d->base, data, 0, 0, out);
  if (status == HSA_STATUS_SUCCESS && d->levels > 1) of(out->handle)->levels = static_cast<uint32_t>(d->levels);
  return status;
}

hsa_status_t create_amd_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, const hsa_amd_image_descriptor_t* layout,
                           const void* data, hsa_access_permission_t permission, hsa_ext_image_t* out)
    SG_EXPORT(hsa_amd_image_create_v2);
hsa_status_t create_amd_v2(hsa_agent_t agent, const abi::ImageDescriptor* d, const hsa_amd_image_descriptor_t*,
                           const void* data, hsa_access_permission_t permission, hsa_ext_image_t* out) {
  return create_v2(agent, d, data, permission, out);
}

hsa_status_t destroy_v2(hsa_agent_t agent, hsa_ext_image_t image) SG_EXPORT(hsa_ext_image_destroy_v2);
hsa_status_t destroy_v2(hsa_agent_t agent, hsa_ext_image_t image) { return hsa_ext_image_destroy(agent, image); }

// A view of one level; the description is that of the whole chain.
hsa_status_t level_view(hsa_agent_t agent, const hsa_ext_image_t* array, uint32_t level, const abi::ImageDescriptor* d,
                        hsa_ext_image_t* out) SG_EXPORT(hsa_ext_image_mipmap_array_get_level);
hsa_status_t level_view(hsa_agent_t agent, const hsa_ext_image_t* array, uint32_t level, const abi::ImageDescriptor* d,
                        hsa_ext_image_t* out) {
  SG_REQUIRE(array && d, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const Image* whole = of(array->handle);
  SG_REQUIRE(whole && level < whole->levels, HSA_STATUS_ERROR_INVALID_ARGUMENT);
  const hsa_ext_image_descriptor_t view = level_of(d->base, level);
  const uintptr_t data = whole->data + level_offset(d->base, level);
  return create(agent, &view, reinterpret_cast<const void*>(data), 0, 0, out);
}

hsa_status_t create_sampler_v2(hsa_agent_t agent, const void* descriptor, hsa_ext_sampler_t* out)
    SG_EXPORT(hsa_ext_sampler_create_v2);
hsa_status_t create_sampler_v2(hsa_agent_t agent, const void*, hsa_ext_sampler_t* out) {
  return create_sampler(agent, out);
}

}  // namespace sg::images
