/* SPDX-License-Identifier: MIT */

/*
 * Reads a GGUF header.
 *
 * The file is untrusted. A cursor hands out bytes that are there, from memory or through a window
 * over the file; every count is compared with the bytes that are left before anything is made for
 * it, every product and sum of sizes is checked, arrays are flat (an array of arrays is refused),
 * so nothing recurses. Time is linear in the header, but for sorting keys (to find duplicates) and
 * tensors (to find overlaps), which is n log n whatever they are called.
 *
 * A failure fills the error and jumps to the entry, which owns nothing but the arena.
 */

#include "source/gguf_cursor.h"

#include <string.h>

enum {
    MAX_AXES = 4, /* GGML_MAX_DIMS */
    DEFAULT_ALIGNMENT = 32
};

static uint32_t take_u32(gguf_reader *r, const char *what)
{
    return (uint32_t)lin_gguf_take_bits(r, 4, what);
}

static uint64_t take_word(gguf_reader *r, const char *what)
{
    return lin_gguf_take_bits(r, lin_gguf_word_bytes(r), what);
}

/* ---- texts ---- */

static bool is_text(const char *text, uint64_t length)
{
    for (uint64_t i = 0; i < length;) {
        const uint32_t step = lin_utf8_length(text + i, length - i);
        if (step == 0 || text[i] == '\0')
            return false;
        i += step;
    }
    return true;
}

static const char *keep_text(gguf_reader *r, uint64_t length, const char *what)
{
    const char *bytes = (const char *)lin_gguf_take(r, length, what);
    return is_text(bytes, length) ? lin_arena_text(r->arena, length > 0 ? bytes : "", length)
                                  : NULL;
}

/* A key or a tensor's name. */
static const char *take_name(gguf_reader *r, const char *what)
{
    const uint64_t length = take_word(r, what);
    if (length > LIN_GGUF_MAX_KEY)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s has %llu bytes; at most %d are meant", what,
                      (unsigned long long)length, LIN_GGUF_MAX_KEY);
    if (length == 0)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s is empty", what);
    const char *name = keep_text(r, length, what);
    if (name == NULL)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s is no UTF-8", what);
    return name;
}

/* ---- values ---- */

/* Bytes of a scalar, 0 for what has no fixed size. */
static const uint8_t scalar_bytes[LIN_GGUF_TYPE_COUNT] = {
    [LIN_GGUF_U8] = 1,  [LIN_GGUF_I8] = 1,  [LIN_GGUF_U16] = 2, [LIN_GGUF_I16] = 2,
    [LIN_GGUF_U32] = 4, [LIN_GGUF_I32] = 4, [LIN_GGUF_F32] = 4, [LIN_GGUF_BOOL] = 1,
    [LIN_GGUF_U64] = 8, [LIN_GGUF_I64] = 8, [LIN_GGUF_F64] = 8,
};

static bool is_real(uint32_t type)
{
    return type == LIN_GGUF_F32 || type == LIN_GGUF_F64;
}

static double real_of(uint32_t type, uint64_t bits)
{
    double real;
    float narrow;
    const uint32_t narrow_bits = (uint32_t)bits;
    memcpy(&real, &bits, sizeof(real));
    memcpy(&narrow, &narrow_bits, sizeof(narrow));
    return type == LIN_GGUF_F32 ? (double)narrow : real;
}

/* False: past int64. */
static bool integer_of(uint32_t type, uint64_t bits, int64_t *out)
{
    switch (type) {
    case LIN_GGUF_I8:
        *out = bits < 0x80 ? (int64_t)bits : (int64_t)bits - 0x100;
        return true;
    case LIN_GGUF_I16:
        *out = bits < 0x8000 ? (int64_t)bits : (int64_t)bits - 0x10000;
        return true;
    case LIN_GGUF_I32:
        *out = bits < 0x80000000 ? (int64_t)bits : (int64_t)bits - INT64_C(0x100000000);
        return true;
    case LIN_GGUF_I64:
        *out = bits <= INT64_MAX ? (int64_t)bits : -(int64_t)(UINT64_MAX - bits) - 1;
        return true;
    default:
        *out = (int64_t)(bits <= INT64_MAX ? bits : 0);
        return bits <= INT64_MAX;
    }
}

