// --save-tensors: inputs, masks, reference and every output of a case as safetensors that plain readers understand
// (contiguous, one file a role), so that anyone can check the numbers with other tools.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "ops/cases/cases.hpp"
#include "report/report.hpp"

namespace dd::session {

// What the files of each case begin with, in the order of the ids: no two alike, and the same however many jobs run them.
std::vector<std::string> file_prefixes(std::span<const std::string> case_ids);
// Files of a former run that bear one of the names which these cases may use.
void remove_saved(const std::string& folder, std::span<const std::string> prefixes);

class TensorSaver {
 public:
  // Files are named FOLDER/<prefix>.<role>.safetensors; the folder is made when it is not there.
  TensorSaver(std::string folder, std::string prefix, std::string spec_json, report::Case& c);
  void inputs(const spec::OpSpec& spec, const core::TensorMap& inputs);
  void reference(const ops::cases::ReferenceValues& reference);
  void output(const std::string& backend, const std::string& policy, const std::string& mode, const core::Tensor& out);

 private:
  void write(const std::string& role, const core::TensorMap& tensors, const std::string& what, const std::string& meaning = "");
  std::string folder_, prefix_, spec_json_;
  report::Case& case_;
};

}  // namespace dd::session
