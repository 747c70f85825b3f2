/* SPDX-License-Identifier: MIT */
#ifndef MEASURED_TABLE_H
#define MEASURED_TABLE_H

/* The tables of LINNET_SHARED/data/measured, and errors added up over their rows. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cost/cost.h"

/* ---- a table: lines of fields, quoted where they have a comma ---- */

enum { FIELDS = 48, FIELD = 256, LINE = 8192 };

typedef struct table {
    FILE *file;
    char names[FIELDS][FIELD], fields[FIELDS][FIELD];
} table;

static bool read_fields(FILE *file, char fields[FIELDS][FIELD])
{
    char line[LINE];
    int field = 0, length = 0;
    bool quoted = false;
    if (fgets(line, sizeof(line), file) == NULL)
        return false;
    for (const char *c = line; *c != '\0' && *c != '\n' && field < FIELDS; c++) {
        if (*c == '"') {
            quoted = !quoted;
        } else if (*c == ',' && !quoted) {
            fields[field++][length] = '\0';
            length = 0;
        } else if (length < FIELD - 1) {
            fields[field][length++] = *c;
        }
    }
    if (field < FIELDS)
        fields[field][length] = '\0';
    return true;
}

/* NULL in `file`: there is no such table here. */
static void open_table(table *t, const char *name)
{
    char path[1024];
    const char *shared = getenv("LINNET_SHARED");
    t->file = NULL;
    if (shared == NULL)
        return;
    snprintf(path, sizeof(path), "%s/data/measured/%s", shared, name);
    t->file = fopen(path, "r");
    if (t->file != NULL)
        assert_true(read_fields(t->file, t->names));
}

static bool next_row(table *t)
{
    return read_fields(t->file, t->fields);
}

static const char *field_of(const table *t, const char *name)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(t->names[i], name) == 0)
            return t->fields[i];
    fail_msg("the table has no column `%s`", name);
    return "";
}

static int64_t whole_of(const table *t, const char *name)
{
    const char *text = field_of(t, name);
    int64_t value = 0;
    if (!lin_parse_i64(text, strlen(text), &value))
        fail_msg("`%s` is no number in column `%s`", text, name);
    return value;
}

static double real_of(const table *t, const char *name)
{
    const char *text = field_of(t, name);
    double value = 0;
    if (!lin_parse_double(text, strlen(text), &value))
        fail_msg("`%s` is no number in column `%s`", text, name);
    return value;
}

/* ---- devices ---- */

static lin_profile *open_profile(const char *name)
{
    lin_profile *profile = NULL;
    linnet_error err = { 0 };
    if (lin_profile_open(name, 1 << 20, &lin_default_allocator, &profile, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    return profile;
}

/* ---- scores ---- */

typedef struct score {
    int rows;
    double sum, signed_sum; /* of relative errors */
} score;

static void add_error(score *s, double error)
{
    s->rows++;
    s->sum += fabs(error);
    s->signed_sum += error;
}

static void print_score(const char *name, const score *s)
{
    if (s->rows > 0)
        print_message("%-34s %4d %+8.1f %% %8.1f %%\n", name, s->rows,
                      s->signed_sum / s->rows * 100, s->sum / s->rows * 100);
}

#endif
