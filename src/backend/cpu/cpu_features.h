// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tvllm::cpu {

// What the processor can do and the operating system lets programs use. All false on machines that
// are not x86-64.
struct CpuFeatures {
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx_vnni = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512vl = false;
  bool avx512dq = false;
  bool avx512_vnni = false;
  bool avx512_bf16 = false;
  bool amx_tile = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;
};

CpuFeatures detect_cpu_features();

// "avx2 fma f16c": the names as /proc/cpuinfo writes them; "none" if there are none.
std::string describe(const CpuFeatures& features);

}  // namespace tvllm::cpu
