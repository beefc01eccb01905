// SPDX-License-Identifier: Apache-2.0
#include "output/stop_matcher.h"

#include "base/strings.h"
#include "base/utf8.h"

namespace tvllm::output {

namespace {

bool can_match(const std::string& stop) {
  return !stop.empty() && is_valid_utf8(stop);
}

}  // namespace

Status check_stop_strings(const std::vector<std::string>& stops) {
  if (stops.size() > kMaxStopStrings) {
    return invalid_argument(
        str_cat("stop must hold at most ", kMaxStopStrings, " strings, got ", stops.size()),
        "stop");
  }
  std::size_t num_bytes = 0;
  for (const std::string& stop : stops) {
    if (stop.empty()) return invalid_argument("stop must not hold an empty string", "stop");
    if (!can_match(stop)) {
      return invalid_argument(str_cat("stop holds ", quoted(stop), ", which is not UTF-8"), "stop");
    }
    num_bytes += stop.size();
  }
  if (num_bytes > kMaxStopBytes) {
    return invalid_argument(str_cat("the stop strings must hold at most ", kMaxStopBytes,
                                    " bytes together, got ", num_bytes),
                            "stop");
  }
  return {};
}

StopMatcher::StopMatcher(const std::vector<std::string>& stops) : nodes_(1) {
  for (std::size_t i = 0; i < stops.size(); ++i) {
    stop_lens_.push_back(stops[i].size());
    if (can_match(stops[i])) insert(stops[i], i);
  }
  link();
}

void StopMatcher::insert(const std::string& stop, std::size_t stop_idx) {
  std::uint32_t node = 0;
  for (const char c : stop) {
    const auto byte = static_cast<std::uint8_t>(c);
    std::uint32_t below = child(node, byte);
    if (below == 0) {
      below = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.next_sibling = nodes_[node].first_child, .byte = byte});
      nodes_[node].first_child = below;
      if (node == 0) root_children_[byte] = below;
    }
    node = below;
  }
  if (nodes_[node].match == kNoMatch) nodes_[node].match = static_cast<std::int32_t>(stop_idx);
}

void StopMatcher::link() {
  // Breadth first: a fallback is shorter than its node, so it is linked before.
  struct Step {
    std::uint32_t node;
    std::uint32_t depth;
  };
  std::vector<Step> queue = {{0, 0}};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const Step step = queue[at];
    for (std::uint32_t n = nodes_[step.node].first_child; n != 0; n = nodes_[n].next_sibling) {
      Node& node = nodes_[n];
      if (step.node != 0) node.fallback = next(nodes_[step.node].fallback, node.byte);
      const Node& fallback = nodes_[node.fallback];
      if (node.match == kNoMatch) node.match = fallback.match;
      node.held_len = node.first_child != 0 ? step.depth + 1 : fallback.held_len;
      queue.push_back({n, step.depth + 1});
    }
  }
}

std::uint32_t StopMatcher::child(std::uint32_t node, std::uint8_t byte) const {
  if (node == 0) return root_children_[byte];
  std::uint32_t n = nodes_[node].first_child;
  while (n != 0 && nodes_[n].byte != byte)
    n = nodes_[n].next_sibling;
  return n;
}

std::uint32_t StopMatcher::next(std::uint32_t node, std::uint8_t byte) const {
  while (true) {
    const std::uint32_t below = child(node, byte);
    if (below != 0 || node == 0) return below;
    node = nodes_[node].fallback;
  }
}

std::optional<StopMatcher::Match> StopMatcher::feed(std::string_view piece, bool may_match) {
  for (const char c : piece) {
    state_ = next(state_, static_cast<std::uint8_t>(c));
    ++text_len_;
    if (nodes_[state_].match == kNoMatch || !may_match) continue;
    const auto stop_idx = static_cast<std::size_t>(nodes_[state_].match);
    return Match{stop_idx, text_len_ - stop_lens_[stop_idx], text_len_};
  }
  return std::nullopt;
}

}  // namespace tvllm::output
