// SPDX-License-Identifier: Apache-2.0
#include "scheduler/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "scheduler/scheduler_options.h"
#include "scheduler/stop_criteria.h"
#include "trace/trace_recorder.h"

namespace tvllm::scheduler {

namespace {

SchedulerOptions checked(const SchedulerOptions& options) {
  const Status status = check_scheduler_options(options);
  TVLLM_CHECK(status.has_value(), status.error().message);
  return options;
}

// A chunk that neither ends a prompt nor was asked for its log-probabilities is no news.
bool has_news(const TokenEvent& event) {
  return event.token_id != kNoToken || !event.prompt_logprobs.empty() ||
         event.finish_reason != FinishReason::kNone;
}

}  // namespace

Scheduler::Scheduler(const SchedulerOptions& options, std::vector<TokenId> eos_token_ids,
                     trace::TraceRecorder* trace)
    : options_(checked(options)),
      eos_token_ids_(std::move(eos_token_ids)),
      num_watermark_blocks_(
          static_cast<std::int32_t>(static_cast<double>(options.watermark) * options.num_blocks)),
      trace_(trace),
      kv_cache_({.num_groups = options.num_kv_groups,
                 .windows = options.kv_windows,
                 .max_tokens_in_flight = max_tokens_in_flight(options.max_num_batched_tokens),
                 .block_size = options.block_size,
                 .num_blocks = options.num_blocks,
                 .enable_prefix_caching = options.enable_prefix_caching,
                 .model_fingerprint = options.model_fingerprint,
                 .prefix_hash_seed = options.prefix_hash_seed},
                trace),
      state_slots_(options.max_num_seqs),
      order_(options.policy),
      waiting_(options.policy) {
  running_.reserve(static_cast<std::size_t>(options.max_num_seqs));
  leaving_.reserve(static_cast<std::size_t>(options.max_num_seqs));
  hit_.tables.resize(static_cast<std::size_t>(options.num_kv_groups));
  if (trace_ != nullptr) trace_info();
}

Status Scheduler::check_fits(const Request& request) const {
  const std::size_t num_prompt_tokens = request.prompt_token_ids.size();
  if (num_prompt_tokens == 0) return invalid_argument("the prompt has no tokens", "prompt");
  if (request.sampling.max_tokens < 1) {
    return invalid_argument(
        str_cat("max_tokens must be at least 1, got ", request.sampling.max_tokens), "max_tokens");
  }
  if (num_prompt_tokens >= static_cast<std::size_t>(options_.max_model_len)) {
    return make_error(
        ErrorCode::kContextLength,
        str_cat("the prompt has ", num_prompt_tokens, " tokens and leaves no room for an output: ",
                "the context of prompt and output is at most ", options_.max_model_len, " tokens"),
        "prompt");
  }
  const std::int32_t prompt_len = static_cast<std::int32_t>(num_prompt_tokens);
  const std::int64_t num_tokens =
      prompt_len + max_output_tokens(request.sampling, prompt_len, options_.max_model_len);
  if (!kv_cache_.can_ever_fit(num_tokens)) {
    return make_error(
        ErrorCode::kContextLength,
        str_cat("the request needs a context of ", num_tokens, " tokens (", prompt_len,
                " of its prompt), the KV cache holds ", kv_cache_.max_num_tokens()),
        "prompt");
  }
  return {};
}

void Scheduler::add(SeqId seq_id, std::shared_ptr<const Request> request) {
  thread_.check();
  TVLLM_CHECK(check_fits(*request).has_value(), "sequence ", seq_id, " can never fit");
  const std::int32_t output_limit = max_output_tokens(
      request->sampling, static_cast<std::int32_t>(request->prompt_token_ids.size()),
      options_.max_model_len);
  auto seq = std::make_unique<Sequence>(seq_id, num_arrivals_++, std::move(request), output_limit);
  waiting_.push(*seq);
  if (trace_ != nullptr) {
    trace_->add_text(trace::EventKind::kRequestQueued, seq_id, seq->num_prompt_tokens(),
                     output_limit, seq->request->request_id);
  }
  const bool inserted = sequences_.emplace(seq_id, std::move(seq)).second;
  TVLLM_CHECK(inserted, "sequence ", seq_id, " exists already");
}

void Scheduler::cancel(SeqId seq_id) {
  thread_.check();
  const auto it = sequences_.find(seq_id);
  if (it == sequences_.end() || it->second->status == SequenceStatus::kFinished) return;
  Sequence& seq = *it->second;
  cancelled_.push_back(seq_id);
  finish(seq, FinishReason::kAbort);
  leave_if_unreferenced(seq);
}

void Scheduler::apply(const StepPlan& plan, const StepResult& result,
                      std::vector<TokenEvent>& events) {
  thread_.check();
  TVLLM_CHECK(plan.sequences.size() == result.sequences.size(), "step ", plan.step_id, " plans ",
              plan.sequences.size(), " sequences, answered are ", result.sequences.size());
  TVLLM_CHECK(plan.empty() || plan.step_id == result.step_id, "step ", plan.step_id,
              " is answered with step ", result.step_id);
  if (trace_ != nullptr) trace_->set_step(plan.step_id);
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const PlannedSequence& planned = plan.sequences[i];
    Sequence* seq = state_slots_.owner(planned.state_slot);
    TVLLM_CHECK(
        seq != nullptr && seq->id == planned.seq_id && result.sequences[i].seq_id == planned.seq_id,
        "step ", plan.step_id, ": row ", i, " is not that of sequence ", planned.seq_id);
    apply_sequence(*seq, planned, result.sequences[i], events);
  }
  for (const SeqId seq_id : cancelled_) {
    events.emplace_back();
    events.back().seq_id = seq_id;
    events.back().finish_reason = FinishReason::kAbort;
  }
  cancelled_.clear();
}

