// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/request.h"
#include "executor/model_executor.h"

namespace tvllm::testing {

struct ScriptedExecutorOptions {
  int max_steps_in_flight = 1;
  std::int32_t max_num_seqs = 8;
  std::int32_t max_num_batched_tokens = 64;
  std::int32_t num_kv_groups = 1;
  std::vector<std::int32_t> kv_windows = {};
  std::int32_t block_size = 4;
  std::int32_t num_blocks = 64;
  std::int32_t vocab_size = 50;
};

// A model executor without a model: the token at a position is a function of the request's seed and
// the position alone, so a sequence must get the same tokens however it is batched, chunked or
// preempted. Meanwhile it distrusts the plan. Where a real cache keeps K and V, it keeps for every
// KV slot the digest of what K and V depend on: the cache salt, the position, and all tokens up to
// it. So it finds any plan that
//   - gives a token that is not the known one, or skips or repeats a position,
//   - lets a sequence read a slot that holds anything else than what it would have computed there
//     itself (wrong table, block given away too early, block shared wrongly),
//   - writes into a block that another table lists as well,
//   - starts a sequence on what one that failed held: a row without valid logits casts doubt on all
//     of its sequence's K and V from its collect() on,
//   - has the null block where a group's window still sees something,
//   - lists a block twice in a table, passes a budget, or uses a state slot that is not the
//     sequence's.
class ScriptedExecutor final : public executor::ModelExecutor {
 public:
  explicit ScriptedExecutor(const ScriptedExecutorOptions& options);

  int max_steps_in_flight() const override { return options_.max_steps_in_flight; }
  void submit(const StepPlan& plan) override;
  const StepResult& collect() override;

  // Output tokens of requests with this seed, from the first on; after them the function again.
  void script(std::uint64_t seed, std::vector<TokenId> output_token_ids);
  // The row that samples this output of requests with this seed has no valid logits.
  void fail_at(std::uint64_t seed, std::int32_t output_idx) { failures_[seed] = output_idx; }

  // What stands at `position` of the request's sequence, prompt or output.
  TokenId token_at(const Request& request, std::int32_t position) const;

  // The first thing that was wrong with a plan; empty if nothing was.
  const std::string& violation() const { return violation_; }

 private:
  // What a real executor keeps in a state slot.
  struct SlotState {
    SeqId seq_id;
    std::shared_ptr<const Request> request;  // null: the slot is free
    std::int32_t num_computed = 0;
    std::int32_t num_known = 0;          // with those sampled by steps in flight
    std::int32_t num_collected = 0;      // known to the scheduler as well
    bool is_fresh = true;                // computed nothing yet: its first plan tells what was hit
    bool has_failed = false;             // a row without valid logits was answered
    std::vector<std::uint64_t> digests;  // of the tokens up to each position
  };
  struct KvSlot {
    std::uint64_t digest = 0;
    bool is_doubtful = false;  // a sequence that failed held it
  };
  struct Step {
    StepResult result;
    std::vector<StateSlot> sampling_slots;
    std::vector<std::size_t> failed_rows;
    const StepPlan* plan = nullptr;
  };

  void apply_releases_and_starts(const StepPlan& plan);
  void check_limits(const StepPlan& plan);
  void check_tables(const StepPlan& plan);
  void check_table(std::span<const BlockId> table, std::int32_t first_seen,
                   std::int32_t first_written);
  void check_sequence(const PlannedSequence& planned, const TokenId* token_ids);
  void write_slots(const StepPlan& plan);
  void read_slots(const StepPlan& plan);
  SequenceResult answer(const PlannedSequence& planned, SlotState& state);
  SlotState& slot(StateSlot id) { return slots_[static_cast<std::size_t>(id.value())]; }
  void check_hit(const StepPlan& plan, std::size_t row);
  void doubt(const StepPlan& plan, std::size_t row);
  // The first position that the sequence's new tokens see in a group.
  std::int32_t first_seen(const PlannedSequence& planned, std::size_t group) const;
  std::size_t kv_slot(std::span<const BlockId> table, std::int32_t position) const;
  std::uint64_t digest(SlotState& state, std::int32_t position) const;
  template <typename... Args>
  void expect(bool condition, const Args&... message);

  const ScriptedExecutorOptions options_;
  std::vector<SlotState> slots_;
  std::vector<std::vector<KvSlot>> cache_;  // [num_kv_groups][(num_blocks + 1) * block_size]
  // [num_blocks + 1]: the tables of this step that list a block, and that write into it
  std::vector<std::int32_t> num_listed_;
  std::vector<std::int32_t> num_written_;
  std::vector<std::uint64_t> last_table_;  // [num_blocks + 1]: number of the last table that did
  std::uint64_t num_tables_ = 0;
  std::uint64_t num_submitted_ = 0;
  std::deque<Step> in_flight_;
  StepResult collected_;
  std::map<std::uint64_t, std::vector<TokenId>> scripts_;
  std::map<std::uint64_t, std::int32_t> failures_;
  std::string violation_;
};

}  // namespace tvllm::testing
