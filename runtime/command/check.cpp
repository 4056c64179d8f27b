// `check`: of every node where it would run and what that costs, or why it is refused; a verdict for the network.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "compiler/driver/compile.hpp"
#include "compiler/host/host_step.hpp"
#include "compiler/interpret/evaluate.hpp"
#include "compiler/legal/rules.hpp"
#include "compiler/passes/canonicalise.hpp"
#include "compiler/quantize/integer_network.hpp"
#include "compiler/quantize/quantize.hpp"
#include "hw/common/error.hpp"
#include "runtime/command/command.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using compiler::Graph;
using compiler::Node;

struct Row {
  std::string where, unit, op, name, why;  // where: npu, host, refused
  Cycles cycles = 0;                       // of a host step
  std::int64_t macs = 0;
  std::vector<std::string> absorbs;
};

struct Verdict {
  std::vector<Row> rows;
  std::string error;  // beyond the nodes: the backend's own refusal
  Cycles cycles = 0, host_cycles = 0;
  Bytes bytes = 0, host_bytes = 0;
};

/// Operators that nothing has: their results have no shapes, so nothing behind them can be lowered. Every node is then
/// judged by the rules alone.
bool judge_by_rules(const Graph& graph, Verdict* verdict) {
  const auto unknown = [](const Node& node) {
    if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear" || node.op.rfind("QLinear", 0) == 0) return false;
    return compiler::legal::find_operator(node) == nullptr && !compiler::can_evaluate(node);
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), unknown)) return false;
  for (const Node& node : graph.nodes) {
    const compiler::legal::Operator* entry = compiler::legal::find_operator(node);
    if (unknown(node)) {
      const std::string op = node.domain.empty() ? node.op : node.domain + "." + node.op;
      verdict->rows.push_back({"refused",
                               "-",
                               node.op,
                               node.name,
                               "operator " + op + " is not known: expected one of docs/operators.md",
                               0,
                               0,
                               {}});
    } else if (entry != nullptr) {
      verdict->rows.push_back({"npu", entry->unit, node.op, node.name, "", 0, 0, {}});
    } else {
      verdict->rows.push_back({"host", "host", node.op, node.name, "no unit computes " + node.op, 0, 0, {}});
    }
  }
  return true;
}

Bytes bytes_of(const compiler::QTensor& t) {
  return static_cast<Bytes>(compiler::element_count(t.shape)) * static_cast<Bytes>(compiler::dtype_size(t.dtype));
}

/// A node of a graph that cannot be scheduled: the unit that the rules name.
Row by_rules(const compiler::QNode& q) {
  Node node;
  node.op = q.onnx_op;
  const compiler::legal::Operator* entry = compiler::legal::find_operator(node);
  return {"npu", entry == nullptr ? "edp" : entry->unit, q.onnx_op, q.name, "", 0, q.macs, q.fused};
}

Verdict check(const ModelOptions& model, const CompileOptions& options) {
  const isa::ChipConfig chip = isa::load_chip(options.chip, options.sets);
  Verdict verdict;
  Graph graph = load_model(model);
  if (judge_by_rules(graph, &verdict)) return verdict;
  compiler::spell_out_integers(graph);
  if (!compiler::is_quantized(graph)) {
    compiler::run_passes(graph);
    graph = compiler::quantize_for_timing(graph);
  }
  std::vector<compiler::Refusal> refusals;
  const compiler::QGraph integer = compiler::lower(graph, &refusals);
  for (const compiler::Refusal& refusal : refusals) {
    verdict.rows.push_back({"refused", "-", refusal.op, refusal.node, refusal.text, 0, 0, {}});
  }
  for (const compiler::QNode& node : integer.nodes) {
    if (node.op != compiler::QOp::host) {
      if (!refusals.empty()) verdict.rows.push_back(by_rules(node));
      continue;
    }
    if (node.attributes.empty() && !refusals.empty()) continue;  // refused: stands above
    const compiler::QTensor& out = integer.tensors[static_cast<std::size_t>(node.output)];
    Bytes moved = bytes_of(out);
    for (const int input : node.inputs) moved += bytes_of(integer.tensors[static_cast<std::size_t>(input)]);
    const Cycles cycles = compiler::host::host_step_cycles(chip, compiler::element_count(out.shape), moved);
    verdict.host_cycles += cycles;
    verdict.host_bytes += moved;
    verdict.rows.push_back({"host", "host", node.onnx_op, node.name, node.why, cycles, node.macs, node.fused});
  }
  if (!refusals.empty()) return verdict;
  try {
    compiler::CompileOptions backend;
    backend.schedule = compiler::parse_schedule(options.schedule);
    backend.timing_only = true;
    const isa::Program program = compiler::compile(integer, chip, backend).program;
    for (const isa::LayerInfo& layer : program.layers) {
      if (layer.unit == "host") continue;
      verdict.rows.push_back({"npu", layer.unit, layer.op, layer.name, "", 0, layer.macs_useful, layer.fused});
    }
    verdict.cycles = program.predicted.cycles;
    verdict.bytes = program.predicted.dram_bytes;
  } catch (const UserError& e) {
    verdict.error = e.what();
  }
  return verdict;
}

