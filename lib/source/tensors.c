/* SPDX-License-Identifier: MIT */

/*
 * The list of a checkpoint's tensors: an array of a size that is known before the first is added,
 * an open-addressed table from names to it, and totals by format.
 *
 * The table's hash is keyed with an address of the process, so that names chosen to meet in one
 * slot meet nowhere else; nothing that is given out depends on it. Cost: linear in the names.
 */

#include "source/tensors.h"

#include <string.h>

enum { AXES_BLOCK = 4096 };

/* ---- the name table ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    /* Two rounds of a 64-bit finalizer: xor, shift, multiply by odd constants (golden ratio and
     * the square root of 3). */
    uint64_t h = a ^ b;
    h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ h >> 29) * UINT64_C(0xbb67ae8584caa73b);
    return h ^ h >> 32;
}

static uint64_t hash_name(uint64_t seed, const char *name, uint64_t length)
{
    uint64_t h = seed ^ length, word = 0;
    for (; length >= 8; name += 8, length -= 8) {
        memcpy(&word, name, 8);
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, name, (size_t)length);
    return mix(h, word);
}

/* The slot that holds the name, or the free one where it belongs. */
static uint32_t slot_of(const lin_tensor_list *list, const char *name)
{
    uint64_t h = hash_name(list->seed, name, strlen(name));
    uint32_t at = (uint32_t)h & list->table_mask;
    while (list->table[at] != 0 && strcmp(list->items[list->table[at] - 1].name, name) != 0)
        at = (at + 1) & list->table_mask;
    return at;
}

const lin_tensor *lin_tensor_find(const lin_tensor_list *list, const char *name)
{
    uint32_t number = list->table[slot_of(list, name)];
    return number == 0 ? NULL : &list->items[number - 1];
}

/* ---- making a list ---- */

linnet_status lin_tensor_list_init(lin_tensor_list *list, lin_arena *arena, const char *source_name,
                                   uint64_t capacity, linnet_error *err)
{
    if (capacity > LIN_TENSOR_MAX_COUNT)
        return lin_fail_at(err, LINNET_ERROR_UNSUPPORTED, (lin_place){ .source = source_name },
                           NULL, "more than %d tensors in one checkpoint", LIN_TENSOR_MAX_COUNT);
    uint32_t slots = 64;
    while (slots < capacity + capacity / 2)
        slots *= 2;
    *list = (lin_tensor_list){ .source_name = source_name,
                               .capacity = (uint32_t)capacity,
                               .table_mask = slots - 1,
                               .shard_count = 1,
                               .stated_bytes = -1,
                               .stated_parameters = -1 };
    list->items = LIN_NEW_ARRAY(arena, lin_tensor, capacity);
    list->table = LIN_NEW_ARRAY(arena, uint32_t, slots);
    list->shards = LIN_NEW(arena, lin_tensor_shard);
    if (list->items == NULL || list->table == NULL || list->shards == NULL)
        return lin_fail_memory(err);
    list->shards[0] = (lin_tensor_shard){ source_name, true };
    list->seed = mix((uint64_t)(uintptr_t)list->table, (uint64_t)(uintptr_t)list);
    return LINNET_OK;
}

int32_t lin_tensor_format_of(lin_tensor_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->format_count; i++)
        if (strcmp(list->formats[i].name, name) == 0)
            return (int32_t)i;
    if (list->format_count == LIN_TENSOR_FORMATS)
        return -1;
    lin_tensor_format *format = &list->formats[list->format_count];
    *format = (lin_tensor_format){ .name = name };
    format->is_dtype = lin_dtype_find(name, strlen(name), &format->dtype);
    return (int32_t)list->format_count++;
}

linnet_status lin_tensor_axes(lin_tensor_list *list, lin_arena *arena, uint32_t rank, int64_t **out,
                              linnet_error *err)
{
    const lin_place place = { .source = list->source_name };
    if (rank > LIN_TENSOR_MAX_RANK)
        return lin_fail_at(err, LINNET_ERROR_UNSUPPORTED, place, NULL,
                           "a tensor of more than %d axes", LIN_TENSOR_MAX_RANK);
    if (list->axes_total + rank > LIN_TENSOR_MAX_AXES)
        return lin_fail_at(err, LINNET_ERROR_UNSUPPORTED, place, NULL,
                           "the tensors have more than %d axes together", LIN_TENSOR_MAX_AXES);
    if (list->axes == NULL || list->axes_left < rank) {
        list->axes = LIN_NEW_ARRAY(arena, int64_t, AXES_BLOCK);
        if (list->axes == NULL)
            return lin_fail_memory(err);
        list->axes_left = AXES_BLOCK;
    }
    *out = list->axes;
    list->axes += rank;
    list->axes_left -= rank;
    list->axes_total += rank;
    return LINNET_OK;
}

