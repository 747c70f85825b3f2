/* SPDX-License-Identifier: MIT */

/*
 * Data by name. The files are a sorted table that embed.py writes at build time, searched by
 * halves: O(log n) comparisons. The models are few and are searched in order.
 */

#include "zoo/zoo.h"

#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "zoo/files.h"

#define CARD(name) "cards/" name "/nest.toml"
#define OWN_SOURCE \
    "give its .linnet source and its bindings; its config.json is of a family that is not read"
/* Of a family that is read. */
#define OWN_CONFIG                                                                       \
    "give its config.json, a directory with one, its safetensors index, or its .linnet " \
    "source and its bindings"
#define OWN_GGUF                                                                              \
    "give its config.json, a directory with one, its safetensors index, a GGUF file, or its " \
    ".linnet source and its bindings"

/* models.md 8: what ships, in the order of that page, then the other names of the collection. */
/* clang-format off */
static const lin_zoo_model models[] = {
    {"llama-3.1-8b-instruct",    "Llama 3.1 8B Instruct",          "llama", CARD("llama-3.1-8b-instruct"),    NULL},
    {"tinyllama-1.1b-chat",      "TinyLlama 1.1B Chat",            "llama", CARD("tinyllama-1.1b-chat"),      NULL},
    {"smollm2-1.7b-instruct",    "SmolLM2 1.7B Instruct",          "llama", CARD("smollm2-1.7b-instruct"),    NULL},
    {"mistral-7b-instruct-v0.3", "Mistral 7B Instruct v0.3",       "llama", CARD("mistral-7b-instruct-v0.3"), NULL},
    {"qwen2.5-0.5b-instruct",    "Qwen2.5 0.5B Instruct",          "llama", CARD("qwen2.5-0.5b-instruct"),    NULL},
    {"qwen3-4b",                 "Qwen3 4B",                       "qwen3", CARD("qwen3-4b"),                 NULL},
    {"qwen3-8b",                 "Qwen3 8B",                       "qwen3", CARD("qwen3-8b"),                 NULL},
    {"phi-3-mini-4k-instruct",   "Phi-3 Mini 4K Instruct",         "phi3",  CARD("phi-3-mini-4k-instruct"),   NULL},
    {"gpt2",                     "GPT-2",                          "gpt2",  CARD("gpt2"),                     NULL},
    {"bert-base-uncased",        "BERT base, uncased",             "bert",  CARD("bert-base-uncased"),        NULL},
    {"roberta-base",             "RoBERTa base",                   "bert",  CARD("roberta-base"),             NULL},
    {"all-MiniLM-L6-v2",         "all-MiniLM-L6-v2",               "bert",  CARD("all-MiniLM-L6-v2"),         NULL},
    {"vit-base-patch16-224",     "ViT base, patch 16, 224 pixels", "vit",   CARD("vit-base-patch16-224"),     NULL},
    {"gpt-lesson",               "The lesson's GPT, 1.3B",         "gpt-lesson", CARD("gpt-lesson"),          NULL},

    {"dinov2-base",               "DINOv2 base",                     "", NULL, OWN_SOURCE},
    {"gpt-oss-20b",               "gpt-oss 20B",                     "", NULL, OWN_GGUF},
    {"llama-3.1-8b-instruct-fp8", "Llama 3.1 8B Instruct, FP8",      "", NULL, "give `llama-3.1-8b-instruct` for the bf16 weights, or its config.json, a directory with one, its safetensors index or a GGUF file"},
    {"modernbert-base",           "ModernBERT base",                 "", NULL, OWN_SOURCE},
    {"resnet-18",                 "ResNet-18",                       "", NULL, OWN_SOURCE},
    {"resnet-50",                 "ResNet-50",                       "", NULL, OWN_SOURCE},
    {"sam-vit-base",              "SAM ViT base",                    "", NULL, OWN_SOURCE},
    {"sd-vae-ft-mse",             "Stable Diffusion VAE, ft-MSE",    "", NULL, OWN_SOURCE},
    {"sdxl-base-unet",            "SDXL base U-Net",                 "", NULL, OWN_SOURCE},
    {"siglip-base-patch16-224",   "SigLIP base, patch 16, 224 pixels", "", NULL, OWN_SOURCE},
    {"whisper-large-v3",          "Whisper large v3",                "", NULL, OWN_CONFIG},
    {"whisper-tiny",              "Whisper tiny",                    "", NULL, OWN_CONFIG},
};

static const struct alias {
    const char *alias, *name;
} aliases[] = {
    {"qwen2.5-0.5b", "qwen2.5-0.5b-instruct"},
    {"bert-base",    "bert-base-uncased"},
    {"vit-base",     "vit-base-patch16-224"},
};
/* clang-format on */

const lin_zoo_file *lin_zoo_find(const char *path)
{
    uint32_t first = 0, end = lin_zoo_file_count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        int order = strcmp(path, lin_zoo_files[middle].path);
        if (order == 0)
            return &lin_zoo_files[middle];
        if (order < 0)
            end = middle;
        else
            first = middle + 1;
    }
    return NULL;
}

uint32_t lin_zoo_count(void)
{
    return lin_zoo_file_count;
}

const lin_zoo_file *lin_zoo_at(uint32_t index)
{
    return &lin_zoo_files[index];
}

uint32_t lin_zoo_model_count(void)
{
    return (uint32_t)ARRAY_LEN(models);
}

const lin_zoo_model *lin_zoo_model_at(uint32_t index)
{
    return &models[index];
}

const lin_zoo_model *lin_zoo_model_find(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LEN(aliases); i++) {
        if (strcmp(name, aliases[i].alias) == 0)
            name = aliases[i].name;
    }
    for (uint32_t i = 0; i < ARRAY_LEN(models); i++) {
        if (strcmp(name, models[i].name) == 0)
            return &models[i];
    }
    return NULL;
}
