// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "core/step_plan.h"
#include "core/step_result.h"
#include "core/step_timings.h"
#include "executor/batch_builder.h"
#include "executor/model_executor.h"
#include "model/model.h"
#include "sampling/sampler.h"

namespace tvllm::executor {

struct LocalExecutorOptions {
  std::int32_t max_num_seqs = 0;  // state slots
  std::int32_t block_size = 0;
  std::int32_t max_logit_rows = 0;  // as the model's limits say
  std::vector<TokenId> eos_token_ids;
};

// Runs the model in this process, on one backend. submit() computes; collect() hands the result
// out. Engine thread only.
//
// Between steps it keeps, for each state slot, what sampling needs: the request, penalty counts,
// and the prompt where prompt log-probabilities were asked for.
//
// Logits are computed only for rows that need them, max_logit_rows at a time into one buffer, and
// reduced to tokens and log-probabilities by the pool's workers before the next chunk.
class LocalExecutor final : public ModelExecutor {
 public:
  // `backend`, `pool` and `clock` outlive the executor.
  LocalExecutor(std::unique_ptr<model::Model> model, std::unique_ptr<backend::KvCache> cache,
                backend::Backend& backend, ThreadPool& pool, const LocalExecutorOptions& options,
                const Clock& clock = steady_clock());

  int max_steps_in_flight() const override { return 1; }
  void submit(const StepPlan& plan) override;
  const StepResult& collect() override { return result_; }

 private:
  struct Slot {
    std::shared_ptr<const Request> request;  // null: free
    sampling::SamplerState sampler;
  };

  // What one row of logits is for.
  struct LogitRow {
    std::int32_t token_row = 0;     // in the batch
    std::int32_t sequence_idx = 0;  // in the plan
    TokenId judged = kNoToken;      // prompt log-probability of this token; kNoToken: sample
    std::int32_t prompt_idx = 0;    // place in the sequence's prompt_logprobs
  };

  Slot& slot(StateSlot state_slot) { return slots_[static_cast<std::size_t>(state_slot.value())]; }
  void apply_slots(const StepPlan& plan);
  void prepare_result(const StepPlan& plan);
  void list_logit_rows(const StepPlan& plan);
  void compute_rows(const StepPlan& plan, PhaseTimer& timer);
  void finish_result(const StepPlan& plan);
  void reduce_rows(const StepPlan& plan, std::size_t first, FloatMatrix logits);
  void reduce_row(const StepPlan& plan, const LogitRow& row, std::span<float> logits,
                  sampling::SamplerScratch& scratch);

  const std::unique_ptr<model::Model> model_;
  const std::unique_ptr<backend::KvCache> cache_;  // of all KV groups
  backend::Backend& backend_;
  ThreadPool& pool_;
  const LocalExecutorOptions options_;
  const Clock& clock_;

  BatchBuilder batch_builder_;
  std::vector<Slot> slots_;                        // [max_num_seqs], by StateSlot
  std::vector<sampling::SamplerScratch> scratch_;  // one a worker
  std::vector<LogitRow> logit_rows_;
  std::vector<std::int32_t> token_rows_;     // of one chunk of logit_rows_
  std::unique_ptr<backend::Buffer> logits_;  // [max_logit_rows, vocab_size]
  StepResult result_;
};

}  // namespace tvllm::executor
