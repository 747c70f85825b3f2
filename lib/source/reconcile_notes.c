/* SPDX-License-Identifier: MIT */

/* How the checkpoint and the program met: counts for `inspect`, lines for people. A list of names
 * shows its first three. */

#include "source/reconcile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_NAMES = 3 };

/* Tensors that are on one side only. */
typedef struct one_side {
    char names[SHOWN_NAMES][LIN_TENSOR_SHOWN];
    uint64_t count;
    int64_t bytes; /* saturates */
} one_side;

void lin_reconcile_note(reconciler *r, const char *format, ...)
{
    char text[480];
    LIN_LIST(const char *) list = { NULL, 0, 0 };
    lin_source *source = r->source;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (uint32_t i = 0; i < source->assumption_count; i++) {
        if (strcmp(source->assumptions[i], text) == 0)
            return;
        LIN_PUSH(r->arena, &list, source->assumptions[i]);
    }
    const char *kept = lin_arena_copy(r->arena, text);
    LIN_PUSH(r->arena, &list, kept);
    source->assumptions = list.items;
    source->assumption_count = list.count;
}

static void add_to(one_side *side, const char *name, int64_t bytes)
{
    if (side->count < SHOWN_NAMES)
        lin_tensor_show(side->names[side->count], name);
    side->count++;
    if (bytes > 0 && !lin_add_i64(side->bytes, bytes, &side->bytes))
        side->bytes = INT64_MAX;
}

/* "`a`, `b`, `c` and 5 more", and " (1.50 GiB)" where bytes are known. */
static const char *print_side(reconciler *r, const one_side *side)
{
    char bytes[LIN_BYTES_TEXT];
    lin_text *out = &r->text;
    lin_text_clear(out);
    for (uint64_t i = 0; i < side->count && i < SHOWN_NAMES; i++)
        lin_text_addf(out, "%s`%s`", i == 0 ? "" : ", ", side->names[i]);
    if (side->count > SHOWN_NAMES)
        lin_text_addf(out, " and %llu more", (unsigned long long)(side->count - SHOWN_NAMES));
    lin_format_bytes(bytes, side->bytes);
    if (side->bytes > 0)
        lin_text_addf(out, " (%s)", bytes);
    if (out->failed)
        (void)lin_arena_fail(&r->scratch);
    return lin_text_data(out);
}

/* ---- the checkpoint's side ---- */

/* What frameworks save besides weights: tables of positions, masks, statistics. */
static const char *const buffer_names[] = {
    "*inv_freq",     "*position_ids", "*.attn.bias",       "*.attention.bias",
    "*.masked_bias", "*rotary_emb.*", "*rotary_pos_emb.*", "*num_batches_tracked",
    "*running_mean", "*running_var",  "*causal_mask",      "*relative_position_index",
    "*freqs_cis",    "*.alibi",       "*token_type_ids",
};

/* Patterns of what is no weight. */
typedef struct pattern_list {
    LIN_LIST(const char *) items;
} pattern_list;

static void list_patterns(reconciler *r, pattern_list *out)
{
    for (uint32_t i = 0; i < ARRAY_LEN(buffer_names); i++)
        LIN_PUSH(&r->scratch, &out->items, buffer_names[i]);
    for (uint32_t i = 0; r->ignored != NULL && r->ignored[i] != NULL; i++)
        LIN_PUSH(&r->scratch, &out->items, r->ignored[i]);
}

static bool matches_any(const pattern_list *patterns, const char *name)
{
    for (uint32_t i = 0; i < patterns->items.count; i++)
        if (lin_pattern_matches(patterns->items.items[i], name))
            return true;
    return false;
}

static void judge_tensors(reconciler *r, one_side *buffers, one_side *left_out)
{
    pattern_list patterns = { { NULL, 0, 0 } };
    list_patterns(r, &patterns);
    for (uint32_t i = 0; i < r->tensors->count; i++) {
        const lin_tensor *tensor = &r->tensors->items[i];
        if (r->owners[i] != RECONCILE_NOBODY) {
            r->result.found++;
            if (tensor->bytes > 0)
                r->result.found_bytes += tensor->bytes; /* within the list's total */
            continue;
        }
        add_to(matches_any(&patterns, tensor->name) ? buffers : left_out, tensor->name,
               tensor->bytes);
    }
}

