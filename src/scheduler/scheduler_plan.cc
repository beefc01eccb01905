// SPDX-License-Identifier: Apache-2.0
// How Scheduler makes a plan. Until write_plan() a plan is only a number on each sequence
// (num_planned_tokens), so that taking a share back from a victim that was already planned is
// giving its tokens back to the budget.
#include <algorithm>

#include "base/check.h"
#include "scheduler/scheduler.h"
#include "trace/trace_recorder.h"

namespace tvllm::scheduler {

void Scheduler::plan(StepPlan& plan, std::int32_t prefill_allowance) {
  thread_.check();
  begin_plan(plan, prefill_allowance);
  plan_running();
  plan_waiting(plan);
  write_plan(plan);
}

void Scheduler::begin_plan(StepPlan& plan, std::int32_t prefill_allowance) {
  if (trace_ != nullptr) {
    trace_->set_step(num_plans_ + 1);
    if (trace_->ring().take_snapshot_request()) trace_snapshot();
  }
  budget_ = {.num_tokens = options_.max_num_batched_tokens,
             .num_prefill_tokens = std::max(prefill_allowance, 0)};
  const std::size_t num_seqs = static_cast<std::size_t>(options_.max_num_seqs);
  plan.tables.resize(static_cast<std::size_t>(options_.num_kv_groups));
  plan.sequences.reserve(num_seqs);
  plan.started.reserve(num_seqs);
  plan.released_slots.reserve(num_seqs);
  plan.token_ids.reserve(static_cast<std::size_t>(options_.max_num_batched_tokens));
  for (BlockTables& tables : plan.tables) {
    tables.blocks.reserve(max_num_table_entries());
    tables.offsets.reserve(num_seqs + 1);
  }
  plan.clear();
}

// Of one group in one plan, as far as it is sensible to reserve: 64 MB. A block that many sequences
// share stands in the table of each, so the pool is no bound.
std::size_t Scheduler::max_num_table_entries() const {
  constexpr std::int64_t kMostReserved = 1 << 24;
  const std::int64_t num_blocks = options_.num_blocks / kv_cache_.layout().num_full_groups();
  if (!options_.enable_prefix_caching) return static_cast<std::size_t>(num_blocks);
  const std::int64_t longest =
      std::min(kv_cache_.layout().num_blocks_of_group(0, options_.max_model_len), num_blocks);
  return static_cast<std::size_t>(std::min(options_.max_num_seqs * longest, kMostReserved));
}

// Preempted sequences stay in running_ until the end of the loop, so that nobody is skipped when a
// victim stood before the sequence that needs its blocks.
void Scheduler::plan_running() {
  for (Sequence* seq : running_) {
    if (budget_.num_tokens == 0) break;
    if (seq->status != SequenceStatus::kRunning) continue;
    const std::int32_t num_tokens = num_tokens_to_plan(*seq);
    if (num_tokens > 0 && make_room(*seq, num_tokens)) plan_tokens(*seq, num_tokens);
  }
  std::erase_if(running_,
                [](const Sequence* seq) { return seq->status != SequenceStatus::kRunning; });
}

// In strict order: the first that cannot be admitted holds back all behind it, since letting small
// requests pass would starve a large one. That is for want of capacity; one that is merely not
// ready yet (there is no such reason so far) would be stepped over here. Needs no preemption, so
// nothing here is rolled back.
void Scheduler::plan_waiting(StepPlan& plan) {
  while (budget_.allows_admission() && !waiting_.empty() && state_slots_.has_free()) {
    Sequence& seq = waiting_.front();
    seq.num_computed_tokens = find_prefix(seq);
    const std::int32_t num_tokens = num_tokens_to_plan(seq);
    if (num_tokens == 0 || !can_admit(seq)) {
      seq.num_computed_tokens = 0;
      break;
    }
    admit(seq, plan);
    const bool has_room = kv_cache_.allocate_slots(seq.id, seq.num_computed_tokens + num_tokens);
    TVLLM_CHECK(has_room, "sequence ", seq.id, " was admitted without room");
    plan_tokens(seq, num_tokens);
  }
}

// From here on the plan counts as computed, so that the next one can be made before it is.
void Scheduler::write_plan(StepPlan& plan) {
  plan.step_id = ++num_plans_;
  state_slots_.move_released_to(plan.released_slots);
  for (Sequence* seq : running_) {
    if (seq->num_planned_tokens == 0) continue;
    write_sequence(*seq, plan);
    seq->num_computed_tokens += seq->num_planned_tokens;
    seq->num_planned_tokens = 0;
    ++seq->num_steps_in_flight;
    if (plan.sequences.back().samples_token) ++seq->num_pending_tokens;
  }
  if (trace_ != nullptr && !plan.empty()) trace_plan(plan);
}

void Scheduler::write_sequence(Sequence& seq, StepPlan& plan) const {
  const std::int32_t end = seq.num_computed_tokens + seq.num_planned_tokens;
  plan.sequences.push_back({.seq_id = seq.id,
                            .state_slot = *seq.state_slot,
                            .num_computed_tokens = seq.num_computed_tokens,
                            .num_new_tokens = seq.num_planned_tokens,
                            .samples_token = end == seq.num_known_tokens() + seq.num_pending_tokens,
                            .output_idx = seq.num_output_tokens() + seq.num_pending_tokens});
  for (std::int32_t position = seq.num_computed_tokens; position < end; ++position) {
    plan.token_ids.push_back(seq.token_at(position));
  }
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    BlockTables& tables = plan.tables[group];
    const auto table = kv_cache_.block_table(seq.id, static_cast<std::int32_t>(group));
    tables.blocks.insert(tables.blocks.end(), table.begin(), table.end());
    tables.offsets.push_back(static_cast<std::int32_t>(tables.blocks.size()));
  }
}

