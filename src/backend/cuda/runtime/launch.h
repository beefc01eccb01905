// SPDX-License-Identifier: Apache-2.0
// The way to launch a kernel, in .cu files: launch() under nvcc and in the emulation, never <<<>>>.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "backend/cuda/runtime/launch_config.h"
#include "backend/cuda/runtime/stream.h"

#ifndef __CUDACC__
#include "backend/cuda/emulation/launcher.h"
#endif

namespace tvllm::cuda {

// Enqueues the kernel. The arguments are converted to the kernel's parameters and copied. An error
// names the kernel and the call; what the kernel itself does wrong, a GPU tells later, the
// emulation at once. Does not throw.
template <typename... Params, typename... Arguments>
Status launch(const Stream& stream, const LaunchConfig& config, void (*kernel)(Params...),
              Arguments&&... arguments) noexcept {
  static_assert(sizeof...(Params) == sizeof...(Arguments), "one argument a parameter");
  std::tuple<std::remove_cvref_t<Params>...> values(std::forward<Arguments>(arguments)...);
#ifdef __CUDACC__
  return std::apply(
      [&](auto&... value) {
        void* pointers[] = {static_cast<void*>(&value)..., nullptr};
        return device_api::launch_kernel(stream.handle(), config,
                                         reinterpret_cast<const void*>(kernel), pointers);
      },
      values);
#else
  // Runs once a thread, on its own stack: a kernel's parameters are its own.
  return device_api::launch_body(stream.handle(), config, [kernel, values] {
    auto own = values;
    const auto function = kernel;
    emulation::enter_kernel();
    std::apply(function, own);
    emulation::leave_kernel();
  });
#endif
}

}  // namespace tvllm::cuda
