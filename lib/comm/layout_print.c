/* SPDX-License-Identifier: MIT */

/* A layout as text and as JSON: the degrees, then every group with its ranks. */

#include "comm/comm.h"
#include "json/json.h"

#include <string.h>

static const struct degree_row {
    const char *name;
    size_t offset;
} degree_rows[] = {
    { "tensor", offsetof(lin_parallel, tensor) },
    { "context", offsetof(lin_parallel, context) },
    { "expert", offsetof(lin_parallel, expert) },
    { "shards", offsetof(lin_parallel, shards) },
    { "replicas", offsetof(lin_parallel, replicas) },
    { "pipeline", offsetof(lin_parallel, pipeline) },
};

static int64_t degree_of(const lin_parallel *degrees, const struct degree_row *row)
{
    int64_t value;
    memcpy(&value, (const char *)degrees + row->offset, sizeof value);
    return value;
}

static void print_group(lin_text *out, const lin_group_set *set, uint32_t group)
{
    lin_text_add(out, "  {");
    for (uint32_t i = 0; i < set->size; i++)
        lin_text_addf(out, "%s%u", i > 0 ? " " : "", set->ranks[group * set->size + i]);
    lin_text_add(out, "}\n");
}

void lin_layout_print(lin_text *out, const lin_layout *layout)
{
    lin_text_addf(out, "%u device%s, %s with the fastest axis first\n", layout->devices,
                  layout->devices == 1 ? "" : "s", layout->order);
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++) {
        const lin_group_set *set = &layout->sets[kind];
        if (set->size <= 1)
            continue;
        lin_text_addf(out, "\n%s: %u group%s of %u\n", lin_group_kind_name(kind), set->groups,
                      set->groups == 1 ? "" : "s", set->size);
        for (uint32_t group = 0; group < set->groups; group++)
            print_group(out, set, group);
    }
}

static void write_set(lin_writer *w, const lin_group_set *set)
{
    lin_write_object(w);
    lin_write_key(w, "kind");
    lin_write_string(w, lin_group_kind_name(set->kind));
    lin_write_key(w, "size");
    lin_write_i64(w, set->size);
    lin_write_key(w, "groups");
    lin_write_array(w);
    for (uint32_t group = 0; group < set->groups; group++) {
        lin_write_array(w);
        for (uint32_t i = 0; i < set->size; i++)
            lin_write_i64(w, set->ranks[group * set->size + i]);
        lin_write_array_end(w);
    }
    lin_write_array_end(w);
    lin_write_object_end(w);
}

void lin_layout_write_json(lin_text *out, const lin_layout *layout)
{
    lin_writer w;
    lin_writer_init(&w, out);
    lin_write_object(&w);
    lin_write_key(&w, "version");
    lin_write_i64(&w, 1);
    lin_write_key(&w, "devices");
    lin_write_i64(&w, layout->devices);
    lin_write_key(&w, "order");
    lin_write_string(&w, layout->order);
    lin_write_key(&w, "degrees");
    lin_write_object(&w);
    for (size_t i = 0; i < ARRAY_LEN(degree_rows); i++) {
        lin_write_key(&w, degree_rows[i].name);
        lin_write_i64(&w, degree_of(&layout->degrees, &degree_rows[i]));
    }
    lin_write_object_end(&w);
    lin_write_key(&w, "groups");
    lin_write_array(&w);
    for (lin_group_kind kind = 0; kind < LIN_GROUP_KIND_COUNT; kind++)
        write_set(&w, &layout->sets[kind]);
    lin_write_array_end(&w);
    lin_write_object_end(&w);
    lin_writer_end(&w);
}
