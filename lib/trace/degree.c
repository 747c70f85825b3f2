/* SPDX-License-Identifier: MIT */

/*
 * Whether a model can be split over so many processes. A model with a generic `Shards` says so
 * itself: a `where` clause of its root that holds for one process and breaks for so many is a
 * degree that does not divide. Otherwise the heads must divide. Either way the message has the
 * numbers and the degrees that work.
 */

#include "trace/trace_walk.h"

#include <string.h>

enum { LARGEST_TRIED = 1024, MOST_SHOWN = 16 };

static bool has_generic(const walker *w, const char *name)
{
    for (uint32_t i = 0; i < w->root->generics.count; i++)
        if (strcmp(lin_walk_name(w, w->root->generics.items[i].name), name) == 0)
            return true;
    return false;
}

static int64_t bound_value(const walker *w, const char *name)
{
    for (uint32_t i = 0; i < w->traced.bound_count; i++)
        if (!w->traced.bound[i].is_dtype && strcmp(w->traced.bound[i].name, name) == 0)
            return w->traced.bound[i].integer;
    return 0;
}

/* ---- clauses ---- */

static bool compare(lin_comparison comparison, int64_t left, int64_t right)
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

/* One that has other symbols than numbers is not judged. A side without a value divides by 0. */
static bool is_broken(walker *w, const lin_env *env, const lin_constraint *clause)
{
    const lin_expr left = lin_env_dim(env, clause->left), right = lin_env_dim(env, clause->right);
    int64_t a, b;
    if (left == LIN_EXPR_INVALID || right == LIN_EXPR_INVALID)
        return true;
    return lin_expr_is_int(w->exprs, left, &a) && lin_expr_is_int(w->exprs, right, &b) &&
           !compare(clause->comparison, a, b);
}

static bool works(walker *w, const lin_env *alone, int64_t degree)
{
    const lin_env *env = lin_walk_root_env(w, degree);
    for (uint32_t i = 0; i < w->root->constraints.count; i++) {
        const lin_constraint *clause = &w->root->constraints.items[i];
        if (is_broken(w, env, clause) && !is_broken(w, alone, clause))
            return false;
    }
    return true;
}

/* "`Heads` is 14 and `KvHeads` 2": the generics that a clause mentions. */
static const char *values_words(walker *w, const lin_constraint *clause)
{
    const char *words = "";
    for (uint32_t i = 0; i < w->root->generics.count; i++) {
        const lin_generic *generic = &w->root->generics.items[i];
        const char *name = lin_walk_name(w, generic->name);
        if (generic->kind != LIN_GENERIC_DIM || strcmp(name, "Shards") == 0 ||
            strcmp(name, "SequenceShards") == 0 ||
            (!lin_expr_mentions(w->program->dims, clause->left, generic->symbol) &&
             !lin_expr_mentions(w->program->dims, clause->right, generic->symbol)))
            continue;
        words = lin_arena_format(w->scratch, "%s%s`%s` is %lld", words, words[0] ? " and " : "",
                                 name, (long long)bound_value(w, name));
    }
    return words;
}

static const char *listed(walker *w, const char *list, int64_t degree)
{
    return lin_arena_format(w->scratch, "%s%s%lld", list, list[0] ? ", " : "", (long long)degree);
}

static const char *working_degrees(walker *w, const lin_env *alone)
{
    const char *list = "";
    uint32_t count = 0;
    for (int64_t degree = 1; degree <= LARGEST_TRIED && count < MOST_SHOWN; degree++)
        if (works(w, alone, degree)) {
            list = listed(w, list, degree);
            count++;
        }
    return list;
}

static void check_clauses(walker *w)
{
    const lin_env *alone = NULL;
    for (uint32_t i = 0; i < w->root->constraints.count; i++) {
        const lin_constraint *clause = &w->root->constraints.items[i];
        if (!is_broken(w, w->root_env, clause))
            continue;
        if (alone == NULL)
            alone = lin_walk_root_env(w, 1);
        if (is_broken(w, alone, clause))
            continue;
        const char *text = lin_walk_dim_text(w, w->program->dims, clause->left);
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "a tensor-parallel degree of %lld breaks the model's `where` clause about "
                      "`%s`: %s; degrees that work are %s",
                      (long long)w->settings->processes, text, values_words(w, clause),
                      working_degrees(w, alone));
    }
}

/* ---- without `Shards` ---- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void check_heads(walker *w)
{
    const int64_t heads = bound_value(w, "Heads"), kv_heads = bound_value(w, "KvHeads");
    const int64_t common = common_divisor(heads, kv_heads), processes = w->settings->processes;
    const char *list = "";
    if (common == 0 || common % processes == 0)
        return;
    for (int64_t degree = 1, shown = 0; degree <= common && shown < MOST_SHOWN; degree++)
        if (common % degree == 0) {
            list = listed(w, list, degree);
            shown++;
        }
    const bool is_kv = heads % processes == 0;
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                  "a tensor-parallel degree of %lld does not divide `%s`, which is %lld; degrees "
                  "that work are %s",
                  (long long)processes, is_kv ? "KvHeads" : "Heads",
                  (long long)(is_kv ? kv_heads : heads), list);
}

void lin_walk_check_degree(walker *w)
{
    const lin_trace_settings *settings = w->settings;
    if (settings->processes <= 1)
        return;
    if (!w->root)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "tensor parallelism of an entry without a root block is not modelled");
    w->traced.has_shards = has_generic(w, "Shards");
    if (settings->sequence_parallel && !has_generic(w, "SequenceShards"))
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "sequence parallelism is not modelled for this model: its root has no "
                      "generic `SequenceShards`");
    if (w->traced.has_shards) {
        check_clauses(w);
        return;
    }
    if (settings->training)
        lin_walk_fail(w, LINNET_ERROR_UNSUPPORTED,
                      "training under a DTensor split is not modelled: the model's root has no "
                      "generic `Shards`");
    check_heads(w);
}

/* ---- entries of one shard ---- */

static bool is_for_one_shard(walker *w)
{
    const lin_expr_table *dims = w->program->dims;
    for (uint32_t i = 0; i < w->entry->constraints.count; i++) {
        const lin_constraint *clause = &w->entry->constraints.items[i];
        if (clause->comparison == LIN_EQ &&
            strcmp(lin_walk_dim_text(w, dims, clause->left), "Shards") == 0 &&
            strcmp(lin_walk_dim_text(w, dims, clause->right), "1") == 0)
            return true;
    }
    return false;
}

/* Such an entry as `loss_packed` may have a `loss_packed_split` beside it. */
void lin_walk_find_split_entry(walker *w)
{
    if (!w->root || !w->entry || !is_for_one_shard(w))
        return;
    const char *wanted = lin_arena_format(w->scratch, "%s_split", lin_walk_name(w, w->entry->name));
    for (uint32_t i = 0; i < w->root->method_count; i++) {
        const lin_function *method = w->root->methods[i];
        const char *name = lin_walk_name(w, method->name);
        if (method->kind == LIN_FUNCTION_ENTRY && strcmp(name, wanted) == 0)
            w->graph->split_entry = name;
    }
}
