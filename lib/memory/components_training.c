/* SPDX-License-Identifier: MIT */

/*
 * What an answer says of a training step (tracing.md 9.9): the components at its peak, where the
 * peak is, how much is computed again, and what was assumed. A component's formula is the sum of
 * what lives of its category at that moment.
 */

#include "memory/training.h"

#include <string.h>

/* ---- components ---- */

typedef struct component_pass {
    const lin_memory *memory;
    const lin_evaluated *at;
    lin_text *scratch;
    lin_answer *answer;
    lin_component_list *list;
    int64_t bytes[LIN_CATEGORY_COUNT];
} component_pass;

/* The sum of what lives at the peak, equal sizes added up first. */
static const char *formula_of(const component_pass *p, lin_category category)
{
    const lin_timeline *timeline = p->memory->timeline;
    lin_expr_table *exprs = p->memory->traced.graph->exprs;
    if (p->answer->is_summary)
        return NULL;
    lin_expr total = lin_expr_int(exprs, 0), run = LIN_EXPR_INVALID;
    int64_t count = 0;
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        if (interval->category != category || interval->first > p->at->peak ||
            p->at->peak >= interval->end)
            continue;
        if (interval->bytes != run && count > 0) {
            total =
                lin_expr_add(exprs, total, lin_expr_mul(exprs, run, lin_expr_int(exprs, count)));
            count = 0;
        }
        run = interval->bytes;
        count++;
    }
    if (count > 0)
        total = lin_expr_add(exprs, total, lin_expr_mul(exprs, run, lin_expr_int(exprs, count)));
    return lin_memory_formula(&p->answer->arena, p->scratch, exprs, total);
}

static void add_of_category(component_pass *p, const char *name, lin_category category,
                            lin_confidence confidence, const char *note)
{
    lin_memory_add_component(p->answer, p->list,
                             (lin_component){ .name = name,
                                              .category = category,
                                              .known = true,
                                              .bytes = p->bytes[category],
                                              .confidence = confidence,
                                              .formula = formula_of(p, category),
                                              .note = note });
}

static void add_if_any(component_pass *p, const char *name, lin_category category,
                       lin_confidence confidence, const char *note)
{
    if (p->bytes[category] != 0)
        add_of_category(p, name, category, confidence, note);
}

/* What of the communication lives at the peak for that reason. */
static void add_of_reason(component_pass *p, const char *name, lin_reason reason)
{
    const lin_timeline *timeline = p->memory->timeline;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < lin_timeline_count(timeline); i++) {
        const lin_interval *interval = lin_timeline_interval(timeline, i);
        if (interval->category == LIN_CATEGORY_COMMUNICATION && interval->reason == reason &&
            interval->first <= p->at->peak && p->at->peak < interval->end)
            bytes += lin_timeline_bytes(timeline, p->memory->values, i);
    }
    if (bytes != 0)
        lin_memory_add_component(p->answer, p->list,
                                 (lin_component){ .name = name,
                                                  .category = LIN_CATEGORY_COMMUNICATION,
                                                  .known = true,
                                                  .bytes = bytes,
                                                  .confidence = LIN_BACKEND_MODELED });
}

static const char *dtype_note(const lin_training *training, lin_arena *arena)
{
    const lin_training_settings *settings = &training->settings;
    const bool of_parts = training->is_sharded && training->zero >= 3;
    const char *dtype = of_parts                       ? lin_dtype_name(training->part_dtype)
                        : settings->has_gradient_dtype ? lin_dtype_name(settings->gradient_dtype)
                        : settings->has_master_dtype && !training->is_sharded
                            ? lin_dtype_name(settings->master_dtype)
                            : "the parameters' dtype";
    return settings->accumulation > 1
               ? lin_arena_format(arena, "in %s, summed over %lld micro-batches", dtype,
                                  (long long)settings->accumulation)
               : lin_arena_format(arena, "in %s", dtype);
}

static const char *trained_note(const component_pass *p)
{
    int64_t elements;
    const lin_training *training = p->memory->training;
    if (p->answer->is_summary ||
        !lin_expr_evaluate(p->memory->traced.graph->exprs, training->updated.elements,
                           p->memory->symbols, &elements))
        return "";
    return lin_arena_format(&p->answer->arena, "%lld trained parameters", (long long)elements);
}