static uint64_t take_scalar(gguf_reader *r, uint32_t type, const char *what)
{
    const uint64_t bits = lin_gguf_take_bits(r, scalar_bytes[type], what);
    if (type == LIN_GGUF_BOOL && bits > 1)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s is %u; 0 or 1 is meant", what, (unsigned)bits);
    return bits;
}

static void skip_texts(gguf_reader *r, uint64_t count)
{
    if (count > lin_gguf_left(r) / lin_gguf_word_bytes(r))
        lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                      "an array says it has %llu texts, more than the file can hold",
                      (unsigned long long)count);
    for (uint64_t i = 0; i < count; i++)
        lin_gguf_skip(r, take_word(r, "the texts of an array"), "the texts of an array");
}

static void take_array(gguf_reader *r, lin_gguf_value *value)
{
    value->type = take_u32(r, "the type of an array");
    value->is_array = true;
    if (value->type == LIN_GGUF_ARRAY)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "`%s` is an array of arrays, which is not read",
                      value->key);
    if (value->type >= LIN_GGUF_TYPE_COUNT)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                      "`%s` is an array of values of type %u, which does not exist", value->key,
                      value->type);
    value->count = take_word(r, "the length of an array");
    if (value->type == LIN_GGUF_STRING) {
        skip_texts(r, value->count);
        return;
    }
    const uint64_t size = scalar_bytes[value->type];
    if (value->count > lin_gguf_left(r) / size)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                      "`%s` says it has %llu items, more than the file can hold", value->key,
                      (unsigned long long)value->count);
    if (is_real(value->type) || value->count > LIN_GGUF_KEPT_ITEMS) {
        lin_gguf_skip(r, value->count * size, "an array");
        return;
    }
    int64_t *items = LIN_NEW_ARRAY(r->arena, int64_t, value->count);
    value->integers = items;
    for (uint64_t i = 0; i < value->count; i++)
        if (!integer_of(value->type, take_scalar(r, value->type, "an array's item"), &items[i]))
            value->integers = NULL;
}

static void take_value(gguf_reader *r, lin_gguf_value *value)
{
    if (value->type >= LIN_GGUF_TYPE_COUNT)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`%s` has type %u, which does not exist", value->key,
                      value->type);
    if (value->type == LIN_GGUF_ARRAY) {
        take_array(r, value);
    } else if (value->type == LIN_GGUF_STRING) {
        value->count = take_word(r, "the length of a text");
        if (value->count <= LIN_GGUF_KEPT_TEXT)
            value->text = keep_text(r, value->count, "a text");
        else
            lin_gguf_skip(r, value->count, "a text");
    } else {
        const uint64_t bits = take_scalar(r, value->type, "a value");
        if (is_real(value->type))
            value->real = real_of(value->type, bits);
        else
            value->is_integer = integer_of(value->type, bits, &value->integer);
    }
}

/* ---- order ---- */

static const uint32_t *sorted(gguf_reader *r, uint32_t count, lin_sort_before before)
{
    uint32_t *order = LIN_NEW_ARRAY(r->arena, uint32_t, count);
    uint32_t *scratch = LIN_NEW_ARRAY(r->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    lin_sort(order, count, scratch, before, r);
    return order;
}

/* ---- metadata ---- */

static int compare_keys(const gguf_reader *r, uint32_t a, uint32_t b)
{
    return strcmp(r->values.items[a].key, r->values.items[b].key);
}

static bool key_before(const void *reader, uint32_t a, uint32_t b)
{
    return compare_keys(reader, a, b) < 0;
}

static void check_keys(gguf_reader *r)
{
    const uint32_t *order = sorted(r, r->values.count, key_before);
    for (uint32_t i = 1; i < r->values.count; i++)
        if (compare_keys(r, order[i - 1], order[i]) == 0)
            lin_gguf_fail(r, LINNET_ERROR_FORMAT, "the key `%.200s` is there twice",
                          r->values.items[order[i]].key);
}

static void read_alignment(gguf_reader *r)
{
    const lin_gguf_value *value = lin_gguf_find(r->out, "general.alignment");
    r->out->alignment = DEFAULT_ALIGNMENT;
    if (value == NULL)
        return;
    const int64_t alignment = value->integer;
    if (!value->is_integer || value->type == LIN_GGUF_BOOL)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`general.alignment` is no integer");
    if (alignment < 1 || (alignment & (alignment - 1)) != 0)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                      "`general.alignment` is %lld; a power of two is meant", (long long)alignment);
    r->out->alignment = (uint64_t)alignment;
}

