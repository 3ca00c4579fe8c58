// From options as given to a spec, and the extra fields.
#include "spec/options.hpp"

#include <fmt/format.h>

#include <array>

#include "spec/validate.hpp"

namespace dd::spec {
namespace {

void apply_all(Draft& draft, std::span<const RawOption> options, core::Problems& problems) {
  for (const RawOption& raw : options) {
    const OptionText& text = raw.option->text;
    const std::string name(text.name);
    if (text.kind != OptionKind::repeated && !draft.given.insert(name).second) {
      problems.push_back({name, excerpt(raw.value), "one value", "the option is given more than once", {}, 0});
      continue;
    }
    std::string wanted = raw.option->apply(draft, raw.value);
    if (wanted.empty()) continue;
    draft.bad.insert(name);
    problems.push_back({name, excerpt(raw.value), std::move(wanted), "the value is not understood", {}, 0});
  }
}

constexpr ExtraField extras[] = {
#define DD_EXTRA(ops, name, type, help) {ops, #name, ExtraField::Type::type, help},
#include "spec/extra_fields.def"
#undef DD_EXTRA
};

}  // namespace

Draft default_draft(Op op) {
  Draft draft(op);
  for (const SpecOption& option : spec_options())
    if ((option.ops & mask_of(op)) && !option.text.fallback.empty()) option.apply(draft, option.text.fallback);
  draft.in_defaults = false;
  return draft;
}

core::Result<OpSpec> from_options(Op op, std::span<const RawOption> options) {
  Draft draft = default_draft(op);
  core::Problems problems;
  apply_all(draft, options, problems);
  return finish(std::move(draft), std::move(problems));
}

core::Result<OpSpec> with_options(OpSpec spec, std::span<const RawOption> options) {
  Draft draft(spec.is_attention() ? Op::sdpa : Op::gemm);
  draft.spec = std::move(spec);
  draft.in_defaults = false;
  core::Problems problems;
  apply_all(draft, options, problems);
  for (core::Problem& problem : validate(draft.spec)) problems.push_back(std::move(problem));
  if (problems.empty()) return std::move(draft.spec);
  add_unknown_names(draft.spec, problems);
  return problems;
}

std::span<const ExtraField> extra_fields() { return extras; }

const ExtraField* find_extra(std::string_view name, Op op) {
  for (const ExtraField& field : extras)
    if (field.name == name && (field.ops & mask_of(op))) return &field;
  return nullptr;
}

std::optional<std::string> canonical_extra(const ExtraField& field, std::string_view value) {
  switch (field.type) {
    case ExtraField::Type::integer: {
      const auto number = parse_int(value);
      return number ? std::optional(fmt::format("{}", *number)) : std::nullopt;
    }
    case ExtraField::Type::real: {
      const auto number = parse_real(value);
      if (!number || *number - *number != 0) return std::nullopt;  // not finite: JSON cannot say it
      return format_real(*number);
    }
    case ExtraField::Type::boolean: {
      const auto on = parse_switch(value);
      return on ? std::optional<std::string>(*on ? "true" : "false") : std::nullopt;
    }
    case ExtraField::Type::name:
      return value.empty() ? std::nullopt : std::optional(std::string(value));
    case ExtraField::Type::list: {
      const auto names = parse_names(value);
      return names && !names->empty() ? std::optional(format_names(*names)) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace dd::spec
