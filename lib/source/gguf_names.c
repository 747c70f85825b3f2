/* SPDX-License-Identifier: MIT */

/*
 * What GGUF files call the tensors of a checkpoint. The names on the left are those of the models'
 * own libraries without the layer's prefix and the final ".weight" or ".bias"; a number inside a
 * layer (an expert's) is '*'. Where a name has several rows they are tried in this order: which one
 * is meant depends on the architecture, and the file knows. A name on the right with a point has
 * its ending already.
 *
 * Source of the right side: gguf-py/gguf/tensor_mapping.py and the conversion scripts of
 * ggml-org/llama.cpp.
 */

#include "source/gguf.h"

#include <string.h>

typedef struct tensor_row {
    const char *stem, *names;
} tensor_row;

/* clang-format off */
static const tensor_row layer_rows[] = {
    /* norms before and after sublayers */
    { "input_layernorm",             "attn_norm" },
    { "input_layernorm",             "attn_norm_2" },
    { "ln_1",                        "attn_norm" },
    { "norm_1",                      "attn_norm" },
    { "attention_norm",              "attn_norm" },
    { "ln_mlp",                      "attn_norm" },
    { "ln_attn",                     "attn_norm_2" },
    { "post_attention_layernorm",    "post_attention_norm" },
    { "post_attention_layernorm",    "ffn_norm" },
    { "post_self_attn_layernorm",    "post_attention_norm" },
    { "pre_feedforward_layernorm",   "ffn_norm" },
    { "post_feedforward_layernorm",  "post_ffw_norm" },
    { "post_mlp_layernorm",          "post_ffw_norm" },
    { "ln_2",                        "ffn_norm" },
    { "norm_2",                      "ffn_norm" },
    { "ffn_norm",                    "ffn_norm" },
    { "attention.output.LayerNorm",  "attn_output_norm" },
    { "output.LayerNorm",            "layer_output_norm" },
    /* attention */
    { "self_attn.q_proj",            "attn_q" },
    { "self_attn.k_proj",            "attn_k" },
    { "self_attn.v_proj",            "attn_v" },
    { "self_attn.o_proj",            "attn_output" },
    { "self_attn.dense",             "attn_output" },
    { "self_attn.out_proj",          "attn_output" },
    { "self_attn.qkv_proj",          "attn_qkv" },
    { "self_attn.W_pack",            "attn_q+attn_k+attn_v" },
    { "attn.c_attn",                 "attn_qkv" },
    { "attn.c_proj",                 "attn_output" },
    { "attn.Wqkv",                   "attn_qkv" },
    { "attn.out_proj",               "attn_output" },
    { "attn.attention.q_proj",       "attn_q" },
    { "attn.attention.k_proj",       "attn_k" },
    { "attn.attention.v_proj",       "attn_v" },
    { "attn.attention.out_proj",     "attn_output" },
    { "attention.wqkv",              "attn_q+attn_k+attn_v" },
    { "attention.wo",                "attn_output" },
    { "attention.query_key_value",   "attn_qkv" },
    { "attention.dense",             "attn_output" },
    { "self_attention.query_key_value", "attn_qkv" },
    { "self_attention.query_key_value", "attn_q+attn_k+attn_v" },
    { "self_attention.dense",        "attn_output" },
    { "attention.self.query",        "attn_q" },
    { "attention.self.key",          "attn_k" },
    { "attention.self.value",        "attn_v" },
    { "attention.output.dense",      "attn_output" },
    { "self_attn.q_norm",            "attn_q_norm" },
    { "self_attn.k_norm",            "attn_k_norm" },
    { "self_attn.q_layernorm",       "attn_q_norm" },
    { "self_attn.k_layernorm",       "attn_k_norm" },
    { "self_attn.sinks",             "attn_sinks.weight" },
    /* a latent */
    { "self_attn.q_a_proj",          "attn_q_a" },
    { "self_attn.q_a_layernorm",     "attn_q_a_norm" },
    { "self_attn.q_b_proj",          "attn_q_b" },
    { "self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa" },
    { "self_attn.kv_a_layernorm",    "attn_kv_a_norm" },
    { "self_attn.kv_b_proj",         "attn_kv_b" },
    { "self_attn.kv_b_proj",         "attn_k_b+attn_v_b" },
    /* the layer's network */
    { "mlp.gate_proj",               "ffn_gate" },
    { "mlp.up_proj",                 "ffn_up" },
    { "mlp.down_proj",               "ffn_down" },
    { "mlp.gate_up_proj",            "ffn_up" },
    { "mlp.gate_up_proj",            "ffn_gate+ffn_up" },
    { "mlp.fc1",                     "ffn_up" },
    { "mlp.fc2",                     "ffn_down" },
    { "mlp.c_fc",                    "ffn_up" },
    { "mlp.c_fc_0",                  "ffn_gate" },
    { "mlp.c_fc_1",                  "ffn_up" },
    { "mlp.w1",                      "ffn_up" },
    { "mlp.w2",                      "ffn_gate" },
    { "mlp.c_proj",                  "ffn_down" },
    { "mlp.dense_h_to_4h",           "ffn_up" },
    { "mlp.dense_4h_to_h",           "ffn_down" },
    { "ffn.up_proj",                 "ffn_up" },
    { "ffn.down_proj",               "ffn_down" },
    { "feed_forward.w1",             "ffn_gate" },
    { "feed_forward.w2",             "ffn_down" },
    { "feed_forward.w3",             "ffn_up" },
    { "intermediate.dense",          "ffn_up" },
    { "output.dense",                "ffn_down" },
    /* experts: one tensor holds all of a layer, in older files each has its own */
    { "mlp.gate",                    "ffn_gate_inp" },
    { "mlp.router",                  "ffn_gate_inp" },
    { "block_sparse_moe.gate",       "ffn_gate_inp" },
    { "block_sparse_moe.router.layer", "ffn_gate_inp" },
    { "mlp.gate.e_score_correction_bias", "exp_probs_b.bias" },
    { "block_sparse_moe.e_score_correction_bias", "exp_probs_b.bias" },
    { "mlp.experts.*.gate_proj",     "ffn_gate_exps" },
    { "mlp.experts.*.up_proj",       "ffn_up_exps" },
    { "mlp.experts.*.down_proj",     "ffn_down_exps" },
    { "mlp.experts.gate_up_proj",    "ffn_gate_exps.weight+ffn_up_exps.weight" },
    { "mlp.experts.gate_up_proj",    "ffn_gate_up_exps.weight" },
    { "mlp.experts.gate_up_proj_bias", "ffn_gate_exps.bias+ffn_up_exps.bias" },
    { "mlp.experts.down_proj",       "ffn_down_exps.weight" },
    { "mlp.experts.down_proj_bias",  "ffn_down_exps.bias" },
    { "block_sparse_moe.experts.*.w1", "ffn_gate_exps" },
    { "block_sparse_moe.experts.*.w2", "ffn_down_exps" },
    { "block_sparse_moe.experts.*.w3", "ffn_up_exps" },
    { "block_sparse_moe.experts.*.w1", "ffn_gate.*" },
    { "block_sparse_moe.experts.*.w2", "ffn_down.*" },
    { "block_sparse_moe.experts.*.w3", "ffn_up.*" },
    { "block_sparse_moe.input_linear", "ffn_gate_exps+ffn_up_exps" },
    { "block_sparse_moe.output_linear", "ffn_down_exps" },
    { "mlp.shared_experts.gate_proj", "ffn_gate_shexp" },
    { "mlp.shared_experts.up_proj",  "ffn_up_shexp" },
    { "mlp.shared_experts.down_proj", "ffn_down_shexp" },
    { "mlp.shared_expert.gate_proj", "ffn_gate_shexp" },
    { "mlp.shared_expert.up_proj",   "ffn_up_shexp" },
    { "mlp.shared_expert.down_proj", "ffn_down_shexp" },
    { "mlp.shared_expert_gate",      "ffn_gate_inp_shexp" },
};

