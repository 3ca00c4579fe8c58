#include <array>
#include <cstdlib>
#include <mutex>

#include "backends/libraries/capture.hpp"
#include "backends/libraries/onednn.hpp"
#include "backends/libraries/onednn_api.hpp"

namespace dd::backends {
namespace {

using core::DType;

int number_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return 1;
    case DType::bf16: return 2;
    case DType::f32: return 3;
    case DType::s32: return 4;
    case DType::s8: return 5;
    case DType::u8: return 6;
    case DType::f64: return 7;
    default: return 0;
  }
}

// A memory descriptor of either generation.
class Descriptor {
 public:
  Descriptor(const OneDnnApi& api, const MatmulTensor& t) : api_(api) {
    const int rank = static_cast<int>(t.shape.size());
    if (api.generation == 2) {
      status_ = api.memory_desc_init_by_strides(space_.data(), rank, t.shape.data(), number_of(t.dtype), t.strides.data());
    } else {
      status_ = api.memory_desc_create_with_strides(&opaque_, rank, t.shape.data(), number_of(t.dtype), t.strides.data());
    }
  }
  ~Descriptor() {
    if (opaque_) api_.memory_desc_destroy(opaque_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int status() const { return status_; }
  const void* get() const { return api_.generation == 2 ? static_cast<const void*>(space_.data()) : opaque_; }

 private:
  const OneDnnApi& api_;
  alignas(16) std::array<std::byte, 4096> space_{};  // the struct of 2.6 takes 696 bytes
  void* opaque_ = nullptr;
  int status_ = 0;
};

// Owns what one call creates and releases it in reverse order.
struct Objects {
  const OneDnnApi& api;
  void *attr = nullptr, *post_ops = nullptr, *pd = nullptr, *primitive = nullptr, *stream = nullptr;
  std::array<void*, 4> memory{};
  ~Objects() {
    for (void* m : memory)
      if (m) api.memory_destroy(m);
    if (stream) api.stream_destroy(stream);
    if (primitive) api.primitive_destroy(primitive);
    if (pd) api.primitive_desc_destroy(pd);
    if (post_ops) api.post_ops_destroy(post_ops);
    if (attr) api.attr_destroy(attr);
  }
};

class Call {
 public:
  Call(const OneDnn& library, const MatmulCall& call, MatmulAnswer& answer) : api_(*library.api), call_(call), answer_(answer), o_{api_} {}

  void run() {
    const Descriptor x(api_, call_.x), w(api_, call_.w), y(api_, call_.y);
    std::optional<Descriptor> bias;
    if (call_.bias) bias.emplace(api_, *call_.bias);
    for (const int status : {x.status(), w.status(), y.status(), bias ? bias->status() : 0})
      if (!check(status, "memory descriptor")) return;
    if (!attributes() || !describe(x, w, y, bias ? bias->get() : nullptr)) return;
    query();
    if (!check(api_.primitive_create(&o_.primitive, o_.pd), "dnnl_primitive_create")) return;
    if (!check(api_.stream_create(&o_.stream, api_.engine, onednn_c::stream_default), "dnnl_stream_create")) return;
    std::array<OneDnnExecArg, 4> arguments{};
    int count = 0;
    const auto add = [&](int arg, const Descriptor& d, void* data) {
      if (!check(api_.memory_create(&o_.memory[static_cast<std::size_t>(count)], d.get(), api_.engine, data), "dnnl_memory_create")) return;
      arguments[static_cast<std::size_t>(count)] = {arg, o_.memory[static_cast<std::size_t>(count)]};
      ++count;
    };
    add(onednn_c::arg_x, x, call_.x.data);
    add(onednn_c::arg_w, w, call_.w.data);
    add(onednn_c::arg_y, y, call_.y.data);
    if (bias) add(onednn_c::arg_bias, *bias, call_.bias->data);
    if (!answer_.ok()) return;
    if (!check(api_.primitive_execute(o_.primitive, o_.stream, count, arguments.data()), "dnnl_primitive_execute")) return;
    check(api_.stream_wait(o_.stream), "dnnl_stream_wait");
  }

 private:
  bool check(int status, const char* what) {
    if (status == onednn_c::success) return true;
    if (answer_.ok()) {
      answer_.status = status;
      answer_.failed_call = what;
    }
    return false;
  }

  bool attributes() {
    if (!check(api_.attr_create(&o_.attr), "dnnl_primitive_attr_create")) return false;
    if (call_.post_op == PostOp::none) return true;
    if (!check(api_.post_ops_create(&o_.post_ops), "dnnl_post_ops_create")) return false;
    const bool relu = call_.post_op == PostOp::relu;
    const int status = api_.generation == 2
                           ? api_.append_eltwise_v2(o_.post_ops, 1.0f, relu ? onednn_c::relu_v2 : onednn_c::gelu_tanh_v2, 0, 0)
                           : api_.append_eltwise_v3(o_.post_ops, relu ? onednn_c::relu_v3 : onednn_c::gelu_tanh_v3, 0, 0);
    return check(status, "dnnl_post_ops_append_eltwise") &&
           check(api_.attr_set_post_ops(o_.attr, o_.post_ops), "dnnl_primitive_attr_set_post_ops");
  }

  bool describe(const Descriptor& x, const Descriptor& w, const Descriptor& y, const void* bias) {
    if (api_.generation == 3)
      return check(api_.matmul_primitive_desc_create(&o_.pd, api_.engine, x.get(), w.get(), bias, y.get(), o_.attr),
                   "dnnl_matmul_primitive_desc_create");
    alignas(16) std::array<std::byte, 16384> operation{};  // the struct of 2.6 takes 2800 bytes
    return check(api_.matmul_desc_init(operation.data(), x.get(), w.get(), bias, y.get()), "dnnl_matmul_desc_init") &&
           check(api_.primitive_desc_create(&o_.pd, operation.data(), o_.attr, api_.engine, nullptr), "dnnl_primitive_desc_create");
  }

  void query() {
    const char* name = nullptr;
    if (api_.primitive_desc_query(o_.pd, onednn_c::query_implementation, 0, &name) == onednn_c::success && name) answer_.implementation = name;
    api_.primitive_desc_query(o_.pd, onednn_c::query_memory_bytes, 0, &answer_.scratch_bytes);
  }

  const OneDnnApi& api_;
  const MatmulCall& call_;
  MatmulAnswer& answer_;
  Objects o_;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::size_t start = 0;
  for (std::size_t end; (end = text.find(at, start)) != std::string::npos; start = end + 1) out.push_back(text.substr(start, end - start));
  out.push_back(text.substr(start));
  return out;
}

// After the event: "matmul,cpu,matmul,IMPLEMENTATION,…problem…,REASON,FILE:LINE", or short "IMPLEMENTATION,REASON,FILE:LINE".
std::string reason_of(const std::vector<std::string>& words) {
  if (words.size() < 3) return words.empty() ? "" : words.back();
  const bool long_form = words.size() > 5 && words[1] == "cpu";
  return (long_form ? words[3] : words[0]) + ": " + words[words.size() - 2];
}

// Lines of all versions: …verbose,[v1,][timestamp,][primitive,]exec,cpu,matmul,IMPLEMENTATION,…,MILLISECONDS
void read_verbose(const std::string& text, MatmulAnswer& answer) {
  for (const std::string& line : split(text, '\n')) {
    const auto marker = line.find("onednn_verbose,");
    const auto at = marker != std::string::npos ? marker : line.find("dnnl_verbose,");
    if (at == std::string::npos) continue;
    const std::vector<std::string> words = split(line.substr(at), ',');
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "create:dispatch" || words[i] == "create:check") {
        answer.reasons.push_back(reason_of({words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()}));
        break;
      }
      if (words[i] != "exec" || i + 3 >= words.size() || words[i + 2] != "matmul") continue;
      answer.implementation = words[i + 3];
      answer.from_verbose = true;
      char* end = nullptr;
      const double milliseconds = std::strtod(words.back().c_str(), &end);
      if (end != words.back().c_str()) answer.seconds = milliseconds / 1e3;
      break;
    }
    if (line.find(",info,") == std::string::npos) answer.verbose.push_back(line.substr(at));
  }
}

}  // namespace

MatmulAnswer matmul(const OneDnn& library, const MatmulCall& call) {
  MatmulAnswer answer;
  static std::mutex one_at_a_time;  // standard output is shared
  const std::lock_guard lock(one_at_a_time);
  if (call.threads > 0 && library.api->omp_set_num_threads) library.api->omp_set_num_threads(call.threads);
  OutputCapture capture;
  // From 3.2 on the level was set when the library was opened, together with dispatch reasons that this call cannot ask for.
  if (!library.dispatch_reasons()) library.api->set_verbose(2);
  Call(library, call, answer).run();
  if (!library.dispatch_reasons()) library.api->set_verbose(0);
  read_verbose(capture.finish(), answer);
  return answer;
}

}  // namespace dd::backends
