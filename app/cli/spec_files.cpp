// Batch files and spec files.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "cli/options.hpp"

namespace dd::cli {
namespace {

constexpr std::size_t most_bytes = 256u << 20;
constexpr std::size_t most_line = 1u << 20;

// The whole of a file or of standard input; a problem when it cannot be read or is past the limit.
core::Result<std::string> read_all(const std::string& path) {
  std::FILE* const file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (!file) return core::Problem{"", std::strerror(errno), "a .json, .jsonl or .txt file, or -", "the file cannot be opened", path, 0};
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(path == "-" ? nullptr : file, std::fclose);
  std::string text;
  char block[1 << 16];
  std::size_t count = 0;
  while ((count = std::fread(block, 1, sizeof block, file)) > 0) {
    text.append(block, count);
    if (text.size() > most_bytes)
      return core::Problem{"", fmt::format("more than {} bytes", most_bytes), "a smaller file", "the file is past a limit", path, 0};
  }
  if (std::ferror(file)) return core::Problem{"", errno == EISDIR ? "a folder" : std::strerror(errno), "a file", "the file cannot be read", path, 0};
  return text;
}

enum class Kind { json, jsonl, lines };

// Standard input has no name: JSON starts with a bracket; an object that ends on its first line is JSON lines.
Kind guess(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string_view::npos) return Kind::lines;
  if (text[start] == '[') return Kind::json;
  if (text[start] != '{') return Kind::lines;
  std::string_view first = text.substr(start, text.find('\n', start) - start);
  while (!first.empty() && (first.back() == '\r' || first.back() == ' ')) first.remove_suffix(1);
  return first.ends_with('}') ? Kind::jsonl : Kind::json;
}

}  // namespace

core::Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < line.size() &&
                         (quote == 0 || line[i + 1] == '"' || line[i + 1] == '\\' || line[i + 1] == '$' || line[i + 1] == '`');
    if (escapes) {
      word += line[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (c == '#' && !in_word) {
      break;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0)
    return core::Problem{"", std::string("an open ") + quote, std::string("a closing ") + quote, "a quotation does not end", {}, 0};
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::vector<spec::Entry> parse_batch(std::string_view text, const std::string& file) {
  std::vector<spec::Entry> out;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    std::string_view words = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == 1 && words.starts_with("\xef\xbb\xbf")) words.remove_prefix(3);
    const std::size_t start = words.find_first_not_of(" \t\r");
    if (start == std::string_view::npos || words[start] == '#') continue;
    if (out.size() == spec::most_specs) {
      out.push_back({file, line, spec::too_many_specs(file, line)});
      break;
    }
    core::Result<spec::OpSpec> spec =
        words.size() <= most_line
            ? parse_batch_line(words)
            : core::Result<spec::OpSpec>(core::Problem{"", fmt::format("{} bytes", words.size()), fmt::format("at most {}", most_line), "the line is past a limit", {}, 0});
    if (!spec) {
      core::Problems problems = spec.problems();
      for (core::Problem& problem : problems) {
        problem.file = file;
        problem.line = line;
      }
      spec = std::move(problems);
    }
    out.push_back({file, line, std::move(spec)});
  }
  return out;
}

std::vector<spec::Entry> load_specs(const std::string& path) {
  core::Result<std::string> text = read_all(path);
  const std::string name = path == "-" ? "standard input" : path;
  std::vector<spec::Entry> out;
  if (!text) {
    out.push_back({name, 0, text.problems()});
    return out;
  }
  if (path.ends_with(".jsonl")) return spec::parse_jsonl(*text, name);
  if (path.ends_with(".json")) return spec::parse_json_document(*text, name);
  if (path.ends_with(".txt")) return parse_batch(*text, name);
  switch (guess(*text)) {
    case Kind::json:
      return spec::parse_json_document(*text, name);
    case Kind::jsonl:
      return spec::parse_jsonl(*text, name);
    case Kind::lines:
      break;
  }
  return parse_batch(*text, name);
}

}  // namespace dd::cli
