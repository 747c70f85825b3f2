/* SPDX-License-Identifier: MIT */

/*
 * Inference on a timeline of one moment a step (tracing.md 7, 8): what is there before the entry
 * runs lives through all of it, each transient storage during its lifetime, each workspace during
 * its step. Both peaks of a size then are one sweep.
 *
 *     graph peak      live peak, with the declared bytes of the caches
 *     allocator peak  peak with workspaces, caches as laid out, and the cuBLAS workspace
 *     expected peak   the same and the other runtime items. Caches stored smaller than declared
 * bring it below the graph peak: that is what storing them so is for
 */

#include "memory/prepared.h"

enum { MAX_FORMULA_SETS = 64 };

static bool is_owner(const lin_graph *graph, uint32_t object)
{
    return graph->objects.items[object].owner == object;
}

linnet_status lin_memory_fail_object(const lin_memory *memory, uint32_t object, linnet_error *err)
{
    /* Worded here, not through an arena: sizes are evaluated without allocating. */
    const lin_graph *graph = memory->traced.graph;
    const lin_object *o = &graph->objects.items[object];
    if (o->path != NULL || o->producer == LIN_NO_STEP)
        return lin_fail(err, LINNET_ERROR_OVERFLOW, "`%s` needs more than 2^63 - 1 bytes",
                        o->path != NULL ? o->path : o->name);
    const lin_step *step = &graph->steps.items[o->producer];
    const bool is_root = step->scope[0] == '\0';
    return lin_fail(err, LINNET_ERROR_OVERFLOW,
                    "the result of `%s` in %s%s%s needs more than 2^63 - 1 bytes", step->label,
                    is_root ? "" : "`", is_root ? "the root" : step->scope, is_root ? "" : "`");
}

linnet_status lin_memory_add_persistent(lin_memory *memory, lin_interval_list *intervals,
                                        int32_t length, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    lin_expr_table *exprs = graph->exprs;
    const lin_expr zero = lin_expr_int(exprs, 0);
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        memory->holdings[c] = (lin_holding){ .bytes = zero, .elements = zero };
    memory->caches.declared_bytes = zero;

    for (uint32_t i = 0; i < graph->objects.count; i++) {
        const lin_object *o = &graph->objects.items[i];
        if (!o->persistent || !is_owner(graph, i))
            continue;
        const bool is_cache = o->category == LIN_CATEGORY_KV_CACHE;
        const lin_expr bytes =
            is_cache ? lin_memory_lay_out_cache(memory, o) : lin_memory_stored_bytes(memory, i);
        if (bytes == LIN_EXPR_INVALID)
            return lin_memory_fail_object(memory, i, err);

        const lin_confidence confidence =
            !is_cache || bytes == o->bytes ? LIN_EXACT : LIN_BACKEND_MODELED;
        const lin_interval interval = { .end = length,
                                        .bytes = bytes,
                                        .category = o->category,
                                        .confidence = confidence,
                                        .object = i,
                                        .reason = LIN_REASON_STORED,
                                        .step = LIN_NO_STEP };
        LIN_PUSH(&memory->scratch, intervals, interval);

        lin_holding *holding = &memory->holdings[o->category];
        holding->tensors++;
        holding->bytes = lin_expr_add(exprs, holding->bytes, bytes);
        holding->elements = lin_expr_add(exprs, holding->elements, o->elements);
    }
    return LINNET_OK;
}

static linnet_status add_transient(lin_memory *memory, lin_interval_list *intervals, int32_t length,
                                   linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    for (uint32_t i = 0; i < memory->lifetime_count; i++) {
        const lin_lifetime *life = &memory->lifetimes[i];
        const lin_object *o = &graph->objects.items[life->object];
        if (o->bytes == LIN_EXPR_INVALID)
            return lin_memory_fail_object(memory, life->object, err);
        const int32_t end = life->end_step > life->first_step ? life->end_step : length;
        const lin_interval interval = { .first = life->first_step,
                                        .end = end,
                                        .bytes = o->bytes,
                                        .category = o->category,
                                        .object = life->object,
                                        .reason = LIN_REASON_LIVE,
                                        .step = o->producer };
        LIN_PUSH(&memory->scratch, intervals, interval);
    }
    return LINNET_OK;
}

