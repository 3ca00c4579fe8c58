// oneDNN verbose lines of versions 0.18 to 3.8; also the older names of the library and the Graph and ACL forms.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>

#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {
namespace {

using Fields = std::vector<std::string_view>;

Fields split(std::string_view text) {
  Fields out;
  for (std::size_t begin = 0;;) {
    const auto comma = text.find(',', begin);
    out.push_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos || out.size() > 64) return out;
    begin = comma + 1;
  }
}

bool is_engine(std::string_view text) {
  const auto name = text.substr(0, text.find(':'));
  return name == "cpu" || name == "gpu" || name == "any";
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_timestamp(std::string_view text) {
  const auto dot = text.find('.');
  return dot != std::string_view::npos && all_digits(text.substr(0, dot)) && all_digits(text.substr(dot + 1));
}

double number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value >= 0 && value < 1e15 ? value : 0;
}

// "src_f32::blocked:ab:f0 wei:bf16:a:..." -> "f32 bf16": which types were asked, however the layout is written.
std::string types_of(std::string_view memory) {
  std::string out;
  for (std::size_t begin = 0; begin < memory.size();) {
    auto end = memory.find(' ', begin);
    if (end == std::string_view::npos) end = memory.size();
    const std::string_view one = memory.substr(begin, end - begin);
    const auto mark = one.find_first_of("_:");
    if (mark != std::string_view::npos) {
      const std::string_view type = one.substr(mark + 1);
      out += std::string(type.substr(0, type.find(':'))) + ' ';
    }
    begin = end + 1;
  }
  return out;
}

struct Line {
  std::string marker, component, operation;
  Fields rest;
};

bool read_line(std::string_view text, Line& out) {
  static constexpr std::array<std::string_view, 5> markers = {"onednn_graph_verbose", "onednn_acl_verbose", "onednn_verbose", "mkldnn_verbose", "dnnl_verbose"};
  for (const std::string_view marker : markers) {
    const auto at = text.find(marker);
    if (at == std::string_view::npos || text.substr(at + marker.size(), 1) != ",") continue;
    // "mkldnn_verbose" must not be found inside another word
    out.marker = marker;
    Fields fields = split(text.substr(at + marker.size() + 1));
    std::size_t i = 0;
    const auto is_version = [](std::string_view f) { return f.size() >= 2 && f.size() <= 3 && f[0] == 'v' && all_digits(f.substr(1)); };
    if (i < fields.size() && is_version(fields[i])) ++i;
    if (i < fields.size() && is_timestamp(fields[i])) ++i;
    out.component = "-";
    if (i < fields.size() && (fields[i] == "primitive" || fields[i] == "graph" || fields[i] == "common" || fields[i] == "ukernel")) out.component = fields[i++];
    if (i >= fields.size()) return false;
    out.operation = fields[i++];
    out.rest.assign(fields.begin() + static_cast<std::ptrdiff_t>(i), fields.end());
    return true;
  }
  return false;
}

struct Refusal {
  std::string primitive, types, problem;
  std::vector<std::string> reasons;  // "implementation: reason (source:line)"
  bool created = false;
};

class OneDnn : public LogReader {
 public:
  bool take(std::string_view text) override {
    Line line;
    if (!read_line(text, line)) return false;
    ++lines_;
    ++by_kind_[fmt::format("{}|{}|{}", line.marker, line.component, line.operation.substr(0, 60))];
    if (line.operation == "info") take_info(line);
    else if (line.marker == "onednn_graph_verbose" || line.component == "graph") take_graph(line, text);
    else if (line.operation == "exec") take_exec(line);
    else if (line.operation == "create:dispatch") take_dispatch(line, text);
    else if (line.operation.find("check") != std::string::npos) take_check(line, text);
    else if (line.operation.starts_with("create")) take_create(line);
    return true;
  }

  std::string_view grade() const override { return executed_ ? "traced" : "asked"; }

  void finish(TraceAnswer& answer) override {
    answer.log_lines = by_kind_;
    answer.log_lines["onednn lines"] = lines_;
    answer.log_lines["dispatch or check lines"] = notable_count_;
    answer.versions.insert(answer.versions.end(), versions_.begin(), versions_.end());
    if (!isa_.empty()) answer.header["onednn_isa"] = isa_;
    for (const std::string& each : notable_) remark(answer, each);
    judge_products(answer);
    judge_attention(answer);
    add_findings(answer);
    for (CallGroup& each : calls_.all()) answer.calls.push_back(std::move(each));
  }

