// SPDX-License-Identifier: Apache-2.0
#include "server/process_stats.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include "base/strings.h"

namespace tvllm::server {

namespace {

// Of /proc/self/stat, counted from the one behind the name, which may hold anything.
constexpr std::size_t kStartTicks = 19;
constexpr std::size_t kVirtualBytes = 20;
constexpr std::size_t kResidentPages = 21;

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_seconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return 0.0;
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// When a process that started so many seconds after the machine did, in seconds since 1970.
double start_time(double seconds_after_boot) {
  timespec since_boot{};
  timespec since_1970{};
  if (::clock_gettime(CLOCK_BOOTTIME, &since_boot) != 0 ||
      ::clock_gettime(CLOCK_REALTIME, &since_1970) != 0) {
    return 0.0;
  }
  const auto seconds = [](const timespec& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  return seconds(since_1970) - seconds(since_boot) + seconds_after_boot;
}

void read_stat_file(ProcessStats& stats) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/stat", "re"),
                                                   &std::fclose);
  if (file == nullptr) return;
  std::array<char, 1024> buffer{};
  const std::size_t num_bytes = std::fread(buffer.data(), 1, buffer.size(), file.get());
  std::string_view text(buffer.data(), num_bytes);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > text.size()) return;
  const auto fields = split(text.substr(name_end + 2), ' ');
  if (fields.size() <= kResidentPages) return;
  const auto number = [&fields](std::size_t idx) {
    return static_cast<std::uint64_t>(parse_int64(fields[idx]).value_or(0));
  };
  stats.virtual_bytes = number(kVirtualBytes);
  stats.resident_bytes =
      number(kResidentPages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  stats.start_time_seconds = start_time(static_cast<double>(number(kStartTicks)) /
                                        static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

// Newer kernels (6.2) tell the number as the folder's size; it is counted where they do not.
std::uint64_t count_open_files() {
  struct stat folder {};
  if (::stat("/proc/self/fd", &folder) == 0 && folder.st_size > 0) {
    return static_cast<std::uint64_t>(folder.st_size);
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir("/proc/self/fd"), &::closedir);
  if (entries == nullptr) return 0;
  std::uint64_t count = 0;
  while (const dirent* entry = ::readdir(entries.get()))
    count += entry->d_name[0] == '.' ? 0 : 1;
  return count > 0 ? count - 1 : 0;  // but for the one that reads them
}

}  // namespace

ProcessStats read_process_stats() {
  ProcessStats stats;
  stats.cpu_seconds = cpu_seconds();
  read_stat_file(stats);
  stats.num_open_files = count_open_files();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_open_files = limit.rlim_cur;
  return stats;
}

}  // namespace tvllm::server
