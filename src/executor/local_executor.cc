// SPDX-License-Identifier: Apache-2.0
#include "executor/local_executor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sampling/logprobs.h"

namespace tvllm::executor {

namespace {

// Prompt tokens that the chunk's logits judge: position p judges token p + 1.
std::int32_t num_judged_tokens(const PlannedSequence& planned, const Request& request) {
  const auto prompt_len = static_cast<std::int32_t>(request.prompt_token_ids.size());
  const std::int32_t end =
      std::min(planned.num_computed_tokens + planned.num_new_tokens, prompt_len - 1);
  return std::max(0, end - planned.num_computed_tokens);
}

// A row without valid logits gives its token no rank (sampling/logprobs.h).
bool all_ranked(const std::vector<PositionLogprobs>& positions) {
  return std::all_of(positions.begin(), positions.end(),
                     [](const PositionLogprobs& p) { return p.token.rank > 0; });
}

}  // namespace

LocalExecutor::LocalExecutor(std::unique_ptr<model::Model> model,
                             std::unique_ptr<backend::KvCache> cache, backend::Backend& backend,
                             ThreadPool& pool, const LocalExecutorOptions& options,
                             const Clock& clock)
    : model_(std::move(model)),
      cache_(std::move(cache)),
      backend_(backend),
      pool_(pool),
      options_(options),
      clock_(clock),
      batch_builder_(static_cast<std::int32_t>(model_->kv_groups().windows.size()),
                     options.block_size),
      slots_(static_cast<std::size_t>(options.max_num_seqs)),
      logits_(backend.allocate(static_cast<std::size_t>(options.max_logit_rows) *
                               static_cast<std::size_t>(model_->config().vocab_size) *
                               sizeof(float))) {
  const auto vocab_size = static_cast<std::size_t>(model_->config().vocab_size);
  for (int i = 0; i < pool.num_threads(); ++i)
    scratch_.emplace_back(vocab_size);
}

void LocalExecutor::submit(const StepPlan& plan) {
  PhaseTimer timer(clock_);
  apply_slots(plan);
  prepare_result(plan);
  if (plan.empty()) return;
  list_logit_rows(plan);
  const auto& batch = batch_builder_.build(plan, plan.token_ids);
  timer.end_phase(result_.timings.build);
  model_->forward(batch, *cache_);
  timer.end_phase(result_.timings.forward);
  compute_rows(plan, timer);
  finish_result(plan);
  timer.end_phase(result_.timings.sample);
}

void LocalExecutor::finish_result(const StepPlan& plan) {
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    SequenceResult& result = result_.sequences[i];
    if (!all_ranked(result.prompt_logprobs)) result.error = SequenceError::kInvalidLogits;
    if (result.token_id != kNoToken) {
      slot(plan.sequences[i].state_slot).sampler.append(result.token_id);
    }
  }
}

void LocalExecutor::apply_slots(const StepPlan& plan) {
  for (const StateSlot released : plan.released_slots) {
    slot(released).request.reset();
    slot(released).sampler.end();
  }
  for (const SequenceStart& start : plan.started) {
    Slot& taken = slot(start.state_slot);
    TVLLM_DCHECK(taken.request == nullptr, "state slot ", start.state_slot, " is taken");
    taken.request = start.request;
    taken.sampler.begin(start.request, options_.eos_token_ids, start.known_token_ids,
                        model_->config().vocab_size);
  }
}

void LocalExecutor::prepare_result(const StepPlan& plan) {
  result_.step_id = plan.step_id;
  result_.timings = {};
  result_.sequences.resize(plan.sequences.size());
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    SequenceResult& result = result_.sequences[i];
    result.seq_id = plan.sequences[i].seq_id;
    result.token_id = kNoToken;
    result.error = SequenceError::kNone;
    result.has_logprobs = false;
    result.prompt_logprobs.clear();
  }
}

void LocalExecutor::list_logit_rows(const StepPlan& plan) {
  logit_rows_.clear();
  std::int32_t first_row = 0;
  for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
    const PlannedSequence& planned = plan.sequences[i];
    const Request& request = *slot(planned.state_slot).request;
    const auto sequence_idx = static_cast<std::int32_t>(i);
    if (request.sampling.num_prompt_logprobs) {
      const std::int32_t num_judged = num_judged_tokens(planned, request);
      result_.sequences[i].prompt_logprobs.resize(static_cast<std::size_t>(num_judged));
      for (std::int32_t j = 0; j < num_judged; ++j) {
        const auto position = static_cast<std::size_t>(planned.num_computed_tokens + j);
        logit_rows_.push_back(
            {first_row + j, sequence_idx, request.prompt_token_ids[position + 1], j});
      }
    }
    first_row += planned.num_new_tokens;
    if (planned.samples_token) logit_rows_.push_back({first_row - 1, sequence_idx, kNoToken, 0});
  }
}

void LocalExecutor::compute_rows(const StepPlan& plan, PhaseTimer& timer) {
  const auto max_rows = static_cast<std::size_t>(options_.max_logit_rows);
  for (std::size_t first = 0; first < logit_rows_.size(); first += max_rows) {
    const std::size_t count = std::min(max_rows, logit_rows_.size() - first);
    token_rows_.clear();
    for (std::size_t i = first; i < first + count; ++i) {
      token_rows_.push_back(logit_rows_[i].token_row);
    }
    const FloatMatrix logits(static_cast<float*>(logits_->data()), static_cast<std::int64_t>(count),
                             model_->config().vocab_size);
    model_->compute_logits(token_rows_, logits);
    backend_.synchronize();
    timer.end_phase(result_.timings.forward);
    reduce_rows(plan, first, logits);
    timer.end_phase(result_.timings.sample);
  }
}

void LocalExecutor::reduce_rows(const StepPlan& plan, std::size_t first, FloatMatrix logits) {
  const auto count = static_cast<std::size_t>(logits.num_rows);
  const auto num_workers = static_cast<std::size_t>(pool_.num_threads());
  pool_.run([&](int worker_idx) {
    const auto worker = static_cast<std::size_t>(worker_idx);
    for (std::size_t i = worker; i < count; i += num_workers) {
      reduce_row(plan, logit_rows_[first + i], logits.row_span(static_cast<std::int64_t>(i)),
                 scratch_[worker]);
    }
  });
}

// Runs on a worker: writes nothing but this row's place in the result.
void LocalExecutor::reduce_row(const StepPlan& plan, const LogitRow& row, std::span<float> logits,
                               sampling::SamplerScratch& scratch) {
  const auto sequence_idx = static_cast<std::size_t>(row.sequence_idx);
  const PlannedSequence& planned = plan.sequences[sequence_idx];
  SequenceResult& result = result_.sequences[sequence_idx];
  const Slot& state = slot(planned.state_slot);
  if (row.judged != kNoToken) {
    result.prompt_logprobs[static_cast<std::size_t>(row.prompt_idx)] = sampling::position_logprobs(
        logits, row.judged, *state.request->sampling.num_prompt_logprobs, scratch);
    return;
  }
  sampling::SampledToken sampled =
      sampling::sample(logits, state.sampler, planned.output_idx, scratch);
  result.token_id = sampled.token_id;
  result.error = sampled.error;
  result.has_logprobs = sampled.has_logprobs;
  if (sampled.has_logprobs) result.logprobs = std::move(sampled.logprobs);
}

}  // namespace tvllm::executor
