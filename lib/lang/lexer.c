/* SPDX-License-Identifier: MIT */

/*
 * Text to tokens (language.md 1). One pass over the bytes with a table of byte classes; words are
 * looked up among the keywords of their first letter. Every token is a span of the text: numbers
 * are validated here and read by the parser, strings have no value at all.
 *
 * A finding is keyed by the position at which the scan noticed it. Those positions only grow while
 * the text is read forward, so after the parser has gone back, `reported` tells old from new.
 */

#include "lang/lexer.h"

#include <string.h>

typedef struct word {
    const char *spelling;
    uint32_t length;
    token_kind kind;
} word;

/* clang-format off */
/* Alphabetical, as the keywords are. */
#define RESERVED_WORDS(X)                                                                          \
    X("async") X("await") X("derive") X("device") X("effect") X("impl") X("macro") X("mut")        \
    X("ref") X("rng") X("trait") X("unsafe")

static const word words[] = {
#define X(id, spelling) { spelling, sizeof(spelling) - 1, TOKEN_##id },
    LIN_KEYWORDS(X)
#undef X
};

static const word reserved_words[] = {
#define X(spelling) { spelling, sizeof(spelling) - 1, TOKEN_RESERVED },
    RESERVED_WORDS(X)
#undef X
};

static const word marks[] = {
#define X(id, spelling) { spelling, sizeof(spelling) - 1, TOKEN_##id },
    LIN_PUNCTUATION(X)
#undef X
};
/* clang-format on */

