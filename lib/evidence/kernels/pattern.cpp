#include "evidence/kernels/pattern.hpp"

namespace dd::evidence {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

namespace {

// Writes out the first `{a|b}` group; groups do not nest, so repeating this removes them all.
void expand(const std::string& text, std::vector<std::string>& out) {
  const auto open = text.find('{');
  if (open == std::string::npos) {
    out.push_back(text);
    return;
  }
  const auto close = text.find('}', open);
  if (close == std::string::npos) {
    out.push_back(text);
    return;
  }
  std::size_t begin = open + 1;
  while (begin <= close) {
    auto end = text.find('|', begin);
    if (end == std::string::npos || end > close) end = close;
    expand(text.substr(0, open) + text.substr(begin, end - begin) + text.substr(close + 1), out);
    begin = end + 1;
  }
}

}  // namespace

NamePattern::NamePattern(std::string_view text) {
  std::vector<std::string> flat;
  expand(std::string(text), flat);
  for (const auto& each : flat) sequences_.push_back(tokenize(each));
}

NamePattern::Sequence NamePattern::tokenize(std::string_view text) {
  Sequence out;
  for (const char c : text) {
    switch (c) {
      case '#': out.push_back({Kind::digits, {}}); break;
      case '*': out.push_back({Kind::word, {}}); break;
      case '%': out.push_back({Kind::any, {}}); break;
      case '^': out.push_back({Kind::start, {}}); break;
      case '$': out.push_back({Kind::end, {}}); break;
      case '~': out.push_back({Kind::boundary, {}}); break;
      default:
        if (out.empty() || out.back().kind != Kind::literal) out.push_back({Kind::literal, {}});
        out.back().text += c;
    }
  }
  return out;
}

// Recursion is over tokens only (a few dozen at most); runs are walked in loops.
NamePattern::Match NamePattern::match_at(const Sequence& tokens, std::size_t index, std::string_view name,
                                         std::size_t at, std::uint32_t& steps) {
  for (; index < tokens.size(); ++index) {
    if (steps == 0) return Match::hopeless;
    --steps;
    const Token& token = tokens[index];
    switch (token.kind) {
      case Kind::literal:
        if (name.substr(at, token.text.size()) != token.text) return Match::no;
        at += token.text.size();
        break;
      case Kind::start:
        if (at != 0) return Match::no;
        break;
      case Kind::end:
        if (at != name.size()) return Match::no;
        break;
      case Kind::boundary:
        if (at > 0 && is_word(name[at - 1])) return Match::no;
        break;
      case Kind::digits: {
        std::size_t end = at;
        while (end < name.size() && is_digit(name[end])) ++end;
        if (end == at) return Match::no;
        at = end;  // no pattern continues with a digit, so the longest run is the only one
        break;
      }
      case Kind::word:
        if (index + 1 == tokens.size()) return Match::yes;
        for (std::size_t next = at; next <= name.size(); ++next) {
          if (next > at && !is_word(name[next - 1])) return Match::no;
          const Match rest = match_at(tokens, index + 1, name, next, steps);
          if (rest != Match::no) return rest;
        }
        return Match::no;
      case Kind::any:
        return match_behind_gap(tokens, index + 1, name, at, steps);
    }
  }
  return Match::yes;
}

NamePattern::Match NamePattern::match_behind_gap(const Sequence& tokens, std::size_t index, std::string_view name,
                                                 std::size_t at, std::uint32_t& steps) {
  if (index == tokens.size()) return Match::yes;
  const Token& follower = tokens[index];
  for (; at <= name.size(); ++at) {
    if (follower.kind == Kind::literal) {
      at = name.find(follower.text, at);
      if (at == std::string_view::npos) return Match::hopeless;
    }
    const Match rest = match_at(tokens, index, name, at, steps);
    if (rest != Match::no) return rest;
  }
  return Match::hopeless;
}

bool NamePattern::found_in(std::string_view name, std::uint32_t& steps) const {
  for (const Sequence& tokens : sequences_) {
    if (tokens.empty()) continue;
    const bool anchored = tokens.front().kind == Kind::start;
    const bool literal = tokens.front().kind == Kind::literal;
    for (std::size_t at = 0; at <= name.size(); ++at) {
      if (literal) at = name.find(tokens.front().text, at);
      if (at == std::string_view::npos) break;
      const Match result = match_at(tokens, 0, name, at, steps);
      if (result == Match::yes) return true;
      if (result == Match::hopeless || anchored) break;
    }
    if (steps == 0) return false;
  }
  return false;
}

std::vector<std::string> NamePattern::literals() const {
  std::vector<std::string> out;
  for (const Sequence& tokens : sequences_) {
    std::string joined;
    for (const Token& token : tokens) joined += token.kind == Kind::literal ? token.text : std::string(1, '\x01');
    out.push_back(joined);
  }
  return out;
}

}  // namespace dd::evidence
