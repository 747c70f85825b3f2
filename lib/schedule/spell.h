/* SPDX-License-Identifier: MIT */
#ifndef LIN_SCHEDULE_SPELL_H
#define LIN_SCHEDULE_SPELL_H

/* The words of actions, for this folder's reader and messages. */

#include "schedule/schedule.h"

typedef struct lin_spelled {
    lin_action_kind kind;
    uint32_t number; /* before the word: the stage, or the direction where there are two */
    uint32_t microbatch;
} lin_spelled;

/* One action, or the two of an overlapped pair: how many there are; 0: the text is no action. */
uint32_t lin_spelled_read(const char *text, uint64_t length, lin_spelled out[2]);

/* An action for a message, in a buffer. */
enum { LIN_SPELLED_TEXT = 40 };
void lin_spelled_show(char out[LIN_SPELLED_TEXT], const lin_spelled *action);
/* The same of a stage's place (direction * stages + stage) in a schedule. */
void lin_place_show(char out[LIN_SPELLED_TEXT], const lin_schedule *schedule, lin_action_kind kind,
                    uint32_t place, uint32_t microbatch);

/* The number of an action as a file has it, where an overlapped pair is one. */
uint32_t lin_action_number(const lin_schedule *schedule, uint32_t rank, uint32_t index);

/* Where the stage of an action is in rank_of and slot_of. */
static inline uint32_t lin_action_place(const lin_schedule *schedule, uint32_t rank,
                                        const lin_action *action)
{
    const lin_slot *slot = &schedule->rank[rank].slots[action->slot];
    return slot->direction * schedule->stages + slot->stage;
}

#endif
