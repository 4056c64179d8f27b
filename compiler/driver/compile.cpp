#include "compiler/driver/compile.hpp"

#include <algorithm>

#include "compiler/driver/choose_schedule.hpp"
#include "compiler/emit/emit.hpp"
#include "compiler/passes/integer_passes.hpp"
#include "compiler/schedule/scheduler.hpp"
#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

/// One node a layer (and core) with its tiling as attributes; names of tensors as in the quantised graph.
Graph view_of(const QGraph& graph, const Schedule& schedule) {
  Graph view;
  view.name = graph.name;
  view.model_sha256 = graph.model_sha256;
  for (const int t : graph.inputs) view.inputs.push_back(graph.tensors[static_cast<std::size_t>(t)].name);
  for (const int t : graph.outputs) view.outputs.push_back(graph.tensors[static_cast<std::size_t>(t)].name);
  for (const QTensor& t : graph.tensors) view.values[t.name] = {t.dtype, t.onnx_shape};
  for (const QNode& q : graph.nodes) {
    Node node;
    node.name = q.name;
    node.op = qop_name(q.op);
    node.domain = "tessera";
    node.fused = q.fused;
    for (const int t : q.inputs) node.inputs.push_back(graph.tensors[static_cast<std::size_t>(t)].name);
    node.outputs.push_back(graph.tensors[static_cast<std::size_t>(q.output)].name);
    std::vector<std::int64_t> rows, channels, row_tiles, channel_tiles, estimate, address, kept, strips, made;
    std::vector<std::string> split, places;
    for (const LayerNote& note : schedule.notes) {
      const isa::LayerInfo& info = schedule.program.layers[note.layer];
      if (info.name != q.name) continue;
      node.attributes["layer"] = std::int64_t{note.layer};
      node.attributes["unit"] = info.unit;
      node.attributes["group"] = std::int64_t{info.group};
      node.attributes["group_name"] = schedule.program.groups.at(info.group).name;
      node.attributes["channels_outer"] = std::int64_t{note.channels_outer};
      rows.push_back(note.tile_rows);
      channels.push_back(note.tile_channels);
      row_tiles.push_back(note.row_tiles);
      channel_tiles.push_back(note.channel_tiles);
      estimate.push_back(note.estimate);
      address.push_back(note.output_address);
      kept.push_back(note.kept_rows);
      strips.push_back(note.strips);
      made.push_back(note.made_pixels);
      split.push_back(note.split);
      for (const std::string& place : note.places) {
        if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
      }
    }
    if (!rows.empty()) {  // one entry a core (and a Concat part)
      node.attributes["tile_rows"] = rows;
      node.attributes["tile_channels"] = channels;
      node.attributes["row_tiles"] = row_tiles;
      node.attributes["channel_tiles"] = channel_tiles;
      node.attributes["estimated_cycles"] = estimate;
      node.attributes["output_sram_address"] = address;
      node.attributes["output_kept_rows"] = kept;
      node.attributes["strips"] = strips;
      node.attributes["made_pixels"] = made;
      node.attributes["engine_split"] = split;
      if (!places.empty()) node.attributes["places"] = places;
    }
    view.nodes.push_back(std::move(node));
  }
  return view;
}

}  // namespace

ScheduleKind parse_schedule(const std::string& text) {
  if (text == "naive") return ScheduleKind::naive;
  if (text == "layer") return ScheduleKind::layer;
  if (text == "fused" || text == "auto") return ScheduleKind::fused;
  user_error("--schedule ", text, ": expected naive, layer, fused or auto");
}

Compiled compile(const QGraph& frozen, const isa::ChipConfig& chip, const CompileOptions& options) {
  QGraph graph = frozen;
  run_integer_passes(graph, options.no_passes);
  ScheduleOptions schedule_options;
  schedule_options.timing_only = options.timing_only;
  schedule_options.nhwc_inputs = options.nhwc_inputs;
  schedule_options.wishes = options.wishes;
  schedule_options.fused = options.schedule == ScheduleKind::fused;
  schedule_options.fusion = options.fusion;
  Schedule schedule = choose_schedule(graph, chip, schedule_options);
  Compiled out;
  out.schedule_view = view_of(graph, schedule);
  EmitOptions emit_options;
  emit_options.one_at_a_time = options.schedule == ScheduleKind::naive;
  if (options.schedule == ScheduleKind::fused) emit_options.schedule = "fused";
  if (emit_options.one_at_a_time) emit_options.schedule = "naive";
  out.program = emit(std::move(schedule), chip, emit_options);
  out.program.seed = options.seed;
  return out;
}

}  // namespace tessera::compiler