static linnet_status add_workspaces(lin_memory *memory, lin_interval_list *intervals,
                                    linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    if (memory->settings.backend == LIN_BACKEND_GENERIC)
        return LINNET_OK; /* knows none; its one unknown item says so */
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const lin_step *step = &graph->steps.items[i];
        int64_t constant;
        if (step->workspace_confidence == LIN_UNKNOWN ||
            (lin_expr_is_int(graph->exprs, step->workspace, &constant) && constant == 0))
            continue;
        if (step->workspace == LIN_EXPR_INVALID)
            return lin_fail(err, LINNET_ERROR_OVERFLOW,
                            "the workspace of `%s` needs more than 2^63 - 1 bytes", step->label);
        const lin_interval interval = { .first = (int32_t)i,
                                        .end = (int32_t)i + 1,
                                        .bytes = step->workspace,
                                        .category = LIN_CATEGORY_WORKSPACE,
                                        .confidence = step->workspace_confidence,
                                        .object = UINT32_MAX,
                                        .is_workspace = true,
                                        .reason = LIN_REASON_WORKSPACE,
                                        .step = (int32_t)i };
        LIN_PUSH(&memory->scratch, intervals, interval);
    }
    return LINNET_OK;
}

static void compile_rest(lin_memory *memory)
{
    const lin_graph *graph = memory->traced.graph;
    lin_arena *arena = &memory->arena;
    uint32_t scratch = 1;
    if (memory->caches.differs) {
        const lin_expr wanted[2] = { memory->caches.declared_bytes,
                                     memory->holdings[LIN_CATEGORY_KV_CACHE].bytes };
        memory->cache_program = lin_expr_compile(arena, graph->exprs, wanted, 2);
        scratch = lin_expr_program_scratch(memory->cache_program);
    }

    memory->relation_programs = LIN_NEW_ARRAY(arena, lin_expr_program *, graph->relations.count);
    for (uint32_t i = 0; i < graph->relations.count; i++) {
        const lin_relation *relation = &graph->relations.items[i];
        const lin_expr wanted[2] = { relation->left, relation->right };
        memory->relation_programs[i] = lin_expr_compile(arena, graph->exprs, wanted, 2);
        const uint32_t needs = lin_expr_program_scratch(memory->relation_programs[i]);
        scratch = needs > scratch ? needs : scratch;
    }
    memory->program_scratch = LIN_NEW_ARRAY(arena, int64_t, scratch);

    const uint32_t symbols = lin_expr_symbol_count(graph->exprs);
    memory->symbols = LIN_NEW_ARRAY(arena, int64_t, symbols);
    for (uint32_t i = 0; i < symbols; i++)
        memory->symbols[i] = 1;
}

static void write_formulas(lin_memory *memory, lin_text *text)
{
    lin_graph *graph = memory->traced.graph;
    for (lin_category c = 0; c < LIN_CATEGORY_COUNT; c++)
        if (memory->holdings[c].tensors > 0)
            memory->holdings[c].formula =
                lin_memory_formula(&memory->arena, text, graph->exprs, memory->holdings[c].bytes);
}

void lin_memory_compile(lin_memory *memory, const lin_interval_list *intervals, int32_t length,
                        lin_text *text)
{
    memory->timeline = lin_timeline_new(&memory->arena, memory->traced.graph->exprs,
                                        intervals->items, intervals->count, length);
    memory->values = lin_timeline_values_new(&memory->arena, memory->timeline);
    compile_rest(memory);
    write_formulas(memory, text);
}

