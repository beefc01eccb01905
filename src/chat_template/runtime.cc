// SPDX-License-Identifier: Apache-2.0
#include "chat_template/runtime.h"

#include <algorithm>

#include "base/strings.h"

namespace tvllm::chat_template {

namespace {

Error too_deep() {
  return make_error(ErrorCode::kTooLarge,
                    str_cat("lists and dicts are nested more than ", kMaxValueDepth, " deep"));
}

Error not_a_key(const Value& key) {
  if (key.is(Kind::kSequence) && key.as_sequence().type == SequenceType::kTuple) {
    return invalid_argument("a tuple that long or with a list inside cannot be a key of a dict");
  }
  return invalid_argument(str_cat("a ", key.type_name(), " cannot be a key of a dict"));
}

}  // namespace

std::string_view Object::type_name() const {
  constexpr std::string_view kNames[] = {"Namespace", "Macro",    "LoopContext", "generator",
                                         "method",    "function", "Cycler",      "Joiner"};
  return kNames[static_cast<std::size_t>(type)];
}

Value* Namespace::find(std::string_view name) {
  for (auto& attribute : attributes) {
    if (attribute.first.bytes() == name) return &attribute.second;
  }
  return nullptr;
}

void Namespace::set(const Text& name, Value value) {
  if (Value* old = find(name.bytes())) {
    *old = std::move(value);
  } else {
    attributes.emplace_back(name, std::move(value));
  }
}

const Value* Scope::find(NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto variable = scope->variables_.find(name);
    if (variable != scope->variables_.end()) return &variable->second;
  }
  return nullptr;
}

void Scope::set(NameId name, Value value) {
  variables_.insert_or_assign(name, std::move(value));
}

void Scope::keep() {
  for (Scope* scope = this; scope != nullptr && !scope->is_kept_; scope = scope->parent_) {
    scope->is_kept_ = true;
  }
}

void Scope::reset(Scope* parent) {
  parent_ = parent;
  variables_.clear();
}

Result<Value> Runtime::make_generator(std::vector<Value> items) {
  TVLLM_TRY(const Value list, make_list(std::move(items)));
  auto& generator = make<Generator>();
  generator.items = list.sequence_ptr();
  return Value::object(&generator);
}

Result<Value> Runtime::make_sequence(SequenceType type, std::vector<Value> items) {
  TVLLM_RETURN_IF_ERROR(budget_.spend_items(items.size()));
  auto sequence = std::make_shared<const Sequence>(type, std::move(items));
  if (sequence->depth > kMaxValueDepth) return too_deep();
  return Value::sequence(std::move(sequence));
}

Result<Value> Runtime::make_dict(std::vector<Member> members) {
  TVLLM_RETURN_IF_ERROR(budget_.spend(members.size()));
  for (const Member& member : members) {
    if (!is_hashable(member.key)) return not_a_key(member.key);
    if (member.key.is(Kind::kString)) {
      TVLLM_RETURN_IF_ERROR(budget_.spend_bytes(member.key.as_text().size()));
    }
  }
  auto dict = std::make_shared<const Dict>(std::move(members));
  if (dict->depth() > kMaxValueDepth) return too_deep();
  return Value::dict(std::move(dict));
}

Result<const Value*> Runtime::look_up(const Dict& dict, const Value& key) {
  if (!is_hashable(key)) return not_a_key(key);
  TVLLM_RETURN_IF_ERROR(budget_.spend_bytes(key.is(Kind::kString) ? key.as_text().size() : 0));
  return dict.find(key);
}

Scope& Runtime::push_scope(Scope* parent) {
  if (!free_scopes_.empty()) {
    Scope* scope = free_scopes_.back();
    free_scopes_.pop_back();
    scope->reset(parent);
    return *scope;
  }
  scopes_.push_back(std::make_unique<Scope>(parent));
  return *scopes_.back();
}

void Runtime::pop_scope(Scope& scope) {
  if (scope.is_kept()) return;
  scope.clear();
  free_scopes_.push_back(&scope);
}

Status Runtime::Nested::check() const {
  const int limit = runtime_->budget_.limits().max_depth;
  if (runtime_->depth_ <= limit) return {};
  return make_error(ErrorCode::kTooLarge,
                    str_cat("evaluation is nested more than ", limit, " levels deep"));
}

}  // namespace tvllm::chat_template