/* ---- the program's side ---- */

static int64_t declared_bytes(const lin_parameter *parameter)
{
    int64_t bytes = 0;
    if (parameter->dtype != LIN_DTYPE_COUNT &&
        !lin_mul_i64(parameter->elements, lin_dtype_bytes(parameter->dtype), &bytes))
        return INT64_MAX; /* as a sum that does not fit */
    return bytes;
}

static void judge_row(reconciler *r, const reconcile_row *row, one_side *missing)
{
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    if (row->is_optional || row->is_tied)
        return;
    for (uint32_t k = 0; k < row->count; k++) {
        const char *tensor = lin_reconcile_tensor(r, row, indices);
        if (r->elements[row->first + k].parts < row->parts)
            add_to(missing,
                   tensor != NULL ? lin_reconcile_name(r, tensor, &row->parameter, indices, 0)
                                  : row->parameter.path,
                   declared_bytes(&row->parameter));
        (void)lin_parameter_next(&row->parameter, indices);
    }
}

/* Elements that own a tensor: the program's count, each tensor once. */
static void count_parameters(reconciler *r)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < r->rows.count; i++)
        total += r->rows.items[i].count;
    bool *owns = LIN_NEW_ARRAY(&r->scratch, bool, total);
    for (uint32_t i = 0; i < r->tensors->count; i++)
        if (r->owners[i] != RECONCILE_NOBODY)
            owns[r->owners[i]] = true;
    for (uint32_t i = 0; i < r->rows.count; i++) {
        const reconcile_row *row = &r->rows.items[i];
        for (uint32_t k = 0; k < row->count; k++)
            if (owns[row->first + k] &&
                !lin_add_i64(r->result.parameters, row->parameter.elements, &r->result.parameters))
                r->result.parameters = INT64_MAX;
    }
}

/* ---- totals and shards ---- */

static void note_shards(reconciler *r)
{
    const lin_checkpoint *c = r->checkpoint;
    char shown[LIN_TENSOR_SHOWN];
    if (c->missing == r->tensors->shard_count && c->missing > 0) {
        lin_reconcile_note(r,
                           "none of the %u files of the checkpoint is there: sizes are the "
                           "config's",
                           (unsigned)c->missing);
    } else if (c->missing > 0) {
        lin_tensor_show(shown, c->missing_shard);
        lin_reconcile_note(r,
                           "%u of the %u files of the checkpoint are not there, the first `%s`: "
                           "sizes of their tensors are the config's",
                           (unsigned)c->missing, (unsigned)r->tensors->shard_count, shown);
    }
    if (c->unlisted > 0) {
        lin_tensor_show(shown, c->unlisted_name);
        lin_reconcile_note(r,
                           "%llu tensors of the checkpoint's files are not in its index, the "
                           "first `%s`: left out",
                           (unsigned long long)c->unlisted, shown);
    }
}

void lin_reconcile_notes(reconciler *r)
{
    one_side buffers = { .count = 0 }, left_out = { .count = 0 }, missing = { .count = 0 };
    judge_tensors(r, &buffers, &left_out);
    for (uint32_t i = 0; i < r->rows.count; i++)
        judge_row(r, &r->rows.items[i], &missing);
    count_parameters(r);
    r->result.buffers = buffers.count;
    r->result.buffer_bytes = buffers.bytes;
    r->result.left_out = left_out.count;
    r->result.left_out_bytes = left_out.bytes;
    r->result.missing = missing.count;
    r->result.missing_bytes = missing.bytes;
    note_shards(r);
    if (missing.count > 0)
        lin_reconcile_note(r, "not in the checkpoint, counted as the config says: %s",
                           print_side(r, &missing));
    if (left_out.count > 0)
        lin_reconcile_note(r, "in the checkpoint and no part of the program, not counted: %s",
                           print_side(r, &left_out));
    if (buffers.count > 0)
        lin_reconcile_note(
            r, "buffers, and what is left out on purpose, of the checkpoint, not counted: %s",
            print_side(r, &buffers));
}
