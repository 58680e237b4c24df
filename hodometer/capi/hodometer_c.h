#pragma once

/* The C interface. A spec crosses it as JSON text, so it does not grow with methods. Shapes, units
 * and errors are those of the C++ headers named in each comment.
 *
 * Every function that can fail returns a hodo_status; hodo_last_error() then has the sentence.
 * Nothing is thrown and nothing is printed. Functions may be called from several threads at once; a
 * plan is never changed after it is made. Strides are in elements. On failure, no output has been
 * written.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
/* Any number may come in from C; with a type said, it is checked and not undefined. */
#define HODO_ENUM_TYPE : int32_t
#else
#define HODO_ENUM_TYPE
#endif

typedef enum hodo_status HODO_ENUM_TYPE {
  HODO_OK = 0,
  HODO_USAGE = 1,       /* the call itself is wrong: shapes, strides, arguments */
  HODO_BAD_INPUT = 2,   /* outside data is wrong: a key, a value */
  HODO_UNSUPPORTED = 3, /* the data is understood and this library does not do it */
  HODO_LIMIT = 4,       /* a position or length beyond what can be served */
  HODO_IO = 5,          /* the operating system refused a file */
  HODO_OUT_OF_MEMORY = 6,
  HODO_INTERNAL = 7 /* a fault of this library */
} hodo_status;

typedef enum hodo_dtype HODO_ENUM_TYPE {
  HODO_FLOAT32 = 0,
  HODO_BFLOAT16 = 1,
  HODO_FLOAT16 = 2
} hodo_dtype;

/* plan/plan.h: AngleMode. */
typedef enum hodo_angles HODO_ENUM_TYPE {
  HODO_ANGLES_EXACT = 0,
  HODO_ANGLES_FLOAT32 = 1
} hodo_angles;

/* The version of the library, such as "0.1.0". */
const char* hodo_version(void);

/* The failure of the last call on this thread that failed; "" before any. Valid until the next
 * failure on this thread. */
const char* hodo_last_error(void);

/* Frees a string that this library returned through a char**. NULL is allowed. */
void hodo_string_free(char* text);

/* ---- specs and plans ---- */

/* Checks a spec and writes its one-line text form to *text; free it with hodo_string_free(). */
hodo_status hodo_spec_normalize(const char* spec_json, char** text);

/* A spec made ready to apply. */
typedef struct hodo_plan hodo_plan;

/* plan/plan.h: make_plan. Free it with hodo_plan_free(). */
hodo_status hodo_plan_create(const char* spec_json, int64_t context_length, hodo_angles angles,
                             hodo_plan** plan);
void hodo_plan_free(hodo_plan* plan);

/* Of a plan; 0 for NULL. */
int64_t hodo_plan_head_dim(const hodo_plan* plan);
int64_t hodo_plan_num_axes(const hodo_plan* plan);
int64_t hodo_plan_table_pairs(const hodo_plan* plan);
/* What the scores of a query are multiplied by, on top of 1/sqrt(head_dim). */
double hodo_plan_logit_scale(const hodo_plan* plan, int64_t query_position);

/* ---- models ---- */

/* What a Hugging Face config.json of `size` bytes says about order, as one line of JSON in *text;
 * free it with hodo_string_free(). Its members are those of tools/inspect.h: ModelReport; each of
 * "uses" has a "spec" that hodo_plan_create() takes. models/from_hf_config.h: from_hf_config. */
hodo_status hodo_config_read(const char* json, size_t size, char** text);

/* ---- threads ---- */

/* Where work runs; NULL wherever one is taken means the calling thread. */
typedef struct hodo_executor hodo_executor;

/* threads 0: as many as the machine has. */
hodo_status hodo_executor_create(int32_t threads, hodo_executor** executor);
void hodo_executor_free(hodo_executor* executor);

/* ---- positions ---- */

typedef enum hodo_position_kind HODO_ENUM_TYPE {
  HODO_POSITIONS_RANGE = 0,      /* first, first + 1, ... for every sequence */
  HODO_POSITIONS_STARTS = 1,     /* ids[b * batch_stride] + i */
  HODO_POSITIONS_IDS = 2,        /* ids[a * axis_stride + b * batch_stride + i * length_stride] */
  HODO_POSITIONS_COORDINATES = 3 /* the same of coordinates */
} hodo_position_kind;

