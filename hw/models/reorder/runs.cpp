#include "hw/models/reorder/runs.hpp"

namespace tessera::hw {

ReorderRuns::ReorderRuns(const isa::Reorder& reorder)
    : fill(reorder.fill),
      src(reorder.fill ? 0 : reorder.src_base),
      dst(reorder.dst_base),
      run_bytes(reorder.run_bytes) {
  std::vector<ReorderLoop> inner;  // innermost first
  for (auto dim = reorder.dims.rbegin(); dim != reorder.dims.rend(); ++dim) {
    if (dim->count <= 1) continue;
    const ReorderLoop loop{dim->count, fill ? 0 : dim->src_stride, dim->dst_stride};
    if (inner.empty()) {
      if ((fill || loop.src_stride == run_bytes) && loop.dst_stride == run_bytes) {
        run_bytes *= loop.count;
        continue;
      }
    } else {
      ReorderLoop& last = inner.back();
      if (loop.src_stride == last.src_stride * last.count && loop.dst_stride == last.dst_stride * last.count) {
        last.count *= loop.count;
        continue;
      }
    }
    inner.push_back(loop);
  }
  loops.assign(inner.rbegin(), inner.rend());
}

}  // namespace tessera::hw
