/* SPDX-License-Identifier: MIT */

/*
 * The table of changes, in the order of what they usually cost (closed-forms.md 11): a row each,
 * with what it sets, when it applies and why it saves. A row without values does not apply, and
 * says why.
 */

#include "plan/advise_space.h"

#include <string.h>

/* ---- what is there already ---- */

static const char *optimizer_of(const advice_facts *facts)
{
    const char *name = facts->base.training.optimizer;
    return name != NULL ? name : "adamw";
}

static bool has_optimizer(const advice_facts *facts, const char *name)
{
    return strcmp(optimizer_of(facts), name) == 0;
}

typedef enum base_policy { POLICY_NONE, POLICY_SELECTIVE, POLICY_OTHER, POLICY_BLOCK } base_policy;

static base_policy policy_of(const advice_facts *facts)
{
    const char *text = facts->base.training.checkpoint;
    if (text == NULL || strcmp(text, "none") == 0)
        return POLICY_NONE;
    if (strcmp(text, "selective") == 0)
        return POLICY_SELECTIVE;
    return strcmp(text, "block") == 0 || strcmp(text, "blocks") == 0 ? POLICY_BLOCK : POLICY_OTHER;
}

static bool is_pipeline(const advice_facts *facts)
{
    return facts->base.memory.parallel.pipeline > 1 || facts->base.memory.pipeline.microbatches > 1;
}

static uint32_t one(change_query *q)
{
    q->values[0] = 1;
    return 1;
}

static uint32_t none(change_query *q, const char *why)
{
    q->why = why;
    return 0;
}

/* Positions are cut into no more parts than this: a few tokens at a time keep no device busy. */
enum { MOST_RUNS = 256 };

/* Powers of two that divide `size`; of a batch also the whole of it, which leaves one sequence. */
static uint32_t halvings(lin_role role, int64_t size, int64_t *values)
{
    const int64_t most = role == LIN_ROLE_BATCH || size < MOST_RUNS ? size : MOST_RUNS;
    uint32_t count = 0;
    int64_t parts = 2;
    for (; parts <= most && size % parts == 0 && count + 1 < MOST_VALUES; parts *= 2)
        values[count++] = parts;
    if (role == LIN_ROLE_BATCH && size > 1 && parts / 2 != size)
        values[count++] = size;
    return count;
}

/* ---- what is computed ---- */

static uint32_t find_attention(change_query *q)
{
    if (q->facts->fused < 0)
        return none(q, "the model has no generic `Fused` to choose by");
    return q->facts->fused == 0 ? one(q) : none(q, "attention is fused already");
}

static void apply_attention(const change_setting *a)
{
    advice_variant *v = a->v;
    v->trace.binds = a->facts->fused_binds;
    v->trace.bind_count = a->facts->base.trace.bind_count + 1;
    lin_advise_option(v, "--bind Fused=%lld", (long long)a->option->value);
}

static uint32_t find_loss(change_query *q)
{
    return q->facts->base.training.loss != LIN_LOSS_CHUNKED
               ? one(q)
               : none(q, "the loss is chunked already");
}

static void apply_loss(const change_setting *a)
{
    advice_variant *v = a->v;
    v->trace.loss = v->training.loss = LIN_LOSS_CHUNKED;
    lin_advise_option(v, "--loss chunked");
}

static uint32_t find_numerics(change_query *q)
{
    return q->facts->base.trace.numerics != LIN_NUMERICS_FAST
               ? one(q)
               : none(q, "every implementation is allowed already");
}

static void apply_numerics(const change_setting *a)
{
    advice_variant *v = a->v;
    v->trace.numerics = LIN_NUMERICS_FAST;
    lin_advise_option(v, "--numerics fast");
}

static uint32_t find_dtype(change_query *q)
{
    return strcmp(q->facts->dtype, "f32") == 0 ? one(q) : none(q, "the model is not in f32");
}

