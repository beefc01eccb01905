// SPDX-License-Identifier: Apache-2.0
#include "chat_template/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "chat_template/builtin_templates.h"
#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

ChatTemplate parse(const std::string& source) {
  Result<ChatTemplate> chat = ChatTemplate::parse(source);
  EXPECT_TRUE(chat) << chat.error().message;
  return std::move(*chat);
}

ChatTemplate model_template(const std::string& name) {
  return parse(read_test_file("templates/" + name + ".jinja"));
}

TEST(ChatTemplateTest, ChatMlIsTheFallback) {
  const Value messages = to_value(boost::json::parse(
      R"([{"role": "system", "content": "S"}, {"role": "user", "content": " u\n"}])"));
  EXPECT_EQ(render_text(std::string(kChatMlTemplate),
                        Value::dict({{Text("messages"), messages},
                                     {Text("add_generation_prompt"), Value::boolean(true)}})),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n u\n<|im_end|>\n"
            "<|im_start|>assistant\n");
  EXPECT_EQ(render_text(std::string(kChatMlTemplate), Value::dict({{Text("messages"), messages}})),
            "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\n u\n<|im_end|>\n");
}

TEST(ChatTemplateTest, TheContentOfEachModelIsReadInItsForm) {
  const std::vector<std::pair<std::string, ContentFormat>> cases = {
      {"smollm2", ContentFormat::kString},
      {"llama_3", ContentFormat::kString},
      {"llama_3_1", ContentFormat::kString},
      {"llama_3_2", ContentFormat::kString},
      {"qwen_2_5", ContentFormat::kString},
      {"qwen_3", ContentFormat::kString},
      {"mistral_7b_v0_1", ContentFormat::kString},
      {"mistral_7b_v0_3", ContentFormat::kString},
      {"gemma_2", ContentFormat::kString},
      {"gemma_3", ContentFormat::kParts},
      {"phi_3", ContentFormat::kString},
      {"zephyr", ContentFormat::kString},
      {"hermes_2_pro_tools", ContentFormat::kString},
      {"deepseek_r1_distill", ContentFormat::kString}};
  for (const auto& [name, format] : cases) {
    EXPECT_EQ(model_template(name).content_format(), format) << name;
  }
}

TEST(ChatTemplateTest, PartsAreFoundThroughVariablesMacrosAndFilters) {
  const std::string loop = "{% for m in messages %}";
  const std::string end = "{% endfor %}";
  for (const std::string& body : {
           loop + "{% for p in m.content %}{% endfor %}" + end,
           loop + "{% for p in m['content'] if p.type == 'text' %}{% endfor %}" + end,
           loop + "{% set c = m.content %}{% for p in c %}{% endfor %}" + end,
           loop + "{{ m.content|selectattr('type', 'equalto', 'text')|list }}" + end,
           loop + "{{ m['content'][0]['text'] }}" + end,
           loop + "{{ m.content[0].text }}" + end,
           loop + "{% for p in m.get('content') %}{% endfor %}" + end,
           loop + "{% with c = m.content %}{% for p in c %}{% endfor %}{% endwith %}" + end,
           std::string("{% set x = messages[1:] %}{% for m in x|list %}{% for p in m.content %}"
                       "{% endfor %}{% endfor %}"),
           std::string("{% for p in messages[0].content %}{% endfor %}"),
           std::string("{% for p in (messages|last).content %}{% endfor %}"),
           std::string("{% macro show(c) %}{% for p in c %}{% endfor %}{% endmacro %}") + loop +
               "{{ show(m.content) }}" + end,
           loop + "{{ show(c=m.content) }}" + end +
               "{% macro show(c) %}{% for p in c %}{% endfor %}{% endmacro %}",
           std::string("{% set ns = namespace() %}{% set ns.all = messages %}"
                       "{% for m in ns.all %}{% for p in m.content %}{% endfor %}{% endfor %}"),
           loop +
               "{% set c = m.content if m.content is not string else [] %}"
               "{% for p in c %}{% endfor %}" +
               end,
       }) {
    EXPECT_EQ(parse(body).content_format(), ContentFormat::kParts) << body;
  }
  for (const std::string& body : {
           loop + "{{ m.content }}" + end,
           loop + "{% for c in m.tool_calls %}{% endfor %}" + end,
           loop + "{% for w in m.content.split() %}{% endfor %}" + end,
           loop + "{% if m.content is iterable %}{{ m.content|tojson }}{% endif %}" + end,
           loop + "{{ m.content[0] }}{{ m.text }}{{ m.content|trim }}" + end,
           std::string("{% for t in tools %}{% for p in t.content %}{% endfor %}{% endfor %}"),
       }) {
    EXPECT_EQ(parse(body).content_format(), ContentFormat::kString) << body;
  }
}

