// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "base/utf8.h"
#include "loader/gguf_limits.h"
#include "loader/gguf_tokenizer_data.h"

namespace tvllm::loader {

namespace {

struct Architecture {
  std::string_view name;  // general.architecture, and the prefix of the keys
  RopeStyle rope_style;
  bool has_local_layers = false;
};

constexpr std::array<Architecture, 4> kArchitectures = {{
    {"llama", RopeStyle::kInterleaved},
    {"qwen2", RopeStyle::kHalves},
    {"qwen3", RopeStyle::kHalves},
    {"gemma3", RopeStyle::kHalves, true},
}};

constexpr std::string_view kEmbedding = "token_embd.weight";

// Far above any model there is, and small enough that a product of two of them, or of one with a
// block length, stays inside int64, and heads * head_dim inside int32.
constexpr std::uint32_t kMaxLayers = 1024;
constexpr std::uint32_t kMaxHiddenSize = 1 << 18;
constexpr std::uint32_t kMaxIntermediateSize = 1 << 20;
constexpr std::uint32_t kMaxHeads = 4096;
constexpr std::uint32_t kMaxHeadDim = 4096;
constexpr std::uint32_t kMaxContextLen = 1 << 26;
constexpr std::int64_t kMaxAttentionSize = 1 << 20;  // heads * head_dim
constexpr float kMaxRopeTheta = 1e12f;
constexpr float kMaxRopeFactor = 1e6f;

// The keys of one architecture, read with their ranges.
class ConfigReader {
 public:
  ConfigReader(const GgufFile& file, std::string_view architecture)
      : file_(file), architecture_(architecture) {}

  std::string key(std::string_view suffix) const { return str_cat(architecture_, ".", suffix); }

  // From 1 to `max`.
  Result<std::int32_t> count(std::string_view suffix, std::uint32_t max) const {
    TVLLM_TRY(const std::uint32_t value, file_.require<std::uint32_t>(key(suffix)));
    return checked(suffix, value, max);
  }

  Result<std::int32_t> count_or(std::string_view suffix, std::uint32_t max,
                                std::int32_t fallback) const {
    if (file_.find(key(suffix)) == nullptr) return fallback;
    return count(suffix, max);
  }

  // One number, or one a layer if all are equal.
  Result<std::int32_t> layer_count(std::string_view suffix, std::uint32_t max,
                                   std::int32_t num_layers) const {
    const GgufValue* value = file_.find(key(suffix));
    if (value == nullptr || value->type != GgufType::kArray) return count(suffix, max);
    if (!value->is_array_of(GgufType::kUint32) && !value->is_array_of(GgufType::kInt32)) {
      return file_.key_error(key(suffix), str_cat("expected uint32 or int32 elements, found ",
                                                  gguf_type_name(value->element_type)));
    }
    const GgufArray<std::uint32_t> values(value->bytes);
    if (values.size() != static_cast<std::size_t>(num_layers)) {
      return file_.key_error(key(suffix), str_cat("expected one for each of ", num_layers,
                                                  " layers, found ", values.size()));
    }
    for (std::size_t i = 1; i < values.size(); ++i) {
      if (values[i] != values[0]) {
        return file_.key_error(key(suffix),
                               str_cat("layers that differ are not supported: ", values[0],
                                       " in layer 0, ", values[i], " in layer ", i),
                               ErrorCode::kUnsupported);
      }
    }
    return checked(suffix, values[0], max);
  }

  // Above 0, at most `max`.
  Result<float> positive(std::string_view suffix, float max) const {
    TVLLM_TRY(const float value, file_.require<float>(key(suffix)));
    if (value > 0.0f && value <= max) return value;
    return file_.key_error(key(suffix),
                           str_cat("expected a number above 0, at most ", max, ", found ", value));
  }

  Result<float> positive_or(std::string_view suffix, float max, float fallback) const {
    if (file_.find(key(suffix)) == nullptr) return fallback;
    return positive(suffix, max);
  }

  const GgufFile& file() const { return file_; }

 private:
  Result<std::int32_t> checked(std::string_view suffix, std::uint32_t value,
                               std::uint32_t max) const {
    if (value >= 1 && value <= max) return static_cast<std::int32_t>(value);
    return file_.key_error(key(suffix), str_cat("expected 1 to ", max, ", found ", value));
  }

