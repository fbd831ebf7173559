// Images: all are laid out row by row, whatever tiling the program lets the runtime choose.
#pragma once

#include <cstdint>

#include "memory.hpp"

namespace sg {

struct Image {
  // HIP copies this many bytes from the handle's address as the resource descriptor; no kernel ever reads it.
  uint32_t descriptor[16];
  uint32_t magic;
  hsa_ext_image_geometry_t geometry;
  hsa_ext_image_format_t format;
  uint64_t width, height, depth;  // of arrays, the layers count as depth
  uint32_t element;               // bytes
  uint64_t row_pitch, slice_pitch;
  uintptr_t data;   // GPU address
  uint32_t levels;  // of a mipmap chain, level after level; 1 for a plain image

  uintptr_t address(uint64_t x, uint64_t y, uint64_t z) const {
    return data + z * slice_pitch + y * row_pitch + x * element;
  }
};

namespace images {

Image* of(uint64_t handle);  // nullptr when it is none

// Bytes of one element; 0 for a format that does not exist.
uint32_t element_size(const hsa_ext_image_format_t& format);

// Writes the element that a kernel's write_imagef (kind 0), write_imagei (1) or write_imageui (2) would
// store.
void encode(const hsa_ext_image_format_t& format, uint32_t kind, const void* four_words, char* out);

}  // namespace images
}  // namespace sg
