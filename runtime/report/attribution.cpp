#include "runtime/report/attribution.hpp"

#include <algorithm>

#include "hw/common/error.hpp"
#include "isa/isa.hpp"
#include "isa/program/instructions.hpp"
#include "isa/semantics/execute.hpp"

namespace tessera::runtime {
namespace {

const isa::QueueStream* stream_of(const isa::Program& program, const hw::InstructionRecord& record) {
  const isa::Section& section = program.sections[record.section % program.sections.size()];
  for (const isa::QueueStream& stream : section.streams) {
    if (stream.core == record.core && stream.queue == record.queue) return &stream;
  }
  return nullptr;
}

/// MACs, or elements of the vector unit, that the instruction stands for; padding lanes never count.
std::int64_t useful_work(const isa::Instruction& instruction) {
  if (const auto* edp = std::get_if<isa::Edp>(&instruction.body)) {
    return std::int64_t{edp->h} * edp->w * edp->c;
  }
  return semantics::useful_macs(instruction);
}

/// By layer: of the MACs that its instructions stand for, the part that the model has. Halos that regions of a fusion
/// group make again are no useful MACs, nor are zeros in a kernel on columns as channels.
std::vector<double> useful_shares(const isa::Program& program) {
  std::vector<std::int64_t> made(std::size_t{1} << 16, 0);  // assembled programs know no layers
  for (const isa::Section& section : program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      isa::for_each_instruction(stream, [&](const isa::Instruction& instruction, std::size_t, std::size_t) {
        made[instruction.header.layer] += semantics::useful_macs(instruction);
      });
    }
  }
  std::vector<double> shares(made.size(), 1.0);
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    const std::int64_t useful = program.layers[i].macs_useful;
    if (useful > 0 && made[i] > useful) shares[i] = static_cast<double>(useful) / static_cast<double>(made[i]);
  }
  return shares;
}

void count_useful_work(const ReportInput& in, Attribution& out) {
  const std::vector<double> shares = useful_shares(in.program);
  for (const isa::Section& section : in.program.sections) {
    for (const isa::QueueStream& stream : section.streams) {
      std::int64_t sum = 0;
      isa::for_each_instruction(stream, [&](const isa::Instruction& instruction, std::size_t, std::size_t) {
        const std::int64_t work = useful_work(instruction);
        const double share = semantics::useful_macs(instruction) > 0 ? shares[instruction.header.layer] : 1.0;
        sum += share < 1.0 ? static_cast<std::int64_t>(share * static_cast<double>(work)) : work;
      });
      out.useful_work[unit_name(in.chip, stream.core, stream.queue)] += sum * in.frames;
    }
  }
}

void count_traffic(const ReportInput& in, Attribution& out) {
  const auto slot = [&](isa::Traffic kind) -> Bytes& { return out.by_kind[static_cast<std::size_t>(kind)]; };
  slot(isa::Traffic::instructions) = in.result.fetch_bytes;
  slot(isa::Traffic::host) = in.result.host_read_bytes + in.result.host_write_bytes;
  for (const hw::InstructionRecord& record : in.result.instructions) {
    const Bytes moved = record.dram_read + record.dram_write;
    if (moved == 0) continue;
    const isa::InstructionInfo* info = info_of(in.program, record);
    const isa::Traffic kind = info ? info->kind : isa::Traffic::spill;
    const Bytes useful = info ? info->useful_bytes : moved;
    TESSERA_CHECK(useful <= moved, "instruction ", record.index, " of queue ", int{record.queue}, " in section ",
                  record.section, " claims ", useful, " useful bytes and moved ", moved);
    // The records are those of the first frame; every frame moves the same bytes.
    slot(kind) += useful * in.frames;
    slot(isa::Traffic::padding) += (moved - useful) * in.frames;
    out.useful_work[unit_name(in.chip, record.core, record.queue)] += moved * in.frames;
  }
}

void sum_layers(const ReportInput& in, Attribution& out) {
  out.layers.resize(in.program.layers.size());
  std::vector<bool> seen(out.layers.size(), false);
  std::map<std::pair<int, int>, Cycles> previous_finish;
  for (const hw::InstructionRecord& record : in.result.instructions) {
    if (record.layer >= out.layers.size()) continue;  // assembled programs name no layers
    LayerTotals& layer = out.layers[record.layer];
    if (!seen[record.layer]) {
      layer.section = record.section;
      layer.start = record.start;
    }
    seen[record.layer] = true;
    layer.start = std::min(layer.start, record.start);
    layer.end = std::max(layer.end, record.finish);
    layer.dram_read += record.dram_read;
    layer.dram_write += record.dram_write;
    // Service: from the predecessor's finish for units that keep several instructions in flight.
    Cycles& previous = previous_finish[{record.core, record.queue}];
    Cycles service = record.finish - std::max(record.start, previous);
    previous = record.finish;
    for (std::size_t i = 0; i < kStallCauses; ++i) {
      layer.stall[i] += record.stall[i];
      if (i >= static_cast<std::size_t>(StallCause::sram_bank_conflict)) service -= record.stall[i];
    }
    layer.busy[unit_name(in.chip, record.core, record.queue)] += std::max<Cycles>(service, 0);
  }
}

