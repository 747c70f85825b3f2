/* SPDX-License-Identifier: MIT */

/*
 * Peaks and seconds of combinations, kept once they are known.
 *
 *     peak       a trace and a prepared memory; all micro-batch sizes of one are asked together,
 *                since another size needs no trace
 *     seconds    a trace, a prepared memory and its calls; the optimizers, shardings and sizes that
 *                leave what is computed alone are priced together
 *
 * A combination that the model or linnet refuses has neither. Cost: one to two milliseconds of a
 * peak for an 8B model, some more of a time.
 */

#include "plan/advise_space.h"

#include <string.h>

/* ---- opening ---- */

/* An answer about the combination; anything else ends the advice. */
static bool is_refusal(linnet_status status)
{
    return status != LINNET_OK && status != LINNET_ERROR_NO_MEMORY &&
           status != LINNET_ERROR_CANCELLED;
}

static linnet_status open_memory(const advice_space *s, advice_variant *v, lin_memory **out,
                                 linnet_error *err)
{
    lin_traced traced;
    v->memory.training = v->is_training ? &v->training : NULL;
    v->training.loss = v->trace.loss;
    linnet_status status = lin_parallel_check(&v->memory.parallel, err);
    if (status == LINNET_OK)
        status = lin_trace(s->settings->source, &v->trace, s->allocator, &traced, err);
    if (status == LINNET_OK)
        status = lin_memory_new(s->settings->source, &traced, &v->trace, &v->memory, s->allocator,
                                out, err);
    return status;
}

static void note_refusal(advice_space *s, const linnet_error *err)
{
    memcpy(s->refusal, err->message, sizeof(s->refusal));
    s->refusal[sizeof(s->refusal) - 1] = '\0';
}

static bool sizes_are_free(const advice_space *s)
{
    return s->facts.base.memory.parallel.pipeline <= 1 &&
           s->facts.base.memory.pipeline.microbatches <= 1;
}

/* What to ask of a memory that was opened at another size. */
static void request_of(const advice_space *s, const advice_variant *v, int64_t out[LIN_ROLE_COUNT])
{
    memcpy(out, v->size, LIN_ROLE_COUNT * sizeof(*out));
    if (out[LIN_ROLE_CACHE] == 0 && s->facts.cache_follows)
        out[LIN_ROLE_CACHE] = out[LIN_ROLE_CONTEXT];
}

/* ---- peaks ---- */

static linnet_status measure(advice_space *s, lin_memory *memory, const advice_choice *choice,
                             int64_t *out, linnet_error *err)
{
    const advice_variant v = lin_advise_vary(s, choice);
    int64_t request[LIN_ROLE_COUNT];
    lin_answer *answer = NULL;
    bool holds = true;
    request_of(s, &v, request);
    linnet_status status = lin_memory_holds(memory, request, &holds, err);
    *out = THERE_IS_NONE;
    if (status == LINNET_OK && !holds && s->base_holds)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "it breaks one of the model's `where` clauses");
    if (status == LINNET_OK)
        status = lin_memory_summarise(memory, request, &answer, err);
    if (status != LINNET_OK)
        return status;
    *out = answer->peaks.expected;
    lin_advise_note_bounds(s, choice, answer);
    lin_answer_free(answer);
    return LINNET_OK;
}

static void keep_peak(advice_space *s, uint64_t index, int64_t peak)
{
    s->peaks[index] = peak;
    s->evaluated++;
    if (peak >= 0 && peak < s->smallest_peak) {
        s->smallest_peak = peak;
        s->smallest_index = index;
    }
}

/* Sizes of one row are free alike, so that one memory answers for all of them. */
static bool shares_memory(const advice_space *s, uint32_t own, uint32_t digit)
{
    const advice_option *options = s->options[KIND_SPLIT];
    return digit == own || (own > 0 && digit > 0 && sizes_are_free(s) &&
                            options[digit - 1].row == options[own - 1].row);
}

static linnet_status measure_sizes(advice_space *s, lin_memory *memory, const advice_choice *choice,
                                   linnet_error *err)
{
    const uint32_t own = choice->option[KIND_SPLIT];
    advice_choice at = *choice;
    for (uint32_t digit = 0; digit <= s->option_count[KIND_SPLIT]; digit++) {
        linnet_error why = { 0 };
        int64_t peak;
        if (!shares_memory(s, own, digit))
            continue;
        at.option[KIND_SPLIT] = (uint8_t)digit;
        const linnet_status status = measure(s, memory, &at, &peak, &why);
        if (status != LINNET_OK && !is_refusal(status)) {
            *err = why;
            return status;
        }
        if (status != LINNET_OK && digit == own)
            note_refusal(s, &why);
        keep_peak(s, lin_advise_index(s, &at), peak);
    }
    return LINNET_OK;
}

