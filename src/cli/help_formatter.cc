// SPDX-License-Identifier: Apache-2.0
#include "cli/help_formatter.h"

#include <string_view>
#include <vector>

namespace tvllm::cli {

namespace {

constexpr std::size_t kLineLen = 100;

// CLI11 joins the type's name and the validators' descriptions with ':'.
struct TypeText {
  std::string placeholder;
  std::string constraint;
};

TypeText type_text(const CLI::Option* option) {
  const std::string name = option->get_type_name();
  const std::size_t colon = name.find(':');
  TypeText text{name.substr(0, colon), colon == std::string::npos ? "" : name.substr(colon + 1)};
  if (text.constraint.starts_with('{') && text.constraint.ends_with('}')) {
    text.constraint = str_cat("one of ", text.constraint.substr(1, text.constraint.size() - 2));
  }
  if (text.placeholder == "INT" || text.placeholder == "UINT") text.placeholder = "N";
  if (text.placeholder == "FLOAT") text.placeholder = "X";
  return text;
}

// Appends `text` in lines that start at column `indent`; the first one continues what stands there.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  std::size_t column = indent;
  bool first = true;
  for (const std::string_view word : split(text, ' ')) {
    if (!first && column + 1 + word.size() > kLineLen) {
      str_append(out, "\n", std::string(indent, ' '));
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
}

}  // namespace

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string name =
      str_cat("  ", make_option_name(option, is_positional), make_option_opts(option));
  const std::size_t indent = get_column_width();
  std::string out = name;
  if (name.size() + 2 > indent) {
    str_append(out, "\n", std::string(indent, ' '));
  } else {
    out.append(indent - name.size(), ' ');
  }
  append_wrapped(out, make_option_desc(option), indent);
  return out + "\n";
}

// Without CLI11's "{false}" behind the negative name of a flag.
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  std::string name = CLI::Formatter::make_option_name(option, is_positional);
  if (const std::size_t at = name.find("{false}"); at != std::string::npos) name.erase(at, 7);
  return name;
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0 || option->get_positional()) return {};
  return " " + type_text(option).placeholder;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  std::string text = option->get_description();
  if (option->get_type_size() != 0) {
    const std::string constraint = type_text(option).constraint;
    if (!constraint.empty()) str_append(text, " (", constraint, ")");
    if (!option->get_default_str().empty()) str_append(text, " [", option->get_default_str(), "]");
  }
  if (!option->get_envname().empty())
    str_append(text, " (environment: ", option->get_envname(), ")");
  return text;
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  const std::size_t at = usage.find("SUBCOMMAND");
  if (at != std::string::npos) usage.replace(at, 10, "VERB");
  return usage;
}

}  // namespace tvllm::cli
