// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_executor.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tvllm::testing {

namespace {

// SplitMix64: a different number for every input.
std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

std::int32_t prompt_len(const Request& request) {
  return static_cast<std::int32_t>(request.prompt_token_ids.size());
}

}  // namespace

ScriptedExecutor::ScriptedExecutor(const ScriptedExecutorOptions& options)
    : options_(options),
      slots_(static_cast<std::size_t>(options.max_num_seqs)),
      cache_(static_cast<std::size_t>(options.num_kv_groups)),
      num_listed_(static_cast<std::size_t>(options.num_blocks) + 1, 0),
      num_written_(num_listed_.size(), 0),
      last_table_(num_listed_.size(), 0) {
  for (std::vector<KvSlot>& group : cache_) {
    group.resize(num_listed_.size() * static_cast<std::size_t>(options.block_size));
  }
}

template <typename... Args>
void ScriptedExecutor::expect(bool condition, const Args&... message) {
  if (!condition && violation_.empty()) {
    violation_ = str_cat("step ", num_submitted_, ": ", message...);
  }
}

void ScriptedExecutor::script(std::uint64_t seed, std::vector<TokenId> output_token_ids) {
  scripts_[seed] = std::move(output_token_ids);
}

TokenId ScriptedExecutor::token_at(const Request& request, std::int32_t position) const {
  if (position < prompt_len(request)) {
    return request.prompt_token_ids[static_cast<std::size_t>(position)];
  }
  const std::size_t output_idx = static_cast<std::size_t>(position - prompt_len(request));
  if (const auto it = scripts_.find(request.sampling.seed);
      it != scripts_.end() && output_idx < it->second.size()) {
    return it->second[output_idx];
  }
  const std::uint64_t key =
      mix(request.sampling.seed) + request.sampling.choice_index * std::uint64_t{1000003};
  return static_cast<TokenId>(mix(key + static_cast<std::uint64_t>(position)) %
                              static_cast<std::uint64_t>(options_.vocab_size));
}

void ScriptedExecutor::submit(const StepPlan& plan) {
  ++num_submitted_;
  expect(static_cast<int>(in_flight_.size()) < options_.max_steps_in_flight,
         "more steps in flight than ", options_.max_steps_in_flight);
  apply_releases_and_starts(plan);
  check_limits(plan);
  Step& step = in_flight_.emplace_back();
  step.plan = &plan;
  step.result.step_id = plan.step_id;
  if (!violation_.empty()) return;
  check_tables(plan);
  if (!violation_.empty()) return;
  const TokenId* token_ids = plan.token_ids.data();
  for (std::size_t row = 0; row < plan.sequences.size(); ++row) {
    const PlannedSequence& planned = plan.sequences[row];
    if (slot(planned.state_slot).is_fresh) check_hit(plan, row);
    check_sequence(planned, token_ids);
    token_ids += planned.num_new_tokens;
  }
  if (!violation_.empty()) return;
  write_slots(plan);
  read_slots(plan);
  for (const PlannedSequence& planned : plan.sequences) {
    if (planned.samples_token) step.sampling_slots.push_back(planned.state_slot);
    step.result.sequences.push_back(answer(planned, slot(planned.state_slot)));
    if (step.result.sequences.back().error != SequenceError::kNone) {
      slot(planned.state_slot).has_failed = true;
      step.failed_rows.push_back(step.result.sequences.size() - 1);
    }
  }
}

const StepResult& ScriptedExecutor::collect() {
  TVLLM_CHECK(!in_flight_.empty(), "nothing was submitted");
  Step step = std::move(in_flight_.front());
  in_flight_.pop_front();
  expect(step.plan->step_id == step.result.step_id &&
             step.plan->sequences.size() == step.result.sequences.size(),
         "the plan of step ", step.result.step_id, " changed while it was in flight");
  for (const StateSlot id : step.sampling_slots) {
    ++slot(id).num_collected;
  }
  for (const std::size_t row : step.failed_rows) {
    doubt(*step.plan, row);
  }
  collected_ = std::move(step.result);
  return collected_;
}

void ScriptedExecutor::apply_releases_and_starts(const StepPlan& plan) {
  for (const StateSlot id : plan.released_slots) {
    expect(slot(id).request != nullptr, "state slot ", id, " is released, but free");
    slot(id) = {};
  }
  for (const SequenceStart& start : plan.started) {
    SlotState& state = slot(start.state_slot);
    expect(state.request == nullptr, "state slot ", start.state_slot, " is taken twice");
    const std::int32_t num_known = static_cast<std::int32_t>(start.known_token_ids.size());
    expect(num_known >= prompt_len(*start.request), "sequence ", start.seq_id,
           " starts without all of its prompt");
    for (std::int32_t p = 0; p < num_known; ++p) {
      expect(start.known_token_ids[static_cast<std::size_t>(p)] == token_at(*start.request, p),
             "sequence ", start.seq_id, " starts with a wrong token at position ", p);
    }
    state = {.seq_id = start.seq_id,
             .request = start.request,
             .num_computed = 0,
             .num_known = num_known,
             .num_collected = num_known,
             .is_fresh = true,
             .has_failed = false,
             .digests = {}};
  }
}

