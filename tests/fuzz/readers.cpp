#include "readers.hpp"

#include <cstdio>
#include <cstdlib>

#include "cli/options.hpp"
#include "spec/canonical.hpp"
#include "spec/validate.hpp"

namespace dd::fuzz {
namespace {

void must(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\ninput (%zu bytes): %.*s\n", what, text.size(), static_cast<int>(text.size()), text.data());
  std::abort();
}

void check(const spec::Entry& entry, std::string_view text) {
  if (!entry.spec) {
    must(!entry.spec.problems().empty(), "a failure has a problem", text);
    for (const core::Problem& p : entry.spec.problems()) {
      must(!p.message.empty() && !p.wanted.empty() && !p.seen.empty(), "a problem says what is wrong, seen and wanted", text);
      must(p.file == "input", "a problem names the file", text);
      must(p.line >= 1, "a problem names the line", text);
      const std::string line = to_text(p);
      must(line.size() < 8192, "a problem is short", text);
      must(spec::is_plain_text(line), "a problem can be printed", text);
    }
    return;
  }
  const spec::OpSpec& spec = entry.spec.value();
  must(spec::validate(spec).empty(), "what is read is valid", text);
  const std::string canonical = spec::canonical(spec);
  const auto again = spec::parse_json(canonical);
  must(again.ok(), "the canonical form is read", text);
  must(spec::canonical(*again) == canonical, "the canonical form is a fixed point", text);
  const auto repro = cli::parse_batch_line(spec::repro_line(spec));
  must(repro.ok(), "the repro line is read", text);
  must(spec::canonical(*repro) == canonical, "the repro line gives the same spec", text);
}

}  // namespace

void fuzz_json(std::string_view text) {
  for (const spec::Entry& entry : spec::parse_json_document(text, "input")) check(entry, text);
  for (const spec::Entry& entry : spec::parse_jsonl(text, "input")) check(entry, text);
}

void fuzz_lines(std::string_view text) {
  for (const spec::Entry& entry : cli::parse_batch(text, "input")) check(entry, text);
}

}  // namespace dd::fuzz
