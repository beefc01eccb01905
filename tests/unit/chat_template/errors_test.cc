// SPDX-License-Identifier: Apache-2.0
// Errors say what was expected, what was found, and on which line.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

Error parse_error(const std::string& source) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  EXPECT_FALSE(chat) << source;
  return chat ? Error{} : chat.error();
}

Error render_error(const std::string& source) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  EXPECT_TRUE(chat) << chat.error().message;
  const Result<Rendered> rendered = chat->render(
      Value::dict({{Text("d"), Value::dict({{Text("a"), Value::none()}})}}), {{}, fixed_time});
  EXPECT_FALSE(rendered) << source;
  return rendered ? Error{} : rendered.error();
}

TEST(ErrorsTest, WhatIsNotSupportedIsRefusedAtLoadByConstructAndLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{% include 'a' %}", "the statement 'include' is not supported"},
      {"{% extends 'a' %}", "the statement 'extends' is not supported"},
      {"{% import 'a' as b %}", "the statement 'import' is not supported"},
      {"{% from 'a' import b %}", "the statement 'from' is not supported"},
      {"{% block a %}{% endblock %}", "the statement 'block' is not supported"},
      {"{% autoescape true %}{% endautoescape %}", "the statement 'autoescape' is not supported"},
      {"{% do x %}", "the statement 'do' is not supported"},
      {"{% trans %}x{% endtrans %}", "the statement 'trans' is not supported"},
      {"{{ x|groupby('a') }}", "the filter 'groupby' is not supported"},
      {"{{ x|urlize }}", "the filter 'urlize' is not supported"},
      {"{{ 'a'.format(1) }}", "the method 'format()' is not supported"},
      {"{{ x.encode() }}", "the method 'encode()' is not supported"},
      {"{{ lipsum(1) }}", "the function 'lipsum()' is not supported"},
      {"{{ '\\N{BULLET}' }}", "a character by name (\\N{...}) is not supported"},
      {"{{ x[1, 2] }}", "more than one subscript is not supported"},
  };
  for (const auto& [source, message] : cases) {
    const Error error = parse_error("line 1\nline 2\n" + source);
    EXPECT_EQ(error.code, ErrorCode::kUnsupported) << source;
    EXPECT_EQ(error.message, "chat template, line 3: " + message);
  }
}

// Even where it would never run.
TEST(ErrorsTest, WhatIsNotSupportedIsFoundInUnusedBranches) {
  EXPECT_EQ(parse_error("{% if false %}\n{{ x|pprint }}{% endif %}").message,
            "chat template, line 2: the filter 'pprint' is not supported");
  EXPECT_EQ(parse_error("{% macro m() %}{{ x|nope }}{% endmacro %}").message,
            "chat template, line 1: there is no filter named 'nope'");
  EXPECT_EQ(parse_error("{{ x is nope }}").message,
            "chat template, line 1: there is no test named 'nope'");
}

TEST(ErrorsTest, SyntaxErrorsSayWhatWasExpectedAndFound) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n{{ x", "line 2: expected '}}', found end of template"},
      {"\n{% if x %}\ny", "line 3: expected 'endif', found end of template"},
      {"{{ 1 +\n }}", "line 2: expected an expression, found '}}'"},
      {"{{ (1 ]\n }}", "line 1: unexpected ']', expected ')'"},
      {"{% for x l %}", "line 1: expected 'in', found 'l'"},
      {"{% endfor %}", "line 1: unknown statement 'endfor'"},
      {"{% 1 %}", "line 1: expected the name of a statement, found '1'"},
      {"{{ x.'a' }}", "line 1: expected a name or a number after '.', found 'a'"},
      {"{{ x| }}", "line 1: expected the name of a filter, found '}}'"},
      {"{{ f(a=1, 2) }}", "line 1: an argument stands behind those that must be last"},
      {"{{ f(a=1, a=2) }}", "line 1: the argument 'a' is given twice"},
      {"{% set none = 1 %}", "line 1: cannot assign to 'none'"},
      {"{% macro f(a, a) %}{% endmacro %}", "line 1: the parameter 'a' is given twice"},
      {"{% call 1 %}{% endcall %}", "line 1: expected a call after 'call'"},
      {"{# x", "line 1: a comment is never closed: expected '#}'"},
      {"a\n{% raw %}\nx", "line 2: a raw block is never closed: expected '{% endraw %}'"},
      {"{{ 'abc }}", "line 1: a string is never closed"},
      {"{{ '\\xZZ' }}", "line 1: expected 2 hex digits after \\x"},
      {"{{ '\\u12' }}", "line 1: expected 4 hex digits after \\u"},
      {"{{ '\\U00110000' }}", "line 1: an escape names a code point that is no character"},
      {"{{ '\\ud800' }}", "line 1: an escape names a code point that is no character"},
      {"{{ '\\ud800\\u0041' }}", "line 1: an escape names a code point that is no character"},
      {"{{ 9223372036854775808 }}",
       "line 1: the integer '9223372036854775808' does not fit 64 bits"},
      {"{{ 1e999 }}", "line 1: the number '1e999' is out of range"},
      {"{{ a $ b }}", "line 1: unexpected character '$'"},
      {"{{ \xE2\x80\x9Cx }}", "line 1: unexpected character '\\xe2\\x80\\x9c'"},
      {"{% break %}", "line 1: 'break' outside of a loop"},
      {"{% for i in x %}{% generation %}{% continue %}{% endgeneration %}{% endfor %}",
       "line 1: 'continue' outside of a loop"},
  };
  for (const auto& [source, message] : cases) {
    const Error error = parse_error(source);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << source;
    EXPECT_EQ(error.message, "chat template, " + message) << source;
  }
  EXPECT_EQ(parse_error("a\xFF").message, "chat template: the source is not UTF-8");
}