 private:
  void take_info(const Line& line) {
    if (line.rest.empty()) return;
    const std::string_view first = line.rest[0];
    const auto at = first.find("oneDNN v") != std::string_view::npos ? first.find("oneDNN v") + 7 : first.find(" v") != std::string_view::npos ? first.find(" v") + 1 : std::string_view::npos;
    if (at != std::string_view::npos) {
      const std::string version(first.substr(at, first.find_first_of(" (", at) - at));
      if (std::find(versions_.begin(), versions_.end(), version) == versions_.end() && versions_.size() < 100) versions_.push_back(version);
    }
    for (const std::string_view each : line.rest)
      if (each.starts_with("isa:")) isa_ = each.substr(4, 100);
  }

  // engine? primitive implementation prop memory [attributes] auxiliary problem time
  static bool columns(const Line& line, CallGroup& out) {
    std::size_t i = 0;
    const Fields& f = line.rest;
    const bool engine = !f.empty() && is_engine(f[0]);
    if (engine) out.engine = f[i++];
    const std::size_t left = f.size() - i;
    if (left < 7) return false;
    out.library = "oneDNN";
    out.function = f[i];
    out.implementation = f[i + 1];
    out.memory = f[i + 3];
    if (left >= 8) out.attributes = f[i + 4];
    out.problem = f[f.size() - 2];
    out.ms = number(f.back());
    out.count = 1;
    return true;
  }

  void take_exec(const Line& line) {
    CallGroup call;
    if (!columns(line, call)) {
      ++short_lines_;
      return;
    }
    any_create_ = executed_ = true;
    created(call.function, types_of(call.memory), call.problem);
    if (call.function == "sdpa") ++(is_reference(call.implementation) ? attention_slow_ : attention_fast_);
    calls_.add(std::move(call));
  }

  void take_create(const Line& line) {
    CallGroup call;
    if (!columns(line, call)) {
      ++short_lines_;
      return;
    }
    any_create_ = true;
    pending_short_ = 0;
    created(call.function, types_of(call.memory), call.problem);
  }

  // Long: primitive, engine, primitive, implementation, prop, memory, attributes, auxiliary, problem, reason, source.
  // Short: primitive, reason, source; it belongs to the creation that follows.
  void take_dispatch(const Line& line, std::string_view text) {
    note(text);
    const Fields& f = line.rest;
    if (f.size() < 6) {
      ++pending_short_;
      return;
    }
    const std::size_t first = f.size() >= 2 && is_engine(f[1]) ? 2 : 0;
    if (f.size() < first + 8) return;
    Refusal key{std::string(f[first]), types_of(f[first + 3]), std::string(f[f.size() - 3]), {}, false};
    std::string reason = fmt::format("{}: {} ({})", f[first + 1], f[f.size() - 2], f.back());
    const auto [at, fresh] = refusal_index_.emplace(key_of(key.primitive, key.types, key.problem), refusals_.size());
    if (fresh) refusals_.push_back(std::move(key));
    Refusal& refusal = refusals_[at->second];
    refusal.created = false;
    if (refusal.reasons.size() < 64) refusal.reasons.push_back(std::move(reason));
  }

  void take_check(const Line& line, std::string_view text) {
    note(text);
    if (checks_.size() < 100 && line.rest.size() >= 2) checks_.push_back(fmt::format("{}: {}", line.rest[0], fmt::join(line.rest.begin() + 1, line.rest.end(), ",")));
  }

  void take_graph(const Line& line, std::string_view text) {
    if (line.operation.find("check") != std::string::npos || line.operation == "create:dispatch") return take_check(line, text);
    if (line.operation != "exec" || line.rest.size() < 4) return;
    any_create_ = executed_ = true;
    const std::string_view kind = line.rest[2];
    if (kind.find("sdp") != std::string_view::npos || kind == "mha" || kind.find("_mha") != std::string_view::npos) ++attention_fast_;
  }

