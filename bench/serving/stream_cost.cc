// SPDX-License-Identifier: Apache-2.0
// What a token costs the I/O thread: the real server, many streams open at once, an engine that
// gives each of them a token so many times a second, and a client in the same process.
//
//   stream_cost [STREAMS [TOKENS_A_SECOND [SECONDS]]]
//
// Prints the I/O thread's own CPU time a token, and how long /health takes meanwhile.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "engine/engine_client.h"
#include "server/server.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/http_client.h"

namespace tvllm {
namespace {

using std::chrono::duration;
using std::chrono::seconds;
using std::chrono::steady_clock;

// Gives every sequence one more letter at each tick, until it is cancelled.
class PacedEngine final : public engine::EngineClient {
 public:
  Result<SeqId> submit(std::shared_ptr<const Request>, TokenEventSink& sink) override {
    MutexLock lock(mutex_);
    sink_ = &sink;
    const SeqId seq_id(++num_submitted_);
    live_.insert(seq_id);
    return seq_id;
  }
  void cancel(SeqId seq_id) override {
    MutexLock lock(mutex_);
    if (live_.erase(seq_id) == 0) return;
    TokenEvent event;
    event.seq_id = seq_id;
    event.finish_reason = FinishReason::kAbort;
    ended_.push_back(std::move(event));
  }
  engine::EngineState state() const override { return engine::EngineState::kRunning; }
  engine::EngineStats stats() const override { return {}; }
  std::int32_t max_model_len() const override { return 1 << 20; }

  std::size_t num_live() const {
    MutexLock lock(mutex_);
    return live_.size();
  }
  // The number of tokens given.
  std::size_t tick(bool gives_tokens) {
    std::vector<TokenEvent> events;
    TokenEventSink* sink = nullptr;
    {
      MutexLock lock(mutex_);
      events = std::exchange(ended_, {});
      sink = sink_;
      const TimePoint now = steady_clock::now();
      for (const SeqId seq_id : live_) {
        if (!gives_tokens) break;
        TokenEvent& event = events.emplace_back();
        event.seq_id = seq_id;
        event.token_id = 'a' + static_cast<TokenId>(num_ticks_ % 26);
        event.times = {.queued = now, .scheduled = now, .first_token = now, .last_token = now};
      }
      ++num_ticks_;
    }
    const std::size_t num_tokens = gives_tokens ? events.size() : 0;
    if (sink != nullptr && !events.empty()) sink->publish(events);
    return num_tokens;
  }

 private:
  mutable Mutex mutex_;
  TokenEventSink* sink_ TVLLM_GUARDED_BY(mutex_) = nullptr;
  std::set<SeqId> live_ TVLLM_GUARDED_BY(mutex_);
  std::vector<TokenEvent> ended_ TVLLM_GUARDED_BY(mutex_);
  std::uint64_t num_submitted_ TVLLM_GUARDED_BY(mutex_) = 0;
  std::uint64_t num_ticks_ TVLLM_GUARDED_BY(mutex_) = 0;
};

std::set<std::string> threads() {
  std::set<std::string> ids;
  DIR* folder = ::opendir("/proc/self/task");
  if (folder == nullptr) return ids;
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] != '.') ids.insert(entry->d_name);
  }
  ::closedir(folder);
  return ids;
}

// CPU time of a thread so far.
double cpu_seconds(const std::string& thread) {
  std::ifstream file("/proc/self/task/" + thread + "/schedstat");
  double nanoseconds = 0.0;
  file >> nanoseconds;
  return nanoseconds / 1e9;
}

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface of sockets
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    std::perror("connect");
    std::exit(1);
  }
  return fd;
}

// Opens streams and throws away what comes.
class Readers {
 public:
  Readers(std::uint16_t port, int count) {
    const std::string body = R"({"prompt":"x","max_tokens":1000000,"stream":true})";
    const std::string request =
        str_cat("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: ", body.size(),
                "\r\n\r\n", body);
    for (int i = 0; i < count; ++i) {
      const int fd = connect_to(port);
      if (::send(fd, request.data(), request.size(), 0) < 0) std::perror("send");
      ::fcntl(fd, F_SETFL, O_NONBLOCK);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = fd;
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      fds_.push_back(fd);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { read_all(stop); });
  }
  ~Readers() {
    thread_.request_stop();
    thread_.join();
    for (const int fd : fds_)
      ::close(fd);
    ::close(epoll_);
  }
  std::uint64_t num_bytes() const { return num_bytes_; }