TEST(ChatTemplateTest, MentionsTheVariablesThatATemplateReads) {
  const ChatTemplate qwen = model_template("qwen_3");
  EXPECT_TRUE(qwen.mentions("tools"));
  EXPECT_TRUE(qwen.mentions("enable_thinking"));
  EXPECT_FALSE(qwen.mentions("strftime_now"));
  EXPECT_FALSE(model_template("smollm2").mentions("tools"));
}

TEST(ChatTemplateTest, TheSelfTestPassesForModelsAndReportsWhatWouldFail) {
  for (const char* name : {"smollm2", "llama_3", "llama_3_1", "llama_3_2", "qwen_2_5", "qwen_3",
                           "mistral_7b_v0_1", "mistral_7b_v0_2", "mistral_7b_v0_3", "gemma_2",
                           "gemma_3", "phi_3", "zephyr", "llama_2", "deepseek_r1_distill"}) {
    const Status status = model_template(name).self_test();
    EXPECT_TRUE(status) << name << ": " << status.error().message;
  }
  EXPECT_TRUE(parse(std::string(kChatMlTemplate)).self_test());
  EXPECT_EQ(parse("{{ messages[0].name.first }}").self_test().error().message,
            "chat template, line 1: 'dict object' has no attribute 'name'");
  EXPECT_EQ(parse("constant").self_test().error().message,
            "chat template: the user's words are not in the rendered prompt");
}

TEST(ChatTemplateTest, KeywordsOfTheRequestReachTheTemplate) {
  EXPECT_EQ(render_text("{{ date_string }}", R"({"date_string": "01 Jan 2020"})"), "01 Jan 2020");
}

TEST(ChatTemplateTest, VariablesHideFunctionsOfTheSameName) {
  EXPECT_EQ(render_text("{{ range }}{{ strftime_now is defined }}", R"({"range": 5})"), "5True");
}

TEST(ChatTemplateTest, TheClockIsTheMachinesLocalOneByDefault) {
  const char* zone = std::getenv("TZ");
  const std::string old_zone = zone == nullptr ? "" : zone;
  for (const char* name : {"Pacific/Kiritimati", "UTC0", "XYZ11"}) {
    setenv("TZ", name, 1);
    tzset();
    const ChatTemplate chat = parse("{{ strftime_now('%Y-%m-%d %H') }}");
    const Value none = Value::dict(std::vector<std::pair<Text, Value>>());
    // The hour may turn between the two readings, but not twice.
    std::string expected;
    std::string rendered;
    for (int i = 0; i < 2 && (i == 0 || rendered != expected); ++i) {
      const std::time_t now = std::time(nullptr);
      std::tm local{};
      localtime_r(&now, &local);
      char buffer[32];
      expected.assign(buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H", &local));
      rendered = chat.render(none)->text;
    }
    EXPECT_EQ(rendered, expected) << name;
  }
  if (zone == nullptr) {
    unsetenv("TZ");
  } else {
    setenv("TZ", old_zone.c_str(), 1);
  }
  tzset();
}

TEST(ChatTemplateTest, DatesHaveAllCommonForms) {
  EXPECT_EQ(render_text("{{ strftime_now('%-d %B %y|%e|%I:%M %p|%j|%a %b|%U %w|%f|%%|%F %T') }}"),
            "29 February 24|29|01:05 PM|060|Thu Feb|08 4|000000|%|2024-02-29 13:05:09");
}

TEST(ChatTemplateTest, ManyThreadsRenderOneTemplate) {
  const ChatTemplate chat = model_template("qwen_3");
  const Value globals = Value::dict(
      {{Text("messages"),
        to_value(boost::json::parse(R"([{"role": "user", "content": "Hi"}])"), Provenance::kInput)},
       {Text("add_generation_prompt"), Value::boolean(true)}});
  const std::string expected = chat.render(globals)->text;
  std::vector<std::thread> threads;
  std::vector<int> num_equal(4, 0);
  for (int& count : num_equal) {
    threads.emplace_back([&chat, &globals, &expected, &count] {
      for (int i = 0; i < 200; ++i)
        count += chat.render(globals)->text == expected ? 1 : 0;
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(num_equal, (std::vector<int>{200, 200, 200, 200}));
}

TEST(ChatTemplateTest, StrayBytesInInputAreKept) {
  const Value globals = Value::dict({{Text("x"), Value::input_string("a\xFF\x80z")}});
  const ChatTemplate chat = parse("{{ x }}{{ x[1] }}{{ x|length }}{{ x|upper }}{{ x[::-1] }}");
  EXPECT_EQ(chat.render(globals)->text,
            "a\xFF\x80z\xFF"
            "4A\xFF\x80Zz\x80\xFF"
            "a");
}

}  // namespace
}  // namespace tvllm::chat_template
