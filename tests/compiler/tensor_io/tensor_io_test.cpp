#include "compiler/tensor_io/tensor_io.hpp"

#include <cstring>
#include <filesystem>
#include <random>

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <zlib.h>

#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

using Bytes8 = std::vector<std::uint8_t>;

Tensor ramp(DType dtype, Shape shape) {
  Tensor t = Tensor::make(dtype, std::move(shape));
  for (std::size_t i = 0; i < t.bytes.size(); ++i) {
    t.bytes[i] = static_cast<std::uint8_t>(dtype == DType::boolean ? i % 2 : i * 7 + 1);
  }
  return t;
}

/// An .npy by hand: any header text, any data.
Bytes8 npy(const std::string& header, const Bytes8& data, int major = 1) {
  Bytes8 bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', static_cast<std::uint8_t>(major), 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) bytes.push_back(static_cast<std::uint8_t>(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

void put(Bytes8* out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// A ZIP archive of one member, as numpy's savez (method 0) and savez_compressed (8) write it.
Bytes8 zip(const std::string& name, const Bytes8& content, int method, bool zip64 = false) {
  Bytes8 data = content;
  if (method == 8) {
    uLongf size = compressBound(static_cast<uLong>(content.size()));
    Bytes8 wrapped(size);
    EXPECT_EQ(compress2(wrapped.data(), &size, content.data(), static_cast<uLong>(content.size()), 9), Z_OK);
    data.assign(wrapped.begin() + 2, wrapped.begin() + static_cast<std::ptrdiff_t>(size) - 4);  // without zlib's frame
  }
  const auto crc = crc32(0, content.data(), static_cast<uInt>(content.size()));
  Bytes8 out;
  const auto common = [&](bool wide) {
    put(&out, 20, 2), put(&out, 0, 2), put(&out, static_cast<unsigned>(method), 2), put(&out, 0, 4), put(&out, crc, 4);
    put(&out, wide ? 0xffffffffu : data.size(), 4), put(&out, wide ? 0xffffffffu : content.size(), 4);
    put(&out, name.size(), 2), put(&out, wide ? 20 : 0, 2);
  };
  put(&out, 0x04034b50, 4);
  common(false);
  out.insert(out.end(), name.begin(), name.end());
  out.insert(out.end(), data.begin(), data.end());
  const std::size_t central = out.size();
  put(&out, 0x02014b50, 4), put(&out, 20, 2);
  common(zip64);
  put(&out, 0, 2), put(&out, 0, 2), put(&out, 0, 2), put(&out, 0, 4), put(&out, 0, 4);
  out.insert(out.end(), name.begin(), name.end());
  if (zip64) put(&out, 1, 2), put(&out, 16, 2), put(&out, content.size(), 8), put(&out, data.size(), 8);
  const std::size_t end = out.size();
  put(&out, 0x06054b50, 4), put(&out, 0, 4), put(&out, 1, 2), put(&out, 1, 2), put(&out, end - central, 4);
  put(&out, central, 4), put(&out, 0, 2);
  return out;
}

TEST(TensorIo, EveryTypeRoundTrips) {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::i8, DType::u8, DType::i16, DType::u16, DType::i32,
                           DType::u32, DType::i64, DType::u64, DType::boolean}) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{1, 2, 3, 4}, Shape{0, 3}}) {
      const Tensor t = ramp(type, shape);
      const Tensor back = parse_npy(npy_bytes(t), "t.npy");
      EXPECT_EQ(back.dtype, type);
      EXPECT_EQ(back.shape, shape) << dtype_name(type);
      EXPECT_EQ(back.bytes, t.bytes);
    }
  }
}

