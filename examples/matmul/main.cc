// SPDX-License-Identifier: Apache-2.0
// Times every rung and compares it with cuBLAS. Without a GPU it runs in the emulation, which shows
// that the rungs are right; its times say nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/runtime/buffer.h"
#include "examples/matmul/matmul.h"
#include "examples/matmul/options.h"
#include "examples/matmul/peer.h"

namespace tvllm::examples {
namespace {

using cuda::Device;
using cuda::DeviceBuffer;
using cuda::Event;
using cuda::from_float;
using cuda::to_float;

template <typename T>
std::vector<T> random_matrix(int rows, int columns, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<T> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  for (T& value : values)
    value = from_float<T>(uniform(random));
  return values;
}

// One product with its memory, and how a way to multiply does on it.
template <typename T>
class Contest {
 public:
  static Result<Contest> create(Device& device, const Stream& stream, MatmulShape shape) {
    Contest contest(device, stream, shape);
    contest.a_ = random_matrix<T>(shape.m, shape.k, 1);
    contest.b_ = random_matrix<T>(shape.k, shape.n, 2);
    contest.c_.resize(static_cast<std::size_t>(shape.m) * static_cast<std::size_t>(shape.n));
    TVLLM_TRY(contest.a_buffer_, DeviceBuffer<T>::allocate(device, contest.a_.size()));
    TVLLM_TRY(contest.b_buffer_, DeviceBuffer<T>::allocate(device, contest.b_.size()));
    TVLLM_TRY(contest.c_buffer_, DeviceBuffer<T>::allocate(device, contest.c_.size()));
    TVLLM_TRY(contest.l2_flush_,
              DeviceBuffer<std::byte>::allocate(device, 2 * device.properties().l2_bytes));
    TVLLM_RETURN_IF_ERROR(contest.a_buffer_.copy_from_host(contest.a_, stream));
    TVLLM_RETURN_IF_ERROR(contest.b_buffer_.copy_from_host(contest.b_, stream));
    TVLLM_RETURN_IF_ERROR(stream.synchronize());
    return contest;
  }

  Matmul<T> product() { return {a_buffer_.data(), b_buffer_.data(), c_buffer_.data(), shape_}; }

  // Median device time of `repeat` runs after one that warms up, caches flushed before each.
  template <typename Multiply>
  Result<float> median_ms(int repeat, Multiply&& multiply) {
    TVLLM_TRY(const Event begin, Event::create(*device_));
    TVLLM_TRY(const Event end, Event::create(*device_));
    std::vector<float> times;
    for (int i = 0; i <= repeat; ++i) {
      TVLLM_RETURN_IF_ERROR(l2_flush_.fill(0, *stream_));
      TVLLM_RETURN_IF_ERROR(begin.record(*stream_));
      TVLLM_RETURN_IF_ERROR(multiply());
      TVLLM_RETURN_IF_ERROR(end.record(*stream_));
      TVLLM_RETURN_IF_ERROR(end.synchronize());
      TVLLM_TRY(const float ms, Event::elapsed_ms(begin, end));
      if (i > 0) times.push_back(ms);
    }
    std::nth_element(times.begin(), times.begin() + repeat / 2, times.end());
    return times[static_cast<std::size_t>(repeat / 2)];
  }

  // Of 256 elements of c against sums in f64, as a share of the sum of magnitudes.
  Result<double> worst_error() {
    TVLLM_RETURN_IF_ERROR(c_buffer_.copy_to_host(c_, *stream_));
    TVLLM_RETURN_IF_ERROR(stream_->synchronize());
    std::mt19937 random(3);
    double worst = 0.0;
    for (int i = 0; i < 256; ++i) {
      const auto row = static_cast<int>(random() % static_cast<unsigned>(shape_.m));
      const auto column = static_cast<int>(random() % static_cast<unsigned>(shape_.n));
      worst = std::max(worst, error_at(row, column));
    }
    return worst;
  }

 private:
  Contest(Device& device, const Stream& stream, MatmulShape shape)
      : device_(&device), stream_(&stream), shape_(shape) {}

  double error_at(int row, int column) const {
    const auto at = [](int i, int j, int width) {
      return static_cast<std::size_t>(i) * static_cast<std::size_t>(width) +
             static_cast<std::size_t>(j);
    };
    double sum = 0.0;
    double magnitude = 0.0;
    for (int i = 0; i < shape_.k; ++i) {
      const double term = static_cast<double>(to_float(a_[at(row, i, shape_.k)])) *
                          static_cast<double>(to_float(b_[at(i, column, shape_.n)]));
      sum += term;
      magnitude += std::abs(term);
    }
    return std::abs(static_cast<double>(to_float(c_[at(row, column, shape_.n)])) - sum) / magnitude;
  }