  const GgufFile& file_;  // outlives the reader
  const std::string_view architecture_;
};

Result<Architecture> read_architecture(const GgufFile& file) {
  constexpr std::string_view kKey = "general.architecture";
  TVLLM_TRY(const std::string_view name, file.require<std::string_view>(kKey));
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == name) return architecture;
    str_append(known, known.empty() ? "" : ", ", architecture.name);
  }
  return file.key_error(
      kKey, str_cat("architecture ", quoted(name), " is not supported (supported: ", known, ")"),
      ErrorCode::kUnsupported);
}

// Numbers and switches that other models of these architectures use to change the arithmetic.
Status refuse_unsupported(const ConfigReader& reader) {
  struct Neutral {
    std::string_view suffix;
    float value;
  };
  constexpr std::array<Neutral, 10> kNeutral = {{{"expert_count", 0.0f},
                                                 {"attn_logit_softcapping", 0.0f},
                                                 {"final_logit_softcapping", 0.0f},
                                                 {"attention.clamp_kqv", 0.0f},
                                                 {"attention.max_alibi_bias", 0.0f},
                                                 {"attention.causal", 1.0f},
                                                 {"rope.scaling.attn_factor", 1.0f},
                                                 {"logit_scale", 1.0f},
                                                 {"residual_scale", 1.0f},
                                                 {"embedding_scale", 1.0f}}};
  for (const Neutral& neutral : kNeutral) {
    const std::string key = reader.key(neutral.suffix);
    const GgufValue* value = reader.file().find(key);
    if (value == nullptr) continue;
    float found = 0.0f;
    switch (value->type) {
      case GgufType::kUint32:
        found = static_cast<float>(value->scalar<std::uint32_t>());
        break;
      case GgufType::kFloat32:
        found = value->scalar<float>();
        break;
      case GgufType::kBool:
        found = value->scalar<std::uint8_t>();
        break;
      default:
        return reader.file().key_error(
            key, str_cat("expected a number, found ", gguf_type_name(value->type)));
    }
    if (found != neutral.value) {
      return reader.file().key_error(
          key, str_cat("only ", neutral.value, " is supported, found ", found),
          ErrorCode::kUnsupported);
    }
  }
  return {};
}

Status read_sizes(const ConfigReader& reader, ModelConfig& config) {
  TVLLM_TRY(config.num_layers, reader.count("block_count", kMaxLayers));
  TVLLM_TRY(config.context_len, reader.count("context_length", kMaxContextLen));
  TVLLM_TRY(config.hidden_size, reader.count("embedding_length", kMaxHiddenSize));
  TVLLM_TRY(config.intermediate_size,
            reader.layer_count("feed_forward_length", kMaxIntermediateSize, config.num_layers));
  TVLLM_TRY(config.rms_norm_eps, reader.positive("attention.layer_norm_rms_epsilon", 1.0f));
  return {};
}

Status read_heads(const ConfigReader& reader, ModelConfig& config) {
  TVLLM_TRY(config.num_heads,
            reader.layer_count("attention.head_count", kMaxHeads, config.num_layers));
  config.num_kv_heads = config.num_heads;
  constexpr std::string_view kKvHeads = "attention.head_count_kv";
  if (reader.file().find(reader.key(kKvHeads)) != nullptr) {
    TVLLM_TRY(config.num_kv_heads, reader.layer_count(kKvHeads, kMaxHeads, config.num_layers));
  }
  if (config.num_heads % config.num_kv_heads != 0) {
    return reader.file().key_error(reader.key(kKvHeads),
                                   str_cat("expected a divisor of the ", config.num_heads,
                                           " attention heads, found ", config.num_kv_heads));
  }
  return {};
}

