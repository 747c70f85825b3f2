/* SPDX-License-Identifier: MIT */

/*
 * A graph's steps as calls. Each step that makes one gets a row of tracing.md 15.4 and the places
 * of the sizes that the row wants; equal calls of all layers become one shape, so that pricing
 * costs the distinct ones (some tens) and only the clocks walk all of them. Expressions are
 * compiled once.
 */

#include "cost/calls.h"

#include <string.h>

enum { NO_SLOT = 0, FIRST_HASH = 64 };

typedef struct shape_builder {
    lin_cost *cost;
    const lin_graph *graph;
    lin_arena *arena, *scratch;
    step_marks marks;
    const uint32_t *experts; /* by step: flags; NULL: no mixture */
    call_slot *slots;        /* by expression; NO_SLOT: none yet */
    lin_expr slot_limit;
    LIN_LIST(lin_expr) wanted;
    LIN_LIST(call_shape) shapes;
    LIN_LIST(call_entry) entries;
    LIN_LIST(parameter_slots) parameters;
    LIN_LIST(uint32_t) parameter_objects;
    uint32_t *table; /* of shapes by hash, index + 1 */
    uint32_t table_size;
    uint32_t *next_member; /* by step: the following member of its joined product, or NOT_JOINED */
} shape_builder;

/* ---- slots ---- */

static void grow_slots(shape_builder *b, lin_expr e)
{
    lin_expr limit = b->slot_limit < 256 ? 256 : b->slot_limit;
    while (limit <= e)
        limit *= 2;
    call_slot *slots = LIN_NEW_ARRAY(b->scratch, call_slot, limit);
    if (b->slot_limit > 0)
        memcpy(slots, b->slots, b->slot_limit * sizeof(*slots));
    b->slots = slots;
    b->slot_limit = limit;
}

/* An expression that does not fit counts as nothing: only operation counts can be such. */
static call_slot slot_of(shape_builder *b, lin_expr e)
{
    if (e == LIN_EXPR_INVALID)
        return NO_SLOT;
    if (e >= b->slot_limit)
        grow_slots(b, e);
    if (b->slots[e] == NO_SLOT) {
        LIN_PUSH(b->arena, &b->wanted, e);
        b->slots[e] = b->wanted.count;
    }
    return b->slots[e];
}

static const lin_object *object_at(const shape_builder *b, uint32_t object)
{
    return &b->graph->objects.items[object];
}

static operand_slots operand_of(shape_builder *b, uint32_t object)
{
    const lin_object *o = object_at(b, object);
    return (operand_slots){
        .bytes = slot_of(b, o->bytes),
        .elements = slot_of(b, o->elements),
        .last = o->rank > 0 ? slot_of(b, o->shape[o->rank - 1]) : NO_SLOT,
        .before_last = o->rank > 1 ? slot_of(b, o->shape[o->rank - 2]) : NO_SLOT,
        .element_size = (uint32_t)lin_dtype_bytes(o->dtype),
    };
}

static tensor_slots tensor_of(shape_builder *b, uint32_t object)
{
    const lin_object *o = object_at(b, object);
    return (tensor_slots){
        .bytes = slot_of(b, o->bytes),
        .elements = slot_of(b, o->elements),
        .owner_bytes = slot_of(b, object_at(b, o->owner)->bytes),
        .element_size = (uint32_t)lin_dtype_bytes(o->dtype),
    };
}

static bool owns(const shape_builder *b, uint32_t object)
{
    return object_at(b, object)->owner == object;
}

/* ---- rows ---- */

typedef struct native_row {
    const char *name; /* up to the first '(' */
    call_row row;
    uint32_t flags;
} native_row;

