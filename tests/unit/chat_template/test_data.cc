// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/chat_template/test_data.h"

#include <ctime>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace tvllm::chat_template {

std::string read_test_file(const std::string& name) {
  std::ifstream file(std::string(TVLLM_TEST_DATA) + "/chat_template/" + name, std::ios::binary);
  TVLLM_CHECK(file.good(), name);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

boost::json::object read_test_json(const std::string& name) {
  return boost::json::parse(read_test_file(name)).as_object();
}

Value to_value(const boost::json::value& json, Provenance provenance) {
  const auto text = [provenance](boost::json::string_view bytes) {
    const std::string copy(bytes.data(), bytes.size());
    return provenance == Provenance::kInput ? Text::input(copy) : Text(copy);
  };
  switch (json.kind()) {
    case boost::json::kind::null:
      return Value::none();
    case boost::json::kind::bool_:
      return Value::boolean(json.as_bool());
    case boost::json::kind::int64:
      return Value::integer(json.as_int64());
    case boost::json::kind::uint64:
      return Value::real(static_cast<double>(json.as_uint64()));
    case boost::json::kind::double_:
      return Value::real(json.as_double());
    case boost::json::kind::string:
      return Value::text(text(json.as_string()));
    case boost::json::kind::array: {
      std::vector<Value> items;
      for (const auto& item : json.as_array())
        items.push_back(to_value(item, provenance));
      return Value::list(std::move(items));
    }
    case boost::json::kind::object:
      break;
  }
  std::vector<std::pair<Text, Value>> members;
  for (const auto& member : json.as_object()) {
    const bool is_role = member.key() == "role";
    members.emplace_back(text(member.key()),
                         to_value(member.value(), is_role ? Provenance::kOwn : provenance));
  }
  return Value::dict(std::move(members));
}

std::tm fixed_time() {
  std::tm time{};
  time.tm_year = 124;
  time.tm_mon = 1;
  time.tm_mday = 29;
  time.tm_hour = 13;
  time.tm_min = 5;
  time.tm_sec = 9;
  time.tm_wday = 4;
  time.tm_yday = 59;
  return time;
}

std::string render_text(const std::string& source, const Value& globals,
                        const RenderLimits& limits) {
  const Result<ChatTemplate> chat = ChatTemplate::parse(source);
  if (!chat) return "error: " + chat.error().message;
  const Result<Rendered> rendered = chat->render(globals, {limits, fixed_time});
  return rendered ? rendered->text : "error: " + rendered.error().message;
}

std::string render_text(const std::string& source, const std::string& json_globals) {
  return render_text(source, to_value(boost::json::parse(json_globals)));
}

std::string show_input(const std::string& text, const std::vector<Range>& input) {
  std::string shown;
  std::size_t at = 0;
  for (const Range& range : input) {
    shown += text.substr(at, range.begin - at) + "[" +
             text.substr(range.begin, range.end - range.begin) + "]";
    at = range.end;
  }
  return shown + text.substr(at);
}

}  // namespace tvllm::chat_template
