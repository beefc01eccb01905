// SPDX-License-Identifier: Apache-2.0
// Any bytes as a template: a text or an error, within the limits, and the same text whoever wrote
// the messages.
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "chat_template/chat_template.h"

namespace tvllm::chat_template {
namespace {

// The variables of tools/template_snippets.py in short, by the template or by the request.
class World {
 public:
  explicit World(bool is_input) : is_input_(is_input) {}

  Value globals() const {
    const Value number_list =
        Value::list({Value::integer(3), Value::integer(1), Value::real(2.5), Value::integer(-7)});
    return dict(
        {{"messages", Value::list({message("system", "Be brief."),
                                   message("user", " <t>\none</t> \xC3\xB1\xF0\x9F\x98\x80"),
                                   message("assistant", "")})},
         {"tools", Value::list({dict({{"function", dict({{"name", text("f")}})}})})},
         {"add_generation_prompt", Value::boolean(true)},
         {"bos_token", Value::string("<s>")},
         {"eos_token", Value::string("</s>")},
         {"l", number_list},
         {"d", dict({{"a", Value::integer(1)}, {"items", text("x")}, {"c", Value::none()}})},
         {"s", text("Hello World, it's \"q\"\t\\ \xCE\xA3")},
         {"raw", text("\xFF\x80z\xE2\x82")},
         {"n", Value::integer(7)},
         {"f", Value::real(2.5)},
         {"nil", Value::none()}});
  }

 private:
  Value text(std::string bytes) const {
    return is_input_ ? Value::input_string(std::move(bytes)) : Value::string(std::move(bytes));
  }
  Value message(std::string role, std::string content) const {
    return dict({{"role", text(std::move(role))}, {"content", text(std::move(content))}});
  }
  Value dict(std::vector<std::pair<std::string, Value>> members) const {
    std::vector<std::pair<Text, Value>> list;
    for (auto& member : members) {
      list.emplace_back(is_input_ ? Text::input(member.first) : Text(member.first),
                        std::move(member.second));
    }
    return Value::dict(std::move(list));
  }

  bool is_input_;
};

RenderOptions small_options() {
  RenderOptions options;
  options.limits.max_steps = 20'000;
  options.limits.max_output_bytes = 64 * 1024;
  options.limits.max_depth = 120;
  options.local_time = [] { return std::tm{}; };
  return options;
}

void check_ranges(const Rendered& rendered) {
  std::size_t at = 0;
  for (const Range& range : rendered.input_ranges) {
    TVLLM_CHECK(range.begin < range.end && range.end <= rendered.text.size());
    TVLLM_CHECK(at == 0 || range.begin > at, "ranges touch");
    at = range.end;
  }
}

void check_template(std::string_view source) {
  ParseLimits limits;
  limits.max_nesting = 40;
  const Result<ChatTemplate> chat = ChatTemplate::parse(source, limits);
  if (!chat) return;
  static const Value own = World(false).globals();
  static const Value input = World(true).globals();
  const RenderOptions options = small_options();
  const Result<Rendered> by_template = chat->render(own, options);
  const Result<Rendered> by_request = chat->render(input, options);
  TVLLM_CHECK(by_template.has_value() == by_request.has_value());
  if (!by_template) return;
  TVLLM_CHECK(by_template->text == by_request->text);
  TVLLM_CHECK(by_template->text.size() <= options.limits.max_output_bytes);
  TVLLM_CHECK(by_template->input_ranges.empty());
  check_ranges(*by_request);
}

}  // namespace
}  // namespace tvllm::chat_template

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string source(data, data + size);
  tvllm::chat_template::check_template(source);
  return 0;
}
