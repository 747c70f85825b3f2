/* SPDX-License-Identifier: MIT */

/* Version, status names and the text handle. */

#include "api/api.h"
#include <string.h>

uint32_t linnet_version(void)
{
    return LINNET_VERSION;
}

const char *linnet_version_string(void)
{
    return "0.1.0";
}

const char *linnet_status_name(linnet_status status)
{
    static const struct {
        linnet_status status;
        const char *name;
    } names[] = {
        { LINNET_OK, "ok" },
        { LINNET_ERROR_NO_MEMORY, "no memory" },
        { LINNET_ERROR_ARGUMENT, "argument" },
        { LINNET_ERROR_CANCELLED, "cancelled" },
        { LINNET_ERROR_NOT_FOUND, "not found" },
        { LINNET_ERROR_SOURCE, "source" },
        { LINNET_ERROR_OVERFLOW, "overflow" },
        { LINNET_ERROR_FILE, "file" },
        { LINNET_ERROR_FORMAT, "format" },
        { LINNET_ERROR_UNSUPPORTED, "unsupported" },
        { LINNET_ERROR_CAPACITY, "capacity" },
    };
    for (uint32_t i = 0; i < ARRAY_LEN(names); i++)
        if (names[i].status == status)
            return names[i].name;
    return "unknown";
}

linnet_status lin_text_wrap(const lin_text *take_text, linnet_text **out_text, linnet_error *err)
{
    lin_text text = *take_text;
    linnet_text *handle = text.failed ? NULL : lin_alloc(&text.allocator, sizeof *handle);
    if (handle == NULL) {
        lin_text_free(&text);
        return lin_fail_memory(err);
    }
    handle->text = text;
    *out_text = handle;
    return LINNET_OK;
}

const char *linnet_text_data(const linnet_text *text)
{
    return lin_text_data(&text->text);
}

uint64_t linnet_text_length(const linnet_text *text)
{
    return text->text.length;
}

linnet_status linnet_text_set(linnet_text *text, const char *data, uint64_t length,
                              linnet_error *err)
{
    lin_text_clear(&text->text);
    lin_text_append(&text->text, data, length);
    if (!text->text.failed)
        return LINNET_OK;
    lin_text_clear(&text->text);
    return lin_fail_memory(err);
}

void linnet_text_free(linnet_text *text)
{
    if (text == NULL)
        return;
    const lin_allocator allocator = text->text.allocator;
    lin_text_free(&text->text);
    lin_release(&allocator, text, sizeof *text);
}

linnet_status linnet_parse_size(const char *text, int64_t *out_bytes, linnet_error *err)
{
    if (lin_parse_size(text, strlen(text), out_bytes))
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT,
                    "`%s` is no size: write bytes or a number with a unit, such as 80GiB", text);
}

const char *linnet_nearest_word(const char *word, const char *const *words, uint64_t count)
{
    return lin_nearest(word, words, count < UINT32_MAX ? (uint32_t)count : UINT32_MAX);
}
