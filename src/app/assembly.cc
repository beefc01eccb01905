// SPDX-License-Identifier: Apache-2.0
#include "app/assembly.h"

#include <chrono>
#include <utility>
#include <vector>

#include "app/kv_sizing.h"
#include "app/memory.h"
#include "backend/cpu/cpu_backend.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/thread_pool.h"
#include "chat_template/chat_template.h"
#include "engine/engine_thread.h"
#include "executor/local_executor.h"
#include "loader/load_model_file.h"
#include "model/model.h"
#include "scheduler/scheduler.h"
#include "scheduler/scheduler_options.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_recorder.h"
#include "trace/trace_ring.h"

namespace tvllm::app {

ModelBundle::ModelBundle() = default;
ModelBundle::~ModelBundle() = default;
ModelBundle::ModelBundle(ModelBundle&&) noexcept = default;
ModelBundle& ModelBundle::operator=(ModelBundle&&) noexcept = default;

LoadedEngine::LoadedEngine() = default;
LoadedEngine::~LoadedEngine() = default;
LoadedEngine::LoadedEngine(LoadedEngine&&) noexcept = default;

namespace {

// Rows of one pass of the output head: bounds the logits buffer at 64 vocabularies.
constexpr std::int32_t kMaxLogitRows = 64;

// A template that this engine cannot run is not fatal: completions still work, chat says why.
void parse_chat_template(const std::string& source, ModelBundle& bundle) {
  if (source.empty()) {
    bundle.chat_template_error = "the model file has no chat template";
    return;
  }
  Result<chat_template::ChatTemplate> parsed = chat_template::ChatTemplate::parse(source);
  if (!parsed.has_value()) {
    bundle.chat_template_error = parsed.error().message;
  } else if (const Status tested = parsed->self_test(); !tested.has_value()) {
    bundle.chat_template_error = tested.error().message;
  } else {
    bundle.chat_template = std::make_unique<chat_template::ChatTemplate>(std::move(*parsed));
    return;
  }
  log_warning(str_cat("chat template: ", bundle.chat_template_error,
                      "; /v1/chat/completions will be refused"));
}

// Half the bytes to read for attention, and less error than int8 activations have; the reference
// stays exact.
Result<backend::KvDType> parse_kv_dtype(const std::string& text, cpu::CpuIsa isa) {
  if (text == "auto") {
    return isa == cpu::CpuIsa::kReference ? backend::KvDType::kF32 : backend::KvDType::kF16;
  }
  if (text == "f32") return backend::KvDType::kF32;
  if (text == "f16") return backend::KvDType::kF16;
  if (text == "bf16") return backend::KvDType::kBF16;
  return invalid_argument(
      str_cat("--kv-cache-dtype must be auto, f32, f16 or bf16, got ", quoted(text)),
      "kv-cache-dtype");
}

Result<SchedulingPolicy> parse_scheduling_policy(const std::string& text) {
  if (text == "fcfs") return SchedulingPolicy::kFcfs;
  if (text == "priority") return SchedulingPolicy::kPriority;
  return invalid_argument(
      str_cat("--scheduling-policy must be fcfs or priority, got ", quoted(text)),
      "scheduling-policy");
}

Result<std::int32_t> settle_threads(const EngineConfig& config) {
  if (config.num_threads == 0) return default_num_threads();
  if (config.num_threads < 1 || config.num_threads > num_machine_cpus()) {
    return invalid_argument(str_cat("--threads must be in [1, ", num_machine_cpus(),
                                    "], the CPUs of this machine; got ", config.num_threads),
                            "threads");
  }
  return config.num_threads;
}

backend::KvCacheSpec kv_spec(const model::KvGroups& groups, std::int32_t block_size,
                             backend::KvDType dtype) {
  return {.num_layers = groups.num_layers,
          .num_kv_heads = groups.num_kv_heads,
          .head_dim = groups.head_dim,
          .block_size = block_size,
          .dtype = dtype};
}

// Everything here is the same for all blocks of one process; it is in the hashes, so that they stay
// right where blocks of several models or processes could ever meet.
std::string model_fingerprint(const EngineConfig& config, const ModelConfig& model) {
  return str_cat(config.model_path, "\n", model.architecture, "\n", model.num_layers, "x",
                 model.hidden_size, "\nkv ", config.kv_cache_dtype);
}

SchedulerOptions scheduler_options(const EngineConfig& config, const ModelConfig& model,
                                   SchedulingPolicy policy, const KvSizing& sizing,
                                   const std::vector<std::int32_t>& kv_windows) {
  return {.max_num_seqs = config.max_num_seqs,
          .max_num_batched_tokens = config.max_num_batched_tokens,
          .max_model_len = sizing.max_model_len,
          .num_kv_groups = static_cast<std::int32_t>(kv_windows.size()),
          .kv_windows = kv_windows,
          .block_size = config.block_size,
          .num_blocks = sizing.num_blocks,
          .enable_chunked_prefill = config.enable_chunked_prefill,
          .policy = policy,
          .enable_prefix_caching = config.enable_prefix_caching,
          .model_fingerprint = model_fingerprint(config, model)};
}

void log_ready(const LoadedEngine& loaded, const KvSizing& sizing, std::size_t bytes_per_block,
               std::int32_t model_context_len) {
  const SchedulerOptions& options = loaded.scheduler_options;
  log_info(str_cat("KV cache: ", sizing.num_blocks, " blocks of ", options.block_size, " tokens, ",
                   human_bytes(bytes_per_block * static_cast<std::size_t>(sizing.num_blocks))));
  if (sizing.lowered) {
    log_warning(str_cat("max_model_len is ", sizing.max_model_len, ", below the model's ",
                        model_context_len, ": the KV cache holds no more"));
  }
  log_info(str_cat("engine ready in ", fixed(loaded.load_seconds, 2),
                   " s: ", loaded.backend->name(), ", ", loaded.pool->num_threads(), " threads, ",
                   options.max_num_seqs, " sequences and ", options.max_num_batched_tokens,
                   " tokens a step, max_model_len ", options.max_model_len));
}

}  // namespace

Result<ModelBundle> load_bundle(const std::string& model_path) {
  TVLLM_TRY(loader::ModelFile file, loader::load_model_file(model_path));
  ModelBundle bundle;
  bundle.config = std::move(file.config);
  bundle.weights = std::move(file.weights);
  parse_chat_template(file.tokenizer.chat_template, bundle);
  TVLLM_TRY(bundle.tokenizer, tokenizer::Tokenizer::create(std::move(file.tokenizer)));
  return bundle;
}

Result<LoadedEngine> load_engine(const EngineConfig& config) {
  const SteadyClock clock;
  const TimePoint start = clock.now();
  LoadedEngine loaded;
  TVLLM_TRY(const std::int32_t num_threads, settle_threads(config));
  TVLLM_TRY(const SchedulingPolicy policy, parse_scheduling_policy(config.scheduling_policy));
  TVLLM_TRY(const engine::StepTimeTarget target,
            engine::parse_step_time_target(config.target_step_ms));
  TVLLM_TRY(const cpu::CpuIsa isa, cpu::parse_cpu_isa(config.cpu_isa));
  TVLLM_TRY(const backend::KvDType kv_dtype, parse_kv_dtype(config.kv_cache_dtype, isa));
  log_info(str_cat("loading ", config.model_path));
  TVLLM_TRY(loaded.bundle, load_bundle(config.model_path));
  const ModelConfig& model_config = loaded.bundle.config;

  loaded.pool = std::make_unique<ThreadPool>(num_threads);
  TVLLM_TRY(loaded.backend, cpu::make_cpu_backend({.isa = isa}, *loaded.pool));
  TVLLM_TRY(std::unique_ptr<model::Model> model,
            model::make_model(
                model_config, *loaded.bundle.weights, *loaded.backend,
                {.max_num_tokens = config.max_num_batched_tokens, .max_logit_rows = kMaxLogitRows},
                config.on_load_progress));

  const std::vector<std::int32_t>& kv_windows = model->kv_groups().windows;
  backend::KvCacheSpec spec = kv_spec(model->kv_groups(), config.block_size, kv_dtype);
  const std::size_t bytes_per_block = loaded.backend->kv_bytes_per_block(spec);
  TVLLM_TRY(const KvSizing sizing,
            size_kv_cache(config, bytes_per_block,
                          config.kv_cache_memory_bytes.value_or(default_kv_cache_bytes()),
                          model_config.context_len, kv_windows));
  loaded.scheduler_options = scheduler_options(config, model_config, policy, sizing, kv_windows);
  TVLLM_RETURN_IF_ERROR(scheduler::check_scheduler_options(loaded.scheduler_options));
  spec.num_blocks = sizing.num_blocks + 1;  // the null block
  TVLLM_TRY(std::unique_ptr<backend::KvCache> cache, loaded.backend->make_kv_cache(spec));

  if (config.trace_buffer_bytes > 0) {
    loaded.trace_ring = std::make_unique<trace::TraceRing>(config.trace_buffer_bytes);
    loaded.trace_recorder = std::make_unique<trace::TraceRecorder>(*loaded.trace_ring, clock.now());
  }
  auto executor = std::make_unique<executor::LocalExecutor>(
      std::move(model), std::move(cache), *loaded.backend, *loaded.pool,
      executor::LocalExecutorOptions{.max_num_seqs = config.max_num_seqs,
                                     .block_size = config.block_size,
                                     .max_logit_rows = kMaxLogitRows,
                                     .eos_token_ids = model_config.eos_token_ids});
  auto scheduler = std::make_unique<scheduler::Scheduler>(
      loaded.scheduler_options, model_config.eos_token_ids, loaded.trace_recorder.get());
  loaded.engine =
      std::make_unique<engine::EngineThread>(std::move(scheduler), std::move(executor),
                                             static_cast<std::size_t>(config.max_queued_requests) +
                                                 static_cast<std::size_t>(config.max_num_seqs),
                                             sizing.max_model_len, config.on_failure, target);
  loaded.load_seconds = to_seconds(clock.now() - start);
  log_ready(loaded, sizing, bytes_per_block, model_config.context_len);
  return loaded;
}

}  // namespace tvllm::app