/* position/position_view.h: PositionView. Make one with a function below, or fill in any strides.
 * batch 1: all sequences share the row. */
typedef struct hodo_positions {
  hodo_position_kind kind;
  int64_t num_axes;
  int64_t first;
  const int64_t* ids;
  const double* coordinates;
  int64_t batch;
  int64_t length;
  int64_t axis_stride;
  int64_t batch_stride;
  int64_t length_stride;
} hodo_positions;

/* Text for a plan over several axes stands at one place on all of them: num_axes says so. */
hodo_positions hodo_positions_range(int64_t first, int64_t num_axes);
hodo_positions hodo_positions_starts(const int64_t* starts, int64_t batch, int64_t num_axes);
/* Contiguous [num_axes, batch, length]. */
hodo_positions hodo_positions_ids(const int64_t* ids, int64_t num_axes, int64_t batch,
                                  int64_t length);
hodo_positions hodo_positions_coordinates(const double* coordinates, int64_t num_axes,
                                          int64_t batch, int64_t length);

/* ---- operations ---- */

/* base/tensor_view.h: HeadsView, [batch, length, heads, head_dim]. */
typedef struct hodo_heads {
  void* data;
  hodo_dtype dtype;
  int64_t batch;
  int64_t length;
  int64_t heads;
  int64_t head_dim;
  int64_t batch_stride;
  int64_t length_stride;
  int64_t head_stride;
} hodo_heads;

/* HODO_TRANSPOSE: what gradients go through. */
typedef enum hodo_direction HODO_ENUM_TYPE {
  HODO_FORWARD = 0,
  HODO_INVERSE = 1,
  HODO_TRANSPOSE = 2
} hodo_direction;
/* HODO_ROLE_UNSAID is refused by plans that grow queries and shrink keys (xPos). */
typedef enum hodo_role HODO_ENUM_TYPE {
  HODO_ROLE_UNSAID = 0,
  HODO_QUERY = 1,
  HODO_KEY = 2
} hodo_role;

/* ops/rotate.h: rotate. In place; all tensors share the positions. */
hodo_status hodo_rotate(const hodo_plan* plan, const hodo_heads* tensors, size_t count,
                        const hodo_positions* positions, hodo_direction direction, hodo_role role,
                        hodo_executor* executor);

/* ops/rotate.h: rotate_to. Out of place. from->data is only read. */
hodo_status hodo_rotate_to(const hodo_plan* plan, const hodo_heads* from, const hodo_heads* to,
                           const hodo_positions* positions, hodo_direction direction,
                           hodo_role role, hodo_executor* executor);

/* ops/add_rows.h: EmbeddingsView, [batch, length, dim]. */
typedef struct hodo_embeddings {
  void* data;
  hodo_dtype dtype;
  int64_t batch;
  int64_t length;
  int64_t dim;
  int64_t batch_stride;
  int64_t length_stride;
} hodo_embeddings;

/* ops/add_rows.h: LearnedTable, [rows, dim]. */
typedef struct hodo_learned_table {
  const float* data;
  int64_t rows;
  int64_t dim;
  int64_t row_stride;
} hodo_learned_table;

/* ops/add_rows.h: add_rows. table is NULL where rows are computed. */
hodo_status hodo_rows_add(const hodo_plan* plan, const hodo_embeddings* x,
                          const hodo_positions* positions, const hodo_learned_table* table,
                          hodo_executor* executor);

/* ops/make_table.h: make_table. cos and sin are [length, hodo_plan_table_pairs(plan)]. */
hodo_status hodo_table_make(const hodo_plan* plan, const hodo_positions* positions, int64_t length,
                            hodo_role role, float* cos, float* sin, hodo_executor* executor);

/* ops/bias_rows.h: bias_rows. table has table_size values, 0 where nothing is learned; bias is
 * [num_heads, num_queries, num_keys] and bias_size its number of values. */
hodo_status hodo_bias_rows(const hodo_plan* plan, const float* table, size_t table_size,
                           const int64_t* query_positions, size_t num_queries,
                           const int64_t* key_positions, size_t num_keys, float* bias,
                           size_t bias_size);

/* ---- attention ---- */

