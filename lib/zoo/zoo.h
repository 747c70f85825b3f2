/* SPDX-License-Identifier: MIT */
#ifndef LIN_ZOO_H
#define LIN_ZOO_H

/*
 * What ships as data, compiled in and looked up by name: the standard library (std/…), the models'
 * sources (models/…), cards and bindings (cards/NAME/…), runtime constants (runtime/…). Files are
 * embedded at build time by embed.py from the list in meson.build; the same files are installed
 * under share/linnet. No rule and no parser here.
 */

#include <stdint.h>

typedef struct lin_zoo_file {
    const char *path; /* "std/nn/linear.linnet", "models/llama.linnet", "cards/gpt2/nest.toml" */
    const char *text; /* NUL-terminated */
    uint64_t length;
} lin_zoo_file;

/* NULL when there is no such file. */
const lin_zoo_file *lin_zoo_find(const char *path);
uint32_t lin_zoo_count(void); /* sorted by path */
const lin_zoo_file *lin_zoo_at(uint32_t index);

/* A name that models.md 8 lists. */
typedef struct lin_zoo_model {
    const char *name;
    const char *title;  /* "Llama 3.1 8B Instruct" */
    const char *family; /* "llama"; the models/ file it uses */
    const char *card; /* "cards/llama-3.1-8b-instruct/nest.toml"; NULL: known, and its source is not
                         shipped */
    const char *instead; /* not shipped: what to give instead, one clause */
} lin_zoo_model;

uint32_t lin_zoo_model_count(void); /* the shipped ones first, in the order of models.md */
const lin_zoo_model *lin_zoo_model_at(uint32_t index);
/* By name or alias ("qwen2.5-0.5b", "bert-base", "vit-base"), exact; NULL when unknown. */
const lin_zoo_model *lin_zoo_model_find(const char *name);

#endif
