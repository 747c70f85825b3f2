/* SPDX-License-Identifier: MIT */

/* linnet formula: the closed forms. linnet formula NAME SYMBOL=VALUE...: one with values put in. */

#include "cli.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static void add_list(cli_buffer *out)
{
    int widest = 0;
    for (uint64_t i = 0; i < linnet_formula_count(); i++) {
        const int length = (int)strlen(linnet_formula_name(i));
        widest = length > widest ? length : widest;
    }
    for (uint64_t i = 0; i < linnet_formula_count(); i++)
        cli_add(out, "%-*s  %s\n", widest, linnet_formula_name(i), linnet_formula_title(i));
}

static void add_pair(cli_buffer *out, const char *before, const char *key, const char *text)
{
    cli_add(out, "%s\"%s\": ", before, key);
    cli_add_json(out, text);
}

static void add_json_formula(cli_buffer *out, uint64_t i)
{
    add_pair(out, "    {\n      ", "name", linnet_formula_name(i));
    add_pair(out, ",\n      ", "title", linnet_formula_title(i));
    add_pair(out, ",\n      ", "expression", linnet_formula_expression(i));
    add_pair(out, ",\n      ", "unit", linnet_formula_unit(i));
    cli_add(out, ",\n      \"symbols\": [");
    for (uint64_t k = 0; k < linnet_formula_symbol_count(i); k++) {
        add_pair(out, k == 0 ? "\n        { " : ",\n        { ", "name",
                 linnet_formula_symbol_name(i, k));
        add_pair(out, ", ", "meaning", linnet_formula_symbol_meaning(i, k));
        add_pair(out, ", ", "default", linnet_formula_symbol_default(i, k));
        cli_add(out, " }");
    }
    cli_add(out, linnet_formula_symbol_count(i) > 0 ? "\n      ]" : "]");
    add_pair(out, ",\n      ", "source", linnet_formula_source(i));
    cli_add(out, "\n    }");
}

static void add_json_list(cli_buffer *out)
{
    cli_add(out, "{\n  \"version\": 1,\n  \"formulas\": [\n");
    for (uint64_t i = 0; i < linnet_formula_count(); i++) {
        cli_add(out, i > 0 ? ",\n" : "");
        add_json_formula(out, i);
    }
    cli_add(out, "\n  ]\n}\n");
}

static int print_list(const cli_request *request)
{
    cli_buffer out = { 0 };
    if (request->json)
        add_json_list(&out);
    else
        add_list(&out);
    return cli_print_buffer(&out);
}

/* ---- one, with values ---- */

enum { MAX_VALUES = 32, NAME_SIZE = 64 };

typedef struct values_given {
    char names[MAX_VALUES][NAME_SIZE];
    const char *symbols[MAX_VALUES];
    int64_t values[MAX_VALUES];
    uint64_t count;
} values_given;

static int refuse_word(const char *word, const char *why)
{
    return cli_usage_error(cli_find_command("formula"), "`%s` %s", word, why);
}

/* SYMBOL=VALUE, the value a whole number. */
static int read_value(const char *word, values_given *out)
{
    const char *equals = strchr(word, '=');
    char *end;
    if (equals == NULL || equals == word)
        return refuse_word(word, "is not of the form SYMBOL=VALUE");
    const size_t length = (size_t)(equals - word);
    if (length >= NAME_SIZE || out->count == MAX_VALUES)
        return refuse_word(word, length >= NAME_SIZE ? "has a name that no symbol has"
                                                     : "is one value too many");
    const char *digits = equals[1] == '-' || equals[1] == '+' ? equals + 2 : equals + 1;
    errno = 0;
    const long long value = strtoll(equals + 1, &end, 10);
    if (digits[0] < '0' || digits[0] > '9' || *end != '\0')
        return refuse_word(word, "gives no whole number");
    if (errno == ERANGE)
        return refuse_word(word, "gives a number that does not fit in 64 bits");
    char *name = out->names[out->count];
    memcpy(name, word, length);
    name[length] = '\0';
    out->symbols[out->count] = name;
    out->values[out->count++] = value;
    return EXIT_DONE;
}

static int print_one(const cli_request *request, uint64_t formula)
{
    static const values_given none;
    values_given given = none;
    linnet_text *text = NULL;
    linnet_error err;
    int status = EXIT_DONE;
    for (int i = 1; i < request->word_count && status == EXIT_DONE; i++)
        status = read_value(request->words[i], &given);
    if (status != EXIT_DONE)
        return status;
    if ((request->json ? linnet_formula_to_json : linnet_formula_to_text)(
            formula, given.symbols, given.values, given.count, &text, &err) != LINNET_OK)
        return cli_fail(&err);
    return cli_print_text(text);
}

/* What a formula says, when no values are given. */
static int print_description(const cli_request *request, uint64_t formula)
{
    cli_buffer out = { 0 };
    if (request->json) {
        cli_add(&out, "{\n  \"version\": 1,\n  \"formulas\": [\n");
        add_json_formula(&out, formula);
        cli_add(&out, "\n  ]\n}\n");
        return cli_print_buffer(&out);
    }
    cli_add(&out, "%s: %s\n\n  %s\n\n", linnet_formula_name(formula), linnet_formula_title(formula),
            linnet_formula_expression(formula));
    for (uint64_t k = 0; k < linnet_formula_symbol_count(formula); k++) {
        const char *fallback = linnet_formula_symbol_default(formula, k);
        cli_add(&out, "  %-6s %s", linnet_formula_symbol_name(formula, k),
                linnet_formula_symbol_meaning(formula, k));
        cli_add(&out, fallback != NULL ? " (%s)\n" : "%s\n", fallback != NULL ? fallback : "");
    }
    cli_add(&out, "\nResult: %s. Source: %s\n", linnet_formula_unit(formula),
            linnet_formula_source(formula));
    return cli_print_buffer(&out);
}

static bool needs_values(uint64_t formula)
{
    for (uint64_t k = 0; k < linnet_formula_symbol_count(formula); k++)
        if (linnet_formula_symbol_default(formula, k) == NULL)
            return true;
    return false;
}

int cli_run_formula(cli_request *request)
{
    uint64_t formula;
    linnet_error err;
    if (request->word_count == 0)
        return print_list(request);
    if (linnet_formula_find(request->words[0], &formula, &err) != LINNET_OK)
        return cli_fail(&err);
    if (request->word_count == 1 && needs_values(formula))
        return print_description(request, formula);
    return print_one(request, formula);
}
