// SPDX-License-Identifier: Apache-2.0
#include "tests/parity/op_cases.h"

#include "base/strings.h"

namespace tvllm::testing {

namespace {

// int8 in groups of up to 32 bell-shaped values: the largest is about 2.1 deviations, so the step
// is 2.1 / 127 and the error step^2 / 12 = 2.3e-5; short rows scatter around it.
constexpr double kInt8Tolerance = 1e-4;

// Of a few results the expected ones may lie near zero, which the error does not.
constexpr double kInt8ToleranceOfFew = 2e-2;
constexpr std::int64_t kFewResults = 8;

constexpr DType kAllTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                               DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                               DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

void add_matmul(std::vector<OpCase>& cases, std::int64_t num_tokens, std::int64_t num_cols,
                std::vector<MatrixPart> parts, bool has_bias = false) {
  OpCase c;
  c.op = OpKind::kMatmul;
  c.num_tokens = num_tokens;
  c.num_cols = num_cols;
  c.has_bias = has_bias;
  std::int64_t num_results = 0;
  c.bytes = static_cast<double>(num_tokens * num_cols) * 4.0;
  for (const MatrixPart& part : parts) {
    c.bytes += static_cast<double>(part.num_rows * row_bytes(part.dtype, num_cols) +
                                   4 * num_tokens * part.num_rows);
    c.flops += 2.0 * static_cast<double>(num_tokens * num_cols * part.num_rows);
    num_results += num_tokens * part.num_rows;
  }
  c.quantized_tolerance = num_results < kFewResults ? kInt8ToleranceOfFew : kInt8Tolerance;
  c.parts = std::move(parts);
  cases.push_back(std::move(c));
}

void add_matmuls(std::vector<OpCase>& cases) {
  for (const DType dtype : kAllTypes) {
    for (const std::int64_t num_tokens : {1, 2, 3, 5, 8, 17, 33}) {
      for (const std::int64_t num_rows : {1, 7, 50}) {
        add_matmul(cases, num_tokens, 512, {{dtype, num_rows}});
      }
    }
    add_matmul(cases, 4, 256, {{dtype, 33}}, true);
    const std::int64_t block_len = dtype_info(dtype).block_len;
    for (const std::int64_t num_blocks : {1, 3, 5}) {
      add_matmul(cases, 3, num_blocks * block_len, {{dtype, 9}});
    }
  }
  for (const DType dtype : {DType::kF32, DType::kQ4_1, DType::kQ6_K}) {
    for (std::int64_t num_tokens = 1; num_tokens <= 18; ++num_tokens) {
      for (std::int64_t num_rows = 2; num_rows <= 18; num_rows += 4) {
        add_matmul(cases, num_tokens, 768, {{dtype, num_rows}});
      }
    }
  }
  for (std::int64_t num_cols = 1; num_cols <= 40; ++num_cols) {
    add_matmul(cases, 2, num_cols, {{DType::kF32, 5}});
    add_matmul(cases, 2, num_cols, {{DType::kF16, 5}});
  }
  // Stacks as models have them, of one type and of several, with parts of odd length.
  add_matmul(cases, 6, 256, {{DType::kQ4_1, 64}, {DType::kQ4_1, 32}, {DType::kQ4_1, 32}}, true);
  add_matmul(cases, 6, 256, {{DType::kQ4_K, 64}, {DType::kQ4_K, 16}, {DType::kQ6_K, 16}});
  add_matmul(cases, 3, 256, {{DType::kF16, 5}, {DType::kQ8_0, 3}, {DType::kF32, 1}}, true);
  // Of the size of small models', for benchmarks too.
  for (const std::int64_t num_tokens : {1, 64}) {
    for (const DType dtype : kAllTypes) {
      add_matmul(cases, num_tokens, 768, {{dtype, 576}});
    }
    add_matmul(cases, num_tokens, 576,
               {{DType::kQ4_1, 576}, {DType::kQ4_1, 192}, {DType::kQ4_1, 192}});
    add_matmul(cases, num_tokens, 1536, {{DType::kQ4_1, 576}});
  }
}

void add_rows(std::vector<OpCase>& cases, OpKind op, std::int64_t num_tokens,
              std::int64_t num_cols) {
  OpCase c;
  c.op = op;
  c.num_tokens = num_tokens;
  c.num_cols = num_cols;
  c.bytes = static_cast<double>(num_tokens * num_cols) * 12.0;
  c.flops = static_cast<double>(num_tokens * num_cols) * 4.0;
  cases.push_back(std::move(c));
}

void add_row_operations(std::vector<OpCase>& cases) {
  for (const OpKind op : {OpKind::kRmsNorm, OpKind::kAddRmsNorm, OpKind::kSiluAndMul,
                          OpKind::kGeluAndMul, OpKind::kGatherRows}) {
    for (std::int64_t num_cols = 1; num_cols <= 36; ++num_cols) {
      add_rows(cases, op, 1 + num_cols % 5, num_cols);
    }
    for (const std::int64_t num_tokens : {1, 2, 3, 7, 64}) {
      add_rows(cases, op, num_tokens, 576);
      add_rows(cases, op, num_tokens, 1536);
    }
  }
  for (const DType dtype : kAllTypes) {
    for (const std::int64_t num_tokens : {1, 2, 9, 70}) {
      add_rows(cases, OpKind::kEmbed, num_tokens, 512);
      cases.back().parts = {{dtype, 40}};
    }
  }
  cases.back().parts = {{DType::kQ6_K, 13}, {DType::kF16, 20}, {DType::kQ4_K, 7}};
}

void add_rotations(std::vector<OpCase>& cases) {
  for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kHalves}) {
    for (const std::int32_t rope_dim : {2, 4, 18, 64, 96}) {
      OpCase c;
      c.op = OpKind::kRopeTables;
      c.num_tokens = 5 + rope_dim;
      c.num_cols = rope_dim;
      c.rope_dim = rope_dim;
      c.rope_style = style;
      cases.push_back(c);
      c.op = OpKind::kRopeAndWriteKv;
      c.num_heads = 6;
      c.num_kv_heads = 2;
      c.head_dim = 96;
      cases.push_back(c);
    }
  }
}

