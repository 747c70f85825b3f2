/* SPDX-License-Identifier: MIT */

/* Llama-shaped decoders: grouped queries, rotary positions, RMS norms, a gated MLP. */

#include "source/family.h"

static const family_name names[] = {
    { "embedding.weight", "embed_tokens.weight" },
    { "layers[*].attention_norm.weight", "layers.{i}.input_layernorm.weight" },
    { "layers[*].attention.q_proj.weight", "layers.{i}.self_attn.q_proj.weight" },
    { "layers[*].attention.k_proj.weight", "layers.{i}.self_attn.k_proj.weight" },
    { "layers[*].attention.v_proj.weight", "layers.{i}.self_attn.v_proj.weight" },
    { "layers[*].attention.o_proj.weight", "layers.{i}.self_attn.o_proj.weight" },
    { "layers[*].mlp_norm.weight", "layers.{i}.post_attention_layernorm.weight" },
    { "layers[*].mlp.gate.weight", "layers.{i}.mlp.gate_proj.weight" },
    { "layers[*].mlp.up.weight", "layers.{i}.mlp.up_proj.weight" },
    { "layers[*].mlp.down.weight", "layers.{i}.mlp.down_proj.weight" },
    { "norm.weight", "norm.weight" },
};

static const family_name attention_biases[] = {
    { "layers[*].attention.q_proj.bias", "layers.{i}.self_attn.q_proj.bias" },
    { "layers[*].attention.k_proj.bias", "layers.{i}.self_attn.k_proj.bias" },
    { "layers[*].attention.v_proj.bias", "layers.{i}.self_attn.v_proj.bias" },
    { "layers[*].attention.o_proj.bias", "layers.{i}.self_attn.o_proj.bias" },
};

static const family_name mlp_biases[] = {
    { "layers[*].mlp.gate.bias", "layers.{i}.mlp.gate_proj.bias" },
    { "layers[*].mlp.up.bias", "layers.{i}.mlp.up_proj.bias" },
    { "layers[*].mlp.down.bias", "layers.{i}.mlp.down_proj.bias" },
};

void family_llama(family_reader *r)
{
    static const char *const activations[] = { "silu", "swish", NULL };
    const lin_json *c = r->text;
    const int64_t heads = family_need(r, c, "num_attention_heads");
    r->program = "models/llama.linnet";
    r->root = "Model";
    family_expect_word(r, c, "hidden_act", activations);
    family_set(r, "Vocab", family_need(r, c, "vocab_size"));
    family_set(r, "H", family_need(r, c, "hidden_size"));
    family_set(r, "Heads", heads);
    family_set(r, "KvHeads", family_int(r, c, "num_key_value_heads", heads));
    family_set(r, "Inner", family_need(r, c, "intermediate_size"));
    family_set(r, "Layers", family_need(r, c, "num_hidden_layers"));
    family_set(r, "Batch", 1);
    family_set_dtype(r, "T", family_dtype(r, c));
    family_note_rope(r, c);
    family_bind_all(r, "model.", names, ARRAY_LEN(names));
    if (family_flag(r, c, "attention_bias", false))
        family_bind_all(r, "model.", attention_biases, ARRAY_LEN(attention_biases));
    if (family_flag(r, c, "mlp_bias", false))
        family_bind_all(r, "model.", mlp_biases, ARRAY_LEN(mlp_biases));
    const bool tied = family_flag(r, c, "tie_word_embeddings",
                                  family_flag(r, r->config, "tie_word_embeddings", false));
    family_bind(r, "lm_head.weight", tied ? "model.embed_tokens.weight" : "lm_head.weight");
}
