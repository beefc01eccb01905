# SPDX-License-Identifier: Apache-2.0
# Kernels (.cu) are compiled twice: by g++ for the emulation (src/backend/cuda/emulation), always, and by
# nvcc where it is found. TVLLM_CUDA says whether it is; nothing else needs CUDA.
#
#   tvllm_emulated_kernels(target a.cu ...)   adds them to a target that links backend_cuda_emulated
#   tvllm_cuda_kernels(name a.cu ...)         a static library tvllm_NAME, only where TVLLM_CUDA is on
include(CheckLanguage)

# CMake 3.25 would try an architecture that CUDA 13 does not know any more.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real)
endif()
if(NOT DEFINED TVLLM_CUDA)
  find_program(TVLLM_NVCC nvcc PATHS /usr/local/cuda/bin)
  set(found OFF)
  # A sanitizer build checks host code and the emulation.
  if(TVLLM_NVCC AND NOT TVLLM_SANITIZE AND NOT TVLLM_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(found ON)
  endif()
  set(TVLLM_CUDA ${found} CACHE BOOL "Compile kernels with nvcc, too")
endif()
if(TVLLM_CUDA)
  set(CMAKE_CUDA_COMPILER ${TVLLM_NVCC})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(TVLLM_CCACHE)
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${TVLLM_CCACHE})
  endif()
endif()

# Every load and store of a kernel calls a hook (src/backend/cuda/emulation/access.cc). Passes that would
# merge accesses are off, so that the hooks see those that are written. Optimized in every build: tests
# run whole models. clang has no such hooks for thread-local variables and builds without them.
set(TVLLM_EMULATION_FLAGS -O2 -fno-sanitize=all -fno-tree-vectorize -fno-store-merging -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TVLLM_EMULATION_FLAGS -fsanitize=kernel-address)
endif()

function(tvllm_emulated_kernels target)
  foreach(source IN LISTS ARGN)
    set(wrapper ${CMAKE_CURRENT_BINARY_DIR}/emulated/${source}.cc)
    file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${source}\"\n")
    set_source_files_properties(${wrapper} PROPERTIES COMPILE_OPTIONS "${TVLLM_EMULATION_FLAGS}")
    target_sources(${target} PRIVATE ${wrapper})
  endforeach()
endfunction()

function(tvllm_cuda_kernels name)
  if(NOT TVLLM_CUDA)
    return()
  endif()
  add_library(tvllm_${name} STATIC ${ARGN})
  target_include_directories(tvllm_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_link_libraries(tvllm_${name} PUBLIC tvllm_backend_cuda)
  target_compile_options(tvllm_${name} PRIVATE
    --expt-relaxed-constexpr -Werror=all-warnings -lineinfo
    -Xcompiler=-Wall,-Wextra,-Wshadow,-Wno-unused-parameter)
endfunction()
