/* SPDX-License-Identifier: MIT */
/*
 * Whole programs: everything in golden/valid checks, everything in golden/invalid gives the first
 * finding that golden/invalid/expect.txt names, and the standard library and the models that ship
 * check without a warning. The folder comes from LINNET_GOLDEN.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lang/lang.h"
#include "zoo/zoo.h"

enum { MAX_TESTS = 512, TEXT_BYTES = 1 << 20 };

typedef struct program_case {
    char name[64];
    char path[512]; /* of a file; "" for one of the zoo */
    const lin_zoo_file *file;
    char code[8]; /* "" when the program is valid */
    uint32_t line, column;
} program_case;

static lin_load_result load(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err)
{
    char path[256];
    (void)user;
    (void)err;
    int length = snprintf(path, sizeof(path), "%s", request->module);
    if (length < 0 || (size_t)length + 8 >= sizeof(path))
        return LIN_LOAD_MISSING;
    for (int i = 0; i < length; i++)
        path[i] = path[i] == '.' ? '/' : path[i];
    (void)snprintf(path + length, sizeof(path) - (size_t)length, ".linnet");
    const lin_zoo_file *file = lin_zoo_find(path);
    if (file == NULL)
        return LIN_LOAD_MISSING;
    out->name = file->path;
    out->package = "std";
    out->text = file->text;
    out->length = file->length;
    return LIN_LOAD_OK;
}

static uint64_t read_file(const char *path, char *text)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s is missing", path);
    uint64_t length = fread(text, 1, TEXT_BYTES, file);
    (void)fclose(file);
    return length;
}

/* Prints findings as the failure, so that a broken library is read from the log. */
static void expect_valid(const lin_diagnostics *found, linnet_status status)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, found, false);
    if (status != LINNET_OK || found->list.count > 0)
        print_error("%s\n", lin_text_data(&text));
    lin_text_free(&text);
    assert_int_equal(status, LINNET_OK);
}

static void test_program(void **state)
{
    const program_case *row = *state;
    static char text[TEXT_BYTES];
    uint64_t length = row->file != NULL ? row->file->length : read_file(row->path, text);
    const lin_lang_file file = { row->name, row->file != NULL ? "std" : "",
                                 row->file != NULL ? row->file->text : text, length };
    const lin_loader loader = { load, NULL };
    lin_diagnostics found;
    lin_program *program = NULL;
    linnet_error err = { 0 };
    lin_diagnostics_init(&found, &lin_default_allocator, 100);
    linnet_status status =
        lin_lang_check(&file, &loader, NULL, &lin_default_allocator, &found, &program, &err);
    if (row->code[0] == '\0') {
        expect_valid(&found, status);
        assert_true(row->file == NULL || found.warning_count == 0);
    } else {
        assert_int_equal(status, LINNET_ERROR_SOURCE);
        assert_string_equal(err.diagnostic, row->code);
        assert_int_equal(err.line, row->line);
        assert_int_equal(err.column, row->column);
    }
    lin_program_free(program);
    lin_diagnostics_free(&found);
}

/* ---- the rows ---- */

static program_case rows[MAX_TESTS];
static size_t row_count;

static program_case *new_row(const char *name)
{
    program_case *row = &rows[row_count < MAX_TESTS - 1 ? row_count++ : MAX_TESTS - 1];
    (void)snprintf(row->name, sizeof(row->name), "%s", name);
    return row;
}

static void add_valid(const char *golden)
{
    for (int i = 1; i <= 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "v%02d", i);
        program_case *row = new_row(name);
        (void)snprintf(row->path, sizeof(row->path), "%s/valid/%s.linnet", golden, name);
    }
}

/* "i03 E3101 3 21" a line */
static void add_invalid(const char *golden)
{
    char path[512], name[16], code[8];
    unsigned line, column;
    (void)snprintf(path, sizeof(path), "%s/invalid/expect.txt", golden);
    FILE *file = fopen(path, "rb");
    while (file != NULL && fscanf(file, "%15s %7s %u %u", name, code, &line, &column) == 4) {
        program_case *row = new_row(name);
        (void)snprintf(row->path, sizeof(row->path), "%s/invalid/%s.linnet", golden, name);
        (void)snprintf(row->code, sizeof(row->code), "%s", code);
        row->line = line;
        row->column = column;
    }
    if (file != NULL)
        (void)fclose(file);
}

static void add_zoo(void)
{
    for (uint32_t i = 0; i < lin_zoo_count(); i++) {
        const lin_zoo_file *file = lin_zoo_at(i);
        if (strstr(file->path, ".linnet") != NULL)
            new_row(file->path)->file = file;
    }
}

static void test_rows(void **state)
{
    (void)state;
    size_t invalid = 0;
    for (size_t i = 0; i < row_count; i++)
        invalid += rows[i].code[0] != '\0' ? 1 : 0;
    assert_true(invalid >= 25);
    assert_true(row_count < MAX_TESTS - 1);
}

int main(void)
{
    static struct CMUnitTest tests[MAX_TESTS + 1];
    const char *golden = getenv("LINNET_GOLDEN");
    golden = golden != NULL ? golden : "tests/golden";
    add_valid(golden);
    add_invalid(golden);
    add_zoo();
    for (size_t i = 0; i < row_count; i++)
        tests[i] = (struct CMUnitTest){ .name = rows[i].name,
                                        .test_func = test_program,
                                        .initial_state = &rows[i] };
    tests[row_count] = (struct CMUnitTest)cmocka_unit_test(test_rows);
    return _cmocka_run_group_tests("programs", tests, row_count + 1, NULL, NULL);
}
