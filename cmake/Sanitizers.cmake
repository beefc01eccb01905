# SPDX-License-Identifier: Apache-2.0
# Line numbers are enough for a report; whole debug information would cost a quarter of the build.
if(TVLLM_SANITIZE)
  add_compile_options(-fsanitize=${TVLLM_SANITIZE} -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${TVLLM_SANITIZE})
  if(TVLLM_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
# Boost.Asio's fenced block uses atomic_thread_fence, which thread sanitizers do not model.
if(TVLLM_SANITIZE STREQUAL "thread")
  add_compile_definitions(BOOST_ASIO_DISABLE_FENCED_BLOCK)
endif()
if(TVLLM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
