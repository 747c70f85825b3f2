/* SPDX-License-Identifier: MIT */

/*
 * The index of a checkpoint in shards: { "metadata": { "total_size": n }, "weight_map": { tensor:
 * file } }, the same for safetensors and PyTorch. It holds names only.
 *
 * The files are looked up in a list of their own, so that 163 of them, or 100,000, cost a probe
 * each. Cost: one pass.
 */

#include "source/checkpoint.h"
#include "source/header_text.h"

#include <string.h>

enum { MAX_SHARDS = 100000 };

typedef struct index_reader {
    lin_arena *arena;
    lin_arena scratch;
    lin_pull pull;
    lin_tensor_list *list;
    lin_tensor_list shards; /* the files, as if they were tensors */
    bool has_map, has_metadata;
    linnet_error *err;
} index_reader;

static linnet_status pull_status(const index_reader *r)
{
    return r->pull.scratch.failed ? LINNET_ERROR_NO_MEMORY : LINNET_ERROR_FORMAT;
}

static bool next(index_reader *r, lin_pull_event *out)
{
    *out = lin_pull_next(&r->pull, r->err);
    return *out != LIN_PULL_ERROR;
}

static linnet_status refuse(index_reader *r, const char *format, const char *a, const char *b)
{
    char shown_a[LIN_TENSOR_SHOWN], shown_b[LIN_TENSOR_SHOWN];
    lin_tensor_show(shown_a, a);
    lin_tensor_show(shown_b, b);
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT, (lin_place){ .source = r->list->source_name },
                       NULL, format, shown_a, shown_b);
}

/* ---- weight_map ---- */

/* A file of the index's own folder: whatever else it is, a name and not a path. */
static bool is_file_name(const char *name)
{
    return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strpbrk(name, "/\\") == NULL && strlen(name) <= 255;
}

static linnet_status shard_of(index_reader *r, const char *tensor, const char *name,
                              uint32_t *out_shard)
{
    const lin_tensor *known = lin_tensor_find(&r->shards, name);
    if (known != NULL) {
        *out_shard = (uint32_t)(known - r->shards.items);
        return LINNET_OK;
    }
    if (!is_file_name(name))
        return refuse(r, "tensor `%s` is in `%s`; a file beside the index is meant", tensor, name);
    *out_shard = r->shards.count;
    return lin_tensor_add(
        &r->shards, &(lin_tensor){ .name = name, .bytes = -1, .format = LIN_TENSOR_NO_FORMAT },
        r->err);
}

static linnet_status read_place(index_reader *r, const char *tensor)
{
    lin_pull_event event;
    uint32_t shard = 0;
    if (!next(r, &event))
        return pull_status(r);
    if (event != LIN_PULL_STRING)
        return refuse(r, "the place of tensor `%s` is %s; the name of a file is meant", tensor,
                      lin_header_event(event));
    if (lin_header_has_nul(&r->pull))
        return refuse(r, "the place of tensor `%s` holds a NUL%s", tensor, "");
    const char *name = lin_header_keep(&r->pull, r->arena);
    if (name == NULL)
        return lin_fail_memory(r->err);
    linnet_status status = shard_of(r, tensor, name, &shard);
    if (status != LINNET_OK)
        return status;
    const lin_tensor entry = {
        .name = tensor, .bytes = -1, .shard = shard, .format = LIN_TENSOR_NO_FORMAT
    };
    return lin_tensor_add(r->list, &entry, r->err);
}

static linnet_status read_map(index_reader *r)
{
    lin_pull_event event;
    if (!next(r, &event))
        return pull_status(r);
    if (event != LIN_PULL_OBJECT || r->has_map)
        return refuse(r,
                      r->has_map ? "`weight_map` is there twice"
                                 : "`weight_map` is %s; an object of tensors is meant",
                      lin_header_event(event), "");
    r->has_map = true;
    for (;;) {
        if (!next(r, &event))
            return pull_status(r);
        if (event == LIN_PULL_OBJECT_END)
            return LINNET_OK;
        if (lin_header_has_nul(&r->pull))
            return refuse(r, "a tensor's name holds a NUL", "", "");
        const char *tensor = lin_header_keep(&r->pull, r->arena);
        linnet_status status = tensor == NULL ? lin_fail_memory(r->err) : read_place(r, tensor);
        if (status != LINNET_OK)
            return status;
    }
}

/* ---- metadata ---- */

/* A count, which some writers write as a float: whole, not negative, below 2^63. */
static bool read_count(const lin_pull *pull, int64_t *out)
{
    const double limit = 9223372036854775808.0;
    double real;
    if (pull->is_integer)
        return lin_pull_i64(pull, out) && *out >= 0;
    if (!lin_parse_double(pull->value, pull->value_length, &real) || !(real >= 0 && real < limit) ||
        (double)(int64_t)real != real)
        return false;
    *out = (int64_t)real;
    return true;
}

