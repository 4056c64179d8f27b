// Shares of a memory of 8 bytes a cycle by hand.
#include "compiler/emit/memory_flow.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace tessera::compiler {
namespace {

std::vector<MemoryFlow::Served> serve_all(MemoryFlow& memory) {
  std::vector<MemoryFlow::Served> served;
  while (std::isfinite(memory.next())) memory.advance(memory.next(), served);
  return served;
}

TEST(MemoryFlow, TwoFlowsTakeTheSumOfTheirBytes) {
  MemoryFlow memory(8, 3);
  memory.offer(0, 800, 100, 1);
  memory.offer(1, 1600, 100, 2);
  const auto served = serve_all(memory);
  ASSERT_EQ(served.size(), 2u);
  EXPECT_EQ(served[0].tag, 1);
  EXPECT_DOUBLE_EQ(served[0].time, 200);  // 4 bytes a cycle each
  EXPECT_EQ(served[1].flow, 1);
  EXPECT_DOUBLE_EQ(served[1].time, 300);  // (800 + 1600) / 8
}

TEST(MemoryFlow, WhatASlowOneLeavesGoesToTheOther) {
  MemoryFlow memory(8, 2);
  memory.offer(0, 100, 1, 1);
  memory.offer(1, 700, 100, 2);
  const auto served = serve_all(memory);
  ASSERT_EQ(served.size(), 2u);
  EXPECT_DOUBLE_EQ(served[0].time, 100);
  EXPECT_DOUBLE_EQ(served[1].time, 100);
}

TEST(MemoryFlow, TransfersOfAFlowGoOneBehindTheOther) {
  MemoryFlow memory(8, 1);
  memory.offer(0, 80, 2, 1);
  memory.offer(0, 80, 100, 2);
  EXPECT_DOUBLE_EQ(memory.backlog(0), 160);
  EXPECT_DOUBLE_EQ(memory.falls_to(0, 100), 30);
  EXPECT_TRUE(std::isinf(memory.falls_to(0, 79))) << "the second transfer is faster than the first";
  std::vector<MemoryFlow::Served> served;
  memory.advance(40, served);
  ASSERT_EQ(served.size(), 1u);
  EXPECT_DOUBLE_EQ(memory.next(), 50);
  memory.advance(45, served);
  EXPECT_DOUBLE_EQ(memory.backlog(0), 40);
}

TEST(MemoryFlow, AnEmptyTransferEndsWithTheOneBeforeIt) {
  MemoryFlow memory(8, 1);
  memory.offer(0, 80, 8, 1);
  memory.offer(0, 0, 8, 2);
  const auto served = serve_all(memory);
  ASSERT_EQ(served.size(), 2u);
  EXPECT_DOUBLE_EQ(served[1].time, 10);
}

}  // namespace
}  // namespace tessera::compiler
