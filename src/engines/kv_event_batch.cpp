#include "engines/kv_event_batch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "engines/message_pack.hpp"

namespace evenkeel::engines {

namespace {

using affinity::BlockName;
using affinity::KvEventBatch;
using Type = MessagePackReader::Type;
using Value = MessagePackReader::Value;

enum class Kind : std::uint8_t { stored, removed, cleared, unknown };

Kind kind_of(std::string_view name) {
  if (name == "BlockStored") return Kind::stored;
  if (name == "BlockRemoved") return Kind::removed;
  if (name == "AllBlocksCleared") return Kind::cleared;
  return Kind::unknown;
}

/// Of an event given as a list, in order of their birth; what comes behind the last is passed over.
constexpr std::array<std::string_view, 11> stored_fields = {"block_hashes",
                                                            "parent_block_hash",
                                                            "token_ids",
                                                            "block_size",
                                                            "lora_id",
                                                            "medium",
                                                            "lora_name",
                                                            "extra_keys",
                                                            "group_idx",
                                                            "kv_cache_spec_kind",
                                                            "kv_cache_spec_sliding_window"};
constexpr std::array<std::string_view, 3> removed_fields = {"block_hashes", "medium", "group_idx"};

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = mix64(bytes.size());
  for (const char byte : bytes) hash = mix64(hash ^ static_cast<unsigned char>(byte));
  return hash | 1U;
}

/// Everything that an event of any kind may say.
struct Fields {
  std::vector<BlockName> blocks;
  bool has_blocks = false;
  std::optional<BlockName> parent;
  std::vector<std::uint32_t> tokens;
  std::uint64_t block_size = 0;
  std::uint64_t adapter = 0;
  std::uint64_t extra = 0;
  std::optional<std::uint32_t> group;
  bool windowed = false;
  bool elsewhere = false;
};

class BatchReader {
 public:
  explicit BatchReader(std::string_view payload) : in_(payload) {}

  Result<KvEventBatch> read() {
    KvEventBatch batch;
    const auto whole = expect(Type::list, "the batch");
    if (!whole) return tl::unexpected(whole.error());
    if (whole->items < 2) return failure(fmt::format("the batch has {} items; wanted: time and events", whole->items));
    const auto time = in_.next();
    if (!time) return tl::unexpected(time.error());
    if (time->type != Type::number && time->type != Type::integer) return wrong("the time", *time, "a number");
    const auto events = expect(Type::list, "the events");
    if (!events) return tl::unexpected(events.error());
    for (std::size_t i = 0; i < events->items; ++i) {
      if (auto done = read_event(batch); !done) return tl::unexpected(done.error());
    }
    if (whole->items > 2) {
      const auto rank = in_.next();
      if (!rank) return tl::unexpected(rank.error());
      if (rank->is_unsigned() && rank->bits <= std::numeric_limits<std::uint32_t>::max()) {
        batch.rank = static_cast<std::uint32_t>(rank->bits);
      } else if (rank->type != Type::nil) {
        return wrong("the rank", *rank, "a whole number or nil");
      }
    }
    for (std::size_t i = 3; i < whole->items; ++i) {
      if (auto done = pass_over(); !done) return tl::unexpected(done.error());
    }
    if (!in_.at_end()) return failure(fmt::format("{} bytes follow the batch", in_.left().size()));
    return batch;
  }

 private:
  static tl::unexpected<Error> wrong(std::string_view what, const Value& found, std::string_view wanted) {
    return failure(fmt::format("{} is {}; wanted: {}", what, name_of(found.type), wanted));
  }

  Result<Value> expect(Type type, std::string_view what) {
    auto value = in_.next();
    if (value && value->type != type) return wrong(what, *value, name_of(type));
    return value;
  }

  Result<void> pass_over() {
    const auto value = in_.next();
    if (!value) return tl::unexpected(value.error());
    return in_.skip_inside(*value);
  }

