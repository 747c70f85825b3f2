/* SPDX-License-Identifier: MIT */

/*
 * The pull reader: RFC 8259 to the letter, one event a call, nothing kept. A text is read in
 * place: a string without escapes is a slice of it, one with escapes is decoded into a buffer that
 * the next string reuses. One bit a level says whether it is an object.
 *
 * The position moves only past what was accepted, so an error, asked again, is the same error.
 *
 * Cost: linear in the text, no recursion; memory for the longest string with escapes.
 */

#include "json/read.h"

#include <string.h>

typedef enum state {
    WANT_VALUE,
    WANT_FIRST_ITEM, /* after `[`: a value or the end */
    WANT_FIRST_KEY,  /* after `{`: a key or the end */
    WANT_KEY,
    WANT_COLON,
    WANT_MORE, /* after a value: a comma or the end */
    DONE
} state;

enum { STATE_MASK = 0x7f, LONG_NUMBERS = 0x80 };

void lin_pull_init(lin_pull *pull, const char *source_name, const char *text, uint64_t length,
                   const lin_allocator *allocator)
{
    *pull = (lin_pull){ .source_name = source_name, .text = text, .length = length };
    lin_text_init(&pull->scratch, allocator);
}

void lin_pull_free(lin_pull *pull)
{
    lin_text_free(&pull->scratch);
}

void lin_pull_allow_long_numbers(lin_pull *pull)
{
    pull->state |= LONG_NUMBERS;
}

static void set_state(lin_pull *pull, state next)
{
    pull->state = (uint8_t)((pull->state & LONG_NUMBERS) | next);
}

/* ---- errors ---- */

lin_place lin_json_place(const char *source_name, const char *text, uint64_t offset)
{
    lin_place place = { source_name, 1, 1 };
    for (uint64_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            place.line += place.line < UINT32_MAX;
            place.column = 1;
        } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
            place.column += place.column < UINT32_MAX;
        }
    }
    return place;
}

static lin_pull_event refuse(const lin_pull *pull, uint64_t offset, linnet_error *err,
                             const char *message)
{
    lin_place place = lin_json_place(pull->source_name, pull->text, offset);
    lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "%s", message);
    return LIN_PULL_ERROR;
}

