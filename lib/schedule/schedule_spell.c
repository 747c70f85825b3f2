/* SPDX-License-Identifier: MIT */

/*
 * How actions are written: a stage (or direction), a word, a micro-batch. One table is read both
 * ways.
 *
 *     4F0   4B0   4I0   4W0   4SEND_F0   4RECV_B0   4UNSHARD   4REDUCE_GRAD   STEP   (4F1+2B0)
 */

#include "schedule/spell.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
static const struct word_row {
    const char *word;
    bool has_stage, has_microbatch;
} words[] = {
    [LIN_ACTION_FORWARD]       = { "F",           true,  true },
    [LIN_ACTION_BACKWARD]      = { "B",           true,  true },
    [LIN_ACTION_INPUT]         = { "I",           true,  true },
    [LIN_ACTION_WEIGHT]        = { "W",           true,  true },
    [LIN_ACTION_SEND_FORWARD]  = { "SEND_F",      true,  true },
    [LIN_ACTION_RECV_FORWARD]  = { "RECV_F",      true,  true },
    [LIN_ACTION_SEND_BACKWARD] = { "SEND_B",      true,  true },
    [LIN_ACTION_RECV_BACKWARD] = { "RECV_B",      true,  true },
    [LIN_ACTION_UNSHARD]       = { "UNSHARD",     true,  false },
    [LIN_ACTION_RESHARD]       = { "RESHARD",     true,  false },
    [LIN_ACTION_REDUCE]        = { "REDUCE_GRAD", true,  false },
    [LIN_ACTION_STEP]          = { "STEP",        false, false },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(words) == LIN_ACTION_COUNT, "every action has a word");

void lin_spelled_show(char out[LIN_SPELLED_TEXT], const lin_spelled *action)
{
    const struct word_row *row = &words[action->kind];
    char number[16] = "", microbatch[16] = "";
    if (row->has_stage)
        snprintf(number, sizeof number, "%u", action->number);
    if (row->has_microbatch)
        snprintf(microbatch, sizeof microbatch, "%u", action->microbatch);
    snprintf(out, LIN_SPELLED_TEXT, "%s%s%s", number, row->word, microbatch);
}

void lin_place_show(char out[LIN_SPELLED_TEXT], const lin_schedule *schedule, lin_action_kind kind,
                    uint32_t place, uint32_t microbatch)
{
    const bool both = schedule->directions == 2;
    const lin_spelled spelled = { kind, both ? place / schedule->stages : place, microbatch };
    lin_spelled_show(out, &spelled);
}

static void spell_one(lin_text *out, const lin_schedule *schedule, uint32_t rank, uint32_t index)
{
    const lin_schedule_rank *r = &schedule->rank[rank];
    const lin_action *a = &r->actions[index];
    const struct word_row *row = &words[a->kind];
    const lin_slot *slot = &r->slots[a->slot];
    if (row->has_stage)
        lin_text_i64(out, schedule->directions == 2 ? slot->direction : slot->stage);
    lin_text_add(out, row->word);
    if (row->has_microbatch)
        lin_text_i64(out, a->microbatch);
}

void lin_action_spell(lin_text *out, const lin_schedule *schedule, uint32_t rank, uint32_t index)
{
    if (!schedule->rank[rank].actions[index].overlaps_next) {
        spell_one(out, schedule, rank, index);
        return;
    }
    lin_text_add(out, "(");
    spell_one(out, schedule, rank, index);
    lin_text_add(out, "+");
    spell_one(out, schedule, rank, index + 1);
    lin_text_add(out, ")");
}

uint32_t lin_action_number(const lin_schedule *schedule, uint32_t rank, uint32_t index)
{
    uint32_t number = index;
    for (uint32_t i = 0; i < index; i++)
        number -= schedule->rank[rank].actions[i].overlaps_next;
    return number;
}

/* ---- reading ---- */

/* Digits without a leading zero, at most seven of them. */
static bool read_number(const char **at, const char *end, uint32_t *out)
{
    const char *start = *at;
    uint32_t value = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - start < 8)
        value = value * 10 + (uint32_t)(*(*at)++ - '0');
    const long digits = (long)(*at - start);
    *out = value;
    return digits >= 1 && digits <= 7 && (digits == 1 || *start != '0');
}

static bool read_one(const char **at, const char *end, lin_spelled *out)
{
    const bool has_stage = *at < end && **at >= '0' && **at <= '9';
    *out = (lin_spelled){ 0 };
    if (has_stage && !read_number(at, end, &out->number))
        return false;
    const char *word = *at;
    while (*at < end && ((**at >= 'A' && **at <= 'Z') || **at == '_'))
        (*at)++;
    const size_t length = (size_t)(*at - word);
    for (uint32_t kind = 0; kind < LIN_ACTION_COUNT; kind++) {
        if (strlen(words[kind].word) != length || memcmp(words[kind].word, word, length) != 0)
            continue;
        out->kind = (lin_action_kind)kind;
        return words[kind].has_stage == has_stage &&
               (!words[kind].has_microbatch || read_number(at, end, &out->microbatch));
    }
    return false;
}

static bool is_backward(lin_action_kind kind)
{
    return kind == LIN_ACTION_BACKWARD || kind == LIN_ACTION_INPUT;
}

uint32_t lin_spelled_read(const char *text, uint64_t length, lin_spelled out[2])
{
    const char *at = text, *end = text + length;
    if (length == 0)
        return 0;
    if (*at != '(')
        return read_one(&at, end, &out[0]) && at == end ? 1 : 0;
    at++;
    if (!read_one(&at, end, &out[0]) || at == end || *at++ != '+' || !read_one(&at, end, &out[1]) ||
        at == end || *at++ != ')' || at != end)
        return 0;
    return out[0].kind == LIN_ACTION_FORWARD && is_backward(out[1].kind) ? 2 : 0;
}
