/* SPDX-License-Identifier: MIT */
/*
 * Who calls whom, read off the lowered functions: recursion (E2119), which functions write state,
 * and which members and imports nobody uses. One walk over all operations, one depth-first search
 * with a stack of its own.
 */

#include "lang/check.h"

#include <string.h>

typedef struct call_edge {
    const lin_function *callee;
    lin_span span;
} call_edge;

typedef struct node {
    LIN_LIST(call_edge) calls;
    uint32_t next_call; /* of the search */
    enum { UNSEEN, OPEN, CLOSED } mark;
} node;

typedef struct call_graph {
    checker *c;
    node *nodes;     /* by function index */
    uint32_t *order; /* callees before callers */
    uint32_t ordered;
} call_graph;

/* ---- operations ---- */

/* Calls `visit` for every operation of a region and of those inside it. */
typedef void (*op_visitor)(void *user, const lin_op *op);

static void walk(const lin_region *region, op_visitor visit, void *user);

static void walk_inner(const lin_op *op, op_visitor visit, void *user)
{
    switch (op->kind) {
    case LIN_OP_COMPREHENSION:
    case LIN_OP_REDUCE:
        walk(&op->as.indexed.region, visit, user);
        break;
    case LIN_OP_OPTION_MATCH:
    case LIN_OP_ENUM_MATCH:
        for (uint32_t i = 0; i < op->as.match.count; i++)
            walk(&op->as.match.arms[i].region, visit, user);
        break;
    case LIN_OP_IF:
        walk(&op->as.branch.then_region, visit, user);
        walk(&op->as.branch.else_region, visit, user);
        break;
    case LIN_OP_STATIC_FOR:
    case LIN_OP_STATIC_RANGE:
    case LIN_OP_WHILE:
    case LIN_OP_FOR:
        walk(&op->as.loop.condition, visit, user);
        walk(&op->as.loop.body, visit, user);
        break;
    default:
        break;
    }
}

static void walk(const lin_region *region, op_visitor visit, void *user)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        visit(user, region->ops[i]);
        walk_inner(region->ops[i], visit, user);
    }
}

/* ---- calls ---- */

typedef struct collector {
    checker *c;
    node *node;
    lin_function *function;
} collector;

static void collect_call(void *user, const lin_op *op)
{
    collector *into = user;
    if (op->kind == LIN_OP_STATE_WRITE)
        into->function->writes_state = true;
    if ((op->kind != LIN_OP_CALL && op->kind != LIN_OP_SEMANTIC_CALL) || op->as.call.callee == NULL)
        return;
    const call_edge edge = { .callee = op->as.call.callee, .span = op->span };
    LIN_PUSH(into->c->scratch, &into->node->calls, edge);
}

static void collect_calls(call_graph *graph)
{
    checker *c = graph->c;
    for (uint32_t i = 0; i < c->functions.count; i++) {
        collector into = { c, &graph->nodes[i], c->functions.items[i]->function };
        walk(&into.function->body, collect_call, &into);
    }
}

static void report_recursion(checker *c, const call_edge *edge)
{
    lin_diagnostic *d =
        lin_report(c, edge->span, "E2119", "`%s` is called while it runs: recursion",
                   lin_text_of(c, edge->callee->name));
    lin_note(c, d, "a function may not call itself, directly or through others");
}

static void search(call_graph *graph, uint32_t first, uint32_t *stack)
{
    uint32_t depth = 1;
    stack[0] = first;
    graph->nodes[first].mark = OPEN;
    while (depth > 0) {
        node *top = &graph->nodes[stack[depth - 1]];
        if (top->next_call == top->calls.count) {
            top->mark = CLOSED;
            graph->order[graph->ordered++] = stack[--depth];
            continue;
        }
        const call_edge *edge = &top->calls.items[top->next_call++];
        node *callee = &graph->nodes[edge->callee->index];
        if (callee->mark == OPEN)
            report_recursion(graph->c, edge);
        if (callee->mark != UNSEEN)
            continue;
        callee->mark = OPEN;
        stack[depth++] = edge->callee->index;
    }
}

/* Without recursion one pass in that order is the fixed point. */
static void spread_writes(const call_graph *graph)
{
    for (uint32_t i = 0; i < graph->ordered; i++) {
        const node *n = &graph->nodes[graph->order[i]];
        lin_function *f = graph->c->functions.items[graph->order[i]]->function;
        for (uint32_t k = 0; k < n->calls.count; k++)
            f->writes_state = f->writes_state || n->calls.items[k].callee->writes_state;
    }
}

