// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/assembly.h"
#include "base/log.h"
#include "base/strings.h"
#include "chat_template/chat_template.h"
#include "cli/engine_flags.h"
#include "cli/report.h"
#include "cli/text_session.h"
#include "cli/verbs.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::cli {

namespace {

using chat_template::Text;
using chat_template::Value;

struct Options {
  app::EngineConfig engine;
  SamplingFlags sampling;
  std::string system;
  bool verbose = false;
};

struct Message {
  std::string role;
  std::string content;
};

// Special tokens are recognized in the template's own text only, not in what was typed.
Result<std::vector<TokenId>> encode_conversation(const app::ModelBundle& bundle,
                                                 const std::vector<Message>& messages) {
  std::vector<Value> list;
  for (const Message& message : messages) {
    list.push_back(Value::dict({{Text("role"), Value::string(message.role)},
                                {Text("content"), Value::input_string(message.content)}}));
  }
  const auto special_text = [&bundle](std::optional<TokenId> id) {
    return Value::string(id ? std::string(bundle.tokenizer->token_bytes(*id)) : std::string());
  };
  TVLLM_TRY(const chat_template::Rendered rendered,
            bundle.chat_template->render(Value::dict(
                {{Text("messages"), Value::list(std::move(list))},
                 {Text("add_generation_prompt"), Value::boolean(true)},
                 {Text("bos_token"), special_text(bundle.tokenizer->bos_token_id())},
                 {Text("eos_token"), special_text(bundle.tokenizer->eos_token_id())}})));
  std::vector<tokenizer::ByteRange> literal;
  for (const chat_template::Range& range : rendered.input_ranges) {
    literal.push_back({range.begin, range.end});
  }
  return bundle.tokenizer->encode(
      rendered.text,
      {.add_special_tokens = false, .parse_special = true, .literal_ranges = literal});
}

// Nothing at the end of input.
std::optional<std::string> read_line(bool interactive) {
  if (interactive) print("> ");
  std::string line;
  if (!std::getline(std::cin, line)) return std::nullopt;
  return line;
}

constexpr std::string_view kHelp =
    "/clear forgets the conversation, /exit or Ctrl-D leaves, Ctrl-C ends an answer.\n";

class Conversation {
 public:
  Conversation(app::LoadedEngine& loaded, SamplingParams params, const Options& options)
      : loaded_(loaded), session_(loaded), params_(std::move(params)), options_(options) {
    clear();
  }

  void clear() {
    messages_.clear();
    if (!options_.system.empty()) messages_.push_back({"system", options_.system});
  }

  // An error leaves the conversation as it was before the question.
  Status ask(std::string question) {
    messages_.push_back({"user", std::move(question)});
    const Status status = answer();
    if (!status.has_value()) messages_.pop_back();
    return status;
  }

 private:
  Status answer() {
    TVLLM_TRY(std::vector<TokenId> ids, encode_conversation(loaded_.bundle, messages_));
    TVLLM_TRY(GenerationReport report,
              session_.generate(std::move(ids), params_, options_.sampling.stop,
                                [](std::string_view text) { print(text); }));
    print("\n");
    if (options_.verbose) std::fprintf(stderr, "[%s]\n", describe(report).c_str());
    messages_.push_back({"assistant", std::move(report.text)});
    return {};
  }

  app::LoadedEngine& loaded_;
  TextSession session_;
  const SamplingParams params_;
  const Options& options_;
  std::vector<Message> messages_;
};

int talk(Conversation& conversation) {
  const bool interactive = isatty(STDIN_FILENO) == 1;
  if (interactive) print(kHelp);
  while (std::optional<std::string> line = read_line(interactive)) {
    if (line->empty()) continue;
    if (*line == "/exit" || *line == "/quit") break;
    if (*line == "/help") {
      print(kHelp);
    } else if (*line == "/clear") {
      conversation.clear();
    } else if (const Status status = conversation.ask(std::move(*line)); !status.has_value()) {
      const int code = report_error(status.error());
      if (!interactive) return code;
    }
  }
  if (interactive) print("\n");
  return kExitOk;
}

int run(Options& options) {
  if (!options.verbose) set_log_level(LogLevel::kWarning);
  show_load_progress(options.engine);
  Result<app::LoadedEngine> loaded = app::load_engine(options.engine);
  if (!loaded.has_value()) return report_error(loaded.error());
  if (loaded->bundle.chat_template == nullptr) {
    return report_error(invalid_argument(
        str_cat(options.engine.model_path, ": cannot chat: ", loaded->bundle.chat_template_error)));
  }
  Result<SamplingParams> params =
      settle_sampling(options.sampling, loaded->bundle.config.vocab_size);
  if (!params.has_value()) return report_error(params.error());
  Conversation conversation(*loaded, std::move(*params), options);
  return talk(conversation);
}

}  // namespace

Verb add_chat(CLI::App& root) {
  auto options = std::make_shared<Options>();
  options->engine.max_num_seqs = 1;
  // Small models answer best a little below their training temperature; 0 makes them loop.
  options->sampling.params.max_tokens = 512;
  options->sampling.params.temperature = 0.6f;
  options->sampling.params.top_p = 0.9f;
  CLI::App* app = root.add_subcommand("chat", "Talk to a model in the terminal");
  add_engine_flags(*app, options->engine);
  app->add_option("--system,-s", options->system, "System prompt [the template's own]");
  app->add_flag("--verbose,-v", options->verbose, "Log the loading and print the speed");
  add_sampling_flags(*app, options->sampling);
  return {app, [options] { return run(*options); }};
}

}  // namespace tvllm::cli
