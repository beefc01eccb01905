// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_isa.h"

#include "backend/cpu/avx2/kernels.h"
#include "backend/cpu/avx512/kernels.h"
#include "backend/cpu/avx512_vnni/kernels.h"
#include "backend/cpu/reference/kernels.h"
#include "backend/cpu/scalar/kernels.h"
#include "base/check.h"
#include "base/strings.h"

namespace tvllm::cpu {

namespace {

bool needs_nothing(const CpuFeatures&) {
  return true;
}

bool has_avx2(const CpuFeatures& f) {
  return f.avx2 && f.fma && f.f16c;
}

bool has_avx_vnni(const CpuFeatures& f) {
  return has_avx2(f) && f.avx_vnni;
}

bool has_avx512(const CpuFeatures& f) {
  return has_avx2(f) && f.avx512f && f.avx512bw && f.avx512vl && f.avx512dq;
}

bool has_avx512_vnni(const CpuFeatures& f) {
  return has_avx512(f) && f.avx512_vnni;
}

bool has_amx(const CpuFeatures& f) {
  return has_avx512_vnni(f) && f.amx_tile && f.amx_int8;
}

struct IsaRow {
  CpuIsa isa;
  std::string_view name;
  const KernelTable* table;  // null: no kernels in this build
  bool (*runs_on)(const CpuFeatures&);
  std::string_view needs;
};

#if defined(__x86_64__)
constexpr const KernelTable* kAvx2Table = &kAvx2Kernels;
constexpr const KernelTable* kAvx512Table = &kAvx512Kernels;
constexpr const KernelTable* kAvx512VnniTable = &kAvx512VnniKernels;
#else
constexpr const KernelTable* kAvx2Table = nullptr;
constexpr const KernelTable* kAvx512Table = nullptr;
constexpr const KernelTable* kAvx512VnniTable = nullptr;
#endif

// In the order in which `auto` prefers them, the best last.
constexpr IsaRow kIsas[] = {
    {CpuIsa::kReference, "reference", &kReferenceKernels, needs_nothing, ""},
    {CpuIsa::kScalar, "scalar", &kScalarKernels, needs_nothing, ""},
    {CpuIsa::kAvx2, "avx2", kAvx2Table, has_avx2, "avx2, fma and f16c"},
    {CpuIsa::kAvxVnni, "avx_vnni", nullptr, has_avx_vnni, "avx2, fma, f16c and avx_vnni"},
    {CpuIsa::kAvx512, "avx512", kAvx512Table, has_avx512,
     "avx512f, avx512bw, avx512vl and avx512dq"},
    {CpuIsa::kAvx512Vnni, "avx512_vnni", kAvx512VnniTable, has_avx512_vnni,
     "avx512 and avx512_vnni"},
    {CpuIsa::kAmx, "amx", nullptr, has_amx, "avx512_vnni, amx_tile and amx_int8"},
};

const IsaRow& row_of(CpuIsa isa) {
  for (const IsaRow& row : kIsas) {
    if (row.isa == isa) return row;
  }
  TVLLM_CHECK(false, "CpuIsa ", static_cast<int>(isa));
}

std::string available_list() {
  std::vector<std::string> names;
  for (const CpuIsa isa : available_cpu_isas()) {
    names.emplace_back(cpu_isa_name(isa));
  }
  return join(names, ", ");
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  return isa == CpuIsa::kAuto ? "auto" : row_of(isa).name;
}

std::string cpu_isa_list() {
  std::vector<std::string> names = {"auto"};
  for (const IsaRow& row : kIsas) {
    names.emplace_back(row.name);
  }
  return join(names, ", ");
}

Result<CpuIsa> parse_cpu_isa(std::string_view name) {
  if (name == "auto") return CpuIsa::kAuto;
  for (const IsaRow& row : kIsas) {
    if (row.name == name) return row.isa;
  }
  return invalid_argument(
      str_cat("--cpu-isa ", quoted(name), " is unknown, expected one of ", cpu_isa_list()),
      "--cpu-isa");
}

std::vector<CpuIsa> available_cpu_isas() {
  const CpuFeatures features = detect_cpu_features();
  std::vector<CpuIsa> available;
  for (const IsaRow& row : kIsas) {
    if (row.table != nullptr && row.runs_on(features)) available.push_back(row.isa);
  }
  return available;
}

Result<CpuIsa> resolve_cpu_isa(CpuIsa isa) {
  if (isa == CpuIsa::kAuto) return available_cpu_isas().back();
  const IsaRow& row = row_of(isa);
  if (!row.runs_on(detect_cpu_features())) {
    return make_error(ErrorCode::kUnsupported,
                      str_cat("--cpu-isa ", row.name, " needs a CPU with ", row.needs,
                              ", available here: ", available_list()),
                      "--cpu-isa");
  }
  if (row.table == nullptr) {
    return make_error(ErrorCode::kUnsupported,
                      str_cat("--cpu-isa ", row.name,
                              " has no kernels in this build, available: ", available_list()),
                      "--cpu-isa");
  }
  return isa;
}

const KernelTable& kernel_table_of(CpuIsa isa) {
  const IsaRow& row = row_of(isa);
  TVLLM_CHECK(row.table != nullptr, row.name);
  return *row.table;
}

}  // namespace tvllm::cpu
