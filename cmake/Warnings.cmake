# SPDX-License-Identifier: Apache-2.0
# One interface target carries the flags that every unit of the project is compiled with.
add_library(tvllm_flags INTERFACE)
target_compile_options(tvllm_flags INTERFACE
  -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wimplicit-fallthrough
  -Wdouble-promotion
  # Contraction to fused multiply-add is left to kernels that ask for it by name: otherwise the same
  # loop inlined at two places could round differently, and logits would not be bit-identical.
  -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in std::string's operator+ at -O3 (its bug 105651).
  target_compile_options(tvllm_flags INTERFACE -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tvllm_flags INTERFACE -Wthread-safety)
endif()

# Rooms where a silent narrowing is a bug add this one.
add_library(tvllm_strict_flags INTERFACE)
target_link_libraries(tvllm_strict_flags INTERFACE tvllm_flags)
target_compile_options(tvllm_strict_flags INTERFACE -Wconversion)
