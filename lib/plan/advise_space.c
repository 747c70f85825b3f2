/* SPDX-License-Identifier: MIT */

/*
 * Which combinations of changes there are. A combination has one option, or none, of each kind, and
 * a number: that of its options as digits, the kinds' option counts being the radixes.
 *
 *     kind       recompute  sharding  split
 *     options        3          3       13
 *     number = (recompute * 4 + sharding) * 14 + split        0: no change at all
 *
 * A combination's settings are those of the base with the options set in the order of the kinds.
 */

#include "plan/advise_space.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const effect_names[] = {
    "none", "lengths",       "numerics",       "lengths, numerics",
    "task", "lengths, task", "numerics, task", "lengths, numerics, task",
};
_Static_assert(ARRAY_LEN(effect_names) == LIN_EFFECTS_ALL + 1, "every set of effects has a name");

const char *lin_effects_name(lin_effects effects)
{
    return effect_names[effects & LIN_EFFECTS_ALL];
}

static const char *const state_names[] = { "saves", "saves nothing", "refused", "does not apply" };
_Static_assert(ARRAY_LEN(state_names) == LIN_ADVISED_STATE_COUNT, "every state has a name");

const char *lin_advised_state_name(lin_advised_state state)
{
    return state_names[state];
}

/* ---- settings ---- */

void lin_advise_option(advice_variant *v, const char *format, ...)
{
    const size_t length = strlen(v->options);
    size_t at = length;
    va_list arguments;
    if (at > 0 && at + 1 < sizeof(v->options))
        v->options[at++] = ' ';
    va_start(arguments, format);
    const int written = vsnprintf(v->options + at, sizeof(v->options) - at, format, arguments);
    va_end(arguments);
    if (written < 0)
        v->options[length] = '\0';
}

advice_variant lin_advise_vary(const advice_space *s, const advice_choice *choice)
{
    advice_variant v = s->facts.base;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++) {
        const uint8_t digit = choice->option[kind];
        if (digit == 0)
            continue;
        const advice_option *option = &s->options[kind][digit - 1];
        option->row->apply(&(change_setting){ &s->facts, option, &v });
    }
    return v;
}

/* ---- numbers ---- */

uint64_t lin_advise_index(const advice_space *s, const advice_choice *choice)
{
    uint64_t index = 0;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        index = index * (s->option_count[kind] + 1) + choice->option[kind];
    return index;
}

advice_choice lin_advise_choice(const advice_space *s, uint64_t index)
{
    advice_choice choice = { { 0 } };
    for (int kind = KIND_COUNT - 1; kind >= 0; kind--) {
        const uint64_t radix = s->option_count[kind] + 1;
        choice.option[kind] = (uint8_t)(index % radix);
        index /= radix;
    }
    return choice;
}

uint64_t lin_advise_members(const advice_space *s, const advice_choice *choice)
{
    uint64_t members = 0;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        if (choice->option[kind] > 0)
            members |= UINT64_C(1) << s->options[kind][choice->option[kind] - 1].item;
    return members;
}

lin_effects lin_advise_effects(const advice_space *s, const advice_choice *choice)
{
    lin_effects effects = 0;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        if (choice->option[kind] > 0)
            effects |= s->options[kind][choice->option[kind] - 1].row->effects;
    return effects;
}

bool lin_advise_is_dropped(const advice_space *s, const advice_choice *choice)
{
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        if (choice->option[kind] > 0 && s->is_dropped[kind][choice->option[kind] - 1])
            return true;
    return false;
}

/* ---- items ---- */

/* The row's name with its value for `#` and the layers for `@`; up to the colon for a row without a
 * value. */
static const char *name_of(const advice_space *s, const change_row *row, const int64_t *value)
{
    char text[96] = "";
    uint64_t length = 0;
    if (value == NULL)
        return lin_arena_text(s->arena, row->name, strcspn(row->name, ":"));
    for (const char *at = row->name; *at != '\0' && length + 24 < sizeof(text); at++) {
        if (*at == '#' || *at == '@')
            length += (uint64_t)snprintf(text + length, 24, "%lld",
                                         (long long)(*at == '#' ? *value : s->facts.layers));
        else
            text[length++] = *at;
    }
    return lin_arena_text(s->arena, text, length);
}

static lin_advised *add_item(advice_space *s, const change_row *row, uint32_t family,
                             const char *name)
{
    lin_advised *item = &s->items[s->item_count++];
    *item = (lin_advised){
        .name = name,
        .options = "",
        .reason = row->reason,
        .changes = row->changes,
        .family = family,
        .effects = row->effects,
        .state = LIN_ADVISED_DOES_NOT_APPLY,
        .why_not = "",
        .outcome = { .expected_peak = THERE_IS_NONE, .seconds = THERE_IS_NONE, .verdict = "" },
    };
    return item;
}

static void add_option(advice_space *s, const change_row *row, uint32_t family, int64_t value)
{
    lin_advised *item = add_item(s, row, family, name_of(s, row, &value));
    advice_option *option = &s->options[row->kind][s->option_count[row->kind]++];
    *option = (advice_option){ .row = row, .value = value, .item = s->item_count - 1 };
    if (row->text != NULL)
        option->text = row->text(&s->facts, value, s->arena);
    advice_variant v = s->facts.base;
    row->apply(&(change_setting){ &s->facts, option, &v });
    item->options = lin_arena_copy(s->arena, v.options);
}

static void add_row(advice_space *s, uint32_t index)
{
    const change_row *row = lin_advise_row(index);
    const int use = s->facts.base.is_training ? FOR_TRAINING : FOR_INFERENCE;
    change_query q = { .facts = &s->facts, .given = row->given, .why = "" };
    if (((int)row->use & use) == 0)
        return;
    const uint32_t count = row->find(&q);
    for (uint32_t i = 0; i < count && s->item_count < MOST_ITEMS; i++)
        add_option(s, row, index, q.values[i]);
    if (count == 0 && s->item_count < MOST_ITEMS)
        add_item(s, row, index, name_of(s, row, NULL))->why_not = q.why;
}

void lin_advise_list_items(advice_space *s)
{
    for (uint32_t i = 0; i < lin_advise_row_count(); i++)
        add_row(s, i);
    s->size = 1;
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        s->size *= s->option_count[kind] + 1;
    s->peaks = LIN_NEW_ARRAY(s->arena, int64_t, s->size);
    s->fixed = LIN_NEW_ARRAY(s->arena, int64_t, s->size);
    s->active = LIN_NEW_ARRAY(s->arena, int64_t, s->size);
    s->seconds = LIN_NEW_ARRAY(s->arena, double, s->size);
    for (uint64_t i = 0; i < s->size; i++) {
        s->peaks[i] = NOT_YET;
        s->seconds[i] = NOT_YET;
    }
    s->smallest_peak = INT64_MAX;
}
