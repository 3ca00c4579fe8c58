// A small pattern language for kernel names, compiled once and matched without recursion over the text.
// Signs: `#` one or more digits, `*` any run of word characters, `%` any run of characters, `^` start, `$` end,
// `~` not preceded by a word character, `{a|b|}` one of the alternatives. Everything else stands for itself.
// Matching spends a bounded number of steps, so a hostile name costs time in proportion to the limit, not to the name.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>
namespace dd::evidence {

class NamePattern {
 public:
  explicit NamePattern(std::string_view text);
  // True when the pattern occurs in `name`. `steps` is what may still be spent; at zero the answer is false.
  bool found_in(std::string_view name, std::uint32_t& steps) const;
  // The literal pieces of each expansion, for the table's own checks.
  std::vector<std::string> literals() const;

 private:
  enum class Kind : std::uint8_t { literal, digits, word, any, start, end, boundary };
  struct Token {
    Kind kind;
    std::string text;
  };
  using Sequence = std::vector<Token>;
  static Sequence tokenize(std::string_view text);
  // hopeless: no later start can match either, because what follows a `%` occurs nowhere behind this point.
  enum class Match : std::uint8_t { no, yes, hopeless };
  static Match match_at(const Sequence& tokens, std::size_t index, std::string_view name, std::size_t at,
                        std::uint32_t& steps);
  static Match match_behind_gap(const Sequence& tokens, std::size_t index, std::string_view name, std::size_t at,
                                std::uint32_t& steps);
  std::vector<Sequence> sequences_;
};

bool is_word(char c);
bool is_digit(char c);

}  // namespace dd::evidence
