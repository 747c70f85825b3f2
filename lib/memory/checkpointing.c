/* SPDX-License-Identifier: MIT */

/*
 * Activation checkpointing (tracing.md 9.2): which runs of steps are computed again, and at which
 * moment each step's recomputation and backward take place.
 *
 *     none        nothing
 *     block       each element of each array of blocks
 *     every:K     K elements at a time
 *     selective   the attention core of each layer (attention_core.c)
 *     patterns    the shortest prefix of a step's scope that a pattern matches
 *
 * A region is a maximal run of consecutive steps in one of these. Cost: linear in steps, and in
 * patterns times the distinct scopes.
 */

#include "memory/training.h"

#include <string.h>

/* What a step's scope belongs to: two steps with equal instances are of one region. */
typedef struct block_instance {
    const char *path; /* not ended: `length` bytes; NULL: none */
    uint64_t length;
    int64_t group; /* of every:K */
} block_instance;

typedef struct policy {
    const char *const *patterns;
    uint32_t pattern_count;
    bool *is_used;  /* by pattern */
    char *prefix;   /* scratch for one prefix of a scope */
    int64_t stride; /* K; 1 for block; 0: patterns */
} policy;

static bool is_same(block_instance a, block_instance b)
{
    return a.path != NULL && b.path != NULL && a.length == b.length && a.group == b.group &&
           memcmp(a.path, b.path, a.length) == 0;
}

/* ---- scopes ---- */

static uint64_t longest_scope(const lin_graph *graph)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const uint64_t length = strlen(graph->steps.items[i].scope);
        longest = length > longest ? length : longest;
    }
    return longest;
}

static bool is_index(const char *component, uint64_t length)
{
    return length > 0 && strspn(component, "0123456789") >= length;
}

/* The outermost element of an array that holds the scope: "layers.3" of "layers.3.mlp". */
static bool find_element(const char *scope, uint64_t *out_length, int64_t *out_index,
                         uint64_t *out_array)
{
    uint64_t start = 0;
    for (;;) {
        const uint64_t length = strcspn(scope + start, ".");
        if (start > 0 && is_index(scope + start, length)) {
            *out_length = start + length;
            *out_array = start - 1;
            return lin_parse_i64(scope + start, length, out_index);
        }
        if (scope[start + length] == '\0')
            return false;
        start += length + 1;
    }
}

static block_instance element_of(const char *scope, int64_t stride)
{
    uint64_t length, array;
    int64_t index;
    if (!find_element(scope, &length, &index, &array))
        return (block_instance){ NULL, 0, 0 };
    return (block_instance){ scope, array, index / stride };
}

/* Length of the shortest prefix that `pattern` matches; 0: none. */
static uint64_t match_prefix(const policy *p, const char *pattern, const char *scope)
{
    for (uint64_t end = 0; scope[end] != '\0';) {
        const uint64_t length = strcspn(scope + end, ".");
        end += length;
        memcpy(p->prefix, scope, end);
        p->prefix[end] = '\0';
        if (lin_pattern_matches(pattern, p->prefix))
            return end;
        end += scope[end] == '.';
    }
    return 0;
}

static linnet_status match_scope(policy *p, const char *scope, block_instance *out,
                                 linnet_error *err)
{
    uint32_t first = 0;
    *out = (block_instance){ NULL, 0, 0 };
    for (uint32_t i = 0; i < p->pattern_count; i++) {
        const uint64_t length = match_prefix(p, p->patterns[i], scope);
        if (length == 0)
            continue;
        if (out->path != NULL && out->length != length)
            return lin_fail(err, LINNET_ERROR_ARGUMENT,
                            "checkpoint regions overlap: `%s` and `%s` both match in `%s`",
                            p->patterns[first], p->patterns[i], scope);
        p->is_used[i] = true;
        first = i;
        *out = (block_instance){ scope, length, 0 };
    }
    return LINNET_OK;
}

static linnet_status instance_of(policy *p, const char *scope, block_instance *out,
                                 linnet_error *err)
{
    if (p->stride == 0)
        return match_scope(p, scope, out, err);
    *out = element_of(scope, p->stride);
    return LINNET_OK;
}

/* ---- regions ---- */

static linnet_status mark_regions(lin_memory *memory, policy *p, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    lin_moments *schedule = &memory->training->schedule;
    block_instance before = { NULL, 0, 0 };
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        const char *scope = graph->steps.items[i].scope;
        block_instance here = before;
        if (i == 0 || scope != graph->steps.items[i - 1].scope) {
            const linnet_status status = instance_of(p, scope, &here, err);
            if (status != LINNET_OK)
                return status;
        }
        if (here.path != NULL)
            schedule->region[i] =
                is_same(here, before) ? schedule->region_count - 1 : schedule->region_count++;
        before = here;
    }
    return LINNET_OK;
}

