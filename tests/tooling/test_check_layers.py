# SPDX-License-Identifier: Apache-2.0
import contextlib
import unittest

from tree import TreeTest

HEADERS = """base/result.h core/request.h tensor/dtype.h trace/trace_event.h loader/weight_source.h loader/gguf.h
tokenizer/bpe.h chat_template/parser.h output/output_processor.h backend/backend.h backend/cpu/matmul.h
backend/cuda/stream.h sampling/sampler.h kv_cache/block_pool.h kv_cache/block_hash.h scheduler/scheduler.h
model/model.h executor/model_executor.h engine/engine_client.h engine/engine_core.h server/http/router.h
app/assembly.h cli/verbs.h""".split()

ALLOWED = [
    ("kv_cache/block_pool.cc", "base/result.h"),
    ("server/openai/chat.cc", "engine/engine_client.h"),
    ("server/openai/chat.cc", "server/http/router.h"),
    ("server/openai/chat.cc", "output/output_processor.h"),
    ("model/llama.cc", "loader/weight_source.h"),
    ("backend/cpu/attention.cc", "backend/backend.h"),
    ("executor/cpu_executor.cc", "model/model.h"),
    ("engine/engine_core.cc", "trace/trace_event.h"),
    ("app/assembly.cc", "backend/cpu/matmul.h"),
    ("cli/serve.cc", "app/assembly.h"),
]

FORBIDDEN = [
    ("kv_cache/block_pool.cc", "server/http/router.h", "kv_cache may not include server"),
    ("kv_cache/block_pool.cc", "tensor/dtype.h", "kv_cache may not include tensor"),
    ("scheduler/scheduler.cc", "engine/engine_core.h", "scheduler may not include engine"),
    ("server/openai/chat.cc", "engine/engine_core.h",
     "server may not include engine (but engine/engine_client.h)"),
    ("model/llama.cc", "loader/gguf.h", "model may not include loader (but loader/weight_source.h)"),
    ("model/llama.cc", "backend/cpu/matmul.h", "model may not include backend/cpu"),
    ("backend/backend.cc", "backend/cpu/matmul.h", "backend may not include backend/cpu"),
    ("backend/cpu/matmul.cc", "backend/cuda/stream.h", "backend/cpu may not include backend/cuda"),
    ("tokenizer/bpe.cc", "loader/gguf.h", "tokenizer may not include loader"),
    ("tokenizer/bpe.cc", "trace/trace_event.h", "tokenizer may not include trace"),
    ("base/log.cc", "core/request.h", "base may not include core"),
    ("app/assembly.cc", "cli/verbs.h", "app may not include cli"),
    ("app/assembly.cc", "server/http/router.h", "app may not include server"),
    ("server/openai/chat.cc", "app/assembly.h", "server may not include app"),
    ("newroom/thing.cc", "base/result.h", "room newroom has no row in the table of tools/check_layers.py"),
]

LIBRARIES = [
    ("server/http/listener.h", "boost/asio.hpp", None),
    ("server/openai/handlers.cc", "boost/asio/post.hpp", None),
    ("server/openai/handlers.h", "boost/asio/post.hpp", "Boost.Asio and Beast"),
    ("server/openai/schemas.cc", "boost/json.hpp", None),
    ("server/openai/schemas.h", "boost/json.hpp", "Boost.JSON"),
    ("engine/engine_core.cc", "boost/json.hpp", "Boost.JSON"),
    ("kv_cache/block_hash.cc", "openssl/evp.h", None),
    ("kv_cache/block_pool.cc", "openssl/evp.h", "OpenSSL"),
    ("base/log.cc", "spdlog/spdlog.h", None),
    ("core/request.cc", "fmt/format.h", "spdlog and fmt"),
    ("cli/options.cc", "CLI/CLI.hpp", None),
    ("app/assembly.cc", "CLI/CLI.hpp", "CLI11"),
    ("backend/cuda/stream.cc", "cuda_runtime.h", None),
    ("executor/executor.cc", "cuda_runtime.h", "CUDA"),
    ("executor/executor.cc", "cub/cub.cuh", "CUDA"),
    ("backend/cpu/matmul.cc", "immintrin.h", None),
    ("sampling/sampler.cc", "immintrin.h", "intrinsics"),
    ("engine/thing.h", "iostream", "<regex> and <iostream>"),
    ("tokenizer/split.cc", "regex", "<regex> and <iostream>"),
    ("engine/thing.cc", "sys/socket.h", "sockets"),
]


