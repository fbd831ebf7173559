#include "code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "msgpack.hpp"

namespace sg {
namespace {

// Values that <elf.h> of old systems lacks: https://llvm.org/docs/AMDGPUUsage.html#elf-header and
// #relocation-records
constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint32_t kRelativeAbs64 = 3, kRelative64 = 13, kAbs32 = 6;
constexpr uint64_t kLargest = uint64_t{1} << 34;  // of a code object in memory

// https://llvm.org/docs/AMDGPUUsage.html#kernel-descriptor
struct Descriptor {
  uint32_t group_size;
  uint32_t private_size;
  uint32_t kernarg_size;
  uint32_t reserved0;
  int64_t entry_offset;
  uint8_t reserved1[20];
  uint32_t rsrc3, rsrc1, rsrc2;
  uint16_t properties;
  uint16_t preload;
  uint32_t reserved3;
};
static_assert(sizeof(Descriptor) == 64, "kernel descriptors are 64 bytes");

class Elf {
 public:
  Elf(const uint8_t* data, size_t size, CodeObject* out, std::string* error)
      : data_(data), size_(size), out_(*out), error_(*error) {}

  bool read() { return header() && segments() && dynamic() && metadata() && descriptors(); }

 private:
  bool fail(const char* why) {
    error_ = why;
    return false;
  }

  // Copies a structure out of the file: nothing in it need be aligned.
  template <typename T>
  bool at(uint64_t offset, T* out) const {
    if (offset > size_ || size_ - offset < sizeof(T)) return false;
    std::memcpy(out, data_ + offset, sizeof(T));
    return true;
  }

  bool header() {
    if (!at(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0)
      return fail("not an ELF file");
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB) {
      return fail("not a 64-bit little-endian ELF file");
    }
    if (header_.e_machine != kMachineAmdgpu) return fail("not made for AMDGPU");
    if (header_.e_phentsize != sizeof(Elf64_Phdr)) return fail("odd program headers");
    out_.flags = header_.e_flags;
    return true;
  }

  bool segments() {
    for (uint32_t i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr p;
      if (!at(header_.e_phoff + uint64_t{i} * sizeof p, &p)) return fail("program headers beyond the file");
      if (p.p_filesz && (p.p_offset > size_ || p.p_filesz > size_ - p.p_offset))
        return fail("segment beyond the file");
      if (p.p_type == PT_NOTE) notes_.push_back(p);
      if (p.p_type == PT_DYNAMIC) dynamic_ = p;
      if (p.p_type != PT_LOAD) continue;
      if (p.p_memsz > kLargest || p.p_vaddr > kLargest || p.p_filesz > p.p_memsz)
        return fail("absurd segment");
      out_.load_size = std::max(out_.load_size, p.p_vaddr + p.p_memsz);
      out_.segments.push_back({p.p_vaddr, p.p_offset, p.p_filesz});
    }
    return out_.load_size ? true : fail("nothing to load");
  }

  // File offset of a loaded address that has `bytes` bytes in the file; false when it has not.
  bool file_offset(uint64_t address, uint64_t bytes, uint64_t* offset) const {
    for (const CodeObject::Segment& s : out_.segments) {
      if (address < s.address || address - s.address > s.file_size) continue;
      if (bytes > s.file_size - (address - s.address)) continue;
      *offset = s.file_offset + (address - s.address);
      return true;
    }
    return false;
  }

