/* SPDX-License-Identifier: MIT */
#ifndef LIN_FAMILY_H
#define LIN_FAMILY_H

/*
 * From a config.json to a model source: one row a model_type in families.c, one function a family.
 * A family's function reads keys as the library of that family defines them (defaults for absent or
 * null keys, other names, nested objects), chooses a program of lib/zoo/models, gives its generics
 * values, says which optional parameters are present (by binding them), which are tied, and what it
 * assumed. It never looks at a file.
 *
 * Every function here jumps out on failure (out of memory, a wrong type, something unsupported), so
 * a family's function reads like the table it is:
 *
 *     lin_family_set(r, "H", lin_family_need(r, r->text, "hidden_size"));
 *     lin_family_set(r, "Layers", lin_family_int(r, r->text, "num_hidden_layers", 32));
 *     lin_family_bind(r, "layers[*].mlp.up.weight", "model.layers.{i}.mlp.up_proj.weight");
 */

#include "source/source.h"

typedef struct family_reader {
    lin_arena *arena;        /* what the result lives in; has a jump target */
    const char *config_name; /* the file, for messages */
    const lin_json *config;  /* the whole document: an object */
    const lin_json *text;    /* where the language model's settings are: text_config (or
                                language_config, llm_config), else `config` */
    const char *model_type;
    const char *architecture; /* architectures[0], "" when absent */
    jmp_buf *on_failure;      /* target of lin_family_fail; `status` and `err` say why */
    linnet_status status;
    linnet_error *err;
    /* the result */
    const char *program;      /* in the zoo: "models/llama.linnet" */
    const char *title;        /* for people, or "" */
    const char *root, *entry; /* NULL: found by rule */
    bool head_is_embedding;   /* by the program itself (GPT-2), so that no binding ties them */
    LIN_LIST(lin_setting) settings;
    LIN_LIST(lin_weight_binding) bindings;
    LIN_LIST(lin_weight_storage) storage;
    LIN_LIST(const char *) assumptions;
    /* checkpoint tensors that are buffers or left out on purpose: patterns with '*' */
    LIN_LIST(const char *) ignored;
} family_reader;

typedef void (*family_fn)(family_reader *r);

typedef struct family_row {
    const char *model_type;
    const char *family; /* what `inspect` calls it */
    family_fn read;
} family_row;

const family_row *lin_family_find(const char *model_type);
uint32_t lin_family_count(void);
const family_row *lin_family_at(uint32_t index);

/* ---- reading ---- */

/* `object` may be NULL (then every key is absent). Absent and null keys give the fallback. A value
 * of another type, a number that is no integer, negative or past int64 is LINNET_ERROR_FORMAT:
 * "`hidden_size` is a string; a whole number is meant". */
int64_t lin_family_int(family_reader *r, const lin_json *object, const char *key, int64_t fallback);
int64_t lin_family_need(family_reader *r, const lin_json *object,
                        const char *key); /* absent: LINNET_ERROR_FORMAT names it; at least 1 */
/* The first of `keys` (ending in NULL) that is there. */
int64_t lin_family_int_of(family_reader *r, const lin_json *object, const char *const *keys,
                          int64_t fallback);
bool lin_family_flag(family_reader *r, const lin_json *object, const char *key, bool fallback);
double lin_family_real(family_reader *r, const lin_json *object, const char *key,
                       double fallback); /* refuses NaN and infinities */
const char *lin_family_word(family_reader *r, const lin_json *object, const char *key,
                            const char *fallback);
const lin_json *lin_family_object(family_reader *r, const lin_json *object,
                                  const char *key); /* NULL when absent or null */
const lin_json *lin_family_array(family_reader *r, const lin_json *object,
                                 const char *key);            /* NULL when absent or null */
bool lin_family_has(const lin_json *object, const char *key); /* there and not null */
/* An integer of an array: every element checked like family_int. */
int64_t lin_family_item(family_reader *r, const lin_json *array, const char *key, uint32_t index);
/* dtype or torch_dtype, in `object` or at the top; bf16 without. float8 and others that are no
 * dtype of the language: bf16, noted. */
lin_dtype lin_family_dtype(family_reader *r, const lin_json *object);
/* The quotient of two numbers that must divide; LINNET_ERROR_FORMAT names both. */
int64_t lin_family_divide(family_reader *r, const char *key, int64_t value, const char *by_key,
                          int64_t by);

/* ---- answering ---- */

void lin_family_set(family_reader *r, const char *generic, int64_t value);
void lin_family_set_dtype(family_reader *r, const char *generic, lin_dtype dtype);
/* A parameter, or an optional one that is present. `path` and `tensor` as in lin_weight_binding;
 * `tensor` may count layers as
 * "{i}", "{i+3}", "{6*i+j}": i, j, k are the path's [*] from left to right. */
