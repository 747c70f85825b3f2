/* SPDX-License-Identifier: MIT */

/*
 * A model's card, nest.toml. Of its keys only these matter; each has one row and one type:
 *
 *     [model]     name, title
 *     [source]    path, root, entry
 *     [generics]  any name = an integer or a dtype's name
 *     [weights]   bindings; head: "embedding" when the program's head is its embedding
 */

#include "source/source.h"

#include <stddef.h>
#include <string.h>

typedef struct card_key {
    const char *table, *key;
    size_t offset; /* of its text in lin_card */
    const char *meant;
} card_key;

static const card_key card_keys[] = {
    { "model", "name", offsetof(lin_card, name), "a name" },
    { "model", "title", offsetof(lin_card, title), "a title" },
    { "source", "path", offsetof(lin_card, path), "the path of a .linnet file" },
    { "source", "root", offsetof(lin_card, root), "the name of a block" },
    { "source", "entry", offsetof(lin_card, entry), "the name of an entry" },
    { "weights", "bindings", offsetof(lin_card, bindings), "the path of a bindings file" },
    { "weights", "head", offsetof(lin_card, head), "the word embedding" },
};

static const char *const card_tables[] = { "model", "source", "generics", "weights" };

typedef struct reading {
    const char *source_name;
    lin_arena *arena;
    lin_card *card;
    LIN_LIST(lin_setting) settings;
    linnet_status status;
} reading;

static const char *kind_name(lin_toml_kind kind)
{
    static const char *const names[] = {
        [LIN_TOML_STRING] = "a string",
        [LIN_TOML_INTEGER] = "an integer",
        [LIN_TOML_BOOLEAN] = "a boolean",
        [LIN_TOML_OTHER] = "a value of another kind",
    };
    return names[kind];
}

static lin_place place_of(const reading *r, const lin_toml_value *value)
{
    return (lin_place){ r->source_name, value->line, value->column };
}

static bool refuse(reading *r, const lin_toml_value *value, const char *meant, linnet_error *err)
{
    const char *dot = value->table[0] == '\0' ? "" : ".";
    r->status = lin_fail_at(err, LINNET_ERROR_FORMAT, place_of(r, value), NULL,
                            "`%s%s%s` is %s; %s is meant", value->table, dot, value->key,
                            kind_name(value->kind), meant);
    return false;
}

static bool no_memory(reading *r, linnet_error *err)
{
    r->status = lin_fail_memory(err);
    return false;
}

static bool refuse_dtype(reading *r, const lin_toml_value *value, linnet_error *err)
{
    const char *names[LIN_DTYPE_COUNT];
    for (uint32_t i = 0; i < LIN_DTYPE_COUNT; i++)
        names[i] = lin_dtype_name((lin_dtype)i);
    const char *nearest = lin_nearest(value->text, names, LIN_DTYPE_COUNT);
    r->status = lin_fail_at(err, LINNET_ERROR_FORMAT, place_of(r, value), NULL,
                            "`generics.%s` is \"%s\"; an integer or the name of a dtype is meant, "
                            "such as `%s`",
                            value->key, value->text, nearest != NULL ? nearest : "bf16");
    return false;
}

static bool read_generic(reading *r, const lin_toml_value *value, linnet_error *err)
{
    lin_setting setting = { .is_dtype = value->kind == LIN_TOML_STRING, .integer = value->integer };
    if (setting.is_dtype && !lin_dtype_find(value->text, strlen(value->text), &setting.dtype))
        return refuse_dtype(r, value, err);
    if (!setting.is_dtype && value->kind != LIN_TOML_INTEGER)
        return refuse(r, value, "an integer or the name of a dtype", err);
    if (!setting.is_dtype && value->integer < 0) {
        r->status = lin_fail_at(err, LINNET_ERROR_FORMAT, place_of(r, value), NULL,
                                "`generics.%s` is %lld; a size is not negative", value->key,
                                (long long)value->integer);
        return false;
    }
    setting.integer = setting.is_dtype ? 0 : value->integer;
    setting.name = lin_arena_copy(r->arena, value->key);
    if (setting.name == NULL || !LIN_PUSH(r->arena, &r->settings, setting))
        return no_memory(r, err);
    return true;
}

static bool read_value(void *user, const lin_toml_value *value, linnet_error *err)
{
    reading *r = user;
    if (strcmp(value->table, "generics") == 0)
        return read_generic(r, value, err);
    for (uint32_t i = 0; value->table[0] == '\0' && i < ARRAY_LEN(card_tables); i++)
        if (strcmp(value->key, card_tables[i]) == 0)
            return refuse(r, value, "a table", err);
    for (uint32_t i = 0; i < ARRAY_LEN(card_keys); i++) {
        const card_key *row = &card_keys[i];
        if (strcmp(value->table, row->table) != 0 || strcmp(value->key, row->key) != 0)
            continue;
        if (value->kind != LIN_TOML_STRING)
            return refuse(r, value, row->meant, err);
        const char *text = lin_arena_copy(r->arena, value->text);
        if (text == NULL)
            return no_memory(r, err);
        memcpy((char *)r->card + row->offset, &text, sizeof(text));
        return true;
    }
    return true;
}

linnet_status lin_card_read(const char *source_name, const char *text, uint64_t length,
                            lin_arena *arena, lin_card *out, linnet_error *err)
{
    lin_card card = { 0 };
    reading r = { .source_name = source_name, .arena = arena, .card = &card };
    const lin_toml_reader reader = { read_value, &r };
    linnet_status status = lin_toml_read(source_name, text, length, arena, &reader, err);
    if (r.status != LINNET_OK)
        return r.status;
    if (status != LINNET_OK)
        return status;
    card.settings = r.settings.items;
    card.setting_count = r.settings.count;
    *out = card;
    return LINNET_OK;
}
