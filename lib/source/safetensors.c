/* SPDX-License-Identifier: MIT */

/*
 * The header of a safetensors file.
 *
 *     0        8                    8 + n                              end of file
 *     | n (LE) | JSON of n bytes    | a | b | c: ranges that tile this |
 *
 * An object from tensor name to { dtype, shape, data_offsets: [begin, end) }, and `__metadata__`,
 * an object of strings. The array of tensors is made once: its size is the number of braces that
 * could begin one, which the header's length bounds. At the end the ranges are sorted and walked.
 *
 * Cost: one pass over the text and a sort of the ranges, which are nearly always in order already.
 */

#include "source/checkpoint.h"
#include "source/header_text.h"

#include <string.h>

/* A header that is being read. */
typedef struct header {
    lin_arena *arena;
    lin_pull pull;
    lin_tensor_list *list;
    int64_t data_bytes;
    linnet_error *err;
} header;

typedef struct stored_type {
    const char *name;   /* in the file */
    const char *format; /* as lin_tensor_format */
    int64_t bits;
} stored_type;

/* The format's dtypes. Those of less than a byte pack: shape times bits must be whole bytes. */
/* clang-format off */
static const stored_type stored_types[] = {
    { "BF16", "bf16", 16 }, { "F32", "f32", 32 },  { "F16", "f16", 16 },
    { "F8_E4M3", "F8_E4M3", 8 }, { "F8_E5M2", "F8_E5M2", 8 }, { "F8_E8M0", "F8_E8M0", 8 },
    { "F8_E4M3FNUZ", "F8_E4M3FNUZ", 8 }, { "F8_E5M2FNUZ", "F8_E5M2FNUZ", 8 },
    { "F4", "F4", 4 }, { "F6_E2M3", "F6_E2M3", 6 }, { "F6_E3M2", "F6_E3M2", 6 },
    { "U8", "u8", 8 },   { "I8", "i8", 8 },   { "I32", "i32", 32 }, { "I64", "i64", 64 },
    { "I16", "i16", 16 }, { "U16", "u16", 16 }, { "U32", "u32", 32 }, { "U64", "u64", 64 },
    { "F64", "f64", 64 }, { "BOOL", "bool", 8 }, { "C64", "C64", 64 },
};
/* clang-format on */

static linnet_status refuse(header *h, const char *name, const char *what)
{
    char shown[LIN_TENSOR_SHOWN];
    lin_tensor_show(shown, name);
    return lin_fail_at(h->err, LINNET_ERROR_FORMAT, (lin_place){ .source = h->list->source_name },
                       NULL, "tensor `%s` %s", shown, what);
}

/* ---- events ---- */

static bool next(header *h, lin_pull_event *out)
{
    *out = lin_pull_next(&h->pull, h->err);
    return *out != LIN_PULL_ERROR;
}

static linnet_status refuse_kind(header *h, const char *name, const char *key, lin_pull_event found,
                                 const char *meant)
{
    char shown[LIN_TENSOR_SHOWN];
    if (found == LIN_PULL_ERROR)
        return h->pull.scratch.failed ? LINNET_ERROR_NO_MEMORY : LINNET_ERROR_FORMAT;
    lin_tensor_show(shown, name);
    return lin_fail_at(h->err, LINNET_ERROR_FORMAT, (lin_place){ .source = h->list->source_name },
                       NULL, "`%s` of tensor `%s` is %s; %s is meant", key, shown,
                       lin_header_event(found), meant);
}

static linnet_status pull_status(const header *h)
{
    return h->pull.scratch.failed ? LINNET_ERROR_NO_MEMORY : LINNET_ERROR_FORMAT;
}

static bool is_value(const header *h, const char *word)
{
    return lin_header_is(&h->pull, word);
}

/* ---- the keys of a tensor ---- */

/* What was seen of one tensor. */
typedef struct entry {
    const char *name;
    const stored_type *type;
    bool has_shape, has_range;
    int64_t axes[LIN_TENSOR_MAX_RANK];
    uint32_t rank;
    int64_t begin, end;
} entry;

static linnet_status read_type(header *h, entry *e)
{
    lin_pull_event event;
    if (e->type != NULL)
        return refuse(h, e->name, "has two dtypes");
    if (!next(h, &event) || event != LIN_PULL_STRING)
        return refuse_kind(h, e->name, "dtype", event, "the name of a dtype");
    for (uint32_t i = 0; i < ARRAY_LEN(stored_types) && e->type == NULL; i++)
        if (is_value(h, stored_types[i].name))
            e->type = &stored_types[i];
    if (e->type != NULL)
        return LINNET_OK;
    char shown[LIN_TENSOR_SHOWN], word[32];
    const uint64_t length =
        h->pull.value_length < sizeof(word) ? h->pull.value_length : sizeof(word) - 1;
    memcpy(word, h->pull.value, (size_t)length);
    word[length] = '\0';
    char found[sizeof(word)];
    lin_copy_utf8(found, sizeof(found), word);
    lin_tensor_show(shown, e->name);
    return lin_fail_at(h->err, LINNET_ERROR_FORMAT, (lin_place){ .source = h->list->source_name },
                       NULL, "tensor `%s` has the dtype `%s`, which is none of the format", shown,
                       found);
}

