// SPDX-License-Identifier: Apache-2.0
// Many small worlds, each from one seed: random options with tiny pools, requests that arrive on a
// virtual clock and often begin alike, clients that cancel, rows that fail. In each of them every
// sequence must get exactly the tokens that it would get alone, must never read a slot that holds
// anything else than what it would have computed there itself (tests/support/scripted_executor.h),
// and nothing may be left behind.
//
// TVLLM_SIM_STEPS=10000000 in the environment makes it a long run.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/strings.h"
#include "tests/support/scripted_engine.h"
#include "tests/support/virtual_clock.h"

namespace tvllm::testing {
namespace {

using std::chrono::microseconds;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  // In [low, high]. Not a standard distribution: those differ between libraries.
  std::int32_t between(std::int32_t low, std::int32_t high) {
    const std::uint64_t span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int32_t>(rng_() % span);
  }
  bool chance(std::int32_t percent) { return between(1, 100) <= percent; }

 private:
  std::mt19937_64 rng_;
};

struct World {
  std::uint64_t seed = 0;
  SchedulerOptions options;
  int depth = 1;
  std::int32_t vocab_size = 60;  // one token in so many is EOS
  std::int32_t num_requests = 40;
  std::int32_t mean_gap_us = 0;  // between arrivals
  std::int32_t cancel_percent = 0;
  std::int32_t fail_percent = 0;
  bool bounds_prefill = false;
  std::int32_t share_percent = 0;  // requests that begin like others
  std::int32_t num_salts = 1;
};

// The first group sees all, one or all of the others do not.
std::vector<std::int32_t> random_windows(Dice& dice, std::int32_t num_groups) {
  std::vector<std::int32_t> windows(static_cast<std::size_t>(num_groups),
                                    dice.chance(70) ? dice.between(1, 24) : 0);
  windows.front() = 0;
  windows.back() = dice.chance(50) ? windows.back() : dice.between(1, 12);
  return windows;
}

World random_world(std::uint64_t seed, int depth) {
  Dice dice(seed);
  World world;
  world.seed = seed;
  world.depth = depth;
  SchedulerOptions& o = world.options;
  o.max_num_seqs = dice.between(1, 8);
  o.max_model_len = dice.between(8, 64);
  o.max_num_batched_tokens = dice.between(o.max_num_seqs, 40);
  o.num_kv_groups = dice.chance(25) ? 2 : 1;
  if (dice.chance(30)) o.kv_windows = random_windows(dice, o.num_kv_groups = dice.between(2, 4));
  o.block_size = dice.chance(70) ? 4 : 8;
  o.num_blocks = dice.between(2 * o.num_kv_groups, 24 * o.num_kv_groups);
  o.watermark = dice.chance(50) ? 0.0f : 0.1f;
  o.enable_chunked_prefill = !dice.chance(20);
  if (!o.enable_chunked_prefill) {
    o.max_num_batched_tokens = std::max(o.max_num_batched_tokens, o.max_model_len);
  }
  o.policy = dice.chance(30) ? SchedulingPolicy::kPriority : SchedulingPolicy::kFcfs;
  world.mean_gap_us = dice.between(0, 1000);
  world.cancel_percent = dice.chance(50) ? dice.between(1, 10) : 0;
  world.fail_percent = dice.chance(30) ? 10 : 0;
  world.bounds_prefill = dice.chance(30);
  o.enable_prefix_caching = dice.chance(85);
  o.prefix_hash_seed = seed;
  world.share_percent = dice.chance(80) ? dice.between(20, 90) : 0;
  world.num_salts = dice.chance(30) ? 2 : 1;
  return world;
}

std::string describe(const World& world) {
  const SchedulerOptions& o = world.options;
  return str_cat("seed ", world.seed, " depth ", world.depth, ": max_num_seqs ", o.max_num_seqs,
                 ", budget ", o.max_num_batched_tokens, ", max_model_len ", o.max_model_len, ", ",
                 o.num_blocks, " blocks of ", o.block_size, ", groups ", o.num_kv_groups,
                 " (last window ", o.kv_windows.empty() ? 0 : o.kv_windows.back(), ")",
                 ", chunked ", o.enable_chunked_prefill, ", priority ",
                 o.policy == SchedulingPolicy::kPriority, ", prefix caching ",
                 o.enable_prefix_caching);
}

struct Outcome {
  std::vector<TokenId> tokens;
  FinishReason reason = FinishReason::kNone;
  std::optional<TokenId> stop_token_id;
};

// What a request gets when it has the engine for itself, by the rules of vLLM's documentation.
Outcome run_alone(const ScriptedExecutor& executor, const Request& request,
                  std::int32_t max_model_len, std::optional<std::int32_t> fails_at) {
  const SamplingParams& params = request.sampling;
  const std::int32_t prompt_len = static_cast<std::int32_t>(request.prompt_token_ids.size());
  Outcome outcome;
  while (outcome.reason == FinishReason::kNone) {
    const std::int32_t num_outputs = static_cast<std::int32_t>(outcome.tokens.size());
    if (fails_at == num_outputs) {
      outcome.reason = FinishReason::kError;
      break;
    }
    const TokenId token = executor.token_at(request, prompt_len + num_outputs);
    outcome.tokens.push_back(token);
    const bool is_stop_id =
        std::count(params.stop_token_ids.begin(), params.stop_token_ids.end(), token) > 0;
    if (num_outputs + 1 >= params.min_tokens && token == kEos && !params.ignore_eos) {
      outcome.reason = FinishReason::kStop;
    } else if (num_outputs + 1 >= params.min_tokens && is_stop_id) {
      outcome.reason = FinishReason::kStop;
      outcome.stop_token_id = token;
    } else if (num_outputs + 1 == params.max_tokens ||
               prompt_len + num_outputs + 1 == max_model_len) {
      outcome.reason = FinishReason::kLength;
    }
  }
  return outcome;
}

class Simulation {
 public:
  explicit Simulation(const World& world)
      : world_(world),
        dice_(world.seed * 2 + 1),
        engine_(world.options, world.depth, world.vocab_size) {
    for (std::vector<TokenId>& tokens : openings_) {
      append_random_tokens(world_.options.max_model_len, tokens);
    }
  }

