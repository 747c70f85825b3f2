/* SPDX-License-Identifier: MIT */

/*
 * Threads that answer blocks of lines. Blocks wait in a queue in their order; whoever writes them
 * out waits for each in turn, so which thread took which does not matter.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct sweep_crew {
    sweep_store *store;
    pthread_mutex_t lock;
    pthread_cond_t work, progress;
    sweep_block *first, **end; /* of the queue */
    bool is_closing;
    atomic_bool stops;
    int64_t threads;
    pthread_t thread[];
};

/* ---- a thread ---- */

static void answer_block(sweep_crew *crew, sweep_worker *worker, sweep_block *block)
{
    const char *at = block->questions.data, *end = at + block->questions.length;
    for (; at < end && !atomic_load_explicit(&crew->stops, memory_order_relaxed);
         block->answered++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        sweep_answer(worker, at, (size_t)(newline - at), block->first_line + block->answered,
                     &block->answers);
        at = newline + 1;
    }
}

static sweep_block *pop(sweep_crew *crew)
{
    sweep_block *block = crew->first;
    if (block == NULL)
        return NULL;
    crew->first = block->next;
    if (crew->first == NULL)
        crew->end = &crew->first;
    return block;
}

static void *work(void *user)
{
    sweep_crew *crew = user;
    sweep_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        exit(cli_fail_memory());
    worker->store = crew->store;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        sweep_block *block;
        while ((block = pop(crew)) == NULL && !crew->is_closing)
            pthread_cond_wait(&crew->work, &crew->lock);
        if (block == NULL)
            break;
        pthread_mutex_unlock(&crew->lock);
        answer_block(crew, worker, block);
        pthread_mutex_lock(&crew->lock);
        block->is_done = true;
        pthread_cond_signal(&crew->progress);
    }
    pthread_mutex_unlock(&crew->lock);
    sweep_worker_end(worker);
    free(worker);
    return NULL;
}

/* ---- the crew ---- */

int sweep_crew_new(int64_t threads, const sweep_settings *settings, sweep_crew **out)
{
    sweep_crew *crew = calloc(1, sizeof *crew + (size_t)threads * sizeof crew->thread[0]);
    sweep_store *store = sweep_store_new(settings);
    if (crew == NULL || store == NULL) {
        sweep_store_free(store);
        free(crew);
        return cli_fail_memory();
    }
    crew->store = store;
    crew->end = &crew->first;
    atomic_init(&crew->stops, false);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, NULL);
    pthread_cond_init(&crew->progress, NULL);
    while (crew->threads < threads &&
           pthread_create(&crew->thread[crew->threads], NULL, work, crew) == 0)
        crew->threads++;
    if (crew->threads < threads) {
        sweep_crew_free(crew);
        fputs("linnet: the system gives no more threads: fewer --threads may do\n", stderr);
        return EXIT_INTERNAL;
    }
    *out = crew;
    return EXIT_DONE;
}

void sweep_crew_add(sweep_crew *crew, sweep_block *block)
{
    pthread_mutex_lock(&crew->lock);
    block->next = NULL;
    *crew->end = block;
    crew->end = &block->next;
    pthread_cond_signal(&crew->work);
    pthread_mutex_unlock(&crew->lock);
}

sweep_block *sweep_crew_take(sweep_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    sweep_block *block = pop(crew);
    pthread_mutex_unlock(&crew->lock);
    return block;
}

bool sweep_crew_is_done(sweep_crew *crew, const sweep_block *block)
{
    pthread_mutex_lock(&crew->lock);
    const bool is_done = block->is_done;
    pthread_mutex_unlock(&crew->lock);
    return is_done;
}

void sweep_crew_done(sweep_crew *crew, sweep_block *block)
{
    pthread_mutex_lock(&crew->lock);
    block->is_done = true;
    pthread_mutex_unlock(&crew->lock);
}

void sweep_crew_wait(sweep_crew *crew, const sweep_block *block, int milliseconds)
{
    enum { BILLION = 1000000000, MILLION = 1000000 };
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)milliseconds * MILLION;
    until.tv_sec += until.tv_nsec / BILLION;
    until.tv_nsec %= BILLION;
    pthread_mutex_lock(&crew->lock);
    if (block == NULL || !block->is_done)
        pthread_cond_timedwait(&crew->progress, &crew->lock, &until);
    pthread_mutex_unlock(&crew->lock);
}

void sweep_crew_stop(sweep_crew *crew)
{
    atomic_store(&crew->stops, true);
}

void sweep_crew_free(sweep_crew *crew)
{
    if (crew == NULL)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->is_closing = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
    for (int64_t i = 0; i < crew->threads; i++)
        pthread_join(crew->thread[i], NULL);
    pthread_cond_destroy(&crew->work);
    pthread_cond_destroy(&crew->progress);
    pthread_mutex_destroy(&crew->lock);
    sweep_store_free(crew->store);
    free(crew);
}
