// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "tests/unit/backend_cuda/cuda_fixture.h"
#include "tests/unit/backend_cuda/primitive_kernels.h"

namespace tvllm::cuda::test {
namespace {

class CudaRuntimeTest : public CudaTest {};

static_assert(!std::is_copy_constructible_v<DeviceBuffer<float>>);
static_assert(!std::is_copy_constructible_v<PinnedBuffer<float>>);
static_assert(!std::is_copy_constructible_v<Stream> && !std::is_copy_constructible_v<Event> &&
              !std::is_copy_constructible_v<Graph>);
static_assert(std::is_nothrow_move_constructible_v<DeviceBuffer<float>> &&
              std::is_nothrow_move_constructible_v<Stream>);

class Recorder : public MemoryObserver {
 public:
  void on_memory_event(const MemoryEvent& event) noexcept override { events.push_back(event); }
  std::vector<MemoryEvent> events;
};

TEST_F(CudaRuntimeTest, ADeviceThatIsNotThereIsRefused) {
  for (int ordinal : {-1, 1000}) {
    const auto opened = Device::open(ordinal);
    ASSERT_FALSE(opened.has_value());
    EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(CudaRuntimeTest, BytesComeBackAsTheyWent) {
  const std::vector<int> sent = {1, 2, 3, 4, 5};
  DeviceBuffer<int> buffer = upload(sent);
  DeviceBuffer<int> other = allocate<int>(5);
  EXPECT_OK(other.copy_from(buffer, stream()));
  EXPECT_EQ(download(other), sent);
  EXPECT_OK(other.fill(0xff, stream()));
  EXPECT_OK(other.copy_from_host(std::vector<int>{7, 8}, stream(), 2));
  EXPECT_EQ(download(other), (std::vector<int>{-1, -1, 7, 8, -1}));
}

TEST_F(CudaRuntimeTest, EmptyBuffersNeedNoMemory) {
  DeviceBuffer<int> empty = allocate<int>(0);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_OK(empty.fill(0, stream()));
  EXPECT_OK(empty.copy_from_host({}, stream()));
}

TEST_F(CudaRuntimeTest, AMovedBufferIsFreedOnce) {
  Recorder recorder;
  device().set_memory_observer(&recorder);
  {
    DeviceBuffer<int> a = allocate<int>(4);
    DeviceBuffer<int> b = std::move(a);
    DeviceBuffer<int> c = allocate<int>(8);
    c = std::move(b);
    EXPECT_EQ(c.size(), 4u);
  }
  device().set_memory_observer(nullptr);
  std::vector<std::pair<MemoryEventKind, std::size_t>> seen;
  for (const MemoryEvent& event : recorder.events)
    seen.emplace_back(event.kind, event.bytes);
  using enum MemoryEventKind;
  EXPECT_EQ(
      seen,
      (std::vector<std::pair<MemoryEventKind, std::size_t>>{
          {kAllocateDevice, 16}, {kAllocateDevice, 32}, {kFreeDevice, 32}, {kFreeDevice, 16}}));
}

TEST_F(CudaRuntimeTest, ObserversSeeEveryCopyWithItsBytes) {
  Recorder recorder;
  device().set_memory_observer(&recorder);
  {
    PinnedBuffer<float> pinned = PinnedBuffer<float>::allocate(device(), 10).value();
    for (float& value : pinned.span())
      value = 1.5f;
    DeviceBuffer<float> buffer = allocate<float>(10);
    EXPECT_OK(buffer.copy_from_host(pinned.span(), stream()));
    EXPECT_OK(buffer.copy_to_host(pinned.span().first(3), stream(), 7));
    EXPECT_OK(buffer.fill(0, stream()));
    EXPECT_OK(stream().synchronize());
  }
  device().set_memory_observer(nullptr);
  std::vector<std::pair<MemoryEventKind, std::size_t>> seen;
  for (const MemoryEvent& event : recorder.events)
    seen.emplace_back(event.kind, event.bytes);
  using enum MemoryEventKind;
  EXPECT_EQ(seen, (std::vector<std::pair<MemoryEventKind, std::size_t>>{{kAllocatePinned, 40},
                                                                        {kAllocateDevice, 40},
                                                                        {kCopyToDevice, 40},
                                                                        {kCopyToHost, 12},
                                                                        {kFill, 40},
                                                                        {kFreeDevice, 40},
                                                                        {kFreePinned, 40}}));
}

TEST_F(CudaRuntimeTest, MoreMemoryThanThereIsIsAnError) {
  const auto huge = DeviceBuffer<float>::allocate(device(), std::size_t{1} << 45);
  ASSERT_FALSE(huge.has_value());
  EXPECT_EQ(huge.error().code, ErrorCode::kResourceExhausted);
  const auto overflowing = DeviceBuffer<float>::allocate(device(), ~std::size_t{0});
  ASSERT_FALSE(overflowing.has_value());
  EXPECT_EQ(overflowing.error().code, ErrorCode::kResourceExhausted);
  // The device goes on.
  EXPECT_EQ(download(upload(std::vector<int>{1})), std::vector<int>{1});
}

TEST_F(CudaRuntimeTest, FreedMemoryComesBack) {
  const auto info = [&] { return device().memory_info().value().free_bytes; };
  const std::size_t before = info();
  { const DeviceBuffer<std::byte> buffer = allocate<std::byte>(std::size_t{64} << 20); }
  EXPECT_GE(info() + (std::size_t{4} << 20), before);
}

TEST_F(CudaRuntimeTest, GraphsRunAgainWhatWasCaptured) {
  DeviceBuffer<float> x = upload(std::vector<float>{1.0f, 2.0f, 3.0f});
  EXPECT_OK(stream().begin_capture());
  EXPECT_OK(scale(stream(), x.data(), 2.0f, 3));
  EXPECT_OK(scale(stream(), x.data(), 0.5f, 2));
  Result<Graph> graph = stream().end_capture();
  ASSERT_TRUE(graph.has_value());
  EXPECT_EQ(download(x), (std::vector<float>{1.0f, 2.0f, 3.0f}));
  EXPECT_OK(graph->launch(stream()));
  EXPECT_OK(graph->launch(stream()));
  EXPECT_EQ(download(x), (std::vector<float>{1.0f, 2.0f, 12.0f}));
}

TEST_F(CudaRuntimeTest, EventsOrderStreamsAndMeasureTime) {
  const Stream other = Stream::create(device()).value();
  const Event begin = Event::create(device()).value();
  const Event end = Event::create(device()).value();
  DeviceBuffer<float> x = upload(std::vector<float>(1000, 1.0f));
  EXPECT_OK(begin.record(stream()));
  EXPECT_OK(scale(stream(), x.data(), 3.0f, 1000));
  EXPECT_OK(end.record(stream()));
  EXPECT_OK(other.wait(end));
  EXPECT_OK(scale(other, x.data(), 5.0f, 1000));
  EXPECT_OK(other.synchronize());
  EXPECT_OK(end.synchronize());
  EXPECT_GE(Event::elapsed_ms(begin, end).value(), 0.0f);
  EXPECT_EQ(download(x), std::vector<float>(1000, 15.0f));
}

TEST_F(CudaRuntimeTest, ALaunchThatNoDeviceCanDoNamesTheKernel) {
  DeviceBuffer<int> out = allocate<int>(1);
  for (const Dim3 block : {Dim3{1025}, Dim3{32, 33}, Dim3{1, 1, 65}, Dim3{0}}) {
    const Status status = write_indices(stream(), {1}, block, out.data());
    ASSERT_FALSE(status.has_value());
    EXPECT_NE(status.error().message.find("write_indices: "), std::string::npos)
        << status.error().message;
  }
  EXPECT_FALSE(write_indices(stream(), {1, 65536}, {1}, out.data()).has_value());
  EXPECT_FALSE(write_indices(stream(), {0}, {1}, out.data()).has_value());
  EXPECT_OK(write_indices(stream(), {1}, {1}, out.data()));
}

}  // namespace
}  // namespace tvllm::cuda::test
