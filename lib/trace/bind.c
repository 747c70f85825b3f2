/* SPDX-License-Identifier: MIT */

/*
 * What generics stand for: language.md 15.2, tracing.md 2. Each generic of the root, then of the
 * entry, takes the strongest of: a free role's symbol (or the group's size for `Shards`), --bind,
 * the card, its declared default. All generics that get nothing are named together.
 */

#include "trace/trace_walk.h"

#include <string.h>

static const struct role_name {
    const char *name;
    lin_role role;
} role_names[] = {
    { "B", LIN_ROLE_BATCH },      { "Batch", LIN_ROLE_BATCH }, { "S", LIN_ROLE_CONTEXT },
    { "P", LIN_ROLE_CONTEXT },    { "Seq", LIN_ROLE_CONTEXT }, { "SeqLen", LIN_ROLE_CONTEXT },
    { "MaxSeq", LIN_ROLE_CACHE },
};

/* The role that sizes generics of that name, or -1. */
static lin_role role_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(role_names); i++)
        if (strcmp(role_names[i].name, name) == 0)
            return role_names[i].role;
    return -1;
}

/* The generics of one declaration while they are bound. */
typedef struct binder {
    const lin_generics *generics;
    const lin_env *outer;
    bool is_root; /* the card and --dtype are about the root */
    lin_bound *bounds;
    uint32_t count;
} binder;

typedef struct word_list {
    LIN_LIST(const char *) words;
} word_list;

/* ---- roles ---- */

static void check_role(walker *w, lin_role role)
{
    if (w->settings->role_given[role] && w->settings->role_value[role] < 1)
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "%s must be at least 1", lin_role_names[role]);
}

/* Each process of a context-parallel group has a run of the positions. */
static void check_runs(walker *w)
{
    const int64_t runs = w->settings->context_processes;
    const int64_t context = w->traced.role_value[LIN_ROLE_CONTEXT];
    if (runs <= 1)
        return;
    if (!w->graph->role_free[LIN_ROLE_CONTEXT])
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "context parallelism splits the sequence: its length has to be given");
    if (!w->settings->role_given[LIN_ROLE_CONTEXT] || context % runs == 0)
        return;
    const int64_t below = context - context % runs;
    int64_t above;
    if (!lin_add_i64(below, runs, &above))
        lin_walk_fail(
            w, LINNET_ERROR_ARGUMENT,
            "%lld positions cannot be split over %lld processes: the nearest that can are "
            "%lld",
            (long long)context, (long long)runs, (long long)below);
    if (context < runs)
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "%lld positions cannot be split over %lld processes: %lld could",
                      (long long)context, (long long)runs, (long long)above);
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                  "%lld positions cannot be split over %lld processes: the nearest that can are "
                  "%lld and %lld",
                  (long long)context, (long long)runs, (long long)below, (long long)above);
}

static void free_roles(walker *w)
{
    const lin_trace_settings *settings = w->settings;
    for (int role = 0; role < LIN_ROLE_COUNT; role++) {
        check_role(w, role);
        bool is_free = settings->role_given[role] || settings->role_vary[role];
        w->graph->role_free[role] = is_free;
        w->traced.role_value[role] = !is_free                     ? -1
                                     : settings->role_given[role] ? settings->role_value[role]
                                                                  : 1;
    }
    check_runs(w);
    /* The cache follows the context unless it has a size of its own. */
    if (w->graph->role_free[LIN_ROLE_CONTEXT] && !settings->role_given[LIN_ROLE_CACHE]) {
        w->graph->role_free[LIN_ROLE_CACHE] = true;
        w->traced.role_value[LIN_ROLE_CACHE] = w->traced.role_value[LIN_ROLE_CONTEXT];
    }
}

/* ---- one generic ---- */

static const lin_setting *find_setting(const lin_setting *settings, uint32_t count,
                                       const char *name)
{
    for (uint32_t i = count; i-- > 0;)
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    return NULL;
}

static bool class_allows(lin_dtype_bound bound, lin_dtype dtype)
{
    lin_dtype_class class = lin_dtype_class_of(dtype);
    switch (bound) {
    case LIN_BOUND_NUMERIC:
        return class != LIN_CLASS_BOOL;
    case LIN_BOUND_INTEGER:
        return class == LIN_CLASS_INTEGER;
    case LIN_BOUND_FLOAT:
        return class == LIN_CLASS_FLOAT;
    default:
        return true;
    }
}

static void take_dtype(walker *w, const lin_generic *generic, lin_dtype dtype, lin_bound *out)
{
    static const char *const classes[] = { "a dtype", "a numeric dtype", "an integer dtype",
                                           "a float dtype" };
    if (!class_allows(generic->bound, dtype))
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "generic `%s` takes %s, not %s",
                      lin_walk_name(w, generic->name), classes[generic->bound],
                      lin_dtype_name(dtype));
    out->dtype = dtype;
}

