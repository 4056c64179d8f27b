#include "compiler/import/shapes.hpp"

#include <algorithm>
#include <map>

#include "hw/common/error.hpp"

namespace tessera::compiler {
namespace {

constexpr std::int64_t kLargestDim = std::int64_t{1} << 31;

/// Whether one symbol stands for one size throughout the model: "batch" does, "?", "0" and "-1" do not.
bool is_shared(const std::string& symbol) {
  return symbol != "?" && symbol[0] != '-' && (symbol[0] < '0' || symbol[0] > '9');
}

std::string declared_text(const DeclaredInput& input) {
  if (!input.dims) return "(no shape)";
  std::string text;
  for (const DeclaredDim& dim : *input.dims) {
    if (!text.empty()) text += 'x';
    text += dim.size >= 0 ? std::to_string(dim.size) : dim.symbol;
  }
  return text.empty() ? "scalar" : text;
}

std::string input_names(const std::vector<DeclaredInput>& inputs) {
  std::string text;
  for (const DeclaredInput& input : inputs) text += (text.empty() ? "'" : ", '") + input.name + "'";
  return text.empty() ? "none" : text;
}

/// "1x3x224x224" -> {1, 3, 224, 224}; nullopt when it is not numbers joined by x.
std::optional<Shape> parse_dims(const std::string& text) {
  Shape shape;
  std::size_t at = 0;
  while (true) {
    const std::size_t end = std::min(text.find('x', at), text.size());
    if (end == at || end - at > 10) return std::nullopt;
    std::int64_t dim = 0;
    for (std::size_t i = at; i < end; ++i) {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
      dim = dim * 10 + (text[i] - '0');
    }
    if (dim < 1 || dim > kLargestDim) return std::nullopt;
    shape.push_back(dim);
    if (end == text.size()) return shape;
    at = end + 1;
  }
}

/// Input name -> shape, as the options give them.
std::map<std::string, Shape> parse_given(const std::string& file, const std::vector<DeclaredInput>& inputs,
                                         const std::vector<std::string>& given) {
  std::map<std::string, Shape> shapes;
  for (const std::string& option : given) {
    const std::size_t equals = option.rfind('=');
    const bool bare = equals == std::string::npos;
    if (bare && inputs.size() != 1) {
      user_error("--shape ", option, ": names no input, and ", file, " has ", inputs.size(), " inputs",
                 ": expected NAME=1x3x224x224 with NAME one of ", input_names(inputs));
    }
    const std::string name = bare ? inputs.front().name : option.substr(0, equals);
    const bool known = std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.name == name; });
    if (!known) {
      user_error("--shape ", option, ": ", file, " has no input '", name, "': expected one of ", input_names(inputs));
    }
    const std::optional<Shape> shape = parse_dims(bare ? option : option.substr(equals + 1));
    if (!shape) {
      user_error("--shape ", option, ": expected sizes of at least 1 joined by x, for example ", name, "=1x3x224x224");
    }
    if (!shapes.emplace(name, *shape).second) user_error("--shape ", option, ": input '", name, "' is given twice");
  }
  return shapes;
}

/// Checks a given shape against the declared one and learns the symbols.
void learn_symbols(const std::string& file, const DeclaredInput& input, const Shape& shape,
                   std::map<std::string, std::int64_t>& symbols) {
  if (!input.dims) return;
  const auto contradicts = [&](const std::string& why) {
    user_error("--shape ", input.name, "=", shape_text(shape), ": ", file, " declares input '", input.name, "' as ",
               declared_text(input), ": ", why);
  };
  if (input.dims->size() != shape.size()) {
    contradicts("expected " + std::to_string(input.dims->size()) + " sizes, not " + std::to_string(shape.size()));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const DeclaredDim& dim = (*input.dims)[i];
    if (dim.size >= 0) {
      if (dim.size != shape[i]) contradicts("size " + std::to_string(i) + " is fixed to " + std::to_string(dim.size));
    } else if (is_shared(dim.symbol)) {
      const auto [known, fresh] = symbols.emplace(dim.symbol, shape[i]);
      if (!fresh && known->second != shape[i]) {
        contradicts("'" + dim.symbol + "' is " + std::to_string(known->second) + " already");
      }
    }
  }
}

}  // namespace

std::vector<Shape> bind_shapes(const std::string& file, const std::vector<DeclaredInput>& inputs,
                               const std::vector<std::string>& given) {
  const std::map<std::string, Shape> shapes = parse_given(file, inputs, given);
  std::map<std::string, std::int64_t> symbols;
  for (const DeclaredInput& input : inputs) {
    if (const auto it = shapes.find(input.name); it != shapes.end()) learn_symbols(file, input, it->second, symbols);
  }
  std::vector<Shape> result;
  for (const DeclaredInput& input : inputs) {
    if (const auto it = shapes.find(input.name); it != shapes.end()) {
      result.push_back(it->second);
      continue;
    }
    if (!input.dims) {
      user_error(file, ": input '", input.name, "' has no shape: give one with --shape ", input.name, "=1x3x224x224");
    }
    Shape shape;
    std::string unbound;
    std::string example;
    for (const DeclaredDim& dim : *input.dims) {
      const auto known = is_shared(dim.symbol) ? symbols.find(dim.symbol) : symbols.end();
      const std::int64_t size = dim.size >= 0 ? dim.size : (known != symbols.end() ? known->second : -1);
      if (size < 0) unbound += (unbound.empty() ? "'" : ", '") + dim.symbol + "'";
      example += (example.empty() ? "" : "x") + std::to_string(size < 0 ? 1 : size);
      shape.push_back(size);
    }
    if (!unbound.empty()) {
      user_error(file, ": input '", input.name, "' is declared as ", declared_text(input), ": ", unbound,
                 " unbound: give the sizes with --shape, for example --shape ", input.name, "=", example);
    }
    result.push_back(shape);
  }
  return result;
}

}  // namespace tessera::compiler