/* What is updated stays f32. */
static void apply_dtype(const change_setting *a)
{
    advice_variant *v = a->v;
    v->trace.has_dtype = true;
    v->trace.dtype = LIN_DTYPE_BF16;
    lin_advise_option(v, "--dtype bf16");
    if (!v->is_training || v->training.has_master_dtype)
        return;
    v->training.has_master_dtype = true;
    v->training.master_dtype = LIN_DTYPE_F32;
    lin_advise_option(v, "--master-dtype f32");
}

/* ---- the optimizer ---- */

static uint32_t find_fused_optimizer(change_query *q)
{
    return has_optimizer(q->facts, "adamw-foreach")
               ? one(q)
               : none(q, "the optimizer is not `adamw-foreach`");
}

static void apply_fused_optimizer(const change_setting *a)
{
    advice_variant *v = a->v;
    v->training.optimizer = "adamw";
    lin_advise_option(v, "--optimizer adamw");
}

static bool is_adam(const advice_facts *facts)
{
    return has_optimizer(facts, "adam") || has_optimizer(facts, "adamw") ||
           has_optimizer(facts, "adamw-foreach");
}

static uint32_t find_8bit(change_query *q)
{
    return is_adam(q->facts) ? one(q) : none(q, "the optimizer is not an Adam of full size");
}

static void apply_8bit(const change_setting *a)
{
    advice_variant *v = a->v;
    v->training.optimizer = "adamw-8bit";
    lin_advise_option(v, "--optimizer adamw-8bit");
}

static uint32_t find_paged(change_query *q)
{
    return is_adam(q->facts) || has_optimizer(q->facts, "adamw-8bit")
               ? one(q)
               : none(q, "the optimizer is not an Adam that could be paged");
}

static void apply_paged(const change_setting *a)
{
    advice_variant *v = a->v;
    v->training.optimizer = "paged-adamw-8bit";
    lin_advise_option(v, "--optimizer paged-adamw-8bit");
}

/* ---- parts of the batch ---- */

static const char *option_of(lin_role role)
{
    return role == LIN_ROLE_BATCH ? "batch" : "seq-len";
}

static int64_t cut_size(const advice_facts *facts)
{
    const int64_t microbatches = facts->base.memory.pipeline.microbatches;
    const int64_t size = facts->role_value[facts->cut];
    return is_pipeline(facts) && microbatches > 1 ? size / microbatches : size;
}

static uint32_t find_microbatch(change_query *q)
{
    if (q->facts->cut != (lin_role)q->given)
        return none(q, q->given == LIN_ROLE_BATCH
                           ? "micro-batches do not cut a batch here"
                           : "micro-batches do not cut a packed context here");
    if (q->facts->base.memory.pipeline.schedule_text != NULL)
        return none(q, "the schedule that was read says how many micro-batches there are");
    const uint32_t count = halvings(q->facts->cut, cut_size(q->facts), q->values);
    return count > 0 ? count : none(q, "a micro-batch cannot be smaller than it is");
}

static void apply_microbatch(const change_setting *a)
{
    advice_variant *v = a->v;
    if (is_pipeline(a->facts)) {
        const int64_t before = a->facts->base.memory.pipeline.microbatches;
        v->memory.pipeline.microbatches = (before > 1 ? before : 1) * a->option->value;
        lin_advise_option(v, "--microbatches %lld", (long long)v->memory.pipeline.microbatches);
        return;
    }
    const int64_t passes = a->facts->base.training.accumulation;
    const int64_t size = a->facts->role_value[a->facts->cut] / a->option->value;
    v->training.accumulation = (passes > 1 ? passes : 1) * a->option->value;
    v->trace.role_value[a->facts->cut] = v->size[a->facts->cut] = size;
    lin_advise_option(v, "--%s %lld --grad-accumulation %lld", option_of(a->facts->cut),
                      (long long)size, (long long)v->training.accumulation);
}

