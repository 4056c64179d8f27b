// Runs the vectors of test_vectors.py through the C++ codec. A line: 1 or 0 (legal), the words in hexadecimal, then
// PATH=VALUE of every field. Prints how many vectors were checked.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include "isa/asm/statement.hpp"
#include "isa/bits.hpp"
#include "isa/isa.hpp"

namespace {

using namespace tessera::isa;

bool check(const std::string& line) {
  std::istringstream in(line);
  int legal = 0;
  std::string hex;
  in >> legal >> hex;
  const auto bytes = assembly::parse_hex(hex);
  if (!bytes || bytes->empty() || bytes->size() % kWordBytes != 0) {
    std::cerr << "no words: " << line << "\n";
    return false;
  }
  std::vector<Word> words(bytes->size() / kWordBytes);
  std::copy(bytes->begin(), bytes->end(), words[0].data());
  const DecodeResult result = decode(words.data(), words.size());
  if (result.ok() != (legal != 0)) {
    std::cerr << "expected " << (legal != 0 ? "legal" : "illegal") << ", found: " << result.text << "\n"
              << line << "\n";
    return false;
  }
  if (!result.ok()) {
    return true;
  }
  if (encode(result.instruction) != words) {
    std::cerr << "encode gives other words: " << line << "\n";
    return false;
  }
  const InstructionDescription& about = *describe(result.instruction.header.opcode);
  for (std::string item; in >> item;) {
    const std::string path = item.substr(0, item.find('='));
    const std::string value = item.substr(item.find('=') + 1);
    const FieldInfo* end = about.fields + about.field_count;
    const FieldInfo* f = std::find_if(about.fields, end, [&](const FieldInfo& x) { return path == x.path; });
    if (f == end ||
        std::to_string(extend(get_bits(words[0].data(), f->lsb, f->width), f->width, f->is_signed)) != value) {
      std::cerr << "field " << item << ": the table disagrees: " << line << "\n";
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream in(argc > 1 ? argv[1] : "");
  std::size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    if (!check(line)) {
      return 1;
    }
  }
  std::cout << count << " vectors\n";
  return count == 0 ? 1 : 0;
}
