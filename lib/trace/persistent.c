/* SPDX-License-Identifier: MIT */

/*
 * What exists before the entry runs: tracing.md 3, 6, language.md 15.3, 15.4. The hierarchy of
 * blocks is instantiated, and every param, buffer and state that is present becomes an object, in
 * manifest order: depth first, a member of an array's blocks for every element before the next
 * member. All elements of an array share one environment and one set of sizes.
 *
 * Present is what a bindings file or the caller names; paths bound to one checkpoint tensor share
 * the storage of the first of them in file order.
 */

#include "trace/trace_walk.h"

#include <string.h>

typedef struct hierarchy {
    walker *w;
    path_bindings *bound;                  /* NULL without a bindings file */
    stored_weights *stored;                /* NULL when all are stored as declared */
    bool *named;                           /* by --optional path: it names something */
    LIN_LIST(const char *) optional_paths; /* every optional path met, for suggestions */
    LIN_LIST(const lin_member *) caches;   /* states assigned from std.nn.cache */
    LIN_LIST(const lin_block *) judged;    /* blocks whose caches are listed */
} hierarchy;

/* ---- presence ---- */

/* `pattern` as a concrete path or as the manifest writes it, with [*] for the index of an array's
 * element. Returns what is left of the pattern after the path, NULL when they differ. */
static const char *match_path(const char *pattern, const char *path)
{
    while (*path != '\0') {
        if (strncmp(pattern, "[*]", 3) == 0) {
            size_t digits = *path == '.' ? strspn(path + 1, "0123456789") : 0;
            if (digits == 0)
                return NULL;
            pattern += 3;
            path += 1 + digits;
        } else if (*pattern++ != *path++) {
            return NULL;
        }
    }
    return pattern;
}

/* True when some --optional path is this path or, for a block, lies under it. */
static bool is_named(hierarchy *h, const char *path, bool is_block)
{
    const lin_trace_settings *settings = h->w->settings;
    bool found = false;
    for (uint32_t i = 0; i < settings->optional_count; i++) {
        const char *rest = match_path(settings->optional_paths[i], path);
        if (!rest)
            continue;
        h->named[i] = h->named[i] || *rest == '\0';
        found = found || *rest == '\0' || (is_block && (*rest == '.' || *rest == '['));
    }
    return found;
}

static bool is_present(hierarchy *h, const char *path, const char *pattern,
                       const lin_member *member)
{
    bool is_block = member->kind == LIN_MEMBER_SUB;
    bool named = h->w->settings->optional_count > 0 && is_named(h, path, is_block);
    if (!member->optional)
        return true;
    if (h->w->settings->optional_count > 0)
        LIN_PUSH(h->w->scratch, &h->optional_paths, path);
    return named || (is_block ? lin_walk_is_bound_under(h->bound, path, pattern)
                              : lin_walk_is_bound(h->bound, path, pattern));
}

static void check_named(hierarchy *h)
{
    const lin_trace_settings *settings = h->w->settings;
    for (uint32_t i = 0; i < settings->optional_count; i++) {
        const char *path = settings->optional_paths[i];
        if (h->named[i])
            continue;
        const char *nearest = lin_nearest(path, h->optional_paths.items, h->optional_paths.count);
        lin_walk_fail(h->w, LINNET_ERROR_NOT_FOUND,
                      nearest ? "no parameter or block `%s`; did you mean `%s`"
                              : "no parameter or block `%s`",
                      path, nearest);
    }
}

/* ---- caches ---- */

static bool is_cache_call(const lin_op *maker)
{
    return maker && maker->kind == LIN_OP_SEMANTIC_CALL &&
           strcmp(maker->as.call.callee->module->path, "std.nn.cache") == 0;
}

static void list_makers(const lin_region *region, const lin_op **makers)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        for (uint32_t k = 0; k < op->result_count; k++)
            makers[op->first_result + k] = op;
        for (uint32_t k = 0; k < lin_op_region_count(op); k++)
            list_makers(lin_op_region(op, k), makers);
    }
}

static void list_caches(hierarchy *h, const lin_region *region, const lin_op *const *makers)
{
    for (uint32_t i = 0; i < region->op_count; i++) {
        const lin_op *op = region->ops[i];
        if (op->kind == LIN_OP_STATE_WRITE && is_cache_call(makers[op->operands[0]]))
            LIN_PUSH(h->w->scratch, &h->caches, op->as.member);
        for (uint32_t k = 0; k < lin_op_region_count(op); k++)
            list_caches(h, lin_op_region(op, k), makers);
    }
}

/* A state is a cache when a method assigns it what an op of std.nn.cache returns. */
static void judge_states(hierarchy *h, const lin_block *block)
{
    for (uint32_t i = 0; i < h->judged.count; i++)
        if (h->judged.items[i] == block)
            return;
    LIN_PUSH(h->w->scratch, &h->judged, block);
    for (uint32_t i = 0; i < block->method_count; i++) {
        const lin_function *method = block->methods[i];
        const lin_op **makers = LIN_NEW_ARRAY(h->w->scratch, const lin_op *, method->value_count);
        list_makers(&method->body, makers);
        list_caches(h, &method->body, makers);
    }
}

