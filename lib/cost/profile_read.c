/* SPDX-License-Identifier: MIT */

/*
 * A profile's keys (linnet-device(5), tracing.md 15.3). Three layers, later ones win:
 *
 *     the profile named by `base`, its rates scaled by the ratios of the two data sheets
 *     the file's own keys
 *     what stands in for keys that are still absent: `elementwise` and `decode` are `bandwidth`,
 *     `link`, `latency` and `reduce` the H100's, …
 *
 * A key that the format does not have is refused: in a measured file it is a misspelt rate, and the
 * fallback for the missing one would be used without a word.
 */

#include "cost/profile_keys.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "zoo/zoo.h"
#include "json/json.h"

enum {
    FIRST_VERSION = 1,
    MEASURED_VERSION = 2,
    MAX_POINTS = 64,
    MAX_ENTRIES = 4096,
    MAX_WIDTH = 1 << 20,
    MAX_NODE = 1 << 16
};
static const char kind_word[] = "linnet-device", fallback_name[] = "h100-80gb";

linnet_status lin_profile_refuse(profile_reader *r, const char *key, const char *why)
{
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT, (lin_place){ .source = r->source }, NULL,
                       "`%s` %s", key, why);
}

static linnet_status refuse(profile_reader *r, const char *key, const char *why)
{
    return lin_profile_refuse(r, key, why);
}

/* ---- numbers ---- */

/* What a number may be. */
typedef enum number_rule {
    POSITIVE, /* a rate */
    OR_ZERO,  /* a time: 0 is none */
    OR_ABSENT /* 0 and null are as if the key were absent */
} number_rule;

static linnet_status read_number(profile_reader *r, const char *key, const lin_json *value,
                                 number_rule rule, double *out)
{
    if (rule == OR_ABSENT && value->kind == LIN_JSON_NULL)
        return LINNET_OK;
    if (value->kind != LIN_JSON_INTEGER && value->kind != LIN_JSON_REAL)
        return refuse(r, key, "must be a number");
    const double number = value->kind == LIN_JSON_INTEGER ? (double)value->integer : value->real;
    if (!isfinite(number))
        return refuse(r, key, "must be finite");
    if (number < 0)
        return refuse(r, key, "must not be negative");
    if (number == 0 && rule == POSITIVE)
        return refuse(r, key, "must be more than 0");
    if (number > 0 || rule == OR_ZERO)
        *out = number;
    return LINNET_OK;
}

linnet_status lin_profile_number(profile_reader *r, const char *key, const lin_json *value,
                                 double *out)
{
    return read_number(r, key, value, POSITIVE, out);
}

typedef struct number_key {
    const char *key;
    number_rule rule;
    size_t offset; /* of the double */
} number_key;

/* clang-format off */
#define KEY(name, rule) { #name, rule, offsetof(lin_profile, name) }
static const number_key number_keys[] = {
    KEY(bandwidth, POSITIVE), KEY(elementwise, POSITIVE), KEY(broadcast, POSITIVE),
    KEY(skinny, POSITIVE),    KEY(decode, POSITIVE),      KEY(link, OR_ABSENT),
    KEY(latency, OR_ABSENT),  KEY(reduce, OR_ABSENT),     KEY(kernel, OR_ZERO),
    KEY(strided_kernel, OR_ZERO), KEY(dispatch, OR_ZERO),
};
#undef KEY
/* clang-format on */

#define KEY(name)                                  \
    {                                              \
#name, POSITIVE, offsetof(lin_sheet, name) \
    }
static const number_key sheet_keys[] = {
    KEY(bf16), KEY(f16), KEY(tf32), KEY(f32), KEY(fp8), KEY(fp4), KEY(bandwidth), KEY(link),
};
#undef KEY

static int32_t find_word(const char *const *words, uint32_t count, const char *word)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return (int32_t)i;
    return -1;
}

