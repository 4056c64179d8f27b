// One walk over the layers with a given choice of maps that go through DRAM. Internal to the room.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/allocate/sram_space.hpp"
#include "compiler/schedule/constants.hpp"
#include "compiler/schedule/dma_pieces.hpp"
#include "compiler/schedule/group.hpp"
#include "compiler/schedule/import_plan.hpp"
#include "compiler/schedule/kept_rows.hpp"
#include "compiler/schedule/layer_graph.hpp"
#include "compiler/schedule/layer_plan.hpp"
#include "compiler/schedule/move_nest.hpp"
#include "compiler/schedule/unit_cost.hpp"
#include "compiler/schedule/work.hpp"

namespace tessera::compiler {

/// The layer at which buffers found no place, and what they were.
struct NoRoom {
  int layer = -1;
  std::string what;
  bool planned = false;  // no plan fits; otherwise a plan that fits by size met a fragmented SRAM
};

/// From this many failures on a layer's buffers are packed from the lowest address instead of going round.
inline constexpr int kPackFrom = 4;

/// A move by REORDER whose tiles find no place in SRAM.
struct MoveThroughDram {
  std::string node;
};

/// A fully connected layer of which no tile finds a place as a convolution.
struct OnGemm {
  std::string node;
};

/// What DRAM bytes of an image count as.
[[nodiscard]] isa::Traffic image_traffic(const Image& image);

/// What the spill loop has learnt so far.
struct WalkChoices {
  std::vector<bool> spilled;       // by root: through DRAM
  std::vector<KeptRows> kept;      // by root: of a spilled map, the rows that stay
  std::vector<int> fragmentation;  // by layer: how often its plan met a fragmented SRAM; each asks for more slack
  // By layer that makes them: maps lie side by side from the lowest address; else apart, in banks of their own.
  std::vector<bool> packed;
  std::vector<GroupPlan> groups;  // in order; layers in none run one by one
  bool stagger = true;            // engines that share a tile begin it half a beat apart
  std::vector<bool> in_place;     // by layer: its result may be written over an operand that dies with it
  double byte_cycles = 0;         // LayerSite::byte_cycles
};

class Walk {
 public:
  /// `scratch`: bytes that the scratch images take.
  Walk(const LayerGraph& graph, const Constants& constants, const WalkChoices& choices, UnitCost& cost,
       bool nhwc_inputs, std::int64_t scratch);
  ~Walk();

  /// Throws NoRoom.
  void run();

  std::vector<WorkSection> sections;
  std::vector<LayerNote> notes;
  std::int64_t scratch_bytes;  // with spilled maps, behind the scratch images
  std::int64_t sram_peak_lines = 0;
  /// Instructions, also of a walk that found no room.
  [[nodiscard]] std::int64_t written() const { return now_; }
  /// What the walk costs, roughly: bytes that LOADs and STOREs move; cycles of each layer or group alone, of the units
  /// by its estimates or of the DRAM, whichever are more.
  struct Cost {
    std::int64_t bytes = 0;
    double cycles = 0;
  };
  [[nodiscard]] Cost cost() const;

 private:
  struct RootState {
    bool placed = false;
    bool filled = false;                       // imported: LOADs were written down
    bool by_reorder = false, by_load = false;  // imported: how rows came
    bool lent = false;                         // its range belongs to the map that is written over it
    LineRange range{-1, 0};
    std::int64_t row_lines = 0, block_lines = 0, image_lines = 0;
    // Images that different engines may have lie in banks of their own: those of an engine, and lines to the next's.
    std::int64_t images = 1, engine_lines = 0;
    std::int64_t dram_offset = -1;  // scratch buffer
  };
  struct Loaded {  // a streamed operand's tile
    SramView view;
    LineRange range{-1, 0};
  };
  struct ConstantTile {
    struct Weights {
      LineRange range{-1, 0};
      Rows channels;
      std::int64_t engine = -1;  // whose copy it is; -1: all read it
    };
    std::vector<Weights> weights;  // one part; or one an engine, in banks of their own
    LineRange params{-1, 0}, table{-1, 0};
    std::int64_t first_param_channel = 0;
    /// The part that holds the channels for an engine.
    [[nodiscard]] const Weights& of(const Rows& channels, std::int64_t engine) const;
  };

