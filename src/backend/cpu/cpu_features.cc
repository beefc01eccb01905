// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_features.h"

#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tvllm::cpu {

#if defined(__x86_64__)

namespace {

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);  // zeros if there is no leaf
  return r;
}

bool bit(unsigned value, int index) {
  return (value >> index & 1) != 0;
}

// The register states that the operating system saves. REQUIRES: the CPU has XGETBV.
std::uint32_t enabled_states() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

// Intel SDM, volume 2A, CPUID; volume 1, chapter 13 for the bits of XCR0.
CpuFeatures detect_cpu_features() {
  const Registers one = cpuid(1, 0);
  if (!bit(one.ecx, 27)) return {};  // OSXSAVE: the system saves no wide registers
  const std::uint32_t states = enabled_states();
  const bool ymm = (states & 0x6) == 0x6;
  const bool zmm = ymm && (states & 0xe0) == 0xe0;
  const bool tiles = (states & 0x60000) == 0x60000;
  const Registers seven = cpuid(7, 0);
  const Registers seven_one = cpuid(7, 1);
  CpuFeatures f;
  f.avx2 = ymm && bit(one.ecx, 28) && bit(seven.ebx, 5);
  f.fma = ymm && bit(one.ecx, 12);
  f.f16c = ymm && bit(one.ecx, 29);
  f.avx_vnni = ymm && bit(seven_one.eax, 4);
  f.avx512f = zmm && bit(seven.ebx, 16);
  f.avx512dq = zmm && bit(seven.ebx, 17);
  f.avx512bw = zmm && bit(seven.ebx, 30);
  f.avx512vl = zmm && bit(seven.ebx, 31);
  f.avx512_vnni = zmm && bit(seven.ecx, 11);
  f.avx512_bf16 = zmm && bit(seven_one.eax, 5);
  f.amx_tile = tiles && bit(seven.edx, 24);
  f.amx_int8 = tiles && bit(seven.edx, 25);
  f.amx_bf16 = tiles && bit(seven.edx, 22);
  return f;
}

#else

CpuFeatures detect_cpu_features() {
  return {};
}

#endif

std::string describe(const CpuFeatures& features) {
  const std::pair<bool, const char*> named[] = {
      {features.avx2, "avx2"},
      {features.fma, "fma"},
      {features.f16c, "f16c"},
      {features.avx_vnni, "avx_vnni"},
      {features.avx512f, "avx512f"},
      {features.avx512bw, "avx512bw"},
      {features.avx512vl, "avx512vl"},
      {features.avx512dq, "avx512dq"},
      {features.avx512_vnni, "avx512_vnni"},
      {features.avx512_bf16, "avx512_bf16"},
      {features.amx_tile, "amx_tile"},
      {features.amx_int8, "amx_int8"},
      {features.amx_bf16, "amx_bf16"},
  };
  std::string text;
  for (const auto& [present, name] : named) {
    if (!present) continue;
    if (!text.empty()) text += ' ';
    text += name;
  }
  return text.empty() ? "none" : text;
}

}  // namespace tvllm::cpu