Status read_head_dim(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::string_view kKeyLength = "attention.key_length";
  constexpr std::string_view kValueLength = "attention.value_length";
  const std::int32_t even_share = config.hidden_size / config.num_heads;
  if (reader.file().find(reader.key(kKeyLength)) == nullptr &&
      config.hidden_size % config.num_heads != 0) {
    return reader.file().key_error(reader.key("attention.head_count"),
                                   str_cat("expected a divisor of the hidden size ",
                                           config.hidden_size, ", found ", config.num_heads));
  }
  TVLLM_TRY(config.head_dim, reader.count_or(kKeyLength, kMaxHeadDim, even_share));
  if (config.head_dim % 2 != 0 || config.head_dim > static_cast<std::int32_t>(kMaxHeadDim)) {
    return reader.file().key_error(reader.key(kKeyLength),
                                   str_cat("expected an even head size of at most ", kMaxHeadDim,
                                           ", found ", config.head_dim));
  }
  TVLLM_TRY(const std::int32_t value_dim,
            reader.count_or(kValueLength, kMaxHeadDim, config.head_dim));
  if (value_dim != config.head_dim) {
    return reader.file().key_error(
        reader.key(kValueLength),
        str_cat("values of another size than keys are not supported: expected ", config.head_dim,
                ", found ", value_dim),
        ErrorCode::kUnsupported);
  }
  if (std::int64_t{config.num_heads} * config.head_dim > kMaxAttentionSize) {
    return reader.file().key_error(
        reader.key("attention.head_count"),
        str_cat("expected heads * head size of at most ", kMaxAttentionSize, ", found ",
                config.num_heads, " * ", config.head_dim));
  }
  return {};
}

// Linear scaling, by the keys of today or the one of old. Llama 3's scaling is not a kind in GGUF
// but the tensor rope_freqs.weight.
Status read_rope_scaling(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::string_view kType = "rope.scaling.type";
  constexpr std::string_view kFactor = "rope.scaling.factor";
  constexpr std::string_view kOldFactor = "rope.scale_linear";
  TVLLM_TRY(const std::optional<std::string_view> type,
            reader.file().optional<std::string_view>(reader.key(kType)));
  if (type && *type == "none") return {};
  if (type && *type != "linear") {
    return reader.file().key_error(
        reader.key(kType),
        str_cat("RoPE scaling ", quoted(*type), " is not supported (supported: none, linear)"),
        ErrorCode::kUnsupported);
  }
  const bool has_factor = reader.file().find(reader.key(kFactor)) != nullptr;
  TVLLM_TRY(const float factor,
            reader.positive_or(has_factor ? kFactor : kOldFactor, kMaxRopeFactor, 1.0f));
  if (factor == 1.0f) return {};
  config.rope_scaling.kind = RopeScaling::Kind::kLinear;
  config.rope_scaling.factor = factor;
  return {};
}

Status read_rope_freq_factors(const GgufFile& file, ModelConfig& config) {
  const TensorInfo* tensor = file.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return {};
  if (tensor->dtype != DType::kF32 || tensor->shape.size() != 1 ||
      tensor->shape[0] != config.rope_dim / 2) {
    return file.tensor_error(*tensor, str_cat("expected F32 with ", config.rope_dim / 2,
                                              " elements, half the rotated head"));
  }
  config.rope_freq_factors.resize(static_cast<std::size_t>(tensor->shape[0]));
  std::memcpy(config.rope_freq_factors.data(), tensor->data.data(), tensor->data.size());
  for (std::size_t i = 0; i < config.rope_freq_factors.size(); ++i) {
    const float factor = config.rope_freq_factors[i];
    if (!(factor > 0.0f && std::isfinite(factor))) {
      return file.tensor_error(
          *tensor, str_cat("expected divisors above 0, found ", factor, " as element ", i));
    }
  }
  return {};
}

Status read_rope(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::string_view kDims = "rope.dimension_count";
  TVLLM_TRY(config.rope_theta, reader.positive_or("rope.freq_base", kMaxRopeTheta, 10000.0f));
  TVLLM_TRY(config.rope_dim, reader.count_or(kDims, kMaxHeadDim, config.head_dim));
  if (config.rope_dim % 2 != 0 || config.rope_dim > config.head_dim) {
    return reader.file().key_error(
        reader.key(kDims), str_cat("expected an even number up to the head size ", config.head_dim,
                                   ", found ", config.rope_dim));
  }
  TVLLM_RETURN_IF_ERROR(read_rope_scaling(reader, config));
  return read_rope_freq_factors(reader.file(), config);
}

// Gemma 3: all layers have a sliding window but every sixth, and a rotation of their own. Files
// name the window, and some of them the rest.
Status read_local_layers(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::int32_t kInterval = 6;
  constexpr float kTheta = 10000.0f;
  TVLLM_TRY(config.sliding_window, reader.count_or("attention.sliding_window", kMaxContextLen, 0));
  TVLLM_TRY(config.global_layer_interval,
            reader.count_or("attention.sliding_window_pattern", kMaxLayers, kInterval));
  TVLLM_TRY(config.local_rope_theta,
            reader.positive_or("rope.freq_base_swa", kMaxRopeTheta, kTheta));
  return {};
}

