#include "run_program.hpp"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "compiler/host/host_step.hpp"
#include "compiler/interpret/qgraph_interpreter.hpp"
#include "hw/common/random.hpp"
#include "hw/models/dram/based_storage.hpp"
#include "hw/reference/reference.hpp"
#include "isa/isa.hpp"
#include "isa/program/semaphores.hpp"
#include "isa/semantics/execute.hpp"

namespace tessera::compiler::testing {
namespace {

/// A program's buffers in DRAM, each kind far from the next, with its weights and inputs.
class PlacedProgram {
 public:
  PlacedProgram(const isa::Program& program, const std::vector<Tensor>& inputs) : program_(program) {
    for (std::size_t kind = 0; kind < bases.base.size(); ++kind) bases.base[kind] = kind << 28;
    for (const isa::Buffer& b : program.buffers) {
      std::uint64_t& limit = bases.limit[isa::base_register_of(b.kind)];
      limit = std::max(limit, b.offset + b.size);
    }
    dram.write(bases.base[isa::base_register_of(isa::BufferKind::weights)], program.weights.data(),
               program.weights.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      dram.write(address(program.inputs[i]), inputs[i].bytes.data(), inputs[i].bytes.size());
    }
  }

  void run_host_step(const isa::HostStep& step) {
    std::vector<std::vector<std::uint8_t>> bytes;
    for (const isa::TensorRef& t : step.inputs) bytes.push_back(read(t));
    for (const isa::TensorRef& t : step.outputs) bytes.emplace_back(elements(t));
    std::vector<host::TensorIn> in;
    std::vector<host::TensorOut> out;
    std::size_t k = 0;
    for (const isa::TensorRef& t : step.inputs)
      in.push_back({t.shape, t.dtype, t.scale, t.zero_point, bytes[k++].data()});
    for (const isa::TensorRef& t : step.outputs)
      out.push_back({t.shape, t.dtype, t.scale, t.zero_point, bytes[k++].data()});
    const host::StepAttributes attributes(step.attributes.begin(), step.attributes.end());
    host::run_host_step(step.name, step.op, attributes, in, out);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      const std::vector<std::uint8_t>& result = bytes[step.inputs.size() + i];
      dram.write(address(step.outputs[i]), result.data(), result.size());
    }
  }

  [[nodiscard]] std::vector<std::vector<std::uint8_t>> outputs() const {
    std::vector<std::vector<std::uint8_t>> all;
    for (const isa::TensorRef& t : program_.outputs) all.push_back(read(t));
    return all;
  }

  hw::DramStorage dram;
  hw::BaseRegisters bases;

 private:
  static std::size_t elements(const isa::TensorRef& t) { return static_cast<std::size_t>(element_count(t.shape)); }
  [[nodiscard]] std::uint64_t address(const isa::TensorRef& t) const {
    const isa::Buffer& b = program_.buffers[t.buffer];
    return bases.base[isa::base_register_of(b.kind)] + b.offset + t.offset;
  }
  [[nodiscard]] std::vector<std::uint8_t> read(const isa::TensorRef& t) const {
    std::vector<std::uint8_t> bytes(elements(t));
    dram.read(address(t), bytes.data(), bytes.size());
    return bytes;
  }

