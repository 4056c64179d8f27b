// Every operator of docs/operators.md through the whole compiler on `tiny`: graph == reference == tlm on outputs,
// scratch and SRAM, on the unit that the rules promise. TESSERA_OPERATOR_SEEDS=100 runs more seeds than the eight of
// ctest, TESSERA_OPERATOR_FIRST_SEED=7 begins at another, TESSERA_OPERATOR_CHIP=j5 takes another chip.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "compiler/legal/rules.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/passes/fold.hpp"
#include "compiler/quantize/quantize.hpp"
#include "operator_model.hpp"
#include "run_program.hpp"
#include "runtime/session/execute.hpp"

namespace tessera::compiler {
namespace {

using testing::OperatorFamily;
using testing::OperatorModel;

constexpr std::uint64_t kSeeds = 8;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// The integer form of the family's model; every second one as if another tool had quantised it.
struct Integer {
  Graph qdq;
  QGraph graph;
  NamedTensors sample;
  bool direct = false;
};

Integer quantised(const OperatorFamily& family, std::uint64_t seed) {
  OperatorModel model(seed);
  family.build(model);
  Integer out;
  out.direct = model.direct();
  Graph graph = model.take();
  prepare(graph, try_evaluate_node);
  run_passes(graph);
  const std::vector<NamedTensors> samples = random_calibration(graph, seed);
  out.sample = samples[0];
  out.qdq = quantize(graph, samples);
  if (seed % 2 == 0) testing::scatter_scales(&out.qdq, model.random);
  out.graph = lower(out.qdq);
  return out;
}

/// Steps of the output between the integer graph and the float run of the QDQ graph.
double distance(const Integer& integer) {
  double largest = 0;
  const NamedTensors found = evaluate_model(integer.qdq, integer.sample);
  const NamedTensors expected = evaluate(integer.qdq, integer.sample);
  for (const int index : integer.graph.outputs) {
    const QTensor& t = integer.graph.tensors[static_cast<std::size_t>(index)];
    EXPECT_EQ(found.at(t.name).shape, expected.at(t.name).shape);
    const std::vector<double> a = found.at(t.name).as_doubles(), b = expected.at(t.name).as_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(a[i] - b[i]) / t.scale);
  }
  return largest;
}

/// Node `n` and its steps, `n_ROLE`, run on the family's units.
void expect_units(const OperatorFamily& family, const isa::Program& program) {
  EXPECT_TRUE(program.host_steps.empty());
  std::vector<std::string> used;
  for (const isa::LayerInfo& layer : program.layers) {
    EXPECT_NE(layer.unit, "host") << layer.name;
    const bool of_node = layer.name == "n" || layer.name.rfind("n_", 0) == 0 || layer.name.rfind("n/", 0) == 0;
    const bool absorbs = std::find(layer.fused.begin(), layer.fused.end(), "n") != layer.fused.end();
    if (of_node || absorbs) used.push_back(layer.unit);
  }
  const auto promised = [&](const std::string& unit) {
    return std::find(family.units.begin(), family.units.end(), unit) != family.units.end();
  };
  if (promised("-") && used.empty()) return;
  EXPECT_TRUE(std::any_of(used.begin(), used.end(), promised))
      << "ran on " << ::testing::PrintToString(used) << ", promised " << ::testing::PrintToString(family.units);
}

void expect_all_agree(const OperatorFamily& family, const Integer& integer, ScheduleKind schedule, std::uint64_t seed) {
  const char* const name = std::getenv("TESSERA_OPERATOR_CHIP");
  const isa::ChipConfig chip = isa::load_chip(name == nullptr ? "tiny" : name);
  CompileOptions options;
  options.schedule = schedule;
  const isa::Program program = compile(integer.graph, chip, options).program;
  expect_units(family, program);
  runtime::RunOptions run;
  run.seed = seed;
  run.compare = {"graph", "reference"};
  const runtime::Outcome tlm = runtime::execute_program(program, chip, run, [&] { return integer.graph; });
  for (const auto& [oracle, c] : tlm.compare) EXPECT_TRUE(c.equal) << oracle << ": " << c.first_difference;
  testing::expect_program_computes(integer.graph, program, chip, tlm.inputs, seed);
}

void expect_family_agrees(const OperatorFamily& family, std::uint64_t seed) {
  const Integer integer = quantised(family, seed);
  for (const QNode& node : integer.graph.nodes) {
    ASSERT_STRNE(qop_name(node.op), "host") << node.name << " (" << node.onnx_op << "): " << node.why;
  }
  if (integer.direct) {
    EXPECT_LE(distance(integer), family.steps);
  }
  for (const ScheduleKind schedule : {ScheduleKind::layer, ScheduleKind::naive}) {
    expect_all_agree(family, integer, schedule, seed);
  }
}

class Operators : public ::testing::TestWithParam<OperatorFamily> {};

TEST_P(Operators, GraphReferenceAndTlmAgreeOnThePromisedUnit) {
  const std::uint64_t first = number_from_environment("TESSERA_OPERATOR_FIRST_SEED", 1);
  const std::uint64_t seeds = number_from_environment("TESSERA_OPERATOR_SEEDS", kSeeds);
  for (std::uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      expect_family_agrees(GetParam(), seed);
    } catch (const std::exception& error) {  // here, so that the trace names the seed
      ADD_FAILURE() << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Operators, ::testing::ValuesIn(testing::operator_families()),
                         [](const auto& test) { return std::string(test.param.name); });

/// Each operator that the page promises has a family here, and every unit a family names stands in the page's row.
TEST(OperatorFamilies, CoverTheOperatorsPage) {
  for (const legal::Operator& entry : legal::operators()) {
    bool covered = std::string(entry.op) == "Dropout";  // inference: as Identity, folded before
    for (const OperatorFamily& family : testing::operator_families()) {
      if (std::string(family.op) != entry.op) continue;
      covered = true;
      const std::string units = entry.unit;
      EXPECT_TRUE(std::any_of(family.units.begin(), family.units.end(),
                              [&](const std::string& unit) { return units.find(unit) != std::string::npos; }))
          << family.name << ": the page says " << units;
    }
    EXPECT_TRUE(covered) << entry.op;
  }
}

}  // namespace
}  // namespace tessera::compiler
