/* SPDX-License-Identifier: MIT */

/*
 * Gemma 1 to 3, the language models: scaled embeddings, norms that scale by one more than their
 * weight, GELU, the head tied to the embedding. Gemma 2 and 3 also norm what sublayers return and
 * alternate layers with a window and without. Defaults: Gemma*Config of Transformers.
 */

#include "source/family_decoder.h"

/* What the three have in common. `post_attention_layernorm` is a norm before the MLP in Gemma 1,
 * one after the attention in Gemma 2 and 3. */
static void finish(family_reader *r, const decoder_shape *d, uint32_t what)
{
    static const char *const accepted[] = { "gelu", "gelu_pytorch_tanh", "gelu_new", NULL };
    const bool biases = lin_family_flag(r, r->text, "attention_bias", false);
    lin_family_expect_word(r, r->text, "hidden_act", accepted);
    lin_family_expect_word(r, r->text, "hidden_activation", accepted);
    lin_decoder_set(r, d);
    lin_decoder_bind_usual(r, d, "model.",
                           what | (biases ? DECODER_QKV_BIASES | DECODER_O_BIAS : 0));
    lin_decoder_bind_usual_ends(r, "model.", lin_decoder_is_tied(r, true));
}

static void finish_with_post_norms(family_reader *r, decoder_shape *d, uint32_t what)
{
    static const family_name norms[] = {
        { "attention_norm.weight", "layers.{i}.input_layernorm.weight" },
        { "attention_post_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
        { "mlp_norm.weight", "layers.{i}.pre_feedforward_layernorm.weight" },
        { "mlp_post_norm.weight", "layers.{i}.post_feedforward_layernorm.weight" },
    };
    d->other_norms = true;
    finish(r, d, what);
    lin_decoder_bind(r, d, "model.", norms, ARRAY_LEN(norms));
    if (lin_family_real(r, r->text, "attn_logit_softcapping", 0) > 0)
        lin_family_assume(r, "the bound of the attention's scores is applied inside its kernel");
}

static decoder_shape gemma_shape(void)
{
    return (decoder_shape){ .head_dim = 256,
                            .eps = 1e-6,
                            .theta = 10000,
                            .gelu = true,
                            .unit_offset = true,
                            .scaled = true };
}

void lin_family_gemma(family_reader *r)
{
    decoder_shape d = gemma_shape();
    d.vocab = 256000;
    d.hidden = 3072;
    d.inner = 24576;
    d.layers = 28;
    d.heads = 16;
    d.kv_heads = 16;
    d.positions = 8192;
    lin_decoder_read(r, &d);
    finish(r, &d, DECODER_USUAL);
}

/* A bound that is on by default and off by null. */
static double final_cap(family_reader *r, double fallback)
{
    static const char key[] = "final_logit_softcapping";
    return lin_family_real(r, r->text, key, lin_json_get(r->text, key) != NULL ? 0 : fallback);
}

void lin_family_gemma2(family_reader *r)
{
    decoder_shape d = gemma_shape();
    d.vocab = 256000;
    d.hidden = 2304;
    d.inner = 9216;
    d.layers = 26;
    d.heads = 8;
    d.kv_heads = 4;
    d.positions = 8192;
    d.final_cap = final_cap(r, 30);
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    lin_decoder_read_layer_types(r, &d, 2);
    finish_with_post_norms(r, &d, DECODER_QKV | DECODER_MLP);
}

void lin_family_gemma3_text(family_reader *r)
{
    static const char *const patterns[] = { "sliding_window_pattern", "_sliding_window_pattern",
                                            NULL };
    decoder_shape d = gemma_shape();
    d.vocab = 262208;
    d.hidden = 2304;
    d.inner = 9216;
    d.layers = 26;
    d.heads = 8;
    d.kv_heads = 4;
    d.positions = 131072;
    d.theta = 1000000;
    d.head_norm = true;
    d.final_cap = final_cap(r, 0);
    lin_decoder_read(r, &d);
    lin_decoder_read_window(r, &d, 4096);
    lin_decoder_read_layer_types(r, &d, lin_family_int_of(r, r->text, patterns, 6));
    finish_with_post_norms(r, &d, DECODER_QKV | DECODER_MLP | DECODER_HEAD_NORMS);
    lin_family_assume(r,
                      "layers with a window turn by the base of the others, which changes no size");
}
