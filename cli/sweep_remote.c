/* SPDX-License-Identifier: MIT */

/*
 * Other processes of the same job. Under a launcher (mpirun, srun) the module with MPI is loaded;
 * else nothing is. The first process reads, writes and hands out blocks that no thread of its own
 * has begun; the others answer what they are sent and know nothing of files.
 *
 *     first -> other   { number, first line, lines } and the questions; no lines: the end
 *     other -> first   { number, first line, lines } and the answers
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include "sweep_mpi.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct sweep_remote {
    void *library;
    const sweep_mpi *mpi;
    sweep_mpi_link *link;
    int rank, size;
    int64_t *in_hand; /* by rank: blocks sent and not back */
};

typedef struct message_head {
    int64_t number, first_line, lines;
} message_head;

/* Blocks a process has in hand for each of its threads: one at work, one waiting. */
enum { BLOCKS_A_THREAD = 2 };

/* ---- the module ---- */

/* How many processes a launcher says that there are; 0: there is no launcher. */
static long launched_processes(void)
{
    static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && value[0] != '\0')
            return strtol(value, NULL, 10);
    }
    return 0;
}

/* Beside the program, where a build leaves it, or where it is installed. MPI's own plugins look for
 * its symbols, so they are global. */
static void *load(void)
{
    static const char file[] = "linnet-mpi.so";
    char path[4096];
    void *library = NULL;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof file);
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length > 0) {
        memcpy(path + length, file, sizeof file);
        library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    return library != NULL ? library
                           : dlopen(LINNET_MODULE_DIR "/linnet-mpi.so", RTLD_NOW | RTLD_GLOBAL);
}

static const sweep_mpi *find_module(void *library)
{
    sweep_mpi_fn get;
    void *symbol = library != NULL ? dlsym(library, SWEEP_MPI_SYMBOL) : NULL;
    if (symbol == NULL)
        return NULL;
    memcpy(&get, &symbol, sizeof get); /* as POSIX has it: C knows no cast between the two */
    const sweep_mpi *mpi = get();
    return mpi->version == SWEEP_MPI_VERSION ? mpi : NULL;
}

static int join(sweep_remote *remote, long processes)
{
    remote->library = load();
    remote->mpi = find_module(remote->library);
    if (remote->mpi == NULL) {
        fprintf(stderr,
                "linnet: this is one of %ld processes, and linnet-mpi.so, which joins them, cannot "
                "be loaded: build with -Dmpi=enabled, or start one process with --threads\n",
                processes);
        return EXIT_UNSUPPORTED;
    }
    remote->link = remote->mpi->join(&remote->rank, &remote->size);
    if (remote->link == NULL)
        return cli_fail_memory();
    remote->in_hand = calloc((size_t)remote->size, sizeof remote->in_hand[0]);
    return remote->in_hand != NULL ? EXIT_DONE : cli_fail_memory();
}

int sweep_remote_open(sweep_remote **out)
{
    const long processes = launched_processes();
    *out = NULL;
    if (processes < 2)
        return EXIT_DONE;
    sweep_remote *remote = calloc(1, sizeof *remote);
    if (remote == NULL)
        return cli_fail_memory();
    const int status = join(remote, processes);
    if (status == EXIT_DONE)
        *out = remote;
    else
        free(remote); /* the process ends, and the job with it */
    return status;
}

bool sweep_remote_is_first(const sweep_remote *remote)
{
    return remote == NULL || remote->rank == 0;
}

int64_t sweep_remote_processes(const sweep_remote *remote)
{
    return remote != NULL ? remote->size : 1;
}

/* ---- messages ---- */

static void send(const sweep_remote *remote, int rank, const sweep_block *block,
                 const cli_buffer *text)
{
    const message_head head = { block->number, block->first_line, block->lines };
    cli_buffer message = { 0 };
    cli_append(&message, (const char *)&head, sizeof head);
    if (text->length > 0)
        cli_append(&message, text->data, text->length);
    if (remote->mpi->send(remote->link, rank, message.data, message.length) == 0)
        exit(cli_fail_memory());
    free(message.data);
}

/* False: there is no message. */
static bool receive(const sweep_remote *remote, int *out_rank, message_head *out_head,
                    cli_buffer *out_text)
{
    void *data = NULL;
    size_t length = 0;
    const int got = remote->mpi->receive(remote->link, out_rank, &data, &length);
    if (got < 0 || (got > 0 && length < sizeof *out_head))
        exit(cli_fail_memory());
    if (got == 0)
        return false;
    memcpy(out_head, data, sizeof *out_head);
    out_text->length = 0;
    cli_append(out_text, (const char *)data + sizeof *out_head, length - sizeof *out_head);
    free(data);
    return true;
}

