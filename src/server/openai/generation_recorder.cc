// SPDX-License-Identifier: Apache-2.0
#include "server/openai/generation_recorder.h"

#include <algorithm>

namespace tvllm::server {

GenerationRecorder::GenerationRecorder(const PreparedRequest& prepared, Metrics& metrics)
    : metrics_(metrics),
      n_(prepared.form.n),
      arrival_(prepared.requests.front()->arrival_time),
      choices_(prepared.requests.size()) {
  for (std::size_t i = 0; i < prepared.form.prompts.size(); ++i) {
    prompts_.push_back({.num_tokens = prepared.form.prompts[i].num_tokens,
                        .max_tokens = prepared.requests[i * n_]->sampling.max_tokens,
                        .num_open = n_});
  }
}

// The first token's time is the front end's, as its client's is; gaps are the engine's, so that a
// late pass of the I/O thread does not make two tokens one.
void GenerationRecorder::on_event(std::size_t index, const TokenEvent& event, TimePoint now) {
  Choice& choice = choices_[index];
  if (choice.ended) return;
  choice.num_cached_tokens = std::max(choice.num_cached_tokens, event.num_cached_tokens);
  if (event.token_id != kNoToken && choice.num_output_tokens++ == 0) {
    metrics_.add_first_token(now - arrival_);
  } else if (event.token_id != kNoToken) {
    metrics_.add_token_gap(event.times.last_token - choice.times.last_token);
  }
  choice.times = event.times;
}

void GenerationRecorder::on_end(std::size_t index, FinishReason reason, TimePoint now) {
  Choice& choice = choices_[index];
  if (choice.ended || reason == FinishReason::kNone) return;
  choice.ended = true;
  Prompt& prompt = prompts_[index / n_];
  metrics_.add_choice({.reason = reason,
                       .num_prompt_tokens = prompt.num_tokens,
                       .num_cached_tokens = choice.num_cached_tokens,
                       .num_output_tokens = choice.num_output_tokens,
                       .max_tokens = prompt.max_tokens,
                       .since_arrival = now - arrival_,
                       .times = choice.times});
  prompt.max_num_output_tokens = std::max(prompt.max_num_output_tokens, choice.num_output_tokens);
  if (--prompt.num_open == 0) metrics_.add_prompt(n_, prompt.max_num_output_tokens);
}

}  // namespace tvllm::server
