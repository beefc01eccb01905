// SPDX-License-Identifier: Apache-2.0
// Builders for scheduler tests: small options, requests by their lengths, and steps that are
// answered by hand, without an executor.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/strings.h"
#include "core/engine_options.h"
#include "core/request.h"
#include "core/step_plan.h"
#include "core/step_result.h"
#include "core/token_event.h"
#include "scheduler/scheduler.h"

namespace tvllm::testing {

inline constexpr TokenId kEos = 2;

// make_request({.prompt_len = 24, .max_tokens = 8})
struct RequestSpec {
  std::int32_t prompt_len = 4;
  std::int32_t max_tokens = 8;
  std::int32_t priority = 0;
  std::optional<std::int32_t> num_prompt_logprobs = {};
  bool ignore_eos = false;
  std::vector<TokenId> stop_token_ids = {};
  TokenId first_token = 100;
  std::string cache_salt = {};
};

// The prompt's token at position p is first_token + p.
inline std::shared_ptr<const Request> make_request(const RequestSpec& spec) {
  auto request = std::make_shared<Request>();
  for (std::int32_t p = 0; p < spec.prompt_len; ++p) {
    request->prompt_token_ids.push_back(spec.first_token + p);
  }
  request->cache_salt = spec.cache_salt;
  request->priority = spec.priority;
  request->sampling.max_tokens = spec.max_tokens;
  request->sampling.num_prompt_logprobs = spec.num_prompt_logprobs;
  request->sampling.ignore_eos = spec.ignore_eos;
  request->sampling.stop_token_ids = spec.stop_token_ids;
  return request;
}

// Small enough to be done in the head; no watermark unless a test wants one.
struct SchedulerSpec {
  std::int32_t max_num_seqs = 8;
  std::int32_t max_num_batched_tokens = 64;
  std::int32_t max_model_len = 64;
  std::int32_t num_kv_groups = 1;
  std::vector<std::int32_t> kv_windows = {};
  std::int32_t block_size = 4;
  std::int32_t num_blocks = 64;
  float watermark = 0.0f;
  bool enable_chunked_prefill = true;
  SchedulingPolicy policy = SchedulingPolicy::kFcfs;
  bool enable_prefix_caching = false;  // the prompts of make_request() all begin alike

  SchedulerOptions options() const {
    return {.max_num_seqs = max_num_seqs,
            .max_num_batched_tokens = max_num_batched_tokens,
            .max_model_len = max_model_len,
            .num_kv_groups = num_kv_groups,
            .kv_windows = kv_windows,
            .block_size = block_size,
            .num_blocks = num_blocks,
            .watermark = watermark,
            .enable_chunked_prefill = enable_chunked_prefill,
            .policy = policy,
            .enable_prefix_caching = enable_prefix_caching,
            .prefix_hash_seed = 1};
  }
};

inline std::unique_ptr<scheduler::Scheduler> make_scheduler(const SchedulerSpec& spec) {
  return std::make_unique<scheduler::Scheduler>(spec.options(), std::vector<TokenId>{kEos});
}

// "1:8 2:1+": sequence 1 computes 8 tokens, sequence 2 computes one and samples.
inline std::string shares(const StepPlan& plan) {
  std::string text;
  for (const PlannedSequence& seq : plan.sequences) {
    str_append(text, text.empty() ? "" : " ", seq.seq_id, ":", seq.num_new_tokens,
               seq.samples_token ? "+" : "");
  }
  return text;
}

// The answer to a plan of one sequence.
inline StepResult one_row(std::uint64_t step_id, SeqId seq_id, TokenId token_id) {
  StepResult result;
  result.step_id = step_id;
  result.sequences.resize(1);
  result.sequences[0].seq_id = seq_id;
  result.sequences[0].token_id = token_id;
  return result;
}

// A scheduler whose plans are answered by hand. Sequences are numbered 1, 2, 3 in order of add().
// Output number i of a sequence is token 1000 + i, unless next_token() said otherwise.
// check_invariants() runs after every change.
class SteppedScheduler {
 public:
  explicit SteppedScheduler(const SchedulerSpec& spec) : scheduler_(make_scheduler(spec)) {}

  scheduler::Scheduler& operator*() { return *scheduler_; }
  scheduler::Scheduler* operator->() { return scheduler_.get(); }

  SeqId add(const RequestSpec& spec) {
    const SeqId seq_id(++num_added_);
    scheduler_->add(seq_id, make_request(spec));
    scheduler_->check_invariants();
    return seq_id;
  }
  void cancel(SeqId seq_id) {
    scheduler_->cancel(seq_id);
    scheduler_->check_invariants();
  }

  // What the sequence's next answered sample is.
  void next_token(SeqId seq_id, TokenId token_id) { next_tokens_[seq_id] = token_id; }
  // The sequence's next answered row has no valid logits.
  void next_fails(SeqId seq_id) { failing_.insert(seq_id); }

  // Makes a plan and leaves it in flight.
  const StepPlan& plan(std::int32_t prefill_allowance = scheduler::kNoPrefillBound) {
    scheduler_->plan(in_flight_.emplace_back(), prefill_allowance);
    scheduler_->check_invariants();
    return in_flight_.back();
  }

  // Answers the oldest plan in flight.
  std::vector<TokenEvent> apply() {
    const StepPlan plan = std::move(in_flight_.front());
    in_flight_.pop_front();
    std::vector<TokenEvent> news;
    scheduler_->apply(plan, answer(plan), news);
    scheduler_->check_invariants();
    return news;
  }

  // A whole step at depth 1; its plan as text.
  std::string step(std::int32_t prefill_allowance = scheduler::kNoPrefillBound) {
    const std::string text = shares(plan(prefill_allowance));
    events = apply();
    return text;
  }

  std::int32_t num_blocks_of(SeqId seq_id) const {
    if (!scheduler_->kv_cache().holds(seq_id)) return 0;
    return static_cast<std::int32_t>(scheduler_->kv_cache().block_table(seq_id, 0).size());
  }

  std::vector<TokenEvent> events;  // of the last step()

 private:
  StepResult answer(const StepPlan& plan) {
    StepResult result;
    result.step_id = plan.step_id;
    for (const PlannedSequence& planned : plan.sequences) {
      SequenceResult& row = result.sequences.emplace_back();
      row.seq_id = planned.seq_id;
      if (failing_.erase(planned.seq_id) > 0) {
        row.error = SequenceError::kInvalidLogits;
      } else if (planned.samples_token) {
        row.token_id = 1000 + planned.output_idx;
        if (const auto it = next_tokens_.find(planned.seq_id); it != next_tokens_.end()) {
          row.token_id = it->second;
          next_tokens_.erase(it);
        }
      }
    }
    return result;
  }

  std::unique_ptr<scheduler::Scheduler> scheduler_;
  std::uint64_t num_added_ = 0;
  std::deque<StepPlan> in_flight_;  // a deque: plan() hands out references
  std::map<SeqId, TokenId> next_tokens_;
  std::set<SeqId> failing_;
};

}  // namespace tvllm::testing
