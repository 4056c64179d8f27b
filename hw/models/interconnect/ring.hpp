// A queue whose elements stay where they are while they are in it and are used again afterwards: nothing is allocated
// once it has been as long as it gets. An element that is pushed holds what it held when it was last popped.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace tessera::hw {

template <typename T>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T& operator[](std::size_t i) { return *slots_[(first_ + i) & (slots_.size() - 1)]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return *slots_[(first_ + i) & (slots_.size() - 1)]; }
  [[nodiscard]] T& front() { return (*this)[0]; }
  [[nodiscard]] const T& front() const { return (*this)[0]; }

  T& push() {
    if (size_ == slots_.size()) grow();
    return (*this)[size_++];
  }
  void pop() {
    ++first_;
    --size_;
  }

 private:
  void grow() {  // to the next power of two
    std::vector<std::unique_ptr<T>> slots(slots_.empty() ? 1 : 2 * slots_.size());
    for (std::size_t i = 0; i < size_; ++i) slots[i] = std::move(slots_[(first_ + i) & (slots_.size() - 1)]);
    for (std::size_t i = size_; i < slots.size(); ++i) slots[i] = std::make_unique<T>();
    slots_ = std::move(slots);
    first_ = 0;
  }

  std::vector<std::unique_ptr<T>> slots_;  // a power of two of them
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace tessera::hw
