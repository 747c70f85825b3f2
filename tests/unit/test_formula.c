/* SPDX-License-Identifier: MIT */

/*
 * Closed forms against numbers worked out apart from them: published parameter counts, the states,
 * activations, logits and totals of a GPT of 1.3B parameters, Llama layers tensor by tensor,
 * recomputation and layouts. Then what the exact arithmetic does at its ends, the table itself, and
 * what is refused.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linnet/linnet.h>

#include "formula/formula.h"

enum { MAX_VALUES = 16 };

typedef struct values {
    char text[256];
    const char *symbols[MAX_VALUES];
    int64_t numbers[MAX_VALUES];
    uint64_t count;
} values;

/* "s=2048 b=8" */
static void read_values(values *out, const char *text)
{
    out->count = 0;
    assert_true(strlen(text) < sizeof out->text);
    memcpy(out->text, text, strlen(text) + 1);
    for (char *word = strtok(out->text, " "); word != NULL; word = strtok(NULL, " ")) {
        char *equals = strchr(word, '=');
        assert_non_null(equals);
        assert_true(out->count < MAX_VALUES);
        *equals = '\0';
        assert_true(lin_parse_i64(equals + 1, strlen(equals + 1), &out->numbers[out->count]));
        out->symbols[out->count++] = word;
    }
}

static linnet_status evaluate(const char *name, const char *text, int64_t *numerator,
                              int64_t *denominator, linnet_error *err)
{
    values v;
    uint64_t formula;
    read_values(&v, text);
    const linnet_status status = linnet_formula_find(name, &formula, err);
    return status == LINNET_OK ? linnet_formula_evaluate(formula, v.symbols, v.numbers, v.count,
                                                         numerator, denominator, err)
                               : status;
}

/* ---- values ---- */

#define P13 "P=1311528960"
#define LLAMA2 "h=4096 a=32 F=11008"
#define LLAMA3 "h=4096 a=32 g=8 F=14336"
#define GPT13 "L=24 h=2048 V=50257 s=2048 "
#define LAYER "s=2048 b=8 h=2048 a=16 "
#define CARD "C=68000000000 "

