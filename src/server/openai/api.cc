// SPDX-License-Identifier: Apache-2.0
#include "server/openai/api.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "server/json_writer.h"
#include "server/openai/answer_writer.h"
#include "server/openai/api_error.h"
#include "server/request_id.h"

namespace tvllm::server {

namespace {

constexpr std::string_view kModelPrefix = "/v1/models/";

Error too_busy() {
  return make_error(ErrorCode::kResourceExhausted,
                    "Too many requests are waiting; try again in a moment");
}

Error unavailable(engine::EngineState state) {
  switch (state) {
    case engine::EngineState::kLoading:
      return make_error(ErrorCode::kUnavailable, "The model is still loading");
    case engine::EngineState::kFailed:
      return make_error(ErrorCode::kUnavailable, "The engine has failed");
    default:
      return make_error(ErrorCode::kUnavailable, "The server is shutting down");
  }
}

// Runs on the pool: nothing may escape.
template <typename T>
Result<T> guarded(const std::function<Result<T>()>& work) {
  try {
    return work();
  } catch (const std::exception& e) {
    log_error(str_cat("server: a request could not be read: ", e.what()));
    return make_error(ErrorCode::kInternal, "The request could not be read");
  }
}

// Without the text: logs are kept longer, and read by more people, than prompts should be.
void log_request(const PreparedRequest& prepared) {
  const AnswerForm& form = prepared.form;
  const SamplingParams& sampling = prepared.requests.front()->sampling;
  std::size_t num_tokens = 0;
  for (const AnswerPrompt& prompt : form.prompts)
    num_tokens += static_cast<std::size_t>(prompt.num_tokens);
  log_info(str_cat("received request ", form.id, ": prompts: ", form.prompts.size(), " of ",
                   num_tokens, " tokens, n: ", form.n, ", stream: ", form.stream,
                   ", max_tokens: ", sampling.max_tokens, ", temperature: ", sampling.temperature,
                   ", top_p: ", sampling.top_p, ", top_k: ", sampling.top_k,
                   ", seed: ", sampling.seed));
}

}  // namespace

void Api::add_routes(Router& router) {
  const auto answer = [this](HttpResponse (Api::*make)() const) {
    return [this, make](const std::shared_ptr<Exchange>& exchange) {
      exchange->respond((this->*make)());
    };
  };
  const auto work = [this](HttpResponse (Api::*make)(std::string_view) const) {
    return [this, make](const std::shared_ptr<Exchange>& exchange) {
      answer_from_pool(exchange,
                       [this, make](std::string_view body) { return (this->*make)(body); });
    };
  };
  const auto generation = [this](Builder build) {
    return [this, build](const std::shared_ptr<Exchange>& exchange) { generate(exchange, build); };
  };
  const auto open = [](const char* method, const char* path, RequestHandler handler) {
    return Route{method,
                 path,
                 std::move(handler),
                 /*needs_key=*/false,
                 /*serves_while_draining=*/true,
                 /*is_measured=*/false};
  };
  router.add(open("GET", "/health", answer(&Api::health)));
  router.add(open("GET", "/ping", answer(&Api::health)));
  router.add(open("POST", "/ping", answer(&Api::health)));
  router.add(open("GET", "/version", answer(&Api::version)));
  router.add(open("GET", "/metrics", answer(&Api::metrics)));

  router.add({"GET", "/v1/models", answer(&Api::models), true, true});
  router.add({"GET", std::string(kModelPrefix) + "*",
              [this](const std::shared_ptr<Exchange>& exchange) {
                const std::string& path = exchange->request().path;
                const std::size_t at = path.find(kModelPrefix) + kModelPrefix.size();
                exchange->respond(model(percent_decoded(std::string_view(path).substr(at))));
              },
              true, true});
  router.add({"POST", "/v1/chat/completions", generation(&RequestBuilder::build_chat)});
  router.add({"POST", "/v1/completions", generation(&RequestBuilder::build_completion)});
  router.add({"POST", "/tokenize", work(&Api::tokenize)});
  router.add({"POST", "/detokenize", work(&Api::detokenize)});
}

void Api::generate(const std::shared_ptr<Exchange>& exchange, Builder build) {
  const TimePoint arrival = std::chrono::steady_clock::now();
  const engine::EngineState state = parts_.engine.state();
  if (state != engine::EngineState::kRunning) {
    exchange->respond(error_response(unavailable(state)));
    return;
  }
  // A place for one choice before any work; how many more it asks for is known after reading.
  if (!parts_.gate.try_acquire(1)) {
    exchange->respond(error_response(too_busy()));
    return;
  }
  parts_.pool.submit([this, exchange, build, arrival] {
    // The I/O thread does not touch the request meanwhile.
    HttpRequest& request = exchange->mutable_request();
    auto prepared = std::make_shared<Result<PreparedRequest>>(guarded<PreparedRequest>([&] {
      return (parts_.builder.*build)(request.body, {arrival, usable_request_id(request)});
    }));
    request.body = {};
    request.body_hold.release();
    parts_.post([this, exchange, prepared] { start(exchange, std::move(*prepared)); });
  });
}

void Api::start(const std::shared_ptr<Exchange>& exchange, Result<PreparedRequest> prepared) {
  if (!prepared || exchange->client_gone()) {
    parts_.gate.release(1);
    if (!prepared) exchange->respond(error_response(prepared.error()));
    return;
  }
  const auto num_more = static_cast<std::int64_t>(prepared->requests.size()) - 1;
  if (!parts_.gate.try_acquire(num_more)) {
    parts_.gate.release(1);
    exchange->respond(error_response(too_busy()));
    return;
  }
  if (parts_.log_requests) log_request(*prepared);
  std::make_shared<Generation>(std::move(*prepared), exchange, parts_.hub)->start();
}

void Api::answer_from_pool(const std::shared_ptr<Exchange>& exchange,
                           std::function<HttpResponse(std::string_view)> work) {
  if (!parts_.gate.try_acquire(1)) {
    exchange->respond(error_response(too_busy()));
    return;
  }
  parts_.pool.submit([this, exchange, work = std::move(work)] {
    auto made = guarded<HttpResponse>(
        [&]() -> Result<HttpResponse> { return work(exchange->request().body); });
    auto response =
        std::make_shared<HttpResponse>(made ? std::move(*made) : error_response(made.error()));
    parts_.gate.release(1);
    parts_.post([exchange, response] { exchange->respond(std::move(*response)); });
  });
}

HttpResponse Api::tokenize(std::string_view body) const {
  const Result<TokenizedText> text = parts_.builder.tokenize(body);
  if (!text) return error_response(text.error());
  HttpResponse response;
  std::string& out = response.body;
  str_append(out, R"({"count":)", text->ids.size(), R"(,"max_model_len":)",
             parts_.builder.options().max_model_len, R"(,"tokens":)");
  append_token_ids(out, text->ids);
  out += R"(,"token_strs":)";
  if (text->with_token_texts) {
    out += '[';
    for (std::size_t i = 0; i < text->ids.size(); ++i) {
      if (i > 0) out += ',';
      append_json_string(out, parts_.builder.model().tokenizer->token_text(text->ids[i]));
    }
    out += ']';
  } else {
    out += "null";
  }
  out += '}';
  return response;
}

HttpResponse Api::detokenize(std::string_view body) const {
  const Result<std::string> text = parts_.builder.detokenize(body);
  if (!text) return error_response(text.error());
  return {.body = str_cat(R"({"prompt":)", json_string(*text), "}")};
}

// Never takes a lock of the engine: its state is one atomic word.
HttpResponse Api::health() const {
  const engine::EngineState state = parts_.engine.state();
  if (state == engine::EngineState::kRunning && !draining_) return {};
  return error_response(unavailable(state));
}

// Takes a snapshot, never waits for a step.
HttpResponse Api::metrics() const {
  return {.body = parts_.metrics.exposition(parts_.engine.stats()),
          .content_type = "text/plain; version=0.0.4; charset=utf-8"};
}

HttpResponse Api::version() const {
  return {.body = str_cat(R"({"version":)", json_string(kVersion), "}")};
}

namespace {

void append_model_card(std::string& out, const RequestBuilder& builder, std::string_view name) {
  out += R"({"id":)";
  append_json_string(out, name);
  str_append(out, R"(,"object":"model","created":)", builder.model().created,
             R"(,"owned_by":"tiny-vllm","root":)");
  append_json_string(out, builder.default_name());
  str_append(out, R"(,"parent":null,"max_model_len":)", builder.options().max_model_len,
             R"(,"permission":[]})");
}

}  // namespace

HttpResponse Api::models() const {
  HttpResponse response{.body = R"({"object":"list","data":[)"};
  bool is_first = true;
  for (const std::string& name : parts_.builder.options().served_model_names) {
    if (!is_first) response.body += ',';
    is_first = false;
    append_model_card(response.body, parts_.builder, name);
  }
  response.body += "]}";
  return response;
}

HttpResponse Api::model(std::string_view name) const {
  if (!parts_.builder.serves(name)) {
    return error_response(make_error(
        ErrorCode::kNotFound, str_cat("The model ", quoted(name), " does not exist"), "model"));
  }
  HttpResponse response;
  append_model_card(response.body, parts_.builder, name);
  return response;
}

}  // namespace tvllm::server