/* An array of whole numbers that are not negative, at most `capacity` of them. */
static linnet_status read_numbers(header *h, const entry *e, const char *key, int64_t *into,
                                  uint32_t capacity, uint32_t *out_count)
{
    lin_pull_event event;
    *out_count = 0;
    if (!next(h, &event) || event != LIN_PULL_ARRAY)
        return refuse_kind(h, e->name, key, event, "an array of whole numbers");
    for (;;) {
        int64_t value;
        if (!next(h, &event))
            return pull_status(h);
        if (event == LIN_PULL_ARRAY_END)
            return LINNET_OK;
        if (event != LIN_PULL_NUMBER)
            return refuse_kind(h, e->name, key, event, "an array of whole numbers");
        if (!lin_pull_i64(&h->pull, &value) || value < 0)
            return refuse(h, e->name,
                          "has a shape or an offset that is no whole number of 0 to "
                          "2^63 - 1");
        if (*out_count == capacity)
            return capacity == 2 ? refuse(h, e->name, "has more than two data offsets")
                                 : refuse(h, e->name, "has more than 16 axes");
        into[(*out_count)++] = value;
    }
}

static linnet_status read_shape(header *h, entry *e)
{
    if (e->has_shape)
        return refuse(h, e->name, "has two shapes");
    e->has_shape = true;
    return read_numbers(h, e, "shape", e->axes, LIN_TENSOR_MAX_RANK, &e->rank);
}

static linnet_status read_range(header *h, entry *e)
{
    int64_t offsets[2] = { 0, 0 };
    uint32_t count;
    if (e->has_range)
        return refuse(h, e->name, "has two ranges of data");
    e->has_range = true;
    linnet_status status = read_numbers(h, e, "data_offsets", offsets, 2, &count);
    if (status != LINNET_OK)
        return status;
    if (count != 2)
        return refuse(h, e->name, "has fewer than two data offsets");
    e->begin = offsets[0];
    e->end = offsets[1];
    if (e->begin > e->end)
        return refuse(h, e->name, "ends before it begins");
    if (e->end > h->data_bytes)
        return refuse(h, e->name, "lies past the end of the file");
    return LINNET_OK;
}

static linnet_status read_key(header *h, entry *e)
{
    if (is_value(h, "dtype"))
        return read_type(h, e);
    if (is_value(h, "shape"))
        return read_shape(h, e);
    if (is_value(h, "data_offsets"))
        return read_range(h, e);
    return refuse(h, e->name, "has a key besides `dtype`, `shape` and `data_offsets`");
}

/* shape times the dtype's bits, in bytes. */
static linnet_status check_size(header *h, const entry *e)
{
    const lin_tensor shaped = { .shape = e->axes, .rank = (uint8_t)e->rank };
    int64_t elements, bits;
    if (!lin_tensor_elements(&shaped, &elements) || !lin_mul_i64(elements, e->type->bits, &bits))
        return refuse(h, e->name, "has a shape that passes 2^63 - 1 bits");
    if (bits % 8 != 0)
        return refuse(h, e->name, "does not fill whole bytes");
    if (bits / 8 != e->end - e->begin)
        return refuse(h, e->name, "has a shape that does not give the bytes of its range");
    return LINNET_OK;
}

static linnet_status add_entry(header *h, const entry *e)
{
    int64_t *shape = NULL;
    if (e->type == NULL || !e->has_shape || !e->has_range)
        return refuse(h, e->name, "lacks one of `dtype`, `shape` and `data_offsets`");
    linnet_status status = check_size(h, e);
    if (status == LINNET_OK)
        status = lin_tensor_axes(h->list, h->arena, e->rank, &shape, h->err);
    if (status != LINNET_OK)
        return status;
    memcpy(shape, e->axes, e->rank * sizeof(*shape));
    /* The table has fewer rows than a list has room for formats. */
    int32_t format = lin_tensor_format_of(h->list, e->type->format);
    const lin_tensor tensor = { .name = e->name,
                                .shape = shape,
                                .bytes = e->end - e->begin,
                                .offset = e->begin,
                                .format = (uint16_t)format,
                                .rank = (uint8_t)e->rank };
    return lin_tensor_add(h->list, &tensor, h->err);
}