TEST(TensorIo, HeaderIsWhatNumpyWrites) {
  const Bytes8 bytes = npy_bytes(ramp(DType::f32, {2, 3}));
  const std::string text(bytes.begin() + 10, bytes.begin() + 69);
  EXPECT_EQ(text.substr(0, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ((bytes.size() - 24) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 25], '\n');
}

TEST(TensorIo, FilesAreReplacedWhole) {
  const auto dir = std::filesystem::temp_directory_path() / "tessera_tensor_io_test";
  std::filesystem::create_directories(dir);
  const Tensor t = ramp(DType::i16, {3, 4});
  write_npy(dir / "a.npy", t);
  write_npy(dir / "a.npy", t);
  EXPECT_EQ(read_npy(dir / "a.npy").bytes, t.bytes);
  EXPECT_FALSE(std::filesystem::exists(dir / "a.npy.part"));
  EXPECT_NE(message_of([&] { write_npy(dir / "none" / "a.npy", t); }).find("cannot be written"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)read_npy(dir / "b.npy"); }).find("b.npy: cannot be read"), std::string::npos);
  EXPECT_NE(message_of([&] { (void)read_npy(dir); }).find("is a directory"), std::string::npos);
  std::filesystem::remove_all(dir);
}

TEST(TensorIo, NpyErrorsSayWhere) {
  const auto text = [](const Bytes8& bytes) { return message_of([&] { (void)parse_npy(bytes, "x.npy"); }); };
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(text(npy(good, Bytes8(8))), "no error");
  EXPECT_EQ(text(npy(good, Bytes8(8), 3)), "no error");
  EXPECT_EQ(text(npy(good, Bytes8(7))), "x.npy: offset 68: found 7 bytes of data, expected 8 for shape 2 of float32");
  EXPECT_EQ(text({1, 2, 3}), "x.npy: offset 0: not a .npy file: expected the magic \\x93NUMPY");
  EXPECT_EQ(text(npy(good, {}, 4)), "x.npy: offset 6: .npy version 4.0: expected 1.0, 2.0 or 3.0");
  EXPECT_EQ(text(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2,), }", Bytes8(8))),
            "x.npy: fortran_order is True: expected C order (numpy.ascontiguousarray)");
  EXPECT_EQ(
      text(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", Bytes8(8))),
      "x.npy: descr '>f4' is not supported: expected little-endian <f2 <f4 <f8 <i2 <i4 <i8 <u2 <u4 <u8 or |i1 |u1 "
      "|b1");
  EXPECT_EQ(text(npy("{'descr': '<f4', 'shape': (2,), }", Bytes8(8))),
            "x.npy: offset 43: found an incomplete dict, expected descr, fortran_order and shape");
  EXPECT_EQ(text(npy("{'descr': '<f4', 'order': 1}", Bytes8(8))),
            "x.npy: offset 35: found key 'order', expected descr, fortran_order and shape, once each");
  EXPECT_EQ(text(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,-1), }", Bytes8(8))),
            "x.npy: offset 63: found no digit, expected a dimension >= 0");
  EXPECT_NE(text(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999,999999999999,99999999), }", {}))
                .find("expected more than memory"),
            std::string::npos);
  EXPECT_EQ(text(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", {2})),
            "x.npy: offset 67: found 2 in bool data, expected 0 or 1");
}

TEST(TensorIo, NpzStoredAndDeflated) {
  const Tensor t = ramp(DType::f32, {40, 50});
  for (const int method : {0, 8}) {
    for (const bool zip64 : {false, true}) {
      const auto members = parse_npz(zip("a/b.npy", npy_bytes(t), method, zip64), "x.npz");
      ASSERT_EQ(members.size(), 1u);
      EXPECT_EQ(members.begin()->first, "a/b");
      EXPECT_EQ(members.begin()->second.bytes, t.bytes);
    }
  }
}

TEST(TensorIo, NpzErrorsSayWhere) {
  const auto text = [](const Bytes8& bytes) { return message_of([&] { (void)parse_npz(bytes, "x.npz"); }); };
  const Bytes8 good = zip("a.npy", npy_bytes(ramp(DType::f32, {4})), 0);
  EXPECT_EQ(text(good), "no error");
  EXPECT_EQ(text(Bytes8(good.begin(), good.end() - 1)),
            "x.npz: not a .npz file, or truncated: no ZIP end record found");
  EXPECT_EQ(text(zip("a.txt", npy_bytes(ramp(DType::f32, {4})), 0)), "x.npz: member 'a.txt': expected only NAME.npy");
  EXPECT_EQ(text(zip("a.npy", npy_bytes(ramp(DType::f32, {4})), 12)),
            "x.npz: member 'a.npy': compression method 12: expected 0 (stored) or 8 (deflated)");
  Bytes8 flipped = good;
  flipped[30 + 5 + 128] ^= 1;  // first data byte of the array
  EXPECT_EQ(text(flipped), "x.npz: member 'a.npy': its checksum does not match: the file is damaged");
  EXPECT_EQ(text(zip("a.npy", Bytes8{1, 2, 3}, 0)),
            "x.npz: a.npy: offset 0: not a .npy file: expected the magic \\x93NUMPY");
}