static void read_values(gguf_reader *r, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        lin_gguf_value value = { .key = take_name(r, "a key") };
        value.type = take_u32(r, "the type of a value");
        take_value(r, &value);
        LIN_PUSH(r->arena, &r->values, value);
    }
    check_keys(r);
    r->out->values = r->values.items;
    r->out->value_count = r->values.count;
    read_alignment(r);
}

/* ---- tensors ---- */

static void take_shape(gguf_reader *r, lin_tensor *tensor)
{
    const uint32_t rank = take_u32(r, "a tensor's number of axes");
    int64_t *shape = NULL;
    if (rank > MAX_AXES)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`%.200s` has %u axes; at most %d are meant",
                      tensor->name, rank, MAX_AXES);
    lin_gguf_pass_on(r, lin_tensor_axes(&r->out->tensors, r->arena, rank, &shape, r->err));
    for (uint32_t i = 0; i < rank; i++) {
        const uint64_t extent = take_word(r, "a tensor's shape");
        if (extent > INT64_MAX)
            lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`%.200s` has an axis of 2^63 elements or more",
                          tensor->name);
        shape[rank - 1 - i] = (int64_t)extent;
    }
    tensor->rank = (uint8_t)rank;
    tensor->shape = shape;
}

/* Blocks lie along the fastest axis, which is the file's first and our last. */
static void size_tensor(gguf_reader *r, lin_tensor *tensor, const lin_gguf_type *type)
{
    const int64_t columns = tensor->rank > 0 ? tensor->shape[tensor->rank - 1] : 1;
    int64_t row_bytes, elements;
    if (columns % type->block_elements != 0)
        lin_gguf_fail(
            r, LINNET_ERROR_FORMAT,
            "`%.200s` has rows of %lld elements, which do not divide into blocks of %d (%s)",
            tensor->name, (long long)columns, type->block_elements, type->name);
    bool fits = lin_mul_i64(columns / type->block_elements, type->block_bytes, &row_bytes) &&
                lin_add_i64(row_bytes, type->row_bytes, &row_bytes) &&
                lin_tensor_elements(tensor, &elements);
    tensor->bytes = fits ? row_bytes : 0;
    for (uint32_t i = 0; fits && i + 1 < tensor->rank; i++)
        fits = lin_mul_i64(tensor->bytes, tensor->shape[i], &tensor->bytes);
    if (!fits)
        lin_gguf_fail(r, LINNET_ERROR_OVERFLOW, "`%.200s` has more than 2^63 - 1 elements or bytes",
                      tensor->name);
}

static void take_tensor(gguf_reader *r)
{
    lin_tensor tensor = { .name = take_name(r, "a tensor's name") };
    take_shape(r, &tensor);
    const uint32_t id = take_u32(r, "a tensor's type");
    const lin_gguf_type *type = lin_gguf_type_of(id);
    if (type == NULL)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "`%.200s` has type %u, which is not known",
                      tensor.name, id);
    size_tensor(r, &tensor, type);
    const uint64_t offset = lin_gguf_take_bits(r, 8, "a tensor's offset");
    if (offset > INT64_MAX)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`%.200s` is past the end of the file", tensor.name);
    tensor.offset = (int64_t)offset;
    const int32_t format = lin_tensor_format_of(&r->out->tensors, type->name);
    if (format < 0)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "too many types of tensors");
    tensor.format = (uint16_t)format;
    lin_gguf_pass_on(r, lin_tensor_add(&r->out->tensors, &tensor, r->err));
}

