#include "hw/common/config_reader.hpp"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"

namespace tessera {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kMaxDepth = 64;  // nobody writes deeper by hand; keeps hostile files from deep recursion

std::string escape_pointer(std::string_view key) {  // RFC 6901
  std::string out;
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string shorten(std::string text) {
  constexpr std::size_t kLongest = 80;
  if (text.size() > kLongest) {
    text.resize(kLongest);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
      text.pop_back();  // whole UTF-8 characters only
    }
    text += "...";
  }
  return text;
}

/// Checks syntax, depth and repeated keys; builds nothing (Json::parse then keeps the last of repeated keys in
/// silence).
class Checker final : public nlohmann::json_sax<Json> {
 public:
  explicit Checker(std::string file) : file_(std::move(file)) {}
  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(true); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.key = name;
    if (!level.seen.insert(name).second) {
      errors.push_back(file_ + ": " + pointer() + ": the key appears twice; keep one of them");
    }
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& e) override {
    const std::string what = e.what();
    const std::size_t colon = what.find("] ");
    errors.push_back(concat_position(position) + (colon == std::string::npos ? what : what.substr(colon + 2)));
    return false;
  }

  std::vector<std::string> errors;

 private:
  struct Level {
    bool array = false;
    std::size_t index = 0;
    std::string key;
    std::set<std::string> seen;
  };
  [[nodiscard]] std::string concat_position(std::size_t position) const {
    return detail::concat(file_, ": not valid JSON at byte ", position, ": ");
  }
  [[nodiscard]] std::string pointer() const {
    std::string out;
    for (const Level& level : levels_) {
      out += '/';
      out += level.array ? std::to_string(level.index) : escape_pointer(level.key);
    }
    return out;
  }
  bool value() {
    if (!levels_.empty() && levels_.back().array) {
      ++levels_.back().index;
    }
    return true;
  }
  bool open(bool array) {
    if (levels_.size() == kMaxDepth) {
      errors.push_back(detail::concat(file_, ": nested deeper than ", kMaxDepth, " levels"));
      return false;
    }
    levels_.push_back({});
    levels_.back().array = array;
    return true;
  }
  bool close() {
    levels_.pop_back();
    return value();
  }
  std::string file_;
  std::vector<Level> levels_;
};

Json parse_strictly(std::string_view text, const std::string& file) {
  Checker checker(file);
  const bool parsed = Json::sax_parse(text.begin(), text.end(), &checker);
  if (!checker.errors.empty()) {
    std::string all;
    for (const std::string& message : checker.errors) {
      all += (all.empty() ? "" : "\n") + message;
    }
    throw UserError(all);
  }
  TESSERA_CHECK(parsed, "a parser that fails reports why");
  return Json::parse(text.begin(), text.end());
}

struct Root {
  std::string file;
  Json json;
  std::map<std::string, std::string> origins;  // JSON pointer -> what set it instead of the file
  std::vector<std::string> errors;
};

}  // namespace

struct ConfigReader::Node {
  std::shared_ptr<Root> root;
  const Json* json = nullptr;  // an object, inside root->json (or kEmpty)
  std::string pointer;
  bool is_root = false;
  std::set<std::string, std::less<>> read;

  [[nodiscard]] const Json* find(std::string_view key) {
    read.emplace(key);
    const auto found = json->find(std::string(key));
    return found == json->end() ? nullptr : &*found;
  }
  [[nodiscard]] std::string pointer_of(std::string_view key) const { return pointer + "/" + escape_pointer(key); }
  void note(std::string_view key, const Json* found, const std::string& text, const std::string& index = "") {
    const std::string where = pointer_of(key);
    const auto origin = root->origins.find(where);
    std::string message;
    if (origin != root->origins.end()) {
      message = origin->second + ": " + text;
    } else if (found == nullptr) {
      message = root->file + ": " + where + " is missing: " + text;
    } else {
      message = root->file + ": " + where + index + " = " + shorten(found->dump()) + ": " + text;
    }
    root->errors.push_back(message);
  }
};

