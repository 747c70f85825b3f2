/* SPDX-License-Identifier: MIT */
#ifndef LINNET_SCHEDULE_H
#define LINNET_SCHEDULE_H

/**
 * @file
 * Pipeline schedules: what each rank of a pipeline does, in order, made by rule or read from a
 * file. Each was run through a simulator that finds deadlocks and gives the times below, in which a
 * forward, an input gradient and a weight gradient take one unit each, a whole backward two, and
 * results reach other ranks at once.
 *
 * A rank holds one or more stages of the model. In `dualpipe` every stage is there twice: once for
 * the micro-batches that enter at rank 0 (direction 0) and once for those that enter at the last
 * rank (direction 1), each counted for themselves.
 */

#include <linnet/base.h>
#include <linnet/config.h>
#include <linnet/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A schedule that was made; nothing in it changes afterwards. */
typedef struct linnet_schedule linnet_schedule;

enum linnet_action {
    LINNET_ACTION_INVALID = -1, /**< no such action */
    LINNET_ACTION_FORWARD = 0,
    LINNET_ACTION_BACKWARD = 1,      /**< input and weight gradients */
    LINNET_ACTION_INPUT = 2,         /**< the input gradient alone */
    LINNET_ACTION_WEIGHT = 3,        /**< the weight gradient alone */
    LINNET_ACTION_SEND_FORWARD = 4,  /**< the stage's output, to the next stage's rank */
    LINNET_ACTION_RECV_FORWARD = 5,  /**< the stage's input */
    LINNET_ACTION_SEND_BACKWARD = 6, /**< the gradient of the stage's input, to the rank before */
    LINNET_ACTION_RECV_BACKWARD = 7, /**< the gradient of the stage's output */
    LINNET_ACTION_UNSHARD = 8,       /**< the stage's weights are gathered */
    LINNET_ACTION_RESHARD = 9,       /**< and dropped again */
    LINNET_ACTION_REDUCE = 10,       /**< the stage's gradients are summed over replicas */
    LINNET_ACTION_STEP = 11          /**< the optimizer's step */
};

/** Schedules that are made by rule. @since 0.1 */
LINNET_API uint64_t linnet_builtin_schedule_count(void);

/** The name of one, such as "1f1b"; NULL out of range. Static. @since 0.1 */
LINNET_API const char *linnet_builtin_schedule_name(uint64_t index);

/**
 * Makes a schedule by rule.
 *
 * @param config          for its allocator
 * @param name            one of linnet_builtin_schedule_name()
 * @param virtual_stages  stages a rank; 0: what the schedule has, and 2 where it takes any number
 * @param out_schedule    receives the schedule; release it with linnet_schedule_free()
 * @return LINNET_OK
 *         LINNET_ERROR_NOT_FOUND  no schedule of that name; the message has the nearest
 *         LINNET_ERROR_ARGUMENT   numbers that the schedule cannot use; the message has the rule
 *                                 and the nearest numbers that keep it
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_new(const linnet_config *config, const char *name,
                                             int64_t ranks, int64_t microbatches,
                                             int64_t virtual_stages, linnet_schedule **out_schedule,
                                             linnet_error *err);

/**
 * Reads a schedule from a file of the JSON that linnet_schedule_to_json() writes. Keys it does not
 * know are skipped. Sends, receives, shards, reductions and steps may stand among the actions; with
 * any send or receive, all of them must be there.
 *
 * @param config  for its allocator and the largest file (linnet_config_set_file_bytes)
 * @return LINNET_OK
 *         LINNET_ERROR_FILE    the file cannot be read
 *         LINNET_ERROR_FORMAT  no such JSON; an action that is missing, there twice or out of
 *                              range; a deadlock. The message names the rank and the action
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_open(const linnet_config *config, const char *path,
                                              linnet_schedule **out_schedule, linnet_error *err);

/**
 * The same from memory.
 *
 * @param text         `length` bytes of UTF-8
 * @param source_name  names the text in errors
 * @return as linnet_schedule_open, without LINNET_ERROR_FILE
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_parse(const linnet_config *config, const char *text,
                                               uint64_t length, const char *source_name,
                                               linnet_schedule **out_schedule, linnet_error *err);

/** Releases the schedule. NULL is fine. @since 0.1 */
LINNET_API void linnet_schedule_free(linnet_schedule *schedule);

/** Its name, or what its file calls it. Borrowed. @since 0.1 */
LINNET_API const char *linnet_schedule_name(const linnet_schedule *schedule);

