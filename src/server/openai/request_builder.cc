// SPDX-License-Identifier: Apache-2.0
#include "server/openai/request_builder.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "base/entropy.h"
#include "base/strings.h"
#include "server/openai/chat_prompt.h"
#include "server/openai/echo_prompt.h"
#include "server/openai/tokenize_request.h"
#include "server/request_id.h"

namespace tvllm::server {

namespace {

constexpr std::int32_t kDefaultCompletionTokens = 16;  // OpenAI's

std::size_t longest_token(const tokenizer::Tokenizer& tokenizer) {
  std::size_t longest = 1;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id)
    longest = std::max(longest, tokenizer.token_bytes(id).size());
  return longest;
}

std::int32_t clamp_to_int32(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(
      value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

float pick(const std::optional<double>& given, const std::optional<float>& model_default,
           float otherwise) {
  return given ? static_cast<float>(*given) : model_default.value_or(otherwise);
}

}  // namespace

RequestBuilder::RequestBuilder(ServedModel model, BuilderOptions options)
    : model_(std::move(model)),
      options_(std::move(options)),
      max_token_bytes_(longest_token(*model_.tokenizer)) {}

bool RequestBuilder::serves(std::string_view name) const {
  const auto& names = options_.served_model_names;
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<PreparedRequest> RequestBuilder::build_completion(std::string_view body,
                                                         const RequestContext& context) const {
  TVLLM_TRY(CompletionRequest request, parse_completion_request(body, options_.limits));
  const GenerationFields& fields = request.fields;
  TVLLM_RETURN_IF_ERROR(check_model(fields.model));
  TVLLM_RETURN_IF_ERROR(check_num_choices(request.prompts.size(), fields.n));
  TVLLM_TRY(const SamplingParams sampling, sampling_params(fields));

  PreparedRequest prepared;
  prepared.form = answer_form(fields, ApiKind::kCompletion, context);
  prepared.form.echo = fields.echo;
  prepared.form.echo_only = fields.echo && fields.max_tokens == 0;
  const bool add_special = fields.add_special_tokens.value_or(true);
  for (TextOrTokens& prompt : request.prompts) {
    const std::string* text = std::get_if<std::string>(&prompt);
    std::vector<TokenId> ids;
    if (text != nullptr) {
      TVLLM_TRY(ids, encode({.text = *text, .add_special_tokens = add_special}));
    } else {
      ids = std::move(*std::get_if<std::vector<TokenId>>(&prompt));
      TVLLM_RETURN_IF_ERROR(check_token_ids(ids));
    }
    if (fields.truncate_prompt_tokens) {
      const std::size_t num_tokens = ids.size();
      TVLLM_RETURN_IF_ERROR(truncate(fields, ids));
      if (ids.size() != num_tokens) text = nullptr;  // an echo shows what the model saw
    }
    prepared.form.prompts.push_back(answer_prompt(prepared.form, text, ids, add_special));
    TVLLM_RETURN_IF_ERROR(
        add_prompt(fields, sampling, std::move(ids), context.arrival, "prompt", prepared));
  }
  return prepared;
}

Result<PreparedRequest> RequestBuilder::build_chat(std::string_view body,
                                                   const RequestContext& context) const {
  TVLLM_TRY(const ChatRequest request, parse_chat_request(body, options_.limits));
  const GenerationFields& fields = request.fields;
  TVLLM_RETURN_IF_ERROR(check_model(fields.model));
  TVLLM_RETURN_IF_ERROR(check_num_choices(1, fields.n));
  TVLLM_TRY(const SamplingParams sampling, sampling_params(fields));
  TVLLM_TRY(ChatPrompt prompt, render_conversation(request.conversation, model_));

  PreparedRequest prepared;
  prepared.form = answer_form(fields, ApiKind::kChat, context);
  const ChatMessage& last = request.conversation.messages.back();
  if (!request.conversation.add_generation_prompt) prepared.form.role = last.role;
  TVLLM_TRY(std::vector<TokenId> ids,
            encode({.text = prompt.text,
                    .add_special_tokens = fields.add_special_tokens.value_or(false),
                    .literal_ranges = std::move(prompt.literal_ranges),
                    .param = "messages"}));
  if (fields.truncate_prompt_tokens) TVLLM_RETURN_IF_ERROR(truncate(fields, ids));

  AnswerPrompt answer = answer_prompt(prepared.form, nullptr, ids, false);
  if (fields.echo && last.role == prepared.form.role) answer.echo_text = last.text;
  prepared.form.prompts.push_back(std::move(answer));
  TVLLM_RETURN_IF_ERROR(
      add_prompt(fields, sampling, std::move(ids), context.arrival, "messages", prepared));
  return prepared;
}

Result<TokenizedText> RequestBuilder::tokenize(std::string_view body) const {
  TVLLM_TRY(TokenizeRequest request, parse_tokenize_request(body, options_.limits));
  TVLLM_RETURN_IF_ERROR(check_model(request.model));
  TokenizedText out;
  out.with_token_texts = request.return_token_strs;
  ChatPrompt prompt{std::move(request.prompt), {}};
  if (request.conversation) {
    TVLLM_TRY(prompt, render_conversation(*request.conversation, model_));
  }
  const bool add_special = request.add_special_tokens.value_or(!request.conversation);
  out.ids = model_.tokenizer->encode(prompt.text, {.add_special_tokens = add_special,
                                                   .parse_special = true,
                                                   .literal_ranges = prompt.literal_ranges});
  return out;
}

Result<std::string> RequestBuilder::detokenize(std::string_view body) const {
  TVLLM_TRY(const DetokenizeRequest request, parse_detokenize_request(body));
  TVLLM_RETURN_IF_ERROR(check_model(request.model));
  for (const TokenId id : request.tokens) {
    if (id < 0 || id >= model_.vocab_size) {
      return invalid_argument(
          str_cat("tokens holds ", id, ", outside the vocabulary 0..", model_.vocab_size - 1),
          "tokens");
    }
  }
  return model_.tokenizer->decode(request.tokens, /*skip_special_tokens=*/false);
}

Status RequestBuilder::check_model(const std::string& name) const {
  if (name.empty() || serves(name)) return {};
  return make_error(ErrorCode::kNotFound,
                    str_cat("The model ", quoted(name), " does not exist; this server has ",
                            quoted(default_name())),
                    "model");
}

Status RequestBuilder::check_num_choices(std::size_t num_prompts, std::int64_t n) const {
  const std::int64_t num_choices = static_cast<std::int64_t>(num_prompts) * n;
  if (num_choices <= options_.max_choices) return {};
  return invalid_argument(str_cat("The request asks for ", num_choices,
                                  " choices (prompts times n); this server takes "
                                  "at most ",
                                  options_.max_choices),
                          num_prompts > 1 ? "prompt" : "n");
}

Result<std::vector<TokenId>> RequestBuilder::encode(const PromptText& prompt) const {
  // A text that cannot fit, however long its tokens are, is not worth tokenizing.
  const std::size_t min_tokens = prompt.text.size() / max_token_bytes_;
  if (min_tokens > static_cast<std::size_t>(options_.max_model_len)) {
    return make_error(ErrorCode::kContextLength,
                      str_cat("This model's maximum context length is ", options_.max_model_len,
                              " tokens, but the prompt has at least ", min_tokens, " tokens"),
                      prompt.param);
  }
  return model_.tokenizer->encode(prompt.text, {.add_special_tokens = prompt.add_special_tokens,
                                                .parse_special = true,
                                                .literal_ranges = prompt.literal_ranges});
}

Status RequestBuilder::check_token_ids(const std::vector<TokenId>& ids) const {
  const auto bad = std::find_if(ids.begin(), ids.end(),
                                [this](TokenId id) { return id < 0 || id >= model_.vocab_size; });
  if (bad == ids.end()) return {};
  return invalid_argument(str_cat("prompt holds token id ", *bad, ", outside the vocabulary 0..",
                                  model_.vocab_size - 1),
                          "prompt");
}

// Keeps the end of the prompt, or its beginning under truncation_side "right".
Status RequestBuilder::truncate(const GenerationFields& fields, std::vector<TokenId>& ids) const {
  std::int64_t max_len = *fields.truncate_prompt_tokens;
  if (max_len > options_.max_model_len) {
    return invalid_argument(str_cat("truncate_prompt_tokens must be at most ",
                                    options_.max_model_len, ", got ", max_len),
                            "truncate_prompt_tokens");
  }
  if (max_len < 0) {  // as much as leaves room for the answer
    const std::int64_t room =
        std::clamp<std::int64_t>(fields.max_tokens.value_or(1), 1, options_.max_model_len - 1);
    max_len = options_.max_model_len - room;
  }
  const auto num_kept = static_cast<std::size_t>(max_len);
  if (ids.size() <= num_kept) return {};
  if (fields.truncate_at_the_right) {
    ids.resize(num_kept);
  } else {
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(num_kept));
  }
  return {};
}

Result<std::int32_t> RequestBuilder::settle_max_tokens(const GenerationFields& fields, ApiKind api,
                                                       std::size_t num_prompt_tokens,
                                                       const char* param) const {
  const std::int64_t max_len = options_.max_model_len;
  const std::int64_t room = max_len - static_cast<std::int64_t>(num_prompt_tokens);
  if (room < 1) {
    return make_error(
        ErrorCode::kContextLength,
        str_cat("This model's maximum context length is ", max_len, " tokens, but the prompt has ",
                num_prompt_tokens, " tokens and the answer needs at least one"),
        param);
  }
  if (!fields.max_tokens) {
    std::int64_t tokens = api == ApiKind::kChat ? room : kDefaultCompletionTokens;
    if (api == ApiKind::kChat && model_.defaults.max_tokens) tokens = *model_.defaults.max_tokens;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(tokens, 1, room));
  }
  if (*fields.max_tokens > room) {
    return make_error(ErrorCode::kContextLength,
                      str_cat("This model's maximum context length is ", max_len,
                              " tokens; the prompt has ", num_prompt_tokens, " tokens and ",
                              fields.max_tokens_param, " asks for ", *fields.max_tokens, " more"),
                      fields.max_tokens_param);
  }
  const bool echo_only = api == ApiKind::kCompletion && fields.echo;
  if (*fields.max_tokens == 0 && !echo_only) {
    return invalid_argument(str_cat(fields.max_tokens_param, " must be at least 1, got 0"),
                            fields.max_tokens_param);
  }
  return static_cast<std::int32_t>(std::max<std::int64_t>(*fields.max_tokens, 1));
}

// Everything but the length, which depends on the prompt; in effect form.
Result<SamplingParams> RequestBuilder::sampling_params(const GenerationFields& fields) const {
  const GenerationDefaults& defaults = model_.defaults;
  SamplingParams params;
  params.temperature = pick(fields.temperature, defaults.temperature, 1.0f);
  params.top_p = pick(fields.top_p, defaults.top_p, 1.0f);
  params.top_k = fields.top_k ? clamp_to_int32(*fields.top_k) : defaults.top_k.value_or(0);
  params.min_p = pick(fields.min_p, defaults.min_p, 0.0f);
  params.presence_penalty = pick(fields.presence_penalty, {}, 0.0f);
  params.frequency_penalty = pick(fields.frequency_penalty, {}, 0.0f);
  params.repetition_penalty = pick(fields.repetition_penalty, defaults.repetition_penalty, 1.0f);
  params.logit_bias = fields.logit_bias;
  params.ignore_eos = fields.ignore_eos;
  params.stop_token_ids = fields.stop_token_ids;
  params.min_tokens = clamp_to_int32(fields.min_tokens.value_or(0));
  if (fields.num_logprobs) params.num_logprobs = clamp_to_int32(*fields.num_logprobs);
  if (fields.num_prompt_logprobs) {
    params.num_prompt_logprobs = clamp_to_int32(*fields.num_prompt_logprobs);
  } else if (fields.echo) {
    params.num_prompt_logprobs = params.num_logprobs;
  }
  // The length is settled for each prompt; here it must only let the other checks through.
  params.max_tokens = std::max(
      1, clamp_to_int32(fields.max_tokens.value_or(std::numeric_limits<std::int32_t>::max())));
  TVLLM_RETURN_IF_ERROR(
      normalize_sampling_params(params, model_.vocab_size, options_.limits.max_logprobs));
  if (fields.n > 1 && params.is_greedy()) {
    return invalid_argument(
        str_cat("n must be 1 when temperature is 0: all choices would be the same; got ", fields.n),
        "n");
  }
  return params;
}

AnswerForm RequestBuilder::answer_form(const GenerationFields& fields, ApiKind api,
                                       const RequestContext& context) const {
  const std::string_view prefix = api == ApiKind::kChat ? "chatcmpl-" : "cmpl-";
  std::string_view name = context.request_id;
  if (name.empty()) name = fields.request_id;
  AnswerForm form;
  form.api = api;
  form.id = name.empty() ? str_cat(prefix, random_hex(16), random_hex(16)) : str_cat(prefix, name);
  form.model = fields.model.empty() ? default_name() : fields.model;
  form.created = std::time(nullptr);
  form.stream = fields.stream;
  form.include_usage = fields.include_usage || options_.force_include_usage;
  form.continuous_usage_stats = fields.continuous_usage_stats;
  form.prompt_tokens_details = options_.prompt_tokens_details;
  if (fields.num_logprobs) form.num_logprobs = clamp_to_int32(*fields.num_logprobs);
  form.has_prompt_logprobs = fields.num_prompt_logprobs.has_value();
  form.return_tokens_as_token_ids = fields.return_tokens_as_token_ids;
  form.return_token_ids = fields.return_token_ids;
  form.n = static_cast<std::size_t>(fields.n);
  return form;
}

AnswerPrompt RequestBuilder::answer_prompt(const AnswerForm& form, const std::string* text,
                                           const std::vector<TokenId>& ids,
                                           bool added_special_tokens) const {
  AnswerPrompt answer;
  answer.num_tokens = static_cast<std::int32_t>(ids.size());
  if (form.return_token_ids) answer.token_ids = ids;
  if (form.echo) {
    fill_echo(*model_.tokenizer, text, ids, added_special_tokens, form.num_logprobs.has_value(),
              answer);
  }
  return answer;
}

Status RequestBuilder::add_prompt(const GenerationFields& fields, const SamplingParams& sampling,
                                  std::vector<TokenId> ids, TimePoint arrival, const char* param,
                                  PreparedRequest& prepared) const {
  if (ids.empty()) return invalid_argument(str_cat(param, " has no tokens"), param);
  SamplingParams params = sampling;
  TVLLM_TRY(params.max_tokens, settle_max_tokens(fields, prepared.form.api, ids.size(), param));
  if (params.min_tokens > params.max_tokens) {
    return invalid_argument(
        str_cat("min_tokens (", params.min_tokens,
                ") must not be greater than the room for the answer (", params.max_tokens, ")"),
        "min_tokens");
  }
  const bool has_seed = fields.seed && *fields.seed != -1;
  params.seed = has_seed ? static_cast<std::uint64_t>(*fields.seed) : random_seed();

  prepared.output = {.skip_special_tokens = fields.skip_special_tokens,
                     .stop = fields.stop,
                     .include_stop_str_in_output = fields.include_stop_str_in_output,
                     .min_tokens = params.min_tokens};
  for (std::size_t i = 0; i < prepared.form.n; ++i) {
    auto request = std::make_shared<Request>();
    // Clients choose their ids and may choose one twice; logs and traces are not to mix them up.
    request->request_id = str_cat(prepared.form.id, "-", random_hex(8));
    request->prompt_token_ids = ids;
    request->sampling = params;
    request->sampling.choice_index = static_cast<std::uint32_t>(i);
    request->priority = fields.priority;
    request->cache_salt = fields.cache_salt;
    request->arrival_time = arrival;
    prepared.requests.push_back(std::move(request));
  }
  return {};
}

}  // namespace tvllm::server
