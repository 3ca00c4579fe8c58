// What a kernel name alone says: who made the kernel, which operation it serves, whether it uses tensor cores.
// The table is ordered and the first row that matches wins; a name that no row knows stays unknown, and no row
// rests on one word. The build family in a name (ampere, volta, sm80) is kept apart from the GPU it ran on.
#pragma once
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
namespace dd::evidence {

// What the kernel does for the call, as counted in summaries.
enum class Role : unsigned char {
  unknown, gemm, gemm_aux, attention, softmax, cast, layout, copy, copy_or_cast, concat, fused_triton, convolution,
  norm, reduction, elementwise, quantize, dequantize, indexing, collective, other
};
enum class Tri : unsigned char { no, yes, unknown };

std::string_view role_name(Role role);
std::string_view tri_name(Tri value);

struct KernelRow {
  std::string_view id;
  Role role;
  std::string_view family;
  std::string_view provider;
  std::string_view operation;
  Tri tensor_cores;
  std::array<std::string_view, 12> patterns;
  std::string_view note;
};

std::span<const KernelRow> kernel_rows();

// One name, read as far as it can be read. `label` groups kernels of one kind ("cutlass80 tensor-core bf16 align8").
struct KernelClass {
  const KernelRow* row = nullptr;  // null: unknown
  Role role = Role::unknown;
  Tri tensor_cores = Tri::unknown;
  std::string label;
  std::string dtype;      // what is multiplied or moved, as far as the name tells
  std::string layout;     // nn, tn, nt, tt where the name has it
  int alignment = 0;      // elements per load; 0 = not in the name
  int build_sm = 0;       // family the kernel was compiled for, not the GPU
  int tile_m = 0, tile_n = 0;
  int split_k = 1;
  bool wmma = false;      // the older matrix instruction path
  bool backward = false;
  bool known() const { return row != nullptr; }
};

KernelClass classify_kernel(std::string_view name);

// Remembers every name seen, so that a trace of millions of launches classifies each distinct name once.
class KernelClassifier {
 public:
  const KernelClass& of(std::string_view name);

 private:
  std::unordered_map<std::string, KernelClass> seen_;
};

}  // namespace dd::evidence
