// The three files of a compiled program: program.bin, weights.bin, meta.json.
#include "isa/program/program.hpp"

#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "hw/common/config_reader.hpp"
#include "hw/common/error.hpp"
#include "hw/common/hash.hpp"
#include "isa/isa.hpp"
#include "isa/program/container.hpp"

namespace tessera::isa {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;
constexpr const char* kSchema = "tessera.program/1";

std::uint64_t checksum(const std::vector<std::uint8_t>& bytes) {
  Fnv64 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.value();
}

std::vector<std::uint8_t> read_bytes(const fs::path& path, const char* hint) {
  std::error_code failed;
  const std::uintmax_t size = fs::file_size(path, failed);
  std::ifstream in(path, std::ios::binary);
  if (failed || !in) {
    user_error(path.string(), ": cannot be read; ", hint);
  }
  std::vector<std::uint8_t> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size)) {
    user_error(path.string(), ": found ", in.gcount(), " bytes, expected ", size);
  }
  return bytes;
}

/// Files of one directory that appear together or not at all (each under its name + ".part" until commit()).
class Batch {
 public:
  explicit Batch(fs::path dir) : dir_(std::move(dir)) {
    std::error_code failed;
    fs::create_directories(dir_, failed);
    if (failed || !fs::is_directory(dir_)) {
      user_error(dir_.string(), ": cannot be made a directory: ", failed ? failed.message() : "a file of that name");
    }
  }
  ~Batch() {
    for (const std::string& name : written_) {
      std::error_code ignored;
      fs::remove(part(name), ignored);
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  void write(const std::string& name, const void* data, std::size_t size) {
    written_.push_back(name);
    std::ofstream out(part(name), std::ios::binary | std::ios::trunc);
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    out.close();
    if (!out) {
      user_error((dir_ / name).string(), ": cannot be written (", size, " bytes); is there room and permission?");
    }
  }
  void commit() {
    for (const std::string& name : written_) {
      std::error_code failed;
      fs::rename(part(name), dir_ / name, failed);
      if (failed) {
        user_error((dir_ / name).string(), ": cannot be replaced: ", failed.message());
      }
    }
    written_.clear();
  }

 private:
  [[nodiscard]] fs::path part(const std::string& name) const { return dir_ / (name + ".part"); }
  fs::path dir_;
  std::vector<std::string> written_;
};

Json tensor_json(const TensorRef& t, const Program& program) {
  return {{"name", t.name},
          {"buffer", program.buffers.at(t.buffer).name},
          {"offset", t.offset},
          {"shape", t.shape},
          {"type", t.dtype},
          {"scale", t.scale},
          {"zero_point", t.zero_point},
          {"layout", t.layout},
          {"model_type", t.model_type}};
}

/// One column a property keeps the file small and quick to read: entry i of each belongs to instruction i.
Json stream_json(const QueueStream& stream) {
  Json layer = Json::array();
  Json kind = Json::array();
  Json useful = Json::array();
  Json tile = Json::array();
  for (const InstructionInfo& info : stream.info) {
    layer.push_back(info.layer);
    kind.push_back(traffic_name(info.kind));
    useful.push_back(info.useful_bytes);
    tile.push_back(info.tile);
  }
  return {{"core", stream.core},
          {"queue", to_string(static_cast<QueueId>(stream.queue))},
          {"words", stream.words.size()},
          {"instructions", {{"layer", layer}, {"kind", kind}, {"useful_bytes", useful}, {"tile", tile}}}};
}

std::string meta_json(const Program& program, std::uint64_t program_checksum) {
  Json sections = Json::array();
  for (const Section& section : program.sections) {
    Json one = {{"name", section.name},
                {"streams", Json::array()},
                {"why", section.why},
                {"crossing_bytes", section.crossing_bytes}};
    if (section.host_step >= 0) {
      one["host_step"] = program.host_steps.at(static_cast<std::size_t>(section.host_step)).name;
    }
    for (const QueueStream& stream : section.streams) {
      one["streams"].push_back(stream_json(stream));
    }
    sections.push_back(std::move(one));
  }
  Json layers = Json::array();
  for (const LayerInfo& layer : program.layers) {
    layers.push_back({{"name", layer.name},
                      {"op", layer.op},
                      {"unit", layer.unit},
                      {"group", layer.group},
                      {"macs_useful", layer.macs_useful},
                      {"fused", layer.fused}});
  }
  Json groups = Json::array();
  for (const GroupInfo& group : program.groups) {
    groups.push_back({{"name", group.name}, {"predicted_end", group.predicted_end}});
  }
  Json inputs = Json::array();
  for (const TensorRef& t : program.inputs) {
    inputs.push_back(tensor_json(t, program));
  }
  Json outputs = Json::array();
  for (const TensorRef& t : program.outputs) {
    outputs.push_back(tensor_json(t, program));
  }
  const Json chip = program.chip_json.empty() ? Json::object() : Json::parse(program.chip_json, nullptr, false);
  TESSERA_CHECK(chip.is_object(), "Program::chip_json is no JSON object");
  const Json meta = {
      {"schema", kSchema},
      {"program_checksum", hash_text(program_checksum)},
      {"chip",
       {{"name", program.chip_name},
        {"arch_hash", hash_text(program.arch_hash)},
        {"timing_hash", hash_text(program.timing_hash)},
        {"resolved", chip}}},
      {"model", {{"name", program.model_name}, {"sha256", program.model_sha256}}},
      {"schedule", program.schedule},
      {"seed", program.seed},
      {"batch", program.batch},
      {"macs", {{"useful", program.macs_useful}, {"host", program.macs_host}}},
      {"compulsory", {{"read_bytes", program.compulsory_read}, {"write_bytes", program.compulsory_write}}},
      {"sram_peak_bytes", program.sram_peak_bytes},
      {"predicted", {{"cycles", program.predicted.cycles}, {"dram_bytes", program.predicted.dram_bytes}}},
      {"inputs", inputs},
      {"outputs", outputs},
      {"layers", layers},
      {"groups", groups},
      {"sections", sections}};
  return meta.dump(1) + "\n";
}

void read_stream(ConfigReader& reader, QueueStream& stream) {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < kTrafficKinds; ++i) {
      names.emplace_back(traffic_name(static_cast<Traffic>(i)));
    }
    return names;
  }();
  static_cast<void>(reader.integer("core", {0, 255}));  // what program.bin says counts
  static_cast<void>(reader.text("queue"));
  static_cast<void>(reader.integer("words", {}));
  ConfigReader columns = reader.object("instructions");
  const std::vector<std::int64_t> layer = columns.integers("layer", {0, 65535});
  const std::vector<std::string> kind = columns.texts("kind");
  const std::vector<std::int64_t> useful = columns.integers("useful_bytes", {});
  const std::vector<std::string> tile = columns.texts("tile");
  columns.finish();
  reader.finish();
  if (kind.size() != layer.size() || useful.size() != layer.size() || tile.size() != layer.size()) {
    reader.error("instructions", "expected columns of equal length");
    return;
  }
  stream.info.clear();
  for (std::size_t i = 0; i < layer.size(); ++i) {
    InstructionInfo info;
    info.layer = static_cast<std::uint16_t>(layer[i]);
    std::size_t k = 0;
    while (k < kinds.size() && kinds[k] != kind[i]) {
      ++k;
    }
    if (k == kinds.size()) {
      reader.error("instructions", "'" + kind[i] + "' is no kind of traffic");
      return;
    }
    info.kind = static_cast<Traffic>(k);
    info.useful_bytes = useful[i];
    info.tile = tile[i];
    stream.info.push_back(std::move(info));
  }
}