std::int32_t Scheduler::num_tokens_to_plan(const Sequence& seq) const {
  // A victim comes back when its last step is collected: only then its blocks and slot are free.
  if (seq.status == SequenceStatus::kPreempted && seq.num_steps_in_flight > 0) return 0;
  const std::int32_t num_tokens = seq.num_tokens_to_compute();
  if (seq.is_decoding()) return std::min(num_tokens, budget_.num_tokens);
  if (budget_.num_prefill_tokens <= 0) return 0;
  if (!options_.enable_chunked_prefill) return num_tokens <= budget_.num_tokens ? num_tokens : 0;
  return std::min({num_tokens, budget_.num_tokens, budget_.num_prefill_tokens});
}

void Scheduler::plan_tokens(Sequence& seq, std::int32_t num_tokens) {
  seq.num_planned_tokens = num_tokens;
  budget_.num_tokens -= num_tokens;
  if (!seq.is_decoding()) budget_.num_prefill_tokens -= num_tokens;
}

void Scheduler::unplan_tokens(Sequence& seq) {
  budget_.num_tokens += seq.num_planned_tokens;
  if (!seq.is_decoding()) budget_.num_prefill_tokens += seq.num_planned_tokens;
  seq.num_planned_tokens = 0;
}

// Blocks for the sequence's next tokens, by preemption if there is no other way. False when it must
// sit this step out: it was preempted itself, or it waits for blocks that are about to come back.
bool Scheduler::make_room(Sequence& seq, std::int32_t num_tokens) {
  const std::int64_t end = seq.num_computed_tokens + num_tokens;
  const std::int32_t num_missing = kv_cache_.num_missing_blocks(seq.id, end);
  while (!kv_cache_.allocate_slots(seq.id, end)) {
    budget_.is_short_of_blocks = true;
    const std::int32_t num_coming = kv_cache_.num_available_blocks() + num_blocks_to_come();
    if (num_missing + budget_.num_claimed_blocks <= num_coming) {
      budget_.num_claimed_blocks += num_missing;
      return false;
    }
    Sequence& victim = choose_victim();
    preempt(victim);
    if (&victim == &seq) return false;
  }
  return true;
}

// Held by sequences that have left the schedule and are still named by submitted steps.
std::int32_t Scheduler::num_blocks_to_come() {
  leaving_.clear();
  for (const Sequence* owner : state_slots_.owners()) {
    if (owner != nullptr && owner->status != SequenceStatus::kRunning) {
      leaving_.push_back(owner->id);
    }
  }
  return kv_cache_.num_blocks_freed_by_release(leaving_);
}

// The running sequence that comes last. Called only while one that needs blocks is running.
Sequence& Scheduler::choose_victim() const {
  Sequence* victim = nullptr;
  for (Sequence* seq : running_) {
    if (seq->status != SequenceStatus::kRunning) continue;
    if (victim == nullptr || order_(victim, seq)) victim = seq;
  }
  TVLLM_CHECK(victim != nullptr, "nobody is running");
  return *victim;
}

