/* SPDX-License-Identifier: MIT */

/*
 * What a process holds in order to communicate (tracing.md 12): a communicator a group, and
 * channels by what it does with them. Replicas on data of their own are summed by another job's
 * rules and count only when their weights are sharded, which makes them a group of one step.
 */

#include "comm/comm.h"

#include <string.h>

static void add_group(lin_communication *needs, int64_t degree, const char *name, lin_arena *arena)
{
    if (degree <= 1)
        return;
    needs->communicators++;
    needs->processes = degree > needs->processes ? degree : needs->processes;
    needs->note =
        lin_arena_format(arena, "%s%s%s", needs->note, needs->note[0] != '\0' ? ", " : "", name);
}

lin_communication lin_comm_needs(const lin_parallel *normal, bool exchanges, lin_arena *arena)
{
    lin_communication needs = { .processes = 1, .channels = LIN_CHANNELS_NONE, .note = "" };
    add_group(&needs, normal->tensor, "tensor", arena);
    add_group(&needs, normal->shards, "shards", arena);
    add_group(&needs, normal->shards > 1 ? normal->replicas : 1, "replicas", arena);
    add_group(&needs, normal->context, "context", arena);
    add_group(&needs, normal->expert, "expert", arena);
    if (exchanges && normal->tensor > 1)
        needs.channels = LIN_CHANNELS_EXCHANGE;
    /* A ring and an all-to-all are sends and receives. */
    if ((normal->context > 1 && normal->exchange == LIN_CONTEXT_RING) || normal->expert > 1)
        needs.channels = LIN_CHANNELS_BOTH;
    return needs;
}