/* clang-format off */
static const struct value_case {
    const char *name, *formula, *values;
    int64_t numerator, denominator;
} value_cases[] = {
    { "a GPT layer of width 2048", "parameters-gpt-layer", "h=2048", 50358272, 1 },
    { "the 1.3B GPT", "parameters-gpt", "L=24 h=2048 V=50257", 1311528960, 1 },
    { "Megatron's test GPT, learned positions", "parameters-gpt", "L=12 h=512 V=50304 n=1024", 64109568, 1 },
    { "a Llama-2 7B layer", "parameters-llama-layer", LLAMA2, 202383360, 1 },
    { "Llama-2 7B", "parameters-llama", "L=32 V=32000 " LLAMA2, 6738415616, 1 },
    { "Llama-3 8B", "parameters-llama", "L=32 V=128256 " LLAMA3, 8030261248, 1 },
    { "a Mixtral 8x7B layer", "parameters-moe-layer", "h=4096 a=32 g=8 E=8 Fe=14336", 1451270144, 1 },
    { "attention of a DeepSeek-V3 layer", "parameters-mla-attention", "h=7168 a=128 rq=1536 rkv=512 dn=128 dr=64 dv=128", 187107328, 1 },

    { "16 bytes a parameter", "states-adam-mixed", P13, 20984463360, 1 },
    { "f32 Adam is 16 too", "states-adam-f32", P13, 20984463360, 1 },
    { "autocast is 16 too", "states-adam-amp", P13, 20984463360, 1 },
    { "18 bytes with f32 main gradients", "states-megatron-bf16", P13, 23607521280, 1 },
    { "20 bytes in fp16", "states-megatron-fp16", "P=1000", 20000, 1 },
    { "16 bytes in Megatron's f32", "states-megatron-f32", "P=1000", 16000, 1 },
    { "8 bytes in bf16 alone", "states-adamw-bf16", P13, 10492231680, 1 },
    { "10 bytes with Kahan summation", "states-adamw-bf16-kahan", "P=1000", 10000, 1 },
    { "8 bytes with stochastic rounding", "states-adamw-bf16-stochastic", "P=1000", 8000, 1 },
    { "8-bit moments", "moments-adamw-8bit", P13, 2664043200, 1 },
    { "8-bit Adam, bf16", "states-adamw-8bit-bf16", "P=3200", 19300, 1 },
    { "8-bit Adam, f32", "states-adamw-8bit-f32", "P=3200", 32100, 1 },
    { "SGD in f32", "states-sgd-f32", "P=1000", 8000, 1 },
    { "SGD in bf16", "states-sgd-bf16", "P=1000", 4000, 1 },
    { "SGD with momentum", "states-sgd-momentum-f32", "P=1000", 12000, 1 },
    { "Muon, a tenth by AdamW", "states-muon-f32", "P=1000 N=900", 12400, 1 },
    { "bf16 moments under f32 weights", "states-adamw-bf16-moments", "P=1000", 12000, 1 },
    { "temporaries of foreach AdamW", "temporaries-adamw-foreach", P13, 5246115840, 1 },
    { "ZeRO-1 on 8", "states-zero-1", P13 " D=8", 7213409280, 1 },
    { "ZeRO-2 on 8", "states-zero-2", P13 " D=8", 4918233600, 1 },
    { "ZeRO-3 on 8", "states-zero-3", P13 " D=8", 2623057920, 1 },
    { "the distributed optimizer, bf16, on 8", "states-distributed-bf16", "P=64109568 D=8", 480821760, 1 },
    { "the distributed optimizer, fp16", "states-distributed-fp16", "P=1000 D=8", 6000, 1 },
    { "the distributed optimizer, f32", "states-distributed-f32", "P=1000 D=8", 9000, 1 },
    { "precision-aware, bf16 moments", "states-precision-aware", "P=1000 D=8", 5000, 1 },
    { "a share that is no whole byte", "states-zero-3", "P=10 D=3", 160, 3 },
    { "states of a rank of t=8, p=4", "states-model-parallel", P13 " t=8 p=4", 655764480, 1 },

    { "layer", "activations-gpt", LAYER, 3825205248, 1 },
    { "layer of 256 wide, 4 heads: 54 sbh", "activations-gpt", "s=256 b=2 h=256 a=4", 7077888, 1 },
    { "layer, t=2", "activations-gpt-tp", LAYER "t=2", 2080374784, 1 },
    { "layer, t=4", "activations-gpt-tp", LAYER "t=4", 1207959552, 1 },
    { "layer, t=8", "activations-gpt-tp", LAYER "t=8", 771751936, 1 },
    { "layer, t=2, sequence parallel", "activations-gpt-tp-sp", LAYER "t=2", 1912602624, 1 },
    { "layer, t=4, sequence parallel", "activations-gpt-tp-sp", LAYER "t=4", 956301312, 1 },
    { "layer, t=8, sequence parallel", "activations-gpt-tp-sp", LAYER "t=8", 478150656, 1 },
    { "layer, selective", "activations-gpt-selective", "s=2048 b=8 h=2048", 1140850688, 1 },
    { "layer, selective, t=2", "activations-gpt-tp-selective", "s=2048 b=8 h=2048 t=2", 738197504, 1 },
    { "layer, selective, t=4", "activations-gpt-tp-selective", "s=2048 b=8 h=2048 t=4", 536870912, 1 },
    { "layer, selective, t=8", "activations-gpt-tp-selective", "s=2048 b=8 h=2048 t=8", 436207616, 1 },
    { "layer, selective, t=2, sequence parallel", "activations-gpt-tp-sp-selective", "s=2048 b=8 h=2048 t=2", 570425344, 1 },
    { "layer, selective, t=4, sequence parallel", "activations-gpt-tp-sp-selective", "s=2048 b=8 h=2048 t=4", 285212672, 1 },
    { "layer, selective, t=8, sequence parallel", "activations-gpt-tp-sp-selective", "s=2048 b=8 h=2048 t=8", 142606336, 1 },
    { "layer, recomputed", "activations-gpt-full", "s=2048 b=8 h=2048", 67108864, 1 },
    { "layer, recomputed, t=2", "activations-gpt-full-sp", "s=2048 b=8 h=2048 t=2", 33554432, 1 },
    { "layer, recomputed, t=4", "activations-gpt-full-sp", "s=2048 b=8 h=2048 t=4", 16777216, 1 },
    { "layer, recomputed, t=8", "activations-gpt-full-sp", "s=2048 b=8 h=2048 t=8", 8388608, 1 },
    { "layer, c=4", "activations-gpt-cp", "s=2048 b=8 h=2048 c=4", 285212672, 1 },
    { "layer without dropout: 32 + 2as/h", "activations-gpt-no-dropout", "s=256 b=2 h=256 a=4", 5242880, 1 },
    { "layer without dropout, t=2: 8 + 12 + as/h", "activations-gpt-tp-no-dropout", "s=256 b=2 h=256 a=4 t=2", 3145728, 1 },
    { "outside the layers", "activations-gpt-ends", "s=2048 b=8 h=2048", 167772160, 1 },
    { "LayerNorm statistics", "activations-layernorm-statistics", "s=256 b=2", 8192, 1 },
    { "rows of fused attention", "activations-attention-rows", "s=256 b=2 a=4", 8192, 1 },
    { "Llama-2 7B layer, eager", "activations-llama-eager", LLAMA2, 186504, 1 },
    { "Llama-2 7B layer, fused norms", "activations-llama-fused-norm", LLAMA2, 153736, 1 },
    { "Llama-2 7B layer, fused", "activations-llama-fused", LLAMA2, 131720, 1 },
    { "Llama-3 8B layer, eager", "activations-llama-eager", LLAMA3, 200840, 1 },
    { "Llama-3 8B layer, fused norms", "activations-llama-fused-norm", LLAMA3, 168072, 1 },
    { "Llama-3 8B layer, fused", "activations-llama-fused", LLAMA3, 139400, 1 },
    { "Llama-3 8B layer, fused, 8192 tokens", "activations-llama-fused", LLAMA3 " s=8192", 1141964800, 1 },
    { "Llama-3 8B layer, fused, t=2, sequence parallel", "activations-llama-fused", LLAMA3 " t=2", 69700, 1 },
    { "Llama-3 8B layer, eager, t=2", "activations-llama-eager-tp", LLAMA3 " t=2", 133192, 1 },
    { "Llama-3 8B layer, fused norms, t=2", "activations-llama-fused-norm-tp", LLAMA3 " t=2", 100424, 1 },
    { "Llama-3 8B layer, fused, t=2", "activations-llama-fused-tp", LLAMA3 " t=2", 86088, 1 },
    { "a joint QKV product of Llama-3 8B", "activations-llama-joint-qkv", "h=4096 a=32 g=8", 10240, 1 },
    { "Megatron's estimate is 34 sbh a layer", "activations-megatron", "s=1 b=1 h=1024 L=10 V=1024", 34 * 1024 * 10 + 8 + 1024 + 8192, 1 },
    { "Megatron's estimate, 4 stages, 2 micro-batches", "activations-megatron-pipeline", "s=1 b=1 h=1024 L=8 p=4 m=2", (34 * 1024 * 8 + 32 + 4096) / 2, 1 },

    { "logits, f32", "logits", "s=2048 b=8 V=50257", 3293642752, 1 },
    { "logits, 16 bits", "logits-bf16", "s=2048 b=8 V=50257", 1646821376, 1 },
    { "logits, Megatron's forward", "logits-megatron-peak", "s=2048 b=8 V=50257", 4940464128, 1 },
    { "logits, eager backward: 14", "logits-eager-peak", "s=1 b=1 V=1000", 14000, 1 },
    { "logits, eager backward, given up: 12", "logits-eager-peak", "s=1 b=1 V=1000 held=0", 12000, 1 },
    { "logits by chunks", "logits-chunked", "chunk=2048 V=32000", 131072000, 1 },

    { "the 1.3B step", "step-gpt", GPT13 "b=8 a=16", 116083032064, 1 },
    { "its layers alone", "step-gpt", GPT13 "b=8 a=16 M=0", 91804925952 + 3293642752, 1 },
    { "the 1.3B step, selective", "step-gpt-selective", GPT13 "b=8", 51658522624, 1 },
    { "the 1.3B step, recomputed", "step-gpt-full", GPT13 "b=8", 27029569536, 1 },
    { "the 1.3B step, ZeRO-2 on 8", "step-gpt-zero-2", GPT13 "b=8 D=8", 35592292864, 1 },
    { "the 1.3B step, ZeRO-2 on 8, half the batch", "step-gpt-zero-2", GPT13 "b=4 D=8", 20255263232, 1 },
    { "the largest micro-batch on 68 GB", "micro-batch-gpt-selective", GPT13 CARD, 12, 1 },
    { "the largest micro-batch on 80 GB", "micro-batch-gpt-selective", GPT13 "C=80000000000", 15, 1 },
    { "the largest micro-batch on 68 GB, recomputed", "micro-batch-gpt-full", GPT13 CARD, 62, 1 },
    { "the largest micro-batch on 80 GB, recomputed", "micro-batch-gpt-full", GPT13 "C=80000000000", 78, 1 },

    { "a third more", "recompute-full", "", 1, 3 },
    { "4.76 % at s = h", "recompute-selective", "s=2048 h=2048", 1, 21 },
    { "every layer", "checkpoint-every", "s=2048 b=8 h=2048 L=24 k=1", 2751463424, 1 },
    { "every 2 layers", "checkpoint-every", "s=2048 b=8 h=2048 L=24 k=2", 3087007744, 1 },
    { "every 4 layers", "checkpoint-every", "s=2048 b=8 h=2048 L=24 k=4", 4966055936, 1 },
    { "all layers", "checkpoint-every", "s=2048 b=8 h=2048 L=24 k=24", 27447525376, 1 },
    { "every 5 of 24: 5 regions", "checkpoint-every", "s=2048 b=8 h=2048 L=24 k=5", 5 * 67108864 + 5 * 1140850688LL, 1 },
    { "every layer is best", "checkpoint-best-k", "s=2048 b=8 h=2048 L=24", 1, 1 },
    { "sqrt(L) when layers keep their input alone", "checkpoint-best-k", "s=1 b=1 h=1 L=100 I=1 A=1", 10, 1 },
    { "no more layers than there are", "checkpoint-best-k", "s=1 b=1 h=1 L=3 I=100 A=1", 3, 1 },
    { "the first 8 of 24", "checkpoint-first", "s=2048 b=8 h=2048 L=24 r=8", 8 * 67108864 + 17 * 1140850688LL, 1 },
    { "the first none", "checkpoint-first", "s=2048 b=8 h=2048 L=24 r=0", 27380416512, 1 },

    { "1F1B, first of 4", "pipeline-1f1b", "m=8 p=4", 4, 1 },
    { "1F1B, last of 4", "pipeline-1f1b", "m=8 p=4 i=3", 1, 1 },
    { "1F1B, fewer micro-batches", "pipeline-1f1b", "m=2 p=4", 2, 1 },
    { "1F1B does not shrink the first stage", "pipeline-1f1b-activations", "m=8 p=4 L=24 A=100", 2400, 1 },
    { "GPipe", "pipeline-gpipe", "m=8", 8, 1 },
    { "interleaved, 4 stages, 2 chunks", "pipeline-interleaved", "p=4 v=2", 11, 8 },
    { "interleaved, chunks of the first of 4", "pipeline-interleaved-chunks", "m=8 p=4 v=2", 11, 1 },
    { "interleaved, chunks of the last of 4", "pipeline-interleaved-chunks", "m=8 p=4 v=2 i=3", 5, 1 },
    { "interleaved, in layers", "pipeline-interleaved-activations", "m=8 p=4 v=2 L=24 A=100", 3300, 1 },
    { "DualPipe", "pipeline-dualpipe", "p=8", 9, 1 },
    { "ranks for the states, ZeRO-1", "devices-zero-1", "P=7000000000 C=68000000000", 3, 1 },
    { "ranks for the states, ZeRO-2", "devices-zero-2", "P=7000000000 C=68000000000", 2, 1 },
    { "ranks for the states, ZeRO-3, activations beside", "devices-zero-3", "P=7000000000 C=68000000000 X=48000000000", 6, 1 },
    { "devices by time: 70B, 15T tokens, 30 days", "devices-by-time", "P=70000000000 T=15000000000000 R=989000000000000 U=40 W=2592000", 6144, 1 },
    { "arithmetic of a token", "arithmetic-token", "P=1000 L=2 s=10 h=5", 7200, 1 },
    { "arithmetic of a token, causal", "arithmetic-token-causal", "P=1000 L=2 s=10 h=5", 6600, 1 },
    { "sequences a step", "global-batch", "b=2 D=8 m=4", 64, 1 },
    { "devices of a layout", "devices-layout", "D=8 t=4 p=2", 64, 1 },
    { "cache of a Llama-3 8B token", "kv-cache-token", "L=32 g=8 d=128", 131072, 1 },
    { "cache of a Llama-2 7B token", "kv-cache-token", "L=32 g=32 d=128", 524288, 1 },
    { "latent cache of a DeepSeek-V3 token", "kv-cache-token-mla", "L=61 rkv=512 dr=64", 70272, 1 },
    { "caches of a window", "kv-cache", "L=32 g=8 d=128 s=8192 window=4096 b=2", 2 * 4096LL * 131072, 1 },
};
/* clang-format on */

