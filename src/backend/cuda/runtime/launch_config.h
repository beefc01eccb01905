// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tvllm::cuda {

struct Dim3 {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};

// How a kernel is launched.
//
//   launch(stream, {.kernel = "rms_norm", .grid = {num_rows}, .block = {256}}, rms_norm_kernel,
//   ...)
struct LaunchConfig {
  const char* kernel = "";  // its name, for errors; a literal
  Dim3 grid = {};           // blocks
  Dim3 block = {};          // threads
  // Beside what the kernel declares. More than 48 KiB is asked for at the device by itself.
  std::size_t shared_bytes = 0;
  // Attributes.
  Dim3 cluster = {};            // blocks of a cluster, sm_90; not in the emulation
  bool is_cooperative = false;  // all blocks run at once; not in the emulation
  // The kernel may start while the one before it ends, and waits for it by itself (sm_90).
  bool overlaps_previous = false;
};

}  // namespace tvllm::cuda
