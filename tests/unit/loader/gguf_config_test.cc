// SPDX-License-Identifier: Apache-2.0
#include "loader/gguf_config.h"

#include <limits>

#include "loader/gguf_tokenizer_data.h"
#include "tests/unit/loader/loader_test_support.h"

namespace tvllm::loader {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Result<ModelConfig> read(const GgufBuilder& builder) {
  const std::string bytes = builder.build();
  TVLLM_TRY(const GgufFile file, parse(bytes));
  TVLLM_TRY(ModelConfig config, read_model_config(file));
  TVLLM_TRY(const TokenizerData tokenizer, read_tokenizer_data(file));
  TVLLM_RETURN_IF_ERROR(add_vocabulary(file, tokenizer, config));
  return config;
}

void expect_error(const GgufBuilder& builder, const std::vector<std::string_view>& parts,
                  ErrorCode code = ErrorCode::kInvalidArgument) {
  const Result<ModelConfig> config = read(builder);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, code) << config.error().message;
  expect_refusal(config.error(), parts);
}

// The tiny llama (hidden 64, 4 heads of 16, 2 KV heads, 2 layers, 300 tokens) as another
// architecture.
GgufBuilder tiny_model(const std::string& architecture) {
  return tiny_llama(1)
      .str("general.architecture", architecture)
      .u32(architecture + ".block_count", 2)
      .u32(architecture + ".context_length", 2048)
      .u32(architecture + ".embedding_length", 64)
      .u32(architecture + ".feed_forward_length", 128)
      .u32(architecture + ".attention.head_count", 4)
      .u32(architecture + ".attention.head_count_kv", 2)
      .f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
}

TEST(GgufConfigTest, ReadsTheShapeOfAModel) {
  const Result<ModelConfig> config = read(tiny_llama(1));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->architecture, "llama");
  EXPECT_EQ(config->name, "Tiny random llama");
  EXPECT_EQ(config->num_layers, 2);
  EXPECT_EQ(config->hidden_size, 64);
  EXPECT_EQ(config->intermediate_size, 128);
  EXPECT_EQ(config->num_heads, 4);
  EXPECT_EQ(config->num_kv_heads, 2);
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->vocab_size, 300);
  EXPECT_EQ(config->context_len, 2048);
  EXPECT_EQ(config->rms_norm_eps, 1e-5f);
  EXPECT_EQ(config->rope_theta, 10000.0f);
  EXPECT_EQ(config->rope_dim, 16);
  EXPECT_EQ(config->rope_style, RopeStyle::kInterleaved);
  EXPECT_EQ(config->rope_scaling.kind, RopeScaling::Kind::kNone);
  EXPECT_TRUE(config->rope_freq_factors.empty());
  EXPECT_EQ(config->eos_token_ids, (std::vector<TokenId>{2, 0}));
}

TEST(GgufConfigTest, KnowsTheArchitecturesAndTheirRotation) {
  for (const std::string architecture : {"qwen2", "qwen3", "gemma3"}) {
    const Result<ModelConfig> config = read(tiny_model(architecture));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->architecture, architecture);
    EXPECT_EQ(config->rope_style, RopeStyle::kHalves);
    EXPECT_EQ(config->rms_norm_eps, 1e-6f) << "keys of its own architecture, not of another";
  }
}

TEST(GgufConfigTest, OtherArchitecturesAreUnsupportedByName) {
  expect_error(tiny_llama(1).str("general.architecture", "mamba\n"),
               {"'general.architecture'", "'mamba\\x0a' is not supported", "llama, qwen2, qwen3"},
               ErrorCode::kUnsupported);
  expect_error(tiny_llama(1).erase("general.architecture"), {"'general.architecture'", "missing"});
  expect_error(tiny_llama(1).u32("general.architecture", 1),
               {"'general.architecture'", "expected type string, found uint32"});
}