static linnet_status check_patterns(lin_memory *memory, const policy *p, linnet_error *err)
{
    const lin_graph *graph = memory->traced.graph;
    for (uint32_t i = 0; i < p->pattern_count; i++) {
        if (p->is_used[i] || memory->stage != NULL) /* the whole model was looked at */
            continue;
        const char **scopes =
            LIN_NEW_ARRAY(&memory->scratch, const char *, (uint64_t)graph->steps.count + 1);
        for (uint32_t k = 0; k < graph->steps.count; k++)
            scopes[k] = graph->steps.items[k].scope;
        const bool is_word = strpbrk(p->patterns[i], ".*?[") == NULL;
        return lin_training_fail_pattern(
            memory, "checkpoint",
            is_word ? "policy (none, block, every:K, selective) or block" : "block", p->patterns[i],
            scopes, graph->steps.count, err);
    }
    return LINNET_OK;
}

/* Elements of the longest array that steps run in. */
static int64_t count_elements(const lin_graph *graph)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < graph->steps.count; i++) {
        uint64_t length, array;
        int64_t index;
        if (find_element(graph->steps.items[i].scope, &length, &index, &array) && index >= longest)
            longest = index + 1;
    }
    return longest;
}

static linnet_status read_stride(const lin_memory *memory, const char *text, int64_t *out,
                                 linnet_error *err)
{
    const int64_t elements = count_elements(memory->traced.graph);
    if (!lin_parse_i64(text, strlen(text), out))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "checkpointing `every:%s` is not of the form every:K", text);
    if (*out < 1 || (*out > elements && memory->stage == NULL))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "checkpointing every %lld layers: it must be 1 to %lld, the layers there "
                        "are",
                        (long long)*out, (long long)elements);
    return LINNET_OK;
}

static linnet_status mark_policy(lin_memory *memory, const char *text, linnet_error *err)
{
    static const char every[] = "every:";
    lin_training *training = memory->training;
    policy p = { .prefix =
                     lin_arena_alloc(&memory->scratch, longest_scope(memory->traced.graph) + 1) };
    linnet_status status = LINNET_OK;
    if (strcmp(text, "selective") == 0)
        return lin_training_mark_cores(memory, err);
    if (strcmp(text, "block") == 0) {
        p.stride = 1;
    } else if (strncmp(text, every, sizeof every - 1) == 0) {
        status = read_stride(memory, text + sizeof every - 1, &p.stride, err);
    } else {
        p.patterns = lin_training_split(memory, text, &p.pattern_count);
        p.is_used = LIN_NEW_ARRAY(&memory->scratch, bool, p.pattern_count);
        training->checkpoint_patterns = p.patterns;
        training->checkpoint_pattern_count = p.pattern_count;
    }
    if (status == LINNET_OK)
        status = mark_regions(memory, &p, err);
    return status == LINNET_OK ? check_patterns(memory, &p, err) : status;
}

/* ---- moments ---- */

static void set_moments(lin_moments *schedule, int32_t steps)
{
    int32_t moment = steps;
    for (int32_t last = steps - 1; last >= 0;) {
        int32_t first = last;
        const int32_t region = schedule->region[last];
        while (region != LIN_NO_REGION && first > 0 && schedule->region[first - 1] == region)
            first--;
        for (int32_t k = first; k <= last; k++)
            schedule->redo[k] = region != LIN_NO_REGION ? moment++ : LIN_NEVER;
        for (int32_t k = last; k >= first; k--)
            schedule->back[k] = moment++;
        last = first - 1;
    }
    schedule->weight = schedule->back;
    schedule->results_end = moment;
    schedule->optimizer = moment;
    schedule->length = moment + 1;
}

linnet_status lin_training_make_schedule(lin_memory *memory, linnet_error *err)
{
    lin_training *training = memory->training;
    lin_moments *schedule = &training->schedule;
    const uint32_t steps = memory->traced.graph->steps.count;
    const char *policy_text = training->settings.checkpoint;
    schedule->region = LIN_NEW_ARRAY(&memory->arena, int32_t, steps);
    schedule->redo = LIN_NEW_ARRAY(&memory->arena, int32_t, steps);
    schedule->back = LIN_NEW_ARRAY(&memory->arena, int32_t, steps);
    for (uint32_t i = 0; i < steps; i++)
        schedule->region[i] = LIN_NO_REGION;

    training->checkpoints = strcmp(policy_text, "none") != 0;
    if (training->checkpoints) {
        const linnet_status status = mark_policy(memory, policy_text, err);
        if (status != LINNET_OK)
            return status;
    }
    set_moments(schedule, (int32_t)steps);
    return LINNET_OK;
}
