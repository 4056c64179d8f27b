// The wire format: decode(encode(x)) == x for every instruction at edges and random values, and every illegal word is
// refused with its reason.
#include <algorithm>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "isa/bits.hpp"
#include "isa/isa.hpp"

namespace tessera::isa {
namespace {

std::int64_t default_of(const FieldInfo& field) { return std::clamp<std::int64_t>(0, field.min, field.max); }

std::vector<Word> blank(const InstructionDescription& about) {
  std::vector<Word> words(about.words, Word{});
  for (std::size_t i = 0; i < about.field_count; ++i) {
    const FieldInfo& f = about.fields[i];
    set_bits(words[0].data(), f.lsb, f.width, static_cast<std::uint64_t>(default_of(f)));
  }
  set_bits(words[0].data(), 0, 8, static_cast<std::uint64_t>(about.opcode));
  set_bits(words[0].data(), 8, 2, about.words - 1U);
  return words;
}

bool is_fixed(const FieldInfo& field) {
  return std::string(field.path) == "opcode" || std::string(field.path) == "words";
}

std::int64_t random_value(const FieldInfo& field, Random& random) {
  if (field.choices != nullptr) {
    return field.choices->values[random.below(field.choices->count)].value;
  }
  switch (random.below(4)) {
    case 0:
      return field.min;
    case 1:
      return field.max;
    default:
      return random.between(field.min, field.max);
  }
}

class Codec : public testing::TestWithParam<const InstructionDescription*> {};

TEST_P(Codec, EveryFieldAloneSurvivesAtItsEdges) {
  const InstructionDescription& about = *GetParam();
  for (std::size_t i = 0; i < about.field_count; ++i) {
    const FieldInfo& field = about.fields[i];
    if (is_fixed(field)) {
      continue;
    }
    std::vector<std::int64_t> values{field.min, field.max, default_of(field)};
    if (field.choices != nullptr) {
      values.clear();
      for (std::size_t k = 0; k < field.choices->count; ++k) {
        values.push_back(field.choices->values[k].value);
      }
    }
    for (const std::int64_t value : values) {
      std::vector<Word> words = blank(about);
      set_bits(words[0].data(), field.lsb, field.width, static_cast<std::uint64_t>(value));
      const DecodeResult first = decode(words.data(), words.size());
      ASSERT_TRUE(first.ok()) << field.path << " = " << value << ": " << first.text;
      EXPECT_EQ(first.words, about.words);
      EXPECT_EQ(encode(first.instruction), words) << field.path << " = " << value;
    }
  }
}

TEST_P(Codec, RandomWordsAndStructuresSurvive) {
  const InstructionDescription& about = *GetParam();
  Random random(20240501 + static_cast<std::uint64_t>(about.opcode));
  for (int round = 0; round < 300; ++round) {
    std::vector<Word> words = blank(about);
    for (std::size_t i = 0; i < about.field_count; ++i) {
      if (!is_fixed(about.fields[i])) {
        set_bits(words[0].data(), about.fields[i].lsb, about.fields[i].width,
                 static_cast<std::uint64_t>(random_value(about.fields[i], random)));
      }
    }
    const DecodeResult first = decode(words.data(), words.size());
    ASSERT_TRUE(first.ok()) << "round " << round << ": " << first.text;
    ASSERT_EQ(encode(first.instruction), words) << "round " << round;
    const DecodeResult second = decode(words.data(), words.size());
    ASSERT_EQ(second.instruction, first.instruction) << "round " << round;
    ASSERT_EQ(first.instruction.header.opcode, about.opcode);
  }
}

TEST_P(Codec, EveryReservedBitIsRefused) {
  const InstructionDescription& about = *GetParam();
  std::size_t reserved = 0;
  for (std::size_t bit = 0; bit < about.words * kWordBytes * 8; ++bit) {
    if (((about.used[bit / 8] >> (bit % 8)) & 1) != 0) {
      continue;
    }
    ++reserved;
    std::vector<Word> words = blank(about);
    set_bits(words[0].data(), bit, 1, 1);
    const DecodeResult result = decode(words.data(), words.size());
    EXPECT_EQ(result.cause, FaultCause::illegal_word);
    EXPECT_EQ(result.words, 0U);
    EXPECT_EQ(result.text, std::string(about.name) + ": reserved bit " + std::to_string(bit) + " is set: expected 0");
  }
  EXPECT_GT(reserved, 0U);
}

TEST_P(Codec, ValuesOutOfRangeAreRefused) {
  const InstructionDescription& about = *GetParam();
  for (std::size_t i = 0; i < about.field_count; ++i) {
    const FieldInfo& field = about.fields[i];
    if (is_fixed(field)) {
      continue;
    }
    std::vector<std::int64_t> wrong;
    if (field.choices != nullptr) {
      for (std::int64_t v = 0; v < std::int64_t{1} << field.width; ++v) {
        const auto* end = field.choices->values + field.choices->count;
        if (std::none_of(field.choices->values, end, [v](const EnumValueInfo& e) { return e.value == v; })) {
          wrong.push_back(v);
        }
      }
    } else {
      if (fits(field.min - 1, field.width, field.is_signed)) {
        wrong.push_back(field.min - 1);
      }
      if (fits(field.max + 1, field.width, field.is_signed)) {
        wrong.push_back(field.max + 1);
      }
    }
    for (const std::int64_t value : wrong) {
      std::vector<Word> words = blank(about);
      set_bits(words[0].data(), field.lsb, field.width, static_cast<std::uint64_t>(value));
      const DecodeResult result = decode(words.data(), words.size());
      EXPECT_EQ(result.cause, FaultCause::illegal_word) << field.path << " = " << value;
      EXPECT_NE(result.text.find(std::string(field.path) + " = " + std::to_string(value) + ": expected"),
                std::string::npos)
          << result.text;
    }
  }
}

TEST_P(Codec, AWrongLengthIsRefused) {
  const InstructionDescription& about = *GetParam();
  std::vector<Word> words = blank(about);
  for (std::size_t have = 0; have < about.words; ++have) {
    EXPECT_FALSE(decode(words.data(), have).ok());
  }
  words.resize(kMaxWords);
  for (unsigned length = 1; length <= kMaxWords; ++length) {
    set_bits(words[0].data(), 8, 2, length - 1);
    EXPECT_EQ(decode(words.data(), words.size()).ok(), length == about.words);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Codec, testing::ValuesIn(all_instructions()),
                         [](const auto& instance) { return std::string(instance.param->name); });

TEST(CodecByHand, BitsLieWhereTheReferenceSays) {
  Load load;
  load.base_register = 5;
  load.dram_offset = 0x123456789A;
  load.dims[2].dram_stride = -1;
  Instruction instruction;
  instruction.body = load;
  instruction.header.layer = 0xABCD;
  instruction.header.waits[1] = {0x7F, 0xFF};
  const std::vector<Word> words = encode(instruction);
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0][0], 2);     // opcode
  EXPECT_EQ(words[0][1], 1);     // two words
  EXPECT_EQ(words[0][2], 0xCD);  // layer, bits 16..31
  EXPECT_EQ(words[0][3], 0xAB);
  EXPECT_EQ(words[0][6], 0xFF);  // waits[1], bits 48..62; bit 63 is reserved
  EXPECT_EQ(words[0][7], 0x7F);
  EXPECT_EQ(words[0][20], 5);     // base register, bit 160
  EXPECT_EQ(words[0][22], 0x9A);  // offset, bit 176, little-endian
  EXPECT_EQ(words[0][26], 0x12);
  // dims[2].dram_stride: bit 352 + 2 * 96 + 16 = 560, byte 6 of the second word, 40 bits of ones
  for (std::size_t i = 6; i < 11; ++i) {
    EXPECT_EQ(words[1][i], 0xFF);
  }
  EXPECT_EQ(words[1][11], 0);
}

TEST(CodecByHand, AFreshStructureIsLegal) {
  const auto check = [](const Body& body) {
    Instruction instruction;
    instruction.body = body;
    const std::vector<Word> words = encode(instruction);
    const DecodeResult result = decode(words.data(), words.size());
    EXPECT_TRUE(result.ok()) << result.text;
  };
  check(Nop{});
  check(Load{});
  check(Store{});
  check(Conv{});
  check(Gemm{});
  check(Edp{});
  check(Reorder{});
  check(Dsp{});
}

TEST(CodecByHand, EncodeRefusesWhatAFieldCannotHold) {
  Gemm gemm;
  gemm.shift = 64;  // 6 bits
  Instruction instruction;
  instruction.body = gemm;
  try {
    static_cast<void>(encode(instruction));
    FAIL() << "no error";
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("field body.shift = 64 does not fit 6 bits"), std::string::npos) << e.what();
  }
}

