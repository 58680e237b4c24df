#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hodometer/kernels/convert.h"
#include "hodometer/kernels/int8_rows.h"
#include "hodometer/ops/kv_cache_storage-inl.h"

namespace hodometer::internal {
namespace {

constexpr int64_t most_bytes = int64_t{1} << 62;
constexpr int64_t alignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

Error no_room(std::string text) {
  return Error{ErrorKind::limit, fmt::format("kv_cache: {}", text)};
}

}  // namespace

int64_t tokens_at_once(const KvRoom& room) {
  if (const auto* fixed = std::get_if<KvFixed>(&room)) return fixed->capacity;
  if (const auto* paged = std::get_if<KvPaged>(&room)) return paged->page_size;
  return std::get<KvGrowing>(room).first_capacity;
}

DType dtype_of(KvType type) {
  switch (type) {
    case KvType::bfloat16:
      return DType::bfloat16;
    case KvType::float16:
      return DType::float16;
    case KvType::float32:
    case KvType::int8:
      break;
  }
  return DType::float32;
}

int64_t RowFormat::lane_bytes() const {
  return type == KvType::int8 ? 1 : dtype_size(dtype_of(type));
}

int64_t RowFormat::token_bytes() const {
  const int64_t scale = type == KvType::int8 ? static_cast<int64_t>(sizeof(float)) : 0;
  return heads * (lanes * lane_bytes() + scale);
}

int64_t RowFormat::scales_begin(int64_t tokens) const {
  return aligned(tokens * heads * lanes * lane_bytes());
}

int64_t RowFormat::block_bytes(int64_t tokens) const {
  return type == KvType::int8
             ? scales_begin(tokens) + tokens * heads * static_cast<int64_t>(sizeof(float))
             : tokens * token_bytes();
}

void RowFormat::store(std::byte* block, int64_t tokens, int64_t token, int64_t head,
                      const float* row) const {
  const int64_t index = head * tokens + token;
  std::byte* to = block + index * lanes * lane_bytes();
  if (type != KvType::int8) return from_float32(dtype_of(type), row, to, lanes);
  auto* scales = reinterpret_cast<float*>(block + scales_begin(tokens));
  to_int8_rows(row, 1, lanes, reinterpret_cast<int8_t*>(to), scales + index);
}

void RowFormat::load(const std::byte* block, int64_t tokens, int64_t first, int64_t head,
                     int64_t count, float* rows) const {
  const int64_t index = head * tokens + first;
  const std::byte* from = block + index * lanes * lane_bytes();
  if (type != KvType::int8) return to_float32(dtype_of(type), from, rows, count * lanes);
  const auto* scales = reinterpret_cast<const float*>(block + scales_begin(tokens)) + index;
  from_int8_rows(reinterpret_cast<const int8_t*>(from), scales, count, lanes, rows);
}

void RowFormat::prefetch(const std::byte* block, int64_t tokens, int64_t first, int64_t head,
                         int64_t count) const {
  const int64_t row_bytes = lanes * lane_bytes();
  const std::byte* from = block + (head * tokens + first) * row_bytes;
  for (int64_t i = 0; i < count * row_bytes; i += alignment) __builtin_prefetch(from + i, 0, 2);
}

void RowFormat::copy(const std::byte* block, int64_t tokens, int64_t from, std::byte* to_block,
                     int64_t to_tokens, int64_t to, int64_t count) const {
  const auto copy_rows = [&](int64_t from_begin, int64_t to_begin, int64_t row_bytes) {
    for (int64_t head = 0; head < heads; ++head) {
      std::memmove(to_block + to_begin + (head * to_tokens + to) * row_bytes,
                   block + from_begin + (head * tokens + from) * row_bytes,
                   static_cast<size_t>(count * row_bytes));
    }
  };
  copy_rows(0, 0, lanes * lane_bytes());
  if (type == KvType::int8) {
    copy_rows(scales_begin(tokens), scales_begin(to_tokens), static_cast<int64_t>(sizeof(float)));
  }
}

Result<KvStorage> KvStorage::make(const KvCacheOptions& options) {
  KvStorage storage;
  storage.keys_ = {options.type, options.num_kv_heads, options.head_dim};
  storage.values_ = {options.type, options.num_kv_heads, options.value_dim};
  storage.room_ = options.room;
  HODO_RETURN_IF_ERROR(storage.check_bytes(tokens_at_once(options.room)));
  if (const auto* paged = std::get_if<KvPaged>(&options.room)) {
    storage.page_size_ = paged->page_size;
  }
  if (const auto* fixed = std::get_if<KvFixed>(&options.room)) {
    HODO_RETURN_IF_ERROR(storage.grow(fixed->capacity));
  }
  return storage;
}

Status KvStorage::check_bytes(int64_t tokens) const {
  const int64_t per_token = keys_.token_bytes() + values_.token_bytes();
  if (tokens <= (most_bytes - 4 * alignment) / per_token) return {};
  return no_room(
      fmt::format("{} tokens of {} bytes: expected less than 2^62 bytes", tokens, per_token));
}

Result<KvStorage::Page> KvStorage::make_page(int64_t tokens) const {
  HODO_RETURN_IF_ERROR(check_bytes(tokens));
  Page page;
  const auto allocate = [](int64_t bytes) {
    return Block(static_cast<std::byte*>(
        ::operator new(static_cast<size_t>(bytes), std::align_val_t{alignment}, std::nothrow)));
  };
  page.keys = allocate(keys_.block_bytes(tokens));
  page.values = allocate(values_.block_bytes(tokens));
  if (!page.keys || !page.values) {
    return no_room(fmt::format("{} bytes for {} tokens: the system does not give them",
                               keys_.block_bytes(tokens) + values_.block_bytes(tokens), tokens));
  }
  return page;
}

Status KvStorage::grow(int64_t tokens) {
  HODO_ASSIGN(Page page, make_page(tokens));
  page.live = this->tokens();
  if (!pages_.empty() && page.live > 0) {
    for (const KvSide side : {KvSide::key, KvSide::value}) {
      format(side).copy(pages_[0].block(side), page_size_, 0, page.block(side), tokens, 0,
                        page.live);
    }
  }
  pages_.clear();
  pages_.push_back(std::move(page));
  page_size_ = tokens;
  return {};
}

Status KvStorage::append(int64_t count) {
  if (contiguous()) {
    if (count > page_size_ - tokens()) {
      if (const auto* fixed = std::get_if<KvFixed>(&room_)) {
        return no_room(fmt::format("{} tokens beside {}: expected at most the capacity of {}",
                                   count, tokens(), fixed->capacity));
      }
      HODO_RETURN_IF_ERROR(
          grow(std::max({tokens_at_once(room_), 2 * page_size_, tokens() + count})));
    }
    for (int64_t i = 0; i < count; ++i) slots_.push_back(tokens());
    pages_.front().live += count;
    return {};
  }
  HODO_RETURN_IF_ERROR(add_pages(count));
  take_slots(count);
  return {};
}

// Empty pages for tokens beyond those that the page of the last token has room for.
Status KvStorage::add_pages(int64_t count) {
  const int64_t used = slots_.empty() ? 0 : slots_.back() % page_size_ + 1;
  const int64_t left = used == 0 ? 0 : page_size_ - used;
  if (count <= left) return {};
  const int64_t wanted = (count - left - 1) / page_size_ + 1;
  std::vector<Page> added;
  for (int64_t i = 0; i < wanted; ++i) {
    HODO_ASSIGN(Page page, make_page(page_size_));
    added.push_back(std::move(page));
  }
  for (size_t place = 0; !added.empty(); ++place) {
    if (place == pages_.size()) pages_.emplace_back();
    if (pages_[place].keys) continue;
    pages_[place] = std::move(added.back());
    added.pop_back();
    open_.insert(open_.begin(), static_cast<int64_t>(place));
  }
  return {};
}

void KvStorage::take_slots(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t slot = slots_.empty() ? 0 : slots_.back() + 1;
    if (slot % page_size_ == 0) {
      slot = open_.back() * page_size_;
      open_.pop_back();
    }
    slots_.push_back(slot);
    ++pages_[static_cast<size_t>(slot / page_size_)].live;
  }
}

