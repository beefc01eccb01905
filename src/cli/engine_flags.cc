// SPDX-License-Identifier: Apache-2.0
#include "cli/engine_flags.h"

#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "backend/cpu/cpu_isa.h"
#include "base/entropy.h"
#include "base/strings.h"
#include "base/thread_pool.h"
#include "cli/help_formatter.h"
#include "cli/report.h"

namespace tvllm::cli {

namespace {

constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

// A snapshot of some thousand sequences must fit, or a reader would never get one whole.
constexpr std::uint64_t kMinTraceBytes = 4 << 20;
constexpr std::uint64_t kMaxTraceBytes = 1 << 30;
constexpr std::uint64_t kDefaultTraceBytes = 8 << 20;

std::string check_trace_bytes(const std::string& text) {
  const std::optional<std::int64_t> value = parse_int64(text);
  if (value == 0) return {};
  if (value && *value >= static_cast<std::int64_t>(kMinTraceBytes) &&
      *value <= static_cast<std::int64_t>(kMaxTraceBytes)) {
    return {};
  }
  return str_cat("must be 0 or in [", kMinTraceBytes, ", ", kMaxTraceBytes, "], got ", text);
}

}  // namespace

void add_engine_flags(CLI::App& app, app::EngineConfig& config) {
  app.add_option("MODEL", config.model_path, "GGUF file")->required();

  const char* const kModel = "Model and scheduler";
  app.add_option("--max-model-len", config.max_model_len,
                 "Prompt plus output tokens of one sequence [the model's context, or what the KV "
                 "cache holds]")
      ->check(in_range(2, kMaxInt))
      ->group(kModel);
  app.add_option("--max-num-seqs", config.max_num_seqs, "Sequences in one step")
      ->check(in_range(1, 65536))
      ->capture_default_str()
      ->group(kModel);
  app.add_option("--max-num-batched-tokens", config.max_num_batched_tokens,
                 "Token budget of one step: long prompts are computed in chunks of at most this")
      ->check(in_range(1, 1 << 20))
      ->capture_default_str()
      ->group(kModel);
  app.add_flag("--enable-chunked-prefill,!--no-enable-chunked-prefill",
               config.enable_chunked_prefill,
               "Let a prompt take several steps, beside other sequences' decodes [on]")
      ->group(kModel);
  app.add_option("--scheduling-policy", config.scheduling_policy,
                 "Who is admitted first and preempted last: 'fcfs' by arrival, 'priority' by the "
                 "field of the requests, lower first")
      ->check(CLI::IsMember({"fcfs", "priority"}))
      ->capture_default_str()
      ->group(kModel);
  app.add_option(
         "--target-step-ms", config.target_step_ms,
         "While answers are being generated, steps carry as many prompt tokens as keep them "
         "this short; 'auto' follows the time that the answers alone take, 0 is off")
      ->capture_default_str()
      ->group(kModel);
  app.add_option("--max-queued-requests", config.max_queued_requests,
                 "Choices that may wait beyond --max-num-seqs; past that the answer is 429")
      ->check(in_range(0, 1 << 24))
      ->capture_default_str()
      ->group(kModel);

  const char* const kCache = "KV cache";
  app.add_option("--kv-cache-memory-bytes", config.kv_cache_memory_bytes,
                 "Memory of the KV cache: bytes, or with K, M or G behind [the lesser of 4 GiB and "
                 "a quarter of what is available]")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->group(kCache);
  app.add_option("--kv-cache-dtype", config.kv_cache_dtype,
                 "Element type of K and V; 'auto' is f16, for --cpu-isa reference f32")
      ->check(CLI::IsMember({"auto", "f32", "f16", "bf16"}))
      ->capture_default_str()
      ->group(kCache);
  app.add_option("--block-size", config.block_size, "Tokens in a block: a power of two")
      ->check(CLI::IsMember({4, 8, 16, 32, 64, 128}))
      ->capture_default_str()
      ->group(kCache);
  app.add_flag("--enable-prefix-caching,!--no-enable-prefix-caching", config.enable_prefix_caching,
               "Share the blocks of prompts that begin alike [on]")
      ->group(kCache);
  app.add_option_function<std::string>(
         "--prefix-caching-hash-algo", [](const std::string&) {}, "Hash of shared blocks [sha256]")
      ->check(CLI::IsMember({"sha256"}))
      ->group(kCache);
  app.add_option("--num-gpu-blocks-override", config.num_blocks_override,
                 "Number of blocks, whatever the memory: for tests of preemption")
      ->check(in_range(1, kMaxInt))
      ->group(kCache);

  const char* const kCpu = "CPU";
  app.add_option(
         "--threads", config.num_threads,
         str_cat("Threads of the forward pass [physical cores, as affinity and cgroup quota "
                 "allow: ",
                 default_num_threads(), "]"))
      ->check(in_range(1, num_machine_cpus()))
      ->group(kCpu);
  app.add_option("--cpu-isa", config.cpu_isa,
                 str_cat("Instruction set of the kernels: ", cpu::cpu_isa_list(),
                         "; 'reference' is fp32 in plain loops, 'scalar' the quantized algorithm "
                         "in plain C++"))
      ->capture_default_str()
      ->group(kCpu);
}

void add_trace_flag(CLI::App& app, app::EngineConfig& config) {
  config.trace_buffer_bytes = kDefaultTraceBytes;
  app.add_option(
         "--trace-buffer-bytes", config.trace_buffer_bytes,
         "Memory for the last events of GET /trace/events: bytes, or with K, M or G behind; "
         "0 to trace nothing [8M]")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Validator([](std::string& text) { return check_trace_bytes(text); }, ""))
      ->group("Trace");
}

void add_sampling_flags(CLI::App& app, SamplingFlags& flags) {
  SamplingParams& params = flags.params;
  const char* const kSampling = "Sampling";
  app.add_option("--max-tokens", params.max_tokens, "Most tokens to generate")
      ->check(in_range(1, kMaxInt))
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--temperature", params.temperature, "0 is greedy")
      ->check(in_range(0.0, 2.0))
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--top-p", params.top_p, "Keep the smallest set with this probability")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--top-k", params.top_k, "Keep this many tokens, 0 for all")
      ->check(in_range(-1, kMaxInt))
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--min-p", params.min_p, "Drop tokens below this share of the best one's")
      ->check(in_range(0.0, 1.0))
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--repetition-penalty", params.repetition_penalty, "Above 1 discourages repeats")
      ->capture_default_str()
      ->group(kSampling);
  app.add_option("--seed", flags.seed, "Same seed, same text [fresh]")->group(kSampling);
  app.add_option("--stop", flags.stop, "End before this text; may be given several times")
      ->allow_extra_args(false)
      ->group(kSampling);
  app.add_flag("--ignore-eos", params.ignore_eos, "Go on to --max-tokens")->group(kSampling);
}

Result<SamplingParams> settle_sampling(const SamplingFlags& flags, std::int32_t vocab_size) {
  SamplingParams params = flags.params;
  params.seed = flags.seed ? *flags.seed : random_seed();
  TVLLM_RETURN_IF_ERROR(normalize_sampling_params(params, vocab_size, 0));
  return params;
}

void show_load_progress(app::EngineConfig& config) {
  if (!stderr_is_terminal()) return;
  config.on_load_progress = [](std::int32_t num_done, std::int32_t num_total) {
    std::fprintf(stderr, "\rloading weights: layer %d of %d%s", num_done, num_total,
                 num_done == num_total ? "\n" : "");
    std::fflush(stderr);
  };
}

}  // namespace tvllm::cli
