// What the edits of attention calls and of matrix products share.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "session/fix.hpp"

namespace dd::session {

double bytes_of(const spec::TensorSpec& t);
// A contiguous tensor of this shape in memory of its own, otherwise like `t`.
spec::TensorSpec fresh(const spec::TensorSpec& t, spec::Dims shape);
// One edit for each version of the list that is newer than the one stated; none when no version is stated.
void add_newer(const spec::OpSpec& spec, const char* library, std::optional<std::string> spec::Context::*member, std::initializer_list<const char*> list, std::vector<Edit>& out);

// Every concrete form of one kind of change of a matrix product.
std::vector<Edit> product_edits(rules::Change change, const spec::OpSpec& spec);

}  // namespace dd::session
