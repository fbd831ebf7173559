// Image formats: sizes, and how four components become an element.
// https://hsafoundation.com/wp-content/uploads/2021/02/HSA-Runtime-1.2.pdf (section 3.1, image formats)
#include <algorithm>
#include <cmath>
#include <cstring>

#include "images.hpp"

namespace sg::images {
namespace {

// The source components in the order in which they are stored; '-' is a component without meaning.
const char* order_of(uint32_t order) {
  switch (order) {
    case HSA_EXT_IMAGE_CHANNEL_ORDER_A:
      return "a";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_R:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RX:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_INTENSITY:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_LUMINANCE:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_DEPTH_STENCIL:
      return "r";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RG:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGX:
      return "rg";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RA:
      return "ra";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGB:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGB:
      return "rgb";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGBX:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBX:
      return "rgb-";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_RGBA:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SRGBA:
      return "rgba";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_BGRA:
    case HSA_EXT_IMAGE_CHANNEL_ORDER_SBGRA:
      return "bgra";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ARGB:
      return "argb";
    case HSA_EXT_IMAGE_CHANNEL_ORDER_ABGR:
      return "abgr";
    default:
      return "";
  }
}

uint32_t component_size(uint32_t type) {
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT8:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT8:
      return 1;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT16:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
      return 2;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNSIGNED_INT32:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_FLOAT:
      return 4;
    default:
      return 0;
  }
}

uint32_t packed_size(uint32_t type) {
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555:
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565:
      return 2;
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_101010:
      return 4;
    default:
      return 0;
  }
}

uint16_t half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0f) return sign | 0x7c00;
  if (magnitude < 6.103515625e-05f) {  // denormal: a multiple of 2^-24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(magnitude * 16777216.0f)));
  }
  int exponent = 0;
  float fraction = std::frexp(magnitude, &exponent);  // 0.5 … 1
  auto mantissa = static_cast<uint32_t>(std::nearbyint(fraction * 2048.0f));
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 13) << 10) + mantissa));
}

uint32_t normalised(float value, float low, float scale) {
  float clamped = std::isnan(value) ? 0 : std::min(std::max(value, low), 1.0f);
  return static_cast<uint32_t>(static_cast<int32_t>(std::nearbyint(clamped * scale)));
}

uint32_t float_bits(uint32_t type, float value) {
  uint32_t bits = 0;
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT8:
      return normalised(value, -1, 127);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT8:
      return normalised(value, 0, 255);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_SNORM_INT16:
      return normalised(value, -1, 32767);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT16:
      return normalised(value, 0, 65535);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_INT24:
      return normalised(value, 0, 16777215);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_HALF_FLOAT:
      return half(value);
    default:
      std::memcpy(&bits, &value, sizeof bits);
      return bits;
  }
}

uint32_t packed(uint32_t type, const float* c) {
  switch (type) {
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_555:
      return normalised(c[0], 0, 31) << 10 | normalised(c[1], 0, 31) << 5 | normalised(c[2], 0, 31);
    case HSA_EXT_IMAGE_CHANNEL_TYPE_UNORM_SHORT_565:
      return normalised(c[0], 0, 31) << 11 | normalised(c[1], 0, 63) << 5 | normalised(c[2], 0, 31);
    default:
      return normalised(c[0], 0, 1023) << 20 | normalised(c[1], 0, 1023) << 10 | normalised(c[2], 0, 1023);
  }
}

}  // namespace

uint32_t element_size(const hsa_ext_image_format_t& format) {
  if (uint32_t size = packed_size(format.channel_type)) return size;
  return component_size(format.channel_type) *
         static_cast<uint32_t>(std::strlen(order_of(format.channel_order)));
}

void encode(const hsa_ext_image_format_t& format, uint32_t kind, const void* four_words, char* out) {
  uint32_t words[4];
  float floats[4];
  std::memcpy(words, four_words, sizeof words);
  std::memcpy(floats, four_words, sizeof floats);
  if (uint32_t size = packed_size(format.channel_type)) {
    uint32_t bits = packed(format.channel_type, floats);
    std::memcpy(out, &bits, size);
    return;
  }
  const uint32_t size = component_size(format.channel_type);
  for (const char* c = order_of(format.channel_order); *c; ++c, out += size) {
    uint32_t bits = 0;
    if (*c != '-') {
      uint32_t index = *c == 'r' ? 0 : *c == 'g' ? 1 : *c == 'b' ? 2 : 3;
      bits = kind == 0 ? float_bits(format.channel_type, floats[index]) : words[index];
    }
    std::memcpy(out, &bits, size);
  }
}

}  // namespace sg::images
