// Tensors in files: numpy .npy and .npz, ONNX TensorProto .pb. Strict: these files come from outside, so each field is
// checked against the bytes that are there, and a bad one is a UserError "FILE: offset N: found ..., expected ...".
// Leaves out: Fortran order, big-endian data, structured, string and complex types, encrypted or split archives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

[[nodiscard]] Tensor read_npy(const std::filesystem::path& file);
/// Writes beside FILE, then renames: a reader sees the old file or the whole new one.
void write_npy(const std::filesystem::path& file, const Tensor& tensor);
[[nodiscard]] std::vector<std::uint8_t> npy_bytes(const Tensor& tensor);
/// `where` names the file (and member) in messages.
[[nodiscard]] Tensor parse_npy(const std::vector<std::uint8_t>& bytes, const std::string& where);

/// Members by name without ".npy".
[[nodiscard]] std::map<std::string, Tensor> read_npz(const std::filesystem::path& file);
[[nodiscard]] std::map<std::string, Tensor> parse_npz(const std::vector<std::uint8_t>& bytes, const std::string& where);

struct NamedTensor {
  std::string name;
  Tensor tensor;
};
/// An onnx.TensorProto, as ONNX's own test data holds them (test_data_set_0/input_0.pb).
[[nodiscard]] NamedTensor read_tensor_proto(const std::filesystem::path& file);
[[nodiscard]] NamedTensor parse_tensor_proto(const std::vector<std::uint8_t>& bytes, const std::string& where);

/// Names of values in file names: '/' is written '~'.
[[nodiscard]] std::string file_name_of(const std::string& value);

}  // namespace tessera::compiler
