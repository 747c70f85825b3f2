/* SPDX-License-Identifier: MIT */

/*
 * The driver of a walk. Everything that stops one (no memory, something not modelled, a limit)
 * jumps here; what the walk made lies in two arenas, the graph's and a scratch one, and is dropped
 * whole.
 */

#include "trace/trace_walk.h"

#include <stdarg.h>
#include <stdio.h>

enum { MAX_MESSAGE = sizeof((linnet_error *)NULL)->message };

_Noreturn static void stop_walk(walker *w, linnet_status status)
{
    w->status = status;
    longjmp(w->stop, 1);
}

void lin_walk_fail(walker *w, linnet_status status, const char *format, ...)
{
    char message[MAX_MESSAGE];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    lin_fail(w->err, status, "%s", message);
    stop_walk(w, status);
}

/* Line and column of a span's start, both from 1, the column in code points. */
static lin_place place_of(const walker *w, lin_span span)
{
    lin_place place = { 0 };
    if (span.source >= w->program->source_count)
        return place;
    const lin_source_file *file = w->program->sources[span.source];
    place.source = file->name;
    place.line = 1;
    place.column = 1;
    for (uint32_t i = 0; i < span.start && i < file->length; i++) {
        unsigned char c = (unsigned char)file->text[i];
        if (c == '\n') {
            place.line++;
            place.column = 1;
        } else if ((c & 0xc0u) != 0x80u) {
            place.column++;
        }
    }
    return place;
}

void lin_walk_fail_at(walker *w, lin_span span, linnet_status status, const char *format, ...)
{
    char message[MAX_MESSAGE];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    lin_fail_at(w->err, status, place_of(w, span), NULL, "%s", message);
    stop_walk(w, status);
}

void lin_walk_unsupported(walker *w, const lin_op *op, const char *what)
{
    if (!w->counting)
        lin_walk_fail_at(w, op->span, LINNET_ERROR_UNSUPPORTED, "%s is not modelled", what);
    w->count_failed = true;
}

const char *lin_walk_name(const walker *w, lin_name name)
{
    return lin_names_text(w->program->names, name);
}

void lin_walk_check_text(walker *w)
{
    if (w->text.failed)
        stop_walk(w, LINNET_ERROR_NO_MEMORY);
}

const char *lin_walk_dim_text(walker *w, const lin_expr_table *table, lin_expr e)
{
    lin_text_clear(&w->text);
    lin_expr_print(&w->text, table, e);
    lin_walk_check_text(w);
    return lin_arena_text(w->scratch, lin_text_data(&w->text), w->text.length);
}

linnet_status lin_walk_guarded(walker *w, void (*body)(walker *))
{
    w->status = LINNET_ERROR_NO_MEMORY;
    w->arena->on_failure = &w->stop;
    w->scratch->on_failure = &w->stop;
    if (setjmp(w->stop) == 0) {
        body(w);
        w->status = LINNET_OK;
    }
    w->arena->on_failure = NULL;
    w->scratch->on_failure = NULL;
    return w->status == LINNET_ERROR_NO_MEMORY ? lin_fail_memory(w->err) : w->status;
}

/* ---- drivers ---- */

static void prepare(walker *w)
{
    w->zero = lin_expr_int(w->exprs, 0);
    w->one = lin_expr_int(w->exprs, 1);
    w->scope = "";
    lin_walk_bind(w);
    lin_walk_check_degree(w);
    lin_walk_persistent(w);
}

/* A float scalar, or a tuple with one. */
static bool is_loss(const lin_type *type)
{
    if (type->kind == LIN_TYPE_SCALAR || (type->kind == LIN_TYPE_TENSOR && type->axis_count == 0))
        return !lin_dtype_is_concrete(type->dtype) ||
               lin_dtype_class_of((lin_dtype)type->dtype) == LIN_CLASS_FLOAT;
    if (type->kind != LIN_TYPE_TUPLE && type->kind != LIN_TYPE_STRUCT)
        return false;
    for (uint32_t i = 0; i < type->part_count; i++)
        if (is_loss(type->parts[i]))
            return true;
    return false;
}

