// SPDX-License-Identifier: Apache-2.0
#include "bench/http/response_reader.h"

#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/strings.h"

namespace tvllm::bench {

namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

// A body that is handed on and not kept.
struct PassingBody {
  using value_type = const ResponseReader::OnBody*;

  class reader {  // NOLINT(readability-identifier-naming): Beast's name
   public:
    template <bool kIsRequest, class Fields>
    reader(http::header<kIsRequest, Fields>&, value_type& on_body) : on_body_(on_body) {}

    void init(const boost::optional<std::uint64_t>&, beast::error_code& ec) { ec = {}; }

    template <class ConstBufferSequence>
    std::size_t put(const ConstBufferSequence& buffers, beast::error_code& ec) {
      ec = {};
      std::size_t num_bytes = 0;
      for (const auto buffer : beast::buffers_range_ref(buffers)) {
        (*on_body_)({static_cast<const char*>(buffer.data()), buffer.size()});
        num_bytes += buffer.size();
      }
      return num_bytes;
    }

    void finish(beast::error_code& ec) { ec = {}; }

   private:
    value_type& on_body_;
  };
};

Error bad_response(const beast::error_code& error) {
  return make_error(ErrorCode::kIo, str_cat("the answer is not valid HTTP: ", error.message()));
}

}  // namespace

struct ResponseReader::Beast {
  using Parser = http::response_parser<PassingBody>;

  void reset(const OnBody& on_body) {
    parser.emplace();
    parser->eager(true);
    parser->body_limit(boost::none);
    parser->get().body() = &on_body;
  }

  std::optional<Parser> parser;
  std::string pending;  // bytes that the parser did not take yet
};

ResponseReader::ResponseReader(OnBody on_body)
    : on_body_(std::move(on_body)), beast_(std::make_unique<Beast>()) {
  beast_->reset(on_body_);
}

ResponseReader::~ResponseReader() = default;

Status ResponseReader::feed(std::string_view bytes) {
  has_begun_ = has_begun_ || !bytes.empty();
  // A parser wants a header at once, so what it leaves is kept until more comes.
  std::string& pending = beast_->pending;
  pending.append(bytes);
  std::size_t num_used = 0;
  while (num_used < pending.size()) {
    if (is_complete()) {
      if (status() / 100 != 1) {
        return make_error(ErrorCode::kIo, "bytes came after the end of the answer");
      }
      beast_->reset(on_body_);  // an interim answer: the real one follows
    }
    beast::error_code error;
    const std::size_t n = beast_->parser->put(
        boost::asio::const_buffer(pending.data() + num_used, pending.size() - num_used), error);
    num_used += n;
    if (error == http::error::need_more) {
      if (n == 0) break;
    } else if (error) {
      return bad_response(error);
    }
  }
  pending.erase(0, num_used);
  return {};
}

Status ResponseReader::end() {
  beast::error_code error;
  // Beast takes an end before the first byte for an empty answer.
  if (has_begun_ && !is_complete()) beast_->parser->put_eof(error);
  if (error || !is_complete()) {
    return make_error(ErrorCode::kIo, has_begun_
                                          ? "the connection ended in the middle of the answer"
                                          : "the connection ended without an answer");
  }
  return {};
}

bool ResponseReader::is_complete() const {
  return beast_->parser->is_done();
}

int ResponseReader::status() const {
  return beast_->parser->is_header_done() ? static_cast<int>(beast_->parser->get().result_int())
                                          : 0;
}

bool ResponseReader::keeps_alive() const {
  return beast_->parser->keep_alive();
}

}  // namespace tvllm::bench
