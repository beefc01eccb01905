// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "backend/cuda/runtime/device.h"

namespace tvllm::cuda {

namespace runtime_internal {

// A handle that is destroyed once. What its destruction says is dropped: nobody could act on it.
template <typename Handle, Status (*kDestroy)(Handle)>
class Owned {
 public:
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_.value != nullptr) (void)kDestroy(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_;
};

}  // namespace runtime_internal

class Event;
class Graph;

// Work in order, beside the work of other streams. Move-only, thread-compatible. A kernel that
// fails on a GPU is told by a later call, at the latest by synchronize(); the emulation tells it at
// once.
class Stream {
 public:
  static Result<Stream> create(Device& device);

  // Until all that was enqueued is done.
  Status synchronize() const { return device_api::synchronize(handle()); }
  // What is enqueued from now on begins after what `event` recorded.
  Status wait(const Event& event) const;

  // What is enqueued from now on is not run but kept; end_capture() gives it as a graph.
  Status begin_capture() const { return device_api::begin_capture(handle()); }
  Result<Graph> end_capture() const;

  device_api::StreamHandle handle() const { return handle_.get(); }
  Device& device() const { return *device_; }

 private:
  Stream(Device& device, device_api::StreamHandle handle) : device_(&device), handle_(handle) {}

  Device* device_;  // outlives the stream
  runtime_internal::Owned<device_api::StreamHandle, &device_api::destroy_stream> handle_;
};

// A point in a stream's work. Move-only, thread-compatible.
class Event {
 public:
  static Result<Event> create(Device& device);

  Status record(const Stream& stream) const {
    return device_api::record_event(handle(), stream.handle());
  }
  // Until the stream has come to the recorded point.
  Status synchronize() const { return device_api::synchronize_event(handle()); }
  // Device time between two recorded points; both have been reached.
  static Result<float> elapsed_ms(const Event& from, const Event& to) {
    return device_api::elapsed_ms(from.handle(), to.handle());
  }

  device_api::EventHandle handle() const { return handle_.get(); }

 private:
  explicit Event(device_api::EventHandle handle) : handle_(handle) {}

  runtime_internal::Owned<device_api::EventHandle, &device_api::destroy_event> handle_;
};

// Work that was captured from a stream and runs again with one call, with the same arguments.
// Move-only, thread-compatible. The buffers it names outlive it.
class Graph {
 public:
  Status launch(const Stream& stream) const {
    return device_api::launch_graph(handle_.get(), stream.handle());
  }

 private:
  friend class Stream;
  explicit Graph(device_api::GraphHandle handle) : handle_(handle) {}

  runtime_internal::Owned<device_api::GraphHandle, &device_api::destroy_graph> handle_;
};

inline Result<Stream> Stream::create(Device& device) {
  TVLLM_TRY(const device_api::StreamHandle handle, device_api::create_stream());
  return Stream(device, handle);
}

inline Status Stream::wait(const Event& event) const {
  return device_api::wait_event(handle(), event.handle());
}

inline Result<Graph> Stream::end_capture() const {
  TVLLM_TRY(const device_api::GraphHandle handle, device_api::end_capture(this->handle()));
  return Graph(handle);
}

inline Result<Event> Event::create(Device&) {
  TVLLM_TRY(const device_api::EventHandle handle, device_api::create_event());
  return Event(handle);
}

}  // namespace tvllm::cuda
