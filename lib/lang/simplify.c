/* SPDX-License-Identifier: MIT */

/*
 * The simplifications of language.md 16 on one function, to a fixed point. They decide which steps
 * exist, so published step counts depend on each of them.
 *
 * A round has two passes. Forward: every operation's operands are replaced by what stands for them
 * (`alias`), then the operation itself may turn out to be one of its operands, a constant, or an
 * earlier equal operation of its region. Backward: operations whose results nobody uses go, unless
 * they write state. Rounds repeat until neither pass changes anything, two or three in practice;
 * each costs time linear in the operations.
 *
 * State: a read equals an earlier read only while that member was not written in between; a call of
 * a method may read any state, so it equals an earlier one only while nothing was written at all.
 * A clock that every write advances stands for "in between".
 */

#include "lang/simplify.h"
#include "lang/check.h"

#include <string.h>

typedef struct member_clock {
    const lin_member *member;
    uint32_t time; /* of its last write */
} member_clock;

typedef struct simplifier {
    lin_arena *arena; /* the program's: operand lists */
    lin_arena *scratch;
    lin_function *function;
    lin_value *alias;  /* by value: what stands for it */
    lin_op **maker;    /* by value: its operation, NULL for arguments */
    bool *used;        /* by value */
    uint32_t clock;    /* state writes passed so far */
    uint32_t all_time; /* when something wrote a member that is not known */
    LIN_LIST(member_clock) members;
    bool changed;
} simplifier;

/* An operation of a region, as candidate for merging: equal ones also need equal times. */
typedef struct candidate {
    lin_op *op;
    uint32_t time;
} candidate;

typedef struct candidates {
    candidate *slots;
    uint32_t mask;
} candidates;

static const lin_type *type_of(const simplifier *s, lin_value value)
{
    return lin_value_type(s->function, value);
}

/* ---- state ---- */

static void note_write(simplifier *s, const lin_op *op)
{
    s->clock++;
    if (op->kind != LIN_OP_STATE_WRITE) {
        s->all_time = s->clock;
        return;
    }
    for (uint32_t i = 0; i < s->members.count; i++)
        if (s->members.items[i].member == op->as.member) {
            s->members.items[i].time = s->clock;
            return;
        }
    member_clock clock = { op->as.member, s->clock };
    LIN_PUSH(s->scratch, &s->members, clock);
}

static uint32_t time_of(const simplifier *s, const lin_op *op)
{
    if (lin_op_class_of(op->kind) == LIN_OPCLASS_CALL)
        return op->as.call.has_receiver || op->as.call.on_self ? s->clock : 0;
    if (op->kind != LIN_OP_STATE_READ)
        return 0;
    for (uint32_t i = 0; i < s->members.count; i++)
        if (s->members.items[i].member == op->as.member && s->members.items[i].time > s->all_time)
            return s->members.items[i].time;
    return s->all_time;
}

static bool writes(const lin_op *op)
{
    return op->kind == LIN_OP_STATE_WRITE ||
           (lin_op_class_of(op->kind) == LIN_OPCLASS_CALL && op->as.call.callee->writes_state);
}

/* ---- forward ---- */

static void replace_values(simplifier *s, const lin_value **values, uint32_t count)
{
    lin_value *fresh = NULL;
    for (uint32_t i = 0; i < count; i++) {
        lin_value stands = s->alias[(*values)[i]];
        if (stands == (*values)[i])
            continue;
        if (!fresh) {
            fresh = LIN_NEW_ARRAY(s->arena, lin_value, count);
            memcpy(fresh, *values, count * sizeof *fresh);
        }
        fresh[i] = stands;
    }
    if (fresh)
        *values = fresh;
}

static bool is_identity(const lin_op *op)
{
    for (uint32_t i = 0; i < op->as.permute.count; i++)
        if (op->as.permute.axes[i] != i)
            return false;
    return true;
}