namespace {
const Json kEmpty = Json::object();

std::string range_text(IntRange range) {
  if (range.max == INT64_MAX) {
    return range.min == INT64_MIN ? "expected an integer"
                                  : detail::concat("expected an integer of at least ", range.min);
  }
  return detail::concat("expected a value in [", range.min, ", ", range.max, "]");
}

/// Empty text: fine. Never Json::get on a value whose exact kind is not known (-1 would turn into 2^64 - 1).
std::string check_integer(const Json& value, IntRange range, std::int64_t& out) {
  if (!value.is_number_integer()) {
    return range_text(range) +
           (value.is_number_float() ? ", written without fraction or exponent" : ", a JSON integer");
  }
  if (value.is_number_unsigned()) {
    const auto big = value.get<std::uint64_t>();
    if (big > static_cast<std::uint64_t>(INT64_MAX)) {
      return range_text(range);
    }
    out = static_cast<std::int64_t>(big);
  } else {
    out = value.get<std::int64_t>();
  }
  return out < range.min || out > range.max ? range_text(range) : "";
}
}  // namespace

ConfigReader ConfigReader::from_file(const std::filesystem::path& path) {
  return from_text(read_file(path), path.string());
}

ConfigReader ConfigReader::from_text(std::string_view text, const std::string& file) {
  auto root = std::make_shared<Root>();
  root->file = file;
  root->json = parse_strictly(text, file);
  if (!root->json.is_object()) {
    user_error(file, ": expected a JSON object at the top, found ", root->json.type_name());
  }
  auto node = std::make_shared<Node>();
  node->json = &root->json;
  node->root = std::move(root);
  node->is_root = true;
  return ConfigReader(std::move(node));
}

void ConfigReader::override_value(std::string_view dotted, std::string_view json_text, const std::string& origin) {
  TESSERA_CHECK(node_->is_root, "override_value works on the root reader");
  const Json value = parse_strictly(json_text, origin);
  Json* at = &node_->root->json;
  std::string pointer;
  std::string_view rest = dotted;
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string key(rest.substr(0, dot));
    pointer += "/" + escape_pointer(key);
    if (!at->is_object()) {
      user_error(origin, ": ", pointer, " does not lie in a JSON object");
    }
    at = &(*at)[key];
    if (dot == std::string_view::npos) {
      break;
    }
    if (at->is_null()) {
      *at = Json::object();
    }
    rest.remove_prefix(dot + 1);
  }
  *at = value;
  node_->root->origins[pointer] = origin;
}

void ConfigReader::default_value(std::string_view dotted, std::string_view json_text) {
  TESSERA_CHECK(node_->is_root, "default_value works on the root reader");
  Json* at = &node_->root->json;
  std::string_view rest = dotted;
  for (;;) {
    if (!at->is_object()) return;  // whoever reads the object says so
    const std::size_t dot = rest.find('.');
    const std::string key(rest.substr(0, dot));
    if (dot == std::string_view::npos) {
      if (!at->contains(key)) (*at)[key] = parse_strictly(json_text, std::string(dotted));
      return;
    }
    if (!at->contains(key)) (*at)[key] = Json::object();
    at = &(*at)[key];
    rest.remove_prefix(dot + 1);
  }
}

bool ConfigReader::has(std::string_view key) const { return node_->json->contains(std::string(key)); }

std::vector<std::string> ConfigReader::keys() const {
  std::vector<std::string> names;
  for (const auto& item : node_->json->items()) {
    names.push_back(item.key());
  }
  return names;
}

std::int64_t ConfigReader::integer(std::string_view key, IntRange range) {
  const Json* value = node_->find(key);
  std::int64_t result = range.min;
  const std::string wrong = value == nullptr ? range_text(range) : check_integer(*value, range, result);
  if (!wrong.empty()) {
    node_->note(key, value, wrong);
    return range.min;
  }
  return result;
}

double ConfigReader::number(std::string_view key) {
  const Json* value = node_->find(key);
  if (value == nullptr || !value->is_number()) {
    node_->note(key, value, "expected a number");
    return 0.0;
  }
  return value->get<double>();
}

bool ConfigReader::boolean(std::string_view key) {
  const Json* value = node_->find(key);
  if (value == nullptr || !value->is_boolean()) {
    node_->note(key, value, "expected true or false");
    return false;
  }
  return value->get<bool>();
}

std::string ConfigReader::text(std::string_view key) {
  const Json* value = node_->find(key);
  if (value == nullptr || !value->is_string()) {
    node_->note(key, value, "expected a text in quotes");
    return "";
  }
  return value->get<std::string>();
}