  Device* device_;        // outlives the contest
  const Stream* stream_;  // outlives the contest
  MatmulShape shape_;
  std::vector<T> a_, b_, c_;
  DeviceBuffer<T> a_buffer_, b_buffer_, c_buffer_;
  DeviceBuffer<std::byte> l2_flush_;
};

Status peer_multiply(Peer& peer, const Stream& stream, const Matmul<float>& product,
                     const Rung& rung) {
  return peer.multiply(stream, product, rung.rounds_to_tf32);
}
Status peer_multiply(Peer& peer, const Stream& stream, const Matmul<Bf16>& product, const Rung&) {
  return peer.multiply(stream, product);
}

MatmulFn<float> function_of(const Rung& rung, float) {
  return rung.f32;
}
MatmulFn<Bf16> function_of(const Rung& rung, Bf16) {
  return rung.bf16;
}

template <typename T>
Status run(Device& device, const MatmulOptions& options, MatmulShape shape) {
  TVLLM_TRY(const Stream stream, Stream::create(device));
  TVLLM_TRY(Contest<T> contest, Contest<T>::create(device, stream, shape));
  TVLLM_TRY(const std::unique_ptr<Peer> peer, make_peer(device));
  const double flops = 2.0 * shape.m * shape.n * shape.k;
  std::printf("%-16s %10s %10s %10s %10s\n", "rung", "ms", "GFLOP/s", "of cuBLAS", "error");
  for (const Rung& rung : matmul_rungs()) {
    const MatmulFn<T> multiply = function_of(rung, T{});
    if (multiply == nullptr || (!options.rung.empty() && options.rung != rung.name)) continue;
    if (rung.is_device_only && device.properties().compute_capability != 90) {
      std::printf("%-16s needs a Hopper GPU\n", rung.name);
      continue;
    }
    TVLLM_TRY(const float ms, contest.median_ms(options.repeat, [&] {
      return multiply(stream, contest.product());
    }));
    TVLLM_TRY(const double error, contest.worst_error());
    std::string share = "-";
    if (peer != nullptr) {
      TVLLM_TRY(const float peer_ms, contest.median_ms(options.repeat, [&] {
        return peer_multiply(*peer, stream, contest.product(), rung);
      }));
      char text[16];
      std::snprintf(text, sizeof(text), "%.1f %%",
                    100.0 * static_cast<double>(peer_ms) / static_cast<double>(ms));
      share = text;
    }
    std::printf("%-16s %10.3f %10.1f %10s %10.1e\n", rung.name, static_cast<double>(ms),
                flops / static_cast<double>(ms) * 1e-6, share.c_str(), error);
    std::fflush(stdout);
  }
  return {};
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  const bool is_input = error.code == ErrorCode::kInvalidArgument ||
                        error.code == ErrorCode::kUnavailable ||
                        error.code == ErrorCode::kResourceExhausted;
  return is_input ? 2 : 1;
}

int main_of(std::span<const char* const> arguments) {
  const Result<MatmulOptions> options = parse_matmul_options(arguments);
  if (!options) return fail(options.error());
  if (options->wants_help) {
    std::fputs(kMatmulUsage, stdout);
    return 0;
  }
  const Result<std::unique_ptr<Device>> device = Device::open();
  if (!device) return fail(device.error());
  const cuda::device_api::Properties& properties = (*device)->properties();
  const int side = properties.is_emulated ? 256 : 4096;
  const MatmulShape shape = options->shape.value_or(MatmulShape{.m = side, .n = side, .k = side});
  std::printf("device: %s%s\n%d x %d x %d, %s, median of %d\n", properties.name.c_str(),
              properties.is_emulated ? " (times say nothing)" : "", shape.m, shape.n, shape.k,
              options->is_bf16 ? "bf16" : "f32", options->repeat);
  const Status status = options->is_bf16 ? run<Bf16>(**device, *options, shape)
                                         : run<float>(**device, *options, shape);
  return status ? 0 : fail(status.error());
}

}  // namespace
}  // namespace tvllm::examples

int main(int argc, char** argv) {
  return tvllm::examples::main_of(
      std::span<const char* const>(argv, static_cast<std::size_t>(argc)).subspan(1));
}
