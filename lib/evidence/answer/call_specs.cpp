// Specs of the products in library logs, in the form that `run` reads. A call of a column-major library,
// C[m,n] = A[m,k] * B[k,n], is the row-major product x * w with x = B and w = A, both read the other way round.
#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "evidence/answer/work.hpp"
#include "spec/parse.hpp"

namespace dd::evidence {
namespace {

using Json = nlohmann::ordered_json;

std::string field(const CallGroup& call, const std::string& key) {
  const auto found = call.fields.find(key);
  return found == call.fields.end() ? std::string() : found->second;
}

std::int64_t number(const CallGroup& call, const std::string& key) {
  const std::string text = field(call, key);
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end != text.data() && out > 0 && out < (1ll << 40) ? out : 0;
}

// "CUDA_R_16BF(14)", "R_16BF" -> "bf16"
std::string dtype_of(std::string_view type) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {{"bf16_r", "bf16"}, {"f16_r", "f16"}, {"f32_r", "f32"}, {"f64_r", "f64"}, {"i8_r", "s8"}, {"bf8_r", "f8_e5m2"}, {"f8_r", "f8_e4m3"}, {"R_16BF", "bf16"}, {"R_16F", "f16"}, {"R_32F", "f32"}, {"R_64F", "f64"},
      {"R_8F_E4M3", "f8_e4m3"}, {"R_8F_E5M2", "f8_e5m2"}, {"R_8I", "s8"}, {"R_8U", "u8"}};
  for (const auto& [mark, name] : names)
    if (type.find(mark) != std::string_view::npos) return std::string(name);
  return {};
}

// The types of compute that a spec can name; empty for the rest (emulated ones, for instance).
std::string compute_of(std::string_view type) {
  if (type.find("32F_FAST_TF32") != std::string_view::npos || type.starts_with("xf32_r")) return "tf32";
  if (type == "f32_r" || type == "c_f32_r") return "f32";
  if (type == "i32_r") return "s32";
  if (type == "f64_r") return "f64";
  if (type.find("FAST") != std::string_view::npos || type.find("EMULATED") != std::string_view::npos) return {};
  if (type.find("COMPUTE_32F") != std::string_view::npos) return "f32";
  if (type.find("COMPUTE_16F") != std::string_view::npos) return "f16";
  if (type.find("COMPUTE_32I") != std::string_view::npos) return "s32";
  return type.find("COMPUTE_64F") != std::string_view::npos ? "f64" : "";
}

// One factor as the library has it in memory: `rows` x `cols` of the product, column-major, possibly turned.
struct Factor {
  std::string dtype;
  std::int64_t rows = 0, cols = 0, leading = 0, batch_stride = 0, offset_bytes = 0;
  bool turned = false;
};

// Read the other way round: its columns become rows.
Json tensor(const Factor& f, std::int64_t batch) {
  Json shape = Json::array({f.cols, f.rows}), strides = f.turned ? Json::array({std::int64_t{1}, f.leading}) : Json::array({f.leading, std::int64_t{1}});
  if (batch > 1) {
    shape.insert(shape.begin(), batch);
    strides.insert(strides.begin(), f.batch_stride);
  }
  Json out = {{"shape", std::move(shape)}, {"dtype", f.dtype}, {"strides", std::move(strides)}};
  const int bytes = dtype_bytes(f.dtype);
  if (f.offset_bytes > 0 && bytes > 0 && f.offset_bytes % bytes == 0) out["offset"] = f.offset_bytes / bytes;
  return out;
}

Json product(const Factor& a, const Factor& b, std::int64_t batch, const std::string& out_dtype, const std::string& compute) {
  Json out = {{"op", "gemm"}, {"x", tensor(b, batch)}, {"w", tensor(a, batch)}};
  if (!out_dtype.empty()) out["out_dtype"] = out_dtype;
  if (!compute.empty()) out["compute"] = compute;
  return out;
}

bool cublas_spec(const CallGroup& call, Json& out) {
  std::string type;
  for (const auto& [prefix, name] : {std::pair<std::string_view, std::string_view>{"cublasSgemm", "f32"}, {"cublasDgemm", "f64"}, {"cublasHgemm", "f16"}})
    if (call.function.starts_with(prefix)) type = name;
  const std::int64_t m = number(call, "m"), n = number(call, "n"), k = number(call, "k"), batch = std::max<std::int64_t>(1, number(call, "batchCount"));
  const auto turned = [&](const char* key) { return field(call, key).starts_with("CUBLAS_OP_T") || field(call, key).starts_with("CUBLAS_OP_C"); };
  const auto typed = [&](const char* key) { return type.empty() ? dtype_of(field(call, key)) : type; };
  const Factor a{typed("Atype"), m, k, number(call, "lda"), number(call, "strideA"), number(call, "A mod 16"), turned("transa")};
  const Factor b{typed("Btype"), k, n, number(call, "ldb"), number(call, "strideB"), number(call, "B mod 16"), turned("transb")};
  if (m * n * k == 0 || a.leading == 0 || b.leading == 0 || a.dtype.empty() || b.dtype.empty()) return false;
  if (batch > 1 && (a.batch_stride == 0 || b.batch_stride == 0)) return false;  // lists of pointers have no fixed distance
  out = product(a, b, batch, typed("Ctype"), compute_of(field(call, "computeType")));
  if (field(call, "math_mode").find("TF32") != std::string::npos) out["flags"] = {{"tf32", true}};
  return true;
}

bool cublaslt_spec(const CallGroup& call, Json& out) {
  for (const char* order : {"Adesc.order", "Bdesc.order", "Ddesc.order"})
    if (const std::string text = field(call, order); !text.empty() && text.find("COL") == std::string::npos) return false;
  const auto factor = [&](const std::string& desc, const char* trans) {
    std::string upper = trans;  // hipBLASLt writes transA
    upper.back() = static_cast<char>(upper.back() - 'a' + 'A');
    const std::int64_t stride = number(call, desc + ".stridedBatchOffset");
    Factor f{dtype_of(field(call, desc + ".type")), number(call, desc + ".rows"), number(call, desc + ".cols"), number(call, desc + ".ld"), stride > 0 ? stride : number(call, desc + ".batch_stride"),
             number(call, desc.substr(0, 1) + " mod 16"), field(call, trans).find("OP_T") != std::string::npos || field(call, upper).find("OP_T") != std::string::npos};
    if (f.turned) std::swap(f.rows, f.cols);
    return f;
  };
  const Factor a = factor("Adesc", "computeDesc.transa"), b = factor("Bdesc", "computeDesc.transb");
  const std::int64_t batch = std::max<std::int64_t>({1, number(call, "Adesc.batchCount"), number(call, "Adesc.batch_count")});
  if (batch > 1 && (a.batch_stride == 0 || b.batch_stride == 0)) return false;
  if (a.rows * a.cols * b.cols == 0 || a.cols != b.rows || a.leading == 0 || b.leading == 0 || a.dtype.empty() || b.dtype.empty()) return false;
  std::string result = dtype_of(field(call, "Ddesc.type"));
  if (result.empty()) result = dtype_of(field(call, "Cdesc.type"));
  out = product(a, b, batch, result, compute_of(field(call, "computeDesc.computeType")));
  static constexpr std::pair<std::string_view, std::string_view> epilogues[] = {{"RELU_BIAS", "bias+relu"}, {"GELU_BIAS", "bias+gelu"}, {"RELU", "relu"}, {"GELU", "gelu"}, {"BIAS", "bias"}};
  const std::string wanted = field(call, "computeDesc.epilogue");
  for (const auto& [mark, name] : epilogues)
    if (wanted == mark || wanted.ends_with("EPILOGUE_" + std::string(mark))) {
      out["epilogue"] = name;
      if (name.starts_with("bias")) out["bias"] = {{"shape", {a.rows}}, {"dtype", result.empty() ? a.dtype : result}};
    }
  return true;
}

// The command line of a benchmark program, as hipBLASLt and rocBLAS print it for a call.
bool bench_spec(const CallGroup& call, Json& out) {
  const std::int64_t m = number(call, "m"), n = number(call, "n"), k = number(call, "k"), batch = std::max<std::int64_t>(1, number(call, "batch_count"));
  const auto either = [&](const char* a, const char* b) { return field(call, a).empty() ? field(call, b) : field(call, a); };
  const bool turned_a = either("transA", "transposeA") != "N", turned_b = either("transB", "transposeB") != "N";
  const auto typed = [&](const char* key) { return dtype_of(field(call, key).empty() ? either("r", "precision") : field(call, key)); };
  const Factor a{typed("a_type"), m, k, number(call, "lda"), number(call, "stride_a"), 0, turned_a}, b{typed("b_type"), k, n, number(call, "ldb"), number(call, "stride_b"), 0, turned_b};
  if (m * n * k == 0 || a.leading == 0 || b.leading == 0 || a.dtype.empty() || b.dtype.empty()) return false;
  if (either("transA", "transposeA").empty() || either("transB", "transposeB").empty() || (batch > 1 && (a.batch_stride == 0 || b.batch_stride == 0))) return false;
  const std::string result = typed("d_type");
  out = product(a, b, batch, result, compute_of(field(call, "compute_type")));
  const std::string activation = field(call, "activation_type");
  const bool bias = call.fields.count("bias_vector") != 0;
  const std::string act = activation == "relu" || activation == "gelu" ? activation : "";
  if (!act.empty() || bias) out["epilogue"] = bias ? (act.empty() ? "bias" : "bias+" + act) : act;
  if (bias) out["bias"] = {{"shape", {m}}, {"dtype", result.empty() ? a.dtype : result}};
  return true;
}

// "src:bf16::blocked:ab::f0" or "src_bf16::blocked:ab:f0" of one argument: its dtype and format tag.
bool memory_of(std::string_view memory, std::string_view argument, std::string& dtype, std::string& tag) {
  const auto at = memory.find(argument);
  if (at == std::string_view::npos || at + argument.size() >= memory.size()) return false;
  std::string_view rest = memory.substr(at + argument.size() + 1);
  rest = rest.substr(0, rest.find(' '));
  dtype = rest.substr(0, rest.find(':'));
  const auto blocked = rest.find(":blocked:");
  if (blocked != std::string_view::npos) tag = rest.substr(blocked + 9, rest.find(':', blocked + 9) - blocked - 9);
  return !dtype.empty();
}

std::vector<std::int64_t> sizes_of(std::string_view text) {
  std::vector<std::int64_t> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find('x', begin), text.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc{} || stop != text.data() + end || value <= 0) return {};
    out.push_back(value);
    begin = end + 1;
  }
  return out;
}

