/* SPDX-License-Identifier: MIT */
#ifndef LIN_LEXER_H
#define LIN_LEXER_H

/* Source text as tokens, one at a time. The lexer keeps no token: the parser may set it back to an
 * earlier position and read on, and every finding is still reported once. */

#include "lang/diagnostics.h"

/* clang-format off */
#define LIN_KEYWORDS(X)                                                                            \
    X(AS, "as") X(BLOCK, "block") X(BUFFER, "buffer") X(CONST, "const") X(CRATE, "crate")          \
    X(ELSE, "else") X(ENTRY, "entry") X(ENUM, "enum") X(EXTERN, "extern") X(FALSE, "false")        \
    X(FN, "fn") X(FOR, "for") X(IF, "if") X(IN, "in") X(KERNEL, "kernel") X(LET, "let")            \
    X(MATCH, "match") X(MODULE, "module") X(NONE, "none") X(OP, "op") X(PARAM, "param")            \
    X(PUB, "pub") X(RETURN, "return") X(SELF, "self") X(SOME, "some") X(STATE, "state")            \
    X(STATIC, "static") X(STRUCT, "struct") X(SUB, "sub") X(SUPER, "super") X(TRUE, "true")        \
    X(TYPE, "type") X(USE, "use") X(VAR, "var") X(WHERE, "where") X(WHILE, "while")                \
    X(YIELD, "yield")

/* By first character, and of one character the longest first. */
#define LIN_PUNCTUATION(X)                                                                         \
    X(ELLIPSIS, "...") X(RANGE, "..") X(DOT, ".") X(DOUBLE_COLON, "::") X(COLON, ":")              \
    X(ARROW, "->") X(MINUS, "-") X(FAT_ARROW, "=>") X(EQUAL, "==") X(ASSIGN, "=")                  \
    X(NOT_EQUAL, "!=") X(BANG, "!") X(LESS_EQUAL, "<=") X(LESS, "<") X(GREATER_EQUAL, ">=")        \
    X(GREATER, ">") X(AND, "&&") X(AMPERSAND, "&") X(OR, "||") X(BAR, "|") X(CARET, "^")           \
    X(OPEN_PAREN, "(") X(CLOSE_PAREN, ")") X(OPEN_BRACKET, "[") X(CLOSE_BRACKET, "]")              \
    X(OPEN_BRACE, "{") X(CLOSE_BRACE, "}") X(COMMA, ",") X(SEMICOLON, ";") X(PLUS, "+")            \
    X(STAR, "*") X(SLASH, "/") X(PERCENT, "%") X(QUESTION, "?")
/* clang-format on */

typedef enum token_kind {
    TOKEN_END,
    TOKEN_STOPPED, /* never lexed: what the parser sees from a syntax error to its recovery */
    TOKEN_NAME,
    TOKEN_RESERVED, /* a word kept for later: a name with E1004 */
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_STRING,
#define X(id, spelling) TOKEN_##id,
    LIN_KEYWORDS(X) LIN_PUNCTUATION(X)
#undef X
        TOKEN_COUNT
} token_kind;

/* Bytes [start, end) of the text. */
typedef struct token {
    token_kind kind;
    uint32_t start, end;
    lin_name name;  /* NAME, RESERVED */
    bool malformed; /* INTEGER, FLOAT, STRING: reported; there is no value to read */
} token;

typedef struct lexer {
    const lin_source_file *file;
    lin_names *names;
    lin_diagnostics *diagnostics;
    uint32_t position;       /* of the next byte to look at */
    uint32_t reported;       /* findings made before this position are not reported again */
    uint8_t first_word[128]; /* by first character: where its words begin in the table of words */
    uint8_t first_mark[128]; /* likewise for punctuation */
} lexer;

void lin_lexer_init(lexer *lex, const lin_source_file *file, lin_names *names,
                    lin_diagnostics *diagnostics);
token lin_lexer_next(lexer *lex);

/* What a kind is called in a message: "`let`", "a name", "the end of the file". */
const char *lin_token_title(token_kind kind);

#endif
