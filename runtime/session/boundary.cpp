#include "runtime/session/boundary.hpp"

#include <cstring>

#include "compiler/host/host_step.hpp"
#include "compiler/interpret/qgraph_interpreter.hpp"
#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "hw/common/random.hpp"

namespace tessera::runtime {
namespace {

using compiler::DType;
using compiler::Tensor;

DType dtype_named(const isa::TensorRef& ref, const std::string& name) {
  for (const DType type : {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32, DType::i64, DType::u64,
                           DType::boolean, DType::f16, DType::f32, DType::f64}) {
    if (name == compiler::dtype_name(type)) return type;
  }
  throw InternalError("tensor '" + ref.name + "' has type " + name);
}

DType dtype_of(const isa::TensorRef& ref) { return dtype_named(ref, ref.dtype); }

std::uint64_t address_of(const isa::Program& program, const platform::DramLayout& layout, const isa::TensorRef& ref) {
  return layout.address(program.buffers.at(ref.buffer)) + ref.offset;
}

compiler::QTensor as_qtensor(const isa::TensorRef& ref) {
  compiler::QTensor q;
  q.name = ref.name;
  q.shape = q.onnx_shape = ref.shape;
  q.dtype = dtype_of(ref);
  q.scale = ref.scale;
  q.zero_point = ref.zero_point;
  q.onnx_dtype = dtype_named(ref, ref.model_type);
  return q;
}

/// [N][C][inner...] to [N][inner...][C] or back, for tensors that DRAM holds channels-last.
std::vector<std::uint8_t> swap_channels(const Tensor& tensor, bool to_last) {
  const std::int64_t n = tensor.shape.at(0);
  const std::int64_t c = tensor.shape.size() > 1 ? tensor.shape[1] : 1;
  const std::int64_t inner = n * c == 0 ? 0 : tensor.elements() / (n * c);
  const std::size_t size = compiler::dtype_size(tensor.dtype);
  std::vector<std::uint8_t> out(tensor.bytes.size());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < c; ++j) {
      for (std::int64_t k = 0; k < inner; ++k) {
        const auto first = static_cast<std::size_t>((i * c + j) * inner + k) * size;
        const auto last = static_cast<std::size_t>((i * inner + k) * c + j) * size;
        std::memcpy(out.data() + (to_last ? last : first), tensor.bytes.data() + (to_last ? first : last), size);
      }
    }
  }
  return out;
}

Tensor random_input(const isa::TensorRef& ref, std::uint64_t seed) {
  Tensor tensor = Tensor::make(dtype_of(ref), ref.shape);
  Fnv64 hash;  // by name, so that another input changes nothing here
  hash.add(ref.name);
  std::uint64_t mixed = seed ^ hash.value();
  Random random(splitmix64(mixed));
  for (std::uint8_t& byte : tensor.bytes) byte = static_cast<std::uint8_t>(random.below(256));
  return tensor;
}

Tensor input_from_file(const isa::TensorRef& ref, const std::string& file) {
  Tensor tensor = compiler::read_npy(file);
  if (tensor.shape != ref.shape) {
    user_error(file, ": shape ", compiler::shape_text(tensor.shape), ": input '", ref.name, "' expects ",
               compiler::shape_text(ref.shape));
  }
  const compiler::QTensor as = as_qtensor(ref);
  if (tensor.dtype == DType::f32 || (tensor.dtype == DType::u8 && as.onnx_dtype == DType::u8)) {
    return compiler::quantize_tensor(as, tensor);
  }
  if (tensor.dtype != as.dtype) {
    const bool own = ref.model_type != "float32" && ref.model_type != ref.dtype;
    user_error(file, ": type ", compiler::dtype_name(tensor.dtype), ": input '", ref.name, "' expects float32, ",
               own ? ref.model_type + " as the model has it, " : "", "or ", ref.dtype);
  }
  return tensor;
}

}  // namespace

