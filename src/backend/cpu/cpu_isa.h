// SPDX-License-Identifier: Apache-2.0
// The instruction sets of --cpu-isa: names, what each needs, and which of them this build and this
// machine can run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/kernel_table.h"
#include "base/result.h"

namespace tvllm::cpu {

enum class CpuIsa {
  kAuto,       // the best that is available
  kReference,  // fp32 throughout, plain loops: what the others are measured against
  kScalar,     // the quantized algorithm in plain C++
  kAvx2,
  kAvxVnni,
  kAvx512,
  kAvx512Vnni,
  kAmx,
};

std::string_view cpu_isa_name(CpuIsa isa);  // "avx512_vnni"

// "auto, reference, scalar, ...": for --help.
std::string cpu_isa_list();

Result<CpuIsa> parse_cpu_isa(std::string_view name);

// Those with kernels in this build that this machine can run, kReference first, the best last.
std::vector<CpuIsa> available_cpu_isas();

// What `isa` means here: the best one for kAuto, an error that names what is available for one that
// this build or this machine lacks.
Result<CpuIsa> resolve_cpu_isa(CpuIsa isa);

// REQUIRES: an instruction set that resolve_cpu_isa returned.
const KernelTable& kernel_table_of(CpuIsa isa);

}  // namespace tvllm::cpu