void lin_memory_list_training(const lin_memory *memory, const lin_evaluated *at, lin_text *scratch,
                              lin_answer *answer)
{
    static const lin_category held[] = { LIN_CATEGORY_BUFFERS, LIN_CATEGORY_STATE,
                                         LIN_CATEGORY_KV_CACHE };
    const lin_training *training = memory->training;
    lin_arena *arena = &answer->arena;
    lin_component_list list = { NULL, 0, 0 };
    component_pass p = { memory, at, scratch, answer, &list, { 0 } };
    lin_timeline_breakdown(memory->timeline, memory->values, at->peak, p.bytes);

    lin_memory_add_holding(memory, LIN_CATEGORY_PARAMETERS, p.bytes[LIN_CATEGORY_PARAMETERS],
                           answer, &list);
    add_if_any(&p, "Master weights", LIN_CATEGORY_MASTER_WEIGHTS, LIN_EXACT, trained_note(&p));
    add_of_category(&p, "Gradients", LIN_CATEGORY_GRADIENTS, LIN_EXACT,
                    dtype_note(training, arena));
    add_if_any(
        &p,
        lin_arena_format(arena, "Optimizer states (%s)", lin_optimizer_label(training->optimizer)),
        LIN_CATEGORY_OPTIMIZER_STATES, LIN_EXACT, trained_note(&p));
    for (size_t i = 0; i < ARRAY_LEN(held); i++)
        if (memory->holdings[held[i]].tensors > 0)
            lin_memory_add_holding(memory, held[i], p.bytes[held[i]], answer, &list);
    add_if_any(&p, "Inputs", LIN_CATEGORY_INPUTS, LIN_EXACT, "");
    answer->activations_formula = formula_of(&p, LIN_CATEGORY_ACTIVATIONS);
    add_if_any(&p, "Saved activations", LIN_CATEGORY_ACTIVATIONS, LIN_BACKEND_MODELED, "");
    add_if_any(&p, "Backward temporaries", LIN_CATEGORY_BACKWARD_TEMPORARIES, LIN_BACKEND_MODELED,
               "");
    add_if_any(&p, "Backend workspace", LIN_CATEGORY_WORKSPACE, LIN_BACKEND_MODELED, "");
    add_of_reason(&p, "Gathered parameters", LIN_REASON_GATHERED);
    add_of_reason(&p, "Exchange buffers", LIN_REASON_EXCHANGED);
    lin_memory_add_runtime(memory, answer, &list);
    lin_memory_end_components(answer, &list);
}

/* ---- where, and how much again ---- */

static const char *const phase_words[] = { "the forward pass", "the backward pass",
                                           "the backward pass", "the optimizer step" };

const char *lin_training_peak_words(const lin_memory *memory, const lin_evaluated *at,
                                    lin_arena *arena, lin_arena *scratch)
{
    const lin_running *running = lin_memory_list_running(scratch, memory);
    return lin_arena_format(arena, "%s (timeline step %d of %d)",
                            phase_words[running[at->peak].phase], (int)at->peak,
                            (int)lin_timeline_length(memory->timeline));
}

/* Recomputed arithmetic over three times the forward's: backward costs about twice as much. */
static bool measure_recompute(const lin_memory *memory, double *out)
{
    const lin_training *training = memory->training;
    double forward = 0, again = 0;
    if (!training->checkpoints || training->arithmetic == NULL ||
        !lin_expr_run(training->arithmetic, memory->symbols, training->arithmetic_scratch,
                      training->operations, NULL))
        return false;
    for (uint32_t i = 0; i < memory->traced.graph->steps.count; i++) {
        forward += (double)training->operations[i];
        if (training->schedule.region[i] != LIN_NO_REGION)
            again += (double)training->operations[i];
    }
    *out = forward > 0 ? again / (3 * forward) : 0;
    return true;
}

static const char *const *copy_all(lin_arena *arena, const char *const *texts, uint32_t count)
{
    const char **copies = LIN_NEW_ARRAY(arena, const char *, count);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = lin_arena_copy(arena, texts[i]);
    return copies;
}

static const char *policy_words(lin_arena *arena, const lin_training *training)
{
    if (training->checkpoint_pattern_count == 0)
        return lin_arena_copy(arena, training->settings.checkpoint);
    const char *words = "";
    for (uint32_t i = 0; i < training->checkpoint_pattern_count; i++)
        words = lin_arena_format(arena, "%s%s%s", words, i > 0 ? ", " : "",
                                 training->checkpoint_patterns[i]);
    return words;
}

