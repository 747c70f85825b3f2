/* SPDX-License-Identifier: MIT */

/*
 * Evaluation of many expressions at once. The wanted expressions become a straight list of
 * instructions over slots:
 *
 *     slots:   [ the symbols used | one slot an instruction ]
 *     product: left slot * right slot       (products share their beginnings)
 *     sum:     constant + sum of coefficient * slot
 *     others:  one quotient, remainder, least, greatest or power
 *
 * A run goes through the list once, a few nanoseconds an instruction. What counts as too large: a
 * term, or the value of a whole expression or of an operand of a quotient, that does not fit in
 * int64_t. A product is exact: 2^40 * 2^40 * 0 is 0. The quick run gives up at the first thing that
 * does not fit; the careful one then decides, with a mark beside every slot.
 */

#include "base/base.h"

#include <string.h>

__extension__ typedef __int128 wide; /* holds the sum of any 2^63 int64_t */

typedef enum opcode {
    OP_PRODUCT,
    OP_POWER, /* right is the power */
    OP_SUM,
    OP_SCALE, /* coefficient * left + constant */
    OP_FLOOR,
    OP_CEIL,
    OP_REST,
    OP_LEAST,
    OP_GREATEST
} opcode;

typedef struct instruction {
    opcode op;
    uint32_t left, right; /* slots; of a sum its addends [left, right) */
    int64_t coefficient, constant;
} instruction;

typedef struct addend {
    int64_t coefficient;
    uint32_t slot;
} addend;

struct lin_expr_program {
    const lin_symbol *symbols; /* of the first slots */
    uint32_t symbol_count;
    const instruction *code;
    uint32_t count;
    const addend *addends;
    const uint32_t *wanted; /* slots */
    uint32_t wanted_count;
};

/* ---- compiling ---- */

static const uint32_t no_slot = UINT32_MAX;

typedef struct known_slot {
    uint64_t key; /* 0 is free */
    uint32_t slot;
} known_slot;

/* Maps expressions, atoms and products (by their two slots) to slots. */
typedef struct slot_map {
    known_slot *items;
    uint32_t count, capacity;
} slot_map;

typedef struct compiler {
    lin_arena scratch; /* without a jump target: the caller's arena may jump, this one must not */
    const lin_expr_table *table;
    slot_map expressions, atoms, products;
    LIN_LIST(lin_symbol) symbols;
    LIN_LIST(instruction) code; /* slots in here: symbols are numbered from first_symbol_slot on */
    LIN_LIST(addend) addends;
    bool failed;
} compiler;

/* While compiling, the slot of symbol i is first_symbol_slot + i and that of instruction i is i;
 * they are renumbered when the number of symbols is known. */
static const uint32_t first_symbol_slot = (uint32_t)1 << 31;

static known_slot *map_entry(const slot_map *map, uint64_t key)
{
    uint32_t mask = map->capacity - 1;
    uint64_t hash = key * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & mask;
    while (map->items[at].key != 0 && map->items[at].key != key)
        at = (at + 1) & mask;
    return &map->items[at];
}

static uint32_t map_find(const slot_map *map, uint64_t key)
{
    if (map->capacity == 0)
        return no_slot;
    const known_slot *entry = map_entry(map, key);
    return entry->key == 0 ? no_slot : entry->slot;
}

static void map_add(compiler *c, slot_map *map, uint64_t key, uint32_t slot)
{
    if (map->count >= map->capacity / 2) {
        const slot_map old = *map;
        if (old.capacity > UINT32_MAX / 2) {
            c->failed = true;
            return;
        }
        map->capacity = old.capacity == 0 ? 64 : old.capacity * 2;
        map->items = LIN_NEW_ARRAY(&c->scratch, known_slot, map->capacity);
        if (map->items == NULL) {
            *map = old;
            c->failed = true;
            return;
        }
        for (uint32_t i = 0; i < old.capacity; i++)
            if (old.items[i].key != 0)
                *map_entry(map, old.items[i].key) = old.items[i];
    }
    *map_entry(map, key) = (known_slot){ key, slot };
    map->count++;
}

static uint32_t emit(compiler *c, instruction made)
{
    if (c->code.count >= first_symbol_slot / 2 || !LIN_PUSH(&c->scratch, &c->code, made)) {
        c->failed = true;
        return 0;
    }
    return c->code.count - 1;
}

static uint32_t compile_expr(compiler *c, lin_expr e);

static uint32_t symbol_slot(compiler *c, lin_symbol symbol)
{
    if (!LIN_PUSH(&c->scratch, &c->symbols, symbol)) {
        c->failed = true;
        return 0;
    }
    return first_symbol_slot + c->symbols.count - 1;
}

