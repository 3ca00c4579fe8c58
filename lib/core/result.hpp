// Result<T>: a value, or the list of all problems found (never only the first).
// A Problem names the field, the value seen and the value wanted; file and line where the input had them.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dd::core {

struct Problem {
  std::string field;    // e.g. "q.shape[3]" or "--dtype"
  std::string seen;     // as the user wrote it
  std::string wanted;   // what would be accepted
  std::string message;  // one lower-case sentence without advice
  std::string file;     // empty when there is no file
  int line = 0;         // 1-based; 0 when there is no line
};

using Problems = std::vector<Problem>;

// "file:line: field: message (seen S, wanted W)"
std::string to_text(const Problem& problem);

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Problems problems) : state_(std::in_place_index<1>, std::move(problems)) {}
  Result(Problem problem) : state_(std::in_place_index<1>, Problems{std::move(problem)}) {}

  explicit operator bool() const { return state_.index() == 0; }
  bool ok() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Problems& problems() const { return std::get<1>(state_); }

 private:
  std::variant<T, Problems> state_;
};

}  // namespace dd::core
