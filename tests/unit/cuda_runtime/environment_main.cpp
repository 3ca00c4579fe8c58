// Prints the record of the NVIDIA libraries and the findings about them as JSON, for hidden_libraries.py.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "backends/cuda_runtime/environment.hpp"

int main() {
  using namespace dd;
  nlohmann::json out;
  facts::FactSet facts;
  cuda::add_all_library_facts(facts);
  for (cuda::Library which : cuda::all_libraries) out["libraries"].push_back(cuda::library_record_json(which));
  out["findings"] = nlohmann::json::array();
  for (const rules::Finding& f : rules::evaluate_all(cuda::environment_rules(), facts))
    if (f.status != rules::Truth::met)
      out["findings"].push_back({{"id", f.rule->id}, {"status", core::to_text(f.status)}, {"seen", f.seen}, {"required", f.required}, {"fix", f.rule->fix.text}});
  std::puts(out.dump(1).c_str());
}
