/* SPDX-License-Identifier: MIT */

/*
 * Which implementation each op gets: every op that the file's functions call, or that a followed
 * body calls in turn. Ops with a native implementation hide what their body calls. One visit a
 * function; the result is sorted by qualified name.
 */

#include "trace/trace.h"

#include <setjmp.h>
#include <string.h>

typedef struct function_list {
    LIN_LIST(const lin_function *) items;
} function_list;

typedef struct explainer {
    lin_arena *arena, *scratch;
    const lin_program *program;
    lin_numerics numerics;
    bool *seen; /* by function index */
    function_list pending;
    LIN_LIST(lin_op_choice) choices;
    jmp_buf stop;
} explainer;

static uint32_t function_count(const lin_program *program)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < program->module_count; m++) {
        const lin_module *module = program->modules[m];
        for (uint32_t i = 0; i < module->function_count; i++)
            if (module->functions[i]->index >= count)
                count = module->functions[i]->index + 1;
        for (uint32_t b = 0; b < module->block_count; b++)
            for (uint32_t i = 0; i < module->blocks[b]->method_count; i++)
                if (module->blocks[b]->methods[i]->index >= count)
                    count = module->blocks[b]->methods[i]->index + 1;
    }
    return count;
}

static void follow(explainer *e, const lin_function *function)
{
    if (e->seen[function->index])
        return;
    e->seen[function->index] = true;
    LIN_PUSH(e->scratch, &e->pending.items, function);
}

static void meet_op(explainer *e, const lin_function *op)
{
    if (e->seen[op->index])
        return;
    lin_choice choice = lin_backend_choose(op->qualified, e->numerics);
    lin_op_choice row = { op->qualified, choice.spelling };
    LIN_PUSH(e->arena, &e->choices, row);
    if (choice.spelling)
        e->seen[op->index] = true;
    else
        follow(e, op);
}

static void visit_region(explainer *e, const lin_region *region)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        if (op->kind == LIN_OP_SEMANTIC_CALL)
            meet_op(e, op->as.call.callee);
        else if (op->kind == LIN_OP_CALL)
            follow(e, op->as.call.callee);
        for (uint32_t k = 0; k < lin_op_region_count(op); k++)
            visit_region(e, lin_op_region(op, k));
    }
}

/* Bottom-up merging: no recursion, stable. */
static void sort_choices(explainer *e)
{
    uint32_t count = e->choices.count;
    lin_op_choice *from = e->choices.items;
    lin_op_choice *to = LIN_NEW_ARRAY(e->arena, lin_op_choice, count);
    for (uint32_t width = 1; width < count; width *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t middle = start + width < count ? start + width : count;
            uint32_t end = middle + width < count ? middle + width : count;
            uint32_t a = start, b = middle;
            for (uint32_t i = start; i < end; i++)
                to[i] = b >= end || (a < middle && strcmp(from[a].op, from[b].op) <= 0) ? from[a++]
                                                                                        : from[b++];
        }
        lin_op_choice *swap = from;
        from = to;
        to = swap;
    }
    e->choices.items = from;
}

static void explain(explainer *e)
{
    const lin_module *file = e->program->modules[0];
    e->seen = LIN_NEW_ARRAY(e->scratch, bool, function_count(e->program));
    for (uint32_t i = 0; i < file->function_count; i++)
        follow(e, file->functions[i]);
    for (uint32_t b = 0; b < file->block_count; b++)
        for (uint32_t i = 0; i < file->blocks[b]->method_count; i++)
            follow(e, file->blocks[b]->methods[i]);
    for (uint32_t i = 0; i < e->pending.items.count; i++)
        visit_region(e, &e->pending.items.items[i]->body);
    sort_choices(e);
}

static linnet_status run(explainer *e, linnet_error *err)
{
    if (setjmp(e->stop) != 0)
        return lin_fail_memory(err);
    e->scratch->on_failure = &e->stop;
    e->arena->on_failure = &e->stop;
    explain(e);
    return LINNET_OK;
}

linnet_status lin_trace_explain(const lin_source *source, lin_numerics numerics, lin_arena *arena,
                                const lin_op_choice **out, uint32_t *out_count, linnet_error *err)
{
    lin_arena scratch;
    lin_arena_init(&scratch, &arena->allocator);
    jmp_buf *before = arena->on_failure;
    explainer e = {
        .arena = arena, .scratch = &scratch, .program = source->program, .numerics = numerics
    };
    linnet_status status = run(&e, err);
    arena->on_failure = before;
    lin_arena_free(&scratch);
    if (status != LINNET_OK)
        return status;
    *out = e.choices.items;
    *out_count = e.choices.count;
    return LINNET_OK;
}