void add_attention(std::vector<OpCase>& cases, std::int32_t num_heads, std::int32_t num_kv_heads,
                   std::int32_t head_dim, std::int32_t block_size, DType kv_dtype,
                   std::vector<SequenceLens> sequences) {
  cases.push_back(attention_case(num_heads, num_kv_heads, head_dim, block_size, kv_dtype,
                                 std::move(sequences)));
}

void add_attentions(std::vector<OpCase>& cases) {
  const std::vector<SequenceLens> ragged = {{1, 1},   {40, 1},  {23, 23},
                                            {300, 5}, {257, 1}, {64, 19}};
  for (const DType kv_dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const std::int32_t block_size : {4, 16, 128}) {
      add_attention(cases, 9, 3, 64, block_size, kv_dtype, ragged);
    }
    for (const std::int32_t edge : {255, 256, 257, 512, 513}) {
      add_attention(cases, 4, 2, 16, 16, kv_dtype, {{edge, 1}, {edge, 9}});
    }
    for (const std::int32_t block_size : {1, 2}) {  // smaller than a tile of positions
      add_attention(cases, 6, 2, 16, block_size, kv_dtype, {{256, 7}, {259, 1}, {3, 3}});
    }
    add_attention(cases, 4, 4, 32, 16, kv_dtype, ragged);   // no grouping
    add_attention(cases, 8, 1, 80, 16, kv_dtype, ragged);   // one KV head
    add_attention(cases, 6, 3, 6, 8, kv_dtype, ragged);     // shorter than a vector
    add_attention(cases, 2, 1, 256, 16, kv_dtype, ragged);  // Gemma's width
  }
  for (std::int32_t context_len = 1; context_len <= 36; ++context_len) {
    add_attention(cases, 3, 1, 20, 16, DType::kF32, {{context_len, 1 + context_len / 2}});
  }
  // A few decodes over long contexts, where the splits of one sequence go to several workers.
  add_attention(cases, 2, 1, 32, 16, DType::kF32, {{1100, 1}});
  add_attention(cases, 2, 1, 32, 16, DType::kBF16, {{1030, 1}, {770, 2}});
  // With rotation: positions enter Q and K.
  for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kHalves}) {
    for (const std::int32_t rope_dim : {8, 32}) {
      add_attention(cases, 4, 2, 32, 16, DType::kF32, {{70, 70}, {300, 7}});
      cases.back().rope_dim = rope_dim;
      cases.back().rope_style = style;
    }
  }
}

