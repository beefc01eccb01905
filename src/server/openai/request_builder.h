// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/request.h"
#include "output/output_processor.h"
#include "server/openai/answer_form.h"
#include "server/openai/chat_request.h"
#include "server/openai/completion_request.h"
#include "server/served_model.h"

namespace tvllm::server {

// A request that has passed every check: what goes to the engine and how its answer will look.
struct PreparedRequest {
  AnswerForm form;
  output::OutputOptions output;
  std::vector<std::shared_ptr<const Request>> requests;  // one a choice, prompt by prompt
};

struct BuilderOptions {
  RequestLimits limits;
  std::vector<std::string> served_model_names;  // at least one; the first is reported
  std::int32_t max_model_len = 0;
  std::int64_t max_choices = 0;  // what the server could ever admit at once
  bool prompt_tokens_details = false;
  bool force_include_usage = false;  // streams end with their usage whether asked or not
};

// What comes with a body.
struct RequestContext {
  TimePoint arrival = {};
  std::string_view request_id = {};  // the client's, by header: outweighs the body's; may be empty
};

// Text and ids of /tokenize.
struct TokenizedText {
  std::vector<TokenId> ids;
  bool with_token_texts = false;
};

// Everything between a body and the engine: reading, checking, rendering, tokenizing. Immutable and
// thread-safe; runs on the work pool.
class RequestBuilder {
 public:
  // What `model` points to outlives the builder.
  RequestBuilder(ServedModel model, BuilderOptions options);

  Result<PreparedRequest> build_chat(std::string_view body, const RequestContext& context) const;
  Result<PreparedRequest> build_completion(std::string_view body,
                                           const RequestContext& context) const;
  Result<TokenizedText> tokenize(std::string_view body) const;
  Result<std::string> detokenize(std::string_view body) const;

  const ServedModel& model() const { return model_; }
  const BuilderOptions& options() const { return options_; }
  const std::string& default_name() const { return options_.served_model_names.front(); }
  bool serves(std::string_view name) const;

 private:
  // A prompt on its way to tokens.
  struct PromptText {
    std::string_view text{};
    bool add_special_tokens = true;
    std::vector<tokenizer::ByteRange> literal_ranges{};
    const char* param = "prompt";
  };

  Status check_model(const std::string& name) const;
  Status check_num_choices(std::size_t num_prompts, std::int64_t n) const;
  Result<std::vector<TokenId>> encode(const PromptText& prompt) const;
  Status check_token_ids(const std::vector<TokenId>& ids) const;
  Status truncate(const GenerationFields& fields, std::vector<TokenId>& ids) const;
  Result<std::int32_t> settle_max_tokens(const GenerationFields& fields, ApiKind api,
                                         std::size_t num_prompt_tokens, const char* param) const;
  Result<SamplingParams> sampling_params(const GenerationFields& fields) const;
  AnswerForm answer_form(const GenerationFields& fields, ApiKind api,
                         const RequestContext& context) const;
  AnswerPrompt answer_prompt(const AnswerForm& form, const std::string* text,
                             const std::vector<TokenId>& ids, bool added_special_tokens) const;
  // Adds the choices of one prompt.
  Status add_prompt(const GenerationFields& fields, const SamplingParams& sampling,
                    std::vector<TokenId> ids, TimePoint arrival, const char* param,
                    PreparedRequest& prepared) const;

  const ServedModel model_;
  const BuilderOptions options_;
  const std::size_t max_token_bytes_;  // of the longest token
};

}  // namespace tvllm::server