  void run_one(int id);
  void layer(int id);
  void group(const GroupPlan& plan);
  struct Group;
  struct GroupPart;
  struct GroupPiece;
  struct GroupStep;
  void open_group(const GroupPlan& plan);
  void count_uses(const GroupPlan& plan, GroupPart& part) const;
  void place_buffers(const GroupPlan& plan, GroupPart& part);
  [[nodiscard]] std::vector<GroupStep> group_steps(const GroupPlan& plan, const GroupPart& part) const;
  void group_images(const GroupPlan& plan, GroupPart& part, const GroupStep& step);
  void group_chunk(const GroupPlan& plan, GroupPart& part, const GroupPiece& piece, const GroupChunk& chunk,
                   std::int64_t n, const Rows& channels, std::int64_t tile_part);
  [[nodiscard]] Rows channels_read(const GroupPlan& plan, int root) const;
  void open_member(const GroupPlan& plan, GroupPart& part, int id);
  [[nodiscard]] SramView group_view(const GroupPart& part, const GroupPiece& piece, int root, std::int64_t n,
                                    const Rows& rows) const;
  void finish_chunk(const GroupPlan& plan, GroupPart& part, const GroupChunk& chunk);
  [[nodiscard]] std::string import_text(int root) const;
  [[nodiscard]] std::string spread_text(const Root& root, std::int64_t rows, const Rows& columns,
                                        std::int64_t pitch) const;
  [[nodiscard]] std::string place_text(int root, const std::vector<LineBuffer>& buffers, std::int64_t line_banks) const;
  [[nodiscard]] std::vector<std::string> places(int id, const std::vector<LineBuffer>& buffers,
                                                std::int64_t line_banks) const;
  void host(int id);
  void move_layer(int id);
  [[noreturn]] static void no_place_for_move(int id, const Layer& layer, const std::string& what);
  [[nodiscard]] std::int64_t move_rows(int id, const std::vector<MoveBox>& boxes) const;
  [[nodiscard]] std::int64_t tile_lines(const MapShape& shape, std::int64_t rows) const;
  void stream_layer(int id);
  void gemm_layer(int id);
  void linear_dma(int id, const Image& image, const std::vector<DmaPiece>& pieces, bool store, const std::string& tile);
  void gemm_tile(int id, std::int64_t batch, std::int64_t batches, const Rows& m, const Rows& n);
  void place_output(int id);
  void place_root(int id, int root, bool leaves);
  [[nodiscard]] bool moved(int root) const;
  [[nodiscard]] bool grouped(int root) const;
  [[nodiscard]] bool packed(int layer) const { return choices_.packed[static_cast<std::size_t>(layer)]; }
  void write_over(int id);
  void import_resident(int id);
  void import_rows(int id, std::uint8_t core, int root, std::int64_t n, const Rows& rows, const SramView& to);
  void import_reordered(int id, std::uint8_t core, const Root& root, std::int64_t n, const Rows& rows,
                        const ImportPlan& plan, const SramView& to);
  void fill_columns(int id, std::uint8_t core, const Root& root, const Rows& rows, const SramView& view);
  void share(int id, std::uint8_t core, const Rows& rows, const Rows& channels);
  [[nodiscard]] LayerPlan choose_plan(int id, std::uint8_t core, const LayerSite& site);
  [[nodiscard]] std::string smallest_tile(int id, LayerSite site) const;
  ConstantTile load_constants(int id, std::uint8_t core, const LayerPlan& plan, const Rows& channels,
                              const ConstantTile* whole);
  void load_weights(int id, std::uint8_t core, const Rows& channels, ConstantTile& tile);
  void copy_weights(int id, std::uint8_t core, ConstantTile& tile);
  ConstantTile load_whole(int id, std::uint8_t core, const LayerPlan& plan, const Rows& channels);
  Loaded load_operand(int id, std::uint8_t core, std::size_t operand, std::int64_t n, const Rows& rows,
                      const Rows& channels, std::int64_t loaded_until);
  void load_rows(int id, std::uint8_t core, int root, std::int64_t n, const Rows& rows, const Rows& channels,
                 const SramView& view, bool halo);
  void body(int id, std::uint8_t core, const LayerPlan& plan, const Tile& tile, std::int64_t part,
            const std::vector<SramView>& in, const SramView& out, const ConstantTile& constants);
  [[nodiscard]] Cycles stagger(const isa::Conv& conv, EngineSplit split) const;
  void conv_body(int id, std::uint8_t core, const Tile& tile, const std::vector<SramView>& in, const SramView& out,
                 const ConstantTile& constants, std::int64_t engine);
  void edp_body(int id, std::uint8_t core, const Tile& tile, const std::vector<SramView>& in, const SramView& out,
                const ConstantTile& constants);
  void reorder_body(int id, std::uint8_t core, const Tile& tile, const SramView& in, const SramView& out);
  void store_tile(int id, std::uint8_t core, const Tile& tile, const SramView& out);

  [[nodiscard]] DramMap source_of(const Root& root, const Rows& columns) const;
  [[nodiscard]] DramMap image_map(const Image& image, const MapShape& shape, bool channels_last) const;
  [[nodiscard]] SramView resident_view(int root, std::int64_t n) const;
  [[nodiscard]] bool resident(int root) const { return !choices_.spilled[static_cast<std::size_t>(root)]; }
  [[nodiscard]] const KeptRows& kept(int root) const { return choices_.kept[static_cast<std::size_t>(root)]; }
  /// All of the rows stay, of a map that does or of one of which some rows do.
  [[nodiscard]] bool in_sram(int root, const Rows& rows) const { return resident(root) || rows.end <= kept(root).rows; }
  [[nodiscard]] std::vector<Rows> row_tiles(int id, const Rows& rows, std::int64_t tile_rows) const;
  LineRange take(int id, std::uint8_t core, std::int64_t lines, Fit fit, const std::string& what,
                 const LineRange& apart_from = {-1, 0}, std::int64_t half_lines = 0);
  void release(std::uint8_t core, LineRange& range);
  WorkItem& item(std::uint8_t core, isa::QueueId queue, int layer);
  [[nodiscard]] std::int64_t now() const { return now_; }

  const LayerGraph& graph_;
  const Constants& constants_;
  WalkChoices choices_;
  UnitCost& cost_;
  const isa::ChipConfig& chip_;
  bool nhwc_inputs_;
  std::vector<SramSpace> spaces_;
  std::vector<RootState> roots_;
  std::int64_t now_ = 0;
  int host_steps_ = 0;
  std::unique_ptr<Group> group_;  // the one that runs
  std::int64_t next_engine_ = 0;
  LineRange raw_rows_{-1, 0};  // the last ones that were taken
  bool stagger_ = false;       // the engines begin the next tile that they share together
};

/// "rows 0..13" or "rows 0..13, channels 32..63".
[[nodiscard]] std::string tile_text(const Tile& tile, const Layer& layer);

}  // namespace tessera::compiler
