# SPDX-License-Identifier: Apache-2.0
"""Small templates that ask jinja2 what the language means; tools/make_template_golden.py renders them.

Each group shares a context. A snippet whose answer depends on addresses or on unlimited integers does
not belong here.
"""

MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "<t>\nplan\n</t>\n\nfirst"},
    {"role": "user", "content": "two"},
]

SHARED = {
    "n": 7, "neg": -7, "f": 2.5, "big": 9007199254740993, "t": True, "no": False, "nil": None,
    "s": "Hello World", "empty": "", "u": "a\u00f1\U0001f600z", "words": "the quick  brown fox",
    "l": [1, 2, 3, 4, 5], "el": [], "mix": [1, "a", None, True, 2.0, [1], {"k": "v"}],
    "names": ["bob", "Alice", "carol", "Bob"], "nested": [[1, 2], [3, 4]],
    "d": {"a": 1, "b": "x", "c": None}, "deep": {"a": {"b": {"c": [10, 20]}}}, "ed": {},
    "items_key": {"items": "mine", "keys": "k", "get": 1, "update": 2, "count": 3},
    "users": [{"name": "Ann", "age": 30, "tags": ["x"]}, {"name": "bob", "age": 25, "tags": []},
              {"name": "Cy", "age": 30}],
    "quotes": "it's \"quoted\" & <b>", "lines": "one\n  two\n\nthree", "spaces": "  padded \n",
    "html": "<a href='x'>&\"</a>", "messages": MESSAGES, "ctl": "tab\tnul\x00bell\x07del\x7f\u200b\u00e9",
}

LITERALS = r'''
{{ 1 }} {{ -1 }} {{ 1.5 }} {{ 1e3 }} {{ 1.0e-7 }} {{ 1E+22 }} {{ 0x1F }} {{ 0o17 }} {{ 0b101 }} {{ 1_000 }} {{ 00 }}
{{ 'a' "b" 'c' }}
{{ 'it''s' }}
{{ "a\nb\tc\\d\'e\"f" }}
{{ '\x41\u00e9\U0001F600\101\7|\q|\a' }}
{{ 'line\
continued' }}
{{ '\x4' }}
{{ true }} {{ True }} {{ false }} {{ False }} {{ none }} {{ None }}
{{ [] }} {{ [1, 'a', none, true, 2.0,] }} {{ () }} {{ (1,) }} {{ (1, 2) }} {{ (1) }} {{ {} }} {{ {'a': 1, 2: 'b', none: true, 1.5: (),} }}
{{ 1, 2 }}
{{ [1
,2] }}
{{ {'a': {'b': {}}} }}
{{ {'a': 1, 'a': 2, 'b': 3} }}
{{ {1: 'int', true: 'bool', 1.0: 'float'} }}
{{ {[1]: 2} }}
{{ {(1, 2): 'tuple'}[(1, 2)] }}
{{ 1.e5 }}
{{ .5 }}
{{ 01 }}
{{ 'abc }}
{{ }}
{{ 1 2 }}
{{ (1 }}
{{ [1) }}
{{ @ }}
{{ 3.0 }} {{ 100000000000000000.0 }} {{ 1e16 }} {{ 123456789012345.0 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1/3 }} {{ 2.5e-5 }} {{ -0.0 }}
{{ 0.1 + 0.2 }} {{ 1e300 * 1e10 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }}
'''

ARITHMETIC = r'''
{{ n + 1 }} {{ n - 10 }} {{ n * 3 }} {{ n / 2 }} {{ n // 2 }} {{ n % 3 }} {{ n ** 2 }}
{{ neg // 2 }} {{ neg % 3 }} {{ n // -2 }} {{ n % -3 }} {{ neg // -2 }} {{ neg % -3 }} {{ -7 // 2 }}
{{ 7.5 // 2 }} {{ -7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }} {{ 6.0 % 3 }} {{ 0.0 // 5 }} {{ -1 % 0.3 }}
{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 0.5 }} {{ (-8) ** 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 0 ** 0 }} {{ 2 ** 62 }}
{{ 1 / 0 }}
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1.0 / 0 }}
{{ 0 ** -1 }}
{{ true + true }} {{ true * 3 }} {{ false - 1 }} {{ -true }} {{ +n }} {{ - n }} {{ 1 - -1 }} {{ not 0 }} {{ not not 'a' }}
{{ 'a' + 'b' }} {{ 'ab' * 3 }} {{ 3 * 'ab' }} {{ 'ab' * 0 }} {{ 'ab' * -1 }} {{ [1] + [2] }} {{ [1] * 2 }} {{ (1,) + (2,) }} {{ (1,) * 2 }}
{{ 'a' + 1 }}
{{ 1 + 'a' }}
{{ 'a' + none }}
{{ none + 'a' }}
{{ [1] + (2,) }}
{{ {} + {} }}
{{ 'a' - 'b' }}
{{ -'a' }}
{{ 'a' * 1.5 }}
{{ 'a' ~ 1 ~ none ~ 2.0 ~ true ~ [1] }} {{ 1 ~ 2 }} {{ 'a' + 2 ~ 3 }} {{ nil ~ missing ~ '.' }}
{{ 1 + 2 ~ 3 }}
{{ 'a' ~ 1 + 2 }}
{{ 1 + 2 * 3 - 4 / 2 }} {{ (1 + 2) * 3 }} {{ 10 - 2 - 3 }} {{ 100 / 10 / 2 }} {{ 2 * 3 % 4 }} {{ 2 ~ 3 * 4 }}
{{ n + f }} {{ n * f }} {{ n - f }} {{ f / n }} {{ big + 0.0 }} {{ big == 9007199254740992.0 }} {{ big > 9007199254740992.0 }}
{{ 9223372036854775807 }} {{ -9223372036854775807 - 1 }} {{ 4611686018427387904 * 1 }}
{{ '%s-%d-%05.2f|%x|%X|%o|%%|%r|%c' % ('a', 3, 2.5, 255, 255, 8, 'q', 'z') }}
{{ '%5s|%-5s|%05d|%+d|% d|%.2s' % ('a', 'b', 42, 5, 6, 'xyz') }} {{ '%(a)s %(b)s' % d }} {{ '%s' % n }} {{ '%s' % [1, 2] }}
{{ '%d' % 'x' }}
{{ '%s %s' % ('a',) }}
{{ '%s' % ('a', 'b') }}
{{ 'x' % 1 }}
{{ 'x' % [1] }} {{ 'x' % d }}
{{ '%q' % 1 }}
{{ '%' % 1 }}
'''

