/* SPDX-License-Identifier: MIT */

/* The backend's tables: which implementation an op gets (stdlib.md 1.1), how its result is stored
 * and what it needs while it runs (2), the runtime items (tracing.md 12). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backend/backend.h"

#define MIB ((int64_t)1 << 20)

/* ---- implementations ---- */

#define SDPA "torch.nn.functional.scaled_dot_product_attention"

static const struct choice_case {
    const char *name; /* also the op, when it has no blank */
    const char *op;
    const char *exact, *equivalent, *fast; /* NULL: the body */
} choice_cases[] = {
    { "linear", "std.nn.linear::linear", NULL, "torch.nn.functional.linear",
      "torch.nn.functional.linear" },
    { "matmul", "std.linalg::matmul", NULL, "torch.matmul", "torch.matmul" },
    { "batched matmul", "std.linalg::batched_matmul", NULL, "torch.matmul", "torch.matmul" },
    { "embedding is exact", "std.nn.embedding::embedding", "torch.nn.functional.embedding",
      "torch.nn.functional.embedding", "torch.nn.functional.embedding" },
    { "rms_norm runs in the input dtype when fast", "std.nn.norm::rms_norm", NULL, "torch.rms_norm",
      "torch.rms_norm(input dtype)" },
    { "layer_norm", "std.nn.norm::layer_norm", NULL, "torch.nn.functional.layer_norm",
      "torch.nn.functional.layer_norm(input dtype)" },
    { "batch_norm", "std.nn.norm::batch_norm", NULL, "torch.nn.functional.batch_norm",
      "torch.nn.functional.batch_norm" },
    { "layer_norm_affine", "std.nn.norm::layer_norm_affine", NULL, "torch.native_layer_norm",
      "torch.native_layer_norm(input dtype)" },
    { "dropout", "std.nn.dropout::dropout", "torch.native_dropout", "torch.native_dropout",
      "torch.native_dropout" },
    { "logits_cross_entropy", "std.nn.loss::logits_cross_entropy", NULL,
      "linnet.logits_cross_entropy", "linnet.logits_cross_entropy" },
    { "logits_cross_entropy_f32", "std.nn.loss::logits_cross_entropy_f32", NULL,
      "linnet.logits_cross_entropy_f32", "linnet.logits_cross_entropy_f32" },
    { "softmax", "std.nn.softmax::softmax", NULL, "torch.softmax", "torch.softmax(input dtype)" },
    { "relu", "std.nn.activations::relu", NULL, "torch.relu", "torch.relu" },
    { "sigmoid", "std.nn.activations::sigmoid", NULL, "torch.sigmoid", "torch.sigmoid" },
    { "silu", "std.nn.activations::silu", NULL, "torch.nn.functional.silu",
      "torch.nn.functional.silu" },
    { "gelu is the tanh form", "std.nn.activations::gelu", NULL, "torch.nn.functional.gelu(tanh)",
      "torch.nn.functional.gelu(tanh)" },
    { "gelu_erf", "std.nn.activations::gelu_erf", NULL, "torch.nn.functional.gelu",
      "torch.nn.functional.gelu" },
    { "causal_mask is exact", "std.nn.attention::causal_mask", "torch.tril", "torch.tril",
      "torch.tril" },
    { "attention", "std.nn.attention::attention", NULL, SDPA, SDPA "(input dtype)" },
    { "attention_rows", "std.nn.attention::attention_rows", NULL, SDPA, SDPA "(input dtype)" },
    { "grouped_attention", "std.nn.attention::grouped_attention", NULL, SDPA "(enable_gqa)",
      SDPA "(enable_gqa)(input dtype)" },
    { "grouped_attention_rows", "std.nn.attention::grouped_attention_rows", NULL,
      SDPA "(enable_gqa)", SDPA "(enable_gqa)(input dtype)" },
    { "write_at", "std.nn.cache::write_at", "torch.Tensor.index_copy", "torch.Tensor.index_copy",
      "torch.Tensor.index_copy" },
    { "write_span", "std.nn.cache::write_span", "torch.Tensor.index_copy",
      "torch.Tensor.index_copy", "torch.Tensor.index_copy" },
    { "write_rows", "std.nn.cache::write_rows", "torch.Tensor.index_put", "torch.Tensor.index_put",
      "torch.Tensor.index_put" },
    { "write_slot", "std.nn.cache::write_slot", "torch.Tensor.index_put", "torch.Tensor.index_put",
      "torch.Tensor.index_put" },
    { "write_slots", "std.nn.cache::write_slots", "torch.Tensor.index_put",
      "torch.Tensor.index_put", "torch.Tensor.index_put" },
    { "write_tokens", "std.nn.cache::write_tokens", "torch.Tensor.index_put(tokens)",
      "torch.Tensor.index_put(tokens)", "torch.Tensor.index_put(tokens)" },
    { "conv2d", "std.nn.conv::conv2d", NULL, "torch.nn.functional.conv2d",
      "torch.nn.functional.conv2d" },
    { "max_pool2d is exact", "std.nn.pool::max_pool2d", "torch.nn.functional.max_pool2d",
      "torch.nn.functional.max_pool2d", "torch.nn.functional.max_pool2d" },
    { "global_average_pool2d", "std.nn.pool::global_average_pool2d", NULL, "torch.Tensor.mean",
      "torch.Tensor.mean" },
    { "upsample_nearest2d is exact", "std.nn.resize::upsample_nearest2d",
      "torch.nn.functional.interpolate(nearest)", "torch.nn.functional.interpolate(nearest)",
      "torch.nn.functional.interpolate(nearest)" },
    { "linear_cross_entropy", "std.nn.loss::linear_cross_entropy", NULL,
      "linnet.linear_cross_entropy", "linnet.linear_cross_entropy" },
    { "linear_token_log_probs", "std.nn.loss::linear_token_log_probs", NULL,
      "linnet.linear_token_log_probs", "linnet.linear_token_log_probs" },
    { "split_cross_entropy", "std.nn.loss::split_cross_entropy", NULL, "linnet.split_cross_entropy",
      "linnet.split_cross_entropy" },
    { "split_token_log_probs", "std.nn.loss::split_token_log_probs", NULL,
      "linnet.split_token_log_probs", "linnet.split_token_log_probs" },
    { "all_reduce is exact", "std.nn.parallel::all_reduce", "torch.distributed.all_reduce",
      "torch.distributed.all_reduce", "torch.distributed.all_reduce" },
    { "all_gather is exact", "std.nn.parallel::all_gather", "torch.distributed.all_gather",
      "torch.distributed.all_gather", "torch.distributed.all_gather" },
    { "shared is exact", "std.nn.parallel::shared", "torch.distributed.shared",
      "torch.distributed.shared", "torch.distributed.shared" },
    { "take_inputs is exact", "std.quant::take_inputs", "torch.index_select", "torch.index_select",
      "torch.index_select" },
    { "linear_int4_groups is only fast", "std.quant::linear_int4_groups", NULL, NULL,
      "torch.ops.aten._weight_int4pack_mm" },
    { "linear_experts is only fast", "std.nn.moe::linear_experts", NULL, NULL,
      "torch._grouped_mm" },
    { "rope follows its body", "std.nn.rope::rope", NULL, NULL, NULL },
    { "cross_entropy follows its body", "std.nn.loss::cross_entropy", NULL, NULL, NULL },
    { "a user's op follows its body", "my.model::linear", NULL, NULL, NULL },
};

