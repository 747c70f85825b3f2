/* SPDX-License-Identifier: MIT */

/*
 * Interned names and the nearest of several words.
 *
 * The table is open addressing over the numbers of names; texts lie in the arena and never move. It
 * doubles when two thirds full and leaves the old index to the arena.
 */

#include "base/base.h"

#include <string.h>

typedef struct name_entry {
    const char *text;
    uint64_t length;
    uint32_t hash;
} name_entry;

struct lin_names {
    lin_arena *arena;
    LIN_LIST(name_entry) entries; /* entries[0] is "no name" */
    uint32_t *slots;              /* numbers of names; 0 is free */
    uint32_t slot_count;          /* a power of two */
};

/* FNV-1a. */
static uint32_t hash_text(const char *text, uint64_t length)
{
    uint32_t hash = 2166136261u;
    for (uint64_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash;
}

static bool grow_slots(lin_names *names)
{
    uint32_t count = names->slot_count == 0 ? 64 : names->slot_count * 2;
    uint32_t *slots = LIN_NEW_ARRAY(names->arena, uint32_t, count);
    if (slots == NULL)
        return false;
    for (uint32_t i = 1; i < names->entries.count; i++) {
        uint32_t at = names->entries.items[i].hash & (count - 1);
        while (slots[at] != 0)
            at = (at + 1) & (count - 1);
        slots[at] = i;
    }
    names->slots = slots;
    names->slot_count = count;
    return true;
}

lin_names *lin_names_new(lin_arena *arena)
{
    lin_names *names = LIN_NEW(arena, lin_names);
    if (names == NULL)
        return NULL;
    names->arena = arena;
    const name_entry none = { "", 0, 0 };
    if (!LIN_PUSH(arena, &names->entries, none) || !grow_slots(names))
        return NULL;
    return names;
}

/* The slot that holds the text, or the free one where it belongs. */
static uint32_t find_slot(const lin_names *names, const char *text, uint64_t length, uint32_t hash)
{
    uint32_t mask = names->slot_count - 1;
    uint32_t at = hash & mask;
    for (; names->slots[at] != 0; at = (at + 1) & mask) {
        const name_entry *entry = &names->entries.items[names->slots[at]];
        if (entry->hash == hash && entry->length == length &&
            (length == 0 || memcmp(entry->text, text, (size_t)length) == 0))
            break;
    }
    return at;
}

lin_name lin_names_find(const lin_names *names, const char *text, uint64_t length)
{
    return names->slots[find_slot(names, text, length, hash_text(text, length))];
}

lin_name lin_names_add(lin_names *names, const char *text, uint64_t length)
{
    uint32_t hash = hash_text(text, length);
    uint32_t at = find_slot(names, text, length, hash);
    if (names->slots[at] != 0)
        return names->slots[at];
    if (names->entries.count >= names->slot_count - names->slot_count / 3) {
        if (names->slot_count > UINT32_MAX / 2 || !grow_slots(names))
            return 0;
        at = find_slot(names, text, length, hash);
    }
    name_entry entry = { lin_arena_text(names->arena, text, length), length, hash };
    if (entry.text == NULL || !LIN_PUSH(names->arena, &names->entries, entry))
        return 0;
    names->slots[at] = names->entries.count - 1;
    return names->entries.count - 1;
}

const char *lin_names_text(const lin_names *names, lin_name name)
{
    return names->entries.items[name].text;
}

enum { NEAREST_MAX = 64 }; /* longer words have no neighbours */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of two neighbours (optimal string alignment). */
static uint32_t edit_distance(const char *a, uint32_t a_length, const char *b, uint32_t b_length)
{
    uint32_t rows[3][NEAREST_MAX + 1]; /* the row before the last, the last, the new one */
    for (uint32_t j = 0; j <= b_length; j++)
        rows[1][j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        rows[2][0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            bool same = lower(a[i - 1]) == lower(b[j - 1]);
            uint32_t cost = rows[1][j - 1] + !same;
            cost = least(cost, least(rows[1][j], rows[2][j - 1]) + 1);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                cost = least(cost, rows[0][j - 2] + 1);
            rows[2][j] = cost;
        }
        memcpy(rows[0], rows[1], sizeof(rows[0]));
        memcpy(rows[1], rows[2], sizeof(rows[1]));
    }
    return rows[1][b_length];
}

/* Shorter beginnings are of too many words. */
enum { BEGINNING_LEAST = 3 };

static bool begins(const char *whole, const char *beginning)
{
    while (*beginning != '\0' && lower(*whole) == lower(*beginning))
        whole++, beginning++;
    return *beginning == '\0';
}

/* The first of `words` that goes on where `word` ends, or NULL. */
static const char *first_longer(const char *word, const char *const *words, uint32_t count)
{
    if (strlen(word) < BEGINNING_LEAST)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (begins(words[i], word))
            return words[i];
    return NULL;
}

/* `h100` is a part of `h100-80gb` rather than `h200` with a wrong letter; the letter that `Head`
 * lacks of `Heads` is both. */
const char *lin_nearest(const char *word, const char *const *words, uint32_t count)
{
    uint64_t length = strlen(word);
    if (length == 0 || length > NEAREST_MAX)
        return NULL;
    /* A third of the word, and one letter of a word too short to have a third. */
    uint32_t best = (uint32_t)(length < 3 ? 1 : length / 3);
    const char *nearest = NULL;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t other = strlen(words[i]);
        if (other == 0 || other > NEAREST_MAX)
            continue;
        uint32_t distance = edit_distance(word, (uint32_t)length, words[i], (uint32_t)other);
        if (distance < best || (distance == best && nearest == NULL && distance < length)) {
            best = distance;
            nearest = words[i];
        }
    }
    if (nearest != NULL && begins(nearest, word))
        return nearest;
    const char *longer = first_longer(word, words, count);
    return longer != NULL ? longer : nearest;
}