static void take_setting(walker *w, const lin_generic *generic, const lin_setting *setting,
                         lin_bound *out)
{
    const char *name = lin_walk_name(w, generic->name);
    if (generic->kind == LIN_GENERIC_DTYPE) {
        if (!setting->is_dtype)
            lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "generic `%s` takes a dtype, not a number",
                          name);
        take_dtype(w, generic, setting->dtype, out);
        return;
    }
    if (setting->is_dtype)
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "generic `%s` takes a number, not the dtype %s",
                      name, lin_dtype_name(setting->dtype));
    /* A count may be 0 (no expert, no shared layer); a size of the job may not. */
    const int64_t least = role_of(name) >= 0;
    if (setting->integer < least)
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "generic `%s` must be at least %lld, not %lld",
                      name, (long long)least, (long long)setting->integer);
    out->dim = lin_expr_int(w->exprs, setting->integer);
}

static void take_default(walker *w, const binder *b, const lin_generic *generic, lin_bound *out)
{
    const lin_env *env =
        lin_env_new(w->scratch, w->program, w->exprs, b->outer, b->bounds, b->count);
    if (generic->kind == LIN_GENERIC_DTYPE)
        out->dtype = lin_env_dtype(env, generic->default_arg.dtype);
    else
        out->dim = lin_env_dim(env, generic->default_arg.dim);
}

static bool takes_dtype_flag(const walker *w, const binder *b, const lin_generic *generic)
{
    return w->settings->has_dtype && generic->kind == LIN_GENERIC_DTYPE &&
           (b->is_root || !w->root) &&
           (generic->bound == LIN_BOUND_FLOAT || generic->bound == LIN_BOUND_DTYPE);
}

static const char *const role_flags[LIN_ROLE_COUNT] = { "--batch", "--seq-len", "--cache-len" };

/* A role goes before --bind; saying two different things about one generic is a mistake. */
static void check_role_bind(walker *w, const char *name, lin_role role)
{
    const lin_trace_settings *settings = w->settings;
    const lin_setting *setting = find_setting(settings->binds, settings->bind_count, name);
    const int64_t value = w->traced.role_value[role];
    if (setting != NULL && settings->role_vary[role])
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "`%s` is the %s, which is searched for: it cannot be bound", name,
                      lin_role_names[role]);
    if (setting == NULL || (!setting->is_dtype && setting->integer == value))
        return;
    if (settings->role_given[role])
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "`%s` is the %s, which is %lld: it cannot be bound to another value", name,
                      lin_role_names[role], (long long)value);
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                  "`%s` is the %s, which follows the context (%lld): give it with %s", name,
                  lin_role_names[role], (long long)value, role_flags[role]);
}

static void check_shards_bind(walker *w, const char *name)
{
    const lin_trace_settings *settings = w->settings;
    const lin_setting *setting = find_setting(settings->binds, settings->bind_count, name);
    if (setting != NULL && (setting->is_dtype || setting->integer != settings->processes))
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      "`%s` is the tensor-parallel degree, which is %lld: it cannot be bound to "
                      "another value",
                      name, (long long)settings->processes);
}

/* A window that hides nothing: larger than any cache, and far from overflow when it is added to. */
static const int64_t FULL_WINDOW = INT64_C(1) << 40;

/* A dimension that a role, the size of the group or a full window decides. */
static bool take_role(walker *w, const binder *b, const lin_generic *generic, lin_bound *out)
{
    const char *name = lin_walk_name(w, generic->name);
    if (generic->kind != LIN_GENERIC_DIM)
        return false;
    const bool is_shards = strcmp(name, "Shards") == 0;
    if (b->is_root && w->settings->processes > 1 &&
        (is_shards || (w->settings->sequence_parallel && strcmp(name, "SequenceShards") == 0))) {
        check_shards_bind(w, name);
        out->dim = lin_expr_int(w->exprs, w->shards);
        return true;
    }
    if (b->is_root && w->settings->full_window && strcmp(name, "Window") == 0) {
        out->dim = lin_expr_int(w->exprs, FULL_WINDOW);
        return true;
    }
    lin_role role = role_of(name);
    if (role < 0 || !w->graph->role_free[role])
        return false;
    check_role_bind(w, name, role);
    w->graph->role_used[role] = true;
    out->dim = lin_expr_of_symbol(w->exprs, w->graph->role_symbols[role]);
    if (role == LIN_ROLE_CONTEXT && w->settings->context_processes > 1)
        out->dim = lin_expr_floordiv(w->exprs, out->dim,
                                     lin_expr_int(w->exprs, w->settings->context_processes));
    return true;
}

