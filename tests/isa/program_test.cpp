// Compiled programs on disk: what is written reads back, and no damage goes unnoticed.
#include "isa/program/program.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <gtest/gtest.h>

#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "hw/common/random.hpp"
#include "isa/program/container.hpp"
#include "tests/isa/sample_program.hpp"

namespace tessera::isa {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}
void write_file(const fs::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

void put(Bytes& bytes, std::size_t at, std::uint64_t value, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) {
    bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}
/// Makes size and checksums right again after a change, so that the checks behind them are reached.
void reseal(Bytes& bytes) {
  put(bytes, 16, bytes.size(), 8);
  Fnv64 payload;
  payload.add(bytes.data() + kContainerHeaderBytes, bytes.size() - kContainerHeaderBytes);
  put(bytes, 80, payload.value(), 8);
  Fnv64 header;
  header.add(bytes.data(), 88);
  put(bytes, 88, header.value(), 8);
}

class ProgramFiles : public testing::Test {
 protected:
  ProgramFiles()
      : dir_(fs::path(testing::TempDir()) /
             ("program_test_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(dir_);
    write_program(sample_program(), dir_);
  }
  ~ProgramFiles() override { fs::remove_all(dir_); }
  [[nodiscard]] std::string read_message(Weights weights = Weights::required) const {
    return message_of([&] { static_cast<void>(read_program(dir_, weights)); });
  }
  [[nodiscard]] std::string path(const char* name) const { return (dir_ / name).string(); }
  fs::path dir_;
};

TEST_F(ProgramFiles, WhatIsWrittenReadsBack) {
  const Program wrote = sample_program();
  const Program read = read_program(dir_, Weights::required);
  EXPECT_EQ(to_container(read), to_container(wrote)) << "the container holds every field of program.bin";
  EXPECT_EQ(read.weights, wrote.weights);
  EXPECT_EQ(read.inputs[0].scale, wrote.inputs[0].scale);
  EXPECT_EQ(read.inputs[0].model_type, "uint8");
  EXPECT_EQ(read.outputs[0].model_type, "float32");
  EXPECT_EQ(read.outputs[0].shape, wrote.outputs[0].shape);
  EXPECT_EQ(read.host_steps[0].attributes, wrote.host_steps[0].attributes);
  EXPECT_EQ(read.sections[0].streams[1].words, wrote.sections[0].streams[1].words);
  EXPECT_EQ(read.chip_json, wrote.chip_json);
  EXPECT_EQ(read.chip_name, "tiny");
  EXPECT_EQ(read.model_name, wrote.model_name);
  EXPECT_EQ(read.model_sha256, wrote.model_sha256);
  EXPECT_EQ(read.schedule, wrote.schedule);
  EXPECT_EQ(read.seed, wrote.seed);
  EXPECT_EQ(read.batch, wrote.batch);
  EXPECT_EQ(read.macs_useful, wrote.macs_useful);
  EXPECT_EQ(read.macs_host, wrote.macs_host);
  EXPECT_EQ(read.compulsory_read, wrote.compulsory_read);
  EXPECT_EQ(read.compulsory_write, wrote.compulsory_write);
  EXPECT_EQ(read.sram_peak_bytes, wrote.sram_peak_bytes);
  EXPECT_EQ(read.predicted.cycles, wrote.predicted.cycles);
  EXPECT_EQ(read.predicted.dram_bytes, wrote.predicted.dram_bytes);
  ASSERT_EQ(read.layers.size(), 2U);
  EXPECT_EQ(read.layers[0].name, "conv \"a\"");
  EXPECT_EQ(read.layers[0].fused, wrote.layers[0].fused);
  EXPECT_EQ(read.layers[1].group, 1);
  ASSERT_EQ(read.groups.size(), 2U);
  EXPECT_EQ(read.groups[1].predicted_end, 90);
  const QueueStream& load = read.sections[0].streams[0];
  ASSERT_EQ(load.info.size(), 2U);
  EXPECT_EQ(load.info[0].useful_bytes, 101);
  EXPECT_EQ(load.info[1].layer, 2);
  EXPECT_EQ(load.info[0].kind, Traffic::input);
  EXPECT_EQ(load.info[0].tile, "rows \"0..3\"");
}

TEST_F(ProgramFiles, TheSameProgramGivesTheSameBytes) {
  const Bytes bin = read_file(dir_ / "program.bin");
  const Bytes meta = read_file(dir_ / "meta.json");
  write_program(read_program(dir_, Weights::required), dir_);
  EXPECT_EQ(read_file(dir_ / "program.bin"), bin);
  EXPECT_EQ(read_file(dir_ / "meta.json"), meta);
  for (const auto& entry : fs::directory_iterator(dir_)) {
    EXPECT_NE(entry.path().extension(), ".part");
  }
}

TEST_F(ProgramFiles, EveryFlippedHeaderByteIsNoticed) {
  const Bytes good = read_file(dir_ / "program.bin");
  for (std::size_t at = 0; at < kContainerHeaderBytes; ++at) {
    Bytes bad = good;
    bad[at] ^= 0x41;
    write_file(dir_ / "program.bin", bad);
    const std::string message = read_message();
    EXPECT_EQ(message.substr(0, path("program.bin").size() + 9), path("program.bin") + ": offset ") << "byte " << at;
  }
}

TEST_F(ProgramFiles, EveryFlippedPayloadByteIsNoticed) {
  const Bytes good = read_file(dir_ / "program.bin");
  for (std::size_t at = kContainerHeaderBytes; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x80;
    WeightsFile weights;
    EXPECT_NE(message_of([&] { static_cast<void>(from_container(bad, "p", weights)); }).find("the file is damaged"),
              std::string::npos);
  }
}

TEST_F(ProgramFiles, EveryTruncationIsNoticed) {
  const Bytes good = read_file(dir_ / "program.bin");
  ASSERT_GT(good.size(), 640U);
  for (std::size_t length = 0; length < good.size(); length += 64) {
    write_file(dir_ / "program.bin", Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
    const std::string message = read_message();
    EXPECT_NE(message.find("cut off"), std::string::npos) << length << ": " << message;
    EXPECT_EQ(message.find(path("program.bin") + ": offset "), 0U) << message;
  }
}

// With right checksums around it, damage must be caught by the check of the very length or value.
TEST_F(ProgramFiles, ResealedDamageNeverCrashesAndTruncationIsAlwaysNoticed) {
  const Bytes good = read_file(dir_ / "program.bin");
  for (std::size_t length = kContainerHeaderBytes; length < good.size(); ++length) {
    Bytes bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    reseal(bad);
    WeightsFile weights;
    EXPECT_NE(message_of([&] { static_cast<void>(from_container(bad, "p", weights)); }), "no error") << length;
  }
  Random random(11);
  for (int round = 0; round < 20000; ++round) {
    Bytes bad = good;
    for (std::uint64_t k = random.below(3) + 1; k > 0; --k) {
      bad[8 + random.below(bad.size() - 8)] = static_cast<std::uint8_t>(random.next());
    }
    reseal(bad);
    WeightsFile weights;
    static_cast<void>(message_of([&] { static_cast<void>(from_container(bad, "p", weights)); }));
  }
}

TEST_F(ProgramFiles, LengthsAreCheckedBeforeUse) {
  const auto with = [&](std::size_t at, std::uint64_t value, std::size_t width) {
    Bytes bad = read_file(dir_ / "program.bin");
    put(bad, at, value, width);
    reseal(bad);
    WeightsFile weights;
    return message_of([&] { static_cast<void>(from_container(bad, "p.bin", weights)); });
  };
  EXPECT_EQ(with(kContainerHeaderBytes, 0xFFFFFFFF, 4),
            "p.bin: offset 96: length of a buffer's name = 4294967295: expected at most 65536");
  EXPECT_EQ(with(kContainerHeaderBytes + 11, 9, 1), "p.bin: offset 107: a buffer's kind = 9: expected a value below 5");
  EXPECT_EQ(with(12, 100, 4), "p.bin: offset 12: header of 100 bytes: expected 96");
  EXPECT_NE(with(76, 5, 4).find("found 4 bytes, expected 5 bytes of DSP code at the end"), std::string::npos);
  EXPECT_EQ(with(8, 1, 4), "p.bin: offset 8: container version 1: expected 2; compile the model again");
  EXPECT_EQ(with(0, 0, 1), "p.bin: offset 0: does not begin with TESSERA1: this is no Tessera program");
}

TEST_F(ProgramFiles, WeightsThatAreMissingOrDamagedAreNamed) {
  const Bytes good = read_file(dir_ / "weights.bin");
  fs::remove(dir_ / "weights.bin");
  EXPECT_EQ(
      read_message(),
      path("weights.bin") + ": is missing, expected 164 bytes of weights; compile again, or run with --timing-only");
  EXPECT_EQ(read_message(Weights::optional), "no error");
  Bytes bad = good;
  bad[100] ^= 1;
  write_file(dir_ / "weights.bin", bad);
  EXPECT_NE(read_message().find(path("weights.bin") + ": checksum is 0x"), std::string::npos);
  bad.pop_back();
  write_file(dir_ / "weights.bin", bad);
  EXPECT_EQ(read_message(),
            path("weights.bin") + ": found 163 bytes, expected 164: the file is cut off or of another program");
}

TEST_F(ProgramFiles, TimingOnlyHasNoWeights) {
  Program program = sample_program();
  program.weights.clear();
  write_program(program, dir_);
  EXPECT_FALSE(fs::exists(dir_ / "weights.bin")) << "that of the program before must not stay";
  EXPECT_EQ(read_message(Weights::optional), "no error");
  EXPECT_EQ(read_message(), path("weights.bin") +
                                ": the program was compiled with --timing-only and has no weights; run it with "
                                "--timing-only, or compile it without");
}

TEST_F(ProgramFiles, MetaOfAnotherProgramIsRefused) {
  Program other = sample_program();
  other.arch_hash ^= 1;
  const Bytes meta = read_file(dir_ / "meta.json");
  write_program(other, dir_);
  write_file(dir_ / "meta.json", meta);
  EXPECT_NE(read_message().find("the two files are of different programs; compile again"), std::string::npos);
  fs::remove(dir_ / "meta.json");
  EXPECT_EQ(read_message(), path("meta.json") + ": cannot be read: expected an existing, readable file");
  fs::remove(dir_ / "program.bin");
  EXPECT_EQ(read_message(),
            path("program.bin") + ": cannot be read; expected a directory that `tessera compile` wrote");
}

TEST_F(ProgramFiles, ALayerOfNoGroupIsRefused) {
  const Bytes bytes = read_file(dir_ / "meta.json");
  std::string meta(bytes.begin(), bytes.end());
  const std::size_t at = meta.find("\"group\": 0");
  ASSERT_NE(at, std::string::npos);
  meta.replace(at, 10, "\"group\": 77");
  write_file(dir_ / "meta.json", Bytes(meta.begin(), meta.end()));
  EXPECT_NE(read_message().find("meta.json: /layers/0/group = 77: /groups has"), std::string::npos) << read_message();
}

TEST_F(ProgramFiles, AFailedWriteLeavesTheOldFilesAlone) {
  const Bytes bin = read_file(dir_ / "program.bin");
  fs::create_directory(dir_ / "meta.json.part");  // the write of meta.json fails
  Program other = sample_program();
  other.arch_hash ^= 1;
  EXPECT_NE(message_of([&] { write_program(other, dir_); }).find("meta.json: cannot be written"), std::string::npos);
  EXPECT_EQ(read_file(dir_ / "program.bin"), bin);
  EXPECT_FALSE(fs::exists(dir_ / "program.bin.part"));
  EXPECT_NE(message_of([&] { write_program(other, dir_ / "program.bin"); }).find("cannot be made a directory"),
            std::string::npos);
}

TEST(Traffic, NamesAreThoseOfTheReport) {
  EXPECT_STREQ(traffic_name(Traffic::weights), "weights");
  EXPECT_STREQ(traffic_name(Traffic::padding), "padding");
}

}  // namespace
}  // namespace tessera::isa
