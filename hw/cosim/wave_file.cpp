// Waveforms as files: VCD as text, FST by GTKWave's writer as Verilator packages it.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <tuple>

#include <gtkwave/fstapi.h>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/cosim/wave.hpp"

namespace tessera::cosim {
namespace {

bool ends_in(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string binary(std::uint64_t value, int width) {
  std::string text;
  for (int i = width; i-- > 0;) text += (value >> i & 1) != 0 ? '1' : '0';
  return text;
}

/// {"a", "b", "c"} of "a.b.c".
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t dot = std::min(name.find('.', at), name.size());
    parts.push_back(name.substr(at, dot - at));
    at = dot + 1;
  }
  return parts;
}

/// A file format: told scopes and variables in order, then values in order of time.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void open_scope(const std::string& name) = 0;
  virtual void close_scope() = 0;
  virtual void variable(const std::string& name, int width) = 0;
  virtual void end_of_variables() = 0;
  virtual void time(std::int64_t picoseconds) = 0;
  virtual void value(std::size_t variable, const std::string& bits) = 0;
};

class VcdWriter : public Writer {
 public:
  void open_scope(const std::string& name) override { text += "$scope module " + name + " $end\n"; }
  void close_scope() override { text += "$upscope $end\n"; }
  void variable(const std::string& name, int width) override {
    text += detail::concat("$var wire ", width, " s", variables_++, " ", name, " $end\n");
  }
  void end_of_variables() override { text += "$enddefinitions $end\n"; }
  void time(std::int64_t picoseconds) override { text += detail::concat("#", picoseconds, "\n"); }
  void value(std::size_t variable, const std::string& bits) override {
    text += detail::concat("b", bits, " s", variable, "\n");
  }

  std::string text = "$timescale 1ps $end\n";

 private:
  std::size_t variables_ = 0;
};

class FstWriter : public Writer {
 public:
  explicit FstWriter(const std::string& file) : fst_(fstWriterCreate(file.c_str(), 1)) {
    if (fst_ == nullptr) return;
    fstWriterSetDate(fst_, "");  // the same run gives the same bytes
    fstWriterSetVersion(fst_, "tessera");
    fstWriterSetTimescaleFromString(fst_, "1ps");
  }
  ~FstWriter() override {
    if (fst_ != nullptr) fstWriterClose(fst_);
  }
  FstWriter(const FstWriter&) = delete;
  FstWriter& operator=(const FstWriter&) = delete;
  [[nodiscard]] bool is_open() const { return fst_ != nullptr; }

  void open_scope(const std::string& name) override {
    fstWriterSetScope(fst_, FST_ST_VCD_MODULE, name.c_str(), nullptr);
  }
  void close_scope() override { fstWriterSetUpscope(fst_); }
  void variable(const std::string& name, int width) override {
    handles_.push_back(
        fstWriterCreateVar(fst_, FST_VT_VCD_WIRE, FST_VD_IMPLICIT, static_cast<std::uint32_t>(width), name.c_str(), 0));
  }
  void end_of_variables() override {}
  void time(std::int64_t picoseconds) override {
    fstWriterEmitTimeChange(fst_, static_cast<std::uint64_t>(picoseconds));
  }
  void value(std::size_t variable, const std::string& bits) override {
    fstWriterEmitValueChange(fst_, handles_[variable], bits.c_str());
  }

 private:
  void* fst_;
  std::vector<fstHandle> handles_;
};

void declare(const std::vector<Wave::Signal>& signals, Writer& writer) {
  std::vector<std::string> open;
  for (const Wave::Signal& signal : signals) {
    std::vector<std::string> scope = parts_of(signal.name);
    const std::string last = scope.back();
    scope.pop_back();
    while (open.size() > scope.size() || !std::equal(open.begin(), open.end(), scope.begin())) {
      writer.close_scope();
      open.pop_back();
    }
    for (std::size_t i = open.size(); i < scope.size(); ++i) writer.open_scope(scope[i]);
    open = scope;
    writer.variable(last, signal.width);
  }
  for (std::size_t i = 0; i < open.size(); ++i) writer.close_scope();
  writer.end_of_variables();
}

/// Returns the time of the last change.
std::int64_t tell(const std::vector<Wave::Signal>& signals, Writer& writer) {
  declare(signals, writer);
  std::vector<std::tuple<std::int64_t, std::size_t, std::uint64_t>> changes;  // time, signal, value
  writer.time(0);
  for (std::size_t s = 0; s < signals.size(); ++s) {
    writer.value(s, binary(0, signals[s].width));
    for (const Wave::Change& change : signals[s].changes) changes.emplace_back(change.time, s, change.value);
  }
  std::sort(changes.begin(), changes.end());
  std::int64_t now = 0;
  for (const auto& [time, signal, value] : changes) {
    if (time != now) writer.time(time);
    now = time;
    writer.value(signal, binary(value, signals[signal].width));
  }
  return now;
}

/// The writer says nothing of a full disk: is what it wrote all there?
bool is_whole(const std::string& file, std::size_t variables, std::int64_t end) {
  void* reader = fstReaderOpen(file.c_str());
  if (reader == nullptr) return false;
  const bool whole =
      fstReaderGetVarCount(reader) == variables && fstReaderGetEndTime(reader) == static_cast<std::uint64_t>(end);
  fstReaderClose(reader);
  return whole;
}

void write_fst(const std::vector<Wave::Signal>& signals, const std::string& file) {
  const std::string part = file + ".part";
  std::int64_t end = -1;
  {
    FstWriter writer(part);
    if (writer.is_open()) end = tell(signals, writer);
  }
  std::error_code failed;
  if (end >= 0 && is_whole(part, signals.size(), end)) {
    std::filesystem::rename(part, file, failed);
    if (!failed) return;
  }
  std::filesystem::remove(part, failed);
  cannot_write(file);
}

}  // namespace

void Wave::check_name(const std::string& file) {
  if (ends_in(file, ".vcd") || ends_in(file, ".fst")) return;
  user_error("--wave ", file, ": expected a name that ends in .fst or .vcd");
}

void Wave::write(const std::string& file) const {
  check_name(file);
  if (ends_in(file, ".fst")) return write_fst(signals(), file);
  VcdWriter writer;
  (void)tell(signals(), writer);
  write_file(file, writer.text);
}

}  // namespace tessera::cosim
