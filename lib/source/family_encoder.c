/* SPDX-License-Identifier: MIT */

/*
 * Encoders: BERT and RoBERTa with the head that the class in `architectures` has (bert.linnet),
 * Vision Transformers (vit.linnet) and CLIP's towers (clip.linnet). The class chooses the root of
 * the program and the tensors of the head; a few dozen look-ups in one object.
 */

#include "source/family_parts.h"

#include <string.h>

/* Classes of a classifier: the entries of id2label, else num_labels, else two. */
static int64_t class_count(family_reader *r)
{
    const lin_json *labels = lin_family_object(r, r->config, "id2label");
    if (labels != NULL && labels->count > 0)
        return (int64_t)labels->count;
    return lin_family_size(r, r->config, "num_labels", 2);
}

/* One over the norms' epsilon, for the generic. */
static int64_t inverse_epsilon(family_reader *r, double fallback)
{
    const double epsilon = lin_family_real(r, r->text, "layer_norm_eps", fallback);
    if (epsilon < 1e-15 || epsilon > 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`layer_norm_eps` is no epsilon");
    return (int64_t)(1 / epsilon + 0.5);
}

static const char *under(family_reader *r, const char *prefix, const char *name)
{
    return lin_arena_format(r->arena, "%s%s", prefix, name);
}

/* `parts` at paths under `path_prefix`. */
static void bind_under(family_reader *r, family_parts parts, const char *path_prefix,
                       const char *prefix, bool has_bias)
{
    for (uint32_t i = 0; i < parts.count; i++) {
        const family_name moved = { under(r, path_prefix, parts.names[i].path),
                                    parts.names[i].tensor };
        lin_family_bind_parts(r, (family_parts){ &moved, 1 }, prefix, has_bias);
    }
}

static void bind_one(family_reader *r, const char *path, const char *tensor)
{
    const family_name name = { path, tensor };
    lin_family_bind_parts(r, (family_parts){ &name, 1 }, "", true);
}

/* ---- BERT and RoBERTa ---- */

static const family_name bert_tables[] = {
    { "embeddings.word_embeddings", "embeddings.word_embeddings.weight" },
    { "embeddings.position_embeddings", "embeddings.position_embeddings.weight" },
    { "embeddings.token_type_embeddings", "embeddings.token_type_embeddings.weight" },
};
static const family_name bert_parts[] = {
    { "embeddings.norm", "embeddings.LayerNorm" },
    { "layers[*].attention.query", "encoder.layer.{i}.attention.self.query" },
    { "layers[*].attention.key", "encoder.layer.{i}.attention.self.key" },
    { "layers[*].attention.value", "encoder.layer.{i}.attention.self.value" },
    { "layers[*].attention.out", "encoder.layer.{i}.attention.output.dense" },
    { "layers[*].attention_norm", "encoder.layer.{i}.attention.output.LayerNorm" },
    { "layers[*].up", "encoder.layer.{i}.intermediate.dense" },
    { "layers[*].down", "encoder.layer.{i}.output.dense" },
    { "layers[*].output_norm", "encoder.layer.{i}.output.LayerNorm" },
};

/* What differs between the two. */
typedef struct bert_names {
    const char *base; /* of the encoder in a class with a head */
    const char *dense, *norm, *decoder, *decoder_bias;
    const char *decoder_copies; /* the head stored once more where it is tied */
} bert_names;

static const bert_names bert = { "bert.",
                                 "cls.predictions.transform.dense",
                                 "cls.predictions.transform.LayerNorm",
                                 "cls.predictions.decoder.weight",
                                 "cls.predictions.bias",
                                 "cls.predictions.decoder.*" };
static const bert_names roberta = { "roberta.",           "lm_head.dense",
                                    "lm_head.layer_norm", "lm_head.decoder.weight",
                                    "lm_head.bias",       "lm_head.decoder.*" };

static void bind_bert_encoder(family_reader *r, const char *path_prefix, const char *prefix)
{
    for (uint32_t i = 0; i < ARRAY_LEN(bert_tables); i++)
        lin_family_bind(r, under(r, path_prefix, bert_tables[i].path),
                        under(r, prefix, bert_tables[i].tensor));
    bind_under(r, FAMILY_PARTS(bert_parts), path_prefix, prefix, true);
    lin_family_ignore(r, under(r, prefix, "embeddings.position_ids"));
}

static void set_masked(family_reader *r, const bert_names *names)
{
    const char *table = under(r, names->base, "embeddings.word_embeddings.weight");
    const bool tied = lin_family_flag(r, r->text, "tie_word_embeddings", true);
    r->root = "MaskedLm";
    bind_one(r, "transform.dense", names->dense);
    bind_one(r, "transform.norm", names->norm);
    lin_family_bind(r, "decoder.weight", tied ? table : names->decoder);
    lin_family_bind(r, "decoder.bias", names->decoder_bias);
    lin_family_ignore(r, names->decoder_copies);
}

static void set_pooled(family_reader *r, const bert_names *names, const char *path)
{
    bind_one(r, path, under(r, names->base, "pooler.dense"));
}

static void set_sequence(family_reader *r, const char *head, int64_t classes)
{
    r->root = "SequenceClassifier";
    lin_family_set(r, "Classes", classes);
    bind_one(r, "head", head);
}

static void set_tokens(family_reader *r, const char *head, int64_t classes)
{
    r->root = "TokenClassifier";
    lin_family_set(r, "Classes", classes);
    bind_one(r, "head", head);
}

/* The classes that have their pooler, and one for each token. */
static bool set_usual_head(family_reader *r, const bert_names *names)
{
    const char *class = r->architecture;
    if (lin_family_ends_with(class, "ForMaskedLM"))
        set_masked(r, names);
    else if (lin_family_ends_with(class, "ForTokenClassification"))
        set_tokens(r, "classifier", class_count(r));
    else if (lin_family_ends_with(class, "ForQuestionAnswering"))
        set_tokens(r, "qa_outputs", 2);
    else if (lin_family_ends_with(class, "ForMultipleChoice")) {
        set_pooled(r, names, "pooler.dense");
        set_sequence(r, "classifier", 1);
    } else
        return false;
    return true;
}

static void set_bert_head(family_reader *r)
{
    const char *class = r->architecture;
    if (set_usual_head(r, &bert)) {
        /* The published checkpoints have the heads of pretraining. */
        lin_family_ignore(r, "bert.pooler.*");
        lin_family_ignore(r, "cls.seq_relationship.*");
    } else if (lin_family_ends_with(class, "ForPreTraining")) {
        set_masked(r, &bert);
        set_pooled(r, &bert, "pooler.dense");
        bind_one(r, "relation", "cls.seq_relationship");
    } else if (lin_family_ends_with(class, "ForSequenceClassification")) {
        set_pooled(r, &bert, "pooler.dense");
        set_sequence(r, "classifier", class_count(r));
    } else if (lin_family_ends_with(class, "ForNextSentencePrediction")) {
        set_pooled(r, &bert, "pooler.dense");
        set_sequence(r, "cls.seq_relationship", 2);
    } else
        lin_family_refuse_head(r);
}

static void set_roberta_head(family_reader *r)
{
    if (set_usual_head(r, &roberta)) {
        lin_family_ignore(r, "roberta.pooler.*");
    } else if (lin_family_ends_with(r->architecture, "ForSequenceClassification")) {
        bind_one(r, "pooler.dense", "classifier.dense");
        set_sequence(r, "classifier.out_proj", class_count(r));
    } else
        lin_family_refuse_head(r);
}

static void set_bert_sizes(family_reader *r)
{
    static const char *const positions[] = { "absolute", NULL };
    static const char *const activations[] = { "gelu", "gelu_python", NULL };
    const lin_json *c = r->text;
    const int64_t hidden = lin_family_size(r, c, "hidden_size", 768);
    const int64_t heads = lin_family_size(r, c, "num_attention_heads", 12);
    (void)lin_family_divide(r, "hidden_size", hidden, "num_attention_heads", heads);
    r->program = "models/bert.linnet";
    lin_family_expect_word(r, c, "hidden_act", activations);
    lin_family_expect_word(r, c, "position_embedding_type", positions);
    lin_family_expect_flag(r, c, "is_decoder", false);
    lin_family_expect_flag(r, c, "add_cross_attention", false);
    lin_family_set(r, "MaxPositions", lin_family_size(r, c, "max_position_embeddings", 512));
    lin_family_set(r, "TypeVocab", lin_family_size(r, c, "type_vocab_size", 2));
    lin_family_set(r, "D", hidden);
    lin_family_set(r, "Heads", heads);
    lin_family_set(r, "Inner", lin_family_size(r, c, "intermediate_size", 3072));
    lin_family_set(r, "Layers", lin_family_size(r, c, "num_hidden_layers", 12));
    lin_family_set(r, "InverseEps", inverse_epsilon(r, 1e-12));
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
}

/* Whether the class is the encoder with its pooler, whose tensors have no prefix. */
static bool set_bare(family_reader *r)
{
    if (r->architecture[0] != '\0' && !lin_family_ends_with(r->architecture, "Model"))
        return false;
    r->root = "Model";
    bind_bert_encoder(r, "", "");
    bind_one(r, "pooler.dense", "pooler.dense");
    return true;
}

void lin_family_bert(family_reader *r)
{
    set_bert_sizes(r);
    lin_family_set(r, "Vocab", lin_family_size(r, r->text, "vocab_size", 30522));
    if (set_bare(r))
        return;
    bind_bert_encoder(r, "encoder.", bert.base);
    set_bert_head(r);
}

static void read_roberta(family_reader *r, int64_t vocab)
{
    set_bert_sizes(r);
    lin_family_set(r, "Vocab", lin_family_size(r, r->text, "vocab_size", vocab));
    /* Positions are numbered from the row after the padding's. */
    lin_family_set(r, "SkippedPositions",
                   lin_family_plus(r, lin_family_int(r, r->text, "pad_token_id", 1), 1));
    if (set_bare(r))
        return;
    bind_bert_encoder(r, "encoder.", roberta.base);
    set_roberta_head(r);
}

void lin_family_roberta(family_reader *r)
{
    read_roberta(r, 50265);
}

void lin_family_xlm_roberta(family_reader *r)
{
    read_roberta(r, 30522);
}

/* ---- Vision Transformer ---- */

static const family_name vit_ends[] = {
    { "patch_weight", "embeddings.patch_embeddings.projection.weight" },
    { "patch_bias", "embeddings.patch_embeddings.projection.bias" },
    { "class_token", "embeddings.cls_token" },
    { "positions", "embeddings.position_embeddings" },
};
static const family_name vit_attention[] = {
    { "layers[*].attention.query", "encoder.layer.{i}.attention.attention.query" },
    { "layers[*].attention.key", "encoder.layer.{i}.attention.attention.key" },
    { "layers[*].attention.value", "encoder.layer.{i}.attention.attention.value" },
};
static const family_name vit_parts[] = {
    { "layers[*].norm_before", "encoder.layer.{i}.layernorm_before" },
    { "layers[*].attention.out", "encoder.layer.{i}.attention.output.dense" },
    { "layers[*].norm_after", "encoder.layer.{i}.layernorm_after" },
    { "layers[*].up", "encoder.layer.{i}.intermediate.dense" },
    { "layers[*].down", "encoder.layer.{i}.output.dense" },
    { "norm", "layernorm" },
};

/* One number for a square, or rows and columns. */
static void read_pair(family_reader *r, const lin_json *object, const char *key, int64_t fallback,
                      int64_t *out_rows, int64_t *out_columns)
{
    const lin_json *value = object != NULL ? lin_json_get(object, key) : NULL;
    if (value != NULL && value->kind == LIN_JSON_ARRAY) {
        *out_rows = lin_family_item(r, value, key, 0);
        *out_columns = lin_family_item(r, value, key, 1);
    } else {
        *out_rows = *out_columns = lin_family_size(r, object, key, fallback);
    }
    if (*out_rows < 1 || *out_columns < 1)
        lin_family_fail(r, LINNET_ERROR_FORMAT, "`%s` is 0; at least 1 is meant", key);
}

static void set_vit_sizes(family_reader *r)
{
    static const char *const activations[] = { "gelu", "gelu_python", NULL };
    const lin_json *c = r->text;
    int64_t rows, columns;
    const int64_t hidden = lin_family_size(r, c, "hidden_size", 768);
    const int64_t heads = lin_family_size(r, c, "num_attention_heads", 12);
    const int64_t patch = lin_family_size(r, c, "patch_size", 16);
    read_pair(r, c, "image_size", 224, &rows, &columns);
    (void)lin_family_divide(r, "hidden_size", hidden, "num_attention_heads", heads);
    (void)lin_family_divide(r, "image_size", rows, "patch_size", patch);
    (void)lin_family_divide(r, "image_size", columns, "patch_size", patch);
    r->program = "models/vit.linnet";
    lin_family_expect_word(r, c, "hidden_act", activations);
    lin_family_note_epsilon(r, c, "layer_norm_eps", 1e-12);
    lin_family_set(r, "Height", rows);
    lin_family_set(r, "Width", columns);
    lin_family_set(r, "Channels", lin_family_size(r, c, "num_channels", 3));
    lin_family_set(r, "Patch", patch);
    lin_family_set(r, "D", hidden);
    lin_family_set(r, "Heads", heads);
    lin_family_set(r, "Inner", lin_family_size(r, c, "intermediate_size", 3072));
    lin_family_set(r, "Layers", lin_family_size(r, c, "num_hidden_layers", 12));
    lin_family_set_dtype(r, "T", lin_family_dtype(r, c));
}

/* The labels decide: a checkpoint with a classifier is often named after the class without one. */
static const char *set_vit_head(family_reader *r)
{
    const char *class = r->architecture;
    if (!lin_family_ends_with(class, "ForImageClassification")) {
        if (class[0] != '\0' && !lin_family_ends_with(class, "Model"))
            lin_family_refuse_head(r);
        if (!lin_family_has(r->config, "id2label")) {
            r->root = "Backbone";
            bind_one(r, "pooler", "pooler.dense");
            return "";
        }
        lin_family_assume(r, "`id2label` is there: a classifier is counted, and no pooler");
        lin_family_ignore(r, "vit.pooler.*");
    }
    r->root = "Model";
    lin_family_set(r, "Classes", class_count(r));
    bind_one(r, "head", "classifier");
    return "vit.";
}

void lin_family_vit(family_reader *r)
{
    set_vit_sizes(r);
    const char *prefix = set_vit_head(r);
    lin_family_bind_all(r, prefix, vit_ends, ARRAY_LEN(vit_ends));
    lin_family_bind_parts(r, FAMILY_PARTS(vit_attention), prefix,
                          lin_family_flag(r, r->text, "qkv_bias", true));
    lin_family_bind_parts(r, FAMILY_PARTS(vit_parts), prefix, true);
}