// Windows around every border there is: of a tile of tokens, of a block, of a split, of a context.
void add_windows(std::vector<OpCase>& cases) {
  const std::vector<SequenceLens> ragged = {{1, 1},   {40, 1},  {23, 23},  {300, 5},
                                            {257, 1}, {64, 19}, {600, 50}, {800, 1}};
  const auto add = [&](std::int32_t window, std::int32_t num_heads, std::int32_t num_kv_heads,
                       std::int32_t head_dim, std::int32_t block_size, DType kv_dtype,
                       std::vector<SequenceLens> sequences) {
    add_attention(cases, num_heads, num_kv_heads, head_dim, block_size, kv_dtype,
                  std::move(sequences));
    cases.back().window = window;
  };
  for (const std::int32_t window :
       {1, 2, 3, 7, 15, 16, 17, 31, 100, 255, 256, 257, 270, 512, 600, 801}) {
    add(window, 3, 1, 16, 16, DType::kF32, ragged);
    add(window, 4, 1, 20, 4, DType::kF16, {{300, 31}, {513, 1}, {531, 40}});
  }
  for (const DType kv_dtype : {DType::kF16, DType::kBF16}) {
    add(512, 4, 1, 256, 16, kv_dtype, {{700, 20}, {1030, 1}, {512, 1}, {513, 3}});  // Gemma's
    add(9, 6, 2, 6, 128, kv_dtype, ragged);
  }
  // A few decodes, where the splits of one sequence go to several workers.
  add(600, 2, 1, 32, 16, DType::kF32, {{1100, 1}});
  add(257, 2, 1, 32, 16, DType::kBF16, {{1030, 1}, {770, 5}});
}

}  // namespace

std::string_view name_of(OpKind op) {
  switch (op) {
    case OpKind::kEmbed:
      return "embed";
    case OpKind::kRmsNorm:
      return "rms_norm";
    case OpKind::kAddRmsNorm:
      return "add_rms_norm";
    case OpKind::kMatmul:
      return "matmul";
    case OpKind::kRopeTables:
      return "rope_tables";
    case OpKind::kRopeAndWriteKv:
      return "rope_and_write_kv";
    case OpKind::kAttention:
      return "attention";
    case OpKind::kSiluAndMul:
      return "silu_and_mul";
    case OpKind::kGeluAndMul:
      return "gelu_and_mul";
    case OpKind::kGatherRows:
      return "gather_rows";
  }
  return "";
}

std::string name_of(const OpCase& c) {
  std::string name(name_of(c.op));
  for (const MatrixPart& part : c.parts) {
    str_append(name, " ", dtype_info(part.dtype).name, ":", part.num_rows);
  }
  str_append(name, " ", c.num_tokens, " x ", c.num_cols, c.has_bias ? " bias" : "");
  if (c.num_heads > 0) {
    str_append(name, " heads ", c.num_heads, "/", c.num_kv_heads, " x ", c.head_dim, " blocks ",
               c.block_size, " ", dtype_info(c.kv_dtype).name);
  }
  if (c.rope_dim > 0) {
    str_append(name, " rope ", c.rope_dim,
               c.rope_style == RopeStyle::kHalves ? " halves" : " interleaved");
  }
  if (c.window > 0) str_append(name, " window ", c.window);
  for (const SequenceLens& lens : c.sequences) {
    str_append(name, " ", lens.num_new, "@", lens.context_len);
  }
  return name;
}

std::vector<OpCase> op_cases() {
  std::vector<OpCase> cases;
  add_matmuls(cases);
  add_row_operations(cases);
  add_rotations(cases);
  add_attentions(cases);
  add_windows(cases);
  return cases;
}

OpCase attention_case(std::int32_t num_heads, std::int32_t num_kv_heads, std::int32_t head_dim,
                      std::int32_t block_size, DType kv_dtype,
                      std::vector<SequenceLens> sequences) {
  OpCase c;
  c.op = OpKind::kAttention;
  c.num_heads = num_heads;
  c.num_kv_heads = num_kv_heads;
  c.head_dim = head_dim;
  c.block_size = block_size;
  c.kv_dtype = kv_dtype;
  for (const SequenceLens& lens : sequences) {
    c.num_tokens += lens.num_new;
    c.bytes += 2.0 * num_kv_heads * head_dim * lens.context_len * (kv_dtype == DType::kF32 ? 4 : 2);
    for (std::int32_t i = 0; i < lens.num_new; ++i) {
      c.flops += 4.0 * num_heads * head_dim * (lens.context_len - i);
    }
  }
  c.sequences = std::move(sequences);
  return c;
}

}  // namespace tvllm::testing
