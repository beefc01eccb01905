// SPDX-License-Identifier: Apache-2.0
#include "chat_template/budget.h"

#include "base/strings.h"

namespace tvllm::chat_template {

namespace {

constexpr std::uint64_t kBytesPerStep = 128;

Error output_error(std::size_t limit) {
  return make_error(ErrorCode::kTooLarge,
                    str_cat("a text grew past the limit of ", limit, " bytes"));
}

}  // namespace

Status Budget::spend(std::uint64_t num_steps) {
  // Both sums stay far from wrapping: nothing is added once the limit is passed.
  const std::uint64_t spent = steps_ + bytes_ / kBytesPerStep;
  if (spent > limits_.max_steps || num_steps > limits_.max_steps - spent) {
    return make_error(ErrorCode::kTooLarge,
                      str_cat("rendering took more than ", limits_.max_steps, " steps"));
  }
  steps_ += num_steps;
  return {};
}

Status Budget::spend_bytes(std::size_t num_bytes) {
  TVLLM_RETURN_IF_ERROR(spend(num_bytes / kBytesPerStep));
  steps_ -= num_bytes / kBytesPerStep;
  bytes_ += num_bytes;
  return {};
}

Status Budget::spend_text(std::uint64_t num_bytes) {
  if (num_bytes > limits_.max_output_bytes) return output_error(limits_.max_output_bytes);
  return spend_bytes(static_cast<std::size_t>(num_bytes));
}

Status TextSink::pay(std::size_t num_bytes) {
  const std::size_t limit = budget_->limits().max_output_bytes;
  if (out_->size() > limit || num_bytes > limit - out_->size()) return output_error(limit);
  return budget_->spend_bytes(num_bytes);
}

Status TextSink::append(const Text& text, std::size_t begin, std::size_t end) {
  TVLLM_RETURN_IF_ERROR(pay(end - begin));
  out_->append(text, begin, end);
  return {};
}

Status TextSink::append_own(std::string_view bytes) {
  TVLLM_RETURN_IF_ERROR(pay(bytes.size()));
  out_->append(bytes);
  return {};
}

Status TextSink::append_made_from(std::string_view bytes, const Text& text, std::size_t begin,
                                  std::size_t end) {
  TVLLM_RETURN_IF_ERROR(pay(bytes.size()));
  out_->append_made_from(bytes, text, begin, end);
  return {};
}

}  // namespace tvllm::chat_template
