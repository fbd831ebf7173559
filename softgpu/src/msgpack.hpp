// Reader of the msgpack metadata in code objects. Input comes out of container images: every length is
// checked. Format: https://github.com/msgpack/msgpack/blob/master/spec.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sg::msgpack {

struct Value {
  enum class Type { kNil, kBool, kInteger, kOther, kString, kArray, kMap };
  Type type = Type::kNil;
  uint64_t integer = 0;  // negative numbers in two's complement
  std::string_view text;
  std::vector<Value> items;  // of an array; keys and values in turn of a map

  const Value* get(std::string_view key) const;  // of a map; nullptr when missing
  uint64_t number(std::string_view key) const;   // 0 when missing
  std::string_view string(std::string_view key) const;
};

// False when the bytes are no complete msgpack value, or nested or sized beyond reason.
bool parse(const uint8_t* data, size_t size, Value* out);

}  // namespace sg::msgpack