/* False when nothing gives the generic a value. */
static bool bind_generic(walker *w, const binder *b, const lin_generic *generic, lin_bound *out)
{
    const char *name = lin_walk_name(w, generic->name);
    const lin_trace_settings *settings = w->settings;
    *out = (lin_bound){ .symbol = generic->symbol, .kind = generic->kind };
    if (take_role(w, b, generic, out))
        return true;
    const lin_setting *setting = find_setting(settings->binds, settings->bind_count, name);
    if (setting) {
        take_setting(w, generic, setting, out);
        return true;
    }
    if (takes_dtype_flag(w, b, generic)) {
        take_dtype(w, generic, settings->dtype, out);
        return true;
    }
    setting = b->is_root ? find_setting(w->source->settings, w->source->setting_count, name) : NULL;
    if (setting) {
        take_setting(w, generic, setting, out);
        return true;
    }
    if (generic->has_default) {
        take_default(w, b, generic, out);
        return true;
    }
    if (!w->open_roles_are_one || generic->kind != LIN_GENERIC_DIM || role_of(name) < 0)
        return false;
    out->dim = w->one;
    return true;
}

static const lin_env *bind_generics(walker *w, binder *b, word_list *missing)
{
    b->bounds = LIN_NEW_ARRAY(w->scratch, lin_bound, b->generics->count);
    for (uint32_t i = 0; i < b->generics->count; i++) {
        const lin_generic *generic = &b->generics->items[i];
        if (generic->kind == LIN_GENERIC_SHAPE)
            lin_walk_fail_at(w, generic->span, LINNET_ERROR_UNSUPPORTED,
                             "the shape generic `%s` of %s", lin_walk_name(w, generic->name),
                             b->is_root ? "the root block" : "the entry");
        if (bind_generic(w, b, generic, &b->bounds[b->count]))
            b->count++;
        else
            LIN_PUSH(w->scratch, &missing->words, lin_walk_name(w, generic->name));
    }
    return lin_env_new(w->scratch, w->program, w->exprs, b->outer, b->bounds, b->count);
}

/* ---- what was given and nothing takes ---- */

static void list_names(walker *w, const lin_generics *generics, word_list *out)
{
    for (uint32_t i = 0; i < generics->count; i++)
        LIN_PUSH(w->scratch, &out->words, lin_walk_name(w, generics->items[i].name));
}

static bool has_word(const word_list *list, const char *word)
{
    for (uint32_t i = 0; i < list->words.count; i++)
        if (strcmp(list->words.items[i], word) == 0)
            return true;
    return false;
}

static void check_binds(walker *w)
{
    word_list names = { 0 };
    if (w->root)
        list_names(w, &w->root->generics, &names);
    if (w->entry)
        list_names(w, &w->entry->generics, &names);
    for (uint32_t i = 0; i < w->settings->bind_count; i++) {
        const char *name = w->settings->binds[i].name;
        if (has_word(&names, name))
            continue;
        const char *nearest = lin_nearest(name, names.words.items, names.words.count);
        lin_walk_fail(w, LINNET_ERROR_ARGUMENT,
                      nearest ? "neither the root nor the entry has a generic `%s`; did you mean "
                                "`%s`"
                              : "neither the root nor the entry has a generic `%s`",
                      name, nearest);
    }
}

static void check_dtype_flag(walker *w)
{
    const lin_generics *generics = w->root ? &w->root->generics : &w->entry->generics;
    if (!w->settings->has_dtype)
        return;
    for (uint32_t i = 0; i < generics->count; i++)
        if (generics->items[i].kind == LIN_GENERIC_DTYPE &&
            (generics->items[i].bound == LIN_BOUND_FLOAT ||
             generics->items[i].bound == LIN_BOUND_DTYPE))
            return;
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "no dtype generic takes %s: the model fixes its dtypes",
                  lin_dtype_name(w->settings->dtype));
}

static void check_missing(walker *w, const word_list *missing)
{
    if (missing->words.count == 0)
        return;
    bool binds = false;
    lin_text_clear(&w->text);
    for (uint32_t i = 0; i < missing->words.count; i++) {
        const lin_role role = role_of(missing->words.items[i]);
        binds |= role < 0;
        lin_text_addf(&w->text, "%s`%s`", i == 0 ? "" : ", ", missing->words.items[i]);
        if (role >= 0)
            lin_text_addf(&w->text, " (the %s, %s)", lin_role_names[role], role_flags[role]);
    }
    lin_walk_fail(w, LINNET_ERROR_ARGUMENT, "%s without a value: %s%s",
                  missing->words.count == 1 ? "a generic is" : "generics are",
                  lin_text_data(&w->text), binds ? "; --bind GENERIC=VALUE gives any" : "");
}

/* ---- what the report says ---- */

