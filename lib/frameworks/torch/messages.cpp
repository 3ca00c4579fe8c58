#include "frameworks/torch/messages.hpp"

#include <algorithm>

namespace dd::frameworks::torch {
namespace {

// The owner of a backend's rules; rules of the whole call belong to everyone.
std::string_view owner_of(std::string_view backend) {
  static constexpr std::pair<std::string_view, std::string_view> owners[] = {
      {"torch-flash", "TFL"}, {"torch-efficient", "TEF"}, {"torch-cudnn", "TCU"}, {"torch-math", "TMA"}, {"torch-cpu-flash", "TCP"}, {"torch-overrideable", "TOV"}};
  for (const auto& [name, owner] : owners)
    if (name == backend) return owner;
  return {};
}

}  // namespace

// Checked against the texts inside the libraries of torch 2.8.0 and 2.15.0; those of older releases against their sources.
std::span<const Message> messages() {
  static const Message table[] = {
      // The whole call
      {"No viable backend for scaled_dot_product_attention", {"2.0", ""}, {"TSD007", "TSD009"}},
      {"o available kernel. Aborting execution", {"2.0", ""}, {"TSD011"}},
      {"to have the same dtype, but got query.dtype", {"2.0", ""}, {"TSD001"}},
      {"to have the same device type, but got query.device", {"2.0", ""}, {"TSD002"}},
      {"at least 2 dimensional", {"2.0", ""}, {"TSD003"}},
      {"attn_mask dtype to be bool or", {"2.0", ""}, {"TSD004", "TSD005"}},
      {"are not supported when an explicit attn_mask is set", {"2.0", ""}, {"TSD006"}},
      {"attn_mask should not be set when is_causal=True", {"2.0", ""}, {"TMA002"}},
      {"are not supported when is_causal=True", {"2.0", ""}, {"TMA004"}},
      // Several backends
      {"query, key and value to be 4 dimensional", {"2.0", ""}, {"TFL004", "TEF011", "TCU012", "TCP005"}},
      {"query, key and value to all be of dtype", {"2.0", ""}, {"TFL027", "TFL028", "TFL029", "TEF033", "TEF034", "TEF035", "TEF036", "TCU026", "TCP019"}},
      {"to have the same batch_size", {"2.1", ""}, {"TFL038", "TFL040", "TEF028", "TEF030", "TCU038", "TCP006", "TCP008"}},
      {"query, key and value to have the same num_heads", {"2.1", ""}, {"TFL039", "TFL043", "TFL044", "TEF029", "TEF032", "TCU040", "TCU041", "TCP007", "TCP009"}},
      {"number of heads for key and query must be a factor", {"2.5", ""}, {"TFL042", "TEF031", "TCU039", "TCP010"}},
      {"fused kernels require key and value to have the same num_heads", {"2.5", ""}, {"TFL041", "TCU039", "TCP010"}},
      {"last dimension of the input to have stride 1", {"2.1", ""}, {"TFL046", "TFL047", "TFL048", "TEF026", "TEF027", "TCU010", "TCU011", "TCP017", "TCP018"}},
      {"do not support zero seq_len_q or seq_len_kv", {"2.1", ""}, {"TFL045", "TEF025", "TCU009", "TCP016"}},
      {"do not support seq_len == 0", {"2.1", ""}, {"TFL045", "TEF025", "TCU009", "TCP016"}},
      {"do not support non-zero dropout", {"2.1", ""}, {"TCP004"}},
      // Flash
      {"Flash attention was not compiled", {"2.0", ""}, {"TFL001"}},
      {"as not compiled with flash attention", {"2.0", ""}, {"TFL001"}},
      {"Flash attention has been runtime disabled", {"2.0", ""}, {"TFL002", "TCP002"}},
      {"Flash Attention does not support non-null attn_mask", {"2.0", ""}, {"TFL005"}},
      {"same last dimension and to be a multiple of 8", {"2.0", "2.1"}, {"TFL007", "TFL008"}},
      {"same last dimension and to be less than or equal to 256", {"2.1", ""}, {"TFL009", "TFL010"}},
      {"Flash attention requires q,k,v to have the same last dimension.", {"2.1", ""}, {"TFL009", "TCP015"}},
      {"Flash attention only supports gpu architectures", {"2.0", ""}, {"TFL011", "TFL012", "TFL013", "TFL014", "TFL015", "TFL016", "TFL017", "TFL018", "TFL019", "TFL020"}},
      {"doesn't support training with head_dim", {"2.0", ""}, {"TFL021", "TFL022", "TFL023", "TFL024", "TFL025"}},
      {"is_causal flag when seqlen_q != seqlen_k", {"2.1", ""}, {"TFL026"}},
      {"Flash attention does not support batch size or num_heads greater than", {"2.14", ""}, {"TFL102"}},
      // Memory-efficient
      {"ot compiled with memory efficient attention", {"2.0", ""}, {"TEF001"}},
      {"Memory Efficient attention has been runtime disabled", {"2.0", ""}, {"TEF002"}},
      {"Mem Efficient attention requires a CUDA device", {"2.1", ""}, {"TEF003"}},
      {"Mem Efficient Attention only supports gpu architectures", {"2.0", ""}, {"TEF004", "TEF005", "TEF006", "TEF007", "TEF008", "TEF009", "TEF010"}},
      {"last dimension of inputs to be divisible by", {"2.0", ""}, {"TEF013", "TEF014", "TEF015"}},
      {"storage offsets * element_size to be aligned", {"2.1", ""}, {"TEF016"}},
      {"doesn't support training with NT inputs", {"2.1", ""}, {"TEF021"}},
      // cuDNN
      {"cuDNN attention has been runtime disabled", {"2.4", ""}, {"TCU005"}},
      {"cuDNN attention was not enabled", {"2.3", "2.4"}, {"TCU002"}},
      {"nested tensor support is not enabled", {"2.5", ""}, {"TCU006", "TCU007"}},
      {"cuDNN SDPA does not support batch size or num_heads greater than", {"2.14", ""}, {"TCU020"}},
      {"attn_bias not yet supported with cuDNN Attention and NestedTensor", {"2.5", ""}, {"TCU006"}},
      {"cudnn SDPA does not support sequence length 1", {"2.4", "2.8"}, {"TCU021"}},
      {"cudnn SDPA does not support key/value sequence length 1", {"2.9", ""}, {"TCU022"}},
      {"does not support query sequence length 1 with dropout", {"2.9", ""}, {"TCU023"}},
      {"fused_attention_overrideable not implemented", {"2.6", ""}, {"TOV001"}},
  };
  return table;
}

std::vector<std::string_view> rules_of(std::string_view text, std::string_view backend, const facts::Version* version) {
  const std::string_view owner = owner_of(backend);
  std::vector<std::string_view> out;
  for (const Message& m : messages()) {
    if (text.find(m.fragment) == std::string_view::npos || (version && !contains(m.span, *version))) continue;
    for (std::string_view id : m.rules) {
      const bool wanted = owner.empty() || id.substr(0, 3) == owner || id.substr(0, 3) == "TSD";
      if (wanted && std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
    }
  }
  return out;
}

}  // namespace dd::frameworks::torch
