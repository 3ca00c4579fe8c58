#include "spec/schema.hpp"

#include <nlohmann/json.hpp>

#include "spec/json_fields.hpp"

namespace dd::spec {
namespace {

using Json = nlohmann::ordered_json;

// Every accepted name, aliases too.
template <class E>
Json names() {
  Json out = Json::array();
  for (const auto& [value, name] : core::EnumText<E>::names) out.push_back(std::string(name));
  return out;
}

Json dims(std::int64_t least_items) {
  return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"minItems", least_items}, {"maxItems", most_axes}};
}

Json text_schema(std::string_view path) {
  if (path == "op") return Json();  // set by the operator itself
  if (path.ends_with("dtype")) return {{"$ref", "#/$defs/dtype"}};
  if (path == "causal_align") return {{"enum", names<CausalAlign>()}};
  if (path == "compute") return {{"enum", names<Compute>()}};
  if (path == "epilogue") return {{"enum", names<Epilogue>()}};
  if (path == "data") return {{"enum", names<Data>()}};
  if (path == "flags.autocast") return {{"$ref", "#/$defs/dtype"}};
  if (path == "policy.force") return {{"$ref", "#/$defs/backend"}};
  if (path == "context.framework") return {{"enum", {"native", "torch", "vllm", "bitsandbytes", "torchao", "ggml"}}};
  Json out = {{"type", "string"}};
  if (path == "mask.content") out["description"] = "causal, padding:N, window:N, zeros, random, or a .npy or .safetensors file";
  if (path == "quant.scheme") out["description"] = std::string(quant_syntax);
  return out;
}

Json integer_schema(std::string_view path) {
  Json out = {{"type", "integer"}};
  if (path.ends_with("offset") || path.ends_with("storage") || path == "workspace" || path == "seed") out["minimum"] = 0;
  if (path == "seed") out["maximum"] = UINT64_MAX;
  if (path == "quant.bits") out["enum"] = {2, 3, 4, 5, 6, 8};
  if (path == "quant.act_bits") out["enum"] = {4, 8, 16, 32};
  if (path == "quant.group_size") out["minimum"] = -1;
  return out;
}

Json number_schema(std::string_view path) {
  Json out = {{"type", "number"}};
  if (path != "scale") out["minimum"] = 0;
  if (path == "dropout_p") out["exclusiveMaximum"] = 1;
  return out;
}

Json extra_schema(unsigned ops) {
  Json properties = Json::object();
  for (const ExtraField& field : extra_fields()) {
    if (!(field.ops & ops)) continue;
    Json value;
    switch (field.type) {
      case ExtraField::Type::integer:
        value = {{"type", "integer"}};
        break;
      case ExtraField::Type::real:
        value = {{"type", "number"}};
        break;
      case ExtraField::Type::boolean:
        value = {{"type", "boolean"}};
        break;
      case ExtraField::Type::name:
        value = {{"type", "string"}, {"minLength", 1}};
        break;
      case ExtraField::Type::list:
        value = {{"type", "array"}, {"items", {{"type", "string"}, {"minLength", 1}}}, {"minItems", 1}};
        break;
    }
    value["description"] = std::string(field.help);
    properties[std::string(field.name)] = value;
  }
  return {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
}

Json object_schema(const std::string& prefix, unsigned ops);

Json field_schema(const JsonField& field, unsigned ops) {
  const std::string path(field.path);
  switch (field.kind) {
    case JsonKind::dims:
      return dims(1);
    case JsonKind::ints:
      return {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 0}}}, {"maxItems", 65536}};
    case JsonKind::names: {
      Json out = {{"type", "array"}, {"items", {{"$ref", "#/$defs/backend"}}}, {"uniqueItems", true}};
      if (field.nullable) out["minItems"] = 1;
      return out;
    }
    case JsonKind::text:
      return text_schema(path);
    case JsonKind::text_or_names:
      return {{"anyOf", {{{"enum", names<Mode>()}}, {{"type", "array"}, {"items", {{"enum", names<Mode>()}}}, {"minItems", 1}, {"uniqueItems", true}}}}};
    case JsonKind::number:
      return number_schema(path);
    case JsonKind::integer:
      return integer_schema(path);
    case JsonKind::boolean:
      return {{"type", "boolean"}};
    case JsonKind::boolean_or_text: {
      Json values = names<Deterministic>();
      values.push_back(false);
      values.push_back(true);
      return {{"enum", values}};
    }
    case JsonKind::object:
      return object_schema(path, ops);
    case JsonKind::text_map:
      return {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}};
    case JsonKind::boolean_map:
      return {{"type", "object"}, {"additionalProperties", {{"type", "boolean"}}}};
    case JsonKind::extra_map:
      return extra_schema(ops);
  }
  return Json();
}

// The fields directly below `prefix` for this operator.
Json object_schema(const std::string& prefix, unsigned ops) {
  Json properties = Json::object();
  for (const JsonField& field : json_fields()) {
    if (!(field.ops & ops)) continue;
    std::string_view path = field.path;
    if (!prefix.empty()) {
      if (!path.starts_with(prefix + ".")) continue;
      path.remove_prefix(prefix.size() + 1);
    }
    if (path.find('.') != std::string_view::npos) continue;
    Json value = field_schema(field, ops);
    if (field.nullable) value = {{"anyOf", {value, {{"type", "null"}}}}};
    properties[std::string(path)] = value;
  }
  Json out = {{"type", "object"}, {"properties", properties}, {"additionalProperties", false}};
  if (prefix == "q" || prefix == "x" || prefix == "w") out["required"] = {"shape"};
  return out;
}

Json operator_schema(Op op) {
  Json out = object_schema("", mask_of(op));
  out["properties"]["op"] = {{"const", std::string(core::to_text(op))}};
  out["required"] = op == Op::sdpa ? Json{"op", "q"} : Json{"op", "x", "w"};
  return out;
}

}  // namespace

std::string spec_schema() {
  Json out;
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["$id"] = "spec.schema.json";
  out["title"] = "dispatchdoctor spec";
  out["description"] =
      "One operator call. Absent fields take the defaults of the command line; the canonical form has every field. What "
      "spans several fields (shapes that fit, strides that do not overlap) is checked by the program.";
  out["oneOf"] = {{{"$ref", "#/$defs/sdpa"}}, {{"$ref", "#/$defs/gemm"}}};
  out["$defs"]["dtype"] = {{"enum", names<DType>()}};
  out["$defs"]["backend"] = {{"type", "string"}, {"pattern", "^[a-z0-9][a-z0-9_.-]{0,63}$"}};
  out["$defs"]["sdpa"] = operator_schema(Op::sdpa);
  out["$defs"]["gemm"] = operator_schema(Op::gemm);
  return out.dump(1) + "\n";
}

}  // namespace dd::spec
