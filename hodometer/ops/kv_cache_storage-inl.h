#pragma once

// Private: where the rows of a cache lie. Knows nothing of positions. Not installed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "hodometer/ops/kv_cache.h"

namespace hodometer::internal {

/// The rows of one tensor in a block of memory for so many tokens: [heads, tokens, lanes] of the
/// stored type, so that the rows of a head lie one after the other, and, for int8, [heads, tokens]
/// scales after them.
struct RowFormat {
  KvType type = KvType::float32;
  int64_t heads = 0;
  int64_t lanes = 0;

  int64_t lane_bytes() const;
  int64_t token_bytes() const;
  int64_t block_bytes(int64_t tokens) const;

  /// A row of a block, from float32.
  void store(std::byte* block, int64_t tokens, int64_t token, int64_t head, const float* row) const;
  /// Rows of tokens [first, first + count) of a head, to float32.
  void load(const std::byte* block, int64_t tokens, int64_t first, int64_t head, int64_t count,
            float* rows) const;
  /// Asks for those rows before they are loaded.
  void prefetch(const std::byte* block, int64_t tokens, int64_t first, int64_t head,
                int64_t count) const;
  /// Copies tokens [from, from + count) of a block to [to, to + count) of another or the same.
  void copy(const std::byte* block, int64_t tokens, int64_t from, std::byte* to_block,
            int64_t to_tokens, int64_t to, int64_t count) const;

 private:
  int64_t scales_begin(int64_t tokens) const;
};

/// The type of a tensor of so stored numbers; int8 has none.
DType dtype_of(KvType type);

/// The tokens that a room makes memory for at first.
int64_t tokens_at_once(const KvRoom& room);

/// Memory at a multiple of 64 bytes.
struct FreeBlock {
  void operator()(std::byte* block) const { ::operator delete(block, std::align_val_t{64}); }
};
using Block = std::unique_ptr<std::byte, FreeBlock>;

enum class KvSide : uint8_t { key, value };

/// Keys and values of tokens 0, 1, ..., each in a slot of a page: slot % page_size of page
/// slot / page_size. Contiguous storage is one page whose slots are the tokens.
class KvStorage {
 public:
  /// What was checked before: sizes from 1 on.
  static Result<KvStorage> make(const KvCacheOptions& options);

  int64_t tokens() const { return static_cast<int64_t>(slots_.size()); }
  /// Makes room for so many more tokens, whose rows are not written yet.
  Status append(int64_t count);
  /// Keeps ascending ranges of tokens.
  void keep(std::span<const TokenRange> ranges);

  void store(KvSide side, int64_t token, int64_t head, const float* row);
  /// Rows [begin, begin + count) of a head, one after the other. Asks for the next so many, since
  /// attention reads on from there.
  void load(KvSide side, int64_t head, int64_t begin, int64_t count, float* rows) const;

  /// Contiguous storage as a tensor; not of int8.
  HeadsView view(KvSide side) const;
  const RowFormat& format(KvSide side) const { return side == KvSide::key ? keys_ : values_; }
  bool contiguous() const { return !std::holds_alternative<KvPaged>(room_); }
  KvMemory memory() const;

 private:
  struct Page {
    Block keys, values;
    int64_t live = 0;  ///< tokens in it
    std::byte* block(KvSide side) const { return (side == KvSide::key ? keys : values).get(); }
  };
  /// body(page, first slot in it, first token, count) for runs of slots of tokens [begin, end).
  template <class Body>
  void for_each_slot_run(int64_t begin, int64_t end, const Body& body) const;
  Status check_bytes(int64_t tokens) const;
  Result<Page> make_page(int64_t tokens) const;
  Status grow(int64_t tokens);
  Status add_pages(int64_t count);
  void take_slots(int64_t count);
  void close_up(std::span<const TokenRange> ranges);
  void release_pages();

  RowFormat keys_, values_;
  KvRoom room_;
  int64_t page_size_ = 0;
  std::vector<Page> pages_;
  std::vector<int64_t> open_;   ///< empty pages that the next tokens fill, the first one last
  std::vector<int64_t> slots_;  ///< of each token
};

}  // namespace hodometer::internal
