#include "hw/cosim/core_library_cache.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <vector>

#include <dlfcn.h>
#include <unistd.h>

#include "hw/common/error.hpp"
#include "hw/common/file.hpp"
#include "hw/common/hash.hpp"
#include "rtl_keys.hpp"

namespace tessera::cosim {
namespace {

namespace fs = std::filesystem;

/// Value of an environment variable, or empty.
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path source_root() {
  const std::string other = environment("TESSERA_RTL_ROOT");
  return other.empty() ? fs::path(TESSERA_SOURCE_ROOT) : fs::path(other);
}

std::string library_name(const std::string& what, std::uint64_t hash) {
  return what + "-" + hash_text(hash).substr(2) + ".so";
}

/// Everything that a library is made of, but for the shape.
std::vector<fs::path> sources(const fs::path& root) {
  std::vector<fs::path> files = {"hw/rtl/files.f",
                                 "hw/rtl/generate_chip_package.py",
                                 "hw/rtl/lint_waivers.vlt",
                                 "hw/cosim/build_core.py",
                                 "hw/cosim/core_api.hpp",
                                 "hw/cosim/core_library.cpp",
                                 "hw/cosim/observe.vlt",
                                 "hw/cosim/unit_api.hpp",
                                 "hw/cosim/tessera_unit_bench.sv",
                                 "hw/cosim/unit_library.cpp",
                                 "hw/cosim/verilated_pins.hpp",
                                 "isa/isa.json"};
  std::istringstream list(read_file(root / "hw/rtl/files.f"));
  for (std::string line; std::getline(list, line);) {
    if (!line.empty()) files.emplace_back(line);
  }
  return files;
}

std::uint64_t hash_of_sources(const std::string& shape, const fs::path& root) {
  Fnv64 hash;
  hash.add(shape);
  for (const fs::path& file : sources(root)) {
    hash.add(file.string());
    hash.add(read_file(root / file));
  }
  return hash.value();
}

std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char c : path.string()) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// Runs a command; its output and whether it succeeded.
bool run_command(const std::string& command, std::string& output) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  TESSERA_CHECK(pipe != nullptr, "popen failed");
  std::array<char, 4096> part{};
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) output.append(part.data(), n);
  return ::pclose(pipe) == 0;
}

/// `argument`: what build_core.py wants to know besides shape and library.
void build_library(const std::string& what, const std::string& shape, const fs::path& root, const fs::path& library,
                   const std::string& argument) {
  std::error_code failed;
  fs::create_directories(library.parent_path(), failed);
  if (failed) {
    user_error(library.parent_path().string(), ": cannot be made: ", failed.message(), "; ", what,
               " is Verilated there ($TESSERA_RTL_CACHE names another folder)");
  }
  std::fprintf(stderr, "%s: not built yet, is Verilated into %s\n", what.c_str(), library.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const fs::path shape_file = library.string() + "." + std::to_string(::getpid()) + ".shape";
  write_file(shape_file, shape);
  std::string output;
  const bool done = run_command(std::string(TESSERA_PYTHON) + " " + quoted(root / "hw/cosim/build_core.py") + " " +
                                    quoted(shape_file) + " " + quoted(library) + " " + argument,
                                output);
  fs::remove(shape_file, failed);
  if (!done) user_error(what, " cannot be built: ", output);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "%s: built in %.0f s\n", what.c_str(), seconds);
}

/// The library in the cache, built if it is not there.
fs::path cached_library(const std::string& what, const std::string& name, const std::string& shape,
                        const std::string& argument) {
  const fs::path root = source_root();
  if (!fs::exists(root / "hw/rtl/files.f")) {
    user_error(what, " is not built, and its sources are not in ", root.string(),
               " ($TESSERA_RTL_ROOT names another source tree)");
  }
  const fs::path library = rtl_cache_folder() / library_name(name, hash_of_sources(shape, root));
  if (!fs::exists(library)) build_library(what, shape, root, library, argument);
  return library;
}

template <typename Api>
const Api& load(const fs::path& library, const char* symbol, std::uint32_t size, const std::string& shape) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) user_error(library.string(), ": cannot be loaded: ", ::dlerror());
  const auto* api = static_cast<const Api*>(::dlsym(handle, symbol));
  if (api == nullptr || api->size != size) {
    user_error(library.string(), ": is the RTL library of another build; delete it and run again");
  }
  TESSERA_CHECK(api->shape == shape, library.string(), " is built for\n", api->shape, "not for\n", shape);
  return *api;
}

}  // namespace

std::string rtl_shape(const isa::ChipConfig& chip) {
  std::string shape;
  for (const char* key : kRtlKeys) shape += std::string(key) + "=" + isa::chip_value_json(chip, key) + "\n";
  return shape;
}

fs::path rtl_cache_folder() {
  if (const std::string folder = environment("TESSERA_RTL_CACHE"); !folder.empty()) return folder;
  if (const std::string cache = environment("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "tessera/rtl";
  const std::string home = environment("HOME");
  return (home.empty() ? fs::temp_directory_path() : fs::path(home) / ".cache") / "tessera/rtl";
}

const CoreApi& core_library(const isa::ChipConfig& chip) {
  // A library stays loaded for the process; a run of many programs looks for it once.
  static std::map<std::string, const CoreApi*> loaded;
  const std::string shape = rtl_shape(chip);
  const CoreApi*& api = loaded[shape + environment("TESSERA_RTL_ROOT")];
  if (api != nullptr) return *api;
  fs::path library;
  if (environment("TESSERA_RTL_ROOT").empty()) {
    Fnv64 hash;
    hash.add(shape);
    library = fs::path(TESSERA_RTL_LIBRARIES) / library_name("core", hash.value());
  }
  if (!fs::exists(library)) library = cached_library("the RTL of chip '" + chip.name + "'", "core", shape, "");
  return *(api = &load<CoreApi>(library, "tessera_core_api", kCoreApiSize, shape));
}

const UnitApi& unit_library(const isa::ChipConfig& chip, isa::QueueId queue) {
  const std::string shape = rtl_shape(chip), unit = isa::to_string(queue);
  const fs::path library = cached_library("the RTL of unit " + unit + " of chip '" + chip.name + "'", "unit-" + unit,
                                          shape, std::to_string(static_cast<int>(queue)));
  return load<UnitApi>(library, "tessera_unit_api", kUnitApiSize, shape);
}

}  // namespace tessera::cosim
