/* SPDX-License-Identifier: MIT */

/*
 * Patterns with '*', '?' and '[...]' over UTF-8. On a mismatch the match goes back to the last '*'
 * and lets it take one character more; earlier stars never need to move again, so the cost is at
 * most the product of the lengths.
 */

#include "base/base.h"

#include <string.h>

/* One character: its code point, or the byte itself when the text is not UTF-8. */
static uint32_t take(const char **at)
{
    uint32_t length = lin_utf8_length(*at, strlen(*at) < 4 ? strlen(*at) : 4);
    uint32_t c = length == 0 ? (unsigned char)**at : lin_utf8_code_point(*at);
    *at += length == 0 ? 1 : length;
    return c;
}

/* `at` stands behind '['. On success `at` stands behind ']'. A bracket that never closes is an
 * ordinary character, which `closed` says. */
static bool in_set(const char **at, uint32_t c, bool *closed)
{
    const char *p = *at;
    bool negated = *p == '!' || *p == '^';
    if (negated)
        p++;
    bool found = false;
    bool first = true;
    *closed = false;
    while (*p != '\0' && (*p != ']' || first)) {
        first = false;
        uint32_t low = take(&p);
        uint32_t high = low;
        if (p[0] == '-' && p[1] != '\0' && p[1] != ']') {
            p++;
            high = take(&p);
        }
        found = found || (low <= c && c <= high);
    }
    if (*p != ']')
        return false;
    *closed = true;
    *at = p + 1;
    return found != negated;
}

/* Matches one character of the text against one element of the pattern and steps over both. */
static bool match_one(const char **pattern, const char **text)
{
    if (**text == '\0' || **pattern == '\0')
        return false;
    const char *p = *pattern;
    uint32_t c = take(text);
    uint32_t want = take(&p);
    bool matched = want == '?' || want == c;
    if (want == '[') {
        bool closed;
        bool found = in_set(&p, c, &closed);
        if (closed)
            matched = found;
    }
    *pattern = p;
    return matched;
}

bool lin_pattern_matches(const char *pattern, const char *text)
{
    const char *star = NULL;   /* behind the last '*' met */
    const char *resume = NULL; /* where the text after what that star takes begins */
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = text;
            continue;
        }
        if (*pattern == '\0' && *text == '\0')
            return true;
        if (match_one(&pattern, &text))
            continue;
        if (star == NULL || *resume == '\0')
            return false;
        (void)take(&resume);
        text = resume;
        pattern = star;
    }
}
