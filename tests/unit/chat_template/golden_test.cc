// SPDX-License-Identifier: Apache-2.0
// Compares with jinja2, set up as transformers sets it up: tools/make_template_golden.py.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "base/strings.h"
#include "base/utf8.h"
#include "chat_template/unicode.h"
#include "tests/unit/chat_template/test_data.h"

namespace tvllm::chat_template {
namespace {

std::string text_of(const boost::json::value& json) {
  return std::string(json.as_string().data(), json.as_string().size());
}

// Either both have the same text, or both have an error.
void expect_same(const boost::json::object& test_case, const std::string& rendered,
                 const std::string& what) {
  if (test_case.contains("error")) {
    EXPECT_TRUE(rendered.starts_with("error: "))
        << what << "\njinja2: " << text_of(test_case.at("error")) << "\nhere:   " << rendered;
  } else {
    EXPECT_EQ(rendered, text_of(test_case.at("expect"))) << what;
  }
}

TEST(GoldenTest, SnippetsMeanWhatJinjaSaysTheyMean) {
  const boost::json::object golden = read_test_json("snippets.json");
  const Value shared = to_value(golden.at("shared"));
  for (const auto& item : golden.at("cases").as_array()) {
    const boost::json::object& test_case = item.as_object();
    const std::string source = text_of(test_case.at("source"));
    const Value globals =
        test_case.contains("context") ? to_value(test_case.at("context")) : shared;
    expect_same(test_case, render_text(source, globals), source);
  }
}

TEST(GoldenTest, PublicCasesHold) {
  const boost::json::object golden = read_test_json("cases.json");
  for (const auto& item : golden.at("cases").as_array()) {
    const boost::json::object& test_case = item.as_object();
    const std::string source = text_of(test_case.at("source"));
    expect_same(test_case, render_text(source, to_value(test_case.at("context"))),
                text_of(test_case.at("case")) + " " + text_of(test_case.at("name")));
  }
}

// Which characters of the reference's text came from the messages. The reference leaves white space
// and characters over U+FFFF untold.
void expect_same_input(const boost::json::array& runs, const Rendered& rendered,
                       const std::string& what) {
  const Text text = [&rendered] {
    Text marked;
    std::size_t at = 0;
    for (const Range& range : rendered.input_ranges) {
      marked.append(Text(rendered.text.substr(at, range.begin - at)));
      marked.append(Text::input(rendered.text.substr(range.begin, range.end - range.begin)));
      at = range.end;
    }
    marked.append(Text(rendered.text.substr(at)));
    return marked;
  }();
  EXPECT_EQ(text.input_ranges(), rendered.input_ranges) << what;
  std::size_t run = 0;
  std::int64_t index = 0;
  std::string_view rest = rendered.text;
  while (!rest.empty()) {
    const Utf8Char c = decode_utf8(rest);
    const std::size_t begin = rendered.text.size() - rest.size();
    while (run < runs.size() && runs[run].at(1).as_int64() <= index)
      ++run;
    const bool is_input = run < runs.size() && runs[run].at(0).as_int64() <= index;
    if (c.code_point > 0x20 && c.code_point != 0x3000 && c.code_point <= 0xFFFF) {
      ASSERT_EQ(text.has_input(begin, begin + 1), is_input)
          << what << " at byte " << begin << "\n"
          << show_input(rendered.text, rendered.input_ranges);
    }
    rest.remove_prefix(static_cast<std::size_t>(c.num_bytes));
    ++index;
  }
}

int check_conversations(const boost::json::object& golden) {
  int num_with_input = 0;
  for (const auto& item : golden.at("cases").as_array()) {
    const boost::json::object& test_case = item.as_object();
    const std::string name = text_of(test_case.at("template"));
    const std::string conversation = text_of(test_case.at("conversation"));
    const std::string what = name + ": " + conversation;
    const std::string source = read_test_file("templates/" + name + ".jinja");
    std::vector<std::pair<Text, Value>> globals = {
        {Text("messages"),
         to_value(golden.at("conversations").at(conversation), Provenance::kInput)},
        {Text("add_generation_prompt"), Value::boolean(test_case.at("prompt").as_bool())},
        {Text("bos_token"), Value::string("<s>")},
        {Text("eos_token"), Value::string("</s>")}};
    if (golden.contains("tools")) {
      globals.emplace_back(Text("tools"), to_value(golden.at("tools")));
    }
    const Value variables = Value::dict(std::move(globals));
    expect_same(test_case, render_text(source, variables), what);
    if (!test_case.contains("input")) continue;
    const Result<ChatTemplate> chat = ChatTemplate::parse(source);
    const Result<Rendered> rendered = chat->render(variables, {{}, fixed_time});
    if (!rendered) {
      ADD_FAILURE() << what << ": " << rendered.error().message;
      continue;
    }
    expect_same_input(test_case.at("input").as_array(), *rendered, what);
    ++num_with_input;
  }
  return num_with_input;
}

TEST(GoldenTest, TemplatesOfModelsRenderConversationsAndTellInputApart) {
  EXPECT_GT(check_conversations(read_test_json("conversations.json")), 400);
}

// Tool calls hold more text than contents, so only the words are compared.
TEST(GoldenTest, TemplatesOfModelsRenderTools) {
  boost::json::object golden = read_test_json("tool_conversations.json");
  for (auto& item : golden.at("cases").as_array())
    item.as_object().erase("input");
  EXPECT_EQ(check_conversations(golden), 0);
}

// What the method of that name says of one character, as Python prints it.
std::string ask(const std::string& method, char32_t c) {
  const auto truth = [](bool value) { return std::string(value ? "True" : "False"); };
  const auto form = [](const CaseForm& characters) {
    std::string bytes;
    for (const char32_t part : characters) {
      if (part != 0 || bytes.empty()) append_utf8(bytes, part);
    }
    return bytes;
  };
  if (method == "upper") return form(to_upper(c));
  if (method == "lower") return form(to_lower(c));
  if (method == "title") return form(to_title(c));
  if (method == "isspace") return truth(is_space(c));
  if (method == "isupper") return truth(is_upper(c));
  if (method == "islower") return truth(is_lower(c));
  if (method == "isalpha") return truth(is_alpha(c));
  if (method == "isdigit") return truth(is_digit(c));
  if (method == "isalnum") return truth(is_alnum(c));
  EXPECT_EQ(method, "isprintable");
  return truth(is_printable(c));
}

TEST(GoldenTest, EveryCharacterIsWhatPythonSaysItIs) {
  for (const auto& entry : read_test_json("characters.json")) {
    const std::string method(entry.key().data(), entry.key().size());
    std::uint64_t digest = 0xCBF29CE484222325ull;
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      for (const char byte : ask(method, c) + "\n") {
        digest = (digest ^ static_cast<unsigned char>(byte)) * 0x100000001B3ull;
      }
    }
    EXPECT_EQ(hex(digest), hex(std::stoull(text_of(entry.value()), nullptr, 16))) << method;
  }
}

}  // namespace
}  // namespace tvllm::chat_template
