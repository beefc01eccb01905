// SPDX-License-Identifier: Apache-2.0
// Errors as OpenAI's clients know them: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <string>

#include "base/result.h"
#include "server/http/http_message.h"

namespace tvllm::server {

// The one place where a kind of error becomes an HTTP status.
int http_status(ErrorCode code);

// The JSON body, also the data of an in-band error event.
std::string error_body(const Error& error);

// With Retry-After where trying again helps.
HttpResponse error_response(const Error& error);
// For errors of HTTP itself, which know their status: 405, 408, 431.
HttpResponse error_response(int status, const Error& error);

}  // namespace tvllm::server
