// SPDX-License-Identifier: Apache-2.0
// What the scheduler tells the trace beside the single facts that stand where they happen. Called
// only where there is a trace.
#include "scheduler/scheduler.h"
#include "trace/trace_recorder.h"

namespace tvllm::scheduler {

namespace {

using trace::EventKind;

// A snapshot lists the free block queue of pools up to this size. A larger one would push all else
// out of the ring, and nobody can draw it.
constexpr std::int32_t kMaxListedQueue = 4096;

std::int32_t state_slot_of(const Sequence& seq) {
  return seq.state_slot ? seq.state_slot->value() : -1;
}

}  // namespace

void Scheduler::trace_info() {
  trace_->set_info({options_.block_size, options_.num_blocks, options_.num_kv_groups,
                    options_.max_num_batched_tokens, options_.max_num_seqs,
                    options_.enable_prefix_caching ? 1 : 0});
}

void Scheduler::trace_plan(const StepPlan& plan) {
  trace_->add(EventKind::kStepPlanned, {},
              {static_cast<std::int32_t>(plan.sequences.size()), plan.num_tokens(),
               static_cast<std::int32_t>(running_.size()), waiting_.size()});
  for (const PlannedSequence& planned : plan.sequences) {
    const bool is_decode =
        planned.num_new_tokens == 1 && planned.num_computed_tokens > 0 && planned.samples_token;
    trace_->add(EventKind::kSequencePlanned, planned.seq_id,
                {planned.num_computed_tokens, planned.num_new_tokens, is_decode ? 1 : 0,
                 planned.samples_token ? 1 : 0});
  }
}

// Before a plan is made: everything that was told until now is in it. Running sequences in order of
// admission, then the queue in its order, then those whose last step is still in flight.
void Scheduler::trace_snapshot() {
  const bool has_queue = kv_cache_.num_blocks() <= kMaxListedQueue;
  trace_->add(EventKind::kSnapshotBegin, {},
              {static_cast<std::int32_t>(sequences_.size()), has_queue ? 1 : 0});
  for (const Sequence* seq : running_)
    trace_sequence(*seq);
  for (const Sequence* seq : waiting_)
    trace_sequence(*seq);
  for (const auto& [seq_id, seq] : sequences_) {
    if (seq->status == SequenceStatus::kFinished) trace_sequence(*seq);
  }
  if (has_queue) kv_cache_.trace_queue();
  trace_->add(EventKind::kSnapshotEnd, {}, {});
}

void Scheduler::trace_sequence(const Sequence& seq) {
  trace_->add_text(EventKind::kSnapshotSequence, seq.id, seq.num_prompt_tokens(),
                   seq.max_output_tokens, seq.request->request_id);
  trace_->add(EventKind::kSnapshotProgress, seq.id,
              {static_cast<std::int32_t>(seq.status), seq.num_computed_tokens,
               seq.num_output_tokens(), state_slot_of(seq)});
  if (kv_cache_.holds(seq.id)) kv_cache_.trace_tables(seq.id);
}

}  // namespace tvllm::scheduler