static uint32_t find_rows(change_query *q)
{
    if (q->facts->cut != LIN_ROLE_BATCH)
        return none(q, "the first axis of the first input is not a batch that was given");
    const uint32_t count =
        halvings(LIN_ROLE_BATCH, q->facts->role_value[LIN_ROLE_BATCH], q->values);
    return count > 0 ? count : none(q, "there is one sequence");
}

static void apply_rows(const change_setting *a)
{
    advice_variant *v = a->v;
    const int64_t size = a->facts->role_value[LIN_ROLE_BATCH] / a->option->value;
    v->trace.role_value[LIN_ROLE_BATCH] = v->size[LIN_ROLE_BATCH] = size;
    lin_advise_option(v, "--batch %lld", (long long)size);
}

static uint32_t find_chunks(change_query *q)
{
    if (!q->facts->continues || !q->facts->has_caches)
        return none(q, "the entry does not go on from what caches hold");
    const uint32_t count =
        halvings(LIN_ROLE_CONTEXT, q->facts->role_value[LIN_ROLE_CONTEXT], q->values);
    return count > 0 ? count : none(q, "the entry has one position");
}

static void apply_chunks(const change_setting *a)
{
    advice_variant *v = a->v;
    const int64_t size = a->facts->role_value[LIN_ROLE_CONTEXT] / a->option->value;
    const int64_t cache = a->facts->role_value[LIN_ROLE_CACHE];
    v->trace.role_value[LIN_ROLE_CONTEXT] = v->size[LIN_ROLE_CONTEXT] = size;
    lin_advise_option(v, "--seq-len %lld", (long long)size);
    if (!a->facts->cache_follows || cache < 1)
        return;
    v->trace.role_given[LIN_ROLE_CACHE] = true;
    v->trace.role_value[LIN_ROLE_CACHE] = v->size[LIN_ROLE_CACHE] = cache;
    lin_advise_option(v, "--cache-len %lld", (long long)cache);
}

/* ---- over devices ---- */

static uint32_t find_sequence(change_query *q)
{
    if (q->facts->base.memory.parallel.tensor <= 1)
        return none(q, "there are no tensor-parallel processes");
    if (q->facts->base.memory.parallel.sequence)
        return none(q, "positions are split already");
    return q->facts->has_sequence ? one(q) : none(q, "the model has no generic `SequenceShards`");
}

static void apply_sequence(const change_setting *a)
{
    advice_variant *v = a->v;
    v->trace.sequence_parallel = v->memory.parallel.sequence = true;
    lin_advise_option(v, "--sequence-parallel");
}

static uint32_t find_sharding(change_query *q)
{
    const lin_parallel *p = &q->facts->base.memory.parallel;
    const int32_t stage = p->shards > 1 ? p->zero : 0;
    if (p->shards * p->replicas == 1)
        return none(q, "there is one data-parallel process: it takes more devices");
    if (stage > q->given || (stage == q->given && p->replicas == 1))
        return none(q, "as much is split already");
    q->values[0] = q->given;
    return 1;
}

/* What was updated in the model's dtype still is: without masters a sharded step would update f32.
 */
static void keep_updated_dtype(const advice_facts *facts, advice_variant *v)
{
    lin_dtype own;
    if (v->training.has_master_dtype || facts->base.memory.parallel.shards > 1 ||
        !lin_dtype_find(facts->dtype, strlen(facts->dtype), &own))
        return;
    v->training.has_master_dtype = true;
    v->training.master_dtype = own;
    lin_advise_option(v, "--master-dtype %s", facts->dtype);
}

static void apply_sharding(const change_setting *a)
{
    advice_variant *v = a->v;
    lin_parallel *p = &v->memory.parallel;
    p->shards *= p->replicas;
    p->replicas = 1;
    p->zero = (int32_t)a->option->value;
    lin_advise_option(v, "--shards %lld --zero %lld", (long long)p->shards,
                      (long long)a->option->value);
    if (p->prefetch == 0) { /* without, gathers and sums hide under nothing */
        p->prefetch = 1;
        lin_advise_option(v, "--prefetch 1");
    }
    if (a->facts->replicas_given)
        lin_advise_option(v, "--replicas 1");
    keep_updated_dtype(a->facts, v);
}

