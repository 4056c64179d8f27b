// The name of the present stage on a terminal's standard error; silent when it is none. "" clears the line.
#pragma once

#include <string>

namespace tessera::runtime {

void progress(const std::string& stage);

}  // namespace tessera::runtime