/** Ranks of the pipeline. @since 0.1 */
LINNET_API uint64_t linnet_schedule_ranks(const linnet_schedule *schedule);

/** Micro-batches of a step, of both directions together. @since 0.1 */
LINNET_API int64_t linnet_schedule_microbatches(const linnet_schedule *schedule);

/** Stages the model is split into. @since 0.1 */
LINNET_API int64_t linnet_schedule_stages(const linnet_schedule *schedule);

/** Stages a rank holds; a stage held for two directions counts twice. @since 0.1 */
LINNET_API uint64_t linnet_schedule_rank_stages(const linnet_schedule *schedule, uint64_t rank);

/** The stage at an index of those a rank holds; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_schedule_rank_stage(const linnet_schedule *schedule, uint64_t rank,
                                              uint64_t index);

/** Actions of a rank; the two of an overlapped pair count each. @since 0.1 */
LINNET_API uint64_t linnet_schedule_action_count(const linnet_schedule *schedule, uint64_t rank);

/** What a rank does at an index: a linnet_action. @since 0.1 */
LINNET_API int32_t linnet_schedule_action(const linnet_schedule *schedule, uint64_t rank,
                                          uint64_t index);

/** The stage an action works on; -1 out of range or where there is none. @since 0.1 */
LINNET_API int64_t linnet_schedule_action_stage(const linnet_schedule *schedule, uint64_t rank,
                                                uint64_t index);

/** The micro-batch of an action, counted within its direction; -1 out of range or where there is
 * none. @since 0.1 */
LINNET_API int64_t linnet_schedule_action_microbatch(const linnet_schedule *schedule, uint64_t rank,
                                                     uint64_t index);

/** The direction of an action: 0, or 1 for micro-batches that enter at the last rank. @since 0.1 */
LINNET_API int32_t linnet_schedule_action_direction(const linnet_schedule *schedule, uint64_t rank,
                                                    uint64_t index);

/** 1 for a forward that runs together with the backward at the next index. @since 0.1 */
LINNET_API int32_t linnet_schedule_action_overlaps(const linnet_schedule *schedule, uint64_t rank,
                                                   uint64_t index);

/** When an action starts, in units of time; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_schedule_action_start(const linnet_schedule *schedule, uint64_t rank,
                                                uint64_t index);

/** When an action ends; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_schedule_action_end(const linnet_schedule *schedule, uint64_t rank,
                                              uint64_t index);

/** Units of time until the last rank is done. @since 0.1 */
LINNET_API int64_t linnet_schedule_makespan(const linnet_schedule *schedule);

/** Units of time a rank works; the rest of the makespan is its bubble. -1 out of range.
 * @since 0.1 */
LINNET_API int64_t linnet_schedule_busy(const linnet_schedule *schedule, uint64_t rank);

/** When a rank is done; -1 out of range. @since 0.1 */
LINNET_API int64_t linnet_schedule_finish(const linnet_schedule *schedule, uint64_t rank);

/**
 * The most pairs of a stage and a micro-batch that a rank holds at a time: their forward ran, and
 * their backward did not begin to release them, which an input gradient does here. -1 out of range.
 *
 * @since 0.1 */
LINNET_API int64_t linnet_schedule_live_pairs(const linnet_schedule *schedule, uint64_t rank);

/** The same where the weight gradient of a split backward is what releases them; -1 out of range.
 * @since 0.1 */
LINNET_API int64_t linnet_schedule_live_pairs_until_weight(const linnet_schedule *schedule,
                                                           uint64_t rank);

/** What `linnet schedule` prints: a table of the ranks, the times and every rank's actions.
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_to_text(const linnet_schedule *schedule,
                                                 linnet_text **out_text, linnet_error *err);

/**
 * One JSON document: `schedule`, `ranks`, `microbatches`, `stages` and `per_rank`, a list of
 * { `rank`, `actions` } with actions such as "0F0", "4B2", "(1F6+6B2)".
 *
 * @return LINNET_OK, LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_to_json(const linnet_schedule *schedule,
                                                 linnet_text **out_text, linnet_error *err);

/**
 * A picture: a row a rank, time to the right, a box an action. SVG that needs no other file.
 *
 * @return LINNET_OK, LINNET_ERROR_ARGUMENT (more actions than a picture shows),
 *         LINNET_ERROR_NO_MEMORY
 *
 * @since 0.1 */
LINNET_API linnet_status linnet_schedule_to_svg(const linnet_schedule *schedule,
                                                linnet_text **out_text, linnet_error *err);

#ifdef __cplusplus
}
#endif

#endif
