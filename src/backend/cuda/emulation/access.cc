// SPDX-License-Identifier: Apache-2.0
#include "backend/cuda/emulation/access.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "backend/cuda/emulation/arena.h"
#include "backend/cuda/emulation/block_runner.h"
#include "backend/cuda/emulation/current.h"
#include "backend/cuda/emulation/intrinsics.h"
#include "backend/cuda/emulation/sanitizer.h"
#include "base/strings.h"

namespace tvllm::cuda::emulation {
namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  bool holds(std::uintptr_t address) const { return begin <= address && address < end; }
};

// The read-only segments of the program and its libraries: tables that are constexpr.
std::vector<Range> find_constants() {
  std::vector<Range> ranges;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const bool is_constant = (header.p_type == PT_LOAD && (header.p_flags & PF_W) == 0) ||
                                   header.p_type == PT_GNU_RELRO;
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (is_constant) {
            static_cast<std::vector<Range>*>(out)->push_back({begin, begin + header.p_memsz});
          }
        }
        return 0;
      },
      &ranges);
  return ranges;
}

// Thread-local variables of this thread: SharedArray handles and threadIdx, where the compiler did
// not see that they are.
std::vector<Range> find_thread_locals() {
  std::vector<Range> ranges;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum && info->dlpi_tls_data != nullptr; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
          const auto begin = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
          static_cast<std::vector<Range>*>(out)->push_back(
              {begin, begin + info->dlpi_phdr[i].p_memsz});
        }
        return 0;
      },
      &ranges);
  return ranges;
}

bool any_holds(const std::vector<Range>& ranges, std::uintptr_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.holds(address); });
}

const char* verb(AccessKind kind) {
  switch (kind) {
    case AccessKind::kRead:
      return "reads ";
    case AccessKind::kWrite:
      return "writes ";
    case AccessKind::kAtomic:
      return "changes atomically ";
  }
  return "";
}

std::string hex(std::uintptr_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value % 16]);
    value /= 16;
  } while (value != 0);
  return "0x" + digits;
}

// Where a wrong address of the arena lies, in words.
std::string describe(std::uintptr_t address, bool is_in_shared) {
  if (is_in_shared) return "outside of the block's shared arrays";
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  const auto found = Arena::instance().allocation_before(reinterpret_cast<const void*>(address));
  if (!found) return "where no device buffer is";
  const std::size_t offset = address - found->begin;
  return str_cat(offset < found->bytes ? 0 : offset - found->bytes,
                 " bytes past the end of a device buffer of ", found->bytes,
                 " bytes, or in a buffer that was freed");
}

// Not in the arena. Returns if it is none of our business.
void check_outside(std::uintptr_t address, std::size_t bytes, AccessKind kind) {
  static const std::vector<Range> constants = find_constants();
  if (kind == AccessKind::kRead && any_holds(constants, address)) return;
  static thread_local const std::vector<Range> thread_locals = find_thread_locals();
  if (any_holds(thread_locals, address)) return;
  std::string sentence =
      address < 4096
          ? str_cat(verb(kind), bytes, " bytes through a null pointer")
          : str_cat(verb(kind), bytes, " bytes of host memory (", hex(address),
                    "), or of another thread's local variables: a kernel gets device pointers");
  fault(std::move(sentence));
}

[[noreturn]] void fault_in_arena(std::uintptr_t address, std::size_t bytes, AccessKind kind,
                                 const std::uint8_t* states, bool is_in_shared) {
  const char* const memory = is_in_shared ? "shared" : "device";
  const auto* const wrong = std::find_if(states, states + bytes, [&](std::uint8_t state) {
    return state != static_cast<std::uint8_t>(ByteState::kInitialized) &&
           (kind != AccessKind::kWrite ||
            state != static_cast<std::uint8_t>(ByteState::kUninitialized));
  });
  std::string sentence;
  switch (static_cast<ByteState>(*wrong)) {
    case ByteState::kPending:
      sentence = str_cat(verb(kind), bytes, " bytes of ", memory,
                         " memory that cp.async is writing: no wait for its group came before");
      break;
    case ByteState::kUninitialized:
      sentence = str_cat(verb(kind), bytes, " bytes of uninitialized ", memory, " memory");
      break;
    default: {
      sentence =
          str_cat(verb(kind), bytes, " bytes of ", memory, " memory ",
                  describe(address + static_cast<std::size_t>(wrong - states), is_in_shared));
    }
  }
  fault(std::move(sentence));
}