  // Steps that computed something; stops at the first fault, which is a test failure.
  std::int64_t run() {
    while (!::testing::Test::HasFailure() &&
           (num_arrived_ < world_.num_requests || engine_.has_work())) {
      let_requests_arrive();
      let_clients_cancel();
      if (dice_.between(1, 500) == 1) engine_.scheduler().reset_prefix_cache();
      step();
      EXPECT_LT(num_turns_, kMaxTurns) << "no end in sight";
    }
    check_nothing_is_left();
    check_that_the_whole_pool_can_be_had();
    return num_steps_;
  }

  scheduler::SchedulerStats stats() { return engine_.scheduler().stats(); }

 private:
  // A request computes at most 64 tokens in its life, preemptions apart.
  static constexpr std::int64_t kMaxTurns = 50'000;

  struct Client {
    std::shared_ptr<const Request> request;
    std::optional<std::int32_t> fails_at;
    std::vector<TokenId> tokens;
    std::int32_t num_prompt_rows = 0;
    FinishReason reason = FinishReason::kNone;
    std::optional<TokenId> stop_token_id;
    bool was_cancelled = false;
  };

  void append_random_tokens(std::int32_t count, std::vector<TokenId>& tokens) {
    for (std::int32_t i = 0; i < count; ++i)
      tokens.push_back(dice_.between(0, world_.vocab_size - 1));
  }

  // Nothing for one that was refused.
  const Client* random_client() {
    const auto it =
        clients_.find(SeqId(static_cast<std::uint64_t>(dice_.between(1, num_arrived_))));
    return it == clients_.end() ? nullptr : &it->second;
  }

  // A conversation so far, or one of a few openings.
  std::vector<TokenId> known_beginning() {
    const Client* earlier = random_client();
    if (earlier == nullptr || dice_.chance(50)) {
      return openings_[static_cast<std::size_t>(dice_.between(0, 2))];
    }
    std::vector<TokenId> tokens = earlier->request->prompt_token_ids;
    tokens.insert(tokens.end(), earlier->tokens.begin(), earlier->tokens.end());
    return tokens;
  }

