/* SPDX-License-Identifier: MIT */

/*
 * A profile's `measured` (linnet-device(5), version 2): grids of what one device was seen to do,
 * each with its source, its axes and a value for every corner.
 *
 *     "decode": { "source": "…", "bytes": [1e6, 4e6], "rates": [1e11, 4e11] }
 *
 * Linear in the values.
 */

#include "cost/profile_keys.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"

enum { MAX_AXIS = 64, MAX_VALUES = 1 << 14, MAX_ATTENTION = 64 };

static const char *join(profile_reader *r, const char *outer, const char *inner)
{
    return lin_profile_join(r, outer, inner);
}

/* ---- one grid ---- */

typedef struct number_list {
    const double *numbers, *logs;
    uint32_t count;
} number_list;

static linnet_status read_list(profile_reader *r, const char *key, const lin_json *object,
                               const char *name, uint32_t most, number_list *out)
{
    const lin_json *list = lin_json_get(object, name);
    const char *place = join(r, key, name);
    if (list == NULL)
        return lin_profile_refuse(r, place, "is missing");
    if (list->kind != LIN_JSON_ARRAY || list->count == 0)
        return lin_profile_refuse(r, place, "must be a list of numbers");
    if (list->count > most)
        return lin_profile_refuse(r, place, "is too long");
    double *numbers = LIN_NEW_ARRAY(&r->profile->arena, double, list->count);
    double *logs = LIN_NEW_ARRAY(&r->profile->arena, double, list->count);
    for (uint32_t i = 0; i < list->count; i++) {
        const linnet_status status = lin_profile_number(r, place, &list->items[i], &numbers[i]);
        if (status != LINNET_OK)
            return status;
        logs[i] = log(numbers[i]);
    }
    *out = (number_list){ numbers, logs, list->count };
    return LINNET_OK;
}

