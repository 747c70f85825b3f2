/* SPDX-License-Identifier: MIT */

/* How tensors, steps and formulas are named in an answer. */

#include "memory/prepared.h"

#include <string.h>

enum { MAX_FORMULA_CHARACTERS = 4000 }; /* tracing.md 14 */

static const char *scope_words(lin_arena *arena, const char *scope)
{
    return scope == NULL || scope[0] == '\0' ? "the root" : lin_arena_format(arena, "`%s`", scope);
}

const char *lin_memory_object_words(lin_arena *arena, const lin_graph *graph, uint32_t object)
{
    const lin_object *o = &graph->objects.items[object];
    if (o->path != NULL)
        return lin_arena_format(arena, "`%s`", o->path);
    if (o->producer == LIN_NO_STEP)
        return lin_arena_format(arena, "`%s`", o->name);
    const lin_step *step = &graph->steps.items[o->producer];
    return lin_arena_format(arena, "`%s` in %s", step->label, scope_words(arena, step->scope));
}

const char *lin_memory_step_label(lin_arena *arena, const lin_graph *graph, int32_t step)
{
    const lin_step *s = &graph->steps.items[step];
    return lin_arena_format(arena, "%s in %s", s->label, scope_words(arena, s->scope));
}

const char *lin_memory_step_words(lin_arena *arena, const lin_graph *graph, int32_t step)
{
    if (step < 0 || (uint32_t)step >= graph->steps.count)
        return "the start: the entry makes no step";
    const lin_step *s = &graph->steps.items[step];
    return lin_arena_format(arena, "step %d: %s in %s", (int)step, s->label,
                            scope_words(arena, s->scope));
}

const char *lin_memory_formula(lin_arena *arena, lin_text *scratch, const lin_expr_table *exprs,
                               lin_expr e)
{
    if (e == LIN_EXPR_INVALID)
        return NULL;
    lin_text_clear(scratch);
    lin_expr_print(scratch, exprs, e);
    if (scratch->failed)
        longjmp(*arena->on_failure, 1);
    if (scratch->length > MAX_FORMULA_CHARACTERS)
        return NULL;
    return lin_arena_text(arena, lin_text_data(scratch), scratch->length);
}
