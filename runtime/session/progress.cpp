#include "runtime/session/progress.hpp"

#include <cstdio>

#include <unistd.h>

namespace tessera::runtime {

void progress(const std::string& stage) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%s%s", stage.c_str(), stage.empty() ? "" : " ...");
  std::fflush(stderr);
}

}  // namespace tessera::runtime
