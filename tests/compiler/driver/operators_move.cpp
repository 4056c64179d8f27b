// Operators that only move elements.
#include <algorithm>
#include <numeric>

#include "operator_model.hpp"

namespace tessera::compiler::testing {
namespace {

std::size_t size_of(std::int64_t v) { return static_cast<std::size_t>(v); }

/// A map, or a tensor of any rank from 1 to 6.
Shape some(OperatorModel& m) { return m.random.chance(1, 2) ? m.map() : m.any(size_of(m.random.between(1, 6))); }

std::int64_t some_axis(OperatorModel& m, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  return m.random.between(0, rank - 1) - (m.random.chance(1, 4) ? rank : 0);
}

std::int64_t& at_axis(Shape* shape, std::int64_t axis) {
  return (*shape)[size_of(axis < 0 ? axis + static_cast<std::int64_t>(shape->size()) : axis)];
}

void transpose_of(OperatorModel& m, const Shape& shape) {
  Ints order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[m.random.below(i)]);
  m.test("Transpose", {m.activation(shape)}, {{"perm", order}});
}

void transpose_4d(OperatorModel& m) { transpose_of(m, m.map()); }
void transpose_5d(OperatorModel& m) { transpose_of(m, m.any(5)); }
void transpose_6d(OperatorModel& m) { transpose_of(m, m.any(6)); }
void transpose_8d(OperatorModel& m) {
  Shape shape;
  for (int d = 0; d < 8; ++d) shape.push_back(m.random.between(2, 3));
  transpose_of(m, shape);
}
void transpose_low(OperatorModel& m) { transpose_of(m, m.any(size_of(m.random.between(1, 3)))); }

void concat_on(OperatorModel& m, const Shape& shape, std::int64_t axis) {
  std::vector<std::string> inputs;
  const std::int64_t parts = m.random.between(2, 4);
  for (std::int64_t i = 0; i < parts; ++i) {
    Shape part = shape;
    at_axis(&part, axis) = m.random.between(1, 9);
    inputs.push_back(m.activation(part));
  }
  if (m.random.chance(1, 4)) inputs.push_back(inputs[0]);
  m.test("Concat", inputs, {{"axis", axis}});
}

void concat_batches(OperatorModel& m) { concat_on(m, m.map(), 0); }
void concat_channels(OperatorModel& m) { concat_on(m, m.map(), 1); }
void concat_rows(OperatorModel& m) { concat_on(m, m.map(), 2); }
void concat_columns(OperatorModel& m) { concat_on(m, m.map(), -1); }
void concat_any_rank(OperatorModel& m) {
  const Shape shape = m.any(size_of(m.random.between(1, 6)));
  concat_on(m, shape, some_axis(m, shape));
}

void split(OperatorModel& m) {
  Shape shape = some(m);
  const std::int64_t axis = some_axis(m, shape);
  Ints sizes;
  const std::int64_t count = m.random.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) sizes.push_back(m.random.between(1, 8));
  at_axis(&shape, axis) = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  const std::vector<std::string> parts =
      m.parts("Split", {m.activation(shape), m.ints(sizes)}, static_cast<int>(count), {{"axis", axis}});
  for (const std::string& part : parts) {
    if (part == parts.front() || m.random.chance(2, 3)) m.output(part);
  }
}

void slice(OperatorModel& m) {
  const Shape shape = some(m);
  Ints starts, ends, axes, steps;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (m.random.chance(1, 2) && d + 1 < shape.size()) continue;
    std::int64_t step = m.random.between(1, 3);
    std::int64_t first = m.random.between(0, shape[d] - 1);
    std::int64_t end = m.random.between(first + 1, shape[d] + 2);
    if (m.random.chance(1, 3)) {  // backwards
      step = -step;
      end = m.random.between(-1, first - 1);
      end = end < 0 ? -1000 : end;
    } else if (m.random.chance(1, 4)) {
      first -= shape[d];
      end = INT64_MAX;
    }
    starts.push_back(first);
    ends.push_back(end);
    axes.push_back(static_cast<std::int64_t>(d));
    steps.push_back(step);
  }
  m.test("Slice", {m.activation(shape), m.ints(starts), m.ints(ends), m.ints(axes), m.ints(steps)});
}

void pad_constant(OperatorModel& m) {
  const Shape shape = some(m);
  Ints begins, ends;
  for (const std::int64_t size : shape) {
    const std::int64_t most_cut = (size - 1) / 2;
    begins.push_back(m.random.chance(1, 2) ? 0 : m.random.between(-std::min<std::int64_t>(most_cut, 1), 2));
    ends.push_back(m.random.chance(1, 2) ? 0 : m.random.between(-std::min<std::int64_t>(most_cut, 2), 3));
  }
  Ints pads = begins;
  pads.insert(pads.end(), ends.begin(), ends.end());
  std::vector<std::string> inputs = {m.activation(shape), m.ints(pads)};
  if (m.random.chance(1, 2)) inputs.push_back(m.number(static_cast<float>(m.random.normal())));
  m.test("Pad", inputs);
}

/// Every row and column of the rim is a strided copy: few of them.
void pad_of_the_maps_own_values(OperatorModel& m) {
  const Shape shape = {m.batch(), m.channels(), m.random.between(3, 9), m.random.between(3, 9)};
  const Ints pads = {0, 0, m.random.between(0, 2), m.random.between(0, 2),
                     0, 0, m.random.between(0, 2), m.random.between(0, 2)};
  m.test("Pad", {m.activation(shape), m.ints(pads)},
         {{"mode", std::string(m.random.chance(1, 2) ? "reflect" : "edge")}});
}

