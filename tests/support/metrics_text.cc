// SPDX-License-Identifier: Apache-2.0
#include "tests/support/metrics_text.h"

#include <cstdlib>
#include <optional>

#include "base/strings.h"

namespace tvllm::testing {

namespace {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0.0;

  std::string key() const {
    std::string out = name;
    for (const auto& [label, text] : labels)
      str_append(out, out == name ? "{" : ",", label, "=\"", text, "\"");
    return labels.empty() ? out : out + "}";
  }
};

// name{label="value",...} number
std::optional<Sample> parse_sample(std::string_view line) {
  Sample sample;
  std::size_t at = line.find_first_of("{ ");
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  sample.name = line.substr(0, at);
  if (line[at] == '{') {
    ++at;
    while (at < line.size() && line[at] != '}') {
      const std::size_t equals = line.find("=\"", at);
      const std::size_t quote = equals == line.npos ? line.npos : line.find('"', equals + 2);
      if (quote == line.npos) return std::nullopt;
      const bool is_new =
          sample.labels
              .emplace(line.substr(at, equals - at), line.substr(equals + 2, quote - equals - 2))
              .second;
      if (!is_new) return std::nullopt;
      at = quote + 1;
      if (at < line.size() && line[at] == ',') ++at;
    }
    ++at;
  }
  if (at >= line.size() || line[at] != ' ') return std::nullopt;
  const std::string number(line.substr(at + 1));
  char* end = nullptr;
  sample.value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0') return std::nullopt;
  return sample;
}

bool belongs(const Sample& sample, const std::string& family, const std::string& type) {
  if (type != "histogram") return sample.name == family && !sample.labels.contains("le");
  if (sample.name == family + "_bucket") return sample.labels.contains("le");
  return sample.name == family + "_sum" || sample.name == family + "_count";
}

// Buckets of one series in order of the page, by the labels without "le".
struct Buckets {
  double last = 0.0;
  bool has_end = false;
};

class Reader {
 public:
  MetricsText read(std::string_view page) {
    if (!page.ends_with('\n')) fail("no line break at the end", "");
    for (const std::string_view line : split(page, '\n')) {
      if (line.empty()) continue;
      if (line.starts_with("# HELP ")) continue;
      line.starts_with("# TYPE ") ? take_type(line) : take_sample(line);
    }
    check_buckets();
    return std::move(out_);
  }

 private:
  void fail(std::string_view what, std::string_view line) {
    if (out_.error.empty()) out_.error = str_cat(what, ": ", line);
  }

  void take_type(std::string_view line) {
    const auto words = split(line, ' ');
    if (words.size() != 4) return fail("not a TYPE line", line);
    family_ = words[2];
    type_ = words[3];
    if (!out_.types.emplace(family_, type_).second) fail("a family twice", line);
    if (type_ == "counter" && !family_.ends_with("_total")) fail("a counter's name", line);
  }

  void take_sample(std::string_view line) {
    std::optional<Sample> sample = parse_sample(line);
    if (!sample) return fail("no sample", line);
    if (!belongs(*sample, family_, type_)) fail("not of the family above", line);
    if (!out_.samples.emplace(sample->key(), sample->value).second) fail("a sample twice", line);
    if (!sample->labels.contains("le")) return;
    const bool is_end = sample->labels["le"] == "+Inf";
    sample->labels.erase("le");
    sample->name = family_ + "_count";
    Buckets& buckets = buckets_[sample->key()];
    if (buckets.has_end || sample->value < buckets.last) fail("a bucket out of order", line);
    buckets.last = sample->value;
    buckets.has_end = is_end;
  }

  void check_buckets() {
    for (const auto& [count, buckets] : buckets_) {
      const auto found = out_.samples.find(count);
      if (!buckets.has_end || found == out_.samples.end() || found->second != buckets.last) {
        fail("buckets do not end with the count", count);
      }
    }
  }

  MetricsText out_;
  std::string family_;
  std::string type_;
  std::map<std::string, Buckets> buckets_;
};

}  // namespace

MetricsText read_metrics(std::string_view page) {
  return Reader().read(page);
}

}  // namespace tvllm::testing
