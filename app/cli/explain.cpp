// explain [ID|NAME] and rules: the catalogue, one rule in full or all of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/catalogue.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "rules/catalogue.hpp"

namespace dd::cli {

int run_rules(const Invocation& in) {
  const auto all = backends::catalogue().all();
  print(in.run.format == Format::json ? rules::rules_json(all) : in.run.format == Format::md ? rules::rules_markdown(all) : rules::rules_text(all));
  return 0;
}

int run_explain(const Invocation& in) {
  if (in.arguments.empty()) return run_rules(in);
  int code = 0;
  std::string out;
  for (const std::string& name : in.arguments) {
    const rules::Rule* rule = backends::catalogue().find(name);
    if (!rule) {
      const auto near = backends::catalogue().near(name);
      complain(fmt::format("error: no rule {}{}", name, near.empty() ? "; `dispatchdoctor rules` lists all" : fmt::format("; did you mean {}?", fmt::join(near, ", "))));
      code = 2;
      continue;
    }
    if (!out.empty()) out += "\n";
    out += in.run.format == Format::json ? rules::rules_json({rule}) : in.run.format == Format::md ? rules::rules_markdown({rule}) : rules::explain_text(*rule);
  }
  print(out);
  return code;
}

}  // namespace dd::cli