static uint32_t find_tensor(change_query *q)
{
    int64_t replicas = q->facts->base.memory.parallel.replicas;
    uint32_t count = 0;
    for (int64_t degree = 2; replicas % 2 == 0; degree *= 2, replicas /= 2)
        q->values[count++] = degree;
    return count > 0 ? count
                     : none(q, "there are no replicas to make of it: it takes more devices");
}

static void apply_tensor(const change_setting *a)
{
    advice_variant *v = a->v;
    lin_parallel *p = &v->memory.parallel;
    p->tensor *= a->option->value;
    p->replicas /= a->option->value;
    v->trace.processes = p->tensor;
    lin_advise_option(v, "--tensor-parallel %lld", (long long)p->tensor);
    if (a->facts->replicas_given)
        lin_advise_option(v, "--replicas %lld", (long long)p->replicas);
}

/* ---- recomputation ---- */

static void apply_policy(const change_setting *a)
{
    advice_variant *v = a->v;
    v->training.checkpoint = a->option->text;
    lin_advise_option(
        v, strpbrk(a->option->text, "?[") != NULL ? "--checkpoint '%s'" : "--checkpoint %s",
        a->option->text);
}

static uint32_t find_selective(change_query *q)
{
    return policy_of(q->facts) == POLICY_NONE ? one(q) : none(q, "something is recomputed already");
}

/* A quarter of the blocks, a half, three quarters. */
static uint32_t find_some(change_query *q)
{
    if (policy_of(q->facts) != POLICY_NONE)
        return none(q, "something is recomputed already");
    if (q->facts->layers < 4)
        return none(q, "there are too few blocks");
    for (int64_t quarters = 1; quarters < 4; quarters++)
        q->values[quarters - 1] = q->facts->layers * quarters / 4;
    return 3;
}

static const char *some_text(const advice_facts *facts, int64_t value, lin_arena *arena)
{
    char globs[256];
    lin_advise_first_elements(facts->array, value, globs, sizeof(globs));
    return lin_arena_copy(arena, globs);
}

static uint32_t find_block(change_query *q)
{
    if (q->facts->layers == 0)
        return none(q, "the model has no array of blocks");
    return policy_of(q->facts) != POLICY_BLOCK ? one(q)
                                               : none(q, "every block is recomputed already");
}

static uint32_t find_every(change_query *q)
{
    uint32_t count = 0;
    if (policy_of(q->facts) == POLICY_OTHER)
        return none(q, "something else is recomputed");
    for (int64_t stride = 2; stride <= 4 && 2 * stride <= q->facts->layers; stride *= 2)
        q->values[count++] = stride;
    return count > 0 ? count : none(q, "there are too few blocks");
}

static const char *every_text(const advice_facts *facts, int64_t value, lin_arena *arena)
{
    (void)facts;
    return lin_arena_format(arena, "every:%lld", (long long)value);
}

static const char *selective_text(const advice_facts *facts, int64_t value, lin_arena *arena)
{
    (void)facts;
    (void)value;
    (void)arena;
    return "selective";
}

static const char *block_text(const advice_facts *facts, int64_t value, lin_arena *arena)
{
    (void)facts;
    (void)value;
    (void)arena;
    return "block";
}

/* ---- caches ---- */

static uint32_t find_cache_dtype(change_query *q)
{
    const lin_kv_format *keys = q->facts->base.memory.kv_keys, *v = q->facts->base.memory.kv_values;
    if (!q->facts->has_caches)
        return none(q, "the entry has no key/value caches");
    return (keys == NULL || keys->block_bytes > keys->block_elements) &&
                   (v == NULL || v->block_bytes > v->block_elements)
               ? one(q)
               : none(q, "caches take about a byte a value already");
}