// Files of Gemma 3 27B do not say that its queries are scaled by the hidden size over the heads;
// llama.cpp knows the model by its layers, too.
Status read_query_scale(const ConfigReader& reader, ModelConfig& config) {
  constexpr std::int32_t kLayersOf27B = 62;
  const bool is_27b = config.architecture == "gemma3" && config.num_layers == kLayersOf27B;
  const std::int32_t divisor = is_27b ? config.hidden_size / config.num_heads : config.head_dim;
  TVLLM_TRY(config.query_scale, reader.positive_or("attention.scale", 1.0f,
                                                   1.0f / std::sqrt(static_cast<float>(divisor))));
  return {};
}

// A file may say that every layer attends to the last so many positions only. Up to that length a
// full attention is the same, so the context ends there.
Status read_sliding_window(const ConfigReader& reader, ModelConfig& config) {
  TVLLM_TRY(const std::int32_t window,
            reader.count_or("attention.sliding_window", kMaxContextLen, config.context_len));
  config.context_len = std::min(config.context_len, window);
  return {};
}

Status read_vocab_size(const ConfigReader& reader, ModelConfig& config) {
  const GgufFile& file = reader.file();
  const TensorInfo* embedding = file.find_tensor(kEmbedding);
  if (embedding == nullptr) return file.key_error(kEmbedding, "the tensor is missing");
  const std::vector<std::int64_t>& shape = embedding->shape;
  if (shape.size() != 2 || shape[1] != config.hidden_size || shape[0] > std::int64_t{kMaxTokens}) {
    return file.tensor_error(
        *embedding, str_cat("expected at most ", kMaxTokens, " rows of ", config.hidden_size,
                            ", the hidden size, found ",
                            shape.size() == 2 ? str_cat(shape[0], " rows of ", shape[1])
                                              : str_cat(shape.size(), " dimensions")));
  }
  config.vocab_size = static_cast<std::int32_t>(shape[0]);
  TVLLM_TRY(const std::int32_t stated,
            reader.count_or("vocab_size", kMaxTokens, config.vocab_size));
  if (stated != config.vocab_size) {
    return file.key_error(reader.key("vocab_size"),
                          str_cat("expected ", config.vocab_size, ", the rows of ",
                                  quoted(kEmbedding), ", found ", stated));
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_model_config(const GgufFile& file) {
  TVLLM_TRY(const Architecture architecture, read_architecture(file));
  const ConfigReader reader(file, architecture.name);
  ModelConfig config;
  config.architecture = std::string(architecture.name);
  config.rope_style = architecture.rope_style;
  TVLLM_TRY(const std::optional<std::string_view> name,
            file.optional<std::string_view>("general.name"));
  config.name = to_valid_utf8(name.value_or(""));
  TVLLM_RETURN_IF_ERROR(refuse_unsupported(reader));
  TVLLM_RETURN_IF_ERROR(read_sizes(reader, config));
  TVLLM_RETURN_IF_ERROR(read_heads(reader, config));
  TVLLM_RETURN_IF_ERROR(read_head_dim(reader, config));
  TVLLM_RETURN_IF_ERROR(read_rope(reader, config));
  TVLLM_RETURN_IF_ERROR(architecture.has_local_layers ? read_local_layers(reader, config)
                                                      : read_sliding_window(reader, config));
  TVLLM_RETURN_IF_ERROR(read_query_scale(reader, config));
  TVLLM_RETURN_IF_ERROR(read_vocab_size(reader, config));
  return config;
}

Status add_vocabulary(const GgufFile& file, const TokenizerData& tokenizer, ModelConfig& config) {
  if (tokenizer.tokens.size() != static_cast<std::size_t>(config.vocab_size)) {
    return file.key_error("tokenizer.ggml.tokens",
                          str_cat("expected ", config.vocab_size, " tokens, the rows of ",
                                  quoted(kEmbedding), ", found ", tokenizer.tokens.size()));
  }
  TVLLM_TRY(config.eos_token_ids, read_end_token_ids(file, tokenizer));
  return {};
}

}  // namespace tvllm::loader