typedef enum hodo_mask_kind HODO_ENUM_TYPE {
  HODO_MASK_CAUSAL = 0,
  HODO_MASK_BIDIRECTIONAL = 1,
  HODO_MASK_WINDOW = 2,  /* left positions before the query, right after it */
  HODO_MASK_CHUNKED = 3, /* chunks of `length` positions */
  HODO_MASK_PREFIX = 4   /* every key before `length`, and what a causal mask shows */
} hodo_mask_kind;

/* position/mask.h: Mask. Members that a kind does not name are not read. */
typedef struct hodo_mask {
  hodo_mask_kind kind;
  int64_t left;
  int64_t right;
  int64_t length;
} hodo_mask;

/* ops/attention.h: SegmentView, [batch, length]. 0: padding. */
typedef struct hodo_segments {
  const int64_t* data;
  int64_t batch;
  int64_t length;
  int64_t batch_stride;
  int64_t length_stride;
} hodo_segments;

typedef enum hodo_key_state HODO_ENUM_TYPE {
  HODO_KEYS_TURNED = 0,
  HODO_KEYS_UNTURNED = 1
} hodo_key_state;

/* ops/attention.h: AttentionOptions. NULL pointers and sizes of 0 mean what is not there, or the
 * default. Start from hodo_attention_defaults(). */
typedef struct hodo_attention_options {
  const hodo_positions* query_positions;
  const hodo_positions* key_positions;
  const hodo_positions* query_order;
  const hodo_positions* key_order;
  hodo_mask mask;
  const hodo_segments* query_segments;
  const hodo_segments* key_segments;
  hodo_key_state keys;
  const double* scale; /* NULL: 1/sqrt(head_dim) */
  double soft_cap;     /* 0: none */
  const float* sinks;  /* [num_heads] */
  size_t sinks_size;
  const float* buckets; /* [num_buckets, num_heads] */
  size_t buckets_size;
  const float* key_rows; /* [num_rows, head_dim] */
  size_t key_rows_size;
  const float* value_rows; /* [num_rows, value_dim] */
  size_t value_rows_size;
  float* log_sums; /* [batch, q_length, num_heads], written; NULL: not wanted */
} hodo_attention_options;

/* A causal mask and keys that are not turned yet. */
hodo_attention_options hodo_attention_defaults(void);

/* ops/attention.h: attention. q->data, k->data and v->data are only read. options NULL: the
 * defaults. */
hodo_status hodo_attention(const hodo_plan* plan, const hodo_heads* q, const hodo_heads* k,
                           const hodo_heads* v, const hodo_heads* out,
                           const hodo_attention_options* options, hodo_executor* executor);

/* ops/attention_backward.h: AttentionGradients. NULL and sizes of 0: not wanted. */
typedef struct hodo_attention_gradients {
  const hodo_heads* q;
  const hodo_heads* k;
  const hodo_heads* v;
  float* buckets;
  size_t buckets_size;
  float* key_rows;
  size_t key_rows_size;
  float* value_rows;
  size_t value_rows_size;
  float* sinks;
  size_t sinks_size;
} hodo_attention_gradients;

/* ops/attention_backward.h: attention_backward. out and log_sums are what hodo_attention() wrote;
 * only the data of `gradients` is written. */
hodo_status hodo_attention_backward(const hodo_plan* plan, const hodo_heads* q, const hodo_heads* k,
                                    const hodo_heads* v, const hodo_heads* out,
                                    const hodo_heads* out_gradient, const float* log_sums,
                                    const hodo_attention_gradients* gradients,
                                    const hodo_attention_options* options, hodo_executor* executor);

/* ops/add_rows_backward.h: add_rows_backward. table->data is written. */
typedef struct hodo_learned_table_gradient {
  float* data;
  int64_t rows;
  int64_t dim;
  int64_t row_stride;
} hodo_learned_table_gradient;

hodo_status hodo_rows_add_backward(const hodo_plan* plan, const hodo_embeddings* gradient,
                                   const hodo_positions* positions,
                                   const hodo_learned_table_gradient* table,
                                   hodo_executor* executor);

/* ---- key-value cache: ops/kv_cache.h ---- */