 private:
  void read_all(const std::stop_token& stop) {
    std::array<epoll_event, 256> events;
    std::array<char, 64 * 1024> buffer;
    while (!stop.stop_requested()) {
      const int count = ::epoll_wait(epoll_, events.data(), events.size(), 100);
      for (int i = 0; i < count; ++i) {
        const auto n =
            ::read(events[static_cast<std::size_t>(i)].data.fd, buffer.data(), buffer.size());
        if (n > 0) num_bytes_ += static_cast<std::uint64_t>(n);
      }
    }
  }

  const int epoll_ = ::epoll_create1(0);
  std::vector<int> fds_;
  std::atomic<std::uint64_t> num_bytes_{0};
  std::jthread thread_;
};

struct Options {
  int num_streams = 2000;
  int tokens_per_second = 20;
  int num_seconds = 5;
};

// In milliseconds, sorted.
std::vector<double> health_times(std::uint16_t port, const std::stop_token& stop) {
  std::vector<double> times;
  while (!stop.stop_requested()) {
    const auto start = steady_clock::now();
    if (testing::http_get(port, "/health").status != 200) std::exit(1);
    times.push_back(duration<double, std::milli>(steady_clock::now() - start).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::sort(times.begin(), times.end());
  return times;
}

int run(const Options& options) {
  set_log_level(LogLevel::kWarning);
  const auto tokenizer = testing::make_byte_tokenizer();
  PacedEngine engine;
  server::ServerOptions server_options;
  server_options.port = 0;
  server_options.served_model_names = {"tiny"};
  const std::set<std::string> before = threads();
  auto listening = server::Server::listen(server_options);
  if (!listening) {
    std::fprintf(stderr, "%s\n", listening.error().message.c_str());
    return 1;
  }
  std::string io_thread;
  for (const std::string& thread : threads()) {
    if (!before.contains(thread)) io_thread = thread;
  }
  const std::unique_ptr<server::Server> server = std::move(*listening);
  server->serve({.tokenizer = tokenizer.get(), .vocab_size = testing::kByteVocabSize}, engine);

  auto readers = std::make_unique<Readers>(server->port(), options.num_streams);
  while (engine.num_live() < static_cast<std::size_t>(options.num_streams))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  engine.tick(true);
  std::this_thread::sleep_for(seconds(1));

  std::vector<double> health;
  std::jthread prober(
      [&](const std::stop_token& stop) { health = health_times(server->port(), stop); });
  const double cpu_before = cpu_seconds(io_thread);
  const std::uint64_t bytes_before = readers->num_bytes();
  const auto start = steady_clock::now();
  std::size_t num_tokens = 0;
  const auto tick = steady_clock::duration(seconds(1)) / options.tokens_per_second;
  const int num_ticks = options.tokens_per_second * options.num_seconds;
  for (int i = 1; i <= num_ticks; ++i) {
    num_tokens += engine.tick(true);
    std::this_thread::sleep_until(start + i * tick);
  }
  const double wall = duration<double>(steady_clock::now() - start).count();
  const double cpu = cpu_seconds(io_thread) - cpu_before;
  prober.request_stop();
  prober.join();
  std::printf(
      "%d streams, %.0f tokens/s: I/O thread %.2f us a token, %.0f %% of a core, %.0f bytes a "
      "token\n",
      options.num_streams, static_cast<double>(num_tokens) / wall,
      1e6 * cpu / static_cast<double>(num_tokens), 100 * cpu / wall,
      static_cast<double>(readers->num_bytes() - bytes_before) / static_cast<double>(num_tokens));
  std::printf("/health: %zu requests, median %.2f ms, p99 %.2f ms, most %.2f ms\n", health.size(),
              health[health.size() / 2], health[health.size() * 99 / 100], health.back());

  const auto left = steady_clock::now();
  readers.reset();
  while (engine.num_live() > 0) {
    engine.tick(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::printf("all clients left: every sequence cancelled after %.0f ms\n",
              duration<double, std::milli>(steady_clock::now() - left).count());
  engine.tick(false);
  return 0;
}

}  // namespace
}  // namespace tvllm

int main(int argc, char** argv) {
  tvllm::Options options;
  if (argc > 1) options.num_streams = std::atoi(argv[1]);
  if (argc > 2) options.tokens_per_second = std::atoi(argv[2]);
  if (argc > 3) options.num_seconds = std::atoi(argv[3]);
  if (options.num_streams < 1 || options.tokens_per_second < 1 || options.num_seconds < 1) {
    std::fprintf(stderr, "usage: stream_cost [STREAMS [TOKENS_A_SECOND [SECONDS]]]\n");
    return 2;
  }
  return tvllm::run(options);
}
