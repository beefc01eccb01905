// SPDX-License-Identifier: Apache-2.0
// The device without a GPU: streams do at once what they are told, in the calling thread. While a
// stream is captured it keeps what it is told for the graph.
#include "backend/cuda/runtime/device_api.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/launcher.h"
#include "base/strings.h"

namespace tvllm::cuda::device_api {
namespace {

using emulation::Arena;
using emulation::ByteState;
using Clock = std::chrono::steady_clock;
using Task = std::function<Status()>;

struct EmulatedStream {
  bool is_capturing = false;
  std::vector<Task> captured;
};
struct EmulatedEvent {
  bool is_recorded = false;
  Clock::time_point time = {};
};
struct EmulatedGraph {
  std::vector<Task> tasks;
};

EmulatedStream& native(StreamHandle stream) {
  return *static_cast<EmulatedStream*>(stream.value);
}
EmulatedEvent& native(EventHandle event) {
  return *static_cast<EmulatedEvent*>(event.value);
}
EmulatedGraph& native(GraphHandle graph) {
  return *static_cast<EmulatedGraph*>(graph.value);
}

Error error_of(std::string_view call, std::string_view sentence) {
  return make_error(ErrorCode::kInternal, str_cat(call, ": ", sentence));
}

Status enqueue(StreamHandle stream, Task task) {
  if (!native(stream).is_capturing) return task();
  native(stream).captured.push_back(std::move(task));
  return {};
}

dim3 native(Dim3 dims) {
  return {dims.x, dims.y, dims.z};
}

// Each end of a copy must be where the kind says.
Status check_ends(const void* to, const void* from, std::size_t bytes, CopyKind kind) {
  const auto check = [&](const void* memory, bool must_be_device, const char* end) -> Status {
    Arena& arena = Arena::instance();
    if (must_be_device && !arena.contains(memory)) {
      return error_of("copy", str_cat("the ", end, " is host memory, a device buffer is expected"));
    }
    if (!must_be_device && arena.contains(memory)) {
      return error_of("copy", str_cat("the ", end, " is device memory, host memory is expected"));
    }
    if (must_be_device && !arena.holds(memory, bytes)) {
      return error_of("copy", str_cat("the ", end, " and its ", bytes,
                                      " bytes do not lie in one device buffer"));
    }
    return {};
  };
  TVLLM_RETURN_IF_ERROR(check(to, kind != CopyKind::kToHost, "destination"));
  return check(from, kind != CopyKind::kToDevice, "source");
}

// Host memory is read and written as the sanitizer likes it, device memory past it.
void copy_now(void* to, const void* from, std::size_t bytes, CopyKind kind) {
  Arena& arena = Arena::instance();
  emulation::copy_bytes(to, from, bytes);
  if (kind == CopyKind::kToDevice) arena.set_states(to, bytes, ByteState::kInitialized);
  if (kind == CopyKind::kOnDevice) {  // what was not initialized is not
    std::memmove(arena.state_at(arena.offset_of(to)), arena.state_at(arena.offset_of(from)), bytes);
  }
}

}  // namespace

Result<int> device_count() {
  return 1;
}

Result<Properties> properties(int) {
  return Properties{.name = "emulated",
                    .compute_capability = 80,
                    .num_multiprocessors = 1,
                    .memory_bytes = Arena::instance().limit(),
                    .l2_bytes = 0,
                    .max_shared_bytes = emulation::kMaxSharedBytes,
                    .is_emulated = true};
}

Status select_device(int) {
  return {};
}

Result<MemoryInfo> memory_info() {
  Arena& arena = Arena::instance();
  const std::size_t limit = arena.limit();
  return MemoryInfo{.free_bytes = limit - arena.used_bytes(), .total_bytes = limit};
}

Result<void*> allocate_device(std::size_t bytes) {
  std::byte* const memory = Arena::instance().allocate(bytes);
  if (memory == nullptr) {
    return make_error(ErrorCode::kResourceExhausted,
                      str_cat("allocation of ", bytes, " bytes: out of memory, the device has ",
                              Arena::instance().limit(), " bytes, ", Arena::instance().used_bytes(),
                              " of them in use"));
  }
  return static_cast<void*>(memory);
}

Status free_device(void* memory) {
  if (Arena::instance().free(memory)) return {};
  return error_of("free", "no device buffer begins at this address");
}

Result<void*> allocate_pinned(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    return make_error(ErrorCode::kResourceExhausted,
                      str_cat("allocation of ", bytes, " bytes of pinned memory: out of memory"));
  }
  return memory;
}