void ScriptedExecutor::check_limits(const StepPlan& plan) {
  std::int32_t num_tokens = 0;
  for (const PlannedSequence& planned : plan.sequences) {
    num_tokens += planned.num_new_tokens;
  }
  expect(num_tokens == plan.num_tokens(), "shares add up to ", num_tokens, " of ",
         plan.num_tokens(), " tokens");
  expect(num_tokens <= options_.max_num_batched_tokens, num_tokens, " tokens in one step");
  expect(static_cast<std::int32_t>(plan.sequences.size()) <= options_.max_num_seqs,
         plan.sequences.size(), " sequences in one step");
  expect(static_cast<std::int32_t>(plan.tables.size()) == options_.num_kv_groups,
         plan.tables.size(), " groups of block tables");
  for (const BlockTables& tables : plan.tables) {
    expect(tables.offsets.size() == plan.sequences.size() + 1, "a group has ",
           tables.offsets.size(), " table offsets");
  }
}

void ScriptedExecutor::check_tables(const StepPlan& plan) {
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    for (std::size_t i = 0; i < plan.sequences.size() && violation_.empty(); ++i) {
      const PlannedSequence& planned = plan.sequences[i];
      check_table(plan.tables[group].of(i), first_seen(planned, group) / options_.block_size,
                  planned.num_computed_tokens / options_.block_size);
    }
  }
  for (const BlockTables& tables : plan.tables) {
    for (const BlockId id : tables.blocks) {
      if (!violation_.empty()) return;
      const std::size_t block = static_cast<std::size_t>(id.value());
      expect(num_written_[block] == 0 || num_listed_[block] == 1, "block ", id,
             " is written and stands in ", num_listed_[block], " tables");
    }
  }
  std::fill(num_listed_.begin(), num_listed_.end(), 0);
  std::fill(num_written_.begin(), num_written_.end(), 0);
}

// Blocks before number `first_seen` may be null, those from `first_written` on are not full before
// this step.
void ScriptedExecutor::check_table(std::span<const BlockId> table, std::int32_t first_seen,
                                   std::int32_t first_written) {
  ++num_tables_;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i] == kNullBlock && static_cast<std::int32_t>(i) < first_seen) continue;
    const bool exists = table[i].value() >= 1 && table[i].value() <= options_.num_blocks;
    expect(exists, "no block ", table[i]);
    if (!exists) return;
    const std::size_t block = static_cast<std::size_t>(table[i].value());
    expect(last_table_[block] != num_tables_, "block ", table[i], " stands twice in a table");
    last_table_[block] = num_tables_;
    ++num_listed_[block];
    if (static_cast<std::int32_t>(i) >= first_written) ++num_written_[block];
  }
}

void ScriptedExecutor::check_sequence(const PlannedSequence& planned, const TokenId* token_ids) {
  SlotState& state = slot(planned.state_slot);
  expect(state.request != nullptr && state.seq_id == planned.seq_id, "state slot ",
         planned.state_slot, " is not that of sequence ", planned.seq_id);
  if (!violation_.empty()) return;
  const std::int32_t begin = planned.num_computed_tokens;
  const std::int32_t end = begin + planned.num_new_tokens;
  if (state.is_fresh) {
    expect(begin % options_.block_size == 0, "sequence ", planned.seq_id, " begins at ", begin,
           ", inside a block");
    state.num_computed = begin;
    state.is_fresh = false;
  }
  expect(begin == state.num_computed && end > begin && end <= state.num_known, "sequence ",
         planned.seq_id, " computes [", begin, ", ", end, "), ", state.num_computed, " of ",
         state.num_known, " are computed");
  expect(planned.samples_token == (end == state.num_known), "sequence ", planned.seq_id,
         " samples at the wrong place");
  expect(planned.output_idx == state.num_known - prompt_len(*state.request), "sequence ",
         planned.seq_id, " has a wrong output_idx ", planned.output_idx);
  for (std::int32_t p = begin; p < end; ++p) {
    const TokenId expected = p < state.num_collected ? token_at(*state.request, p) : kNoToken;
    expect(token_ids[p - begin] == expected, "sequence ", planned.seq_id, " has token ",
           token_ids[p - begin], " at position ", p, " instead of ", expected);
  }
}

