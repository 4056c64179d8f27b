// Format: a ZIP archive (PKWARE APPNOTE 6.3) of .npy members, stored or deflated. The central directory is the
// authority; local headers only say where a member's data begins. ZIP64 fields are read (numpy writes them).
#include <algorithm>
#include <limits>
#include <string>

#include <zlib.h>

#include "compiler/tensor_io/file.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr std::uint64_t kDeflateMaxRatio = 1032;  // no deflate stream expands further

struct Member {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed = 0;
  std::uint64_t size = 0;
  std::uint64_t header = 0;  // offset of the local header
};

class Archive {
 public:
  Archive(const std::vector<std::uint8_t>& bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  std::map<std::string, Tensor> members() const {
    std::uint64_t count = 0;
    std::uint64_t at = 0;
    find_directory(&count, &at);
    std::map<std::string, Tensor> result;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Member member = central_entry(&at);
      const std::string suffix = ".npy";
      if (member.name.size() <= suffix.size() ||
          member.name.compare(member.name.size() - suffix.size(), suffix.size(), suffix) != 0) {
        user_error(where_, ": member '", member.name, "': expected only NAME.npy");
      }
      const std::string key = member.name.substr(0, member.name.size() - suffix.size());
      Tensor tensor = parse_npy(data_of(member), where_ + ": " + member.name);
      if (!result.emplace(key, std::move(tensor)).second)
        user_error(where_, ": member '", member.name, "' is there twice");
    }
    return result;
  }