void KvStorage::keep(std::span<const TokenRange> ranges) {
  if (contiguous()) close_up(ranges);
  int64_t kept = 0;
  for (const TokenRange& range : ranges) {
    for (int64_t token = range.begin; token < range.end; ++token) {
      slots_[static_cast<size_t>(kept)] = contiguous() ? kept : slots_[static_cast<size_t>(token)];
      ++kept;
    }
  }
  slots_.resize(static_cast<size_t>(kept));
  release_pages();
}

void KvStorage::close_up(std::span<const TokenRange> ranges) {
  if (pages_.empty()) return;
  const Page& page = pages_.front();
  int64_t kept = 0;
  for (const TokenRange& range : ranges) {
    const int64_t count = range.end - range.begin;
    for (const KvSide side : {KvSide::key, KvSide::value}) {
      if (kept == range.begin) continue;
      format(side).copy(page.block(side), page_size_, range.begin, page.block(side), page_size_,
                        kept, count);
    }
    kept += count;
  }
}

void KvStorage::release_pages() {
  for (Page& page : pages_) page.live = 0;
  for (const int64_t slot : slots_) ++pages_[static_cast<size_t>(slot / page_size_)].live;
  if (contiguous()) return;
  for (Page& page : pages_) {
    if (page.live == 0) page = {};
  }
  while (!pages_.empty() && !pages_.back().keys) pages_.pop_back();
}

