#include "hw/common/config_reader.hpp"

#include <functional>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"

namespace tessera {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

struct Systolic {
  std::int64_t rows = 0;
  std::size_t dataflow = 0;
};

Systolic read(const std::string& text) {
  ConfigReader reader = ConfigReader::from_text(text, "edge.json");
  ConfigReader part = reader.object("systolic");
  Systolic out;
  out.rows = part.uint("rows", {4, 256});
  out.dataflow = part.choice("dataflow", {"weight", "output"});
  part.finish();
  reader.finish();
  return out;
}

TEST(ConfigReader, ReadsWhatIsLegal) {
  const Systolic s = read(R"({"systolic": {"rows": 256, "dataflow": "output"}})");
  EXPECT_EQ(s.rows, 256);
  EXPECT_EQ(s.dataflow, 1U);
}

TEST(ConfigReader, RangeMessage) {
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 512, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = 512: expected a value in [4, 256]");
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 3, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = 3: expected a value in [4, 256]");
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": -1, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = -1: expected a value in [4, 256]");
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 18446744073709551615, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = 18446744073709551615: expected a value in [4, 256]");
}

TEST(ConfigReader, TypesAreStrict) {
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 32.0, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = 32.0: expected a value in [4, 256], written without fraction or exponent");
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": "32", "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = \"32\": expected a value in [4, 256], a JSON integer");
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": true, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows = true: expected a value in [4, 256], a JSON integer");
  EXPECT_EQ(message_of([] { read(R"({"systolic": [1]})"); }),
            "edge.json: /systolic = [1]: expected a JSON object\n"
            "edge.json: /systolic/rows is missing: expected a value in [4, 256]\n"
            "edge.json: /systolic/dataflow is missing: expected one of \"weight\", \"output\"");
}

TEST(ConfigReader, UnknownChoiceListsTheLegalOnes) {
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 4, "dataflow": "row"}})"); }),
            "edge.json: /systolic/dataflow = \"row\": expected one of \"weight\", \"output\"");
}

TEST(ConfigReader, UnknownKeysAreErrorsAndAllErrorsComeTogether) {
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 1, "dataflow": "row", "cols": 2}, "extra": {}})"); }),
            "edge.json: /systolic/rows = 1: expected a value in [4, 256]\n"
            "edge.json: /systolic/dataflow = \"row\": expected one of \"weight\", \"output\"\n"
            "edge.json: /systolic/cols = 2: unknown key; known here: dataflow, rows\n"
            "edge.json: /extra = {}: unknown key; known here: systolic");
}

TEST(ConfigReader, RepeatedKeysAreErrors) {
  EXPECT_EQ(message_of([] { read(R"({"systolic": {"rows": 4, "rows": 8, "dataflow": "weight"}})"); }),
            "edge.json: /systolic/rows: the key appears twice; keep one of them");
  EXPECT_EQ(
      message_of([] { static_cast<void>(ConfigReader::from_text(R"({"a": [{}, {"b~/": 1, "b~/": 2}]})", "f.json")); }),
      "f.json: /a/1/b~0~1: the key appears twice; keep one of them");
  EXPECT_EQ(
      message_of([] { static_cast<void>(ConfigReader::from_text(R"({"a": {"x": 1}, "b": {"x": 1}})", "f.json")); }),
      "no error");
}

TEST(ConfigReader, BrokenTextSaysWhere) {
  const std::string message = message_of([] { static_cast<void>(ConfigReader::from_text("{\"a\": }", "f.json")); });
  EXPECT_EQ(message.substr(0, 33), "f.json: not valid JSON at byte 7:") << message;
  EXPECT_EQ(message_of([] { static_cast<void>(ConfigReader::from_text("[1]", "f.json")); }),
            "f.json: expected a JSON object at the top, found array");
  EXPECT_EQ(message_of([] { static_cast<void>(ConfigReader::from_text(std::string(1000, '['), "f.json")); }),
            "f.json: nested deeper than 64 levels");
  EXPECT_EQ(message_of([] { static_cast<void>(ConfigReader::from_file("/does/not/exist.json")); }),
            "/does/not/exist.json: cannot be read: expected an existing, readable file");
  EXPECT_EQ(message_of([] { static_cast<void>(ConfigReader::from_file("/")); }), "/: is a directory: expected a file");
}

TEST(ConfigReader, OverridesAreNamedInMessages) {
  ConfigReader reader = ConfigReader::from_text(R"({"systolic": {"rows": 4, "dataflow": "weight"}})", "edge.json");
  reader.override_value("systolic.rows", "999", "--set systolic.rows=999");
  ConfigReader part = reader.object("systolic");
  EXPECT_EQ(part.uint("rows", {4, 256}), 4) << "the safe value";
  static_cast<void>(part.choice("dataflow", {"weight"}));
  part.finish();
  EXPECT_EQ(message_of([&] { reader.finish(); }), "--set systolic.rows=999: expected a value in [4, 256]");
  EXPECT_EQ(message_of([&] { reader.override_value("systolic.rows", "9 9", "--set x"); }).substr(0, 34),
            "--set x: not valid JSON at byte 3:");
}

TEST(ConfigReader, ArraysAreCheckedElementByElement) {
  ConfigReader reader =
      ConfigReader::from_text(R"({"i": [1, 9, 2.5], "t": ["a", 1], "n": [1.5, 2, "x"], "o": [{"k": 1}, 3]})", "f.json");
  EXPECT_EQ(reader.integers("i", {0, 5}), (std::vector<std::int64_t>{1, 0, 0}));
  EXPECT_EQ(reader.texts("t"), std::vector<std::string>{"a"});
  EXPECT_EQ(reader.numbers("n"), (std::vector<double>{1.5, 2.0}));
  std::vector<ConfigReader> objects = reader.objects("o");
  ASSERT_EQ(objects.size(), 1U);
  objects[0].finish();
  EXPECT_EQ(message_of([&] { reader.finish(); }),
            "f.json: /i/1 = 9: expected a value in [0, 5]\n"
            "f.json: /i/2 = 2.5: expected a value in [0, 5], written without fraction or exponent\n"
            "f.json: /t/1 = 1: expected a text in quotes\n"
            "f.json: /n/2 = \"x\": expected a number\n"
            "f.json: /o/1 = 3: expected a JSON object\n"
            "f.json: /o/0/k = 1: unknown key; known here: ");
}

}  // namespace
}  // namespace tessera
