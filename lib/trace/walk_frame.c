/* SPDX-License-Identifier: MIT */

/*
 * Frames: a function with its generics bound. Calls that bind a function alike share one frame, so
 * a walk has as many as the program has different bindings, however often and through whichever
 * callers they are reached. From a call site that was passed before, the frame is one probe away.
 */

#include "trace/trace_walk.h"

#include <string.h>

static lin_choice choose(walker *w, const lin_function *op)
{
    const char *loss = lin_loss_op(op->qualified, w->settings->loss);
    w->found_loss |= loss != NULL;
    const lin_choice choice =
        lin_backend_choose(loss ? loss : op->qualified, w->settings->numerics);
    const bool follows = choice.native && choice.native->storage == LIN_RESULT_TRAINING;
    return follows && !w->settings->training ? (lin_choice){ 0 } : choice;
}

frame *lin_walk_new_frame(walker *w, const lin_function *function, const lin_env *env)
{
    frame *f = LIN_NEW(w->scratch, frame);
    f->function = function;
    f->env = env;
    f->values = LIN_NEW_ARRAY(w->scratch, tvalue, function->value_count);
    f->infos = LIN_NEW_ARRAY(w->scratch, const tensor_info *, function->value_count);
    if (function->kind == LIN_FUNCTION_OP)
        f->choice = choose(w, function);
    return f;
}

/* ---- what a call binds ---- */

static void evaluate(walker *w, const frame *caller, const lin_op *op, const lin_generic *generic,
                     const lin_generic_arg *arg, lin_bound *out)
{
    *out = (lin_bound){ .symbol = generic->symbol, .kind = generic->kind };
    switch (generic->kind) {
    case LIN_GENERIC_DIM:
        out->dim = lin_env_dim(caller->env, arg->dim);
        break;
    case LIN_GENERIC_DTYPE:
        out->dtype = lin_env_dtype(caller->env, arg->dtype);
        break;
    default:
        out->dims =
            lin_env_shape(w->scratch, caller->env, arg->axes, arg->axis_count, &out->dim_count);
        if (!out->dims)
            lin_walk_fail_at(w, op->span, LINNET_ERROR_UNSUPPORTED, "a shape pack has no value");
    }
}

static lin_bound *evaluate_all(walker *w, const frame *caller, const lin_op *op)
{
    const lin_generics *generics = &op->as.call.callee->generics;
    lin_bound *bounds = LIN_NEW_ARRAY(w->scratch, lin_bound, generics->count);
    for (uint32_t i = 0; i < generics->count; i++)
        evaluate(w, caller, op, &generics->items[i], &op->as.call.substitution.items[i],
                 &bounds[i]);
    return bounds;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 32);
}

static uint64_t hash_call(const lin_function *callee, const lin_env *outer, const lin_bound *bounds)
{
    uint64_t hash = mix(callee->index, (uint64_t)(uintptr_t)outer);
    for (uint32_t i = 0; i < callee->generics.count; i++) {
        hash = mix(hash, bounds[i].kind == LIN_GENERIC_DTYPE ? bounds[i].dtype : bounds[i].dim);
        for (uint32_t k = 0; k < bounds[i].dim_count; k++)
            hash = mix(hash, bounds[i].dims[k]);
    }
    return hash;
}

static bool same_bounds(const lin_bound *a, const lin_bound *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (a[i].dim != b[i].dim || a[i].dtype != b[i].dtype || a[i].dim_count != b[i].dim_count ||
            (a[i].dim_count > 0 &&
             memcmp(a[i].dims, b[i].dims, a[i].dim_count * sizeof *a[i].dims) != 0))
            return false;
    return true;
}

/* ---- the table ---- */

static uint32_t slot_of(const walker *w, const frame *wanted)
{
    uint32_t slot = (uint32_t)wanted->hash & w->frame_mask;
    for (const frame *f; (f = w->frames[slot]) != NULL; slot = (slot + 1) & w->frame_mask)
        if (f->hash == wanted->hash && f->function == wanted->function &&
            f->receiver == wanted->receiver &&
            same_bounds(f->bounds, wanted->bounds, f->function->generics.count))
            break;
    return slot;
}

static void grow_frames(walker *w)
{
    frame **old = w->frames;
    uint32_t old_size = old ? w->frame_mask + 1 : 0, size = old ? old_size * 2 : 64;
    w->frames = LIN_NEW_ARRAY(w->scratch, frame *, size);
    w->frame_mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i])
            w->frames[slot_of(w, old[i])] = old[i];
}

static frame *find_frame(walker *w, const frame *caller, const lin_op *op, const lin_env *outer)
{
    const lin_function *callee = op->as.call.callee;
    const lin_bound *bounds = evaluate_all(w, caller, op);
    frame wanted = { .function = callee, .receiver = outer, .bounds = bounds };
    wanted.hash = hash_call(callee, outer, bounds);
    if (!w->frames || w->frame_count * 2 > w->frame_mask)
        grow_frames(w);
    uint32_t slot = slot_of(w, &wanted);
    if (w->frames[slot])
        return w->frames[slot];
    const lin_env *env =
        lin_env_new(w->scratch, w->program, w->exprs, outer, bounds, callee->generics.count);
    frame *f = lin_walk_new_frame(w, callee, env);
    f->receiver = outer;
    f->bounds = bounds;
    f->hash = wanted.hash;
    w->frames[slot] = f;
    w->frame_count++;
    return f;
}

/* ---- entering ---- */

static instance *receiver_of(const frame *f, const lin_op *op)
{
    if (op->as.call.has_receiver)
        return f->values[op->operands[0]].as.block;
    return op->as.call.on_self ? f->self : NULL;
}

frame *lin_walk_enter(walker *w, frame *f, const lin_op *op)
{
    instance *receiver = receiver_of(f, op);
    const lin_env *outer = receiver ? receiver->env : NULL;
    frame *callee = lin_walk_site(w, f, op);
    if (!callee || callee->receiver != outer) {
        callee = find_frame(w, f, op, outer);
        lin_walk_note_site(w, f, op, callee);
    }
    const lin_region *body = &callee->function->body;
    uint32_t skip = op->as.call.has_receiver ? 1 : 0;
    callee->self = receiver;
    for (uint32_t i = 0; i < body->arg_count && i + skip < op->operand_count; i++) {
        tvalue *arg = &callee->values[body->first_arg + i];
        *arg = f->values[op->operands[i + skip]];
        arg->literal = LITERAL_NO;
    }
    return callee;
}