TEST(GgufConfigTest, OptionalKeysHaveDefaults) {
  const Result<ModelConfig> config = read(tiny_llama(1)
                                              .erase("general.name")
                                              .erase("llama.rope.freq_base")
                                              .erase("llama.rope.dimension_count")
                                              .u32("llama.vocab_size", 300));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->name, "");
  EXPECT_EQ(config->rope_theta, 10000.0f);
  EXPECT_EQ(config->rope_dim, 16);
  const Result<ModelConfig> all_heads = read(tiny_llama(1).erase("llama.attention.head_count_kv"));
  ASSERT_TRUE(all_heads);
  EXPECT_EQ(all_heads->num_kv_heads, 4);
}

TEST(GgufConfigTest, RequiredKeysAreNamedWhenMissing) {
  for (const char* suffix :
       {"block_count", "context_length", "embedding_length", "feed_forward_length",
        "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    const std::string key = std::string("llama.") + suffix;
    expect_error(tiny_llama(1).erase(key), {"'" + key + "'", "missing"});
    expect_error(tiny_llama(1).str(key, "2"), {"'" + key + "' at offset", "found string"});
  }
}

TEST(GgufConfigTest, NumbersHaveARange) {
  struct Range {
    const char* suffix;
    std::uint32_t max;
  };
  for (const Range& range :
       {Range{"block_count", 1024}, Range{"context_length", 1 << 26},
        Range{"embedding_length", 1 << 18}, Range{"feed_forward_length", 1 << 20},
        Range{"attention.head_count", 4096}, Range{"attention.head_count_kv", 4096},
        Range{"attention.key_length", 4096}, Range{"attention.value_length", 4096},
        Range{"rope.dimension_count", 4096}, Range{"attention.sliding_window", 1 << 26}}) {
    const std::string key = std::string("llama.") + range.suffix;
    for (const std::uint32_t value : {0u, range.max + 1, 0x80000000u, 0xffffffffu}) {
      expect_error(tiny_llama(1).u32(key, value),
                   {"'" + key + "' at offset", "expected 1 to " + std::to_string(range.max),
                    "found " + std::to_string(value)});
    }
  }
  // At the edge.
  EXPECT_TRUE(read(tiny_llama(1).u32("llama.block_count", 1024)));
  EXPECT_TRUE(read(tiny_llama(1).u32("llama.context_length", 1 << 26)));
  EXPECT_TRUE(read(tiny_llama(1).u32("llama.feed_forward_length", 1 << 20)));
}

TEST(GgufConfigTest, FractionsHaveARange) {
  for (const float value : {0.0f, -1e-5f, 1.5f, kInfinity, kNan}) {
    expect_error(tiny_llama(1).f32("llama.attention.layer_norm_rms_epsilon", value),
                 {"'llama.attention.layer_norm_rms_epsilon'", "above 0, at most 1, found"});
  }
  for (const float value : {0.0f, -1.0f, 2e12f, kInfinity, kNan}) {
    expect_error(tiny_llama(1).f32("llama.rope.freq_base", value),
                 {"'llama.rope.freq_base'", "above 0, at most 1e+12, found"});
  }
}

TEST(GgufConfigTest, HeadCountsDivideEachOther) {
  expect_error(tiny_llama(1).u32("llama.attention.head_count_kv", 3),
               {"'llama.attention.head_count_kv'", "divisor of the 4 attention heads, found 3"});
  expect_error(tiny_llama(1).u32("llama.attention.head_count_kv", 8), {"divisor", "found 8"});
  expect_error(
      tiny_llama(1).u32("llama.attention.head_count", 3).u32("llama.attention.head_count_kv", 3),
      {"'llama.attention.head_count'", "divisor of the hidden size 64, found 3"});
}

TEST(GgufConfigTest, AHeadMayHaveAnySizeThatIsStated) {
  const Result<ModelConfig> config = read(tiny_llama(1)
                                              .u32("llama.attention.key_length", 128)
                                              .u32("llama.attention.value_length", 128)
                                              .u32("llama.rope.dimension_count", 128));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->head_dim, 128);
  EXPECT_EQ(config->rope_dim, 128);
  expect_error(
      tiny_llama(1).u32("llama.attention.key_length", 128).u32("llama.attention.value_length", 64),
      {"'llama.attention.value_length'", "expected 128, found 64"}, ErrorCode::kUnsupported);
  expect_error(tiny_llama(1).u32("llama.attention.key_length", 15),
               {"'llama.attention.key_length'", "even head size", "found 15"});
  expect_error(
      tiny_llama(1).u32("llama.attention.head_count", 4096).u32("llama.attention.key_length", 4096),
      {"'llama.attention.head_count'", "at most 1048576, found 4096 * 4096"});
}

