// The frozen quantised graph (FORMAT.md section 2): what the `graph` oracle interprets and the backend schedules. Each
// node has integer tensors, integer parameters and one rounding (isa/semantics/requantize.hpp). compiler/quantize
// lowers a QDQ / QLinear ONNX graph to it; after that every pass keeps every value bit for bit.
// Maps are 4-D NCHW (lower ranks promoted with 1s: [N,C] -> [N,C,1,1], [N,C,L] -> [N,C,1,L]; of higher ranks the last
// axes merge). A tensor's elements are numbered in that order ("linear"). int8 unless a tensor says otherwise: other
// types are made and read by host steps alone, or are inputs and outputs of the graph.
#pragma once

#include <array>
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
  /// The model's own type of this value. At the boundary float32 is quantised, uint8 moves by 128 (zero_point is
  /// already that of int8), every other type passes as it is.
  DType onnx_dtype = DType::f32;
};

/// Multiplier and shift of isa/semantics/requantize.hpp.
struct QScale {
  std::uint32_t multiplier = 0;
  std::uint32_t shift = 0;
};

enum class QOp : std::uint8_t {
  conv,          // Conv, Gemm and MatMul with constant weights (1x1 on C x 1 x 1); phases of a ConvTranspose
  add,           // two-scale Add (also Sub: ma or mb negative); one operand may be [N,C,1,1] (one value a channel)
  mul,           // elementwise product; one operand may be [N,C,1,1]
  max_pool,      // also GlobalMaxPool and ReduceMax (kernel = map); kernel fields up to the size of the map
  average_pool,  // also GlobalAveragePool, ReduceMean, ReduceSum over space (kernel = map)
  requantize,    // change of scale, clip
  table,         // 256-entry look-up (Sigmoid, ...)
  concat,        // along C, inputs already at the output's scale
  view,          // Reshape / Flatten / Squeeze: NCHW order kept, shape changes
  move,      // strided copy of elements, with `pieces` and `fill`: Transpose, Slice, Split, Pad, Resize nearest, ...
  matmul,    // batched matrix product: two activations, or one and constant `weights`
  constant,  // no input: out = weights, as many as the tensor has elements
  host       // run by the host on quantised tensors
};
[[nodiscard]] const char* qop_name(QOp op);

/// One strided box of a `move`: for all i0 < count[0], ..., i5 < count[5] (unused loops have count 1)
///   out[dst_offset + sum i_k dst_stride[k]] = in[src_offset + sum i_k src_stride[k]]
/// in linear elements. Source strides may be 0 (repeats) or negative; destination strides are positive and fall from
/// loop 0 (outermost) to loop 5. Loops that could be one are one.
struct QMove {
  int input = 0;  // position in QNode::inputs
  std::int64_t src_offset = 0, dst_offset = 0;
  std::array<std::int64_t, 6> count{1, 1, 1, 1, 1, 1};
  std::array<std::int64_t, 6> src_stride{};
  std::array<std::int64_t, 6> dst_stride{};
};

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
  // matmul with constants: weights [K][N] ([N][K] with trans_b), bias none or N, scales 1 or N
  std::vector<std::int8_t> weights;
  std::int32_t weight_zero_point = 0;
  std::vector<std::int32_t> bias;
  std::vector<QScale> scales;  // conv: per output channel; average_pool: [n-1] for n elements; mul, requantize, matmul
                               // of two activations: [0]
  bool shift_only = false;
  // add: y = zo + rhe(((a - za) ma + (b - zb) mb) / 2^shift); zero points come from the tensors
  std::int32_t ma = 0, mb = 0;
  std::uint32_t shift = 0;
  // every op that requantises: clamp in the output's domain (a fused Relu narrows it)
  std::int32_t lo = -128, hi = 127;
  std::vector<std::int8_t> table;  // table: result for -128..127
  // move: inputs and output at one scale; elements that no piece writes are `fill`; pieces write disjoint elements
  std::vector<QMove> pieces;
  std::int8_t fill = 0;
  // matmul: out[b][i][j] = clamp(zo + rhe((sum_k (A[b][i][k] - za)(B[b][k][j] - zb) + bias[j]) * multiplier /
  // 2^shift)), linear tensors. trans_a: A lies as [b][k][i]; trans_b: B lies as [b][j][k]. shared_a / shared_b: one
  // matrix for all of the batch (constant weights always are).
  std::int64_t batch = 1, m = 1, k = 1, n = 1;
  bool trans_a = false, trans_b = false, shared_a = false, shared_b = false;
  std::map<std::string, std::vector<double>> attributes;  // host: as HostStep::attributes (host_step.hpp)
  std::string why;                                        // host: the rule that keeps it off the NPU
  std::int64_t macs = 0;                                  // useful, batch included
  bool apart = false;  // the backend may not merge it with a neighbour (passes/integer_passes.hpp)
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
