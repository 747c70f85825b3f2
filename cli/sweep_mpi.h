/* SPDX-License-Identifier: MIT */
#ifndef SWEEP_MPI_H
#define SWEEP_MPI_H

/* What linnet-mpi.so exports: messages between the processes of a job. The program finds it when it
 * runs, and never needs it otherwise. */

#include <stddef.h>
#include <stdint.h>

enum { SWEEP_MPI_VERSION = 1 };

typedef struct sweep_mpi_link sweep_mpi_link; /* the module's own */

typedef struct sweep_mpi {
    uint32_t version; /* SWEEP_MPI_VERSION */
    /* Joins the job. NULL: out of memory; MPI itself ends the process when it fails. */
    sweep_mpi_link *(*join)(int *out_rank, int *out_size);
    /* Begins to send a copy of the bytes. 0: out of memory. */
    int (*send)(sweep_mpi_link *link, int rank, const void *data, size_t length);
    /* A message that is there, in a block the caller frees: 1; none: 0; out of memory: -1. */
    int (*receive)(sweep_mpi_link *link, int *out_rank, void **out_data, size_t *out_length);
    /* Waits until what was sent is received, and leaves the job. */
    void (*leave)(sweep_mpi_link *take_link);
} sweep_mpi;

/* The one symbol: `const sweep_mpi *linnet_mpi(void)`. */
#define SWEEP_MPI_SYMBOL "linnet_mpi"
typedef const sweep_mpi *(*sweep_mpi_fn)(void);

#endif