static bool is_cache(hierarchy *h, const lin_block *block, const lin_member *member)
{
    judge_states(h, block);
    for (uint32_t i = 0; i < h->caches.count; i++)
        if (h->caches.items[i] == member)
            return true;
    return false;
}

/* ---- members ---- */

/* The blocks that one declaration makes: one block type, one environment. */
typedef struct siblings {
    const char *pattern; /* their path as the manifest writes it, "layers[*].mlp" */
    LIN_LIST(instance *) blocks;
} siblings;

static const char *join(walker *w, const char *path, const char *name)
{
    size_t head = strlen(path), tail = strlen(name);
    char *joined = lin_arena_alloc(w->arena, head + tail + 2);
    memcpy(joined, path, head);
    if (head > 0)
        joined[head++] = '.';
    memcpy(joined + head, name, tail);
    return joined;
}

static const lin_type *inner_type(const lin_type *type)
{
    return type->kind == LIN_TYPE_OPTIONAL ? type->parts[0] : type;
}

static lin_category category_of(hierarchy *h, const lin_block *block, const lin_member *member)
{
    if (member->kind == LIN_MEMBER_PARAM)
        return LIN_CATEGORY_PARAMETERS;
    if (member->kind == LIN_MEMBER_BUFFER)
        return LIN_CATEGORY_BUFFERS;
    return is_cache(h, block, member) ? LIN_CATEGORY_KV_CACHE : LIN_CATEGORY_STATE;
}

static void make_object(hierarchy *h, instance *block, const lin_member *member, lin_object object,
                        const char *path, const char *pattern)
{
    walker *w = h->w;
    if (w->graph->objects.count >= LIN_WALK_MAX_PERSISTENT)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED, "the model has more than %d parameters",
                      LIN_WALK_MAX_PERSISTENT);
    object.path = path;
    uint32_t id = lin_walk_object(w, object);
    block->members[member->index] = tvalue_tensor(id);
    block->declared[member->index] = id;
    lin_walk_note_bound(w, h->bound, path, pattern, id);
}

static void visit_tensor(hierarchy *h, const lin_member *member, const siblings *all)
{
    walker *w = h->w;
    const char *name = lin_walk_name(w, member->name);
    const char *pattern = join(w, all->pattern, name);
    instance *const *blocks = all->blocks.items;
    const tensor_info *info = NULL;
    lin_object object = { 0 };
    for (uint32_t i = 0; i < all->blocks.count; i++) {
        const char *path = join(w, blocks[i]->path, name);
        if (!is_present(h, path, pattern, member)) {
            blocks[i]->members[member->index] =
                (tvalue){ .kind = TVALUE_ABSENT, .object = LIN_NO_OBJECT };
            continue;
        }
        if (!info) {
            info = lin_walk_type_info(w, blocks[i]->env, inner_type(member->type), member->span);
            object = (lin_object){ .name = name,
                                   .category = category_of(h, blocks[i]->block, member),
                                   .dtype = info->dtype,
                                   .shape = info->shape,
                                   .rank = info->rank,
                                   .elements = info->elements,
                                   .bytes = info->bytes,
                                   .producer = LIN_NO_STEP,
                                   .owner = LIN_NO_OBJECT,
                                   .persistent = true };
            object.is_cache_axis_known =
                object.category == LIN_CATEGORY_KV_CACHE && object.rank == 4;
        }
        if (member->kind == LIN_MEMBER_PARAM) {
            object.bytes = lin_walk_stored_bytes(w, h->stored, path, pattern, info);
            object.storage = lin_walk_stored_format(h->stored, path, pattern);
        }
        make_object(h, blocks[i], member, object, path, pattern);
    }
}

/* ---- blocks ---- */

static instance *new_instance(walker *w, const char *path, const lin_block *block,
                              const lin_env *env, lin_span span)
{
    if (w->instances++ >= LIN_WALK_MAX_INSTANCES)
        lin_walk_fail_at(w, span, LINNET_ERROR_UNSUPPORTED, "the model has more than %d blocks",
                         LIN_WALK_MAX_INSTANCES);
    instance *fresh = LIN_NEW(w->scratch, instance);
    *fresh = (instance){ .path = path, .block = block, .env = env };
    fresh->members = LIN_NEW_ARRAY(w->scratch, tvalue, block->member_count);
    fresh->declared = LIN_NEW_ARRAY(w->scratch, uint32_t, block->member_count);
    return fresh;
}

/* What the members of one declaration have in common. */
typedef struct child {
    const lin_member *member;
    const lin_block *block;
    const lin_env *env;
    bool is_array;
    int64_t length;
} child;