static void note_bound(walker *w, const binder *b)
{
    lin_setting *settings = LIN_NEW_ARRAY(w->arena, lin_setting, b->count);
    uint32_t count = 0;
    w->traced.dtype = "";
    for (uint32_t i = 0; i < b->count; i++) {
        const lin_generic *generic = &b->generics->items[i];
        const lin_bound *bound = &b->bounds[i];
        lin_setting setting = { .name = lin_walk_name(w, generic->name),
                                .is_dtype = bound->kind == LIN_GENERIC_DTYPE };
        if (setting.is_dtype) {
            setting.dtype = (lin_dtype)bound->dtype;
            bool is_float = lin_dtype_class_of(setting.dtype) == LIN_CLASS_FLOAT;
            if (is_float && *w->traced.dtype == '\0')
                w->traced.dtype = lin_dtype_name(setting.dtype);
        } else if (!lin_expr_is_int(w->exprs, bound->dim, &setting.integer)) {
            continue;
        }
        settings[count++] = setting;
    }
    w->traced.bound = settings;
    w->traced.bound_count = count;
}

void lin_walk_bind(walker *w)
{
    word_list missing = { 0 };
    w->traced.dtype = "";
    w->shards = w->settings->processes;
    free_roles(w);
    check_binds(w);
    check_dtype_flag(w);
    if (w->root) {
        binder b = { .generics = &w->root->generics, .is_root = true };
        w->root_env = bind_generics(w, &b, &missing);
        if (missing.words.count == 0)
            note_bound(w, &b);
    }
    if (w->entry) {
        binder b = { .generics = &w->entry->generics, .outer = w->root_env };
        w->entry_env = bind_generics(w, &b, &missing);
    }
    check_missing(w, &missing);
}

const lin_env *lin_walk_root_env(walker *w, int64_t processes)
{
    word_list missing = { 0 };
    binder b = { .generics = &w->root->generics, .is_root = true };
    w->shards = processes;
    const lin_env *env = bind_generics(w, &b, &missing);
    w->shards = w->settings->processes;
    return env;
}

/* ---- numbers and relations ---- */

int64_t lin_walk_number(walker *w, const lin_env *env, lin_expr dim, lin_span span,
                        const char *what)
{
    lin_expr e = lin_env_dim(env, dim);
    int64_t value;
    lin_symbol symbol;
    if (lin_expr_is_int(w->exprs, e, &value))
        return value;
    if (e == LIN_EXPR_INVALID || !lin_expr_any_symbol(w->exprs, e, &symbol))
        lin_walk_fail_at(w, span, LINNET_ERROR_OVERFLOW, "%s does not fit in 64 bits", what);
    lin_walk_fail_at(w, span, LINNET_ERROR_ARGUMENT,
                     "%s must be a number, and `%s` is free: bind `%s` to a value", what,
                     lin_walk_dim_text(w, w->exprs, e), lin_expr_symbol_name(w->exprs, symbol));
}

static const char *const comparison_signs[] = { "==", "!=", "<", "<=", ">", ">=" };

static void add_relation(walker *w, const lin_env *env, const lin_constraint *constraint)
{
    lin_relation relation = { .comparison = (int)constraint->comparison,
                              .left = lin_env_dim(env, constraint->left),
                              .right = lin_env_dim(env, constraint->right) };
    const char *left = lin_walk_dim_text(w, w->program->dims, constraint->left);
    const char *right = lin_walk_dim_text(w, w->program->dims, constraint->right);
    relation.text = lin_arena_format(w->arena, "%s %s %s", left,
                                     comparison_signs[constraint->comparison], right);
    if (relation.left == LIN_EXPR_INVALID || relation.right == LIN_EXPR_INVALID) {
        /* Divides by 0 or overflows with these values: it cannot hold. */
        relation.comparison = LIN_EQ;
        relation.left = w->zero;
        relation.right = w->one;
    }
    LIN_PUSH(w->arena, &w->graph->relations, relation);
}

static void add_runs(walker *w)
{
    const int64_t runs = w->settings->context_processes;
    if (runs <= 1)
        return;
    const lin_expr context = lin_expr_of_symbol(w->exprs, w->graph->role_symbols[LIN_ROLE_CONTEXT]);
    const lin_relation relation = {
        .comparison = LIN_EQ,
        .left = lin_expr_mod(w->exprs, context, lin_expr_int(w->exprs, runs)),
        .right = w->zero,
        .text = lin_arena_format(w->arena, "context %% %lld == 0", (long long)runs)
    };
    LIN_PUSH(w->arena, &w->graph->relations, relation);
}

void lin_walk_relations(walker *w)
{
    add_runs(w);
    for (uint32_t i = 0; w->root && i < w->root->constraints.count; i++)
        add_relation(w, w->root_env, &w->root->constraints.items[i]);
    for (uint32_t i = 0; w->entry && i < w->entry->constraints.count; i++)
        add_relation(w, w->entry_env, &w->entry->constraints.items[i]);
}