TEST(ErrorsTest, SurrogatePairsOfTwoEscapesAreOneCharacter) {
  EXPECT_EQ(render_text("{{ '\\ud83d\\ude00'|length }}"), "1");
}

TEST(ErrorsTest, RenderErrorsSayWhyAndWhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n{{ d.x.y }}", "line 2: 'dict object' has no attribute 'x'"},
      {"{{ x.y }}", "line 1: 'x' is undefined"},
      {"{{ 'a' + d.a }}", "line 1: can only concatenate str (not \"NoneType\") to str"},
      {"{{ 1\n+ d }}", "line 1: unsupported operand types for +: int and dict"},
      {"{{ d.a.strip() }}", "line 1: 'None' has no attribute 'strip'"},
      {"{{ d|length\n > 'a' }}", "line 1: unsupported operand types for >: int and str"},
      {"{% for a in d.a %}{% endfor %}", "line 1: 'NoneType' object is not iterable"},
      {"{% for a, b in [\n[1]] %}{% endfor %}", "line 1: expected 2 values to unpack, found 1"},
      {"{{ d.update({}) }}", "line 1: access to attribute 'update' of 'dict object' is unsafe"},
      {"{{ 9223372036854775807 + 1 }}", "line 1: the result of + does not fit 64 bits"},
      {"{{ 9223372036854775807 * 2 }}", "line 1: the result of * does not fit 64 bits"},
      {"{{ -9223372036854775807 - 2 }}", "line 1: the result of - does not fit 64 bits"},
      {"{{ 2 ** 63 }}", "line 1: the result of ** does not fit 64 bits"},
      {"{{ (-9223372036854775807 - 1) // -1 }}", "line 1: the result of // does not fit 64 bits"},
      {"{{ -(-9223372036854775807 - 1) }}", "line 1: the result of - does not fit 64 bits"},
      {"{{ (-9223372036854775807 - 1)|abs }}", "line 1: the result of - does not fit 64 bits"},
      {"{{ '9999999999999999999'|int }}", "line 1: the number does not fit 64 bits"},
      {"{{ 1e300|int }}", "line 1: the number does not fit 64 bits"},
      {"{{ (-8) ** 0.5 }}", "line 1: complex numbers are not supported"},
      {"{{ 10.0 ** 400 }}", "line 1: the result of ** is out of range"},
      {"{{ strftime_now('%Q') }}", "line 1: strftime_now(): unknown conversion '%Q'"},
      {"{{ strftime_now('%') }}", "line 1: strftime_now(): unknown conversion '%'"},
      {"{{ strftime_now(1) }}", "line 1: strftime_now(): 'format' must be a str, found int"},
      {"{% set ns = 1 %}\n{% set ns.a = 1 %}",
       "line 2: cannot assign to an attribute of 'ns': it is not a namespace"},
      {"{% macro m(a) %}\n{{ a.b }}{% endmacro %}{{ m() }}",
       "line 2: parameter 'a' was not provided"},
      {"{% macro m() %}{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}", "line 1: division by zero"},
      {"{{ range(1, 2, 3, 4) }}", "line 1: range() takes 1 to 3 arguments by place"},
      {"{{ namespace({1: 2}) }}", "line 1: the names of a namespace must be str"},
      {"{{ '%*d' % 1 }}", "line 1: the conversion '%*' of a format is not supported"},
      {"{{ joiner(1) }}", "line 1: joiner(): 'sep' must be a str, found int"},
      {"{{ cycler() }}", "line 1: cycler() needs at least one item"},
      {"{% set ns = namespace() %}{% for i in [1] recursive %}{% set ns.l = loop %}{% endfor %}"
       "{{ ns.l([1]) }}",
       "line 1: only the running 'loop' of a for with 'recursive' can be called"},
  };
  for (const auto& [source, message] : cases) {
    const Error error = render_error(source);
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << source;
    EXPECT_EQ(error.message, "chat template, " + message) << source;
  }
}

TEST(ErrorsTest, RaiseExceptionGivesTheTemplatesWordsUnchanged) {
  const Error error = render_error("{{ raise_exception('Roles must ' ~ \"alternate!\") }}");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "Roles must alternate!");
}

// After the loop, `loop` still answers as in its last turn.
TEST(ErrorsTest, ALoopThatHasEndedAnswersAsInItsLastTurn) {
  EXPECT_EQ(render_text("{% set ns = namespace() %}{% for i in [1, 2] %}{% set ns.l = loop %}"
                        "{% endfor %}{{ ns.l.index }}{{ ns.l.last }}{{ ns.l.nextitem is defined }}"
                        "{{ ns.l.revindex0 }}{{ ns.l.previtem }}"),
            "2TrueFalse01");
}

}  // namespace
}  // namespace tvllm::chat_template