static linnet_status fail_key(profile_reader *r, const char *inside, const char *key,
                              const char *const *words, uint32_t count)
{
    const char *nearest = lin_nearest(key, words, count);
    const char *place = inside != NULL ? inside : "a profile";
    const lin_place at = { .source = r->source };
    if (nearest != NULL)
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, at, NULL,
                           "`%s` is no key of %s; did you mean `%s`?", key, place, nearest);
    return lin_fail_at(r->err, LINNET_ERROR_FORMAT, at, NULL, "`%s` is no key of %s", key, place);
}

linnet_status lin_profile_known(profile_reader *r, const char *inside, const char *key,
                                const char *const *words, uint32_t count, uint32_t *out)
{
    const int32_t at = find_word(words, count, key);
    if (at < 0)
        return fail_key(r, lin_arena_format(&r->profile->arena, "`%s`", inside), key, words, count);
    if (out != NULL)
        *out = (uint32_t)at;
    return LINNET_OK;
}

/* "flops.bf16", for messages. */
const char *lin_profile_join(profile_reader *r, const char *outer, const char *inner)
{
    return lin_arena_format(&r->profile->arena, "%s.%s", outer, inner);
}

static const char *join_keys(profile_reader *r, const char *outer, const char *inner)
{
    return lin_profile_join(r, outer, inner);
}

