/* SPDX-License-Identifier: MIT */

/*
 * The bytes of a GGUF file's tensors as the storage of a program's parameters.
 *
 *     layers[*].mlp.up.weight                  the program's
 *     model.layers.3.mlp.up_proj.weight        what it is bound to, for one element of the array
 *     blk.3.ffn_up.weight                      what GGUF calls that: layer, stem, ending
 *
 * A parameter may be several tensors of the file (a joint projection that was split), or a part of
 * one (an expert of those that lie in one tensor). Cost: a few look-ups a parameter.
 */

#include "source/gguf.h"

#include "source/parameters.h"

#include <string.h>

typedef struct storer {
    lin_arena *arena; /* the source's; has a jump target */
    const lin_gguf_model *model;
    lin_source *source;
    lin_text text;
    bool *used; /* by tensor */
    LIN_LIST(lin_weight_storage) storage;
    LIN_LIST(const char *) assumptions;
    uint32_t missing;
    const char *first_missing;
    const char *first_unequal;
    uint32_t unequal;
} storer;

/* A name of the model's library in parts. */
typedef struct parsed_name {
    bool in_layer;
    int64_t layer;
    const char *stem;   /* numbers after the layer's are '*' */
    const char *ending; /* ".weight", ".bias" or "" */
    bool one_expert;    /* the stem's '*' was a number: one of those in the tensor */
} parsed_name;

/* What a parameter takes in the file. */
typedef struct found {
    bool is_found;
    int64_t bytes, elements;
    const char *format; /* of the first tensor; "mixed" */
} found;

/* ---- names ---- */

static bool is_number(const char *part, uint64_t length)
{
    return length > 0 && strspn(part, "0123456789") >= length;
}

static void add_part(lin_text *stem, const char *part, uint64_t length)
{
    if (stem->length > 0)
        lin_text_append(stem, ".", 1);
    lin_text_append(stem, part, length);
}

static const char *ending_of(const char *name)
{
    static const char *const endings[] = { ".weight", ".bias" };
    const size_t length = strlen(name);
    for (uint32_t i = 0; i < ARRAY_LEN(endings); i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strcmp(name + length - end, endings[i]) == 0)
            return name + length - end;
    }
    return name + length;
}

static parsed_name parse_name(storer *s, const char *name)
{
    parsed_name parsed = { .ending = ending_of(name) };
    lin_text_clear(&s->text);
    for (const char *part = name; part < parsed.ending;) {
        const char *end = part + strcspn(part, ".");
        if (end > parsed.ending)
            end = parsed.ending;
        const uint64_t length = (uint64_t)(end - part);
        const bool number = is_number(part, length);
        if (number && !parsed.in_layer && lin_parse_i64(part, length, &parsed.layer)) {
            parsed.in_layer = true;
            lin_text_clear(&s->text);
        } else if (number || (length == 3 && memcmp(part, "{*}", 3) == 0)) {
            parsed.one_expert = number;
            add_part(&s->text, "*", 1);
        } else {
            add_part(&s->text, part, length);
        }
        part = *end == '.' ? end + 1 : end;
    }
    if (s->text.failed)
        (void)lin_arena_fail(s->arena);
    parsed.stem = lin_arena_text(s->arena, lin_text_data(&s->text), s->text.length);
    return parsed;
}

/* ---- tensors ---- */

static void add_tensor(storer *s, const lin_tensor *tensor, const parsed_name *name, found *total)
{
    const int64_t count = name->one_expert && tensor->rank > 2 ? tensor->shape[0] : 1;
    const char *format = s->model->tensors.formats[tensor->format].name;
    int64_t elements = 0;
    (void)lin_tensor_elements(tensor, &elements); /* was checked when it was read */
    if (count < 1 || tensor->bytes % count != 0 ||
        !lin_add_i64(total->bytes, tensor->bytes / count, &total->bytes) ||
        !lin_add_i64(total->elements, elements / count, &total->elements))
        return;
    total->format = !total->is_found || strcmp(total->format, format) == 0 ? format : "mixed";
    total->is_found = true;
    s->used[tensor - s->model->tensors.items] = true;
}

