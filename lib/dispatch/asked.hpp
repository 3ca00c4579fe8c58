// A library asked whether it would serve a call, before anything runs and on a device that need not be here: its word as a
// fact, and the rules that hold the word against our own.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rules/rule.hpp"

namespace dd::dispatch {

// The fact is run_backend: nothing runs in such a case. `serves` absent: the library could not be asked, `who` says why.
void set_asked_fact(facts::FactSet& facts, std::string_view backend, std::optional<bool> serves, const std::string& who);
// Whether the library spoke about this backend.
bool was_asked(std::string_view backend, const facts::FactSet& facts);
// RUL rules (fact rules_block).
std::span<const rules::Rule> asked_rules();

}  // namespace dd::dispatch
