// Stands in for libFuzzer's main: mutates the target's seeds with a fixed random seed. Usage: TARGET [ROUNDS [SEED]].
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "hw/common/random.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using tessera::Random;
using tessera::fuzz::Input;

void change_once(Input& input, const std::vector<Input>& seeds, Random& random) {
  const std::size_t at = input.empty() ? 0 : random.below(input.size());
  const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(8)) {
    case 0:  // a byte
      if (!input.empty()) {
        input[at] = static_cast<std::uint8_t>(random.next());
      }
      break;
    case 1:  // a bit
      if (!input.empty()) {
        input[at] ^= static_cast<std::uint8_t>(1U << random.below(8));
      }
      break;
    case 2:  // a number's edge
      if (!input.empty()) {
        constexpr std::uint8_t kEdges[] = {0x00, 0x01, 0x7F, 0x80, 0xFF, '"', '{', '}', '[', ',', '-', '9'};
        input[at] = kEdges[random.below(sizeof kEdges)];
      }
      break;
    case 3:  // cut off
      input.resize(at);
      break;
    case 4:  // leave out
      input.erase(here,
                  here + static_cast<std::ptrdiff_t>(random.below(std::min<std::size_t>(input.size() - at, 16) + 1)));
      break;
    case 5: {  // repeat
      const Input piece(here, here + static_cast<std::ptrdiff_t>(std::min<std::size_t>(input.size() - at, 40)));
      input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
      break;
    }
    case 6: {  // go on with another seed
      const Input& other = seeds[random.below(seeds.size())];
      const std::size_t from = other.empty() ? 0 : random.below(other.size());
      input.resize(at);
      input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      break;
    }
    default:  // put in
      input.insert(here, static_cast<std::uint8_t>(random.next()));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned long rounds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1;
  const std::vector<Input> seeds = tessera::fuzz::seeds();
  Random random(seed);
  for (const Input& input : seeds) {
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  for (unsigned long round = 0; round < rounds; ++round) {
    Input input = seeds[random.below(seeds.size())];
    for (std::uint64_t changes = random.below(4) + 1; changes > 0; --changes) {
      change_once(input, seeds, random);
    }
    try {
      LLVMFuzzerTestOneInput(input.data(), input.size());
    } catch (const std::exception& e) {
      std::cerr << "round " << round << " of seed " << seed << ": " << e.what() << "\n";
      std::cerr.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
      return 1;
    }
  }
  std::cout << rounds << " inputs, seed " << seed << "\n";
  return 0;
}
