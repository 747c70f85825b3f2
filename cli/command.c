/* SPDX-License-Identifier: MIT */

/* The commands, one row each. */

#include "cli.h"
#include <string.h>

static const cli_command commands[] = {
    { "memory", CMD_MEMORY, "MODEL", "the memory one configuration needs", cli_run_memory },
    { "time", CMD_TIME, "MODEL", "how long one step takes on a device", cli_run_time },
    { "fit", CMD_FIT, "MODEL", "the largest size that fits, or the fastest layout", cli_run_fit },
    { "compare", CMD_COMPARE, "FILES|MODEL", "configurations side by side", cli_run_compare },
    { "sweep", CMD_SWEEP, "FILE", "one answer a line for one question a line", cli_run_sweep },
    { "devices", CMD_DEVICES, "[NAME]", "the GPUs known by name", cli_run_devices },
    { "check", CMD_CHECK, "PATH...", "parse and check .linnet files", cli_run_check },
    { "lint", CMD_CHECK, "PATH...", "check, with warnings as errors", cli_run_check },
    { "inspect", CMD_INSPECT, "MODEL", "the parameters of a model or file", cli_run_inspect },
    { "explain", CMD_EXPLAIN, "CODE|MODEL", "what a diagnostic means, or how ops are implemented",
      cli_run_explain },
    { "models", CMD_MODELS, "", "the models known by name", cli_run_models },
    { "formula", CMD_FORMULA, "NAME S=N...", "a closed form with values put in; all without a name",
      cli_run_formula },
    { "schedule", CMD_SCHEDULE, "NAME|FILE", "a pipeline schedule, rank by rank",
      cli_run_schedule },
    { "layout", CMD_LAYOUT, "", "which ranks of a job form which group", cli_run_layout },
};

const cli_command *cli_commands(int *out_count)
{
    *out_count = (int)(sizeof commands / sizeof commands[0]);
    return commands;
}

const cli_command *cli_find_command(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

const char *cli_nearest_command(const char *word)
{
    const char *names[sizeof commands / sizeof commands[0] + 1];
    const size_t count = sizeof commands / sizeof commands[0];
    for (size_t i = 0; i < count; i++)
        names[i] = commands[i].name;
    names[count] = "help";
    return linnet_nearest_word(word, names, count + 1);
}