  const isa::Program& program_;
};

struct Queue {
  std::uint8_t core = 0;
  std::vector<isa::Instruction> instructions;
  std::size_t next = 0;
};

void run_section(const isa::Section& section, const isa::ChipConfig& chip,
                 std::vector<std::vector<std::uint8_t>>& srams, semantics::DramAccess& dram, Random& random) {
  std::vector<Queue> queues;
  for (const isa::QueueStream& stream : section.streams) {
    Queue q;
    q.core = stream.core;
    for (std::size_t at = 0; at < stream.words.size();) {
      const isa::DecodeResult decoded = isa::decode(stream.words.data() + at, stream.words.size() - at);
      ASSERT_TRUE(decoded.ok()) << decoded.text;
      q.instructions.push_back(decoded.instruction);
      at += decoded.words;
    }
    ASSERT_EQ(q.instructions.size(), stream.info.size());
    queues.push_back(std::move(q));
  }
  std::array<int, 256> semaphores{};
  const auto slot = [](std::uint8_t core, std::uint8_t s) {
    return static_cast<std::size_t>(s >= 64 ? 64 + s : core * 64 + s);
  };
  for (;;) {
    std::vector<Queue*> ready;
    bool left = false;
    for (Queue& q : queues) {
      if (q.next == q.instructions.size()) continue;
      left = true;
      bool has = true;
      for (const isa::Wait& w : q.instructions[q.next].header.waits) {
        has = has && (w.count == 0 || semaphores[slot(q.core, w.semaphore)] >= w.count);
      }
      if (has) ready.push_back(&q);
    }
    if (!left) break;
    ASSERT_FALSE(ready.empty()) << "stuck";
    Queue& q = *ready[random.below(ready.size())];
    const isa::Instruction& instruction = q.instructions[q.next++];
    for (const isa::Wait& w : instruction.header.waits) semaphores[slot(q.core, w.semaphore)] -= w.count;
    semantics::Memory memory{srams[q.core].data(), srams[q.core].size(), &dram};
    semantics::execute(instruction, chip, memory);
    for (const isa::Signal& s : instruction.header.signals) {
      semaphores[slot(q.core, s.semaphore)] += s.amount;
      ASSERT_LE(semaphores[slot(q.core, s.semaphore)], 255);
    }
  }
  for (const int s : semaphores) ASSERT_EQ(s, 0);
}

}  // namespace

std::vector<std::vector<std::uint8_t>> run_program(const isa::Program& program, const isa::ChipConfig& chip,
                                                   const std::vector<Tensor>& inputs, std::uint64_t seed) {
  Random random(seed);
  PlacedProgram placed(program, inputs);
  hw::BasedStorage dram(placed.dram, placed.bases);
  // Stale bytes, not zeros: padding lanes must not matter.
  std::vector<std::vector<std::uint8_t>> srams(static_cast<std::size_t>(chip.cores));
  for (auto& sram : srams) {
    sram.resize(static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes));
    for (std::uint8_t& b : sram) b = static_cast<std::uint8_t>(random.next());
  }
  for (const isa::Section& section : program.sections) {
    if (section.host_step >= 0) {
      placed.run_host_step(program.host_steps[static_cast<std::size_t>(section.host_step)]);
    } else {
      run_section(section, chip, srams, dram, random);
    }
    if (::testing::Test::HasFatalFailure()) return {};
  }
  return placed.outputs();
}

std::vector<std::vector<std::uint8_t>> run_on_reference(const isa::Program& program, const isa::ChipConfig& chip,
                                                        const std::vector<Tensor>& inputs) {
  PlacedProgram placed(program, inputs);
  reference::ReferenceOptions options;
  options.host_step = [&](const isa::HostStep& step, hw::DramStorage&) { placed.run_host_step(step); };
  const reference::ReferenceResult result = reference::run_reference(program, chip, placed.dram, placed.bases, options);
  EXPECT_EQ(result.warnings, std::vector<std::string>{});
  return placed.outputs();
}

void expect_program_computes(const QGraph& graph, const isa::Program& program, const isa::ChipConfig& chip,
                             const std::vector<Tensor>& inputs, std::uint64_t seed) {
  const std::vector<Tensor> expected = interpret(graph, inputs);
  EXPECT_EQ(isa::check_semaphores(program), std::vector<std::string>{});
  EXPECT_EQ(isa::check_semaphore_balance(program), std::vector<std::string>{});
  const auto outputs = run_program(program, chip, inputs, seed);
  ASSERT_EQ(outputs.size(), expected.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ASSERT_EQ(outputs[i], expected[i].bytes) << chip.name << ", seed " << seed << ", output " << i;
  }
  ASSERT_EQ(run_on_reference(program, chip, inputs), outputs) << chip.name << ", seed " << seed;
}

}  // namespace tessera::compiler::testing
