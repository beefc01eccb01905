// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tvllm {

namespace {

void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// 10 to 25 us, as a pause takes 20 to 50 ns: enough for the serial part between two regions of a
// step, sampling and scheduling apart. Not more: on a busy machine who is waited for does not run,
// and a thread that spins on is itself put back by the system, where one that sleeps is favoured
// when it wakes.
constexpr int kSpinPauses = 500;

// Waits until `value` differs from `old`; returns the new value.
std::uint32_t await_change(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (int i = 0; i < kSpinPauses; ++i) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_cpu();
  }
  while (true) {
    const std::uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    value.wait(old, std::memory_order_acquire);
  }
}

}  // namespace

// Each counter has its own cache line: workers poll `generation` while others count down.
struct ThreadPool::Shared {
  alignas(64) std::atomic<std::uint32_t> generation{0};  // a region starts when it grows
  alignas(64) std::atomic<std::uint32_t> num_done{0};    // workers that have left the region
  alignas(64) RegionFn fn = nullptr;
  void* context = nullptr;
  bool stopping = false;
};

ThreadPool::ThreadPool(int num_threads)
    : num_threads_(num_threads), shared_(std::make_unique<Shared>()) {
  TVLLM_CHECK(num_threads >= 1, "num_threads ", num_threads);
  threads_.reserve(static_cast<std::size_t>(num_threads - 1));
  for (int i = 1; i < num_threads; ++i) {
    threads_.emplace_back([this, i] { worker_loop(i); });
  }
}

ThreadPool::~ThreadPool() {
  shared_->stopping = true;
  shared_->generation.fetch_add(1, std::memory_order_release);
  shared_->generation.notify_all();
}

void ThreadPool::run_region(RegionFn fn, void* context) {
  if (num_threads_ == 1) {
    fn(context, 0);
    return;
  }
  Shared& s = *shared_;
  s.fn = fn;
  s.context = context;
  s.num_done.store(0, std::memory_order_relaxed);
  s.generation.fetch_add(1, std::memory_order_release);
  s.generation.notify_all();
  fn(context, 0);
  const auto all = static_cast<std::uint32_t>(num_threads_ - 1);
  for (std::uint32_t done = s.num_done.load(std::memory_order_acquire); done != all;) {
    done = await_change(s.num_done, done);
  }
}

void ThreadPool::worker_loop(int worker_idx) {
  Shared& s = *shared_;
  const auto all = static_cast<std::uint32_t>(num_threads_ - 1);
  std::uint32_t seen = 0;
  while (true) {
    seen = await_change(s.generation, seen);
    if (s.stopping) return;
    s.fn(s.context, worker_idx);
    if (s.num_done.fetch_add(1, std::memory_order_acq_rel) + 1 == all) s.num_done.notify_one();
  }
}

namespace {

int affinity_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return num_machine_cpus();
  return CPU_COUNT(&set);
}

// Distinct (package, core) pairs in sysfs; logical CPUs where it is not mounted.
int physical_cores() {
  std::set<std::pair<int, int>> cores;
  for (int cpu = 0; cpu < num_machine_cpus(); ++cpu) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    int package = 0;
    int core = 0;
    if (std::ifstream(folder + "physical_package_id") >> package &&
        std::ifstream(folder + "core_id") >> core) {
      cores.emplace(package, core);
    }
  }
  return cores.empty() ? num_machine_cpus() : static_cast<int>(cores.size());
}

// cgroup v2 "cpu.max" holds "<quota> <period>" in microseconds, or "max <period>".
int cgroup_quota_cpus() {
  std::string quota;
  double period = 0;
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return num_machine_cpus();
  return std::max(1, static_cast<int>(std::floor(std::strtod(quota.c_str(), nullptr) / period)));
}

}  // namespace

int num_machine_cpus() {
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_num_threads() {
  return std::max(1, std::min({physical_cores(), affinity_cpus(), cgroup_quota_cpus()}));
}

}  // namespace tvllm