COMPARISON = r'''
{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' < 'b' }} {{ 'Z' < 'a' }} {{ [1, 2] < [1, 3] }} {{ [1] < [1, 0] }} {{ (1, 2) >= (1, 2) }}
{{ 1 != 2 }} {{ 'a' == 'a' }} {{ [1, [2]] == [1, [2]] }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ (1,) == [1] }} {{ none == none }} {{ none == 0 }} {{ '1' == 1 }}
{{ 1 < 'a' }}
{{ none < 1 }}
{{ {} < {} }}
{{ missing < 1 }}
{{ [1] < (1,) }}
{{ missing == missing }} {{ missing == none }} {{ missing != 1 }} {{ missing == '' }}
{{ 1 in l }} {{ 9 in l }} {{ 9 not in l }} {{ 'a' in d }} {{ 'z' in d }} {{ 'ell' in s }} {{ '' in s }} {{ 1 in (1, 2) }} {{ true in [1] }} {{ none in mix }}
{{ 1 in 'abc' }}
{{ 1 in 5 }}
{{ 1 in none }}
{{ [1] in d }}
{{ 1 in missing }} {{ 'x' in ed }} {{ [1] in mix }} {{ {'k': 'v'} in mix }} {{ 1 in d.values() }} {{ 'a' in d.keys() }} {{ ('a', 1) in d.items() }}
{{ 1 and 2 }} {{ 0 and 2 }} {{ 0 or 'x' }} {{ '' or [] or none }} {{ 1 or missing.x }} {{ 0 and missing.x }} {{ not 1 == 2 }} {{ not true or true }} {{ true or false and false }}
{{ 1 and }}
{{ 'yes' if 1 else 'no' }} {{ 'yes' if 0 else 'no' }} {{ 'yes' if 0 }}| {{ 'a' if no else 'b' if no else 'c' }} {{ ('a' if t) ~ 'b' }} {{ 1 if t else missing.x }}
{{ 'a' if no }}{{ ('a' if no) is defined }}
{{ ('a' if no).x }}
{{ 2 == 2 == 2 }} {{ 1 in [1] == true }} {{ 1 < 2 in [2] }} {{ not 1 in [2] }} {{ 1 not in [2] and 3 in [3] }}
{{ 9007199254740993 == 9007199254740992.0 }} {{ 9223372036854775807 < 9223372036854775808.0 }} {{ -1 < -0.5 }} {{ 2 > 1.5 }} {{ 3 <= 3.0 }}
'''

TESTS = r'''
{{ n is defined }} {{ missing is defined }} {{ missing is undefined }} {{ n is not defined }} {{ not missing is defined }} {{ d.zz is defined }} {{ d.a is defined }}
{{ nil is none }} {{ n is none }} {{ missing is none }} {{ nil is not none }} {{ none is none }}
{{ s is string }} {{ n is string }} {{ missing is string }} {{ n is number }} {{ f is number }} {{ t is number }} {{ s is number }} {{ n is integer }} {{ t is integer }} {{ f is integer }} {{ f is float }} {{ n is float }}
{{ t is boolean }} {{ n is boolean }} {{ t is true }} {{ no is false }} {{ 1 is true }} {{ t is false }}
{{ d is mapping }} {{ l is mapping }} {{ s is mapping }} {{ missing is mapping }}
{{ l is iterable }} {{ s is iterable }} {{ d is iterable }} {{ n is iterable }} {{ nil is iterable }} {{ missing is iterable }} {{ d.items() is iterable }} {{ (l|map('string')) is iterable }} {{ range(2) is iterable }}
{{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ n is sequence }} {{ missing is sequence }} {{ (1,) is sequence }} {{ d.items() is sequence }} {{ (l|map('string')) is sequence }} {{ range(2) is sequence }}
{{ 2 is even }} {{ 3 is odd }} {{ -1 is odd }} {{ 2.0 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }}
{{ 'a' is odd }}
{{ none is even }}
{{ 1 is eq 1 }} {{ 1 is equalto 1.0 }} {{ 'a' is ne 'b' }} {{ 2 is gt 1 }} {{ 2 is ge 2 }} {{ 1 is lt 2 }} {{ 1 is le 0 }} {{ 1 is greaterthan 0 }} {{ 1 is lessthan 0 }}
{{ 1 is in [1, 2] }} {{ 1 is in(l) }} {{ 'a' is in 'abc' }} {{ 3 is not in [1] }}
{{ 'ABC' is upper }} {{ 'abc' is lower }} {{ 'aBc' is lower }} {{ '1' is lower }} {{ 'A1' is upper }} {{ 5 is upper }}
{{ none is sameas none }} {{ t is sameas true }} {{ l is sameas l }} {{ 1 is sameas true }}
{{ 'upper' is filter }} {{ 'nope' is filter }} {{ 'odd' is test }} {{ 'nope' is test }} {{ range is callable }} {{ s is callable }} {{ s.upper is callable }} {{ missing is callable }}
{{ 1 is nosuchtest }}
{{ 1 is divisibleby }}
{{ 1 is defined is defined }}
{{ x is defined and x }} {{ n is defined and n > 3 }} {{ n is number or s }} {{ 'y' if n is number else 'z' }} {{ [n is number, s is string] }} {{ n is number == true }}
{{ s is string and s|length > 3 }} {{ not s is string }} {{ n is not string }} {{ (n is string) is false }} {{ l[0] is number }} {{ 4 is divisibleby n - 5 }}
{{ n is string if t else 'x' }}
{{ missing.x is defined }}
{{ 'x' is escaped }} {{ n is eq(7) and true }} {{ d.a is eq d['a'] }}
'''

