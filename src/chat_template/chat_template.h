// SPDX-License-Identifier: Apache-2.0
// A model's chat template: messages in, the prompt's text out, and which of it the user wrote.
//
//   TVLLM_TRY(auto chat, ChatTemplate::parse(source));
//   TVLLM_TRY(auto prompt, chat.render(Value::dict({{Text("messages"), messages}, ...})));
//
// The language is Jinja as Hugging Face's transformers sets it up (trim_blocks, lstrip_blocks, loop
// controls, tojson, raise_exception, strftime_now, an immutable sandbox). What the engine lacks is
// refused when the template is parsed, by construct and line; the differences that remain are in
// the room's tests. A template can neither hang, nor grow, nor overflow the stack: RenderLimits.
// render() needs at most kStackBytes of stack.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat_template/content_format.h"
#include "chat_template/limits.h"
#include "chat_template/runtime.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace tvllm::chat_template {

// What a render may use of its thread's stack, at the default limits (sanitizers take more).
inline constexpr std::size_t kStackBytes = std::size_t{2} * 1024 * 1024;

struct RenderOptions {
  RenderLimits limits;
  // For strftime_now(); the machine's local time if empty.
  LocalTime local_time;
};

struct Rendered {
  std::string text;
  // What came from the request, in order: there, a tokenizer must not read control tokens.
  std::vector<Range> input_ranges;
};

// Immutable; any number of threads may render at once.
class ChatTemplate {
 public:
  static Result<ChatTemplate> parse(std::string_view source, const ParseLimits& limits = {});

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

  // `globals` is a dict: messages, add_generation_prompt, bos_token, eos_token, tools, and what
  // chat_template_kwargs adds. Errors are kInvalidArgument (the template does not take these
  // messages; raise_exception's message comes unchanged) or kTooLarge (a limit).
  Result<Rendered> render(const Value& globals, const RenderOptions& options = {}) const;

  // How the template reads message.content.
  ContentFormat content_format() const { return content_format_; }

  // Whether the template names this variable at all: "tools", "enable_thinking".
  bool mentions(std::string_view variable) const;

  // Renders a tiny conversation, to say at load what a first request would run into.
  Status self_test(const RenderOptions& options = {}) const;

 private:
  explicit ChatTemplate(Template parsed);

  std::unique_ptr<const Template> template_;
  ContentFormat content_format_;
};

}  // namespace tvllm::chat_template
