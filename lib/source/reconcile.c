/* SPDX-License-Identifier: MIT */

/*
 * A checkpoint's tensors against a program's parameters.
 *
 *     bindings --braces filled in--> names --found in--> tensors
 *        |                                                  | bytes, dtypes
 *        v                                                  v
 *     parameters <------ presence, ties, storage --------- elements
 *
 * A row is a parameter with all its elements ("layers[*].mlp.up.weight" has one a layer). Names
 * that are not found as the family spells them are tried with the prefixes by which checkpoints of
 * one model differ. What a tensor's bytes are is then known exactly; what a config says of them is
 * not asked any more.
 *
 * Cost: a probe of the name table for each element, a pass over the tensors.
 */

#include "source/reconcile.h"

#include <string.h>

enum { MAX_ELEMENTS = 4 << 20 };

const char *lin_reconcile_name(reconciler *r, const char *tensor, const lin_parameter *parameter,
                               const int64_t *indices, int64_t part)
{
    const char *star = strstr(tensor, "{*}");
    lin_text_clear(&r->text);
    if (star != NULL) {
        const char *head = lin_arena_text(&r->scratch, tensor, (uint64_t)(star - tensor));
        lin_binding_tensor_name(&r->text, head, indices, parameter->repeat_count);
        lin_text_i64(&r->text, part);
        tensor = star + strlen("{*}");
    }
    lin_binding_tensor_name(&r->text, tensor, indices, parameter->repeat_count);
    if (r->text.failed)
        (void)lin_arena_fail(&r->scratch);
    return lin_text_data(&r->text);
}

/* Whole numbers where the program has fractions are packed values. */
static bool is_packed(const reconciler *r, const lin_tensor *tensor)
{
    const lin_tensor_format *format = &r->tensors->formats[tensor->format];
    return format->is_dtype && lin_dtype_class_of(format->dtype) != LIN_CLASS_FLOAT;
}

linnet_status lin_reconcile_give(reconciler *r, uint32_t element, const lin_tensor *tensor)
{
    reconcile_element *e = &r->elements[element];
    const uint32_t number = (uint32_t)(tensor - r->tensors->items);
    int64_t elements = 0;
    if (e->parts == 0)
        e->format = tensor->format;
    if (r->owners[number] == RECONCILE_NOBODY)
        r->owners[number] = (int32_t)element;
    e->parts++;
    if (tensor->bytes < 0) {
        e->is_unknown = true;
        return LINNET_OK;
    }
    e->is_packed = e->is_packed || is_packed(r, tensor);
    if (!lin_tensor_elements(tensor, &elements) ||
        !lin_add_i64(e->elements, elements, &e->elements) ||
        !lin_add_i64(e->bytes, tensor->bytes, &e->bytes))
        return lin_fail(r->err, LINNET_ERROR_OVERFLOW,
                        "the tensors of a parameter pass 2^63 - 1 bytes");
    return LINNET_OK;
}

/* ---- names ---- */

/* By what names of one model differ among checkpoints: saved from the class with a head or from the
 * one below it, before or after the language model of a pair became a part of its model. */
static const struct prefix_change {
    const char *from, *to;
} prefix_changes[] = {
    { "", "" },
    { "model.language_model.", "language_model.model." },
    { "language_model.model.", "model.language_model." },
    { "model.language_model.", "model." },
    { "language_model.model.", "model." },
    { "model.", "" },
    { "transformer.", "" },
    { "language_model.", "" },
    { "", "model." },
    { "", "transformer." },
    { "", "language_model." },
    { "", "model.language_model." },
    { "model.", "model.language_model." },
    { "model.", "language_model.model." },
    { "", "base_model.model." },
};

static const char *change_prefix(reconciler *r, const char *tensor, uint32_t change)
{
    const struct prefix_change *c = &prefix_changes[change];
    const size_t length = strlen(c->from);
    if (strncmp(tensor, c->from, length) != 0)
        return NULL;
    return change == 0 ? tensor : lin_arena_format(r->arena, "%s%s", c->to, tensor + length);
}

/* As the checkpoint spells the tensor of a path's first element, when it is there under some
 * prefix; else as it is. */
static const char *spell(reconciler *r, const char *tensor)
{
    static const int64_t zeros[LIN_PARAMETER_REPEATS] = { 0 };
    static const lin_parameter nested = { .repeat_count = LIN_PARAMETER_REPEATS };
    for (uint32_t i = 0; i < ARRAY_LEN(prefix_changes); i++) {
        const char *changed = change_prefix(r, tensor, i);
        if (changed != NULL &&
            lin_tensor_find(r->tensors, lin_reconcile_name(r, changed, &nested, zeros, 0)) != NULL)
            return changed;
    }
    return tensor;
}