static child describe_child(walker *w, const lin_member *member, const lin_env *env)
{
    const lin_type *type = inner_type(member->type);
    child c = { .member = member, .length = 1 };
    c.is_array = type->kind == LIN_TYPE_ARRAY;
    if (c.is_array) {
        c.length = lin_walk_number(w, env, type->dim, member->span, "the length of an array");
        type = type->parts[0];
    }
    if (type->kind != LIN_TYPE_BLOCK)
        lin_walk_fail_at(w, member->span, LINNET_ERROR_UNSUPPORTED, "an array of arrays");
    if (c.length < 0)
        lin_walk_fail_at(w, member->span, LINNET_ERROR_ARGUMENT,
                         "the length of an array is negative with these values: %lld",
                         (long long)c.length);
    c.block = type->block;
    lin_substitution args = { &type->block->generics, type->args };
    c.env = lin_env_enter(w->scratch, env, NULL, &args);
    return c;
}

static tvalue make_array(walker *w, const child *c, const char *path, siblings *all)
{
    instance **blocks = LIN_NEW_ARRAY(w->scratch, instance *, (uint64_t)c->length);
    for (int64_t i = 0; i < c->length; i++) {
        const char *element = lin_arena_format(w->arena, "%s.%lld", path, (long long)i);
        blocks[i] = new_instance(w, element, c->block, c->env, c->member->span);
        LIN_PUSH(w->scratch, &all->blocks, blocks[i]);
    }
    tvalue value = { .kind = TVALUE_ARRAY, .object = LIN_NO_OBJECT, .count = (uint32_t)c->length };
    value.as.blocks = blocks;
    return value;
}

static tvalue make_child(hierarchy *h, const child *c, const char *path, const char *pattern,
                         siblings *all)
{
    walker *w = h->w;
    if (!is_present(h, path, pattern, c->member))
        return (tvalue){ .kind = TVALUE_ABSENT, .object = LIN_NO_OBJECT };
    if (c->is_array)
        return make_array(w, c, path, all);
    tvalue value = { .kind = TVALUE_BLOCK, .object = LIN_NO_OBJECT };
    value.as.block = new_instance(w, path, c->block, c->env, c->member->span);
    LIN_PUSH(w->scratch, &all->blocks, value.as.block);
    return value;
}

static void visit_block(hierarchy *h, const lin_block *block, const siblings *all);

static void visit_sub(hierarchy *h, const lin_member *member, const siblings *parents)
{
    walker *w = h->w;
    const char *name = lin_walk_name(w, member->name);
    child c = describe_child(w, member, parents->blocks.items[0]->env);
    if (c.length > LIN_WALK_MAX_INSTANCES)
        lin_walk_fail_at(w, member->span, LINNET_ERROR_UNSUPPORTED,
                         "the model has more than %d blocks", LIN_WALK_MAX_INSTANCES);
    const char *pattern = join(w, parents->pattern, name);
    siblings all = { .pattern =
                         c.is_array ? lin_arena_format(w->scratch, "%s[*]", pattern) : pattern };
    for (uint32_t i = 0; i < parents->blocks.count; i++) {
        instance *parent = parents->blocks.items[i];
        const char *path = join(w, parent->path, name);
        parent->members[member->index] = make_child(h, &c, path, pattern, &all);
    }
    for (uint32_t i = 0; i < all.blocks.count && parents->pattern[0] == '\0'; i++)
        LIN_PUSH(w->arena, &w->graph->units, all.blocks.items[i]->path);
    visit_block(h, c.block, &all);
}

static void visit_block(hierarchy *h, const lin_block *block, const siblings *all)
{
    if (all->blocks.count == 0)
        return;
    if (h->w->depth >= LIN_WALK_MAX_DEPTH)
        lin_walk_fail(h->w, LINNET_ERROR_UNSUPPORTED, "blocks are nested more than %d deep",
                      LIN_WALK_MAX_DEPTH);
    h->w->depth++;
    for (uint32_t i = 0; i < block->member_count; i++)
        if (block->members[i].kind == LIN_MEMBER_SUB)
            visit_sub(h, &block->members[i], all);
        else
            visit_tensor(h, &block->members[i], all);
    h->w->depth--;
}

void lin_walk_persistent(walker *w)
{
    if (!w->root)
        return;
    hierarchy h = { .w = w,
                    .bound = lin_walk_read_bindings(w),
                    .stored = lin_walk_read_storage(w) };
    siblings root = { .pattern = "" };
    h.named = LIN_NEW_ARRAY(w->scratch, bool, w->settings->optional_count);
    w->root_instance = new_instance(w, "", w->root, w->root_env, w->root->span);
    LIN_PUSH(w->scratch, &root.blocks, w->root_instance);
    visit_block(&h, w->root, &root);
    check_named(&h);
    lin_walk_tie(w, h.bound);
    w->graph->parameter_objects = w->graph->objects.count;
}
