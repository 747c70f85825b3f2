/* SPDX-License-Identifier: MIT */

/*
 * Whole processes: bench-process LINNET. Wall time (median and least of 20 runs) and peak resident
 * memory of a few command lines, each with its limit. A small parent: the peak of a child begins at
 * its parent's.
 */

#define _DEFAULT_SOURCE

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 20, MAX_ARGS = 16 };

static const struct process_case {
    const char *name;
    double limit_ms, limit_mib;
    const char *args[MAX_ARGS];
} cases[] = {
    { "the report of Llama 3.1 8B",
      10,
      16,
      { "memory", "llama-3.1-8b-instruct", "--batch", "1", "--seq-len", "8192" } },
    { "the largest batch of Llama 3.1 8B in 80 GiB",
      15,
      16,
      { "fit", "llama-3.1-8b-instruct", "--entry", "decode_rows", "--seq-len", "8192",
        "--device-memory", "80GiB", "--reserve", "2GiB", "--maximize", "batch" } },
    { "a training step of TinyLlama, 8192 tokens, block checkpointing",
      40,
      64,
      { "memory", "tinyllama-1.1b-chat", "--entry", "loss_packed", "--training", "--seq-len",
        "8192", "--checkpoint", "block" } },
    { "a training step of the Llama 3.1 405B shape",
      150,
      128,
      { "memory", "llama-3.1-8b-instruct", "--entry", "loss_packed", "--training", "--seq-len",
        "8192", "--bind", "H=16384", "--bind", "Layers=126", "--bind", "Heads=128", "--bind",
        "Inner=53248" } },
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void run_child(const char *linnet, const struct process_case *row)
{
    const char *argv[MAX_ARGS + 2] = { linnet };
    for (int i = 0; i < MAX_ARGS && row->args[i] != NULL; i++)
        argv[i + 1] = row->args[i];
    if (dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO) >= 0)
        execv(linnet, (char *const *)argv);
    _exit(127);
}

static int run(const char *linnet, const struct process_case *row, double *out_ms, double *out_mib)
{
    struct rusage usage;
    int status = 0;
    const double start = now_ms();
    const pid_t child = fork();
    if (child == 0)
        run_child(linnet, row);
    if (child < 0 || wait4(child, &status, 0, &usage) != child || status != 0)
        return -1;
    *out_ms = now_ms() - start;
    *out_mib = (double)usage.ru_maxrss / 1024;
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double ms[RUNS], mib = 0;
        for (int k = 0; k < RUNS; k++)
            if (run(argv[1], &cases[i], &ms[k], &mib) != 0)
                return 1;
        qsort(ms, RUNS, sizeof ms[0], by_value);
        printf("%s: median %.1f ms, least %.1f ms (limit %.0f), %.1f MiB resident (limit %.0f)\n",
               cases[i].name, ms[RUNS / 2], ms[0], cases[i].limit_ms, mib, cases[i].limit_mib);
    }
    return 0;
}
