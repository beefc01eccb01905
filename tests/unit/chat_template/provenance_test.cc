// SPDX-License-Identifier: Apache-2.0
// What a template does to the request's words does not make them the template's.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

// Renders with `x` = "iN put", `l` = ["a", "b"] and `d` = {"k": "v"} written by the request.
std::string render(const std::string& source) {
  const Value globals = Value::dict(
      {{Text("x"), Value::input_string("iN put")},
       {Text("l"), Value::list({Value::input_string("a"), Value::input_string("b")})},
       {Text("d"), Value::dict({{Text::input("k"), Value::input_string("v")}})},
       {Text("messages"),
        Value::list({Value::dict({{Text("content"), Value::input_string("<|end|>")}})})}});
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  if (!chat) return "error: " + chat.error().message;
  const Result<Rendered> rendered = chat->render(globals, {{}, fixed_time});
  if (!rendered) return "error: " + rendered.error().message;
  return show_input(rendered->text, rendered->input_ranges);
}

TEST(ProvenanceTest, TemplateTextIsItsOwnAndContentIsInput) {
  EXPECT_EQ(render("<|start|>{{ messages[0].content }}<|end|>"), "<|start|>[<|end|>]<|end|>");
  EXPECT_EQ(render("{{ '<|start|>' + messages[0]['content'] + '<|end|>' }}"),
            "<|start|>[<|end|>]<|end|>");
}

TEST(ProvenanceTest, OperatorsKeepIt) {
  EXPECT_EQ(render("{{ 'a' + x + 'b' }}"), "a[iN put]b");
  EXPECT_EQ(render("{{ x ~ 1 ~ x }}"), "[iN put]1[iN put]");
  EXPECT_EQ(render("{{ ('-' ~ x) * 2 }}"), "-[iN put]-[iN put]");
  EXPECT_EQ(render("{{ '<%s|%4s>' % (x, l[0]) }}"), "<[iN put]|   [a]>");
  EXPECT_EQ(render("{{ x % () }}"), "[iN put]");
}

TEST(ProvenanceTest, SlicesAndItemsKeepIt) {
  EXPECT_EQ(render("{{ ('ab' ~ x ~ 'cd')[1:4] }}"), "b[iN]");
  EXPECT_EQ(render("{{ ('ab' ~ x)[::-1] }}"), "[tup Ni]ba");
  EXPECT_EQ(render("{{ x[0] }}{{ x|first }}{{ x|last }}"), "[iit]");
  EXPECT_EQ(render("{% for c in 'z' ~ l[0] %}({{ c }}){% endfor %}"), "(z)([a])");
}

TEST(ProvenanceTest, MethodsKeepIt) {
  EXPECT_EQ(render("{{ (' ' ~ x ~ ' ').strip() }}"), "[iN put]");
  EXPECT_EQ(render("{{ x.upper() }}{{ x.title() }}{{ ('a' ~ x).capitalize() }}"),
            "[IN PUTIn Put]A[in put]");
  EXPECT_EQ(render("{{ x.replace('N', 'M') }}"), "[i]M[ put]");
  EXPECT_EQ(render("{{ 'a-b'.replace('-', x) }}"), "a[iN put]b");
  EXPECT_EQ(render("{{ x.split(' ')|join('/') }}"), "[iN]/[put]");
  EXPECT_EQ(render("{{ x.join(['1', '2']) }}"), "1[iN put]2");
  EXPECT_EQ(render("{{ x.partition(' ')|join }}"), "[iN] [put]");
  EXPECT_EQ(render("{{ l[0].center(3, '*') }}{{ '1'.zfill(2) }}{{ '1'.rjust(2, l[0]) }}"),
            "*[a]*01[a]1");
  EXPECT_EQ(render("{{ 'q'.removeprefix(x) }}{{ x.removesuffix('put') }}"), "q[iN ]");
}

