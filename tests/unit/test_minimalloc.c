/* SPDX-License-Identifier: MIT */

/* The published packing instances of MiniMalloc (Moffitt, ASPLOS 2023), omnimalloc and idealloc,
 * read from $LINNET_SHARED/data/minimalloc; skipped where that is not there. */

#include "graph/graph.h"
#include "judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LARGEST = 20000 };

/* `at_most`: the optimum where it is known and reached, otherwise what a change must not lose. The
 * work is what reaches it, rounded up; all of them take seconds in a release build. */
/* clang-format off */
static const struct instance {
    const char *name;
    uint32_t buffers;
    int64_t bound;
    int64_t capacity; /* in the file's name; the bound where it has none */
    int64_t at_most;
    uint64_t work;
} instances[] = {
    { "challenging/A.1048576.csv", 154, 1048576, 1048576, 1048576, 40000000 },
    { "challenging/B.1048576.csv", 170, 1048576, 1048576, 1048576, 20000000 },
    { "challenging/C.1048576.csv", 203, 1039360, 1048576, 1039360, 20000000 },
    { "challenging/D.1048576.csv", 213,  986112, 1048576, 1048576, 40000000 },
    { "challenging/E.1048576.csv", 215, 1048576, 1048576, 1101004, 20000000 },
    { "challenging/F.1048576.csv", 296, 1048576, 1048576, 1048576, 20000000 },
    { "challenging/G.1048576.csv", 308, 1048576, 1048576, 1048576, 20000000 },
    { "challenging/H.1048576.csv", 316, 1048576, 1048576, 1048576, 20000000 },
    { "challenging/I.1048576.csv", 374, 1048576, 1048576, 1101004, 20000000 },
    { "challenging/J.1048576.csv", 409,  989184, 1048576, 1048576, 40000000 },
    { "challenging/K.1048576.csv", 454, 1048576, 1048576, 1048576, 20000000 },
    { "examples/input.12.csv",       5,      12,      12,      12,  1000000 },
    { "small/a.6.csv",               5,       6,       6,       6,  1000000 },
    { "small/b.6.csv",               5,       6,       6,       6,  1000000 },
    { "small/c.8.csv",               5,       8,       8,       8,  1000000 },
    { "small/d.9.csv",               6,       9,       9,       9,  1000000 },
    { "small/e.12.csv",              5,      12,      12,      12,  1000000 },
    { "small/f.14.csv",              6,      14,      14,      14,  1000000 },
    { "small/g.7.csv",               6,       7,       7,       7,  1000000 },
    { "large/G_1.csv",             816, 3030937746, 3030937746, 3030937746, 20000000 },
    { "large/resnet50.csv",       1042, 1515472556, 1515472556, 1515472556, 20000000 },
    { "large/pangu_2.6B.csv",    18692, 5530099775, 5530099775, 5572042815,   500000 },
};
/* clang-format on */

/* id,lower,upper,size; the id may be a word. */
static bool read_line(const char *line, lin_buffer *out)
{
    long long lower;
    long long upper;
    long long size;
    if (sscanf(line, "%*[^,],%lld,%lld,%lld", &lower, &upper, &size) != 3)
        return false;
    *out = (lin_buffer){ size, (int32_t)lower, (int32_t)upper };
    return true;
}

static uint32_t read_instance(const char *name, lin_buffer *buffers)
{
    const char *shared = getenv("LINNET_SHARED");
    char path[1024];
    char line[256];
    if (shared == NULL) {
        print_message("LINNET_SHARED is not set\n");
        skip();
        return 0;
    }
    assert_true(snprintf(path, sizeof(path), "%s/data/minimalloc/%s", shared, name) <
                (int)sizeof(path));
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        print_message("%s is missing\n", path);
        skip();
        return 0;
    }
    uint32_t count = 0;
    assert_non_null(fgets(line, sizeof(line), file));
    while (count < LARGEST && fgets(line, sizeof(line), file) != NULL)
        count += read_line(line, &buffers[count]);
    fclose(file);
    return count;
}

static void test_instance(void **state)
{
    static lin_buffer buffers[LARGEST];
    static int64_t offsets[LARGEST];
    const struct instance *c = *state;
    const lin_plan_effort effort = { .search_nodes = c->work };
    lin_plan plan;
    char why[JUDGE_WHY] = "";
    assert_int_equal(read_instance(c->name, buffers), c->buffers);
    assert_int_equal(
        lin_plan_arena(buffers, c->buffers, &effort, &lin_default_allocator, offsets, &plan, NULL),
        LINNET_OK);
    if (!judge_plan(buffers, c->buffers, offsets, &plan, why))
        fail_msg("%s", why);
    assert_true(plan.live_bytes == c->bound);
    assert_true(plan.planned_bytes <= c->at_most);
    assert_true((double)plan.planned_bytes <= 1.15 * (double)c->capacity);
}

int main(void)
{
    static struct CMUnitTest tests[ARRAY_LEN(instances)];
    for (size_t i = 0; i < ARRAY_LEN(instances); i++)
        tests[i] = (struct CMUnitTest){ .name = instances[i].name,
                                        .test_func = test_instance,
                                        .initial_state = (void *)(uintptr_t)&instances[i] };
    return _cmocka_run_group_tests("minimalloc", tests, ARRAY_LEN(tests), NULL, NULL);
}