TEST(GgufConfigTest, NumbersForEachLayerMustBeEqual) {
  const Result<ModelConfig> config = read(tiny_llama(1)
                                              .i32s("llama.attention.head_count_kv", {2, 2})
                                              .u32s("llama.attention.head_count", {4, 4})
                                              .i32s("llama.feed_forward_length", {96, 96}));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->num_kv_heads, 2);
  EXPECT_EQ(config->intermediate_size, 96);
  expect_error(tiny_llama(1).i32s("llama.attention.head_count_kv", {2, 4}),
               {"'llama.attention.head_count_kv'", "2 in layer 0, 4 in layer 1"},
               ErrorCode::kUnsupported);
  expect_error(tiny_llama(1).i32s("llama.attention.head_count_kv", {2}),
               {"each of 2 layers, found 1"});
  expect_error(tiny_llama(1).i32s("llama.attention.head_count_kv", {-2, -2}),
               {"expected 1 to 4096, found 4294967294"});
  expect_error(tiny_llama(1).f32s("llama.attention.head_count_kv", {2, 2}),
               {"uint32 or int32 elements, found float32"});
}

TEST(GgufConfigTest, RotatesAnEvenPartOfAHead) {
  EXPECT_EQ(read(tiny_llama(1).u32("llama.rope.dimension_count", 8))->rope_dim, 8);
  expect_error(tiny_llama(1).u32("llama.rope.dimension_count", 18),
               {"'llama.rope.dimension_count'", "up to the head size 16, found 18"});
  expect_error(tiny_llama(1).u32("llama.rope.dimension_count", 7), {"an even number"});
}

TEST(GgufConfigTest, LinearRopeScalingIsRead) {
  const Result<ModelConfig> config = read(tiny_llama(1)
                                              .str("llama.rope.scaling.type", "linear")
                                              .f32("llama.rope.scaling.factor", 8.0f));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rope_scaling.kind, RopeScaling::Kind::kLinear);
  EXPECT_EQ(config->rope_scaling.factor, 8.0f);
  EXPECT_EQ(read(tiny_llama(1).f32("llama.rope.scale_linear", 4.0f))->rope_scaling.factor, 4.0f);
  EXPECT_EQ(read(tiny_llama(1)
                     .str("llama.rope.scaling.type", "none")
                     .f32("llama.rope.scaling.factor", 8.0f))
                ->rope_scaling.kind,
            RopeScaling::Kind::kNone);
  EXPECT_EQ(read(tiny_llama(1).f32("llama.rope.scaling.factor", 1.0f))->rope_scaling.kind,
            RopeScaling::Kind::kNone);
  for (const float factor : {0.0f, -1.0f, 1e7f, kNan}) {
    expect_error(tiny_llama(1).f32("llama.rope.scaling.factor", factor),
                 {"'llama.rope.scaling.factor'", "above 0"});
  }
}

TEST(GgufConfigTest, OtherRopeScalingIsRefusedByName) {
  for (const std::string type : {"yarn", "longrope", "su", ""}) {
    expect_error(tiny_llama(1).str("llama.rope.scaling.type", type),
                 {"'llama.rope.scaling.type'", "RoPE scaling '" + type + "' is not supported"},
                 ErrorCode::kUnsupported);
  }
}

