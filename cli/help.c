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

/* Where an option's words begin, and where lines end. */
enum { WORDS_AT = 30, LINE_END = 80 };

/* The length of the longest run of whole words that a line has room for. */
static int line_of(const char *text)
{
    const int length = (int)strlen(text);
    int end = LINE_END - WORDS_AT;
    if (length <= end)
        return length;
    while (end > 0 && text[end] != ' ')
        end--;
    return end > 0 ? end : length;
}

static void add_wrapped(cli_buffer *buffer, const char *text)
{
    for (int length = line_of(text);; length = line_of(text)) {
        cli_add(buffer, "%.*s\n", length, text);
        text += length;
        if (*text == '\0')
            return;
        text++;
        cli_add(buffer, "%*s", WORDS_AT, "");
    }
}

static void add_option(cli_buffer *buffer, const cli_option *option)
{
    const char *argument = option->argument != NULL ? option->argument : "";
    const size_t from = buffer->length;
    if (argument[0] == '[')
        cli_add(buffer, "  --%s[=%s", option->name, argument + 1);
    else
        cli_add(buffer, "  --%s%s%s", option->name, argument[0] != '\0' ? " " : "", argument);
    const int width = (int)(buffer->length - from);
    if (width < WORDS_AT - 1)
        cli_add(buffer, "%*s", WORDS_AT - width, "");
    else
        cli_add(buffer, "\n%*s", WORDS_AT, "");
    add_wrapped(buffer, option->help);
}

/* A short list needs no headings. */
enum { FEW_OPTIONS = 16 };

static const char *const headings[] = {
    [SECTION_GOAL] = "What is asked",
    [SECTION_DEVICE] = "The device",
    [SECTION_MODEL] = "The model, its sizes and caches",
    [SECTION_TRAINING] = "Training",
    [SECTION_LAYOUT] = "Several devices",
    [SECTION_PIPELINE] = "Pipelines",
    [SECTION_OUTPUT] = "Output",
};

static void add_options(cli_buffer *buffer, const cli_command *command)
{
    int count, taken = 0;
    const cli_option *options = cli_options(&count);
    const cli_option *before = NULL;
    for (int i = 0; i < count; i++)
        taken += (options[i].commands & command->bit) != 0;
    if (taken <= FEW_OPTIONS)
        cli_add(buffer, "Options:\n");
    for (int i = 0; i < count; i++) {
        if ((options[i].commands & command->bit) == 0)
            continue;
        if (taken > FEW_OPTIONS && (before == NULL || before->section != options[i].section))
            cli_add(buffer, "%s%s:\n", before == NULL ? "" : "\n", headings[options[i].section]);
        before = &options[i];
        add_option(buffer, before);
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
            "\n`man linnet-%s` has more, and examples.\n"
            "Exit status: 0 done; 1 the answer is no; 2 wrong command line; 3 an input cannot be "
            "read or is\n"
            "wrong; 4 understood and not supported; 5 out of memory or an internal fault.\n",
            command->bit == CMD_CHECK ? "check" : command->name);
    return cli_print_buffer(&buffer);
}