static linnet_status read_total(index_reader *r, const char *key, int64_t *out)
{
    lin_pull_event event;
    if (!next(r, &event))
        return pull_status(r);
    if (event == LIN_PULL_NULL)
        return LINNET_OK;
    if (event != LIN_PULL_NUMBER)
        return refuse(r, "`metadata.%s` is %s; a whole number is meant", key,
                      lin_header_event(event));
    if (*out >= 0)
        return refuse(r, "`metadata.%s` is there twice%s", key, "");
    if (!read_count(&r->pull, out))
        return refuse(r, "`metadata.%s` is no whole number of 0 to 2^63 - 1%s", key, "");
    return LINNET_OK;
}

static linnet_status skip(index_reader *r)
{
    lin_pull_event event;
    return next(r, &event) ? lin_pull_skip(&r->pull, event, r->err) : pull_status(r);
}

static linnet_status read_metadata(index_reader *r)
{
    lin_pull_event event;
    if (!next(r, &event))
        return pull_status(r);
    if (event == LIN_PULL_NULL)
        return LINNET_OK;
    if (event != LIN_PULL_OBJECT || r->has_metadata)
        return refuse(r,
                      r->has_metadata ? "`metadata` is there twice"
                                      : "`metadata` is %s; an object is meant",
                      lin_header_event(event), "");
    r->has_metadata = true;
    for (;;) {
        linnet_status status;
        if (!next(r, &event))
            return pull_status(r);
        if (event == LIN_PULL_OBJECT_END)
            return LINNET_OK;
        if (lin_header_is(&r->pull, "total_size"))
            status = read_total(r, "total_size", &r->list->stated_bytes);
        else if (lin_header_is(&r->pull, "total_parameters"))
            status = read_total(r, "total_parameters", &r->list->stated_parameters);
        else
            status = skip(r);
        if (status != LINNET_OK)
            return status;
    }
}

/* ---- the whole ---- */

static linnet_status read_members(index_reader *r)
{
    lin_pull_event event;
    if (!next(r, &event))
        return pull_status(r);
    if (event != LIN_PULL_OBJECT)
        return refuse(r, "the index is %s; an object is meant%s", lin_header_event(event), "");
    for (;;) {
        linnet_status status;
        if (!next(r, &event))
            return pull_status(r);
        if (event == LIN_PULL_OBJECT_END)
            return next(r, &event) ? LINNET_OK : pull_status(r);
        if (lin_header_is(&r->pull, "weight_map"))
            status = read_map(r);
        else if (lin_header_is(&r->pull, "metadata"))
            status = read_metadata(r);
        else
            status = skip(r);
        if (status != LINNET_OK)
            return status;
    }
}

static linnet_status take_shards(index_reader *r)
{
    lin_tensor_list *list = r->list;
    if (!r->has_map)
        return refuse(r, "the index has no `weight_map`", "", "");
    if (list->count == 0)
        return refuse(r, "the index names no tensor", "", "");
    list->shards = LIN_NEW_ARRAY(r->arena, lin_tensor_shard, r->shards.count);
    if (list->shards == NULL)
        return lin_fail_memory(r->err);
    list->shard_count = r->shards.count;
    for (uint32_t i = 0; i < r->shards.count; i++)
        list->shards[i].name = r->shards.items[i].name;
    return LINNET_OK;
}

/* A tensor needs 8 bytes and a colon: `"a":"b",`. */
static uint64_t bound_tensors(const char *text, uint64_t length)
{
    uint64_t colons = lin_header_count(text, length, ':');
    uint64_t most = length / 8 + 1;
    most = colons < most ? colons : most;
    return most < LIN_TENSOR_MAX_COUNT ? most : LIN_TENSOR_MAX_COUNT;
}

linnet_status lin_index_read(lin_arena *arena, const char *source_name, char *text, uint64_t length,
                             lin_tensor_list *out, linnet_error *err)
{
    index_reader r = { .arena = arena, .list = out, .err = err };
    const uint64_t most = bound_tensors(text, length);
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL; /* the reader owns memory outside the arena */
    lin_arena_init(&r.scratch, &arena->allocator);
    lin_pull_init(&r.pull, source_name, text, length, &arena->allocator);
    linnet_status status = lin_tensor_list_init(out, arena, source_name, most, err);
    if (status == LINNET_OK)
        status = lin_tensor_list_init(&r.shards, &r.scratch, source_name,
                                      most < MAX_SHARDS ? most : MAX_SHARDS, err);
    if (status == LINNET_OK)
        status = read_members(&r);
    if (status == LINNET_OK)
        status = take_shards(&r);
    lin_pull_free(&r.pull);
    lin_arena_free(&r.scratch);
    arena->on_failure = on_failure;
    return status;
}
