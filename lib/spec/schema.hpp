// The JSON Schema (draft 2020-12) of a spec, made from the same table of fields that the reader uses. The committed
// copy is configs/schemas/spec.schema.json; a test fails when the two differ.
#pragma once
#include <string>

namespace dd::spec {

// Pretty-printed, with a newline at the end.
std::string spec_schema();

}  // namespace dd::spec