static void test_value(void **state)
{
    const struct value_case *row = *state;
    int64_t numerator = -1, denominator = -1;
    linnet_error err = { 0 };
    if (evaluate(row->formula, row->values, &numerator, &denominator, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    assert_int_equal(numerator, row->numerator);
    assert_int_equal(denominator, row->denominator);
}

/* ---- refusals ---- */

/* clang-format off */
static const struct refusal_case {
    const char *name, *formula, *values;
    linnet_status status;
    const char *message;
} refusal_cases[] = {
    { "an unknown formula with a near name", "activations-gtp", "", LINNET_ERROR_NOT_FOUND,
      "there is no formula `activations-gtp`, did you mean `activations-gpt`" },
    { "an unknown formula", "x", "", LINNET_ERROR_NOT_FOUND, "there is no formula `x`" },
    { "an unknown symbol", "activations-gpt", "s=1 q=2", LINNET_ERROR_NOT_FOUND,
      "`activations-gpt` has no symbol `q`; it takes `s`, `b`, `h` and `a`" },
    { "an unknown symbol with a near name", "kv-cache", "windows=2", LINNET_ERROR_NOT_FOUND,
      "`kv-cache` has no symbol `windows`, did you mean `window`; it takes `L`, `g`, `d`, `e`, `s`, `b` and `window`" },
    { "a symbol where none is taken", "recompute-full", "s=1", LINNET_ERROR_NOT_FOUND,
      "`recompute-full` has no symbol `s`: it takes none" },
    { "one symbol missing", "activations-gpt-selective", "s=1 b=1", LINNET_ERROR_ARGUMENT,
      "`activations-gpt-selective` needs `h` (hidden width)" },
    { "several symbols missing", "activations-gpt", "b=1", LINNET_ERROR_ARGUMENT,
      "`activations-gpt` needs `s` (positions of a sequence), `h` (hidden width) and `a` (attention heads)" },
    { "a symbol given as two values", "parameters-gpt-layer", "h=1 h=2", LINNET_ERROR_ARGUMENT,
      "`h` is given as both 1 and 2" },
    { "0 heads", "activations-gpt", "s=1 b=1 h=1 a=0", LINNET_ERROR_ARGUMENT,
      "`a` (attention heads) must be at least 1, not 0" },
    { "a negative number", "pipeline-1f1b", "m=1 p=1 i=-1", LINNET_ERROR_ARGUMENT,
      "`i` (stage, from 0 on) must be at least 0, not -1" },
    { "a head's width that is no whole number", "parameters-llama-layer", "h=10 a=3 F=1", LINNET_ERROR_ARGUMENT,
      "`d` (width of a head) is h/a unless it is given, and that is no whole number here" },
    { "a stage past the last", "pipeline-1f1b", "m=1 p=4 i=4", LINNET_ERROR_ARGUMENT,
      "there is no such stage: they count from 0 to p - 1" },
    { "a region of more layers than the model", "checkpoint-every", "s=1 b=1 h=1 L=4 k=5", LINNET_ERROR_ARGUMENT,
      "a region cannot have more layers than the model" },
    { "a region of no layers", "checkpoint-every", "s=1 b=1 h=1 L=4 k=0", LINNET_ERROR_ARGUMENT,
      "`k` (layers a region) must be at least 1, not 0" },
    { "no number of devices is enough", "devices-zero-1", "P=100 C=400", LINNET_ERROR_CAPACITY,
      "no number of devices is enough: what is not split takes all of `C`" },
    { "the states alone are too much", "micro-batch-gpt-full", GPT13 "C=1", LINNET_ERROR_CAPACITY,
      "the model states alone take more than `C`" },
    { "a result past 2^63 - 1", "parameters-gpt-layer", "h=1000000000", LINNET_ERROR_OVERFLOW,
      "`parameters-gpt-layer` passes 2^63 - 1 at these values" },
    { "a value on the way past 2^128", "activations-gpt", "s=9000000000000000000 b=9000000000000000000 h=9000000000000000000 a=1",
      LINNET_ERROR_OVERFLOW, "`activations-gpt` passes 2^63 - 1 at these values" },
};
/* clang-format on */

static void test_refusal(void **state)
{
    const struct refusal_case *row = *state;
    int64_t numerator = -7, denominator = -7;
    linnet_error err = { 0 };
    assert_int_equal(evaluate(row->formula, row->values, &numerator, &denominator, &err),
                     row->status);
    assert_int_equal(err.code, row->status);
    assert_string_equal(err.message, row->message);
    assert_int_equal(numerator, -7);
    assert_int_equal(denominator, -7);
}

/* ---- arithmetic ---- */

/* clang-format off */
static const struct compute_case {
    const char *name, *expression;
    lin_formula_fault fault;
    int64_t numerator, denominator;
} compute_cases[] = {
    { "products before sums", "2 + 3*4", LIN_FORMULA_FINE, 14, 1 },
    { "from left to right", "100/10/5*2 - 1 - 1", LIN_FORMULA_FINE, 2, 1 },
    { "fractions are exact", "1/3 + 1/6", LIN_FORMULA_FINE, 1, 2 },
    { "a fraction that cancels", "7*(1/7) - 1", LIN_FORMULA_FINE, 0, 1 },
    { "a difference below 0", "3 - 5", LIN_FORMULA_FINE, -2, 1 },
    { "powers", "2*3^2", LIN_FORMULA_FINE, 18, 1 },
    { "to the power of 0", "5^0", LIN_FORMULA_FINE, 1, 1 },
    { "ceil", "ceil(7/2)", LIN_FORMULA_FINE, 4, 1 },
    { "floor", "floor(7/2)", LIN_FORMULA_FINE, 3, 1 },
    { "ceil below 0", "ceil((0 - 7)/2)", LIN_FORMULA_FINE, -3, 1 },
    { "floor below 0", "floor((0 - 7)/2)", LIN_FORMULA_FINE, -4, 1 },
    { "min and max", "min(7/2, 3) + max(1/2, 1/3)", LIN_FORMULA_FINE, 7, 2 },
    { "a root", "ceilsqrt(16)", LIN_FORMULA_FINE, 4, 1 },
    { "a root between", "ceilsqrt(17)", LIN_FORMULA_FINE, 5, 1 },
    { "a root of 0 and of less", "ceilsqrt(0) + ceilsqrt(0 - 4)", LIN_FORMULA_FINE, 0, 1 },
    { "a root of 2^126", "ceilsqrt(9223372036854775807^2)", LIN_FORMULA_FINE, INT64_MAX, 1 },
    { "names", "x*y + z1", LIN_FORMULA_FINE, 23, 1 },
    { "the largest result", "9223372036854775806 + 1", LIN_FORMULA_FINE, INT64_MAX, 1 },
    { "one more", "9223372036854775807 + 1", LIN_FORMULA_OVERFLOW, 0, 0 },
    { "large on the way", "9223372036854775807*1000/1000", LIN_FORMULA_FINE, INT64_MAX, 1 },
    { "too large on the way", "9223372036854775807^3", LIN_FORMULA_OVERFLOW, 0, 0 },
    { "a denominator too large", "1/9223372036854775807/3", LIN_FORMULA_OVERFLOW, 0, 0 },
    { "a sum of unlike denominators too large", "1/9223372036854775807^2 + 1/9223372036854775806^2", LIN_FORMULA_OVERFLOW, 0, 0 },
    { "a division by 0", "1/(x - 4)", LIN_FORMULA_BY_ZERO, 0, 0 },
    { "nothing", "", LIN_FORMULA_MALFORMED, 0, 0 },
    { "an unknown name", "q", LIN_FORMULA_MALFORMED, 0, 0 },
    { "an unknown function", "sin(1)", LIN_FORMULA_MALFORMED, 0, 0 },
    { "an open bracket", "(1", LIN_FORMULA_MALFORMED, 0, 0 },
    { "an open call", "min(1, 2", LIN_FORMULA_MALFORMED, 0, 0 },
    { "one operand of two", "min(1)", LIN_FORMULA_MALFORMED, 0, 0 },
    { "text after the end", "1 2", LIN_FORMULA_MALFORMED, 0, 0 },
    { "a power that is no digit", "2^x", LIN_FORMULA_MALFORMED, 0, 0 },
    { "a power of two digits", "2^10", LIN_FORMULA_MALFORMED, 0, 0 },
    { "a power at the end", "2^", LIN_FORMULA_MALFORMED, 0, 0 },
    { "a number past 2^63 - 1", "9223372036854775808", LIN_FORMULA_MALFORMED, 0, 0 },
};
/* clang-format on */

static void test_compute(void **state)
{
    static const char *const names[] = { "x", "y", "z1" };
    static const int64_t numbers[] = { 4, 5, 3 };
    const struct compute_case *row = *state;
    lin_ratio result = { 0, 0 };
    assert_int_equal(lin_formula_compute(row->expression, names, numbers, 3, &result), row->fault);
    assert_int_equal(result.numerator, row->numerator);
    assert_int_equal(result.denominator, row->denominator);
}

/* ---- the table ---- */

/* Every formula can be computed from its symbols alone, every symbol has a meaning, and no name
 * stands twice. */
static void test_table(void **state)
{
    (void)state;
    assert_true(linnet_formula_count() > 50);
    for (uint64_t i = 0; i < linnet_formula_count(); i++) {
        const lin_formula *formula = lin_formula_at((uint32_t)i);
        const char *names[LIN_FORMULA_MAX_SYMBOLS];
        int64_t ones[LIN_FORMULA_MAX_SYMBOLS];
        uint64_t found;
        lin_ratio result;
        uint32_t count = 0;
        for (; formula->symbols[count].name != NULL; count++) {
            assert_true(count < LIN_FORMULA_MAX_SYMBOLS);
            assert_non_null(linnet_formula_symbol_meaning(i, count));
            names[count] = formula->symbols[count].name;
            ones[count] = 3;
            if (formula->symbols[count].otherwise != NULL)
                assert_int_equal(lin_formula_compute(formula->symbols[count].otherwise, names, ones,
                                                     count, &result),
                                 LIN_FORMULA_FINE);
        }
        assert_int_equal(linnet_formula_symbol_count(i), count);
        const lin_formula_fault fault =
            lin_formula_compute(formula->expression, names, ones, count, &result);
        if (fault != LIN_FORMULA_FINE && fault != LIN_FORMULA_BY_ZERO)
            fail_msg("%s: fault %d", formula->name, (int)fault);
        for (uint32_t k = 0; k < LIN_FORMULA_MAX_CONDITIONS; k++)
            if (formula->conditions[k].positive != NULL)
                assert_int_equal(lin_formula_compute(formula->conditions[k].positive, names, ones,
                                                     count, &result),
                                 LIN_FORMULA_FINE);
        assert_int_equal(linnet_formula_find(linnet_formula_name(i), &found, NULL), LINNET_OK);
        assert_int_equal(found, i);
        assert_non_null(linnet_formula_title(i));
        assert_non_null(linnet_formula_source(i));
        assert_non_null(linnet_formula_unit(i));
    }
}

static void test_out_of_range(void **state)
{
    (void)state;
    const uint64_t end = linnet_formula_count();
    int64_t numerator, denominator;
    linnet_error err = { 0 };
    assert_null(linnet_formula_name(end));
    assert_null(linnet_formula_title(UINT64_MAX));
    assert_null(linnet_formula_expression(end));
    assert_null(linnet_formula_unit(end));
    assert_null(linnet_formula_source(end));
    assert_int_equal(linnet_formula_symbol_count(end), 0);
    assert_null(linnet_formula_symbol_name(0, 100));
    assert_null(linnet_formula_symbol_meaning(end, 0));
    assert_null(linnet_formula_symbol_default(0, 0));
    assert_int_equal(linnet_formula_evaluate(end, NULL, NULL, 0, &numerator, &denominator, &err),
                     LINNET_ERROR_ARGUMENT);
}

/* ---- printing ---- */

static void test_text(void **state)
{
    static const char *const symbols[] = { "s", "h" };
    static const int64_t numbers[] = { 2048, 2048 };
    uint64_t formula;
    linnet_text *text = NULL;
    (void)state;
    assert_int_equal(linnet_formula_find("recompute-selective", &formula, NULL), LINNET_OK);
    assert_int_equal(linnet_formula_to_text(formula, symbols, numbers, 2, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "\n  s/(18*h + 3*s)\n"
                                                   "  = 2048/(18*2048 + 3*2048)\n"
                                                   "  = 1/21 = 4.76 % of a step's arithmetic\n"));
    linnet_text_free(text);
    assert_int_equal(linnet_formula_to_json(formula, symbols, numbers, 2, &text, NULL), LINNET_OK);
    assert_non_null(strstr(linnet_text_data(text), "\"value\": null,\n    \"numerator\": 1,\n"
                                                   "    \"denominator\": 21,\n"));
    linnet_text_free(text);
}

#define ADD_ROWS(rows, function)                             \
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)             \
        tests[count++] = (struct CMUnitTest)                 \
        {                                                    \
            .name = (rows)[i].name, .test_func = (function), \
            .initial_state = (void *)(uintptr_t) & (rows)[i] \
        }

int main(void)
{
    struct CMUnitTest
        tests[3 + ARRAY_LEN(value_cases) + ARRAY_LEN(refusal_cases) + ARRAY_LEN(compute_cases)] = {
            cmocka_unit_test(test_table),
            cmocka_unit_test(test_out_of_range),
            cmocka_unit_test(test_text),
        };
    size_t count = 3;
    ADD_ROWS(value_cases, test_value);
    ADD_ROWS(refusal_cases, test_refusal);
    ADD_ROWS(compute_cases, test_compute);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
