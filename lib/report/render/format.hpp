// Small formatting helpers that all text-like renderers share: bytes, seconds, indices, colours, grouped findings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace dd::report {

// Beginning of the sentence of the verdict that a search for fixes found none.
inline constexpr std::string_view no_change_helps = "no single change and no pair of changes";

std::string human_bytes(std::int64_t bytes);    // 4.0 MiB
std::string human_seconds(double seconds);      // 1.24 ms
std::string human_number(double value);         // three significant digits
std::string exact_number(double value);         // nine: enough to tell neighbours in f32 apart
std::string index_text(const std::vector<std::int64_t>& index);  // [0,3,17,5]
std::string scalar_text(const Scalar& value);
// What a fix keeps, in words: the class "precision" is the function at lower accuracy.
std::string_view keeps_words(std::string_view keeps);
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

enum class Ink { plain, good, bad, warn, dim, bold };
// "3 cases: 1 fast, …; 2 tested", with those that could not be run where there are any.
std::string summary_line(const Summary& s);
std::string paint(std::string_view text, Ink ink, bool color);
Ink ink_of(Outcome outcome);
Ink ink_of(Status status);

// The same finding on several candidates is one cause and is shown once.
struct GroupedFinding {
  const Finding* finding;
  std::vector<std::string> backends;  // empty: about the whole call
};
std::vector<GroupedFinding> grouped_findings(const Case& c, bool with_met);

// A library's own answer: one line of verdict, then who accepts, who declines and why (same reasons together), and what
// is not to be relied on.
struct AskedLine {
  std::string label, text;
};
std::string asked_headline(const Asked& asked);
std::vector<AskedLine> asked_lines(const Asked& asked);

// The attempt that the dispatcher's choice ran (policy allow, first mode), nullptr when there is none.
const Attempt* chosen_attempt(const Case& c);
const Attempt* attempt_of(const Candidate& candidate, std::string_view policy);

}  // namespace dd::report