ACCESS = r'''
{{ d.a }} {{ d['a'] }} {{ d.zz }}| {{ d['zz'] }}| {{ deep.a.b.c[1] }} {{ deep['a']['b'].c.0 }} {{ d.c }} {{ d[nil] }}|
{{ missing }}|{{ missing|upper }}|
{{ missing.x }}
{{ missing['x'] }}
{{ missing() }}
{{ missing[0] }}
{{ d.zz.y }}
{{ nil.x }}| {{ n.x }}| {{ s.x }}| {{ l.x }}| {{ nil['x'] }}| {{ n[0] }}| {{ t.x }}|
{{ nil.x.y }}
{{ l[0] }} {{ l[-1] }} {{ l[9] }}| {{ l[-9] }}| {{ l['0'] }}| {{ l[true] }} {{ l[1.0] }}| {{ l[nil] }}| {{ l.0 }} {{ (1, 2)[1] }} {{ 'abc'[1] }} {{ u[2] }} {{ u[-1] }} {{ 'abc'[5] }}|
{{ l[1:] }} {{ l[:-1] }} {{ l[-2:] }} {{ l[1:3] }} {{ l[::2] }} {{ l[::-1] }} {{ l[::-2] }} {{ l[10:] }} {{ l[:100] }} {{ l[3:1] }} {{ l[3:1:-1] }} {{ l[-100:100] }} {{ l[none:none] }} {{ l[:] }} {{ l[true:] }}
{{ s[1:4] }} {{ s[::-1] }} {{ u[1:3] }} {{ u[::-1] }} {{ s[-5:] }} {{ s[:0] }}| {{ (1, 2, 3)[1:] }} {{ range(10)[2:5]|list }} {{ s[100:] }}| {{ s[::3] }} {{ s[8:2:-2] }}
{{ l[::0] }}
{{ l['a':] }}
{{ d[1:2] }}
{{ nil[1:] }}
{{ missing[1:] }}
{{ l[1.5:] }}
{{ l[:9223372036854775807] }} {{ l[-9223372036854775807:] }} {{ l[::9223372036854775807] }} {{ l[::-9223372036854775807] }}
{{ items_key['items'] }} {{ items_key.keys() | list }} {{ items_key['nope'] }}| {{ items_key.update }}| {{ items_key['update'] }} {{ items_key.items() | first }}
{{ items_key.update({}) }}
{{ l.append(1) }}
{{ d.pop('a') }}
{{ d.setdefault('a', 1) }}
{{ d.get('a') }} {{ d.get('zz') }} {{ d.get('zz', 'dflt') }} {{ d.get('c', 1) }} {{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d.items()|list }} {{ d.keys()|list }} {{ d.copy() }} {{ d.items()|length }}
{{ d.get() }}
{{ d.get([]) }}
{{ d.keys()[0] }}|
{{ l.index(3) }} {{ l.count(2) }} {{ (1, 2).index(2) }} {{ l.copy() }} {{ range(5).index(3) }}
{{ l.index(99) }}
{{ s.__class__ }}|{{ ''.__class__.__mro__ is defined }}
{{ 'abc'.upper }}
'''.replace("{{ 'abc'.upper }}\n", "").replace("|{{ ''.__class__.__mro__ is defined }}", "|")

