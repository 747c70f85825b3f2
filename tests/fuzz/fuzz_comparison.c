/* SPDX-License-Identifier: MIT */

/* A document to compare: beside itself, where nothing may differ, and beside one that is right.
 * Whatever is accepted can be printed, the JSON so that it reads. */

#include "report/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char memory[] =
    "{\"version\": 1, \"configuration\": {\"model\": \"m\", \"training\": {\"optimizer\": "
    "\"adamw\"}}, \"components\": [{\"name\": \"Weights\", \"bytes\": 1024}, {\"name\": \"KV "
    "cache\", \"bytes\": null}], \"devices\": [{\"name\": \"stage 0\", \"expected_peak\": 3}, "
    "{\"name\": \"stage 1\", \"expected_peak\": 4}], \"recompute\": 0.25, \"peak\": {\"graph\": 1, "
    "\"allocator\": 2, \"expected\": 3}, \"verdict\": {\"device_memory\": 100, \"free\": 97, "
    "\"verdict\": \"OK\"}}";

static void print(const lin_sides *sides)
{
    lin_text text, json;
    lin_arena arena;
    const lin_json *root = NULL;
    linnet_error err;
    lin_text_init(&text, &lin_default_allocator);
    lin_text_init(&json, &lin_default_allocator);
    lin_arena_init(&arena, &lin_default_allocator);
    lin_report_comparison_text(&text, sides, true);
    lin_text_clear(&text);
    lin_report_comparison_text(&text, sides, false);
    lin_report_comparison_json(&json, sides);
    assert(!text.failed && !json.failed && text.data[text.length - 1] == '\n');
    assert(json.length > LIN_JSON_MAX_BYTES ||
           lin_json_read("out", json.data, json.length, false, &arena, &root, &err) == LINNET_OK);
    lin_arena_free(&arena);
    lin_text_free(&text);
    lin_text_free(&json);
}

static linnet_status add(lin_sides *sides, const char *text, uint64_t length)
{
    linnet_error err = { 0 };
    const uint32_t columns = lin_sides_columns(sides);
    const linnet_status status = lin_sides_add_json(sides, "x.json", text, length, &err);
    if (status != LINNET_OK) {
        assert(err.code == status && err.message[0] != '\0');
        assert(status == LINNET_ERROR_FORMAT || status == LINNET_ERROR_ARGUMENT);
        assert(lin_sides_columns(sides) == columns);
    }
    return status;
}

static lin_sides *make(void)
{
    lin_sides *sides = NULL;
    return lin_sides_new(&lin_default_allocator, &sides, NULL) == LINNET_OK ? sides : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + (size == 0));
    lin_sides *same = make(), *other = make();
    if (text == NULL || same == NULL || other == NULL)
        abort();
    memcpy(text, data, size);
    if (add(same, text, size) == LINNET_OK) {
        const uint32_t columns = lin_sides_columns(same);
        if (2 * columns <= LIN_SIDES_MOST)
            assert(add(same, text, size) == LINNET_OK);
        for (uint32_t i = 0; i < lin_sides_rows(same) && columns == 1; i++)
            assert(!lin_sides_row(same, i)->differs);
        print(same);
    }
    assert(add(other, memory, sizeof(memory) - 1) == LINNET_OK);
    if (add(other, text, size) == LINNET_OK)
        print(other);
    lin_sides_free(same);
    lin_sides_free(other);
    free(text);
    return 0;
}
