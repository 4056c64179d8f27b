// Sections: stretches of the network between which values pass through DRAM alone. A host step ends one; the user may
// wish for more. Here: which layer a node's name means, marking the wished boundaries in the layer graph before
// anything is scheduled, and saying of every section why it begins and what crosses. Leaves out: rings that are full
// (emission).
#pragma once

#include <string>
#include <vector>

#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/work.hpp"

namespace tessera::compiler {

/// The first layer that runs the node. UserError, in terms of the option's text ("--boundary conv1"), when the node
/// runs inside another one's layer, needs no layer, or does not exist.
[[nodiscard]] int layer_of(const LayerGraph& graph, const std::string& option, const std::string& node);

/// A boundary in front of each node of `boundaries`, and on both sides of each of `alone`. Maps that live across one
/// are marked: they go through DRAM.
void mark_boundaries(LayerGraph& graph, const std::vector<std::string>& boundaries,
                     const std::vector<std::string>& alone);

/// Fills WorkSection::why and crossing_bytes. `spilled`: by root, through DRAM.
void describe_sections(const LayerGraph& graph, const std::vector<bool>& spilled, const isa::ChipConfig& chip,
                       std::vector<WorkSection>& sections);

}  // namespace tessera::compiler
