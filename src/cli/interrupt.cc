// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <csignal>

namespace tvllm::cli {

namespace {
volatile std::sig_atomic_t interrupt_flag = 0;
void set_flag(int) {
  interrupt_flag = 1;
}
}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_flag = 0;
  std::signal(SIGINT, set_flag);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
}

bool InterruptGuard::interrupted() const {
  return interrupt_flag != 0;
}

}  // namespace tvllm::cli