void check_race(std::size_t offset, std::size_t bytes, AccessKind kind) {
  BlockRunner& runner = *t_current.runner;
  SharedLog& log = runner.shared_log();
  const std::size_t in_range = offset % kSharedRangeBytes;
  const auto race = kind == AccessKind::kWrite ? log.write(in_range, bytes, runner.thread_idx())
                                               : log.read(in_range, bytes, runner.thread_idx());
  if (!race) return;
  std::string sentence =
      str_cat("race: ", verb(kind), bytes, " bytes of shared memory that ",
              race->thread_idx < 0 ? "several threads" : runner.name_of_thread(race->thread_idx),
              race->was_write ? " wrote" : " read", ", with no barrier in between");
  fault(std::move(sentence));
}

// Whether all states are `wanted`; the usual sizes without a loop.
bool all_are(const std::uint8_t* states, std::size_t bytes, ByteState wanted) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (states[i] != static_cast<std::uint8_t>(wanted)) return false;
  }
  return true;
}

template <std::size_t kBytes>
bool all_initialized(const std::uint8_t* states) {
  static constexpr std::array<std::uint8_t, 16> kInitialized = {2, 2, 2, 2, 2, 2, 2, 2,
                                                                2, 2, 2, 2, 2, 2, 2, 2};
  static_assert(kInitialized[0] == static_cast<std::uint8_t>(ByteState::kInitialized));
  return std::memcmp(states, kInitialized.data(), kBytes) == 0;
}

void check_in_arena(std::uintptr_t address, std::size_t offset, std::size_t bytes,
                    AccessKind kind) {
  std::uint8_t* const states = Arena::instance().state_at(offset);
  const bool is_in_shared = offset < kAllSharedBytes;
  if (is_in_shared &&
      offset / kSharedRangeBytes != static_cast<std::size_t>(t_current.runner->worker_idx())) {
    std::string sentence = str_cat(verb(kind), bytes, " bytes of another block's shared memory");
    fault(std::move(sentence));
  }
  const bool is_initialized = all_are(states, bytes, ByteState::kInitialized);
  if (!is_initialized) {
    const bool may_write = std::all_of(states, states + bytes, [](std::uint8_t state) {
      return state == static_cast<std::uint8_t>(ByteState::kInitialized) ||
             state == static_cast<std::uint8_t>(ByteState::kUninitialized);
    });
    if (kind != AccessKind::kWrite || !may_write) {
      fault_in_arena(address, bytes, kind, states, is_in_shared);
    }
    // Blocks that run beside this one may look at the same states.
    for (std::size_t i = 0; i < bytes; ++i) {
      __atomic_store_n(states + i, static_cast<std::uint8_t>(ByteState::kInitialized),
                       __ATOMIC_RELAXED);
    }
  }
  if (is_in_shared && kind != AccessKind::kAtomic) check_race(offset, bytes, kind);
}

void take_turns() {
  t_current.num_accesses_left = Current::kAccessesPerTurn;
  const InEmulation guard("a load or store");
  t_current.runner->yield();
}

