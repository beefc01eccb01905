#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/tokenizer: what HF `tokenizers` answers, for the tests to compare with.

    pip install tokenizers==0.23.3 gguf
    tools/make_tokenizer_golden.py models/SmolLM2-135M-Instruct.Q4_1.gguf

smollm2_vocabulary.json, smollm2_merges.u16   the vocabulary of SmolLM2, compact
encodings.json      texts and their ids for each pre-tokenizer; ids and their text
splits.json         texts and their words for each pre-tokenizer, which ids do not always show
long_runs.json      case TOK-03: very long words
merges.json         random vocabularies, and ignore_merges (case TOK-06)
unicode_classes.json  the class of each code point, asked of HF's regex engine
"""

import hashlib
import json
import pathlib
import random
import sys

import tokenizers
from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import tokenizer_texts

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/data/tokenizer"
SEED = 20250601
NAMES = ["smollm", "gpt-2", "llama-bpe", "qwen2"]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

# Case TOK-03: unit, repeats, and the sha256 of the ids as compact JSON.
LONG_RUNS = [
    ("A", 43000, "fac8b36938d496984b8dc11aab75889f1d2a8003d1f30090bde18989290b5eab"),
    ("us", 30000, "06d4ea01c38feca4c8b5fd64c77df7a5d3040c60af4fbb6bc2d24971a19bb03c"),
    (" ", 60000, "7bb6a4a26102924567817137b1671de9e9c8a16d7fa674705f928e552b9caa63"),
    ("\n", 20000, "0c398d08815ec20708f8b9107f7221c177b7d224aba197967936213373457463"),
    ("\u4e2d", 26000, "61b989abb8041ee549c3df9c1da14cb1556c9250431e17cd5bb7dbb588a4bf76"),
    (".", 60000, "aa8ef2585e62f7f7f1cbf14a148e1baaf482578a5791b3cadee3829eba210639"),
    ("1", 20000, "23d4c4b93654bbcb87bffa7775e886a1a974771371d2afd2e80c07142ff6bb33"),
    ("Z", 131072, "13bee40a419cf2ac243e4f0a6aae65a08003a6a3e0d8eae6874ffcce66f790f1"),
    ("\u00e9", 30000, "6fd6d06dcd6e9be888489fac4b0855a2fb25acccd1a89dd296aa12f9f5d5041f"),
    ("\U0001F600", 10000, "07fe5c8231f87e9bde339d1a988579c1100cd9d8fba07a79f19086e6b0348b6d"),
]


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def pre_tokenizer(name):
    if name == "gpt-2":
        return byte_level(True)
    if name == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(True)])
    pattern = {"llama-bpe": LLAMA3, "qwen2": QWEN2}[name]
    return pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated", invert=False), byte_level(False)])


def build(tokens, merges, special, name, ignore_merges=None):
    if ignore_merges is None:
        ignore_merges = name == "llama-bpe"
    model = models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges, ignore_merges=ignore_merges)
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer(name)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in special])
    return tokenizer


def ids_of(tokenizer, text):
    return tokenizer.encode(text, add_special_tokens=False).ids


def write(name, value):
    path = FOLDER / name
    path.write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=True) + "\n")
    print(f"{name}: {path.stat().st_size} bytes")


def write_vocabulary(tokens, merges, num_special):
    """Token i of the last ones is merge i: the merges and the first tokens are the vocabulary."""
    first_merged = len(tokens) - len(merges)
    ids = {t: i for i, t in enumerate(tokens)}
    pairs = bytearray()
    for i, (left, right) in enumerate(merges):
        assert tokens[first_merged + i] == left + right
        pairs += ids[left].to_bytes(2, "little") + ids[right].to_bytes(2, "little")
    (FOLDER / "smollm2_merges.u16").write_bytes(pairs)
    write("smollm2_vocabulary.json",
          {"special": tokens[:num_special], "alphabet": tokens[num_special:first_merged]})


def write_encodings(tokens, merges, special):
    by_name = {name: build(tokens, merges, special, name) for name in NAMES}
    plain = build(tokens, merges, special, "smollm")
    plain.encode_special_tokens = True  # HF's name for: do not look for special tokens
    cases = []
    for text in tokenizer_texts.all_texts(random.Random(SEED), special):
        case = {"text": text}
        ids = {name: ids_of(by_name[name], text) for name in NAMES}
        ids["plain"] = ids_of(plain, text)
        case["smollm"] = ids["smollm"]
        case.update({name: i for name, i in ids.items() if i != ids["smollm"]})
        cases.append(case)

    added = build(tokens, merges, special, "smollm")
    extra = ["<a>", "<a><b>", "<b>", "a>", "<tool_call>", "\n\n\n", "   ", "<|im_end|>\n", "\u00e9!"]
    added.add_tokens([AddedToken(t, special=False, normalized=False) for t in extra])
    added_cases = [{"text": text, "ids": ids_of(added, text)} for text in tokenizer_texts.added_texts()]

    decodings = []
    rng = random.Random(SEED + 1)
    byte_tokens = [i for i, t in enumerate(tokens) if i >= len(special) and len(t) == 1]
    for i in range(120):
        pool = [byte_tokens, range(len(tokens)), byte_tokens, range(len(special))][i % 4]
        ids = [rng.choice(pool if rng.random() < 0.8 else range(len(tokens))) for _ in range(rng.randint(1, 14))]
        decoder = by_name["smollm"]
        case = {"ids": ids, "text": decoder.decode(ids, skip_special_tokens=True)}
        with_special = decoder.decode(ids, skip_special_tokens=False)
        if with_special != case["text"]:
            case["with_special"] = with_special
        decodings.append(case)
    write("encodings.json", {"reference": f"HF tokenizers {tokenizers.__version__}", "cases": cases,
                             "added_tokens": extra, "added_cases": added_cases, "decodings": decodings})


def word_lens(name, text):
    """The bytes of each word."""
    words = pre_tokenizer(name).pre_tokenize_str(text)
    return [len(text[begin:end].encode()) for _, (begin, end) in words]


def write_splits():
    cases = []
    rng = random.Random(SEED + 3)
    texts = [*tokenizer_texts.all_texts(rng, []), *tokenizer_texts.random_texts(rng)]
    for text in dict.fromkeys(texts):
        lens = {name: word_lens(name, text) for name in NAMES}
        assert all(sum(n) == len(text.encode()) for n in lens.values())
        case = {"text": text, "smollm": lens["smollm"]}
        case.update({name: n for name, n in lens.items() if n != lens["smollm"]})
        cases.append(case)
    write("splits.json", cases)


def write_long_runs(tokens, merges, special):
    tokenizer = build(tokens, merges, special, "smollm")
    runs = []
    for unit, repeat, sha256 in LONG_RUNS:
        ids = ids_of(tokenizer, unit * repeat)
        assert hashlib.sha256(json.dumps(ids, separators=(",", ":")).encode()).hexdigest() == sha256
        period = 3 if unit == "\U0001F600" else 1
        head, tail = ids[:period], ids[-1:]
        num_heads = len(ids) // period
        if ids != head * num_heads:
            num_heads -= 1
            assert ids == head * num_heads + tail
        else:
            tail = []
        runs.append({"unit": unit, "repeat": repeat, "ids": head, "times": num_heads, "then": tail})
    write("long_runs.json", runs)


def random_vocabulary(rng, alphabet, num_merges):
    tokens = list(alphabet)
    merges = []
    while len(merges) < num_merges:
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) <= 12 and (left, right) not in merges:
            merges.append((left, right))
            if left + right not in tokens:
                tokens.append(left + right)
    rng.shuffle(merges)  # so that a merge may come before those that make its parts
    return tokens, merges


def write_merges():
    rng = random.Random(SEED + 2)
    vocabularies = []
    for num_merges, ignore_merges in [(3, False), (12, False), (40, False), (90, False), (40, True)]:
        tokens, merges = random_vocabulary(rng, "abc", num_merges)
        name = "llama-bpe" if ignore_merges else "gpt-2"
        tokenizer = build(tokens, merges, [], name)
        texts = ["".join(rng.choices("abc", k=rng.randint(1, 24))) for _ in range(24)]
        texts += ["a" * 13, "abc" * 9, "x", "abxc", "cxxa", "a" * 97]
        vocabularies.append({"pre": name, "tokens": tokens, "merges": merges,
                             "cases": [{"text": t, "ids": ids_of(tokenizer, t)} for t in texts]})
    # Case TOK-06: "abcd" has no merge path.
    tokens = ["a", "b", "c", "d", "\u0120", "bc", "\u0120a", "abcd", "\u0120abcd"]
    merges = [("b", "c"), ("\u0120", "a")]
    for name in ["llama-bpe", "gpt-2"]:
        tokenizer = build(tokens, merges, [], name)
        texts = ["abcd", " abcd", "abcd abcd", "abc", "dabcd"]
        vocabularies.append({"pre": name, "tokens": tokens, "merges": merges,
                             "cases": [{"text": t, "ids": ids_of(tokenizer, t)} for t in texts]})
    write("merges.json", vocabularies)


def write_classes():
    code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    text = "".join(map(chr, code_points))
    letters = ["C"] * 0x110000

    def mark(letter, pieces):
        for piece in pieces:
            for c in piece:
                letters[ord(c)] = letter

    digits = pre_tokenizers.Digits(individual_digits=True)
    mark("n", (p for p, _ in digits.pre_tokenize_str("a".join(text)) if p != "a" and len(p) == 1))
    for letter, pattern in [("L", r"\p{L}"), ("M", r"\p{M}"), ("N", r"\p{N}"), ("P", r"\p{P}"), ("S", r"\p{S}"),
                            ("W", r"\s")]:
        # What a pattern does not match stays in one piece with its neighbours.
        split = pre_tokenizers.Split(Regex(f"(?:{pattern})+"), "isolated")
        one = pre_tokenizers.Split(Regex(pattern), "removed")
        mark(letter, (p for p, _ in split.pre_tokenize_str(text) if not one.pre_tokenize_str(p)))
    runs = []
    for letter in letters:
        if runs and runs[-1][0] == letter:
            runs[-1][1] += 1
        else:
            runs.append([letter, 1])
    write("unicode_classes.json", {"classes": "".join(r[0] for r in runs), "lengths": [r[1] for r in runs]})


def main():
    reader = GGUFReader(sys.argv[1])
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(m.split(" ")) for m in reader.fields["tokenizer.ggml.merges"].contents()]
    special = [t for t, kind in zip(tokens, reader.fields["tokenizer.ggml.token_type"].contents()) if kind == 3]
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_vocabulary(tokens, merges, len(special))
    write_encodings(tokens, merges, special)
    write_splits()
    write_long_runs(tokens, merges, special)
    write_merges()
    write_classes()


if __name__ == "__main__":
    main()