  // Mostly short prompts and long outputs: those collide when they have grown. Prompts with a known
  // beginning are longer.
  std::vector<TokenId> random_prompt() {
    if (const Client* twin = random_client(); twin != nullptr && dice_.chance(5)) {
      return twin->request->prompt_token_ids;
    }
    const std::int32_t max_len = world_.options.max_model_len;
    std::vector<TokenId> tokens;
    if (dice_.chance(world_.share_percent)) {
      tokens = known_beginning();
      const auto num_shared = static_cast<std::size_t>(dice_.between(max_len / 8, 3 * max_len / 4));
      tokens.resize(std::min(tokens.size(), num_shared));
      append_random_tokens(dice_.between(1, max_len / 8), tokens);
    } else {
      append_random_tokens(dice_.between(1, dice_.chance(70) ? max_len / 4 : max_len), tokens);
    }
    return tokens;
  }

  std::shared_ptr<const Request> random_request() {
    const std::int32_t max_len = world_.options.max_model_len;
    auto request = std::make_shared<Request>();
    request->prompt_token_ids = random_prompt();
    if (dice_.between(1, world_.num_salts) == 2) request->cache_salt = "salt";
    SamplingParams& sampling = request->sampling;
    sampling.seed = world_.seed * 1000 + static_cast<std::uint64_t>(num_arrived_);
    sampling.max_tokens = dice_.chance(10) ? 1'000'000 : dice_.between(1, max_len);
    sampling.min_tokens = dice_.chance(20) ? dice_.between(0, sampling.max_tokens) : 0;
    sampling.ignore_eos = dice_.chance(30);
    if (dice_.chance(30)) sampling.stop_token_ids = {3, kEos};
    if (dice_.chance(20)) sampling.num_prompt_logprobs = 0;
    if (dice_.chance(20)) sampling.num_logprobs = 0;
    request->priority = dice_.between(-2, 2);
    return request;
  }

  void let_requests_arrive() {
    while (num_arrived_ < world_.num_requests && clock_.now() >= next_arrival_) {
      ++num_arrived_;
      next_arrival_ += microseconds(dice_.between(0, 2 * world_.mean_gap_us));
      const std::shared_ptr<const Request> request = random_request();
      if (!engine_.scheduler().check_fits(*request)) continue;
      const SeqId seq_id(static_cast<std::uint64_t>(num_arrived_));
      Client& client = clients_[seq_id];
      client.request = request;
      if (dice_.chance(world_.fail_percent)) {
        client.fails_at = dice_.between(0, 5);
        engine_.executor().fail_at(request->sampling.seed, *client.fails_at);
      }
      engine_.scheduler().add(seq_id, request);
    }
  }

  void let_clients_cancel() {
    if (!dice_.chance(world_.cancel_percent)) return;
    const SeqId seq_id(static_cast<std::uint64_t>(dice_.between(1, num_arrived_ + 2)));
    const auto it = clients_.find(seq_id);
    if (it != clients_.end() && it->second.reason == FinishReason::kNone) {
      it->second.was_cancelled = true;
    }
    engine_.scheduler().cancel(seq_id);  // also unknown and finished ones
    engine_.scheduler().check_invariants();
  }

  std::int32_t prefill_allowance() {
    if (!world_.bounds_prefill || dice_.chance(20)) return scheduler::kNoPrefillBound;
    return dice_.between(0, 12);
  }

  void step() {
    const StepPlan& plan = engine_.submit(prefill_allowance());
    ASSERT_EQ(engine_.executor().violation(), "");
    ++num_turns_;
    if (!plan.empty()) ++num_steps_;
    clock_.advance(microseconds(100 + 10 * plan.num_tokens()));
    if (!engine_.has_work()) clock_.advance_to(std::max(clock_.now(), next_arrival_));
    check_order_of_admission(plan);
    let_clients_cancel();
    events_.clear();
    engine_.collect_if_due(plan, events_);
    ASSERT_EQ(engine_.executor().violation(), "");
    for (const TokenEvent& event : events_) {
      ASSERT_NO_FATAL_FAILURE(take_event(event));
    }
  }

