#include "compiler/passes/slice_range.hpp"

#include <algorithm>

#include "hw/common/error.hpp"

namespace tessera::compiler {

SliceRange slice_range(std::int64_t size, std::int64_t start, std::int64_t end, std::int64_t step) {
  // Adding the size cannot overflow: it is added to negative numbers only.
  if (start < 0) start += size;
  if (end < 0) end += size;
  SliceRange range;
  range.step = step;
  if (step > 0) {
    range.start = std::clamp<std::int64_t>(start, 0, size);
    const std::int64_t span = std::clamp<std::int64_t>(end, 0, size) - range.start;
    range.count = span <= 0 ? 0 : (span - 1) / step + 1;
  } else {
    range.start = std::clamp<std::int64_t>(start, -1, size - 1);
    const std::int64_t span = range.start - std::clamp<std::int64_t>(end, -1, size - 1);
    // -(step + 1) + 1 would be -step; dividing by the negative step avoids negating INT64_MIN.
    range.count = span <= 0 ? 0 : 1 - (span - 1) / step;
  }
  return range;
}

std::vector<SliceRange> slice_ranges(const Node& node, const Shape& in, const std::vector<std::int64_t>& starts,
                                     const std::vector<std::int64_t>& ends, const std::vector<std::int64_t>& axes,
                                     const std::vector<std::int64_t>& steps) {
  const auto refuse = [&](const std::string& text) { user_error("node '", node.name, "' (", node.op, "): ", text); };
  const std::size_t count = starts.size();
  if (ends.size() != count || (!axes.empty() && axes.size() != count) || (!steps.empty() && steps.size() != count)) {
    refuse("starts, ends, axes and steps differ in length: expected one entry each for every sliced axis");
  }
  if (axes.empty() && count > in.size()) refuse("slices more axes than the input of " + shape_text(in) + " has");
  std::vector<SliceRange> ranges;
  for (const std::int64_t size : in) ranges.push_back(SliceRange{0, 1, size});
  const auto rank = static_cast<std::int64_t>(in.size());
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t axis = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
    if (axis < -rank || axis >= rank) {
      refuse("axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
    }
    if (axis < 0) axis += rank;
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    if (step == 0) refuse("has a step of 0: expected any other step");
    const auto at = static_cast<std::size_t>(axis);
    ranges[at] = slice_range(in[at], starts[i], ends[i], step);
  }
  return ranges;
}

}  // namespace tessera::compiler