void KvStorage::store(KvSide side, int64_t token, int64_t head, const float* row) {
  const int64_t slot = slots_[static_cast<size_t>(token)];
  format(side).store(pages_[static_cast<size_t>(slot / page_size_)].block(side), page_size_,
                     slot % page_size_, head, row);
}

template <class Body>
void KvStorage::for_each_slot_run(int64_t begin, int64_t end, const Body& body) const {
  const int64_t* slots = slots_.data();
  for (int64_t first = begin, next = begin; first < end; first = next) {
    const int64_t in_page = slots[first] % page_size_;
    do ++next;
    while (next < end && slots[next] == slots[first] + next - first &&
           in_page + next - first < page_size_);
    body(pages_[static_cast<size_t>(slots[first] / page_size_)], in_page, first, next - first);
  }
}

void KvStorage::load(KvSide side, int64_t head, int64_t begin, int64_t count, float* rows) const {
  const RowFormat& format = this->format(side);
  const int64_t end = begin + count;
  for_each_slot_run(end, std::min(end + count, tokens()),
                    [&](const Page& page, int64_t slot, int64_t, int64_t run) {
                      format.prefetch(page.block(side), page_size_, slot, head, run);
                    });
  for_each_slot_run(begin, end, [&](const Page& page, int64_t slot, int64_t first, int64_t run) {
    format.load(page.block(side), page_size_, slot, head, run,
                rows + (first - begin) * format.lanes);
  });
}

HeadsView KvStorage::view(KvSide side) const {
  const RowFormat& format = this->format(side);
  HeadsView view =
      HeadsView::bhsd(pages_.empty() ? nullptr : pages_.front().block(side), dtype_of(format.type),
                      1, page_size_, format.heads, format.lanes);
  view.length = tokens();
  return view;
}

KvMemory KvStorage::memory() const {
  KvMemory memory;
  for (const Page& page : pages_) {
    if (!page.keys) continue;
    memory.allocated += keys_.block_bytes(page_size_) + values_.block_bytes(page_size_);
  }
  memory.used = tokens() * (keys_.token_bytes() + values_.token_bytes());
  memory.bookkeeping =
      static_cast<int64_t>(slots_.capacity() * sizeof(int64_t) + pages_.capacity() * sizeof(Page));
  return memory;
}

}  // namespace hodometer::internal