static uint64_t index_digits(const char *at)
{
    const uint64_t digits = *at == '.' ? strspn(at + 1, "0123456789") : 0;
    return digits > 0 && (at[1 + digits] == '.' || at[1 + digits] == '\0') ? digits : 0;
}

const char *lin_reconcile_pattern(reconciler *r, const char *path)
{
    bool any = false;
    lin_text_clear(&r->text);
    for (const char *at = path; *at != '\0';) {
        const uint64_t digits = index_digits(at);
        any = any || digits > 0;
        lin_text_append(&r->text, digits > 0 ? "[*]" : at, digits > 0 ? 3 : 1);
        at += digits + 1;
    }
    if (r->text.failed)
        (void)lin_arena_fail(&r->scratch);
    return any ? lin_arena_text(&r->scratch, lin_text_data(&r->text), r->text.length) : path;
}

const char *lin_reconcile_tensor(reconciler *r, const reconcile_row *row, const int64_t *indices)
{
    if (!row->by_element)
        return row->tensor;
    const char *path = lin_parameter_path(&r->scratch, &row->parameter, indices);
    const lin_name name = lin_names_find(r->concrete, path, strlen(path));
    return name == 0 ? row->tensor : r->bindings.items[r->concrete_bindings.items[name]].tensor;
}

static bool has_binding(const reconciler *r, const char *path)
{
    for (uint32_t i = 0; i < r->bindings.count; i++)
        if (strcmp(r->bindings.items[i].path, path) == 0)
            return true;
    return false;
}

static const char *replace_end(reconciler *r, const char *text, const char *end, const char *by)
{
    if (!lin_path_ends_with(text, end))
        return NULL;
    return lin_arena_format(r->arena, "%.*s%s", (int)(strlen(text) - strlen(end)), text, by);
}

/* A bias beside a weight that is bound, in the checkpoint and not in the bindings: bound too. Where
 * the program has none, the binding is dropped again. */
static void bind_biases(reconciler *r)
{
    static const int64_t zeros[LIN_PARAMETER_REPEATS] = { 0 };
    static const lin_parameter nested = { .repeat_count = LIN_PARAMETER_REPEATS };
    const uint32_t count = r->bindings.count;
    for (uint32_t i = 0; i < count; i++) {
        const char *path = replace_end(r, r->bindings.items[i].path, ".weight", ".bias");
        const char *tensor = replace_end(r, r->bindings.items[i].tensor, ".weight", ".bias");
        if (path == NULL || tensor == NULL || has_binding(r, path) ||
            lin_tensor_find(r->tensors, lin_reconcile_name(r, tensor, &nested, zeros, 0)) == NULL)
            continue;
        const lin_weight_binding binding = { path, tensor };
        LIN_PUSH(&r->scratch, &r->bindings, binding);
    }
}

/* ---- rows ---- */

typedef struct binding_list {
    LIN_LIST(lin_weight_binding) rows;
} binding_list;

/* Bindings spelt as the checkpoint does, those of concrete paths by path. `out` has them all with
 * the program's own paths, so that the program lists its parameters. */
static void read_bindings(reconciler *r, binding_list *out)
{
    r->concrete = lin_names_new(&r->scratch);
    for (uint32_t i = 0; i < r->bindings.count; i++) {
        lin_weight_binding *binding = &r->bindings.items[i];
        binding->tensor = spell(r, binding->tensor);
        const char *pattern = lin_reconcile_pattern(r, binding->path);
        const lin_weight_binding listed = { pattern, binding->tensor };
        LIN_PUSH(&r->scratch, &out->rows, listed);
        if (pattern == binding->path)
            continue;
        const lin_name name = lin_names_add(r->concrete, binding->path, strlen(binding->path));
        while (r->concrete_bindings.count <= name)
            LIN_PUSH(&r->scratch, &r->concrete_bindings, 0);
        r->concrete_bindings.items[name] = i;
    }
}

/* The source with other bindings. */
static lin_source rebound(const reconciler *r, const lin_weight_binding *bindings, uint32_t count)
{
    lin_source source = *r->source;
    source.bindings = bindings;
    source.binding_count = count;
    return source;
}

static linnet_status list_parameters(reconciler *r, const lin_source *source,
                                     const lin_parameter **out, uint32_t *out_count)
{
    return lin_source_parameters(&r->scratch, source, out, out_count, r->err);
}

