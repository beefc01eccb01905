// SPDX-License-Identifier: Apache-2.0
// The values of a template's run: Python's, as far as JSON and Jinja reach.
//
// The server builds messages and tools from these, saying of each string whether the request wrote
// it (`input_string`) or the model's files did (`string`). Containers are immutable and shared, so
// a copy is cheap; they are safe to read from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "chat_template/text.h"

namespace tvllm::chat_template {

class Dict;
struct Object;
struct Sequence;

enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kSequence, kDict, kObject };

class Value {
 public:
  Value() = default;  // undefined
  static Value none() { return Value(std::monostate()); }
  static Value boolean(bool value) { return Value(value); }
  static Value integer(std::int64_t value) { return Value(value); }
  static Value real(double value) { return Value(value); }
  static Value string(std::string own);            // trusted: may hold control tokens
  static Value input_string(std::string written);  // a user's: may not
  static Value text(Text value);
  static Value list(std::vector<Value> items);
  // A key given twice keeps its first place and its last value, as in Python and JSON.
  static Value dict(std::vector<std::pair<Text, Value>> members);

  // Inside the room: what a run makes.
  static Value undefined(std::string reason);  // the sentence of the error that using it gives
  static Value sequence(std::shared_ptr<const Sequence> items);
  static Value dict(std::shared_ptr<const Dict> members);
  static Value object(Object* object) { return Value(object); }

  Kind kind() const { return static_cast<Kind>(storage_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_number() const { return is(Kind::kBool) || is(Kind::kInt) || is(Kind::kFloat); }

  // Each REQUIRES the kind of its name.
  bool as_bool() const { return *std::get_if<bool>(&storage_); }
  std::int64_t as_int() const { return *std::get_if<std::int64_t>(&storage_); }
  double as_float() const { return *std::get_if<double>(&storage_); }
  const Text& as_text() const { return **std::get_if<TextPtr>(&storage_); }
  const Sequence& as_sequence() const { return **std::get_if<SequencePtr>(&storage_); }
  const std::shared_ptr<const Sequence>& sequence_ptr() const {
    return *std::get_if<SequencePtr>(&storage_);
  }
  const Dict& as_dict() const { return **std::get_if<DictPtr>(&storage_); }
  Object& as_object() const { return **std::get_if<Object*>(&storage_); }
  const std::string& undefined_reason() const;

  // The same shared thing, or equal and small: Python's `is`.
  bool is_same(const Value& other) const;
  // Containers around containers: 0 for a scalar.
  int depth() const;
  // Python's name of the type, for error sentences: "str", "dict object".
  std::string_view type_name() const;

 private:
  using ReasonPtr = std::shared_ptr<const std::string>;
  using TextPtr = std::shared_ptr<const Text>;
  using SequencePtr = std::shared_ptr<const Sequence>;
  using DictPtr = std::shared_ptr<const Dict>;
  // In the order of Kind.
  using Storage = std::variant<ReasonPtr, std::monostate, bool, std::int64_t, double, TextPtr,
                               SequencePtr, DictPtr, Object*>;

  // One of Storage's alternatives, built in its place.
  template <typename T>
  explicit Value(T content) : storage_(std::in_place_type<T>, std::move(content)) {}

  Storage storage_;
};

// Which of Python's sequences this is: they print, compare and index differently.
enum class SequenceType { kList, kTuple, kRange, kDictKeys, kDictValues, kDictItems };

struct Sequence {
  Sequence(SequenceType sequence_type, std::vector<Value> sequence_items);

  SequenceType type;
  std::vector<Value> items;
  std::array<std::int64_t, 3> range = {0, 0, 1};  // of a kRange: start, stop, step
  int depth = 1;
  std::uint64_t weight = 1;  // values inside, through all sequences, shared ones counted again
};

struct Member {
  Value key;
  Value value;
};

// Members in order of insertion, found by key in logarithmic time whatever the keys are.
class Dict {
 public:
  // REQUIRES: is_hashable(key) of each
  explicit Dict(std::vector<Member> members);

  const std::vector<Member>& members() const { return members_; }
  // nullptr if there is none. REQUIRES: is_hashable(key)
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  int depth() const { return depth_; }

 private:
  std::vector<Member> members_;
  std::vector<std::uint32_t> by_key_;  // indices of members_, sorted by compare_keys
  int depth_ = 1;
};

// Whether it can be a key: anything but lists, dicts, views and tuples of more than kMaxKeyWeight.
inline constexpr std::uint64_t kMaxKeyWeight = 256;
bool is_hashable(const Value& value);

// A total order of hashable values in which 1, 1.0 and true are the same: negative, 0 or positive.
int compare_keys(const Value& a, const Value& b);

// -1, 0 or 1, exactly, whatever mixture of bool, int and float. NaN is above all else.
int compare_numbers(const Value& a, const Value& b);

}  // namespace tvllm::chat_template
