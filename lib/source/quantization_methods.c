/* SPDX-License-Identifier: MIT */

/*
 * The methods of quantization, a row each, and the layouts they write. W is a matrix of `rows`
 * (out) by `columns` (in):
 *
 *     fp8, int8        W bytes, scales of a matrix, a row or a block
 *     GPTQ             words of 32 bits along the rows' columns, scales and zeros of a group of
 *                      columns, and the group of every column
 *     AWQ              words of 32 bits along the rows, scales and zeros of a group of columns
 *     bitsandbytes     values of the whole matrix in a row, in blocks
 *     mxfp4, nvfp4     two values a byte, a byte of scale for 32 or 16
 *
 * Sources: transformers' quantizers (utils/quantization_config.py, quantizers/), AutoGPTQ's and
 * AutoAWQ's linear layers (qlinear_cuda.py, gemm.py), bitsandbytes' QuantState, compressed-tensors'
 * compressors, mlx.nn.QuantizedLinear.
 */

#include "source/quantization_read.h"

#include <string.h>

enum { WORD_BITS = 32, WORD_BYTES = 4, F16_BYTES = 2, F32_BYTES = 4, I32_BYTES = 4 };

typedef struct method_row {
    const char *method;
    void (*read)(quantizer *q);
} method_row;

/* ---- parts of layouts ---- */

static void every(quantizer *q, int64_t row_block, int64_t column_block, int64_t bytes)
{
    lin_quant_term(q, (lin_storage_term){ row_block, column_block, bytes, false });
}

static void in_a_row(quantizer *q, int64_t elements, int64_t bytes)
{
    lin_quant_term(q, (lin_storage_term){ 1, elements, bytes, true });
}

static int64_t width_of(quantizer *q, int64_t bits)
{
    if (bits < 2 || bits > 8 || bits == 7)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "values of %lld bits are not expressed",
                       (long long)bits);
    return bits;
}

/* Values of `bits` in words: as few words as end at a whole value. */
static int64_t values_a_pack(int64_t bits)
{
    return WORD_BITS % bits == 0 ? WORD_BITS / bits : WORD_BITS;
}

static int64_t bytes_a_pack(int64_t bits)
{
    return WORD_BITS % bits == 0 ? WORD_BYTES : WORD_BYTES * bits;
}

/* Columns of a group; -1 is a whole row. */
static int64_t group_of(quantizer *q, int64_t size)
{
    if (size == -1)
        return LIN_QUANT_ALL;
    if (size < 1)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`group_size` is %lld; a size or -1 is meant",
                       (long long)size);
    return size;
}

static const char *named(quantizer *q, const char *name, int64_t bits)
{
    return lin_arena_format(q->arena, "%s-%lld", name, (long long)bits);
}

static void leave_out(quantizer *q, uint32_t place, const lin_json *object, const char *key)
{
    const lin_json *list = lin_json_get(object, key);
    if (list == NULL || list->kind == LIN_JSON_NULL)
        return;
    if (list->kind != LIN_JSON_ARRAY)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`%s` is %s; an array is meant", key,
                       lin_json_kind_name(list->kind));
    q->left_out[place] = list;
}

/* ---- methods ---- */

/* weight_block_size [128, 128] with f32 scales, or one scale for the matrix; an activation's scale
 * where that was measured beforehand. */
static void read_fp8(quantizer *q)
{
    const lin_json *block = lin_json_get(q->settings, "weight_block_size");
    q->format = "fp8";
    every(q, 1, 1, 1);
    if (block != NULL && block->kind == LIN_JSON_ARRAY && block->count == 2 &&
        block->items[0].kind == LIN_JSON_INTEGER && block->items[1].kind == LIN_JSON_INTEGER &&
        block->items[0].integer > 0 && block->items[1].integer > 0)
        every(q, block->items[0].integer, block->items[1].integer, F32_BYTES);
    else if (block == NULL || block->kind == LIN_JSON_NULL)
        every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, F32_BYTES);
    else
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`weight_block_size` is no pair of sizes");
    if (strcmp(lin_quant_word(q, q->settings, "activation_scheme", "dynamic"), "static") == 0)
        every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, F32_BYTES);
    leave_out(q, 0, q->settings, "modules_to_not_convert");
    leave_out(q, 1, q->settings, "ignored_layers");
}