/* Something else stands at the position than `wanted`. */
static lin_pull_event refuse_token(const lin_pull *pull, linnet_error *err, const char *wanted)
{
    lin_place place = lin_json_place(pull->source_name, pull->text, pull->position);
    if (pull->position == pull->length) {
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "expected %s, the text ends", wanted);
        return LIN_PULL_ERROR;
    }
    const char *at = pull->text + pull->position;
    uint32_t length = lin_utf8_length(at, pull->length - pull->position);
    if (length == 0 || (unsigned char)*at < 0x20 || *at == 0x7f)
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "expected %s, found byte 0x%02x", wanted,
                    (unsigned char)*at);
    else
        lin_fail_at(err, LINNET_ERROR_FORMAT, place, NULL, "expected %s, found `%.*s`", wanted,
                    (int)length, at);
    return LIN_PULL_ERROR;
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* The four digits of `\uXXXX` whose backslash is at `offset`, or -1. */
static int32_t unicode_escape(const lin_pull *pull, uint64_t offset)
{
    if (pull->length - offset < 6 || pull->text[offset] != '\\' || pull->text[offset + 1] != 'u')
        return -1;
    int32_t value = 0;
    for (uint64_t i = offset + 2; i < offset + 6; i++) {
        int digit = hex_digit(pull->text[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void append_code_point(lin_text *out, uint32_t c)
{
    char utf8[4];
    uint64_t length = 0;
    if (c < 0x80) {
        utf8[length++] = (char)c;
    } else if (c < 0x800) {
        utf8[length++] = (char)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        utf8[length++] = (char)(0xe0 | c >> 12);
    } else {
        utf8[length++] = (char)(0xf0 | c >> 18);
        utf8[length++] = (char)(0x80 | (c >> 12 & 0x3f));
    }
    if (c >= 0x800)
        utf8[length++] = (char)(0x80 | (c >> 6 & 0x3f));
    if (c >= 0x80)
        utf8[length++] = (char)(0x80 | (c & 0x3f));
    lin_text_append(out, utf8, length);
}

/* `\uXXXX`, or two of them that make one code point; the bytes read, 0 when malformed. */
static uint64_t decode_unicode(lin_pull *pull, uint64_t offset)
{
    int32_t unit = unicode_escape(pull, offset);
    if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000))
        return 0;
    if (unit < 0xd800 || unit >= 0xe000) {
        append_code_point(&pull->scratch, (uint32_t)unit);
        return 6;
    }
    int32_t low = unicode_escape(pull, offset + 6);
    if (low < 0xdc00 || low >= 0xe000)
        return 0;
    append_code_point(&pull->scratch,
                      0x10000 + ((uint32_t)(unit - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
    return 12;
}

/* Decodes the escape whose backslash is at `offset`; the bytes read, 0 when malformed. */
static uint64_t decode_escape(lin_pull *pull, uint64_t offset)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    if (pull->length - offset < 2)
        return 0;
    if (pull->text[offset + 1] == 'u')
        return decode_unicode(pull, offset);
    const char *letter = memchr(letters, pull->text[offset + 1], sizeof(letters) - 1);
    if (letter == NULL)
        return 0;
    lin_text_append(&pull->scratch, &meanings[letter - letters], 1);
    return 2;
}

/* The first byte at or after `offset` that is not plain text: a quote, a backslash, a control
 * character, a malformed sequence, or the end. */
static uint64_t plain_end(const lin_pull *pull, uint64_t offset)
{
    while (offset < pull->length) {
        unsigned char c = (unsigned char)pull->text[offset];
        if (c == '"' || c == '\\' || c < 0x20)
            break;
        uint32_t length =
            c < 0x80 ? 1 : lin_utf8_length(pull->text + offset, pull->length - offset);
        if (length == 0)
            break;
        offset += length;
    }
    return offset;
}

static lin_pull_event refuse_string(const lin_pull *pull, uint64_t offset, linnet_error *err)
{
    if (offset == pull->length)
        return refuse(pull, pull->position, err, "string without its closing quote");
    unsigned char c = (unsigned char)pull->text[offset];
    if (c < 0x20)
        return refuse(pull, offset, err, "control character in a string");
    if (c == '\\')
        return refuse(pull, offset, err, "escape that JSON does not have");
    return refuse(pull, offset, err, "malformed UTF-8");
}

/* string := '"' (plain | escape)* '"' ; the opening quote is at the position. */
static lin_pull_event read_string(lin_pull *pull, lin_pull_event event, state next,
                                  linnet_error *err)
{
    uint64_t start = pull->position + 1;
    uint64_t end = plain_end(pull, start);
    bool has_escapes = end < pull->length && pull->text[end] == '\\';
    if (has_escapes)
        lin_text_clear(&pull->scratch);
    while (end < pull->length && pull->text[end] == '\\') {
        lin_text_append(&pull->scratch, pull->text + start, end - start);
        uint64_t length = decode_escape(pull, end);
        if (length == 0)
            break;
        start = end + length;
        end = plain_end(pull, start);
    }
    if (end == pull->length || pull->text[end] != '"')
        return refuse_string(pull, end, err);
    if (has_escapes)
        lin_text_append(&pull->scratch, pull->text + start, end - start);
    if (has_escapes && pull->scratch.failed) {
        lin_fail_memory(err);
        return LIN_PULL_ERROR;
    }
    pull->value = has_escapes ? lin_text_data(&pull->scratch) : pull->text + start;
    pull->value_length = has_escapes ? pull->scratch.length : end - start;
    pull->position = end + 1;
    set_state(pull, next);
    return event;
}

/* ---- numbers and words ---- */

static uint64_t skip_digits(const lin_pull *pull, uint64_t offset)
{
    while (offset < pull->length && pull->text[offset] >= '0' && pull->text[offset] <= '9')
        offset++;
    return offset;
}

/* A loop and no call: the choices are few, and known where it is inlined. */
static inline bool is_at(const lin_pull *pull, uint64_t offset, const char *choices)
{
    if (offset >= pull->length)
        return false;
    for (; *choices != '\0'; choices++)
        if (*choices == pull->text[offset])
            return true;
    return false;
}

/* number := "-"? ("0" | [1-9] digits) ("." digits)? ([eE] [+-]? digits)? ; false: `*out_end` is
 * where a digit is missing. */
static bool scan_number(const lin_pull *pull, uint64_t *out_end, bool *out_is_integer)
{
    uint64_t at = pull->position + is_at(pull, pull->position, "-");
    uint64_t end = is_at(pull, at, "0") ? at + 1 : skip_digits(pull, at);
    *out_is_integer = true;
    *out_end = end;
    if (end == at)
        return false;
    if (is_at(pull, end, ".")) {
        *out_is_integer = false;
        at = end + 1;
        *out_end = end = skip_digits(pull, at);
        if (end == at)
            return false;
    }
    if (is_at(pull, end, "eE")) {
        *out_is_integer = false;
        at = end + 1 + is_at(pull, end + 1, "+-");
        *out_end = end = skip_digits(pull, at);
        if (end == at)
            return false;
    }
    return true;
}

static state after_value(const lin_pull *pull)
{
    return pull->depth == 0 ? DONE : WANT_MORE;
}

static lin_pull_event read_number(lin_pull *pull, linnet_error *err)
{
    uint64_t end;
    bool is_integer;
    if (!scan_number(pull, &end, &is_integer))
        return refuse(pull, end, err, "expected a digit");
    if (end - pull->position > LIN_PULL_MAX_NUMBER && (pull->state & LONG_NUMBERS) == 0)
        return refuse(pull, pull->position, err, "number of more than 64 characters");
    pull->value = pull->text + pull->position;
    pull->value_length = end - pull->position;
    pull->is_integer = is_integer;
    pull->position = end;
    set_state(pull, after_value(pull));
    return LIN_PULL_NUMBER;
}

static lin_pull_event read_word(lin_pull *pull, linnet_error *err)
{
    static const struct {
        const char *word;
        lin_pull_event event;
    } words[] = { { "true", LIN_PULL_TRUE },
                  { "false", LIN_PULL_FALSE },
                  { "null", LIN_PULL_NULL } };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        uint64_t length = strlen(words[i].word);
        if (length <= pull->length - pull->position &&
            memcmp(pull->text + pull->position, words[i].word, (size_t)length) == 0) {
            pull->position += length;
            set_state(pull, after_value(pull));
            return words[i].event;
        }
    }
    return refuse_token(pull, err, "a value");
}

/* ---- structure ---- */

static bool in_object(const lin_pull *pull)
{
    uint32_t level = pull->depth - 1;
    return (pull->nesting[level / 64] >> (level % 64) & 1) != 0;
}

static lin_pull_event open(lin_pull *pull, bool is_object, linnet_error *err)
{
    if (pull->depth == LIN_PULL_MAX_DEPTH)
        return refuse(pull, pull->position, err, "nested deeper than 2048 levels");
    uint64_t bit = UINT64_C(1) << (pull->depth % 64);
    uint64_t *word = &pull->nesting[pull->depth / 64];
    *word = is_object ? *word | bit : *word & ~bit;
    pull->depth++;
    pull->position++;
    set_state(pull, is_object ? WANT_FIRST_KEY : WANT_FIRST_ITEM);
    return is_object ? LIN_PULL_OBJECT : LIN_PULL_ARRAY;
}

static lin_pull_event close(lin_pull *pull)
{
    bool is_object = in_object(pull);
    pull->depth--;
    pull->position++;
    set_state(pull, after_value(pull));
    return is_object ? LIN_PULL_OBJECT_END : LIN_PULL_ARRAY_END;
}

static lin_pull_event read_value(lin_pull *pull, linnet_error *err)
{
    if (is_at(pull, pull->position, "{["))
        return open(pull, pull->text[pull->position] == '{', err);
    if (is_at(pull, pull->position, "\""))
        return read_string(pull, LIN_PULL_STRING, after_value(pull), err);
    if (is_at(pull, pull->position, "-0123456789"))
        return read_number(pull, err);
    return read_word(pull, err);
}

static lin_pull_event read_key(lin_pull *pull, linnet_error *err)
{
    if (!is_at(pull, pull->position, "\""))
        return refuse_token(pull, err, "a key");
    return read_string(pull, LIN_PULL_KEY, WANT_COLON, err);
}

static void skip_space(lin_pull *pull)
{
    uint64_t at = pull->position;
    while (at < pull->length && (pull->text[at] == ' ' || pull->text[at] == '\n' ||
                                 pull->text[at] == '\t' || pull->text[at] == '\r'))
        at++;
    pull->position = at;
}

/* A comma or a colon: it makes no event. */
static void pass(lin_pull *pull, state next)
{
    pull->position++;
    set_state(pull, next);
    skip_space(pull);
}

static lin_pull_event read_more(lin_pull *pull, linnet_error *err)
{
    bool is_object = in_object(pull);
    if (is_at(pull, pull->position, is_object ? "}" : "]"))
        return close(pull);
    if (!is_at(pull, pull->position, ","))
        return refuse_token(pull, err, is_object ? "`,` or `}`" : "`,` or `]`");
    pass(pull, is_object ? WANT_KEY : WANT_VALUE);
    return is_object ? read_key(pull, err) : read_value(pull, err);
}

lin_pull_event lin_pull_next(lin_pull *pull, linnet_error *err)
{
    skip_space(pull);
    switch ((state)(pull->state & STATE_MASK)) {
    case WANT_FIRST_ITEM:
        return is_at(pull, pull->position, "]") ? close(pull) : read_value(pull, err);
    case WANT_VALUE:
        return read_value(pull, err);
    case WANT_FIRST_KEY:
        return is_at(pull, pull->position, "}") ? close(pull) : read_key(pull, err);
    case WANT_KEY:
        return read_key(pull, err);
    case WANT_COLON:
        if (!is_at(pull, pull->position, ":"))
            return refuse_token(pull, err, "`:`");
        pass(pull, WANT_VALUE);
        return read_value(pull, err);
    case WANT_MORE:
        return read_more(pull, err);
    case DONE:
        break;
    }
    if (pull->position < pull->length)
        return refuse_token(pull, err, "the end of the text");
    return LIN_PULL_END;
}

bool lin_pull_i64(const lin_pull *pull, int64_t *out)
{
    return pull->is_integer && lin_parse_i64(pull->value, pull->value_length, out);
}

linnet_status lin_pull_skip(lin_pull *pull, lin_pull_event event, linnet_error *err)
{
    if (event == LIN_PULL_KEY)
        event = lin_pull_next(pull, err);
    uint32_t inside = event == LIN_PULL_OBJECT || event == LIN_PULL_ARRAY ? pull->depth : 0;
    while (event != LIN_PULL_ERROR && inside > 0 && pull->depth >= inside)
        event = lin_pull_next(pull, err);
    if (event != LIN_PULL_ERROR)
        return LINNET_OK;
    return pull->scratch.failed ? LINNET_ERROR_NO_MEMORY : LINNET_ERROR_FORMAT;
}