static linnet_status check_keys(profile_reader *r, const char *key, const lin_json *object,
                                const lin_grid_form *form)
{
    const char *words[LIN_GRID_AXES + 2] = { "source", form->values };
    if (object->kind != LIN_JSON_OBJECT)
        return lin_profile_refuse(r, key, "must be an object");
    for (uint32_t a = 0; a < form->axes; a++)
        words[2 + a] = form->axis[a];
    for (uint32_t i = 0; i < object->count; i++) {
        const linnet_status status =
            lin_profile_known(r, key, object->keys[i], words, 2 + form->axes, NULL);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status read_source(profile_reader *r, const char *key, const lin_json *object,
                                 const char **out)
{
    const lin_json *source = lin_json_get(object, "source");
    if (source == NULL || source->kind != LIN_JSON_STRING || source->length == 0)
        return lin_profile_refuse(r, join(r, key, "source"), "must be a text");
    *out = lin_arena_text(&r->profile->arena, source->text, source->length);
    return LINNET_OK;
}

static linnet_status read_axis(profile_reader *r, const char *key, const lin_json *object,
                               const char *name, lin_grid *grid, uint32_t a)
{
    number_list axis;
    const linnet_status status = read_list(r, key, object, name, MAX_AXIS, &axis);
    if (status != LINNET_OK)
        return status;
    for (uint32_t i = 1; i < axis.count; i++)
        if (!(axis.logs[i] > axis.logs[i - 1]))
            return lin_profile_refuse(r, join(r, key, name), "must ascend");
    grid->points[a] = axis.numbers;
    grid->logs[a] = axis.logs;
    grid->counts[a] = axis.count;
    return LINNET_OK;
}

static linnet_status read_one(profile_reader *r, const char *key, const lin_json *object,
                              const lin_grid_form *form, lin_grid *out)
{
    lin_grid grid = { .axes = form->axes };
    uint32_t corners = 1;
    number_list values = { NULL, NULL, 0 };
    linnet_status status = check_keys(r, key, object, form);
    if (status == LINNET_OK)
        status = read_source(r, key, object, &grid.source);
    for (uint32_t a = 0; a < form->axes && status == LINNET_OK; a++) {
        status = read_axis(r, key, object, form->axis[a], &grid, a);
        corners *= grid.counts[a]; /* at most 64^3 */
    }
    if (status == LINNET_OK)
        status = read_list(r, key, object, form->values, MAX_VALUES, &values);
    if (status != LINNET_OK)
        return status;
    if (values.count != corners)
        return lin_profile_refuse(r, join(r, key, form->values),
                                  "must have a value for every corner");
    grid.values = values.numbers;
    grid.value_logs = values.logs;
    *out = grid;
    return LINNET_OK;
}

/* ---- objects of grids ---- */

/* Grids of one form by name. */
typedef struct grid_family {
    const char *const *names;
    uint32_t count;
    const lin_grid_form *form;
} grid_family;

static linnet_status read_each(profile_reader *r, const char *key, const lin_json *object,
                               const grid_family *family, lin_grid *out)
{
    if (object->kind != LIN_JSON_OBJECT)
        return lin_profile_refuse(r, key, "must be an object");
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t at = 0;
        linnet_status status =
            lin_profile_known(r, key, object->keys[i], family->names, family->count, &at);
        if (status == LINNET_OK)
            status = read_one(r, join(r, key, object->keys[i]), &object->items[i], family->form,
                              &out[at]);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status read_products(profile_reader *r, const char *key, const lin_json *object)
{
    const grid_family family = { lin_rate_dtype_names, LIN_RATE_COUNT,
                                 &lin_grid_forms[LIN_GRID_PRODUCT] };
    return read_each(r, key, object, &family, r->profile->measured.products);
}

static linnet_status read_collectives(profile_reader *r, const char *key, const lin_json *object)
{
    const grid_family family = { lin_collective_names, LIN_COLLECTIVE_COUNT,
                                 &lin_grid_forms[LIN_GRID_COLLECTIVE] };
    return read_each(r, key, object, &family, r->profile->measured.collectives);
}

static linnet_status read_decode(profile_reader *r, const char *key, const lin_json *object)
{
    return read_one(r, key, object, &lin_grid_forms[LIN_GRID_DECODE], &r->profile->measured.decode);
}

static linnet_status read_attention(profile_reader *r, const char *key, const lin_json *object)
{
    if (object->kind != LIN_JSON_OBJECT)
        return lin_profile_refuse(r, key, "must be an object");
    if (object->count > MAX_ATTENTION)
        return lin_profile_refuse(r, key, "has too many grids");
    lin_attention_grid *grids =
        LIN_NEW_ARRAY(&r->profile->arena, lin_attention_grid, object->count);
    for (uint32_t i = 0; i < object->count; i++) {
        const char *place = join(r, key, object->keys[i]);
        lin_attention_rate rate;
        if (!lin_profile_attention_key(object->keys[i], &rate) || rate.width == 0)
            return lin_profile_refuse(r, place, "is not of the form KIND/WIDTH or KIND/WIDTH/f32");
        grids[i] = (lin_attention_grid){ rate.kind, rate.is_f32, rate.width, { 0 } };
        const linnet_status status = read_one(r, place, &object->items[i],
                                              &lin_grid_forms[LIN_GRID_ATTENTION], &grids[i].grid);
        if (status != LINNET_OK)
            return status;
    }
    r->profile->measured.attention = grids;
    r->profile->measured.attention_count = object->count;
    return LINNET_OK;
}

static linnet_status read_flops(profile_reader *r, const char *key, const lin_json *object)
{
    lin_measured *measured = &r->profile->measured;
    if (object->kind != LIN_JSON_OBJECT)
        return lin_profile_refuse(r, key, "must be an object");
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t at = 0;
        if (strcmp(object->keys[i], "source") == 0)
            continue;
        linnet_status status =
            lin_profile_known(r, key, object->keys[i], lin_rate_dtype_names, LIN_RATE_COUNT, &at);
        if (status == LINNET_OK)
            status = lin_profile_number(r, join(r, key, object->keys[i]), &object->items[i],
                                        &measured->flops[at]);
        if (status != LINNET_OK)
            return status;
    }
    return read_source(r, key, object, &measured->flops_source);
}

linnet_status lin_profile_read_measured(profile_reader *r, const lin_json *object)
{
    static const struct {
        const char *key;
        linnet_status (*read)(profile_reader *r, const char *key, const lin_json *object);
    } rows[] = {
        { "flops", read_flops },
        { "products", read_products },
        { "attention", read_attention },
        { "decode", read_decode },
        { "collectives", read_collectives },
    };
    const char *words[ARRAY_LEN(rows)];
    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++)
        words[i] = rows[i].key;
    if (object->kind != LIN_JSON_OBJECT)
        return lin_profile_refuse(r, "measured", "must be an object");
    for (uint32_t i = 0; i < object->count; i++) {
        uint32_t at = 0;
        linnet_status status =
            lin_profile_known(r, "measured", object->keys[i], words, ARRAY_LEN(words), &at);
        if (status == LINNET_OK)
            status = rows[at].read(r, join(r, "measured", object->keys[i]), &object->items[i]);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

bool lin_measured_any(const lin_measured *measured)
{
    bool any = measured->attention_count > 0 || measured->decode.axes > 0;
    for (int i = 0; i < LIN_RATE_COUNT; i++)
        any |= measured->products[i].axes > 0 || measured->flops[i] > 0;
    for (int i = 0; i < LIN_COLLECTIVE_COUNT; i++)
        any |= measured->collectives[i].axes > 0;
    return any;
}
