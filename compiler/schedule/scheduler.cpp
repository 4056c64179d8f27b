#include "compiler/schedule/scheduler.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/conv_modes.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/map_order.hpp"
#include "compiler/schedule/row_keeper.hpp"
#include "compiler/schedule/sections.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "compiler/schedule/walk.hpp"
#include "hw/common/error.hpp"
#include "hw/common/units.hpp"
#include "isa/semantics/layout.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kBufferAlign = 256;
constexpr double kLeastMargin = 0.02;  // of the SRAM, that a search leaves free for what sizes alone do not say
constexpr double kMarginStep = 0.04;   // more of it for layers that found no room
constexpr int kMostSearches = 24;
constexpr int kLastFailures = 24;  // the same, when none is left to spill
constexpr int kMostTries = 2;      // of a walk in which rows of a map stay
constexpr int kMostFailures = 8;   // of a layer's plan to fragmentation, before a map is spilled for it

class Maker {
 public:
  Maker(const QGraph& graph, const ScheduleOptions& options, ScheduleMemory& memory)
      : graph_(graph), chip_(memory.cost.chip()), options_(options), memory_(memory), cost_(memory.cost) {}

  Schedule make() {
    // A node that finds no place in SRAM makes other layers: begin anew with it in DRAM, or on another unit.
    for (;;) {
      out_ = {};
      used_ = {};
      layers_ = build_layers(graph_, chip_, detours_);
      apply_wishes(layers_, options_.wishes, chip_);
      layers_.copies = options_.copies;
      layers_.short_neighbours = options_.short_neighbours;
      layers_.placement = options_.placement;
      layers_.halved =
          options_.halved && chip_.cores == 1 && chip_.conv.engines == 2 && maps_leave_room(layers_, chip_);
      choose_modes(layers_, cost_, options_.nhwc_inputs);
      constants_ = place_constants(layers_, chip_);
      place_images();
      if (options_.nhwc_inputs) check_nhwc();
      try {
        if (options_.fused) {
          walk_fused();
        } else {
          walk();
        }
        break;
      } catch (const MoveThroughDram& move) {
        const bool fresh = detours_.through_dram.insert(move.node).second;
        TESSERA_CHECK(fresh, move.node, " cannot move through DRAM either");
      } catch (const OnGemm& product) {
        const bool fresh = detours_.on_gemm.insert(product.node).second;
        TESSERA_CHECK(fresh, product.node, " is a product already");
      }
    }
    describe();
    return std::move(out_);
  }

 private:
  isa::Program& program() { return out_.program; }

  std::uint32_t add_buffer(const std::string& name, isa::BufferKind kind, std::int64_t bytes) {
    auto& used = used_[static_cast<std::size_t>(kind)];
    isa::Buffer buffer;
    buffer.name = name;
    buffer.kind = kind;
    buffer.offset = static_cast<std::uint64_t>(round_up(used, kBufferAlign));
    buffer.size = static_cast<std::uint64_t>(bytes);
    buffer.alignment = static_cast<std::uint32_t>(kBufferAlign);
    used = static_cast<std::int64_t>(buffer.offset) + bytes;
    program().buffers.push_back(buffer);
    return static_cast<std::uint32_t>(program().buffers.size() - 1);
  }

  void place_images() {
    if (constants_.bytes > 0) add_buffer("weights", isa::BufferKind::weights, constants_.bytes);
    for (std::size_t i = 0; i < layers_.images.size(); ++i) {
      Image& image = layers_.images[i];
      if (image.constant != nullptr) {  // in the weights buffer, which is the first
        image.offset = static_cast<std::uint64_t>(constants_.images[i]);
        continue;
      }
      image.buffer = add_buffer(name_of(image), image.kind, image.bytes);
      image.offset = program().buffers[image.buffer].offset;
    }
  }

