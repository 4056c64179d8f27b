#include "compiler/tensor_io/file.hpp"

#include <algorithm>

#include "compiler/tensor_io/tensor_io.hpp"
#include "hw/common/file.hpp"

namespace tessera::compiler {

std::vector<std::uint8_t> file_bytes(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  return std::vector<std::uint8_t>(text.begin(), text.end());
}

std::string file_name_of(const std::string& value) {
  std::string name = value;
  std::replace(name.begin(), name.end(), '/', '~');
  return name;
}

}  // namespace tessera::compiler
