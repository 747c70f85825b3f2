/* SPDX-License-Identifier: MIT */
/*
 * The front end's one entry: order of work, memory, and what the caller is told.
 *
 *     load, parse -> collect -> imports -> declarations -> bodies -> calls -> simplify, warnings
 *
 * The program and everything it points to live in one arena; syntax trees, scopes and tables of the
 * check in a second, dropped at the end. Out of memory jumps to lin_lang_check, which owns both.
 * Passes after the bodies run only on programs without errors.
 */

#include "lang/check.h"

#include <string.h>

const lin_lang_limits lin_lang_default_limits = {
    .source_bytes = (uint64_t)16 << 20, /* the largest model we know is 60 KiB of text */
    .modules = 4096,
    .diagnostics = 100, /* more than anyone reads at once */
};

/* What one check owns: outside the function that calls setjmp, so that no local of it changes. */
typedef struct session {
    checker c;
    lin_arena scratch;
    lin_diagnostics own_diagnostics; /* when the caller has none */
    linnet_error load_error;
    jmp_buf out_of_memory;
} session;

static void simplify_functions(checker *c)
{
    for (uint32_t i = 0; i < c->functions.count; i++)
        lin_simplify_function(c->arena, c->scratch, c->program, c->functions.items[i]->function);
}

/* Warnings about a program that is wrong say little. */
static void drop_warnings(lin_diagnostics *diagnostics)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < diagnostics->list.count; i++)
        if (diagnostics->list.items[i]->severity == LIN_SEVERITY_ERROR)
            diagnostics->list.items[kept++] = diagnostics->list.items[i];
    diagnostics->list.count = kept;
    diagnostics->warning_count = 0;
}

static bool has_errors(const checker *c)
{
    return c->diagnostics->error_count > 0;
}

/* False when the loader stopped. */
static bool check_program(checker *c, const lin_lang_file *file)
{
    c->program->names = lin_names_new(c->arena);
    c->program->dims = lin_expr_table_new(c->arena);
    c->solver = lin_solver_new(c->scratch, c->program->dims);
    lin_fill_prelude(c);
    if (!lin_load_modules(c, file))
        return false;
    lin_resolve_declarations(c);
    lin_check_bodies(c);
    lin_check_calls(c);
    if (has_errors(c)) {
        drop_warnings(c->diagnostics);
        return true;
    }
    lin_report_unused(c);
    simplify_functions(c);
    return true;
}

static linnet_status first_error(const lin_diagnostics *diagnostics, const char *name,
                                 linnet_error *err)
{
    if (diagnostics->list.count == 0)
        return lin_fail_at(err, LINNET_ERROR_SOURCE, (lin_place){ .source = name }, NULL,
                           "the program has errors");
    const lin_diagnostic *first = diagnostics->list.items[0];
    lin_place place = { .source = name };
    if (first->place_count > 0)
        place = (lin_place){ .source = first->places[0].file,
                             .line = first->places[0].start_line,
                             .column = first->places[0].start_column };
    return lin_fail_at(err, LINNET_ERROR_SOURCE, place, first->code, "%s", first->message);
}

static linnet_status finish(session *s, bool loaded, const char *name, linnet_error *err)
{
    checker *c = &s->c;
    if (c->diagnostics->failed)
        return lin_fail_memory(err);
    lin_diagnostics_sort(c->diagnostics);
    if (!loaded) {
        if (err != NULL)
            *err = s->load_error;
        return c->load_status;
    }
    return has_errors(c) ? first_error(c->diagnostics, name, err) : LINNET_OK;
}

static linnet_status run(session *s, const lin_lang_file *file, linnet_error *err)
{
    if (setjmp(s->out_of_memory) != 0)
        return lin_fail_memory(err);
    s->c.arena->on_failure = &s->out_of_memory;
    s->scratch.on_failure = &s->out_of_memory;
    bool loaded = check_program(&s->c, file);
    return finish(s, loaded, file->name, err);
}

static lin_program *new_program(const lin_allocator *allocator)
{
    lin_program *program = lin_alloc_zeroed(allocator, sizeof(*program));
    if (program != NULL)
        lin_arena_init(&program->arena, allocator);
    return program;
}

linnet_status lin_lang_check(const lin_lang_file *file, const lin_loader *loader,
                             const lin_lang_limits *limits, const lin_allocator *allocator,
                             lin_diagnostics *diagnostics, lin_program **out_program,
                             linnet_error *err)
{
    if (limits == NULL)
        limits = &lin_lang_default_limits;
    lin_program *program = new_program(allocator);
    session *s = lin_alloc_zeroed(allocator, sizeof(*s));
    linnet_status status = LINNET_ERROR_NO_MEMORY;
    if (program == NULL || s == NULL) {
        lin_fail_memory(err);
        goto out;
    }
    lin_arena_init(&s->scratch, allocator);
    lin_diagnostics_init(&s->own_diagnostics, allocator, limits->diagnostics);
    s->c = (checker){ .arena = &program->arena,
                      .scratch = &s->scratch,
                      .program = program,
                      .diagnostics = diagnostics != NULL ? diagnostics : &s->own_diagnostics,
                      .loader = loader,
                      .limits = limits,
                      .load_error = &s->load_error };
    status = run(s, file, err);
    lin_diagnostics_free(&s->own_diagnostics);
    lin_arena_free(&s->scratch);
    program->arena.on_failure = NULL;
out:
    lin_release(allocator, s, sizeof(*s));
    if (status != LINNET_OK)
        lin_program_free(program);
    else
        *out_program = program;
    return status;
}

void lin_program_free(lin_program *program)
{
    if (program == NULL)
        return;
    const lin_allocator allocator = program->arena.allocator;
    lin_arena_free(&program->arena);
    lin_release(&allocator, program, sizeof(*program));
}
