/* SPDX-License-Identifier: MIT */

/* --help and the usage lines, from the tables of commands and options. */

#include "cli.h"
#include <string.h>

void cli_add_usage(cli_buffer *buffer, const cli_command *command)
{
    if (command == NULL)
        cli_add(buffer,
                "usage: linnet COMMAND [OPTION...] [WORD...]; `linnet --help` lists them\n");
    else
        cli_add(buffer, "usage: linnet %s%s%s [OPTION...]; `linnet %s --help` lists them\n",
                command->name, command->words[0] != '\0' ? " " : "", command->words, command->name);
}

static void add_commands(cli_buffer *buffer)
{
    int count;
    const cli_command *commands = cli_commands(&count);
    cli_add(buffer, "Commands:\n");
    for (int i = 0; i < count; i++)
        cli_add(buffer, "  %-8s %-11s %s\n", commands[i].name, commands[i].words,
                commands[i].summary);
}

static void add_options(cli_buffer *buffer, const cli_command *command)
{
    int count;
    const cli_option *options = cli_options(&count);
    cli_add(buffer, "Options:\n");
    for (int i = 0; i < count; i++) {
        if ((options[i].commands & command->bit) == 0)
            continue;
        const char *argument = options[i].argument != NULL ? options[i].argument : "";
        cli_add(buffer, "  --%s%s%s", options[i].name, argument[0] != '\0' ? " " : "", argument);
        const int width = (int)(strlen(options[i].name) + strlen(argument)) + (argument[0] != '\0');
        if (width < 24)
            cli_add(buffer, "%*s%s\n", 26 - width, "", options[i].help);
        else
            cli_add(buffer, "\n%*s%s\n", 30, "", options[i].help);
    }
}

static void add_program(cli_buffer *buffer)
{
    cli_add(buffer,
            "linnet: how much memory a model needs on each device, before anything runs\n\n");
    cli_add(buffer, "usage: linnet COMMAND [OPTION...] [WORD...]\n\n");
    add_commands(buffer);
    cli_add(buffer, "\n`linnet COMMAND --help` lists a command's options; `linnet --version` "
                    "prints the version.\n\n"
                    "Example:\n  linnet memory llama-3.1-8b-instruct --batch 1 --seq-len 8192\n");
}

int cli_help(const cli_command *command)
{
    cli_buffer buffer = { 0 };
    if (command == NULL) {
        add_program(&buffer);
        return cli_print_buffer(&buffer);
    }
    cli_add(&buffer, "linnet %s: %s\n\nusage: linnet %s%s%s [OPTION...]\n\n", command->name,
            command->summary, command->name, command->words[0] != '\0' ? " " : "", command->words);
    add_options(&buffer, command);
    cli_add(&buffer,
            "\nExit status: 0 done; 1 the answer is no; 2 wrong command line; 3 an input cannot be "
            "read or is\n"
            "wrong; 4 understood and not supported; 5 out of memory or an internal fault.\n");
    return cli_print_buffer(&buffer);
}
