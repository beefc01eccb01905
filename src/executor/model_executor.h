// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/step_plan.h"
#include "core/step_result.h"

namespace tvllm::executor {

// Turns step plans into tokens: builds the batch, runs the model, samples. Asks nothing of the
// scheduler or of memory: the block tables in the plan say where K and V live. Owned by the engine;
// engine thread only.
//
// Steps are submitted in order and collected in the same order; up to max_steps_in_flight() may be
// submitted before the first is collected. A submitted plan must stay as it is until its collect().
class ModelExecutor {
 public:
  virtual ~ModelExecutor() = default;

  // 1 where submit() itself computes (CPU), 2 where a device works on its own.
  virtual int max_steps_in_flight() const = 0;

  // REQUIRES: !plan.empty(), or a plan that only releases or starts sequences.
  virtual void submit(const StepPlan& plan) = 0;

  // The oldest submitted step; the result is valid until the next collect().
  virtual const StepResult& collect() = 0;
};

}  // namespace tvllm::executor