TEST(CodecByHand, UnknownOpcodesAreRefused) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    Word word{};
    word[0] = static_cast<std::uint8_t>(opcode);
    if (describe(word[0]) == nullptr) {
      const DecodeResult result = decode(&word, 1);
      EXPECT_EQ(result.text.substr(0, result.text.find(" (")),
                "opcode = " + std::to_string(opcode) + ": expected one of nop");
    }
  }
}

TEST(CodecByHand, QueuesAcceptTheirOpcodesOnly) {
  EXPECT_TRUE(queue_accepts(QueueId::conv3, Opcode::conv));
  EXPECT_TRUE(queue_accepts(QueueId::conv3, Opcode::nop));
  EXPECT_FALSE(queue_accepts(QueueId::conv3, Opcode::gemm));
  EXPECT_FALSE(queue_accepts(QueueId::load, Opcode::store));
}

TEST(CodecByHand, DisassemblyLeavesOutDefaults) {
  Instruction instruction;
  Conv conv;
  conv.mode = ConvMode::depthwise;
  conv.in.base = 0x100;
  conv.in_zp = -3;
  conv.groups = 32;
  instruction.body = conv;
  instruction.header.layer = 7;
  instruction.header.waits[0] = {3, 1};
  instruction.header.waits[2] = {9, 0};
  instruction.header.signals[0] = {64, 2};
  EXPECT_EQ(disassemble(instruction),
            "conv mode=depthwise in.base=0x100 groups=32 in_zp=-3 wait=3:1 signal=64:2 layer=7 waits[2].semaphore=9");
}

}  // namespace
}  // namespace tessera::isa
