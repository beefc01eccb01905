// SPDX-License-Identifier: Apache-2.0
// Seeded faults: the emulation names each with kernel, block and thread, and goes on afterwards.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/launcher.h"
#include "backend/cuda/emulation/sanitizer.h"
#include "tests/unit/backend_cuda/cuda_fixture.h"
#include "tests/unit/backend_cuda/fault_kernels.h"
#include "tests/unit/backend_cuda/primitive_kernels.h"

namespace tvllm::cuda::test {
namespace {

class CudaFaultsTest : public CudaTest {
 protected:
  void SetUp() override {
#ifndef TVLLM_EMULATION_HAS_HOOKS
    GTEST_SKIP() << "g++ alone calls the access hooks";
#endif
    CudaTest::SetUp();
    emulation::set_patience(std::chrono::milliseconds(200));
  }
  void TearDown() override {
    emulation::set_patience(std::chrono::seconds(10));
  }

  // 64 floats, of which the last one was never written.
  DeviceBuffer<float> make_buffer() {
    DeviceBuffer<float> x = allocate<float>(64);
    EXPECT_OK(x.copy_from_host(std::vector<float>(63, 1.0f), stream()));
    return x;
  }

  std::string message_of(Fault fault) {
    DeviceBuffer<float> x = make_buffer();
    const Status status = commit_fault(stream(), fault, x.data());
    return status ? "no error" : status.error().message;
  }

