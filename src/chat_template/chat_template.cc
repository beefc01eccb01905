// SPDX-License-Identifier: Apache-2.0
#include "chat_template/chat_template.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "chat_template/evaluator.h"
#include "chat_template/parser.h"

namespace tvllm::chat_template {

namespace {

std::tm machine_local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  localtime_r(&now, &broken_down);
  return broken_down;
}

Value tiny_message(ContentFormat format) {
  Value content = Value::input_string("Hello");
  if (format == ContentFormat::kParts) {
    content = Value::list(
        {Value::dict({{Text("type"), Value::string("text")}, {Text("text"), std::move(content)}})});
  }
  return Value::dict(
      {{Text("role"), Value::string("user")}, {Text("content"), std::move(content)}});
}

}  // namespace

ChatTemplate::ChatTemplate(Template parsed)
    : template_(std::make_unique<const Template>(std::move(parsed))),
      content_format_(detect_content_format(*template_)) {}

ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const ParseLimits& limits) {
  TVLLM_TRY(Template parsed, parse_template(source, limits));
  return ChatTemplate(std::move(parsed));
}

Result<Rendered> ChatTemplate::render(const Value& globals, const RenderOptions& options) const {
  if (!globals.is(Kind::kDict)) {
    return invalid_argument("chat template: the variables must be a dict");
  }
  if (globals.depth() > kMaxValueDepth) {
    return make_error(ErrorCode::kTooLarge, "chat template: the variables are nested too deeply");
  }
  LocalTime local_time = options.local_time ? options.local_time : machine_local_time;
  Evaluator evaluator(*template_, globals.as_dict(), options.limits, std::move(local_time));
  TVLLM_TRY(Text text, evaluator.run());
  std::vector<Range> ranges = text.input_ranges();
  return Rendered{std::move(text).take_bytes(), std::move(ranges)};
}

bool ChatTemplate::mentions(std::string_view variable) const {
  const std::vector<std::string>& names = template_->names;
  return std::find(names.begin(), names.end(), variable) != names.end();
}

Status ChatTemplate::self_test(const RenderOptions& options) const {
  const Value globals =
      Value::dict({{Text("messages"), Value::list({tiny_message(content_format_)})},
                   {Text("add_generation_prompt"), Value::boolean(true)},
                   {Text("bos_token"), Value::string("<s>")},
                   {Text("eos_token"), Value::string("</s>")}});
  TVLLM_TRY(const Rendered rendered, render(globals, options));
  if (rendered.text.find("Hello") == std::string::npos) {
    return invalid_argument("chat template: the user's words are not in the rendered prompt");
  }
  return {};
}

}  // namespace tvllm::chat_template