  bool dynamic() {
    uint64_t symbols = 0, strings = 0, strings_size = 0, hash = 0, rela = 0, rela_size = 0;
    for (uint64_t done = 0; done + sizeof(Elf64_Dyn) <= dynamic_.p_filesz; done += sizeof(Elf64_Dyn)) {
      Elf64_Dyn d;
      if (!at(dynamic_.p_offset + done, &d) || d.d_tag == DT_NULL) break;
      switch (d.d_tag) {
        case DT_SYMTAB:
          symbols = d.d_un.d_ptr;
          break;
        case DT_STRTAB:
          strings = d.d_un.d_ptr;
          break;
        case DT_STRSZ:
          strings_size = d.d_un.d_val;
          break;
        case DT_HASH:
          hash = d.d_un.d_ptr;
          break;
        case DT_RELA:
          rela = d.d_un.d_ptr;
          break;
        case DT_RELASZ:
          rela_size = d.d_un.d_val;
          break;
        default:
          break;
      }
    }
    if (!symbols) return true;
    if (!file_offset(strings, strings_size, &strings_)) return fail("string table beyond the file");
    strings_size_ = strings_size;
    // DT_HASH names the number of symbols (its second word); lld writes it for AMDGPU.
    uint64_t hash_at = 0, symbols_at = 0;
    uint32_t words[2] = {0, 0};
    if (!hash || !file_offset(hash, sizeof words, &hash_at) || !at(hash_at, &words))
      return fail("no symbol count");
    if (!file_offset(symbols, uint64_t{words[1]} * sizeof(Elf64_Sym), &symbols_at))
      return fail("symbols beyond the file");
    symbols_ = symbols_at;
    count_ = words[1];
    return read_symbols() && read_relocations(rela, rela_size);
  }

  bool text(uint32_t offset, std::string* out) const {
    if (offset >= strings_size_) return false;
    const char* begin = reinterpret_cast<const char*>(data_ + strings_ + offset);
    out->assign(begin, strnlen(begin, strings_size_ - offset));
    return true;
  }

  bool read_symbols() {
    for (uint32_t i = 1; i < count_; ++i) {
      Elf64_Sym s;
      CodeObject::Symbol symbol;
      if (!at(symbols_ + uint64_t{i} * sizeof s, &s) || !text(s.st_name, &symbol.name))
        return fail("bad symbol");
      if (s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_OBJECT) continue;
      if (s.st_value > out_.load_size || s.st_size > out_.load_size - s.st_value)
        return fail("symbol beyond the object");
      symbol.address = s.st_value;
      symbol.size = s.st_size;
      symbol.global = ELF64_ST_BIND(s.st_info) != STB_LOCAL;
      const std::string& n = symbol.name;
      symbol.kernel =
          n.size() > 3 && n.compare(n.size() - 3, 3, ".kd") == 0 && s.st_size == sizeof(Descriptor);
      out_.symbols.push_back(symbol);
    }
    return true;
  }

  bool read_relocations(uint64_t address, uint64_t bytes) {
    uint64_t from = 0;
    if (!bytes) return true;
    if (!file_offset(address, bytes, &from)) return fail("relocations beyond the file");
    for (uint64_t done = 0; done + sizeof(Elf64_Rela) <= bytes; done += sizeof(Elf64_Rela)) {
      Elf64_Rela r;
      if (!at(from + done, &r)) return fail("bad relocation");
      CodeObject::Relocation relocation;
      relocation.address = r.r_offset;
      relocation.addend = r.r_addend;
      const uint32_t type = static_cast<uint32_t>(ELF64_R_TYPE(r.r_info)), index = ELF64_R_SYM(r.r_info);
      if (type != kRelative64 && type != kRelativeAbs64 && type != kAbs32) return fail("unknown relocation");
      relocation.bytes = type == kAbs32 ? 4 : 8;
      if (r.r_offset > out_.load_size || relocation.bytes > out_.load_size - r.r_offset)
        return fail("relocation outside");
      if (type != kRelative64) {
        Elf64_Sym s;
        if (index >= count_ || !at(symbols_ + uint64_t{index} * sizeof s, &s)) return fail("bad relocation");
        if (!text(s.st_name, &relocation.symbol)) return fail("bad relocation");
        relocation.symbol_address = s.st_value;
        relocation.defined = s.st_shndx != SHN_UNDEF;
      }
      out_.relocations.push_back(relocation);
    }
    return true;
  }

