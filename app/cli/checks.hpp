// What is looked at before anything is computed: names of backends in policies and requirements, and whether the files
// that results go to could be written. Every mistake comes back as a Problem.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "core/result.hpp"
#include "session/batch.hpp"

namespace dd::cli {

// Backends that allow, deny, order or force name and that do not exist.
core::Problems unknown_backends(const spec::OpSpec& spec);
// The names in a spec that has other mistakes, and is perhaps no call at all: backends and the target.
core::Problems unknown_names(const spec::OpSpec& spec);
// The same of --require backend=NAME: a name that none of the calls could ever be served by.
core::Problems unknown_required(const std::vector<std::string>& requirements, std::span<const session::BatchItem> items);
// What a command line asks for beside its call, and cannot have: files and folders of the output options that could not be
// written, backends required that do not exist. Nothing is made or touched.
core::Problems command_line_problems(const Invocation& in);

}  // namespace dd::cli