static void assert_spelling(const char *found, const char *expected)
{
    if (!expected)
        assert_null(found);
    else
        assert_string_equal(found, expected);
}

static void test_choice(void **state)
{
    const struct choice_case *row = *state;
    assert_spelling(lin_backend_choose(row->op, LIN_NUMERICS_EXACT).spelling, row->exact);
    assert_spelling(lin_backend_choose(row->op, LIN_NUMERICS_EQUIVALENT).spelling, row->equivalent);
    assert_spelling(lin_backend_choose(row->op, LIN_NUMERICS_FAST).spelling, row->fast);
}

static void test_kernel_only(void **state)
{
    (void)state;
    lin_choice choice = lin_backend_choose("std.nn.attention::paged_attention", LIN_NUMERICS_FAST);
    assert_null(choice.spelling);
    assert_true(choice.kernel_only);
    assert_false(lin_backend_choose("std.nn.linear::linear", LIN_NUMERICS_EXACT).kernel_only);
}

/* ---- storage ---- */

static const struct storage_case {
    const char *name, *op;
    lin_storage_rule storage;
    bool attention_order, workspace_unknown, has_workspace;
} storage_cases[] = {
    { "a product is fresh", "std.nn.linear::linear", LIN_RESULT_FRESH, false, false, false },
    { "(input dtype) is the same kernel", "std.nn.norm::rms_norm", LIN_RESULT_FRESH, false, false,
      false },
    { "attention has an order and a workspace", "std.nn.attention::attention", LIN_RESULT_FRESH,
      true, false, true },
    { "so has grouped attention", "std.nn.attention::grouped_attention_rows", LIN_RESULT_FRESH,
      true, false, true },
    { "a cache write is in place", "std.nn.cache::write_at", LIN_RESULT_IN_PLACE, false, false,
      false },
    { "so is a write of rows", "std.nn.cache::write_rows", LIN_RESULT_IN_PLACE, false, false,
      false },
    { "and of tokens", "std.nn.cache::write_tokens", LIN_RESULT_IN_PLACE, false, false, false },
    { "a convolution's workspace is not known", "std.nn.conv::conv2d", LIN_RESULT_FRESH, false,
      true, false },
    { "nor a pool's", "std.nn.pool::max_pool2d", LIN_RESULT_FRESH, false, true, false },
    { "nor a grouped product's", "std.nn.moe::combine_experts", LIN_RESULT_FRESH, false, true,
      false },
    { "all_reduce is a collective", "std.nn.parallel::all_reduce", LIN_RESULT_COLLECTIVE, false,
      false, false },
    { "all_gather has a workspace", "std.nn.parallel::all_gather", LIN_RESULT_COLLECTIVE, false,
      false, true },
    { "shared is an identity", "std.nn.parallel::shared", LIN_RESULT_IDENTITY, false, false,
      false },
    { "the loss has a workspace", "std.nn.loss::linear_cross_entropy", LIN_RESULT_FRESH, false,
      false, true },
};

