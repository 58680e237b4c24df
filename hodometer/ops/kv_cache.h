#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>

#include "hodometer/base/parallel.h"
#include "hodometer/base/result.h"
#include "hodometer/base/tensor_view.h"
#include "hodometer/ops/attention.h"
#include "hodometer/plan/plan.h"
#include "hodometer/position/mask.h"
#include "hodometer/position/position_view.h"

namespace hodometer {

/// What a number of a cache is stored as.
enum class KvType : uint8_t {
  float32,
  bfloat16,
  float16,
  /// 8-bit integers from -127 to 127 and a float32 scale for each row (the lanes of one head of one
  /// token): largest |lane| / 127. A row of its own scale can be turned and stored again without
  /// its neighbours, which blocks over several tokens cannot, and costs 4 bytes per head_dim.
  /// Error of a lane: largest |lane| of its row / 254, and 1e-4 of that. Rows whose lanes are all
  /// below 1e-36 are stored as 0; one with a lane that is not finite reads as NaN.
  int8,
};

/// One block of memory for so many tokens, allocated at once.
struct KvFixed {
  int64_t capacity = 0;
};
/// One block of memory that doubles: appending copies it now and then.
struct KvGrowing {
  int64_t first_capacity = 256;  ///< tokens
};
/// Blocks of page_size tokens, allocated as needed and given back when all their tokens are
/// dropped. Dropping tokens moves nothing.
struct KvPaged {
  int64_t page_size = 0;
};
using KvRoom = std::variant<KvGrowing, KvFixed, KvPaged>;

struct KvCacheOptions {
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;   ///< lanes of a key, 1 to 512
  int64_t value_dim = 0;  ///< lanes of a value, 1 to 512
  KvType type = KvType::float32;
  KvRoom room = KvGrowing{};
  /// turned: keys are turned once, when they come. unturned: stored as projected and turned
  /// whenever they are read; right for schedules that change with every token (dynamic NTK), and
  /// for xPos in 16 bits, whose keys may shrink or grow out of float16's range. xPos in 8 bits is
  /// stored unturned only.
  KeyState keys = KeyState::turned;
};

/// Tokens [begin, end) of a cache, counted in the order in which they came.
struct TokenRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Bytes that a cache holds.
struct KvMemory {
  int64_t allocated = 0;    ///< for keys and values
  int64_t used = 0;         ///< by keys and values of its tokens
  int64_t bookkeeping = 0;  ///< positions and where rows lie
};

/// Whether keys of such a spec can be moved to other positions, and if not, why: ErrorKind
/// unsupported.
///
/// Refused: positions over several axes (M-RoPE, axial), where one distance has no meaning, and
/// rows that were added to embeddings (sinusoidal, learned), which are inside of a key and cannot
/// be taken out. Schedules that change with the length are not refused, because a cache turns each
/// key from the frequencies that it was stored by; positions that its plan does not serve are.
Status can_shift(const PositionSpec& spec);

namespace internal {
struct KvState;
}

/// The keys and values of one sequence and one layer, kept so that they stay right when tokens are
/// dropped, positions shift or a schedule changes its frequencies.
///
/// A key is turned in float32 and rounded once, to the stored type. The cache remembers by which
/// position and which frequencies. Shifts and new schedules change what is wanted and not what is
/// stored: the way from one to the other is one rotation in float32 when the key is read, by the
/// exact difference of the two phases, so that after any number of them a key is within one
/// rounding of the stored type of the true one, measured as a share of the pair of lanes that turn
/// together. (Rounding at every shift is off by 70 to 280 roundings after a thousand of them.)
/// Where the magnitude changes, for xPos with every shift, the error changes in proportion.
///
/// Positions belong to tokens and are never renumbered unless asked: dropping leaves a gap, which
/// shift_keys() closes. Tokens may share a position.
///
/// Not to be changed from two threads at once. Errors name the operation, what is wrong and what
/// was expected; what fails changes nothing.
class KvCache {
 public:
  /// An empty cache whose keys are turned by `plan`; share one between layers.
  /// Errors: sizes out of range; heads of another width than the plan's; a room that would be above
  /// 2^62 bytes or that the system does not give (ErrorKind::limit); turned int8 keys of xPos,
  /// whose pairs shrink at rates of their own and would share a scale (ErrorKind::unsupported).
  static Result<KvCache> make(const KvCacheOptions& options, std::shared_ptr<const Plan> plan);