/* Empty tensors first, so that each begins where the former ends. */
static bool offset_before(const void *reader, uint32_t a, uint32_t b)
{
    const lin_tensor *items = ((const gguf_reader *)reader)->out->tensors.items;
    if (items[a].offset != items[b].offset)
        return items[a].offset < items[b].offset;
    return items[a].bytes < items[b].bytes;
}

static bool padded(int64_t bytes, uint64_t alignment, int64_t *out)
{
    return lin_round_up_i64(bytes, (int64_t)alignment, out);
}

static void find_data(gguf_reader *r)
{
    int64_t begin;
    if (!padded((int64_t)r->at, r->out->alignment, &begin))
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`general.alignment` is larger than any file");
    r->out->data_offset = (uint64_t)begin;
    if (r->out->tensors.count > 0 && r->out->data_offset > r->bytes)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                      "the data begins at byte %llu, past the end of the file (%llu bytes)",
                      (unsigned long long)r->out->data_offset, (unsigned long long)r->bytes);
}

/* The tensors tile the data: each begins on the alignment, right after the padding of the one
 * before it, and ends inside the file. */
static void check_tiles(gguf_reader *r)
{
    const lin_tensor_list *list = &r->out->tensors;
    const uint32_t *order = sorted(r, list->count, offset_before);
    const uint64_t room = r->bytes - r->out->data_offset;
    int64_t expected = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const lin_tensor *tensor = &list->items[order[i]];
        if ((uint64_t)tensor->offset % r->out->alignment != 0)
            lin_gguf_fail(r, LINNET_ERROR_FORMAT,
                          "`%.200s` begins at %lld, which is no multiple of %llu", tensor->name,
                          (long long)tensor->offset, (unsigned long long)r->out->alignment);
        if ((uint64_t)tensor->offset > room ||
            (uint64_t)tensor->bytes > room - (uint64_t)tensor->offset)
            lin_gguf_fail(
                r, LINNET_ERROR_FORMAT,
                "`%.200s` takes %lld bytes from %lld on, past the %llu bytes of data in the file",
                tensor->name, (long long)tensor->bytes, (long long)tensor->offset,
                (unsigned long long)room);
        if (tensor->offset < expected)
            lin_gguf_fail(r, LINNET_ERROR_FORMAT, "`%.200s` overlaps another tensor", tensor->name);
        if (tensor->offset > expected)
            lin_gguf_fail(r, LINNET_ERROR_FORMAT, "there is a hole of %lld bytes before `%.200s`",
                          (long long)(tensor->offset - expected), tensor->name);
        if (!padded(tensor->offset + tensor->bytes, r->out->alignment, &expected))
            lin_gguf_fail(r, LINNET_ERROR_OVERFLOW, "the tensors have more than 2^63 - 1 bytes");
    }
}

/* ---- the whole ---- */

static void read_version(gguf_reader *r)
{
    if (memcmp(lin_gguf_take(r, 4, "the first word"), "GGUF", 4) != 0) {
        r->at = 0;
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "no GGUF file: it does not begin with `GGUF`");
    }
    uint32_t version = take_u32(r, "the version");
    if ((version & 0xffff) == 0) { /* versions are small: the other byte order */
        r->out->is_big_endian = true;
        r->at -= 4;
        version = take_u32(r, "the version");
    }
    if (version < 1 || version > 3)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "GGUF version %u is not known; 1 to 3 are",
                      version);
    r->out->version = version;
}

/* A count of records that take at least `least` bytes each. */
static uint64_t take_count(gguf_reader *r, const char *what)
{
    const uint64_t count = take_word(r, what);
    if (count > INT64_MAX)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s is negative", what);
    return count;
}