/* The end of a name outside the layers. */
static const tensor_row end_rows[] = {
    { "embed_tokens",                "token_embd" },
    { "wte",                         "token_embd" },
    { "embed_in",                    "token_embd" },
    { "tok_embeddings",              "token_embd" },
    { "word_embeddings",             "token_embd" },
    { "wpe",                         "position_embd" },
    { "position_embeddings",         "position_embd" },
    { "token_type_embeddings",       "token_types" },
    { "word_embeddings_layernorm",   "token_embd_norm" },
    { "embeddings.LayerNorm",        "token_embd_norm" },
    { "norm",                        "output_norm" },
    { "ln_f",                        "output_norm" },
    { "norm_f",                      "output_norm" },
    { "final_layernorm",             "output_norm" },
    { "final_layer_norm",            "output_norm" },
    { "lm_head",                     "output" },
    { "embed_out",                   "output" },
    { "output_layer",                "output" },
    { "output",                      "output" },
};
/* clang-format on */

/* Whole parts from a point on: "norm" ends "model.norm", not "model.ln_norm". */
static bool ends_with_parts(const char *name, const char *end)
{
    const size_t length = strlen(name), end_length = strlen(end);
    if (length < end_length || strcmp(name + length - end_length, end) != 0)
        return false;
    return length == end_length || name[length - end_length - 1] == '.';
}

const char *lin_gguf_tensor_names(bool in_layer, const char *stem, uint32_t choice)
{
    const tensor_row *rows = in_layer ? layer_rows : end_rows;
    const size_t count = in_layer ? ARRAY_LEN(layer_rows) : ARRAY_LEN(end_rows);
    for (size_t i = 0; i < count; i++) {
        const bool same =
            in_layer ? strcmp(stem, rows[i].stem) == 0 : ends_with_parts(stem, rows[i].stem);
        if (same && choice-- == 0)
            return rows[i].names;
    }
    return NULL;
}