void lin_family_bind(family_reader *r, const char *path, const char *tensor);
/* The same for each of `count` rows, with `prefix` put before each tensor name. */
typedef struct family_name {
    const char *path, *tensor;
} family_name;
void lin_family_bind_all(family_reader *r, const char *prefix, const family_name *names,
                         uint32_t count);
void lin_family_assume(family_reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void lin_family_ignore(family_reader *r, const char *tensor_pattern);
/* Jumps out. LINNET_ERROR_UNSUPPORTED for what our sources cannot express, LINNET_ERROR_FORMAT for
 * a wrong file. */
_Noreturn void lin_family_fail(family_reader *r, linnet_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Accepts any of the words (NULL-terminated) for a key, else LINNET_ERROR_UNSUPPORTED with what was
 * found. */
void lin_family_expect_word(family_reader *r, const lin_json *object, const char *key,
                            const char *const *accepted);
/* Notes, once, that a value that changes no shape was accepted: "rope_scaling `yarn` changes no
 * size". */
void lin_family_note_rope(family_reader *r, const lin_json *object);

/* ---- the whole ---- */

/* Reads a parsed config into `r` (arena, config_name, err filled in). */
linnet_status lin_family_read(family_reader *r, const lin_json *config);

/* The text of a config.json into `out`, whose lists live in `arena` (without a jump target). */
linnet_status lin_config_read(lin_arena *arena, const char *name, const char *text, uint64_t length,
                              family_reader *out, linnet_error *err);

/* The families' functions, by file. */
void lin_family_llama(family_reader *r);
void lin_family_baichuan(family_reader *r);
void lin_family_chatglm(family_reader *r);
void lin_family_exaone(family_reader *r);
void lin_family_gemma(family_reader *r);
void lin_family_gemma2(family_reader *r);
void lin_family_gemma3_text(family_reader *r);
void lin_family_glm(family_reader *r);
void lin_family_glm4(family_reader *r);
void lin_family_internlm2(family_reader *r);
void lin_family_mimo(family_reader *r);
void lin_family_mistral(family_reader *r);
void lin_family_olmo2(family_reader *r);
void lin_family_olmo3(family_reader *r);
void lin_family_phi3(family_reader *r);
void lin_family_qwen(family_reader *r);
void lin_family_qwen2(family_reader *r);
void lin_family_qwen3(family_reader *r);
void lin_family_stablelm(family_reader *r);
/* family_moe.c, family_mla.c */
void lin_family_deepseek_v2(family_reader *r);
void lin_family_deepseek_v3(family_reader *r);
void lin_family_glm4_moe(family_reader *r);
void lin_family_gpt_oss(family_reader *r);
void lin_family_granite(family_reader *r);
void lin_family_granitemoe(family_reader *r);
void lin_family_minicpm3(family_reader *r);
void lin_family_minimax_m2(family_reader *r);
void lin_family_mixtral(family_reader *r);
void lin_family_phimoe(family_reader *r);
void lin_family_qwen3_moe(family_reader *r);
void lin_family_bloom(family_reader *r);
void lin_family_falcon(family_reader *r);
void lin_family_gpt2(family_reader *r);
void lin_family_gpt_bigcode(family_reader *r);
void lin_family_gpt_neox(family_reader *r);
void lin_family_gptj(family_reader *r);
void lin_family_mpt(family_reader *r);
void lin_family_opt(family_reader *r);
void lin_family_gemma3(family_reader *r);
void lin_family_llava(family_reader *r);
void lin_family_qwen2_vl(family_reader *r);
void lin_family_qwen3_vl(family_reader *r);
void lin_family_mllama(family_reader *r);
void lin_family_exaone4(family_reader *r);
void lin_family_seed_oss(family_reader *r);
void lin_family_smollm3(family_reader *r);
void lin_family_bert(family_reader *r);
void lin_family_clip(family_reader *r);
void lin_family_clip_text(family_reader *r);
void lin_family_clip_vision(family_reader *r);
void lin_family_mt5(family_reader *r);
void lin_family_roberta(family_reader *r);
void lin_family_t5(family_reader *r);
void lin_family_vit(family_reader *r);
void lin_family_whisper(family_reader *r);
void lin_family_xlm_roberta(family_reader *r);
void lin_family_phi(family_reader *r);
void lin_family_gpt_neo(family_reader *r);
void lin_family_nemotron_h(family_reader *r);
void lin_family_qwen3_5(family_reader *r);
void lin_family_rwkv5(family_reader *r);

#endif
