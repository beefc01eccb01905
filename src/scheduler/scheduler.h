// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "core/engine_options.h"
#include "core/request.h"
#include "core/step_plan.h"
#include "core/step_result.h"
#include "core/token_event.h"
#include "kv_cache/kv_cache_manager.h"
#include "scheduler/request_queue.h"
#include "scheduler/sequence.h"
#include "scheduler/state_slots.h"

namespace tvllm::scheduler {

// For Scheduler::plan: prompts may use the whole token budget.
inline constexpr std::int32_t kNoPrefillBound = std::numeric_limits<std::int32_t>::max();

// What the next plan finds, for whoever sets its prefill allowance.
struct UpcomingLoad {
  std::int32_t num_decode_tokens = 0;
  std::int64_t num_context_tokens = 0;  // positions that the decodes attend to
  std::int64_t prefill_position = 0;    // where the prompt that goes on first stands
};

struct SchedulerStats {
  std::int32_t num_running = 0;
  std::int32_t num_waiting = 0;  // preempted ones included
  std::int32_t num_blocks = 0;
  std::int32_t num_used_blocks = 0;
  std::int32_t num_cached_blocks = 0;
  // Since start:
  std::uint64_t num_prompt_tokens = 0;  // computed or hit; recomputations apart
  std::uint64_t num_generated_tokens = 0;
  std::uint64_t num_preemptions = 0;
  // In tokens. First admissions count alone, so that preemptions do not touch the hit rate.
  std::uint64_t num_prefix_queries = 0;
  std::uint64_t num_prefix_hits = 0;
  std::uint64_t num_resumed_prefix_queries = 0;  // the same of resumed sequences
  std::uint64_t num_resumed_prefix_hits = 0;
};

// Decides what each step computes. One rule: computed tokens catch up with known tokens, under a
// token budget; running sequences first, then waiting ones. That alone is continuous batching,
// chunked prefill and resuming after a preemption.
//
//   add() / cancel()  ->  plan(A)  ->  executor  ->  apply(A, result)  ->  token events
//
// With a device that works on its own, plan(B) may come before apply(A): sequences count the tokens
// that A is still sampling as pending. Plans are applied in the order they were made.
//
// When blocks run out, the running sequence that comes last (SequenceOrder) loses its blocks, waits
// at its old place, and computes its known tokens anew once all of them fit. A sequence that ends
// or is preempted leaves the schedule at once, but keeps its blocks and state slot until no
// submitted step refers to it. A full house (no state slot) never preempts anybody, whatever the
// priorities.
//
// At each admission a sequence takes over the blocks that the prefix index has of its known tokens,
// all but the last token: its logits are needed. Blocks are indexed when the step that filled them
// is applied, so what is shared was computed; then, and not earlier, blocks that a window has
// passed are given back, so no step in flight reads them. When a row has no valid logits, whatever
// its sequence holds is forgotten.
//
// Owns the sequences and the KV cache manager. Engine thread only, but for check_fits(). Knows no
// model, no tensors and no clock.
//
// Invariants: (1) a plan never exceeds the token budget or max_num_seqs; (2) a sequence holds
// blocks exactly while it holds a state slot; (3) running sequences that may still wait for a block
// can always get one in the end: the one that comes first can preempt all others and fits alone.
class Scheduler {
 public:
  // `trace`, if not null, outlives the scheduler. REQUIRES: check_scheduler_options(options)
  Scheduler(const SchedulerOptions& options, std::vector<TokenId> eos_token_ids,
            trace::TraceRecorder* trace = nullptr);

  // Refuses what could never be finished: kContextLength where prompt and output pass the model's
  // length or the KV cache, kInvalidArgument without a prompt token or room for an output token.
  // Thread-safe.
  Status check_fits(const Request& request) const;

  // REQUIRES: check_fits(*request), an id never used before
  void add(SeqId seq_id, std::shared_ptr<const Request> request);

  // Ends a sequence; the next apply() tells. Harmless for one that has ended or is unknown.
  void cancel(SeqId seq_id);

  // Fills `plan`, which the caller owns and keeps as it is until apply(). At most
  // `prefill_allowance` tokens go to sequences that are not decoding; at 0 their prompts wait, so
  // the caller must not let it stay there. Without chunked prefill whole prompts are started while
  // the allowance lasts. A plan without sequences needs no executor unless it releases slots.
  void plan(StepPlan& plan, std::int32_t prefill_allowance = kNoPrefillBound);

