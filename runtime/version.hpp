// The tool's version as every result file carries it.
#pragma once

namespace tessera::runtime {

inline constexpr const char* kToolVersion = "0.1.0";

}  // namespace tessera::runtime