  static std::string key_of(const std::string& primitive, const std::string& types, const std::string& problem) { return primitive + '\n' + types + '\n' + problem; }
  void created(const std::string& primitive, const std::string& types, const std::string& problem) {
    const auto found = refusal_index_.find(key_of(primitive, types, problem));
    if (found != refusal_index_.end()) refusals_[found->second].created = true;
  }

  void note(std::string_view text) {
    ++notable_count_;
    if (notable_.size() < most_remarks) notable_.emplace_back(text);
  }

  static bool is_product(std::string_view primitive) { return primitive == "matmul" || primitive == "inner_product" || primitive == "gemm"; }

  void judge_products(TraceAnswer& answer) {
    std::uint64_t fast = 0, slow = 0, refused = 0, open = 0;
    for (const CallGroup& each : calls_.all())
      if (is_product(each.function)) (is_reference(each.implementation) ? slow : fast) += each.count;
    for (const Refusal& each : refusals_)
      if (is_product(each.primitive) && !each.created) ++(any_create_ ? refused : open);
    PathVerdict v = PathVerdict::none;
    if (fast + slow + refused > 0) v = slow + refused == 0 ? PathVerdict::fast_path : fast == 0 ? PathVerdict::fallback : PathVerdict::mixed;
    else if (open > 0) v = PathVerdict::cannot_tell;
    if (v == PathVerdict::none) return;
    answer.verdict.gemm = joined(answer.verdict.gemm, v);
    answer.verdict.gemm_why += fmt::format("oneDNN: {} products on optimised implementations, {} on reference ones, {} refused by every implementation", fast, slow, refused);
    if (open > 0) answer.verdict.gemm_why += fmt::format(", {} refusals whose outcome the log does not show", open);
  }

  void judge_attention(TraceAnswer& answer) {
    if (attention_fast_ + attention_slow_ == 0) return;
    const PathVerdict v = attention_slow_ == 0 ? PathVerdict::fast_path : attention_fast_ == 0 ? PathVerdict::fallback : PathVerdict::mixed;
    answer.verdict.sdpa = joined(answer.verdict.sdpa, v);
    answer.verdict.sdpa_why += fmt::format("oneDNN ran attention {} times fused, {} times on the reference", attention_fast_, attention_slow_);
  }

  void add_findings(TraceAnswer& answer) {
    for (const Refusal& each : refusals_) {
      if (each.created || !any_create_ || answer.findings.size() > 200) continue;
      answer.findings.push_back(finding_of("EVD051", fmt::format("{} {}with problem {} refused by {} implementations: {}", each.primitive, each.types, each.problem, each.reasons.size(), fmt::join(each.reasons, "; "))));
    }
    double product_ms = 0, reorder_ms = 0;
    for (const CallGroup& each : calls_.all()) {
      if (is_product(each.function)) product_ms += each.ms;
      if (each.function == "reorder") reorder_ms += each.ms;
      if (is_product(each.function) && is_reference(each.implementation))
        answer.findings.push_back(finding_of("EVD050", fmt::format("{} on {}, problem {}, {}", each.function, each.implementation, each.problem, each.memory)));
    }
    if (product_ms > 0 && reorder_ms > 0.1 * product_ms)
      answer.findings.push_back(finding_of("EVD053", fmt::format("{:.3f} ms of reorders beside {:.3f} ms of products", reorder_ms, product_ms)));
    for (const std::string& each : checks_)
      answer.findings.push_back(finding_of("EVD052", each));
  }

  std::uint64_t lines_ = 0, short_lines_ = 0, notable_count_ = 0, pending_short_ = 0, attention_fast_ = 0, attention_slow_ = 0;
  bool any_create_ = false, executed_ = false;
  std::map<std::string, std::uint64_t> by_kind_;
  std::vector<std::string> versions_, notable_, checks_;
  std::string isa_;
  CallGroups calls_;
  std::vector<Refusal> refusals_;
  std::unordered_map<std::string, std::size_t> refusal_index_;
};

}  // namespace

bool is_reference(std::string_view implementation) {
  for (const std::string_view start : {"ref", "simple"})
    if (implementation.starts_with(start)) return true;
  return implementation.find(":ref") != std::string_view::npos || implementation.find("_ref:") != std::string_view::npos || implementation.find(":simple") != std::string_view::npos;
}

std::unique_ptr<LogReader> onednn_reader() { return std::make_unique<OneDnn>(); }

}  // namespace dd::evidence