typedef enum hodo_kv_type HODO_ENUM_TYPE {
  HODO_KV_FLOAT32 = 0,
  HODO_KV_BFLOAT16 = 1,
  HODO_KV_FLOAT16 = 2,
  HODO_KV_INT8 = 3 /* with a float32 scale for each row */
} hodo_kv_type;

typedef enum hodo_kv_room HODO_ENUM_TYPE {
  HODO_KV_GROWING = 0, /* one block that doubles */
  HODO_KV_FIXED = 1,   /* one block */
  HODO_KV_PAGED = 2    /* pages that come and go */
} hodo_kv_room;

/* KvCacheOptions. Start from hodo_kv_cache_defaults(). */
typedef struct hodo_kv_cache_options {
  int64_t num_kv_heads;
  int64_t head_dim;
  int64_t value_dim;
  hodo_kv_type type;
  hodo_kv_room room;
  int64_t room_tokens; /* at first, at all, or in a page */
  hodo_key_state keys;
} hodo_kv_cache_options;

/* float32, turned keys, and a block that grows from 256 tokens on. */
hodo_kv_cache_options hodo_kv_cache_defaults(int64_t num_kv_heads, int64_t head_dim,
                                             int64_t value_dim);

/* Whether keys of such a spec can be moved: can_shift. */
hodo_status hodo_spec_can_shift(const char* spec_json);

/* The keys and values of one sequence and one layer: KvCache. Not to be changed from two threads at
 * once. What fails changes nothing. A cache keeps what it needs of its plans, which may be freed.
 */
typedef struct hodo_kv_cache hodo_kv_cache;

/* Free it with hodo_kv_cache_free(). */
hodo_status hodo_kv_cache_create(const hodo_kv_cache_options* options, const hodo_plan* plan,
                                 hodo_kv_cache** cache);
void hodo_kv_cache_free(hodo_kv_cache* cache);

/* k->data and v->data are only read. */
hodo_status hodo_kv_cache_append(hodo_kv_cache* cache, const hodo_heads* k, const hodo_heads* v,
                                 const hodo_positions* positions, hodo_executor* executor);

/* shift_keys: of tokens [begin, end), and of those that stand at positions first to last. */
hodo_status hodo_kv_cache_shift_tokens(hodo_kv_cache* cache, int64_t begin, int64_t end,
                                       int64_t distance);
hodo_status hodo_kv_cache_shift_positions(hodo_kv_cache* cache, int64_t first, int64_t last,
                                          int64_t distance);
/* reschedule_keys. */
hodo_status hodo_kv_cache_reschedule(hodo_kv_cache* cache, const hodo_plan* plan);
hodo_status hodo_kv_cache_settle(hodo_kv_cache* cache, hodo_executor* executor);

/* Tokens [begin, end), in the order in which they came. */
typedef struct hodo_token_range {
  int64_t begin;
  int64_t end;
} hodo_token_range;

hodo_status hodo_kv_cache_keep(hodo_kv_cache* cache, const hodo_token_range* ranges, size_t count);
hodo_status hodo_kv_cache_drop(hodo_kv_cache* cache, int64_t begin, int64_t end);
hodo_status hodo_kv_cache_keep_sinks_and_window(hodo_kv_cache* cache, int64_t sinks,
                                                int64_t window);
hodo_status hodo_kv_cache_truncate(hodo_kv_cache* cache, int64_t length);
hodo_status hodo_kv_cache_clear(hodo_kv_cache* cache);

/* Of a cache; 0 for NULL. */
int64_t hodo_kv_cache_tokens(const hodo_kv_cache* cache);
int64_t hodo_kv_cache_num_axes(const hodo_kv_cache* cache);
int64_t hodo_kv_cache_next_position(const hodo_kv_cache* cache);
int64_t hodo_kv_cache_pending(const hodo_kv_cache* cache);
/* [tokens, num_axes], until the cache changes; NULL for NULL and for an empty cache. */
const int64_t* hodo_kv_cache_positions(const hodo_kv_cache* cache);

/* KvMemory, in bytes. */
typedef struct hodo_kv_memory {
  int64_t allocated;
  int64_t used;
  int64_t bookkeeping;
} hodo_kv_memory;

hodo_kv_memory hodo_kv_cache_memory(const hodo_kv_cache* cache);

