// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_event.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tvllm::trace {
namespace {

TEST(TraceEventTest, KindsAreInOrderAndHaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  EventKind last = EventKind::kNone;
  for (const KindInfo& info : all_kinds()) {
    EXPECT_LT(last, info.kind);
    last = info.kind;
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(&kind_info(info.kind), &info);
    EXPECT_EQ(info.tail == Tail::kNone, info.tail_name.empty()) << info.name;
    // A tail begins at the third value.
    EXPECT_TRUE(info.tail == Tail::kNone || info.fields[TraceEvent::kTailAt].empty()) << info.name;
  }
  EXPECT_LT(static_cast<int>(last), 64) << "64 .. 95 are kept for device memory events";
}

TEST(TraceEventTest, TextIsKeptUpToFiftySixBytes) {
  TraceEvent event;
  event.set_text("chatcmpl-0123456789abcdef0123456789abcdef-89abcdef");
  EXPECT_EQ(event.text(), "chatcmpl-0123456789abcdef0123456789abcdef-89abcdef");
  event.set_text(std::string(200, 'x'));
  EXPECT_EQ(event.text(), std::string(56, 'x'));
  event.set_text("");
  EXPECT_EQ(event.text(), "");
}

}  // namespace
}  // namespace tvllm::trace
