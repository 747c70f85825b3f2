/* SPDX-License-Identifier: MIT */

/*
 * Where a value of a document stands. The tree of lin_json_read keeps no places: a text that is
 * right needs none, and of a wrong one a second walk with the pull reader finds the one that is
 * asked for. Cost: linear in the text before it.
 */

#include "json/read.h"

#include <string.h>

typedef struct walk {
    lin_pull pull;
    lin_pull_event event; /* of the value at `start` */
    uint64_t start;
} walk;

/* Reads the value that comes next, or the end of what holds it. */
static bool next_value(walk *w)
{
    uint64_t at = w->pull.position;
    while (at < w->pull.length && memchr(" \t\r\n,:", w->pull.text[at], 6) != NULL)
        at++;
    w->start = at;
    w->event = lin_pull_next(&w->pull, NULL);
    return w->event != LIN_PULL_ERROR && w->event != LIN_PULL_END;
}

/* From an object's beginning to the value of `key`; false: there is none. */
static bool enter_key(walk *w, const char *key)
{
    const uint64_t length = strlen(key);
    while (next_value(w) && w->event == LIN_PULL_KEY) {
        const bool found =
            w->pull.value_length == length && memcmp(w->pull.value, key, (size_t)length) == 0;
        if (!next_value(w) || found)
            return found && w->event != LIN_PULL_ERROR;
        if (lin_pull_skip(&w->pull, w->event, NULL) != LINNET_OK)
            return false;
    }
    return false;
}

static bool enter_item(walk *w, uint32_t index)
{
    for (uint32_t i = 0; next_value(w) && w->event != LIN_PULL_ARRAY_END; i++) {
        if (i == index)
            return true;
        if (lin_pull_skip(&w->pull, w->event, NULL) != LINNET_OK)
            return false;
    }
    return false;
}

static bool enter(walk *w, const lin_json_step *step)
{
    if (step->key != NULL)
        return w->event == LIN_PULL_OBJECT && enter_key(w, step->key);
    return w->event == LIN_PULL_ARRAY && enter_item(w, step->index);
}

lin_place lin_json_locate(const char *source_name, const char *text, uint64_t length,
                          const lin_json_step *path, uint32_t count, const lin_allocator *allocator)
{
    static const char mark[] = "\xef\xbb\xbf";
    walk w;
    if (length >= sizeof(mark) - 1 && memcmp(text, mark, sizeof(mark) - 1) == 0) {
        text += sizeof(mark) - 1;
        length -= sizeof(mark) - 1;
    }
    lin_pull_init(&w.pull, source_name, text, length, allocator);
    lin_pull_allow_long_numbers(&w.pull);
    bool inside = next_value(&w);
    uint64_t found = inside ? w.start : 0;
    for (uint32_t i = 0; i < count && inside; i++) {
        inside = enter(&w, &path[i]);
        found = inside ? w.start : found;
    }
    lin_pull_free(&w.pull);
    return lin_json_place(source_name, text, found);
}
