// What PyTorch says when a backend declines or a call fails, mapped to the rules that mean the same: fragments that tell
// one message from all others, by the releases that print them. Text without a row is not understood, and is shown as it is.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "frameworks/framework.hpp"

namespace dd::frameworks::torch {

struct Message {
  std::string_view fragment;                // part of the message; case matters
  Span span;                                // releases that print it
  std::vector<std::string_view> rules;      // ids; several where one message covers the rules of several backends
};
std::span<const Message> messages();

// The rules that the text names, without repeats, in table order. `backend` (torch-flash, …) keeps rules of that backend's
// scope and of the whole call; an empty version means any release.
std::vector<std::string_view> rules_of(std::string_view text, std::string_view backend = {}, const facts::Version* version = nullptr);

}  // namespace dd::frameworks::torch
