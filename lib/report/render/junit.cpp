#include <fmt/format.h>

#include <pugixml.hpp>
#include <sstream>

#include "report/render/render.hpp"

namespace dd::report {
namespace {

// XML 1.0 has no place for most control characters, whatever the escaping.
std::string clean(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = '?';
  return text;
}

const char* element_for(int exit_code) {
  switch (exit_code) {
    case 0: return nullptr;
    case 2:
    case 4: return "error";
    case 5: return "skipped";
    default: return "failure";
  }
}

std::string message_for(const Case& c) {
  if (!c.problems.empty()) return c.problems.front();
  for (const Requirement& r : c.requirements)
    if (r.status != "met") return fmt::format("requirement {} {}: {}", r.text, r.status, r.detail);
  return c.verdict.summary;
}

void add_case(pugi::xml_node suite, const Case& c) {
  pugi::xml_node node = suite.append_child("testcase");
  node.append_attribute("classname") = "dispatchdoctor";
  node.append_attribute("name") = clean(c.title.empty() ? c.id : c.id + " " + c.title).c_str();
  node.append_attribute("time") = fmt::format("{:.3f}", c.seconds).c_str();
  if (const char* element = element_for(c.exit_code)) {
    pugi::xml_node bad = node.append_child(element);
    bad.append_attribute("message") = clean(message_for(c)).c_str();
    if (c.exit_code != 5) bad.append_attribute("type") = fmt::format("exit-{}", c.exit_code).c_str();
    std::string text;
    for (const std::string& p : c.problems) text += p + "\n";
    if (c.problems.empty()) text = render_case(c, {});
    bad.text().set(clean(text).c_str());
  }
  if (!c.repro.empty()) node.append_child("system-out").text().set(clean(c.repro).c_str());
}

}  // namespace

std::string render_junit(const Report& r) {
  pugi::xml_document doc;
  pugi::xml_node suites = doc.append_child("testsuites");
  pugi::xml_node suite = suites.append_child("testsuite");
  int failures = 0, errors = 0, skipped = 0;
  double seconds = 0;
  for (const Case& c : r.cases) {
    const char* element = element_for(c.exit_code);
    const std::string_view kind = element ? element : "";
    failures += kind == "failure";
    errors += kind == "error";
    skipped += kind == "skipped";
    seconds += c.seconds;
  }
  for (pugi::xml_node node : {suites, suite}) {
    node.append_attribute("name") = "dispatchdoctor";
    node.append_attribute("tests") = static_cast<int>(r.cases.size());
    node.append_attribute("failures") = failures;
    node.append_attribute("errors") = errors;
    node.append_attribute("skipped") = skipped;
    node.append_attribute("time") = fmt::format("{:.3f}", seconds).c_str();
  }
  for (const Case& c : r.cases) add_case(suite, c);
  std::ostringstream out;
  doc.save(out, "  ");
  return out.str();
}

}  // namespace dd::report