void Scheduler::preempt(Sequence& victim) {
  unplan_tokens(victim);
  victim.status = SequenceStatus::kPreempted;
  victim.num_computed_tokens = 0;
  waiting_.push(victim);
  ++totals_.num_preemptions;
  if (trace_ != nullptr) {
    trace_->add(trace::EventKind::kSequencePreempted, victim.id, {victim.num_known_tokens()});
  }
  leave_if_unreferenced(victim);
}

// Fills hit_ with what the prefix index has for the sequence, anew each time that it stands at the
// head of the queue: blocks come and go meanwhile. Its last known token is left to compute. Prompt
// log-probabilities need the logits of every position, so such a request reads no cache.
std::int32_t Scheduler::find_prefix(Sequence& seq) {
  if (!options_.enable_prefix_caching) return 0;
  if (seq.hashes.blocks.capacity() == 0) {
    seq.hashes.blocks.reserve(static_cast<std::size_t>(
        (seq.num_prompt_tokens() + seq.max_output_tokens) / options_.block_size));
  }
  kv_cache_.extend(seq.hashes, seq.history(), seq.request->cache_salt);
  const bool reads = !seq.request->sampling.num_prompt_logprobs.has_value();
  kv_cache_.find_hit(seq.hashes, seq.history(), reads ? seq.num_known_tokens() - 1 : 0, hit_);
  return hit_.num_tokens;
}

// All that the sequence knows must fit, and a share stays free for the growth of those that run:
// else it would be preempted again before it got anywhere. A sequence that has the engine for
// itself needs no such share. Blocks of a prefix hit cost nothing while others hold them; a cached
// one leaves the queue like any other. What others that were admitted before still need for their
// known tokens is nothing: an incomplete prompt has used up the budget, and nobody is admitted
// beside it.
bool Scheduler::can_admit(const Sequence& seq) const {
  TVLLM_DCHECK(is_running_complete(), "a prompt is incomplete beside an admission");
  const bool is_alone = state_slots_.num_taken() == 0;
  const std::int64_t num_needed = kv_cache_.num_blocks_needed(seq.num_known_tokens(), hit_);
  return num_needed + (is_alone ? 0 : num_watermark_blocks_) <= kv_cache_.num_available_blocks();
}

bool Scheduler::is_running_complete() const {
  return std::all_of(running_.begin(), running_.end(), [](const Sequence* seq) {
    return seq->num_planned_tokens == seq->num_tokens_to_compute();
  });
}

void Scheduler::take_prefix(Sequence& seq, bool is_first) {
  if (!options_.enable_prefix_caching) return;
  kv_cache_.take_hit(seq.id, hit_);
  if (seq.request->sampling.num_prompt_logprobs.has_value()) return;
  const auto num_queried = static_cast<std::uint64_t>(seq.num_known_tokens());
  const auto num_hit = static_cast<std::uint64_t>(hit_.num_tokens);
  (is_first ? totals_.num_prefix_queries : totals_.num_resumed_prefix_queries) += num_queried;
  (is_first ? totals_.num_prefix_hits : totals_.num_resumed_prefix_hits) += num_hit;
  if (is_first) seq.num_cached_tokens = hit_.num_tokens;
}

void Scheduler::admit(Sequence& seq, StepPlan& plan) {
  const std::int32_t max_num_tokens = seq.num_prompt_tokens() + seq.max_output_tokens;
  const bool is_first = seq.status == SequenceStatus::kWaiting;
  waiting_.remove(seq);
  running_.push_back(&seq);
  seq.status = SequenceStatus::kRunning;
  seq.output_token_ids.reserve(static_cast<std::size_t>(seq.max_output_tokens));
  state_slots_.take(seq);
  kv_cache_.add_sequence(seq.id, max_num_tokens);
  if (trace_ != nullptr) {
    trace_->add(trace::EventKind::kSequenceAdmitted, seq.id,
                {seq.num_known_tokens(), seq.num_computed_tokens, is_first ? 0 : 1,
                 seq.state_slot->value()});
  }
  take_prefix(seq, is_first);

  SequenceStart& start = plan.started.emplace_back();
  start.seq_id = seq.id;
  start.state_slot = *seq.state_slot;
  start.request = seq.request;
  start.known_token_ids.reserve(static_cast<std::size_t>(seq.num_known_tokens()));
  start.known_token_ids.insert(start.known_token_ids.end(), seq.request->prompt_token_ids.begin(),
                               seq.request->prompt_token_ids.end());
  start.known_token_ids.insert(start.known_token_ids.end(), seq.output_token_ids.begin(),
                               seq.output_token_ids.end());
}

}  // namespace tvllm::scheduler
