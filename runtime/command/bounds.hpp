// The bounds of compiler/bounds for people and for scripts.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "compiler/bounds/bounds.hpp"

namespace tessera::runtime {

/// Schema tessera.bounds/1; fields: README.md.
[[nodiscard]] nlohmann::json bounds_json(const compiler::NetworkBounds& bounds);
[[nodiscard]] std::string bounds_text(const compiler::NetworkBounds& bounds);

}  // namespace tessera::runtime