static void test_storage(void **state)
{
    const struct storage_case *row = *state;
    const lin_native *native = lin_backend_choose(row->op, LIN_NUMERICS_FAST).native;
    assert_non_null(native);
    assert_int_equal(native->storage, row->storage);
    assert_int_equal(native->attention_order, row->attention_order);
    assert_int_equal(native->workspace_unknown, row->workspace_unknown);
    assert_int_equal(native->workspace != NULL, row->has_workspace);
}

/* ---- workspaces ---- */

typedef struct operand_row {
    lin_dtype dtype;
    int64_t shape[4];
} operand_row;

static const struct workspace_case {
    const char *name, *op;
    operand_row operands[4]; /* ended by an empty shape */
    int64_t result_bytes;
    lin_phase phase;
    int64_t processes, bytes;
    lin_confidence confidence;
} workspace_cases[] = {
    { "attention keeps one f32 a query row",
      "std.nn.attention::attention",
      { { LIN_DTYPE_BF16, { 2, 4, 8, 16 } }, { LIN_DTYPE_BF16, { 2, 4, 8, 16 } } },
      0,
      LIN_PHASE_INFERENCE,
      1,
      2 * 4 * 8 * 4,
      LIN_ESTIMATED },
    { "a boolean mask becomes a bias in the query's dtype",
      "std.nn.attention::attention",
      { { LIN_DTYPE_BF16, { 2, 4, 8, 16 } },
        { LIN_DTYPE_BF16, { 2, 4, 8, 16 } },
        { LIN_DTYPE_BF16, { 2, 4, 8, 16 } },
        { LIN_DTYPE_BOOL, { 8, 8 } } },
      0,
      LIN_PHASE_BACKWARD,
      1,
      2 * 4 * 8 * 4 + 8 * 8 * 2,
      LIN_ESTIMATED },
    { "all_gather stacks nothing on one device",
      "std.nn.parallel::all_gather",
      { { LIN_DTYPE_BF16, { 8, 8 } } },
      4096,
      LIN_PHASE_INFERENCE,
      1,
      0,
      LIN_EXACT },
    { "all_gather stacks the parts",
      "std.nn.parallel::all_gather",
      { { LIN_DTYPE_BF16, { 8, 8 } } },
      4096,
      LIN_PHASE_INFERENCE,
      2,
      4096,
      LIN_BACKEND_MODELED },
    /* V 32000: blocks of 8388 rows hold the 4096; both blocks' maximum is 8 block V. */
    { "a loss of one block, inference",
      "std.nn.loss::linear_cross_entropy",
      { { LIN_DTYPE_BF16, { 4096, 2048 } }, { LIN_DTYPE_BF16, { 32000, 2048 } } },
      0,
      LIN_PHASE_INFERENCE,
      1,
      (int64_t)8 * 4096 * 32000,
      LIN_BACKEND_MODELED },
    /* max(6, 8) block V = 1,048,576,000 against block V 6 + update 6 V H = 1,179,648,000 */
    { "a loss of one block, with gradients",
      "std.nn.loss::linear_cross_entropy",
      { { LIN_DTYPE_BF16, { 4096, 2048 } }, { LIN_DTYPE_BF16, { 32000, 2048 } } },
      0,
      LIN_PHASE_FORWARD_WITH_GRADIENTS,
      1,
      (int64_t)6 * 4096 * 32000 + (int64_t)6 * 32000 * 2048,
      LIN_BACKEND_MODELED },
    { "the published workspace of TinyLlama at 8192 tokens",
      "std.nn.loss::linear_cross_entropy",
      { { LIN_DTYPE_BF16, { 8192, 2048 } }, { LIN_DTYPE_BF16, { 32000, 2048 } } },
      0,
      LIN_PHASE_INFERENCE,
      1,
      2097152000,
      LIN_BACKEND_MODELED },
    { "no gradients are left for backward",
      "std.nn.loss::linear_cross_entropy",
      { { LIN_DTYPE_BF16, { 8192, 2048 } }, { LIN_DTYPE_BF16, { 32000, 2048 } } },
      0,
      LIN_PHASE_BACKWARD,
      1,
      0,
      LIN_EXACT },
    { "two blocks overlap",
      "std.nn.loss::linear_cross_entropy",
      { { LIN_DTYPE_F32, { 16000, 64 } }, { LIN_DTYPE_F32, { 32000, 64 } } },
      0,
      LIN_PHASE_INFERENCE,
      1,
      (int64_t)4 * 8388 * 32000 + (int64_t)8 * 7612 * 32000,
      LIN_BACKEND_MODELED },
    { "log-probabilities make the logits again in backward",
      "std.nn.loss::linear_token_log_probs",
      { { LIN_DTYPE_BF16, { 100, 64 } }, { LIN_DTYPE_BF16, { 1000, 64 } } },
      0,
      LIN_PHASE_BACKWARD,
      1,
      100 * 1000 * 6 + 1000 * 64 * 6 + 4 * 1000 * 64 + 100 * 64 * 2,
      LIN_BACKEND_MODELED },
    { "a vocabulary past the block has blocks of one row",
      "std.nn.loss::linear_token_log_probs",
      { { LIN_DTYPE_BF16, { 10, 1 } }, { LIN_DTYPE_BF16, { 300000000, 1 } } },
      0,
      LIN_PHASE_INFERENCE,
      1,
      (int64_t)10 * 300000000,
      LIN_BACKEND_MODELED },
};

