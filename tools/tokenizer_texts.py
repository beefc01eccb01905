# SPDX-License-Identifier: Apache-2.0
"""The texts of make_tokenizer_golden.py."""

import unicodedata

PROSE = [
    "", " ", "a", "Hello, world!", " Hello", "The quick brown fox jumps over the lazy dog.",
    "It was the best of times, it was the worst of times, it was the age of wisdom...",
    "Once upon a time, in a land far, far away, there lived a hobbit\u2019s cousin \u2014 \u201cFrodo\u201d.",
    "E = mc\u00b2, \u00bd cup, 3\u00d74, \u20ac100, 50\u00b0C, \u2153, \u2167, \u2460\u2461\u2462",
    "e.g. U.S.A., 3.14159, 1,000,000, 2024-06-01T12:34:56Z, +1 (555) 010-9999, v1.2.3-rc4",
    "https://example.com/a/b?c=d&e=f#g user@example.org C:\\Windows\\System32 /usr/local/bin",
    "ALLCAPS Titlecase camelCase snake_case kebab-case SCREAMING_SNAKE mixedUP123numbers456",
]
CODE = [
    "def f(x):\n    return x ** 2  # square\n\n\nprint(f(3))\n",
    "int main() {\n\tfor (int i = 0; i < 10; ++i) {\n\t\tprintf(\"%d\\n\", i);\n\t}\n\treturn 0;\n}\n",
    "SELECT *\r\nFROM t\r\nWHERE a <> 'it''s' AND b IS NOT NULL;\r\n",
    "<div class=\"x\">&nbsp;<!-- comment --></div>\n\n<p>a</p>",
    "{\"a\": [1, 2.5e-3, null, true], \"b\": {\"c\": \"\\u00e9\"}}",
    "#include <vector>\n#define X(a,b) ((a)+(b))\n\n\n\n// end",
    "$ ls -la | grep '^d' && echo \"done\" > /dev/null 2>&1 &",
    "if (a!=b&&c||!d){x^=y<<2;z=~w>>>1;}",
]
SCRIPTS = [
    "\u0417\u0434\u0440\u0430\u0432\u0441\u0442\u0432\u0443\u0439, \u043c\u0438\u0440! \u041a\u0430\u043a \u0434\u0435\u043b\u0430?",
    "\u4f60\u597d\uff0c\u4e16\u754c\uff01\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002", "\u65e5\u672c\u8a9e\u306e\u30c6\u30b9\u30c8\u3067\u3059\u3002\u30ab\u30bf\u30ab\u30ca",
    "\uc548\ub155\ud558\uc138\uc694 \uc138\uacc4", "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645\u060c \u0643\u064a\u0641 \u062d\u0627\u0644\u0643\u061f",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35\u0e0a\u0e32\u0e27\u0e42\u0e25\u0e01",
    "\u0393\u03b5\u03b9\u03ac \u03c3\u03bf\u03c5 \u039a\u03cc\u03c3\u03bc\u03b5", "Ti\u1ebfng Vi\u1ec7t c\u00f3 d\u1ea5u", "\u0e81\u0eb2\u0e99 \u1019\u103c\u1014\u103a\u1019\u102c \u179f\u17bd\u179f\u17d2\u178f\u17b8",
    "\u10d2\u10d0\u10db\u10d0\u10e0\u10ef\u10dd\u10d1\u10d0 \u0532\u0561\u0580\u0587", "\u1230\u120b\u121d \u12d3\u1208\u121d", "\U00010330\U00010331 \U00020000\U0002A6D6 \U0001D49C\U0001D4B6",
    "Stra\u00dfe \u0132sselmeer \ufb01nd \u017fecret na\u00efve co\u00f6perate \u00c5ngstr\u00f6m",
]
EMOJI = [
    "\U0001F600", "Hi \U0001F600\U0001F389 n\u00e9 \u65e5\u672c!", "\U0001F468\u200D\U0001F469\u200D\U0001F467\u200D\U0001F466",
    "\U0001F1E9\U0001F1EA\U0001F44D\U0001F3FD \u2764\uFE0F", "a\U0001F600b \U0001F600 c", "\U0001FAE8\U0001FAE9",
]
MARKS = [
    "e\u0301te\u0301", "\u0301", " \u0301a", "a\u0301\u0302\u0303b", "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319",
    "n\u0303 vs \u00f1", "\u0915\u094d\u0937", "\u064e\u064f a\u20dd", "x\ufe0f\u200b\u200cy\u00ady\ufeff",
]
BLANKS = [
    "  ", "   ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\t\t", " \n", "\n ", " \n ", "  \n  ", "a  b", "a   b", "a\n\nb",
    "a \n b", "a  \n  b", "a\t b", "a \tb", "\ta", "\t\ta", " \ta", "a\r\nb", "a\rb", "a\n\r\nb", "  a", "a  ", "a\n", "a \n",
    "\u00a0a", "a\u00a0b", "a\u00a0\u00a0b", "\u3000a\u3000\u3000b", "\u2003x", "a\u2028b\u2029c", "a\x85b", "a\x0b\x0cb", "\x1c\x1d\x1e\x1f",
    "!\n\n!", "!  \n!", ".\n", " .\n\n\n.", "?\r\n x", "\u200b\u200b", "\u180e \u2060",
    "      indented\n        more\n\n\n   less", "trailing   \n   \n", "1 2  3   4", "1\n2", "  1", "a  1", "   \u0661",
]
NUMBERS = [
    "0", "12", "123", "1234", "12345", "123456", "1234567", "a1b22c333d4444", "3.14", "-1", " 1", " 12 345", "1st 2nd 3rd",
    "\u0661\u0662\u0663\u0664", "\u0967\u0968\u0969", "\u0e51\u0e52", "\uff11\uff12\uff13\uff14", "\u00b2\u00b3\u00b9", "\u00bd\u2153", "\u2160\u2161\u216b", "\u3007\u4e00\u4e8c", "x\u00b2+y\u00b2",
    "\U0001D7CE\U0001D7CF", "\U00011DE0", "a\U00011DE1b", "\U00011DE2\U00011DE3", "!\U00016FF4!", "1\U00016FF5 2", "  \U00011DE9", "\u3220\u3280\u249c",
]