_Static_assert(ARRAY_LEN(stored_types) < LIN_TENSOR_FORMATS, "every dtype has room in a list");

static linnet_status read_entry(header *h, const char *name)
{
    entry e = { .name = name };
    lin_pull_event event;
    if (!next(h, &event) || event != LIN_PULL_OBJECT)
        return refuse_kind(h, name, "value", event, "an object");
    for (;;) {
        if (!next(h, &event))
            return pull_status(h);
        if (event == LIN_PULL_OBJECT_END)
            return add_entry(h, &e);
        linnet_status status = read_key(h, &e);
        if (status != LINNET_OK)
            return status;
    }
}

/* ---- the whole object ---- */

static linnet_status read_metadata(header *h)
{
    lin_pull_event event;
    if (!next(h, &event) || event != LIN_PULL_OBJECT)
        return refuse_kind(h, "__metadata__", "value", event, "an object of strings");
    for (;;) {
        if (!next(h, &event))
            return pull_status(h);
        if (event == LIN_PULL_OBJECT_END)
            return LINNET_OK;
        if (event != LIN_PULL_KEY && event != LIN_PULL_STRING)
            return refuse_kind(h, "__metadata__", "value", event, "an object of strings");
    }
}

static linnet_status read_member(header *h, bool *metadata_seen)
{
    if (is_value(h, "__metadata__")) {
        if (*metadata_seen)
            return lin_fail_at(h->err, LINNET_ERROR_FORMAT,
                               (lin_place){ .source = h->list->source_name }, NULL,
                               "`__metadata__` is there twice");
        *metadata_seen = true;
        return read_metadata(h);
    }
    if (lin_header_has_nul(&h->pull))
        return lin_fail_at(h->err, LINNET_ERROR_FORMAT,
                           (lin_place){ .source = h->list->source_name }, NULL,
                           "a tensor's name holds a NUL");
    const char *name = lin_header_keep(&h->pull, h->arena);
    return name == NULL ? lin_fail_memory(h->err) : read_entry(h, name);
}

static linnet_status read_members(header *h)
{
    bool metadata_seen = false;
    lin_pull_event event;
    if (h->pull.length != 0 && h->pull.text[0] != '{')
        return lin_fail_at(h->err, LINNET_ERROR_FORMAT,
                           (lin_place){ .source = h->list->source_name }, NULL,
                           "the header does not begin with `{`");
    if (!next(h, &event))
        return pull_status(h);
    for (;;) {
        if (!next(h, &event))
            return pull_status(h);
        if (event == LIN_PULL_OBJECT_END)
            return next(h, &event) ? LINNET_OK : pull_status(h);
        linnet_status status = read_member(h, &metadata_seen);
        if (status != LINNET_OK)
            return status;
    }
}

/* ---- ranges ---- */

/* Before another in the data; an empty range before the one that begins where it stands. */
static bool is_before(const lin_tensor *a, const lin_tensor *b)
{
    return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
}

static void sift_down(const lin_tensor *items, uint32_t *order, uint32_t at, uint32_t count)
{
    const uint32_t moved = order[at];
    for (uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && is_before(&items[order[child]], &items[order[child + 1]]))
            child++;
        if (!is_before(&items[moved], &items[order[child]]))
            break;
        order[at] = order[child];
        at = child;
    }
    order[at] = moved;
}

/* A heap sort: in place, and no order of the file makes it slow. */
static void sort_ranges(const lin_tensor *items, uint32_t *order, uint32_t count)
{
    for (uint32_t i = count / 2; i-- > 0;)
        sift_down(items, order, i, count);
    for (uint32_t end = count; end-- > 1;) {
        const uint32_t last = order[0];
        order[0] = order[end];
        order[end] = last;
        sift_down(items, order, 0, end);
    }
}

static linnet_status walk_ranges(header *h, const uint32_t *order)
{
    const lin_tensor *items = h->list->items;
    int64_t end = 0;
    for (uint32_t i = 0; i < h->list->count; i++) {
        const lin_tensor *tensor = &items[order != NULL ? order[i] : i];
        if (tensor->offset < end)
            return refuse(h, tensor->name, "overlaps the one before it");
        if (tensor->offset > end)
            return refuse(h, tensor->name, "leaves a hole before it");
        end += tensor->bytes;
    }
    if (end != h->data_bytes)
        return lin_fail_at(h->err, LINNET_ERROR_FORMAT,
                           (lin_place){ .source = h->list->source_name }, NULL,
                           "the tensors end at byte %lld of %lld bytes of data", (long long)end,
                           (long long)h->data_bytes);
    return LINNET_OK;
}

static bool are_sorted(const lin_tensor_list *list)
{
    for (uint32_t i = 1; i < list->count; i++)
        if (is_before(&list->items[i], &list->items[i - 1]))
            return false;
    return true;
}

