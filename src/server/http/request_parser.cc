// SPDX-License-Identifier: Apache-2.0
#include "server/http/request_parser.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/strings.h"

namespace tvllm::server {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

// A string that grows as bytes come. Beast's own string_body reserves what Content-Length
// announces.
struct GrowingBody {
  using value_type = std::string;

  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool kIsRequest, class Fields>
    reader(http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<std::uint64_t>&, beast::error_code& ec) { ec = {}; }

    template <class ConstBufferSequence>
    std::size_t put(const ConstBufferSequence& buffers, beast::error_code& ec) {
      ec = {};
      std::size_t num_bytes = 0;
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        num_bytes += buffer.size();
      }
      return num_bytes;
    }

    void finish(beast::error_code& ec) { ec = {}; }

   private:
    value_type& body_;
  };
};

using Parser = http::request_parser<GrowingBody>;

std::string as_string(beast::string_view text) {
  return std::string(text.data(), text.size());
}

}  // namespace

struct RequestParser::Beast {
  std::optional<Parser> parser;
};

RequestParser::RequestParser(const HttpLimits& limits, std::shared_ptr<ByteBudget> budget)
    : limits_(limits), budget_(std::move(budget)), beast_(std::make_unique<Beast>()) {
  reset();
}

RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  Parser& parser = beast_->parser.emplace();
  parser.eager(true);
  parser.header_limit(static_cast<std::uint32_t>(limits_.max_header_bytes));
  parser.body_limit(limits_.max_body_bytes);
  hold_ = ByteHold(budget_);
  header_checked_ = false;
  expects_continue_ = false;
}

RequestParser::State RequestParser::refuse(int status, ErrorCode code, std::string message) {
  refusal_ = {status, make_error(code, std::move(message))};
  return State::kRefused;
}

RequestParser::State RequestParser::feed(std::string& input) {
  Parser& parser = *beast_->parser;
  std::size_t num_used = 0;
  beast::error_code error;
  while (num_used < input.size() && !parser.is_done()) {
    const std::size_t n = parser.put(
        boost::asio::const_buffer(input.data() + num_used, input.size() - num_used), error);
    num_used += n;
    if (error == http::error::need_more) {
      error = {};
      if (n == 0) break;
    }
    if (error) break;
  }
  input.erase(0, num_used);

  if (error == http::error::header_limit) {
    return refuse(
        431, ErrorCode::kTooLarge,
        str_cat("The request's header is larger than ", limits_.max_header_bytes, " bytes"));
  }
  if (error == http::error::body_limit) {
    return refuse(413, ErrorCode::kTooLarge,
                  str_cat("The request's body is larger than ", limits_.max_body_bytes, " bytes"));
  }
  if (error == http::error::bad_version) {
    return refuse(505, ErrorCode::kInvalidArgument, "Only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  if (error) {
    return refuse(400, ErrorCode::kInvalidArgument,
                  str_cat("The request is not valid HTTP: ", error.message()));
  }
  if (parser.is_header_done() && !header_checked_) {
    if (check_header() == State::kRefused) return State::kRefused;
  }
  if (!hold_.grow_to(parser.get().body().size())) {
    return refuse(503, ErrorCode::kResourceExhausted,
                  "The server holds too many request bodies; try again");
  }
  return parser.is_done() ? State::kComplete : State::kNeedsMore;
}

RequestParser::State RequestParser::check_header() {
  header_checked_ = true;
  const auto& message = beast_->parser->get();
  const auto num_headers = static_cast<std::size_t>(std::distance(message.begin(), message.end()));
  if (num_headers > limits_.max_headers) {
    return refuse(
        431, ErrorCode::kTooLarge,
        str_cat("The request has ", num_headers, " headers, more than ", limits_.max_headers));
  }
  if (message.version() != 10 && message.version() != 11) {
    return refuse(505, ErrorCode::kInvalidArgument, "Only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  // A body whose end is in doubt would be read as the next request.
  if (message.find(http::field::transfer_encoding) != message.end()) {
    if (message.version() == 10) {
      return refuse(400, ErrorCode::kInvalidArgument, "HTTP/1.0 has no Transfer-Encoding");
    }
    if (message.count(http::field::transfer_encoding) != 1 ||
        !beast::iequals(message[http::field::transfer_encoding], "chunked")) {
      return refuse(501, ErrorCode::kInvalidArgument,
                    "The only Transfer-Encoding understood here is chunked");
    }
  }
  const std::size_t num_hosts = message.count(http::field::host);
  if (num_hosts > 1 || (num_hosts == 0 && message.version() == 11)) {
    return refuse(400, ErrorCode::kInvalidArgument,
                  str_cat("An HTTP/1.1 request has one Host header, not ", num_hosts));
  }
  expects_continue_ =
      beast::iequals(message[http::field::expect], "100-continue") && message.version() == 11;
  return State::kNeedsMore;
}

bool RequestParser::has_header() const {
  return header_checked_;
}

std::size_t RequestParser::num_body_bytes() const {
  return beast_->parser->get().body().size();
}

bool RequestParser::take_expectation() {
  return std::exchange(expects_continue_, false);
}

bool RequestParser::keep_alive() const {
  return beast_->parser->keep_alive();
}

HttpRequest RequestParser::take() {
  auto message = beast_->parser->release();
  HttpRequest request;
  request.method = as_string(message.method_string());
  request.target = as_string(message.target());
  request.path = std::string(path_of_target(request.target));
  request.is_http_1_0 = message.version() == 10;
  for (const auto& field : message) {
    request.headers.emplace_back(to_lower_ascii(as_string(field.name_string())),
                                 as_string(field.value()));
  }
  request.body = std::move(message.body());
  request.body_hold = std::move(hold_);
  reset();
  return request;
}

}  // namespace tvllm::server