void lin_check_calls(checker *c)
{
    const uint32_t count = c->functions.count;
    call_graph graph = { .c = c,
                         .nodes = LIN_NEW_ARRAY(c->scratch, node, count),
                         .order = LIN_NEW_ARRAY(c->scratch, uint32_t, count) };
    uint32_t *stack = LIN_NEW_ARRAY(c->scratch, uint32_t, count);
    collect_calls(&graph);
    for (uint32_t i = 0; i < count; i++)
        if (graph.nodes[i].mark == UNSEEN)
            search(&graph, i, stack);
    spread_writes(&graph);
}

/* ---- what nobody uses ---- */

/* Members that some operation touches: open addressing over their addresses, sized for all members
 * there are. The order of warnings does not depend on it. */
typedef struct member_set {
    const lin_member **slots;
    uint32_t slot_count;
} member_set;

static const lin_member **member_slot(const member_set *set, const lin_member *member)
{
    uint64_t hash = (uint64_t)(uintptr_t)member * 0x9E3779B97F4A7C15u;
    uint32_t slot = (uint32_t)(hash >> 32) & (set->slot_count - 1);
    while (set->slots[slot] != NULL && set->slots[slot] != member)
        slot = (slot + 1) & (set->slot_count - 1);
    return &set->slots[slot];
}

static void mark_member(void *user, const lin_op *op)
{
    const member_set *set = user;
    switch (op->kind) {
    case LIN_OP_BLOCK_PARAM:
    case LIN_OP_BLOCK_SUB:
    case LIN_OP_STATE_READ:
    case LIN_OP_STATE_WRITE:
        if (op->as.member != NULL)
            *member_slot(set, op->as.member) = op->as.member;
        break;
    default:
        break;
    }
}

static member_set used_members(checker *c)
{
    uint64_t members = 0;
    for (uint32_t i = 0; i < c->decls.count; i++)
        members +=
            c->decls.items[i]->kind == LIN_DECL_BLOCK ? c->decls.items[i]->block->member_count : 0;
    member_set set = { .slot_count = 16 };
    while (set.slot_count <= 2 * members)
        set.slot_count *= 2;
    set.slots = LIN_NEW_ARRAY(c->scratch, const lin_member *, set.slot_count);
    for (uint32_t i = 0; i < c->functions.count; i++)
        walk(&c->functions.items[i]->function->body, mark_member, &set);
    return set;
}

/* `_name` is exempt. */
static bool may_be_unused(const checker *c, lin_name name)
{
    return name == 0 || lin_text_of(c, name)[0] == '_';
}

/* The file and its own package: nobody can change a warning in a library he imports. */
bool lin_is_own_module(const checker *c, const lin_module *module)
{
    return strcmp(module->package, c->program->modules[0]->package) == 0 &&
           (module->index == 0 || strncmp(module->path, "std.", 4) != 0);
}

static void report_unused_members(checker *c)
{
    const member_set used = used_members(c);
    for (uint32_t i = 0; i < c->decls.count; i++) {
        const decl *d = c->decls.items[i];
        if (d->kind != LIN_DECL_BLOCK || !lin_is_own_module(c, d->home->module))
            continue;
        for (uint32_t k = 0; k < d->block->member_count; k++) {
            const lin_member *member = &d->block->members[k];
            if (*member_slot(&used, member) == NULL && !may_be_unused(c, member->name))
                lin_report(c, member->span, "W1003", "member `%s` is never used",
                           lin_text_of(c, member->name));
        }
    }
}

static void report_unused_imports(checker *c, const module_scope *m)
{
    for (uint32_t i = 0; i < m->names.count; i++) {
        const binding *b = &m->names.items[i];
        if (b->is_import && !b->used && !may_be_unused(c, b->name))
            lin_report(c, b->span, "W1001", "import `%s` is never used", lin_text_of(c, b->name));
    }
}

void lin_report_unused(checker *c)
{
    report_unused_members(c);
    for (uint32_t i = 0; i < c->modules.count; i++)
        if (lin_is_own_module(c, c->modules.items[i]->module))
            report_unused_imports(c, c->modules.items[i]);
}