/* clang-format off */
static const native_row native_rows[] = {
    { "torch.nn.functional.linear",                       ROW_PRODUCT,    0 },
    { "torch.matmul",                                     ROW_PRODUCT,    0 },
    { "torch.nn.functional.scaled_dot_product_attention", ROW_ATTENTION,  0 },
    { "flash_attn.flash_attn_func",                       ROW_ATTENTION,  0 },
    { "flash_mla.flash_mla_with_kvcache",                 ROW_ATTENTION,  0 },
    { "torch.distributed.shared",                         ROW_SHARED,     0 },
    { "torch.distributed.all_reduce",                     ROW_ALL_REDUCE, 0 },
    { "torch.distributed.all_gather",                     ROW_ALL_GATHER, 0 },
    { "torch.distributed.reduce_scatter",                 ROW_REDUCE_SCATTER, 0 },
    { "linnet.linear_cross_entropy",                      ROW_LOSS,       0 },
    { "linnet.split_cross_entropy",                       ROW_LOSS,       0 },
    { "linnet.linear_token_log_probs",                    ROW_LOSS,       CALL_LOG_PROBS },
    { "linnet.split_token_log_probs",                     ROW_LOSS,       CALL_LOG_PROBS },
    { "linnet.logits_cross_entropy",                      ROW_LOSS,       CALL_WHOLE_LOGITS },
    { "linnet.logits_cross_entropy_f32",                  ROW_LOSS,       CALL_WHOLE_LOGITS | CALL_F32_LOGITS },
    { "torch.nn.functional.embedding",                    ROW_EMBEDDING,  0 },
    { "torch.Tensor.index_copy",                          ROW_WRITE,      0 },
    { "torch.Tensor.index_put",                           ROW_WRITE,      CALL_INDEX_PUT },
    { "torch.rms_norm",                                   ROW_NORM,       0 },
    { "torch.nn.functional.layer_norm",                   ROW_NORM,       0 },
    { "torch.native_layer_norm",                          ROW_NORM,       CALL_WHOLE_NORM },
};
/* clang-format on */

static bool makes_storage(const shape_builder *b, const lin_step *step)
{
    for (uint32_t i = 0; i < step->output_count; i++)
        if (owns(b, step->outputs[i]))
            return true;
    return false;
}

static call_row row_of(const shape_builder *b, const lin_step *step, uint32_t *out_flags)
{
    *out_flags = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(native_rows); i++) {
        if (!lin_cost_is_native(step, native_rows[i].name) ||
            (native_rows[i].row == ROW_REDUCE_SCATTER && !(b->cost->settings.rules & LIN_RULE_SP)))
            continue;
        *out_flags = native_rows[i].flags;
        return native_rows[i].row;
    }
    return makes_storage(b, step) ? ROW_ELEMENTWISE : ROW_VIEW;
}

/* ---- what a row wants to know of its step ---- */

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static bool reads_strided(const shape_builder *b, const lin_step *step)
{
    for (uint32_t i = 0; i < step->input_count; i++)
        if (b->marks.strided[step->inputs[i]])
            return true;
    return false;
}

/* The mask is the first bool operand; causal_mask makes those that hide the future. */
static void describe_attention(shape_builder *b, const lin_step *step, call_head *head)
{
    if (!ends_with(step->implementation, "(input dtype)"))
        head->rate = LIN_RATE_F32;
    for (uint32_t i = 3; i < step->operand_count; i++) {
        const lin_object *mask = object_at(b, step->operands[i]);
        const lin_object *owner = object_at(b, mask->owner);
        if (mask->dtype != LIN_DTYPE_BOOL)
            continue;
        head->flags |= CALL_HAS_MASK;
        if (owner->producer != LIN_NO_STEP &&
            strcmp(b->graph->steps.items[owner->producer].label, "causal_mask") == 0)
            head->flags |= CALL_CAUSAL_MASK;
        head->operands[3] = operand_of(b, step->operands[i]);
        return;
    }
}

static void describe_comprehension(shape_builder *b, const lin_step *step, call_head *head)
{
    head->flags |= CALL_INDEXED;
    if (step->input_count + step->region_read_count != 2 || step->output_count != 1)
        return;
    head->flags |= CALL_TWO_READS;
    for (uint32_t i = 0; i < 2; i++)
        head->operands[i] = operand_of(
            b, i < step->input_count ? step->inputs[i] : step->region_reads[i - step->input_count]);
    head->operands[2] = operand_of(b, step->outputs[0]);
    head->rate = lin_rate_dtype_of(object_at(b, step->outputs[0])->dtype);
}

