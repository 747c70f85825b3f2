/* SPDX-License-Identifier: MIT */

/*
 * What a process holds beside its tensors (tracing.md 12): one row an item, in report order. The
 * figures are measurements and stand in lib/zoo/runtime/cuda.json with their sources; here is only
 * which of them a configuration has. The cuBLAS workspace may instead come from a
 * CUBLAS_WORKSPACE_CONFIG string.
 */

#include "backend/backend.h"
#include "zoo/zoo.h"
#include "json/json.h"

#include <string.h>

static const char *const backend_names[] = { "cuda", "generic" };

bool lin_backend_find(const char *name, lin_backend_kind *out)
{
    for (size_t i = 0; i < ARRAY_LEN(backend_names); i++)
        if (strcmp(backend_names[i], name) == 0) {
            *out = (lin_backend_kind)i;
            return true;
        }
    return false;
}

const char *lin_backend_name(lin_backend_kind kind)
{
    return backend_names[kind];
}

int64_t lin_backend_alignment(lin_backend_kind kind)
{
    return kind == LIN_BACKEND_CUDA ? 512 : 1; /* kMinBlockSize of PyTorch's caching allocator */
}

/* ---- CUBLAS_WORKSPACE_CONFIG ---- */

/* Digits up to the next colon or the end; false when there are none or too many. */
static bool read_number(const char **text, int64_t *out)
{
    size_t length = strspn(*text, "0123456789");
    if (length == 0 || !lin_parse_i64(*text, length, out))
        return false;
    *text += length;
    return true;
}

/* ":KIB:COUNT" pairs, added up. */
static bool read_workspace(const char *text, int64_t *out_bytes)
{
    int64_t total = 0;
    while (*text != '\0') {
        int64_t kib, count, bytes;
        if (*text++ != ':' || !read_number(&text, &kib) || *text++ != ':' ||
            !read_number(&text, &count))
            return false;
        if (!lin_mul_i64(kib, 1024, &bytes) || !lin_mul_i64(bytes, count, &bytes) ||
            !lin_add_i64(total, bytes, &total))
            return false;
    }
    *out_bytes = total;
    return true;
}

/* ---- the items ---- */

/* Where an item's bytes come from. */
typedef enum item_source {
    FROM_DATA,    /* the figure of that name */
    FROM_CONTEXT, /* likewise, unless the caller gives another */
    FROM_CUBLAS,  /* likewise, unless a workspace string says otherwise */
    PER_COMMUNICATOR,
    BY_CHANNEL, /* the figure of the process's channels */
    NOT_KNOWN
} item_source;

/* When it is held. */
typedef enum item_use {
    ALWAYS,
    INFERENCE,
    TRAINING,
    SEVERAL_PROCESSES,
    BY_CHANNELS,
    COMPILED
} item_use;

typedef struct item_row {
    const char *name;
    lin_category category;
    item_use use;
    item_source source;
    const char *figure; /* key in cuda.json */
    const char *note;
} item_row;

