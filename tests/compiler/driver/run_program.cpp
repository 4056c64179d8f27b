#include "run_program.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include "compiler/host/host_step.hpp"
#include "hw/common/random.hpp"
#include "isa/isa.hpp"
#include "isa/semantics/execute.hpp"

namespace tessera::compiler::testing {
namespace {

class Dram : public semantics::DramAccess {
 public:
  explicit Dram(const isa::Program& program) {
    for (const isa::Buffer& b : program.buffers) {
      auto& bytes = spaces_[isa::base_register_of(b.kind)];
      bytes.resize(std::max<std::size_t>(bytes.size(), b.offset + b.size));
    }
    auto& weights = spaces_[isa::base_register_of(isa::BufferKind::weights)];
    std::copy(program.weights.begin(), program.weights.end(), weights.begin());
  }
  void read(std::uint8_t base, std::uint64_t offset, std::uint8_t* out, std::size_t bytes) override {
    std::memcpy(out, at(base, offset, bytes), bytes);
  }
  void write(std::uint8_t base, std::uint64_t offset, const std::uint8_t* in, std::size_t bytes) override {
    std::memcpy(at(base, offset, bytes), in, bytes);
  }
  [[nodiscard]] semantics::DramLimits limits() const override {
    semantics::DramLimits limits{};
    for (std::size_t i = 0; i < spaces_.size(); ++i) limits[i] = spaces_[i].size();
    return limits;
  }
  std::uint8_t* at(std::uint8_t base, std::uint64_t offset, std::size_t bytes) {
    EXPECT_LE(offset + bytes, spaces_[base].size());
    return spaces_[base].data() + offset;
  }
  std::uint8_t* at(const isa::Program& program, const isa::TensorRef& t) {
    const isa::Buffer& b = program.buffers[t.buffer];
    return at(isa::base_register_of(b.kind), b.offset + t.offset, 0);
  }

 private:
  std::array<std::vector<std::uint8_t>, 8> spaces_;
};

struct Queue {
  std::uint8_t core = 0;
  std::vector<isa::Instruction> instructions;
  std::size_t next = 0;
};

void run_section(const isa::Section& section, const isa::ChipConfig& chip,
                 std::vector<std::vector<std::uint8_t>>& srams, Dram& dram, Random& random) {
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

void run_host(const isa::Program& program, const isa::HostStep& step, Dram& dram) {
  std::vector<host::TensorIn> in;
  std::vector<host::TensorOut> out;
  for (const isa::TensorRef& t : step.inputs)
    in.push_back({t.shape, t.dtype, t.scale, t.zero_point, dram.at(program, t)});
  for (const isa::TensorRef& t : step.outputs)
    out.push_back({t.shape, t.dtype, t.scale, t.zero_point, dram.at(program, t)});
  host::StepAttributes attributes;
  for (const auto& [key, values] : step.attributes) attributes[key] = values;
  host::run_host_step(step.name, step.op, attributes, in, out);
}

}  // namespace

std::vector<std::vector<std::uint8_t>> run_program(const isa::Program& program, const isa::ChipConfig& chip,
                                                   const std::vector<Tensor>& inputs, std::uint64_t seed) {
  Random random(seed);
  Dram dram(program);
  // Stale bytes, not zeros: padding lanes must not matter.
  std::vector<std::vector<std::uint8_t>> srams(static_cast<std::size_t>(chip.cores));
  for (auto& sram : srams) {
    sram.resize(static_cast<std::size_t>(chip.sram.banks * chip.sram.size_bytes));
    for (std::uint8_t& b : sram) b = static_cast<std::uint8_t>(random.next());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::memcpy(dram.at(program, program.inputs[i]), inputs[i].bytes.data(), inputs[i].bytes.size());
  }
  for (const isa::Section& section : program.sections) {
    if (section.host_step >= 0) {
      run_host(program, program.host_steps[static_cast<std::size_t>(section.host_step)], dram);
    } else {
      run_section(section, chip, srams, dram, random);
    }
    if (::testing::Test::HasFatalFailure()) return {};
  }
  std::vector<std::vector<std::uint8_t>> outputs;
  for (const isa::TensorRef& t : program.outputs) {
    std::int64_t elements = 1;
    for (const std::int64_t d : t.shape) elements *= d;
    const std::uint8_t* data = dram.at(program, t);
    outputs.emplace_back(data, data + elements);
  }
  return outputs;
}

}  // namespace tessera::compiler::testing