enum {
    WORD_COUNT = ARRAY_LEN(words),
    RESERVED_COUNT = ARRAY_LEN(reserved_words),
    MARK_COUNT = ARRAY_LEN(marks),
    MAX_WORD = 6,
    NOWHERE = 255 /* of first_word and first_mark */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word(char c)
{
    return is_word_start(c) || is_digit(c);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool is_mark(const lexer *lex, char c)
{
    return (unsigned char)c < 128 && lex->first_mark[(unsigned char)c] != NOWHERE;
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The byte `ahead` of the position; 0 past the end. */
static char look(const lexer *lex, uint32_t ahead)
{
    uint32_t left = lex->file->length - lex->position;
    return ahead < left ? lex->file->text[lex->position + ahead] : '\0';
}

static bool at_end(const lexer *lex)
{
    return lex->position >= lex->file->length;
}

/* Whether a finding noticed at this position is new. */
static bool is_new(lexer *lex, uint32_t noticed_at)
{
    if (noticed_at < lex->reported)
        return false;
    lex->reported = noticed_at + 1;
    return true;
}

static lin_span span_of(const lexer *lex, uint32_t start, uint32_t end)
{
    return (lin_span){ lex->file->index, start, end };
}

static uint32_t sequence_length(const lexer *lex, uint32_t at)
{
    return lin_utf8_length(lex->file->text + at, lex->file->length - at);
}

/* ---- characters that do not belong ---- */

/* One byte inside a comment or a string, where all of Unicode is allowed; a run of bytes that are
 * not UTF-8 is one finding. */
static void skip_character(lexer *lex)
{
    if (((unsigned char)look(lex, 0) & 0x80u) == 0) {
        lex->position++;
        return;
    }
    uint32_t start = lex->position;
    while (!at_end(lex) && sequence_length(lex, lex->position) == 0)
        lex->position++;
    if (lex->position == start)
        lex->position += sequence_length(lex, start);
    else if (is_new(lex, start))
        lin_diagnose(lex->diagnostics, lex->file, span_of(lex, start, lex->position), "E1001",
                     "source is not valid UTF-8 here");
}

static bool is_usable(const lexer *lex, char c)
{
    return is_word(c) || is_mark(lex, c) || is_space(c) || c == '"';
}

static void report_unusable(lexer *lex, uint32_t start, uint32_t end)
{
    const char *text = lex->file->text + start;
    uint32_t length = sequence_length(lex, start);
    lin_span span = span_of(lex, start, end);
    lin_diagnostic *d;
    if (length == 0) {
        lin_diagnose(lex->diagnostics, lex->file, span, "E1001", "source is not valid UTF-8 here");
        return;
    }
    if ((unsigned char)*text < 0x20 || *text == 0x7f)
        lin_diagnose(lex->diagnostics, lex->file, span, "E1001",
                     "control character 0x%02x is not allowed in source",
                     (unsigned)(unsigned char)*text);
    else if (length == 1)
        lin_diagnose(lex->diagnostics, lex->file, span, "E1001",
                     "character `%c` is not allowed in source", *text);
    else {
        d = lin_diagnose(lex->diagnostics, lex->file, span, "E1001",
                         "character `%.*s` is not allowed in source", (int)length, text);
        lin_diagnostic_note(lex->diagnostics, d,
                            "outside comments and strings only ASCII is accepted");
    }
}

static void skip_unusable(lexer *lex)
{
    uint32_t start = lex->position;
    while (!at_end(lex) && !is_usable(lex, look(lex, 0)))
        lex->position++;
    if (is_new(lex, start))
        report_unusable(lex, start, lex->position);
}

/* ---- comments ---- */

static void skip_line_comment(lexer *lex)
{
    while (!at_end(lex) && look(lex, 0) != '\n')
        skip_character(lex);
}

/* Comments nest; the one that is never closed is reported where it opens. */
static void skip_block_comment(lexer *lex)
{
    uint32_t start = lex->position, open = 1;
    lex->position += 2;
    while (open > 0 && !at_end(lex)) {
        if (look(lex, 0) == '/' && look(lex, 1) == '*') {
            open++;
            lex->position += 2;
        } else if (look(lex, 0) == '*' && look(lex, 1) == '/') {
            open--;
            lex->position += 2;
        } else {
            skip_character(lex);
        }
    }
    if (open > 0 && is_new(lex, lex->position))
        lin_diagnose(lex->diagnostics, lex->file, span_of(lex, start, start + 2), "E1002",
                     "comment is never closed");
}

/* To the first byte of a token. */
static void skip_blanks(lexer *lex)
{
    while (!at_end(lex)) {
        char c = look(lex, 0);
        if (is_space(c))
            lex->position++;
        else if (c == '/' && look(lex, 1) == '/')
            skip_line_comment(lex);
        else if (c == '/' && look(lex, 1) == '*')
            skip_block_comment(lex);
        else if (!is_usable(lex, c))
            skip_unusable(lex);
        else
            return;
    }
}

/* ---- words ---- */

static bool is_spelled(const word *w, const char *text, uint32_t length)
{
    return w->length == length && memcmp(w->spelling, text, length) == 0;
}

static token_kind word_kind(const lexer *lex, const char *text, uint32_t length)
{
    if (length > MAX_WORD || *text < 'a')
        return TOKEN_NAME;
    for (uint32_t i = lex->first_word[(unsigned char)*text];
         i < WORD_COUNT && *words[i].spelling == *text; i++)
        if (is_spelled(&words[i], text, length))
            return words[i].kind;
    for (uint32_t i = 0; i < RESERVED_COUNT && *reserved_words[i].spelling <= *text; i++)
        if (is_spelled(&reserved_words[i], text, length))
            return TOKEN_RESERVED;
    return TOKEN_NAME;
}

static token lex_word(lexer *lex)
{
    token t = { .start = lex->position };
    while (!at_end(lex) && is_word(look(lex, 0)))
        lex->position++;
    t.end = lex->position;
    const char *text = lex->file->text + t.start;
    t.kind = word_kind(lex, text, t.end - t.start);
    if (t.kind == TOKEN_NAME || t.kind == TOKEN_RESERVED)
        t.name = lin_names_add(lex->names, text, t.end - t.start);
    return t;
}

/* ---- numbers ---- */

static void take_run(lexer *lex)
{
    while (!at_end(lex) && is_word(look(lex, 0)))
        lex->position++;
}

/* The sign of an exponent and the run after it (language.md 1.4, step 2). */
static void take_signed_exponent(lexer *lex, bool prefixed)
{
    char last = lex->file->text[lex->position - 1];
    if (prefixed || (last != 'e' && last != 'E') || (look(lex, 0) != '+' && look(lex, 0) != '-') ||
        !is_digit(look(lex, 1)))
        return;
    lex->position++;
    take_run(lex);
}

/* Characters of one class with single '_' between them, at least one; returns what follows. */
static const char *check_digits(const char *at, const char *end, bool (*is_allowed)(char),
                                const char **wrong)
{
    const char *start = at;
    while (at < end && (is_allowed(*at) || *at == '_')) {
        if (*at == '_' && (at == start || at[-1] == '_' || at + 1 == end || !is_allowed(at[1])))
            *wrong = "`_` may only stand between two digits";
        at++;
    }
    if (at == start)
        *wrong = "a digit is missing";
    return at;
}

static bool is_binary_digit(char c)
{
    return c == '0' || c == '1';
}

static const char *check_decimal(const char *at, const char *end)
{
    const char *wrong = NULL;
    const char *start = at;
    at = check_digits(at, end, is_digit, &wrong);
    if (*start == '0' && at > start + 1)
        return "a decimal number may not begin with `0`";
    if (at < end && *at == '.')
        at = check_digits(at + 1, end, is_digit, &wrong);
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        at = check_digits(at, end, is_digit, &wrong);
    }
    if (wrong == NULL && at < end)
        wrong = "numbers have no suffix";
    return wrong;
}

/* What is wrong with the number, or NULL. */
static const char *check_number(const char *at, const char *end, bool prefixed)
{
    const char *wrong = NULL;
    if (!prefixed)
        return check_decimal(at, end);
    bool is_hex = at[1] == 'x';
    at = check_digits(at + 2, end, is_hex ? is_hex_digit : is_binary_digit, &wrong);
    if (wrong == NULL && at < end)
        wrong = is_hex ? "this is not a hexadecimal digit" : "a binary digit is `0` or `1`";
    return wrong;
}

static bool has_float_mark(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at == '.' || *at == 'e' || *at == 'E')
            return true;
    return false;
}

static bool all_digits(const char *at, const char *end)
{
    for (; at < end; at++)
        if (!is_digit(*at) && *at != '_')
            return false;
    return true;
}

static token lex_number(lexer *lex)
{
    token t = { .start = lex->position };
    const char *text = lex->file->text + t.start;
    bool prefixed = look(lex, 0) == '0' && (look(lex, 1) == 'x' || look(lex, 1) == 'b');
    take_run(lex);
    take_signed_exponent(lex, prefixed);
    if (look(lex, 0) == '.' && is_digit(look(lex, 1)) &&
        all_digits(text, lex->file->text + lex->position)) {
        lex->position++;
        take_run(lex);
        take_signed_exponent(lex, prefixed);
    }
    t.end = lex->position;
    const char *end = lex->file->text + t.end;
    t.kind = !prefixed && has_float_mark(text, end) ? TOKEN_FLOAT : TOKEN_INTEGER;
    const char *wrong = check_number(text, end, prefixed);
    t.malformed = wrong != NULL;
    if (wrong != NULL && is_new(lex, t.start)) {
        lin_diagnostic *d = lin_diagnose(lex->diagnostics, lex->file, span_of(lex, t.start, t.end),
                                         "E1005", "malformed number");
        lin_diagnostic_note(lex->diagnostics, d, "%s", wrong);
    }
    return t;
}

/* ---- strings ---- */

/* `\u{h…}` of a Unicode scalar value, from the backslash on: its length, or 0. */
static uint32_t unicode_escape(const lexer *lex)
{
    uint32_t value = 0, digits = 0;
    if (look(lex, 2) != '{')
        return 0;
    while (digits < 7 && is_hex_digit(look(lex, 3 + digits))) {
        char c = look(lex, 3 + digits++);
        value = value * 16 + (uint32_t)(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    bool is_scalar = value <= 0x10ffff && (value < 0xd800 || value > 0xdfff);
    if (digits < 1 || digits > 6 || !is_scalar || look(lex, 3 + digits) != '}')
        return 0;
    return digits + 4;
}

static bool is_new_in_string(lexer *lex, token *t, uint32_t noticed_at)
{
    bool is_first = !t->malformed;
    t->malformed = true;
    return is_new(lex, noticed_at) && is_first;
}

static void lex_escape(lexer *lex, token *t)
{
    char c = look(lex, 1);
    uint32_t length = c == 'u'                                     ? unicode_escape(lex)
                      : c != '\0' && strchr("nrt0\\\"", c) != NULL ? 2
                                                                   : 0;
    if (length == 0) {
        uint32_t at = lex->position;
        length = 1;
        if (is_new_in_string(lex, t, at))
            lin_diagnose(lex->diagnostics, lex->file, span_of(lex, at, at + 1), "E1003",
                         "unknown escape in a string");
        if (c == '\\' || c == '"')
            length = 2;
    }
    lex->position += length;
}

static token lex_string(lexer *lex)
{
    token t = { .kind = TOKEN_STRING, .start = lex->position };
    lex->position++;
    while (!at_end(lex) && look(lex, 0) != '"' && look(lex, 0) != '\n' && look(lex, 0) != '\r') {
        if (look(lex, 0) == '\\')
            lex_escape(lex, &t);
        else
            skip_character(lex);
    }
    if (look(lex, 0) == '"')
        lex->position++;
    else if (is_new_in_string(lex, &t, lex->position))
        lin_diagnose(lex->diagnostics, lex->file, span_of(lex, t.start, lex->position), "E1003",
                     "string is not closed on its line");
    t.end = lex->position;
    return t;
}

/* ---- punctuation ---- */

static token lex_mark(lexer *lex)
{
    token t = { .start = lex->position };
    const word *mark = &marks[lex->first_mark[(unsigned char)look(lex, 0)]];
    while ((mark->length > 1 && mark->spelling[1] != look(lex, 1)) ||
           (mark->length > 2 && mark->spelling[2] != look(lex, 2)))
        mark++;
    t.kind = mark->kind;
    lex->position += mark->length;
    t.end = lex->position;
    return t;
}

static void index_words(uint8_t first[128], const word *table, uint32_t count)
{
    memset(first, NOWHERE, 128);
    while (count-- > 0)
        first[(unsigned char)*table[count].spelling] = (uint8_t)count;
}

void lin_lexer_init(lexer *lex, const lin_source_file *file, lin_names *names,
                    lin_diagnostics *diagnostics)
{
    *lex = (lexer){ .file = file, .names = names, .diagnostics = diagnostics };
    index_words(lex->first_word, words, WORD_COUNT);
    index_words(lex->first_mark, marks, MARK_COUNT);
}

token lin_lexer_next(lexer *lex)
{
    skip_blanks(lex);
    if (at_end(lex))
        return (token){ .kind = TOKEN_END, .start = lex->position, .end = lex->position };
    char c = look(lex, 0);
    if (is_word_start(c))
        return lex_word(lex);
    if (is_digit(c))
        return lex_number(lex);
    return c == '"' ? lex_string(lex) : lex_mark(lex);
}

const char *lin_token_title(token_kind kind)
{
    switch (kind) {
    case TOKEN_NAME:
        return "a name";
    case TOKEN_RESERVED:
        return "a reserved word";
    case TOKEN_INTEGER:
        return "an integer";
    case TOKEN_FLOAT:
        return "a number";
    case TOKEN_STRING:
        return "a string";
#define X(id, spelling) \
    case TOKEN_##id:    \
        return "`" spelling "`";
        LIN_KEYWORDS(X)
        LIN_PUNCTUATION(X)
#undef X
    case TOKEN_END:
    case TOKEN_STOPPED:
    case TOKEN_COUNT:
        break;
    }
    return "the end of the file";
}