static void check_count(gguf_reader *r, uint64_t count, uint64_t least, const char *what)
{
    if (count > lin_gguf_left(r) / least)
        lin_gguf_fail(r, LINNET_ERROR_FORMAT, "%s is %llu, more than the file can hold", what,
                      (unsigned long long)count);
}

static void read_header(gguf_reader *r)
{
    read_version(r);
    const uint64_t word = lin_gguf_word_bytes(r);
    const uint64_t tensors = take_count(r, "the number of tensors");
    const uint64_t pairs = take_count(r, "the number of keys");
    check_count(r, pairs, word + 4 + 1, "the number of keys");
    check_count(r, tensors, word + 4 + 4 + 8, "the number of tensors");
    if (pairs > LIN_GGUF_MAX_PAIRS)
        lin_gguf_fail(r, LINNET_ERROR_UNSUPPORTED, "the file has more than %d keys",
                      LIN_GGUF_MAX_PAIRS);
    read_values(r, pairs);
    check_count(r, tensors, word + 4 + 4 + 8, "the number of tensors");
    lin_gguf_pass_on(
        r, lin_tensor_list_init(&r->out->tensors, r->arena, r->out->source_name, tensors, r->err));
    for (uint64_t i = 0; i < tensors; i++)
        take_tensor(r);
    find_data(r);
    check_tiles(r);
}

static linnet_status read_guarded(gguf_reader *r)
{
    jmp_buf failure;
    jmp_buf *const outer = r->arena->on_failure;
    r->status = LINNET_ERROR_NO_MEMORY; /* a jump without a status is the arena's */
    r->on_failure = &failure;
    r->arena->on_failure = &failure;
    if (setjmp(failure) == 0) {
        if (r->file != NULL)
            r->window = lin_arena_alloc(r->arena, LIN_GGUF_WINDOW);
        read_header(r);
        r->status = LINNET_OK;
    }
    r->arena->on_failure = outer;
    return r->status == LINNET_ERROR_NO_MEMORY ? lin_fail_memory(r->err) : r->status;
}

linnet_status lin_gguf_read(lin_arena *arena, const char *source_name, const void *bytes,
                            uint64_t available, uint64_t file_bytes, lin_gguf *out,
                            linnet_error *err)
{
    *out = (lin_gguf){ .source_name = source_name };
    gguf_reader r = { .arena = arena, .out = out, .err = err, .memory = bytes };
    r.bytes = file_bytes < INT64_MAX ? file_bytes : INT64_MAX;
    r.available = available < r.bytes ? available : r.bytes;
    return read_guarded(&r);
}

linnet_status lin_gguf_read_file(lin_arena *arena, const char *path, lin_gguf *out,
                                 linnet_error *err)
{
    lin_file file;
    linnet_status status = lin_file_open(path, &file, err);
    if (status != LINNET_OK)
        return status;
    *out = (lin_gguf){ .source_name = path };
    gguf_reader r = { .arena = arena,
                      .out = out,
                      .err = err,
                      .file = &file,
                      .bytes = file.bytes,
                      .available = file.bytes };
    status = read_guarded(&r);
    lin_file_close(&file);
    return status;
}

const lin_gguf_value *lin_gguf_find(const lin_gguf *gguf, const char *key)
{
    for (uint32_t i = 0; i < gguf->value_count; i++)
        if (strcmp(gguf->values[i].key, key) == 0)
            return &gguf->values[i];
    return NULL;
}

bool lin_gguf_integer(const lin_gguf *gguf, const char *key, int64_t *out)
{
    const lin_gguf_value *value = lin_gguf_find(gguf, key);
    if (value == NULL || !value->is_integer || value->type == LIN_GGUF_BOOL)
        return false;
    *out = value->integer;
    return true;
}

const char *lin_gguf_text(const lin_gguf *gguf, const char *key)
{
    const lin_gguf_value *value = lin_gguf_find(gguf, key);
    return value != NULL ? value->text : NULL;
}
