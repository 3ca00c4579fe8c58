#include <fmt/format.h>

#include <algorithm>

#include "report/render/format.hpp"

namespace dd::report {
namespace {

std::string numbers(const std::vector<std::int64_t>& ids) {
  std::vector<std::string> texts;
  for (std::int64_t id : ids) texts.push_back(std::to_string(id));
  return fmt::format("engine{} {}", ids.size() == 1 ? "" : "s", joined(texts));
}

AskedLine accepting(const AskedEngine& e, const Asked& a) {
  std::vector<std::string> parts;
  const auto rank = std::find(a.order.begin(), a.order.end(), e.id);
  if (rank == a.order.end()) parts.emplace_back("its heuristics do not offer it for this device");
  else parts.push_back(fmt::format("offered {}", rank == a.order.begin() ? "first" : fmt::format("as number {}", rank - a.order.begin() + 1)));
  if (!e.name.empty()) parts.push_back(e.name);
  if (e.workspace >= 0) parts.push_back("workspace " + human_bytes(e.workspace));
  parts.insert(parts.end(), e.notes.begin(), e.notes.end());
  return {numbers({e.id}) + " accepts", joined(parts, "; ")};
}

// The engine's own number in its reason would keep equal reasons apart.
std::string without_own_number(const AskedEngine& e) {
  std::string text = e.reason;
  const std::string own = fmt::format("ngine {} ", e.id);
  if (const std::size_t at = text.find(own); at != std::string::npos) text.replace(at, own.size(), "ngine ");
  return e.code.empty() ? text : text.empty() ? e.code : e.code + ": " + text;
}

}  // namespace

std::string asked_headline(const Asked& a) {
  std::string out = a.library;
  if (!a.version.empty()) out += " " + a.version;
  if (!a.frontend.empty()) out += " (frontend " + a.frontend + ")";
  if (!a.device.empty()) out += " about " + a.device;
  if (a.error) return fmt::format("{}: no answer, {}{}", out, a.error->code.empty() ? "" : a.error->code + ": ", a.error->text);
  if (!a.refusal.empty()) return out + ": declines the call";
  return out + (a.serves() ? ": would serve the call" : ": no engine would serve the call");
}

std::vector<AskedLine> asked_lines(const Asked& a) {
  std::vector<AskedLine> out;
  if (!a.refusal.empty()) out.push_back({"reason", a.refusal});
  for (std::int64_t id : a.order)
    for (const AskedEngine& e : a.engines)
      if (e.id == id) out.push_back(accepting(e, a));
  for (const AskedEngine& e : a.engines)
    if (e.accepted && std::find(a.order.begin(), a.order.end(), e.id) == a.order.end()) out.push_back(accepting(e, a));
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> declining;
  for (const AskedEngine& e : a.engines) {
    if (e.accepted) continue;
    const std::string reason = without_own_number(e);
    const auto same = std::find_if(declining.begin(), declining.end(), [&](const auto& d) { return d.first == reason; });
    if (same == declining.end()) declining.push_back({reason, {e.id}});
    else same->second.push_back(e.id);
  }
  for (const auto& [reason, ids] : declining) out.push_back({numbers(ids) + (ids.size() == 1 ? " declines" : " decline"), reason});
  for (const std::string& doubt : a.doubts) out.push_back({"doubt", doubt});
  return out;
}

}  // namespace dd::report