  void check_order_of_admission(const StepPlan& plan) {
    if (world_.options.policy == SchedulingPolicy::kPriority) return;
    for (const SequenceStart& start : plan.started) {
      if (start.known_token_ids.size() > start.request->prompt_token_ids.size()) continue;
      if (!started_.insert(start.seq_id).second) continue;  // preempted before its first token
      EXPECT_LT(last_first_start_, start.seq_id);
      last_first_start_ = start.seq_id;
    }
  }

  void take_event(const TokenEvent& event) {
    const auto it = clients_.find(event.seq_id);
    ASSERT_NE(it, clients_.end());
    Client& client = it->second;
    ASSERT_EQ(client.reason, FinishReason::kNone) << "an event after the last one";
    if (event.token_id != kNoToken) client.tokens.push_back(event.token_id);
    EXPECT_EQ(event.has_logprobs,
              event.token_id != kNoToken && client.request->sampling.num_logprobs.has_value());
    for (const PositionLogprobs& row : event.prompt_logprobs) {
      EXPECT_EQ(row.token.rank, ++client.num_prompt_rows) << "position of the row";
    }
    client.stop_token_id = event.stop_token_id;
    client.reason = event.finish_reason;
    if (client.reason != FinishReason::kNone) check_end(client);
  }

  void check_end(const Client& client) {
    const Request& request = *client.request;
    const Outcome alone =
        run_alone(engine_.executor(), request, world_.options.max_model_len, client.fails_at);
    if (client.reason == FinishReason::kAbort) {
      EXPECT_TRUE(client.was_cancelled);
      EXPECT_TRUE(client.tokens.size() <= alone.tokens.size() &&
                  std::equal(client.tokens.begin(), client.tokens.end(), alone.tokens.begin()));
      return;
    }
    EXPECT_EQ(client.tokens, alone.tokens);
    EXPECT_EQ(client.reason, alone.reason);
    EXPECT_EQ(client.stop_token_id, alone.stop_token_id);
    if (request.sampling.num_prompt_logprobs && client.reason != FinishReason::kError) {
      EXPECT_EQ(client.num_prompt_rows,
                static_cast<std::int32_t>(request.prompt_token_ids.size()) - 1);
    }
  }

  void check_nothing_is_left() {
    if (::testing::Test::HasFailure()) return;
    EXPECT_EQ(stats().num_used_blocks, 0);
    if (!world_.options.enable_prefix_caching) {
      EXPECT_EQ(stats().num_cached_blocks, 0);
    }
    EXPECT_EQ(stats().num_running, 0);
    EXPECT_EQ(stats().num_waiting, 0);
    for (const auto& [seq_id, client] : clients_) {
      EXPECT_NE(client.reason, FinishReason::kNone) << "sequence " << seq_id.value() << " hangs";
    }
  }

  // What is cached is not lost: the longest request that there can be gets its blocks.
  void check_that_the_whole_pool_can_be_had() {
    if (::testing::Test::HasFailure()) return;
    const std::int64_t longest = std::min<std::int64_t>(
        world_.options.max_model_len, engine_.scheduler().kv_cache().max_num_tokens());
    auto request = std::make_shared<Request>();
    append_random_tokens(static_cast<std::int32_t>(longest) - 1, request->prompt_token_ids);
    request->sampling.max_tokens = 1;
    engine_.scheduler().add(SeqId(static_cast<std::uint64_t>(num_arrived_) + 1), request);
    events_.clear();
    for (int i = 0; engine_.has_work() && i < 100; ++i) {
      engine_.step(events_);
    }
    ASSERT_EQ(engine_.executor().violation(), "");
    ASSERT_EQ(events_.size(), 1u);
    EXPECT_NE(events_[0].token_id, kNoToken);
    EXPECT_EQ(stats().num_used_blocks, 0);
  }

