// SPDX-License-Identifier: Apache-2.0
// A template can neither hang, nor grow, nor overflow the stack: each limit at its edge and past
// it.
#include <gtest/gtest.h>
#include <pthread.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/strings.h"
#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i)
    text += part;
  return text;
}

std::string parse_error(const std::string& source, const ParseLimits& limits = {}) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source, limits);
  return chat ? "" : chat.error().message;
}

Result<Rendered> render(const std::string& source, const RenderLimits& limits = {}) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  EXPECT_TRUE(chat) << chat.error().message;
  return chat->render(Value::dict(std::vector<std::pair<Text, Value>>()), {limits, fixed_time});
}

// The error of a render that must end soon.
Error error_of(const std::string& source, const RenderLimits& limits = {}) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<Rendered> rendered = render(source, limits);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20)) << source;
  EXPECT_FALSE(rendered) << source;
  return rendered ? Error{} : rendered.error();
}

TEST(ParseLimitsTest, SourceMayBeAsLongAsTheLimit) {
  ParseLimits limits;
  limits.max_source_bytes = 10;
  EXPECT_EQ(parse_error(std::string(10, 'x'), limits), "");
  EXPECT_EQ(parse_error(std::string(11, 'x'), limits),
            "chat template: the source has 11 bytes, the limit is 10");
}

TEST(ParseLimitsTest, NestingEndsInAnErrorNotInTheStack) {
  const int many = 60'000;
  for (const auto& [open, close] : std::vector<std::pair<std::string, std::string>>{
           {"{{ " + repeated("(", many), "1" + repeated(")", many) + " }}"},
           {"{{ " + repeated("[", many), repeated("]", many) + " }}"},
           {"{{ " + repeated("{1:", many / 2), "1" + repeated("}", many / 2) + " }}"},
           {"{{ " + repeated("not ", many), "1 }}"},
           {"{{ " + repeated("-", many), "1 }}"},
           {"{{ a" + repeated(".b", many), " }}"},
           {"{{ a" + repeated("[0]", many), " }}"},
           {"{{ a" + repeated("()", many), " }}"},
           {"{{ a" + repeated("|e", many), " }}"},
           {"{{ a" + repeated(" is defined|e", many / 10), " }}"},
           {"{{ 1" + repeated(" if 1", many / 2), " }}"},
           {"{{ 1" + repeated(" if 1 else 1", many / 4), " }}"},
           {repeated("{%if 1%}", many / 2), ""},
           {repeated("{%for a in b%}", many / 4), ""},
           {repeated("{%set a%}", many / 4), ""},
           {"{% for " + repeated("(", many), "a" + repeated(")", many) + " in b %}{% endfor %}"},
           {repeated("{%macro m()%}", many / 4), ""},
           {"{{ f" + repeated("(f", many), repeated(")", many) + " }}"},
           {"{{ a" + repeated("[a", many), repeated("]", many) + " }}"}}) {
    EXPECT_NE(parse_error(open + close).find("nested more than 100 levels deep"), std::string::npos)
        << open.substr(0, 30) << ": " << parse_error(open + close).substr(0, 200);
  }
}

TEST(ParseLimitsTest, NestingMayReachTheLimit) {
  ParseLimits limits;
  limits.max_nesting = 20;
  // The body counts one level; the innermost expression, and each bracket around it, two.
  EXPECT_EQ(parse_error("{{ " + repeated("(", 8) + "1" + repeated(")", 8) + " }}", limits), "");
  EXPECT_NE(parse_error("{{ " + repeated("(", 9) + "1" + repeated(")", 9) + " }}", limits), "");
  EXPECT_EQ(parse_error("{{ a" + repeated(".b", 19) + " }}", limits), "");
  EXPECT_NE(parse_error("{{ a" + repeated(".b", 20) + " }}", limits), "");
}

