#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the SentencePiece files of tests/data/tokenizer: what Google's library answers.

    pip install sentencepiece==0.2.3 protobuf tokenizers==0.23.3 gguf
    tools/make_sentence_piece_golden.py models/gemma-3-270m-q4_k_m.gguf

sentence_piece_vocabulary.tsv   a small vocabulary out of Gemma's: type, score, text
sentence_piece_encodings.tsv    texts, their ids in that vocabulary and in all of Gemma's
sentence_piece_decodings.tsv    ids of the small vocabulary and their text
sentence_piece_long_runs.tsv    a unit, its repeats, how many ids, and the ids as one number

The library is given the pieces and scores of the GGUF. It does not look for control tokens in text,
so these are cut out here, the earliest first. HF `tokenizers` with the merges that transformers
derives from the scores is asked too and must agree.
"""

import json
import pathlib
import random
import re
import sys

import sentencepiece
from gguf import GGUFReader
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers

import tokenizer_texts

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests/data/tokenizer"
SEED = 20261207
BLANK = "\u2581"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
NUM_SMALL_PIECES = 2200
LONG_RUNS = [("a", 100000), (" ", 100000), ("\n", 100000), ("ab", 50000), (" a", 50000), ("> </", 20000), ("\u4e2d", 40000),
             ("\U0001F9EB", 25000), ("the", 30000), ("<", 100000), ("<h1", 30000), ("in e", 30000), ("er", 50000), ("tion", 25000), ("an", 50000)]


class Vocabulary:
    def __init__(self, pieces):
        self.pieces = pieces  # (text, score, type)
        self.ids = {text: i for i, (text, _, _) in enumerate(pieces)}
        proto = sentencepiece_model_pb2.ModelProto()
        for text, score, kind in pieces:
            piece = proto.pieces.add()
            # User-defined pieces stand in the GGUF with blanks; the library sees escaped text.
            piece.piece = text.replace(" ", BLANK) if kind == USER_DEFINED else text
            piece.score = score
            piece.type = UNKNOWN if text == "<unk>" else kind
        proto.trainer_spec.model_type = sentencepiece_model_pb2.TrainerSpec.BPE
        proto.trainer_spec.byte_fallback = True
        proto.trainer_spec.unk_id = self.ids["<unk>"]
        proto.normalizer_spec.name = "identity"
        proto.normalizer_spec.add_dummy_prefix = False
        proto.normalizer_spec.remove_extra_whitespaces = False
        proto.normalizer_spec.escape_whitespaces = True
        self.library = sentencepiece.SentencePieceProcessor()
        self.library.LoadFromSerializedProto(proto.SerializeToString())
        control = [re.escape(text) for text, _, kind in pieces if kind == CONTROL]
        self.control = re.compile("(" + "|".join(sorted(control, key=len, reverse=True)) + ")")

    def encode(self, text):
        out = []
        for i, part in enumerate(self.control.split(text)):
            out += [self.ids[part]] if i % 2 else self.library.EncodeAsIds(part)
        return out

    def hugging_face(self):
        known = {t: s for t, s, kind in self.pieces if kind == NORMAL}
        merges = []
        for text, score in known.items():
            local = [(text[:i], text[i:], score) for i in range(1, len(text))
                     if text[:i] in known and text[i:] in known]
            merges += sorted(local, key=lambda m: (self.ids.get(m[0], 0), self.ids.get(m[1], 0)))
        merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
        model = models.BPE(vocab=dict(self.ids), merges=[(a, b) for a, b, _ in merges],
                           byte_fallback=True, fuse_unk=True, unk_token="<unk>")
        tokenizer = Tokenizer(model)
        tokenizer.normalizer = normalizers.Replace(" ", BLANK)
        added = [t for t, _, kind in self.pieces if kind == USER_DEFINED]
        tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t in added])
        tokenizer.decoder = decoders.Sequence([decoders.Replace(BLANK, " "), decoders.ByteFallback(), decoders.Fuse()])
        return tokenizer


def read_pieces(path):
    fields = GGUFReader(path).fields
    return list(zip(fields["tokenizer.ggml.tokens"].contents(), fields["tokenizer.ggml.scores"].contents(),
                    fields["tokenizer.ggml.token_type"].contents()))


def small_pieces(pieces):
    """The best normal pieces, the characters they are made of, and all that are not normal."""
    best = [t for t, _, kind in pieces if kind == NORMAL and len(t) > 1][:NUM_SMALL_PIECES]
    best += [t for t, _, kind in pieces if kind == NORMAL and len(t) > 1 and not t.isascii()
             and BLANK not in t][:500]
    keep = set(best) | {c for t in best for c in t} | {">" + BLANK + "</", ">" + BLANK, BLANK + "</", ">", "</", "<", "/"}
    return [p for p in pieces if p[2] in (USER_DEFINED, BYTE) or (p[2] == NORMAL and p[0] in keep)
            or (p[2] == CONTROL and (not p[0].startswith("<unused") or p[0] == "<unused9>"))]


def random_texts(rng, small):
    words = [t.replace(BLANK, " ") for t, _, kind in small if kind == NORMAL]
    added = [t for t, _, kind in small if kind in (USER_DEFINED, CONTROL)]
    rare = list("\u00e9\u00df\u4e2d\u8a9e\u3042\ud55c\u0416\u05d0\u0e01\U0001F600\U0001F9EB\u0301\u200d\ufffd\u00a0\u2028\x00\x07\x7f\u2582")
    for i in range(1500):
        parts = []
        for _ in range(rng.randint(1, 8)):
            kind = rng.random()
            if kind < 0.55:
                parts.append(rng.choice(words))
            elif kind < 0.7:  # a part of a piece, so that merges begin and do not end there
                word = rng.choice(words)
                parts.append(word[:rng.randint(1, len(word))])
            elif kind < 0.8:
                parts.append(rng.choice(" \n\t<>/a") * rng.randint(1, 6))
            elif kind < 0.9:
                parts.append(rng.choice(rare))
            else:
                parts.append(rng.choice(added) if i % 3 else rng.choice(added)[:-1])
        yield "".join(parts)
    letters = "abcdeinorst "
    for _ in range(400):
        yield "".join(rng.choices(letters, k=rng.randint(2, 60)))


def all_texts(small):
    rng = random.Random(SEED)
    special = ["<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<unk>", "<pad>", "<unused9>"]
    texts = [*tokenizer_texts.all_texts(rng, special), *random_texts(rng, small)]
    texts += ["<start_of_turn>user\nHello!<end_of_turn>\n<start_of_turn>model\n", "a> </b", "x> </", "> </div> </p>", "<td> </td>",
              "<0x41>", "a<0x0A>b", "<start_of_image>", "[multimodal]", "<div><b>bold</b></div>", "a" * 70, "ab" * 45, "\u4e2d" * 40,
              *(" " * n + "x" for n in (1, 2, 3, 15, 30, 31, 32, 33, 62, 63, 64, 100)), *("\n" * n for n in (30, 31, 32, 33, 64)),
              *("\t" * n + "y" for n in (1, 2, 29, 30, 31, 61))]
    # Where U+2581 stands twice in a row the library sees blanks too early for a GGUF's pieces.
    return [t for t in dict.fromkeys(texts) if BLANK + BLANK not in t]


def write(name, rows):
    path = FOLDER / name
    path.write_text("".join("\t".join(row) + "\n" for row in rows))
    print(f"{name}: {len(rows)} rows, {path.stat().st_size} bytes")


def join(ids):
    return " ".join(map(str, ids))


def main():
    pieces = read_pieces(sys.argv[1])
    small = small_pieces(pieces)
    vocabularies = [Vocabulary(small), Vocabulary(pieces)]
    write("sentence_piece_vocabulary.tsv", [(str(kind), f"{score:g}", json.dumps(text)) for text, score, kind in small])

    texts = all_texts(small)
    rows = [(json.dumps(text), *(join(v.encode(text)) for v in vocabularies)) for text in texts]
    write("sentence_piece_encodings.tsv", rows)

    rng = random.Random(SEED + 1)
    bytes_of = [i for i, p in enumerate(small) if p[2] == BYTE]
    decoder = vocabularies[0].hugging_face()
    decodings = []
    for i in range(300):
        ids = [rng.choice(bytes_of) if rng.random() < (0.3 if i % 2 else 0.0) else rng.randrange(len(small))
               for _ in range(rng.randint(1, 12))]
        ids = [j for j in ids if small[j][2] != CONTROL]
        text = b"".join(bytes([int(small[j][0][3:5], 16)]) if small[j][2] == BYTE else
                        small[j][0].replace(BLANK, " ").encode() for j in ids)
        try:
            decoded = text.decode()
        except UnicodeDecodeError:
            continue  # HF and this project differ in how many U+FFFD they write
        assert decoder.decode(ids, skip_special_tokens=False) == decoded, (ids, decoded)
        decodings.append((join(ids), json.dumps(decoded)))
    write("sentence_piece_decodings.tsv", decodings)

    runs = []
    for unit, repeat in LONG_RUNS:
        ids = vocabularies[0].encode(unit * repeat)
        number = 0
        for token in ids:
            number = (31 * number + token) % 2**32
        runs.append((json.dumps(unit), str(repeat), str(len(ids)), str(number)))
    write("sentence_piece_long_runs.tsv", runs)

    for v in vocabularies:
        tokenizer = v.hugging_face()
        for text in texts:
            if not v.control.search(text):
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                assert ids == v.library.EncodeAsIds(text), text


if __name__ == "__main__":
    main()
