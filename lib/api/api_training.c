/* SPDX-License-Identifier: MIT */

/* Options of a training step: setters like those of api_config.c, and what they come to. */

#include "api/api.h"
#include <string.h>

/* An option that only training has; remembered, so that one without training is refused. */
static void note_option(linnet_config *config, const char *name)
{
    if (config->training_option == NULL)
        config->training_option = name;
}

static linnet_status set_switch(bool *out, int32_t value, const char *name, linnet_error *err)
{
    if (value != 0 && value != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "%s is 0 or 1, not %d", name, value);
    *out = value == 1;
    return LINNET_OK;
}

linnet_status linnet_config_set_training(linnet_config *config, int32_t training, linnet_error *err)
{
    return set_switch(&config->training, training, "training", err);
}

linnet_status linnet_config_set_timeline(linnet_config *config, int32_t wanted, linnet_error *err)
{
    return set_switch(&config->with_timeline, wanted, "timeline", err);
}

/* ---- words ---- */

linnet_status linnet_config_set_optimizer(linnet_config *config, const char *optimizer,
                                          linnet_error *err)
{
    enum { MAX_NAMES = 32 };
    const char *names[MAX_NAMES];
    uint32_t count = 0;
    bool found = false;
    for (uint32_t i = 0; i < lin_optimizer_count() && i < MAX_NAMES; i++) {
        names[count++] = lin_optimizer_name(i);
        found |= strcmp(optimizer, lin_optimizer_name(i)) == 0;
    }
    if (!found) {
        const char *nearest = lin_nearest(optimizer, names, count);
        if (nearest != NULL)
            return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                            "no optimizer is called `%s`; did you mean `%s`?", optimizer, nearest);
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no optimizer is called `%s`: there are sgd, adamw, adamw-8bit, muon and "
                        "others",
                        optimizer);
    }
    const linnet_status status = lin_config_set_text(config, CONFIG_OPTIMIZER, optimizer, err);
    if (status == LINNET_OK)
        note_option(config, "optimizer");
    return status;
}

static linnet_status read_float(const char *name, lin_dtype *out, linnet_error *err)
{
    const linnet_status status = lin_config_find_dtype(name, out, err);
    if (status != LINNET_OK)
        return status;
    if (lin_dtype_class_of(*out) != LIN_CLASS_FLOAT)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the dtype must be a float, not `%s`", name);
    return LINNET_OK;
}

linnet_status linnet_config_set_master_dtype(linnet_config *config, const char *dtype,
                                             linnet_error *err)
{
    lin_dtype found = LIN_DTYPE_F32;
    const linnet_status status = dtype != NULL ? read_float(dtype, &found, err) : LINNET_OK;
    if (status != LINNET_OK)
        return status;
    config->has_master_dtype = dtype != NULL;
    config->master_dtype = found;
    if (dtype != NULL)
        note_option(config, "master_dtype");
    return LINNET_OK;
}

linnet_status linnet_config_set_gradient_dtype(linnet_config *config, const char *dtype,
                                               linnet_error *err)
{
    lin_dtype found = LIN_DTYPE_F32;
    const linnet_status status = dtype != NULL ? read_float(dtype, &found, err) : LINNET_OK;
    if (status != LINNET_OK)
        return status;
    config->has_gradient_dtype = dtype != NULL;
    config->gradient_dtype = found;
    if (dtype != NULL)
        note_option(config, "gradient_dtype");
    return LINNET_OK;
}

linnet_status linnet_config_add_trainable(linnet_config *config, const char *pattern,
                                          linnet_error *err)
{
    const linnet_status status = lin_config_push_text(config, &config->trainable, pattern, err);
    if (status == LINNET_OK)
        note_option(config, "trainable");
    return status;
}