Status free_pinned(void* memory) {
  std::free(memory);
  return {};
}

Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream) {
  TVLLM_RETURN_IF_ERROR(check_ends(to, from, bytes, kind));
  return enqueue(stream, [=]() -> Status {
    TVLLM_RETURN_IF_ERROR(check_ends(to, from, bytes, kind));  // a graph may outlive a buffer
    copy_now(to, from, bytes, kind);
    return {};
  });
}

Status fill(void* memory, std::uint8_t byte, std::size_t bytes, StreamHandle stream) {
  return enqueue(stream, [=]() -> Status {
    if (!Arena::instance().holds(memory, bytes)) {
      return error_of("fill", str_cat("the ", bytes, " bytes do not lie in one device buffer"));
    }
    emulation::fill_bytes(memory, byte, bytes);
    Arena::instance().set_states(memory, bytes, ByteState::kInitialized);
    return {};
  });
}

Result<StreamHandle> create_stream() {
  return StreamHandle{new EmulatedStream};
}

Status destroy_stream(StreamHandle stream) {
  delete &native(stream);
  return {};
}

Status synchronize(StreamHandle stream) {
  if (!native(stream).is_capturing) return {};
  return error_of("synchronize", "not permitted while the stream is captured");
}

Status wait_event(StreamHandle, EventHandle) {
  return {};
}

Result<EventHandle> create_event() {
  return EventHandle{new EmulatedEvent};
}

Status destroy_event(EventHandle event) {
  delete &native(event);
  return {};
}

Status record_event(EventHandle event, StreamHandle stream) {
  return enqueue(stream, [event]() -> Status {
    native(event) = {.is_recorded = true, .time = Clock::now()};
    return {};
  });
}

Status synchronize_event(EventHandle) {
  return {};
}

Result<float> elapsed_ms(EventHandle from, EventHandle to) {
  if (!native(from).is_recorded || !native(to).is_recorded) {
    return error_of("elapsed time", "an event was not recorded");
  }
  return std::chrono::duration<float, std::milli>(native(to).time - native(from).time).count();
}

Status begin_capture(StreamHandle stream) {
  if (native(stream).is_capturing)
    return error_of("begin capture", "the stream is captured already");
  native(stream).is_capturing = true;
  return {};
}

Result<GraphHandle> end_capture(StreamHandle stream) {
  if (!native(stream).is_capturing) return error_of("end capture", "the stream is not captured");
  native(stream).is_capturing = false;
  return GraphHandle{new EmulatedGraph{std::exchange(native(stream).captured, {})}};
}

Status destroy_graph(GraphHandle graph) {
  delete &native(graph);
  return {};
}

Status launch_graph(GraphHandle graph, StreamHandle stream) {
  for (const Task& task : native(graph).tasks)
    TVLLM_RETURN_IF_ERROR(enqueue(stream, task));
  return {};
}

Status launch_kernel(StreamHandle, const LaunchConfig& config, const void*, void**) {
  return error_of(config.kernel, "was compiled for a GPU, and runs in the emulation");
}

Status launch_body(StreamHandle stream, const LaunchConfig& config, std::function<void()> body) {
  const Dim3 cluster = config.cluster;
  if (cluster.x * cluster.y * cluster.z != 1 || config.is_cooperative) {
    return make_error(ErrorCode::kUnsupported,
                      str_cat(config.kernel,
                              ": launch: the emulation has neither clusters nor "
                              "cooperative grids"));
  }
  return enqueue(stream, [config, body = std::move(body)]() -> Status {
    return emulation::run_grid({.name = config.kernel,
                                .grid = native(config.grid),
                                .block = native(config.block),
                                .shared_bytes = config.shared_bytes,
                                .body = &body});
  });
}

}  // namespace tvllm::cuda::device_api
