/* SPDX-License-Identifier: MIT */

/* The model_types that are read, one row each. */

#include "source/family.h"

#include <string.h>

/* clang-format off */
static const family_row families[] = {
    { "baichuan",          "baichuan",        lin_family_baichuan },
    { "bert",              "bert",            lin_family_bert },
    { "bloom",             "bloom",           lin_family_bloom },
    { "camembert",         "roberta",         lin_family_xlm_roberta },
    { "chatglm",           "chatglm",         lin_family_chatglm },
    { "clip",              "clip",            lin_family_clip },
    { "clip_text_model",   "clip",            lin_family_clip_text },
    { "clip_vision_model", "clip",            lin_family_clip_vision },
    { "deepseek_v2",       "deepseek",        lin_family_deepseek_v2 },
    { "deepseek_v3",       "deepseek",        lin_family_deepseek_v3 },
    { "exaone",            "exaone",          lin_family_exaone },
    { "exaone4",           "exaone",          lin_family_exaone4 },
    { "falcon",            "falcon",          lin_family_falcon },
    { "gemma",             "gemma",           lin_family_gemma },
    { "gemma2",            "gemma",           lin_family_gemma2 },
    { "gemma3",            "gemma",           lin_family_gemma3 },
    { "gemma3_text",       "gemma",           lin_family_gemma3_text },
    { "glm",               "glm",             lin_family_glm },
    { "glm4",              "glm",             lin_family_glm4 },
    { "glm4_moe",          "glm",             lin_family_glm4_moe },
    { "gpt2",              "gpt2",            lin_family_gpt2 },
    { "gpt_bigcode",       "starcoder",       lin_family_gpt_bigcode },
    { "gpt_neo",           "gpt-neo",         lin_family_gpt_neo },
    { "gpt_neox",          "gpt-neox",        lin_family_gpt_neox },
    { "gpt_oss",           "gpt-oss",         lin_family_gpt_oss },
    { "gptj",              "gptj",            lin_family_gptj },
    { "granite",           "granite",         lin_family_granite },
    { "granitemoe",        "granite",         lin_family_granitemoe },
    { "internlm2",         "internlm2",       lin_family_internlm2 },
    { "kimi_k2",           "kimi",            lin_family_deepseek_v3 },
    { "llama",             "llama",           lin_family_llama },
    { "llava",             "vision-language", lin_family_llava },
    { "mimo",              "mimo",            lin_family_mimo },
    { "minicpm3",          "minicpm",         lin_family_minicpm3 },
    { "minimax_m2",        "minimax",         lin_family_minimax_m2 },
    { "ministral",         "mistral",         lin_family_mistral },
    { "mistral",           "mistral",         lin_family_mistral },
    { "mixtral",           "mixtral",         lin_family_mixtral },
    { "mllama",            "vision-language", lin_family_mllama },
    { "mpt",               "mpt",             lin_family_mpt },
    { "mt5",               "t5",              lin_family_mt5 },
    { "nemotron_h",        "hybrid",          lin_family_nemotron_h },
    { "olmo2",             "olmo",            lin_family_olmo2 },
    { "olmo3",             "olmo",            lin_family_olmo3 },
    { "opt",               "opt",             lin_family_opt },
    { "phi",               "phi",             lin_family_phi },
    { "phi3",              "phi",             lin_family_phi3 },
    { "phimoe",            "phi",             lin_family_phimoe },
    { "qwen",              "qwen",            lin_family_qwen },
    { "qwen2",             "qwen2",           lin_family_qwen2 },
    { "qwen2_vl",          "vision-language", lin_family_qwen2_vl },
    { "qwen3",             "qwen3",           lin_family_qwen3 },
    { "qwen3_5",           "hybrid",          lin_family_qwen3_5 },
    { "qwen3_moe",         "qwen3-moe",       lin_family_qwen3_moe },
    { "qwen3_vl",          "vision-language", lin_family_qwen3_vl },
    { "RefinedWeb",        "falcon",          lin_family_falcon },
    { "RefinedWebModel",   "falcon",          lin_family_falcon },
    { "roberta",           "roberta",         lin_family_roberta },
    { "rwkv5",             "rwkv",            lin_family_rwkv5 },
    { "seed_oss",          "seed",            lin_family_seed_oss },
    { "smollm3",           "llama",           lin_family_smollm3 },
    { "stablelm",          "stablelm",        lin_family_stablelm },
    { "t5",                "t5",              lin_family_t5 },
    { "vit",               "vit",             lin_family_vit },
    { "whisper",           "whisper",         lin_family_whisper },
    { "xlm-roberta",       "roberta",         lin_family_xlm_roberta },
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