static linnet_status fail_many(reconciler *r)
{
    return lin_fail(r->err, LINNET_ERROR_UNSUPPORTED,
                    "the program has more than %d parameters to look for", MAX_ELEMENTS);
}

/* Which bindings are about the parameter: its own path, paths of its elements. */
static void bind_row(reconciler *r, const binding_list *listed, reconcile_row *row)
{
    const lin_parameter *parameter = &row->parameter;
    for (uint32_t i = 0; i < listed->rows.count; i++) {
        if (strcmp(listed->rows.items[i].path, parameter->path) != 0)
            continue;
        const lin_weight_binding *binding = &r->bindings.items[i];
        if (strcmp(binding->path, parameter->path) != 0)
            row->by_element = true;
        else if (row->tensor == NULL)
            row->tensor = binding->tensor;
        if (parameter->rank > 0 && strstr(binding->tensor, "{*}") != NULL)
            row->parts =
                parameter->shape[0] > MAX_ELEMENTS ? MAX_ELEMENTS : (uint32_t)parameter->shape[0];
    }
}

static linnet_status add_row(reconciler *r, const binding_list *listed,
                             const lin_parameter *parameter, uint64_t *total)
{
    reconcile_row row = { .parameter = *parameter, .parts = 1 };
    int64_t count = 1, names;
    for (uint32_t i = 0; i < parameter->repeat_count; i++)
        if (!lin_mul_i64(count, parameter->repeats[i], &count) || count > MAX_ELEMENTS)
            return fail_many(r);
    bind_row(r, listed, &row);
    if (!lin_mul_i64(count, row.parts, &names) || names > MAX_ELEMENTS ||
        (*total += (uint64_t)names) > MAX_ELEMENTS)
        return fail_many(r);
    row.count = (uint32_t)count;
    if (r->rows.count > 0) {
        const reconcile_row *last = &r->rows.items[r->rows.count - 1];
        row.first = last->first + last->count;
    }
    LIN_PUSH(&r->scratch, &r->rows, row);
    return LINNET_OK;
}

static linnet_status make_rows(reconciler *r)
{
    binding_list listed = { { NULL, 0, 0 } };
    read_bindings(r, &listed);
    const lin_source source = rebound(r, listed.rows.items, listed.rows.count);
    const lin_parameter *parameters = NULL;
    uint32_t count = 0;
    uint64_t total = 0;
    linnet_status status = list_parameters(r, &source, &parameters, &count);
    for (uint32_t i = 0; i < count && status == LINNET_OK; i++)
        status = add_row(r, &listed, &parameters[i], &total);
    if (status != LINNET_OK)
        return status;
    r->elements = LIN_NEW_ARRAY(&r->scratch, reconcile_element, total);
    r->owners = LIN_NEW_ARRAY(&r->scratch, int32_t, r->tensors->count);
    for (uint32_t i = 0; i < r->tensors->count; i++)
        r->owners[i] = RECONCILE_NOBODY;
    return LINNET_OK;
}

static linnet_status match_element(reconciler *r, const reconcile_row *row, uint32_t element,
                                   const int64_t *indices)
{
    const char *name = lin_reconcile_tensor(r, row, indices);
    r->elements[element].is_unbound = name == NULL;
    for (uint32_t part = 0; name != NULL && part < row->parts; part++) {
        const lin_tensor *tensor = lin_tensor_find(
            r->tensors, lin_reconcile_name(r, name, &row->parameter, indices, part));
        linnet_status status = tensor == NULL ? LINNET_OK : lin_reconcile_give(r, element, tensor);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

static linnet_status match_row(reconciler *r, const reconcile_row *row)
{
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    linnet_status status = LINNET_OK;
    for (uint32_t k = 0; k < row->count && status == LINNET_OK; k++) {
        status = match_element(r, row, row->first + k, indices);
        (void)lin_parameter_next(&row->parameter, indices);
    }
    return status;
}

static linnet_status match_rows(reconciler *r)
{
    linnet_status status = LINNET_OK;
    for (uint32_t i = 0; i < r->rows.count && status == LINNET_OK; i++)
        status = match_row(r, &r->rows.items[i]);
    return status;
}

/* ---- presence ---- */

static void count_present(reconciler *r)
{
    for (uint32_t i = 0; i < r->rows.count; i++) {
        reconcile_row *row = &r->rows.items[i];
        for (uint32_t k = 0; k < row->count; k++) {
            row->bound += !r->elements[row->first + k].is_unbound;
            row->present += r->elements[row->first + k].parts >= row->parts;
        }
    }
}

/* The embedding that a head without a tensor shares: of as many elements, present. */
static const reconcile_row *find_embedding(const reconciler *r, const reconcile_row *head)
{
    for (uint32_t i = 0; i < r->rows.count; i++) {
        const reconcile_row *row = &r->rows.items[i];
        if (row != head && row->count == 1 && row->present == 1 && row->parameter.rank == 2 &&
            row->parameter.elements == head->parameter.elements &&
            strstr(row->parameter.path, "embed") != NULL)
            return row;
    }
    return NULL;
}

/* Checkpoints leave a tied head out, whatever the config says of it. */
static void tie_heads(reconciler *r)
{
    for (uint32_t i = 0; i < r->rows.count; i++) {
        reconcile_row *row = &r->rows.items[i];
        if (row->count != 1 || row->present != 0 || row->parameter.rank != 2 ||
            row->tensor == NULL || strstr(row->parameter.path, "head") == NULL)
            continue;
        const reconcile_row *embedding = find_embedding(r, row);
        if (embedding == NULL)
            continue;
        lin_reconcile_note(r, "`%s` is not in the checkpoint: the head is tied to `%s`",
                           row->tensor, embedding->tensor);
        row->tensor = embedding->tensor;
        row->present = 1;
        row->is_tied = true;
        r->elements[row->first] = r->elements[embedding->first];
    }
}

static const lin_parameter *find_parameter(const lin_parameter *parameters, uint32_t count,
                                           const char *path)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(parameters[i].path, path) == 0)
            return &parameters[i];
    return NULL;
}

