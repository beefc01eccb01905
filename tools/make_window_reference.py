#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/reference/gemma3_window.json: log-probabilities behind the sliding window.

    pip install gguf numpy
    tools/make_window_reference.py models/gemma-3-270m-q4_k_m.gguf tests/data/reference/gemma3.json

The texts of gemma3.json end before position 512, where local layers begin to forget. Here some of them
stand one after another, and Gemma 3 is computed in numpy from the dequantized file, in fp32 with a
plain mask. On gemma3.json itself this agrees with HF transformers to 1e-4, which is checked first.
"""

import json
import pathlib
import sys

import gguf
import numpy as np

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests/data/reference/gemma3_window.json"
NUM_TOKENS = 760
FIRST_POSITION = 480  # what stands before is in gemma3.json


class Gemma3:
    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        field = lambda key: reader.fields["gemma3." + key].contents()
        self.num_layers, self.hidden = field("block_count"), field("embedding_length")
        self.heads, self.kv_heads = field("attention.head_count"), field("attention.head_count_kv")
        self.head_dim, self.window = field("attention.key_length"), field("attention.sliding_window")
        self.eps, self.theta = field("attention.layer_norm_rms_epsilon"), field("rope.freq_base")
        self.w = {t.name.removesuffix(".weight"): gguf.dequantize(t.data, t.tensor_type).reshape(t.shape[::-1])
                  for t in reader.tensors}

    def norm(self, x, name):
        return x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + self.eps).astype(np.float32) * self.w[name]

    def rotate(self, x, theta):
        half = self.head_dim // 2
        angles = np.outer(np.arange(x.shape[0]), theta ** -(np.arange(half) / half))[:, None]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def attend(self, x, layer):
        n = x.shape[0]
        is_global = (layer + 1) % 6 == 0
        part = lambda name, heads: (x @ self.w[f"blk.{layer}.attn_{name}"].T).reshape(n, heads, self.head_dim)
        theta = self.theta if is_global else 10000.0
        q = self.rotate(self.norm(part("q", self.heads), f"blk.{layer}.attn_q_norm"), theta)
        k = self.rotate(self.norm(part("k", self.kv_heads), f"blk.{layer}.attn_k_norm"), theta)
        v = part("v", self.kv_heads)
        row, col = np.mgrid[:n, :n]
        seen = (col <= row) & (is_global | (row - col < self.window))
        out = np.empty_like(q)
        for h in range(self.heads):
            g = h * self.kv_heads // self.heads
            scores = np.where(seen, q[:, h] @ k[:, g].T / np.sqrt(self.head_dim), -np.inf)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, h] = weights / weights.sum(-1, keepdims=True) @ v[:, g]
        return out.reshape(n, -1) @ self.w[f"blk.{layer}.attn_output"].T

    def mlp(self, x, layer):
        gate = x @ self.w[f"blk.{layer}.ffn_gate"].T
        gelu = 0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
        return (gelu * (x @ self.w[f"blk.{layer}.ffn_up"].T)).astype(np.float32) @ self.w[f"blk.{layer}.ffn_down"].T

    def log_probabilities(self, ids):
        x = self.w["token_embd"][ids] * np.float32(np.sqrt(self.hidden))
        for i in range(self.num_layers):
            x = x + self.norm(self.attend(self.norm(x, f"blk.{i}.attn_norm"), i).astype(np.float32), f"blk.{i}.post_attention_norm")
            x = x + self.norm(self.mlp(self.norm(x, f"blk.{i}.ffn_norm"), i), f"blk.{i}.post_ffw_norm")
        logits = (self.norm(x, "output_norm") @ self.w["token_embd"].T).astype(np.float64)
        logits -= logits.max(-1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def main():
    model = Gemma3(sys.argv[1])
    texts = json.load(open(sys.argv[2]))
    for name in ["code", "unicode"]:
        ids = texts[name]["ids"]
        got = model.log_probabilities(ids)[np.arange(len(ids) - 1), ids[1:]]
        worst = np.abs(got - np.array(texts[name]["next_logprob"])[: len(ids) - 1]).max()
        print(f"{name}: differs from HF by at most {worst:.6f}")
        assert worst < 1e-3

    ids = [texts["prose"]["ids"][0]]
    for text in texts.values():
        ids += text["ids"][1:]
    ids = ids[:NUM_TOKENS]
    result = {}
    for name, window in [("next_logprob", model.window), ("without_window", 10**9)]:
        model.window = window
        values = model.log_probabilities(ids)[np.arange(len(ids) - 1), ids[1:]]
        result[name] = [round(float(v), 5) for v in values[FIRST_POSITION:]]
    matters = np.abs(np.array(result["next_logprob"]) - np.array(result.pop("without_window"))).max()
    print(f"the window moves a log-probability by up to {matters:.3f}")
    assert matters > 0.1
    OUT.write_text(json.dumps({"ids": ids, "first_position": FIRST_POSITION, **result}) + "\n")


if __name__ == "__main__":
    main()
