/* SPDX-License-Identifier: MIT */

/*
 * The whole front end on arbitrary text: it must neither crash, leak, overrun nor run without end.
 * Imports of std find the shipped library. What is accepted is printed, so that every operation of
 * every function is walked.
 */

#include "lang/lang.h"
#include "zoo/zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* "std.nn.linear" -> "std/nn/linear.linnet" */
static lin_load_result load(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err)
{
    char path[256];
    (void)user;
    (void)err;
    int length = snprintf(path, sizeof(path), "%s", request->module);
    if (length < 0 || (size_t)length + sizeof(".linnet") > sizeof(path))
        return LIN_LOAD_MISSING;
    for (char *c = path; *c != '\0'; c++)
        if (*c == '.')
            *c = '/';
    memcpy(path + length, ".linnet", sizeof(".linnet"));
    const lin_zoo_file *file = lin_zoo_find(path);
    if (file == NULL)
        return LIN_LOAD_MISSING;
    out->name = file->path;
    out->package = "std";
    out->text = file->text;
    out->length = file->length;
    return LIN_LOAD_OK;
}

static void print_functions(const lin_program *program)
{
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    for (uint32_t i = 0; i < program->module_count; i++) {
        const lin_module *m = program->modules[i];
        for (uint32_t k = 0; k < m->function_count; k++)
            lin_function_print(&text, program, m->functions[k]);
        for (uint32_t k = 0; k < m->block_count; k++)
            for (uint32_t n = 0; n < m->blocks[k]->method_count; n++)
                lin_function_print(&text, program, m->blocks[k]->methods[n]);
    }
    lin_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lin_lang_file file = {
        .name = "fuzz.linnet", .package = "", .text = (const char *)data, .length = size
    };
    const lin_loader loader = { .load = load };
    lin_program *program = NULL;
    lin_diagnostics diagnostics;
    linnet_error err;

    lin_diagnostics_init(&diagnostics, &lin_default_allocator, 100);
    linnet_status status =
        lin_lang_check(&file, &loader, NULL, &lin_default_allocator, &diagnostics, &program, &err);
    if ((status == LINNET_OK) != (program != NULL) ||
        (status == LINNET_OK && diagnostics.error_count > 0))
        abort();
    if (program != NULL)
        print_functions(program);
    lin_text text;
    lin_text_init(&text, &lin_default_allocator);
    lin_diagnostics_print(&text, &diagnostics, false);
    lin_text_free(&text);
    lin_diagnostics_free(&diagnostics);
    lin_program_free(program);
    return 0;
}