  // Takes in what the executor answered and appends the step's news: first that of the plan's
  // sequences in their order, then the ends of cancelled ones. An empty plan may be applied with an
  // empty result, or dropped if it releases no slots.
  void apply(const StepPlan& plan, const StepResult& result, std::vector<TokenEvent>& events);

  // Sequences, ends to tell, or slots to release: plan() and apply() have something to do.
  bool has_work() const;
  UpcomingLoad upcoming_load() const;
  SchedulerStats stats() const;
  const kv_cache::KvCacheManager& kv_cache() const { return kv_cache_; }
  trace::TraceRecorder* trace() const { return trace_; }

  // Drops cached content that no sequence holds.
  void reset_prefix_cache();

  // Aborts with a message if an invariant is broken. Walks everything: for tests and idle times.
  void check_invariants() const;

 private:
  // What is left to give out in the plan being made.
  struct StepBudget {
    std::int32_t num_tokens = 0;
    std::int32_t num_prefill_tokens = 0;
    std::int32_t num_claimed_blocks = 0;  // that sequences await from others that are leaving
    bool is_short_of_blocks = false;      // somebody was preempted or awaits blocks: admit nobody

    // Also for a prompt that lacks one token and costs no more than a decode: when the prefill
    // tokens are gone, an incomplete prompt may have taken them.
    bool allows_admission() const {
      return num_tokens > 0 && num_prefill_tokens > 0 && !is_short_of_blocks;
    }
  };

  // The phases of plan(), in scheduler_plan.cc.
  void begin_plan(StepPlan& plan, std::int32_t prefill_allowance);
  std::size_t max_num_table_entries() const;
  void plan_running();
  void plan_waiting(StepPlan& plan);
  void write_plan(StepPlan& plan);

  std::int32_t num_tokens_to_plan(const Sequence& seq) const;
  void plan_tokens(Sequence& seq, std::int32_t num_tokens);
  void unplan_tokens(Sequence& seq);
  bool make_room(Sequence& seq, std::int32_t num_tokens);
  std::int32_t num_blocks_to_come();
  Sequence& choose_victim() const;
  void preempt(Sequence& victim);
  std::int32_t find_prefix(Sequence& seq);
  bool can_admit(const Sequence& seq) const;
  bool is_running_complete() const;
  void admit(Sequence& seq, StepPlan& plan);
  void take_prefix(Sequence& seq, bool is_first);
  void write_sequence(Sequence& seq, StepPlan& plan) const;

  // The parts of apply(), in scheduler.cc.
  void apply_sequence(Sequence& seq, const PlannedSequence& planned, const SequenceResult& result,
                      std::vector<TokenEvent>& events);
  void take_prompt_progress(Sequence& seq, const PlannedSequence& planned,
                            const SequenceResult& result, TokenEvent& event);
  void take_computed(Sequence& seq, std::int32_t num_tokens);
  void take_token(Sequence& seq, const PlannedSequence& planned, const SequenceResult& result,
                  TokenEvent& event);
  void finish(Sequence& seq, FinishReason reason);
  void release(Sequence& seq);
  void leave_if_unreferenced(Sequence& seq);

  // What the trace is told, in scheduler_trace.cc.
  void trace_info();
  void trace_plan(const StepPlan& plan);
  void trace_snapshot();
  void trace_sequence(const Sequence& seq);

  const SchedulerOptions options_;
  const std::vector<TokenId> eos_token_ids_;
  const std::int32_t num_watermark_blocks_;
  trace::TraceRecorder* const trace_;

  kv_cache::KvCacheManager kv_cache_;
  StateSlots state_slots_;
  SequenceOrder order_;
  std::unordered_map<SeqId, std::unique_ptr<Sequence>> sequences_;
  RequestQueue waiting_;
  std::vector<Sequence*> running_;  // in order of admission
  std::vector<SeqId> cancelled_;    // whose end is still to be told
  StepBudget budget_;
  kv_cache::PrefixHit hit_;     // of the sequence about to be admitted
  std::vector<SeqId> leaving_;  // for num_blocks_to_come()

  std::uint64_t num_arrivals_ = 0;
  std::uint64_t num_plans_ = 0;
  SchedulerStats totals_;  // the counters; the gauges are filled in by stats()
  ThreadChecker thread_;
};

}  // namespace tvllm::scheduler