def contractions():
    for apostrophe in "'", "\u2019":
        for tail in "s", "t", "re", "ve", "m", "ll", "d", "x", "r", "l", "v", "", "\u017f", "S", "lL", "Ve", "rE":
            yield f"it{apostrophe}{tail}"
            yield f"{apostrophe}{tail}"
            yield f"IT{apostrophe}{tail.upper()} {apostrophe}{tail}a 1{apostrophe}{tail}"


def control_characters():
    yield from (f"a{chr(c)}b" for c in range(0x20))
    yield "a\x7fb"
    yield "\x80\x81\x9f"
    yield "!\x04!"  # the byte in the middle has no token: its neighbours merge
    yield "\x04\x06"
    yield "\x00\x00\x00"
    yield "\ufffd\ufffe\uffff\U0010FFFF\ue000\U000F0000"


def with_special(special):
    yield from special
    yield "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n"
    yield "<|im_end|><|im_end|>"
    yield "a<|im_end|>b"
    yield " <|im_end|> "
    yield "  <|im_end|>  a"
    yield "<|im_end|"
    yield "<|im_end|<|im_end|>>"
    yield "<|IM_END|> <| im_end |>"
    yield "<repo_name><reponame><file_sep>x.py"
    yield "\n<|endoftext|>\n"
    yield "1<|endoftext|>2"
    yield "<<<<|im_start|>>>>"


def random_texts(rng):
    # Characters at which the patterns differ, so that short texts reach every branch.
    alphabet = [" ", " ", " ", "\n", "\r", "\t", "'", "s", "S", "t", "re", "ll", "a", "B", "1", "2", "9", "!", ".", "\u00a0", "\u00e9",
                "\u4e2d", "\u0661", "\u00b2", "\u0301", "\u017f", "\U0001F600", "\U00011DE0", "\x85", "\u2028", "\u3000", "\u200b", "\u20ac", "_"]
    for _ in range(160):
        yield "".join(rng.choices(alphabet, k=rng.randint(1, 16)))
    assigned = [chr(c) for c in range(0x20000)
                if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
    for _ in range(40):
        yield "".join(rng.choices(assigned, k=rng.randint(1, 10)))
    for _ in range(20):
        code_points = (rng.randrange(0x110000) for _ in range(rng.randint(1, 6)))
        yield "".join(chr(c) for c in code_points if not 0xD800 <= c < 0xE000)
    words = "the of Model token cache batch queue stream prefix block paged attention kernel".split()
    for _ in range(30):
        yield "".join(rng.choice(["", " ", " ", " "]) + rng.choice(words) + rng.choice(["", "s", "ing", "ed", "'s", ",", "123"])
                      for _ in range(rng.randint(1, 12)))


def all_texts(rng, special):
    texts = [*PROSE, *CODE, *SCRIPTS, *EMOJI, *MARKS, *BLANKS, *NUMBERS, *contractions(), *control_characters(),
             *with_special(special), *random_texts(rng)]
    return list(dict.fromkeys(texts))


def added_texts():
    return ["<a>", "<a><b>", "<a><b", "<a><a><b>", "<b>", "a>", "<<a>", "xa><b>", "<tool_call>{}</tool_call>", "a\n\n\nb", "a\n\n\n\nb",
            "a    b", "       ", "<|im_end|>\n", "<|im_end|>\n\n\n\n", "caf\u00e9!", "\u00e9\u00e9!", "<|im_start|><a><|im_end|>", "<a", "", "<tool_call"]