static const lin_tensor *find_tensor(storer *s, const char *stem, uint64_t length,
                                     const parsed_name *name)
{
    const char *ending =
        memchr(stem, '.', length) != NULL && strchr(name->stem, '*') == NULL ? "" : name->ending;
    const char *full = name->in_layer
                           ? lin_arena_format(s->arena, "blk.%lld.%.*s%s", (long long)name->layer,
                                              (int)length, stem, ending)
                           : lin_arena_format(s->arena, "%.*s%s", (int)length, stem, ending);
    return lin_tensor_find(&s->model->tensors, full);
}

/* "ffn_up.*": a tensor for each expert, from 0 on. */
static void add_numbered(storer *s, const char *stem, uint64_t length, const parsed_name *name,
                         found *total)
{
    for (uint32_t i = 0; i < s->model->tensors.count; i++) {
        const char *one = lin_arena_format(s->arena, "%.*s%u", (int)(length - 1), stem, i);
        const lin_tensor *tensor = find_tensor(s, one, strlen(one), name);
        if (tensor == NULL)
            return;
        add_tensor(s, tensor, name, total);
    }
}

/* All tensors that `names` joins, or none. */
static found find_all(storer *s, const char *names, const parsed_name *name)
{
    found total = { 0 };
    for (const char *stem = names; *stem != '\0';) {
        const uint64_t length = strcspn(stem, "+");
        if (stem[length - 1] == '*') {
            add_numbered(s, stem, length, name, &total);
        } else {
            const lin_tensor *tensor = find_tensor(s, stem, length, name);
            if (tensor == NULL)
                return (found){ 0 };
            add_tensor(s, tensor, name, &total);
        }
        stem += length + (stem[length] == '+');
    }
    return total;
}

static found find_stored(storer *s, const char *tensor)
{
    const parsed_name name = parse_name(s, tensor);
    const char *names;
    for (uint32_t i = 0; (names = lin_gguf_tensor_names(name.in_layer, name.stem, i)) != NULL;
         i++) {
        const found stored = find_all(s, names, &name);
        if (stored.is_found)
            return stored;
    }
    return (found){ 0 };
}

/* ---- parameters ---- */

static void note_differences(storer *s, const lin_parameter *parameter, const char *path,
                             const found *stored)
{
    if (!stored->is_found && s->missing++ == 0)
        s->first_missing = path;
    if (stored->is_found && stored->elements != parameter->elements && s->unequal++ == 0)
        s->first_unequal = path;
}

static void push(storer *s, const char *path, const found *stored)
{
    const lin_weight_storage storage = {
        .path = path, .format = stored->format, .bytes = stored->bytes, .elements = stored->elements
    };
    LIN_PUSH(s->arena, &s->storage, storage);
}

/* One row for all elements of an array when they are stored alike. */
static void store_parameter(storer *s, const lin_parameter *parameter)
{
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    const uint32_t begin = s->storage.count;
    bool alike = true;
    found first = { 0 };
    do {
        const char *path = lin_parameter_path(s->arena, parameter, indices);
        const char *tensor = lin_parameter_tensor(s->arena, &s->text, parameter, indices);
        const found stored = tensor != NULL ? find_stored(s, tensor) : (found){ 0 };
        note_differences(s, parameter, path, &stored);
        if (stored.is_found)
            push(s, path, &stored);
        if (!first.is_found)
            first = stored;
        alike = alike && stored.is_found && stored.bytes == first.bytes &&
                strcmp(stored.format, first.format) == 0;
    } while (lin_parameter_next(parameter, indices));
    if (!alike || parameter->repeat_count == 0)
        return;
    s->storage.count = begin;
    push(s, parameter->path, &first);
}

/* ---- what one side lacks ---- */

