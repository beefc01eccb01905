#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tensor/: blocks of every weight type with the floats that Python's
gguf.quants.dequantize makes of them, and floats with the halves that numpy rounds them to.

  make_quant_golden.py [FOLDER]        needs the PyPI packages gguf and numpy

The bits of each block are random; its scales are ordinary, negative, subnormal, zero and extreme ones.
"""
import pathlib
import sys

import gguf
import numpy as np

SEED = 20240611
NUM_BLOCKS = 12  # a type
# Of halves: ordinary, negative, the least and the greatest subnormal, both zeros, the largest, infinity.
SCALES = np.array([0x2C00, 0xAC00, 0x0001, 0x83FF, 0x0000, 0x8000, 0x7BFF, 0xFBFF, 0x7C00, 0x1234, 0x9ABC, 0x3C00],
                  dtype="<u2")
# Where the halves that scale a block stand in it.
SCALE_OFFSETS = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2],
                 "Q5_K": [0, 2], "Q6_K": [208]}


def quantized_blocks(rng, name):
    _, block_bytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
    blocks = rng.integers(0, 256, size=(NUM_BLOCKS, block_bytes), dtype=np.uint8)
    for turn, offset in enumerate(SCALE_OFFSETS[name]):
        blocks[:, offset:offset + 2] = np.roll(SCALES, turn * 5).view(np.uint8).reshape(-1, 2)
    return blocks


def write_types(rng, folder):
    for name in SCALE_OFFSETS:
        blocks = quantized_blocks(rng, name)
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[name])
        (folder / f"{name}.blocks").write_bytes(blocks.tobytes())
        (folder / f"{name}.f32").write_bytes(values.astype("<f4").tobytes())


def write_plain_types(rng, folder):
    bits = rng.integers(0, 1 << 16, size=512, dtype=np.uint16).astype("<u2")
    for name in ("F16", "BF16"):
        with np.errstate(all="ignore"):
            values = gguf.quants.dequantize(bits.view(np.uint8), gguf.GGMLQuantizationType[name])
        (folder / f"{name}.blocks").write_bytes(bits.tobytes())
        (folder / f"{name}.f32").write_bytes(values.astype("<f4").tobytes())


def write_roundings(rng, folder):
    """Records of a float, the half and the bfloat16 nearest to it (little-endian, 8 bytes)."""
    bits = rng.integers(0, 1 << 32, size=2048, dtype=np.uint32)
    near = rng.integers(0x33000000, 0x47900000, size=2048, dtype=np.uint32)  # the range of halves
    near |= rng.integers(0, 2, size=2048, dtype=np.uint32) << np.uint32(31)
    bits = np.concatenate([bits, near])
    floats = bits.view(np.float32)
    floats = floats[~np.isnan(floats)]
    with np.errstate(all="ignore"):
        halves = floats.astype(np.float16).view(np.uint16)
    bf16 = gguf.quants.quantize(floats, gguf.GGMLQuantizationType.BF16).view(np.uint16)
    records = np.zeros(len(floats), dtype=[("f32", "<f4"), ("f16", "<u2"), ("bf16", "<u2")])
    records["f32"], records["f16"], records["bf16"] = floats, halves, bf16
    (folder / "roundings.bin").write_bytes(records.tobytes())


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "tensor"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(SEED)
    write_types(rng, folder)
    write_plain_types(rng, folder)
    write_roundings(rng, folder)


if __name__ == "__main__":
    main()
