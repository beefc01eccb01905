// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/assembly.h"
#include "base/ids.h"
#include "base/result.h"
#include "core/sampling_params.h"
#include "core/token_event.h"
#include "engine/event_queue.h"

namespace tvllm::cli {

struct GenerationReport {
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_output_tokens = 0;
  double seconds_to_first_token = 0;
  double seconds = 0;
  FinishReason finish_reason = FinishReason::kNone;
  std::string text;  // all that was shown
};

// "12 prompt tokens in 0.05 s, 40 tokens at 71.2 tokens/s"
std::string describe(const GenerationReport& report);

// One user at the command line: runs requests one after another on an engine in this process and
// hands on text as it comes. Ctrl-C ends the answer, not the program.
class TextSession {
 public:
  explicit TextSession(app::LoadedEngine& loaded);  // outlives the session

  // The engine ends with the session, so that no event comes to a sink that is gone.
  ~TextSession();
  TextSession(const TextSession&) = delete;
  TextSession& operator=(const TextSession&) = delete;

  Result<GenerationReport> generate(std::vector<TokenId> prompt, const SamplingParams& params,
                                    const std::vector<std::string>& stop,
                                    const std::function<void(std::string_view)>& on_text);

 private:
  app::LoadedEngine& loaded_;
  engine::EventQueue events_;
};

}  // namespace tvllm::cli
