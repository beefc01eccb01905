#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the Python package `gguf` reads in a GGUF file, for comparison in tests/unit/loader.

usage: tools/dump_gguf_reference.py MODEL.gguf > tests/data/loader/smollm2_gguf.tsv

One line an entry or a tensor, fields separated by tabs, strings as JSON. Long strings and arrays are
given by their length and an Adler-32: of the bytes of numbers, of strings joined by line feeds.
"""
import json
import sys
import zlib

import numpy as np
from gguf import GGUFReader, GGUFValueType


def checksum(data):
    return f"{zlib.adler32(data):08x}"


def entry_line(field):
    kind = field.types[0]
    value = field.contents()
    if kind == GGUFValueType.ARRAY:
        element = field.types[1].name.lower()
        if element == "string":
            data = "\n".join(value).encode()
        else:
            data = np.array(value, dtype=element).tobytes()
        return ["array", element, len(value), checksum(data)]
    if kind == GGUFValueType.STRING:
        if len(value) > 60:
            return ["string", len(value.encode()), checksum(value.encode())]
        return ["string", json.dumps(value)]
    if kind == GGUFValueType.BOOL:
        return ["bool", "true" if value else "false"]
    return [kind.name.lower(), repr(value)]


def main():
    reader = GGUFReader(sys.argv[1])
    rows = []
    for key, field in reader.fields.items():
        if not key.startswith("GGUF."):
            rows.append(["kv", key, *entry_line(field)])
    for tensor in reader.tensors:
        shape = "x".join(str(int(dim)) for dim in reversed(tensor.shape))
        rows.append(["tensor", tensor.name, tensor.tensor_type.name, shape, int(tensor.n_bytes),
                     int(tensor.data_offset), checksum(tensor.data.tobytes())])
    for row in rows:
        print("\t".join(str(cell) for cell in row))


if __name__ == "__main__":
    main()
