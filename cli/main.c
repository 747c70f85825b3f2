/* SPDX-License-Identifier: MIT */

/* Entry of the program: finds the command, reads its options, runs it. */

#include "cli.h"
#include <stdio.h>
#include <string.h>

static int print_version(void)
{
    cli_buffer buffer = { 0 };
    cli_add(&buffer, "linnet %s\n", linnet_version_string());
    return cli_print_buffer(&buffer);
}

static int unknown_command(const char *word)
{
    const char *nearest = cli_nearest_command(word);
    if (word[0] == '-')
        return cli_usage_error(NULL, "there is no option `%s` before a command", word);
    if (nearest != NULL)
        return cli_usage_error(NULL, "there is no command `%s`; did you mean `%s`?", word, nearest);
    return cli_usage_error(NULL, "there is no command `%s`", word);
}

static int run_help(int argc, char **argv)
{
    const cli_command *command = argc > 2 ? cli_find_command(argv[2]) : NULL;
    return argc > 2 && command == NULL ? unknown_command(argv[2]) : cli_help(command);
}

static int run_command(const cli_command *command, int argc, char **argv)
{
    cli_request request = { 0 };
    linnet_error err;
    if (linnet_config_new(&request.config, &err) != LINNET_OK)
        return cli_fail(&err);
    int status = cli_parse(command, argc, argv, &request);
    if (status == 0)
        status = request.help ? cli_help(command) : command->run(&request);
    linnet_config_free(request.config);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage_error(NULL, "a command is missing");
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return print_version();
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return cli_help(NULL);
    if (strcmp(argv[1], "help") == 0)
        return run_help(argc, argv);
    const cli_command *command = cli_find_command(argv[1]);
    return command != NULL ? run_command(command, argc, argv) : unknown_command(argv[1]);
}