STRINGS = r'''
{{ s.upper() }} {{ s.lower() }} {{ 'hello wOrld'.title() }} {{ 'hELLO'.capitalize() }} {{ s.swapcase() }} {{ "they're bill's".title() }} {{ "they're bill's-x (y) a1b"|title }}
{{ 'stra\u00dfe'.upper() }} {{ '\u01c6x'.title() }} {{ '\ufb01x'.capitalize() }} {{ '\u0130'.lower()|length }} {{ '\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3'.lower() }} {{ '\u03a3'.lower() }} {{ 'A\u03a3.'.lower() }} {{ '\u00e9t\u00e9'|title }} {{ '\u0149'|upper }}
[{{ spaces.strip() }}] [{{ spaces.lstrip() }}] [{{ spaces.rstrip() }}] {{ 'xxaxx'.strip('x') }} {{ 'xyaxy'.lstrip('yx') }} {{ '\u3000a\u00a0'.strip() }} {{ 'aaa'.strip('a') }}| {{ 'abc'.strip('') }} {{ ' a '.strip(none) }}|
{{ '  a  b '.split() }} {{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c d'.split(none, 2) }} {{ 'a--b--c'.split('--') }} {{ ''.split() }} {{ ''.split(',') }} {{ 'abc'.split('x') }} {{ 'a b'.split(maxsplit=0) }} {{ 'a,b'.split(sep=',') }}
{{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b  c '.rsplit(none, 1) }} {{ 'a b c'.rsplit() }} {{ 'aXXbXXc'.rsplit('XX', 1) }} {{ 'aaa'.rsplit('aa') }} {{ 'aaa'.split('aa') }} {{ ' a  b '.split(none, 0) }}
{{ 'abc'.split('') }}
{{ 'abc'.split(1) }}
{{ lines.splitlines() }} {{ 'a\r\nb\rc\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ ''.splitlines() }} {{ 'a\n\nb\n'.splitlines() }} {{ 'a\x0bb\x1cc\u2028d'.splitlines() }}
{{ s.startswith('Hell') }} {{ s.endswith('World') }} {{ s.startswith(('x', 'H')) }} {{ s.endswith('') }} {{ s.startswith('World', 6) }} {{ s.startswith('H', 0, 0) }} {{ s.endswith('Hello', 0, 5) }} {{ s.startswith('', 99) }}
{{ s.startswith(1) }}
{{ s.startswith(['H']) }}
{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('zz') }} {{ s.find('o', 5) }} {{ s.find('o', 5, 6) }} {{ s.index('W') }} {{ s.rindex('l') }} {{ s.count('l') }} {{ s.count('') }} {{ 'aaaa'.count('aa') }} {{ u.find('z') }} {{ u.rfind('\u00f1') }} {{ s.find('') }} {{ s.rfind('') }} {{ s.find('', 99) }} {{ s.find('o', -5) }} {{ s.count('l', 3, -1) }}
{{ s.index('zz') }}
{{ s.find(1) }}
{{ s.replace('o', '0') }} {{ s.replace('o', '0', 1) }} {{ s.replace('l', '') }} {{ 'abc'.replace('', '-') }} {{ 'abc'.replace('', '-', 2) }} {{ ''.replace('', 'x') }} {{ 'abc'.replace('b', 'b') }} {{ 'aaa'.replace('aa', 'b') }} {{ u.replace('\u00f1', '\U0001f600') }}
{{ s.replace('o') }}
{{ s.replace(1, 2) }}
{{ ', '.join(['a', 'b']) }} {{ ''.join('abc') }} {{ '-'.join(d) }} {{ ','.join([]) }}| {{ '-'.join(('x',)) }}
{{ ','.join([1]) }}
{{ ','.join(none) }}
{{ '123'.isdigit() }} {{ ''.isdigit() }} {{ 'a1'.isalnum() }} {{ 'ab'.isalpha() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ '\u00b2'.isdigit() }} {{ '\u00e9'.isalpha() }} {{ 'A b'.isupper() }} {{ '12.5'.isdigit() }}
{{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.partition('x') }} {{ 'abc'.rpartition('x') }}
{{ 'prefix-x'.removeprefix('prefix-') }} {{ 'x.txt'.removesuffix('.txt') }} {{ 'x'.removeprefix('y') }} {{ 'x'.removesuffix('') }}
[{{ 'ab'.center(7) }}] [{{ 'ab'.center(5, '*') }}] [{{ 'ab'.ljust(4) }}] [{{ 'ab'.rjust(4, '0') }}] {{ '42'.zfill(5) }} {{ '-42'.zfill(5) }} {{ 'abc'.zfill(2) }} {{ 'abc'.center(2) }} [{{ 'abc'.center(6) }}]
{{ 'ab'.center(5, '**') }}
{{ 'abc'.upper(1) }}
{{ 'abc'.nosuch() }}
{{ s.upper().lower().title() }} {{ (s ~ '!').upper() }} {{ 'x'.upper()|lower }} {{ s.split(' ')[-1].lower()[:3] }} {{ ' '.join(words.split()[::-1]) }}
{{ ['a', 'it\'s', "q\"", 'b\\', '\n\t\r', '\x00\x1f\x7f', '\u200b', '\u00e9', '\U0001f600', '\u2028'] }}
{{ [ctl] }} {{ {ctl: 1} }} {{ [quotes] }} {{ ["'\""] }}
'''