 private:
  template <typename T>
  T get(std::uint64_t at, const char* what) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) {
      user_error(where_, ": offset ", at, ": the file ends in ", what, ": is the archive truncated?");
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<std::uint64_t>(bytes_[at + i]) << (8 * i);
    return static_cast<T>(value);
  }

  void find_directory(std::uint64_t* count, std::uint64_t* at) const {
    constexpr std::uint64_t kEndBytes = 22;
    std::uint64_t end = 0;
    bool found = false;
    for (std::uint64_t back = kEndBytes; !found && back <= bytes_.size() && back <= kEndBytes + 65535; ++back) {
      end = bytes_.size() - back;
      found = get<std::uint32_t>(end, "the end record") == kEndSignature;
    }
    if (!found) user_error(where_, ": not a .npz file, or truncated: no ZIP end record found");
    if (get<std::uint16_t>(end + 4, "the end record") != 0)
      user_error(where_, ": archives in several parts are not read");
    *count = get<std::uint16_t>(end + 10, "the end record");
    *at = get<std::uint32_t>(end + 16, "the end record");
    if (end >= 20 && get<std::uint32_t>(end - 20, "the ZIP64 locator") == kEnd64LocatorSignature) {
      const std::uint64_t end64 = get<std::uint64_t>(end - 20 + 8, "the ZIP64 locator");
      if (get<std::uint32_t>(end64, "the ZIP64 end record") != kEnd64Signature) {
        user_error(where_, ": offset ", end64, ": expected a ZIP64 end record");
      }
      *count = get<std::uint64_t>(end64 + 32, "the ZIP64 end record");
      *at = get<std::uint64_t>(end64 + 48, "the ZIP64 end record");
    }
  }

  Member central_entry(std::uint64_t* at) const {
    const std::uint64_t begin = *at;
    const char* const what = "the central directory";
    if (get<std::uint32_t>(begin, what) != kCentralSignature) {
      user_error(where_, ": offset ", begin, ": expected an entry of the central directory");
    }
    Member m;
    m.flags = get<std::uint16_t>(begin + 8, what);
    m.method = get<std::uint16_t>(begin + 10, what);
    m.crc = get<std::uint32_t>(begin + 16, what);
    m.compressed = get<std::uint32_t>(begin + 20, what);
    m.size = get<std::uint32_t>(begin + 24, what);
    const std::uint64_t name_length = get<std::uint16_t>(begin + 28, what);
    const std::uint64_t extra_length = get<std::uint16_t>(begin + 30, what);
    const std::uint64_t comment_length = get<std::uint16_t>(begin + 32, what);
    m.header = get<std::uint32_t>(begin + 42, what);
    const std::uint64_t name_at = begin + 46;
    if (name_at + name_length + extra_length + comment_length > bytes_.size()) {
      user_error(where_, ": offset ", begin, ": an entry of the central directory runs past the file");
    }
    m.name.assign(reinterpret_cast<const char*>(bytes_.data()) + name_at, name_length);
    read_zip64(name_at + name_length, extra_length, &m);
    *at = name_at + name_length + extra_length + comment_length;
    return m;
  }

  /// Extra field 1 holds, in this order, those of size, compressed size and offset that are all ones in the entry.
  void read_zip64(std::uint64_t at, std::uint64_t length, Member* m) const {
    const std::uint64_t end = at + length;
    while (at + 4 <= end) {
      const auto id = get<std::uint16_t>(at, "an extra field");
      const std::uint64_t field_end = at + 4 + get<std::uint16_t>(at + 2, "an extra field");
      if (field_end > end) user_error(where_, ": offset ", at, ": an extra field runs past its entry");
      std::uint64_t value_at = at + 4;
      if (id == 1) {
        for (std::uint64_t* field : {&m->size, &m->compressed, &m->header}) {
          if (*field != std::numeric_limits<std::uint32_t>::max()) continue;
          if (value_at + 8 > field_end) user_error(where_, ": offset ", at, ": a ZIP64 field is too short");
          *field = get<std::uint64_t>(value_at, "a ZIP64 field");
          value_at += 8;
        }
      }
      at = field_end;
    }
  }

  std::vector<std::uint8_t> data_of(const Member& m) const {
    const std::string who = where_ + ": member '" + m.name + "'";
    if ((m.flags & 1u) != 0) user_error(who, ": is encrypted: expected a plain archive");
    if (m.method != 0 && m.method != 8) {
      user_error(who, ": compression method ", m.method, ": expected 0 (stored) or 8 (deflated)");
    }
    if (get<std::uint32_t>(m.header, "a local header") != kLocalSignature) {
      user_error(who, ": offset ", m.header, ": expected a local header");
    }
    const std::uint64_t begin = m.header + 30 + get<std::uint16_t>(m.header + 26, "a local header") +
                                get<std::uint16_t>(m.header + 28, "a local header");
    if (begin > bytes_.size() || m.compressed > bytes_.size() - begin) {
      user_error(who, ": ", m.compressed, " bytes at offset ", begin, " run past the file of ", bytes_.size(),
                 " bytes");
    }
    if (m.method == 0 ? m.size != m.compressed : m.size / kDeflateMaxRatio > m.compressed + 1) {
      user_error(who, ": ", m.compressed, " stored bytes cannot hold the ", m.size, " it claims");
    }
    std::vector<std::uint8_t> data(m.size);
    if (m.method == 0) {
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(begin), m.size, data.begin());
    } else {
      inflate_into(begin, m.compressed, &data, who);
    }
    const uLong crc = crc32_z(crc32_z(0, nullptr, 0), data.data(), data.size());
    if (crc != m.crc) user_error(who, ": its checksum does not match: the file is damaged");
    return data;
  }

  void inflate_into(std::uint64_t begin, std::uint64_t length, std::vector<std::uint8_t>* data,
                    const std::string& who) const {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw InternalError("zlib's inflateInit2 failed");
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    int status = Z_OK;
    constexpr std::uint64_t kStep = 1u << 30;  // zlib counts in 32 bits
    while (status == Z_OK) {
      const std::uint64_t give = std::min(kStep, length - in);
      const std::uint64_t room = std::min<std::uint64_t>(kStep, data->size() - out);
      stream.next_in = const_cast<Bytef*>(bytes_.data() + begin + in);
      stream.avail_in = static_cast<uInt>(give);
      stream.next_out = data->data() + out;
      stream.avail_out = static_cast<uInt>(room);
      status = inflate(&stream, Z_NO_FLUSH);
      in += give - stream.avail_in;
      out += room - stream.avail_out;
      if (status == Z_OK && give == stream.avail_in && room == stream.avail_out) status = Z_BUF_ERROR;
    }
    inflateEnd(&stream);
    if (status != Z_STREAM_END || out != data->size()) user_error(who, ": its deflated data is damaged");
  }

  const std::vector<std::uint8_t>& bytes_;
  const std::string& where_;
};

}  // namespace

std::map<std::string, Tensor> parse_npz(const std::vector<std::uint8_t>& bytes, const std::string& where) {
  return Archive(bytes, where).members();
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& file) {
  return parse_npz(file_bytes(file), file.string());
}

}  // namespace tessera::compiler
