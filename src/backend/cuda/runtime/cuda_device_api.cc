// SPDX-License-Identifier: Apache-2.0
// The device over the CUDA runtime.
#include <cuda_runtime_api.h>

#include "backend/cuda/runtime/device_api.h"
#include "base/strings.h"

namespace tvllm::cuda::device_api {
namespace {

// What the runtime said of `call`. Out of memory is the outside world's; the rest is ours or the
// device's end.
Status check(cudaError_t error, std::string_view call) {
  if (error == cudaSuccess) return {};
  const ErrorCode code =
      error == cudaErrorMemoryAllocation ? ErrorCode::kResourceExhausted : ErrorCode::kInternal;
  // An error that is not the device's end is forgotten here; the next call would tell it again.
  (void)cudaGetLastError();
  return make_error(
      code, str_cat(call, ": ", cudaGetErrorString(error), " (", cudaGetErrorName(error), ")"));
}

cudaStream_t native(StreamHandle stream) {
  return static_cast<cudaStream_t>(stream.value);
}
cudaEvent_t native(EventHandle event) {
  return static_cast<cudaEvent_t>(event.value);
}
cudaGraphExec_t native(GraphHandle graph) {
  return static_cast<cudaGraphExec_t>(graph.value);
}

dim3 native(Dim3 dims) {
  return dim3(dims.x, dims.y, dims.z);
}

cudaMemcpyKind native(CopyKind kind) {
  switch (kind) {
    case CopyKind::kToDevice:
      return cudaMemcpyHostToDevice;
    case CopyKind::kToHost:
      return cudaMemcpyDeviceToHost;
    case CopyKind::kOnDevice:
      return cudaMemcpyDeviceToDevice;
  }
  return cudaMemcpyDefault;
}

// Without asking, a block has 48 KiB.
constexpr std::size_t kSharedBytesForAll = 48 * 1024;

}  // namespace

Result<int> device_count() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) {
    (void)cudaGetLastError();
    return 0;
  }
  TVLLM_RETURN_IF_ERROR(check(error, "cudaGetDeviceCount"));
  return count;
}

Result<Properties> properties(int ordinal) {
  cudaDeviceProp device = {};
  TVLLM_RETURN_IF_ERROR(
      check(cudaGetDeviceProperties(&device, ordinal), "cudaGetDeviceProperties"));
  return Properties{.name = device.name,
                    .compute_capability = device.major * 10 + device.minor,
                    .num_multiprocessors = device.multiProcessorCount,
                    .memory_bytes = device.totalGlobalMem,
                    .l2_bytes = static_cast<std::size_t>(device.l2CacheSize),
                    .max_shared_bytes = device.sharedMemPerBlockOptin,
                    .is_emulated = false};
}

Status select_device(int ordinal) {
  return check(cudaSetDevice(ordinal), "cudaSetDevice");
}

Result<MemoryInfo> memory_info() {
  MemoryInfo info;
  TVLLM_RETURN_IF_ERROR(
      check(cudaMemGetInfo(&info.free_bytes, &info.total_bytes), "cudaMemGetInfo"));
  return info;
}

Result<void*> allocate_device(std::size_t bytes) {
  void* memory = nullptr;
  TVLLM_RETURN_IF_ERROR(
      check(cudaMalloc(&memory, bytes), str_cat("cudaMalloc of ", bytes, " bytes")));
  return memory;
}

Status free_device(void* memory) {
  return check(cudaFree(memory), "cudaFree");
}

Result<void*> allocate_pinned(std::size_t bytes) {
  void* memory = nullptr;
  TVLLM_RETURN_IF_ERROR(check(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault),
                              str_cat("cudaHostAlloc of ", bytes, " bytes")));
  return memory;
}

Status free_pinned(void* memory) {
  return check(cudaFreeHost(memory), "cudaFreeHost");
}

Status copy(void* to, const void* from, std::size_t bytes, CopyKind kind, StreamHandle stream) {
  return check(cudaMemcpyAsync(to, from, bytes, native(kind), native(stream)),
               str_cat("cudaMemcpyAsync of ", bytes, " bytes"));
}

Status fill(void* memory, std::uint8_t byte, std::size_t bytes, StreamHandle stream) {
  return check(cudaMemsetAsync(memory, byte, bytes, native(stream)),
               str_cat("cudaMemsetAsync of ", bytes, " bytes"));
}

