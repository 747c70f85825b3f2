/* SPDX-License-Identifier: MIT */

/* Options of a comparison, and the words of the configurations it is given; the rows stand in
 * options.c. */

#include "cli.h"
#include <string.h>

linnet_status cli_add_with(cli_request *request, const char *value, linnet_error *err)
{
    if (request->with_count == CLI_MAX_CONFIGURATIONS)
        return cli_refuse_value(err, "more than %d configurations beside the first",
                                (int)CLI_MAX_CONFIGURATIONS);
    if (value[strspn(value, " \t\n")] == '\0')
        return cli_refuse_value(err, "a configuration that changes nothing");
    request->with[request->with_count++] = value;
    return LINNET_OK;
}

linnet_status cli_set_all(cli_request *request, const char *value, linnet_error *err)
{
    (void)value;
    (void)err;
    request->all = true;
    return LINNET_OK;
}

bool cli_is_of_comparison(const char *option)
{
    static const char *const names[] = { "with", "all", "must-fit", "json", "color", "help" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], option) == 0)
            return true;
    return false;
}

/* ---- words ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* A quoted part, `*at` being its quote. Between single quotes everything stands for itself; between
 * double quotes a backslash takes away the meaning of a quote or a backslash. */
static bool copy_quoted(const char **at, char **out)
{
    const char quote = *(*at)++;
    for (; **at != quote; (*at)++) {
        if (quote == '"' && **at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
            (*at)++;
        if (**at == '\0')
            return false;
        *(*out)++ = **at;
    }
    (*at)++;
    return true;
}

/* What is written never passes what is read: a word loses its quotes, and its end takes the place
 * of a blank. */
bool cli_split_words(char *text, char **words, int *out_count)
{
    const char *at = text;
    char *out = text;
    int count = 0;
    for (;;) {
        while (is_blank(*at))
            at++;
        if (*at == '\0')
            break;
        words[count++] = out;
        while (*at != '\0' && !is_blank(*at)) {
            if (*at == '\'' || *at == '"') {
                if (!copy_quoted(&at, &out))
                    return false;
                continue;
            }
            if (*at == '\\' && at[1] != '\0')
                at++;
            *out++ = *at++;
        }
        const bool ends = *at == '\0';
        *out++ = '\0';
        if (ends)
            break;
        at++;
    }
    *out_count = count;
    return true;
}
