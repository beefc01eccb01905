// SPDX-License-Identifier: Apache-2.0
#include "sampling/logits_pipeline.h"

#include "sampling/row_math.h"

namespace tvllm::sampling {

namespace {

// Writes through to the row and notes what stood there. Ids come from requests and model files:
// one outside the row is passed over.
class LogitEditor {
 public:
  LogitEditor(std::span<float> logits, SamplerScratch& scratch)
      : logits_(logits), scratch_(scratch) {}

  template <typename Change>
  void edit(TokenId id, Change&& change) {
    const auto idx = static_cast<std::size_t>(id);
    if (id < 0 || idx >= logits_.size()) return;
    scratch_.edits.emplace_back(id, logits_[idx]);
    logits_[idx] = change(logits_[idx]);
  }

 private:
  std::span<float> logits_;
  SamplerScratch& scratch_;  // the caller's, for the time of one call
};

}  // namespace

bool edit_logits(std::span<float> logits, const SamplerState& state, std::int32_t output_idx,
                 SamplerScratch& scratch) {
  const SamplingParams& params = state.params();
  scratch.edits.clear();
  LogitEditor editor(logits, scratch);
  for (const auto& entry : params.logit_bias) {
    editor.edit(entry.first, [bias = entry.second](float logit) { return logit + bias; });
  }
  if (output_idx < params.min_tokens) {
    for (const TokenId id : state.min_tokens_mask())
      editor.edit(id, [](float) { return kNegativeInfinity; });
  }
  for (const TokenCounts::Entry& entry : state.counts().entries()) {
    editor.edit(entry.id,
                [&](float logit) { return penalized(logit, entry.num_output, state.penalties()); });
  }
  return !scratch.edits.empty();
}

void restore_logits(std::span<float> logits, SamplerScratch& scratch) {
  for (auto edit = scratch.edits.rbegin(); edit != scratch.edits.rend(); ++edit)
    logits[static_cast<std::size_t>(edit->first)] = edit->second;
  scratch.edits.clear();
}

}  // namespace tvllm::sampling
