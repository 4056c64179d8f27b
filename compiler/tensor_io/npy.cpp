// Format: numpy.lib.format, versions 1.0 to 3.0: magic, version, header length, a Python dict literal, data.
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "compiler/tensor_io/file.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {
namespace {

constexpr std::array<std::uint8_t, 6> kMagic = {0x93, 'N', 'U', 'M', 'P', 'Y'};

struct TypeName {
  const char* descr;  // without the byte order mark
  DType dtype;
};
constexpr std::array<TypeName, 12> kTypes = {{{"f4", DType::f32},
                                              {"f8", DType::f64},
                                              {"f2", DType::f16},
                                              {"i1", DType::i8},
                                              {"u1", DType::u8},
                                              {"i2", DType::i16},
                                              {"u2", DType::u16},
                                              {"i4", DType::i32},
                                              {"u4", DType::u32},
                                              {"i8", DType::i64},
                                              {"u8", DType::u64},
                                              {"b1", DType::boolean}}};

/// Reads the header's dict literal: strings, True, False and tuples of integers, nothing else.
class HeaderParser {
 public:
  HeaderParser(std::string text, std::size_t file_offset, const std::string& where)
      : text_(std::move(text)), file_offset_(file_offset), where_(where) {}

  void parse() {
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !has_descr_) {
        has_descr_ = true;
        descr_ = quoted();
      } else if (key == "fortran_order" && !has_order_) {
        has_order_ = true;
        fortran_ = boolean();
      } else if (key == "shape" && !has_shape_) {
        has_shape_ = true;
        shape_ = tuple();
      } else {
        fail("key '" + key + "'", "descr, fortran_order and shape, once each");
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    spaces();
    if (at_ != text_.size()) fail("text after the header's dict", "the end of the header");
    if (!has_descr_ || !has_order_ || !has_shape_) fail("an incomplete dict", "descr, fortran_order and shape");
  }

  std::string descr_;
  bool fortran_ = false;
  Shape shape_;

 private:
  [[noreturn]] void fail(const std::string& found, const std::string& legal) const {
    user_error(where_, ": offset ", file_offset_ + at_, ": found ", found, ", expected ", legal);
  }
  void spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c))
      fail(at_ < text_.size() ? std::string("'") + text_[at_] + "'" : "the end", std::string("'") + c + "'");
  }
  std::string quoted() {
    spaces();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) fail("no string", "a quoted string");
    const char quote = text_[at_++];
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string::npos) fail("a string without end", "a quoted string");
    std::string value = text_.substr(at_, end - at_);
    at_ = end + 1;
    return value;
  }
  bool boolean() {
    spaces();
    if (text_.compare(at_, 4, "True") == 0) return at_ += 4, true;
    if (text_.compare(at_, 5, "False") == 0) return at_ += 5, false;
    fail("something else", "True or False");
  }
  std::int64_t integer() {
    spaces();
    std::int64_t value = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      if (value > (std::int64_t{1} << 40)) fail("a dimension above 2^40", "a size that fits the file");
      value = value * 10 + (text_[at_++] - '0');
    }
    if (at_ == begin) fail("no digit", "a dimension >= 0");
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return value;
  }
  Shape tuple() {
    expect('(');
    Shape shape;
    while (!take(')')) {
      shape.push_back(integer());
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string text_;
  std::size_t file_offset_;
  const std::string& where_;
  std::size_t at_ = 0;
  bool has_descr_ = false, has_order_ = false, has_shape_ = false;
};

DType dtype_of_descr(const std::string& descr, const std::string& where) {
  for (const TypeName& type : kTypes) {
    const std::string name = type.descr;
    const bool one_byte = name[1] == '1';
    if (descr == (one_byte ? "|" : "<") + name || (one_byte && descr == "<" + name)) return type.dtype;
  }
  user_error(where, ": descr '", descr,
             "' is not supported: expected little-endian <f2 <f4 <f8 <i2 <i4 <i8 <u2 <u4 <u8 or |i1 |u1 |b1");
}

std::string descr_of(DType dtype) {
  for (const TypeName& type : kTypes) {
    if (type.dtype == dtype) return std::string(type.descr[1] == '1' ? "|" : "<") + type.descr;
  }
  throw InternalError(std::string("a tensor of type ") + dtype_name(dtype) + " cannot be written as .npy");
}

}  // namespace

Tensor parse_npy(const std::vector<std::uint8_t>& bytes, const std::string& where) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0) {
    user_error(where, ": offset 0: not a .npy file: expected the magic \\x93NUMPY");
  }
  const int major = bytes[6];
  if (major < 1 || major > 3 || bytes[7] != 0) {
    user_error(where, ": offset 6: .npy version ", major, ".", static_cast<int>(bytes[7]),
               ": expected 1.0, 2.0 or 3.0");
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) user_error(where, ": offset 8: the file ends in the header's length");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= static_cast<std::size_t>(bytes[8 + i]) << (8 * i);
  const std::size_t begin = 8 + length_bytes;
  if (length > bytes.size() - begin) {
    user_error(where, ": offset 8: header length ", length, ": expected at most the ", bytes.size() - begin,
               " bytes left");
  }
  HeaderParser header(std::string(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(begin + length)),
                      begin, where);
  header.parse();
  if (header.fortran_) user_error(where, ": fortran_order is True: expected C order (numpy.ascontiguousarray)");
  const DType dtype = dtype_of_descr(header.descr_, where);

  const std::size_t have = bytes.size() - begin - length;
  std::size_t need = dtype_size(dtype);
  bool too_big = false;
  bool empty = false;
  for (const std::int64_t d : header.shape_) empty = empty || d == 0;
  for (const std::int64_t d : header.shape_) {
    if (!empty && need > std::numeric_limits<std::size_t>::max() / 2 / static_cast<std::size_t>(d)) too_big = true;
    need = empty ? 0 : (too_big ? need : need * static_cast<std::size_t>(d));
  }
  if (too_big || need != have) {
    user_error(where, ": offset ", begin + length, ": found ", have, " bytes of data, expected ",
               too_big ? std::string("more than memory") : std::to_string(need), " for shape ",
               shape_text(header.shape_), " of ", dtype_name(dtype));
  }
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = header.shape_;
  tensor.bytes.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin + length), bytes.end());
  if (dtype == DType::boolean) {
    for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
      if (tensor.bytes[i] > 1) {
        user_error(where, ": offset ", begin + length + i, ": found ", static_cast<int>(tensor.bytes[i]),
                   " in bool data, expected 0 or 1");
      }
    }
  }
  return tensor;
}

Tensor read_npy(const std::filesystem::path& file) { return parse_npy(file_bytes(file), file.string()); }

std::vector<std::uint8_t> npy_bytes(const Tensor& tensor) {
  std::string header = "{'descr': '" + descr_of(tensor.dtype) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    header += (i == 0 ? "" : " ") + std::to_string(tensor.shape[i]) + (i + 1 < tensor.shape.size() ? "," : "");
  }
  header += tensor.shape.size() == 1 ? ",), }" : "), }";
  const bool wide = header.size() > 60000;  // version 1.0 counts the header in 16 bits
  const std::size_t prefix = wide ? 12 : 10;
  while ((prefix + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';

  std::vector<std::uint8_t> bytes(kMagic.begin(), kMagic.end());
  bytes.push_back(wide ? 2 : 1);
  bytes.push_back(0);
  for (std::size_t i = 0; i < prefix - 8; ++i) bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  return bytes;
}

void write_npy(const std::filesystem::path& file, const Tensor& tensor) {
  const std::vector<std::uint8_t> bytes = npy_bytes(tensor);
  write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace tessera::compiler
