/* SPDX-License-Identifier: MIT */

/*
 * Text inside markup and inside scripts. A name may hold anything: quotes, `</script>`, control
 * characters, bytes that are no UTF-8. What has a meaning there is written as a reference, what XML
 * cannot hold (its section 2.2) as U+FFFD. Linear.
 */

#include "report/report_picture.h"

#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* A code point and what stands in its place, NULL when it stands for itself. */
typedef struct glyph {
    uint32_t length; /* in bytes */
    const char *instead;
} glyph;

static bool fits_in_xml(uint32_t code_point)
{
    if (code_point < 0x20)
        return code_point == '\t' || code_point == '\n' || code_point == '\r';
    return code_point < 0x7f || (code_point > 0x9f && code_point != 0xfffe && code_point != 0xffff);
}

/* Marks that turn the direction of what follows, so that a name shows as another one. */
static bool turns_text(uint32_t code_point)
{
    return (code_point >= 0x202a && code_point <= 0x202e) ||
           (code_point >= 0x2066 && code_point <= 0x2069);
}

static const char *markup_instead(uint32_t code_point)
{
    switch (code_point) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

/* "</script", "<!--" and "]]>" cannot be spelled without these; U+2028 and U+2029 end lines of
 * scripts. */
static const char *script_instead(uint32_t code_point)
{
    switch (code_point) {
    case '&':
        return "\\u0026";
    case '<':
        return "\\u003c";
    case '>':
        return "\\u003e";
    case '\'':
        return "\\u0027";
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\t':
    case '\n':
    case '\r':
        return " ";
    case 0x2028:
        return "\\u2028";
    case 0x2029:
        return "\\u2029";
    default:
        return NULL;
    }
}

static glyph read_glyph(const char *text, uint64_t left,
                        const char *(*instead)(uint32_t code_point))
{
    const uint32_t length = lin_utf8_length(text, left);
    if (length == 0)
        return (glyph){ 1, REPLACEMENT };
    const uint32_t code_point = lin_utf8_code_point(text);
    if (!fits_in_xml(code_point) || turns_text(code_point))
        return (glyph){ length, REPLACEMENT };
    return (glyph){ length, instead(code_point) };
}

static void add(lin_text *out, const char *text, uint32_t max,
                const char *(*instead)(uint32_t code_point))
{
    uint64_t left = strlen(text);
    for (uint32_t count = 0; left > 0; count++) {
        if (count == max) {
            lin_text_add(out, "\xe2\x80\xa6"); /* … */
            return;
        }
        const glyph next = read_glyph(text, left, instead);
        if (next.instead != NULL)
            lin_text_add(out, next.instead);
        else
            lin_text_append(out, text, next.length);
        text += next.length;
        left -= next.length;
    }
}

void lin_markup_add(lin_text *out, const char *text)
{
    add(out, text, UINT32_MAX, markup_instead);
}

void lin_markup_add_short(lin_text *out, const char *text, uint32_t max)
{
    add(out, text, max, markup_instead);
}

void lin_script_add_string(lin_text *out, const char *text)
{
    lin_text_add(out, "\"");
    add(out, text, UINT32_MAX, script_instead);
    lin_text_add(out, "\"");
}

void lin_markup_add_bytes(lin_text *out, int64_t bytes)
{
    char text[LIN_BYTES_TEXT];
    lin_format_bytes(text, bytes);
    lin_text_add(out, text);
}