static void apply_cache_dtype(const change_setting *a)
{
    advice_variant *v = a->v;
    v->memory.kv_keys = v->memory.kv_values = lin_kv_format_find("fp8", 3);
    lin_advise_option(v, "--kv-dtype fp8");
}

enum { SMALL_CACHE_BLOCK = 16 };

static uint32_t find_cache_block(change_query *q)
{
    if (q->facts->base.memory.kv_block_size <= SMALL_CACHE_BLOCK)
        return none(q, q->facts->base.memory.kv_block_size == 0 ? "caches are not paged"
                                                                : "blocks are small already");
    q->values[0] = SMALL_CACHE_BLOCK;
    return 1;
}

static void apply_cache_block(const change_setting *a)
{
    advice_variant *v = a->v;
    v->memory.kv_block_size = a->option->value;
    lin_advise_option(v, "--kv-block-size %lld", (long long)a->option->value);
}

/* ---- adapters ---- */

enum { LORA_RANK = 16 };

static uint32_t find_lora(change_query *q)
{
    if (q->facts->base.training.lora_rank > 0)
        return none(q, "adapters are what is trained already");
    if (q->facts->base.training.trainable_count > 0)
        return none(q, "what is trained is chosen by pattern");
    q->values[0] = LORA_RANK;
    return 1;
}

static void apply_lora(const change_setting *a)
{
    advice_variant *v = a->v;
    v->training.lora_rank = a->option->value;
    lin_advise_option(v, "--lora %lld", (long long)a->option->value);
}

/* ---- the table ---- */

#define NONE 0
#define LENGTHS LIN_EFFECT_LENGTHS
#define NUMERICS LIN_EFFECT_NUMERICS
#define TASK LIN_EFFECT_TASK