FILTERS = r'''
{{ s|upper }} {{ s|lower }} {{ 'foo bar'|title }} {{ 'fOO'|capitalize }} [{{ spaces|trim }}] {{ 'xax'|trim('x') }} {{ n|upper }} {{ nil|upper }} {{ l|upper }} [{{ nil|trim }}] {{ 5|trim }} {{ missing|trim }}|
{{ s|replace('o', '0') }} {{ s|replace('o', '0', 1) }} {{ n|replace(7, 8) }} {{ s|replace('l', '', count=2) }} {{ missing|replace('a', 'b') }}|
{{ s|replace('o') }}
{{ l|length }} {{ s|length }} {{ u|length }} {{ d|length }} {{ l|count }} {{ ''|length }} {{ missing|length }} {{ range(4)|length }} {{ (1,2)|length }}
{{ n|length }}
{{ nil|length }}
{{ (l|map('string'))|length }}
{{ missing|default('x') }} {{ nil|default('x') }} {{ nil|default('x', true) }} {{ ''|default('x', true) }} {{ missing|d }}| {{ missing|d('y') }} {{ 0|d(5, boolean=true) }} {{ d.zz|default(d.a) }} {{ s|default('x') }} {{ missing|default(default_value='kw') }}
{{ missing.x|default('x') }}
{{ l|first }} {{ l|last }} {{ el|first }}| {{ el|last }}| {{ s|first }} {{ s|last }} {{ d|first }} {{ d|last }} {{ (l|map('string'))|first }} {{ missing|first }}| {{ u|last }} {{ ''|first }}|
{{ (l|map('string'))|last }}
{{ n|first }}
{{ l|join }} {{ l|join(', ') }} {{ users|join('/', attribute='name') }} {{ s|join('.') }} {{ d|join }} {{ mix|join('|') }} {{ missing|join(',') }}| {{ el|join }}| {{ l|join(0) }}
{{ n|join }}
{{ s|list }} {{ d|list }} {{ (1,2)|list }} {{ range(3)|list }} {{ missing|list }} {{ d.items()|list }} {{ l|map('string')|list }}
{{ n|list }}
{{ n|string }} {{ nil|string }} {{ l|string }} {{ f|string|length }} {{ missing|string }}| {{ t|string ~ 1 }}
{{ '42'|int }} {{ '42.9'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ 3.99|int }} {{ -3.99|int }} {{ true|int }} {{ none|int }} {{ ' 12 '|int }} {{ '1_000'|int }} {{ '0x1f'|int(base=16) }} {{ 'ff'|int(0, 16) }} {{ '101'|int(base=2) }} {{ '-5'|int }} {{ '+5'|int }} {{ ''|int }} {{ l|int }} {{ '1e3'|int }} {{ '_1'|int }} {{ '1__0'|int }} {{ 'inf'|int }} {{ 'nan'|int(9) }} {{ '٣'|length }}
{{ missing|int }}
{{ '1.5'|float }} {{ 'x'|float }} {{ 'x'|float(1.5) }} {{ 3|float }} {{ true|float }} {{ none|float }} {{ '1e3'|float }} {{ ' 2 '|float }} {{ 'inf'|float }} {{ '-Infinity'|float }} {{ 'NaN'|float }} {{ '1_0.5'|float }} {{ '.5'|float }} {{ '5.'|float }} {{ '+-5'|float }} {{ '1e400'|float }}
{{ -5|abs }} {{ neg|abs }} {{ -2.5|abs }} {{ true|abs }} {{ 0|abs }}
{{ s|abs }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.675|round(2) }} {{ 42|round }} {{ 42.55|round(1, 'floor') }} {{ 42.55|round(1, 'ceil') }} {{ 1234|round(-2) }} {{ 1250.0|round(-2) }} {{ -2.5|round }} {{ 42|round(0, 'floor') }} {{ 2.4|round(method='ceil') }} {{ 0.1|round(20) }} {{ 1e300|round(2) }} {{ 2.5|round|int }} {{ 15|round(-1) }} {{ 25|round(-1) }}
{{ 2.5|round(1, 'bogus') }}
{{ s|round }}
{{ [1, 2, 3]|sum }} {{ users|sum('age') }} {{ users|sum(attribute='age', start=100) }} {{ []|sum }} {{ [1.5, 2]|sum }} {{ [[1], [2]]|sum(start=[]) }} {{ []|sum(start=3) }}
{{ ['a']|sum }}
{{ ['a']|sum(start='') }}
{{ l|min }} {{ l|max }} {{ names|min }} {{ names|max }} {{ names|max(case_sensitive=true) }} {{ users|max(attribute='age') }} {{ el|min }}| {{ users|map(attribute='age')|min }} {{ [2, 2.0, 1]|max }}
{{ [1, 'a']|min }}
{{ names|sort }} {{ names|sort(case_sensitive=true) }} {{ l|sort(reverse=true) }} {{ users|sort(attribute='age')|map(attribute='name')|join(',') }} {{ users|sort(attribute='age,name', reverse=true)|map(attribute='name')|join(',') }} {{ s|sort|join }} {{ d|sort }} {{ nested|sort(attribute=1, reverse=true) }} {{ nested|sort(attribute='0') }}
{{ [1, 'a']|sort }}
{{ [1, none]|sort }}
{{ d|dictsort }}
{{ {'b': 1, 'A': 3, 'c': 2}|dictsort }} {{ {'b': 1, 'A': 3, 'c': 2}|dictsort(true) }} {{ {'b': 1, 'A': 3, 'c': 2}|dictsort(by='value') }} {{ {'b': 1, 'A': 3}|dictsort(false, 'key', true) }}
{{ d|dictsort(by='x') }}
{{ l|dictsort }}
{{ names|unique|list }} {{ names|unique(case_sensitive=true)|list }} {{ [1, 1.0, true, 2, '1']|unique|list }} {{ users|unique(attribute='age')|map(attribute='name')|list }} {{ 'abAB'|unique|join }}
{{ [[1], [1]]|unique|list }}
{{ l|reverse|list }} {{ s|reverse }} {{ u|reverse }} {{ d|reverse|list }} {{ (l|map('string')|reverse) }} {{ el|reverse|list }}
{{ n|reverse }}
{{ d|items|list }} {{ missing|items|list }} {{ ed|items|list }} {% for k, v in d|items %}{{ k }}={{ v }};{% endfor %}
{{ l|items|list }}
{{ l|map('string')|join('-') }} {{ names|map('upper')|list }} {{ users|map(attribute='name')|list }} {{ users[:2]|map(attribute='tags.0')|list }} {{ users|map(attribute='tags', default='none')|list }} {{ users|map(attribute='zz', default='-')|join }} {{ names|map('replace', 'o', '0')|list }} {{ nested|map('sum')|list }} {{ nested|map(attribute=0)|list }} {{ names|map('default', 'x')|list }} {{ ['1', '2']|map('int')|sum }}
{{ users|map(attribute='tags.0')|list }}
{{ l|map('nosuch')|list }}
{{ l|map(bogus=1)|list }}
{{ n|map('string')|list }}
{{ l|select('odd')|list }} {{ l|reject('odd')|list }} {{ mix|select|list }} {{ mix|reject|list }} {{ l|select('gt', 2)|list }} {{ l|select('in', [1, 2])|list }} {{ l|select('divisibleby', 2)|join }} {{ mix|select('string')|list }} {{ l|reject('equalto', 3)|list }} {{ l|select('==', 3)|list }}
{{ l|select('nosuch')|list }}
{{ users|selectattr('age', 'equalto', 30)|map(attribute='name')|list }} {{ users|rejectattr('age', 'gt', 26)|map(attribute='name')|list }} {{ users|selectattr('tags')|list|length }} {{ users|selectattr('tags', 'defined')|list|length }} {{ users|rejectattr('tags', 'undefined')|list|length }} {{ messages|selectattr('role', 'eq', 'user')|map(attribute='content')|join('+') }} {{ messages|selectattr('role', 'in', ['user', 'system'])|list|length }}
{% if messages|selectattr('role', 'equalto', 'nobody') %}truthy{% endif %} {% set g = l|map('string') %}{{ g|list }}{{ g|list }}{{ g|first }}| {% set h = l|map('string') %}{{ h|first }}{{ h|first }}{{ h|list }}
{{ lines|indent }} | {{ lines|indent(2) }} | {{ lines|indent(2, true) }} | {{ lines|indent(2, blank=true) }} | {{ lines|indent('>> ') }} | {{ ''|indent(first=true) }} | {{ 'a\n'|indent }}|
{{ n|indent }}
{{ missing|indent }}
{{ html|e }} {{ html|escape }} {{ html|safe }} {{ n|e }} {{ html|forceescape }} {{ quotes|e|length }}
{{ words|truncate(9) }} {{ words|truncate(9, true) }} {{ words|truncate(19) }} {{ words|truncate(15) }} {{ words|truncate(12, false, '…', 0) }} {{ 'short'|truncate }} {{ words|truncate(3) }} {{ words|truncate(length=10, leeway=0) }} {{ u|truncate(3, true, '', 0) }}
{{ words|truncate(2) }}
{{ words|wordcount }} {{ "don't stop-me now_ok"|wordcount }} {{ ''|wordcount }} [{{ 'ab'|center(6) }}] {{ '%s=%d'|format('a', 1) }} {{ '%(x)s'|format(x=3) }}
{{ '%s'|format('a', x=1) }}
{{ l|batch(2)|list }} {{ l|batch(2, 0)|list }} {{ l|batch(9)|list }} {{ el|batch(2)|list }} {{ l|slice(2)|list }} {{ l|slice(3, 'x')|list }} {{ [1]|slice(3)|list }} {{ el|slice(2)|list }}
{{ s|attr('upper')() }} {{ d|attr('a') }}| {{ s|attr('zz') }}|
{{ l|nosuchfilter }}
{{ l|join(',', 'a', 'b', 'c') }}
{{ s|upper(1) }}
{{ s|trim(bogus=1) }}
{{ s|upper|lower|length + 1 }} {{ -1|abs }} {{ 'a' ~ 'b'|upper }} {{ ('a' ~ 'b')|upper }} {{ 1 + '2'|int }} {{ not s|length > 100 }} {{ s|length == 11 }} {{ l|length - 1 }} {{ 'x' in s|lower }} {{ [1, 2]|first + 1 }} {{ (s|upper)[0] }} {{ s|list|last }}
'''