static uint32_t compile_atom(compiler *c, lin_atom atom)
{
    static const opcode codes[] = {
        [LIN_ATOM_FLOORDIV] = OP_FLOOR, [LIN_ATOM_CEILDIV] = OP_CEIL, [LIN_ATOM_MOD] = OP_REST,
        [LIN_ATOM_MIN] = OP_LEAST,      [LIN_ATOM_MAX] = OP_GREATEST,
    };
    uint64_t key = (uint64_t)atom + 1;
    uint32_t slot = map_find(&c->atoms, key);
    if (slot != no_slot || c->failed)
        return slot;
    lin_atom_info info = lin_expr_atom(c->table, atom);
    if (info.kind == LIN_ATOM_SYMBOL) {
        slot = symbol_slot(c, info.symbol);
    } else {
        uint32_t left = compile_expr(c, info.left);
        uint32_t right = compile_expr(c, info.right);
        slot = emit(c, (instruction){ .op = codes[info.kind], .left = left, .right = right });
    }
    map_add(c, &c->atoms, key, slot);
    return slot;
}

/* left * right, or left ^ right; made once. */
static uint32_t shared_product(compiler *c, opcode op, uint32_t left, uint32_t right)
{
    /* Slots stay below 2^31 + 2^30, so the top bit of the second half can tell the two apart. */
    uint64_t key = ((uint64_t)left + 1) << 32 | right;
    slot_map *map = &c->products;
    if (op == OP_POWER)
        key = ~key;
    uint32_t slot = map_find(map, key);
    if (slot != no_slot)
        return slot;
    slot = emit(c, (instruction){ .op = op, .left = left, .right = right });
    map_add(c, map, key, slot);
    return slot;
}

static uint32_t compile_product(compiler *c, const lin_term *term)
{
    uint32_t product = no_slot;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        uint32_t slot = compile_atom(c, term->factors[i].atom);
        if (term->factors[i].power > 1)
            slot = shared_product(c, OP_POWER, slot, term->factors[i].power);
        product = i == 0 ? slot : shared_product(c, OP_PRODUCT, product, slot);
    }
    return product;
}

static uint32_t compile_sum(compiler *c, lin_terms view)
{
    instruction sum = { .op = OP_SUM };
    uint32_t count = 0;
    uint32_t *slots = LIN_NEW_ARRAY(&c->scratch, uint32_t, view.count);
    if (slots == NULL) {
        c->failed = true;
        return 0;
    }
    for (uint32_t i = 0; i < view.count; i++) {
        if (view.terms[i].factor_count == 0)
            sum.constant = view.terms[i].coefficient;
        else
            slots[count++] = compile_product(c, &view.terms[i]);
    }
    if (count == 1 && view.terms[0].coefficient == 1 && sum.constant == 0)
        return slots[0];
    if (count == 1) {
        sum.op = OP_SCALE;
        sum.left = slots[0];
        sum.coefficient = view.terms[0].coefficient;
        return emit(c, sum);
    }
    sum.left = c->addends.count;
    for (uint32_t i = 0; i < count; i++) { /* the constant is last */
        const addend part = { view.terms[i].coefficient, slots[i] };
        if (!LIN_PUSH(&c->scratch, &c->addends, part))
            c->failed = true;
    }
    sum.right = c->addends.count;
    return emit(c, sum);
}

static uint32_t compile_expr(compiler *c, lin_expr e)
{
    uint32_t slot = map_find(&c->expressions, e);
    if (slot != no_slot || c->failed)
        return slot;
    slot = compile_sum(c, lin_expr_view(c->table, e));
    map_add(c, &c->expressions, e, slot);
    return slot;
}

static uint32_t final_slot(const compiler *c, uint32_t slot)
{
    return slot >= first_symbol_slot ? slot - first_symbol_slot : slot + c->symbols.count;
}

/* The code with final slots, in the caller's arena; NULL without memory. */
static const instruction *final_code(const compiler *c, lin_arena *arena)
{
    instruction *code = LIN_NEW_ARRAY(arena, instruction, c->code.count);
    for (uint32_t i = 0; code != NULL && i < c->code.count; i++) {
        code[i] = c->code.items[i];
        if (code[i].op == OP_SUM)
            continue;
        code[i].left = final_slot(c, code[i].left);
        if (code[i].op != OP_POWER && code[i].op != OP_SCALE)
            code[i].right = final_slot(c, code[i].right);
    }
    return code;
}

static const addend *final_addends(const compiler *c, lin_arena *arena)
{
    addend *addends = LIN_NEW_ARRAY(arena, addend, c->addends.count);
    for (uint32_t i = 0; addends != NULL && i < c->addends.count; i++)
        addends[i] =
            (addend){ c->addends.items[i].coefficient, final_slot(c, c->addends.items[i].slot) };
    return addends;
}

