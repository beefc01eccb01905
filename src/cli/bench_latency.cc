// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/log.h"
#include "bench/latency.h"
#include "cli/bench.h"
#include "cli/engine_flags.h"
#include "cli/help_formatter.h"
#include "cli/progress_bar.h"
#include "cli/report.h"
#include "engine/engine_thread.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_ring.h"

namespace tvllm::cli {

namespace {

constexpr std::int32_t kMaxInt = std::numeric_limits<std::int32_t>::max();

struct Options {
  app::EngineConfig engine;
  bench::LatencyOptions bench;
  std::string output_json;
};

int run(Options& options) {
  set_log_level(LogLevel::kWarning);
  options.engine.trace_buffer_bytes = kBenchTraceBytes;
  const Status reserved =
      reserve_queue(options.engine, std::int64_t{options.bench.batch_size} * options.bench.n);
  if (!reserved.has_value()) return report_error(reserved.error());
  show_load_progress(options.engine);
  bench::OfflineRunner runner;  // outlives the engine
  Result<app::LoadedEngine> loaded = app::load_engine(options.engine);
  if (!loaded.has_value()) return report_error(loaded.error());

  ProgressBar progress;
  const Result<bench::LatencyResult> result = bench::run_latency(
      {.engine = *loaded->engine,
       .tokenizer = *loaded->bundle.tokenizer,
       .ring = *loaded->trace_ring,
       .runner = runner},
      options.bench,
      [&progress](std::int32_t num_done, std::int32_t num_total, std::string_view what) {
        progress.show(num_done, num_total, what);
      });
  if (!result.has_value()) return report_error(result.error());
  print(bench::latency_report(*result));
  if (options.output_json.empty()) return kExitOk;
  const Status written = write_file(options.output_json, bench::latency_json(*result));
  return written.has_value() ? kExitOk : report_error(written.error());
}

}  // namespace

Verb add_bench_latency(CLI::App& bench) {
  auto options = std::make_shared<Options>();
  // As in vLLM: the same prompts come again in each iteration.
  options->engine.enable_prefix_caching = false;
  CLI::App* app = bench.add_subcommand(
      "latency", "How long one batch of requests takes, and where that time goes");
  add_engine_flags(*app, options->engine);
  const char* const kBench = "Benchmark";
  bench::LatencyOptions& latency = options->bench;
  const auto add_count = [&](const char* name, std::int32_t& value, std::int32_t low,
                             std::int32_t high, const char* help) {
    app->add_option(name, value, help)
        ->check(in_range(low, high))
        ->capture_default_str()
        ->group(kBench);
  };
  add_count("--input-len", latency.input_len, 1, kMaxInt, "Tokens of each prompt, drawn at random");
  add_count("--output-len", latency.output_len, 1, kMaxInt, "Tokens of each answer");
  add_count("--batch-size", latency.batch_size, 1, 65536, "Prompts at once");
  add_count("--n", latency.n, 1, 1024, "Answers to each prompt");
  add_count("--num-iters-warmup", latency.num_iters_warmup, 0, kMaxInt,
            "Batches before those that are measured");
  add_count("--num-iters", latency.num_iters, 1, kMaxInt, "Batches that are measured");
  app->add_flag("--disable-detokenize", latency.disable_detokenize, "Make no text of the answers")
      ->group(kBench);
  app->add_option("--seed", latency.seed, "Of prompts and sampling")
      ->capture_default_str()
      ->group(kBench);
  app->add_option("--output-json", options->output_json, "File for the results")->group(kBench);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