  bool metadata() {
    for (const Elf64_Phdr& p : notes_) {
      uint64_t at_byte = p.p_offset, end = p.p_offset + p.p_filesz;
      Elf64_Nhdr note;
      while (at_byte + sizeof note <= end && at(at_byte, &note)) {
        uint64_t name = at_byte + sizeof note, body = name + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
        uint64_t next = body + ((uint64_t{note.n_descsz} + 3) & ~uint64_t{3});
        if (body > end || note.n_descsz > end - body) break;
        if (note.n_type == kNoteMetadata && !kernels(data_ + body, note.n_descsz))
          return fail("bad metadata");
        at_byte = next;
      }
    }
    return true;
  }

  // https://llvm.org/docs/AMDGPUUsage.html#code-object-v3-metadata
  bool kernels(const uint8_t* bytes, size_t size) {
    msgpack::Value root;
    if (!msgpack::parse(bytes, size, &root)) return false;
    const msgpack::Value* list = root.get("amdhsa.kernels");
    if (!list) return true;
    for (const msgpack::Value& item : list->items) {
      Kernel kernel;
      kernel.name = std::string(item.string(".symbol"));
      kernel.kernarg_align = static_cast<uint32_t>(item.number(".kernarg_segment_align"));
      kernel.dynamic_stack = item.number(".uses_dynamic_stack") != 0;
      if (const msgpack::Value* arguments = item.get(".args")) {
        for (const msgpack::Value& a : arguments->items) {
          KernelArgument argument;
          argument.name = std::string(a.string(".name"));
          argument.kind = std::string(a.string(".value_kind"));
          argument.offset = static_cast<uint32_t>(a.number(".offset"));
          argument.size = static_cast<uint32_t>(a.number(".size"));
          kernel.arguments.push_back(argument);
        }
      }
      out_.kernels.push_back(kernel);
    }
    return true;
  }

  // The descriptor is what the hardware reads, so its sizes are the true ones. Kernels without metadata
  // count, too.
  bool descriptors() {
    std::vector<Kernel> described;
    for (const CodeObject::Symbol& symbol : out_.symbols) {
      if (!symbol.kernel) continue;
      auto it = std::find_if(out_.kernels.begin(), out_.kernels.end(),
                             [&](const Kernel& k) { return k.name == symbol.name; });
      Kernel kernel;
      if (it != out_.kernels.end()) kernel = *it;
      kernel.name = symbol.name;
      Descriptor d;
      uint64_t offset = 0;
      if (!file_offset(symbol.address, sizeof d, &offset) || !at(offset, &d))
        return fail("kernel without descriptor");
      kernel.group_size = d.group_size;
      kernel.private_size = d.private_size;
      kernel.kernarg_size = d.kernarg_size;
      // Kernels written by hand (Tensile's) may leave the descriptor's size 0, and ROCr does not look at arguments.
      // Only HIP's own kernels are read here, and one that does not fit is then none that we know.
      const bool fits = std::all_of(kernel.arguments.begin(), kernel.arguments.end(), [&](const KernelArgument& a) {
        return a.offset <= kernel.kernarg_size && a.size <= kernel.kernarg_size - a.offset;
      });
      if (!fits) kernel.arguments.clear();
      described.push_back(kernel);
    }
    out_.kernels = described;
    return true;
  }

  const uint8_t* data_;
  size_t size_;
  CodeObject& out_;
  std::string& error_;
  Elf64_Ehdr header_ = {};
  Elf64_Phdr dynamic_ = {};
  std::vector<Elf64_Phdr> notes_;
  uint64_t strings_ = 0, strings_size_ = 0, symbols_ = 0;
  uint32_t count_ = 0;
};

}  // namespace

bool read_code_object(const uint8_t* data, size_t size, CodeObject* out, std::string* error) {
  return Elf(data, size, out, error).read();
}

}  // namespace sg