/* ---- the first process ---- */

static bool hand_out(sweep_remote *remote, sweep_crew *crew, int rank)
{
    sweep_block *block = sweep_crew_take(crew);
    if (block == NULL)
        return false;
    send(remote, rank, block, &block->questions);
    remote->in_hand[rank]++;
    return true;
}

static bool take_in(sweep_remote *remote, sweep_crew *crew, sweep_block *ring, int64_t capacity)
{
    message_head head;
    cli_buffer answers = { 0 };
    int rank;
    if (!receive(remote, &rank, &head, &answers))
        return false;
    sweep_block *block = &ring[head.number % capacity];
    free(block->answers.data);
    block->answers = answers;
    block->answered = head.lines;
    sweep_crew_done(crew, block);
    remote->in_hand[rank]--;
    return true;
}

bool sweep_remote_exchange(sweep_remote *remote, sweep_crew *crew, int64_t threads,
                           sweep_block *ring, int64_t capacity)
{
    bool happened = false;
    if (remote == NULL)
        return false;
    while (take_in(remote, crew, ring, capacity))
        happened = true;
    for (int rank = 1; rank < remote->size; rank++)
        while (remote->in_hand[rank] < BLOCKS_A_THREAD * threads && hand_out(remote, crew, rank))
            happened = true;
    return happened;
}

/* ---- another process ---- */

typedef struct server {
    sweep_remote *remote;
    sweep_crew *crew;
    sweep_block *first; /* of those in hand */
    bool is_ending;
} server;

/* How long nothing happens before it looks again: a message waits no longer. */
enum { LOOK_MS = 1 };

static bool take_questions(server *s)
{
    message_head head;
    cli_buffer questions = { 0 };
    int rank;
    if (!receive(s->remote, &rank, &head, &questions))
        return false;
    if (head.lines == 0) {
        s->is_ending = true;
        free(questions.data);
        return true;
    }
    sweep_block *block = calloc(1, sizeof *block);
    if (block == NULL)
        exit(cli_fail_memory());
    *block = (sweep_block){ .number = head.number,
                            .first_line = head.first_line,
                            .lines = head.lines,
                            .questions = questions };
    block->next_in_hand = s->first;
    s->first = block;
    sweep_crew_add(s->crew, block);
    return true;
}

static bool send_answers(server *s)
{
    bool happened = false;
    for (sweep_block **at = &s->first; *at != NULL;) {
        sweep_block *block = *at;
        if (!sweep_crew_is_done(s->crew, block)) {
            at = &block->next_in_hand;
            continue;
        }
        *at = block->next_in_hand;
        send(s->remote, 0, block, &block->answers);
        free(block->questions.data);
        free(block->answers.data);
        free(block);
        happened = true;
    }
    return happened;
}

int sweep_remote_serve(sweep_remote *remote, sweep_crew *crew)
{
    server s = { .remote = remote, .crew = crew };
    while (!s.is_ending || s.first != NULL) {
        const bool came = take_questions(&s), went = send_answers(&s);
        if (!came && !went)
            sweep_crew_wait(crew, NULL, LOOK_MS);
    }
    return EXIT_DONE;
}

/* ---- the end ---- */

/* The first process may have blocks out whose answers nobody wants any more: they are received, or
 * their senders would wait for ever. */
static void collect_rest(const sweep_remote *remote)
{
    const struct timespec pause = { 0, LOOK_MS * 1000000L };
    for (int rank = 1; rank < remote->size; rank++)
        while (remote->in_hand[rank] > 0) {
            message_head head;
            cli_buffer rest = { 0 };
            int from;
            if (receive(remote, &from, &head, &rest))
                remote->in_hand[from]--;
            else
                nanosleep(&pause, NULL);
            free(rest.data);
        }
}

void sweep_remote_close(sweep_remote *remote)
{
    static const sweep_block end = { 0 };
    if (remote == NULL)
        return;
    if (remote->rank == 0) {
        collect_rest(remote);
        for (int rank = 1; rank < remote->size; rank++)
            send(remote, rank, &end, &end.questions);
    }
    remote->mpi->leave(remote->link);
    free(remote->in_hand);
    free(remote);
}
