#include "compiler/interpret/kernels.hpp"

namespace tessera::compiler::kernels {

extern const Table table_base;
#if defined(__x86_64__)
extern const Table table_avx2;
extern const Table table_avx512;
#endif

std::size_t available(const Table** tables, std::size_t room) {
  std::size_t count = 0;
  const auto add = [&](const Table& table) {
    if (count < room) tables[count++] = &table;
  };
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) add(table_avx512);
  if (__builtin_cpu_supports("avx2")) add(table_avx2);
#endif
  add(table_base);
  return count;
}

const Table& best() {
  static const Table* const chosen = [] {
    const Table* first = nullptr;
    (void)available(&first, 1);
    return first;
  }();
  return *chosen;
}

}  // namespace tessera::compiler::kernels