class CheckLayersTest(TreeTest):
    check = "check_layers.py"

    def setUp(self):
        super().setUp()
        for header in HEADERS:
            self.write(f"src/{header}", "#pragma once\n")

    @contextlib.contextmanager
    def include(self, name, included):
        """A file src/`name` whose line 4 includes `included`, after the own header where there is one."""
        own = name.removesuffix(".cc") + ".h"
        first = f'#include "{own}"' if own in HEADERS else "// no own header"
        text = f'// licence\n{first}\n// #include "cli/verbs.h"\n#include {included}\n'
        source = self.write(f"src/{name}", text)
        try:
            yield
        finally:
            source.unlink()

    def test_a_tree_that_keeps_to_the_table_passes(self):
        for name, included in ALLOWED:
            with self.subTest(name=name, included=included), self.include(name, f'"{included}"'):
                self.assert_clean()

    def test_an_include_against_the_table_is_named_with_its_line(self):
        for name, included, sentence in FORBIDDEN:
            with self.subTest(name=name, included=included), self.include(name, f'"{included}"'):
                self.assert_problems(f"src/{name}:4: {sentence}")

    def test_a_library_is_included_behind_its_door_alone(self):
        for name, included, library in LIBRARIES:
            with self.subTest(name=name, included=included), self.include(name, f"<{included}>"):
                if library is None:
                    self.assert_clean()
                else:
                    self.assert_problems(f"src/{name}:4: {library} may not be included here (<{included}>)")

    def test_tests_include_any_library_but_cuda(self):
        self.write("tests/unit/x_test.cc", "#include <boost/json.hpp>\n")
        self.assert_clean()
        self.write("tests/unit/y_test.cc", "#include <cuda_runtime.h>\n")
        self.assert_problems("tests/unit/y_test.cc:1: CUDA may not be included here (<cuda_runtime.h>)")

    def test_includes_are_written_from_src(self):
        self.write("src/kv_cache/a.cc", '#include "../base/result.h"\n')
        self.write("src/kv_cache/b.cc", '#include "block_pool.h"\n')
        self.assert_problems('src/kv_cache/a.cc:1: write "../base/result.h" from src/, without ../',
                             'src/kv_cache/b.cc:1: "block_pool.h" is no header under src/')

    def test_the_own_header_comes_first(self):
        self.write("src/kv_cache/block_pool.cc", '#include <vector>\n\n#include "kv_cache/block_pool.h"\n')
        self.assert_problems('src/kv_cache/block_pool.cc:1: own header "kv_cache/block_pool.h" comes first')

    def test_only_the_outer_rooms_print(self):
        code = ('#include <cstdio>\n/* std::cout << 1;\n printf("x") */\nvoid f() { std::fprintf(stderr, "printf("); }\n'
                'void g() { std::printf("x"); }\nvoid h() { std::cout << 1; }\n')
        self.write("src/cli/out.cc", code)
        self.write("examples/matmul/out.cc", code)
        self.write("src/engine/out.cc", code)
        sentence = "only cli, app, examples, tools and bench print; log with base/log.h"
        self.assert_problems(f"src/engine/out.cc:5: {sentence}", f"src/engine/out.cc:6: {sentence}")

    def test_examples_keep_to_their_rooms_and_tests_do_not(self):
        self.write("examples/mnist/net.cc", '#include "base/result.h"\n#include "engine/engine_core.h"\n')
        self.write("tests/unit/engine/x_test.cc", '#include "engine/engine_core.h"\n#include "tests/support/s.h"\n')
        self.write("tests/support/s.h")
        self.assert_problems("examples/mnist/net.cc:2: examples may not include engine")

    def test_cmake_deps_keep_to_the_table(self):
        self.write("src/kv_cache/CMakeLists.txt", "tvllm_room(kv_cache STRICT\n  HEADERS block_pool.h\n"
                   "  DEPS core\n    server)\n")
        self.write("src/model/CMakeLists.txt", "tvllm_room(model HEADERS model.h DEPS loader backend LIBS fmt)\n")
        self.write("src/backend/cpu/CMakeLists.txt", "tvllm_room(backend_cpu HEADERS matmul.h DEPS backend)\n")
        self.assert_problems(
            "src/kv_cache/CMakeLists.txt:4: kv_cache may not include server, so its DEPS may not name it")

    def test_cmake_deps_reach_what_is_included(self):
        self.write("src/base/CMakeLists.txt", "tvllm_room(base HEADERS result.h)\n")
        self.write("src/core/CMakeLists.txt", "tvllm_room(core HEADERS request.h DEPS base)\n")
        self.write("src/kv_cache/CMakeLists.txt", "tvllm_room(kv_cache HEADERS block_pool.h)\n")
        with self.include("kv_cache/block_pool.cc", '"core/request.h"'):
            self.assert_problems(
                "src/kv_cache/block_pool.cc:4: kv_cache includes core, which its DEPS do not reach")
        self.write("src/kv_cache/CMakeLists.txt", "tvllm_room(kv_cache HEADERS block_pool.h DEPS core)\n")
        with self.include("kv_cache/block_pool.cc", '"base/result.h"'):
            self.assert_clean()
        # An interface that is granted alone needs no link.
        self.write("src/engine/CMakeLists.txt", "tvllm_room(engine HEADERS engine_client.h)\n")
        self.write("src/server/CMakeLists.txt", "tvllm_room(server HEADERS http/router.h)\n")
        with self.include("server/chat.cc", '"engine/engine_client.h"'):
            self.assert_clean()


if __name__ == "__main__":
    unittest.main()
