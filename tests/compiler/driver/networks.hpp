// Whole networks as quantised graphs, shapes only (no weights): what timing-only compilation is measured on.
#pragma once

#include "compiler/ir/qgraph.hpp"

namespace tessera::compiler::testing {

[[nodiscard]] QGraph resnet50();
[[nodiscard]] QGraph squeezenet();
[[nodiscard]] QGraph mobilenet_v2();
[[nodiscard]] QGraph vgg19();

}  // namespace tessera::compiler::testing
