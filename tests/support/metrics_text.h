// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tvllm::testing {

// A page in Prometheus' text format, read strictly.
struct MetricsText {
  std::map<std::string, std::string> types;  // family -> "counter", "gauge" or "histogram"
  // name{label="value",...} with the labels sorted by name; without braces if it has none.
  std::map<std::string, double> samples;
  std::string error;  // the first thing that is wrong with the page; empty if nothing is
};

// Finds what a scraper would refuse or misread: samples before their TYPE, twice, or not of their
// family; buckets that fall or do not end with the count.
MetricsText read_metrics(std::string_view page);

}  // namespace tvllm::testing
