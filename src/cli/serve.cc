// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/version.h"
#include "cli/engine_flags.h"
#include "cli/help_formatter.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "engine/engine_thread.h"
#include "server/server.h"

namespace tvllm::cli {

namespace {

struct Options {
  app::EngineConfig engine;
  server::ServerOptions server;
  std::vector<std::string> api_keys;
  std::int32_t shutdown_timeout_s = 30;
};

void add_server_flags(CLI::App& app, Options& options) {
  server::ServerOptions& server = options.server;
  const char* const kServer = "Server";
  app.add_option("--host", server.host, "Address to listen on")
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--port", server.port, "Port to listen on, 0 for any free one")
      ->check(in_range(0, 65535))
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--api-key", options.api_keys,
                 "Key that clients must send; may be given several times")
      ->allow_extra_args(false)
      ->envname("VLLM_API_KEY")
      ->group(kServer);
  app.add_option("--served-model-name", server.served_model_names,
                 "Names of the model in the API, the first one is reported [the file's name]")
      ->group(kServer);
  app.add_option("--root-path", server.root_path, "Prefix that a proxy puts before every path")
      ->group(kServer);
  app.add_option("--allowed-origins", server.allowed_origins,
                 "Origins that browsers may call from, '*' for all [none]")
      ->group(kServer);
  app.add_option("--max-logprobs", server.request_limits.max_logprobs,
                 "Most log-probabilities a request may ask for at a position, -1 for no limit")
      ->check(in_range(-1, 1 << 20))
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--shutdown-timeout", options.shutdown_timeout_s,
                 "Seconds that open answers have after SIGTERM; a second signal ends them at once")
      ->check(in_range(0, 86400))
      ->capture_default_str()
      ->group(kServer);
  app.add_option("--max-connections", server.max_connections,
                 "Clients at once, past that 503; 0 for what the limit of open files allows")
      ->check(in_range(0, 1 << 20))
      ->capture_default_str()
      ->group(kServer);
  app.add_flag("--trust-request-chat-template", server.request_limits.trust_request_chat_template,
               "Let requests bring a chat template of their own")
      ->group(kServer);
  app.add_flag("--enable-prompt-tokens-details", server.prompt_tokens_details,
               "Tell cached prompt tokens in usage")
      ->group(kServer);
  app.add_flag("--enable-force-include-usage", server.force_include_usage,
               "End every stream with its usage, as if the request had asked for it")
      ->group(kServer);
  app.add_flag("--enable-request-id-headers", server.request_id_headers,
               "Answer with the X-Request-Id of the request, or a new one")
      ->group(kServer);
  app.add_flag("--enable-log-requests", server.log_requests,
               "Log a line about each request, without its text")
      ->group(kServer);
  app.add_flag("--disable-log-stats{false}", server.log_stats,
               "Do not log throughput every ten seconds while busy")
      ->group(kServer);
}

// vLLM answers to the path it was given; a file's name reads better in /v1/models, so it is the
// first name and the path the second.
std::vector<std::string> default_names(const std::string& model_path) {
  return {std::filesystem::path(model_path).stem().string(), model_path};
}

server::ServedModel served_model(const app::LoadedEngine& loaded, const std::string& cache_dtype) {
  const app::ModelBundle& bundle = loaded.bundle;
  server::ServedModel model;
  model.tokenizer = bundle.tokenizer.get();
  model.chat_template = bundle.chat_template.get();
  model.chat_template_error = bundle.chat_template_error;
  model.vocab_size = bundle.config.vocab_size;
  model.created = static_cast<std::int64_t>(std::time(nullptr));
  model.cache = {.block_size = loaded.scheduler_options.block_size,
                 .dtype = cache_dtype,
                 .enable_prefix_caching = loaded.scheduler_options.enable_prefix_caching};
  return model;
}

int run(Options& options) {
  log_info(str_cat("tiny-vllm ", kVersion));
  server::ServerOptions& server_options = options.server;
  show_load_progress(options.engine);

  if (server_options.served_model_names.empty()) {
    server_options.served_model_names = default_names(options.engine.model_path);
  }
  server_options.api_keys = options.api_keys;
  server_options.max_queued_requests = options.engine.max_queued_requests;
  server_options.max_num_seqs = options.engine.max_num_seqs;
  server_options.shutdown_timeout = std::chrono::seconds(options.shutdown_timeout_s);
  server_options.handle_signals = true;
  server_options.request_limits.allow_priority = options.engine.scheduling_policy == "priority";

  // Health checks are answered while the model loads.
  Result<std::unique_ptr<server::Server>> listening = server::Server::listen(server_options);
  if (!listening.has_value()) return report_error(listening.error());
  Result<app::LoadedEngine> loaded = app::load_engine(options.engine);
  if (!loaded.has_value()) return report_error(loaded.error());

  log_info(str_cat("serving ", server_options.served_model_names.front()));
  const std::unique_ptr<server::Server> server = std::move(*listening);  // ends before the engine
  server->serve(served_model(*loaded, options.engine.kv_cache_dtype), *loaded->engine,
                loaded->trace_ring.get());
  const Status ended = server->wait();
  if (!ended.has_value()) return report_error(ended.error());
  log_info("stopped");
  return kExitOk;
}

}  // namespace

Verb add_serve(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("serve", "Serve a model through the OpenAI API");
  add_engine_flags(*app, options->engine);
  add_trace_flag(*app, options->engine);
  add_server_flags(*app, *options);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