// A finished sequence's row was computed in vain: a later step was submitted before its end was
// known.
void Scheduler::apply_sequence(Sequence& seq, const PlannedSequence& planned,
                               const SequenceResult& result, std::vector<TokenEvent>& events) {
  TVLLM_CHECK(seq.num_steps_in_flight > 0, "sequence ", seq.id, " is in no step");
  --seq.num_steps_in_flight;
  if (planned.samples_token) --seq.num_pending_tokens;
  if (result.error != SequenceError::kNone) {  // also of one that was cancelled meanwhile
    kv_cache_.forget_blocks(seq.id, seq.hashes, seq.history());
  }
  if (seq.status != SequenceStatus::kFinished) {
    TokenEvent event;
    event.seq_id = seq.id;
    if (result.error == SequenceError::kNone) {
      take_prompt_progress(seq, planned, result, event);
      if (planned.samples_token) take_token(seq, planned, result, event);
      take_computed(seq, planned.num_computed_tokens + planned.num_new_tokens);
    } else {
      event.finish_reason = FinishReason::kError;
      event.error_message =
          str_cat("the model gave no finite logits after ",
                  planned.num_computed_tokens + planned.num_new_tokens, " tokens");
    }
    if (event.finish_reason != FinishReason::kNone) finish(seq, event.finish_reason);
    if (has_news(event)) events.push_back(std::move(event));
  }
  leave_if_unreferenced(seq);
}

// Row i of the step's prompt log-probabilities comes from the logits of position
// num_computed_tokens + i.
void Scheduler::take_prompt_progress(Sequence& seq, const PlannedSequence& planned,
                                     const SequenceResult& result, TokenEvent& event) {
  const std::int32_t num_done =
      std::min(planned.num_computed_tokens + planned.num_new_tokens, seq.num_prompt_tokens());
  if (num_done <= seq.num_prompt_tokens_done) return;
  const std::int32_t num_known_rows =
      std::max(seq.num_prompt_tokens_done - planned.num_computed_tokens, 0);
  if (static_cast<std::size_t>(num_known_rows) < result.prompt_logprobs.size()) {
    event.prompt_logprobs.assign(result.prompt_logprobs.begin() + num_known_rows,
                                 result.prompt_logprobs.end());
  }
  totals_.num_prompt_tokens += static_cast<std::uint64_t>(num_done - seq.num_prompt_tokens_done);
  seq.num_prompt_tokens_done = num_done;
}