/* Of a native call: the operands by number. */
static void describe_native(shape_builder *b, const lin_step *step, call_head *head)
{
    for (uint32_t i = 0; i < CALL_OPERANDS && i < step->operand_count; i++)
        head->operands[i] = operand_of(b, step->operands[i]);
    if (step->operand_count > 0)
        head->rate = lin_rate_dtype_of(object_at(b, step->operands[0])->dtype);
    switch (head->row) {
    case ROW_PRODUCT:
        if (step->operand_count > 1 && object_at(b, step->operands[1])->rank > 2)
            head->flags |= lin_cost_is_native(step, "torch.matmul") ? CALL_BATCHED : 0;
        /* A matmul's weight is [in, out], a linear's [out, in]. */
        if (lin_cost_is_native(step, "torch.matmul")) {
            const call_slot out = head->operands[1].last;
            head->operands[1].last = head->operands[1].before_last;
            head->operands[1].before_last = out;
        }
        if (step->operand_count > 1) {
            head->flags |= b->marks.carries[step->operands[0]] ? 0 : CALL_FROZEN_INPUT;
            head->flags |= b->marks.carries[step->operands[1]] ? 0 : CALL_FROZEN_WEIGHT;
        }
        break;
    case ROW_ATTENTION:
        describe_attention(b, step, head);
        break;
    case ROW_WRITE:
        head->flags |= ends_with(step->implementation, "(tokens)") ? CALL_TOKENS : 0;
        break;
    case ROW_NORM:
        if (!(head->flags & CALL_WHOLE_NORM))
            head->flags |= step->input_count > 2 ? CALL_BIASED : 0;
        break;
    default:
        head->flags |= CALL_NATIVE;
        break;
    }
}

static void describe(shape_builder *b, uint32_t k, call_head *head)
{
    const lin_step *step = &b->graph->steps.items[k];
    uint32_t flags;
    memset(head, 0, sizeof(*head));
    head->row = row_of(b, step, &flags);
    head->rate = LIN_RATE_F32;
    head->flags = flags;
    if (step->implementation != NULL)
        describe_native(b, step, head);
    else if (strcmp(step->kind, "comprehension") == 0 && head->row == ROW_ELEMENTWISE)
        describe_comprehension(b, step, head);
    if (head->row == ROW_ELEMENTWISE) {
        head->flags |= reads_strided(b, step) ? CALL_STRIDED : 0;
        head->flags |= strcmp(step->kind, "cast") == 0 ? CALL_CAST : 0;
        head->flags |= strcmp(step->kind, "concat") == 0 ? CALL_CONCAT : 0;
    }
    head->flags |= b->marks.differentiable[k] ? 0 : CALL_NO_GRADIENT;
    head->flags |= b->experts != NULL ? b->experts[k] : 0;
}

/* ---- shapes ---- */

typedef LIN_LIST(member_slots) member_list;
typedef LIN_LIST(tensor_slots) tensor_list;

/* Joined products read their input once, and every weight. */
static void add_member(shape_builder *b, uint32_t k, member_list *members, tensor_list *reads,
                       tensor_list *writes)
{
    const lin_step *step = &b->graph->steps.items[k];
    const uint32_t weight = step->operand_count > 1 ? step->operands[1] : UINT32_MAX;
    const bool is_matmul = lin_cost_is_native(step, "torch.matmul");
    member_slots member = { slot_of(b, step->arithmetic), NO_SLOT };
    if (weight != UINT32_MAX) {
        const operand_slots w = operand_of(b, weight);
        member.out = is_matmul ? w.last : w.before_last;
    }
    LIN_PUSH(b->scratch, members, member);
    for (uint32_t i = members->count > 1 ? 1 : 0; i < step->input_count; i++)
        LIN_PUSH(b->scratch, reads, tensor_of(b, step->inputs[i]));
    for (uint32_t i = 0; i < step->output_count; i++)
        if (owns(b, step->outputs[i]))
            LIN_PUSH(b->scratch, writes, tensor_of(b, step->outputs[i]));
}

static uint32_t hash_words(uint32_t hash, const void *words, size_t bytes)
{
    const uint32_t *at = words;
    for (size_t i = 0; i < bytes / sizeof(*at); i++)
        hash = (hash ^ at[i]) * 16777619u;
    return hash;
}

static uint32_t hash_shape(const call_shape *s)
{
    uint32_t hash = hash_words(2166136261u, &s->head, sizeof(s->head));
    hash = hash_words(hash, s->members, s->head.member_count * sizeof(*s->members));
    hash = hash_words(hash, s->reads, s->head.read_count * sizeof(*s->reads));
    hash = hash_words(hash, s->writes, s->head.write_count * sizeof(*s->writes));
    return hash ^ (hash >> 15);
}

static bool equal_words(const void *a, const void *b, size_t bytes)
{
    return bytes == 0 || memcmp(a, b, bytes) == 0;
}