static uint32_t fill_operands(lin_graph *graph, const operand_row *rows, lin_operand *out)
{
    uint32_t count = 0;
    for (; count < 4 && rows[count].shape[0] != 0; count++) {
        lin_operand *operand = &out[count];
        lin_expr *shape = LIN_NEW_ARRAY(&graph->arena, lin_expr, 4);
        *operand = (lin_operand){ .dtype = rows[count].dtype, .shape = shape };
        operand->elements = lin_expr_int(graph->exprs, 1);
        for (; operand->rank < 4 && rows[count].shape[operand->rank] != 0; operand->rank++) {
            shape[operand->rank] = lin_expr_int(graph->exprs, rows[count].shape[operand->rank]);
            operand->elements = lin_expr_mul(graph->exprs, operand->elements, shape[operand->rank]);
        }
    }
    return count;
}

/* ---- what is kept ---- */

enum { NO_FACTORS, FACTORS };

/* x is [6, 8] bf16, the weight after it carries a gradient or not. */
static const struct keep_case {
    const char *name, *op;
    uint8_t operands, results;
    bool factors;
    int64_t extra, extra_frozen; /* with a trained and a frozen second operand */
} keep_cases[] = {
    { "a product keeps each factor for the other", "std.nn.linear::linear", 0, 0, FACTORS, 0, 0 },
    { "an embedding keeps its indices", "std.nn.embedding::embedding", 1, 0, NO_FACTORS, 0, 0 },
    { "rms_norm keeps a statistic a row and a copy for the weight", "std.nn.norm::rms_norm", 3, 0,
      NO_FACTORS, 6 * 4 + 96, 6 * 4 },
    { "layer_norm keeps two statistics and a copy", "std.nn.norm::layer_norm", 3, 0, NO_FACTORS,
      6 * 8 + 96, 6 * 8 },
    { "layer_norm_affine keeps two statistics", "std.nn.norm::layer_norm_affine", 3, 0, NO_FACTORS,
      6 * 8, 6 * 8 },
    { "dropout keeps a byte an element", "std.nn.dropout::dropout", 0, 0, NO_FACTORS, 48, 48 },
    { "softmax keeps its result", "std.nn.softmax::softmax", 0, 1, NO_FACTORS, 0, 0 },
    { "silu keeps its input", "std.nn.activations::silu", 1, 0, NO_FACTORS, 0, 0 },
    { "fused attention keeps q, k, v, its result and a row's sum", "std.nn.attention::attention", 7,
      1, NO_FACTORS, 6 * 4, 6 * 4 },
    { "a cache write keeps nothing", "std.nn.cache::write_at", 0, 0, NO_FACTORS, 0, 0 },
    { "the chunked loss keeps both gradients", "std.nn.loss::linear_cross_entropy", 0, 0,
      NO_FACTORS, 96 + 4 * 10 * 8, 96 + 4 * 10 * 8 },
    { "log-probabilities keep a row's sum", "std.nn.loss::linear_token_log_probs", 7, 0, NO_FACTORS,
      6 * 4, 6 * 4 },
    { "plain logits keep log-probabilities in the model's dtype",
      "std.nn.loss::logits_cross_entropy", 4, 0, FACTORS, 2 * 6 * 10, 2 * 6 * 10 },
    { "f32 logits keep log-probabilities in f32", "std.nn.loss::logits_cross_entropy_f32", 4, 0,
      FACTORS, 4 * 6 * 10, 4 * 6 * 10 },
};