// Rows before columns, unless the tag ends the other way round ("ba", "acb"); blocked tags are the library's own copies.
void set_strides(Json& tensor, const std::vector<std::int64_t>& dims, std::string_view tag) {
  if (dims.size() < 2 || tag.size() != dims.size()) return;
  const std::size_t n = dims.size();
  if (tag[n - 1] != static_cast<char>('a' + n - 2) || tag[n - 2] != static_cast<char>('a' + n - 1)) return;
  std::vector<std::int64_t> strides(n);
  strides[n - 2] = 1;
  strides[n - 1] = dims[n - 2];
  std::int64_t distance = dims[n - 1] * dims[n - 2];
  for (std::size_t i = n - 2; i-- > 0; distance *= dims[i]) strides[i] = distance;
  tensor["strides"] = strides;
}

// "mb64ic256oc512": a layer on a flat input; its weight lies as [oc, ic].
bool inner_product_spec(const CallGroup& call, Json& out) {
  std::int64_t sizes[3] = {};
  std::string_view rest = call.problem;
  constexpr std::string_view names[] = {"mb", "ic", "oc"};
  for (int i = 0; i < 3; ++i) {
    if (!rest.starts_with(names[i])) return false;
    const auto [end, error] = std::from_chars(rest.data() + 2, rest.data() + rest.size(), sizes[i]);
    if (error != std::errc{} || sizes[i] <= 0 || sizes[i] > (1ll << 31)) return false;
    rest = rest.substr(static_cast<std::size_t>(end - rest.data()));
  }
  std::string x_type, w_type, out_type, tag;
  if (!rest.empty() || call.attributes.find("post-ops") != std::string::npos) return false;
  if (!memory_of(call.memory, "src", x_type, tag) || !memory_of(call.memory, "wei", w_type, tag)) return false;
  out = {{"op", "gemm"}, {"x", {{"shape", {sizes[0], sizes[1]}}, {"dtype", x_type}}}, {"w", {{"shape", {sizes[1], sizes[2]}}, {"dtype", w_type}, {"strides", {std::int64_t{1}, sizes[1]}}}}};
  if (memory_of(call.memory, "dst", out_type, tag)) out["out_dtype"] = out_type;
  std::string bias;
  if (memory_of(call.memory, "bia", bias, tag) && bias != "undef") {
    out["epilogue"] = "bias";
    out["bias"] = {{"shape", {sizes[2]}}, {"dtype", bias}};
  }
  if (!call.engine.starts_with("gpu")) out["context"] = {{"target", "cpu"}};
  return true;
}

