#include "hw/cosim/lockstep.hpp"

#include <string>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/cosim/random_program.hpp"
#include "hw/platform/platform.hpp"
#include "tests/hw/platform/program_builder.hpp"

namespace tessera::cosim {
namespace {

using isa::BufferKind;
using platform::test::load_rows;
using platform::test::ProgramBuilder;
using platform::test::QueueId;
using platform::test::store_rows;

isa::ChipConfig tiny(std::vector<std::string> sets = {}) { return isa::load_chip("tiny", sets); }

LockstepResult lockstep(const isa::Program& program, const isa::ChipConfig& chip) {
  return run_lockstep(program, chip, chip, {});
}

#define EXPECT_EQUAL_RUNS(result)                   \
  do {                                              \
    EXPECT_EQ((result).first, "");                  \
    EXPECT_EQ((result).value_differences, 0);       \
    EXPECT_EQ((result).cycle_differences, 0);       \
  } while (false)

TEST(Lockstep, Nops) {
  ProgramBuilder builder;
  builder.nop(QueueId::load, 5, {{}, {{0, 2}}}).nop(QueueId::load, 1).nop(QueueId::load, 3);
  builder.nop(QueueId::store, 1, {{{0, 1}, {0, 1}}, {{1, 1}}});
  builder.nop(QueueId::reorder, 1, {{{1, 1}}, {}}).nop(QueueId::reorder, 7).nop(QueueId::reorder, 2);
  const LockstepResult result = lockstep(builder.program(), tiny());
  EXPECT_EQUAL_RUNS(result);
  EXPECT_EQ(result.instructions, 7);
}

}  // namespace
}  // namespace tessera::cosim
