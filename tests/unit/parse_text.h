/* SPDX-License-Identifier: MIT */
#ifndef PARSE_TEXT_H
#define PARSE_TEXT_H

/* A text, parsed, for the tests of the parser. Include cmocka first. */

#include "lang/syntax.h"

#include <string.h>

typedef struct parsed {
    lin_arena arena;
    lin_names *names;
    lin_diagnostics diagnostics;
    ast_file *file;
} parsed;

/* The arena has no jump target: the host's allocator does not fail in these tests. */
static inline void parse(parsed *out, const char *text, uint64_t length)
{
    lin_source_file source = { .name = "a.linnet", .text = text, .length = (uint32_t)length };
    lin_arena_init(&out->arena, &lin_default_allocator);
    lin_diagnostics_init(&out->diagnostics, &lin_default_allocator, 100);
    out->names = lin_names_new(&out->arena);
    out->file = lin_parse(&out->arena, out->names, &source, &out->diagnostics);
    assert_non_null(out->file);
    assert_false(out->diagnostics.failed);
    lin_diagnostics_sort(&out->diagnostics);
}

static inline void drop(parsed *p)
{
    lin_diagnostics_free(&p->diagnostics);
    lin_arena_free(&p->arena);
}

/* Adds one test for each row of a table whose rows begin with a name. */
#define ADD_ROWS(cases, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)             \
        tests[count++] = (struct CMUnitTest)                  \
        {                                                     \
            .name = (cases)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (cases)[i] \
        }

#endif