bool onednn_spec(const CallGroup& call, Json& out) {
  if (call.function == "inner_product") return call.memory.find("diff_") == std::string::npos && inner_product_spec(call, out);
  if (call.function != "matmul" || (!call.engine.empty() && !call.engine.starts_with("cpu") && !call.engine.starts_with("gpu"))) return false;
  const auto colon = call.problem.find(':');
  if (colon == std::string::npos) return false;
  const auto x = sizes_of(std::string_view(call.problem).substr(0, colon));
  const auto w = sizes_of(std::string_view(call.problem).substr(colon + 1, call.problem.find(':', colon + 1) - colon - 1));
  std::string x_type, w_type, out_type, x_tag, w_tag, out_tag;
  if (x.size() < 2 || w.size() != x.size() || !memory_of(call.memory, "src", x_type, x_tag) || !memory_of(call.memory, "wei", w_type, w_tag)) return false;
  out = {{"op", "gemm"}, {"x", {{"shape", x}, {"dtype", x_type}}}, {"w", {{"shape", w}, {"dtype", w_type}}}};
  set_strides(out["x"], x, x_tag);
  set_strides(out["w"], w, w_tag);
  if (memory_of(call.memory, "dst", out_type, out_tag)) out["out_dtype"] = out_type;
  if (!call.engine.starts_with("gpu")) out["context"] = {{"target", "cpu"}};
  return true;
}

}  // namespace

void add_call_specs(TraceAnswer& answer) {
  constexpr std::size_t most_specs = 2000;
  for (const CallGroup& call : answer.calls) {
    if (answer.specs.size() >= most_specs) return;
    Json spec;
    const bool known = call.library == "cuBLAS"     ? cublas_spec(call, spec)
                       : call.function.ends_with("-bench") ? bench_spec(call, spec)
                       : call.library == "cuBLASLt" || call.library == "hipBLASLt" ? cublaslt_spec(call, spec)
                       : call.library == "oneDNN"   ? onednn_spec(call, spec)
                                                    : false;
    if (!known) continue;
    const std::string text = spec.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!spec::parse_json(text)) continue;  // only what `run` takes
    if (std::find(answer.specs.begin(), answer.specs.end(), text) == answer.specs.end()) answer.specs.push_back(text);
  }
}

}  // namespace dd::evidence
