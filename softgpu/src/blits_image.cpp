// Copies between buffers and images, and fills of images.
#include <algorithm>
#include <cstring>

#include "blits.hpp"
#include "images.hpp"

namespace sg::blits {
namespace {

struct Int4 {
  int32_t x, y, z, w;
};
struct Uint4 {
  uint32_t x, y, z, w;
};
struct Ulong4 {
  uint64_t x, y, z, w;
};

template <typename T>
T vector(const Launch& l, const char* name) {
  T value = {};
  l.arguments.vector(name, &value, sizeof value);
  return value;
}

// Calls body(x, y, z) for every work-item inside `size`.
template <typename Body>
void each(const Launch& l, const Int4& size, Body body) {
  auto limit = [&](int32_t wanted, int axis) {
    return std::min<uint64_t>(wanted > 0 ? static_cast<uint64_t>(wanted) : 0, l.grid[axis]);
  };
  for (uint64_t z = 0; z < limit(size.z, 2); ++z) {
    for (uint64_t y = 0; y < limit(size.y, 1); ++y) {
      for (uint64_t x = 0; x < limit(size.x, 0); ++x) body(x, y, z);
    }
  }
}

// The buffer side of a copy: format.x components of format.y bytes; the index counts units of at most 4
// bytes.
uint64_t buffer_offset(const Uint4& format, const Ulong4& pitch, uint64_t start, uint64_t x, uint64_t y,
                       uint64_t z) {
  const uint64_t unit = std::min(format.x * format.y, format.x == 1 ? format.y : 4u);
  return ((z * pitch.y + y * pitch.x + x) * format.z + start) * unit;
}

void buffer_to_image(const Launch& l) {
  const Image* image = images::of(l.arguments.number("dst"));
  const uint64_t from = l.arguments.number("src");
  const auto start = vector<Ulong4>(l, "srcOrigin"), pitch = vector<Ulong4>(l, "pitch");
  const auto to = vector<Int4>(l, "dstOrigin"), size = vector<Int4>(l, "size");
  const auto format = vector<Uint4>(l, "format");
  if (!image) return;
  const uint64_t bytes = std::min<uint64_t>(uint64_t{format.x} * format.y, image->element);
  each(l, size, [&](uint64_t x, uint64_t y, uint64_t z) {
    transfer::copy(l.context, image->address(x + to.x, y + to.y, z + to.z),
                   from + buffer_offset(format, pitch, start.x, x, y, z), bytes);
  });
}

void image_to_buffer(const Launch& l) {
  const Image* image = images::of(l.arguments.number("src"));
  const auto from = vector<Int4>(l, "srcOrigin"), size = vector<Int4>(l, "size");
  const auto start = vector<Ulong4>(l, "dstOrigin"), pitch = vector<Ulong4>(l, "pitch");
  const auto format = vector<Uint4>(l, "format");
  if (!image) return;
  const uint64_t bytes = std::min<uint64_t>(uint64_t{format.x} * format.y, image->element);
  const char* target = bytes == 1 ? "dstUChar" : bytes == 2 ? "dstUShort" : "dstUInt";
  const uint64_t to = l.arguments.number(target);
  each(l, size, [&](uint64_t x, uint64_t y, uint64_t z) {
    transfer::copy(l.context, to + buffer_offset(format, pitch, start.x, x, y, z),
                   image->address(x + from.x, y + from.y, z + from.z), bytes);
  });
}

// `layers`: an origin whose w is set belongs to a 1D array, whose layers are counted by y.
void copy_between(const Launch& l, bool layers) {
  const Image *source = images::of(l.arguments.number("src")),
              *target = images::of(l.arguments.number("dst"));
  const auto from = vector<Int4>(l, "srcOrigin"), to = vector<Int4>(l, "dstOrigin"),
             size = vector<Int4>(l, "size");
  if (!source || !target) return;
  auto place = [layers](const Image& image, const Int4& origin, uint64_t x, uint64_t y, uint64_t z) {
    x += origin.x, y += origin.y, z += origin.z;
    if (layers && origin.w) z = y, y = 0;
    return image.address(x, y, z);
  };
  const uint64_t bytes = std::min(source->element, target->element);
  each(l, size, [&](uint64_t x, uint64_t y, uint64_t z) {
    transfer::copy(l.context, place(*target, to, x, y, z), place(*source, from, x, y, z), bytes);
  });
}

void copy_image(const Launch& l) { copy_between(l, false); }
void copy_image_1da(const Launch& l) { copy_between(l, true); }

// Each work-item fills up to three elements, a grid's width apart: the grid is narrower than the image.
void fill_image(const Launch& l) {
  const Image* image = images::of(l.arguments.number("image"));
  const auto origin = vector<Int4>(l, "origin"), size = vector<Int4>(l, "size");
  const uint64_t type = l.arguments.number("type");
  const char* names[] = {"patternFLOAT4", "patternINT4", "patternUINT4"};
  if (!image || type > 2) return;
  const auto words = vector<Uint4>(l, names[type]);
  char element[16] = {};
  images::encode(image->format, static_cast<uint32_t>(type), &words, element);
  each(l, size, [&](uint64_t x, uint64_t y, uint64_t z) {
    for (uint64_t i = 0; i < 3 && x + i * l.grid[0] < static_cast<uint64_t>(size.x); ++i) {
      transfer::write(l.context, image->address(origin.x + x + i * l.grid[0], origin.y + y, origin.z + z),
                      element, image->element);
    }
  });
}

}  // namespace

const std::vector<Blit>& image() {
  static const auto* list = new std::vector<Blit>{
      {"copyBufferToImage", "src dst srcOrigin dstOrigin size format pitch", buffer_to_image},
      {"copyImageToBuffer", "src dstUInt dstUShort dstUChar srcOrigin dstOrigin size format pitch",
       image_to_buffer},
      {"copyImage", "src dst srcOrigin dstOrigin size", copy_image},
      {"copyImage1DA", "src dst srcOrigin dstOrigin size", copy_image_1da},
      {"fillImage", "image patternFLOAT4 patternINT4 patternUINT4 origin size type", fill_image},
  };
  return *list;
}

}  // namespace sg::blits
