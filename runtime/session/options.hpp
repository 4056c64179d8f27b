// What a user asks for, as plain structs: the command line fills them, tests fill them by hand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Everything that decides the quantised graph (chip-independent).
struct ModelOptions {
  std::string model;                               // ONNX file
  std::vector<std::string> shapes;                 // NAME=1x3x224x224
  std::optional<std::uint64_t> randomize_weights;  // seed
  std::uint64_t seed = 0;                          // of the one random calibration sample
  std::string calibration;                         // npz file or folder of npy; empty: one seeded random sample
  std::string method = "minmax";
  std::vector<std::string> int16_nodes;
  bool timing_only = false;             // no calibration, no weights
  std::vector<std::string> no_passes;   // passes that are switched off
  std::vector<std::string> preprocess;  // INPUT=MEAN,.../DEVIATION,...
  std::int64_t batch = 0;               // images a run, where the model has one; 0: as the model says
};

/// Everything that decides the program of one quantised graph.
struct CompileOptions {
  std::string chip;
  std::vector<std::string> sets;  // PATH=VALUE
  std::string schedule = "auto";
  std::int64_t batch = 0;                                   // 0: as the model says
  std::vector<std::string> boundaries, alone, tiles, keep;  // by node; a tile is NODE=HxW
  std::int64_t fuse_depth = 0;                              // most layers of a group; 0: free
  int effort = 1;
  std::string input_layout = "NCHW";
};

/// Everything that decides one execution of a program.
struct RunOptions {
  std::string chip;               // empty: the one in meta.json
  std::vector<std::string> sets;  // timing keys only, on top of it
  int frames = 1;
  std::map<std::string, std::string> inputs;  // NAME -> npy file; the rest is seeded random
  std::uint64_t seed = 0;
  std::string output_dir;
  std::string backend = "tlm";
  std::vector<std::string> rtl_units;
  bool timing_only = false;
  bool no_shortcuts = false;
  std::uint64_t process_order_seed = 0;  // 0: the usual order
  std::vector<std::string> ideal;
  std::vector<std::string> compare;
  std::string report, trace, wave, dram_trace, instruction_trace;
  std::int64_t max_cycles = 0;  // 0: unlimited
};

}  // namespace tessera::runtime
