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

struct Ulong2 {
  uint64_t x, y;
};
struct Ushort4 {
  uint16_t x, y, z, w;
};

// 10.0: sixteen work-items fill the ends, bytes before and after the 8-byte words before and after 16-byte tiles; all
// fill tiles, `stride` apart and `body_tile_passes` each.
void fill_ends(const Launch& l) {
  const uint64_t head = l.arguments.number("buf"), tail = l.arguments.number("tail_ptr");
  const uint64_t mask = l.arguments.number("pattern_size") - 1, offset = l.arguments.number("tail_offset");
  Ushort4 counts = {};
  l.arguments.vector("counts", &counts, sizeof counts);
  auto pattern_byte = [&](uint64_t index) {
    char byte = 0;
    transfer::read(l.context, &byte, l.arguments.number("pattern") + (index & mask), 1);
    return byte;
  };
  auto fill_bytes = [&](uint64_t at, uint64_t count, uint64_t first) {
    for (uint64_t i = 0; i < count; ++i) {
      const char byte = pattern_byte(first + i);
      transfer::write(l.context, at + i, &byte, 1);
    }
  };
  fill_bytes(head, counts.x, 0);
  const uint64_t body = l.arguments.number("body_pattern"), last = l.arguments.number("body_tail_pattern");
  if (counts.y) transfer::write(l.context, l.arguments.number("body_ptr"), &body, sizeof body);
  if (counts.z) transfer::write(l.context, l.arguments.number("body_tail_ptr"), &last, sizeof last);
  fill_bytes(tail, counts.w, offset);
}

void fill_tiled(const Launch& l) {
  fill_ends(l);
  const uint64_t tiles = l.arguments.number("element_tiled"), count = l.arguments.number("body_tile_count");
  const uint64_t passes = l.arguments.number("body_tile_passes"), stride = l.arguments.number("stride");
  Ulong2 tile = {};
  l.arguments.vector("body_tile_pattern", &tile, sizeof tile);
  for (uint64_t pass = 0; pass < passes; ++pass) {
    const uint64_t first = pass * stride, rest = count > first ? count - first : 0;
    // All passes but the last are known to be whole.
    const uint64_t items = pass + 1 < passes ? l.grid[0] : std::min(rest, l.grid[0]);
    transfer::fill(l.context, tiles + first * sizeof tile, &tile, sizeof tile, items * sizeof tile);
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

// 10.0: the grid's second dimension counts descriptors.
struct BatchEntry {
  uint64_t from, to, elements;
  uint32_t unit, rest;
};
static_assert(sizeof(BatchEntry) == 32, "CopyBufferBatchDescriptor");

void copy_batch(const Launch& l) {
  const uint64_t list = l.arguments.number("descriptors"), stride = l.arguments.number("copy_stride");
  for (uint64_t y = 0; y < l.grid[1]; ++y) {
    BatchEntry entry = {};
    transfer::read(l.context, &entry, list + y * sizeof entry, sizeof entry);
    const uint64_t unit = entry.unit == 16 ? 16 : 4;
    for (uint64_t first = 0; first < entry.elements; first += stride) {
      const uint64_t items = std::min(l.grid[0], entry.elements - first);
      transfer::copy(l.context, entry.to + first * unit, entry.from + first * unit, items * unit);
      if (!stride) break;
    }
    const uint64_t end = entry.elements * entry.unit;
    transfer::copy(l.context, entry.to + end, entry.from + end, entry.rest);
  }
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
      {"fillBufferUnAligned",
       "buf pattern body_tile_pattern body_pattern body_tail_pattern body_tile_count body_tile_passes stride "
       "pattern_size tail_offset body_ptr body_tail_ptr tail_ptr element_tiled counts",
       fill_tiled},
      {"fillBufferAligned2D",
       "bufUChar bufUShort bufUInt bufULong pattern patternSize offset width height pitch", fill_2d},
      {"copyBufferBatch", "descriptors workgroup_size copy_stride", copy_batch},
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