/// What the rows before it did not move, so that the bytes of all groups are those of the run.
void give_rest(const hw::RunResult& result, const std::vector<GroupSpan>& before, GroupSpan* last) {
  last->dram_read = result.fetch_bytes + result.load_bytes + result.host_read_bytes;
  last->dram_write = result.store_bytes + result.host_write_bytes;
  for (const GroupSpan& span : before) {
    last->dram_read -= span.dram_read;
    last->dram_write -= span.dram_write;
  }
  TESSERA_CHECK(last->dram_read >= 0 && last->dram_write >= 0, "the groups before '", last->name, "' claim ",
                -last->dram_read, " read and ", -last->dram_write, " written bytes more than the run moved");
}

/// A group owns the time from the end of the groups before it to its own last finish; "start" and "end" close the first
/// frame (instruction fetch stands in "start", host steps in "end"), further frames are one row.
void span_groups(const ReportInput& in, Attribution& out) {
  const auto& layers = in.program.layers;
  std::vector<GroupSpan> spans(in.program.groups.size());
  for (std::size_t g = 0; g < spans.size(); ++g) spans[g].name = in.program.groups[g].name;
  Cycles first = in.result.cycles;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    TESSERA_CHECK(layers[i].group < spans.size(), "layer '", layers[i].name, "' names group ", layers[i].group);
    GroupSpan& span = spans[layers[i].group];
    span.layers.push_back(layers[i].name);
    span.end = std::max(span.end, out.layers[i].end);
    span.dram_read += out.layers[i].dram_read;
    span.dram_write += out.layers[i].dram_write;
    if (out.layers[i].end > 0) first = std::min(first, out.layers[i].start);
  }
  GroupSpan start{"start", {}, 0, std::min(first, in.result.cycles), in.result.fetch_bytes / in.frames, 0, 0};
  Cycles at = start.end, predicted = 0;
  out.groups.push_back(start);
  for (std::size_t g = 0; g < spans.size(); ++g) {
    GroupSpan& span = spans[g];
    const Cycles predicted_end = std::max(predicted, in.program.groups[g].predicted_end);
    span.predicted = predicted_end - predicted;
    predicted = predicted_end;
    span.start = at;
    span.end = std::max(at, std::min(span.end, in.result.cycles));
    at = span.end;
    out.groups.push_back(span);
  }
  const Cycles first_end = std::max(at, out.first_frame_cycles);
  GroupSpan end{"end", {}, at, first_end, in.result.host_read_bytes / in.frames, in.result.host_write_bytes / in.frames,
                0};
  if (in.frames == 1) {
    give_rest(in.result, out.groups, &end);
    out.groups.push_back(end);
    return;
  }
  out.groups.push_back(end);
  GroupSpan later{"frames 2.." + std::to_string(in.frames), {}, first_end, in.result.cycles, 0, 0, 0};
  give_rest(in.result, out.groups, &later);
  out.groups.push_back(later);
}

}  // namespace

std::string unit_name(const isa::ChipConfig& chip, int core, int queue) {
  const std::string name = isa::to_string(static_cast<isa::QueueId>(queue));
  return chip.cores > 1 ? "core" + std::to_string(core) + "." + name : name;
}

double unit_lanes(const std::string& unit, const isa::ChipConfig& chip) {
  const auto is = [&](const char* name) { return unit.find(name) != std::string::npos; };
  if (is("conv")) return static_cast<double>(chip.conv.cin_lanes * chip.conv.cout_lanes * chip.conv.pixel_lanes);
  if (is("gemm")) return static_cast<double>(chip.gemm.rows * chip.gemm.cols);
  if (is("edp")) return static_cast<double>(chip.edp.lanes);
  if (is("load") || is("store")) return static_cast<double>(chip.axi.data_bytes);
  return 0;
}

const isa::InstructionInfo* info_of(const isa::Program& program, const hw::InstructionRecord& record) {
  const isa::QueueStream* stream = stream_of(program, record);
  return stream && record.index < stream->info.size() ? &stream->info[record.index] : nullptr;
}

Attribution attribute(const ReportInput& input) {
  Attribution out;
  out.first_frame_cycles = input.result.frame_ends.empty() ? input.result.cycles : input.result.frame_ends.front();
  count_useful_work(input, out);
  count_traffic(input, out);
  sum_layers(input, out);
  span_groups(input, out);
  return out;
}

}  // namespace tessera::runtime