void lin_training_describe(const lin_memory *memory, lin_answer *answer)
{
    const lin_training *training = memory->training;
    const lin_training_settings *settings = &training->settings;
    lin_arena *arena = &answer->arena;
    lin_training_answer *out = LIN_NEW(arena, lin_training_answer);
    *out = (lin_training_answer){
        .optimizer = lin_optimizer_label(training->optimizer),
        .master_dtype = settings->has_master_dtype ? lin_dtype_name(settings->master_dtype) : NULL,
        .gradient_dtype =
            settings->has_gradient_dtype ? lin_dtype_name(settings->gradient_dtype) : NULL,
        .trainable = copy_all(arena, settings->trainable, settings->trainable_count),
        .trainable_count = settings->trainable_count,
        .checkpoint = policy_words(arena, training),
        .checkpoint_patterns =
            copy_all(arena, training->checkpoint_patterns, training->checkpoint_pattern_count),
        .checkpoint_pattern_count = training->checkpoint_pattern_count,
        .is_first_step = settings->is_first_step,
        .accumulation = settings->accumulation,
        .clips_gradients = settings->clips_gradients,
        .lora_rank = settings->lora_rank,
        .lora_patterns = lin_arena_copy(arena, settings->lora_patterns),
        .loss = lin_loss_name(settings->loss),
    };
    out->has_recompute = measure_recompute(memory, &out->recompute);
    answer->training = out;
}

/* ---- remarks ---- */

void lin_memory_add_unknown_training(const lin_memory *memory, lin_answer *answer,
                                     lin_words_list *list)
{
    const lin_training *training = memory->training;
    lin_arena *arena = &answer->arena;
    for (uint32_t i = 0; i < training->assumed.count; i++) {
        const lin_unknown_call *call = &training->assumed.items[i];
        lin_memory_add_words(answer, list,
                             lin_arena_format(arena,
                                              "what autograd keeps of `%s` (%u call%s): all its "
                                              "inputs and results are assumed",
                                              call->implementation, call->calls,
                                              call->calls == 1 ? "" : "s"));
    }
    int64_t paged;
    char size[LIN_BYTES_TEXT];
    if (lin_expr_evaluate(memory->traced.graph->exprs, training->paged, memory->symbols, &paged) &&
        paged > 0) {
        lin_format_bytes(size, paged);
        lin_memory_add_words(answer, list,
                             lin_arena_format(arena,
                                              "paged optimizer states: %s in managed memory, on "
                                              "the device as far as there is room",
                                              size));
    }
}

void lin_memory_add_warned_training(const lin_memory *memory, lin_answer *answer,
                                    lin_words_list *list)
{
    const lin_training *training = memory->training;
    if (training->checkpoints && training->schedule.region_count == 0)
        lin_memory_add_words(answer, list,
                             "the entry runs no array of blocks: nothing is checkpointed");
}

static const char *expert_shards_words(const lin_memory *memory, lin_arena *arena)
{
    const int64_t shards = memory->parallel.shards;
    const int64_t alike = lin_parallel_expert_shards(&memory->parallel);
    if (alike == 1)
        return lin_arena_format(arena,
                                "each expert is on one of the %lld shards, which has all of its "
                                "weights, gradients and states",
                                (long long)shards);
    return lin_arena_format(arena,
                            "each expert is on %lld of the %lld shards, and its states are split "
                            "over those",
                            (long long)alike, (long long)shards);
}

void lin_memory_add_assumed_training(const lin_memory *memory, lin_answer *answer,
                                     lin_words_list *list)
{
    const lin_training *training = memory->training;
    const lin_training_settings *settings = &training->settings;
    lin_memory_add_words(answer, list,
                         "autograd keeps what each operation's backward reads, by storage: a kept "
                         "view keeps all of it");
    lin_memory_add_words(answer, list, "a backward pass costs about twice its forward pass");
    if (training->is_sharded && training->zero >= 3)
        lin_memory_add_words(answer, list,
                             lin_arena_format(&answer->arena,
                                              "each process stores its part of a weight, and that "
                                              "part's gradient and states, in %s",
                                              lin_dtype_name(training->part_dtype)));
    if (training->is_sharded && memory->parallel.expert > 1)
        lin_memory_add_words(answer, list, expert_shards_words(memory, &answer->arena));
    if (settings->is_first_step)
        lin_memory_add_words(answer, list, "the first step: optimizer states appear when it ends");
    if (settings->accumulation > 1)
        lin_memory_add_words(answer, list,
                             "the sizes are those of one micro-batch, and the one shown is not the "
                             "first: gradients of earlier ones are there");
    if (training->adapters > 0)
        lin_memory_add_words(
            answer, list,
            lin_arena_format(&answer->arena,
                             "%u linear layers have adapters of rank %lld in their input's dtype, "
                             "without dropout",
                             training->adapters, (long long)settings->lora_rank));
}
