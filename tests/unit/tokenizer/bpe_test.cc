// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/bpe.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "tests/unit/tokenizer/test_data.h"
#include "tokenizer/byte_alphabet.h"

namespace tvllm::tokenizer {
namespace {

using Ids = std::vector<TokenId>;

struct LongRun {
  std::string unit;
  std::size_t num_units = 0;
  Ids ids;  // of the whole text

  std::string text(std::size_t scale = 1) const { return repeat(unit, scale * num_units); }
};

// Case TOK-03.
std::vector<LongRun> long_runs() {
  std::vector<LongRun> runs;
  const boost::json::value golden = read_json("long_runs.json");
  for (const boost::json::value& entry : golden.as_array()) {
    LongRun run{to_text(entry.at("unit")), entry.at("repeat").to_number<std::size_t>(), {}};
    const Ids period = to_ids(entry.at("ids"));
    for (std::size_t i = 0; i < entry.at("times").to_number<std::size_t>(); ++i)
      run.ids.insert(run.ids.end(), period.begin(), period.end());
    const Ids rest = to_ids(entry.at("then"));
    run.ids.insert(run.ids.end(), rest.begin(), rest.end());
    runs.push_back(std::move(run));
  }
  return runs;
}

// Of this thread, so that other work on the machine does not count.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double encode_seconds(const std::string& text) {
  const double begin = cpu_seconds();
  smollm2().encode(text);
  return cpu_seconds() - begin;
}

TEST(BpeTest, MergesByRankNotLeftToRightAndNotLongestFirst) {
  // Case TOK-01. Leftmost-first merging differs on all of these, longest match on 15.
  const std::map<std::string, Ids> expected = {
      {"brutalist", {1612, 316, 272, 363}},
      {" counterintuitively", {4360, 591, 36769}},
      {"unhappiness", {419, 88, 38462}},
      {"misconfigured", {34210, 3797, 1915}},
      {"electroencephalography", {11209, 291, 46317, 2882}},
      {" electroencephalography", {7836, 46317, 2882}},
      {"supercalifragilistic", {14174, 5020, 342, 1808, 301, 1847}},
      {"reproducible", {257, 1228, 3029, 812}},
      {"uncharacteristically", {3704, 280, 1269, 11771}},
      {" Kubernetes", {17012, 593, 37491}},
      {"camelCaseName", {12744, 299, 10802, 5820}},
      {"HTTPServer", {8049, 33635, 10740}},
      {"xylophone", {104, 2668, 26997}},
      {"rhythm", {98, 25159}},
      {" Llanfairpwll", {450, 15034, 29389, 41519, 764}},
      {"pneumonoultramicroscopic", {96, 10304, 258, 12715, 814, 1936, 37758}},
      {" throughout", {2126}},
      {"TypeError", {39994}},
      {"Hello, world!", {19556, 28, 905, 17}},
      {"snake_case_name", {48284, 79, 7544, 79, 1245}},
  };
  ASSERT_EQ(expected.size(), 20u);
  for (const auto& [text, ids] : expected)
    EXPECT_EQ(smollm2().encode(text, {.add_special_tokens = false}), ids) << text;
}

TEST(BpeTest, EncodesVeryLongRunsRightAndInTime) {
  for (const LongRun& run : long_runs()) {
    const std::string text = run.text();
    const double begin = cpu_seconds();
    const Ids ids = smollm2().encode(text, {.add_special_tokens = false});
    EXPECT_LT(cpu_seconds() - begin, 2.0) << run.unit;
    EXPECT_EQ(ids, run.ids) << run.unit;
  }
}

TEST(BpeTest, TakesLessThanThreeTimesAsLongForTwiceTheText) {
  for (const LongRun& run : long_runs()) {
    const std::string text = run.text();
    const std::string double_text = run.text(2);
    // Noise only makes a time longer, so the least of a few is what it takes. Four times as long,
    // as a quadratic loop takes, stays four times as long however often it is measured.
    double once = encode_seconds(text);
    double twice = encode_seconds(double_text);
    for (int i = 0; i < 10 && twice >= 3 * once; ++i) {
      once = std::min(once, encode_seconds(text));
      twice = std::min(twice, encode_seconds(double_text));
    }
    EXPECT_LT(twice, 3 * once) << run.unit;
  }
}

struct StackCheck {
  std::vector<LongRun> runs;
  std::size_t num_right = 0;
};

TEST(BpeTest, NeedsLittleStackForVeryLongRuns) {
  smollm2();  // made on the test's own stack
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10), 0);
  const auto encode_all = [](void* context) -> void* {
    StackCheck& check = *static_cast<StackCheck*>(context);
    for (const LongRun& run : check.runs)
      check.num_right += smollm2().encode(run.text()) == run.ids;
    return nullptr;
  };
  StackCheck check{long_runs(), 0};
  pthread_t thread{};
  ASSERT_EQ(pthread_create(&thread, &attributes, encode_all, &check), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(check.num_right, 10u);
  pthread_attr_destroy(&attributes);
}

