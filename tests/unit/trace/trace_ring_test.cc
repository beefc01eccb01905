// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_ring.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tvllm::trace {
namespace {

// Event number n says so in step_id.
class Writer {
 public:
  explicit Writer(TraceRing& ring) : ring_(ring) {}
  void write(std::size_t count) {
    std::vector<TraceEvent> events(count);
    for (TraceEvent& event : events)
      event.step_id = ++num_written_;
    ring_.append(events);
  }
  std::uint64_t num_written() const { return num_written_; }

 private:
  TraceRing& ring_;
  std::uint64_t num_written_ = 0;
};

TEST(TraceRingTest, GivesWhatIsThereFromTheNumberWanted) {
  TraceRing ring(5 * sizeof(TraceEvent));
  Writer writer(ring);
  std::vector<TraceEvent> out(10);
  EXPECT_EQ(ring.read(1, out).num_events, 0u);
  EXPECT_EQ(ring.next(), 1u);
  writer.write(3);
  const TraceRing::Piece piece = ring.read(2, out);
  EXPECT_EQ(piece.first, 2u);
  EXPECT_EQ(piece.num_events, 2u);
  EXPECT_EQ(piece.num_lost, 0u);
  EXPECT_EQ(out[0].step_id, 2u);
  EXPECT_EQ(ring.read(0, out).num_lost, 0u) << "there is no event 0 to lose";
}

TEST(TraceRingTest, TheOldestGoFirst) {
  TraceRing ring(5 * sizeof(TraceEvent));
  Writer writer(ring);
  std::vector<TraceEvent> out(10);
  writer.write(4);
  writer.write(4);
  TraceRing::Piece piece = ring.read(1, out);
  EXPECT_EQ(piece.first, 4u);
  EXPECT_EQ(piece.num_lost, 3u);
  EXPECT_EQ(piece.num_events, 5u);
  writer.write(12);  // more than it holds
  piece = ring.read(9, out);
  EXPECT_EQ(piece.first, 16u);
  EXPECT_EQ(piece.num_lost, 7u);
  EXPECT_EQ(out[0].step_id, 16u);
  EXPECT_EQ(out[4].step_id, 20u);
}

TEST(TraceRingTest, ANumberThatWasNeverGivenMeansFromNowOn) {
  TraceRing ring(5 * sizeof(TraceEvent));
  Writer writer(ring);
  writer.write(3);
  std::vector<TraceEvent> out(10);
  const TraceRing::Piece piece = ring.read(1000, out);
  EXPECT_EQ(piece.first, 4u);
  EXPECT_EQ(piece.num_events, 0u);
  EXPECT_EQ(piece.num_lost, 0u);
}

TEST(TraceRingTest, WhatReadersGetAndWhatTheyLoseAddsUpToWhatWasWritten) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 rng(seed);
    const auto below = [&rng](std::uint64_t limit) {
      return static_cast<std::size_t>(rng() % limit);
    };
    TraceRing ring((1 + below(40)) * sizeof(TraceEvent) + below(sizeof(TraceEvent)));
    Writer writer(ring);
    struct Reader {
      std::uint64_t wanted = 1;
      std::uint64_t num_got = 0;
      std::uint64_t num_lost = 0;
    };
    std::vector<Reader> readers(3);
    const auto let_read = [&](Reader& reader, std::size_t count) {
      std::vector<TraceEvent> out(count);
      const TraceRing::Piece piece = ring.read(reader.wanted, out);
      ASSERT_EQ(piece.first, reader.wanted + piece.num_lost);
      for (std::size_t i = 0; i < piece.num_events; ++i)
        ASSERT_EQ(out[i].step_id, piece.first + i);
      reader.wanted = piece.first + piece.num_events;
      reader.num_got += piece.num_events;
      reader.num_lost += piece.num_lost;
    };
    for (int turn = 0; turn < 100; ++turn) {
      writer.write(below(below(10) == 0 ? 100 : 8));
      for (Reader& reader : readers) {
        if (below(4) != 0) continue;
        ASSERT_NO_FATAL_FAILURE(let_read(reader, below(30)));
      }
    }
    for (Reader& reader : readers) {
      ASSERT_NO_FATAL_FAILURE(let_read(reader, ring.capacity()));
      EXPECT_EQ(reader.num_got + reader.num_lost, writer.num_written()) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace tvllm::trace
