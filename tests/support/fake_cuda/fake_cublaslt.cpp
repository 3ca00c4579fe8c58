// A libcublasLt.so.13 for tests without a GPU. See fake_blas.hpp. The heuristic offers three algorithms: the second wants a
// workspace, the third claims an alignment of 16 bytes where the caller's preference allowed it. DD_FAKE_CUBLAS also takes
// "no-algorithm" and "first-cannot".
#include "fake_blas.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

namespace {

std::string calls;

struct Desc {
  int compute, scale_type;
  std::map<int, std::int64_t> numbers;
};
struct Layout {
  int type;
  std::int64_t rows, columns, ld, batch = 1, step = 0;
};
struct Preference {
  std::map<int, std::uint64_t> numbers;
};
struct Algo {
  std::uint64_t id, workspace, alignment, rest[5];
};
struct Heuristic {
  Algo algo;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// Attributes and the bytes that their value must have, as the header states them.
const std::map<int, std::size_t> desc_sizes = {{3, 4}, {4, 4}, {7, 4}, {8, 8}, {17, 8}, {18, 8}, {25, 1}, {26, 4}, {31, 4}, {32, 4}};
const std::map<int, std::size_t> layout_sizes = {{5, 4}, {6, 8}};
const std::map<int, std::size_t> preference_sizes = {{1, 8}, {3, 4}, {5, 4}, {6, 4}, {7, 4}, {8, 4}};

int put(const std::map<int, std::size_t>& sizes, int attribute, const void* value, std::size_t bytes, std::int64_t& out) {
  const auto at = sizes.find(attribute);
  if (at == sizes.end() || at->second != bytes || !value) return fake::invalid_value;
  out = 0;
  std::memcpy(&out, value, bytes);
  return 0;
}

std::int64_t number(const Desc& d, int attribute, std::int64_t otherwise) {
  const auto at = d.numbers.find(attribute);
  return at == d.numbers.end() ? otherwise : at->second;
}

bool fp8(int type) { return type == fake::e4m3 || type == fake::e5m2; }
bool aligned(const void* p, std::uint64_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; }

// What the library refuses whatever the algorithm.
int judge(const Desc& d, const Layout& a, const Layout& b, const Layout& added, const Layout& c) {
  const bool ta = number(d, 3, 0) != 0, tb = number(d, 4, 0) != 0;
  if (a.batch != b.batch || a.batch != c.batch || a.batch != added.batch) return fake::invalid_value;
  if (fp8(c.type) ? added.type != fake::bf16 && added.type != fake::f16 : added.type != c.type) return fake::not_supported;
  if (fp8(a.type) || fp8(b.type)) {
    if (!ta || tb || d.compute != 68 || d.scale_type != 0 || a.ld % 16 || b.ld % 16 || (a.type == fake::e5m2 && b.type == fake::e5m2)) return fake::not_supported;
    return 0;
  }
  if (!fake::row_exists(a.type, b.type, c.type, d.compute) || d.scale_type != fake::scalar_type(d.compute)) return fake::not_supported;
  if (a.type == fake::s8 && (c.rows % 4 || a.ld % 4 || b.ld % 4 || tb)) return fake::not_supported;
  if (c.type == fake::s32 && number(d, 7, 1) != 1) return fake::not_supported;
  return 0;
}

// Scale of line `outer` at depth k, by the layout of the mode. 2^(code - 127) for exponents.
double scale_at(const void* scales, std::int64_t mode, std::int64_t outer, std::int64_t k, std::int64_t lines, std::int64_t depth) {
  if (!scales) return 1;
  const auto* f = static_cast<const float*>(scales);
  switch (mode) {
    case 0: return f[0];
    case 2: return std::exp2(static_cast<const std::uint8_t*>(scales)[0] - 127);
    case 3: return f[outer];
    case 4: return f[k / 128 * lines + outer];
    case 5: return f[outer / 128 * (((depth + 127) / 128 + 3) / 4 * 4) + k / 128];
    default: return std::nan("");
  }
}

double activate(double v, std::int64_t epilogue) {
  if (epilogue & 2) return v > 0 ? v : 0;
  if (epilogue & 32) return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  return v;
}

}  // namespace

extern "C" {

const char* dd_fake_cublaslt_calls() {
  static std::string last;
  last.swap(calls);
  calls.clear();
  return last.c_str();
}
std::size_t cublasLtGetVersion() { return 130100; }
std::size_t cublasLtGetCudartVersion() { return 13000; }
const char* cublasLtGetStatusName(int status) { return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_OTHER"; }
const char* cublasLtGetStatusString(int status) { return status == 15 ? "the stand-in does not offer this" : "the stand-in was told to fail"; }
int cublasLtCreate(void** handle) {
  if (const int status = fake::fault("cublasLtCreate")) return status;
  return *handle = &calls, 0;
}
int cublasLtDestroy(void*) { return 0; }
int cublasLtMatmulDescCreate(void** desc, int compute, int scale_type) {
  if (const int status = fake::fault("cublasLtMatmulDescCreate")) return status;
  return *desc = new Desc{compute, scale_type, {}}, 0;
}
int cublasLtMatmulDescDestroy(void* desc) { return delete static_cast<Desc*>(desc), 0; }
int cublasLtMatmulDescSetAttribute(void* desc, int attribute, const void* value, std::size_t bytes) {
  if (const int status = fake::fault("cublasLtMatmulDescSetAttribute")) return status;
  return put(desc_sizes, attribute, value, bytes, static_cast<Desc*>(desc)->numbers[attribute]);
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  if (const int status = fake::fault("cublasLtMatrixLayoutCreate")) return status;
  if (rows == 0 || columns == 0 || ld < static_cast<std::int64_t>(rows)) return fake::invalid_value;
  return *layout = new Layout{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), ld}, 0;
}
int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Layout*>(layout), 0; }
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t bytes) {
  if (const int status = fake::fault("cublasLtMatrixLayoutSetAttribute")) return status;
  auto* l = static_cast<Layout*>(layout);
  return put(layout_sizes, attribute, value, bytes, attribute == 5 ? l->batch : l->step);
}
int cublasLtMatmulPreferenceCreate(void** preference) {
  if (const int status = fake::fault("cublasLtMatmulPreferenceCreate")) return status;
  return *preference = new Preference, 0;
}
int cublasLtMatmulPreferenceDestroy(void* preference) { return delete static_cast<Preference*>(preference), 0; }
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, std::size_t bytes) {
  if (const int status = fake::fault("cublasLtMatmulPreferenceSetAttribute")) return status;
  std::int64_t number = 0;
  const int status = put(preference_sizes, attribute, value, bytes, number);
  static_cast<Preference*>(preference)->numbers[attribute] = static_cast<std::uint64_t>(number);
  return status;
}
int cublasLtMatmulAlgoGetHeuristic(void*, void* desc, void* a, void* b, void* c, void* d, void* preference, int wanted, void* results, int* found) {
  if (const int status = fake::fault("cublasLtMatmulAlgoGetHeuristic")) return status;
  if (wanted < 1) return fake::invalid_value;
  if (const int status = judge(*static_cast<Desc*>(desc), *static_cast<Layout*>(a), *static_cast<Layout*>(b), *static_cast<Layout*>(c), *static_cast<Layout*>(d))) return status;
  auto& pref = static_cast<Preference*>(preference)->numbers;
  std::uint64_t alignment = 256;
  for (const int attribute : {5, 6, 7, 8}) alignment = std::min(alignment, pref.count(attribute) ? pref[attribute] : 256);
  const std::uint64_t reductions = pref.count(3) ? pref[3] : 7;
  const std::vector<Heuristic> offered = {{{66, 0, alignment, {reductions}}, 0, fake::mode_is("first-cannot") ? 15 : 0, 0.5f, {}},
                                          {{67, 65536, alignment, {reductions}}, 65536, 0, 1.25f, {}},
                                          {{21, 0, alignment, {reductions}}, 0, 0, 3.0f, {}}};
  *found = 0;
  if (fake::mode_is("no-algorithm")) return 0;
  for (const Heuristic& one : offered)
    if (*found < wanted && one.workspace <= pref[1]) static_cast<Heuristic*>(results)[(*found)++] = one;
  return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const void* algo, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (bytes != 4) return fake::invalid_value;
  const std::map<int, std::uint32_t> numbers = {{0, static_cast<std::uint32_t>(static_cast<const Algo*>(algo)->id)}, {1, 20}, {2, 3}, {3, 2}, {6, 15}};
  const auto at = numbers.find(attribute);
  if (at == numbers.end()) return fake::not_supported;
  return std::memcpy(value, &at->second, 4), *written = 4, 0;
}
int cublasLtMatmulAlgoCapGetAttribute(const void*, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  if (attribute != 15 || bytes != 8) return fake::invalid_value;
  const std::uint64_t flags = 2;
  return std::memcpy(value, &flags, 8), *written = 8, 0;
}
int cublasLtMatmul(void*, void* desc, const void* alpha, const void* a, void* la, const void* b, void* lb, const void* beta, const void* c, void* lc, void* d, void* ld, const void* algo,
                   void* workspace, std::size_t workspace_bytes, void* stream) {
  if (const int status = fake::fault("cublasLtMatmul")) return status;
  const Desc& of = *static_cast<Desc*>(desc);
  const Layout &A = *static_cast<Layout*>(la), &B = *static_cast<Layout*>(lb), &D = *static_cast<Layout*>(ld);
  if (const int status = judge(of, A, B, *static_cast<Layout*>(lc), D)) return status;
  // One buffer is described one way; a C that is not read may be nowhere.
  if (!algo || (c == d) != (lc == ld) || (c != d && c) || !stream || !alpha || !beta) return fake::invalid_value;
  const Algo& chosen = *static_cast<const Algo*>(algo);
  if (workspace_bytes < chosen.workspace || (chosen.workspace > 0 && (!workspace || !aligned(workspace, 256)))) return fake::invalid_value;
  for (const void* p : {a, b, static_cast<const void*>(d)})
    if (!aligned(p, chosen.alignment)) return fake::invalid_value;
  const bool ta = number(of, 3, 0) != 0, tb = number(of, 4, 0) != 0;
  const std::int64_t m = D.rows, n = D.columns, k = ta ? A.rows : A.columns, epilogue = number(of, 7, 1);
  if ((ta ? A.columns : A.rows) != m || (tb ? B.rows : B.columns) != n || (tb ? B.columns : B.rows) != k) return fake::invalid_value;
  fake::Product p{ta, tb, m, n, k, D.batch, {a, A.type, A.ld, A.step}, {b, B.type, B.ld, B.step}, {d, D.type, D.ld, D.step}, fake::scalar(alpha, of.scale_type), fake::scalar(beta, of.scale_type)};
  const auto* bias = reinterpret_cast<const void*>(number(of, 8, 0));
  if ((epilogue & 4) && !bias) return fake::invalid_value;
  const int bias_type = static_cast<int>(number(of, 26, D.type));
  p.finish = [=](std::int64_t row, double v) { return activate((epilogue & 4) ? v + fake::load(bias, bias_type, row) : v, epilogue); };
  const auto *scale_a = reinterpret_cast<const void*>(number(of, 17, 0)), *scale_b = reinterpret_cast<const void*>(number(of, 18, 0));
  if ((fp8(A.type) && (!scale_a || !aligned(scale_a, 16))) || (fp8(B.type) && (!scale_b || !aligned(scale_b, 16)))) return fake::not_supported;
  const std::int64_t mode_a = number(of, 31, 0), mode_b = number(of, 32, 0);
  p.scale_a = [=](std::int64_t row, std::int64_t x) { return scale_at(scale_a, mode_a, row, x, m, k); };
  p.scale_b = [=](std::int64_t column, std::int64_t x) { return scale_at(scale_b, mode_b, column, x, n, k); };
  if (const int status = p.check()) return status;
  calls += std::string("cublasLtMatmul ") + (ta ? "T" : "N") + (tb ? "T" : "N") + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " batch " +
           std::to_string(D.batch) + " epilogue " + std::to_string(epilogue) + " algorithm " + std::to_string(chosen.id) + " alignment " + std::to_string(chosen.alignment) + " reductions " + std::to_string(chosen.rest[0]) + " fast " +
           std::to_string(number(of, 25, 0)) + " modes " + std::to_string(mode_a) + "," + std::to_string(mode_b);
  if (scale_a && scale_b) calls += " first scales " + std::to_string(p.scale_a(0, 0)).substr(0, 3) + "," + std::to_string(p.scale_b(0, 0)).substr(0, 3);
  calls += "\n";
  return fake::enqueue([p] { p.run(); });
}
}