/* A parameter is optional when the program does without its binding. */
static linnet_status judge_optional(reconciler *r)
{
    LIN_LIST(lin_weight_binding) whole = { NULL, 0, 0 };
    const lin_parameter *parameters = NULL;
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->rows.count; i++) {
        const reconcile_row *row = &r->rows.items[i];
        const lin_weight_binding binding = { row->parameter.path,
                                             row->tensor != NULL ? row->tensor : "" };
        if (row->present == row->count)
            LIN_PUSH(&r->scratch, &whole, binding);
    }
    const lin_source source = rebound(r, whole.items, whole.count);
    linnet_status status = list_parameters(r, &source, &parameters, &count);
    for (uint32_t i = 0; i < r->rows.count && status == LINNET_OK; i++)
        if (r->rows.items[i].present < r->rows.items[i].count)
            r->rows.items[i].is_optional =
                find_parameter(parameters, count, r->rows.items[i].parameter.path) == NULL;
    return status;
}

/* ---- shapes ---- */

static int64_t vocabulary(const reconciler *r)
{
    for (uint32_t i = 0; i < r->source->setting_count; i++)
        if (strcmp(r->source->settings[i].name, "Vocab") == 0)
            return r->source->settings[i].integer;
    return -1;
}

/* Rows past the vocabulary: the tensor holds whole rows of the program's other axes, more of them
 * than there are words. */
static bool is_padded(const reconciler *r, const lin_parameter *parameter, int64_t elements,
                      int64_t *out_rows)
{
    const int64_t words = vocabulary(r);
    if (words < 1 || parameter->rank == 0 || parameter->rank > 2 || elements < parameter->elements)
        return false;
    bool has_words = false;
    for (uint32_t i = 0; i < parameter->rank; i++)
        has_words = has_words || parameter->shape[i] == words;
    const int64_t width = parameter->elements / words;
    if (!has_words || width < 1 || elements % width != 0)
        return false;
    *out_rows = elements / width;
    return true;
}

static linnet_status fail_elements(reconciler *r, const char *name, const reconcile_element *e,
                                   const lin_parameter *parameter)
{
    char shown[LIN_TENSOR_SHOWN];
    lin_tensor_show(shown, name);
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT,
                       (lin_place){ .source = r->tensors->source_name }, NULL,
                       "tensor `%s` has %lld elements, the config makes it %lld: it belongs to "
                       "another model",
                       shown, (long long)e->elements, (long long)parameter->elements);
}

static linnet_status check_element(reconciler *r, const reconcile_row *row, uint32_t k,
                                   const int64_t *indices)
{
    const reconcile_element *e = &r->elements[row->first + k];
    int64_t rows = 0;
    if (e->is_unbound || e->parts < row->parts || e->is_unknown || e->is_packed || row->is_tied ||
        e->elements == row->parameter.elements)
        return LINNET_OK;
    const char *name =
        lin_reconcile_name(r, lin_reconcile_tensor(r, row, indices), &row->parameter, indices, 0);
    if (row->count != 1 || !is_padded(r, &row->parameter, e->elements, &rows))
        return fail_elements(r, name, e, &row->parameter);
    lin_reconcile_note(r,
                       "`%s` has %lld rows in the checkpoint, the vocabulary %lld: the bytes are "
                       "the checkpoint's",
                       name, (long long)rows, (long long)vocabulary(r));
    return LINNET_OK;
}

