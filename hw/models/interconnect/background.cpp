#include "hw/models/interconnect/background.hpp"

#include <algorithm>

namespace tessera::hw {

namespace {
__extension__ using Wide = __int128;
constexpr Bytes kRequest = 64;

Bytes align_down(Bytes bytes, Bytes to) { return bytes / to * to; }
}  // namespace

BackgroundSource::BackgroundSource(Kind kind, const MemoryConfig& config)
    : kind_(kind),
      clock_hz_(config.clock_hz),
      config_(config.traffic),
      memory_bytes_(config.size_bytes),
      random_(static_cast<std::uint64_t>(config.traffic.seed)) {
  next();
}

void BackgroundSource::take(Cycles now) {
  taken_ += head_.bytes;
  ++requests_;
  longest_wait_ = std::max(longest_wait_, now - head_.due);
  next();
}

// Camera: byte b of frame f is there at (f + b / camera_bytes) / camera_fps seconds; a request is offered when its last
// byte is, at the frame's own place in a ring at the end of memory. CPU: the gap between two requests is uniform
// between 0 and twice the mean.
void BackgroundSource::next() {
  if (kind_ == Kind::camera) {
    if (frame_bytes_ == config_.camera_bytes) {
      ++frame_;
      frame_bytes_ = 0;
    }
    head_.bytes = std::min(kRequest, config_.camera_bytes - frame_bytes_);
    const Bytes ring = align_down(memory_bytes_, kRequest);
    const Bytes frame_pitch = ceil_div(config_.camera_bytes, kRequest) * kRequest;
    const Bytes slots = std::clamp<Bytes>(ring / frame_pitch, 1, 3);
    const Bytes base = std::max<Bytes>(0, ring - slots * frame_pitch) + frame_ % slots * frame_pitch;
    head_.address = static_cast<std::uint64_t>((base + frame_bytes_) % ring);
    head_.write = true;
    frame_bytes_ += head_.bytes;
    // (frame + frame_bytes / camera_bytes) / fps seconds, in one fraction; whole seconds apart, so nothing overflows.
    const std::int64_t second = frame_ / config_.camera_fps, in_second = frame_ % config_.camera_fps;
    const auto due = (static_cast<Wide>(in_second) * config_.camera_bytes + frame_bytes_) * clock_hz_;
    const auto per = static_cast<Wide>(config_.camera_bytes) * config_.camera_fps;
    head_.due = second * clock_hz_ + static_cast<Cycles>((due + per - 1) / per);
    return;
  }
  // Mean gap 64 x clock / rate cycles: draw in units of 1 / rate cycles and carry the fraction.
  const std::int64_t rate = config_.cpu_bytes_per_s;
  const std::int64_t most = 2 * kRequest * clock_hz_ / rate;  // whole cycles of twice the mean
  const std::int64_t rest = 2 * kRequest * clock_hz_ % rate;
  Cycles gap = static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(most) + 1));
  fraction_ += rest;
  if (fraction_ >= 2 * rate) {
    fraction_ -= 2 * rate;
    ++gap;
  }
  last_due_ += gap;
  head_.due = last_due_ + 1;
  head_.bytes = kRequest;
  head_.write = random_.below(100) < static_cast<std::uint64_t>(config_.cpu_write_percent);
  const auto span = static_cast<std::uint64_t>(config_.cpu_span_bytes / kRequest);
  const auto base = static_cast<std::uint64_t>(align_down(memory_bytes_ - config_.cpu_span_bytes, kRequest));
  head_.address = base + random_.below(span) * 64;
}

std::vector<BackgroundSource> background_sources(const MemoryConfig& config) {
  std::vector<BackgroundSource> sources;
  if (config.traffic.camera_bytes > 0) sources.emplace_back(BackgroundSource::Kind::camera, config);
  if (config.traffic.cpu_bytes_per_s > 0) sources.emplace_back(BackgroundSource::Kind::cpu, config);
  return sources;
}

}  // namespace tessera::hw
