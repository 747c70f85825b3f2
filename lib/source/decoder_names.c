/* SPDX-License-Identifier: MIT */

/*
 * Names of a decoder's tensors. A family says a layer's names once; they are bound to each of the
 * arrays that the program splits its layers into:
 *
 *     near layers   groups[i].near[j]   layer (near + far) i + j
 *     far layers    groups[i].far[j]    layer (near + far) i + j + near
 *     the rest      layers[i]           layer i + groups (near + far)
 */

#include "source/family_decoder.h"

#include <string.h>

static const struct usual_name {
    uint32_t when; /* all of these */
    const char *path, *tensor;
} usual_names[] = {
    { DECODER_NORMS, "attention_norm.weight", "input_layernorm.weight" },
    { DECODER_QKV, "attention.q_proj.weight", "self_attn.q_proj.weight" },
    { DECODER_QKV_BIASES, "attention.q_proj.bias", "self_attn.q_proj.bias" },
    { DECODER_QKV, "attention.k_proj.weight", "self_attn.k_proj.weight" },
    { DECODER_QKV_BIASES, "attention.k_proj.bias", "self_attn.k_proj.bias" },
    { DECODER_QKV, "attention.v_proj.weight", "self_attn.v_proj.weight" },
    { DECODER_QKV_BIASES, "attention.v_proj.bias", "self_attn.v_proj.bias" },
    { DECODER_QKV, "attention.o_proj.weight", "self_attn.o_proj.weight" },
    { DECODER_O_BIAS, "attention.o_proj.bias", "self_attn.o_proj.bias" },
    { DECODER_HEAD_NORMS, "attention.q_norm.weight", "self_attn.q_norm.weight" },
    { DECODER_HEAD_NORMS, "attention.k_norm.weight", "self_attn.k_norm.weight" },
    { DECODER_NORMS, "mlp_norm.weight", "post_attention_layernorm.weight" },
    { DECODER_MLP, "mlp.gate.weight", "mlp.gate_proj.weight" },
    { DECODER_MLP_BIASES, "mlp.gate.bias", "mlp.gate_proj.bias" },
    { DECODER_MLP, "mlp.up.weight", "mlp.up_proj.weight" },
    { DECODER_MLP_BIASES, "mlp.up.bias", "mlp.up_proj.bias" },
    { DECODER_MLP, "mlp.down.weight", "mlp.down_proj.weight" },
    { DECODER_MLP_BIASES, "mlp.down.bias", "mlp.down_proj.bias" },
};

/* `tensor` with `number`, a sum of indices, in place of {i}. */
static const char *numbered(family_reader *r, const char *prefix, const char *tensor,
                            const char *number)
{
    const char *mark = strstr(tensor, "{i}");
    return lin_arena_format(r->arena, "%s%.*s{%s}%s", prefix, (int)(mark - tensor), tensor, number,
                            mark + strlen("{i}"));
}

static void bind_array(family_reader *r, const char *array, const char *prefix, family_name name,
                       const char *number)
{
    lin_family_bind(r, lin_arena_format(r->arena, "%s.%s", array, name.path),
                    numbered(r, prefix, name.tensor, number));
}

static const char *plus(family_reader *r, const char *sum, int64_t offset)
{
    return offset == 0 ? sum : lin_arena_format(r->arena, "%s+%lld", sum, (long long)offset);
}

void lin_decoder_bind(family_reader *r, const decoder_shape *d, const char *prefix,
                      const family_name *names, uint32_t count)
{
    const int64_t period = d->near + d->far;
    const char *grouped = lin_arena_format(r->arena, "%lld*i+j", (long long)period);
    for (uint32_t i = 0; i < count; i++) {
        if (d->groups > 0 && d->near > 0)
            bind_array(r, "groups[*].near[*]", prefix, names[i], grouped);
        if (d->groups > 0 && d->far > 0)
            bind_array(r, "groups[*].far[*]", prefix, names[i], plus(r, grouped, d->near));
        if (d->layers > d->groups * period)
            bind_array(r, "layers[*]", prefix, names[i], plus(r, "i", d->groups * period));
    }
}

void lin_decoder_bind_usual(family_reader *r, const decoder_shape *d, const char *prefix,
                            uint32_t what)
{
    for (uint32_t i = 0; i < ARRAY_LEN(usual_names); i++) {
        if ((usual_names[i].when & what) == 0)
            continue;
        const family_name name = { usual_names[i].path, lin_arena_format(r->arena, "layers.{i}.%s",
                                                                         usual_names[i].tensor) };
        lin_decoder_bind(r, d, prefix, &name, 1);
    }
}

void lin_decoder_bind_ends(family_reader *r, const char *embedding, const char *norm,
                           const char *head, bool tied)
{
    lin_family_bind(r, "embedding.weight", embedding);
    lin_family_bind(r, "norm.weight", norm);
    lin_family_bind(r, "lm_head.weight", tied ? embedding : head);
}

void lin_decoder_bind_usual_ends(family_reader *r, const char *prefix, bool tied)
{
    lin_decoder_bind_ends(r, lin_arena_format(r->arena, "%sembed_tokens.weight", prefix),
                          lin_arena_format(r->arena, "%snorm.weight", prefix), "lm_head.weight",
                          tied);
}
