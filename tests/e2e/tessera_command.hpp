// Runs the command as a user does.
#pragma once

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace tessera {

struct Answer {
  int code = -1;
  std::string text;  // both streams
};

inline Answer tessera_command(const std::string& arguments) {
  Answer answer;
  FILE* pipe = popen((std::string(TESSERA_COMMAND) + " " + arguments + " 2>&1").c_str(), "r");
  std::array<char, 4096> block;
  while (const std::size_t n = fread(block.data(), 1, block.size(), pipe)) answer.text.append(block.data(), n);
  answer.code = WEXITSTATUS(pclose(pipe));
  return answer;
}

inline void expect_parts(const Answer& answer, int code, const std::vector<std::string>& parts) {
  EXPECT_EQ(answer.code, code) << answer.text;
  for (const std::string& part : parts) {
    EXPECT_NE(answer.text.find(part), std::string::npos) << "'" << part << "' is not in:\n" << answer.text;
  }
}

/// An empty folder of this test's own.
inline std::filesystem::path workplace() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / (std::string("tessera_") + test->test_suite_name() + test->name());
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  return dir;
}

}  // namespace tessera
