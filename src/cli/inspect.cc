// SPDX-License-Identifier: Apache-2.0
#include "loader/inspect.h"

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/report.h"
#include "cli/verbs.h"
#include "loader/gguf.h"
#include "loader/gguf_config.h"

namespace tvllm::cli {

namespace {

int run(const std::string& path) {
  const Result<loader::GgufFile> file = loader::GgufFile::open(path);
  if (!file.has_value()) return report_error(file.error());
  print(loader::describe_model_file(*file, {}));
  // A file that contradicts itself is shown and then refused; one of an architecture that this
  // build does not run is a good file.
  const Result<ModelConfig> config = loader::read_model_config(*file);
  if (!config.has_value() && config.error().code == ErrorCode::kInvalidArgument) {
    return report_error(config.error());
  }
  return kExitOk;
}

}  // namespace

Verb add_inspect(CLI::App& root) {
  auto path = std::make_shared<std::string>();
  CLI::App* app = root.add_subcommand("inspect", "Print a model file's metadata and tensors");
  app->add_option("MODEL", *path, "GGUF file")->required();
  return {app, [path] { return run(*path); }};
}

}  // namespace tvllm::cli