static lin_expr_program *finish(const compiler *c, lin_arena *arena, uint32_t *wanted,
                                uint32_t count)
{
    lin_expr_program *program = LIN_NEW(arena, lin_expr_program);
    lin_symbol *symbols = LIN_NEW_ARRAY(arena, lin_symbol, c->symbols.count);
    const instruction *code = final_code(c, arena);
    const addend *addends = final_addends(c, arena);
    if (program == NULL || symbols == NULL || code == NULL || addends == NULL)
        return NULL;
    if (c->symbols.count != 0)
        memcpy(symbols, c->symbols.items, c->symbols.count * sizeof(*symbols));
    for (uint32_t i = 0; i < count; i++)
        if (wanted[i] != no_slot)
            wanted[i] = final_slot(c, wanted[i]);
    *program = (lin_expr_program){ symbols, c->symbols.count, code, c->code.count,
                                   addends, wanted,           count };
    return program;
}

lin_expr_program *lin_expr_compile(lin_arena *arena, const lin_expr_table *table,
                                   const lin_expr *wanted, uint32_t count)
{
    uint32_t *slots = LIN_NEW_ARRAY(arena, uint32_t, count);
    if (slots == NULL)
        return NULL;
    compiler c = { .table = table };
    lin_arena_init(&c.scratch, &arena->allocator);
    for (uint32_t i = 0; i < count; i++)
        slots[i] = wanted[i] == LIN_EXPR_INVALID ? no_slot : compile_expr(&c, wanted[i]);
    /* The caller's arena must not jump over the scratch one. */
    jmp_buf *on_failure = arena->on_failure;
    arena->on_failure = NULL;
    lin_expr_program *program = c.failed ? NULL : finish(&c, arena, slots, count);
    arena->on_failure = on_failure;
    lin_arena_free(&c.scratch);
    return program != NULL ? program : lin_arena_fail(arena);
}

/* ---- running ---- */

static bool narrow(wide value, int64_t *out)
{
    *out = (int64_t)value;
    return *out == value;
}

static bool power_of(int64_t base, uint32_t power, int64_t *out)
{
    int64_t result = 1;
    for (;;) {
        if ((power & 1) && !lin_mul_i64(result, base, &result))
            return false;
        power >>= 1;
        if (power == 0)
            break;
        if (!lin_mul_i64(base, base, &base))
            return false;
    }
    *out = result;
    return true;
}

static bool sum_of(const instruction *i, const addend *addends, const int64_t *slots, int64_t *out)
{
    wide sum = i->constant;
    for (uint32_t j = i->left; j < i->right; j++) {
        int64_t term;
        if (!lin_mul_i64(addends[j].coefficient, slots[addends[j].slot], &term))
            return false;
        sum += term;
    }
    return narrow(sum, out);
}

static bool scaled(const instruction *i, int64_t value, int64_t *out)
{
    int64_t term;
    return lin_mul_i64(i->coefficient, value, &term) && narrow((wide)term + i->constant, out);
}

static bool run_one(const instruction *i, const addend *addends, const int64_t *slots, int64_t *out)
{
    switch (i->op) {
    case OP_PRODUCT:
        return lin_mul_i64(slots[i->left], slots[i->right], out);
    case OP_SCALE:
        return scaled(i, slots[i->left], out);
    case OP_SUM:
        return sum_of(i, addends, slots, out);
    case OP_POWER:
        return power_of(slots[i->left], i->right, out);
    case OP_FLOOR:
        return lin_floordiv_i64(slots[i->left], slots[i->right], out);
    case OP_CEIL:
        return lin_ceildiv_i64(slots[i->left], slots[i->right], out);
    case OP_REST:
        return lin_mod_i64(slots[i->left], slots[i->right], out);
    case OP_LEAST:
        *out = slots[i->left] < slots[i->right] ? slots[i->left] : slots[i->right];
        return true;
    case OP_GREATEST:
        *out = slots[i->left] > slots[i->right] ? slots[i->left] : slots[i->right];
        return true;
    }
    return false;
}

/* What is known of a slot in the careful run. A product that is too large is none yet: times 0 it
 * is 0. */
enum { GOOD, LARGE, BAD };

static bool run_product(const instruction *i, int64_t *slots, int64_t *marks, int64_t *out,
                        int64_t *mark)
{
    bool left_zero = marks[i->left] == GOOD && slots[i->left] == 0;
    bool right_zero = marks[i->right] == GOOD && slots[i->right] == 0;
    if (marks[i->left] == BAD || marks[i->right] == BAD)
        *mark = BAD;
    else if (left_zero || right_zero)
        *out = 0;
    else if (marks[i->left] != GOOD || marks[i->right] != GOOD ||
             !lin_mul_i64(slots[i->left], slots[i->right], out))
        *mark = LARGE;
    return *mark == GOOD;
}