/* The entries beside this one that return a loss, as "; `a`, `b` do", or "". */
static const char *other_losses(walker *w)
{
    const lin_module *module = w->program->modules[0];
    lin_function *const *entries = w->root ? w->root->methods : module->functions;
    const uint32_t count = w->root ? w->root->method_count : module->function_count;
    uint32_t found = 0;
    lin_text_clear(&w->text);
    for (uint32_t i = 0; i < count; i++)
        if (entries[i]->kind == LIN_FUNCTION_ENTRY && is_loss(entries[i]->result))
            lin_text_addf(&w->text, "%s`%s`", found++ == 0 ? "; " : ", ",
                          lin_walk_name(w, entries[i]->name));
    if (found > 0)
        lin_text_add(&w->text, found == 1 ? " does" : " do");
    return lin_text_data(&w->text);
}

static void check_loss(walker *w)
{
    if (w->settings->training && !is_loss(w->entry->result))
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "the entry `%s` returns no loss, which is a float scalar: it cannot be "
                      "trained%s",
                      lin_walk_name(w, w->entry->name), other_losses(w));
}

static void trace_all(walker *w)
{
    check_loss(w);
    w->graph->entry = lin_walk_name(w, w->entry->name);
    w->graph->root = w->root ? lin_walk_name(w, w->root->name) : "";
    prepare(w);
    lin_walk_relations(w);
    lin_walk_find_split_entry(w);
    lin_walk_entry(w);
    lin_walk_split(w);
    lin_walk_split_experts(w);
    if (w->settings->loss != LIN_LOSS_AS_WRITTEN && !w->found_loss)
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "the entry `%s` has no loss to choose: it calls none of std.nn.loss's "
                      "cross-entropies of an output head",
                      lin_walk_name(w, w->entry->name));
}

/* A walker over a new graph; `run` does the work. The graph is the caller's when it succeeds. */
static linnet_status run_walk(walker *w, const lin_allocator *allocator, void (*run)(walker *))
{
    lin_arena scratch;
    w->graph = lin_graph_new(allocator);
    if (!w->graph)
        return lin_fail_memory(w->err);
    lin_arena_init(&scratch, allocator);
    lin_text_init(&w->text, allocator);
    w->arena = &w->graph->arena;
    w->scratch = &scratch;
    w->exprs = w->graph->exprs;
    w->program = w->source->program;
    linnet_status status = lin_walk_guarded(w, run);
    lin_text_free(&w->text);
    lin_arena_free(&scratch);
    if (status != LINNET_OK) {
        lin_graph_free(w->graph);
        w->graph = NULL;
    }
    return status;
}

linnet_status lin_trace(const lin_source *source, const lin_trace_settings *settings,
                        const lin_allocator *allocator, lin_traced *out, linnet_error *err)
{
    walker w = { .source = source, .settings = settings, .err = err };
    linnet_status status =
        lin_trace_find_entry(source, settings->root, settings->entry, &w.root, &w.entry, err);
    if (status == LINNET_OK)
        status = run_walk(&w, allocator, trace_all);
    if (status != LINNET_OK)
        return status;
    *out = w.traced;
    out->graph = w.graph;
    return LINNET_OK;
}

linnet_status lin_trace_persistent(const lin_source *source, const lin_trace_settings *settings,
                                   const lin_allocator *allocator, lin_traced *out,
                                   linnet_error *err)
{
    walker w = { .source = source, .settings = settings, .err = err, .open_roles_are_one = true };
    linnet_status status = lin_trace_find_root(source, settings->root, &w.root, err);
    if (status == LINNET_OK)
        status = run_walk(&w, allocator, prepare);
    if (status != LINNET_OK)
        return status;
    *out = w.traced;
    out->graph = w.graph;
    return LINNET_OK;
}