  /// An NHWC input can be read as a map only: views and host steps take its elements in ONNX's order.
  void check_nhwc() const {
    for (const Image& image : layers_.images) {
      if (image.kind == isa::BufferKind::input && image.host) refuse_nhwc(image, "a host step");
      if (image.kind == isa::BufferKind::input && image.linear) refuse_nhwc(image, "a move or product of its elements");
    }
    for (const Root& root : layers_.roots) {
      if (!root.imported || root.first_layer < 0) continue;
      const Image& image = layers_.images[static_cast<std::size_t>(root.image)];
      const MapShape& shape = layers_.values[static_cast<std::size_t>(image.tensor)].shape;
      if (image.kind == isa::BufferKind::input && (root.channels_last || !(shape == root.shape)))
        refuse_nhwc(image, "a Reshape");
    }
  }
  [[noreturn]] void refuse_nhwc(const Image& image, const char* reader) const {
    user_error("--input-layout NHWC: input ", name_of(image), " is read by ", reader,
               ", which takes elements in NCHW order; legal is --input-layout NCHW");
  }

  [[nodiscard]] const std::string& name_of_value(int value) const {
    const int tensor = layers_.values[static_cast<std::size_t>(value)].tensor;
    return graph_.tensors[static_cast<std::size_t>(tensor)].name;
  }
  [[nodiscard]] const std::string& name_of(const Image& image) const {
    return graph_.tensors[static_cast<std::size_t>(image.tensor)].name;
  }

  /// Tries with every map in SRAM, then moves the largest map at the point of failure to DRAM, until all fits.
  void walk() {
    refuse_strips(layers_, options_.fused);
    WalkChoices choices;
    choices.spilled.assign(layers_.roots.size(), chip_.cores > 1);
    choices.kept.assign(layers_.roots.size(), {});
    choices.fragmentation.assign(layers_.layers.size(), 0);
    choices.packed.assign(layers_.layers.size(), false);
    choices.in_place.assign(layers_.layers.size(), false);
    if (options_.count_bytes) choices.byte_cycles = options_.fusion.byte_share / cost_.dram_bytes_per_cycle();
    const std::int64_t sram_bytes = chip_.sram.banks * chip_.sram.size_bytes;
    for (std::size_t r = 0; r < layers_.roots.size(); ++r) {
      if (sram_bytes_of(r) > sram_bytes || layers_.roots[r].crosses) choices.spilled[r] = true;
    }
    for (;;) {
      Walk walk = walk_with(choices);
      try {
        run(walk);
      } catch (const NoRoom& no_room) {
        if (!choices.packed.front()) {
          choices.packed.assign(layers_.layers.size(), true);
          continue;
        }
        int& met = choices.fragmentation[static_cast<std::size_t>(no_room.layer)];
        // A smaller tile is the last resort when no map is left to spill.
        const int most =
            largest_live(no_room.layer, choices.spilled) < choices.spilled.size() ? kMostFailures : kLastFailures;
        if (no_room.planned ? met > 0 && met < kPackFrom : met < most) {
          met = no_room.planned ? kPackFrom : met + 1;
        } else {
          met = 0;
          spill_one(no_room, choices.spilled);
        }
        continue;
      }
      take_result(walk, choices);
      return;
    }
  }

  /// Behind what lies in DRAM anyway.
  Walk walk_with(const WalkChoices& choices) {
    return Walk(layers_, constants_, choices, cost_, options_.nhwc_inputs, scratch_maps());
  }
  void run(Walk& walk) {
    const auto count = [&] { memory_.written += walk.written(); };
    try {
      walk.run();
    } catch (...) {
      count();
      throw;
    }
    count();
  }
  [[nodiscard]] std::int64_t scratch_maps() const {
    return round_up(used_[static_cast<std::size_t>(isa::BufferKind::scratch)], kBufferAlign);
  }

  /// What room the walk left is filled with rows of maps that it moved through DRAM.
  void take_result(Walk& walk, WalkChoices& choices) {
    const bool whole_maps = !options_.fused || options_.fusion.whole_maps;
    if (options_.rows_stay == RowsStay::never || !whole_maps || chip_.cores > 1)
      return take_result(walk, choices.spilled);
    const auto cost_of = [&](WalkChoices& tried) -> std::optional<Walk::Cost> {
      for (int tries = 0; tries < kMostTries; ++tries) {
        Walk trial = walk_with(tried);
        try {
          run(trial);
          return trial.cost();
        } catch (const NoRoom& no_room) {
          int& met = tried.fragmentation[static_cast<std::size_t>(no_room.layer)];
          if (no_room.planned && met >= kPackFrom) return std::nullopt;
          met = std::max(met + 1, kPackFrom);
        } catch (const MoveThroughDram&) {
          return std::nullopt;
        }
      }
      return std::nullopt;
    };
    fill_sram(layers_, chip_, cost_of, options_.rows_stay, choices);
    Walk filled = walk_with(choices);
    run(filled);
    take_result(filled, choices.spilled);
  }