static linnet_status check_shapes(reconciler *r)
{
    for (uint32_t i = 0; i < r->rows.count; i++) {
        const reconcile_row *row = &r->rows.items[i];
        int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
        for (uint32_t k = 0; k < row->count; k++) {
            linnet_status status = check_element(r, row, k, indices);
            if (status != LINNET_OK)
                return status;
            (void)lin_parameter_next(&row->parameter, indices);
        }
    }
    return LINNET_OK;
}

/* ---- the dtype ---- */

/* The float dtype that holds more than half of the checkpoint's bytes. */
static const lin_tensor_format *main_dtype(const lin_tensor_list *tensors)
{
    for (uint32_t i = 0; i < tensors->format_count; i++) {
        const lin_tensor_format *format = &tensors->formats[i];
        if (format->is_dtype && lin_dtype_class_of(format->dtype) == LIN_CLASS_FLOAT &&
            format->bytes > tensors->bytes / 2)
            return format;
    }
    return NULL;
}

/* A config that says no dtype leaves it to the checkpoint. */
static void take_dtype(reconciler *r)
{
    lin_source *source = r->source;
    const lin_tensor_format *format = main_dtype(r->tensors);
    if (r->has_dtype || format == NULL || r->tensors->bytes < 0)
        return;
    lin_setting *settings = LIN_NEW_ARRAY(r->arena, lin_setting, source->setting_count);
    for (uint32_t i = 0; i < source->setting_count; i++) {
        settings[i] = source->settings[i];
        if (settings[i].is_dtype && strcmp(settings[i].name, "T") == 0)
            settings[i].dtype = format->dtype;
    }
    source->settings = settings;
}

/* ---- the whole ---- */

static linnet_status check_any(reconciler *r)
{
    for (uint32_t i = 0; i < r->rows.count; i++)
        if (r->rows.items[i].present > 0)
            return LINNET_OK;
    const char *expected = r->bindings.count > 0 ? r->bindings.items[0].tensor : "nothing";
    char shown[LIN_TENSOR_SHOWN], wanted[LIN_TENSOR_SHOWN];
    lin_tensor_show(shown, r->tensors->count > 0 ? r->tensors->items[0].name : "nothing");
    lin_tensor_show(wanted, expected);
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT,
                       (lin_place){ .source = r->tensors->source_name }, NULL,
                       "no tensor of the checkpoint is one of the model: it holds `%s`, `%s` is "
                       "looked for",
                       shown, wanted);
}

static linnet_status reconcile(reconciler *r)
{
    if (setjmp(r->failure) != 0)
        return lin_fail_memory(r->err);
    r->arena->on_failure = &r->failure;
    r->scratch.on_failure = &r->failure;
    for (uint32_t i = 0; i < r->source->binding_count; i++)
        LIN_PUSH(&r->scratch, &r->bindings, r->source->bindings[i]);
    take_dtype(r);
    bind_biases(r);
    linnet_status status = make_rows(r);
    if (status == LINNET_OK)
        status = match_rows(r);
    if (status == LINNET_OK)
        status = lin_reconcile_companions(r);
    if (status != LINNET_OK)
        return status;
    count_present(r);
    tie_heads(r);
    status = check_any(r);
    if (status == LINNET_OK)
        status = judge_optional(r);
    if (status == LINNET_OK)
        status = check_shapes(r);
    if (status != LINNET_OK)
        return status;
    lin_reconcile_answer(r);
    lin_reconcile_notes(r);
    return LINNET_OK;
}

linnet_status lin_reconcile(lin_source *source, const lin_checkpoint *checkpoint, bool has_dtype,
                            const char *const *ignored, lin_reconciled *out, linnet_error *err)
{
    reconciler r = { .source = source,
                     .checkpoint = checkpoint,
                     .tensors = &checkpoint->tensors,
                     .ignored = ignored,
                     .has_dtype = has_dtype,
                     .arena = &source->arena,
                     .err = err };
    jmp_buf *on_failure = source->arena.on_failure;
    lin_arena_init(&r.scratch, &source->arena.allocator);
    lin_text_init(&r.text, &source->arena.allocator);
    linnet_status status = reconcile(&r);
    source->arena.on_failure = on_failure;
    lin_text_free(&r.text);
    lin_arena_free(&r.scratch);
    if (status == LINNET_OK && out != NULL)
        *out = r.result;
    return status;
}