JSON = r'''
{{ mix|tojson }} {{ d|tojson }} {{ s|tojson }} {{ n|tojson }} {{ f|tojson }} {{ nil|tojson }} {{ t|tojson }} {{ el|tojson }} {{ ed|tojson }} {{ (1, 2)|tojson }} {{ u|tojson }} {{ html|tojson }}
{{ deep|tojson(indent=2) }}
{{ mix|tojson(indent=4) }} {{ el|tojson(indent=2) }} {{ [[]]|tojson(indent=1) }} {{ [1]|tojson(indent=0) }} {{ d|tojson(indent='--') }}
{{ ctl|tojson }} {{ '\u2028\x1f\b\f\r/'|tojson }} {{ u|tojson(ensure_ascii=true) }} {{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }} {{ d|tojson(separators=(',', ':')) }} {{ d|tojson(indent=2, separators=(',', ':')) }} {{ '\x7f\u00e9'|tojson(true) }}
{{ {1: 2, none: 3, true: 4, 1.5: 5}|tojson }} {{ [1e16, 1e-7, 0.1]|tojson }} {{ ('inf'|float)|tojson }} {{ [-0.0]|tojson }}
{{ missing|tojson }}
{{ {(1, 2): 3}|tojson }}
{{ d.items()|tojson }}
{{ range(3)|tojson }}
{{ range|tojson }}
{{ namespace(a=1)|tojson }}
{{ (l|map('string'))|tojson }}
{{ {'b': 1, 2: 3}|tojson(sort_keys=true) }}
{{ users[0]|tojson }} {{ messages[2]|tojson }} {{ {'a': [1, {'b': none}], 'c': {'d': []}}|tojson(indent=3) }}
'''