linnet_status lin_memory_prepare_inference(lin_memory *memory, lin_text *text, linnet_error *err)
{
    lin_graph *graph = memory->traced.graph;
    const int32_t length = graph->steps.count > 0 ? (int32_t)graph->steps.count : 1;
    lin_interval_list intervals = { NULL, 0, 0 };
    linnet_status status;

    memory->lifetimes = lin_graph_lifetimes(&memory->arena, graph, &memory->lifetime_count);
    if ((status = lin_memory_add_persistent(memory, &intervals, length, err)) != LINNET_OK ||
        (status = add_transient(memory, &intervals, length, err)) != LINNET_OK ||
        (status = add_workspaces(memory, &intervals, err)) != LINNET_OK ||
        (status = lin_memory_add_exchange(memory, &intervals, err)) != LINNET_OK)
        return status;
    lin_memory_compile(memory, &intervals, length, text);
    memory->activations_formula = lin_memory_formula(
        &memory->arena, text, graph->exprs,
        lin_timeline_formula(memory->timeline, graph->exprs, &memory->scratch, MAX_FORMULA_SETS));
    return LINNET_OK;
}

static linnet_status fail_interval(lin_memory *memory, uint32_t index, linnet_error *err)
{
    if (index == UINT32_MAX)
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "the tensors that live at once need more than 2^63 - 1 bytes");

    /* Sizes that break a `where` clause such as `P <= MaxSeq` can make a dimension negative. */
    const lin_interval *interval = lin_timeline_interval(memory->timeline, index);
    int64_t bytes;
    if (lin_expr_evaluate(memory->traced.graph->exprs, interval->bytes, memory->symbols, &bytes) &&
        bytes < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "a dimension is negative at these sizes: they break one of the model's "
                        "`where` clauses");
    if (interval->object != UINT32_MAX)
        return lin_memory_fail_object(memory, interval->object, err);
    if (interval->step == LIN_NO_STEP)
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "what the optimizer needs passes 2^63 - 1 bytes");
    return lin_fail(err, LINNET_ERROR_OVERFLOW,
                    "the workspace of `%s` needs more than 2^63 - 1 bytes",
                    memory->traced.graph->steps.items[interval->step].label);
}

/* declared - laid out, 0 when they are stored as declared. Both sums are part of the peaks' sums or
 * smaller than them by a constant factor, so each is checked. */
static bool cache_difference(lin_memory *memory, int64_t *out)
{
    int64_t bytes[2] = { 0, 0 };
    if (memory->cache_program != NULL &&
        !lin_expr_run(memory->cache_program, memory->symbols, memory->program_scratch, bytes, NULL))
        return false;
    return lin_sub_i64(bytes[0], bytes[1], out);
}

linnet_status lin_memory_evaluate(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                  lin_evaluated *out, linnet_error *err)
{
    if (memory->pipeline != NULL)
        return lin_pipeline_evaluate(memory, request, out, err);
    const linnet_status status = lin_memory_resolve_sizes(memory, request, out->role_value, err);
    if (status != LINNET_OK)
        return status;

    uint32_t failed = UINT32_MAX;
    if (!lin_timeline_peaks(memory->timeline, memory->symbols, memory->values, &out->live,
                            &out->full, &failed))
        return fail_interval(memory, failed, err);

    /* A training step's graph peak is what lives at its peak with workspaces (tracing.md 9.9). */
    out->peak = memory->training != NULL ? out->full.moment : out->live.moment;
    const int64_t live = memory->training != NULL ? out->full.live_bytes : out->live.bytes;
    int64_t difference;
    lin_peaks *peaks = &out->peaks;
    if (!cache_difference(memory, &difference) || !lin_add_i64(live, difference, &peaks->graph) ||
        !lin_add_i64(out->full.bytes, memory->workspace_bytes, &peaks->allocator) ||
        !lin_add_i64(out->full.bytes, memory->runtime_bytes, &peaks->expected))
        return fail_interval(memory, UINT32_MAX, err);
    return LINNET_OK;
}
