// The rule tables of PyTorch's attention dispatcher, one per backend, with the positions of the checks by version and
// the names under which case files know the rules. Owners: TSD (the whole call), TFL flash, TEF memory-efficient,
// TCU cuDNN, TCP CPU, TMA math, TOV the slot for foreign devices, TRO the AMD builds.
#pragma once
#include <span>
#include <string_view>

#include "frameworks/framework.hpp"
#include "rules/rule.hpp"

namespace dd::frameworks::torch_attention {

// Condition builders are what these tables consist of.
using namespace rules;
using facts::Id;

using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

constexpr std::string_view checked = "2026-11-29";

// Met for PyTorch versions since <= version <= until ("" open; "2.6" as an end means every 2.6.x).
inline Condition in(std::string_view since, std::string_view until) { return in_span(Id::torch_version, {since, until}); }

// Met with this cuDNN or a newer one; a build without cuDNN does not meet it.
inline Condition cudnn_from(std::string_view version) {
  return all({is_true(Id::built_cudnn), version_in(Id::cudnn_version, version, "")});
}

// Four axes each; from 2.15 on three axes as well, which get a batch axis before any check.
inline Condition four_axes() {
  const auto each = [](int n) { return all({equals(Id::q_rank, n), equals(Id::k_rank, n), equals(Id::v_rank, n)}); };
  return any({each(4), all({in("2.15", ""), each(3)})});
}

// A mask of two or four axes; a mask beside inputs of three axes gets the missing axes from 2.15 on.
inline Condition two_or_four_mask_axes() {
  return any({one_of(Id::mask_rank, Numbers{2, 4}), all({in("2.15", ""), equals(Id::q_rank, 3), at_most(Id::mask_rank, 3)})});
}

std::span<const Rule> call_rules();
std::span<const Rule> outcome_rules();  // look at the result of the walk
std::span<const Rule> flash_rules();
std::span<const Rule> efficient_rules();
std::span<const Rule> cudnn_rules();
std::span<const Rule> cpu_rules();
std::span<const Rule> math_rules();
std::span<const Rule> overrideable_rules();
std::span<const Rule> rocm_flash_rules();      // in addition to those of flash that are not about NVIDIA GPUs
std::span<const Rule> rocm_efficient_rules();  // likewise

std::span<const CheckPosition> flash_positions();
std::span<const CheckPosition> efficient_positions();
std::span<const CheckPosition> cudnn_positions();
std::span<const CheckPosition> cpu_positions();
std::span<const CheckPosition> math_positions();

struct CaseName {
  std::string_view name;  // e.g. flash.rank_not_4
  std::string_view rule;  // e.g. TFL004
};
std::span<const CaseName> case_names();

}  // namespace dd::frameworks::torch_attention
