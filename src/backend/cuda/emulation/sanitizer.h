// SPDX-License-Identifier: Apache-2.0
// What the emulation tells the address sanitizer; nothing in other builds.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define TVLLM_EMULATION_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TVLLM_EMULATION_ASAN 1
#endif
#endif

#ifdef TVLLM_EMULATION_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define TVLLM_NO_SANITIZE __attribute__((no_sanitize("address"), noinline))
#else
#define TVLLM_NO_SANITIZE __attribute__((noinline))
#endif

namespace tvllm::cuda::emulation {

inline void poison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef TVLLM_EMULATION_ASAN
  __asan_poison_memory_region(begin, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef TVLLM_EMULATION_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

// Before a switch to the stack [bottom, bottom + bytes). `fake_stack` keeps what the sanitizer
// knows of the stack that is left; null when that one is left for good.
inline void start_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom,
                         [[maybe_unused]] std::size_t bytes) {
#ifdef TVLLM_EMULATION_ASAN
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
#endif
}

// After a switch, on the stack that was switched to; says which stack was left.
inline void finish_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom,
                          [[maybe_unused]] std::size_t* bytes) {
#ifdef TVLLM_EMULATION_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, bottom, bytes);
#endif
}

}  // namespace tvllm::cuda::emulation