/* Scales of rows. */
static void read_fbgemm_fp8(quantizer *q)
{
    q->format = "fp8";
    every(q, 1, 1, 1);
    every(q, 1, LIN_QUANT_ALL, F32_BYTES);
    leave_out(q, 0, q->settings, "modules_to_not_convert");
}

/* Blocks of 64 in a row; doubly quantized their maxima are bytes, with an f32 for 256 of them and
 * one for all. Every matrix has the table of its 16 values. */
static void read_bnb_4bit(quantizer *q)
{
    enum { BLOCK = 64, NESTED = 256, TABLE = 16 * F32_BYTES };
    const char *kind = lin_quant_word(q, q->settings, "bnb_4bit_quant_type", "fp4");
    if (strcmp(kind, "nf4") != 0 && strcmp(kind, "fp4") != 0)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`bnb_4bit_quant_type` `%.60s` is not known",
                       kind);
    q->format = kind;
    in_a_row(q, 2, 1);
    if (lin_quant_flag(q, q->settings, "bnb_4bit_use_double_quant", false)) {
        in_a_row(q, BLOCK, 1);
        in_a_row(q, (int64_t)BLOCK * NESTED, F32_BYTES);
        every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, TABLE + F32_BYTES);
    } else {
        in_a_row(q, BLOCK, F32_BYTES);
        every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, TABLE);
    }
}

static void read_bitsandbytes(quantizer *q)
{
    const bool eight = lin_quant_flag(q, q->settings, "load_in_8bit",
                                      lin_quant_flag(q, q->settings, "_load_in_8bit", false));
    const bool four = lin_quant_flag(q, q->settings, "load_in_4bit",
                                     lin_quant_flag(q, q->settings, "_load_in_4bit", false));
    leave_out(q, 0, q->settings, "llm_int8_skip_modules");
    if (eight == four)
        lin_quant_fail(q, LINNET_ERROR_FORMAT,
                       "`bitsandbytes` says neither or both of `load_in_8bit` and `load_in_4bit`");
    if (four) {
        read_bnb_4bit(q);
        return;
    }
    q->format = "int8";
    every(q, 1, 1, 1);
    every(q, 1, LIN_QUANT_ALL, F32_BYTES);
}

static void read_gptq(quantizer *q)
{
    const int64_t bits = width_of(q, lin_quant_integer(q, q->settings, "bits", 4));
    const int64_t group = group_of(q, lin_quant_integer(q, q->settings, "group_size", 128));
    q->format = named(q, "gptq", bits);
    every(q, 1, values_a_pack(bits), bytes_a_pack(bits));
    every(q, 1, group, F16_BYTES);
    every(q, values_a_pack(bits), group, bytes_a_pack(bits));
    every(q, LIN_QUANT_MATRIX, 1, I32_BYTES);
    leave_out(q, 0, q->settings, "modules_to_not_convert");
}

static void read_awq(quantizer *q)
{
    const int64_t bits =
        width_of(q, lin_quant_integer(q, q->settings, "bits",
                                      lin_quant_integer(q, q->settings, "w_bit", 4)));
    const int64_t group =
        group_of(q, lin_quant_integer(q, q->settings, "group_size",
                                      lin_quant_integer(q, q->settings, "q_group_size", 128)));
    q->format = named(q, "awq", bits);
    every(q, values_a_pack(bits), 1, bytes_a_pack(bits));
    every(q, 1, group, F16_BYTES);
    if (lin_quant_flag(q, q->settings, "zero_point", true))
        every(q, values_a_pack(bits), group, bytes_a_pack(bits));
    leave_out(q, 0, q->settings, "modules_to_not_convert");
}

/* gpt-oss: 16 bytes of values and a byte of scale for 32 of an expert's values. */
static void read_mxfp4(quantizer *q)
{
    q->format = "mxfp4";
    q->experts_only = true;
    in_a_row(q, 32, 16 + 1);
    leave_out(q, 0, q->settings, "modules_to_not_convert");
}

/* Half a byte a value, a scale of 8 bits for 16, and two f32 scales of the matrix. */
static void add_nvfp4(quantizer *q)
{
    q->format = "nvfp4";
    every(q, 1, 2, 1);
    every(q, 1, 16, 1);
    every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, (int64_t)2 * F32_BYTES);
}

