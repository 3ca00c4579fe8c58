// One function a verb; each returns the exit code.
#pragma once
#include <string>
#include <vector>

#include "cli/options.hpp"

namespace dd::cli {

int run_diagnose(const Invocation& in, const std::vector<std::string>& argv);  // sdpa, gemm
int run_batch(const Invocation& in, const std::vector<std::string>& argv);     // run
int run_trace(const Invocation& in, const std::vector<std::string>& argv);
int run_logs(const Invocation& in, const std::vector<std::string>& argv);
int run_diff(const Invocation& in);
int run_record(const Invocation& in);                                          // record
int run_explain(const Invocation& in);
int run_rules(const Invocation& in);
int run_backends(const Invocation& in);
int run_devices(const Invocation& in);
int run_env(const Invocation& in);
int run_worker_verb();  // hidden: the native worker

}  // namespace dd::cli