/* permute(permute(x, inner), outer): axis i of the result is axis inner[outer[i]] of x. */
static void merge_permutes(simplifier *s, lin_op *op)
{
    const lin_op *inner = s->maker[op->operands[0]];
    if (!inner || inner->kind != LIN_OP_PERMUTE)
        return;
    uint32_t *axes = LIN_NEW_ARRAY(s->arena, uint32_t, op->as.permute.count);
    for (uint32_t i = 0; i < op->as.permute.count; i++)
        axes[i] = inner->as.permute.axes[op->as.permute.axes[i]];
    op->as.permute.axes = axes;
    op->operands = inner->operands;
    s->changed = true;
}

/* The operand that the operation gives back unchanged, or LIN_NO_VALUE. */
static lin_value same_as_operand(simplifier *s, lin_op *op)
{
    switch (op->kind) {
    case LIN_OP_RESHAPE:
    case LIN_OP_BROADCAST:
    case LIN_OP_CAST:
        if (lin_simplify_same_type(type_of(s, op->operands[0]), type_of(s, op->first_result)))
            return op->operands[0];
        return LIN_NO_VALUE;
    case LIN_OP_PERMUTE:
        merge_permutes(s, op);
        return is_identity(op) ? op->operands[0] : LIN_NO_VALUE;
    case LIN_OP_NEG:
    case LIN_OP_NOT: {
        const lin_op *inner = s->maker[op->operands[0]];
        return inner && inner->kind == op->kind ? inner->operands[0] : LIN_NO_VALUE;
    }
    default:
        return LIN_NO_VALUE;
    }
}

static bool fits(const lin_type *type, int64_t value)
{
    if (type->kind != LIN_TYPE_SCALAR || !lin_dtype_is_concrete(type->dtype))
        return false;
    lin_dtype dtype = (lin_dtype)type->dtype;
    if (lin_dtype_class_of(dtype) != LIN_CLASS_INTEGER)
        return false;
    bool is_unsigned = dtype >= LIN_DTYPE_U8 && dtype <= LIN_DTYPE_U64;
    if (is_unsigned && value < 0)
        return false;
    int64_t bits = lin_dtype_bytes(dtype) * 8 - (is_unsigned ? 0 : 1);
    return bits >= 63 || (value < (INT64_C(1) << bits) && value >= -(INT64_C(1) << bits));
}

/* + - * of two integer constants, where the sum is one of the dtype's values: what wraps stays. */
static void fold_constants(simplifier *s, lin_op *op)
{
    if (op->kind != LIN_OP_ADD && op->kind != LIN_OP_SUB && op->kind != LIN_OP_MUL)
        return;
    const lin_op *left = s->maker[op->operands[0]], *right = s->maker[op->operands[1]];
    if (!left || !right || left->kind != LIN_OP_CONST_INT || right->kind != LIN_OP_CONST_INT)
        return;
    int64_t a = left->as.integer, b = right->as.integer, value = 0;
    bool exact = op->kind == LIN_OP_ADD   ? lin_add_i64(a, b, &value)
                 : op->kind == LIN_OP_SUB ? lin_sub_i64(a, b, &value)
                                          : lin_mul_i64(a, b, &value);
    if (!exact || !fits(type_of(s, op->first_result), value))
        return;
    op->kind = LIN_OP_CONST_INT;
    op->operand_count = 0;
    op->as.integer = value;
    s->changed = true;
}

static candidates candidates_new(lin_arena *arena, uint32_t op_count)
{
    uint32_t size = 4;
    while (size < op_count * 2)
        size *= 2;
    return (candidates){ LIN_NEW_ARRAY(arena, candidate, size), size - 1 };
}

/* The earlier equal operation, or NULL after noting this one. */
static const lin_op *find_equal(simplifier *s, const candidates *seen, lin_op *op)
{
    if (!lin_simplify_mergeable(op))
        return NULL;
    uint32_t time = time_of(s, op);
    uint32_t slot = (uint32_t)lin_simplify_hash(s->function, op) & seen->mask;
    for (; seen->slots[slot].op; slot = (slot + 1) & seen->mask)
        if (seen->slots[slot].time == time &&
            lin_simplify_same_op(s->function, seen->slots[slot].op, op))
            return seen->slots[slot].op;
    seen->slots[slot] = (candidate){ op, time };
    return NULL;
}