  void take_result(Walk& walk, const std::vector<bool>& spilled) {
    const std::int64_t maps = scratch_maps();
    if (walk.scratch_bytes > maps) add_buffer("maps", isa::BufferKind::scratch, walk.scratch_bytes - maps);
    out_.sections = std::move(walk.sections);
    describe_sections(layers_, spilled, chip_, out_.sections);
    out_.notes = std::move(walk.notes);
    program().sram_peak_bytes = walk.sram_peak_lines * chip_.sram.line_bytes;
  }

  /// Plans by the search, walks; where the walk finds no room the search leaves more of the SRAM free.
  void walk_fused() {
    std::optional<FusionSearch> search;
    std::vector<double> margin(layers_.layers.size(), kLeastMargin);
    WalkChoices choices;
    choices.byte_cycles = options_.fusion.byte_share / cost_.dram_bytes_per_cycle();
    choices.fragmentation.assign(layers_.layers.size(), 0);
    for (int tries = 0; tries < kMostSearches; ++tries) {
      const FusionPlan plan = fusion_plan(search, margin);
      if (!plan.found) break;
      choices.spilled = plan.spilled;
      if (chip_.cores > 1) choices.spilled.assign(layers_.roots.size(), true);
      choices.kept.assign(layers_.roots.size(), {});
      choices.groups = plan.groups;
      choices.packed.assign(layers_.layers.size(), false);
      choices.in_place.assign(layers_.layers.size(), false);
      choices.fragmentation.assign(layers_.layers.size(), 0);
      for (bool again = true; again;) {
        Walk walk = walk_with(choices);
        try {
          run(walk);
        } catch (const NoRoom& no_room) {
          const Rows group = group_of(plan, no_room.layer);
          again = pack_more(group, choices);
          if (!again) leave_more(group, margin);
          continue;
        }
        take_result(walk, choices);
        groups_ = plan.groups;
        return;
      }
    }
    walk();
  }

  /// Of this schedule's search, which is made when no other schedule made one like it.
  const FusionPlan& fusion_plan(std::optional<FusionSearch>& search, const std::vector<double>& margin) {
    const ScheduleMemory::PlanKey key{options_.fusion.key(),       {layers_.halved, layers_.copies},
                                      layers_.placement.map_banks, margin,
                                      detours_.through_dram,       detours_.on_gemm};
    const auto [known, fresh] = memory_.plans.emplace(key, FusionPlan{});
    if (fresh) {
      GroupMemory& groups = memory_.groups[{layers_.copies, detours_.through_dram, detours_.on_gemm}];
      if (!search) search.emplace(layers_, constants_, cost_, groups, options_.fusion);
      known->second = search->best(semantics::sram_lines(chip_), margin);
    }
    return known->second;
  }

  /// The layers of the group that the layer is in; itself when it is in none.
  static Rows group_of(const FusionPlan& plan, int layer) {
    for (const GroupPlan& group : plan.groups) {
      if (group.first <= layer && layer < group.end) return {group.first, group.end};
    }
    return {layer, layer + 1};
  }

  /// Results over operands (a drain then reads and writes the same bank), then the maps that live now side by side,
  /// then all that, then these layers' buffers too, then a layer alone takes smaller tiles; false: all that is done.
  bool pack_more(const Rows& layers, WalkChoices& choices) const {
    const auto mark = [](std::vector<bool>& marks, std::int64_t first, std::int64_t end) {
      const auto at = [&](std::int64_t i) { return marks.begin() + static_cast<std::ptrdiff_t>(i); };
      if (std::find(at(first), at(end), false) == at(end)) return false;
      std::fill(at(first), at(end), true);
      return true;
    };
    const auto all = static_cast<std::int64_t>(layers_.layers.size());
    if (mark(choices.in_place, layers.first, layers.end)) return true;
    if (mark(choices.packed, layers.first, layers.end)) {
      for (const Root& root : layers_.roots) {
        const bool lives = root.first_layer >= 0 && root.first_layer < layers.end && root.last_layer >= layers.first;
        if (lives) choices.packed[static_cast<std::size_t>(root.first_layer)] = true;
      }
      return true;
    }
    const bool fresh = mark(choices.packed, 0, all);
    if (mark(choices.in_place, 0, all) || fresh) return true;
    const int met = choices.fragmentation[static_cast<std::size_t>(layers.first)];
    if (met >= (layers.count() == 1 ? kMostFailures : kPackFrom)) return false;
    for (std::int64_t id = layers.first; id < layers.end; ++id) {
      choices.fragmentation[static_cast<std::size_t>(id)] = std::max(met + 1, kPackFrom);
    }
    return true;
  }