  void expect_works() {
    DeviceBuffer<int> x = upload(std::vector<int>(256 * 3, 5));
    EXPECT_OK(reverse_rows(stream(), x.data(), 3));
    EXPECT_EQ(download(x), std::vector<int>(256 * 3, 5));
  }
};

struct SeededFault {
  Fault fault;
  const char* thread;    // who is named
  const char* sentence;  // a part of what is said
};

constexpr SeededFault kSeededFaults[] = {
    {Fault::kDivergentBarrier, "(40,0,0)",
     "divergent barrier: this thread is at __syncthreads (fault_kernels.cu:"},
    {Fault::kBarrierInHalfTheWarp, "(16,0,0)",
     "deadlock: nobody can go on: thread (16,0,0) waits in __syncwarp"},
    {Fault::kLockNeverFreed, "(5,0,0)", "deadlock: waits in a loop"},
    {Fault::kSharedIndexPastEnd, "(63,0,0)", "index 64 into a shared array of 64 elements"},
    {Fault::kSharedIndexNegative, "(0,0,0)", "index -1 into a shared array of 64 elements"},
    {Fault::kSharedPointerPastEnd, "(63,0,0)",
     "writes 4 bytes of shared memory outside of the block's shared arrays"},
    {Fault::kDynamicSharedPastEnd, "(63,0,0)",
     "writes 4 bytes of shared memory outside of the block's shared arrays"},
    {Fault::kNoDynamicShared, "(0,0,0)",
     "asks for dynamic shared memory, and the launch gave none"},
    {Fault::kTooMuchShared, "(0,0,0)", "needs 320000 bytes of shared memory, at most 232448"},
    {Fault::kSharedUninitialized, "(7,0,0)", "reads 4 bytes of uninitialized shared memory"},
    {Fault::kSharedUninitializedPart, "(63,0,0)", "reads 4 bytes of uninitialized shared memory"},
    {Fault::kMissingBarrier, "(1,0,0)",
     "race: reads 4 bytes of shared memory that thread (0,0,0) wrote, with no barrier in between"},
    {Fault::kMissingBarrierBeforeRefill, "(0,0,0)",
     "race: reads 4 bytes of shared memory that thread (63,0,0) wrote"},
    {Fault::kMissingSyncWarp, "(1,0,0)",
     "race: reads 4 bytes of shared memory that thread (0,0,0) wrote"},
    {Fault::kDeviceReadPastEnd, "(9,0,0)",
     "reads 4 bytes of device memory 0 bytes past the end of a device buffer of 256 bytes"},
    {Fault::kDeviceWritePastEnd, "(9,0,0)",
     "writes 4 bytes of device memory 8 bytes past the end of a device buffer of 256 bytes"},
    {Fault::kDeviceWriteBeforeBegin, "(9,0,0)", "writes 4 bytes of device memory "},
    {Fault::kDeviceUninitialized, "(63,0,0)", "reads 4 bytes of uninitialized device memory"},
    {Fault::kNullPointer, "(0,0,0)", "writes 4 bytes through a null pointer"},
    {Fault::kWriteToConstant, "(0,0,0)", "writes 4 bytes of host memory"},
    {Fault::kLocalOfOtherThread, "(63,0,0)", "or of another thread's local variables"},
    {Fault::kVectorMisaligned, "(0,0,0)", "reads 16 bytes at an address that is no multiple of 16"},
    {Fault::kVectorMisalignedPlain, "(0,0,0)", "16 bytes at an address that is no multiple of 16"},
    {Fault::kLoopWithoutEnd, "(9,0,0)", "deadlock: waits in a loop"},
    {Fault::kAtomicMisaligned, "(0,0,0)", "at an address that is no multiple of 4"},
    {Fault::kAtomicPastEnd, "(9,0,0)",
     "changes atomically 4 bytes of device memory 0 bytes past the end"},
    {Fault::kCopyAsyncMisaligned, "(0,0,0)",
     "cp.async of 16 bytes from an address that is no multiple"},
    {Fault::kCopyAsyncNotWaitedFor, "(63,0,0)", "cp.async is writing: no wait for its group"},
    {Fault::kCopyAsyncRefillWithoutBarrier, "(1,0,0)",
     "race: writes 4 bytes of shared memory that thread (0,0,0) read"},
    {Fault::kCopyAsyncToDevice, "(0,0,0)", "cp.async writes to shared memory"},
    {Fault::kShuffleFromExitedLane, "(30,0,0)", "shuffle reads lane 31, which does not take part"},
    {Fault::kShuffleOutsideOwnMask, "(16,0,0)", "the calling lane 16 is not in the mask"},
    {Fault::kShuffleOtherMask, "(16,0,0)", "with another mask"},
    {Fault::kShuffleWidth, "(0,0,0)", "shuffle width 12 is no power of two"},
    {Fault::kMmaInPartOfAWarp, "", "mma.sync bf16"},
    {Fault::kLdmatrixOfDeviceMemory, "(0,0,0)", "ldmatrix reads shared memory"},
};

TEST_F(CudaFaultsTest, EachIsNamedWithKernelBlockAndThread) {
  for (const SeededFault& seeded : kSeededFaults) {
    const std::string message = message_of(seeded.fault);
    EXPECT_EQ(message.find("faulty: block (1,0,0) thread " + std::string(seeded.thread)), 0u)
        << message;
    EXPECT_NE(message.find(seeded.sentence), std::string::npos)
        << message << "\n  does not say: " << seeded.sentence;
    expect_works();
  }
}

TEST_F(CudaFaultsTest, WaitingInALoopForALaterThreadIsNone) {
  DeviceBuffer<float> x = upload(std::vector<float>(2, 1.0f));
  EXPECT_OK(wait_for_later_thread(stream(), x.data()));
  EXPECT_EQ(download(x), (std::vector<float>{5.0f, 7.0f}));
}

TEST_F(CudaFaultsTest, AreTheSameOnEveryRun) {
  const std::string message = message_of(Fault::kMissingBarrier);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(message_of(Fault::kMissingBarrier), message);
}

TEST_F(CudaFaultsTest, HostMemoryIsNoKernelsBusiness) {
  DeviceBuffer<float> x = make_buffer();
  std::vector<float> on_heap = {1.0f};
  float on_stack = 1.0f;
  static float global = 1.0f;
  for (float* host : {on_heap.data(), &on_stack, &global}) {
    const Status read = read_and_write(stream(), host, x.data());
    ASSERT_FALSE(read.has_value());
    EXPECT_NE(read.error().message.find(
                  "read_and_write: block (0,0,0) thread (0,0,0): reads 4 bytes of host memory"),
              std::string::npos)
        << read.error().message;
    const Status write = read_and_write(stream(), x.data(), host);
    ASSERT_FALSE(write.has_value());
    EXPECT_NE(write.error().message.find("writes 4 bytes of host memory"), std::string::npos)
        << write.error().message;
    EXPECT_EQ(*host, 1.0f);
  }
}

TEST_F(CudaFaultsTest, FreedMemoryStaysNobodysForAWhile) {
  DeviceBuffer<float> x = make_buffer();
  float* freed = nullptr;
  {
    DeviceBuffer<float> y = make_buffer();
    freed = y.data();
  }
  const DeviceBuffer<float> z = make_buffer();
  const Status status = read_and_write(stream(), freed, x.data());
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("freed"), std::string::npos) << status.error().message;
}

TEST_F(CudaFaultsTest, CopiesKnowHostFromDevice) {
  DeviceBuffer<float> x = make_buffer();
  std::vector<float> host(64);
  using device_api::CopyKind;
  const auto copy = [&](void* to, const void* from, std::size_t bytes, CopyKind kind) {
    return device_api::copy(to, from, bytes, kind, stream().handle()).has_value();
  };
  EXPECT_TRUE(copy(x.data(), host.data(), 256, CopyKind::kToDevice));
  EXPECT_FALSE(copy(host.data(), x.data(), 256, CopyKind::kToDevice));
  EXPECT_FALSE(copy(x.data(), host.data(), 256, CopyKind::kToHost));
  EXPECT_FALSE(copy(x.data(), host.data(), 256, CopyKind::kOnDevice));
  EXPECT_FALSE(copy(x.data(), host.data(), 257, CopyKind::kToDevice));
  EXPECT_FALSE(copy(host.data(), x.data() + 1, 256, CopyKind::kToHost));
}

TEST_F(CudaFaultsTest, TheDeviceHasAsMuchMemoryAsItIsTold) {
  emulation::Arena& arena = emulation::Arena::instance();
  const std::size_t limit = arena.limit();
  arena.set_limit(arena.used_bytes() + 1024);
  EXPECT_TRUE(DeviceBuffer<std::byte>::allocate(device(), 1024).has_value());
  const auto refused = DeviceBuffer<std::byte>::allocate(device(), 1025);
  arena.set_limit(limit);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
}

TEST_F(CudaFaultsTest, ResultsDoNotDependOnTheNumberOfWorkers) {
  for (int num_workers : {1, 2, 5}) {
    emulation::set_num_workers(num_workers);
    expect_works();
    EXPECT_NE(message_of(Fault::kDivergentBarrier).find("block (1,0,0) thread (40,0,0)"),
              std::string::npos);
  }
}

#ifdef TVLLM_EMULATION_ASAN
TEST_F(CudaFaultsTest, TheSanitizerCatchesAHostThatDereferencesDeviceMemory) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const DeviceBuffer<float> x = make_buffer();
  const auto read = [](const volatile float* address) { return *address; };
  EXPECT_DEATH(read(x.data()), "use-after-poison");
  EXPECT_DEATH(read(x.data() + 64), "use-after-poison");
}
#endif

}  // namespace
}  // namespace tvllm::cuda::test
