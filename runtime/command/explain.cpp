// `explain`: which tile and group a node got, and what the choices next to it would cost, each compiled and predicted
// whole, since only the whole says what is hidden under what.
#include <algorithm>
#include <cstdio>
#include <optional>

#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "runtime/command/command.hpp"
#include "runtime/report/limits.hpp"
#include "runtime/session/front_end.hpp"

namespace tessera::runtime {
namespace {

using nlohmann::json;

/// The node's layer in one compiled program, and what is predicted of the whole.
struct Choice {
  std::string what;     // the options that force it
  std::string refusal;  // it cannot be
  std::string schedule, unit, layer, group;
  std::vector<std::string> members;  // layers of the group
  std::vector<std::int64_t> tile_rows, tile_channels;
  std::vector<std::string> split;
  std::vector<std::string> places;  // of operands, result and weights
  std::int64_t width = 0, height = 0;
  std::int64_t strips = 1;                        // of columns
  std::int64_t pixels_again = 0, macs_again = 0;  // made in more than one region of the group
  Cycles cycles = 0, layer_cycles = 0;
  Bytes bytes = 0;
  LayerLimits limit;  // of a layer on the convolution engines
};

std::vector<std::int64_t> ints(const compiler::Node& node, const char* key) { return node.ints_attr(key, {}); }

std::vector<std::string> strings(const compiler::Node& node, const char* key) {
  const auto it = node.attributes.find(key);
  const auto* list = it == node.attributes.end() ? nullptr : std::get_if<std::vector<std::string>>(&it->second);
  return list == nullptr ? std::vector<std::string>{} : *list;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// UserError: no layer of the program runs the node.
Choice choice_of(const compiler::Compiled& compiled, const isa::ChipConfig& chip, const std::string& node,
                 const std::string& what) {
  Choice c;
  c.what = what;
  const isa::Program& program = compiled.program;
  c.schedule = program.schedule;
  c.cycles = program.predicted.cycles;
  c.bytes = program.predicted.dram_bytes;
  const auto runs = [&](const isa::LayerInfo& layer) { return layer.name == node || holds(layer.fused, node); };
  const auto layer = std::find_if(program.layers.begin(), program.layers.end(), runs);
  if (layer == program.layers.end()) {
    user_error("explain ", node, ": no layer runs this node; legal are nodes that `tessera check` lists with a unit");
  }
  c.unit = layer->unit;
  c.layer = layer->name;
  c.group = program.groups.at(layer->group).name;
  c.limit = layer_limits(program, chip).at(static_cast<std::size_t>(layer - program.layers.begin()));
  for (const isa::LayerInfo& other : program.layers) {
    if (other.group == layer->group && !holds(c.members, other.name)) c.members.push_back(other.name);
  }
  for (const compiler::Node& view : compiled.schedule_view.nodes) {
    if (view.name != c.layer) continue;
    c.tile_rows = ints(view, "tile_rows");
    c.tile_channels = ints(view, "tile_channels");
    c.split = strings(view, "engine_split");
    c.places = strings(view, "places");
    for (const std::int64_t cycles : ints(view, "estimated_cycles")) c.layer_cycles += cycles;
    const auto value = compiled.schedule_view.values.find(view.outputs.at(0));
    if (value == compiled.schedule_view.values.end() || !value->second.shape || value->second.shape->size() != 4)
      continue;
    const compiler::Shape& shape = *value->second.shape;
    c.height = shape[2];
    c.width = shape[3];
    std::int64_t made = 0;
    for (const std::int64_t pixels : ints(view, "made_pixels")) made += pixels;
    for (const std::int64_t strips : ints(view, "strips")) c.strips = strips;
    const std::int64_t pixels = shape[0] * c.height * c.width;
    if (made <= pixels) continue;
    c.pixels_again = made - pixels;
    c.macs_again = static_cast<std::int64_t>(static_cast<double>(layer->macs_useful) *
                                             static_cast<double>(c.pixels_again) / static_cast<double>(pixels));
  }
  return c;
}

json choice_json(const Choice& c) {
  if (!c.refusal.empty()) return {{"choice", c.what}, {"refused", c.refusal}};
  json out = {{"choice", c.what},
              {"schedule", c.schedule},
              {"layer", c.layer},
              {"unit", c.unit},
              {"group", c.group},
              {"group_layers", c.members},
              {"tile_rows", c.tile_rows},
              {"tile_channels", c.tile_channels},
              {"engine_split", c.split},
              {"places", c.places},
              {"layer_cycles", c.layer_cycles},
              {"strips", c.strips},
              {"again", {{"pixels", c.pixels_again}, {"macs", c.macs_again}}},
              {"predicted", {{"cycles", c.cycles}, {"dram_bytes", c.bytes}}}};
  if (c.limit.cycles > 0) out["limit"] = limit_json(c.limit);
  return out;
}

std::string list(const std::vector<std::int64_t>& values) {
  std::string text;
  for (const std::int64_t v : values) text += (text.empty() ? "" : "/") + std::to_string(v);
  return text.empty() ? "-" : text;
}

std::string row(const Choice& c, const Choice& chosen) {
  char text[512];
  if (!c.refusal.empty()) {
    std::snprintf(text, sizeof text, "%-26s refused: %s\n", c.what.c_str(), c.refusal.c_str());
    return text;
  }
  std::snprintf(text, sizeof text, "%-26s %6zu %6lld %9s %9s %12lld %+7.2f %% %14lld %+7.2f %%\n", c.what.c_str(),
                c.members.size(), static_cast<long long>(c.strips), list(c.tile_rows).c_str(),
                list(c.tile_channels).c_str(), static_cast<long long>(c.cycles),
                100.0 * (static_cast<double>(c.cycles) / static_cast<double>(chosen.cycles) - 1.0),
                static_cast<long long>(c.bytes),
                100.0 * (static_cast<double>(c.bytes) / static_cast<double>(chosen.bytes) - 1.0));
  return text;
}

class Explainer {
 public:
  Explainer(const ModelOptions& model, const CompileOptions& options, std::string node)
      : model_(model), options_(options), node_(std::move(node)) {
    prepared_ = prepare_model(model_, options_);
  }

  std::vector<Choice> choices() {
    std::vector<Choice> all = {choice_of(schedule_model(prepared_, model_, options_), prepared_.chip, node_, "chosen")};
    const Choice chosen = all.front();
    CompileOptions other = options_;
    other.schedule = "layer";
    other.fuse_depth = 0;
    other.effort = 1;
    all.push_back(attempt(other, "--schedule layer"));
    for (const std::int64_t depth : {1, 2, 4}) {
      if (depth == options_.fuse_depth) continue;
      other = fused();
      other.fuse_depth = depth;
      all.push_back(attempt(other, "--fuse-depth " + std::to_string(depth)));
    }
    for (const std::int64_t rows : heights(chosen)) {
      other = fused();
      other.tiles.push_back(chosen.layer + "=" + std::to_string(rows) + "x" + std::to_string(chosen.width));
      all.push_back(attempt(other, "--tile of " + std::to_string(rows) + " rows"));
    }
    if (const std::int64_t columns = half_width(chosen); columns > 0) {
      other = fused();
      other.tiles.push_back(chosen.layer + "=" + std::to_string(chosen.tile_rows.front()) + "x" +
                            std::to_string(columns));
      all.push_back(attempt(other, "--tile of " + std::to_string(columns) + " columns"));
    }
    other = fused();
    other.keep.push_back(chosen.layer);
    all.push_back(attempt(other, "--keep"));
    return all;
  }

 private:
  [[nodiscard]] CompileOptions fused() const {
    CompileOptions out = options_;
    out.schedule = "fused";
    return out;
  }

  Choice attempt(const CompileOptions& options, const std::string& what) const {
    try {
      return choice_of(schedule_model(prepared_, model_, options), prepared_.chip, node_, what);
    } catch (const UserError& error) {
      Choice c;
      c.what = what;
      c.refusal = error.what();
      return c;
    }
  }

  /// Half and twice the chosen rows, and all of them.
  static std::vector<std::int64_t> heights(const Choice& chosen) {
    std::vector<std::int64_t> out;
    if (chosen.height <= 0 || chosen.tile_rows.empty()) return out;
    const std::int64_t now = chosen.tile_rows.front();
    for (const std::int64_t rows : {now / 2, 2 * now, chosen.height}) {
      if (rows >= 1 && rows <= chosen.height && rows != now && std::find(out.begin(), out.end(), rows) == out.end()) {
        out.push_back(rows);
      }
    }
    return out;
  }

  /// Half as wide as the chosen strips, from a line on; 0: no narrower ones.
  [[nodiscard]] std::int64_t half_width(const Choice& chosen) const {
    if (chosen.width <= 0 || chosen.tile_rows.empty()) return 0;
    const isa::ChipConfig& chip = prepared_.chip;
    const std::int64_t pixels = chip.sram.line_bytes / chip.layout.channel_block;
    const std::int64_t columns = round_up(ceil_div(chosen.width, 2 * chosen.strips), pixels);
    return columns < chosen.width ? columns : 0;
  }

  ModelOptions model_;
  CompileOptions options_;
  std::string node_;
  PreparedModel prepared_;
};

void print(const std::vector<Choice>& choices, const std::string& node) {
  const Choice& chosen = choices.front();
  std::printf("%s runs on %s in layer %s, %s schedule\n", node.c_str(), chosen.unit.c_str(), chosen.layer.c_str(),
              chosen.schedule.c_str());
  std::printf("group %s of %zu layers:", chosen.group.c_str(), chosen.members.size());
  for (const std::string& member : chosen.members) std::printf(" %s", member.c_str());
  std::printf("\ntile %s rows x %s channels; engines share by %s; about %lld cycles of the unit\n",
              list(chosen.tile_rows).c_str(), list(chosen.tile_channels).c_str(),
              chosen.split.empty() ? "-" : chosen.split.front().c_str(), static_cast<long long>(chosen.layer_cycles));
  for (const std::string& place : chosen.places) std::printf("%s\n", place.c_str());
  if (chosen.strips > 1 || chosen.pixels_again > 0) {
    std::printf("regions: %lld strips of columns a core; halos make %lld of %lld pixels again: %lld MACs\n",
                static_cast<long long>(chosen.strips), static_cast<long long>(chosen.pixels_again),
                static_cast<long long>(chosen.width * chosen.height), static_cast<long long>(chosen.macs_again));
  }
  if (chosen.limit.cycles > 0) {
    const hw::ConvLimits& parts = chosen.limit.parts;
    std::printf("%lld cycles of the engines: array %lld, window %lld, weights %lld, drain %lld; the limit is %s\n",
                static_cast<long long>(chosen.limit.cycles), static_cast<long long>(parts.array),
                static_cast<long long>(parts.window), static_cast<long long>(parts.weights),
                static_cast<long long>(parts.drain), parts.longest());
  }
  std::printf("%-26s %6s %6s %9s %9s %12s %9s %14s\n", "choice", "group", "strips", "rows", "channels", "cycles", "",
              "DRAM bytes");
  for (const Choice& c : choices) std::fputs(row(c, chosen).c_str(), stdout);
  std::printf("cycles and bytes: of the whole network, predicted\n");
}

}  // namespace

void add_explain_command(CLI::App& app) {
  struct Options {
    ModelOptions model;
    CompileOptions compile;
    std::string node;
    bool json = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "The tile and group that a node got, and what other choices cost");
  command->footer("Example: tessera explain net.onnx conv1 --chip a1000");
  add_model_options(*command, o->model);
  command->add_option("node", o->node, "Node of the model")->required();
  add_compile_options(*command, o->compile);
  command->add_flag("--json", o->json, "JSON on standard output");
  command->callback([o] {
    o->model.timing_only = true;
    const std::vector<Choice> choices = Explainer(o->model, o->compile, o->node).choices();
    if (!o->json) return print(choices, o->node);
    nlohmann::json out = {{"schema", "tessera.explain/1"}, {"node", o->node}, {"choices", nlohmann::json::array()}};
    for (const Choice& c : choices) out["choices"].push_back(choice_json(c));
    std::printf("%s\n", out.dump(1).c_str());
  });
}

}  // namespace tessera::runtime
