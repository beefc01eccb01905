// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "cli/read_input.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::cli {

namespace {

struct Options {
  std::string model_path;
  std::string text;
  bool no_special = false;
  bool ids_only = false;
};

std::string describe_tokens(const tokenizer::Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                            bool ids_only) {
  std::string out;
  for (const TokenId id : ids) {
    if (ids_only) {
      str_append(out, out.empty() ? "" : " ", id);
    } else {
      str_append(out, id, "\t", quoted(tokenizer.token_bytes(id), 200), "\n");
    }
  }
  if (ids_only) return out + "\n";
  return str_cat(out, ids.size(), " tokens\n");
}

int run(const Options& options) {
  const Result<std::string> text = read_input(options.text);
  if (!text.has_value()) return report_error(text.error());
  const Result<app::ModelBundle> bundle = app::load_bundle(options.model_path);
  if (!bundle.has_value()) return report_error(bundle.error());
  tokenizer::EncodeOptions encode_options;
  encode_options.add_special_tokens = !options.no_special;
  encode_options.parse_special = !options.no_special;
  const std::vector<TokenId> ids = bundle->tokenizer->encode(*text, encode_options);
  print(describe_tokens(*bundle->tokenizer, ids, options.ids_only));
  return kExitOk;
}

}  // namespace

Verb add_tokenize(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("tokenize", "Print the token ids of a text");
  app->add_option("MODEL", options->model_path, "GGUF file")->required();
  app->add_option("TEXT", options->text, "The text, or '-' for standard input")->required();
  app->add_flag("--no-special", options->no_special,
                "Add no BOS and read special tokens as plain text");
  app->add_flag("--ids", options->ids_only, "Print the ids alone, on one line");
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