std::int64_t count(const Verdict& verdict, const char* where) {
  return std::count_if(verdict.rows.begin(), verdict.rows.end(), [&](const Row& row) { return row.where == where; });
}

double share(double part, double whole) { return whole > 0.0 ? std::min(1.0, part / whole) : 0.0; }

nlohmann::json to_json(const Verdict& verdict) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : verdict.rows) {
    rows.push_back({{"name", row.name},
                    {"op", row.op},
                    {"where", row.where},
                    {"unit", row.unit},
                    {"why", row.why},
                    {"host_cycles", row.cycles},
                    {"macs", row.macs},
                    {"absorbs", row.absorbs}});
  }
  const bool runs = count(verdict, "refused") == 0 && verdict.error.empty();
  return {{"schema", "tessera.check/1"},
          {"nodes", rows},
          {"verdict", runs ? "runs" : "refused"},
          {"error", verdict.error},
          {"npu", count(verdict, "npu")},
          {"host", count(verdict, "host")},
          {"refused", count(verdict, "refused")},
          {"predicted_cycles", verdict.cycles},
          {"host_cycles", verdict.host_cycles},
          {"host_bytes", verdict.host_bytes},
          {"host_share_time", share(static_cast<double>(verdict.host_cycles), static_cast<double>(verdict.cycles))},
          {"host_share_bytes", share(static_cast<double>(verdict.host_bytes), static_cast<double>(verdict.bytes))}};
}

void print(const Verdict& verdict) {
  for (const Row& row : verdict.rows) {
    std::string cost = row.why;
    if (row.cycles > 0) cost = std::to_string(row.cycles) + " cycles; " + row.why;
    std::printf("%-8s %-14s %-20s %s%s%s\n", row.where.c_str(), row.unit.c_str(), row.op.c_str(), row.name.c_str(),
                cost.empty() ? "" : "  : ", cost.c_str());
  }
  if (!verdict.error.empty()) std::printf("refused  by the chip: %s\n", verdict.error.c_str());
  const nlohmann::json json = to_json(verdict);
  std::printf("verdict: %s; %lld npu, %lld host, %lld refused", json.at("verdict").get<std::string>().c_str(),
              static_cast<long long>(count(verdict, "npu")), static_cast<long long>(count(verdict, "host")),
              static_cast<long long>(count(verdict, "refused")));
  if (verdict.cycles > 0) {
    std::printf("; host %.1f %% of the predicted time, %.1f %% of the bytes",
                100.0 * json.at("host_share_time").get<double>(), 100.0 * json.at("host_share_bytes").get<double>());
  }
  std::printf("\n");
}

}  // namespace

void add_check_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    CompileOptions compile;
    bool json = false, operators = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("check", "Says of every node where it would run, or why not");
  command->footer("Example: tessera check net.onnx --chip tiny\n         tessera check --operators");
  add_model_options(*command, o->model);
  add_compile_options(*command, o->compile);
  for (const char* name : {"model", "--chip"}) {
    if (CLI::Option* option = command->get_option_no_throw(name)) option->required(false);
  }
  command->add_flag("--json", o->json, "JSON on standard output");
  command->add_flag("--operators", o->operators, "Prints the page of supported operators (docs/operators.md)");
  command->callback([o] {
    if (o->operators) {
      std::fputs(compiler::legal::operators_page().c_str(), stdout);
      return;
    }
    if (o->model.model.empty()) user_error("check: no model: expected MODEL.onnx (or --operators)");
    if (o->compile.chip.empty()) user_error("check: no chip: expected --chip NAME or a chip file");
    o->model.timing_only = true;
    const Verdict verdict = check(o->model, o->compile);
    if (o->json) {
      std::printf("%s\n", to_json(verdict).dump(1).c_str());
    } else {
      print(verdict);
    }
  });
}

}  // namespace tessera::runtime