Bytes8 proto_bytes(const onnx::TensorProto& proto) {
  const std::string s = proto.SerializeAsString();
  return Bytes8(s.begin(), s.end());
}

TEST(TensorIo, TensorProtoRawAndTyped) {
  onnx::TensorProto proto;
  proto.set_name("x");
  proto.set_data_type(onnx::TensorProto::INT8);
  proto.add_dims(3);
  for (const int v : {-128, 0, 127}) proto.add_int32_data(v);
  const NamedTensor typed = parse_tensor_proto(proto_bytes(proto), "x.pb");
  EXPECT_EQ(typed.name, "x");
  EXPECT_EQ(typed.tensor.as_ints(), (std::vector<std::int64_t>{-128, 0, 127}));
  proto.clear_int32_data();
  proto.set_raw_data("\x80\x00\x7f", 3);
  EXPECT_EQ(parse_tensor_proto(proto_bytes(proto), "x.pb").tensor.as_ints(), typed.tensor.as_ints());
  proto.set_raw_data("\x80", 1);
  EXPECT_EQ(message_of([&] { (void)parse_tensor_proto(proto_bytes(proto), "x.pb"); }),
            "x.pb: holds 1 bytes: 3 int8 needs 3 elements");
  proto.add_dims(1LL << 40);
  EXPECT_EQ(message_of([&] { (void)parse_tensor_proto(proto_bytes(proto), "x.pb"); }),
            "x.pb: 3x1099511627776 int8 is larger than 16 GiB");
  proto.clear_dims();
  proto.set_data_type(onnx::TensorProto::STRING);
  EXPECT_EQ(message_of([&] { (void)parse_tensor_proto(proto_bytes(proto), "x.pb"); }),
            "x.pb: has the type string (8): expected float32, float64, float16, bool or an integer of 8 to 64 bits");
  EXPECT_EQ(message_of([&] {
              (void)parse_tensor_proto({0xff, 0xff}, "x.pb");
            }),
            "x.pb: not an onnx.TensorProto, or truncated");
}

/// Damaged files end in a UserError or a tensor, never in a crash, a hang or gigabytes.
TEST(TensorIo, MutatedFilesAreRefusedOrRead) {
  onnx::TensorProto proto;
  proto.set_data_type(onnx::TensorProto::FLOAT);
  proto.add_dims(8);
  proto.set_raw_data(std::string(32, 'a'));
  const std::vector<Bytes8> seeds = {npy_bytes(ramp(DType::f32, {2, 3})),
                                     zip("a.npy", npy_bytes(ramp(DType::u8, {9})), 0),
                                     zip("a.npy", npy_bytes(ramp(DType::f32, {50})), 8, true), proto_bytes(proto)};
  std::mt19937 random(20240601);
  int refused = 0;
  int read = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::size_t kind = static_cast<std::size_t>(round) % seeds.size();
    Bytes8 bytes = seeds[kind];
    const unsigned edits = 1 + random() % 4;
    for (unsigned e = 0; e < edits && !bytes.empty(); ++e) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0:
          bytes[at] = static_cast<std::uint8_t>(random());
          break;
        case 1:
          bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << (random() % 8)));
          break;
        case 2:
          bytes.resize(at);
          break;
        default:
          bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random()));
          break;
      }
    }
    try {
      if (kind == 0) (void)parse_npy(bytes, "f");
      if (kind == 1 || kind == 2) (void)parse_npz(bytes, "f");
      if (kind == 3) (void)parse_tensor_proto(bytes, "f");
      ++read;
    } catch (const UserError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace tessera::compiler