static void forward(simplifier *s, lin_region *region);

/* True when the operation is gone: its results have stand-ins. */
static bool simplify_op(simplifier *s, const candidates *seen, lin_op *op)
{
    replace_values(s, &op->operands, op->operand_count);
    for (uint32_t i = 0; i < lin_op_region_count(op); i++)
        forward(s, lin_op_region(op, i));
    fold_constants(s, op);
    lin_value same = same_as_operand(s, op);
    if (same != LIN_NO_VALUE) {
        s->alias[op->first_result] = same;
        return true;
    }
    const lin_op *equal = find_equal(s, seen, op);
    if (equal) {
        for (uint32_t i = 0; i < op->result_count; i++)
            s->alias[op->first_result + i] = equal->first_result + i;
        return true;
    }
    if (writes(op))
        note_write(s, op);
    for (uint32_t i = 0; i < op->result_count; i++)
        s->maker[op->first_result + i] = op;
    return false;
}

static void forward(simplifier *s, lin_region *region)
{
    candidates seen = candidates_new(s->scratch, region->op_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < region->op_count; i++) {
        lin_op *op = region->ops[i];
        if (simplify_op(s, &seen, op))
            s->changed = true;
        else
            region->ops[kept++] = op;
    }
    region->op_count = kept;
    replace_values(s, &region->results, region->result_count);
}

/* ---- backward ---- */

static bool has_effect(const lin_op *op)
{
    if (writes(op))
        return true;
    for (uint32_t i = 0; i < lin_op_region_count(op); i++) {
        const lin_region *region = lin_op_region(op, i);
        for (uint32_t k = 0; k < region->op_count; k++)
            if (has_effect(region->ops[k]))
                return true;
    }
    return false;
}

static bool is_live(const simplifier *s, const lin_op *op)
{
    for (uint32_t i = 0; i < op->result_count; i++)
        if (s->used[op->first_result + i])
            return true;
    return has_effect(op);
}

/* Users stand after what they use, inner regions inside their operation: one pass from the end
 * finds all that is dead. */
static void backward(simplifier *s, lin_region *region)
{
    for (uint32_t i = 0; i < region->result_count; i++)
        s->used[region->results[i]] = true;
    uint32_t kept = region->op_count;
    for (uint32_t i = region->op_count; i-- > 0;) {
        lin_op *op = region->ops[i];
        if (!is_live(s, op))
            continue;
        for (uint32_t k = 0; k < op->operand_count; k++)
            s->used[op->operands[k]] = true;
        for (uint32_t k = lin_op_region_count(op); k-- > 0;)
            backward(s, lin_op_region(op, k));
        region->ops[--kept] = op;
    }
    if (kept == 0)
        return;
    s->changed = true;
    region->op_count -= kept;
    memmove(region->ops, region->ops + kept, region->op_count * sizeof(lin_op *));
}

void lin_simplify_function(lin_arena *arena, lin_arena *scratch, lin_program *program,
                           lin_function *function)
{
    (void)program;
    simplifier s = { .arena = arena, .scratch = scratch, .function = function };
    s.alias = LIN_NEW_ARRAY(scratch, lin_value, function->value_count);
    s.maker = LIN_NEW_ARRAY(scratch, lin_op *, function->value_count);
    s.used = LIN_NEW_ARRAY(scratch, bool, function->value_count);
    do {
        s.changed = false;
        for (uint32_t i = 0; i < function->value_count; i++)
            s.alias[i] = i;
        memset(s.maker, 0, function->value_count * sizeof(lin_op *));
        memset(s.used, 0, function->value_count * sizeof *s.used);
        forward(&s, &function->body);
        backward(&s, &function->body);
    } while (s.changed);
}
