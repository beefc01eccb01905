// SPDX-License-Identifier: Apache-2.0
// The trace tells all that a picture of the engine needs: from its events alone a small model
// (tests/support/trace_replay.h) arrives at the scheduler's own state after every step, also when
// it begins in the middle with a snapshot.
#include "tests/support/trace_replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/support/scripted_engine.h"
#include "trace/trace_recorder.h"

namespace tvllm::testing {
namespace {

using trace::TraceEvent;
using trace::TraceRecorder;
using trace::TraceRing;
using Status = TraceReplay::Status;

constexpr std::size_t kRingEvents = 4096;

// The ring and who writes it, for an engine that is not there yet.
class Traced {
 public:
  TraceRecorder* recorder() { return &recorder_; }
  TraceRing& ring() { return ring_; }

  // Everything since the last call, which must not have been lost.
  std::vector<TraceEvent> take() {
    recorder_.flush();
    std::vector<TraceEvent> events(kRingEvents);
    const TraceRing::Piece piece = ring_.read(next_, events);
    EXPECT_EQ(piece.num_lost, 0u);
    events.resize(piece.num_events);
    next_ += piece.num_events;
    return events;
  }

 private:
  TraceRing ring_{kRingEvents * sizeof(TraceEvent)};
  TraceRecorder recorder_{ring_, {}, 64};
  std::uint64_t next_ = 1;
};

void expect_equal(const TraceReplay& replay, const scheduler::Scheduler& scheduler,
                  std::uint64_t num_added) {
  ASSERT_EQ(replay.violation(), "");
  const scheduler::SchedulerStats stats = scheduler.stats();
  EXPECT_EQ(replay.count(Status::kRunning), stats.num_running);
  EXPECT_EQ(replay.count(Status::kWaiting) + replay.count(Status::kPreempted), stats.num_waiting);
  EXPECT_EQ(replay.num_cached(), stats.num_cached_blocks);
  EXPECT_EQ(static_cast<std::int32_t>(replay.queue().size()),
            stats.num_blocks - stats.num_used_blocks);
  for (std::uint64_t id = 1; id <= num_added; ++id) {
    const auto it = replay.sequences().find(SeqId(id));
    const bool holds = it != replay.sequences().end() && it->second.holds_blocks();
    ASSERT_EQ(holds, scheduler.kv_cache().holds(SeqId(id))) << "sequence " << id;
    for (std::int32_t group = 0; holds && group < scheduler.kv_cache().num_groups(); ++group) {
      std::vector<std::int32_t> table;
      for (const BlockId block : scheduler.kv_cache().block_table(SeqId(id), group))
        table.push_back(block.value());
      ASSERT_EQ(it->second.tables.at(group), table) << "sequence " << id;
    }
  }
}

std::string planned(const StepPlan& plan) {
  std::string text;
  for (const PlannedSequence& seq : plan.sequences)
    str_append(text, text.empty() ? "" : " ", seq.seq_id, ":", seq.num_new_tokens);
  return text;
}

class TraceReplayTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Depth, TraceReplayTest, ::testing::Values(1, 2));

void run_world(std::uint64_t seed, int depth, std::uint64_t& num_preemptions,
               std::uint64_t& num_hits, int& num_snapshots) {
  std::mt19937_64 rng(seed);
  const auto between = [&rng](std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(rng() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::int32_t num_groups = between(1, 2);
  std::vector<std::int32_t> windows(static_cast<std::size_t>(num_groups), 0);
  if (num_groups == 2) windows[1] = between(0, 3) == 0 ? 0 : between(2, 20);
  const SchedulerSpec spec{.max_num_seqs = between(2, 6),
                           .max_num_batched_tokens = between(6, 30),
                           .max_model_len = 48,
                           .num_kv_groups = num_groups,
                           .kv_windows = windows,
                           .num_blocks = between(30, 50),
                           .enable_prefix_caching = between(0, 3) > 0};
  Traced traced;
  ScriptedEngine engine(spec.options(), depth, 60, traced.recorder());
  TraceReplay replay(spec.num_blocks, true);
  auto late = std::make_unique<TraceReplay>(spec.num_blocks, false);
  std::uint64_t num_added = 0;
  std::vector<TokenEvent> news;
  const auto compare = [&] {
    for (const TraceEvent& event : traced.take()) {
      replay.take(event);
      late->take(event);
    }
    ASSERT_NO_FATAL_FAILURE(expect_equal(replay, engine.scheduler(), num_added));
    if (!late->is_valid()) return;
    ASSERT_NO_FATAL_FAILURE(expect_equal(*late, engine.scheduler(), num_added));
    ASSERT_EQ(late->queue(), replay.queue());
    for (const auto& [seq_id, seq] : replay.sequences()) {
      const TraceReplay::Sequence& other = late->sequences().at(seq_id);
      ASSERT_EQ(other.status, seq.status);
      ASSERT_EQ(other.request_id, seq.request_id);
      ASSERT_EQ(other.num_computed_tokens, seq.num_computed_tokens);
    }
  };
  while (num_added < 25 || engine.has_work()) {
    if (num_added < 25 && between(0, 2) == 0) {
      auto request = std::make_shared<Request>();
      for (std::int32_t p = between(1, 30); p > 0; --p)
        request->prompt_token_ids.push_back(p % between(3, 40) == 0 ? 5 : 4);
      request->sampling.max_tokens = between(1, 40);
      request->sampling.seed = ++num_added;
      request->request_id = str_cat("request-", num_added);
      const SeqId id(num_added);
      if (engine.scheduler().check_fits(*request)) engine.scheduler().add(id, request);
    }
    if (num_added > 0 && between(0, 15) == 0) {
      engine.scheduler().cancel(SeqId(static_cast<std::uint64_t>(between(1, 25))));
    }
    if (between(0, 60) == 0) engine.scheduler().reset_prefix_cache();
    if (between(0, 20) == 0) {
      num_snapshots += late->is_valid() ? 1 : 0;
      late = std::make_unique<TraceReplay>(spec.num_blocks, false);
      traced.ring().request_snapshot();
    }
    const StepPlan& plan = engine.submit();
    ASSERT_NO_FATAL_FAILURE(compare());
    if (!plan.empty()) {
      ASSERT_EQ(replay.last_plan(), planned(plan));
    }
    engine.collect_if_due(plan, news);
    ASSERT_NO_FATAL_FAILURE(compare());
    ASSERT_EQ(engine.executor().violation(), "");
  }
  EXPECT_TRUE(replay.sequences().empty());
  num_preemptions += engine.scheduler().stats().num_preemptions;
  num_hits += engine.scheduler().stats().num_prefix_hits;
}

TEST_P(TraceReplayTest, EventsAloneGiveTheSchedulersStateAfterEveryStep) {
  std::uint64_t num_preemptions = 0;
  std::uint64_t num_hits = 0;
  int num_snapshots = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(str_cat("seed ", seed));
    run_world(seed, GetParam(), num_preemptions, num_hits, num_snapshots);
    if (HasFailure()) return;
  }
  EXPECT_GT(num_preemptions, 50u) << "the worlds are too easy";
  EXPECT_GT(num_hits, 500u) << "the worlds share too little";
  EXPECT_GT(num_snapshots, 50) << "too few readers came late";
}

// The worked example of the project's origin, as the page shows it.
TEST(TraceStoryTest, ALongPromptInChunksHoldsTwoThenFourThenSixBlocks) {
  Traced traced;
  const SchedulerSpec spec{
      .max_num_batched_tokens = 10, .max_model_len = 64, .block_size = 4, .num_blocks = 32};
  ScriptedEngine engine(spec.options(), 1, 60, traced.recorder());
  TraceReplay replay(spec.num_blocks, true);
  std::vector<TokenEvent> news;
  const auto step = [&] {
    engine.step(news);
    for (const TraceEvent& event : traced.take())
      replay.take(event);
  };
  for (std::uint64_t id = 1; id <= 2; ++id) {
    engine.scheduler().add(SeqId(id),
                           make_request({.prompt_len = 4, .max_tokens = 20, .ignore_eos = true}));
  }
  step();
  engine.scheduler().add(SeqId(3), make_request({.prompt_len = 24, .ignore_eos = true}));
  for (const std::size_t num_blocks : {2u, 4u, 6u}) {
    step();
    EXPECT_EQ(replay.last_plan(), "1:1 2:1 3:8");
    EXPECT_EQ(replay.sequences().at(SeqId(3)).tables.at(0).size(), num_blocks);
    EXPECT_EQ(replay.sequences().at(SeqId(3)).num_output_tokens, num_blocks == 6 ? 1 : 0);
  }
  EXPECT_EQ(replay.violation(), "");
}

}  // namespace
}  // namespace tvllm::testing