STATEMENTS = r'''
{% if n > 5 %}big{% elif n > 3 %}mid{% else %}small{% endif %}{% if no %}x{% elif nil %}y{% else %}z{% endif %}{% if missing %}m{% endif %}
{% if 1, 2 %}tuple{% endif %}
{% for i in l %}{{ i }}{% if not loop.last %},{% endif %}{% endfor %} {% for i in el %}x{% else %}none{% endfor %} {% for c in 'abc' %}[{{ c }}]{% endfor %} {% for k in d %}{{ k }}{% endfor %} {% for i in missing %}x{% else %}undef{% endfor %}
{% for i in nil %}{% endfor %}
{% for i in n %}{% endfor %}
{% for a, b in nested %}{{ a }}-{{ b }};{% endfor %} {% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %} {% for (a, b), c in [[(1, 2), 3]] %}{{ a }}{{ b }}{{ c }}{% endfor %} {% for a, b in ['xy'] %}{{ a }}{{ b }}{% endfor %}
{% for a, b in [[1]] %}{% endfor %}
{% for a, in [[1], [2]] %}{{ a }}{% endfor %}
{% set a, = [1] %}{{ a }}
{% for i in l, %}{{ i }}{% endfor %} {% for i in 1, 2 %}{{ i }}{% endfor %}
{% for a, b in [[1, 2, 3]] %}{% endfor %}
{% for a, b in [1] %}{% endfor %}
{% for i in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }};{% endfor %}
{% for i in l %}{{ loop.previtem|default('-') }}{{ loop.nextitem|default('-') }}{{ loop.cycle('a', 'b') }}{{ loop.changed(i // 3) }};{% endfor %} {% for i in [1] %}{{ loop }}{{ loop.nope }}|{{ loop|length }}{% endfor %}
{% for i in l if i is odd %}{{ loop.index }}:{{ i }}{{ loop.last }} {% endfor %}{% for i in l if i > 9 %}x{% else %}none{% endfor %} {% for m in messages if m.role == 'user' %}{{ m.content }}{{ loop.length }}{% endfor %}
{% for i in l if loop.index %}{% endfor %}
{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %} {% for i in [1, 2] %}{% for j in [1, 2, 3] %}{% if j == 2 %}{% break %}{% endif %}{{ i }}{{ j }};{% endfor %}{% endfor %} {% for i in [1] %}{% break %}{% else %}no{% endfor %}
{% break %}
{% if true %}{% continue %}{% endif %}
{% for i in l %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}
{% for i in [1, 2] %}{% for j in [] %}{% else %}{% break %}{% endfor %}{{ i }}{% endfor %}|
{% for i in [3, 1] recursive %}{{ i }}{% if i > 1 %}({{ loop([i - 1]) }}){% endif %}{% endfor %} {% for x in [[1, [2, [3]]]] recursive %}{% if x is iterable %}[{{ loop(x) }}]{% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}
{% for i in l %}{{ loop(l) }}{% endfor %}
{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(2, 8, 3) %}{{ i }}{% endfor %} {% for i in range(5, 0, -2) %}{{ i }}{% endfor %} {{ range(3) }} {{ range(1, 5, 2) }} {{ range(0)|list }} {{ range(3)[-1] }} {{ 2 in range(3) }} {{ range(true) }}
{{ range(1000000) }}
{{ range(1.5) }}
{{ range(1, 2, 0) }}
{{ range() }}
{% for loop in l %}{% endfor %}
{% for i in l %}{% set x = i %}{% endfor %}{{ x }}| {% set x = 0 %}{% for i in l %}{% set x = x + i %}{{ x }},{% endfor %}={{ x }} {% for i in l %}{% if i == 2 %}{% set y = 'seen' %}{% endif %}{{ y }}.{% endfor %}
{% set ns = namespace(x=0, y='a') %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ ns.z }}|{{ ns['x'] }} {{ ns }} {% set ns2 = namespace({'a': 1}, b=2) %}{{ ns2.a }}{{ ns2.b }} {% set ns2.c = [1] %}{{ ns2.c }}
{% set d.x = 1 %}
{% set missing.x = 1 %}
{% set ns = namespace() %}{{ ns.x.y }}
{% set a = 1 %}{% set a, b = 2, 3 %}{{ a }}{{ b }} {% set (c, d2) = [4, 5] %}{{ c }}{{ d2 }} {% set t2 = 1, 2 %}{{ t2 }} {% set e = [] %}{{ e }}
{% set a, b = [1] %}
{% set true = 1 %}
{% set 1 = 2 %}
{% set a b %}
{% set x %}block {{ n }}{% endset %}[{{ x }}] {% set x | upper %}abc{% endset %}{{ x }} {% set x | replace('b', 'c') | upper %}abc{% endset %}{{ x }} {% set ns = namespace() %}{% set ns.b %}in ns{% endset %}{{ ns.b }} {% set y %}{% set z = 1 %}{{ z }}{% endset %}{{ y }}{{ z }}|
{% macro f(a, b=2, c='x' ~ b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(1, c='z') }} {{ f(a=5) }} {{ f() }} {{ f.name }} {{ f(1)|length }} {{ f(b=1, a=none) }}
{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}
{% macro f(a) %}{% endmacro %}{{ f(b=1) }}
{% macro f(a) %}{{ a.x }}{% endmacro %}{{ f() }}
{% macro f(a, a) %}{% endmacro %}
{% macro f(a=1, b) %}{% endmacro %}
{% macro f(a, b=a) %}{{ b }}{% endmacro %}{{ f(7) }}
{% macro f() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ f(1, 2, x=3) }} {% macro g(a) %}{{ a }}{{ varargs|join }}{% endmacro %}{{ g(1, 2, 3) }} {{ g(*l) }} {% macro h(a, b) %}{{ a }}-{{ b }}{% endmacro %}{{ h(**{'b': 1, 'a': 2}) }} {{ h(1, *[2]) }} {{ h(*[1], b=3) }}
{% macro h(a) %}{% endmacro %}{{ h(**[1]) }}
{% macro h(a) %}{{ a }}{% endmacro %}{{ h(a=1, **{'a': 2}) }}
{{ dict(a=1, a=2) }}
{% macro outer(x) %}<{{ caller() }}{{ x }}>{% endmacro %}{% call outer('y') %}body{{ n }}{% endcall %} {% macro each(items) %}{% for i in items %}{{ caller(i, loop.index) }}{% endfor %}{% endmacro %}{% call(a, b) each(['p', 'q']) %}{{ b }}{{ a }};{% endcall %} {% call(a, b='dflt') each([1]) %}{{ a }}{{ b }}{% endcall %}
{% macro f() %}x{% endmacro %}{% call f() %}{% endcall %}
{% macro f() %}{{ caller }}{% endmacro %}[{{ f() }}]
{% macro f() %}{{ caller() }}{% endmacro %}{{ f() }}
{% macro fact(k) %}{% if k < 2 %}1{% else %}{{ k * fact(k - 1)|int }}{% endif %}{% endmacro %}{{ fact(6) }} {% macro show(x) %}{% if x is mapping %}{ {%- for k, v in x.items() %}{{ k }}:{{ show(v) }}{{ ',' if not loop.last }}{% endfor -%} }{% elif x is iterable and x is not string %}[{% for v in x %}{{ show(v) }}{{ ',' if not loop.last }}{% endfor %}]{% else %}{{ x }}{% endif %}{% endmacro %}{{ show(deep) }} {{ show(mix) }}
{% macro f() %}{{ later }}{% endmacro %}{% set later = 'now' %}{{ f() }} {% macro g() %}{{ l[0] }}{% set inner = 1 %}{% endmacro %}{{ g() }}{{ inner }}| {% if true %}{% macro cond() %}c{% endmacro %}{% endif %}{{ cond() }}
{{ undefined_macro() }}
{% macro f() %}{% for i in [1, 2] %}{{ i }}{% endfor %}{{ loop is defined }}{% endmacro %}{% for z in [9] %}{{ f() }}{% endfor %}
{% filter upper %}abc {{ s }}{% endfilter %} {% filter replace('a', 'b')|upper %}banana{% endfilter %} {% filter indent(2, true) %}x{% endfilter %}
{% with a = 1, b = n %}{{ a }}{{ b }}{% endwith %}{{ a }}| {% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}| {% set a = 5 %}{% with a = a + 1, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}
{% generation %}assistant {{ n }}{% set g = 1 %}{% endgeneration %}{{ g }}|
{{ dict(a=1, b=2) }} {{ dict(d, z=9) }} {{ dict([['x', 1]]) }} {{ dict() }} {% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set r = c.reset() %}{{ c.next() }} {% set j = joiner('|') %}{{ j() }}a{{ j() }}b {% set k = joiner() %}{{ k() }}a{{ k() }}b
{{ raise_exception('stop ' ~ n) }}
{{ raise_exception() }}
{% if no %}{{ raise_exception('never') }}{% endif %}fine
{{ n() }}
{{ 'abc'() }}
{% endif %}
{% if n %}
{% for i in l %}{% endif %}
{% nosuchtag %}
{% else %}
{% for %}{% endfor %}
{% for x l %}{% endfor %}
{% if %}{% endif %}
{% %}
{{ loop }}|{{ loop is defined }} {% for i in [1] %}{% set outer = loop %}{% for j in [1, 2] %}{{ outer.index }}{{ loop.index }}{% endfor %}{% endfor %}
{% set x = 'a' %}{% if true %}{% set x = 'b' %}{% endif %}{{ x }} {% set l = [9] %}{{ l }} {% set n = n + 1 %}{{ n }}
{{ messages[0].role }} {{ messages[-1]['content'] }} {{ (messages|last).content }} {{ messages[1:]|length }} {{ 'role' in messages[0] }} {{ messages[0].get('name', 'none') }} {{ messages|map(attribute='role')|unique|join(',') }}
{%- set c = messages[2].content %}{{ c.split('</t>')[-1].lstrip('\n') }}|{{ c.split('</t>')[0].rstrip('\n').split('<t>')[-1].lstrip('\n') }}
'''

