// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_event.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace tvllm::trace {

namespace {

constexpr std::array kKinds = {
    KindInfo{EventKind::kEngineInfo,
             "engine_info",
             false,
             {"block_size", "num_blocks", "num_groups", "token_budget", "max_num_seqs",
              "has_prefix_caching"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kRequestQueued,
             "request_queued",
             true,
             {"num_prompt_tokens", "max_output_tokens"},
             Tail::kText,
             "request_id"},
    KindInfo{EventKind::kSequenceAdmitted,
             "sequence_admitted",
             true,
             {"num_known_tokens", "num_cached_tokens", "is_resumed", "state_slot"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kStepPlanned,
             "step_planned",
             false,
             {"num_sequences", "num_tokens", "num_running", "num_waiting"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSequencePlanned,
             "sequence_planned",
             true,
             {"num_computed_tokens", "num_new_tokens", "is_decode", "is_sampling"},
             Tail::kNone,
             {}},
    KindInfo{
        EventKind::kBlockTaken, "block_taken", true, {"block", "group", "index"}, Tail::kNone, {}},
    KindInfo{EventKind::kBlockShared,
             "block_shared",
             true,
             {"block", "group", "index", "num_references"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kBlockFreed,
             "block_freed",
             true,
             {"block", "group", "index", "num_references", "is_cached"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kBlockEvicted, "block_evicted", false, {"block"}, Tail::kNone, {}},
    KindInfo{EventKind::kStepTimings,
             "step_timings",
             false,
             {"schedule_us", "build_us", "forward_us", "sample_us", "apply_us"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kTokenProduced,
             "token_produced",
             true,
             {"token_id", "output_index"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSequencePreempted,
             "sequence_preempted",
             true,
             {"num_known_tokens"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSequenceFinished,
             "sequence_finished",
             true,
             {"reason", "num_prompt_tokens", "num_output_tokens"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSnapshotBegin,
             "snapshot_begin",
             false,
             {"num_sequences", "has_queue"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSnapshotSequence,
             "snapshot_sequence",
             true,
             {"num_prompt_tokens", "max_output_tokens"},
             Tail::kText,
             "request_id"},
    KindInfo{EventKind::kSnapshotProgress,
             "snapshot_progress",
             true,
             {"status", "num_computed_tokens", "num_output_tokens", "state_slot"},
             Tail::kNone,
             {}},
    KindInfo{EventKind::kSnapshotBlocks,
             "snapshot_blocks",
             true,
             {"group", "first_index"},
             Tail::kList,
             "blocks"},
    KindInfo{
        EventKind::kSnapshotQueue, "snapshot_queue", false, {"is_cached"}, Tail::kList, "blocks"},
    KindInfo{EventKind::kSnapshotEnd, "snapshot_end", false, {}, Tail::kNone, {}},
};

}  // namespace

void TraceEvent::set_text(std::string_view text) {
  num_in_tail = static_cast<std::uint8_t>(std::min(text.size(), kMaxTextBytes));
  std::memcpy(&values[kTailAt], text.data(), num_in_tail);
}

std::string_view TraceEvent::text() const {
  return {reinterpret_cast<const char*>(&values[kTailAt]), num_in_tail};
}

const KindInfo& kind_info(EventKind kind) {
  const auto found =
      std::lower_bound(kKinds.begin(), kKinds.end(), kind,
                       [](const KindInfo& info, EventKind wanted) { return info.kind < wanted; });
  TVLLM_CHECK(found != kKinds.end() && found->kind == kind, "no event kind ",
              static_cast<int>(kind));
  return *found;
}

std::span<const KindInfo> all_kinds() {
  return kKinds;
}

}  // namespace tvllm::trace
