/* SPDX-License-Identifier: MIT */

/*
 * Which parameters a quantization stores otherwise. A method (quantization_methods.c) says how a
 * matrix is stored; here every matrix of a linear layer gets that, by the name it has in the
 * checkpoint, unless the config leaves it out. Cost: one look at each parameter, and where names
 * are left out one at each element of its arrays.
 */

#include "source/quantization_read.h"

#include "source/parameters.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- settings ---- */

_Noreturn void lin_quant_fail(quantizer *q, linnet_status status, const char *format, ...)
{
    char message[320];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    q->status =
        lin_fail_at(q->err, status, (lin_place){ .source = q->source_name }, NULL, "%s", message);
    longjmp(*q->on_failure, 1);
}

static const lin_json *find(const lin_json *object, const char *key)
{
    const lin_json *value = object != NULL ? lin_json_get(object, key) : NULL;
    return value != NULL && value->kind != LIN_JSON_NULL ? value : NULL;
}

_Noreturn static void wrong_type(quantizer *q, const char *key, const lin_json *found,
                                 const char *meant)
{
    lin_quant_fail(q, LINNET_ERROR_FORMAT, "`%s` is %s; %s is meant", key,
                   lin_json_kind_name(found->kind), meant);
}

int64_t lin_quant_integer(quantizer *q, const lin_json *object, const char *key, int64_t fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_INTEGER)
        wrong_type(q, key, value, "a whole number");
    return value->integer;
}

bool lin_quant_flag(quantizer *q, const lin_json *object, const char *key, bool fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_TRUE && value->kind != LIN_JSON_FALSE)
        wrong_type(q, key, value, "true or false");
    return value->kind == LIN_JSON_TRUE;
}

const char *lin_quant_word(quantizer *q, const lin_json *object, const char *key,
                           const char *fallback)
{
    const lin_json *value = find(object, key);
    if (value == NULL)
        return fallback;
    if (value->kind != LIN_JSON_STRING)
        wrong_type(q, key, value, "a string");
    return value->text;
}

const lin_json *lin_quant_object(quantizer *q, const lin_json *object, const char *key)
{
    const lin_json *value = find(object, key);
    if (value != NULL && value->kind != LIN_JSON_OBJECT)
        wrong_type(q, key, value, "an object");
    return value;
}

void lin_quant_term(quantizer *q, lin_storage_term term)
{
    if (q->term_count < LIN_STORAGE_TERMS)
        q->terms[q->term_count++] = term;
}