  /// More slack for the layers that found no room.
  static void leave_more(const Rows& layers, std::vector<double>& margin) {
    for (std::int64_t id = layers.first; id < layers.end; ++id)
      margin[static_cast<std::size_t>(id)] += kMarginStep + margin[static_cast<std::size_t>(id)] / 2;
  }

  [[nodiscard]] std::int64_t sram_bytes_of(std::size_t root) const {
    const MapShape& s = layers_.roots[root].shape;
    return s.n * semantics::map_layout(s.c, s.h, s.w, chip_).bytes;
  }

  /// The largest map in SRAM that lives while the layer runs and may go to DRAM; spilled.size(): none.
  [[nodiscard]] std::size_t largest_live(int layer, const std::vector<bool>& spilled) const {
    std::size_t largest = spilled.size();
    for (std::size_t r = 0; r < spilled.size(); ++r) {
      const Root& root = layers_.roots[r];
      if (spilled[r] || root.keep || root.first_layer > layer || root.last_layer < layer || root.first_layer < 0)
        continue;
      if (largest == spilled.size() || sram_bytes_of(r) > sram_bytes_of(largest)) largest = r;
    }
    return largest;
  }

  void spill_one(const NoRoom& no_room, std::vector<bool>& spilled) {
    const std::size_t largest = largest_live(no_room.layer, spilled);
    if (largest == spilled.size()) {
      const Layer& layer = layers_.layers[static_cast<std::size_t>(no_room.layer)];
      if (chip_.cores == 1 && fully_connected(layer)) throw OnGemm{layer.node->name};
      user_error(wishes_at(layers_, no_room.layer), layer.node->name, ": ", layer.node->onnx_op,
                 " does not fit the SRAM of ", chip_.name, " (", chip_.sram.banks * chip_.sram.size_bytes,
                 " bytes a core) even tile by tile: ", no_room.what,
                 "; legal is a larger sram.size_bytes or a smaller map");
    }
    spilled[largest] = true;
  }

  isa::TensorRef reference(const Image& image, int tensor) const {
    const QTensor& t = graph_.tensors[static_cast<std::size_t>(tensor)];
    isa::TensorRef ref;
    ref.name = t.name;
    ref.buffer = image.buffer;
    if (image.constant != nullptr) ref.offset = image.offset;
    ref.shape = t.onnx_shape;
    ref.dtype = dtype_name(t.dtype);
    ref.scale = t.scale;
    ref.zero_point = t.zero_point;
    ref.model_type = dtype_name(t.onnx_dtype);
    ref.layout = options_.nhwc_inputs && image.kind == isa::BufferKind::input ? "NHWC" : "NCHW";
    return ref;
  }

  void describe() {
    isa::Program& p = program();
    p.arch_hash = isa::arch_hash(chip_);
    p.timing_hash = isa::timing_hash(chip_);
    p.chip_name = chip_.name;
    p.chip_json = isa::chip_json(chip_);
    p.model_name = graph_.name;
    p.model_sha256 = graph_.model_sha256;
    p.batch = graph_.inputs.empty()
                  ? 1
                  : static_cast<std::int32_t>(graph_.tensors[static_cast<std::size_t>(graph_.inputs[0])].shape[0]);
    p.compulsory_read = constants_.useful_bytes;
    if (!options_.timing_only) p.weights = pack_constants(layers_, constants_, chip_);
    for (const int t : graph_.inputs) {
      for (const Image& image : layers_.images) {
        if (image.kind == isa::BufferKind::input && image.tensor == t) {
          p.inputs.push_back(reference(image, t));
          p.compulsory_read += image.bytes;
        }
      }
    }
    for (const int t : graph_.outputs) {
      for (const Image& image : layers_.images) {
        if (image.kind == isa::BufferKind::output && image.tensor == t) {
          p.outputs.push_back(reference(image, t));
          p.compulsory_write += image.bytes;
        }
      }
    }
    TESSERA_CHECK(p.outputs.size() == graph_.outputs.size(), "an output has no image");
    for (std::size_t i = 0; i < layers_.layers.size(); ++i) describe_layer(i);
  }