void read_sections(ConfigReader& meta, Program& program) {
  std::vector<ConfigReader> sections = meta.objects("sections");
  if (sections.size() != program.sections.size()) {
    meta.file_error(
        detail::concat("/sections has ", sections.size(), " entries: program.bin has ", program.sections.size()));
    return;
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    Section& section = program.sections[i];
    if (sections[i].has("host_step")) {
      static_cast<void>(sections[i].text("host_step"));
    }
    if (sections[i].text("name") != section.name) {
      sections[i].error("name", "program.bin calls this section " + section.name);
    }
    if (sections[i].has("why")) section.why = sections[i].text("why");
    if (sections[i].has("crossing_bytes")) section.crossing_bytes = sections[i].integer("crossing_bytes", {});
    std::vector<ConfigReader> streams = sections[i].objects("streams");
    if (streams.size() != section.streams.size()) {
      sections[i].error("streams", detail::concat("program.bin has ", section.streams.size(), " streams here"));
    } else {
      for (std::size_t k = 0; k < streams.size(); ++k) {
        read_stream(streams[k], section.streams[k]);
      }
    }
    sections[i].finish();
  }
}

void read_meta(const fs::path& path, std::uint64_t program_checksum, Program& program) {
  ConfigReader meta = ConfigReader::from_file(path);
  static_cast<void>(meta.choice("schema", {kSchema}));
  if (meta.text("program_checksum") != hash_text(program_checksum)) {
    meta.error("program_checksum", "program.bin beside it has " + hash_text(program_checksum) +
                                       ": the two files are of different programs; compile again");
    meta.finish();
  }
  constexpr IntRange kCount{0, std::numeric_limits<std::int64_t>::max()};
  ConfigReader chip = meta.object("chip");
  program.chip_name = chip.text("name");
  static_cast<void>(chip.text("arch_hash"));
  static_cast<void>(chip.text("timing_hash"));
  program.chip_json = chip.object_text("resolved");
  if (program.chip_json == "{}\n") {
    program.chip_json.clear();
  }
  chip.finish();
  ConfigReader model = meta.object("model");
  program.model_name = model.text("name");
  program.model_sha256 = model.text("sha256");
  model.finish();
  program.schedule = meta.text("schedule");
  program.seed = static_cast<std::uint64_t>(meta.integer("seed", kCount));
  program.batch = static_cast<std::int32_t>(meta.integer("batch", {1, 65536}));
  ConfigReader macs = meta.object("macs");
  program.macs_useful = macs.integer("useful", kCount);
  program.macs_host = macs.integer("host", kCount);
  macs.finish();
  ConfigReader compulsory = meta.object("compulsory");
  program.compulsory_read = compulsory.integer("read_bytes", kCount);
  program.compulsory_write = compulsory.integer("write_bytes", kCount);
  compulsory.finish();
  program.sram_peak_bytes = meta.integer("sram_peak_bytes", kCount);
  ConfigReader predicted = meta.object("predicted");
  program.predicted.cycles = predicted.integer("cycles", kCount);
  program.predicted.dram_bytes = predicted.integer("dram_bytes", kCount);
  predicted.finish();
  static_cast<void>(meta.objects("inputs"));  // a view of program.bin
  static_cast<void>(meta.objects("outputs"));
  for (ConfigReader& layer : meta.objects("layers")) {
    LayerInfo info;
    info.name = layer.text("name");
    info.op = layer.text("op");
    info.unit = layer.text("unit");
    info.group = static_cast<std::uint16_t>(layer.integer("group", {0, 65535}));
    info.macs_useful = layer.integer("macs_useful", kCount);
    info.fused = layer.texts("fused");
    layer.finish();
    program.layers.push_back(std::move(info));
  }
  for (ConfigReader& group : meta.objects("groups")) {
    const std::string name = group.text("name");
    // Programs from before it was written have none.
    program.groups.push_back({name, group.has("predicted_end") ? group.integer("predicted_end", kCount) : 0});
    group.finish();
  }
  for (std::size_t i = 0; i < program.layers.size(); ++i) {
    if (program.layers[i].group >= program.groups.size()) {
      meta.file_error(detail::concat("/layers/", i, "/group = ", program.layers[i].group, ": /groups has ",
                                     program.groups.size(), " entries"));
    }
  }
  read_sections(meta, program);
  meta.finish();
}

}  // namespace