  const World world_;
  Dice dice_;
  ScriptedEngine engine_;
  VirtualClock clock_;
  std::array<std::vector<TokenId>, 3> openings_;
  TimePoint next_arrival_{};
  std::int32_t num_arrived_ = 0;
  std::int64_t num_turns_ = 0;
  std::int64_t num_steps_ = 0;
  std::map<SeqId, Client> clients_;
  std::set<SeqId> started_;
  SeqId last_first_start_{};
  std::vector<TokenEvent> events_;
};

class EngineSimTest : public ::testing::TestWithParam<int> {};

std::int64_t num_steps_to_run() {
  const char* given = std::getenv("TVLLM_SIM_STEPS");
  if (given != nullptr) return std::atoll(given);
#ifdef NDEBUG
  return 400'000;  // two seconds
#else
  return 100'000;  // a sanitizer takes seven seconds for these
#endif
}

TEST_P(EngineSimTest, EverySequenceGetsTheTokensItWouldGetAlone) {
  const std::int64_t num_steps_wanted = num_steps_to_run();
  std::int64_t num_steps = 0;
  std::uint64_t num_preemptions = 0;
  std::uint64_t num_tokens = 0;
  std::uint64_t num_hits = 0;
  std::uint64_t num_resumed_hits = 0;
  std::uint64_t seed = 1;
  for (; num_steps < num_steps_wanted; ++seed) {
    const World world = random_world(seed, GetParam());
    SCOPED_TRACE(describe(world));
    Simulation simulation(world);
    num_steps += simulation.run();
    if (HasFailure()) return;
    num_preemptions += simulation.stats().num_preemptions;
    num_tokens += simulation.stats().num_generated_tokens;
    num_hits += simulation.stats().num_prefix_hits;
    num_resumed_hits += simulation.stats().num_resumed_prefix_hits;
  }
  std::cout << "worlds " << seed - 1 << ", steps " << num_steps << ", tokens " << num_tokens
            << ", preemptions " << num_preemptions << ", tokens hit " << num_hits
            << ", when resuming " << num_resumed_hits << "\n";
  const auto num_wanted = static_cast<std::uint64_t>(num_steps_wanted);
  EXPECT_GT(num_preemptions, num_wanted / 50) << "the worlds are too easy";
  EXPECT_GT(num_hits, num_wanted / 20) << "the worlds share too little";
  EXPECT_GT(num_resumed_hits, num_wanted / 50) << "nothing is left when victims come back";
}

INSTANTIATE_TEST_SUITE_P(Depth, EngineSimTest, ::testing::Values(1, 2));

// Steps that `num_requests` equal requests take, all there from the start.
std::int64_t num_steps_of(ScriptedEngine& engine, std::uint64_t& next_id, int num_requests,
                          const RequestSpec& spec) {
  for (int i = 0; i < num_requests; ++i) {
    engine.scheduler().add(SeqId(++next_id), make_request(spec));
  }
  std::int64_t num_steps = 0;
  std::vector<TokenEvent> events;
  while (engine.has_work()) {
    engine.step(events);
    ++num_steps;
  }
  EXPECT_EQ(engine.executor().violation(), "");
  return num_steps;
}

TEST_P(EngineSimTest, AStormOfPreemptionsLeavesNoTraceInLaterThroughput) {
  const RequestSpec greedy{.prompt_len = 4, .max_tokens = 60, .ignore_eos = true};
  const RequestSpec modest{.prompt_len = 8, .max_tokens = 8, .ignore_eos = true};
  const SchedulerSpec spec{.block_size = 4, .num_blocks = 24};
  std::uint64_t next_id = 0;

  ScriptedEngine fresh(spec.options(), GetParam(), 1000);
  const std::int64_t expected = num_steps_of(fresh, next_id, 24, modest);

  ScriptedEngine stormy(spec.options(), GetParam(), 1000);
  const std::int64_t num_stormy = num_steps_of(stormy, next_id, 16, greedy);
  EXPECT_GE(stormy.scheduler().stats().num_preemptions, 20u);
  // One after another the 16 would take 61 steps each: a storm must still be better than that.
  EXPECT_LT(num_stormy, 16 * 61);
  EXPECT_EQ(num_steps_of(stormy, next_id, 24, modest), expected);
}

}  // namespace
}  // namespace tvllm::testing
