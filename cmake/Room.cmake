# SPDX-License-Identifier: Apache-2.0
# tvllm_room(name [STRICT] HEADERS ... SOURCES ... [DEPS rooms ...] [LIBS libraries ...])
# One static library a room. HEADERS are checked to compile alone (target
# all_verify_interface_header_sets). DEPS are rooms; LIBS are outside libraries, linked privately so
# that they stay behind the room's door. STRICT adds -Wconversion.
function(tvllm_room name)
  cmake_parse_arguments(PARSE_ARGV 1 A "STRICT" "" "HEADERS;SOURCES;DEPS;LIBS")
  add_library(tvllm_${name} STATIC)
  target_sources(tvllm_${name} PRIVATE ${A_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${A_HEADERS})
  if(NOT A_SOURCES)
    set_target_properties(tvllm_${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  set_target_properties(tvllm_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM A_DEPS PREPEND tvllm_)
  if(A_STRICT)
    set(flags tvllm_strict_flags)
  else()
    set(flags tvllm_flags)
  endif()
  target_link_libraries(tvllm_${name} PUBLIC ${A_DEPS} PRIVATE ${flags} ${A_LIBS})
endfunction()

# tvllm_test(name SOURCES ... DEPS rooms ... [LABELS ...])
# One gtest binary, its tests found when ctest runs.
function(tvllm_test name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;DEPS;LIBS;LABELS")
  add_executable(${name} ${A_SOURCES})
  list(TRANSFORM A_DEPS PREPEND tvllm_)
  target_link_libraries(${name} PRIVATE ${A_DEPS} ${A_LIBS} tvllm_flags GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    TVLLM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" TVLLM_MODELS="${PROJECT_SOURCE_DIR}/models")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${A_LABELS}" TIMEOUT 300)
endfunction()

# tvllm_fuzz(name SOURCES ... DEPS ...): a libFuzzer target, built with the preset 'fuzz' alone.
function(tvllm_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;DEPS")
  add_executable(${name} ${A_SOURCES})
  list(TRANSFORM A_DEPS PREPEND tvllm_)
  target_link_libraries(${name} PRIVATE ${A_DEPS} tvllm_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
endfunction()
