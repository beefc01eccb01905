// SPDX-License-Identifier: Apache-2.0
#include "server/trace_json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "base/strings.h"
#include "base/utf8.h"
#include "core/token_event.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/unit/server/server_fixture.h"
#include "tokenizer/tokenizer.h"

namespace tvllm::server {
namespace {

using trace::EventKind;
using trace::TraceEvent;

class TraceJsonTest : public ::testing::Test {
 protected:
  // The data of the one event that comes out, after a look at its framing.
  boost::json::object json_of(const TraceEvent& event) {
    std::string out;
    append_trace_event(out, "ab-7", event, *tokenizer_);
    EXPECT_TRUE(out.starts_with("id: ab-7\ndata: {")) << out;
    EXPECT_TRUE(out.ends_with("}\n\n")) << out;
    EXPECT_TRUE(is_valid_utf8(out));
    const std::string data = out.substr(15, out.size() - 17);
    EXPECT_EQ(data.find('\n'), std::string::npos);
    return parse_json(data).as_object();
  }

  const std::unique_ptr<tokenizer::Tokenizer> tokenizer_ = testing::make_byte_tokenizer();
};

TEST_F(TraceJsonTest, EveryKindHasItsFieldsInOrder) {
  for (const trace::KindInfo& info : trace::all_kinds()) {
    TraceEvent event;
    event.kind = info.kind;
    event.step_id = 5;
    event.time_us = 1234;
    event.seq_id = SeqId(9);
    for (std::size_t i = 0; i < TraceEvent::kTailAt; ++i)
      event.values[i] = 1;
    const boost::json::object json = json_of(event);
    std::vector<std::string> expected = {"kind"};
    if (info.kind == EventKind::kEngineInfo) {
      expected.push_back("version");
    } else {
      expected.insert(expected.end(), {"step", "time_us"});
    }
    if (info.has_sequence) expected.push_back("seq");
    for (const std::string_view field : info.fields) {
      if (!field.empty()) expected.emplace_back(field);
    }
    if (info.tail != trace::Tail::kNone) expected.emplace_back(info.tail_name);
    if (info.kind == EventKind::kTokenProduced) expected.push_back("text");
    std::vector<std::string> names;
    for (const auto& member : json)
      names.emplace_back(member.key());
    EXPECT_EQ(names, expected) << info.name;
    EXPECT_EQ(json.at("kind").as_string(), info.name);
  }
}

TEST_F(TraceJsonTest, NumbersFlagsTextsAndListsKeepTheirValues) {
  TraceEvent queued;
  queued.kind = EventKind::kRequestQueued;
  queued.step_id = 1ULL << 40;
  queued.time_us = 1LL << 50;
  queued.seq_id = SeqId(3);
  queued.values[0] = 12;
  queued.values[1] = 2'147'483'647;
  queued.set_text("say \"hi\"\n\\ \x01");
  const boost::json::object json = json_of(queued);
  EXPECT_EQ(json.at("step"), 1LL << 40);
  EXPECT_EQ(json.at("time_us"), 1LL << 50);
  EXPECT_EQ(json.at("seq"), 3);
  EXPECT_EQ(json.at("max_output_tokens"), 2'147'483'647);
  EXPECT_EQ(json.at("request_id").as_string(), "say \"hi\"\n\\ \x01");

  TraceEvent listed;
  listed.kind = EventKind::kSnapshotQueue;
  listed.values = {1, 0, 8, 6, 7};
  listed.num_in_tail = 3;
  EXPECT_EQ(json_of(listed).at("blocks"), (boost::json::array{8, 6, 7}));
  EXPECT_EQ(json_of(listed).at("is_cached"), true);
}

// A request id is cut in the middle of a character, a token is a part of one.
TEST_F(TraceJsonTest, BytesThatAreNoUtf8BecomeReplacementCharacters) {
  TraceEvent queued;
  queued.kind = EventKind::kRequestQueued;
  queued.set_text(std::string(55, 'x') + "\u00e9");
  EXPECT_EQ(json_of(queued).at("request_id").as_string(), std::string(55, 'x') + "\ufffd");

  TraceEvent token;
  token.kind = EventKind::kTokenProduced;
  token.values[0] = testing::byte_tokens("\xf0")[0];
  EXPECT_EQ(json_of(token).at("text").as_string(), "\ufffd");
}

TEST_F(TraceJsonTest, NamesReasonsAndStatuses) {
  TraceEvent finished;
  finished.kind = EventKind::kSequenceFinished;
  TraceEvent progress;
  progress.kind = EventKind::kSnapshotProgress;
  for (const auto& [reason, name] :
       {std::pair(FinishReason::kStop, "stop"), std::pair(FinishReason::kLength, "length"),
        std::pair(FinishReason::kAbort, "abort"), std::pair(FinishReason::kError, "error")}) {
    finished.values[0] = static_cast<std::int32_t>(reason);
    EXPECT_EQ(json_of(finished).at("reason").as_string(), name);
  }
  int value = 0;
  for (const char* name : {"waiting", "running", "preempted", "finished"}) {
    progress.values[0] = value++;
    EXPECT_EQ(json_of(progress).at("status").as_string(), name);
  }
}

TEST_F(TraceJsonTest, WhatHasNoNumberHasNoIdLine) {
  std::string out;
  TraceEvent info;
  info.kind = EventKind::kEngineInfo;
  append_trace_event(out, {}, info, *tokenizer_);
  append_trace_gap(out, 12);
  EXPECT_EQ(out.find("id:"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\n\ndata: {\"kind\":\"gap\",\"num_lost\":12}\n\n"));
}

// The rows of the document's table are the kinds, and `gap`.
TEST(TraceDocumentTest, NamesEveryKindAndFieldAndNoOther) {
  std::ifstream file(TVLLM_TEST_DATA "/../../docs/trace-events.md");
  std::stringstream text;
  text << file.rdbuf();
  std::map<std::string, std::string> rows;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("| `")) rows[line.substr(3, line.find('`', 3) - 3)] = line;
  }
  for (const trace::KindInfo& info : trace::all_kinds()) {
    const std::string& row = rows[std::string(info.name)];
    EXPECT_EQ(row.find("` *") != std::string::npos, info.has_sequence) << info.name;
    std::vector<std::string_view> fields(info.fields.begin(), info.fields.end());
    fields.push_back(info.tail_name);
    if (info.kind == EventKind::kEngineInfo) fields.push_back("version");
    if (info.kind == EventKind::kTokenProduced) fields.push_back("text");
    std::erase(fields, "");
    for (const std::string_view field : fields)
      EXPECT_NE(row.find(str_cat('`', field, '`')), std::string::npos) << info.name << field;
  }
  EXPECT_NE(rows["gap"].find("`num_lost`"), std::string::npos);
  EXPECT_EQ(rows.size(), trace::all_kinds().size() + 1);
}

}  // namespace
}  // namespace tvllm::server