static bool is_equal(const call_shape *a, const call_shape *b)
{
    return memcmp(&a->head, &b->head, sizeof(a->head)) == 0 &&
           equal_words(a->members, b->members, a->head.member_count * sizeof(*a->members)) &&
           equal_words(a->reads, b->reads, a->head.read_count * sizeof(*a->reads)) &&
           equal_words(a->writes, b->writes, a->head.write_count * sizeof(*a->writes));
}

static void grow_table(shape_builder *b)
{
    const uint32_t size = b->table_size == 0 ? FIRST_HASH : b->table_size * 2;
    b->table = LIN_NEW_ARRAY(b->scratch, uint32_t, size);
    b->table_size = size;
    for (uint32_t i = 0; i < b->shapes.count; i++) {
        uint32_t at = hash_shape(&b->shapes.items[i]) & (size - 1);
        while (b->table[at] != 0)
            at = (at + 1) & (size - 1);
        b->table[at] = i + 1;
    }
}

static void *keep(lin_arena *arena, const void *items, size_t bytes)
{
    void *copy = lin_arena_alloc(arena, bytes);
    if (bytes > 0)
        memcpy(copy, items, bytes);
    return copy;
}

static uint32_t find_shape(shape_builder *b, call_shape shape)
{
    if (b->shapes.count * 2 >= b->table_size)
        grow_table(b);
    uint32_t at = hash_shape(&shape) & (b->table_size - 1);
    for (; b->table[at] != 0; at = (at + 1) & (b->table_size - 1))
        if (is_equal(&b->shapes.items[b->table[at] - 1], &shape))
            return b->table[at] - 1;
    const call_head *head = &shape.head;
    shape.members = keep(b->arena, shape.members, head->member_count * sizeof(*shape.members));
    shape.reads = keep(b->arena, shape.reads, head->read_count * sizeof(*shape.reads));
    shape.writes = keep(b->arena, shape.writes, head->write_count * sizeof(*shape.writes));
    LIN_PUSH(b->arena, &b->shapes, shape);
    b->table[at] = b->shapes.count;
    return b->shapes.count - 1;
}

static void add_step(shape_builder *b, uint32_t k, member_list *members, tensor_list *reads,
                     tensor_list *writes)
{
    call_shape shape;
    members->count = reads->count = writes->count = 0;
    for (uint32_t i = k; i != NOT_JOINED; i = b->next_member[i])
        add_member(b, i, members, reads, writes);
    describe(b, k, &shape.head);
    shape.head.member_count = members->count;
    shape.head.read_count = reads->count;
    shape.head.write_count = writes->count;
    shape.members = members->items;
    shape.reads = reads->items;
    shape.writes = writes->items;
    LIN_PUSH(b->arena, &b->entries, ((call_entry){ k, find_shape(b, shape) }));
}

/* Chains the members of each joined product, in step order. */
static void chain_members(shape_builder *b)
{
    const uint32_t steps = b->graph->steps.count;
    uint32_t *last = LIN_NEW_ARRAY(b->scratch, uint32_t, steps);
    b->next_member = LIN_NEW_ARRAY(b->scratch, uint32_t, steps);
    for (uint32_t k = 0; k < steps; k++) {
        const uint32_t leader = b->marks.leader[k];
        b->next_member[k] = NOT_JOINED;
        if (leader != NOT_JOINED && leader != k)
            b->next_member[last[leader]] = k;
        if (leader != NOT_JOINED)
            last[leader] = k;
    }
}

static void add_steps(shape_builder *b)
{
    member_list members = { NULL, 0, 0 };
    tensor_list reads = { NULL, 0, 0 }, writes = { NULL, 0, 0 };
    for (uint32_t k = 0; k < b->graph->steps.count; k++)
        if (!b->marks.silent[k])
            add_step(b, k, &members, &reads, &writes);
}

static void add_parameters(shape_builder *b)
{
    const lin_cost_settings *settings = &b->cost->settings;
    for (uint32_t i = 0; i < b->graph->objects.count; i++) {
        const lin_object *o = object_at(b, i);
        if (!o->persistent || o->category != LIN_CATEGORY_PARAMETERS || o->owner != i)
            continue;
        const parameter_slots parameter = {
            .bytes = slot_of(b, o->bytes),
            .elements = slot_of(b, o->elements),
            .trained =
                !(settings->rules & LIN_RULE_S13) || lin_cost_is_trained(settings, b->graph, i),
            .is_expert =
                settings->expert > 1 && (settings->rules & LIN_RULE_EP) && o->is_expert_part,
        };
        LIN_PUSH(b->arena, &b->parameters, parameter);
        LIN_PUSH(b->scratch, &b->parameter_objects, i);
    }
}