/* Only what is wrong whatever the model is refused here. */
linnet_status lin_config_check_policy(const char *policy, linnet_error *err)
{
    int64_t stride = 1;
    if (policy[0] == '\0')
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the checkpointing policy is empty");
    if (strncmp(policy, "every:", 6) == 0 &&
        (!lin_parse_i64(policy + 6, strlen(policy + 6), &stride) || stride < 1))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s`: it must be every:K with K at least 1 and at most the layers",
                        policy);
    return LINNET_OK;
}

linnet_status linnet_config_set_checkpoint(linnet_config *config, const char *policy,
                                           linnet_error *err)
{
    linnet_status status = lin_config_check_policy(policy, err);
    if (status == LINNET_OK)
        status = lin_config_set_text(config, CONFIG_CHECKPOINT, policy, err);
    if (status == LINNET_OK)
        note_option(config, "checkpoint");
    return status;
}

linnet_status linnet_config_set_step(linnet_config *config, const char *step, linnet_error *err)
{
    const bool is_first = strcmp(step, "first") == 0;
    if (!is_first && strcmp(step, "steady") != 0)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "the step is `first` or `steady`, not `%s`",
                        step);
    config->is_first_step = is_first;
    note_option(config, "step");
    return LINNET_OK;
}

linnet_status linnet_config_set_loss(linnet_config *config, const char *loss, linnet_error *err)
{
    lin_loss found;
    if (!lin_loss_find(loss, &found))
        return lin_fail(err, LINNET_ERROR_NOT_FOUND,
                        "no loss is called `%s`: there are `chunked`, `logits` and `logits-f32`",
                        loss);
    config->loss = found;
    note_option(config, "loss");
    return LINNET_OK;
}

/* ---- numbers ---- */

linnet_status linnet_config_set_grad_accumulation(linnet_config *config, int64_t microbatches,
                                                  linnet_error *err)
{
    if (microbatches < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "gradients are summed over at least 1 micro-batch, not %lld",
                        (long long)microbatches);
    config->accumulation = microbatches;
    note_option(config, "grad_accumulation");
    return LINNET_OK;
}

linnet_status linnet_config_set_clip_grad_norm(linnet_config *config, int32_t clip,
                                               linnet_error *err)
{
    if (clip != 0 && clip != 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "clip_grad_norm is 0 or 1, not %d", clip);
    config->clips_gradients = clip == 1;
    note_option(config, "clip_grad_norm");
    return LINNET_OK;
}

/* "16" or "16:q_proj,v_proj" */
linnet_status linnet_config_set_lora(linnet_config *config, const char *lora, linnet_error *err)
{
    const uint64_t digits = strcspn(lora, ":");
    const char *patterns = lora[digits] == ':' ? lora + digits + 1 : NULL;
    int64_t rank;
    if (!lin_parse_i64(lora, digits, &rank) || (patterns != NULL && patterns[0] == '\0'))
        return lin_fail(err, LINNET_ERROR_ARGUMENT,
                        "`%s` is neither a rank nor of the form RANK:PATTERN,PATTERN", lora);
    if (rank < 1)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "a rank must be at least 1, not %lld",
                        (long long)rank);
    const linnet_status status = lin_config_set_text(config, CONFIG_LORA, patterns, err);
    if (status != LINNET_OK)
        return status;
    config->lora_rank = rank;
    note_option(config, "lora");
    return LINNET_OK;
}

/* ---- for the folders to the left ---- */

linnet_status lin_config_training(const linnet_config *config, lin_training_settings *out,
                                  linnet_error *err)
{
    if (!config->training && config->training_option != NULL)
        return lin_fail(err, LINNET_ERROR_ARGUMENT, "`%s` is an option of training, which is off",
                        config->training_option);
    *out = (lin_training_settings){
        .optimizer = config->texts[CONFIG_OPTIMIZER],
        .has_master_dtype = config->has_master_dtype,
        .has_gradient_dtype = config->has_gradient_dtype,
        .master_dtype = config->master_dtype,
        .gradient_dtype = config->gradient_dtype,
        .trainable = (const char *const *)config->trainable.items,
        .trainable_count = config->trainable.count,
        .checkpoint = config->texts[CONFIG_CHECKPOINT],
        .is_first_step = config->is_first_step,
        .accumulation = config->accumulation,
        .clips_gradients = config->clips_gradients,
        .lora_rank = config->lora_rank,
        .lora_patterns = config->texts[CONFIG_LORA],
        .loss = config->loss,
    };
    return LINNET_OK;
}
