// Where the shared models lie (not part of the repository): environment variable TESSERA_SHARED, else the folder the
// build was configured with. Tests that need them skip loudly when they are absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tessera {

inline std::filesystem::path shared_folder() {
  const char* given = std::getenv("TESSERA_SHARED");
  return given != nullptr ? given : TESSERA_SHARED_DEFAULT;
}

inline std::filesystem::path shared_models() { return shared_folder() / "models"; }

}  // namespace tessera

#define TESSERA_SKIP_WITHOUT(path)                                                                    \
  do {                                                                                                \
    if (!std::filesystem::exists(path)) {                                                             \
      GTEST_SKIP() << "SKIPPED: " << (path) << " is absent; set TESSERA_SHARED to the shared folder"; \
    }                                                                                                 \
  } while (false)
