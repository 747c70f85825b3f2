/* SPDX-License-Identifier: MIT */

/* The layout handle: groups of ranks by index, as text and as JSON. */

#include "api/api.h"

struct linnet_layout {
    lin_allocator allocator;
    lin_arena arena;
    lin_layout layout;
};

linnet_status linnet_layout_new(const linnet_config *config, const char *order,
                                linnet_layout **out_layout, linnet_error *err)
{
    lin_parallel degrees;
    linnet_status status = lin_config_parallel(config, &degrees, err);
    if (status != LINNET_OK)
        return status;
    linnet_layout *layout = lin_alloc_zeroed(&config->allocator, sizeof *layout);
    if (layout == NULL)
        return lin_fail_memory(err);
    layout->allocator = config->allocator;
    lin_arena_init(&layout->arena, &config->allocator);
    status = lin_layout_make(&degrees, order, &layout->arena, &layout->layout, err);
    if (status == LINNET_OK)
        *out_layout = layout;
    else
        linnet_layout_free(layout);
    return status;
}

void linnet_layout_free(linnet_layout *layout)
{
    if (layout == NULL)
        return;
    const lin_allocator allocator = layout->allocator;
    lin_arena_free(&layout->arena);
    lin_release(&allocator, layout, sizeof *layout);
}

int64_t linnet_layout_devices(const linnet_layout *layout)
{
    return layout->layout.devices;
}

uint64_t linnet_layout_set_count(const linnet_layout *layout)
{
    (void)layout;
    return LIN_GROUP_KIND_COUNT;
}

static const lin_group_set *set_at(const linnet_layout *layout, uint64_t set)
{
    return set < LIN_GROUP_KIND_COUNT ? &layout->layout.sets[set] : NULL;
}

const char *linnet_layout_set_name(const linnet_layout *layout, uint64_t set)
{
    const lin_group_set *s = set_at(layout, set);
    return s != NULL ? lin_group_kind_name(s->kind) : NULL;
}

uint64_t linnet_layout_set_groups(const linnet_layout *layout, uint64_t set)
{
    const lin_group_set *s = set_at(layout, set);
    return s != NULL ? s->groups : 0;
}

uint64_t linnet_layout_set_size(const linnet_layout *layout, uint64_t set)
{
    const lin_group_set *s = set_at(layout, set);
    return s != NULL ? s->size : 0;
}

linnet_status linnet_layout_copy_ranks(const linnet_layout *layout, uint64_t set, uint64_t group,
                                       int64_t *out_ranks, uint64_t capacity, uint64_t *out_count,
                                       linnet_error *err)
{
    const lin_group_set *s = set_at(layout, set);
    if (s == NULL || group >= s->groups)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "there is no group %llu of kind %llu",
                        (unsigned long long)group, (unsigned long long)set);
    if (out_count != NULL)
        *out_count = s->size;
    if (capacity < s->size)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "room for %u ranks is needed, not %llu",
                        s->size, (unsigned long long)capacity);
    for (uint32_t i = 0; i < s->size; i++)
        out_ranks[i] = s->ranks[group * s->size + i];
    return LINNET_OK;
}

static linnet_status render(const linnet_layout *layout,
                            void (*write)(lin_text *out, const lin_layout *layout),
                            linnet_text **out_text, linnet_error *err)
{
    lin_text text;
    lin_text_init(&text, &layout->allocator);
    write(&text, &layout->layout);
    return lin_text_wrap(&text, out_text, err);
}

linnet_status linnet_layout_to_text(const linnet_layout *layout, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(layout, lin_layout_print, out_text, err);
}

linnet_status linnet_layout_to_json(const linnet_layout *layout, linnet_text **out_text,
                                    linnet_error *err)
{
    return render(layout, lin_layout_write_json, out_text, err);
}