  /// First layer of the fusion group that the layer is in; itself when it is in none.
  [[nodiscard]] std::size_t group_first(std::size_t i) const {
    for (const GroupPlan& group : groups_) {
      if (static_cast<std::size_t>(group.first) <= i && i < static_cast<std::size_t>(group.end)) {
        return static_cast<std::size_t>(group.first);
      }
    }
    return i;
  }
  [[nodiscard]] bool continues_group(std::size_t i) const { return group_first(i) < i; }

  void describe_layer(std::size_t i) {
    isa::Program& p = program();
    const Layer& layer = layers_.layers[i];
    isa::LayerInfo info;
    info.name = layer.node->name.empty() ? "copy " + name_of_value(layer.output) : layer.node->name;
    info.op = layer.node->onnx_op;
    info.fused = layer.node->fused;
    const bool goes_on = continues_group(i);
    info.group = static_cast<std::uint16_t>(goes_on ? p.groups.size() - 1 : p.groups.size());
    switch (layer.kind) {
      case LayerKind::conv:
        info.unit = "conv";
        if (layer.residual != nullptr) {
          info.fused.push_back(layer.residual->name);
          info.fused.insert(info.fused.end(), layer.residual->fused.begin(), layer.residual->fused.end());
        }
        info.macs_useful = layer.node->macs;
        p.macs_useful += layer.node->macs;
        break;
      case LayerKind::edp:
        info.unit = "edp";
        break;
      case LayerKind::copy:
        info.unit = layer.output_channel % chip_.layout.channel_block != 0 ? "reorder" : "edp";
        break;
      case LayerKind::move:
        info.unit = "reorder";
        break;
      case LayerKind::stream:
        info.unit = "load";
        break;
      case LayerKind::gemm:
        info.unit = "gemm";
        info.macs_useful = layer.node->macs;
        p.macs_useful += layer.node->macs;
        break;
      case LayerKind::host:
        info.unit = "host";
        p.macs_host += layer.node->macs;
        p.macs_useful += layer.node->macs;
        describe_host(layer, static_cast<std::uint16_t>(i));
        break;
    }
    if (!goes_on) {
      p.groups.push_back({info.name, 0});
    } else if (const std::string first = p.layers[group_first(i)].name; !continues_group(i + 1)) {
      p.groups.back().name = first + " .. " + info.name;
    }
    p.layers.push_back(std::move(info));
  }

  void describe_host(const Layer& layer, std::uint16_t id) {
    isa::HostStep step;
    step.name = layer.node->name;
    step.op = layer.node->onnx_op;
    step.layer = id;
    const auto image_of = [&](int tensor) -> const Image& {
      return layers_.images[static_cast<std::size_t>(layers_.values[static_cast<std::size_t>(tensor)].dram.front())];
    };
    // The node may see a view of what lies in DRAM: name and shape are the node's own operand's.
    for (std::size_t k = 0; k < layer.inputs.size(); ++k) {
      step.inputs.push_back(reference(image_of(layer.inputs[k]), layer.node->inputs[k]));
    }
    step.outputs.push_back(reference(image_of(layer.output), layer.output));
    for (const auto& [key, values] : layer.node->attributes) step.attributes.emplace_back(key, values);
    program().host_steps.push_back(std::move(step));
  }

  const QGraph& graph_;
  const isa::ChipConfig& chip_;
  ScheduleOptions options_;
  LayerDetours detours_;
  LayerGraph layers_;
  ScheduleMemory& memory_;
  UnitCost& cost_;
  Constants constants_;
  std::vector<GroupPlan> groups_;  // fused
  Schedule out_;
  std::array<std::int64_t, 8> used_{};  // bytes by buffer kind
};

}  // namespace

Schedule make_schedule(const QGraph& graph, const isa::ChipConfig& chip, const ScheduleOptions& options) {
  ScheduleMemory memory(chip);
  return make_schedule(graph, options, memory);
}

Schedule make_schedule(const QGraph& graph, const ScheduleOptions& options, ScheduleMemory& memory) {
  return Maker(graph, options, memory).make();
}

}  // namespace tessera::compiler