std::vector<Tensor> make_inputs(const isa::Program& program, const RunOptions& options) {
  for (const auto& [name, file] : options.inputs) {
    std::string known;
    bool found = false;
    for (const isa::TensorRef& ref : program.inputs) {
      found = found || ref.name == name;
      known += (known.empty() ? "" : ", ") + ref.name;
    }
    if (!found) user_error("--input ", name, "=", file, ": no such input; the program has: ", known);
  }
  std::vector<Tensor> out;
  for (const isa::TensorRef& ref : program.inputs) {
    const auto given = options.inputs.find(ref.name);
    out.push_back(given == options.inputs.end() ? random_input(ref, options.seed)
                                                : input_from_file(ref, given->second));
  }
  return out;
}

void place_inputs(const isa::Program& program, const platform::DramLayout& layout, const std::vector<Tensor>& inputs,
                  hw::DramStorage& dram) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const isa::TensorRef& ref = program.inputs[i];
    const std::vector<std::uint8_t> bytes = ref.layout == "NHWC" ? swap_channels(inputs[i], true) : inputs[i].bytes;
    dram.write(address_of(program, layout, ref), bytes.data(), bytes.size());
  }
}

std::vector<Tensor> fetch_outputs(const isa::Program& program, const platform::DramLayout& layout,
                                  const hw::DramStorage& dram) {
  std::vector<Tensor> out;
  for (const isa::TensorRef& ref : program.outputs) {
    Tensor tensor = Tensor::make(dtype_of(ref), ref.shape);
    dram.read(address_of(program, layout, ref), tensor.bytes.data(), tensor.bytes.size());
    if (ref.layout == "NHWC") tensor.bytes = swap_channels(tensor, false);
    out.push_back(std::move(tensor));
  }
  return out;
}

Tensor dequantise(const isa::TensorRef& ref, const Tensor& tensor) {
  return compiler::dequantize_tensor(as_qtensor(ref), tensor);
}

void run_host_step_on(const isa::Program& program, const platform::DramLayout& layout, const isa::HostStep& step,
                      hw::DramStorage& dram) {
  std::vector<std::vector<std::uint8_t>> in_bytes, out_bytes;
  std::vector<compiler::host::TensorIn> ins;
  std::vector<compiler::host::TensorOut> outs;
  const auto bytes_of = [](const isa::TensorRef& ref) {
    return static_cast<std::size_t>(compiler::element_count(ref.shape)) * compiler::dtype_size(dtype_of(ref));
  };
  for (const isa::TensorRef& ref : step.inputs) {
    in_bytes.emplace_back(bytes_of(ref));
    dram.read(address_of(program, layout, ref), in_bytes.back().data(), in_bytes.back().size());
    ins.push_back({ref.shape, ref.dtype, ref.scale, ref.zero_point, in_bytes.back().data()});
  }
  for (const isa::TensorRef& ref : step.outputs) {
    out_bytes.emplace_back(bytes_of(ref));
    outs.push_back({ref.shape, ref.dtype, ref.scale, ref.zero_point, out_bytes.back().data()});
  }
  compiler::host::StepAttributes attributes(step.attributes.begin(), step.attributes.end());
  compiler::host::run_host_step(step.name, step.op, attributes, ins, outs);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    dram.write(address_of(program, layout, step.outputs[i]), out_bytes[i].data(), out_bytes[i].size());
  }
}

std::pair<Bytes, Bytes> host_step_bytes(const isa::HostStep& step) {
  const auto sum = [](const std::vector<isa::TensorRef>& refs) {
    Bytes bytes = 0;
    for (const isa::TensorRef& ref : refs) {
      bytes += compiler::element_count(ref.shape) * static_cast<Bytes>(compiler::dtype_size(dtype_of(ref)));
    }
    return bytes;
  };
  return {sum(step.inputs), sum(step.outputs)};
}

platform::HostCost host_step_cost(const isa::ChipConfig& chip, const isa::HostStep& step) {
  std::int64_t elements = 0;
  for (const isa::TensorRef& ref : step.outputs) elements += compiler::element_count(ref.shape);
  const auto [read, written] = host_step_bytes(step);
  return {compiler::host::host_step_cycles(chip, elements, read + written), read, written};
}

}  // namespace tessera::runtime
