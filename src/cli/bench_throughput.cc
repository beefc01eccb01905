// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/log.h"
#include "bench/prompts.h"
#include "bench/throughput.h"
#include "cli/bench.h"
#include "cli/engine_flags.h"
#include "cli/help_formatter.h"
#include "cli/progress_bar.h"
#include "cli/prompt_flags.h"
#include "cli/report.h"
#include "engine/engine_thread.h"
#include "tokenizer/tokenizer.h"
#include "trace/trace_ring.h"

namespace tvllm::cli {

namespace {

struct Options {
  app::EngineConfig engine;
  bench::PromptOptions prompts;
  bench::ThroughputOptions bench;
  std::string output_json;
};

int run(Options& options) {
  set_log_level(LogLevel::kWarning);
  options.engine.trace_buffer_bytes = kBenchTraceBytes;
  const Status reserved =
      reserve_queue(options.engine, std::int64_t{options.prompts.num_prompts} * options.bench.n);
  if (!reserved.has_value()) return report_error(reserved.error());
  options.bench.seed = options.prompts.seed;
  show_load_progress(options.engine);
  bench::OfflineRunner runner;  // outlives the engine
  Result<app::LoadedEngine> loaded = app::load_engine(options.engine);
  if (!loaded.has_value()) return report_error(loaded.error());
  const Result<std::vector<bench::BenchPrompt>> prompts =
      bench::make_prompts(options.prompts, loaded->bundle.tokenizer.get());
  if (!prompts.has_value()) return report_error(prompts.error());

  ProgressBar progress;
  const auto total = static_cast<std::int64_t>(prompts->size()) * options.bench.n;
  std::int64_t num_finished = 0;
  progress.show(0, total, "Requests");
  const Result<bench::ThroughputResult> result = bench::run_throughput(
      {.engine = *loaded->engine,
       .tokenizer = *loaded->bundle.tokenizer,
       .ring = *loaded->trace_ring,
       .runner = runner},
      *prompts, options.bench, [&] { progress.show(++num_finished, total, "Requests"); });
  if (!result.has_value()) return report_error(result.error());
  print(bench::throughput_report(*result));
  if (options.output_json.empty()) return kExitOk;
  const Status written = write_file(options.output_json, bench::throughput_json(*result));
  return written.has_value() ? kExitOk : report_error(written.error());
}

}  // namespace

Verb add_bench_throughput(CLI::App& bench) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      bench.add_subcommand("throughput", "How much the engine does when all requests come at once");
  add_engine_flags(*app, options->engine);
  add_prompt_flags(*app, options->prompts);
  const char* const kBench = "Benchmark";
  app->add_option("--n", options->bench.n, "Answers to each prompt")
      ->check(in_range(1, 1024))
      ->capture_default_str()
      ->group(kBench);
  app->add_flag("--disable-detokenize", options->bench.disable_detokenize,
                "Make no text of the answers")
      ->group(kBench);
  app->add_option("--output-json", options->output_json, "File for the results")->group(kBench);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