linnet_status lin_advise_peak(advice_space *s, uint64_t index, linnet_error *err)
{
    const advice_choice choice = lin_advise_choice(s, index);
    advice_variant v = lin_advise_vary(s, &choice);
    lin_memory *memory = NULL;
    linnet_error why = { 0 };
    if (s->peaks[index] != NOT_YET)
        return LINNET_OK;
    linnet_status status = open_memory(s, &v, &memory, &why);
    if (is_refusal(status)) {
        note_refusal(s, &why);
        s->peaks[index] = THERE_IS_NONE;
        return LINNET_OK;
    }
    if (status == LINNET_OK)
        status = measure_sizes(s, memory, &choice, &why);
    lin_memory_free(memory);
    if (status != LINNET_OK && err != NULL)
        *err = why;
    return status;
}

/* ---- times ---- */

static bool is_untimed(const advice_space *s, const advice_choice *choice)
{
    for (change_kind kind = 0; kind < KIND_COUNT; kind++)
        if (choice->option[kind] > 0 && s->options[kind][choice->option[kind] - 1].row->untimed)
            return true;
    return false;
}

/* Of as many tokens as the unchanged step has. */
static double normal_seconds(const advice_space *s, const lin_step_time *time)
{
    const bool scales = s->tokens > 0 && time->tokens > 0;
    return scales ? time->seconds * (s->tokens / time->tokens) : time->seconds;
}

static linnet_status time_one(advice_space *s, lin_timer *timer, const advice_choice *choice,
                              linnet_error *err)
{
    const uint64_t index = lin_advise_index(s, choice);
    const advice_variant v = lin_advise_vary(s, choice);
    const lin_timer_job job = {
        .schedule = lin_memory_schedule(timer->memory),
        .microbatches = lin_memory_microbatches(timer->memory),
        .accumulation = v.training.accumulation > 1 ? v.training.accumulation : 1,
    };
    lin_step_time time;
    s->seconds[index] = THERE_IS_NONE;
    if (is_untimed(s, choice))
        return LINNET_OK;
    timer->settings.optimizer = v.training.optimizer != NULL ? v.training.optimizer : "adamw";
    lin_timer_run(timer, &v.memory.parallel);
    const linnet_status status = lin_timer_step(timer, &job, &time, err);
    if (status != LINNET_OK)
        return is_refusal(status) ? LINNET_OK : status;
    if (index == 0)
        s->tokens = time.tokens;
    s->seconds[index] = normal_seconds(s, &time);
    return LINNET_OK;
}

/* The optimizer's pass is timed by the masters that its memory has. */
static bool has_same_masters(const advice_space *s, const advice_choice *a, const advice_choice *b)
{
    const advice_variant one = lin_advise_vary(s, a), other = lin_advise_vary(s, b);
    return one.training.has_master_dtype == other.training.has_master_dtype &&
           (!one.training.has_master_dtype ||
            one.training.master_dtype == other.training.master_dtype);
}

/* Every optimizer and sharding of one size that a memory can time. */
static linnet_status time_states(advice_space *s, lin_timer *timer, const advice_choice *choice,
                                 linnet_error *err)
{
    advice_choice at = *choice;
    linnet_status status = LINNET_OK;
    for (uint32_t o = 0; o <= s->option_count[KIND_OPTIMIZER]; o++)
        for (uint32_t d = 0; d <= s->option_count[KIND_SHARDING] && status == LINNET_OK; d++) {
            at.option[KIND_OPTIMIZER] = (uint8_t)o;
            at.option[KIND_SHARDING] = (uint8_t)d;
            if (has_same_masters(s, &at, choice))
                status = time_one(s, timer, &at, err);
        }
    return status;
}

/* Sizes of a step's data and of one micro-batch of a pipeline. */
static linnet_status price_size(const advice_space *s, lin_timer *timer, const advice_variant *v,
                                linnet_error *err)
{
    const lin_traced *traced = lin_memory_traced(timer->memory);
    int64_t request[LIN_ROLE_COUNT], whole[LIN_ROLE_COUNT], cut[LIN_ROLE_COUNT];
    request_of(s, v, request);
    for (lin_role role = 0; role < LIN_ROLE_COUNT; role++)
        whole[role] = request[role] > 0 && traced->role_value[role] >= 0 ? request[role]
                                                                         : traced->role_value[role];
    const linnet_status status = lin_memory_cut(timer->memory, whole, cut, err);
    return status == LINNET_OK ? lin_timer_price(timer, whole, cut, err) : status;
}

static void refuse_states(advice_space *s, const advice_choice *choice)
{
    advice_choice at = *choice;
    for (uint32_t o = 0; o <= s->option_count[KIND_OPTIMIZER]; o++)
        for (uint32_t d = 0; d <= s->option_count[KIND_SHARDING]; d++) {
            at.option[KIND_OPTIMIZER] = (uint8_t)o;
            at.option[KIND_SHARDING] = (uint8_t)d;
            if (has_same_masters(s, &at, choice))
                s->seconds[lin_advise_index(s, &at)] = THERE_IS_NONE;
        }
}

