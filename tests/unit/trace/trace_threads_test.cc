// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "trace/trace_recorder.h"
#include "trace/trace_ring.h"

namespace tvllm::trace {
namespace {

TEST(TraceThreadsTest, ReadersSeeWholeEventsInOrderWhileTheEngineWrites) {
  constexpr std::uint64_t kNumSteps = 4000;
  constexpr std::int32_t kEventsPerStep = 7;
  TraceRing ring(300 * sizeof(TraceEvent));
  std::atomic<bool> ended{false};
  std::vector<std::jthread> readers;
  for (int r = 0; r < 3; ++r) {
    readers.emplace_back([&ring, &ended] {
      std::vector<TraceEvent> out(64);
      std::uint64_t wanted = 1;
      std::uint64_t num_seen = 0;
      bool is_last_turn = false;
      while (true) {
        is_last_turn = ended.load();
        const TraceRing::Piece piece = ring.read(wanted, out);
        for (std::size_t i = 0; i < piece.num_events; ++i) {
          const std::uint64_t idx = piece.first + i - 1;
          ASSERT_EQ(out[i].step_id, idx / kEventsPerStep + 1);
          ASSERT_EQ(out[i].values[0], static_cast<std::int32_t>(idx % kEventsPerStep));
          ASSERT_EQ(out[i].values[1], static_cast<std::int32_t>(out[i].step_id));
        }
        num_seen += piece.num_events + piece.num_lost;
        wanted = piece.first + piece.num_events;
        if (piece.num_events == 0 && is_last_turn) break;
        ring.request_snapshot();
      }
      EXPECT_EQ(num_seen, kNumSteps * kEventsPerStep);
    });
  }
  std::uint64_t num_snapshots = 0;
  TraceRecorder recorder(ring, {});
  for (std::uint64_t step = 1; step <= kNumSteps; ++step) {
    recorder.set_step(step);
    if (ring.take_snapshot_request()) ++num_snapshots;
    for (std::int32_t i = 0; i < kEventsPerStep; ++i)
      recorder.add(EventKind::kBlockTaken, SeqId(1), {i, static_cast<std::int32_t>(step), 0});
    recorder.flush();
  }
  ended.store(true);
  readers.clear();
  EXPECT_LE(num_snapshots, kNumSteps);
}

}  // namespace
}  // namespace tvllm::trace