static int64_t careful_mark(const lin_expr_program *p, const instruction *i, int64_t *slots,
                            int64_t *marks, int64_t *out)
{
    int64_t mark = GOOD;
    switch (i->op) {
    case OP_PRODUCT:
        (void)run_product(i, slots, marks, out, &mark);
        return mark;
    case OP_POWER:
        return marks[i->left] != GOOD ? BAD : run_one(i, p->addends, slots, out) ? GOOD : LARGE;
    case OP_SUM:
        for (uint32_t j = i->left; j < i->right; j++)
            if (marks[p->addends[j].slot] != GOOD)
                return BAD;
        return run_one(i, p->addends, slots, out) ? GOOD : BAD;
    default:
        if (marks[i->left] != GOOD || (i->op != OP_SCALE && marks[i->right] != GOOD))
            return BAD;
        return run_one(i, p->addends, slots, out) ? GOOD : BAD;
    }
}

static bool run_carefully(const lin_expr_program *p, int64_t *slots, int64_t *out,
                          uint32_t *out_failed)
{
    int64_t *marks = slots + p->symbol_count + p->count;
    memset(marks, 0, (p->symbol_count + (size_t)p->count) * sizeof(*marks));
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t slot = p->symbol_count + i;
        marks[slot] = careful_mark(p, &p->code[i], slots, marks, &slots[slot]);
    }
    for (uint32_t i = 0; i < p->wanted_count; i++) {
        if (p->wanted[i] == no_slot || marks[p->wanted[i]] != GOOD) {
            if (out_failed != NULL)
                *out_failed = i;
            return false;
        }
        out[i] = slots[p->wanted[i]];
    }
    return true;
}

uint32_t lin_expr_program_scratch(const lin_expr_program *program)
{
    return 2 * (program->symbol_count + program->count);
}

bool lin_expr_run(const lin_expr_program *program, const int64_t *symbols, int64_t *scratch,
                  int64_t *out, uint32_t *out_failed)
{
    const lin_expr_program *p = program;
    int64_t *results = scratch + p->symbol_count;
    for (uint32_t i = 0; i < p->symbol_count; i++)
        scratch[i] = symbols[p->symbols[i]];
    for (uint32_t i = 0; i < p->count; i++)
        if (!run_one(&p->code[i], p->addends, scratch, &results[i]))
            return run_carefully(p, scratch, out, out_failed);
    for (uint32_t i = 0; i < p->wanted_count; i++) {
        if (p->wanted[i] == no_slot)
            return run_carefully(p, scratch, out, out_failed);
        out[i] = scratch[p->wanted[i]];
    }
    return true;
}

/* ---- one expression ---- */

static bool evaluate_atom(const lin_expr_table *table, lin_atom atom, const int64_t *symbols,
                          int64_t *out)
{
    lin_atom_info info = lin_expr_atom(table, atom);
    int64_t pair[2];
    if (info.kind == LIN_ATOM_SYMBOL) {
        *out = symbols[info.symbol];
        return true;
    }
    static const opcode codes[] = { OP_SUM, OP_FLOOR, OP_CEIL, OP_REST, OP_LEAST, OP_GREATEST };
    const instruction i = { .op = codes[info.kind], .left = 0, .right = 1 };
    return lin_expr_evaluate(table, info.left, symbols, &pair[0]) &&
           lin_expr_evaluate(table, info.right, symbols, &pair[1]) && run_one(&i, NULL, pair, out);
}

static bool evaluate_term(const lin_expr_table *table, const lin_term *term, const int64_t *symbols,
                          int64_t *out)
{
    int64_t product = 1;
    bool fits = true, zero = false;
    for (uint32_t i = 0; i < term->factor_count; i++) {
        int64_t value;
        if (!evaluate_atom(table, term->factors[i].atom, symbols, &value))
            return false;
        zero = zero || value == 0;
        fits = fits && power_of(value, term->factors[i].power, &value) &&
               lin_mul_i64(product, value, &product);
    }
    if (zero)
        *out = 0;
    return zero || (fits && lin_mul_i64(term->coefficient, product, out));
}

bool lin_expr_evaluate(const lin_expr_table *table, lin_expr e, const int64_t *symbols,
                       int64_t *out)
{
    lin_terms view = lin_expr_view(table, e);
    wide sum = 0;
    for (uint32_t i = 0; i < view.count; i++) {
        int64_t term;
        if (!evaluate_term(table, &view.terms[i], symbols, &term))
            return false;
        sum += term;
    }
    return e != LIN_EXPR_INVALID && narrow(sum, out);
}
