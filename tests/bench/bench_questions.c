/* SPDX-License-Identifier: MIT */

/*
 * Answers a second: bench-questions LINNET [LEAST]. Writes 10,000 memory questions over 20 models
 * in no order, each with sizes of its own and every third with a device, and times `linnet sweep`
 * with two threads as a whole process: start, opening and tracing all models, writing. Exit 1 below
 * LEAST answers a second.
 */

#define _DEFAULT_SOURCE

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUESTIONS = 10000, RUNS = 5 };

/* Shapes that ship under no name are bound on one that does. */
static const char *const models[] = {
    "\"llama-3.1-8b-instruct\"",
    "\"llama-3.1-8b-instruct\",\"entry\":\"decode_rows\"",
    "\"llama-3.1-8b-instruct\",\"bind\":[\"H=8192\",\"Layers=80\",\"Heads=64\",\"Inner=28672\"]",
    "\"llama-3.1-8b-instruct\",\"bind\":[\"H=16384\",\"Layers=126\",\"Heads=128\",\"Inner=53248\"]",
    "\"tinyllama-1.1b-chat\"",
    "\"tinyllama-1.1b-chat\",\"training\":true,\"entry\":\"loss_packed\",\"checkpoint\":\"block\"",
    "\"smollm2-1.7b-instruct\"",
    "\"mistral-7b-instruct-v0.3\"",
    "\"mistral-7b-instruct-v0.3\",\"kv-dtype\":\"fp8\",\"kv-block-size\":16",
    "\"qwen2.5-0.5b-instruct\"",
    "\"qwen3-4b\"",
    "\"qwen3-4b\",\"training\":true,\"entry\":\"loss_packed\",\"shards\":8",
    "\"qwen3-8b\"",
    "\"qwen3-8b\",\"tensor-parallel\":4",
    "\"phi-3-mini-4k-instruct\"",
    "\"gpt2\"",
    "\"bert-base-uncased\"",
    "\"roberta-base\"",
    "\"all-MiniLM-L6-v2\"",
    "\"gpt-lesson\"",
};

static const char *const devices[] = { "h100-80gb", "a100-80gb", "h200", "b200" };

enum { MODELS = sizeof models / sizeof models[0], DEVICES = sizeof devices / sizeof devices[0] };

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static int write_questions(int take_descriptor)
{
    uint64_t state = 1;
    FILE *file = fdopen(take_descriptor, "w");
    if (file == NULL)
        return -1;
    for (int i = 0; i < QUESTIONS; i++) {
        fprintf(file, "{\"command\":\"memory\",\"model\":%s,\"batch\":%u,\"seq-len\":%u",
                models[next_random(&state) % MODELS], 1 + next_random(&state) % 16,
                64 * (1 + next_random(&state) % 8));
        if (i % 3 == 0)
            fprintf(file, ",\"device\":\"%s\"", devices[next_random(&state) % DEVICES]);
        fputs("}\n", file);
    }
    return fclose(file);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Seconds; negative when it failed. */
static double run(const char *linnet, const char *questions, const char *answers)
{
    int status = 0;
    const double start = now();
    const pid_t child = fork();
    if (child == 0) {
        execl(linnet, linnet, "sweep", questions, "--threads", "2", "--output", answers,
              (char *)NULL);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return -1;
    return now() - start;
}

/* Every line has an answer that is none of an error. */
static int count_answers(const char *path)
{
    char line[1 << 16];
    int count = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        count += strstr(line, "\"expected\":") != NULL;
    if (file != NULL)
        fclose(file);
    return count;
}

int main(int argc, char **argv)
{
    char questions[] = "/tmp/linnet-questions-XXXXXX", answers[] = "/tmp/linnet-answers-XXXXXX";
    const int in = mkstemp(questions), out = mkstemp(answers);
    const double least = argc > 2 ? (double)strtol(argv[2], NULL, 10) : 0;
    double best = -1;
    int status = argc > 1 && in >= 0 && out >= 0 && write_questions(in) == 0 ? 0 : 2;
    for (int i = 0; i < RUNS && status == 0; i++) {
        const double seconds = run(argv[1], questions, answers);
        if (seconds < 0 || count_answers(answers) != QUESTIONS)
            status = 3;
        else if (best < 0 || seconds < best)
            best = seconds;
    }
    close(out);
    unlink(questions);
    unlink(answers);
    if (status != 0)
        return status;
    printf("%d memory questions over %d models, two threads: %.0f answers a second (limit %.0f)\n",
           (int)QUESTIONS, (int)MODELS, QUESTIONS / best, least);
    return QUESTIONS / best >= least ? 0 : 1;
}
