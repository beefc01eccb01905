// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "scheduler/scheduler.h"

namespace tvllm::scheduler {

namespace {

void check_running(const Sequence& seq) {
  TVLLM_CHECK(seq.status == SequenceStatus::kRunning && seq.state_slot, "sequence ", seq.id,
              " among the running ones is not running");
  TVLLM_CHECK(seq.num_planned_tokens == 0, "sequence ", seq.id, " keeps a share of no plan");
  TVLLM_CHECK(seq.num_pending_tokens >= 0 && seq.num_pending_tokens <= seq.num_steps_in_flight,
              "sequence ", seq.id, " has ", seq.num_pending_tokens, " pending tokens in ",
              seq.num_steps_in_flight, " steps");
  TVLLM_CHECK(seq.num_computed_tokens < seq.num_known_tokens() + seq.num_pending_tokens,
              "sequence ", seq.id, " computed ", seq.num_computed_tokens, " of ",
              seq.num_known_tokens(), " + ", seq.num_pending_tokens, " tokens");
  TVLLM_CHECK(seq.num_output_tokens() + seq.num_pending_tokens <= seq.max_output_tokens,
              "sequence ", seq.id, " has more outputs than ", seq.max_output_tokens);
}

void check_waiting(const Sequence& seq) {
  const bool is_waiting = seq.status == SequenceStatus::kWaiting && !seq.state_slot;
  const bool is_preempted = seq.status == SequenceStatus::kPreempted &&
                            seq.state_slot.has_value() == (seq.num_steps_in_flight > 0);
  TVLLM_CHECK(is_waiting || is_preempted, "sequence ", seq.id, " in the queue does not wait");
  TVLLM_CHECK(seq.num_computed_tokens == 0 && seq.num_planned_tokens == 0, "sequence ", seq.id,
              " waits with ", seq.num_computed_tokens, " computed tokens");
}

}  // namespace

void Scheduler::check_invariants() const {
  kv_cache_.check_invariants();
  for (const Sequence* seq : running_) {
    check_running(*seq);
    TVLLM_CHECK(kv_cache_.num_missing_blocks(seq->id, seq->num_computed_tokens) == 0, "sequence ",
                seq->id, " computed positions that have no block");
  }
  for (const Sequence* seq : waiting_) {
    check_waiting(*seq);
  }
  std::size_t num_finished = 0;
  std::int32_t num_holding = 0;
  for (const auto& [seq_id, seq] : sequences_) {
    if (seq->status == SequenceStatus::kFinished) {
      ++num_finished;
      TVLLM_CHECK(seq->num_steps_in_flight > 0, "sequence ", seq_id, " stays after its end");
    }
    TVLLM_CHECK(seq->state_slot.has_value() == kv_cache_.holds(seq_id), "sequence ", seq_id,
                " holds a state slot or blocks, but not both");
    if (!seq->state_slot) continue;
    ++num_holding;
    TVLLM_CHECK(state_slots_.owner(*seq->state_slot) == seq.get(), "state slot ", *seq->state_slot,
                " is not that of sequence ", seq_id);
  }
  TVLLM_CHECK(num_holding == state_slots_.num_taken() && num_holding == kv_cache_.num_sequences(),
              num_holding, " sequences hold ", state_slots_.num_taken(), " state slots and ",
              kv_cache_.num_sequences(), " block tables");
  TVLLM_CHECK(sequences_.size() ==
                  running_.size() + static_cast<std::size_t>(waiting_.size()) + num_finished,
              sequences_.size(), " sequences, ", running_.size(), " running, ", waiting_.size(),
              " waiting, ", num_finished, " finished");
}

}  // namespace tvllm::scheduler
