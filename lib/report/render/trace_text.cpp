#include <fmt/format.h>

#include "report/render/format.hpp"
#include "report/render/render.hpp"

namespace dd::report {
namespace {

Ink verdict_ink(std::string_view v) { return v == "fast-path" ? Ink::good : v == "none" ? Ink::dim : Ink::warn; }

constexpr std::size_t longest_shown = 100;  // kernel names run to thousands of signs; -v and JSON have them whole

std::string kernel_name(const std::string& name, bool whole) {
  if (whole || name.size() <= longest_shown) return name;
  std::size_t end = longest_shown;
  while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) --end;  // not inside a letter
  return name.substr(0, end) + "…";
}

std::string operator_lines(const TraceOperator& o, bool color, bool whole) {
  const std::string& word = o.verdict == "none" ? o.operation : o.verdict;  // copies and waits have no path to be on
  std::string out = fmt::format("  {} {}  x{}{}{}\n", paint(fmt::format("{:<11}", word), verdict_ink(o.verdict), color), o.name, o.calls,
                                o.seconds > 0 ? "  " + human_seconds(o.seconds) : "", o.share > 0 ? fmt::format(" ({:.1f}%)", o.share * 100) : "");
  if (!o.shapes.empty()) out += fmt::format("              shapes   {}\n", joined(o.shapes));
  if (!o.dtypes.empty()) out += fmt::format("              dtypes   {}\n", joined(o.dtypes));
  for (const Operation& k : o.kernels)
    out += fmt::format("              kernel   {}{} x{}{}\n", k.detail.empty() ? "" : k.detail + ": ", kernel_name(k.name, whole), k.count, k.seconds ? "  " + human_seconds(*k.seconds) : "");
  for (const Conversion& c : o.conversions)
    out += fmt::format("              {:<8} {}{}\n", c.kind, c.what, c.bytes > 0 ? ", " + human_bytes(c.bytes) : "");
  return out;
}

// Times only where there are any: of a name alone nothing was measured.
std::string kernel_line(const TraceKernel& k, bool whole) {
  std::string out = k.seconds > 0 || k.share > 0 ? fmt::format("{:>6} {:>9}  ", fmt::format("{:.1f}%", k.share * 100), human_seconds(k.seconds)) : std::string();
  out += kernel_name(k.name, whole);
  if (k.provider.empty()) return out + "  not in the table";
  out += fmt::format("  {}/{}{}, tensor cores {}", k.provider, k.family, k.operation == k.family ? "" : " " + k.operation, k.tensor_cores);
  for (const std::string* each : {&k.alignment, &k.linked_by})
    if (!each->empty()) out += ", " + *each;
  return out;
}

std::string one_trace(const Trace& t, const TextOptions& options) {
  std::string out = fmt::format("{}  {}{}\n", paint(t.file, Ink::bold, options.color), t.format, t.partial ? "  (partial)" : "");
  for (const auto& [operation, verdict] : t.verdict)
    out += fmt::format("{:<11}{} [{}]\n", operation, paint(verdict, verdict_ink(verdict), options.color), t.grade);
  for (const std::string& warning : t.warnings) out += paint("warning: ", Ink::warn, options.color) + warning + "\n";
  for (const std::string& note : t.notes) out += "note: " + note + "\n";
  if (options.verbosity < 0) return out;
  if (!t.operators.empty()) out += "\n" + paint("operators", Ink::bold, options.color) + "\n";
  const std::size_t most_operators = options.verbosity > 0 ? t.operators.size() : 25;
  for (std::size_t i = 0; i < t.operators.size() && i < most_operators; ++i) out += operator_lines(t.operators[i], options.color, options.verbosity > 0);
  if (t.operators.size() > most_operators) out += fmt::format("  … {} more (-v shows them)\n", t.operators.size() - most_operators);
  if (!t.kernels.empty()) out += "\n" + paint("kernels", Ink::bold, options.color) + "\n";
  const std::size_t most = options.verbosity > 0 ? t.kernels.size() : 15;
  for (std::size_t i = 0; i < t.kernels.size() && i < most; ++i) {
    const TraceKernel& k = t.kernels[i];
    out += "  " + kernel_line(k, options.verbosity > 0) + "\n";
  }
  if (t.kernels.size() > most) out += fmt::format("  … {} more (-v shows them)\n", t.kernels.size() - most);
  if (!t.findings.empty()) out += "\n" + paint("findings", Ink::bold, options.color) + "\n";
  for (const Finding& f : t.findings) {
    out += fmt::format("{}[{}] {}  ({})\n", f.status == "unknown" ? "unknown" : f.level, f.id, f.title, f.name);
    const auto part = [&](std::string_view label, const std::string& text) {
      if (!text.empty()) out += fmt::format("  {:<10}{}\n", label, text);
    };
    part("seen", f.seen);
    part("required", f.required);
    part("effect", f.effect);
    part("fix", f.fix);
    if (!f.fix.empty()) part("keeps", std::string(keeps_words(f.keeps)));
  }
  return out;
}

}  // namespace

std::string render_traces(const Report& r, const TextOptions& options) {
  std::string out;
  for (const Trace& t : r.traces) out += (out.empty() ? "" : "\n") + one_trace(t, options);
  return out;
}

}  // namespace dd::report
