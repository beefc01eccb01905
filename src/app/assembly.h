// SPDX-License-Identifier: Apache-2.0
// The composition root: the only place that knows every concrete type.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/engine_config.h"
#include "base/result.h"
#include "core/engine_options.h"
#include "core/model_config.h"

namespace tvllm::backend {
class Backend;
}
namespace tvllm::chat_template {
class ChatTemplate;
}
namespace tvllm::engine {
class EngineThread;
}
namespace tvllm::loader {
class WeightSource;
}
namespace tvllm::tokenizer {
class Tokenizer;
}
namespace tvllm::trace {
class TraceRecorder;
class TraceRing;
}  // namespace tvllm::trace
namespace tvllm {
class ThreadPool;
}

namespace tvllm::app {

// A model that was read and understood, without an engine: enough to tokenize and render.
struct ModelBundle {
  ModelBundle();
  ~ModelBundle();
  ModelBundle(ModelBundle&&) noexcept;
  ModelBundle& operator=(ModelBundle&&) noexcept;

  ModelConfig config;
  std::unique_ptr<loader::WeightSource> weights;
  std::unique_ptr<tokenizer::Tokenizer> tokenizer;
  // Null if the file has none or it cannot be parsed; chat_template_error then says why.
  std::unique_ptr<chat_template::ChatTemplate> chat_template;
  std::string chat_template_error;
};

Result<ModelBundle> load_bundle(const std::string& model_path);

// A running engine with all it stands on, in the order of construction: the members at the bottom
// use those above.
struct LoadedEngine {
  LoadedEngine();
  ~LoadedEngine();  // stops the engine thread first
  LoadedEngine(LoadedEngine&&) noexcept;

  ModelBundle bundle;
  SchedulerOptions scheduler_options;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<trace::TraceRing> trace_ring;  // null when nothing is traced
  std::unique_ptr<trace::TraceRecorder> trace_recorder;
  std::unique_ptr<engine::EngineThread> engine;
  double load_seconds = 0;
};

// Loads the model and starts the engine thread. Errors name the option or the file's field; each
// impossible setting says the range.
Result<LoadedEngine> load_engine(const EngineConfig& config);

}  // namespace tvllm::app
