// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/op_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "backend/cpu/cpu_backend.h"
#include "base/strings.h"
#include "bench/machine_peak/machine_peak.h"
#include "tests/parity/prepared_op.h"

namespace tvllm::bench {

namespace {

using testing::PreparedOp;

// More than the caches of small machines hold.
constexpr double kColdBytes = 64e6;

// Pool, backend and peak for one number of threads.
struct Setting {
  explicit Setting(int num_threads) : pool(num_threads), peak(measure_machine_peak(pool)) {}
  ThreadPool pool;
  MachinePeak peak;
};

// One case on one backend, kept while the library repeats it with more iterations.
struct Prepared {
  Prepared(Setting& setting, cpu::CpuIsa isa, const BenchCase& bench_case)
      : backend(std::move(*cpu::make_cpu_backend({.isa = isa}, setting.pool))) {
    const double num_copies = bench_case.is_cold ? kColdBytes / bench_case.op_case.bytes : 1.0;
    for (int i = 0; i < std::max(1, static_cast<int>(num_copies)); ++i) {
      copies.push_back(testing::prepare(*backend, bench_case.op_case));
    }
  }
  std::unique_ptr<backend::Backend> backend;
  std::vector<std::unique_ptr<PreparedOp>> copies;
};

bool is_integer(const testing::OpCase& op_case) {
  return op_case.op == testing::OpKind::kMatmul && is_quantized(op_case.parts.front().dtype);
}

void run(benchmark::State& state, const MachinePeak& peak, const testing::OpCase& op_case,
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
  const double compute_peak = is_integer(op_case) ? peak.int8_gop_per_s : peak.fp32_gflop_per_s;
  state.counters["GOP/s"] = rate(op_case.flops * 1e-9);
  state.counters["GB/s"] = rate(op_case.bytes * 1e-9);
  if (compute_peak > 0.0) state.counters["of_compute"] = rate(op_case.flops * 1e-9 / compute_peak);
  state.counters["of_memory"] = rate(op_case.bytes * 1e-9 / peak.read_gb_per_s);
}

}  // namespace

int run_op_benches(int argc, char** argv, const std::vector<BenchCase>& cases) {
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
  for (const BenchCase& bench_case : cases) {
    for (const cpu::CpuIsa isa : cpu::available_cpu_isas()) {
      for (const auto& setting : settings) {
        const std::string name = str_cat(
            cpu::cpu_isa_name(isa), "/threads:", setting->pool.num_threads(), "/", bench_case.name);
        const auto body = [&setting = *setting, &last, isa, &bench_case,
                           name](benchmark::State& state) {
          if (last.first != name) {
            last.second.reset();
            last = {name, std::make_unique<Prepared>(setting, isa, bench_case)};
          }
          run(state, setting.peak, bench_case.op_case, last.second->copies);
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

}  // namespace tvllm::bench
