// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "core/request.h"
#include "core/token_event.h"
#include "engine/engine_client.h"
#include "server/admission.h"
#include "server/metrics.h"
#include "server/openai/generation.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {

// Every sequence that this server has in the engine, and whose it is. Events go through here: all
// that are there in one pass, then one send for each stream that has something new, however many
// steps that is. A send takes four times as long as all the rest, so sends go out in slices,
// between which others have their turn. I/O thread only.
//
// Invariant: a sequence has a route, and holds its place at the gate, from submit() until its last
// event, also when its client has long left.
class GenerationHub {
 public:
  // All outlive the hub.
  GenerationHub(engine::EngineClient& engine, TokenEventSink& sink, AdmissionGate& gate,
                const tokenizer::Tokenizer& tokenizer, Metrics& metrics)
      : engine_(engine), sink_(sink), gate_(gate), tokenizer_(tokenizer), metrics_(metrics) {}

  // The place at the gate is the caller's until this succeeds, and the sequence's afterwards.
  Result<SeqId> submit(std::shared_ptr<const Request> request,
                       std::shared_ptr<Generation> generation, std::size_t choice);
  void release_unsubmitted(std::size_t num_choices);
  void cancel(SeqId seq_id) { engine_.cancel(seq_id); }

  // Moves from the events, which are taken as those of `now`. Streams wait for flush_some().
  void deliver(std::vector<TokenEvent>& events, TimePoint now);
  // Sends the news of some streams; true if there are more.
  bool flush_some();

  void cancel_all();
  // Also forgets whose they are: for the time when no client is left.
  void abandon_all();
  std::size_t num_sequences() const { return routes_.size(); }

  const tokenizer::Tokenizer& tokenizer() const { return tokenizer_; }
  Metrics& metrics() const { return metrics_; }

 private:
  struct Route {
    std::shared_ptr<Generation> generation;  // null after abandon_all
    std::size_t choice = 0;
  };

  engine::EngineClient& engine_;
  TokenEventSink& sink_;
  AdmissionGate& gate_;
  const tokenizer::Tokenizer& tokenizer_;
  Metrics& metrics_;
  std::unordered_map<SeqId, Route> routes_;
  std::vector<std::shared_ptr<Generation>> touched_;  // with news; kept for its memory
  std::size_t num_flushed_ = 0;                       // of touched_
};

}  // namespace tvllm::server