GgufBuilder with_rope_freqs(const std::vector<float>& factors, std::uint32_t type = 0) {
  ByteWriter data;
  for (const float factor : factors)
    data.number(factor);
  return tiny_llama(1).tensor(
      {.name = "rope_freqs.weight", .type = type, .shape = {factors.size()}, .data = data.bytes()});
}

TEST(GgufConfigTest, RopeFrequencyFactorsComeFromTheirTensor) {
  const std::vector<float> factors = {1, 1, 1.5f, 2, 4, 8, 8, 8};
  const Result<ModelConfig> config = read(with_rope_freqs(factors));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rope_freq_factors, factors);
  expect_error(with_rope_freqs({1, 1, 1, 1}),
               {"tensor 'rope_freqs.weight'", "F32 with 8 elements"});
  expect_error(with_rope_freqs(factors, 1), {"tensor 'rope_freqs.weight'", "F32"});
  for (const float bad : {0.0f, -1.0f, kInfinity, kNan}) {
    expect_error(with_rope_freqs({1, 1, 1, bad, 1, 1, 1, 1}),
                 {"tensor 'rope_freqs.weight'", "above 0", "as element 3"});
  }
}

TEST(GgufConfigTest, ASlidingWindowEndsTheContext) {
  EXPECT_EQ(read(tiny_llama(1).u32("llama.attention.sliding_window", 512))->context_len, 512);
  EXPECT_EQ(read(tiny_llama(1).u32("llama.attention.sliding_window", 4096))->context_len, 2048);
}

// The tiny llama with the keys of a Gemma 3.
GgufBuilder tiny_gemma() {
  return tiny_llama(1)
      .str("general.architecture", "gemma3")
      .u32("gemma3.block_count", 2)
      .u32("gemma3.context_length", 2048)
      .u32("gemma3.embedding_length", 64)
      .u32("gemma3.feed_forward_length", 128)
      .u32("gemma3.attention.head_count", 4)
      .u32("gemma3.attention.head_count_kv", 2)
      .f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f)
      .f32("gemma3.rope.freq_base", 1e6f)
      .u32("gemma3.attention.sliding_window", 512);
}

TEST(GgufConfigTest, GemmasLayersAreLocalButForEverySixth) {
  const Result<ModelConfig> config = read(tiny_gemma());
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->context_len, 2048);
  EXPECT_EQ(config->sliding_window, 512);
  EXPECT_EQ(config->local_rope_theta, 10000.0f);
  EXPECT_EQ(config->query_scale, 0.25f);
  std::vector<bool> local;
  for (std::int32_t i = 0; i < 13; ++i)
    local.push_back(config->is_local_layer(i));
  EXPECT_EQ(local, (std::vector<bool>{true, true, true, true, true, false, true, true, true, true,
                                      true, false, true}));
}

TEST(GgufConfigTest, GemmasPatternThetaAndScaleMayBeInTheFile) {
  const Result<ModelConfig> config = read(tiny_gemma()
                                              .u32("gemma3.attention.sliding_window_pattern", 2)
                                              .f32("gemma3.rope.freq_base_swa", 5000.0f)
                                              .f32("gemma3.attention.scale", 0.125f));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->is_local_layer(0));
  EXPECT_FALSE(config->is_local_layer(1));
  EXPECT_EQ(config->local_rope_theta, 5000.0f);
  EXPECT_EQ(config->query_scale, 0.125f);
  expect_error(tiny_gemma().u32("gemma3.attention.sliding_window", 0),
               {"'gemma3.attention.sliding_window'", "found 0"});
  expect_error(tiny_gemma().u32("gemma3.attention.sliding_window_pattern", 0),
               {"'gemma3.attention.sliding_window_pattern'", "found 0"});
}

TEST(GgufConfigTest, GemmaWithoutAWindowHasGlobalLayersAlone) {
  const Result<ModelConfig> config = read(tiny_gemma().erase("gemma3.attention.sliding_window"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->sliding_window, 0);
  EXPECT_FALSE(config->is_local_layer(0));
}

TEST(GgufConfigTest, TheQueriesOfGemma27BAreScaledByWhatItsHeadsShare) {
  const Result<ModelConfig> config = read(tiny_gemma()
                                              .u32("gemma3.block_count", 62)
                                              .u32("gemma3.attention.key_length", 32)
                                              .u32("gemma3.attention.value_length", 32));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->query_scale, 0.25f);
}

