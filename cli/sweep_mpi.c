/* SPDX-License-Identifier: MIT */

/*
 * linnet-mpi.so: messages of any length between the processes of an MPI job. A message is its
 * length, then pieces that an int can count, under one tag: messages between two processes do not
 * overtake each other. Sends do not block, so that two processes may send to each other at once;
 * what is on its way is kept here until it has arrived.
 */

#include "sweep_mpi.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) const sweep_mpi *linnet_mpi(void);

enum { TAG = 1, PIECE_BYTES = 1 << 30 };

/* A message on its way: request 0 is of the length, the others are of the pieces. */
typedef struct parcel {
    struct parcel *next;
    MPI_Request *requests;
    int count;
    uint64_t length;
    char data[];
} parcel;

struct sweep_mpi_link {
    parcel *first;
};

static sweep_mpi_link *join(int *out_rank, int *out_size)
{
    int level;
    sweep_mpi_link *link = calloc(1, sizeof *link);
    if (link == NULL)
        return NULL;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, out_rank);
    MPI_Comm_size(MPI_COMM_WORLD, out_size);
    return link;
}

static int piece_length(uint64_t length, uint64_t at)
{
    return length - at < PIECE_BYTES ? (int)(length - at) : PIECE_BYTES;
}

static void free_parcel(parcel *take_parcel)
{
    free(take_parcel->requests);
    free(take_parcel);
}

static int send(sweep_mpi_link *link, int rank, const void *data, size_t length)
{
    const size_t pieces = length / PIECE_BYTES + (length % PIECE_BYTES != 0);
    parcel *p = malloc(sizeof *p + length);
    MPI_Request *requests = calloc(pieces + 1, sizeof(MPI_Request));
    if (p == NULL || requests == NULL) {
        free(p);
        free(requests);
        return 0;
    }
    *p = (parcel){ .next = link->first, .requests = requests, .length = length };
    memcpy(p->data, data, length);
    link->first = p;
    MPI_Isend(&p->length, sizeof p->length, MPI_BYTE, rank, TAG, MPI_COMM_WORLD,
              &requests[p->count++]);
    for (uint64_t at = 0; at < length; at += PIECE_BYTES)
        MPI_Isend(p->data + at, piece_length(length, at), MPI_BYTE, rank, TAG, MPI_COMM_WORLD,
                  &requests[p->count++]);
    return 1;
}

static void drop_arrived(sweep_mpi_link *link)
{
    for (parcel **at = &link->first; *at != NULL;) {
        parcel *p = *at;
        int arrived = 0;
        MPI_Testall(p->count, p->requests, &arrived, MPI_STATUSES_IGNORE);
        if (arrived) {
            *at = p->next;
            free_parcel(p);
        } else {
            at = &p->next;
        }
    }
}

static int receive(sweep_mpi_link *link, int *out_rank, void **out_data, size_t *out_length)
{
    int is_there = 0;
    uint64_t length = 0;
    MPI_Status status;
    drop_arrived(link);
    MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status);
    if (!is_there)
        return 0;
    const int rank = status.MPI_SOURCE;
    MPI_Recv(&length, sizeof length, MPI_BYTE, rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char *data = malloc(length > 0 ? length : 1);
    if (data == NULL)
        return -1;
    for (uint64_t at = 0; at < length; at += PIECE_BYTES)
        MPI_Recv(data + at, piece_length(length, at), MPI_BYTE, rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    *out_rank = rank;
    *out_data = data;
    *out_length = length;
    return 1;
}

static void leave(sweep_mpi_link *take_link)
{
    while (take_link->first != NULL) {
        parcel *p = take_link->first;
        MPI_Waitall(p->count, p->requests, MPI_STATUSES_IGNORE);
        take_link->first = p->next;
        free_parcel(p);
    }
    MPI_Finalize();
    free(take_link);
}

const sweep_mpi *linnet_mpi(void)
{
    static const sweep_mpi module = { SWEEP_MPI_VERSION, join, send, receive, leave };
    return &module;
}