const lin_json *lin_quantization_find(const lin_json *config)
{
    static const char *const keys[] = { "quantization_config", "quantization" };
    static const char *const nested[] = { "text_config", "language_config", "llm_config" };
    for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
        const lin_json *found = find(config, keys[i]);
        for (uint32_t k = 0; found == NULL && k < ARRAY_LEN(nested); k++)
            found = find(find(config, nested[k]), keys[i]);
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* ---- which parameters ---- */

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "model.layers.3.mlp.up_proj" of "….up_proj.weight". */
static const char *module_of(lin_arena *arena, const char *name)
{
    static const char ending[] = ".weight";
    const size_t length = strlen(name), end = strlen(ending);
    const bool ends = length > end && strcmp(name + length - end, ending) == 0;
    return lin_arena_text(arena, name, ends ? length - end : length);
}

static const char *last_part(const char *module)
{
    const char *point = strrchr(module, '.');
    return point != NULL ? point + 1 : module;
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* An embedding or the output's matrix. */
static bool is_end(const char *part)
{
    static const char *const ends[] = { "wte",          "wpe",       "lm_head",  "output",
                                        "output_layer", "embed_out", "embed_in", "tok_embeddings" };
    return strstr(part, "embed") != NULL || is_one_of(part, ends, ARRAY_LEN(ends));
}

static bool is_matrix(const quantizer *q, const lin_parameter *parameter, const char *module)
{
    static const char *const routers[] = { "gate", "router", "layer" };
    const char *part = last_part(module);
    const bool is_stack = parameter->rank == 3;
    if (parameter->rank < 2 || parameter->rank > 3 || strstr(part, "bias") != NULL ||
        strstr(part, "norm") != NULL || strstr(part, "position") != NULL)
        return false;
    if (begins_with(parameter->block, "Conv") && strcmp(parameter->block, "Conv1D") != 0)
        return false;
    if (q->experts_only && (!is_stack || strstr(module, "expert") == NULL))
        return false;
    if (is_end(part))
        return q->all_matrices;
    return q->all_matrices || !is_one_of(part, routers, ARRAY_LEN(routers));
}

/* ---- what is left out ---- */

/* A regular expression as compressed-tensors writes them ("re:.*lm_head$") as a pattern of '*'. */
static const char *pattern_of(lin_arena *arena, const char *expression)
{
    char *out = lin_arena_alloc(arena, strlen(expression) + 1);
    char *at = out;
    for (const char *c = expression; *c != '\0'; c++) {
        if (c[0] == '.' && c[1] == '*') {
            *at++ = '*';
            c++;
        } else if (c[0] == '\\' && c[1] != '\0') {
            *at++ = *++c;
        } else if (c[0] == '.') {
            *at++ = '?';
        } else if (c[0] != '^' && c[0] != '$') {
            *at++ = c[0];
        }
    }
    return out;
}

/* Whole parts of the module's name, anywhere in it; or an expression from its start. */
static bool names_module(lin_arena *arena, const char *name, const char *module)
{
    if (begins_with(name, "re:"))
        return lin_pattern_matches(
            lin_arena_format(arena, "%s*", pattern_of(arena, name + strlen("re:"))), module);
    return lin_pattern_matches(lin_arena_format(arena, "*.%s.*", name),
                               lin_arena_format(arena, ".%s.", module));
}

static bool is_left_out(quantizer *q, const char *module)
{
    for (uint32_t i = 0; i < LIN_QUANT_LISTS; i++) {
        const lin_json *list = q->left_out[i];
        for (uint32_t k = 0; list != NULL && k < list->count; k++)
            if (list->items[k].kind == LIN_JSON_STRING &&
                names_module(q->arena, list->items[k].text, module))
                return true;
    }
    return false;
}

/* MLX gives a layer settings of its own, or false, under its name. */
static const lin_json *own_settings(const quantizer *q, const char *module)
{
    return q->all_matrices ? find(q->settings, module) : NULL;
}

/* ---- storing ---- */

typedef struct storer {
    quantizer *q;
    lin_source *source;
    lin_text text;
    LIN_LIST(lin_weight_storage) storage;
    uint32_t stored, kept; /* matrices */
} storer;

static int64_t rows_of_matrix(const lin_parameter *parameter)
{
    return parameter->rank == 3 && parameter->shape[1] > 0 ? parameter->shape[1] : LIN_QUANT_ALL;
}

static void push(storer *s, const lin_parameter *parameter, const char *path, const quantizer *q)
{
    lin_weight_storage storage = {
        .path = path, .format = q->format, .bytes = -1, .term_count = q->term_count
    };
    for (uint32_t i = 0; i < q->term_count; i++) {
        storage.terms[i] = q->terms[i];
        if (storage.terms[i].row_block == LIN_QUANT_MATRIX)
            storage.terms[i].row_block = rows_of_matrix(parameter);
    }
    LIN_PUSH(s->q->arena, &s->storage, storage);
}

/* One element of the arrays. True: stored as the method says, with no settings of its own. */
static bool store_one(storer *s, const lin_parameter *parameter, const int64_t *indices)
{
    quantizer *q = s->q;
    const char *path = lin_parameter_path(q->arena, parameter, indices);
    const char *tensor = lin_parameter_tensor(q->arena, &s->text, parameter, indices);
    const char *module = module_of(q->arena, tensor != NULL ? tensor : path);
    const lin_json *own = own_settings(q, module);
    if (!is_matrix(q, parameter, module) || is_left_out(q, module) ||
        (own != NULL && own->kind == LIN_JSON_FALSE)) {
        s->kept += parameter->rank >= 2;
        return false;
    }
    s->stored++;
    if (own == NULL || own->kind != LIN_JSON_OBJECT) {
        push(s, parameter, path, q);
        return true;
    }
    quantizer other = *q;
    lin_quant_mlx(&other, own);
    push(s, parameter, path, &other);
    return false;
}

static void store(storer *s, const lin_parameter *parameter)
{
    int64_t indices[LIN_PARAMETER_REPEATS] = { 0 };
    const uint32_t begin = s->storage.count;
    bool alike = true;
    do
        alike = store_one(s, parameter, indices) && alike;
    while (lin_parameter_next(parameter, indices));
    if (!alike || parameter->repeat_count == 0)
        return;
    s->storage.count = begin;
    push(s, parameter, parameter->path, s->q);
}

static void add_assumption(storer *s)
{
    lin_source *source = s->source;
    const char **all =
        LIN_NEW_ARRAY(s->q->arena, const char *, (uint64_t)source->assumption_count + 1);
    for (uint32_t i = 0; i < source->assumption_count; i++)
        all[i] = source->assumptions[i];
    all[source->assumption_count] = lin_arena_format(
        s->q->arena,
        "%u matrices are stored as %s, %u as declared; they are computed with as they lie there",
        s->stored, s->q->format, s->kept);
    source->assumptions = all;
    source->assumption_count++;
}

static int64_t dtype_bytes(const lin_source *source)
{
    for (uint32_t i = 0; i < source->setting_count; i++)
        if (source->settings[i].is_dtype)
            return lin_dtype_bytes(source->settings[i].dtype);
    return lin_dtype_bytes(LIN_DTYPE_BF16);
}

static linnet_status store_guarded(storer *s, linnet_error *err)
{
    jmp_buf failure;
    const lin_parameter *parameters;
    uint32_t count;
    quantizer *q = s->q;
    if (setjmp(failure) != 0)
        return q->status != LINNET_OK ? q->status : lin_fail_memory(err);
    q->on_failure = &failure;
    q->arena->on_failure = &failure;
    if (q->settings->kind != LIN_JSON_OBJECT)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "the quantization is %s; an object is meant",
                       lin_json_kind_name(q->settings->kind));
    lin_quant_read(q);
    linnet_status status = lin_source_parameters(q->arena, s->source, &parameters, &count, err);
    if (status != LINNET_OK)
        return status;
    for (uint32_t i = 0; i < s->source->storage_count; i++)
        LIN_PUSH(q->arena, &s->storage, s->source->storage[i]);
    for (uint32_t i = 0; i < count; i++)
        store(s, &parameters[i]);
    s->source->storage = s->storage.items;
    s->source->storage_count = s->storage.count;
    add_assumption(s);
    return LINNET_OK;
}

linnet_status lin_quantization_store(const lin_json *settings, lin_source *source,
                                     linnet_error *err)
{
    jmp_buf *const outer = source->arena.on_failure;
    quantizer q = { .arena = &source->arena,
                    .settings = settings,
                    .source_name = source->name,
                    .scale_bytes = dtype_bytes(source),
                    .err = err };
    storer s = { .q = &q, .source = source };
    lin_text_init(&s.text, &source->arena.allocator);
    const linnet_status status = store_guarded(&s, err);
    source->arena.on_failure = outer;
    lin_text_free(&s.text);
    return status;
}
