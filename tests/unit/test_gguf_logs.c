/* SPDX-License-Identifier: MIT */

/*
 * The key/value caches of published start-up logs of llama.cpp: a GGUF file with a log's metadata
 * and no tensors, its context and its cache types, must need what the log printed, to the hundredth
 * of a MiB. Read from $LINNET_SHARED/data/gguf-dumps; skipped where that is not there.
 */

#define _XOPEN_SOURCE 700 /* mkdtemp */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gguf_writer.h"
#include "memory/memory.h"

enum { LARGEST_FILE = 1 << 20, PATH_LENGTH = 1024, LINE_LENGTH = 512 };

/* What the engine of the log stores; all of them kept full caches in layers with a window. */
static const struct log_case {
    const char *file;
    const char *keys, *values;
} log_cases[] = {
    { "log-llama-2-7b-chat-f16-cuda-partial.txt", "f16", "f16" },
    { "log-gritlm-7b-q4_1-cuda-partial.txt", "f16", "f16" },
    { "log-llama-3.1-8b-cuda-kv-iq4_nl.txt", "iq4_nl", "f16" },
    { "log-qwen3-32b-cuda.txt", "f16", "f16" },
    { "log-qwen3-30b-a3b-cuda.txt", "f16", "f16" },
    { "log-deepseek-r1-mla-ctx163840.txt", "f16", "f16" },
    { "log-gemma-3-27b-cuda.txt", "f16", "f16" },
};

static bool dump_path(char *out, const char *name)
{
    const char *shared = getenv("LINNET_SHARED");
    return shared != NULL &&
           snprintf(out, PATH_LENGTH, "%s/data/gguf-dumps/%s", shared, name) < PATH_LENGTH;
}

static const char *read_text(lin_arena *arena, const char *name, uint64_t *out_length)
{
    char path[PATH_LENGTH];
    const char *text = NULL;
    if (!dump_path(path, name) ||
        lin_file_read(arena, path, LARGEST_FILE, &text, out_length, NULL) != LINNET_OK)
        return NULL;
    return text;
}

/* ---- a log's metadata as a file ---- */

/* "…- kv   7:   qwen3.block_count u32   = 64": the three parts; false: another line. */
typedef struct logged_pair {
    char key[LINE_LENGTH], type[LINE_LENGTH], value[LINE_LENGTH];
} logged_pair;

static bool parse_line(const char *line, size_t length, logged_pair *out)
{
    static const char mark[] = "llama_model_loader: - kv";
    char copy[LINE_LENGTH];
    unsigned number;
    if (length < sizeof(mark) || strncmp(line, mark, strlen(mark)) != 0)
        return false;
    const size_t kept = length < sizeof(copy) - 1 ? length : sizeof(copy) - 1;
    memcpy(copy, line, kept);
    copy[kept] = '\0';
    out->value[0] = '\0';
    return sscanf(copy + strlen(mark), " %u: %s %s = %[^\n]", &number, out->key, out->type,
                  out->value) >= 3;
}

static uint64_t array_length(const char *type)
{
    const char *comma = strchr(type, ',');
    assert_non_null(comma);
    return strtoull(comma + 1, NULL, 10);
}

static void write_numbers(gguf_writer *w, const char *key, uint32_t type, uint64_t count)
{
    gguf_key(w, key, LIN_GGUF_ARRAY);
    gguf_u32(w, type);
    gguf_word(w, count);
    for (uint64_t i = 0; i < count; i++)
        gguf_u32(w, 0);
}

/* Whatever the locale. */
static double number_of(const char *text)
{
    double value = 0;
    assert_true(lin_parse_double(text, strlen(text), &value));
    return value;
}

static void write_pair(gguf_writer *w, const logged_pair *pair)
{
    if (strncmp(pair->type, "arr[str", 7) == 0)
        gguf_pair_texts(w, pair->key, array_length(pair->type));
    else if (strncmp(pair->type, "arr[", 4) == 0)
        write_numbers(w, pair->key, pair->type[4] == 'f' ? LIN_GGUF_F32 : LIN_GGUF_I32,
                      array_length(pair->type));
    else if (strcmp(pair->type, "f32") == 0)
        gguf_pair_f32(w, pair->key, number_of(pair->value));
    else if (strcmp(pair->type, "bool") == 0)
        gguf_pair_bool(w, pair->key, strcmp(pair->value, "true") == 0);
    else if (strcmp(pair->type, "str") == 0)
        gguf_pair_text(w, pair->key, pair->value);
    else
        gguf_pair_u32(w, pair->key, (uint32_t)strtoul(pair->value, NULL, 10));
}