// The hook's hot path.
template <std::size_t kBytes, AccessKind kKind>
void check_fixed(const void* address) {
  if (!t_current.checking) return;
  if (--t_current.num_accesses_left == 0) take_turns();
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  // The compiler calls the hook of a size for accesses that it takes for aligned. A vector that is
  // not would end the process.
  if (at % kBytes != 0) check_aligned_access(address, kBytes, kKind);
  if (at - t_current.stack_begin < t_current.stack_end - t_current.stack_begin) return;
  const Arena& arena = Arena::instance();
  const std::size_t offset = arena.offset_of(address);
  // Device memory that is initialized: the usual case.
  if (offset - kAllSharedBytes < kMaxDeviceBytes &&
      all_initialized<kBytes>(arena.state_at(offset))) {
    return;
  }
  // Whole words of the block's shared memory that are initialized, or become so by this write.
  BlockRunner& runner = *t_current.runner;
  const std::size_t in_range =
      offset - static_cast<std::size_t>(runner.worker_idx()) * kSharedRangeBytes;
  if (kBytes >= 4 && in_range < kSharedRangeBytes && offset % 4 == 0 &&
      all_initialized<kBytes>(arena.state_at(offset))) {
    const bool is_usual =
        kKind == AccessKind::kRead
            ? runner.shared_log().log_usual_read(in_range, kBytes / 4, runner.thread_idx())
            : runner.shared_log().log_usual_write(in_range, kBytes / 4, runner.thread_idx());
    if (is_usual) return;
  }
  check_access(address, kBytes, kKind);
}

}  // namespace

void check_access(const void* address, std::size_t bytes, AccessKind kind) {
  const bool was_checking = t_current.checking;
  t_current.checking = false;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (at < t_current.stack_begin || at >= t_current.stack_end) {
    const std::size_t offset = Arena::instance().offset_of(address);
    if (offset < kArenaBytes) {
      check_in_arena(at, offset, bytes, kind);
    } else {
      check_outside(at, bytes, kind);
    }
  }
  t_current.checking = was_checking;
}

void check_aligned_access(const void* address, std::size_t bytes, AccessKind kind) {
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0) {
    t_current.checking = false;
    std::string sentence =
        str_cat(verb(kind), bytes, " bytes at an address that is no multiple of ", bytes, " (",
                hex(reinterpret_cast<std::uintptr_t>(address)), ")");
    fault(std::move(sentence));
  }
  check_access(address, bytes, kind);
}

void check_vector(const void* address, std::size_t bytes, bool is_write) {
  const InEmulation guard("a vector access");
  check_aligned_access(address, bytes, is_write ? AccessKind::kWrite : AccessKind::kRead);
}

bool is_shared(const void* address) {
  return Arena::instance().offset_of(address) / kSharedRangeBytes ==
         static_cast<std::size_t>(t_current.runner->worker_idx());
}

}  // namespace tvllm::cuda::emulation

// --- what the compiler calls
// -----------------------------------------------------------------------

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
#define TVLLM_ACCESS_HOOKS(bytes)                                                               \
  void __asan_load##bytes##_noabort(void* address);                                             \
  void __asan_store##bytes##_noabort(void* address);                                            \
  void __asan_load##bytes##_noabort(void* address) {                                            \
    ::tvllm::cuda::emulation::check_fixed<bytes, ::tvllm::cuda::emulation::AccessKind::kRead>(  \
        address);                                                                               \
  }                                                                                             \
  void __asan_store##bytes##_noabort(void* address) {                                           \
    ::tvllm::cuda::emulation::check_fixed<bytes, ::tvllm::cuda::emulation::AccessKind::kWrite>( \
        address);                                                                               \
  }

extern "C" {
TVLLM_ACCESS_HOOKS(1)
TVLLM_ACCESS_HOOKS(2)
TVLLM_ACCESS_HOOKS(4)
TVLLM_ACCESS_HOOKS(8)
TVLLM_ACCESS_HOOKS(16)

void __asan_loadN_noabort(void* address, std::size_t bytes);
void __asan_storeN_noabort(void* address, std::size_t bytes);
void __asan_loadN_noabort(void* address, std::size_t bytes) {
  using namespace tvllm::cuda::emulation;  // NOLINT(google-build-using-namespace)
  if (t_current.checking) check_access(address, bytes, AccessKind::kRead);
}
void __asan_storeN_noabort(void* address, std::size_t bytes) {
  using namespace tvllm::cuda::emulation;  // NOLINT(google-build-using-namespace)
  if (t_current.checking) check_access(address, bytes, AccessKind::kWrite);
}
// Before a call that does not return.
void __asan_handle_no_return();
#ifndef TVLLM_EMULATION_ASAN
void __asan_handle_no_return() {}
#endif
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
