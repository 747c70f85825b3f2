/* SPDX-License-Identifier: MIT */

/*
 * Preparing a training step (tracing.md 9): the settings are read, the graph gets its adapters, and
 * everything that is held becomes an interval of one timeline:
 *
 *     forward steps   backward steps, recomputations between them   the optimizer
 *     0 … n - 1       n …                                           T
 *
 * Sizes stay expressions, so the peaks of another batch are one sweep of it.
 */

#include "memory/training.h"

#include <string.h>

/* ---- settings ---- */

static const char *const *copy_all(lin_arena *arena, const char *const *texts, uint32_t count)
{
    const char **copies = LIN_NEW_ARRAY(arena, const char *, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = lin_arena_copy(arena, texts[i]);
    return copies;
}

const char *const *lin_training_split(lin_memory *memory, const char *text, uint32_t *out_count)
{
    uint32_t count = 1;
    for (const char *at = text; *at != '\0'; at++)
        count += *at == ',';
    const char **parts = LIN_NEW_ARRAY(&memory->arena, const char *, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t length = strcspn(text, ",");
        const char *next = text + length + (text[length] == ',');
        while (length > 0 && *text == ' ')
            text++, length--;
        while (length > 0 && text[length - 1] == ' ')
            length--;
        parts[i] = lin_arena_text(&memory->arena, text, length);
        text = next;
    }
    *out_count = count;
    return parts;
}

const char *lin_training_generalise(lin_arena *arena, const char *path)
{
    char *out = lin_arena_alloc(arena, strlen(path) + 1);
    uint64_t length = 0;
    for (const char *at = path; *at != '\0';) {
        const uint64_t component = strcspn(at, ".");
        const bool is_index = component > 0 && strspn(at, "0123456789") >= component;
        if (is_index) {
            out[length++] = '*';
        } else {
            memcpy(out + length, at, component);
            length += component;
        }
        at += component;
        if (*at == '.')
            out[length++] = *at++;
    }
    return out;
}

static bool is_listed(const char *const *words, uint32_t count, const char *word)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

enum { MAX_CHOICES = 256, SHOWN_CHOICES = 4 };

static linnet_status fail_with_choices(const char *flag, const char *what, const char *pattern,
                                       const char *const *choices, uint32_t count,
                                       linnet_error *err)
{
    const char *nearest = lin_nearest(pattern, choices, count);
    if (nearest != NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s: no %s matches `%s`; did you mean `%s`?",
                        flag, what, pattern, nearest);
    const char *shown[SHOWN_CHOICES] = { "", "", "", "" };
    for (uint32_t i = 0; i < SHOWN_CHOICES && i < count; i++)
        shown[i] = choices[i];
    if (count == 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s: no %s matches `%s`", flag, what, pattern);
    return lin_fail(
        err, LINNET_ERROR_ARGUMENT, "%s: no %s matches `%s`; there are `%s`%s%s%s%s%s%s%s", flag,
        what, pattern, shown[0], count > 1 ? ", `" : "", shown[1], count > 1 ? "`" : "",
        count > 2 ? ", `" : "", shown[2], count > 2 ? "`" : "", count > 3 ? " and others" : "");
}

linnet_status lin_training_fail_pattern(lin_memory *memory, const char *flag, const char *what,
                                        const char *pattern, const char *const *paths,
                                        uint32_t count, linnet_error *err)
{
    const char **choices = LIN_NEW_ARRAY(&memory->scratch, const char *, MAX_CHOICES);
    uint32_t choice_count = 0;
    const char *before = NULL;
    for (uint32_t i = 0; i < count && choice_count < MAX_CHOICES; i++) {
        if (paths[i] == before || paths[i][0] == '\0')
            continue;
        before = paths[i];
        const char *general = lin_training_generalise(&memory->scratch, paths[i]);
        if (!is_listed(choices, choice_count, general))
            choices[choice_count++] = general;
    }
    return fail_with_choices(flag, what, pattern, choices, choice_count, err);
}

static linnet_status check_float(bool has, lin_dtype dtype, const char *what, linnet_error *err)
{
    if (!has || lin_dtype_class_of(dtype) == LIN_CLASS_FLOAT)
        return LINNET_OK;
    return lin_fail(err, LINNET_ERROR_ARGUMENT, "the %s dtype must be a float, not `%s`", what,
                    lin_dtype_name(dtype));
}

static linnet_status find_optimizer(const char *name, const lin_optimizer **out, linnet_error *err)
{
    enum { MAX_OPTIMIZERS = 32 };
    const char *names[MAX_OPTIMIZERS];
    const uint32_t count =
        lin_optimizer_count() < MAX_OPTIMIZERS ? lin_optimizer_count() : MAX_OPTIMIZERS;
    *out = lin_optimizer_find(name);
    if (*out != NULL)
        return LINNET_OK;
    for (uint32_t i = 0; i < count; i++)
        names[i] = lin_optimizer_name(i);
    const char *nearest = lin_nearest(name, names, count);
    return lin_fail(err, LINNET_ERROR_NOT_FOUND, "no optimizer is called `%s`; did you mean `%s`?",
                    name, nearest != NULL ? nearest : "adamw");
}

static linnet_status read_settings(lin_memory *memory, const lin_training_settings *given,
                                   linnet_error *err)
{
    lin_training *training = memory->training;
    lin_training_settings *settings = &training->settings;
    lin_arena *arena = &memory->arena;
    *settings = *given;
    settings->optimizer =
        lin_arena_copy(arena, given->optimizer != NULL ? given->optimizer : "adamw");
    settings->trainable = copy_all(arena, given->trainable, given->trainable_count);
    settings->lora_patterns = lin_arena_copy(arena, given->lora_patterns);
    settings->checkpoint =
        lin_arena_copy(arena, given->checkpoint != NULL ? given->checkpoint : "none");
    if (strcmp(settings->checkpoint, "blocks") == 0)
        settings->checkpoint = "block";
    settings->accumulation = given->accumulation > 0 ? given->accumulation : 1;
    training->is_sharded = memory->parallel.shards > 1;
    training->zero = memory->parallel.zero;
    training->part_dtype = given->has_master_dtype ? given->master_dtype : LIN_DTYPE_F32;

    linnet_status status = find_optimizer(settings->optimizer, &training->optimizer, err);
    if (status == LINNET_OK)
        status = check_float(given->has_master_dtype, given->master_dtype, "master", err);
    if (status == LINNET_OK)
        status = check_float(given->has_gradient_dtype, given->gradient_dtype, "gradient", err);
    if (status == LINNET_OK)
        status = lin_training_check_shards(memory, err);
    return status;
}

/* ---- recomputed arithmetic ---- */

static void compile_arithmetic(lin_memory *memory)
{
    const lin_graph *graph = memory->traced.graph;
    lin_training *training = memory->training;
    lin_expr *wanted = LIN_NEW_ARRAY(&memory->scratch, lin_expr, graph->steps.count);
    if (!training->checkpoints)
        return;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        wanted[i] = graph->steps.items[i].arithmetic;
        if (wanted[i] == LIN_EXPR_INVALID)
            return;
    }
    training->arithmetic =
        lin_expr_compile(&memory->arena, graph->exprs, wanted, graph->steps.count);
    training->operations = LIN_NEW_ARRAY(&memory->arena, int64_t, graph->steps.count);
    training->arithmetic_scratch =
        LIN_NEW_ARRAY(&memory->arena, int64_t, lin_expr_program_scratch(training->arithmetic));
}

/* ---- everything together ---- */

linnet_status lin_training_mark(lin_memory *memory, const lin_training_settings *settings,
                                linnet_error *err)
{
    memory->training = LIN_NEW(&memory->arena, lin_training);
    linnet_status status;
    if ((status = read_settings(memory, settings, err)) != LINNET_OK ||
        (status = lin_training_add_adapters(memory, err)) != LINNET_OK ||
        (status = lin_training_make_schedule(memory, err)) != LINNET_OK ||
        (status = lin_training_mark_trained(memory, err)) != LINNET_OK)
        return status;
    lin_training_mark_gradients(memory);
    return LINNET_OK;
}

linnet_status lin_memory_prepare_training(lin_memory *memory, const lin_training_settings *settings,
                                          lin_text *text, linnet_error *err)
{
    lin_interval_list intervals = { NULL, 0, 0 };
    linnet_status status = memory->stage != NULL ? lin_training_inherit(memory, err)
                                                 : lin_training_mark(memory, settings, err);
    if (status != LINNET_OK)
        return status;

    const int32_t length = memory->training->schedule.length;
    if ((status = lin_memory_add_persistent(memory, &intervals, length, err)) != LINNET_OK ||
        (status = lin_training_add_optimizer(memory, &intervals, err)) != LINNET_OK ||
        (status = lin_training_add_activations(memory, &intervals, err)) != LINNET_OK ||
        (status = lin_training_add_gathered(memory, &intervals, err)) != LINNET_OK ||
        (status = lin_memory_add_exchange(memory, &intervals, err)) != LINNET_OK ||
        (status = lin_training_add_gradients(memory, &intervals, err)) != LINNET_OK)
        return status;
    compile_arithmetic(memory);
    lin_memory_compile(memory, &intervals, length, text);
    return LINNET_OK;
}

lin_running *lin_memory_list_running(lin_arena *arena, const lin_memory *memory)
{
    const int32_t length = lin_timeline_length(memory->timeline);
    const int32_t steps = (int32_t)memory->traced.graph->steps.count;
    lin_running *running = LIN_NEW_ARRAY(arena, lin_running, (uint64_t)length);
    for (int32_t m = 0; m < length; m++)
        running[m] = (lin_running){ LIN_PHASE_KIND_FORWARD, m < steps ? m : LIN_NO_STEP };
    if (memory->training == NULL)
        return running;
    const lin_moments *schedule = &memory->training->schedule;
    for (int32_t k = 0; k < steps; k++) {
        running[schedule->back[k]] = (lin_running){ LIN_PHASE_KIND_BACKWARD, k };
        running[schedule->weight[k]] = (lin_running){ LIN_PHASE_KIND_BACKWARD, k };
        if (schedule->redo[k] != LIN_NEVER)
            running[schedule->redo[k]] = (lin_running){ LIN_PHASE_KIND_RECOMPUTATION, k };
    }
    running[schedule->optimizer] = (lin_running){ LIN_PHASE_KIND_OPTIMIZER, LIN_NO_STEP };
    return running;
}