static void write_log(gguf_writer *w, const char *text)
{
    logged_pair pair;
    uint64_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            gguf_begin(w, 0, count);
        for (const char *line = text; *line != '\0';) {
            const size_t length = strcspn(line, "\n");
            if (parse_line(line, length, &pair)) {
                if (pass == 1)
                    write_pair(w, &pair);
                count++;
            }
            line += length + (line[length] == '\n');
        }
    }
}

static lin_source *open_log(const char *text)
{
    char directory[] = "/tmp/linnet-log-XXXXXX";
    char path[PATH_LENGTH];
    gguf_writer w = { .version = 3 };
    write_log(&w, text);
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/model.gguf", directory);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w.bytes, 1, w.length, file), w.length);
    assert_int_equal(fclose(file), 0);
    free(w.bytes);

    const lin_source_settings settings = { .allocator = lin_default_allocator };
    lin_source *source = NULL;
    linnet_error err = { 0 };
    const linnet_status status = lin_source_open(&settings, path, NULL, &source, &err);
    (void)unlink(path);
    (void)rmdir(directory);
    if (status != LINNET_OK)
        fail_msg("%s: %s", err.source, err.message);
    return source;
}

/* ---- its caches ---- */

static int64_t cache_bytes(const lin_source *source, int64_t positions, const struct log_case *row)
{
    const lin_trace_settings trace = { .entry = "decode",
                                       .role_given = { true, false, true },
                                       .role_value = { 1, 0, positions },
                                       .full_window = true,
                                       .numerics = LIN_NUMERICS_FAST,
                                       .processes = 1 };
    const lin_memory_settings settings = {
        .context_bytes = -1,
        .kv_keys = lin_kv_format_find(row->keys, strlen(row->keys)),
        .kv_values = lin_kv_format_find(row->values, strlen(row->values)),
    };
    static const int64_t as_configured[LIN_ROLE_COUNT];
    lin_traced traced;
    lin_memory *memory = NULL;
    lin_answer *answer = NULL;
    linnet_error err = { 0 };
    int64_t bytes = -1;
    if (lin_trace(source, &trace, &lin_default_allocator, &traced, &err) != LINNET_OK)
        fail_msg("%s:%u: %s", err.source, err.line, err.message);
    if (lin_memory_new(source, &traced, &trace, &settings, &lin_default_allocator, &memory, &err) !=
            LINNET_OK ||
        lin_memory_analyse(memory, as_configured, &answer, &err) != LINNET_OK)
        fail_msg("%s", err.message);
    for (uint32_t i = 0; i < answer->component_count; i++)
        if (strcmp(answer->components[i].name, "KV cache") == 0)
            bytes = answer->components[i].bytes;
    lin_answer_free(answer);
    lin_memory_free(memory);
    return bytes;
}

static void test_log(void **state)
{
    const struct log_case *row = *state;
    lin_arena arena;
    uint64_t length, expected_length;
    const lin_json *all = NULL;
    lin_arena_init(&arena, &lin_default_allocator);
    const char *text = read_text(&arena, row->file, &length);
    const char *expected_text = read_text(&arena, "expected.json", &expected_length);
    if (text == NULL || expected_text == NULL) {
        lin_arena_free(&arena);
        print_message("LINNET_SHARED has no data/gguf-dumps\n");
        skip();
    }
    assert_int_equal(
        lin_json_read("expected.json", expected_text, expected_length, false, &arena, &all, NULL),
        LINNET_OK);
    const lin_json *expected = lin_json_get(all, row->file);
    const int64_t positions = lin_json_get(expected, "n_ctx")->integer;
    const double printed = lin_json_get(expected, "kv_cache_mib")->real;

    lin_source *source = open_log(text);
    char ours[64], theirs[64];
    snprintf(ours, sizeof(ours), "%.2f",
             (double)cache_bytes(source, positions, row) / (1024.0 * 1024.0));
    snprintf(theirs, sizeof(theirs), "%.2f", printed);
    assert_string_equal(ours, theirs);
    lin_source_free(source);
    lin_arena_free(&arena);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(log_cases)];
    for (size_t i = 0; i < ARRAY_LEN(log_cases); i++)
        tests[i] = (struct CMUnitTest){ .name = log_cases[i].file,
                                        .test_func = test_log,
                                        .initial_state = (void *)(uintptr_t)&log_cases[i] };
    return cmocka_run_group_tests_name("gguf_logs", tests, NULL, NULL);
}
