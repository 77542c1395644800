#pragma once

#include <cstddef>
#include <string_view>

#include "affinity/kv_events.hpp"
#include "base/error.hpp"

namespace evenkeel::engines {

/// Larger payloads are refused: a batch is what one step of an engine did.
inline constexpr std::size_t max_kv_payload_bytes = std::size_t{16} << 20U;

/// One batch of KV-cache events as vLLM and SGLang publish them: MessagePack, [time, events, rank]. Events may be lists
/// (vLLM before June 2026, SGLang) or maps (vLLM from then on), block names integers, signed or not, or bytes; the
/// rank, and fields at the end, may be missing; fields and events that are not known are passed over. Of names given as
/// bytes the last eight count, read big-endian: so a name in bytes equals the same name as an integer.
///
/// Errors say which field, what was found and what is wanted; then nothing of the batch can be believed. Time and
/// memory are linear in the payload.
[[nodiscard]] Result<affinity::KvEventBatch> read_kv_event_batch(std::string_view payload);

}  // namespace evenkeel::engines
