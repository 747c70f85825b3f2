/* SPDX-License-Identifier: MIT */

/*
 * Which batch, context and cache a request means (tracing.md 2), and whether the model's `where`
 * clauses hold there (13). A cache length that was not given follows the context.
 */

#include "memory/prepared.h"

static linnet_status resolve_role(const lin_memory *memory, lin_role role, int64_t request,
                                  int64_t *out, linnet_error *err)
{
    const char *name = lin_role_names[role];
    if (request < 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s must be at least 1", name);
    if (!memory->traced.graph->role_free[role]) {
        *out = -1;
        if (request == 0)
            return LINNET_OK;
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "%s is fixed in this configuration: give it before the model is traced",
                        name);
    }
    *out = request > 0 ? request : memory->traced.role_value[role];
    return LINNET_OK;
}

linnet_status lin_memory_resolve_sizes(lin_memory *memory, const int64_t request[LIN_ROLE_COUNT],
                                       int64_t out[LIN_ROLE_COUNT], linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    const bool asks_cache = request[LIN_ROLE_CACHE] != 0; /* `out` may be the request */
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++) {
        const linnet_status status = resolve_role(memory, role, request[role], &out[role], err);
        if (status != LINNET_OK)
            return status;
    }
    if (graph->role_free[LIN_ROLE_CACHE] && graph->role_free[LIN_ROLE_CONTEXT] &&
        !memory->is_cache_given && !asks_cache)
        out[LIN_ROLE_CACHE] = out[LIN_ROLE_CONTEXT];

    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++) {
        if (graph->role_free[role] && out[role] < 1)
            return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s must be at least 1",
                            lin_role_names[role]);
        memory->symbols[graph->role_symbols[role]] = out[role];
    }
    return LINNET_OK;
}

static bool compare(int comparison, int64_t left, int64_t right)
{
    switch (comparison) {
    case LIN_EQ:
        return left == right;
    case LIN_NE:
        return left != right;
    case LIN_LT:
        return left < right;
    case LIN_LE:
        return left <= right;
    case LIN_GT:
        return left > right;
    default:
        return left >= right;
    }
}

bool lin_memory_relation_holds(lin_memory *memory, uint32_t relation)
{
    int64_t sides[2];
    return lin_expr_run(memory->relation_programs[relation], memory->symbols,
                        memory->program_scratch, sides, NULL) &&
           compare(memory->traced.graph->relations.items[relation].comparison, sides[0], sides[1]);
}

const char *lin_memory_broken_clause(const lin_memory *memory)
{
    const lin_graph *graph = memory->traced.graph;
    for (uint32_t i = 0; i < graph->relations.count; i++) {
        const lin_relation *relation = &graph->relations.items[i];
        int64_t left, right;
        if (lin_expr_is_int(graph->exprs, relation->left, &left) &&
            lin_expr_is_int(graph->exprs, relation->right, &right) &&
            !compare(relation->comparison, left, right))
            return relation->text;
    }
    return NULL;
}

linnet_status lin_memory_holds(lin_memory *memory, const int64_t role_value[LIN_ROLE_COUNT],
                               bool *out, linnet_error *err)
{
    int64_t values[LIN_ROLE_COUNT];
    const linnet_status status = lin_memory_resolve_sizes(memory, role_value, values, err);
    if (status != LINNET_OK)
        return status;
    bool holds = true;
    for (uint32_t i = 0; i < memory->traced.graph->relations.count && holds; i++)
        holds = lin_memory_relation_holds(memory, i);
    *out = holds;
    return LINNET_OK;
}
