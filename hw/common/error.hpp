// The three kinds of error (house style section 5): user error -> exit 2, fault of the simulated program -> exit 3,
// our own bug -> exit 1. Libraries throw; only the command turns them into exit codes.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace tessera {

/// Bad model, chip, option or file. The text says where, what was found, what is legal, what to do.
class UserError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The simulated program failed: fault, race, stuck, watchdog.
class ProgramError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of Tessera itself.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace detail {
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}
}  // namespace detail

template <typename... Parts>
[[noreturn]] void user_error(const Parts&... parts) {
  throw UserError(detail::concat(parts...));
}

}  // namespace tessera

#define TESSERA_CHECK(condition, ...)                                                               \
  do {                                                                                              \
    if (!(condition)) {                                                                             \
      throw ::tessera::InternalError(                                                               \
          ::tessera::detail::concat(__FILE__, ":", __LINE__, ": ", #condition, ": ", __VA_ARGS__)); \
    }                                                                                               \
  } while (false)
