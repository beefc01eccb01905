// SPDX-License-Identifier: Apache-2.0
#include "chat_template/filters.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "chat_template/lexer.h"
#include "chat_template/methods.h"

namespace tvllm::chat_template {

namespace {

constexpr std::array<std::string_view, 9> kUnsupported = {
    "filesizeformat", "groupby", "pprint",   "random", "striptags",
    "urlencode",      "urlize",  "wordwrap", "xmlattr"};

}  // namespace

const Builtin* find_filter(std::string_view name) {
  for (const auto filters :
       {text_filters(), number_filters(), list_filters(), selection_filters()}) {
    if (const Builtin* found = find_entry(filters, name)) return found;
  }
  return nullptr;
}

Error unknown_filter(std::string_view name, int line) {
  if (std::find(kUnsupported.begin(), kUnsupported.end(), name) != kUnsupported.end()) {
    return error_at(ErrorCode::kUnsupported, line,
                    str_cat("the filter '", name, "' is not supported"));
  }
  return error_at(ErrorCode::kInvalidArgument, line,
                  str_cat("there is no filter named ", quoted(name, 40)));
}

}  // namespace tvllm::chat_template
