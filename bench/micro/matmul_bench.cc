// SPDX-License-Identifier: Apache-2.0
// The matrix products of tests/parity that have a model's size, on every instruction set that this
// machine has, on one thread and on all.
//
//   matmul_bench --benchmark_filter='avx2/threads:1/.*Q4_1'
//
// GOP/s counts a multiplication and an addition, GB/s the weights and activations once. Their
// shares are of what bench/machine_peak measures at the start, of bytes for quantized weights and
// of floats for others; on a busy machine repeat and take the best.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/strings.h"
#include "bench/machine_peak/machine_peak.h"
#include "tests/parity/op_cases.h"
#include "tests/parity/prepared_op.h"

namespace tvllm::bench {
namespace {

using testing::OpCase;
using testing::OpKind;
using testing::PreparedOp;

// One token's product reads each weight once, and in a model from memory: many copies take turns.
constexpr double kColdBytes = 64e6;

constexpr double kLeastFlops = 8e5;

// Pool, backend and peak for one number of threads.
struct Setting {
  explicit Setting(int num_threads) : pool(num_threads), peak(measure_machine_peak(pool)) {}
  ThreadPool pool;
  MachinePeak peak;
};

// One case on one backend, kept while the library repeats it with more iterations.
struct Prepared {
  Prepared(Setting& setting, cpu::CpuIsa isa, const OpCase& op_case)
      : backend(std::move(*cpu::make_cpu_backend({.isa = isa}, setting.pool))) {
    const double num_copies = op_case.num_tokens == 1 ? kColdBytes / op_case.bytes : 1.0;
    for (int i = 0; i < std::max(1, static_cast<int>(num_copies)); ++i) {
      copies.push_back(testing::prepare(*backend, op_case));
    }
  }
  std::unique_ptr<backend::Backend> backend;
  std::vector<std::unique_ptr<PreparedOp>> copies;
};

void run(benchmark::State& state, Setting& setting, const OpCase& op_case,
         const std::vector<std::unique_ptr<PreparedOp>>& copies) {
  std::size_t next = 0;
  for (auto _ : state) {
    copies[next]->run();
    next = next + 1 < copies.size() ? next + 1 : 0;
  }
  const auto iterations = static_cast<double>(state.iterations());
  const auto rate = [&](double amount) {
    return benchmark::Counter(iterations * amount, benchmark::Counter::kIsRate);
  };
  const double compute_peak = is_quantized(op_case.parts.front().dtype)
                                  ? setting.peak.int8_gop_per_s
                                  : setting.peak.fp32_gflop_per_s;
  state.counters["GOP/s"] = rate(op_case.flops * 1e-9);
  state.counters["GB/s"] = rate(op_case.bytes * 1e-9);
  if (compute_peak > 0.0) state.counters["of_compute"] = rate(op_case.flops * 1e-9 / compute_peak);
  state.counters["of_memory"] = rate(op_case.bytes * 1e-9 / setting.peak.read_gb_per_s);
}

int run_all(int argc, char** argv) {
  std::vector<std::unique_ptr<Setting>> settings;
  settings.push_back(std::make_unique<Setting>(1));
  if (default_num_threads() > 1) {
    settings.push_back(std::make_unique<Setting>(default_num_threads()));
  }
  for (const auto& setting : settings) {
    benchmark::AddCustomContext(str_cat("peak of ", setting->pool.num_threads(), " threads"),
                                str_cat(fixed(setting->peak.read_gb_per_s, 1), " GB/s, ",
                                        fixed(setting->peak.int8_gop_per_s, 0), " GOP/s int8, ",
                                        fixed(setting->peak.fp32_gflop_per_s, 0), " GFLOP/s fp32"));
  }
  std::pair<std::string, std::unique_ptr<Prepared>> last;
  for (const OpCase& op_case : testing::op_cases()) {
    if (op_case.op != OpKind::kMatmul || op_case.num_cols < 512 || op_case.flops < kLeastFlops) {
      continue;
    }
    for (const cpu::CpuIsa isa : cpu::available_cpu_isas()) {
      for (const auto& setting : settings) {
        const std::string name =
            str_cat(cpu::cpu_isa_name(isa), "/threads:", setting->pool.num_threads(), "/",
                    name_of(op_case));
        const auto body = [&setting = *setting, &last, isa, op_case,
                           name](benchmark::State& state) {
          if (last.first != name) {
            last.second.reset();
            last = {name, std::make_unique<Prepared>(setting, isa, op_case)};
          }
          run(state, setting, op_case, last.second->copies);
        };
        benchmark::RegisterBenchmark(name.c_str(), body)->UseRealTime();
      }
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace tvllm::bench

int main(int argc, char** argv) {
  return tvllm::bench::run_all(argc, argv);
}
