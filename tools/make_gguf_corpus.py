#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small GGUF files that tests/fuzz/gguf_fuzz.cc starts from, with the Python package `gguf`.

usage: tools/make_gguf_corpus.py tests/fuzz/corpus/gguf

valid_*.gguf are models that must load; the others are the bad files of tests/data/loader.
"""
import pathlib
import sys

import gguf
import numpy as np

DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "loader"
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "a", "b", "ab", "abb", "\u0120"]


def add_tokenizer(writer, model):
    writer.add_tokenizer_model(model)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3, 1, 1, 1, 1, 1])
    writer.add_eos_token_id(2)
    if model == "gpt2":
        writer.add_tokenizer_pre("smollm")
        writer.add_token_merges(["a b", "ab b"])
        writer.add_add_bos_token(False)
    else:
        writer.add_token_scores([0.0, 0.0, 0.0, -1.0, -2.0, -3.0, -4.0, -5.0])
        writer.add_bos_token_id(1)
        writer.add_add_space_prefix(True)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}\n{% endfor %}")


def add_shape(writer, hidden):
    writer.add_name("A model of the corpus")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)


def write(path, arch, hidden, quant, tokenizer, extra):
    writer = gguf.GGUFWriter(path, arch)
    add_shape(writer, hidden)
    add_tokenizer(writer, tokenizer)
    extra(writer)
    rng = np.random.default_rng(1)
    embedding = rng.standard_normal((len(TOKENS), hidden), dtype=np.float32)
    writer.add_tensor("token_embd.weight", gguf.quants.quantize(embedding, quant), raw_dtype=quant)
    writer.add_tensor("output_norm.weight", np.ones(hidden, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def more_keys(writer):
    writer.add_custom_alignment(64)
    writer.add_rope_dimension_count(8)
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(2.0)
    writer.add_key_length(8)
    writer.add_value_length(8)
    writer.add_sliding_window(32)
    writer.add_eot_token_id(1)
    writer.add_tensor("rope_freqs.weight", np.ones(4, dtype=np.float32))


def every_type(writer):
    writer.add_uint8("t.u8", 1)
    writer.add_int8("t.i8", -1)
    writer.add_uint16("t.u16", 1)
    writer.add_int16("t.i16", -1)
    writer.add_int32("t.i32", -1)
    writer.add_uint64("t.u64", 1)
    writer.add_int64("t.i64", -1)
    writer.add_float64("t.f64", 0.5)
    writer.add_array("t.bools", [True, False])
    writer.add_array("t.floats", [0.5, 1.5])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    quants = gguf.GGMLQuantizationType
    write(folder / "valid_llama.gguf", "llama", 32, quants.Q8_0, "gpt2", lambda w: None)
    write(folder / "valid_qwen3.gguf", "qwen3", 32, quants.Q4_1, "gpt2", more_keys)
    write(folder / "valid_gemma3.gguf", "gemma3", 32, quants.F16, "llama", every_type)
    for name in ("bad_headers.txt", "bad_alignments.txt"):
        for line in (DATA / name).read_text().splitlines():
            if not line.startswith("#"):
                case, _, _, hexadecimal = line.split("\t")
                (folder / f"{case}.gguf").write_bytes(bytes.fromhex(hexadecimal))


if __name__ == "__main__":
    main()
