// The frozen quantised graph (FORMAT.md section 2): what the `graph` oracle interprets and the backend schedules. Each
// node has integer tensors, integer parameters and one rounding (isa/semantics/requantize.hpp). compiler/quantize
// lowers a QDQ / QLinear ONNX graph to it; after that every pass keeps every value bit for bit.
// Maps are 4-D NCHW (lower ranks promoted with 1s: [N,C] -> [N,C,1,1]). int8 unless a tensor says otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct QTensor {
  std::string name;  // the ONNX value it carries
  Shape shape;       // 4-D NCHW
  Shape onnx_shape;  // as the model has it
  DType dtype = DType::i8;
  double scale = 1.0;
  std::int32_t zero_point = 0;
};

/// Multiplier and shift of isa/semantics/requantize.hpp.
struct QScale {
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};

enum class QOp : std::uint8_t {
  conv,  // Conv, Gemm and MatMul with constant weights (1x1 on C x 1 x 1)
  add,   // two-scale Add (also Sub: ma or mb negative)
  mul,   // elementwise product
  max_pool,
  average_pool,  // also GlobalAveragePool (kernel = map)
  requantize,    // change of scale, clip
  table,         // 256-entry look-up (Sigmoid, ...)
  concat,        // along C, inputs already at the output's scale
  view,          // Reshape / Flatten / Squeeze: NCHW order kept, shape changes
  host           // run by the host on quantised tensors
};
[[nodiscard]] const char* qop_name(QOp op);

struct QNode {
  QOp op = QOp::view;
  std::string name;                // ONNX node
  std::string onnx_op;             // ONNX operator, e.g. "Gemm"
  std::vector<std::string> fused;  // ONNX nodes absorbed (BatchNormalization, Relu, ...)
  std::vector<int> inputs;         // indices into QGraph::tensors
  int output = -1;

  // conv, pools
  int kh = 1, kw = 1, sy = 1, sx = 1, dy = 1, dx = 1;
  int pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;
  int groups = 1;
  bool count_include_pad = false;
  // conv: weights OIHW (I = cin / groups), one scale a channel
  std::vector<std::int8_t> weights;
  std::int32_t weight_zero_point = 0;
  std::vector<std::int32_t> bias;
  std::vector<QScale> scales;  // conv: per output channel; average_pool: [n-1] for n elements; mul, requantize: [0]
  bool shift_only = false;
  // add: y = zo + rhe(((a - za) ma + (b - zb) mb) / 2^shift); zero points come from the tensors
  std::int32_t ma = 0, mb = 0;
  std::uint32_t shift = 0;
  // every op that requantises: clamp in the output's domain (a fused Relu narrows it)
  std::int32_t lo = -128, hi = 127;
  std::vector<std::int8_t> table;                         // table: result for -128..127
  std::map<std::string, std::vector<double>> attributes;  // host: as HostStep::attributes
  std::int64_t macs = 0;                                  // useful, batch included
};

struct QGraph {
  std::string name;
  std::string model_sha256;
  std::vector<QTensor> tensors;
  std::vector<QNode> nodes;  // topologically sorted
  std::vector<int> inputs;   // tensor indices
  std::vector<int> outputs;
  [[nodiscard]] std::int64_t macs() const;
};

}  // namespace tessera::compiler