// A preempted sequence still holds its blocks here: it finds them again if they last until it
// comes back.
void Scheduler::take_computed(Sequence& seq, std::int32_t num_tokens) {
  kv_cache_.extend(seq.hashes, seq.history(), seq.request->cache_salt);
  kv_cache_.index_blocks(seq.id, seq.hashes, seq.history(), num_tokens);
  kv_cache_.free_behind_windows(seq.id, num_tokens);
}

void Scheduler::take_token(Sequence& seq, const PlannedSequence& planned,
                           const SequenceResult& result, TokenEvent& event) {
  TVLLM_CHECK(planned.output_idx == seq.num_output_tokens(), "sequence ", seq.id, " has ",
              seq.num_output_tokens(), " outputs and is given number ", planned.output_idx);
  TVLLM_CHECK(result.token_id >= 0, "sequence ", seq.id, " was to get a token, not ",
              result.token_id);
  seq.output_token_ids.push_back(result.token_id);
  ++totals_.num_generated_tokens;
  if (trace_ != nullptr) {
    trace_->add(trace::EventKind::kTokenProduced, seq.id, {result.token_id, planned.output_idx});
  }
  const StopDecision stop = check_stop(seq.request->sampling, eos_token_ids_, result.token_id,
                                       seq.num_output_tokens(), seq.max_output_tokens);
  event.token_id = result.token_id;
  if (planned.output_idx == 0) event.num_cached_tokens = seq.num_cached_tokens;
  event.has_logprobs = result.has_logprobs;
  if (result.has_logprobs) event.logprobs = result.logprobs;
  event.finish_reason = stop.reason;
  event.stop_token_id = stop.stop_token_id;
}

void Scheduler::finish(Sequence& seq, FinishReason reason) {
  if (seq.status == SequenceStatus::kRunning) {
    std::erase(running_, &seq);
  } else {
    waiting_.remove(seq);
  }
  seq.status = SequenceStatus::kFinished;
  if (trace_ != nullptr) {
    trace_->add(
        trace::EventKind::kSequenceFinished, seq.id,
        {static_cast<std::int32_t>(reason), seq.num_prompt_tokens(), seq.num_output_tokens()});
  }
}

void Scheduler::release(Sequence& seq) {
  kv_cache_.release(seq.id);
  if (seq.state_slot) state_slots_.give_back(seq);
}

void Scheduler::leave_if_unreferenced(Sequence& seq) {
  if (seq.num_steps_in_flight > 0) return;
  if (seq.status == SequenceStatus::kPreempted) release(seq);
  if (seq.status != SequenceStatus::kFinished) return;
  release(seq);
  sequences_.erase(seq.id);
}

bool Scheduler::has_work() const {
  return !sequences_.empty() || !cancelled_.empty() || state_slots_.has_released();
}

UpcomingLoad Scheduler::upcoming_load() const {
  UpcomingLoad load;
  bool has_prompt = false;
  for (const Sequence* seq : running_) {
    if (seq->is_decoding()) {
      ++load.num_decode_tokens;
      load.num_context_tokens += seq->num_computed_tokens + 1;
    } else if (!has_prompt && seq->num_tokens_to_compute() > 0) {
      load.prefill_position = seq->num_computed_tokens;
      has_prompt = true;
    }
  }
  return load;
}

SchedulerStats Scheduler::stats() const {
  SchedulerStats stats = totals_;
  stats.num_running = static_cast<std::int32_t>(running_.size());
  stats.num_waiting = waiting_.size();
  stats.num_blocks = kv_cache_.num_blocks();
  stats.num_used_blocks = kv_cache_.num_used_blocks();
  stats.num_cached_blocks = kv_cache_.num_cached_blocks();
  return stats;
}

void Scheduler::reset_prefix_cache() {
  thread_.check();
  kv_cache_.reset_prefix_cache();
}

}  // namespace tvllm::scheduler
