/* SPDX-License-Identifier: MIT */

/*
 * The parser on arbitrary text: it must neither crash, leak, overrun nor run without end; every
 * finding lies within the text; the tree can be walked whatever was wrong; and what parses prints
 * as text that parses to the same print.
 */

#include "lang/syntax.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The tree of the text, printed; returns the number of errors. */
static uint32_t parse_and_print(const char *text, uint64_t length, lin_text *out)
{
    const lin_source_file file = { .name = "fuzz.linnet",
                                   .text = text,
                                   .length = (uint32_t)length };
    lin_arena arena;
    lin_diagnostics diagnostics;
    jmp_buf out_of_memory;
    lin_arena_init(&arena, &lin_default_allocator);
    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 20);
    if (setjmp(out_of_memory) != 0)
        abort();
    arena.on_failure = &out_of_memory;

    lin_names *names = lin_names_new(&arena);
    ast_file *ast = lin_parse(&arena, names, &file, &diagnostics);
    lin_syntax_print(out, names, ast);
    lin_text text_of_findings;
    lin_text_init(&text_of_findings, &lin_default_allocator);
    lin_diagnostics_sort(&diagnostics);
    for (uint32_t i = 0; i < diagnostics.list.count; i++)
        if (diagnostics.list.items[i]->places[0].end_offset > length)
            abort();
    lin_diagnostics_print(&text_of_findings, &diagnostics, true);
    lin_text_free(&text_of_findings);

    uint32_t errors = diagnostics.error_count;
    lin_diagnostics_free(&diagnostics);
    lin_arena_free(&arena);
    return errors;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lin_text first, second;
    lin_text_init(&first, &lin_default_allocator);
    lin_text_init(&second, &lin_default_allocator);
    if (parse_and_print((const char *)data, size, &first) == 0 &&
        (parse_and_print(lin_text_data(&first), first.length, &second) != 0 ||
         strcmp(lin_text_data(&first), lin_text_data(&second)) != 0))
        abort();
    lin_text_free(&second);
    lin_text_free(&first);
    return 0;
}