  Result<void> read_event(KvEventBatch& batch) {
    const auto event = in_.next();
    if (!event) return tl::unexpected(event.error());
    Fields fields;
    Result<Kind> kind = Kind::unknown;
    if (event->type == Type::list) {
      kind = read_list(event->items, fields);
    } else if (event->type == Type::map) {
      kind = read_map(event->items, fields);
    } else {
      return wrong("an event", *event, "a list or a map");
    }
    if (!kind) return tl::unexpected(kind.error());
    return add(batch, *kind, std::move(fields));
  }

  /// ["BlockStored", field, ...]
  Result<Kind> read_list(std::size_t items, Fields& fields) {
    if (items == 0) return failure("an event is an empty list; wanted: its type first");
    const auto type = expect(Type::text, "the type of an event");
    if (!type) return tl::unexpected(type.error());
    const Kind kind = kind_of(type->text);
    std::span<const std::string_view> names;
    if (kind == Kind::stored) names = stored_fields;
    if (kind == Kind::removed) names = removed_fields;
    for (std::size_t i = 0; i + 1 < items; ++i) {
      const auto done = i < names.size() ? read_field(names[i], fields) : pass_over();
      if (!done) return tl::unexpected(done.error());
    }
    return kind;
  }

  /// {"type": "BlockStored", field: value, ...}, in any order.
  Result<Kind> read_map(std::size_t pairs, Fields& fields) {
    std::optional<Kind> kind;
    for (std::size_t i = 0; i < pairs; ++i) {
      const auto key = expect(Type::text, "a key of an event");
      if (!key) return tl::unexpected(key.error());
      if (key->text == "type") {
        const auto type = expect(Type::text, "the type of an event");
        if (!type) return tl::unexpected(type.error());
        kind = kind_of(type->text);
        continue;
      }
      // Fields of events that are not known may be anything. Their type comes first, as engines write it.
      const bool known = kind.value_or(Kind::stored) != Kind::unknown;
      if (auto done = known ? read_field(key->text, fields) : pass_over(); !done) return tl::unexpected(done.error());
    }
    if (!kind) return failure("an event has no type; wanted: the key \"type\"");
    return *kind;
  }

  Result<void> read_field(std::string_view name, Fields& fields) {
    if (name == "block_hashes") return read_blocks(fields);
    if (name == "token_ids") return read_tokens(fields);
    if (name == "extra_keys") return read_extra(fields);
    const auto value = in_.next();
    if (!value) return tl::unexpected(value.error());
    const bool nil = value->type == Type::nil;
    if (name == "parent_block_hash") {
      if (nil) return {};
      const auto parent = name_from(*value, name);
      if (!parent) return tl::unexpected(parent.error());
      fields.parent = *parent;
    } else if (name == "block_size") {
      if (!value->is_unsigned()) return wrong(name, *value, "a whole number");
      fields.block_size = value->bits;
    } else if (name == "medium") {
      if (!nil && value->type != Type::text) return wrong(name, *value, "a text or nil");
      fields.elsewhere = !nil && value->text != "GPU";
    } else if (name == "lora_name" || name == "lora_id") {
      if (!nil && value->type != Type::text && value->type != Type::integer) return wrong(name, *value, "a name");
      // The name is the better one of the two, and comes later in lists.
      if (value->type == Type::text) fields.adapter = hash_of(value->text);
      if (value->type == Type::integer && fields.adapter == 0) fields.adapter = mix64(value->bits) | 1U;
    } else if (name == "group_idx") {
      if (!nil && (!value->is_unsigned() || value->bits > std::numeric_limits<std::uint32_t>::max())) {
        return wrong(name, *value, "a whole number or nil");
      }
      if (!nil) fields.group = static_cast<std::uint32_t>(value->bits);
    } else {
      if (name == "kv_cache_spec_sliding_window") fields.windowed = !nil;
      return in_.skip_inside(*value);
    }
    return {};
  }