static int64_t extra_of(const lin_keep *keep, bool trained)
{
    static const operand_row rows[4] = { { LIN_DTYPE_BF16, { 6, 8 } },
                                         { LIN_DTYPE_BF16, { 10, 8 } } };
    lin_graph *graph = lin_graph_new(&lin_default_allocator);
    lin_operand operands[4];
    const uint32_t count = fill_operands(graph, rows, operands);
    int64_t bytes = 0;
    operands[1].carries_gradient = trained;
    if (keep->extra != NULL)
        assert_true(lin_expr_is_int(graph->exprs, keep->extra(graph->exprs, operands, count).bytes,
                                    &bytes));
    lin_graph_free(graph);
    return bytes;
}

static void test_keep(void **state)
{
    const struct keep_case *row = *state;
    const lin_keep *keep = lin_backend_choose(row->op, LIN_NUMERICS_FAST).native->keep;
    assert_int_equal(keep->operands, row->operands);
    assert_int_equal(keep->results, row->results);
    assert_int_equal(keep->factors, row->factors);
    assert_int_equal(extra_of(keep, true), row->extra);
    assert_int_equal(extra_of(keep, false), row->extra_frozen);
}

/* What is not modelled says so: all inputs and results are assumed. */
static void test_keep_unknown(void **state)
{
    (void)state;
    assert_null(lin_backend_choose("std.nn.conv::conv2d", LIN_NUMERICS_FAST).native->keep);
    assert_null(lin_backend_choose("std.nn.norm::batch_norm", LIN_NUMERICS_FAST).native->keep);
}

static void test_workspace(void **state)
{
    const struct workspace_case *row = *state;
    lin_graph *graph = lin_graph_new(&lin_default_allocator);
    lin_operand operands[4];
    uint32_t count = fill_operands(graph, row->operands, operands);
    const lin_native *native = lin_backend_choose(row->op, LIN_NUMERICS_FAST).native;
    lin_amount amount = native->workspace(graph->exprs, operands, count,
                                          lin_expr_int(graph->exprs, row->result_bytes), row->phase,
                                          row->processes);
    int64_t bytes = -1;
    assert_true(lin_expr_is_int(graph->exprs, amount.bytes, &bytes));
    assert_int_equal(bytes, row->bytes);
    assert_int_equal(amount.confidence, row->confidence);
    lin_graph_free(graph);
}

