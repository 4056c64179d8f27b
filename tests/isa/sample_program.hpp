// A small program that uses every part of the container.
#pragma once

#include "isa/chip.hpp"
#include "isa/isa.hpp"
#include "isa/program/program.hpp"

namespace tessera::isa {

inline void append(QueueStream& stream, const Body& body, std::uint16_t layer, Wait wait = {}, Signal signal = {}) {
  Instruction instruction;
  instruction.body = body;
  instruction.header.layer = layer;
  instruction.header.waits[0] = wait;
  instruction.header.signals[0] = signal;
  const std::vector<Word> words = encode(instruction);
  stream.words.insert(stream.words.end(), words.begin(), words.end());
  InstructionInfo info;
  info.layer = layer;
  info.kind = Traffic::input;
  info.useful_bytes = 100 + layer;
  info.tile = "rows \"0..3\"";
  stream.info.push_back(info);
}

inline Program sample_program() {
  const ChipConfig chip = load_chip("tiny");
  Program p;
  p.arch_hash = arch_hash(chip);
  p.timing_hash = timing_hash(chip);
  p.buffers = {{"weights", BufferKind::weights, 0, 100, 64},
               {"params", BufferKind::weights, 128, 36, 64},
               {"in 0", BufferKind::input, 0, 192, 64},
               {"out", BufferKind::output, 0, 10, 64},
               {"spill", BufferKind::scratch, 64, 4096, 4096}};
  p.inputs = {{"in 0", 2, 0, {1, 3, 8, 8}, "uint8", 0.0078125, 128, "NCHW", "uint8"}};
  p.outputs = {{"prob", 3, 0, {1, 10}, "int8", 1.0 / 3.0, -7, "NCHW"}};
  HostStep step;
  step.name = "softmax/1";
  step.op = "Softmax";
  step.layer = 3;
  step.inputs = {{"logits", 4, 16, {1, 10}, "int8", 0.1, 0, "NCHW"}};
  step.outputs = p.outputs;
  step.attributes = {{"axis", {-1.0}}, {"pair", {0.1, 1e-300}}};
  p.host_steps = {step};

  Section npu;
  npu.name = "section 0";
  QueueStream load;
  load.queue = static_cast<std::uint8_t>(QueueId::load);
  Load l;
  l.base_register = 1;
  l.row_bytes = 64;
  l.group_bytes = 8;
  l.dims[2] = {3, -64, 8};
  append(load, l, 1, {}, {5, 1});
  append(load, Nop{7}, 2);
  QueueStream conv;
  conv.core = 0;
  conv.queue = static_cast<std::uint8_t>(QueueId::conv0);
  Conv c;
  c.mode = ConvMode::fold;
  c.in.base = 0x1234;
  c.in_zp = -128;
  append(conv, c, 2, {5, 1}, {70, 2});
  QueueStream edp;
  edp.queue = static_cast<std::uint8_t>(QueueId::edp);
  Edp e;
  e.stages[3].op = EdpOp::table;
  e.stages[3].ma = -2000000000;
  append(edp, e, 3, {70, 2});
  npu.streams = {load, conv, edp};
  Section host;
  host.name = "host";
  host.host_step = 0;
  p.sections = {npu, host};
  p.dsp_code = {1, 2, 3, 255};
  p.weights.resize(164);
  for (std::size_t i = 0; i < p.weights.size(); ++i) {
    p.weights[i] = static_cast<std::uint8_t>(i < 40 || i > 90 ? i * 37 : 0);
  }
  p.chip_name = chip.name;
  p.chip_json = chip_json(chip);
  p.model_name = "sample";
  p.model_sha256 = "00ff";
  p.schedule = "layer";
  p.seed = 42;
  p.batch = 2;
  p.macs_useful = 1000;
  p.macs_host = 3;
  p.compulsory_read = 456;
  p.compulsory_write = 10;
  p.sram_peak_bytes = 2048;
  p.predicted = {12345, 678};
  p.layers = {{"conv \"a\"", "Conv", "conv0", 0, 1000, {"relu", "bn"}}, {"b", "Softmax", "host", 1, 0, {}}};
  p.groups = {{"g0", 7}, {"g1", 90}};
  return p;
}

}  // namespace tessera::isa