/* clang-format off */
static const change_row rows[] = {
    { "fused attention", KIND_ATTENTION, NONE, FOR_BOTH, false, 0, find_attention, apply_attention, NULL,
      "the scores of every query with every key are never stored (Dao et al., FlashAttention, 2022)", "" },
    { "chunked loss", KIND_LOSS, NONE, FOR_TRAINING, false, 0, find_loss, apply_loss, NULL,
      "logits exist for some rows at a time, in f32 too (Hsu et al., Liger Kernel, 2024)", "" },
    { "fused optimizer", KIND_OPTIMIZER, NONE, FOR_TRAINING, false, 0, find_fused_optimizer, apply_fused_optimizer, NULL,
      "foreach makes a list of denominators as large as the parameters, a fused kernel none", "" },
    { "fused implementations", KIND_NUMERICS, NUMERICS, FOR_BOTH, false, 0, find_numerics, apply_numerics, NULL,
      "norms, activations and attention as one kernel each keep fewer tensors", "sums are rounded differently" },
    { "smaller cache blocks: #", KIND_CACHE_BLOCK, NONE, FOR_INFERENCE, false, 0, find_cache_block, apply_cache_block, NULL,
      "the last block of each sequence is half empty on average", "" },
    { "micro-batch: 1/#", KIND_SPLIT, NONE, FOR_TRAINING, false, LIN_ROLE_BATCH, find_microbatch, apply_microbatch, NULL,
      "activations are those of one micro-batch; the batch of the step stays", "" },
    { "packed micro-batch: 1/#", KIND_SPLIT, LENGTHS, FOR_TRAINING, false, LIN_ROLE_CONTEXT, find_microbatch, apply_microbatch, NULL,
      "activations are those of one micro-batch; the tokens of the step stay", "no sequence may be longer than a micro-batch" },
    { "sequence parallel", KIND_SEQUENCE, NONE, FOR_TRAINING, false, 0, find_sequence, apply_sequence, NULL,
      "what lies between tensor-parallel products is split too (Korthikanti et al., 2022)", "" },
    { "tensor parallel: x #", KIND_TENSOR, NONE, FOR_INFERENCE, false, 0, find_tensor, apply_tensor, NULL,
      "weights and caches are split over processes that were replicas", "fewer replicas" },
    { "ZeRO-1", KIND_SHARDING, NONE, FOR_TRAINING, false, 1, find_sharding, apply_sharding, NULL,
      "each replica keeps its part of the optimizer's states (Rajbhandari et al., ZeRO, 2020)", "" },
    { "ZeRO-2", KIND_SHARDING, NONE, FOR_TRAINING, false, 2, find_sharding, apply_sharding, NULL,
      "and of the gradients", "" },
    { "selective recompute", KIND_RECOMPUTE, NONE, FOR_TRAINING, false, 0, find_selective, apply_policy, selective_text,
      "the attention cores are computed again in backward (Korthikanti et al., 2022)", "" },
    { "ZeRO-3", KIND_SHARDING, NONE, FOR_TRAINING, false, 3, find_sharding, apply_sharding, NULL,
      "each replica keeps its part of the weights too, and gathers a block's when it runs", "" },
    { "batch: 1/#", KIND_SPLIT, NONE, FOR_INFERENCE, false, 0, find_rows, apply_rows, NULL,
      "caches and activations are those of fewer sequences", "fewer sequences at a time" },
    { "chunked prefill: # chunks", KIND_SPLIT, NONE, FOR_INFERENCE, false, 0, find_chunks, apply_chunks, NULL,
      "activations are those of one chunk; the caches carry what came before", "" },
    { "partial recompute: # of @ blocks", KIND_RECOMPUTE, NONE, FOR_TRAINING, false, 0, find_some, apply_policy, some_text,
      "those blocks keep their input alone and run again in backward", "" },
    { "full recompute", KIND_RECOMPUTE, NONE, FOR_TRAINING, false, 0, find_block, apply_policy, block_text,
      "every block keeps its input alone and runs again in backward (Chen et al., 2016)", "" },
    { "grouped recompute: # blocks at a time", KIND_RECOMPUTE, NONE, FOR_TRAINING, false, 0, find_every, apply_policy, every_text,
      "fewer inputs are kept, and more blocks are whole at once (Chen et al., 2016)", "" },
    { "fp8 caches", KIND_CACHE, NUMERICS, FOR_INFERENCE, false, 0, find_cache_dtype, apply_cache_dtype, NULL,
      "a byte a value in place of two", "keys and values are rounded to fp8; their faster reading is not in the time" },
    { "8-bit optimizer states", KIND_OPTIMIZER, NUMERICS, FOR_TRAINING, false, 0, find_8bit, apply_8bit, NULL,
      "2.03 bytes a parameter for both states (Dettmers et al., 2022)", "states are quantized in blocks of 256" },
    { "bf16 in place of f32", KIND_DTYPE, NUMERICS, FOR_BOTH, false, 0, find_dtype, apply_dtype, NULL,
      "weights and activations take half the bytes", "products and what is kept are bf16" },
    { "paged 8-bit optimizer states", KIND_OPTIMIZER, NUMERICS, FOR_TRAINING, true, 0, find_paged, apply_paged, NULL,
      "large states are in managed memory, which the host holds when the device is full", "states are quantized in blocks of 256" },
    { "LoRA: rank #", KIND_LORA, TASK, FOR_TRAINING, false, 0, find_lora, apply_lora, NULL,
      "gradients and states are those of adapters (Hu et al., 2021)", "the weights stay as they are, adapters are trained" },
};
/* clang-format on */

#undef NONE
#undef LENGTHS
#undef NUMERICS
#undef TASK

uint32_t lin_advise_row_count(void)
{
    return ARRAY_LEN(rows);
}

const change_row *lin_advise_row(uint32_t index)
{
    return &rows[index];
}