std::size_t ConfigReader::choice(std::string_view key, const std::vector<std::string>& names) {
  const Json* value = node_->find(key);
  if (value != nullptr && value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) {
        return i;
      }
    }
  }
  std::string legal;
  for (const std::string& name : names) {
    legal += (legal.empty() ? "\"" : ", \"") + name + "\"";
  }
  node_->note(key, value, "expected one of " + legal);
  return 0;
}

ConfigReader ConfigReader::object(std::string_view key) {
  const Json* value = node_->find(key);
  if (value == nullptr || !value->is_object()) {
    node_->note(key, value, "expected a JSON object");
    value = nullptr;
  }
  auto child = std::make_shared<Node>();
  child->root = node_->root;
  child->json = value == nullptr ? &kEmpty : value;
  child->pointer = node_->pointer_of(key);
  return ConfigReader(std::move(child));
}

std::vector<ConfigReader> ConfigReader::objects(std::string_view key) {
  const Json* value = node_->find(key);
  std::vector<ConfigReader> children;
  if (value == nullptr || !value->is_array()) {
    node_->note(key, value, "expected an array of JSON objects");
    return children;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string index = "/" + std::to_string(i);
    if (!(*value)[i].is_object()) {
      node_->note(key, &(*value)[i], "expected a JSON object", index);
      continue;
    }
    auto child = std::make_shared<Node>();
    child->root = node_->root;
    child->json = &(*value)[i];
    child->pointer = node_->pointer_of(key) + index;
    children.push_back(ConfigReader(std::move(child)));
  }
  return children;
}

std::vector<std::string> ConfigReader::texts(std::string_view key) {
  const Json* value = node_->find(key);
  std::vector<std::string> out;
  if (value == nullptr || !value->is_array()) {
    node_->note(key, value, "expected an array of texts");
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_string()) {
      node_->note(key, &(*value)[i], "expected a text in quotes", "/" + std::to_string(i));
    } else {
      out.push_back((*value)[i].get<std::string>());
    }
  }
  return out;
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key, IntRange range) {
  const Json* value = node_->find(key);
  std::vector<std::int64_t> out;
  if (value == nullptr || !value->is_array()) {
    node_->note(key, value, "expected an array of integers");
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    std::int64_t item = range.min;
    const std::string wrong = check_integer((*value)[i], range, item);
    if (!wrong.empty()) {
      node_->note(key, &(*value)[i], wrong, "/" + std::to_string(i));
      item = range.min;
    }
    out.push_back(item);
  }
  return out;
}

std::vector<double> ConfigReader::numbers(std::string_view key) {
  const Json* value = node_->find(key);
  std::vector<double> out;
  if (value == nullptr || !value->is_array()) {
    node_->note(key, value, "expected an array of numbers");
    return out;
  }
  for (std::size_t i = 0; i < value->size(); ++i) {
    if (!(*value)[i].is_number()) {
      node_->note(key, &(*value)[i], "expected a number", "/" + std::to_string(i));
    } else {
      out.push_back((*value)[i].get<double>());
    }
  }
  return out;
}

std::string ConfigReader::object_text(std::string_view key) {
  const Json* value = node_->find(key);
  if (value == nullptr || !value->is_object()) {
    node_->note(key, value, "expected a JSON object");
    return "";
  }
  return value->dump(2) + "\n";
}

void ConfigReader::error(std::string_view key, const std::string& expected) {
  node_->note(key, node_->find(key), expected);
}

void ConfigReader::file_error(const std::string& message) {
  node_->root->errors.push_back(node_->root->file + ": " + message);
}

bool ConfigReader::failed() const { return !node_->root->errors.empty(); }

std::string ConfigReader::file() const { return node_->root->file; }

void ConfigReader::finish() {
  for (const auto& item : node_->json->items()) {
    if (node_->read.find(item.key()) == node_->read.end()) {
      std::string legal;
      for (const std::string& name : node_->read) {
        legal += (legal.empty() ? "" : ", ") + name;
      }
      node_->note(item.key(), &item.value(), "unknown key; known here: " + legal);
    }
  }
  if (node_->is_root && failed()) {
    std::string all;
    for (const std::string& message : node_->root->errors) {
      all += (all.empty() ? "" : "\n") + message;
    }
    throw UserError(all);
  }
}

}  // namespace tessera
