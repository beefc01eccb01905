// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "engine/engine_client.h"

namespace tvllm::server {

// The line that says every ten seconds how busy the engine is, in vLLM's words. Silent while there
// is nothing to say: a line that tells of rest is the last one until something happens.
// Thread-compatible.
class StatsLog {
 public:
  static constexpr std::chrono::seconds kInterval{10};

  explicit StatsLog(TimePoint start) : last_(start) {}

  // Time to look at the engine and call line().
  bool is_due(TimePoint now) const { return now - last_ >= kInterval; }

  // What has happened since the last call; empty if nothing has.
  std::string line(const engine::EngineStats& stats, TimePoint now);

 private:
  TimePoint last_;
  engine::EngineStats before_;
  bool was_busy_ = false;
};

}  // namespace tvllm::server
