// SPDX-License-Identifier: Apache-2.0
#include "sampling/logprobs.h"

#include <algorithm>
#include <cmath>

#include "core/sampling_params.h"
#include "sampling/row_math.h"
#include "sampling/top_tokens.h"

namespace tvllm::sampling {

namespace {

float logprob_of(float logit, float max, double log_sum) {
  // Two +inf differ by 0 in the limit that exp_row describes, not by NaN.
  const double above = logit == max ? 0.0 : static_cast<double>(logit) - static_cast<double>(max);
  return static_cast<float>(std::clamp(above - log_sum, static_cast<double>(kMinLogprob), 0.0));
}

}  // namespace

PositionLogprobs position_logprobs(std::span<const float> raw_logits, TokenId token_id,
                                   std::int32_t num_top, SamplerScratch& scratch) {
  PositionLogprobs out;
  out.token = {token_id, kMinLogprob, 0};
  const RowStats stats = scan_row(raw_logits);
  if (!stats.is_valid()) return out;
  const double log_sum = std::log(sum_exp(raw_logits, stats.max));

  const auto idx = static_cast<std::size_t>(token_id);
  if (token_id >= 0 && idx < raw_logits.size()) {
    out.token.logprob = logprob_of(raw_logits[idx], stats.max, log_sum);
    out.token.rank = 1 + static_cast<std::int32_t>(count_before(raw_logits, raw_logits[idx], idx));
  }

  scratch.reserve(raw_logits.size());
  const std::size_t count =
      num_top == kAllLogprobs
          ? raw_logits.size()
          : std::min(raw_logits.size(), static_cast<std::size_t>(std::max(0, num_top)));
  const std::span<RankedToken> best = select_top(raw_logits, count, scratch);
  std::sort(best.begin(), best.end(), ranks_before);
  out.top.reserve(count);
  for (const RankedToken& token : best) {
    const auto rank = static_cast<std::int32_t>(out.top.size()) + 1;
    out.top.push_back({token.id, logprob_of(token.value, stats.max, log_sum), rank});
  }
  return out;
}

}  // namespace tvllm::sampling