Result<StreamHandle> create_stream() {
  cudaStream_t stream = nullptr;
  TVLLM_RETURN_IF_ERROR(check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                              "cudaStreamCreateWithFlags"));
  return StreamHandle{stream};
}

Status destroy_stream(StreamHandle stream) {
  return check(cudaStreamDestroy(native(stream)), "cudaStreamDestroy");
}

Status synchronize(StreamHandle stream) {
  return check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
}

Status wait_event(StreamHandle stream, EventHandle event) {
  return check(cudaStreamWaitEvent(native(stream), native(event), 0), "cudaStreamWaitEvent");
}

Result<EventHandle> create_event() {
  cudaEvent_t event = nullptr;
  TVLLM_RETURN_IF_ERROR(check(cudaEventCreate(&event), "cudaEventCreate"));
  return EventHandle{event};
}

Status destroy_event(EventHandle event) {
  return check(cudaEventDestroy(native(event)), "cudaEventDestroy");
}

Status record_event(EventHandle event, StreamHandle stream) {
  return check(cudaEventRecord(native(event), native(stream)), "cudaEventRecord");
}

Status synchronize_event(EventHandle event) {
  return check(cudaEventSynchronize(native(event)), "cudaEventSynchronize");
}

Result<float> elapsed_ms(EventHandle from, EventHandle to) {
  float milliseconds = 0.0f;
  TVLLM_RETURN_IF_ERROR(
      check(cudaEventElapsedTime(&milliseconds, native(from), native(to)), "cudaEventElapsedTime"));
  return milliseconds;
}

Status begin_capture(StreamHandle stream) {
  return check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
}

Result<GraphHandle> end_capture(StreamHandle stream) {
  cudaGraph_t graph = nullptr;
  TVLLM_RETURN_IF_ERROR(
      check(cudaStreamEndCapture(native(stream), &graph), "cudaStreamEndCapture"));
  cudaGraphExec_t executable = nullptr;
  const cudaError_t error = cudaGraphInstantiate(&executable, graph, 0);
  (void)cudaGraphDestroy(graph);
  TVLLM_RETURN_IF_ERROR(check(error, "cudaGraphInstantiate"));
  return GraphHandle{executable};
}

Status destroy_graph(GraphHandle graph) {
  return check(cudaGraphExecDestroy(native(graph)), "cudaGraphExecDestroy");
}

Status launch_graph(GraphHandle graph, StreamHandle stream) {
  return check(cudaGraphLaunch(native(graph), native(stream)), "cudaGraphLaunch");
}

Status launch_kernel(StreamHandle stream, const LaunchConfig& config, const void* kernel,
                     void** arguments) {
  if (config.shared_bytes > kSharedBytesForAll) {
    TVLLM_RETURN_IF_ERROR(
        check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(config.shared_bytes)),
              str_cat(config.kernel, ": cudaFuncSetAttribute of ", config.shared_bytes,
                      " bytes of shared memory")));
  }
  cudaLaunchAttribute attributes[3] = {};
  unsigned num_attributes = 0;
  const Dim3 cluster = config.cluster;
  if (cluster.x * cluster.y * cluster.z > 1) {
    attributes[num_attributes].id = cudaLaunchAttributeClusterDimension;
    attributes[num_attributes].val.clusterDim.x = cluster.x;
    attributes[num_attributes].val.clusterDim.y = cluster.y;
    attributes[num_attributes].val.clusterDim.z = cluster.z;
    ++num_attributes;
  }
  if (config.is_cooperative) {
    attributes[num_attributes].id = cudaLaunchAttributeCooperative;
    attributes[num_attributes++].val.cooperative = 1;
  }
  if (config.overlaps_previous) {
    attributes[num_attributes].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[num_attributes++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t native_config = {};
  native_config.gridDim = native(config.grid);
  native_config.blockDim = native(config.block);
  native_config.dynamicSmemBytes = config.shared_bytes;
  native_config.stream = native(stream);
  native_config.attrs = attributes;
  native_config.numAttrs = num_attributes;
  return check(cudaLaunchKernelExC(&native_config, kernel, arguments),
               str_cat(config.kernel, ": cudaLaunchKernelExC"));
}

Status launch_body(StreamHandle, const LaunchConfig& config, std::function<void()>) {
  return make_error(ErrorCode::kInternal,
                    str_cat(config.kernel, ": was compiled for the emulation, and runs on a GPU"));
}

}  // namespace tvllm::cuda::device_api