const char* traffic_name(Traffic kind) {
  switch (kind) {
    case Traffic::weights:
      return "weights";
    case Traffic::params:
      return "params";
    case Traffic::input:
      return "input";
    case Traffic::output:
      return "output";
    case Traffic::spill:
      return "spill";
    case Traffic::halo:
      return "halo";
    case Traffic::instructions:
      return "instructions";
    case Traffic::host:
      return "host";
    case Traffic::padding:
      return "padding";
  }
  return "?";
}

void write_program(const Program& program, const fs::path& dir) {
  TESSERA_CHECK(program.weights.empty() || program.weights.size() == weights_extent(program), "weights image of ",
                program.weights.size(), " bytes, but the weights buffers span ", weights_extent(program));
  if (program.seed > static_cast<std::uint64_t>(INT64_MAX)) {
    user_error("seed ", program.seed, ": expected at most ", INT64_MAX,
               ", the largest integer that JSON readers agree on");
  }
  const std::vector<std::uint8_t> container = to_container(program);
  const std::string meta = meta_json(program, container_checksum(container));
  Batch batch(dir);
  if (!program.weights.empty()) {
    batch.write("weights.bin", program.weights.data(), program.weights.size());
  }
  batch.write("program.bin", container.data(), container.size());
  batch.write("meta.json", meta.data(), meta.size());
  batch.commit();
  if (program.weights.empty()) {
    std::error_code ignored;
    fs::remove(dir / "weights.bin", ignored);  // of an earlier program
  }
}

Program read_program(const fs::path& dir, Weights need) {
  const fs::path bin = dir / "program.bin";
  const std::vector<std::uint8_t> container = read_bytes(bin, "expected a directory that `tessera compile` wrote");
  WeightsFile weights;
  Program program = from_container(container, bin.string(), weights);
  read_meta(dir / "meta.json", container_checksum(container), program);

  const fs::path image = dir / "weights.bin";
  const std::uint64_t extent = weights_extent(program);
  if (weights.bytes != 0 && weights.bytes != extent) {
    user_error(bin.string(), ": offset 40: weights.bin of ", weights.bytes, " bytes, but the weights buffers span ",
               extent);
  }
  if (weights.bytes == 0) {
    if (need == Weights::required && extent != 0) {
      user_error(image.string(),
                 ": the program was compiled with --timing-only and has no weights; run it with "
                 "--timing-only, or compile it without");
    }
    return program;
  }
  if (!fs::exists(image)) {
    if (need == Weights::required) {
      user_error(image.string(), ": is missing, expected ", weights.bytes,
                 " bytes of weights; compile again, or run with --timing-only");
    }
    return program;
  }
  program.weights = read_bytes(image, "expected the program's weights");
  if (program.weights.size() != weights.bytes) {
    user_error(image.string(), ": found ", program.weights.size(), " bytes, expected ", weights.bytes,
               ": the file is cut off or of another program");
  }
  if (checksum(program.weights) != weights.checksum) {
    user_error(image.string(), ": checksum is ", hash_text(checksum(program.weights)), ", expected ",
               hash_text(weights.checksum), ": the file is damaged or of another program");
  }
  return program;
}

}  // namespace tessera::isa