static void read_modelopt(quantizer *q)
{
    const lin_json *inner = lin_quant_object(q, q->settings, "quantization");
    const lin_json *from = inner != NULL ? inner : q->settings;
    const char *algorithm = lin_quant_word(q, from, "quant_algo", "");
    leave_out(q, 0, from, "exclude_modules");
    leave_out(q, 1, q->settings, "ignore");
    if (strcmp(algorithm, "NVFP4") == 0) {
        add_nvfp4(q);
        return;
    }
    if (strcmp(algorithm, "FP8") != 0)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`quant_algo` `%.60s` is not known", algorithm);
    q->format = "fp8";
    every(q, 1, 1, 1);
    every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, (int64_t)2 * F32_BYTES);
}

/* ---- compressed-tensors ---- */

/* The scales, in the dtype of the model, by `strategy`. Returns the columns one is for. */
static void add_scales(quantizer *q, const lin_json *weights)
{
    const char *strategy = lin_quant_word(q, weights, "strategy", "tensor");
    const int64_t group = lin_quant_integer(q, weights, "group_size", -1);
    const lin_json *block = lin_json_get(weights, "block_structure");
    if (strcmp(strategy, "tensor") == 0)
        every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, q->scale_bytes);
    else if (strcmp(strategy, "channel") == 0)
        every(q, 1, LIN_QUANT_ALL, q->scale_bytes);
    else if (strcmp(strategy, "group") == 0)
        every(q, 1, group_of(q, group), q->scale_bytes);
    else if (strcmp(strategy, "block") == 0 && block != NULL && block->kind == LIN_JSON_ARRAY &&
             block->count == 2 && block->items[0].integer > 0 && block->items[1].integer > 0)
        every(q, block->items[0].integer, block->items[1].integer, q->scale_bytes);
    else
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`strategy` `%.60s` is not expressed",
                       strategy);
}

/* Whole words along a row; without symmetry zeros packed along the rows; the shape as two i64. */
static void add_packed(quantizer *q, const lin_json *weights, int64_t bits)
{
    enum { SHAPE = 16 };
    const int64_t group = lin_quant_integer(q, weights, "group_size", -1);
    every(q, 1, values_a_pack(bits), bytes_a_pack(bits));
    add_scales(q, weights);
    if (!lin_quant_flag(q, weights, "symmetric", true))
        every(q, values_a_pack(bits), group_of(q, group), bytes_a_pack(bits));
    every(q, LIN_QUANT_MATRIX, LIN_QUANT_ALL, SHAPE);
}

/* The weights' settings that all groups share. */
static const lin_json *compressed_weights(quantizer *q)
{
    const lin_json *groups = lin_quant_object(q, q->settings, "config_groups");
    if (groups == NULL || groups->count == 0)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`config_groups` is missing or empty");
    if (groups->count > 1)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED,
                       "`config_groups` with more than one group is not expressed");
    if (groups->items[0].kind != LIN_JSON_OBJECT)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`config_groups` holds %s; an object is meant",
                       lin_json_kind_name(groups->items[0].kind));
    const lin_json *weights = lin_quant_object(q, &groups->items[0], "weights");
    if (weights == NULL)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`weights` of `config_groups` is missing");
    return weights;
}

static void read_compressed_tensors(quantizer *q)
{
    const lin_json *weights = compressed_weights(q);
    const int64_t bits = width_of(q, lin_quant_integer(q, weights, "num_bits", 8));
    const bool is_float = strcmp(lin_quant_word(q, weights, "type", "int"), "float") == 0;
    leave_out(q, 0, q->settings, "ignore");
    if (is_float && bits == 4) {
        add_nvfp4(q);
        return;
    }
    q->format = is_float ? "fp8" : named(q, "int", bits);
    if (bits < 8) {
        add_packed(q, weights, bits);
        return;
    }
    every(q, 1, 1, 1);
    add_scales(q, weights);
    if (!is_float && !lin_quant_flag(q, weights, "symmetric", true))
        every(q, 1, LIN_QUANT_ALL, 1);
}

/* ---- others ---- */