TEST(ProvenanceTest, FiltersKeepIt) {
  EXPECT_EQ(render("{{ x|upper }}{{ x|title }}{{ x|trim }}{{ x|reverse }}"),
            "[IN PUTIn PutiN puttup Ni]");
  EXPECT_EQ(render("{{ ('<' ~ x)|e }}{{ ('&' ~ '<')|e }}"), "&lt;[iN put]&amp;&lt;");
  EXPECT_EQ(render("{{ l|join(', ') }}"), "[a], [b]");
  EXPECT_EQ(render("{{ (x ~ '\n' ~ x)|indent(2, true) }}"), "  [iN put]\n  [iN put]");
  EXPECT_EQ(render("{{ x|truncate(4, true, '..', 0) }}"), "[iN]..");
  EXPECT_EQ(render("{{ x|replace(' ', '_') }}{{ x|string }}{{ x|safe }}{{ missing|default(x) }}"),
            "[iN]_[putiN putiN putiN put]");
  EXPECT_EQ(render("{{ l|map('upper')|list|sort(reverse=true)|join('-') }}"), "[B]-[A]");
  EXPECT_EQ(render("{{ '%s!'|format(x) }}"), "[iN put]!");
}

TEST(ProvenanceTest, PrintedContainersKeepIt) {
  EXPECT_EQ(render("{{ l }}{{ d }}"), "['[a]', '[b]']{'[k]': '[v]'}");
  EXPECT_EQ(render("{{ d|tojson }}{{ l|tojson(indent=1) }}"),
            "{\"[k]\": \"[v]\"}[\n \"[a]\",\n \"[b]\"\n]");
  EXPECT_EQ(render("{{ ('a\"' ~ l[0] ~ '\"')|tojson }}"), "\"a\\\"[a]\\\"\"");
  EXPECT_EQ(render("{{ x.splitlines() }}{{ [x ~ '\n'] }}"), "['[iN put]']['[iN put]\\n']");
  EXPECT_EQ(render("{{ d.items()|list }}{{ d|dictsort }}"), "[('[k]', '[v]')][('[k]', '[v]')]");
}

TEST(ProvenanceTest, KeysKeepItThroughLoopsAndCalls) {
  EXPECT_EQ(render("{% for k, v in d.items() %}{{ k }}={{ v }}{% endfor %}"), "[k]=[v]");
  EXPECT_EQ(render("{% for k in d %}{{ k }}{% endfor %}{{ d|list }}"), "[k]['[k]']");
  EXPECT_EQ(render("{{ dict(**d) }}{{ dict(d, z=1) }}"), "{'[k]': '[v]'}{'[k]': '[v]', 'z': 1}");
  EXPECT_EQ(render("{{ namespace(**d) }}{{ namespace(d) }}"),
            "<Namespace {'[k]': '[v]'}><Namespace {'[k]': '[v]'}>");
  EXPECT_EQ(render("{% macro m() %}{{ kwargs }}{% endmacro %}{{ m(**d) }}"), "{'[k]': '[v]'}");
}

TEST(ProvenanceTest, StatementsKeepIt) {
  EXPECT_EQ(render("{% set y = x %}{% set z %}<{{ y }}>{% endset %}{{ z }}"), "<[iN put]>");
  EXPECT_EQ(render("{% macro m(a, b=x) %}{{ a }}-{{ b }}{% endmacro %}{{ m(l[0]) }}"),
            "[a]-[iN put]");
  EXPECT_EQ(render("{% filter upper %}own {{ x }}{% endfilter %}"), "OWN [IN PUT]");
  EXPECT_EQ(
      render("{% macro m() %}({{ caller() }}){% endmacro %}{% call m() %}{{ x }}{% endcall %}"),
      "([iN put])");
  EXPECT_EQ(render("{% set ns = namespace(a='') %}{% for i in l %}{% set ns.a = ns.a + i + ',' %}"
                   "{% endfor %}{{ ns.a }}"),
            "[a],[b],");
  EXPECT_EQ(render("{% for i in [1] recursive %}{{ x }}{% endfor %}{{ x if x else '' }}"),
            "[iN putiN put]");
}

TEST(ProvenanceTest, AFormatFromTheRequestGivesAnInputDate) {
  const Value globals = Value::dict({{Text("f"), Value::input_string("%Y")}});
  const Result<ChatTemplate> chat =
      ChatTemplate::parse("{{ strftime_now(f) }}{{ strftime_now('%d') }}");
  const Result<Rendered> rendered = chat->render(globals, {{}, fixed_time});
  EXPECT_EQ(show_input(rendered->text, rendered->input_ranges), "[2024]29");
}

// A character of the template's own, chosen by the request's, is the template's.
TEST(ProvenanceTest, LookingUpWithInputGivesTheTemplatesText) {
  EXPECT_EQ(render("{{ {'a': '<|tool|>'}[l[0]] }}"), "<|tool|>");
}

}  // namespace
}  // namespace tvllm::chat_template