TEST(GgufConfigTest, WhatWouldChangeTheArithmeticIsNotIgnored) {
  expect_error(tiny_llama(1).u32("llama.expert_count", 8),
               {"'llama.expert_count'", "only 0 is supported, found 8"}, ErrorCode::kUnsupported);
  expect_error(tiny_llama(1).boolean("llama.attention.causal", false), {"'llama.attention.causal'"},
               ErrorCode::kUnsupported);
  for (const char* suffix :
       {"attn_logit_softcapping", "final_logit_softcapping", "attention.clamp_kqv",
        "attention.max_alibi_bias", "rope.scaling.attn_factor", "logit_scale", "residual_scale",
        "embedding_scale"}) {
    const std::string key = std::string("llama.") + suffix;
    expect_error(tiny_llama(1).f32(key, 30.0f), {"'" + key + "'", "is supported, found 30"},
                 ErrorCode::kUnsupported);
    expect_error(tiny_llama(1).f32(key, kNan), {"'" + key + "'"}, ErrorCode::kUnsupported);
    expect_error(tiny_llama(1).str(key, "x"), {"'" + key + "'", "a number, found string"});
  }
  EXPECT_TRUE(read(tiny_llama(1)
                       .u32("llama.expert_count", 0)
                       .boolean("llama.attention.causal", true)
                       .f32("llama.attn_logit_softcapping", 0.0f)
                       .f32("llama.logit_scale", 1.0f)));
}

TEST(GgufConfigTest, TheEmbeddingHasARowForEachToken) {
  expect_error(tiny_llama(1).erase_tensor("token_embd.weight"), {"'token_embd.weight'", "missing"});
  GgufBuilder fewer = tiny_llama(1);
  fewer.at("token_embd.weight").shape = {299, 64};
  expect_error(fewer, {"'tokenizer.ggml.tokens' at offset",
                       "expected 299 tokens, the rows of 'token_embd.weight', found 300"});
  GgufBuilder narrower = tiny_llama(1);
  narrower.at("token_embd.weight").shape = {300, 32};
  expect_error(narrower, {"tensor 'token_embd.weight' at offset",
                          "rows of 64, the hidden size, found 300 rows of 32"});
  GgufBuilder flat = tiny_llama(1);
  flat.at("token_embd.weight").shape = {300 * 64};
  expect_error(flat, {"found 1 dimensions"});
  expect_error(tiny_llama(1).u32("llama.vocab_size", 301),
               {"'llama.vocab_size'", "expected 300", "found 301"});
}

TEST(GgufConfigTest, TheVocabularyHasALimit) {
  GgufBuilder many = tiny_llama(1).u32("llama.embedding_length", 4);
  many.at("token_embd.weight") = {.name = "token_embd.weight",
                                  .shape = {(1 << 20) + 1, 4},
                                  .data = std::string(((1 << 20) + 1) * 16, 'x')};
  expect_error(many.u32("llama.attention.head_count", 2).u32("llama.rope.dimension_count", 2),
               {"tensor 'token_embd.weight'", "at most 1048576 rows", "found 1048577 rows"});
}

TEST(GgufConfigTest, AModelOfAnotherKindIsRefusedForThatAndNotForItsTokenizer) {
  expect_error(tiny_llama(1)
                   .str("general.architecture", "clip")
                   .erase("tokenizer.ggml.model")
                   .erase("tokenizer.ggml.tokens"),
               {"architecture 'clip' is not supported"}, ErrorCode::kUnsupported);
}

TEST(GgufConfigTest, TheNameIsMadeFitForJson) {
  EXPECT_EQ(read(tiny_llama(1).str("general.name", "caf\xc3"))->name, "caf\ufffd");
}

}  // namespace
}  // namespace tvllm::loader
