#include "evidence/trace/records.hpp"

#include <cstring>

namespace dd::evidence {
namespace {

// Short mixing hash; the pool only needs spread, not secrecy: a clash costs one comparison more.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t h = 0x9e3779b97f4a7c15ull ^ text.size();
  const char* at = text.data();
  std::size_t left = text.size();
  while (left >= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
    at += 8;
    left -= 8;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, left);
  h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
  return h ^ (h >> 29);
}

}  // namespace

TextPool::TextPool() : slots_(1024, 0) { texts_.emplace_back(); }

std::uint32_t TextPool::add(std::string_view text) {
  if (text.empty()) return 0;
  if (texts_.size() * 2 > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash_of(text) & mask;; at = (at + 1) & mask) {
    const std::uint32_t id = slots_[at];
    if (id == 0) {
      slots_[at] = size();
      texts_.push_back(store(text));
      return slots_[at];
    }
    if (texts_[id] == text) return id;
  }
}

void TextPool::grow() {
  std::vector<std::uint32_t> bigger(slots_.size() * 2, 0);
  const std::size_t mask = bigger.size() - 1;
  for (std::uint32_t id = 1; id < texts_.size(); ++id) {
    std::size_t at = hash_of(texts_[id]) & mask;
    while (bigger[at] != 0) at = (at + 1) & mask;
    bigger[at] = id;
  }
  slots_ = std::move(bigger);
}

std::string_view TextPool::store(std::string_view text) {
  if (block_used_ + text.size() > block_size_) {
    block_size_ = std::max<std::size_t>(text.size(), 64 * 1024);
    blocks_.push_back(std::make_unique<char[]>(block_size_));
    block_used_ = 0;
  }
  char* at = blocks_.back().get() + block_used_;
  std::memcpy(at, text.data(), text.size());
  block_used_ += text.size();
  return {at, text.size()};
}

}  // namespace dd::evidence
