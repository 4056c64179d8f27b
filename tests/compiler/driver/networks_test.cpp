// Whole networks, timing only: they compile on the chips they are meant for, and the prediction keeps to its bounds.
#include "networks.hpp"

#include <chrono>
#include <cstdio>

#include <gtest/gtest.h>

#include "compiler/driver/compile.hpp"
#include "isa/program/semaphores.hpp"

namespace tessera::compiler {
namespace {

isa::Program compiled(const QGraph& graph, const isa::ChipConfig& chip) {
  CompileOptions options;
  options.timing_only = true;
  const auto begin = std::chrono::steady_clock::now();
  isa::Program program = compile(graph, chip, options).program;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::int64_t instructions = 0, useful[isa::kTrafficKinds] = {};
  for (const isa::Section& s : program.sections) {
    for (const isa::QueueStream& q : s.streams) {
      instructions += static_cast<std::int64_t>(q.info.size());
      for (const isa::InstructionInfo& i : q.info) useful[static_cast<std::size_t>(i.kind)] += i.useful_bytes;
    }
  }
  std::printf("%s: predicted %lld cycles, %lld DRAM bytes (compulsory %lld), %lld instructions, %.2f s\n",
              chip.name.c_str(), static_cast<long long>(program.predicted.cycles),
              static_cast<long long>(program.predicted.dram_bytes),
              static_cast<long long>(program.compulsory_read + program.compulsory_write),
              static_cast<long long>(instructions), seconds);
  for (std::size_t k = 0; k < isa::kTrafficKinds; ++k) {
    if (useful[k] > 0)
      std::printf("  %s %lld\n", isa::traffic_name(static_cast<isa::Traffic>(k)), static_cast<long long>(useful[k]));
  }
  EXPECT_EQ(isa::check_semaphores(program), std::vector<std::string>{});
  return program;
}

double bound(const isa::Program& program, const isa::ChipConfig& chip) {
  const double bytes_per_cycle = 4.0 * static_cast<double>(chip.dram.channels) * 1e15 /
                                 static_cast<double>(chip.clock_hz) / static_cast<double>(chip.dram.tck_fs);
  return static_cast<double>(program.compulsory_read + program.compulsory_write) / bytes_per_cycle;
}

TEST(Networks, Resnet50OnA1000IsWithinATenthOfItsWeights) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const isa::Program program = compiled(testing::resnet50(), chip);
  EXPECT_EQ(program.macs_useful, 4089184256);
  EXPECT_LT(static_cast<double>(program.predicted.cycles), 1.1 * bound(program, chip));
}

TEST(Networks, SqueezenetOnTinyAndA1000) {
  for (const char* name : {"tiny", "a1000"}) (void)compiled(testing::squeezenet(), isa::load_chip(name));
}

TEST(Networks, MobilenetOnA1000AndJ5) {
  for (const char* name : {"a1000", "j5"}) (void)compiled(testing::mobilenet_v2(), isa::load_chip(name));
}

// Its large maps leave little SRAM for prefetch while the convolutions run, and 120 MB of classifier weights follow;
// the prediction knows refresh (8 %), the bound does not.
TEST(Networks, Vgg19OnA1000) {
  const isa::ChipConfig chip = isa::load_chip("a1000");
  const isa::Program program = compiled(testing::vgg19(), chip);
  EXPECT_LT(static_cast<double>(program.predicted.cycles), 1.2 * bound(program, chip));
}

}  // namespace
}  // namespace tessera::compiler