/* The memory itself, until the cache changes; to be read only. */
hodo_status hodo_kv_cache_stored_keys(const hodo_kv_cache* cache, hodo_heads* heads);
hodo_status hodo_kv_cache_stored_values(const hodo_kv_cache* cache, hodo_heads* heads);

/* Tokens [begin, end) written to out->data. */
hodo_status hodo_kv_cache_read_keys(const hodo_kv_cache* cache, int64_t begin, int64_t end,
                                    const hodo_heads* out);
hodo_status hodo_kv_cache_read_values(const hodo_kv_cache* cache, int64_t begin, int64_t end,
                                      const hodo_heads* out);

/* attention over a cache. options->key_positions must be NULL; options->keys does not count. */
hodo_status hodo_kv_cache_attention(const hodo_plan* plan, const hodo_heads* q,
                                    const hodo_kv_cache* cache, const hodo_heads* out,
                                    const hodo_attention_options* options, hodo_executor* executor);

/* ---- position ids: position/position_ids.h and position/grid_ids.h ---- */

/* ids is [batch, length]. */
hodo_status hodo_ids_from_starts(const int64_t* starts, size_t batch, int64_t length, int64_t* ids);
/* mask and ids are [batch, length], next is [batch]. */
hodo_status hodo_ids_from_mask(const uint8_t* mask, size_t batch, int64_t length, int64_t* ids,
                               int64_t* next);
/* ids and segments have cu_seqlens[count - 1] values. */
hodo_status hodo_ids_packed(const int64_t* cu_seqlens, size_t count, int64_t* ids,
                            int64_t* segments);
/* segments and ids have `count` values. */
hodo_status hodo_ids_from_segments(const int64_t* segments, size_t count, int64_t* ids);
/* ids is [q_len]. */
hodo_status hodo_ids_aligned_to_end(int64_t q_len, int64_t k_len, int64_t* ids);
/* parents and ids have `count` values. */
hodo_status hodo_ids_draft_tree(const int64_t* parents, size_t count, int64_t base, int64_t* ids);

typedef enum hodo_split HODO_ENUM_TYPE {
  HODO_SPLIT_CONTIGUOUS = 0,
  HODO_SPLIT_ZIGZAG = 1
} hodo_split;

/* tokens, ids and segments have cu_seqlens[count - 1] / ranks values. */
hodo_status hodo_ids_shard(const int64_t* cu_seqlens, size_t count, int64_t ranks, int64_t rank,
                           hodo_split split, int64_t* tokens, int64_t* ids, int64_t* segments);

typedef enum hodo_part_kind HODO_ENUM_TYPE {
  HODO_TEXT = 0,
  HODO_IMAGE = 1,
  HODO_VIDEO = 2
} hodo_part_kind;

/* A part of a sequence: `tokens` of text, or a grid of patches before merging. */
typedef struct hodo_mrope_part {
  hodo_part_kind kind;
  int64_t tokens;
  int64_t frames;
  int64_t height;
  int64_t width;
  double seconds_per_grid; /* of a video; 0 where it is not said */
} hodo_mrope_part;

typedef enum hodo_advance HODO_ENUM_TYPE { HODO_PAST_LARGEST = 0, HODO_PAST_GRID = 1 } hodo_advance;

typedef struct hodo_mrope_rule {
  int64_t spatial_merge_size;
  double tokens_per_second; /* 0 where the family has none */
  hodo_advance advance;
} hodo_mrope_rule;

/* Writes the number of tokens to *tokens and the position after the last to *next. ids is
 * [3, *tokens] with room for `capacity` values; NULL asks for the number only. */
hodo_status hodo_ids_mrope(const hodo_mrope_part* parts, size_t count, const hodo_mrope_rule* rule,
                           int64_t* ids, size_t capacity, int64_t* tokens, int64_t* next);

typedef enum hodo_patch_order HODO_ENUM_TYPE {
  HODO_ROW_MAJOR = 0,
  HODO_MERGE_BLOCKS = 1
} hodo_patch_order;

/* ids is [2, frames * height * width]. */
hodo_status hodo_ids_patches(int64_t frames, int64_t height, int64_t width, hodo_patch_order order,
                             int64_t merge, int64_t* ids);

#ifdef __cplusplus
}
#endif
