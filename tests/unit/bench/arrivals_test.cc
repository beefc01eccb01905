// SPDX-License-Identifier: Apache-2.0
#include "bench/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/statistics.h"

namespace tvllm::bench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<double> gaps(const std::vector<double>& times) {
  std::vector<double> out;
  double last = 0.0;
  for (const double time : times) {
    out.push_back(time - last);
    last = time;
  }
  return out;
}

TEST(ArrivalsTest, AnInfiniteRateSendsAllAtOnce) {
  for (const double time : arrival_times({}, 100))
    EXPECT_EQ(time, 0.0);
}

TEST(ArrivalsTest, TheLastArrivalIsWhereTheRatePutsIt) {
  for (const double burstiness : {0.2, 1.0, 5.0, kInfinity}) {
    const auto times =
        arrival_times({.request_rate = 4.0, .burstiness = burstiness, .seed = 3}, 200);
    EXPECT_TRUE(std::is_sorted(times.begin(), times.end()));
    EXPECT_NEAR(times.back(), 50.0, 1e-9);
    EXPECT_GT(times.front(), 0.0);
  }
}

// The gaps of a Poisson process deviate by their mean; of a gamma process by mean / sqrt(shape).
TEST(ArrivalsTest, BurstinessIsTheShapeOfTheGaps) {
  for (const double burstiness : {0.25, 1.0, 16.0}) {
    const std::vector<double> found =
        gaps(arrival_times({.request_rate = 10.0, .burstiness = burstiness, .seed = 1}, 20'000));
    EXPECT_NEAR(mean(found), 0.1, 1e-9);
    EXPECT_NEAR(standard_deviation(found) * std::sqrt(burstiness), 0.1, 0.006) << burstiness;
  }
  // exp(-1) of the gaps are longer than the mean.
  const std::vector<double> poisson =
      gaps(arrival_times({.request_rate = 10.0, .seed = 2}, 20'000));
  const auto num_long =
      std::count_if(poisson.begin(), poisson.end(), [](double gap) { return gap > 0.1; });
  EXPECT_NEAR(static_cast<double>(num_long) / 20'000.0, 0.3679, 0.015);
}

TEST(ArrivalsTest, EvenArrivalsAreEven) {
  for (const double gap : gaps(arrival_times({.request_rate = 5.0, .burstiness = kInfinity}, 50)))
    EXPECT_NEAR(gap, 0.2, 1e-9);
}

TEST(ArrivalsTest, TheSeedDecides) {
  const ArrivalOptions options{.request_rate = 2.0, .seed = 5};
  EXPECT_EQ(arrival_times(options, 20), arrival_times(options, 20));
  EXPECT_NE(arrival_times(options, 20), arrival_times({.request_rate = 2.0, .seed = 6}, 20));
}

TEST(ArrivalsTest, ARampShortensTheGaps) {
  const auto at = [](const char* strategy) {
    return gaps(arrival_times({.burstiness = kInfinity,
                               .ramp_up_strategy = strategy,
                               .ramp_up_start_rps = 1.0,
                               .ramp_up_end_rps = 4.0},
                              4));
  };
  const std::vector<double> linear = at("linear");
  const std::vector<double> exponential = at("exponential");
  for (std::size_t i = 0; i < 4; ++i) {
    const double progress = static_cast<double>(i) / 3.0;
    EXPECT_NEAR(linear[i], 1.0 / (1.0 + 3.0 * progress), 1e-12);
    EXPECT_NEAR(exponential[i], std::pow(4.0, -progress), 1e-12);
  }
}

}  // namespace
}  // namespace tvllm::bench