// What a sequence finds in the cache when it starts.
void ScriptedExecutor::check_hit(const StepPlan& plan, std::size_t row) {
  const PlannedSequence& planned = plan.sequences[row];
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    const auto table = plan.tables[group].of(row);
    const std::int32_t room = static_cast<std::int32_t>(table.size()) * options_.block_size;
    for (std::int32_t p = first_seen(planned, group);
         p < std::min(planned.num_computed_tokens, room); ++p) {
      expect(!cache_[group][kv_slot(table, p)].is_doubtful, "sequence ", planned.seq_id,
             " starts on what a failed sequence held at position ", p);
    }
  }
}

void ScriptedExecutor::doubt(const StepPlan& plan, std::size_t row) {
  const PlannedSequence& failed = plan.sequences[row];
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    const auto table = plan.tables[group].of(row);
    for (std::int32_t p = first_seen(failed, group);
         p < failed.num_computed_tokens + failed.num_new_tokens; ++p) {
      cache_[group][kv_slot(table, p)].is_doubtful = true;
    }
  }
}

std::int32_t ScriptedExecutor::first_seen(const PlannedSequence& planned, std::size_t group) const {
  const std::int32_t window = options_.kv_windows.empty() ? 0 : options_.kv_windows[group];
  return window == 0 ? 0 : std::max(planned.num_computed_tokens + 1 - window, 0);
}

std::size_t ScriptedExecutor::kv_slot(std::span<const BlockId> table, std::int32_t position) const {
  const BlockId block = table[static_cast<std::size_t>(position / options_.block_size)];
  return static_cast<std::size_t>(block.value() * options_.block_size +
                                  position % options_.block_size);
}

// A token that is being sampled is known here: it is a function of the request.
std::uint64_t ScriptedExecutor::digest(SlotState& state, std::int32_t position) const {
  const Request& request = *state.request;
  while (static_cast<std::int32_t>(state.digests.size()) <= position) {
    const auto next = static_cast<std::int32_t>(state.digests.size());
    const std::uint64_t before =
        next == 0 ? std::hash<std::string>{}(request.cache_salt) : state.digests.back();
    state.digests.push_back(mix(before ^ mix(static_cast<std::uint64_t>(token_at(request, next)))));
  }
  return state.digests[static_cast<std::size_t>(position)];
}

void ScriptedExecutor::write_slots(const StepPlan& plan) {
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
      const PlannedSequence& planned = plan.sequences[i];
      const auto table = plan.tables[group].of(i);
      const std::int32_t end = planned.num_computed_tokens + planned.num_new_tokens;
      const std::int32_t room = static_cast<std::int32_t>(table.size()) * options_.block_size;
      expect(end <= room, "sequence ", planned.seq_id, " has blocks for ", room, " positions of ",
             end);
      for (std::int32_t p = planned.num_computed_tokens; p < std::min(end, room); ++p) {
        SlotState& state = slot(planned.state_slot);
        cache_[group][kv_slot(table, p)] = {digest(state, p), state.has_failed};
      }
    }
  }
}

void ScriptedExecutor::read_slots(const StepPlan& plan) {
  if (!violation_.empty()) return;
  for (std::size_t group = 0; group < plan.tables.size(); ++group) {
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) {
      const PlannedSequence& planned = plan.sequences[i];
      const auto table = plan.tables[group].of(i);
      for (std::int32_t p = first_seen(planned, group);
           p < planned.num_computed_tokens + planned.num_new_tokens; ++p) {
        expect(cache_[group][kv_slot(table, p)].digest == digest(slot(planned.state_slot), p),
               "sequence ", planned.seq_id, " reads at position ", p,
               " what does not belong there");
      }
    }
  }
}

SequenceResult ScriptedExecutor::answer(const PlannedSequence& planned, SlotState& state) {
  const Request& request = *state.request;
  const std::int32_t end = planned.num_computed_tokens + planned.num_new_tokens;
  SequenceResult result;
  result.seq_id = planned.seq_id;
  if (request.sampling.num_prompt_logprobs) {
    for (std::int32_t p = planned.num_computed_tokens + 1; p <= end && p < prompt_len(request);
         ++p) {
      result.prompt_logprobs.push_back(
          {.token = {.token_id = token_at(request, p), .logprob = -1.0f, .rank = p}, .top = {}});
    }
  }
  state.num_computed = end;
  if (!planned.samples_token) return result;
  ++state.num_known;
  const auto failure = failures_.find(request.sampling.seed);
  if (failure != failures_.end() && failure->second == planned.output_idx) {
    result.error = SequenceError::kInvalidLogits;
    return result;
  }
  result.token_id = token_at(request, end);
  if (request.sampling.num_logprobs) {
    result.has_logprobs = true;
    result.logprobs.token = {.token_id = result.token_id, .logprob = -0.5f, .rank = 1};
  }
  return result;
}

}  // namespace tvllm::testing
