// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/version.h"
#include "cli/help_formatter.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace tvllm::cli {
namespace {

// CLI11's own codes tell its error classes apart; ours say bad input, or that help was printed.
int parse_exit(const CLI::App& root, const CLI::ParseError& error) {
  return root.exit(error) == 0 ? kExitOk : kExitBadInput;
}

int run(int argc, char** argv) {
  CLI::App root("An LLM inference engine: serves a model to many users through the OpenAI API.",
                "tiny-vllm");
  root.set_version_flag("--version", std::string(kVersion));
  root.require_subcommand(1);
  root.formatter(std::make_shared<HelpFormatter>());
  root.footer("'tiny-vllm VERB --help' lists a verb's options.");
  const std::vector<Verb> verbs = {add_serve(root), add_generate(root), add_chat(root),
                                   add_bench(root), add_tokenize(root), add_inspect(root)};
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_exit(root, error);
  }
  for (const Verb& verb : verbs) {
    if (verb.app->parsed()) return verb.run();
  }
  return kExitBadInput;
}

}  // namespace
}  // namespace tvllm::cli

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a vanished reader is an error of write(), not the end of us
  try {
    return tvllm::cli::run(argc, argv);
  } catch (const std::exception& error) {
    return tvllm::cli::report_error(tvllm::make_error(tvllm::ErrorCode::kInternal, error.what()));
  }
}