/* Tokens are the elements of the first input when it holds integers, else its first extent. */
static call_slot tokens_of(shape_builder *b)
{
    for (uint32_t i = 0; i < b->graph->objects.count; i++) {
        const lin_object *o = object_at(b, i);
        if (o->category != LIN_CATEGORY_INPUTS || o->producer != LIN_NO_STEP)
            continue;
        if (lin_dtype_class_of(o->dtype) == LIN_CLASS_INTEGER || o->rank == 0)
            return slot_of(b, o->elements);
        return slot_of(b, o->shape[0]);
    }
    return NO_SLOT;
}

/* Without the new values of states, which follow them. */
static void add_results(shape_builder *b)
{
    const uint32_t all = b->graph->outputs.count;
    const uint32_t count = b->graph->returned < all ? b->graph->returned : all;
    tensor_slots *results = LIN_NEW_ARRAY(b->arena, tensor_slots, count);
    for (uint32_t i = 0; i < count; i++)
        results[i] = tensor_of(b, b->graph->outputs.items[i]);
    b->cost->results = results;
    b->cost->result_count = count;
}

static void finish(shape_builder *b)
{
    lin_cost *cost = b->cost;
    cost->shapes = b->shapes.items;
    cost->shape_count = b->shapes.count;
    cost->entries = b->entries.items;
    cost->entry_count = b->entries.count;
    cost->parameters = b->parameters.items;
    cost->parameter_count = b->parameters.count;
    cost->wanted = b->wanted.items;
    cost->slot_count = b->wanted.count + 1;
    cost->program = lin_expr_compile(b->arena, b->graph->exprs, b->wanted.items, b->wanted.count);
    cost->integers = LIN_NEW_ARRAY(b->arena, int64_t, cost->slot_count);
    cost->scratch = LIN_NEW_ARRAY(b->arena, int64_t, lin_expr_program_scratch(cost->program));
    cost->values = LIN_NEW_ARRAY(b->arena, double, cost->slot_count);
    cost->prices = LIN_NEW_ARRAY(b->arena, call_price, cost->shape_count);
    lin_sharded_group(cost, b->parameters.items, b->parameter_objects.items, b->scratch);
}

static linnet_status build(lin_cost *cost, const lin_graph *graph, lin_arena *scratch,
                           linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0) {
        cost->arena.on_failure = NULL;
        return lin_fail_memory(err);
    }
    cost->arena.on_failure = scratch->on_failure = &out_of_memory;
    shape_builder builder = {
        .cost = cost, .graph = graph, .arena = &cost->arena, .scratch = scratch
    };
    lin_cost_mark_steps(graph, &cost->settings, scratch, &builder.marks);
    builder.experts = lin_cost_mark_experts(graph, scratch);
    chain_members(&builder);
    add_steps(&builder);
    add_parameters(&builder);
    cost->tokens = tokens_of(&builder);
    add_results(&builder);
    finish(&builder);
    cost->settings.trained = NULL;
    cost->arena.on_failure = NULL;
    return LINNET_OK;
}

linnet_status lin_cost_new(const lin_graph *graph, const lin_cost_settings *settings,
                           const lin_allocator *allocator, lin_cost **out, linnet_error *err)
{
    lin_arena scratch;
    lin_cost *cost = lin_alloc_zeroed(allocator, sizeof(*cost));
    if (cost == NULL)
        return lin_fail_memory(err);
    cost->allocator = *allocator;
    cost->settings = *settings;
    if (cost->settings.processes < 1)
        cost->settings.processes = 1;
    if (cost->settings.context < 1)
        cost->settings.context = 1;
    if (cost->settings.expert < 1)
        cost->settings.expert = 1;
    cost->graph = graph;
    lin_arena_init(&cost->arena, allocator);
    lin_arena_init(&scratch, allocator);
    linnet_status status = build(cost, graph, &scratch, err);
    lin_arena_free(&scratch);
    if (status == LINNET_OK && cost->settings.context > 1)
        status = lin_cost_check_context(graph, err);
    if (status == LINNET_OK)
        *out = cost;
    else
        lin_cost_free(cost);
    return status;
}

void lin_cost_free(lin_cost *cost)
{
    if (cost == NULL)
        return;
    const lin_allocator allocator = cost->allocator;
    lin_arena_free(&cost->arena);
    lin_release(&allocator, cost, sizeof(*cost));
}
