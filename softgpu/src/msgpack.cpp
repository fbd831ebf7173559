#include "msgpack.hpp"

namespace sg::msgpack {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxValues = 1 << 20;

class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  bool value(Value* out, int depth) {
    if (depth > kMaxDepth || ++values_ > kMaxValues || at_ == end_) return false;
    uint8_t tag = *at_++;
    if (tag < 0x80) return integer(out, tag);
    if (tag >= 0xe0) return integer(out, static_cast<uint64_t>(static_cast<int8_t>(tag)));
    if (tag < 0x90) return many(out, Value::Type::kMap, tag & 0x0f, depth);
    if (tag < 0xa0) return many(out, Value::Type::kArray, tag & 0x0f, depth);
    if (tag < 0xc0) return text(out, Value::Type::kString, tag & 0x1f);
    return tagged(tag, out, depth);
  }

 private:
  bool big(size_t bytes, uint64_t* out) {
    if (static_cast<size_t>(end_ - at_) < bytes) return false;
    *out = 0;
    for (size_t i = 0; i < bytes; ++i) *out = *out << 8 | *at_++;
    return true;
  }

  static bool integer(Value* out, uint64_t number) {
    out->type = Value::Type::kInteger;
    out->integer = number;
    return true;
  }

  bool text(Value* out, Value::Type type, uint64_t length) {
    if (static_cast<uint64_t>(end_ - at_) < length) return false;
    out->type = type;
    out->text = {reinterpret_cast<const char*>(at_), static_cast<size_t>(length)};
    at_ += length;
    return true;
  }

  bool many(Value* out, Value::Type type, uint64_t count, int depth) {
    if (type == Value::Type::kMap) count *= 2;
    if (count > static_cast<uint64_t>(end_ - at_)) return false;  // each value takes a byte at least
    out->type = type;
    out->items.resize(static_cast<size_t>(count));
    for (Value& item : out->items) {
      if (!value(&item, depth + 1)) return false;
    }
    return true;
  }

  bool sized(Value* out, size_t bytes, bool is_signed) {
    uint64_t number = 0;
    if (!big(bytes, &number)) return false;
    if (is_signed && bytes < 8 && (number >> (bytes * 8 - 1))) number |= ~uint64_t{0} << (bytes * 8);
    return integer(out, number);
  }

  bool tagged(uint8_t tag, Value* out, int depth) {
    uint64_t length = 0;
    switch (tag) {
      case 0xc0:
        out->type = Value::Type::kNil;
        return true;
      case 0xc2:
      case 0xc3:
        out->type = Value::Type::kBool;
        out->integer = tag & 1;
        return true;
      case 0xc4:
      case 0xc5:
      case 0xc6:  // binary
        return big(size_t{1} << (tag - 0xc4), &length) && text(out, Value::Type::kOther, length);
      case 0xc7:
      case 0xc8:
      case 0xc9:  // extension: a type byte more
        return big(size_t{1} << (tag - 0xc7), &length) && text(out, Value::Type::kOther, length + 1);
      case 0xca:
        return text(out, Value::Type::kOther, 4);
      case 0xcb:
        return text(out, Value::Type::kOther, 8);
      case 0xcc:
      case 0xcd:
      case 0xce:
      case 0xcf:
        return sized(out, size_t{1} << (tag - 0xcc), false);
      case 0xd0:
      case 0xd1:
      case 0xd2:
      case 0xd3:
        return sized(out, size_t{1} << (tag - 0xd0), true);
      case 0xd4:
      case 0xd5:
      case 0xd6:
      case 0xd7:
      case 0xd8:  // fixed extension
        return text(out, Value::Type::kOther, (uint64_t{1} << (tag - 0xd4)) + 1);
      case 0xd9:
      case 0xda:
      case 0xdb:
        return big(size_t{1} << (tag - 0xd9), &length) && text(out, Value::Type::kString, length);
      case 0xdc:
      case 0xdd:
        return big(size_t{2} << (tag - 0xdc), &length) && many(out, Value::Type::kArray, length, depth);
      case 0xde:
      case 0xdf:
        return big(size_t{2} << (tag - 0xde), &length) && many(out, Value::Type::kMap, length, depth);
      default:
        return false;
    }
  }

  const uint8_t* at_;
  const uint8_t* end_;
  size_t values_ = 0;
};

}  // namespace

const Value* Value::get(std::string_view key) const {
  if (type != Type::kMap) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].type == Type::kString && items[i].text == key) return &items[i + 1];
  }
  return nullptr;
}

uint64_t Value::number(std::string_view key) const {
  const Value* value = get(key);
  return value && (value->type == Type::kInteger || value->type == Type::kBool) ? value->integer : 0;
}

std::string_view Value::string(std::string_view key) const {
  const Value* value = get(key);
  return value && value->type == Type::kString ? value->text : std::string_view();
}

bool parse(const uint8_t* data, size_t size, Value* out) { return Reader(data, size).value(out, 0); }

}  // namespace sg::msgpack
