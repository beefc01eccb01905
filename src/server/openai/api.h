// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "engine/engine_client.h"
#include "server/admission.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/metrics.h"
#include "server/openai/generation_hub.h"
#include "server/openai/request_builder.h"
#include "server/work_pool.h"

namespace tvllm::server {

// What the handlers work with. All outlive the Api.
struct ApiParts {
  const RequestBuilder& builder;
  engine::EngineClient& engine;
  AdmissionGate& gate;
  WorkPool& pool;
  GenerationHub& hub;
  const Metrics& metrics;
  bool log_requests = false;
  std::function<void(std::function<void()>)> post;  // runs a task on the I/O thread
};

// The endpoints of the OpenAI API and vLLM's small ones. Handlers run on the I/O thread and do next
// to nothing there: a body is parsed, rendered and tokenized on the pool, then the I/O thread hands
// it to the engine.
class Api {
 public:
  explicit Api(ApiParts parts) : parts_(std::move(parts)) {}

  // The handlers keep a pointer to this.
  void add_routes(Router& router);
  // Health says 503 from now on.
  void set_draining() { draining_ = true; }

 private:
  using Builder = Result<PreparedRequest> (RequestBuilder::*)(std::string_view,
                                                              const RequestContext&) const;

  void generate(const std::shared_ptr<Exchange>& exchange, Builder build);
  void start(const std::shared_ptr<Exchange>& exchange, Result<PreparedRequest> prepared);
  // Answers with what `work` makes of the body, on the pool.
  void answer_from_pool(const std::shared_ptr<Exchange>& exchange,
                        std::function<HttpResponse(std::string_view body)> work);

  HttpResponse tokenize(std::string_view body) const;
  HttpResponse detokenize(std::string_view body) const;
  HttpResponse health() const;
  HttpResponse version() const;
  HttpResponse metrics() const;
  HttpResponse models() const;
  HttpResponse model(std::string_view name) const;

  ApiParts parts_;
  bool draining_ = false;
};

}  // namespace tvllm::server