static void assume(storer *s, const char *text)
{
    LIN_PUSH(s->arena, &s->assumptions, text);
}

/* Tables that an engine computes otherwise, and the vocabulary's. */
static bool is_buffer(const char *name)
{
    return lin_pattern_matches("rope_f*.weight", name) ||
           lin_pattern_matches("*attn_rot_embd.weight", name);
}

static void report_unused(storer *s)
{
    const lin_tensor_list *list = &s->model->tensors;
    const char *first = NULL;
    uint32_t count = 0;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        if (s->used[i] || is_buffer(list->items[i].name))
            continue;
        if (count++ == 0)
            first = list->items[i].name;
        if (!lin_add_i64(bytes, list->items[i].bytes, &bytes))
            bytes = INT64_MAX;
    }
    char shown[LIN_TENSOR_SHOWN];
    if (count == 0)
        return;
    lin_tensor_show(shown, first);
    assume(s, lin_arena_format(s->arena,
                               "%u tensor%s of the file (%lld bytes) %s no parameter of the "
                               "program and %s not counted: `%s`%s",
                               count, count == 1 ? "" : "s", (long long)bytes,
                               count == 1 ? "is" : "are", count == 1 ? "is" : "are", shown,
                               count == 1 ? "" : ", …"));
}

static void lin_report(storer *s)
{
    if (s->model->tensors.count == 0) {
        assume(s, "the file holds no tensors: weights as the program declares them");
        return;
    }
    assume(s, "weights have the bytes they have in the file; they are computed with as they lie "
              "there");
    if (s->missing > 0)
        assume(s, lin_arena_format(s->arena,
                                   "%u parameter%s not in the file, counted as declared: `%s`%s",
                                   s->missing, s->missing == 1 ? " is" : "s are", s->first_missing,
                                   s->missing == 1 ? "" : ", …"));
    if (s->unequal > 0)
        assume(s, lin_arena_format(s->arena,
                                   "%u parameter%s another number of elements in the file, whose "
                                   "bytes are taken: `%s`%s",
                                   s->unequal, s->unequal == 1 ? " has" : "s have",
                                   s->first_unequal, s->unequal == 1 ? "" : ", …"));
    report_unused(s);
}

/* ---- the whole ---- */

static linnet_status store_all(storer *s, linnet_error *err)
{
    const lin_parameter *parameters;
    uint32_t count;
    linnet_status status = lin_source_parameters(s->arena, s->source, &parameters, &count, err);
    if (status != LINNET_OK)
        return status;
    s->used = LIN_NEW_ARRAY(s->arena, bool, s->model->tensors.count);
    for (uint32_t i = 0; i < s->source->storage_count; i++)
        LIN_PUSH(s->arena, &s->storage, s->source->storage[i]);
    for (uint32_t i = 0; i < s->source->assumption_count; i++)
        assume(s, s->source->assumptions[i]);
    for (uint32_t i = 0; s->model->tensors.count > 0 && i < count; i++)
        store_parameter(s, &parameters[i]);
    lin_report(s);
    s->source->storage = s->storage.items;
    s->source->storage_count = s->storage.count;
    s->source->assumptions = s->assumptions.items;
    s->source->assumption_count = s->assumptions.count;
    return LINNET_OK;
}

static linnet_status store_guarded(storer *s, linnet_error *err)
{
    jmp_buf out_of_memory;
    if (setjmp(out_of_memory) != 0)
        return lin_fail_memory(err);
    s->arena->on_failure = &out_of_memory;
    return store_all(s, err);
}

linnet_status lin_gguf_store(const lin_gguf_model *model, lin_source *source, linnet_error *err)
{
    jmp_buf *const outer = source->arena.on_failure;
    storer s = { .arena = &source->arena, .model = model, .source = source };
    lin_text_init(&s.text, &source->arena.allocator);
    const linnet_status status = store_guarded(&s, err);
    source->arena.on_failure = outer;
    lin_text_free(&s.text);
    return status;
}
