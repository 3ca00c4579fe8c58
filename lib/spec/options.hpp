// The one table of spec options. Command line, --help, completion, man page, JSON reader, repro line and tests all read
// these rows; a default is text that goes through the option's own setter, so help and code cannot differ.
// What one row does not say: the meaning of combinations (finish() in draft.cpp, validate.hpp).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/draft.hpp"

namespace dd::spec {

enum class OptionKind { flag, value, repeated };  // a flag may carry a value after '=': --deterministic=warn_only

// What every row of an option table has, for help and completion.
struct OptionText {
  std::string_view group;     // heading in help
  std::string_view name;      // with dashes
  std::string_view aliases;   // separated by spaces
  OptionKind kind = OptionKind::value;
  std::string_view value;     // what to write, a|b|c when these are the choices
  std::string_view fallback;  // default as text; empty when there is none
  std::string_view help;      // one line, lower case
  std::string_view example;   // a value that is not the default, for tests and completion
};

constexpr std::size_t most_sequences = 65536;  // lengths in one nested spec

// What nearly every setter does: takes the value, or says what was wanted.
template <class T, class U>
std::string set(T& slot, const std::optional<U>& value, std::string wanted) {
  if (!value) return wanted;
  slot = *value;
  return {};
}

enum OpMask : unsigned { on_sdpa = 1, on_gemm = 2, on_both = 3, on_run = 4, on_all = 7 };
constexpr OpMask mask_of(Op op) { return op == Op::sdpa ? on_sdpa : on_gemm; }

struct SpecOption {
  OptionText text;
  unsigned ops;  // OpMask; on_run: `run` takes it too and sets it in every spec that it reads
  // Empty when the value was taken, else what would have been accepted.
  std::string (*apply)(Draft&, std::string_view value);
  // The values with which the command line would say what this spec has (nothing when the default says it).
  std::vector<std::string> (*show)(const OpSpec&);
};

std::span<const SpecOption> spec_options();
// By name or alias among the options of these operators; nullptr when there is none.
const SpecOption* find_option(std::string_view name, unsigned ops);

// An option as given: its row and its raw value ("true" for a plain flag).
struct RawOption {
  const SpecOption* option = nullptr;
  std::string value;
};

// From the options of one command line (or batch line) to a validated spec.
core::Result<OpSpec> from_options(Op op, std::span<const RawOption> options);
// Sets options of `run` in a spec read from a file, and validates again.
core::Result<OpSpec> with_options(OpSpec spec, std::span<const RawOption> options);

struct ExtraField {
  unsigned ops;
  std::string_view name;
  enum class Type { integer, real, boolean, name, list } type;
  std::string_view help;
};
std::span<const ExtraField> extra_fields();
// The value in canonical text, or nullopt when it is not of the field's type.
std::optional<std::string> canonical_extra(const ExtraField& field, std::string_view value);
const ExtraField* find_extra(std::string_view name, Op op);

}  // namespace dd::spec