# Named so that the golden file stays readable: (source, context) where white space matters.
WHITESPACE = [
    ("a\n{% if true %}\nb\n{% endif %}\nc\n", {}),
    ("a\n  {% if true %}  \nb\n\t{% endif %}\nc\n\n", {}),
    ("  {{ 1 }}\n  {# c #}\n  {% set x = 1 %}\n{{ x }}\n", {}),
    ("a  {%- if true -%}  b  {%- endif -%}  c\n{{- 'd' -}}\n  e {#- x -#} f", {}),
    ("  {%+ if true %}x{% endif +%}\ny\n", {}),
    ("  {%+ if true +%}\n x{% endif %}", {}),
    ("x\n\n", {}), ("x\n", {}), ("\n", {}), ("", {}), ("\n\nx", {}),
    ("a\r\n{% if true %}\r\nb\r\n{% endif %}\r\nc", {}),
    ("a\rb\r", {}), ("{{ 'a\r\nb' }}", {}),
    ("{% raw %}{{ x }}{% endraw %}{{ '{{' }}{{ '%}' }}", {}),
    ("{% raw %}\n  {% if %}\n{% endraw %}\nz", {}),
    ("{%- raw -%}  {{ a }}  {%- endraw -%}  b", {}),
    ("  {% raw %} a {% endraw %} b", {}),
    ("{% raw %}never closed", {}), ("{# never closed", {}), ("{{ 'never closed", {}), ("{% if x", {}),
    ("{{ x", {}), ("text {", {}), ("{ {x} }", {}), ("{{ '}}' }}{{ \"%}\" }}", {}),
    ("{# {{ x }} {% if %} #}ok", {}), ("{# a #}\n{# b #}\nc", {}), ("a {#+ keep +#}\nb", {}), ("{#-#}x", {}),
    ("{#--#}x", {}), ("a{##}b", {}),
    ("{{- 1 }} {{ 2 -}} {{ 3 }}", {}), ("a {{+ 1 }} b", {}), ("{{-1}}", {}), ("{{ -1 }}", {}),
    ("{%if true%}tight{%endif%}", {}), ("{%- if true %} x {% endif -%} y", {}),
    ("<p>\n    {% for i in l %}\n    <li>{{ i }}</li>\n    {% endfor %}\n</p>", {"l": [1, 2]}),
    ("{% for i in l -%}\n  {{ i }}\n{%- endfor %}", {"l": [1, 2]}),
    ("{% for i in l %}\n  {{- i }},\n{%- endfor %}", {"l": [1, 2]}),
    ("a \u00a0{%- if true %}b{% endif -%}\u3000c", {}), ("\u00a0{% if true %}b{% endif %}", {}),
    ("{% set x %}\nl1\nl2\n{% endset %}\n[{{ x }}]", {}), ("{{ 'a' }}\n{{ 'b' }}\n", {}),
    ("x {% if true %}\n  y\n  {% endif %}\n z", {}), ("{% if true %}a\n{% endif %}\n\nb", {}),
    ("  \n  {% if true %}q{% endif %}", {}), ("\t{% if true %}\tq{% endif %}\t\n", {}),
    ("{{ {'a': 1}}}", {}), ("{{ {'a': {'b': 2}}['a']['b'] }}", {}), ("{{{'a': 1}['a']}}", {}),
    ("line1\n{{ x }}\n   {%- if true %}\n  deep\n{%- endif %}\nend", {"x": "v"}),
    ("{% if true %}{{ 'a' }}{% endif %}\n{% if true %}\n{{ 'b' }}\n{% endif %}\n", {}),
    ("{%\nif true\n%}\nx{% endif\n-%}\n y", {}), ("{{\n'a'\n~\n'b'\n}}", {}),
    ("{% if true -%}\n\n\n a{% endif %}", {}), ("{{ 'a' -}}\n\n\n b", {}), ("a\n\n\n{{- 'b' }}", {}),
]


def snippets():
    """Pairs of source and context; one snippet a line, or more where an escaped newline continues it."""
    found = []
    for group in (LITERALS, ARITHMETIC, COMPARISON, TESTS, ACCESS, STRINGS, FILTERS, JSON, STATEMENTS):
        for source in merge(group.strip("\n").split("\n")):
            found.append((source, SHARED))
    return found + WHITESPACE


def merge(lines):
    merged = []
    for line in lines:
        if merged and not line.startswith(("{", "[")):
            merged[-1] += "\n" + line
        else:
            merged.append(line)
    return merged
