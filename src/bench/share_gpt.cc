// SPDX-License-Identifier: Apache-2.0
#include "bench/share_gpt.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "base/strings.h"

namespace tvllm::bench {

namespace {

// The largest file in use has 640 MB.
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{2} << 30;

const boost::json::string* text_of(const boost::json::value& turn) {
  const boost::json::object* const object = turn.if_object();
  const boost::json::value* const value =
      object == nullptr ? nullptr : object->if_contains("value");
  return value == nullptr ? nullptr : value->if_string();
}

}  // namespace

Result<std::vector<Conversation>> read_share_gpt(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) {
    return make_error(ErrorCode::kNotFound,
                      str_cat(tvllm::quoted(path), ": ", std::strerror(errno)));
  }
  const std::streamoff num_bytes = file.tellg();
  if (num_bytes < 0 || static_cast<std::uint64_t>(num_bytes) > kMaxFileBytes) {
    return make_error(
        ErrorCode::kTooLarge,
        str_cat(tvllm::quoted(path), ": no regular file of at most ", human_bytes(kMaxFileBytes)));
  }
  std::string text(static_cast<std::size_t>(num_bytes), '\0');
  file.seekg(0);
  if (!file.read(text.data(), num_bytes)) {
    return make_error(ErrorCode::kIo, str_cat(tvllm::quoted(path), ": it cannot be read"));
  }
  return parse_share_gpt(text, tvllm::quoted(path));
}

Result<std::vector<Conversation>> parse_share_gpt(std::string_view text, std::string_view name) {
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse(text, error);
  if (error) return invalid_argument(str_cat(name, ": no valid JSON: ", error.message()));
  const boost::json::array* const entries = root.if_array();
  if (entries == nullptr) {
    return invalid_argument(str_cat(name, ": expected an array of conversations"));
  }
  std::vector<Conversation> conversations;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const auto bad = [&](std::string_view what) {
      return invalid_argument(str_cat(name, ": entry ", i, ": ", what));
    };
    const boost::json::object* const entry = (*entries)[i].if_object();
    if (entry == nullptr) return bad("expected an object");
    const boost::json::value* const turns = entry->if_contains("conversations");
    if (turns == nullptr) continue;
    if (!turns->is_array()) return bad("'conversations' must be an array");
    if (turns->get_array().size() < 2) continue;
    const boost::json::string* const question = text_of(turns->get_array()[0]);
    const boost::json::string* const answer = text_of(turns->get_array()[1]);
    if (question == nullptr || answer == nullptr) return bad("a turn has no text under 'value'");
    conversations.push_back({std::string(*question), std::string(*answer)});
  }
  return conversations;
}

}  // namespace tvllm::bench
