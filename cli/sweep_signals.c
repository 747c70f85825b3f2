/* SPDX-License-Identifier: MIT */

/*
 * Signals that would end the process wait until lines are written whole. No handler runs: they are
 * blocked, looked at between blocks, and delivered at the end. Signals that are ignored (nohup) are
 * left alone.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>

static const int endings[] = { SIGINT, SIGTERM, SIGHUP };

enum { LOOK_MS = 100 };

/* Those of them that end the process as things are. */
static void list_endings(sigset_t *out)
{
    struct sigaction action;
    sigemptyset(out);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (sigaction(endings[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(out, endings[i]);
}

void sweep_signals_begin(void)
{
    sigset_t set;
    list_endings(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

bool sweep_signals_pending(void)
{
    sigset_t set, waiting;
    list_endings(&set);
    if (sigpending(&waiting) != 0)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (sigismember(&set, endings[i]) == 1 && sigismember(&waiting, endings[i]) == 1)
            return true;
    return false;
}

void sweep_signals_end(void)
{
    sigset_t set;
    list_endings(&set);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

bool sweep_signals_wait(int descriptor, short events)
{
    struct pollfd ready = { .fd = descriptor, .events = events };
    while (poll(&ready, 1, LOOK_MS) == 0)
        if (sweep_signals_pending())
            return false;
    return true;
}
