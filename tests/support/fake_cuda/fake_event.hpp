// What the fake driver tells the fake CUPTI: one call of the driver that puts something on the device.
#pragma once
#include <cstdint>

struct DdFakeEvent {
  int kind = 10;  // CUpti_ActivityKind: 10 kernel, 1 copy, 2 fill, 38 synchronisation
  const char* name = nullptr;
  int grid[3] = {}, block[3] = {}, shared = 0;
  int copy_kind = 0;
  std::uint64_t bytes = 0;
  bool from_graph = false;
};
using DdFakeObserver = void (*)(const DdFakeEvent&);  // "dd_fake_observe" of the fake CUPTI, where that is loaded