TEST(BpeTest, AgreesWithHfOnRandomVocabulariesAndOnIgnoreMerges) {
  const boost::json::value golden = read_json("merges.json");
  for (const boost::json::value& vocabulary : golden.as_array()) {
    TokenizerData data;
    data.model = "gpt2";
    data.pre_tokenizer = to_text(vocabulary.at("pre"));
    for (const boost::json::value& token : vocabulary.at("tokens").as_array())
      data.tokens.push_back(to_text(token));
    data.token_types.resize(data.tokens.size(), TokenType::kNormal);
    for (const boost::json::value& merge : vocabulary.at("merges").as_array())
      data.merges.emplace_back(to_text(merge.at(0)), to_text(merge.at(1)));
    const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
    for (const boost::json::value& example : vocabulary.at("cases").as_array()) {
      const std::string text = to_text(example.at("text"));
      EXPECT_EQ(tokenizer->encode(text), to_ids(example.at("ids"))) << text;
    }
  }
}

// The definition: while a pair of neighbours has a rank, merge the lowest, the leftmost of those.
Ids merge_naively(std::string_view word, const TokenizerData& data) {
  std::vector<std::string> parts;
  for (const char c : word)
    parts.push_back(byte_to_alphabet(static_cast<std::uint8_t>(c)));
  for (;;) {
    std::size_t best_rank = data.merges.size();
    std::size_t best = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto pair = std::make_pair(parts[i], parts[i + 1]);
      const auto rank = static_cast<std::size_t>(
          std::find(data.merges.begin(), data.merges.end(), pair) - data.merges.begin());
      if (rank < best_rank) {
        best_rank = rank;
        best = i;
      }
    }
    if (best_rank == data.merges.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) {
    const auto token = std::find(data.tokens.begin(), data.tokens.end(), part);
    ids.push_back(static_cast<TokenId>(token - data.tokens.begin()));
  }
  return ids;
}

TokenizerData random_data(std::mt19937& rng, std::size_t num_merges) {
  TokenizerData data = byte_data();
  std::vector<std::string> parts = {"a", "b", "c"};
  while (data.merges.size() < num_merges) {
    const std::string left = parts[rng() % parts.size()];
    const std::string right = parts[rng() % parts.size()];
    const auto merge = std::make_pair(left, right);
    if (left.size() + right.size() > 10) continue;
    if (std::find(data.merges.begin(), data.merges.end(), merge) != data.merges.end()) continue;
    data.merges.push_back(merge);
    const std::string merged = left + right;
    if (std::find(parts.begin(), parts.end(), merged) != parts.end()) continue;
    parts.push_back(merged);
    data.tokens.push_back(merged);
  }
  data.token_types.resize(data.tokens.size(), TokenType::kNormal);
  // So that a merge may stand before those that make its parts.
  std::shuffle(data.merges.begin(), data.merges.end(), rng);
  return data;
}

TEST(BpeTest, AgreesWithTheDefinitionOnRandomVocabularies) {
  std::mt19937 rng(20250601);
  for (int round = 0; round < 60; ++round) {
    const TokenizerData data = random_data(rng, 1 + rng() % 60);
    const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(data);
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (std::size_t len = 1 + rng() % 70; word.size() < len;)
        word += static_cast<char>('a' + rng() % 3);
      ASSERT_EQ(tokenizer->encode(word), merge_naively(word, data)) << "round " << round << word;
    }
  }
}

TEST(BpeTest, GivesAPairThatStandsTwiceItsLastRank) {
  TokenizerData data = byte_data();
  for (const char* token : {"ab", "bc"})
    data.tokens.emplace_back(token);
  data.token_types.resize(data.tokens.size(), TokenType::kNormal);
  data.merges = {{"a", "b"}, {"b", "c"}, {"a", "b"}};
  EXPECT_EQ(make_tokenizer(data)->encode("abc"), (Ids{'a', 257}));
}

TEST(BpeTest, MakesNoControlTokenByMerging) {
  TokenizerData data = byte_data({"ab"});
  data.merges = {{"a", "b"}};
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(data);
  EXPECT_EQ(tokenizer->encode("ab"), Ids{256});
  EXPECT_EQ(tokenizer->encode("ab", {.parse_special = false}), (Ids{'a', 'b'}));
  data.pre_tokenizer = "llama-bpe";  // which looks for whole words, too
  EXPECT_EQ(make_tokenizer(data)->encode("ab", {.parse_special = false}), (Ids{'a', 'b'}));
}

TEST(BpeTest, CutsAWordThatIsLongerThanAnyContext) {
  TokenizerData data = byte_data();
  data.tokens.emplace_back("aa");
  data.token_types.push_back(TokenType::kNormal);
  data.merges = {{"a", "a"}};
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(std::move(data));
  std::string text(Bpe::kMaxWordBytes, 'a');
  text[0] = 'b';
  Ids expected = {'b'};
  expected.insert(expected.end(), Bpe::kMaxWordBytes / 2 - 1, 256);
  expected.push_back('a');
  EXPECT_EQ(tokenizer->encode(text), expected);
  // One more would pair with the last, were it the same word.
  text.push_back('a');
  expected.push_back('a');
  EXPECT_EQ(tokenizer->encode(text), expected);
}

}  // namespace
}  // namespace tvllm::tokenizer
