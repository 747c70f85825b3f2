/* SPDX-License-Identifier: MIT */

/*
 * The memory of one configuration, from C:
 *
 *     cc memory.c $(pkg-config --cflags --libs linnet) -o memory && ./memory
 *
 * Prints each component in bytes, then the three peaks, then the peak of another batch from a
 * planner.
 */

#include <inttypes.h>
#include <linnet/linnet.h>
#include <stdio.h>

static int print_analysis(const linnet_analysis *analysis)
{
    for (uint64_t i = 0; i < linnet_analysis_component_count(analysis); i++) {
        const int64_t bytes = linnet_analysis_component_bytes(analysis, i);
        if (bytes >= 0) /* -1: not known */
            printf("%s: %" PRId64 "\n", linnet_analysis_component_name(analysis, i), bytes);
    }
    printf("graph peak: %" PRId64 "\n", linnet_analysis_graph_peak(analysis));
    printf("expected peak: %" PRId64 "\n", linnet_analysis_expected_peak(analysis));
    printf("allocator peak: %" PRId64 "\n", linnet_analysis_allocator_peak(analysis));
    return 0;
}

int main(void)
{
    linnet_error err;
    linnet_config *config = NULL;
    linnet_model *model = NULL;
    linnet_analysis *analysis = NULL;
    linnet_planner *planner = NULL;
    int64_t expected;
    int status = 1;

    if (linnet_config_new(&config, &err) != LINNET_OK ||
        linnet_config_set_batch(config, 1, &err) != LINNET_OK ||
        linnet_config_set_context(config, 8192, &err) != LINNET_OK ||
        linnet_model_open(config, "llama-3.1-8b-instruct", NULL, &model, &err) != LINNET_OK ||
        linnet_analysis_new(model, config, &analysis, &err) != LINNET_OK ||
        linnet_planner_new(model, config, &planner, &err) != LINNET_OK ||
        linnet_planner_peaks(planner, 4, 0, 0, NULL, &expected, NULL, &err) != LINNET_OK) {
        fprintf(stderr, "%s\n", err.message);
        goto out;
    }
    status = print_analysis(analysis);
    printf("expected peak of batch 4: %" PRId64 "\n", expected);
out:
    linnet_planner_free(planner);
    linnet_analysis_unref(analysis);
    linnet_model_unref(model);
    linnet_config_free(config);
    return status;
}
