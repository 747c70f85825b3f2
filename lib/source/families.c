/* SPDX-License-Identifier: MIT */

/* The model_types that are read, one row each. */

#include "source/family.h"

#include <string.h>

/* clang-format off */
static const family_row families[] = {
    { "baichuan",          "baichuan",        family_baichuan },
    { "bert",              "bert",            family_bert },
    { "bloom",             "bloom",           family_bloom },
    { "chatglm",           "chatglm",         family_chatglm },
    { "clip",              "clip",            family_clip },
    { "clip_text_model",   "clip",            family_clip_text },
    { "clip_vision_model", "clip",            family_clip_vision },
    { "deepseek_v2",       "deepseek",        family_deepseek_v2 },
    { "deepseek_v3",       "deepseek",        family_deepseek_v3 },
    { "exaone",            "exaone",          family_exaone },
    { "exaone4",           "exaone",          family_exaone4 },
    { "RefinedWeb",        "falcon",          family_falcon },
    { "RefinedWebModel",   "falcon",          family_falcon },
    { "falcon",            "falcon",          family_falcon },
    { "gemma",             "gemma",           family_gemma },
    { "gemma2",            "gemma",           family_gemma2 },
    { "gemma3",            "gemma",           family_gemma3 },
    { "gemma3_text",       "gemma",           family_gemma3_text },
    { "glm",               "glm",             family_glm },
    { "glm4",              "glm",             family_glm4 },
    { "glm4_moe",          "glm",             family_glm4_moe },
    { "gpt_neo",           "gpt-neo",         family_gpt_neo },
    { "gpt_neox",          "gpt-neox",        family_gpt_neox },
    { "gpt_oss",           "gpt-oss",         family_gpt_oss },
    { "gpt2",              "gpt2",            family_gpt2 },
    { "gptj",              "gptj",            family_gptj },
    { "granitemoe",        "granite",         family_granitemoe },
    { "internlm2",         "internlm2",       family_internlm2 },
    { "kimi_k2",           "kimi",            family_deepseek_v3 },
    { "llama",             "llama",           family_llama },
    { "nemotron_h",        "hybrid",          family_nemotron_h },
    { "qwen3_5",           "hybrid",          family_qwen3_5 },
    { "rwkv5",             "rwkv",            family_rwkv5 },
    { "smollm3",           "llama",           family_smollm3 },
    { "mimo",              "mimo",            family_mimo },
    { "minicpm3",          "minicpm",         family_minicpm3 },
    { "minimax_m2",        "minimax",         family_minimax_m2 },
    { "ministral",         "mistral",         family_mistral },
    { "mistral",           "mistral",         family_mistral },
    { "mixtral",           "mixtral",         family_mixtral },
    { "mpt",               "mpt",             family_mpt },
    { "olmo2",             "olmo",            family_olmo2 },
    { "olmo3",             "olmo",            family_olmo3 },
    { "opt",               "opt",             family_opt },
    { "phi",               "phi",             family_phi },
    { "phi3",              "phi",             family_phi3 },
    { "phimoe",            "phi",             family_phimoe },
    { "qwen",              "qwen",            family_qwen },
    { "qwen2",             "qwen2",           family_qwen2 },
    { "qwen3",             "qwen3",           family_qwen3 },
    { "qwen3_moe",         "qwen3-moe",       family_qwen3_moe },
    { "camembert",         "roberta",         family_xlm_roberta },
    { "roberta",           "roberta",         family_roberta },
    { "xlm-roberta",       "roberta",         family_xlm_roberta },
    { "seed_oss",          "seed",            family_seed_oss },
    { "stablelm",          "stablelm",        family_stablelm },
    { "gpt_bigcode",       "starcoder",       family_gpt_bigcode },
    { "mt5",               "t5",              family_mt5 },
    { "t5",                "t5",              family_t5 },
    { "llava",             "vision-language", family_llava },
    { "mllama",            "vision-language", family_mllama },
    { "qwen2_vl",          "vision-language", family_qwen2_vl },
    { "qwen3_vl",          "vision-language", family_qwen3_vl },
    { "vit",               "vit",             family_vit },
    { "whisper",           "whisper",         family_whisper },
};
/* clang-format on */

const family_row *lin_family_find(const char *model_type)
{
    for (uint32_t i = 0; i < ARRAY_LEN(families); i++)
        if (strcmp(families[i].model_type, model_type) == 0)
            return &families[i];
    return NULL;
}

uint32_t lin_family_count(void)
{
    return ARRAY_LEN(families);
}

const family_row *lin_family_at(uint32_t index)
{
    return &families[index];
}
