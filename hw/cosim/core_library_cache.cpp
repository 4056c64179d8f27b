#include "hw/cosim/core_library_cache.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
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

std::string library_name(std::uint64_t hash) { return "core-" + hash_text(hash).substr(2) + ".so"; }

/// Everything that a library is made of, but for the shape.
std::vector<fs::path> sources(const fs::path& root) {
  std::vector<fs::path> files = {"hw/rtl/files.f",
                                 "hw/rtl/generate_chip_package.py",
                                 "hw/cosim/build_core.py",
                                 "hw/cosim/core_api.hpp",
                                 "hw/cosim/core_library.cpp",
                                 "hw/cosim/observe.vlt",
                                 "hw/rtl/lint_waivers.vlt",
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

void build_library(const std::string& chip, const std::string& shape, const fs::path& root, const fs::path& library) {
  std::error_code failed;
  fs::create_directories(library.parent_path(), failed);
  if (failed) {
    user_error(library.parent_path().string(), ": cannot be made: ", failed.message(), "; the RTL of chip '", chip,
               "' is Verilated there ($TESSERA_RTL_CACHE names another folder)");
  }
  std::fprintf(stderr, "RTL of chip '%s': not built yet, is Verilated into %s\n", chip.c_str(), library.c_str());
  const auto begin = std::chrono::steady_clock::now();
  const fs::path shape_file = library.string() + "." + std::to_string(::getpid()) + ".shape";
  write_file(shape_file, shape);
  std::string output;
  const bool done = run_command(std::string(TESSERA_PYTHON) + " " + quoted(root / "hw/cosim/build_core.py") + " " +
                                    quoted(shape_file) + " " + quoted(library),
                                output);
  fs::remove(shape_file, failed);
  if (!done) user_error("the RTL of chip '", chip, "' cannot be built: ", output);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "RTL of chip '%s': built in %.0f s\n", chip.c_str(), seconds);
}

const CoreApi& load(const fs::path& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) user_error(library.string(), ": cannot be loaded: ", ::dlerror());
  const auto* api = static_cast<const CoreApi*>(::dlsym(handle, "tessera_core_api"));
  if (api == nullptr || api->size != kCoreApiSize) {
    user_error(library.string(), ": is the RTL library of another build; delete it and run again");
  }
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
  const std::string shape = rtl_shape(chip);
  fs::path library;
  if (environment("TESSERA_RTL_ROOT").empty()) {
    Fnv64 hash;
    hash.add(shape);
    library = fs::path(TESSERA_RTL_LIBRARIES) / library_name(hash.value());
  }
  if (!fs::exists(library)) {
    const fs::path root = source_root();
    if (!fs::exists(root / "hw/rtl/files.f")) {
      user_error("the RTL of chip '", chip.name, "' is not built, and its sources are not in ", root.string(),
                 " ($TESSERA_RTL_ROOT names another source tree)");
    }
    library = rtl_cache_folder() / library_name(hash_of_sources(shape, root));
    if (!fs::exists(library)) build_library(chip.name, shape, root, library);
  }
  const CoreApi& api = load(library);
  TESSERA_CHECK(api.shape == shape, library.string(), " is built for\n", api.shape, "not for\n", shape);
  return api;
}

}  // namespace tessera::cosim
