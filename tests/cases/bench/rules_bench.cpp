// dd_rules_bench [SPECS]: candidate rows a second on one core, for PyTorch attention on ten targets. A row is one backend
// judged for one spec on one target: every rule of its table evaluated.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "facts/derive.hpp"
#include "facts/profiles.hpp"
#include "frameworks/torch/torch.hpp"

namespace {

using namespace dd;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<spec::OpSpec> make_specs(int count) {
  std::mt19937 random(7);
  const auto pick = [&](std::initializer_list<std::int64_t> list) { return *(list.begin() + static_cast<std::ptrdiff_t>(random() % list.size())); };
  const char* versions[] = {"2.1.0", "2.4.0", "2.6.0", "2.8.0", "2.9.0", "2.14.1"};
  const spec::DType types[] = {spec::DType::f16, spec::DType::bf16, spec::DType::f32};
  std::vector<spec::OpSpec> specs;
  for (int i = 0; i < count; ++i) {
    spec::Attention a;
    const std::int64_t heads = pick({1, 8, 16, 32}), length = pick({1, 64, 512, 4096}), size = pick({64, 80, 96, 128, 192, 256});
    a.q.shape = {pick({1, 2, 8}), heads, length, size};
    a.k.shape = a.v.shape = {a.q.shape[0], random() % 4 ? heads : 1, length, size};
    a.q.dtype = a.k.dtype = a.v.dtype = types[random() % 3];
    a.is_causal = random() % 2;
    a.enable_gqa = random() % 2;
    a.requires_grad = random() % 2;
    if (random() % 3 == 0) {
      spec::MaskSpec mask;
      mask.shape = {length, length};
      a.mask = mask;
      a.is_causal = false;
    }
    spec::OpSpec spec;
    spec.op = a;
    spec.context.framework = "torch";
    spec.context.torch = versions[random() % 6];
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1000;
  const auto specs = make_specs(count);
  const auto found = facts::find_profiles("t4,v100,a100-40,a10,rtx-3090,rtx-4090,rtx-5090,h100-sxm,h200,b200");
  const frameworks::Framework& torch = frameworks::torch_framework();
  std::size_t rows = 0, eligible = 0;
  double judging = 0;
  const auto start = Clock::now();
  for (const spec::OpSpec& spec : specs) {
    const facts::FactSet base = facts::derive_facts(spec);
    for (const facts::DeviceProfile& target : *found) {
      facts::FactSet f = base;
      facts::apply(target, f);
      torch.add_facts(spec, f);
      const auto candidates = torch.candidates(spec, f);
      const auto before = Clock::now();
      for (const frameworks::Candidate& c : candidates) {
        ++rows;
        eligible += frameworks::standing_of(c, f) == frameworks::Standing::eligible;
      }
      judging += since(before);
    }
  }
  const double all = since(start);
  fmt::print("{} specs on {} targets: {} candidate rows, {} eligible\n", specs.size(), found->size(), rows, eligible);
  fmt::print("rules alone: {:.0f} rows/s; with facts made for each target: {:.0f} rows/s ({:.2f} s)\n", static_cast<double>(rows) / judging,
             static_cast<double>(rows) / all, all);
}
