// SPDX-License-Identifier: Apache-2.0
// A device and a stream for a test: the emulated device, or the GPU where the binary is the one for
// it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/runtime/buffer.h"
#include "backend/cuda/runtime/device.h"
#include "backend/cuda/runtime/stream.h"

#define EXPECT_OK(expression)                                       \
  do {                                                              \
    const ::tvllm::Status expect_ok_status = (expression);          \
    EXPECT_TRUE(expect_ok_status.has_value())                       \
        << #expression << ": " << expect_ok_status.error().message; \
  } while (0)

namespace tvllm::cuda::test {

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Device>> opened = Device::open();
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_ = std::move(opened).value();
    stream_.emplace(Stream::create(*device_).value());
  }

  Device& device() { return *device_; }
  const Stream& stream() const { return *stream_; }

  template <typename T>
  DeviceBuffer<T> allocate(std::size_t size) {
    return DeviceBuffer<T>::allocate(*device_, size).value();
  }
  template <typename T>
  DeviceBuffer<T> upload(const std::vector<T>& values) {
    DeviceBuffer<T> buffer = allocate<T>(values.size());
    EXPECT_OK(buffer.copy_from_host(values, *stream_));
    EXPECT_OK(stream_->synchronize());
    return buffer;
  }
  template <typename T>
  std::vector<T> download(const DeviceBuffer<T>& buffer) {
    std::vector<T> values(buffer.size());
    EXPECT_OK(buffer.copy_to_host(values, *stream_));
    EXPECT_OK(stream_->synchronize());
    return values;
  }

 private:
  std::unique_ptr<Device> device_;
  std::optional<Stream> stream_;
};

}  // namespace tvllm::cuda::test