void depth_to_space(OperatorModel& m) {
  const std::int64_t block = m.random.between(2, 3);
  const Shape shape = {m.batch(), block * block * m.random.between(1, 5), m.random.between(1, 7),
                       m.random.between(1, 7)};
  m.test("DepthToSpace", {m.activation(shape)},
         {{"blocksize", block}, {"mode", std::string(m.random.chance(1, 2) ? "DCR" : "CRD")}});
}

void space_to_depth(OperatorModel& m) {
  const std::int64_t block = m.random.between(2, 3);
  m.test("SpaceToDepth",
         {m.activation({m.batch(), m.channels(), block * m.random.between(1, 4), block * m.random.between(1, 4)})},
         {{"blocksize", block}});
}

void expand(OperatorModel& m) {
  Shape shape = m.any(size_of(m.random.between(2, 5)));
  Shape wide = shape;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (m.random.chance(1, 2)) shape[d] = 1;
  }
  if (m.random.chance(1, 3)) wide.insert(wide.begin(), 2);
  m.test("Expand", {m.input(shape), m.ints(wide)});
}

void tile(OperatorModel& m) {
  const Shape shape = m.any(size_of(m.random.between(1, 4)));
  Ints repeats;
  for (std::size_t d = 0; d < shape.size(); ++d) repeats.push_back(m.random.between(1, 3));
  m.test("Tile", {m.activation(shape), m.ints(repeats)});
}

void gather(OperatorModel& m) {
  Shape shape = some(m);
  const std::int64_t axis = some_axis(m, shape);
  const std::int64_t size = at_axis(&shape, axis);
  Ints indices;
  const std::int64_t count = m.random.between(1, 7);
  for (std::int64_t i = 0; i < count; ++i) indices.push_back(m.random.between(-size, size - 1));
  m.test("Gather", {m.activation(shape), m.ints(indices)}, {{"axis", axis}});
}

void channel_shuffle(OperatorModel& m) {
  const std::int64_t groups = m.random.between(2, 4);
  Shape in = m.map();
  in[1] = groups * m.random.between(1, 6);
  const std::string apart =
      m.step("Reshape", {m.activation(in), m.ints({in[0], groups, in[1] / groups, in[2], in[3]})});
  const std::string swapped = m.node("Transpose", {apart}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  m.output(m.step("Reshape", {swapped, m.ints(in)}));
}

void reshape(OperatorModel& m) {
  const Shape in = m.map();
  static const std::vector<Ints> targets = {{0, -1}, {-1}, {0, 0, -1}, {0, -1, 1, 1}, {1, 0, -1, 1, 1}};
  const Ints target = in[0] > 1 ? Ints{-1, in[3]} : targets[m.random.below(targets.size())];
  m.test("Reshape", {m.activation(in), m.ints(target)});
}

/// Hundreds of maps of one pixel: more tokens between two queues than a semaphore counts.
void reshape_to_many_batches(OperatorModel& m) {
  const Shape in = {m.random.between(1, 3), m.random.between(1, 20), m.random.between(8, 13), 13};
  m.test("Reshape", {m.activation(in), m.ints({-1, in[3]})});
}

void flatten(OperatorModel& m) {
  const Shape in = some(m);
  m.test("Flatten", {m.activation(in)}, {{"axis", m.random.between(0, static_cast<std::int64_t>(in.size()))}});
}

void squeeze(OperatorModel& m) {
  m.test("Squeeze", {m.activation({m.batch(), m.channels(), 1, m.random.between(1, 9)}), m.ints({2})});
}

void unsqueeze(OperatorModel& m) {
  m.test("Unsqueeze", {m.activation(m.any(size_of(m.random.between(1, 4)))), m.ints({0})});
}

void identity(OperatorModel& m) { m.test("Identity", {m.activation(some(m))}); }

}  // namespace

std::vector<OperatorFamily> move_families() {
  const std::vector<std::string> mover = {"reorder", "load", "edp", "-"};  // edp: the scale changes
  return {{"Transpose1dTo3d", "Transpose", mover, transpose_low},
          {"Transpose4d", "Transpose", mover, transpose_4d},
          {"Transpose5d", "Transpose", mover, transpose_5d},
          {"Transpose6d", "Transpose", mover, transpose_6d},
          {"Transpose8d", "Transpose", mover, transpose_8d},  // six loops are too few
          {"ChannelShuffle", "Transpose", mover, channel_shuffle},
          {"ConcatBatches", "Concat", mover, concat_batches},
          {"ConcatChannels", "Concat", mover, concat_channels},
          {"ConcatRows", "Concat", mover, concat_rows},
          {"ConcatColumns", "Concat", mover, concat_columns},
          {"ConcatAnyRank", "Concat", mover, concat_any_rank},
          {"Split", "Split", mover, split},
          {"SliceWithSteps", "Slice", mover, slice},
          {"PadConstant", "Pad", mover, pad_constant},
          {"PadReflectAndEdge", "Pad", mover, pad_of_the_maps_own_values},
          {"DepthToSpace", "DepthToSpace", mover, depth_to_space},
          {"SpaceToDepth", "SpaceToDepth", mover, space_to_depth},
          {"Expand", "Expand", mover, expand},
          {"Tile", "Tile", mover, tile},
          {"Gather", "Gather", mover, gather},
          {"Reshape", "Reshape", mover, reshape},
          {"ReshapeToManyBatches", "Reshape", mover, reshape_to_many_batches},
          {"Flatten", "Flatten", mover, flatten},
          {"Squeeze", "Squeeze", mover, squeeze},
          {"Unsqueeze", "Unsqueeze", mover, unsqueeze},
          {"Identity", "Identity", {"conv", "edp", "load", "-"}, identity}};
}

}  // namespace tessera::compiler::testing