/* The same rule over a free length gives the same bytes at each length. */
static void test_workspace_symbolic(void **state)
{
    (void)state;
    static const int64_t lengths[] = { 1, 8387, 8388, 8389, 16776, 16777, 100000 };
    lin_graph *graph = lin_graph_new(&lin_default_allocator);
    lin_expr length = lin_expr_of_symbol(graph->exprs, graph->role_symbols[LIN_ROLE_CONTEXT]);
    const lin_expr width = lin_expr_int(graph->exprs, 64);
    const lin_expr vocabulary = lin_expr_int(graph->exprs, 32000);
    const lin_expr hidden[] = { length, width }, weight[] = { vocabulary, width };
    const lin_operand operands[] = {
        { LIN_DTYPE_BF16, hidden, 2, lin_expr_mul(graph->exprs, length, width), false },
        { LIN_DTYPE_BF16, weight, 2, lin_expr_mul(graph->exprs, vocabulary, width), false },
    };
    const lin_native *native =
        lin_backend_choose("std.nn.loss::linear_cross_entropy", LIN_NUMERICS_FAST).native;
    lin_amount amount = native->workspace(graph->exprs, operands, 2, 0, LIN_PHASE_INFERENCE, 1);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        int64_t n = lengths[i], block = n < 8388 ? n : 8388, rest = n - block;
        int64_t second = rest < block ? rest : block, bytes = 0;
        int64_t overlap = 4 * block + 6 * second;
        const int64_t symbols[] = { 1, n, 1 };
        assert_true(lin_expr_evaluate(graph->exprs, amount.bytes, symbols, &bytes));
        assert_int_equal(bytes, 32000 * (overlap > 8 * block ? overlap : 8 * block));
    }
    lin_graph_free(graph);
}

/* ---- runtime items ---- */

static const struct runtime_case {
    const char *name;
    lin_runtime_settings settings;
    int64_t context, libraries, cublas; /* bytes */
    lin_confidence context_confidence, cublas_confidence;
    linnet_status expect;
} runtime_cases[] = {
    { "inference on one device",
      { .context_bytes = -1 },
      621 * MIB,
      74 * MIB,
      32 * MIB,
      LIN_ESTIMATED,
      LIN_ESTIMATED,
      LINNET_OK },
    { "training on one device",
      { .context_bytes = -1, .training = true },
      621 * MIB,
      146 * MIB,
      32 * MIB,
      LIN_ESTIMATED,
      LIN_ESTIMATED,
      LINNET_OK },
    { "a context of the caller's",
      { .context_bytes = 438 * MIB },
      438 * MIB,
      74 * MIB,
      32 * MIB,
      LIN_BACKEND_MODELED,
      LIN_ESTIMATED,
      LINNET_OK },
    { "no context at all",
      { .context_bytes = 0 },
      0,
      74 * MIB,
      32 * MIB,
      LIN_BACKEND_MODELED,
      LIN_ESTIMATED,
      LINNET_OK },
    { "a workspace string",
      { .context_bytes = -1, .cublas_workspace_config = ":4096:2:16:8" },
      621 * MIB,
      74 * MIB,
      (4096 * 2 + 16 * 8) * 1024,
      LIN_ESTIMATED,
      LIN_BACKEND_MODELED,
      LINNET_OK },
    { "a workspace string that asks for none",
      { .context_bytes = -1, .cublas_workspace_config = ":0:0" },
      621 * MIB,
      74 * MIB,
      0,
      LIN_ESTIMATED,
      LIN_BACKEND_MODELED,
      LINNET_OK },
    { "an empty workspace string is none",
      { .context_bytes = -1, .cublas_workspace_config = "" },
      621 * MIB,
      74 * MIB,
      32 * MIB,
      LIN_ESTIMATED,
      LIN_ESTIMATED,
      LINNET_OK },
    { "a workspace string without a colon",
      { .context_bytes = -1, .cublas_workspace_config = "4096:2" },
      0,
      0,
      0,
      LIN_EXACT,
      LIN_EXACT,
      LINNET_ERROR_ARGUMENT },
    { "a workspace string without a count",
      { .context_bytes = -1, .cublas_workspace_config = ":4096" },
      0,
      0,
      0,
      LIN_EXACT,
      LIN_EXACT,
      LINNET_ERROR_ARGUMENT },
    { "a workspace string with a sign",
      { .context_bytes = -1, .cublas_workspace_config = ":-1:2" },
      0,
      0,
      0,
      LIN_EXACT,
      LIN_EXACT,
      LINNET_ERROR_ARGUMENT },
    { "a workspace string past 64 bits",
      { .context_bytes = -1, .cublas_workspace_config = ":9223372036854775807:2" },
      0,
      0,
      0,
      LIN_EXACT,
      LIN_EXACT,
      LINNET_ERROR_ARGUMENT },
};

