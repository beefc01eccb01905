# SPDX-License-Identifier: Apache-2.0
if(TVLLM_SANITIZE)
  add_compile_options(-fsanitize=${TVLLM_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${TVLLM_SANITIZE})
  if(TVLLM_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
# Boost.Asio's fenced block uses atomic_thread_fence, which thread sanitizers do not model.
add_compile_definitions($<$<STREQUAL:${TVLLM_SANITIZE},thread>:BOOST_ASIO_DISABLE_FENCED_BLOCK>)
if(TVLLM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=address,undefined)
endif()
