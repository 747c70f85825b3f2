/* SPDX-License-Identifier: MIT */

/* Strings of a JSON header, kept in place: a header of 100 MB is not copied to name its tensors. */

#include "source/header_text.h"

#include <string.h>

const char *lin_header_keep(const lin_pull *pull, lin_arena *arena)
{
    const char *value = pull->value;
    if (value < pull->text || value >= pull->text + pull->length)
        return lin_arena_text(arena, value, pull->value_length);
    /* The readers take the text as `char *`; the pull reader only promises not to change it. */
    char *in_place = (char *)(uintptr_t)value;
    in_place[pull->value_length] = '\0';
    return in_place;
}

bool lin_header_is(const lin_pull *pull, const char *word)
{
    uint64_t length = strlen(word);
    return pull->value_length == length && memcmp(pull->value, word, (size_t)length) == 0;
}

bool lin_header_has_nul(const lin_pull *pull)
{
    return memchr(pull->value, '\0', (size_t)pull->value_length) != NULL;
}

const char *lin_header_event(lin_pull_event event)
{
    static const char *const names[] = {
        [LIN_PULL_OBJECT] = "an object", [LIN_PULL_ARRAY] = "an array",
        [LIN_PULL_STRING] = "a string",  [LIN_PULL_NUMBER] = "a number",
        [LIN_PULL_TRUE] = "a boolean",   [LIN_PULL_FALSE] = "a boolean",
        [LIN_PULL_NULL] = "null",
    };
    return event < ARRAY_LEN(names) && names[event] != NULL ? names[event] : "nothing";
}

uint64_t lin_header_count(const char *text, uint64_t length, char c)
{
    uint64_t count = 0;
    const char *end = text + length;
    for (const char *at = text; at < end; at++, count++) {
        at = memchr(at, c, (size_t)(end - at));
        if (at == NULL)
            break;
    }
    return count;
}