/* clang-format off */
static const item_row item_rows[] = {
    { "CUDA context",                LIN_CATEGORY_RUNTIME,   ALWAYS,            FROM_CONTEXT, "context",             "" },
    { "CUDA libraries",              LIN_CATEGORY_RUNTIME,   INFERENCE,         FROM_DATA,    "libraries_inference", "" },
    { "CUDA libraries",              LIN_CATEGORY_RUNTIME,   TRAINING,          FROM_DATA,    "libraries_training",  "" },
    { "cuBLAS workspace",            LIN_CATEGORY_WORKSPACE, ALWAYS,            FROM_CUBLAS,  "cublas_workspace",    "" },
    { "Allocator fragmentation",     LIN_CATEGORY_RUNTIME,   ALWAYS,            NOT_KNOWN,    NULL,
      "the caching allocator's unused reserve depends on the allocation order" },
    { "One-shot all-reduce buffers", LIN_CATEGORY_RUNTIME,   SEVERAL_PROCESSES, FROM_DATA,    "one_shot_all_reduce", "" },
    { "NCCL communicator",           LIN_CATEGORY_RUNTIME,   SEVERAL_PROCESSES, PER_COMMUNICATOR, "nccl_communicator", "" },
    { "NCCL send and receive",       LIN_CATEGORY_RUNTIME,   BY_CHANNELS,       BY_CHANNEL,   NULL,                  "" },
    { "Compilation",                 LIN_CATEGORY_RUNTIME,   COMPILED,          NOT_KNOWN,    NULL,
      "what a compiler keeps beside its kernels is not modelled" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(item_rows) <= LIN_RUNTIME_MAX_ITEMS, "the caller's array holds every row");

static const lin_runtime_item generic_item = {
    .name = "Runtime",
    .category = LIN_CATEGORY_RUNTIME,
    .known = false,
    .confidence = LIN_UNKNOWN,
    .note = "the generic backend knows no framework's context, libraries or workspaces",
};

static bool applies(const item_row *row, const lin_runtime_settings *settings)
{
    switch (row->use) {
    case ALWAYS:
        return true;
    case INFERENCE:
        return !settings->training;
    case TRAINING:
        return settings->training;
    case SEVERAL_PROCESSES:
        return settings->processes > 1;
    case BY_CHANNELS:
        return settings->channels != LIN_CHANNELS_NONE;
    default:
        return false; /* eager */
    }
}

static linnet_status read_figure(const lin_json *items, const char *figure, int64_t *out,
                                 linnet_error *err)
{
    const lin_json *bytes = lin_json_get(lin_json_get(items, figure), "bytes");
    if (!bytes || bytes->kind != LIN_JSON_INTEGER || bytes->integer < 0)
        return lin_fail(err, LINNET_ERROR_FORMAT, "runtime/cuda.json has no figure `%s`", figure);
    *out = bytes->integer;
    return LINNET_OK;
}

static const char *const channel_figures[] = {
    [LIN_CHANNELS_SEND] = "nccl_send",
    [LIN_CHANNELS_RECEIVE] = "nccl_receive",
    [LIN_CHANNELS_BOTH] = "nccl_send_and_receive",
    [LIN_CHANNELS_EXCHANGE] = "nccl_exchange",
};

static linnet_status fill_communicators(const item_row *row, const lin_json *items,
                                        const lin_runtime_settings *settings, lin_runtime_item *out,
                                        linnet_error *err)
{
    const linnet_status status = read_figure(items, row->figure, &out->bytes, err);
    out->note = settings->communicator_note != NULL ? settings->communicator_note : "";
    if (status == LINNET_OK && !lin_mul_i64(out->bytes, settings->communicators, &out->bytes))
        return lin_fail(err, LINNET_ERROR_OVERFLOW,
                        "the communicators need more than 2^63 - 1 bytes");
    return status;
}

static linnet_status fill_item(const item_row *row, const lin_json *items,
                               const lin_runtime_settings *settings, lin_runtime_item *out,
                               linnet_error *err)
{
    const char *workspace = settings->cublas_workspace_config;
    *out = (lin_runtime_item){ .name = row->name, .category = row->category, .note = row->note };
    out->known = row->source != NOT_KNOWN;
    out->confidence = out->known ? LIN_ESTIMATED : LIN_UNKNOWN;
    if (!out->known)
        return LINNET_OK;
    if (row->source == FROM_CONTEXT && settings->context_bytes >= 0) {
        out->bytes = settings->context_bytes;
        out->confidence = LIN_BACKEND_MODELED;
        return LINNET_OK;
    }
    if (row->source == FROM_CUBLAS && workspace && *workspace != '\0') {
        if (!read_workspace(workspace, &out->bytes))
            return lin_fail(err, LINNET_ERROR_ARGUMENT,
                            "cuBLAS workspace configuration `%s` is not a list of :KIB:COUNT pairs",
                            workspace);
        out->confidence = LIN_BACKEND_MODELED;
        return LINNET_OK;
    }
    if (row->source == PER_COMMUNICATOR)
        return fill_communicators(row, items, settings, out, err);
    if (row->source == BY_CHANNEL)
        return read_figure(items, channel_figures[settings->channels], &out->bytes, err);
    return read_figure(items, row->figure, &out->bytes, err);
}

static linnet_status fill_items(const lin_json *items, const lin_runtime_settings *settings,
                                lin_runtime_item *out, uint32_t *out_count, linnet_error *err)
{
    lin_runtime_item found[LIN_RUNTIME_MAX_ITEMS];
    uint32_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(item_rows); i++) {
        if (!applies(&item_rows[i], settings))
            continue;
        linnet_status status = fill_item(&item_rows[i], items, settings, &found[count], err);
        if (status != LINNET_OK)
            return status;
        count++;
    }
    memcpy(out, found, count * sizeof *out);
    *out_count = count;
    return LINNET_OK;
}

linnet_status lin_backend_runtime(const lin_runtime_settings *settings,
                                  lin_runtime_item out[LIN_RUNTIME_MAX_ITEMS], uint32_t *out_count,
                                  linnet_error *err)
{
    if (settings->backend == LIN_BACKEND_GENERIC) {
        out[0] = generic_item;
        *out_count = 1;
        return LINNET_OK;
    }
    const lin_zoo_file *file = lin_zoo_find("runtime/cuda.json");
    if (!file)
        return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no runtime constants for the backend `cuda`");
    lin_arena scratch;
    lin_arena_init(&scratch, settings->allocator ? settings->allocator : &lin_default_allocator);
    const lin_json *document = NULL;
    linnet_status status =
        lin_json_read(file->path, file->text, file->length, false, &scratch, &document, err);
    if (status == LINNET_OK)
        status = fill_items(lin_json_get(document, "items"), settings, out, out_count, err);
    lin_arena_free(&scratch);
    return status;
}
