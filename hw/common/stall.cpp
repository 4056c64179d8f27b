#include "hw/common/stall.hpp"

namespace tessera {

const char* stall_name(StallCause cause) {
  switch (cause) {
    case StallCause::fault:
      return "fault";
    case StallCause::instruction_fetch:
      return "instruction_fetch";
    case StallCause::semaphore_load:
      return "semaphore.load";
    case StallCause::semaphore_store:
      return "semaphore.store";
    case StallCause::semaphore_conv0:
      return "semaphore.conv0";
    case StallCause::semaphore_conv1:
      return "semaphore.conv1";
    case StallCause::semaphore_conv2:
      return "semaphore.conv2";
    case StallCause::semaphore_conv3:
      return "semaphore.conv3";
    case StallCause::semaphore_gemm:
      return "semaphore.gemm";
    case StallCause::semaphore_edp:
      return "semaphore.edp";
    case StallCause::semaphore_reorder:
      return "semaphore.reorder";
    case StallCause::semaphore_dsp:
      return "semaphore.dsp";
    case StallCause::semaphore_remote:
      return "semaphore.remote";
    case StallCause::sram_bank_conflict:
      return "sram_bank_conflict";
    case StallCause::dram_contention_fetch:
      return "dram.contention.fetch";
    case StallCause::dram_contention_load:
      return "dram.contention.load";
    case StallCause::dram_contention_store:
      return "dram.contention.store";
    case StallCause::dram_contention_core:
      return "dram.contention.core";
    case StallCause::dram_contention_camera:
      return "dram.contention.camera";
    case StallCause::dram_contention_cpu:
      return "dram.contention.cpu";
    case StallCause::dram_bandwidth:
      return "dram.bandwidth";
    case StallCause::dram_row_miss:
      return "dram.row_miss";
    case StallCause::dram_refresh:
      return "dram.refresh";
    case StallCause::dram_latency:
      return "dram.latency";
    case StallCause::drain:
      return "drain";
    case StallCause::host:
      return "host";
    case StallCause::count_:
      break;
  }
  return "?";
}

}  // namespace tessera
