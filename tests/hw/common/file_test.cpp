// Whole files: nothing half-written stays, devices stay devices.
#include "hw/common/file.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;

std::string message_of(void (*work)()) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(WholeFile, ComesBackAsWritten) {
  const fs::path path = fs::path(testing::TempDir()) / "whole_file";
  write_file(path, "first");
  write_file(path, std::string_view("a\0b", 3));
  EXPECT_EQ(read_file(path), std::string("a\0b", 3));
  EXPECT_FALSE(fs::exists(part_of(path)));
}

TEST(WholeFile, DevicesAreWrittenInPlace) {
  EXPECT_EQ(part_of("/dev/null"), "/dev/null");  // a part renamed to it would replace the device
  EXPECT_EQ(part_of("report.json"), "report.json.part");
}

TEST(WholeFile, WhatCannotBeWrittenIsNamed) {
  const std::string why = ": cannot be written: expected a writable folder with free space";
  EXPECT_EQ(message_of([] { write_file("/no/such/folder/f", "x"); }), "/no/such/folder/f" + why);
  EXPECT_EQ(message_of([] { expect_writable("/no/such/folder/f"); }), "/no/such/folder/f" + why);
  EXPECT_EQ(message_of([] { expect_writable("/tmp"); }), "/tmp" + why);
  EXPECT_FALSE(fs::exists("/tmp.part"));
}

TEST(WholeFile, AskingLeavesAnExistingFileAlone) {
  const fs::path path = fs::path(testing::TempDir()) / "kept_file";
  write_file(path, "kept");
  expect_writable(path);
  EXPECT_EQ(read_file(path), "kept");
  EXPECT_FALSE(fs::exists(part_of(path)));
}

}  // namespace
}  // namespace tessera