  static Result<BlockName> name_from(const Value& value, std::string_view what) {
    if (value.type == Type::integer) return value.bits;
    if (value.type != Type::bytes || value.text.empty()) return wrong(what, value, "an integer, or at least one byte");
    BlockName name = 0;
    for (const char byte : value.text.substr(value.text.size() - std::min<std::size_t>(value.text.size(), 8))) {
      name = name << 8U | static_cast<unsigned char>(byte);
    }
    return name;
  }

  Result<void> read_blocks(Fields& fields) {
    const auto list = expect(Type::list, "block_hashes");
    if (!list) return tl::unexpected(list.error());
    fields.has_blocks = true;
    fields.blocks.clear();
    fields.blocks.reserve(list->items);
    for (std::size_t i = 0; i < list->items; ++i) {
      const auto value = in_.next();
      if (!value) return tl::unexpected(value.error());
      const auto name = name_from(*value, "a block hash");
      if (!name) return tl::unexpected(name.error());
      fields.blocks.push_back(*name);
    }
    return {};
  }

  Result<void> read_tokens(Fields& fields) {
    const auto list = expect(Type::list, "token_ids");
    if (!list) return tl::unexpected(list.error());
    fields.tokens.clear();
    fields.tokens.reserve(list->items);
    for (std::size_t i = 0; i < list->items; ++i) {
      const auto value = in_.next();
      if (!value) return tl::unexpected(value.error());
      if (!value->is_unsigned() || value->bits > std::numeric_limits<std::uint32_t>::max()) {
        return wrong("a token id", *value, "a whole number below 2^32");
      }
      fields.tokens.push_back(static_cast<std::uint32_t>(value->bits));
    }
    return {};
  }

  /// Nil, or a list with an entry a block, nil where the block has none. What they are is the engine's affair: blocks
  /// with equal bytes here are equal.
  Result<void> read_extra(Fields& fields) {
    const std::string_view begin = in_.left();
    const auto value = in_.next();
    if (!value) return tl::unexpected(value.error());
    bool any = value->type != Type::nil && value->type != Type::list;
    for (std::size_t i = 0; value->type == Type::list && i < value->items; ++i) {
      const auto entry = in_.next();
      if (!entry) return tl::unexpected(entry.error());
      const bool empty = entry->type == Type::nil || (entry->type == Type::list && entry->items == 0);
      any = any || !empty;
      if (auto done = in_.skip_inside(*entry); !done) return done;
    }
    if (value->type == Type::map) {
      if (auto done = in_.skip_inside(*value); !done) return done;
    }
    if (any) fields.extra = hash_of(begin.substr(0, begin.size() - in_.left().size()));
    return {};
  }

  static Result<void> add(KvEventBatch& batch, Kind kind, Fields fields) {
    if (kind == Kind::unknown) {
      ++batch.unknown;
    } else if (kind == Kind::cleared) {
      batch.events.emplace_back(affinity::BlocksCleared{});
    } else if (!fields.has_blocks) {
      return failure("an event names no blocks; wanted: block_hashes");
    } else if (fields.elsewhere) {
      ++batch.elsewhere;
    } else if (kind == Kind::removed) {
      batch.events.emplace_back(affinity::BlocksRemoved{std::move(fields.blocks), fields.group});
    } else if (fields.blocks.empty() || fields.block_size == 0 || fields.block_size > fields.tokens.size() ||
               fields.tokens.size() != fields.block_size * fields.blocks.size()) {
      ++batch.unknown;  // without it less is known; what is known stays right
    } else {
      batch.events.emplace_back(affinity::BlocksStored{std::move(fields.blocks), fields.parent,
                                                       std::move(fields.tokens), fields.adapter, fields.extra,
                                                       fields.group, fields.windowed});
    }
    return {};
  }

  MessagePackReader in_;
};

}  // namespace

Result<KvEventBatch> read_kv_event_batch(std::string_view payload) {
  if (payload.size() > max_kv_payload_bytes) {
    return failure(fmt::format("the batch has {} bytes; allowed: at most {}", payload.size(), max_kv_payload_bytes));
  }
  return BatchReader(payload).read();
}

}  // namespace evenkeel::engines
