// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line, one file each. A verb adds its subcommand and options to the app
// and hands back what to run when it was chosen; it answers with the exit code.
#pragma once

#include <functional>
#include <vector>

namespace CLI {
class App;
}

namespace tvllm::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;   // anything that is not the user's doing
inline constexpr int kExitBadInput = 2;  // a bad file, option or value

struct Verb {
  CLI::App* app = nullptr;  // owned by the root app
  std::function<int()> run;
};

Verb add_serve(CLI::App& root);
Verb add_generate(CLI::App& root);
Verb add_chat(CLI::App& root);
Verb add_bench(CLI::App& root);  // latency, throughput, serve
Verb add_tokenize(CLI::App& root);
Verb add_inspect(CLI::App& root);

}  // namespace tvllm::cli