void lin_quant_mlx(quantizer *q, const lin_json *settings)
{
    const char *mode = lin_quant_word(q, settings, "mode", "affine");
    const int64_t bits = width_of(q, lin_quant_integer(q, settings, "bits", 4));
    const int64_t group = group_of(q, lin_quant_integer(q, settings, "group_size", 64));
    q->term_count = 0;
    every(q, 1, values_a_pack(bits), bytes_a_pack(bits));
    if (strcmp(mode, "affine") == 0) {
        q->format = named(q, "mlx", bits);
        every(q, 1, group, 2 * q->scale_bytes); /* a scale and a bias */
    } else if (strcmp(mode, "mxfp4") == 0 || strcmp(mode, "mxfp8") == 0 ||
               strcmp(mode, "nvfp4") == 0) {
        q->format = mode;
        every(q, 1, group, 1);
    } else {
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`mode` `%.60s` is not known", mode);
    }
}

static void read_mlx(quantizer *q)
{
    q->all_matrices = true;
    lin_quant_mlx(q, q->settings);
}

/* Scale and zero of f16 for a group of values. */
static void read_hqq(quantizer *q)
{
    const lin_json *outer = lin_quant_object(q, q->settings, "quant_config");
    const lin_json *weights = lin_quant_object(q, outer, "weight_quant_params");
    const int64_t bits = width_of(q, lin_quant_integer(q, weights, "nbits", 4));
    const int64_t group = group_of(q, lin_quant_integer(q, weights, "group_size", 64));
    if (bits == 5 || bits == 6 || bits == 3)
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "hqq with %lld bits is not expressed",
                       (long long)bits);
    q->format = named(q, "hqq", bits);
    in_a_row(q, 8 / bits, 1);
    in_a_row(q, group, (int64_t)2 * F16_BYTES);
    leave_out(q, 0, q->settings, "skip_modules");
}

static void read_torchao(quantizer *q)
{
    const lin_json *kind = lin_json_get(q->settings, "quant_type");
    const char *word = kind != NULL && kind->kind == LIN_JSON_STRING ? kind->text : "";
    const lin_json *arguments = lin_quant_object(q, q->settings, "quant_type_kwargs");
    leave_out(q, 0, q->settings, "modules_to_not_convert");
    if (strcmp(word, "int4_weight_only") == 0) {
        q->format = "int-4";
        every(q, 1, 2, 1);
        every(q, 1, group_of(q, lin_quant_integer(q, arguments, "group_size", 128)),
              2 * q->scale_bytes);
    } else if (strcmp(word, "int8_weight_only") == 0 ||
               strcmp(word, "int8_dynamic_activation_int8_weight") == 0) {
        q->format = "int-8";
        every(q, 1, 1, 1);
        every(q, 1, LIN_QUANT_ALL, q->scale_bytes);
    } else {
        lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "torchao's `quant_type` `%.60s` is not known",
                       word);
    }
}

static const method_row methods[] = {
    { "awq", read_awq },
    { "bitsandbytes", read_bitsandbytes },
    { "compressed-tensors", read_compressed_tensors },
    { "fbgemm_fp8", read_fbgemm_fp8 },
    { "fp8", read_fp8 },
    { "gptq", read_gptq },
    { "hqq", read_hqq },
    { "modelopt", read_modelopt },
    { "mxfp4", read_mxfp4 },
    { "torchao", read_torchao },
};

/* Older files of bitsandbytes name no method. */
static const char *method_of(quantizer *q)
{
    const char *method = lin_quant_word(q, q->settings, "quant_method", NULL);
    if (method != NULL)
        return method;
    if (lin_json_get(q->settings, "load_in_8bit") != NULL ||
        lin_json_get(q->settings, "load_in_4bit") != NULL)
        return "bitsandbytes";
    return NULL;
}

void lin_quant_read(quantizer *q)
{
    const char *names[ARRAY_LEN(methods)];
    const char *method = method_of(q);
    if (method == NULL && lin_json_get(q->settings, "group_size") != NULL) {
        read_mlx(q);
        return;
    }
    if (method == NULL)
        lin_quant_fail(q, LINNET_ERROR_FORMAT, "`quant_method` is missing");
    for (uint32_t i = 0; i < ARRAY_LEN(methods); i++) {
        names[i] = methods[i].method;
        if (strcmp(names[i], method) == 0) {
            methods[i].read(q);
            return;
        }
    }
    const char *nearest = lin_nearest(method, names, ARRAY_LEN(names));
    lin_quant_fail(q, LINNET_ERROR_UNSUPPORTED, "`quant_method` `%.100s` is not known%s%s%s",
                   method, nearest != NULL ? "; the nearest is `" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "`" : "");
}
