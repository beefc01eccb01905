// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/log.h"
#include "cli/engine_flags.h"
#include "cli/read_input.h"
#include "cli/report.h"
#include "cli/text_session.h"
#include "cli/verbs.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::cli {

namespace {

struct Options {
  app::EngineConfig engine;
  SamplingFlags sampling;
  std::string prompt;
  bool verbose = false;
};

int run(Options& options) {
  if (!options.verbose) set_log_level(LogLevel::kWarning);
  const Result<std::string> prompt = read_input(options.prompt);
  if (!prompt.has_value()) return report_error(prompt.error());
  show_load_progress(options.engine);
  Result<app::LoadedEngine> loaded = app::load_engine(options.engine);
  if (!loaded.has_value()) return report_error(loaded.error());
  const Result<SamplingParams> params =
      settle_sampling(options.sampling, loaded->bundle.config.vocab_size);
  if (!params.has_value()) return report_error(params.error());
  std::vector<TokenId> ids = loaded->bundle.tokenizer->encode(*prompt);
  if (ids.empty()) {
    return report_error(invalid_argument("--prompt holds no token; at least one is needed"));
  }

  TextSession session(*loaded);
  const Result<GenerationReport> report = session.generate(
      std::move(ids), *params, options.sampling.stop, [](std::string_view text) { print(text); });
  print("\n");
  if (!report.has_value()) return report_error(report.error());
  if (options.verbose || stderr_is_terminal()) {
    std::fprintf(stderr, "[%s]\n", describe(*report).c_str());
  }
  return kExitOk;
}

}  // namespace

Verb add_generate(CLI::App& root) {
  auto options = std::make_shared<Options>();
  options->engine.max_num_seqs = 1;
  options->sampling.params.max_tokens = 128;
  options->sampling.params.temperature = 0;
  CLI::App* app = root.add_subcommand("generate", "Continue a text, streamed to standard output");
  add_engine_flags(*app, options->engine);
  app->add_option("--prompt,-p", options->prompt,
                  "The text to continue, or '-' for standard input; no chat template")
      ->required();
  app->add_flag("--verbose,-v", options->verbose, "Log the loading and print the speed");
  add_sampling_flags(*app, options->sampling);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
