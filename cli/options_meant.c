/* SPDX-License-Identifier: MIT */

/* What a word that is no option may have meant: another tool's name for it, a slip of the fingers,
 * or an option of another command. */

#include "cli.h"
#include <stdio.h>
#include <string.h>

/* As launchers and trainers call what is called differently here. */
static const struct other_name {
    const char *word, *option;
} other_names[] = {
    { "activation-checkpointing", "checkpoint" },
    { "attention-backend", "numerics" },
    { "batch-size", "batch" },
    { "batchsize", "batch" },
    { "bs", "batch" },
    { "cp", "context-parallel" },
    { "data-parallel", "replicas" },
    { "dp", "replicas" },
    { "ep", "expert-parallel" },
    { "fsdp", "shards" },
    { "global-batch-size", "global-batch" },
    { "gpu", "device" },
    { "gpus", "devices" },
    { "gradient-accumulation", "grad-accumulation" },
    { "gradient-accumulation-steps", "grad-accumulation" },
    { "gradient-checkpointing", "checkpoint" },
    { "kv-cache-dtype", "kv-dtype" },
    { "length", "seq-len" },
    { "lora-r", "lora" },
    { "lora-rank", "lora" },
    { "max-model-len", "seq-len" },
    { "max-num-seqs", "batch" },
    { "max-seq-len", "seq-len" },
    { "max-seq-length", "seq-len" },
    { "memory", "device-memory" },
    { "micro-batch-size", "batch" },
    { "micro-batches", "microbatches" },
    { "num-gpus", "devices" },
    { "pp", "pipeline-parallel" },
    { "precision", "dtype" },
    { "recompute", "checkpoint" },
    { "seq-length", "seq-len" },
    { "sequence-length", "seq-len" },
    { "sp", "sequence-parallel" },
    { "tp", "tensor-parallel" },
    { "vram", "device-memory" },
    { "world-size", "devices" },
    { "zero-stage", "zero" },
};

const char *cli_meant_option(const char *word, const char *const *names, uint64_t count)
{
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        for (uint64_t k = 0; k < count && strcmp(other_names[i].word, word) == 0; k++)
            if (strcmp(names[k], other_names[i].option) == 0)
                return names[k];
    return linnet_nearest_word(word, names, count);
}

/* The first command that has it. */
static const cli_command *command_of(const cli_reading *line, const char *name)
{
    int count;
    const cli_command *commands = cli_commands(&count);
    for (int i = 0; i < line->option_count; i++)
        for (int k = 0; k < count && strcmp(line->options[i].name, name) == 0; k++)
            if ((line->options[i].commands & commands[k].bit) != 0)
                return &commands[k];
    return NULL;
}

int cli_unknown_option(const cli_reading *line, const char *word)
{
    const char *names[CLI_MAX_OPTIONS];
    char name[64];
    uint64_t count = 0;
    for (int i = 0; i < line->option_count; i++)
        if ((line->options[i].commands & line->command->bit) != 0)
            names[count++] = line->options[i].name;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const cli_command *other = command_of(line, name);
    if (other != NULL)
        return cli_usage_error(line->command,
                               "`--%s` is no option of `linnet %s`; `linnet %s` has it", name,
                               line->command->name, other->name);
    const char *meant = cli_meant_option(name, names, count);
    if (meant != NULL)
        return cli_usage_error(line->command,
                               "`--%s` is no option of `linnet %s`; did you mean `--%s`?", name,
                               line->command->name, meant);
    return cli_usage_error(line->command, "`--%s` is no option of `linnet %s`", name,
                           line->command->name);
}