static linnet_status check_ranges(header *h)
{
    const lin_tensor_list *list = h->list;
    if (are_sorted(list))
        return walk_ranges(h, NULL);
    const lin_allocator *allocator = &h->arena->allocator;
    const uint64_t size = list->count * sizeof(uint32_t);
    uint32_t *order = lin_alloc(allocator, size);
    if (order == NULL)
        return lin_fail_memory(h->err);
    for (uint32_t i = 0; i < list->count; i++)
        order[i] = i;
    sort_ranges(list->items, order, list->count);
    linnet_status status = walk_ranges(h, order);
    lin_release(allocator, order, size);
    return status;
}

/* ---- files ---- */

/* A tensor needs 46 bytes and a brace: `"":{"dtype":"U8","shape":[],"data_offsets":[0,1]},` without
 * its name. */
static uint64_t bound_tensors(const char *text, uint64_t length)
{
    enum { SHORTEST = 46 };
    uint64_t braces = lin_header_count(text, length, '{');
    uint64_t most = length / SHORTEST + 1;
    most = braces < most ? braces : most;
    return most < LIN_TENSOR_MAX_COUNT ? most : LIN_TENSOR_MAX_COUNT;
}

linnet_status lin_safetensors_length(const char *source_name,
                                     const unsigned char prefix[LIN_SAFETENSORS_PREFIX],
                                     uint64_t file_bytes, uint64_t *out_length, linnet_error *err)
{
    const lin_place place = { .source = source_name };
    uint64_t length = 0;
    if (file_bytes < LIN_SAFETENSORS_PREFIX)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL,
                           "a file of %llu bytes has no header", (unsigned long long)file_bytes);
    for (uint32_t i = LIN_SAFETENSORS_PREFIX; i-- > 0;)
        length = length << 8 | prefix[i];
    if (length > LIN_SAFETENSORS_MAX_HEADER)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL,
                           "the header says it has %llu bytes; at most 100 MB are read",
                           (unsigned long long)length);
    if (length > file_bytes - LIN_SAFETENSORS_PREFIX)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL,
                           "the header says it has %llu bytes, the file has %llu",
                           (unsigned long long)length, (unsigned long long)file_bytes);
    *out_length = length;
    return LINNET_OK;
}

linnet_status lin_safetensors_read(lin_arena *arena, const char *source_name, char *text,
                                   uint64_t length, uint64_t data_bytes, lin_tensor_list *out,
                                   linnet_error *err)
{
    header h = { .arena = arena, .list = out, .err = err };
    if (data_bytes > INT64_MAX)
        return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = source_name }, NULL,
                           "more than 2^63 - 1 bytes of data");
    h.data_bytes = (int64_t)data_bytes;
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL; /* the reader owns memory outside the arena */
    linnet_status status =
        lin_tensor_list_init(out, arena, source_name, bound_tensors(text, length), err);
    if (status == LINNET_OK) {
        lin_pull_init(&h.pull, source_name, text, length, &arena->allocator);
        status = read_members(&h);
        lin_pull_free(&h.pull);
    }
    if (status == LINNET_OK)
        status = check_ranges(&h);
    arena->on_failure = on_failure;
    return status;
}

static linnet_status read_open(lin_arena *arena, const lin_file *file, lin_tensor_list *out,
                               linnet_error *err)
{
    unsigned char prefix[LIN_SAFETENSORS_PREFIX] = { 0 };
    uint64_t length = 0;
    const uint64_t first = file->bytes < sizeof(prefix) ? file->bytes : sizeof(prefix);
    linnet_status status = lin_file_read_at(file, 0, prefix, first, err);
    if (status == LINNET_OK)
        status = lin_safetensors_length(file->path, prefix, file->bytes, &length, err);
    if (status != LINNET_OK)
        return status;
    char *text = lin_arena_alloc(arena, length + 1);
    if (text == NULL)
        return lin_fail_memory(err);
    status = lin_file_read_at(file, LIN_SAFETENSORS_PREFIX, text, length, err);
    if (status == LINNET_OK)
        status = lin_safetensors_read(arena, file->path, text, length,
                                      file->bytes - LIN_SAFETENSORS_PREFIX - length, out, err);
    return status;
}

linnet_status lin_safetensors_open(lin_arena *arena, const char *path, lin_tensor_list *out,
                                   linnet_error *err)
{
    lin_file file;
    linnet_status status = lin_file_open(path, &file, err);
    if (status != LINNET_OK)
        return status;
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL; /* nothing may jump past the open file */
    status = read_open(arena, &file, out, err);
    arena->on_failure = on_failure;
    lin_file_close(&file);
    return status;
}
