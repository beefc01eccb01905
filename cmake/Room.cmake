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

# tvllm_test(name SOURCES ... [DEPS rooms ...] [LIBS libraries ...] [LABELS ...])
# One gtest binary, its tests found when ctest runs. `ctest -L LABEL` chooses by label, and the target
# tests_LABEL builds the binaries of one label, so that a sanitizer build compiles what it runs.
#   unit, sim, parity, ...  the folder under tests/, given by itself
#   tsan                    also runs under the thread sanitizer; given by itself in TVLLM_TSAN_ROOMS
#   model                   needs models/ (skips without) and is too slow for a sanitizer
#   asan                    also runs under the address sanitizer: everything that is not `model`
set(TVLLM_TSAN_ROOMS base engine server)

function(tvllm_test name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;DEPS;LIBS;LABELS")
  add_executable(${name} ${A_SOURCES})
  list(TRANSFORM A_DEPS PREPEND tvllm_)
  target_link_libraries(${name} PRIVATE ${A_DEPS} ${A_LIBS} tvllm_flags GTest::gtest_main GTest::gmock)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE
    TVLLM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data" TVLLM_MODELS="${PROJECT_SOURCE_DIR}/models")

  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR}/tests ${CMAKE_CURRENT_SOURCE_DIR})
  string(REGEX MATCHALL "[^/]+" folders "${folder}")
  list(GET folders 0 kind)
  set(labels ${kind} ${A_LABELS})
  if(folders MATCHES "^unit;([a-z_]+)" AND CMAKE_MATCH_1 IN_LIST TVLLM_TSAN_ROOMS)
    list(APPEND labels tsan)
  endif()
  if(NOT "model" IN_LIST labels)
    list(APPEND labels asan)
  endif()
  list(REMOVE_DUPLICATES labels)
  foreach(label IN LISTS labels)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${name})
  endforeach()

  # The prefix names the binary to run by hand, and keeps names unique: ctest gives properties by name,
  # over all binaries.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${name}.
    NO_PRETTY_VALUES PROPERTIES TIMEOUT 300)
  # A list does not survive gtest_discover_tests(PROPERTIES LABELS a b), whatever the escaping: it
  # falls apart into label "a" and property "b". So labels are set after the discovery.
  set(label_file ${CMAKE_CURRENT_BINARY_DIR}/${name}_labels.cmake)
  file(WRITE ${label_file}
    "if(${name}_TESTS)\n  set_tests_properties(\${${name}_TESTS} PROPERTIES LABELS \"${labels}\")\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${label_file})
endfunction()

# tvllm_fuzz(x_fuzz SOURCES ... [DEPS rooms ...] [LIBS libraries ...]): a libFuzzer target, built with
# the preset 'fuzz' alone; the target `fuzzers` builds them all.
function(tvllm_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "" "SOURCES;DEPS;LIBS")
  add_executable(${name} ${A_SOURCES})
  list(TRANSFORM A_DEPS PREPEND tvllm_)
  target_link_libraries(${name} PRIVATE ${A_DEPS} ${A_LIBS} tvllm_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
  add_dependencies(fuzzers ${name})
endfunction()