/* An object of numbers whose keys are `words`; each goes to out[i] times `unit`. */
static linnet_status read_numbers(profile_reader *r, const char *key, const lin_json *object,
                                  const char *const *words, uint32_t count, number_rule rule,
                                  double *out)
{
    if (object->kind != LIN_JSON_OBJECT)
        return refuse(r, key, "must be an object");
    for (uint32_t i = 0; i < object->count; i++) {
        const int32_t at = find_word(words, count, object->keys[i]);
        if (at < 0)
            return fail_key(r, lin_arena_format(&r->profile->arena, "`%s`", key), object->keys[i],
                            words, count);
        const linnet_status status =
            read_number(r, join_keys(r, key, object->keys[i]), &object->items[i], rule, &out[at]);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* ---- grids of products ---- */

typedef struct axis {
    double points[MAX_POINTS];
    uint32_t count;
} axis;

static bool add_point(axis *a, double value)
{
    uint32_t at = 0;
    while (at < a->count && a->points[at] < value)
        at++;
    if (at < a->count && !(a->points[at] > value))
        return true;
    if (a->count == MAX_POINTS)
        return false;
    memmove(&a->points[at + 1], &a->points[at], (a->count - at) * sizeof(a->points[0]));
    a->points[at] = value;
    a->count++;
    return true;
}

static uint32_t index_of(const axis *a, double value)
{
    uint32_t at = 0;
    while (a->points[at] < value)
        at++;
    return at;
}

static linnet_status read_triples(profile_reader *r, const char *key, const lin_json *list,
                                  double (*out)[3])
{
    for (uint32_t i = 0; i < list->count; i++) {
        const lin_json *triple = &list->items[i];
        if (triple->kind != LIN_JSON_ARRAY || triple->count != 3)
            return refuse(r, key, "must hold [out, in, rate]");
        for (uint32_t k = 0; k < 3; k++) {
            const linnet_status status =
                read_number(r, key, &triple->items[k], POSITIVE, &out[i][k]);
            if (status != LINNET_OK)
                return status;
        }
    }
    return LINNET_OK;
}

static const double *copy_axis(lin_arena *arena, const axis *a)
{
    double *copy = LIN_NEW_ARRAY(arena, double, a->count);
    memcpy(copy, a->points, a->count * sizeof(*copy));
    return copy;
}

static linnet_status read_grid(profile_reader *r, const char *key, const lin_json *list,
                               lin_rate_grid *out)
{
    lin_arena *arena = &r->profile->arena;
    if (list->kind != LIN_JSON_ARRAY || list->count == 0 || list->count > MAX_ENTRIES)
        return refuse(r, key, "must be a list of [out, in, rate]");
    double(*triples)[3] = lin_arena_array(arena, list->count, sizeof(*triples));
    linnet_status status = read_triples(r, key, list, triples);
    if (status != LINNET_OK)
        return status;

    axis *axes = LIN_NEW_ARRAY(arena, axis, 2);
    for (uint32_t i = 0; i < list->count; i++)
        if (!add_point(&axes[0], triples[i][0]) || !add_point(&axes[1], triples[i][1]))
            return refuse(r, key, "has more than 64 sizes on an axis");
    double *rates = LIN_NEW_ARRAY(arena, double, axes[0].count *axes[1].count);
    for (uint32_t i = 0; i < list->count; i++) {
        double *rate = &rates[index_of(&axes[0], triples[i][0]) * axes[1].count +
                              index_of(&axes[1], triples[i][1])];
        if (*rate > 0)
            return refuse(r, key, "gives one size twice");
        *rate = triples[i][2];
    }
    *out = (lin_rate_grid){ copy_axis(arena, &axes[0]), copy_axis(arena, &axes[1]), rates,
                            axes[0].count, axes[1].count };
    return LINNET_OK;
}

static linnet_status read_products(profile_reader *r, const lin_json *object)
{
    if (object->kind != LIN_JSON_OBJECT)
        return refuse(r, "products", "must be an object");
    for (uint32_t i = 0; i < object->count; i++) {
        const int32_t at = find_word(lin_rate_dtype_names, LIN_RATE_COUNT, object->keys[i]);
        if (at < 0)
            return fail_key(r, "`products`", object->keys[i], lin_rate_dtype_names, LIN_RATE_COUNT);
        const linnet_status status = read_grid(r, join_keys(r, "products", object->keys[i]),
                                               &object->items[i], &r->profile->products[at]);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* ---- attention ---- */

bool lin_profile_attention_key(const char *key, lin_attention_rate *out)
{
    const size_t length = strcspn(key, "/");
    int32_t kind = -1;
    for (int32_t i = 0; i < LIN_ATTENTION_COUNT; i++)
        if (strlen(lin_attention_kind_names[i]) == length &&
            memcmp(lin_attention_kind_names[i], key, length) == 0)
            kind = i;
    if (kind < 0)
        return false;
    *out = (lin_attention_rate){ .kind = (lin_attention_kind)kind };
    if (key[length] == '\0')
        return true;
    const char *width = key + length + 1;
    const size_t digits = strcspn(width, "/");
    out->is_f32 = width[digits] == '/';
    return lin_parse_i64(width, digits, &out->width) && out->width >= 1 &&
           out->width <= MAX_WIDTH && (!out->is_f32 || strcmp(width + digits, "/f32") == 0);
}

static linnet_status read_attention(profile_reader *r, const lin_json *object)
{
    if (object->kind != LIN_JSON_OBJECT)
        return refuse(r, "attention", "must be an object");
    lin_attention_rate *rates =
        LIN_NEW_ARRAY(&r->profile->arena, lin_attention_rate, object->count);
    for (uint32_t i = 0; i < object->count; i++) {
        const char *key = join_keys(r, "attention", object->keys[i]);
        if (!lin_profile_attention_key(object->keys[i], &rates[i]))
            return refuse(r, key, "is not of the form KIND, KIND/WIDTH or KIND/WIDTH/f32");
        const linnet_status status =
            read_number(r, key, &object->items[i], POSITIVE, &rates[i].rate);
        if (status != LINNET_OK)
            return status;
    }
    r->profile->attention = rates;
    r->profile->attention_count = object->count;
    return LINNET_OK;
}

/* ---- nodes ---- */

static const char *const node_words[] = { "devices", "network", "latency", "source" };
enum { NODE_NUMBERS = 3 };

static linnet_status read_node_key(profile_reader *r, const char *key, const lin_json *value,
                                   double *numbers)
{
    const int32_t at = find_word(node_words, ARRAY_LEN(node_words), key);
    if (at < 0)
        return fail_key(r, "`node`", key, node_words, ARRAY_LEN(node_words));
    if (at < NODE_NUMBERS)
        return read_number(r, join_keys(r, "node", key), value, POSITIVE, &numbers[at]);
    if (value->kind != LIN_JSON_STRING || value->length == 0)
        return refuse(r, "node.source", "must be a text");
    r->profile->node.source = lin_arena_text(&r->profile->arena, value->text, value->length);
    return LINNET_OK;
}

/* Of a system, so a base's is not taken over: GPUs of two kinds stand in different ones. */
static linnet_status read_node(profile_reader *r, const lin_json *object)
{
    double numbers[NODE_NUMBERS] = { 0 };
    linnet_status status = LINNET_OK;
    if (object == NULL || object->kind == LIN_JSON_NULL)
        return LINNET_OK;
    if (object->kind != LIN_JSON_OBJECT)
        return refuse(r, "node", "must be an object");
    for (uint32_t i = 0; i < object->count && status == LINNET_OK; i++)
        status = read_node_key(r, object->keys[i], &object->items[i], numbers);
    if (status != LINNET_OK)
        return status;
    if (numbers[0] <= 0 || numbers[1] <= 0)
        return refuse(r, numbers[0] <= 0 ? "node.devices" : "node.network", "is missing");
    if (numbers[0] > MAX_NODE || floor(numbers[0]) < numbers[0])
        return refuse(r, "node.devices", "must be a whole number, at most 65536");
    r->profile->node.devices = (int64_t)numbers[0];
    r->profile->node.network = numbers[1];
    r->profile->node.latency = numbers[2];
    return LINNET_OK;
}

/* ---- another profile as the base ---- */

static linnet_status open_builtin(profile_reader *r, const char *name, lin_profile **out)
{
    return lin_profile_open(name, LIN_JSON_MAX_BYTES, &r->profile->allocator, out, r->err);
}

/* A base has figures of its own: no chain is followed, so no circle can be. */
static linnet_status find_base(profile_reader *r, const char *name, lin_profile **out)
{
    static const char why[] = "must be a built-in profile with measured figures, like `h100-80gb`";
    lin_profile *base = NULL;
    if (strcmp(name, fallback_name) != 0)
        return refuse(r, "base", why);
    const linnet_status status = open_builtin(r, name, &base);
    if (status == LINNET_OK)
        *out = base;
    return status;
}

static linnet_status use_base(profile_reader *r, const lin_json *value)
{
    lin_profile *profile = r->profile, *base = NULL;
    if (value->kind != LIN_JSON_STRING)
        return refuse(r, "base", "must be a string");
    if (lin_sheet_half(&profile->sheet) <= 0)
        return refuse(r, "sheet.bf16", "is missing, and `base` is scaled by it");
    if (profile->sheet.f32 <= 0)
        return refuse(r, "sheet.f32", "is missing, and `base` is scaled by it");
    if (profile->sheet.bandwidth <= 0)
        return refuse(r, "sheet.bandwidth", "is missing, and `base` is scaled by it");
    linnet_status status = find_base(r, value->text, &base);
    if (status == LINNET_OK && !lin_profile_scale(profile, base))
        status = lin_fail_memory(r->err);
    lin_profile_free(base);
    return status;
}

/* ---- the document ---- */

static const char *const document_keys[] = {
    "version",   "kind",           "name",     "title", "source",    "base",
    "memory",    "driver_memory",  "sheet",    "flops", "bandwidth", "elementwise",
    "broadcast", "skinny",         "decode",   "link",  "latency",   "reduce",
    "kernel",    "strided_kernel", "dispatch", "host",  "products",  "attention",
    "measured",  "node",
};

static const char *const second_keys[] = { "measured", "node" }; /* since MEASURED_VERSION */

static linnet_status check_document(profile_reader *r, const lin_json *document)
{
    if (document->kind != LIN_JSON_OBJECT)
        return lin_fail_at(r->err, LINNET_ERROR_FORMAT, (lin_place){ .source = r->source }, NULL,
                           "a profile is an object, not %s", lin_json_kind_name(document->kind));
    const lin_json *kind = lin_json_get(document, "kind");
    if (kind == NULL || kind->kind != LIN_JSON_STRING || strcmp(kind->text, kind_word) != 0)
        return refuse(r, "kind", "must be \"linnet-device\"");
    const lin_json *version = lin_json_get(document, "version");
    if (version == NULL || version->kind != LIN_JSON_INTEGER || version->integer < FIRST_VERSION ||
        version->integer > MEASURED_VERSION)
        return refuse(r, "version", "must be 1 or 2, the versions this program reads");
    for (uint32_t i = 0; i < ARRAY_LEN(second_keys) && version->integer < MEASURED_VERSION; i++)
        if (lin_json_get(document, second_keys[i]) != NULL)
            return refuse(r, second_keys[i], "is of version 2 of this format");
    for (uint32_t i = 0; i < document->count; i++)
        if (find_word(document_keys, ARRAY_LEN(document_keys), document->keys[i]) < 0)
            return fail_key(r, NULL, document->keys[i], document_keys, ARRAY_LEN(document_keys));
    return LINNET_OK;
}

static linnet_status read_text(profile_reader *r, const lin_json *document, const char *key,
                               bool required, const char **out)
{
    const lin_json *value = lin_json_get(document, key);
    *out = "";
    if (value == NULL)
        return required ? refuse(r, key, "is missing") : LINNET_OK;
    if (value->kind != LIN_JSON_STRING || value->length == 0)
        return refuse(r, key, "must be a text");
    *out = lin_arena_text(&r->profile->arena, value->text, value->length);
    return LINNET_OK;
}

static linnet_status read_bytes(profile_reader *r, const lin_json *document, const char *key,
                                bool required, int64_t *out)
{
    const lin_json *value = lin_json_get(document, key);
    if (value == NULL)
        return required ? refuse(r, key, "is missing") : LINNET_OK;
    if (value->kind != LIN_JSON_INTEGER || value->integer < 1)
        return refuse(r, key, "must be a whole number of bytes, at least 1");
    *out = value->integer;
    return LINNET_OK;
}

static linnet_status read_sheet(profile_reader *r, const lin_json *document)
{
    const lin_json *sheet = lin_json_get(document, "sheet");
    const char *words[ARRAY_LEN(sheet_keys)];
    double numbers[ARRAY_LEN(sheet_keys)] = { 0 };
    if (sheet == NULL)
        return LINNET_OK;
    for (uint32_t i = 0; i < ARRAY_LEN(sheet_keys); i++)
        words[i] = sheet_keys[i].key;
    const linnet_status status =
        read_numbers(r, "sheet", sheet, words, ARRAY_LEN(sheet_keys), POSITIVE, numbers);
    for (uint32_t i = 0; i < ARRAY_LEN(sheet_keys); i++)
        memcpy((char *)&r->profile->sheet + sheet_keys[i].offset, &numbers[i], sizeof(double));
    return status;
}

static linnet_status read_own_numbers(profile_reader *r, const lin_json *document)
{
    for (uint32_t i = 0; i < ARRAY_LEN(number_keys); i++) {
        const lin_json *value = lin_json_get(document, number_keys[i].key);
        double *out = (double *)(void *)((char *)r->profile + number_keys[i].offset);
        const linnet_status status =
            value == NULL ? LINNET_OK
                          : read_number(r, number_keys[i].key, value, number_keys[i].rule, out);
        if (status != LINNET_OK)
            return status;
    }
    return LINNET_OK;
}

/* The times of host kinds that no file gives are `dispatch`, which may stand after them. */
static linnet_status read_host(profile_reader *r, const lin_json *document, bool has_base)
{
    const lin_json *host = lin_json_get(document, "host");
    for (uint32_t i = 0; i < LIN_HOST_COUNT && !has_base; i++)
        r->profile->host[i] = r->profile->dispatch;
    return host == NULL ? LINNET_OK
                        : read_numbers(r, "host", host, lin_host_kind_names, LIN_HOST_COUNT,
                                       OR_ZERO, r->profile->host);
}

static linnet_status read_rates(profile_reader *r, const lin_json *document)
{
    const lin_json *flops = lin_json_get(document, "flops");
    const lin_json *products = lin_json_get(document, "products");
    const lin_json *attention = lin_json_get(document, "attention");
    linnet_status status = LINNET_OK;
    if (flops != NULL)
        status = read_numbers(r, "flops", flops, lin_rate_dtype_names, LIN_RATE_COUNT, POSITIVE,
                              r->profile->flops);
    if (status == LINNET_OK && products != NULL)
        status = read_products(r, products);
    if (status == LINNET_OK && attention != NULL)
        status = read_attention(r, attention);
    const lin_json *measured = lin_json_get(document, "measured");
    if (status == LINNET_OK && measured != NULL)
        status = lin_profile_read_measured(r, measured);
    if (status == LINNET_OK && r->profile->flops[LIN_RATE_F32] <= 0)
        status = refuse(r, flops == NULL ? "flops" : "flops.f32", "is missing");
    if (status == LINNET_OK && r->profile->bandwidth <= 0)
        status = refuse(r, "bandwidth", "is missing");
    return status;
}

/* ---- what stands in for absent keys ---- */

static void fall_back(double *value, double otherwise)
{
    if (*value <= 0)
        *value = otherwise;
}

static linnet_status fill_absent(profile_reader *r)
{
    lin_profile *p = r->profile;
    fall_back(&p->elementwise, p->bandwidth);
    fall_back(&p->decode, p->bandwidth);
    fall_back(&p->broadcast, p->elementwise);
    fall_back(&p->skinny, p->bandwidth);
    fall_back(&p->strided_kernel, p->kernel);
    if (p->node.devices > 0 && p->latency > 0)
        fall_back(&p->node.latency, p->latency);
    if (p->link > 0 && p->latency > 0 && p->reduce > 0)
        return LINNET_OK;
    if (strcmp(p->name, fallback_name) == 0)
        return refuse(r,
                      p->link <= 0      ? "link"
                      : p->latency <= 0 ? "latency"
                                        : "reduce",
                      "is missing, and other profiles fall back to it");
    lin_profile *base = NULL;
    const linnet_status status = open_builtin(r, fallback_name, &base);
    if (status != LINNET_OK)
        return status;
    fall_back(&p->link, base->link);
    fall_back(&p->latency, base->latency);
    fall_back(&p->reduce, base->reduce);
    if (p->node.devices > 0)
        fall_back(&p->node.latency, p->latency);
    lin_profile_free(base);
    return LINNET_OK;
}

linnet_status lin_profile_read(const char *source_name, const char *text, uint64_t length,
                               lin_profile *profile, linnet_error *err)
{
    profile_reader reader = { source_name, profile, err }, *r = &reader;
    const lin_json *document;
    linnet_status status =
        lin_json_read(source_name, text, length, false, &profile->arena, &document, err);
    if (status != LINNET_OK || (status = check_document(r, document)) != LINNET_OK ||
        (status = read_text(r, document, "name", true, &profile->name)) != LINNET_OK ||
        (status = read_text(r, document, "title", false, &profile->title)) != LINNET_OK ||
        (status = read_text(r, document, "source", false, &profile->source)) != LINNET_OK ||
        (status = read_bytes(r, document, "memory", true, &profile->memory_bytes)) != LINNET_OK ||
        (status = read_bytes(r, document, "driver_memory", false, &profile->driver_bytes)) !=
            LINNET_OK ||
        (status = read_sheet(r, document)) != LINNET_OK)
        return status;
    const lin_json *base = lin_json_get(document, "base");
    if ((base != NULL && (status = use_base(r, base)) != LINNET_OK) ||
        (status = read_own_numbers(r, document)) != LINNET_OK ||
        (status = read_host(r, document, base != NULL)) != LINNET_OK ||
        (status = read_rates(r, document)) != LINNET_OK ||
        (status = read_node(r, lin_json_get(document, "node"))) != LINNET_OK)
        return status;
    return fill_absent(r);
}
