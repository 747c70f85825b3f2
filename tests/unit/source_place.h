/* SPDX-License-Identifier: MIT */
#ifndef TEST_SOURCE_PLACE_H
#define TEST_SOURCE_PLACE_H

/* A directory of its own for each test that needs files, and opening what was put there. Include
 * after cmocka's headers. */

#include "source/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct place {
    char directory[256];
    char at[512];
} place;

/* A path below the test's directory; valid until the next call. */
static inline const char *at(place *p, const char *name)
{
    (void)snprintf(p->at, sizeof(p->at), "%s/%s", p->directory, name);
    return p->at;
}

static inline void make_directories(place *p, const char *name)
{
    (void)at(p, name);
    for (char *slash = p->at + strlen(p->directory) + 1; (slash = strchr(slash, '/')) != NULL;
         slash++) {
        *slash = '\0';
        (void)mkdir(p->at, 0700);
        *slash = '/';
    }
}

static inline void write_file(place *p, const char *name, const char *text)
{
    make_directories(p, name);
    FILE *file = fopen(at(p, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline int set_up(void **state)
{
    static place p;
    const char *parent = getenv("TMPDIR");
    (void)snprintf(p.directory, sizeof(p.directory), "%s/linnet-XXXXXX",
                   parent != NULL ? parent : "/tmp");
    if (mkdtemp(p.directory) == NULL)
        return -1;
    *state = &p;
    return 0;
}

static inline int tear_down(void **state)
{
    place *p = *state;
    char command[300];
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", p->directory);
    return system(command) == 0 ? 0 : -1;
}

static inline linnet_status open_at(place *p, const char *name, lin_source **out, linnet_error *err)
{
    const lin_source_settings settings = { .allocator = lin_default_allocator };
    *out = NULL;
    memset(err, 0, sizeof(*err));
    return lin_source_open(&settings, at(p, name), NULL, out, err);
}

static inline void expect_refused(place *p, const char *name, linnet_status status,
                                  const char *message)
{
    lin_source *source;
    linnet_error err;
    linnet_status got = open_at(p, name, &source, &err);
    if (got != status || strstr(err.message, message) == NULL)
        fail_msg("%s: %d `%s`, not %d `%s`", name, (int)got, err.message, (int)status, message);
    assert_null(source);
}

static inline lin_source *expect_opened(place *p, const char *name)
{
    lin_source *source;
    linnet_error err;
    if (open_at(p, name, &source, &err) != LINNET_OK)
        fail_msg("%s: %s:%u:%u: %s", name, err.source, err.line, err.column, err.message);
    return source;
}

#define IN_PLACE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

#endif
