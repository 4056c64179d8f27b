// Window arithmetic against hand-computed cases.
#include "compiler/passes/window.hpp"

#include <gtest/gtest.h>

#include "compiler/ir/builder.hpp"
#include "compiler/passes/slice_range.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

Node pool(Attributes attributes) { return Node{"n", "MaxPool", "", {"x"}, {"y"}, std::move(attributes), {}}; }
Node transpose(Attributes attributes) {
  return Node{"n", "ConvTranspose", "", {"x", "w"}, {"y"}, std::move(attributes), {}};
}

TEST(Window, defaults_are_ones_and_zeros) {
  const Window w = resolve_window(pool({}), {1, 1, 5, 6}, {3, 2});
  EXPECT_EQ(w.strides, (Ints{1, 1}));
  EXPECT_EQ(w.pads(), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(w.output, (Ints{3, 5}));
}

TEST(Window, pads_may_differ_by_side) {
  // onnx/onnx#7721: pads [1, 0, 1, 0] are top and bottom.
  const Window w = resolve_window(pool({{"pads", Ints{1, 0, 1, 0}}, {"strides", Ints{2, 2}}}), {1, 1, 7, 5}, {3, 3});
  EXPECT_EQ(w.output, (Ints{4, 2}));
}

TEST(Window, same_padding_puts_the_odd_one_at_the_named_end) {
  // 5 inputs, stride 2: 3 outputs, which need (3 - 1) 2 + 2 = 6 elements: one pad.
  const Attributes base = {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}};
  Attributes upper = base;
  upper["auto_pad"] = std::string("SAME_UPPER");
  Attributes lower = base;
  lower["auto_pad"] = std::string("SAME_LOWER");
  EXPECT_EQ(resolve_window(pool(upper), {1, 1, 5}, {}).pads(), (Ints{0, 1}));
  EXPECT_EQ(resolve_window(pool(lower), {1, 1, 5}, {}).pads(), (Ints{1, 0}));
  EXPECT_EQ(resolve_window(pool(upper), {1, 1, 5}, {}).output, (Ints{3}));
}

TEST(Window, ceil_mode_rounds_up_unless_the_last_window_begins_in_the_end_pad) {
  const auto outputs = [](std::int64_t size, std::int64_t pad, std::int64_t ceil_mode) {
    const Attributes a = {
        {"kernel_shape", Ints{2}}, {"strides", Ints{3}}, {"pads", Ints{pad, pad}}, {"ceil_mode", ceil_mode}};
    return resolve_window(pool(a), {1, 1, size}, {}).output[0];
  };
  EXPECT_EQ(outputs(6, 0, 0), 2);  // windows at 0, 3
  EXPECT_EQ(outputs(7, 0, 0), 2);
  EXPECT_EQ(outputs(7, 0, 1), 3);  // the third begins at 6
  EXPECT_EQ(outputs(4, 1, 0), 2);
  EXPECT_EQ(outputs(5, 1, 1), 2);  // a third would begin at 6, in the end pad (1 + 5 = 6)
}

TEST(Window, transposed_output_shape_gives_the_pads) {
  const Window natural = resolve_transpose_window(transpose({{"strides", Ints{3, 2}}}), {1, 1, 3, 3}, {3, 3});
  EXPECT_EQ(natural.output, (Ints{9, 7}));
  // output_shape 10x8 of quirk convtranspose_output_shape: more than the windows cover, so the rest lies at the end.
  const Window more = resolve_transpose_window(transpose({{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}}),
                                               {1, 1, 3, 3}, {3, 3});
  EXPECT_EQ(more.output, (Ints{10, 8}));
  EXPECT_EQ(more.pads(), (Ints{0, 0, -1, -1}));
  const Window less = resolve_transpose_window(transpose({{"strides", Ints{3, 2}}, {"output_shape", Ints{6, 6}}}),
                                               {1, 1, 3, 3}, {3, 3});
  EXPECT_EQ(less.pads(), (Ints{2, 1, 1, 0}));
  const Window odd = resolve_transpose_window(
      transpose({{"strides", Ints{2}}, {"output_padding", Ints{1}}, {"pads", Ints{1, 1}}}), {1, 1, 4}, {3});
  EXPECT_EQ(odd.output, (Ints{8}));
}

TEST(Window, illegal_attributes_name_the_node) {
  const auto message = [](Attributes attributes, const Ints& kernel) -> std::string {
    try {
      (void)resolve_window(pool(std::move(attributes)), {1, 1, 5, 5}, kernel);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({{"strides", Ints{0, 1}}}, {3, 3}),
            "node 'n' (MaxPool): strides is [0, 1]: expected 2 values in [1, 16777216]");
  EXPECT_EQ(message({{"pads", Ints{1}}}, {3, 3}),
            "node 'n' (MaxPool): pads is [1]: expected 4 values in [-16777216, 16777216]");
  EXPECT_EQ(message({}, {}), "node 'n' (MaxPool): kernel_shape is []: expected 2 sizes of at least 1");
  EXPECT_EQ(message({{"kernel_shape", Ints{2, 2}}}, {3, 3}),
            "node 'n' (MaxPool): kernel_shape is [2, 2] and the weight's is [3, 3]");
  EXPECT_EQ(message({{"auto_pad", std::string("ROUND")}}, {3, 3}),
            "node 'n' (MaxPool): auto_pad is 'ROUND': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

TEST(SliceRange, matches_every_python_slice_of_small_sizes) {
  // Python's rule, restated element by element: walk from the clamped start while before the clamped end.
  for (std::int64_t size = 0; size <= 5; ++size) {
    for (std::int64_t start = -7; start <= 7; ++start) {
      for (std::int64_t end = -7; end <= 7; ++end) {
        for (const std::int64_t step : {-3, -2, -1, 1, 2, 3}) {
          const std::int64_t low = step > 0 ? 0 : -1;
          const std::int64_t high = step > 0 ? size : size - 1;
          const auto clamp = [&](std::int64_t v) { return std::max(low, std::min(high, v < 0 ? v + size : v)); };
          std::vector<std::int64_t> expected;
          for (std::int64_t i = clamp(start); step > 0 ? i < clamp(end) : i > clamp(end); i += step)
            expected.push_back(i);
          const SliceRange range = slice_range(size, start, end, step);
          std::vector<std::int64_t> found;
          for (std::int64_t i = 0; i < range.count; ++i) found.push_back(range.start + i * range.step);
          ASSERT_EQ(found, expected) << size << " [" << start << ":" << end << ":" << step << "]";
        }
      }
    }
  }
}

TEST(SliceRange, extremes_do_not_overflow) {
  EXPECT_EQ(slice_range(4, -1, INT64_MIN, -1).count, 4);
  EXPECT_EQ(slice_range(4, 1, INT64_MAX, 1).count, 3);
  EXPECT_EQ(slice_range(4, 0, INT64_MAX, INT64_MAX).count, 1);
  EXPECT_EQ(slice_range(4, INT64_MAX, INT64_MIN, INT64_MIN).count, 1);
  EXPECT_EQ(slice_range(4, INT64_MIN, INT64_MAX, 1).count, 4);
}

}  // namespace
}  // namespace tessera::compiler
