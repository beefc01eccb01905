// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>

#include "base/result.h"
#include "core/token_event.h"
#include "engine/engine_client.h"

namespace tvllm::bench {

// Holds the engine between two steps while requests are handed to it, so that its next step finds
// them all. Else its first step has as many as it happens to see, and a batch takes another course
// each time.
//
// The sink of a request of one token, which it keeps from going on where its event is published.
// That breaks a sink's promise not to block, which is why nobody else should do it.
class StartGate final : public TokenEventSink {
 public:
  // Returns when the engine, idle until then, stands at the gate.
  static Status close(engine::EngineClient& engine, StartGate& gate);

  StartGate() = default;
  ~StartGate() override;  // opens, and waits until the engine has passed
  StartGate(const StartGate&) = delete;
  StartGate& operator=(const StartGate&) = delete;

  void open();

  void publish(std::span<TokenEvent> events) noexcept override;

 private:
  enum class State { kUnused, kSubmitted, kReached, kOpen, kPassed };

  // Shared with publish(), which may still wake others when the destructor sees that it has passed.
  const std::shared_ptr<std::atomic<State>> state_ =
      std::make_shared<std::atomic<State>>(State::kUnused);
};

}  // namespace tvllm::bench
