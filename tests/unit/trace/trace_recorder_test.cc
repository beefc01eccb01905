// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_recorder.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace tvllm::trace {
namespace {

std::vector<TraceEvent> all_events(const TraceRing& ring) {
  std::vector<TraceEvent> events(ring.capacity());
  events.resize(ring.read(1, events).num_events);
  return events;
}

TEST(TraceRecorderTest, EventsCarryTheTimeAndTheStepThatWereSetLast) {
  TraceRing ring(100 * sizeof(TraceEvent));
  const TimePoint origin{std::chrono::hours(5)};
  TraceRecorder recorder(ring, origin);
  recorder.set_step(7);
  recorder.set_time(origin + std::chrono::nanoseconds(1'234'567));
  recorder.add(EventKind::kBlockTaken, SeqId(3), {9, 0, 2});
  recorder.set_step(8);
  recorder.add(EventKind::kTokenProduced, SeqId(4), {65, 1});
  EXPECT_EQ(ring.next(), 1u) << "nothing is seen before flush()";
  recorder.flush();
  recorder.flush();
  const std::vector<TraceEvent> events = all_events(ring);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].step_id, 7u);
  EXPECT_EQ(events[0].time_us, 1234);
  EXPECT_EQ(events[0].seq_id, SeqId(3));
  EXPECT_EQ(events[0].values[0], 9);
  EXPECT_EQ(events[0].values[2], 2);
  EXPECT_EQ(events[1].kind, EventKind::kTokenProduced);
  EXPECT_EQ(events[1].step_id, 8u);
  EXPECT_EQ(events[1].values[1], 1);
}

TEST(TraceRecorderTest, AStepThatWritesMoreThanTheBufferHoldsLosesNothing) {
  TraceRing ring(100 * sizeof(TraceEvent));
  TraceRecorder recorder(ring, {}, 4);
  for (std::int32_t i = 0; i < 11; ++i)
    recorder.add(EventKind::kBlockEvicted, {}, {i});
  recorder.flush();
  const std::vector<TraceEvent> events = all_events(ring);
  ASSERT_EQ(events.size(), 11u);
  for (std::int32_t i = 0; i < 11; ++i)
    EXPECT_EQ(events[static_cast<std::size_t>(i)].values[0], i);
}

TEST(TraceRecorderTest, ALongListIsSpreadOverRecordsThatSayWhereTheyBegin) {
  TraceRing ring(100 * sizeof(TraceEvent));
  TraceRecorder recorder(ring, {}, 2);
  TraceRecorder::ListWriter list(recorder, EventKind::kSnapshotBlocks, SeqId(5));
  for (std::int32_t group = 0; group < 2; ++group) {
    for (std::int32_t i = 0; i < 30; ++i)
      list.add(group, i, BlockId(100 * group + i + 1));
  }
  recorder.flush();
  std::vector<std::vector<std::int32_t>> tables(2);
  for (const TraceEvent& event : all_events(ring)) {
    EXPECT_EQ(event.seq_id, SeqId(5));
    std::vector<std::int32_t>& table = tables.at(static_cast<std::size_t>(event.values[0]));
    EXPECT_EQ(event.values[1], static_cast<std::int32_t>(table.size()));
    table.insert(table.end(), event.list().begin(), event.list().end());
  }
  for (std::int32_t group = 0; group < 2; ++group) {
    const auto& table = tables[static_cast<std::size_t>(group)];
    ASSERT_EQ(table.size(), 30u);
    EXPECT_EQ(table.front(), 100 * group + 1);
    EXPECT_EQ(table.back(), 100 * group + 30);
  }
}

TEST(TraceRecorderTest, ASnapshotIsWantedOnceHoweverManyAsk) {
  TraceRing ring(sizeof(TraceEvent));
  EXPECT_FALSE(ring.take_snapshot_request());
  ring.request_snapshot();
  ring.request_snapshot();
  EXPECT_TRUE(ring.take_snapshot_request());
  EXPECT_FALSE(ring.take_snapshot_request());
}

}  // namespace
}  // namespace tvllm::trace
