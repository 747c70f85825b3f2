/* SPDX-License-Identifier: MIT */

/* Opening and checking every shipped model, one after the other. Limit: 100 ms together. */

#define _POSIX_C_SOURCE 200809L

#include <linnet/linnet.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(void)
{
    linnet_config *config = NULL;
    linnet_error err;
    double best = 1e9;
    unsigned models = 0;
    if (linnet_config_new(&config, &err) != LINNET_OK)
        return 1;
    for (int round = 0; round < 5; round++) {
        const double start = now_ms();
        models = 0;
        for (uint64_t i = 0; i < linnet_builtin_model_count(); i++) {
            linnet_model *model = NULL;
            if (!linnet_builtin_model_is_shipped(i))
                continue;
            if (linnet_model_open(config, linnet_builtin_model_name(i), NULL, &model, &err) !=
                LINNET_OK) {
                fprintf(stderr, "%s\n", err.message);
                return 1;
            }
            linnet_model_unref(model);
            models++;
        }
        best = now_ms() - start < best ? now_ms() - start : best;
    }
    printf("%u shipped models opened and checked: %.1f ms (limit 100 ms)\n", models, best);
    linnet_config_free(config);
    return 0;
}
