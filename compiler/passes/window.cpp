#include "compiler/passes/window.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"

namespace tessera::compiler {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kLargest = std::int64_t{1} << 24;  // of an attribute: no sum below overflows
constexpr std::int64_t kLargestOutput = std::int64_t{1} << 34;

[[noreturn]] void refuse(const Node& node, const std::string& text) {
  user_error("node '", node.name, "' (", node.op, "): ", text);
}

std::string list_text(const Ints& list) {
  std::string text = "[";
  for (const std::int64_t value : list) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

/// A list attribute with one entry a spatial dimension (two for pads), each within [low, 2^24].
Ints spatial_attribute(const Node& node, const std::string& key, const Ints& otherwise, std::int64_t low) {
  Ints list = node.ints_attr(key, otherwise);
  if (list.empty()) list = otherwise;  // some exporters write an empty list for the default
  const bool in_range =
      std::all_of(list.begin(), list.end(), [&](std::int64_t v) { return v >= low && v <= kLargest; });
  if (list.size() != otherwise.size() || !in_range) {
    refuse(node, key + " is " + list_text(list) + ": expected " + std::to_string(otherwise.size()) + " values in [" +
                     std::to_string(low) + ", " + std::to_string(kLargest) + "]");
  }
  return list;
}

enum class AutoPad { notset, valid, same_upper, same_lower };

AutoPad auto_pad(const Node& node) {
  const std::string text = node.string_attr("auto_pad", "NOTSET");
  if (text == "NOTSET" || text.empty()) return AutoPad::notset;
  if (text == "VALID") return AutoPad::valid;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  if (text == "SAME_LOWER") return AutoPad::same_lower;
  refuse(node, "auto_pad is '" + text + "': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

/// What Conv, ConvTranspose and the pools have in common: lists of equal length, checked.
Window common(const Node& node, const Shape& input, Ints kernel) {
  if (input.size() < 3 || input.size() > 5) {
    refuse(node, "input is " + shape_text(input) + ": expected batch, channels and 1 to 3 spatial sizes");
  }
  const std::size_t rank = input.size() - 2;
  const Ints given = node.ints_attr("kernel_shape", kernel);
  if (kernel.empty()) {
    kernel = given;
  } else if (!given.empty() && given != kernel) {
    refuse(node, "kernel_shape is " + list_text(given) + " and the weight's is " + list_text(kernel));
  }
  const bool legal = std::all_of(kernel.begin(), kernel.end(), [](std::int64_t k) { return k >= 1 && k <= kLargest; });
  if (kernel.size() != rank || !legal) {
    refuse(node,
           "kernel_shape is " + list_text(kernel) + ": expected " + std::to_string(rank) + " sizes of at least 1");
  }
  Window window;
  window.kernel = std::move(kernel);
  window.strides = spatial_attribute(node, "strides", Ints(rank, 1), 1);
  window.dilations = spatial_attribute(node, "dilations", Ints(rank, 1), 1);
  Ints pads = spatial_attribute(node, "pads", Ints(2 * rank, 0), -kLargest);
  if (auto_pad(node) != AutoPad::notset) pads.assign(2 * rank, 0);
  window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  window.output.resize(rank);
  return window;
}

/// Extent of a dilated kernel: (k - 1) d + 1.
std::int64_t extent(const Window& window, std::size_t i) { return (window.kernel[i] - 1) * window.dilations[i] + 1; }

}  // namespace

std::vector<std::int64_t> Window::pads() const {
  Ints both = pads_begin;
  both.insert(both.end(), pads_end.begin(), pads_end.end());
  return both;
}

Window resolve_window(const Node& node, const Shape& input, std::vector<std::int64_t> kernel) {
  Window window = common(node, input, std::move(kernel));
  const AutoPad mode = auto_pad(node);
  const bool ceil_mode = node.int_attr("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < window.output.size(); ++i) {
    const std::int64_t in = input[i + 2];
    const std::int64_t stride = window.strides[i];
    if (mode == AutoPad::same_upper || mode == AutoPad::same_lower) {
      const std::int64_t out = ceil_div(in, stride);
      const std::int64_t total = std::max<std::int64_t>((out - 1) * stride + extent(window, i) - in, 0);
      window.pads_begin[i] = mode == AutoPad::same_upper ? total / 2 : total - total / 2;
      window.pads_end[i] = total - window.pads_begin[i];
      window.output[i] = out;
      continue;
    }
    const std::int64_t room = in + window.pads_begin[i] + window.pads_end[i] - extent(window, i);
    if (room < 0) {
      refuse(node, "a kernel of " + list_text(window.kernel) + " with dilations " + list_text(window.dilations) +
                       " does not fit into " + shape_text(input) + " padded by " + list_text(window.pads()));
    }
    std::int64_t out = (ceil_mode ? ceil_div(room, stride) : room / stride) + 1;
    // The last window must begin inside the map or its leading pad (as PyTorch and ONNX Runtime have it).
    if (ceil_mode && (out - 1) * stride >= in + window.pads_begin[i]) --out;
    window.output[i] = out;
  }
  return window;
}

Window resolve_transpose_window(const Node& node, const Shape& input, std::vector<std::int64_t> kernel) {
  Window window = common(node, input, std::move(kernel));
  const std::size_t rank = window.output.size();
  const AutoPad mode = auto_pad(node);
  window.output_padding = spatial_attribute(node, "output_padding", Ints(rank, 0), 0);
  Ints wanted = node.ints_attr("output_shape", {});
  if (!wanted.empty() && wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != rank) {
    refuse(node, "output_shape is " + list_text(wanted) + ": expected " + std::to_string(rank) + " sizes");
  }
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t full = window.strides[i] * (input[i + 2] - 1) + window.output_padding[i] + extent(window, i);
    if (!wanted.empty() || same) {
      window.output[i] = wanted.empty() ? input[i + 2] * window.strides[i] : wanted[i];
      const std::int64_t total = full - window.output[i];
      // Padding is shared out; what the windows do not reach lies behind the end.
      const std::int64_t shared = std::max<std::int64_t>(total, 0);
      window.pads_begin[i] = mode == AutoPad::same_upper ? shared / 2 : shared - shared / 2;
      window.pads_end[i] = total - window.pads_begin[i];
    } else {
      window.output[i] = full - window.pads_begin[i] - window.pads_end[i];
    }
    if (window.output[i] < 1 || window.output[i] > kLargestOutput) {
      refuse(node, "makes a map of size " + std::to_string(window.output[i]) + ": expected at least 1");
    }
  }
  return window;
}

}  // namespace tessera::compiler
