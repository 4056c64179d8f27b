// The built-in networks, made in code: structure as published, weights seeded (He values; compiler/passes/randomize.hpp
// says how). Input `input` of 1x3x224x224, output `output` of 1x1000 class scores before Softmax (a part
// of a network: its last map).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.hpp"

namespace tessera::compiler {

struct ZooEntry {
  std::string name;
  std::string sentence;
  Graph (*build)();  // weights all zero
};

[[nodiscard]] const std::vector<ZooEntry>& zoo_list();

/// UserError lists the names when there is no such network.
[[nodiscard]] Graph zoo_build(const std::string& name, std::uint64_t seed);

}  // namespace tessera::compiler
