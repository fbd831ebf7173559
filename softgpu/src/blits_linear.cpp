// Copies and fills of buffers, in all the signatures that they had from ROCm 5.2 on.
#include <algorithm>
#include <cstring>

#include "blits.hpp"

namespace sg::blits {
namespace {

struct Rect {
  uint64_t x, y, z, w;
};

// 6.x on: work-item i fills elements i*n … i*n+n-1 (n = pattern_size elements of `alignment` bytes) and goes
// on next_chunk elements further, until its element starts at or after end_ptr. HIP chooses next_chunk such
// that the work-items cover everything without gaps; the general form is kept for the case that it ever does
// not.
void fill_strided(const Launch& l) {
  const uint64_t base = l.arguments.number("buf"), end = l.arguments.number("end_ptr");
  const uint64_t elements = l.arguments.number("pattern_size"), next = l.arguments.number("next_chunk");
  uint64_t unit = l.arguments.number("alignment");
  if (unit != 16 && unit != 8 && unit != 4 && unit != 2) unit = 1;
  const uint64_t bytes = elements * unit;
  if (!bytes || end <= base) return;
  std::vector<char> pattern(bytes);
  transfer::read(l.context, pattern.data(), l.arguments.number("pattern"), bytes);
  if (next == l.grid[0] * elements) {
    uint64_t pieces = (end - base + bytes - 1) / bytes;
    transfer::fill(l.context, base, pattern.data(), bytes, pieces * bytes);
    return;
  }
  for (uint64_t id = 0; id < l.grid[0]; ++id) {
    for (uint64_t at = base + id * bytes; at < end; at += next * unit) {
      transfer::write(l.context, at, pattern.data(), bytes);
      if (!next) break;
    }
  }
}

// The pointer among bufULong, bufUInt, bufUShort, bufUChar that is not null, and its element size.
uint64_t typed_buffer(const Launch& l, uint64_t* unit) {
  static const struct {
    const char* name;
    uint64_t unit;
  } kinds[] = {{"bufULong", 8}, {"bufUInt", 4}, {"bufUShort", 2}, {"bufUChar", 1}};
  for (const auto& kind : kinds) {
    *unit = kind.unit;
    if (uint64_t at = l.arguments.number(kind.name)) return at;
  }
  return 0;
}

// 5.x: work-items 0 … size-1, each patternSize elements.
void fill_sized(const Launch& l) {
  uint64_t unit = 0, base = typed_buffer(l, &unit);
  const uint64_t bytes = l.arguments.number("patternSize") * unit;
  const uint64_t count = std::min(l.arguments.number("size"), l.grid[0]);
  if (!bytes || !count) return;
  std::vector<char> pattern(bytes);
  transfer::read(l.context, pattern.data(), l.arguments.number("pattern"), bytes);
  transfer::fill(l.context, base + l.arguments.number("offset") * unit, pattern.data(), bytes, count * bytes);
}

// Element x of row y is the start of a pattern, so patterns of several elements overlap, the last one
// winning.
void fill_2d(const Launch& l) {
  uint64_t unit = 0, base = typed_buffer(l, &unit);
  const uint64_t elements = l.arguments.number("patternSize"), pitch = l.arguments.number("pitch");
  const uint64_t width = std::min(l.arguments.number("width"), l.grid[0]);
  const uint64_t height = std::min(l.arguments.number("height"), l.grid[1]);
  // In 5.x and later the library function calls it origin; the kernel passes it on as offset.
  const uint64_t origin = l.arguments.number("offset");
  if (!elements || !width) return;
  std::vector<char> pattern(elements * unit);
  transfer::read(l.context, pattern.data(), l.arguments.number("pattern"), pattern.size());
  for (uint64_t y = 0; y < height; ++y) {
    uint64_t row = base + (origin + y * pitch) * unit;
    if (elements == 1) {
      transfer::fill(l.context, row, pattern.data(), unit, width * unit);
      continue;
    }
    for (uint64_t x = 0; x < width; ++x)
      transfer::write(l.context, row + x * unit, pattern.data(), pattern.size());
  }
}

// 6.x on: aligned elements up to end_ptr, then the remainder by bytes.
void copy_strided(const Launch& l) {
  const uint64_t from = l.arguments.number("src"), to = l.arguments.number("dst");
  const uint64_t end = l.arguments.number("end_ptr"), next = l.arguments.number("next_chunk");
  const uint64_t unit = l.arguments.number("aligned_size") == 16 ? 16 : 4;
  const uint64_t size = l.arguments.number("size"), remainder = l.arguments.number("remainder");
  if (next == l.grid[0]) {
    uint64_t bytes = end > to ? (end - to + unit - 1) / unit * unit : 0;
    transfer::copy(l.context, to, from, bytes);
  } else {
    for (uint64_t id = 0; id < l.grid[0]; ++id) {
      for (uint64_t i = id; to + i * unit < end; i += next) {
        transfer::copy(l.context, to + i * unit, from + i * unit, unit);
        if (!next) break;
      }
    }
  }
  if (remainder) transfer::copy(l.context, to + size - remainder, from + size - remainder, remainder);
}

// 5.x: size counts bytes when remain is 8, else dwords, the last of which holds `remain` bytes only.
void copy_sized(const Launch& l) {
  const uint64_t from = l.arguments.number("srcI") + l.arguments.number("srcOrigin");
  const uint64_t to = l.arguments.number("dstI") + l.arguments.number("dstOrigin");
  const uint64_t size = l.arguments.number("size"), remain = l.arguments.number("remain");
  const uint64_t items = std::min(size, l.grid[0]);
  if (!items) return;
  if (remain == 8) return transfer::copy(l.context, to, from, items);
  uint64_t bytes = items < size ? items * 4 : (size - 1) * 4 + remain;
  transfer::copy(l.context, to, from, bytes);
}

void copy_aligned(const Launch& l) {
  const uint64_t unit = l.arguments.number("alignment") == 16 ? 16 : 4;
  const uint64_t items = std::min(l.arguments.number("size"), l.grid[0]);
  transfer::copy(l.context, l.arguments.number("dst") + l.arguments.number("dstOrigin") * unit,
                 l.arguments.number("src") + l.arguments.number("srcOrigin") * unit, items * unit);
}

// Rect.x is the row pitch, .y the slice pitch, .z the start; all in elements, as size.
void copy_rect_of(const Launch& l, uint64_t unit) {
  Rect source = {}, target = {}, size = {};
  l.arguments.vector("srcRect", &source, sizeof source);
  l.arguments.vector("dstRect", &target, sizeof target);
  l.arguments.vector("size", &size, sizeof size);
  if (unit && size.w == 16) unit = 16;
  if (!unit) unit = 1;
  const uint64_t from = l.arguments.number("src"), to = l.arguments.number("dst");
  const uint64_t columns = std::min(size.x, l.grid[0]);
  if (!columns) return;
  for (uint64_t z = 0; z < std::min(size.z, l.grid[2]); ++z) {
    for (uint64_t y = 0; y < std::min(size.y, l.grid[1]); ++y) {
      transfer::copy(l.context, to + (target.z + y * target.x + z * target.y) * unit,
                     from + (source.z + y * source.x + z * source.y) * unit, columns * unit);
    }
  }
}

void copy_rect(const Launch& l) { copy_rect_of(l, 0); }
void copy_rect_aligned(const Launch& l) { copy_rect_of(l, 4); }

}  // namespace

const std::vector<Blit>& linear() {
  static const auto* list = new std::vector<Blit>{
      {"fillBufferAligned", "buf pattern pattern_size alignment end_ptr next_chunk", fill_strided},
      {"fillBufferAligned", "buf pattern pattern_size alignment end_ptr next_chunk workgroup_size",
       fill_strided},
      {"fillBufferAligned", "bufUChar bufUShort bufUInt bufULong pattern patternSize offset size",
       fill_sized},
      {"fillBufferAligned2D",
       "bufUChar bufUShort bufUInt bufULong pattern patternSize offset width height pitch", fill_2d},
      {"copyBuffer", "src dst size remainder aligned_size end_ptr next_chunk", copy_strided},
      {"copyBuffer", "src dst size remainder aligned_size end_ptr next_chunk workgroup_size", copy_strided},
      {"copyBuffer", "srcI dstI srcOrigin dstOrigin size remain", copy_sized},
      {"copyBufferAligned", "src dst srcOrigin dstOrigin size alignment", copy_aligned},
      {"copyBufferRect", "src dst srcRect dstRect size", copy_rect},
      {"copyBufferRectAligned", "src dst srcRect dstRect size", copy_rect_aligned},
  };
  return *list;
}

}  // namespace sg::blits
