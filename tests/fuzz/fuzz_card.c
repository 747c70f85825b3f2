/* SPDX-License-Identifier: MIT */

/* The readers of what stands beside a model: cards and bindings files. Whatever is accepted is
 * whole: every name is there, every dtype is one. */

#include "source/source.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_card(lin_arena *arena, const char *text, size_t size)
{
    linnet_error err = { 0 };
    lin_card card;
    linnet_status status = lin_card_read("nest.toml", text, size, arena, &card, &err);
    if (status != LINNET_OK) {
        assert(err.code == status && err.message[0] != '\0');
        return;
    }
    for (uint32_t i = 0; i < card.setting_count; i++) {
        assert(card.settings[i].name != NULL);
        assert(card.settings[i].is_dtype ? card.settings[i].dtype < LIN_DTYPE_COUNT
                                         : card.settings[i].integer >= 0);
    }
}

static void read_bindings(lin_arena *arena, const char *text, size_t size)
{
    linnet_error err = { 0 };
    const lin_weight_binding *bindings;
    uint32_t count;
    linnet_status status =
        lin_bindings_read("bindings.json", text, size, arena, &bindings, &count, &err);
    if (status != LINNET_OK) {
        assert(err.code == status && err.message[0] != '\0');
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        assert(bindings[i].path != NULL && bindings[i].tensor[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lin_arena arena;
    lin_arena_init(&arena, &lin_default_allocator);
    read_card(&arena, (const char *)data, size);
    read_bindings(&arena, (const char *)data, size);
    lin_arena_free(&arena);
    return 0;
}
