// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/trace_event.h"
#include "trace/trace_ring.h"

namespace tvllm::bench {

// The phases of a step that the trace times, in its order.
inline constexpr std::array<std::string_view, 5> kStepPhases = {"schedule", "build", "forward",
                                                                "sample", "apply"};

// Steps of one kind, added up.
struct StepGroup {
  std::int64_t num_steps = 0;
  std::int64_t num_sequences = 0;  // summed over the steps
  std::int64_t num_prefill_tokens = 0;
  std::int64_t num_decode_tokens = 0;
  std::array<double, kStepPhases.size()> phase_seconds = {};
  std::vector<double> step_seconds = {};

  double seconds() const;
  double prefill_tokens_per_second() const;
  double decode_tokens_per_second() const;
};

// Where the time of the engine's steps goes, from its trace: steps that carry prompt tokens, with
// decodes beside them or not, apart from those that only decode. Thread-compatible.
class StepProfile {
 public:
  // `ring` outlives the profile. What happened before is left out.
  explicit StepProfile(const trace::TraceRing& ring);

  // Takes in what has happened since. Often enough, or the ring loses events.
  void poll();
  // Leaves out what has happened since.
  void skip();
  // Forgets what was taken in.
  void clear();

  const StepGroup& prefill() const { return prefill_; }
  const StepGroup& decode() const { return decode_; }
  std::uint64_t num_lost_events() const { return num_lost_; }

 private:
  // Planned, not applied yet. Two steps may be in flight.
  struct Step {
    std::uint64_t step_id = 0;
    std::int64_t num_sequences = 0;
    std::int64_t num_prefill_tokens = 0;
    std::int64_t num_decode_tokens = 0;
  };

  void take_in(const trace::TraceEvent& event);
  Step& planned(std::uint64_t step_id);
  void finish(const Step& step, const trace::TraceEvent& timings);

  const trace::TraceRing& ring_;
  std::uint64_t next_;
  std::uint64_t num_lost_ = 0;
  std::array<Step, 2> steps_ = {};
  std::vector<trace::TraceEvent> piece_;
  StepGroup prefill_;
  StepGroup decode_;
};

}  // namespace tvllm::bench
