// Text and back: same bytes; every mistake is named with its line and what is legal.
#include <functional>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/random.hpp"
#include "isa/asm/assembler.hpp"
#include "isa/asm/statement.hpp"
#include "isa/bits.hpp"
#include "isa/program/container.hpp"
#include "tests/isa/sample_program.hpp"

namespace tessera::isa {
namespace {

std::string error_of(const std::string& text, const std::string& chip = "tiny") {
  try {
    static_cast<void>(assemble_text(text, "f.s", load_chip(chip)));
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}
std::string queue_error(const std::string& line, const std::string& queue = "conv0") {
  return error_of(".section s\n.queue 0." + queue + "\n" + line + "\n");
}

TEST(Assembly, RoundTripIsByteIdentical) {
  Program wrote = sample_program();
  wrote.sections[0].streams[0].words.push_back(Word{0xEE});                             // no instruction
  wrote.sections[0].streams[0].words.push_back(wrote.sections[0].streams[1].words[0]);  // wrong queue, cut off
  wrote.buffers.push_back(wrote.buffers[2]);                                            // the same name twice
  wrote.inputs.push_back(wrote.inputs[0]);
  wrote.inputs[1].shape.clear();
  const std::string text = disassemble(wrote);
  const Program read = assemble_text(text, "sample.s", load_chip("tiny"));
  EXPECT_EQ(to_container(read), to_container(wrote)) << text;
  EXPECT_EQ(read.weights, wrote.weights);
  EXPECT_EQ(disassemble(assemble_text(disassemble(read), "again.s", load_chip("tiny"))), disassemble(read));
  EXPECT_NE(text.find("conv mode=fold in.base=0x1234 in_zp=-128 wait=5:1 signal=70:2 layer=2  # rows \"0..3\"\n"),
            std::string::npos)
      << text;
}

TEST(Assembly, WithoutDataItIsATimingOnlyProgram) {
  const Program wrote = sample_program();
  const Program read = assemble_text(disassemble(wrote, DataText::omitted), "s.s", load_chip("tiny"));
  EXPECT_TRUE(read.weights.empty());
  Program bare = wrote;
  bare.weights.clear();
  EXPECT_EQ(to_container(read), to_container(bare));
}

TEST(Assembly, AnImageOfZerosIsStillAnImage) {
  Program wrote = sample_program();
  wrote.weights.assign(wrote.weights.size(), 0);
  EXPECT_EQ(assemble_text(disassemble(wrote), "s.s", load_chip("tiny")).weights, wrote.weights);
}

TEST(Assembly, EveryInstructionSurvivesWithRandomFields) {
  const ChipConfig chip = load_chip("tiny");
  Random random(99);
  for (const InstructionDescription* about : all_instructions()) {
    for (int round = 0; round < 40; ++round) {
      std::vector<Word> words(about->words, Word{});
      for (std::size_t i = 0; i < about->field_count; ++i) {
        const FieldInfo& f = about->fields[i];
        std::int64_t value =
            random.chance(1, 2) ? std::clamp<std::int64_t>(0, f.min, f.max) : random.between(f.min, f.max);
        if (f.choices != nullptr) {
          value = f.choices->values[random.below(f.choices->count)].value;
        }
        set_bits(words[0].data(), f.lsb, f.width, static_cast<std::uint64_t>(value));
      }
      set_bits(words[0].data(), 0, 8, static_cast<std::uint64_t>(about->opcode));
      set_bits(words[0].data(), 8, 2, about->words - 1U);
      Program p;
      unsigned queue = 0;
      while (((about->queues >> queue) & 1U) == 0) {
        ++queue;
      }
      Section section;
      section.name = "s";
      QueueStream stream;
      stream.queue = static_cast<std::uint8_t>(queue);
      stream.words = words;
      section.streams = {stream};
      p.sections = {section};
      p.arch_hash = arch_hash(chip);
      const std::string text = disassemble(p);
      ASSERT_EQ(text.find(".word"), std::string::npos) << text;
      ASSERT_EQ(assemble_text(text, "r.s", chip).sections[0].streams[0].words, words) << text;
    }
  }
}

TEST(Assembly, ASmallProgramByHand) {
  const Program p = assemble_text(R"(# copies a line
.buffer in kind=input size=0x40
.buffer out kind=output size=64
.input in shape=1x64 scale=0.5
.output out shape=1x64
.section only
.queue 0.load
  load base_register=1 row_bytes=64 group_bytes=64 signal=1:1 layer=2
.queue 0.store
  store base_register=2 row_bytes=64 group_bytes=64 dims[0].count=1 wait=1:1   # after the load
.queue 0.load
  nop cycles=5
)",
                                  "copy.s", load_chip("tiny"));
  EXPECT_EQ(p.arch_hash, arch_hash(load_chip("tiny")));
  ASSERT_EQ(p.sections.size(), 1U);
  ASSERT_EQ(p.sections[0].streams.size(), 2U);
  EXPECT_EQ(p.sections[0].streams[0].words.size(), 3U) << "the load queue goes on where it was";
  const DecodeResult load = decode(p.sections[0].streams[0].words.data(), 3);
  ASSERT_TRUE(load.ok());
  const auto& body = std::get<Load>(load.instruction.body);
  EXPECT_EQ(body.row_bytes, 64U);
  EXPECT_EQ(body.dims[1].count, 1) << "counts default to 1";
  EXPECT_EQ(load.instruction.header.layer, 2);
  EXPECT_EQ(load.instruction.header.signals[0].amount, 1);
  ASSERT_EQ(p.sections[0].streams[0].info.size(), 2U);
  EXPECT_EQ(p.sections[0].streams[0].info[0].kind, Traffic::input);
  EXPECT_EQ(p.sections[0].streams[0].info[0].useful_bytes, 64);
  EXPECT_EQ(p.sections[0].streams[1].info[0].kind, Traffic::output);
  EXPECT_EQ(p.layers.size(), 3U);
  EXPECT_EQ(p.compulsory_read, 64);
  EXPECT_EQ(p.inputs[0].scale, 0.5);
}

TEST(Assembly, MistakesInAnInstruction) {
  EXPECT_EQ(queue_error("conv kh=256"), "f.s:3: conv: kh = 256: expected a value in [1, 255]");
  EXPECT_EQ(queue_error("conv kh=x"), "f.s:3: conv: kh = x: expected a value in [1, 255]");
  EXPECT_EQ(queue_error("conv in_zp=-257"), "f.s:3: conv: in_zp = -257: expected a value in [-256, 255]");
  EXPECT_EQ(queue_error("conv mode=sparse"), "f.s:3: conv: mode = sparse: expected one of dense, depthwise, fold");
  EXPECT_EQ(queue_error("conv kh=1 kh=2"), "f.s:3: conv: kh is given twice: expected once");
  EXPECT_EQ(queue_error("conv opcode=1").substr(0, 53), "f.s:3: conv: has no field 'opcode': expected one of m");
  EXPECT_EQ(queue_error("nop cycels=3"),
            "f.s:3: nop: has no field 'cycels': expected one of cycles, layer, overlap, wait, signal");
  EXPECT_EQ(queue_error("nop 3"),
            "f.s:3: nop: found '3': expected FIELD=VALUE, wait=SEMAPHORE:COUNT or signal=SEMAPHORE:AMOUNT");
  EXPECT_EQ(queue_error("nop wait=3"), "f.s:3: nop: wait = 3: expected SEMAPHORE:count, e.g. wait=3:1");
  EXPECT_EQ(queue_error("nop signal=128:1"), "f.s:3: nop: signals[0].semaphore = 128: expected a value in [0, 127]");
  EXPECT_EQ(queue_error("nop wait=0:1 wait=1:1 wait=2:1 wait=3:1 wait=4:1"),
            "f.s:3: nop: more than 4 waits: expected at most 4");
  EXPECT_EQ(queue_error("jump"),
            "f.s:3: unknown instruction 'jump': expected one of nop, load, store, conv, gemm, edp, reorder, dsp");
  EXPECT_EQ(queue_error("load row_bytes=1"), "f.s:3: queue conv0 does not take load: expected nop, conv");
}

TEST(Assembly, MistakesInDirectives) {
  EXPECT_EQ(error_of("nop"), "f.s:1: nop: expected after a .queue");
  EXPECT_EQ(error_of(".queue 0.load"), "f.s:1: .queue: expected after a .section");
  EXPECT_EQ(error_of(".section s\n.queue 1.load"),
            "f.s:2: .queue 1.load: expected CORE.QUEUE with a core below 1 and one of load, store, conv0, gemm, edp, "
            "reorder, dsp");
  EXPECT_EQ(error_of(".section s\n.queue 0.conv1").substr(0, 20), "f.s:2: .queue 0.conv");
  EXPECT_EQ(error_of(".section s\n.queue 1.conv1", "j5").substr(0, 20), "f.s:2: .queue 1.conv");
  EXPECT_EQ(error_of(".section s\n.queue 0.conv1", "a1000"), "no error");
  EXPECT_EQ(error_of(".section s\n.queue 1.conv0", "j5"), "no error");
  EXPECT_EQ(error_of(".text"),
            "f.s:1: unknown directive '.text': expected one of .attribute, .buffer, .chip, .data, .dsp, .host, "
            ".host_input, .host_output, .input, .output, .queue, .section, .word");
  EXPECT_EQ(error_of(".buffer b kind=heap"),
            "f.s:1: .buffer: kind = heap: expected weights, input, output, scratch or instructions");
  EXPECT_EQ(
      error_of(".buffer b size=1 algin=4"),
      "f.s:1: .buffer: does not know 'algin': expected .buffer NAME kind=KIND offset=BYTES size=BYTES align=BYTES");
  EXPECT_EQ(error_of(".buffer b kind=input size=4\n.data b 0 00"),
            "f.s:2: .data: buffer b is of kind input: expected weights, the only ones with contents");
  EXPECT_EQ(error_of(".buffer b kind=weights size=4\n.data b 2 000000"),
            "f.s:2: .data: 3 bytes at offset 2: expected them inside the 4 bytes of b");
  EXPECT_EQ(error_of(".buffer b kind=weights size=4\n.data b 2 0000"), "no error");
  EXPECT_EQ(error_of(".input x"), "f.s:1: .input: no buffer 'x' above: expected one of (none yet)");
  EXPECT_EQ(error_of(".section \"s"),
            "f.s:1: a text in quotes does not end, or has an escape other than \\\" \\\\ \\n \\xHH");
  EXPECT_EQ(error_of(".section s host=0").substr(0, 28), "f.s:1: .section: host = 0: e");
  EXPECT_EQ(error_of(".chip a1000 arch=0x12").substr(0, 48), "f.s:1: .chip: arch = 0x0000000000000012: chip ti");
  EXPECT_EQ(queue_error(".word 00"), "f.s:3: .word: 1 bytes: expected 64");
}

TEST(Assembly, AllMistakesComeAtOnce) {
  EXPECT_EQ(error_of(".section s\n.queue 0.edp\nnop cycles=0\nfoo\n.bar"),
            "f.s:3: nop: cycles = 0: expected a value in [1, 4294967295]\n"
            "f.s:4: unknown instruction 'foo': expected one of nop, load, store, conv, gemm, edp, reorder, dsp\n"
            "f.s:5: unknown directive '.bar': expected one of .attribute, .buffer, .chip, .data, .dsp, .host, "
            ".host_input, .host_output, .input, .output, .queue, .section, .word");
}

TEST(Assembly, TwoQueuesOnOneSemaphoreAreRefused) {
  EXPECT_EQ(
      error_of(".section s\n.queue 0.edp\nnop wait=1:1\n.queue 0.load\nnop wait=1:1\nnop signal=1:2"),
      "f.s: section s: semaphore 1 of core 0 has two waiting queues, 0.edp instruction 0 and 0.load instruction 0: "
      "expected exactly one");
  EXPECT_EQ(error_of(".section s\n.queue 0.edp\nnop wait=1:1\n"), "no error") << "stuck programs can be written";
}

TEST(Assembly, ARingIsNotOverfilled) {
  ChipConfig chip = load_chip("tiny", {"cp.ring_words=16"});
  std::string text = ".section s\n.queue 0.edp\n";
  for (int i = 0; i < 16; ++i) {
    text += "nop\n";
  }
  EXPECT_EQ(assemble_text(text, "f.s", chip).sections[0].streams[0].words.size(), 16U);
  try {
    static_cast<void>(assemble_text(text + "nop\n", "f.s", chip));
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "f.s:19: queue edp has more than 16 words in this section: expected at most cp.ring_words");
  }
}

TEST(Assembly, QuotedTextsSurvive) {
  for (const std::string text : {"", "plain", "a b", "\"", "\\", "a#b", "k=v", "\n\x01\x7f", "\xc3\xa9", ":1", "@"}) {
    const assembly::Statement s =
        assembly::split(".x " + assembly::quote_text(text) + " k=" + assembly::quote_text(text));
    ASSERT_EQ(s.error, "");
    ASSERT_EQ(s.arguments.size(), 2U);
    EXPECT_EQ(s.arguments[0].value, text);
    EXPECT_EQ(s.arguments[0].key, "");
    EXPECT_EQ(s.arguments[1].value, text);
    EXPECT_EQ(s.arguments[1].key, "k");
  }
}

}  // namespace
}  // namespace tessera::isa
