// SPDX-License-Identifier: Apache-2.0
#include "bench/step_profile.h"

#include <numeric>

namespace tvllm::bench {

namespace {

constexpr std::size_t kPieceEvents = 1024;

double rate(std::int64_t count, double seconds) {
  return seconds > 0.0 ? static_cast<double>(count) / seconds : 0.0;
}

}  // namespace

double StepGroup::seconds() const {
  return std::accumulate(phase_seconds.begin(), phase_seconds.end(), 0.0);
}

double StepGroup::prefill_tokens_per_second() const {
  return rate(num_prefill_tokens, seconds());
}

double StepGroup::decode_tokens_per_second() const {
  return rate(num_decode_tokens, seconds());
}

StepProfile::StepProfile(const trace::TraceRing& ring)
    : ring_(ring), next_(ring.next()), piece_(kPieceEvents) {}

void StepProfile::skip() {
  next_ = ring_.next();
  steps_ = {};
}

void StepProfile::clear() {
  num_lost_ = 0;
  prefill_ = {};
  decode_ = {};
}

void StepProfile::poll() {
  while (true) {
    const trace::TraceRing::Piece piece = ring_.read(next_, piece_);
    num_lost_ += piece.num_lost;
    for (std::size_t i = 0; i < piece.num_events; ++i)
      take_in(piece_[i]);
    next_ = piece.first + piece.num_events;
    if (piece.num_events < piece_.size()) return;
  }
}

StepProfile::Step& StepProfile::planned(std::uint64_t step_id) {
  return steps_[step_id % steps_.size()];
}

void StepProfile::take_in(const trace::TraceEvent& event) {
  Step& step = planned(event.step_id);
  switch (event.kind) {
    case trace::EventKind::kStepPlanned:
      step = {.step_id = event.step_id, .num_sequences = event.values[0]};
      break;
    case trace::EventKind::kSequencePlanned: {
      const bool is_decode = event.values[2] != 0;
      (is_decode ? step.num_decode_tokens : step.num_prefill_tokens) += event.values[1];
      break;
    }
    case trace::EventKind::kStepTimings:
      // A step whose plan was lost, or came before the start, says nothing.
      if (step.step_id == event.step_id && step.num_sequences > 0) finish(step, event);
      step = {};
      break;
    default:
      break;
  }
}

void StepProfile::finish(const Step& step, const trace::TraceEvent& timings) {
  StepGroup& group = step.num_prefill_tokens > 0 ? prefill_ : decode_;
  ++group.num_steps;
  group.num_sequences += step.num_sequences;
  group.num_prefill_tokens += step.num_prefill_tokens;
  group.num_decode_tokens += step.num_decode_tokens;
  double total = 0.0;
  for (std::size_t phase = 0; phase < kStepPhases.size(); ++phase) {
    const double seconds = 1e-6 * timings.values[phase];
    group.phase_seconds[phase] += seconds;
    total += seconds;
  }
  group.step_seconds.push_back(total);
}

}  // namespace tvllm::bench
