// SPDX-License-Identifier: Apache-2.0
#include "cli/text_session.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/strings.h"
#include "cli/interrupt.h"
#include "core/request.h"
#include "engine/engine_thread.h"
#include "output/output_processor.h"

namespace tvllm::cli {

namespace {

// How soon Ctrl-C is noticed.
constexpr std::chrono::milliseconds kPollInterval(50);

}  // namespace

std::string describe(const GenerationReport& report) {
  const double decode_seconds = report.seconds - report.seconds_to_first_token;
  std::string text =
      str_cat(report.num_prompt_tokens, " prompt tokens in ",
              fixed(report.seconds_to_first_token, 2), " s, ", report.num_output_tokens, " tokens");
  if (report.num_output_tokens > 1 && decode_seconds > 0) {
    str_append(text, " at ", fixed((report.num_output_tokens - 1) / decode_seconds, 1),
               " tokens/s");
  }
  return text;
}

TextSession::TextSession(app::LoadedEngine& loaded) : loaded_(loaded) {}

TextSession::~TextSession() {
  loaded_.engine->stop();
}

Result<GenerationReport> TextSession::generate(
    std::vector<TokenId> prompt, const SamplingParams& params, const std::vector<std::string>& stop,
    const std::function<void(std::string_view)>& on_text) {
  const SteadyClock clock;
  GenerationReport report;
  report.num_prompt_tokens = static_cast<std::int32_t>(prompt.size());
  output::OutputProcessor processor(
      *loaded_.bundle.tokenizer,
      output::OutputOptions{.stop = stop, .min_tokens = params.min_tokens});
  auto request = std::make_shared<Request>();
  request->prompt_token_ids = std::move(prompt);
  request->sampling = params;
  const TimePoint start = clock.now();
  request->arrival_time = start;

  const InterruptGuard interrupt;
  TVLLM_TRY(const SeqId seq_id, loaded_.engine->submit(std::move(request), events_));
  bool cancelled = false;
  // A cancelled sequence has one more event to come, its end: only then may the next begin.
  for (bool ended = false; !ended;) {
    for (TokenEvent& event : events_.take_until(clock.now() + kPollInterval)) {
      ended = event.finish_reason != FinishReason::kNone;
      if (event.finish_reason == FinishReason::kError) {
        return make_error(ErrorCode::kInternal, event.error_message);
      }
      if (report.num_output_tokens == 0)
        report.seconds_to_first_token = to_seconds(clock.now() - start);
      const output::OutputDelta delta = processor.process(std::move(event));
      report.num_output_tokens = delta.num_output_tokens;
      report.text += delta.text;
      if (!delta.text.empty()) on_text(delta.text);
      if (delta.finish_reason != FinishReason::kNone) report.finish_reason = delta.finish_reason;
      if (delta.should_cancel) loaded_.engine->cancel(seq_id);
    }
    if (interrupt.interrupted() && !std::exchange(cancelled, true)) {
      loaded_.engine->cancel(seq_id);
    }
  }
  report.seconds = to_seconds(clock.now() - start);
  return report;
}

}  // namespace tvllm::cli