static linnet_status time_sizes(advice_space *s, lin_timer *timer, const advice_choice *choice,
                                linnet_error *err)
{
    const uint8_t own = choice->option[KIND_SPLIT];
    const uint32_t last = sizes_are_free(s) ? s->option_count[KIND_SPLIT] : own;
    advice_choice at = *choice;
    linnet_status status = LINNET_OK;
    for (uint32_t digit = sizes_are_free(s) ? 0 : own; digit <= last && status == LINNET_OK;
         digit++) {
        at.option[KIND_SPLIT] = (uint8_t)digit;
        const advice_variant v = lin_advise_vary(s, &at);
        status = price_size(s, timer, &v, err);
        if (status == LINNET_OK) {
            status = time_states(s, timer, &at, err);
        } else if (is_refusal(status)) {
            refuse_states(s, &at);
            status = LINNET_OK;
        }
    }
    return status;
}

static linnet_status open_timer(const advice_space *s, const advice_variant *v, lin_memory *memory,
                                lin_timer **out, linnet_error *err)
{
    const lin_timer_settings settings = {
        .model = s->settings->time_model,
        .training = v->is_training,
        .optimizer = v->training.optimizer,
        .parallel = v->memory.parallel,
    };
    const linnet_status status =
        lin_timer_check(lin_memory_traced(memory), &v->memory.parallel, err);
    return status == LINNET_OK
               ? lin_timer_new(memory, s->settings->profile, &settings, s->allocator, out, err)
               : status;
}

/* The combination whose calls are the same: without what leaves them alone. */
static advice_choice computed_choice(const advice_space *s, const advice_choice *choice)
{
    advice_choice at = *choice;
    for (change_kind kind = KIND_OPTIMIZER; kind < KIND_COUNT; kind++)
        if (kind != KIND_SPLIT || sizes_are_free(s))
            at.option[kind] = 0;
    if (!has_same_masters(s, &at, choice))
        at.option[KIND_SHARDING] = 1;
    return at;
}

static linnet_status time_computed(advice_space *s, const advice_choice *choice, linnet_error *err)
{
    advice_variant v = lin_advise_vary(s, choice);
    lin_memory *memory = NULL;
    lin_timer *timer = NULL;
    linnet_status status = open_memory(s, &v, &memory, err);
    if (status == LINNET_OK)
        status = open_timer(s, &v, memory, &timer, err);
    if (status == LINNET_OK)
        status = time_sizes(s, timer, choice, err);
    lin_timer_free(timer);
    lin_memory_free(memory);
    return status;
}

static void refuse_sizes(advice_space *s, const advice_choice *choice)
{
    const uint8_t own = choice->option[KIND_SPLIT];
    const uint32_t last = sizes_are_free(s) ? s->option_count[KIND_SPLIT] : own;
    advice_choice at = *choice;
    for (uint32_t digit = own; digit <= last; digit++) {
        at.option[KIND_SPLIT] = (uint8_t)digit;
        refuse_states(s, &at);
    }
}

linnet_status lin_advise_time(advice_space *s, uint64_t index, linnet_error *err)
{
    const advice_choice choice = lin_advise_choice(s, index);
    advice_choice plain = choice;
    linnet_error why = { 0 };
    if (!s->is_timed || s->seconds[index] != NOT_YET)
        return LINNET_OK;
    /* Time is that of caches as declared. */
    plain.option[KIND_CACHE] = plain.option[KIND_CACHE_BLOCK] = 0;
    const uint64_t same = lin_advise_index(s, &plain);
    const advice_choice computed = computed_choice(s, &choice);
    linnet_status status =
        s->seconds[same] == NOT_YET ? time_computed(s, &computed, &why) : LINNET_OK;
    if (status != LINNET_OK && !is_refusal(status)) {
        if (err != NULL)
            *err = why;
        return status;
    }
    if (is_refusal(status))
        refuse_sizes(s, &computed);
    s->seconds[index] = s->seconds[same];
    return LINNET_OK;
}

/* ---- outcomes ---- */

lin_outcome lin_advise_outcome(const advice_space *s, uint64_t index)
{
    const int64_t peak = s->peaks[index], budget = s->settings->budget_bytes;
    const bool is_timed = s->is_timed && s->seconds[index] >= 0 && s->seconds[0] >= 0;
    const bool is_known = peak >= 0;
    return (lin_outcome){
        .expected_peak = is_known ? peak : THERE_IS_NONE,
        .saved = is_known && s->peaks[0] >= 0 ? s->peaks[0] - peak : 0,
        .seconds = is_timed ? s->seconds[index] : THERE_IS_NONE,
        .extra = is_timed ? s->seconds[index] - s->seconds[0] : 0,
        .fits = is_known && peak <= budget,
        .verdict = is_known ? lin_fit_verdict(peak, budget) : "OOM",
    };
}
