// SPDX-License-Identifier: Apache-2.0
// The seam between the runtime's types and the device: what each of the two implementations offers,
// cuda_device_api.cc over the CUDA runtime and emulation/device_api.cc without a GPU. A program
// links one of them. Everything else in this folder is written once, above it.
//
// Errors name the call and what the device said. Handles belong to whoever created them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "backend/cuda/runtime/launch_config.h"
#include "base/result.h"

namespace tvllm::cuda::device_api {

struct StreamHandle {
  void* value = nullptr;
};
struct EventHandle {
  void* value = nullptr;
};
struct GraphHandle {
  void* value = nullptr;
};

struct Properties {
  std::string name;
  int compute_capability = 0;  // 90 for sm_90
  int num_multiprocessors = 0;
  std::size_t memory_bytes = 0;
  std::size_t l2_bytes = 0;
  std::size_t max_shared_bytes = 0;  // of a block that asked for it
  bool is_emulated = false;
};

struct MemoryInfo {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
};

Result<int> device_count();
Result<Properties> properties(int ordinal);
// Of the calling thread.
Status select_device(int ordinal);
Result<MemoryInfo> memory_info();

// REQUIRES: bytes >= 1
Result<void*> allocate_device(std::size_t bytes);
Status free_device(void* memory);
Result<void*> allocate_pinned(std::size_t bytes);
Status free_pinned(void* memory);

enum class CopyKind : std::uint8_t { kToDevice, kToHost, kOnDevice };
Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream);
Status fill(void* memory, std::uint8_t byte, std::size_t bytes, StreamHandle stream);

Result<StreamHandle> create_stream();
Status destroy_stream(StreamHandle stream);
Status synchronize(StreamHandle stream);
Status wait_event(StreamHandle stream, EventHandle event);

Result<EventHandle> create_event();
Status destroy_event(EventHandle event);
Status record_event(EventHandle event, StreamHandle stream);
Status synchronize_event(EventHandle event);
Result<float> elapsed_ms(EventHandle from, EventHandle to);

Status begin_capture(StreamHandle stream);
Result<GraphHandle> end_capture(StreamHandle stream);
Status destroy_graph(GraphHandle graph);
Status launch_graph(GraphHandle graph, StreamHandle stream);

// For nvcc: a kernel's host symbol and pointers to its arguments.
Status launch_kernel(StreamHandle stream, const LaunchConfig& config, const void* kernel,
                     void** arguments);
// For the emulation: a kernel with its arguments.
Status launch_body(StreamHandle stream, const LaunchConfig& config, std::function<void()> body);

}  // namespace tvllm::cuda::device_api