bool lin_tensor_elements(const lin_tensor *tensor, int64_t *out)
{
    int64_t product = 1;
    bool any_zero = false;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] < 0)
            return false;
        any_zero = any_zero || tensor->shape[i] == 0;
    }
    for (uint32_t i = 0; i < tensor->rank && !any_zero; i++)
        if (!lin_mul_i64(product, tensor->shape[i], &product))
            return false;
    *out = any_zero ? 0 : product;
    return true;
}

void lin_tensor_show(char out[LIN_TENSOR_SHOWN], const char *name)
{
    uint64_t length = strlen(name), used = 0;
    if (length >= LIN_TENSOR_SHOWN) {
        name += length - (LIN_TENSOR_SHOWN - 4);
        while (((unsigned char)*name & 0xc0) == 0x80)
            name++;
        memcpy(out, "...", 3);
        used = 3;
    }
    lin_copy_utf8(out + used, LIN_TENSOR_SHOWN - used, name);
}

static linnet_status refuse(const lin_tensor_list *list, const char *name, linnet_status status,
                            const char *what, linnet_error *err)
{
    char shown[LIN_TENSOR_SHOWN];
    lin_tensor_show(shown, name);
    return lin_fail_at(err, status, (lin_place){ .source = list->source_name }, NULL,
                       "tensor `%s` %s", shown, what);
}

static bool count_in(lin_tensor_list *list, const lin_tensor *tensor)
{
    int64_t elements = 0, bytes = list->bytes;
    if (tensor->bytes < 0)
        bytes = -1;
    else if (bytes >= 0 && !lin_add_i64(bytes, tensor->bytes, &bytes))
        return false;
    if (tensor->format != LIN_TENSOR_NO_FORMAT) {
        lin_tensor_format *format = &list->formats[tensor->format];
        if (!lin_tensor_elements(tensor, &elements) ||
            !lin_add_i64(format->elements, elements, &format->elements) ||
            !lin_add_i64(format->bytes, tensor->bytes, &format->bytes))
            return false;
        format->tensors++;
    }
    list->bytes = bytes;
    return true;
}

linnet_status lin_tensor_add(lin_tensor_list *list, const lin_tensor *tensor, linnet_error *err)
{
    if (tensor->name[0] == '\0')
        return lin_fail_at(err, LINNET_ERROR_FORMAT, (lin_place){ .source = list->source_name },
                           NULL, "a tensor has an empty name");
    if (strlen(tensor->name) > LIN_TENSOR_MAX_NAME)
        return refuse(list, tensor->name, LINNET_ERROR_FORMAT, "has a name of more than 64 KiB",
                      err);
    if (list->count == LIN_TENSOR_MAX_COUNT)
        return refuse(list, tensor->name, LINNET_ERROR_UNSUPPORTED,
                      "is one more than the 1,000,000 that are read", err);
    if (list->count == list->capacity)
        return refuse(list, tensor->name, LINNET_ERROR_FORMAT, "is one more than there should be",
                      err);
    uint32_t slot = slot_of(list, tensor->name);
    if (list->table[slot] != 0)
        return refuse(list, tensor->name, LINNET_ERROR_FORMAT, "is there twice", err);
    if (!count_in(list, tensor))
        return refuse(list, tensor->name, LINNET_ERROR_OVERFLOW,
                      "brings a total past 2^63 - 1 bytes or elements", err);
    list->items[list->count++] = *tensor;
    list->table[slot] = list->count;
    return LINNET_OK;
}

linnet_status lin_tensor_count_all(lin_tensor_list *list, linnet_error *err)
{
    list->bytes = 0;
    for (uint32_t i = 0; i < list->format_count; i++)
        list->formats[i].tensors = list->formats[i].elements = list->formats[i].bytes = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (!count_in(list, &list->items[i]))
            return refuse(list, list->items[i].name, LINNET_ERROR_OVERFLOW,
                          "brings a total past 2^63 - 1 bytes or elements", err);
    return LINNET_OK;
}
