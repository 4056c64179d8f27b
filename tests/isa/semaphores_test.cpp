#include "isa/program/semaphores.hpp"

#include <gtest/gtest.h>

#include "tests/isa/sample_program.hpp"

namespace tessera::isa {
namespace {

QueueStream stream(int core, QueueId queue) {
  QueueStream s;
  s.core = static_cast<std::uint8_t>(core);
  s.queue = static_cast<std::uint8_t>(queue);
  return s;
}

TEST(Semaphores, OneWaitingQueueIsSound) {
  EXPECT_TRUE(check_semaphores(sample_program()).empty());
  EXPECT_TRUE(check_semaphore_balance(sample_program()).empty());
}

TEST(Semaphores, TwoWaitingQueuesAreNamed) {
  Program p;
  Section section;
  section.name = "s";
  QueueStream conv = stream(1, QueueId::conv0);
  append(conv, Nop{}, 0);
  append(conv, Nop{}, 0, {4, 1});
  QueueStream edp = stream(1, QueueId::edp);
  append(edp, Nop{}, 0, {4, 1});
  append(edp, Nop{}, 0, {4, 1});
  section.streams = {conv, edp};
  p.sections = {section};
  EXPECT_EQ(
      check_semaphores(p),
      std::vector<std::string>{"section s: semaphore 4 of core 1 has two waiting queues, 1.conv0 instruction 1 and "
                               "1.edp instruction 0: expected exactly one"});
  // the same number on another core is another semaphore, unless it is global
  p.sections[0].streams[1].core = 0;
  EXPECT_TRUE(check_semaphores(p).empty());
  for (QueueStream& s : p.sections[0].streams) {
    s.words.clear();
    append(s, Nop{}, 0, {100, 1});
  }
  EXPECT_EQ(check_semaphores(p).size(), 1U);
  // nothing is waited for across sections
  Section second = p.sections[0];
  second.streams.erase(second.streams.begin());
  p.sections[0].streams.pop_back();
  p.sections.push_back(second);
  EXPECT_TRUE(check_semaphores(p).empty());
}

TEST(Semaphores, WhatDoesNotEndAtZeroIsNamed) {
  Program p;
  Section section;
  section.name = "s";
  QueueStream load = stream(0, QueueId::load);
  append(load, Nop{}, 0, {3, 2}, {5, 1});
  section.streams = {load};
  p.sections = {section};
  EXPECT_EQ(check_semaphore_balance(p),
            (std::vector<std::string>{
                "section s: semaphore 3 of core 0 ends at -2: expected 0, signals and waits must balance",
                "section s: semaphore 5 of core 0 ends at 1: expected 0, signals and waits must balance"}));
}

}  // namespace
}  // namespace tessera::isa
