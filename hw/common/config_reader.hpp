// Strict reading of JSON written by people (house style 14): types, ranges and choices are checked, unknown and
// duplicate keys are refused, and all errors of a file come in one UserError, each with file and JSON pointer:
//   edge.json: /systolic/rows = 512: expected a value in [4, 256]
// A reader stands on one JSON object; readers of nested objects share the list of errors of their root. A read that
// fails notes the error and returns a value that is safe to carry on with; finish() of the root throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Both ends are legal.
struct IntRange {
  std::int64_t min = 0;
  std::int64_t max = INT64_MAX;
};

class ConfigReader {
 public:
  /// Throws UserError when the file cannot be read, is no JSON object, or repeats a key.
  [[nodiscard]] static ConfigReader from_file(const std::filesystem::path& path);
  /// `file` is what messages call the text.
  [[nodiscard]] static ConfigReader from_text(std::string_view text, const std::string& file);

  ConfigReader(const ConfigReader&) = default;
  ConfigReader(ConfigReader&&) = default;
  ConfigReader& operator=(const ConfigReader&) = default;
  ConfigReader& operator=(ConfigReader&&) = default;
  ~ConfigReader() = default;

  /// Puts the JSON value `json_text` at `dotted` (a.b.c) under this reader; objects on the way are made. Messages about
  /// it then begin with `origin` (e.g. "--set a.b=3") instead of file and pointer. Throws UserError on broken JSON.
  void override_value(std::string_view dotted, std::string_view json_text, const std::string& origin);

  /// The same where nothing stands at `dotted` yet (also when an object on the way is missing); else does nothing.
  void default_value(std::string_view dotted, std::string_view json_text);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Keys of this object in the order of the alphabet; asking does not count as reading them.
  [[nodiscard]] std::vector<std::string> keys() const;

  [[nodiscard]] std::int64_t integer(std::string_view key, IntRange range);
  [[nodiscard]] std::int64_t uint(std::string_view key, IntRange range) { return integer(key, range); }
  [[nodiscard]] double number(std::string_view key);
  [[nodiscard]] bool boolean(std::string_view key);
  [[nodiscard]] std::string text(std::string_view key);
  /// Index into `names`; unknown text lists them.
  [[nodiscard]] std::size_t choice(std::string_view key, const std::vector<std::string>& names);
  [[nodiscard]] ConfigReader object(std::string_view key);
  [[nodiscard]] std::vector<ConfigReader> objects(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key, IntRange range);
  [[nodiscard]] std::vector<double> numbers(std::string_view key);

  /// The JSON object at `key` as text, keys sorted, two spaces a level.
  [[nodiscard]] std::string object_text(std::string_view key);

  /// Notes an error of the caller's own at `key` ("expected ..."), with the value that stands there.
  void error(std::string_view key, const std::string& expected);
  /// The same without a key of its own: `message` stands after the file name.
  void file_error(const std::string& message);
  [[nodiscard]] bool failed() const;
  [[nodiscard]] std::string file() const;

  /// Notes every key of this object that nobody asked for; on the root, throws UserError if anything was noted.
  void finish();

 private:
  struct Node;
  explicit ConfigReader(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  std::shared_ptr<Node> node_;
};

}  // namespace tessera