static void test_runtime(void **state)
{
    const struct runtime_case *row = *state;
    lin_runtime_item items[LIN_RUNTIME_MAX_ITEMS];
    uint32_t count = 77;
    linnet_error err = { 0 };
    linnet_status status = lin_backend_runtime(&row->settings, items, &count, &err);
    assert_int_equal(status, row->expect);
    if (status != LINNET_OK) {
        assert_int_equal(count, 77);
        return;
    }
    assert_int_equal(count, 4);
    assert_string_equal(items[0].name, "CUDA context");
    assert_int_equal(items[0].bytes, row->context);
    assert_int_equal(items[0].confidence, row->context_confidence);
    assert_string_equal(items[1].name, "CUDA libraries");
    assert_int_equal(items[1].bytes, row->libraries);
    assert_int_equal(items[1].category, LIN_CATEGORY_RUNTIME);
    assert_string_equal(items[2].name, "cuBLAS workspace");
    assert_int_equal(items[2].bytes, row->cublas);
    assert_int_equal(items[2].category, LIN_CATEGORY_WORKSPACE);
    assert_int_equal(items[2].confidence, row->cublas_confidence);
    assert_string_equal(items[3].name, "Allocator fragmentation");
    assert_false(items[3].known);
}

static void test_generic_runtime(void **state)
{
    (void)state;
    const lin_runtime_settings settings = { .backend = LIN_BACKEND_GENERIC, .context_bytes = -1 };
    lin_runtime_item items[LIN_RUNTIME_MAX_ITEMS];
    uint32_t count = 0;
    assert_int_equal(lin_backend_runtime(&settings, items, &count, NULL), LINNET_OK);
    assert_int_equal(count, 1);
    assert_false(items[0].known);
    assert_int_equal(lin_backend_alignment(LIN_BACKEND_GENERIC), 1);
    assert_int_equal(lin_backend_alignment(LIN_BACKEND_CUDA), 512);
}

static void test_names(void **state)
{
    (void)state;
    lin_numerics numerics;
    lin_backend_kind backend;
    for (int i = 0; i < 3; i++) {
        assert_true(lin_numerics_find(lin_numerics_name((lin_numerics)i), &numerics));
        assert_int_equal(numerics, i);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(lin_backend_find(lin_backend_name((lin_backend_kind)i), &backend));
        assert_int_equal(backend, i);
    }
    assert_false(lin_numerics_find("quick", &numerics));
    assert_false(lin_backend_find("", &backend));
}

#define ROWS(function, cases)                             \
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)         \
        tests[count++] = (struct CMUnitTest)              \
        {                                                 \
            .name = cases[i].name, .test_func = function, \
            .initial_state = (void *)(uintptr_t)&cases[i] \
        }

int main(void)
{
    struct CMUnitTest tests[160];
    size_t count = 0;
    ROWS(test_choice, choice_cases);
    ROWS(test_storage, storage_cases);
    ROWS(test_workspace, workspace_cases);
    ROWS(test_runtime, runtime_cases);
    ROWS(test_keep, keep_cases);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_keep_unknown);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_kernel_only);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_workspace_symbolic);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_generic_runtime);
    tests[count++] = (struct CMUnitTest)cmocka_unit_test(test_names);
    /* One group of a known number of tests: the macro wants an array. */
    return _cmocka_run_group_tests("backend", tests, count, NULL, NULL);
}