TEST(ParseLimitsTest, LongChainsOfOneOperatorAreNotDeep) {
  const std::string sum = "{{ 1" + repeated(" + 1", 20'000) + " }}";
  EXPECT_EQ(render(sum)->text, "20001");
  const std::string text = "{{ 'a'" + repeated(" ~ 'a'", 20'000) + " }}";
  EXPECT_EQ(render(text)->text.size(), 20'001u);
  EXPECT_EQ(render("{{ 0" + repeated(" or 0", 20'000) + " }}")->text, "0");
  EXPECT_EQ(render("{{ 1" + repeated(" == 1", 20'000) + " }}")->text, "True");
  EXPECT_EQ(render("{% if 0 %}" + repeated("{%elif 0%}", 10'000) + "{% endif %}")->text, "");
}

TEST(RenderLimitsTest, StepsMayBeUsedUpAndNotExceeded) {
  // A body of one statement with one name: 2 steps.
  RenderLimits limits;
  limits.max_steps = 2;
  EXPECT_TRUE(render("{{ a }}", limits));
  limits.max_steps = 1;
  const Error error = error_of("{{ a }}", limits);
  EXPECT_EQ(error.code, ErrorCode::kTooLarge);
  EXPECT_EQ(error.message, "chat template, line 1: rendering took more than 1 steps");
}

TEST(RenderLimitsTest, OutputMayBeAsLongAsTheLimit) {
  RenderLimits limits;
  limits.max_output_bytes = 6;
  EXPECT_EQ(render("abc{{ 'd' * 3 }}", limits)->text, "abcddd");
  for (const char* source : {"abc{{ 'd' * 4 }}", "abcdefg", "{{ 'd' * 7 }}{{ 1 }}",
                             "{% set a = 'abcd' ~ 'efg' %}", "{{ 'abcd' + 'efg' }}"}) {
    const Error error = error_of(source, limits);
    EXPECT_EQ(error.code, ErrorCode::kTooLarge) << source;
    EXPECT_NE(error.message.find("grew past the limit of 6 bytes"), std::string::npos)
        << error.message;
  }
}

TEST(RenderLimitsTest, WhatWouldBeHugeFailsBeforeItIsMade) {
  for (const char* source : {
           "{{ 'x' * 1000000000 }}",
           "{{ 'x' * 9223372036854775807 }}",
           "{{ [1] * 1000000000 }}",
           "{{ [1] * 9223372036854775807 }}",
           "{{ range(1000000000) }}",
           "{{ range(-9223372036854775807, 9223372036854775807) }}",
           "{{ 'x'.center(1000000000) }}",
           "{{ 'x'.zfill(9223372036854775807) }}",
           "{{ '%1000000d' % 1 }}{{ '%9999999d' % 1 }}",
           "{{ 1|string|center(1000000000) }}",
           "{{ 'a\nb'|indent(1000000000) }}",
           "{{ [[1]]|tojson(indent=1000000000) }}",
           "{{ [1]|batch(1000000000, 0)|list }}",
           "{{ [1]|slice(1000000000)|list }}",
           "{{ ('x' * 4000000).replace('x', 'yy') }}",
           "{{ ('x' * 4000000).replace('', 'y') }}",
           "{{ ('x' * 4000000)|list }}",
           "{{ ('x ' * 2000000).split() }}",
           "{{ ',' .join(('x,' * 1000000).split(',')) }}",
       }) {
    error_of(source);
  }
}

TEST(RenderLimitsTest, LoopsOfLoopsEnd) {
  for (const char* source : {
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% set ns = namespace(s='x') %}{% for i in range(99999) %}{% set ns.s = ns.s ~ ns.s "
           "%}{% endfor %}",
           "{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = ns.l + ns.l "
           "%}{% endfor %}",
           "{% set s = 'x' * 4000000 %}{% for i in range(99999) %}{{ 'y' in s }}{% endfor %}",
           "{% set s = 'x' * 4000000 %}{% for i in range(99999) %}{{ s == s ~ '' }}{% endfor %}",
           "{% set s = 'x' * 4000000 %}{% for i in range(99999) %}{{ s|length }}{% endfor %}",
           "{% set s = 'x' * 4000000 %}{% for i in range(99999) %}{{ s[1] }}{% endfor %}",
           "{% set s = 'x' * 4000000 %}{% for i in range(99999) %}{{ s|upper|first }}{% endfor %}",
           "{% set l = range(99999) %}{% for i in l %}{% set x = l|list %}{% endfor %}",
           "{% set l = range(99999) %}{% for i in l %}{% set x = l|reverse|first %}{% endfor %}",
           "{% set l = range(99999)|list %}{% for i in l %}{% set x = l|sort %}{% endfor %}",
           "{% set l = range(99999)|list %}{% for i in l %}{% set x = -1 in l %}{% endfor %}",
           "{% for i in range(99999) %}{% set x = range(99999) %}{% endfor %}",
           "{% for i in range(9) recursive %}{{ loop(range(9)) }}{% endfor %}",
       }) {
    EXPECT_EQ(error_of(source).code, ErrorCode::kTooLarge) << source;
  }
}

TEST(RenderLimitsTest, SharedPartsThatPrintLargeEnd) {
  for (const char* use : {"{{ ns.x }}", "{{ ns.x|tojson }}", "{{ ns.x == ns.y }}",
                          "{{ ns.x < ns.y }}", "{{ {ns.x: 1} }}", "{{ [ns.x]|unique|list }}"}) {
    for (const char* pair : {"[ns.x, ns.x]", "(ns.x, ns.x)"}) {
      error_of("{% set ns = namespace(x=1, y=1) %}{% for i in range(100) %}{% set ns.x = " +
               std::string(pair) + " %}{% set ns.y = " +
               (std::string(pair)[0] == '[' ? "[ns.y, ns.y]" : "(ns.y, ns.y)") + " %}{% endfor %}" +
               use);
    }
  }
}

TEST(RenderLimitsTest, ListsInListsHaveALimit) {
  const std::string error =
      error_of(
          "{% set ns = namespace(x=1) %}{% for i in range(99999) %}{% set ns.x = [ns.x] %}"
          "{% endfor %}")
          .message;
  EXPECT_NE(error.find("nested more than 128 deep"), std::string::npos) << error;
}

TEST(RenderLimitsTest, ANamespaceInItselfIsAnErrorToPrint) {
  const std::string error =
      error_of("{% set ns = namespace() %}{% set ns.ns = [ns] %}{{ ns }}").message;
  EXPECT_NE(error.find("contains itself"), std::string::npos) << error;
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns.ns.ns == ns }}")->text,
            "True");
}

TEST(RenderLimitsTest, MacrosThatCallThemselvesEnd) {
  for (const char* source :
       {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
        "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}",
        "{% macro m() %}{% call m() %}{{ caller }}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
        "{% macro m() %}{% set x %}{% filter upper %}{{ m() }}{% endfilter %}{% endset %}"
        "{% endmacro %}{{ m() }}",
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{{ 'a'|map(*(['map'] * 600))|list }}"}) {
    const Error error = error_of(source);
    EXPECT_EQ(error.code, ErrorCode::kTooLarge) << source;
    EXPECT_NE(error.message.find("evaluation is nested more than 400 levels deep"),
              std::string::npos)
        << error.message;
  }
  EXPECT_EQ(render("{% macro m(n) %}{{ m(n - 1) if n else '.' }}{% endmacro %}{{ m(60) }}")->text,
            ".");
}

TEST(RenderLimitsTest, VariablesMayNotBeNestedTooDeeply) {
  Value nested = Value::integer(1);
  for (int i = 0; i < kMaxValueDepth - 1; ++i)
    nested = Value::list({nested});
  const Result<ChatTemplate> chat = ChatTemplate::parse("{{ x|length }}");
  EXPECT_TRUE(chat->render(Value::dict({{Text("x"), nested}})));
  const Result<Rendered> rendered = chat->render(Value::dict({{Text("x"), Value::list({nested})}}));
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().code, ErrorCode::kTooLarge);
  EXPECT_FALSE(chat->render(Value::list({})));
}

struct StackJob {
  std::string source;
  std::string message;
};

void* run_job(void* argument) {
  auto* job = static_cast<StackJob*>(argument);
  const Result<ChatTemplate> chat = ChatTemplate::parse(job->source);
  if (!chat) {
    job->message = chat.error().message;
    return nullptr;
  }
  const Result<Rendered> rendered =
      chat->render(Value::dict(std::vector<std::pair<Text, Value>>()));
  job->message = rendered ? "" : rendered.error().message;
  return nullptr;
}

// In a thread with kStackBytes of stack.
std::string error_on_small_stack(const std::string& source) {
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  StackJob job{source, ""};
  pthread_t thread{};
  EXPECT_EQ(pthread_create(&thread, &attributes, run_job, &job), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&attributes);
  return job.message;
}

TEST(RenderLimitsTest, ARenderFitsTheStackThatTheHeaderPromises) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take more stack";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers take more stack";
#endif
#endif
  const std::string too_deep = "levels deep";
  for (const std::string& source : {
           "{{ " + repeated("(", 50'000) + "1",
           "{{ 1" + repeated(" if 1", 50'000) + " }}",
           repeated("{%if 1%}", 20'000),
           std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
           std::string("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}"
                       "{{ m() }}"),
           std::string(
               "{% macro m(a) %}{{ [{'a': 1 if m(a)[0] else 2}] }}{% endmacro %}{{ m(1) }}"),
           std::string("{% macro m() %}{% if 1 %}{% for i in [1] %}{% with %}{% set x %}{{ m() }}"
                       "{% endset %}{% endwith %}{% endfor %}{% endif %}{% endmacro %}{{ m() }}"),
           std::string("{{ 'a'|map(*(['map'] * 600))|list }}"),
           std::string("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
       }) {
    EXPECT_NE(error_on_small_stack(source).find(too_deep), std::string::npos)
        << source.substr(0, 80) << ": " << error_on_small_stack(source);
  }
  for (const char* use : {"{{ ns.x }}", "{{ ns.x|tojson }}", "{{ ns.x == ns.y }}"}) {
    EXPECT_EQ(error_on_small_stack("{% set ns = namespace(x=1, y=1) %}{% for i in range(128) %}"
                                   "{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}" +
                                   std::string(use)),
              "");
  }
}

}  // namespace
}  // namespace tvllm::chat_template