  KvCache(KvCache&&) noexcept;
  KvCache& operator=(KvCache&&) noexcept;
  ~KvCache();

  /// Adds tokens after the last one. k is [1, length, num_kv_heads, head_dim] as projected, v is
  /// [1, length, num_kv_heads, value_dim], of any type and strides. Positions are whole numbers, in
  /// any order, with as many axes as the plan.
  /// Errors: other shapes; positions as for rotate(); no room (ErrorKind::limit).
  Status append(const HeadsView& k, const HeadsView& v, const PositionView& positions,
                Executor& executor = serial_executor());

  /// Adds `distance` to the positions of tokens: by index, or those that stand at positions within
  /// an interval. Costs nothing per lane. Biases by distance (ALiBi, T5, Shaw) follow, too.
  /// Errors: as can_shift(); tokens that are not there; new positions as for rotate(); with xPos, a
  /// way so far that it leaves float32's range.
  Status shift_keys(TokenRange tokens, int64_t distance);
  Status shift_keys(PositionInterval positions, int64_t distance);

  /// From now on all keys, those that are there too, are turned by `plan`: for another length of
  /// dynamic NTK, or LongRoPE beyond the trained length. Costs nothing per lane. The cache keeps
  /// the plans that its keys are stored by.
  /// Errors: a plan of another method, head_dim, layout, number of axes or other lanes that turn;
  /// one that does not serve the positions of the cache.
  Status reschedule_keys(std::shared_ptr<const Plan> plan);

  /// Stores keys as they are wanted now, so that attention reads them where they lie again. Every
  /// key that changes is rounded once more. Nothing to do for unturned keys.
  void settle(Executor& executor = serial_executor());

  /// Keeps these tokens, in their order, and drops the others. Ranges ascend and do not overlap.
  Status keep(std::span<const TokenRange> ranges);
  Status drop(TokenRange tokens);
  /// Keeps the first `sinks` and the last `window` tokens (Xiao et al. 2023, StreamingLLM, whose
  /// keys then stand at 0, 1, ...: call shift_keys() for that).
  Status keep_sinks_and_window(int64_t sinks, int64_t window);
  /// Keeps the first `length` tokens.
  Status truncate(int64_t length);
  void clear();

  int64_t tokens() const;
  /// [tokens, num_axes], until the cache changes.
  std::span<const int64_t> positions() const;
  PositionView position_view() const;
  int64_t num_axes() const;
  /// The largest position on any axis + 1: where the next token of a text stands. 0 when empty.
  int64_t next_position() const;
  /// Keys that are stored by another position or schedule than is wanted.
  int64_t pending() const;
  const KvCacheOptions& options() const;
  const Plan& plan() const;
  KvMemory memory() const;

  /// The memory itself, [1, tokens, num_kv_heads, lanes] with the rows of each head one after the
  /// other, until the cache changes. Keys are as stored. Errors (unsupported): pages, int8; of
  /// keys, rotations that are pending: settle() first.
  Result<HeadsView> stored_keys() const;
  Result<HeadsView> stored_values() const;

  /// Writes tokens to [1, count, num_kv_heads, lanes]: keys turned as they are wanted, in float32
  /// with one rounding to the type of `out`. Errors: tokens that are not there, another shape.
  Status read_keys(TokenRange tokens, const HeadsView& out) const;
  Status read_values(TokenRange tokens, const HeadsView& out) const;

  const internal::KvState& state() const { return *state_; }  ///< for the library's own sources

 private:
  explicit KvCache(std::unique_ptr<internal::KvState> state);
  Status move_keys(std::span<const int64_t> tokens, int64_t distance);

  std::unique_ptr<internal::KvState> state_;
};

/// attention() over all tokens of a cache. q is [1, q_length, num_heads, head_dim].
///
/// Queries stand by default at the positions of the last q_length tokens. In the options, keys and
/// key_positions are the cache's: `keys` is not read and key_positions must be empty. Keys in one
/// block of float32 or 16 bits and without pending rotations are read where they lie; others are
/// turned and converted in tiles, and nothing of the size of the cache is made.
///
/// Errors: as attention(); a batch other than 1; a plan with other frequencies than the cache's
/// (call reschedule_keys() with it first), so that keys of two schedules never mix.
Status attention(const Plan& plan, const HeadsView& q, const KvCache& cache, const HeadsView& out,
                 const AttentionOptions& options = {}, Executor& executor = serial_executor());

}  // namespace hodometer
