#include <algorithm>
#include <cmath>

#include "compiler/quantize/quantize.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/random.hpp"

namespace tessera::compiler {
namespace {

namespace fs = std::filesystem;

Tensor sample_of(const Tensor& all, std::int64_t index, const Shape& shape) {
  Tensor one = Tensor::make(all.dtype, shape);
  const auto size = static_cast<std::ptrdiff_t>(one.bytes.size());
  std::copy_n(all.bytes.begin() + index * size, size, one.bytes.begin());
  return one;
}

Tensor to_type(const Tensor& tensor, DType dtype, const std::string& where) {
  if (tensor.dtype == dtype) return tensor;
  if (dtype != DType::f32) {
    user_error(where, ": found type ", dtype_name(tensor.dtype), ", expected ", dtype_name(dtype));
  }
  Tensor result = Tensor::make(DType::f32, tensor.shape);
  const std::vector<double> values = tensor.as_doubles();
  std::transform(values.begin(), values.end(), result.data<float>(), [](double v) { return static_cast<float>(v); });
  return result;
}

std::vector<NamedTensors> samples_of_file(const Graph& graph, const fs::path& file) {
  const std::map<std::string, Tensor> arrays = read_npz(file);
  std::vector<NamedTensors> samples;
  for (const std::string& input : graph.inputs) {
    const std::string plain = file_name_of(input);
    auto found = arrays.find("calib_" + plain);
    if (found == arrays.end()) found = arrays.find(plain);
    if (found == arrays.end()) {
      user_error(file.string(), ": no array for input ", input, ": expected calib_", plain, " or ", plain);
    }
    const std::string where = file.string() + ": " + found->first;
    const Shape& shape = graph.shape_of(input);
    const Tensor all = to_type(found->second, graph.dtype_of(input), where);
    // [samples, input...]; or [samples, input without a batch of 1...]; or the input itself.
    const Shape rest(all.shape.begin() + (all.shape.empty() ? 0 : 1), all.shape.end());
    const Shape without_batch(shape.begin() + (shape.empty() ? 0 : 1), shape.end());
    std::int64_t count = 0;
    if (!all.shape.empty() && (rest == shape || (!shape.empty() && shape[0] == 1 && rest == without_batch))) {
      count = all.shape[0];
    } else if (all.shape == shape) {
      count = 1;
    } else {
      user_error(where, ": found shape ", shape_text(all.shape), ", expected samples x ", shape_text(shape));
    }
    if (samples.empty()) samples.resize(static_cast<std::size_t>(count));
    if (count == 0 || samples.size() != static_cast<std::size_t>(count)) {
      user_error(where, ": found ", count, " samples, expected ", count == 0 ? 1 : samples.size(),
                 count == 0 ? " or more" : " as for the other inputs");
    }
    for (std::int64_t i = 0; i < count; ++i) samples[static_cast<std::size_t>(i)][input] = sample_of(all, i, shape);
  }
  return samples;
}

}  // namespace

std::vector<NamedTensors> read_calibration(const Graph& graph, const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return samples_of_file(graph, path);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.path().extension() == ".npz") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) user_error(path.string(), ": no .npz file in this directory: expected at least one");
  std::vector<NamedTensors> samples;
  for (const fs::path& file : files) {
    for (NamedTensors& sample : samples_of_file(graph, file)) samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<NamedTensors> random_calibration(const Graph& graph, std::uint64_t seed) {
  NamedTensors sample;
  Random random(seed);
  for (const std::string& input : graph.inputs) {
    const DType dtype = graph.dtype_of(input);
    if (dtype != DType::f32) {
      user_error("input ", input, ": type ", dtype_name(dtype), " has no random sample: give one with --calib");
    }
    Tensor tensor = Tensor::make(dtype, graph.shape_of(input));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) tensor.data<float>()[i] = static_cast<float>(random.normal());
    sample[input] = std::move(tensor);
  }
  return {sample};
}

}  // namespace tessera::compiler
