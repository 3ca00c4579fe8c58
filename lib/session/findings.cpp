#include "session/findings.hpp"

#include <fmt/format.h>

namespace dd::session {
namespace {

std::string text_of(const rules::Source& s) {
  std::string out(s.text);
  if (!s.version.empty()) out += fmt::format(", {}", s.version);
  if (!s.checked.empty()) out += fmt::format(", checked {}", s.checked);
  return out;
}

report::Scalar scalar(const facts::Value& value) {
  return std::visit(
      [](const auto& v) -> report::Scalar {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, facts::NotApplicable> || std::is_same_v<T, facts::Version>) return facts::to_text(v);
        else return v;
      },
      value);
}

// What is free changes from moment to moment: rules judge the bytes, a report tells what two runs of one call agree on.
std::int64_t steady_bytes(std::int64_t bytes) {
  const std::int64_t step = bytes >= std::int64_t{4} << 30 ? std::int64_t{1} << 30 : std::int64_t{64} << 20;
  return bytes < step ? bytes : bytes / step * step;
}

}  // namespace

report::Finding to_report(const rules::Finding& f) {
  const rules::Rule& r = *f.rule;
  report::Finding out;
  out.id = r.id;
  out.name = r.name;
  out.level = core::to_text(r.level);
  out.title = r.title;
  out.seen = f.seen;
  out.required = f.required;
  out.effect = r.effect;
  out.fix = r.fix.text;
  out.keeps = core::to_text(r.fix.keeps);
  out.blame = core::to_text(r.blame);
  out.source = text_of(r.source);
  out.status = core::to_text(f.status);
  return out;
}

std::vector<report::Finding> to_report(std::span<const rules::Finding> findings, bool with_met) {
  std::vector<report::Finding> out;
  for (const rules::Finding& f : findings)
    if (with_met || f.status != rules::Truth::met) out.push_back(to_report(f));
  return out;
}

std::vector<report::Fact> to_report(const facts::FactSet& facts) {
  std::vector<report::Fact> out;
  for (std::size_t i = 0; i < facts::id_count; ++i) {
    const auto id = static_cast<facts::Id>(i);
    const facts::Entry& entry = facts[id];
    // A fact without a meaning for this call is not worth a line.
    if (!facts.known(id) || std::holds_alternative<facts::NotApplicable>(entry.value)) continue;
    const facts::Info& info = facts::info(id);
    report::Scalar value = scalar(entry.value);
    if (auto* bytes = std::get_if<std::int64_t>(&value); bytes && id == facts::Id::memory_available) *bytes = steady_bytes(*bytes);
    out.push_back({std::string(info.name), std::move(value), std::string(info.unit), std::string(core::to_text(entry.provenance))});
  }
  return out;
}

}  // namespace dd::session
