/* SPDX-License-Identifier: MIT */

/*
 * The switches between the models of time. `reference` is tracing.md 15 as it stands, none on.
 * `linnet` has on what follows from the code that runs (S) and what checkpointing repeats of it
 * (K), from how a job is spread over devices (N1, CP, EP, SP, Z, DP), what a device was measured at
 * (R), and laws with a constant of their own measurement (M2-M4). Off stay a constant that was read
 * off one measured row (M1) and conjectures (C1-C4): a rule is never fitted to the rows it is
 * judged by.
 */

#include "cost/cost.h"

#include <string.h>

/* clang-format off */
static const lin_time_rule rules[] = {
    { "S1",  true,  "an index notation that sums a product of two tensors is a product; native kernels run no faster than the peak",
                    "it cannot run any other way: GPT-2's head as an elementwise step would need 13 times the peak" },
    { "S2",  true,  "an operand is read in full through a view: its elements, at most its owner's bytes",
                    "rope reads a permuted query, the residual the sum it was handed" },
    { "S3",  true,  "a norm with a bias is three kernels, and one where they are its own",
                    "the fast form multiplies and adds outside the kernel" },
    { "S4",  true,  "a loss moves 30 bytes a logit, 60 with gradients; of whole logits ten passes in their dtype",
                    "its passes counted: cast 6, maximum 4, subtract 8, exponent 8, sum 4; subtract 8, exponent 8, scale 8, cast back 6" },
    { "S5",  true,  "an index notation issues one call for each of its operations, each with its own write",
                    "eager code has no fusion: x * cos + turned * sin is three calls" },
    { "S6",  true,  "what depends on inputs alone and was computed before is not computed again",
                    "positions, masks and table rows are the same in every layer" },
    { "S7",  true,  "only steps that carry a gradient have a backward call",
                    "masks and gathers of positions have none" },
    { "S8",  true,  "a pipeline takes all stages once and the slowest for each further micro-batch",
                    "the first micro-batch passes each stage at its own pace: a replay of 1F1B and GPipe says the same" },
    { "S9",  true,  "every further micro-batch adds its gradients to the earlier ones",
                    "gradients accumulate in place: two reads and a write of each" },
    { "S10", true,  "a forward pipeline ends by joining the results of its micro-batches",
                    "the last stage concatenates them; the memory model has it too" },
    { "S11", true,  "a gather lays the parts side by side; a sum above 64 KiB is out of place",
                    "the stacked parts are copied; the library copies its operand first" },
    { "S12", true,  "a sum above 64 KiB is issued as a copy, the library's call and a wait",
                    "it leaves the one-shot kernel, which is one call; each of the three has its measured host time" },
    { "S13", true,  "what is frozen has no gradient: a product with a frozen weight has one product backward, and the optimizer passes over what is trained",
                    "autograd asks for no gradient that nothing needs; with adapters that is most of them" },
    { "M1",  false, "a sum above 64 KiB costs the host 33 us more",
                    "it leaves the one-shot kernel for the library; the constant was read off one row" },
    { "M2",  true,  "a kernel takes its start-up and its bytes, not the larger of the two",
                    "launch gap, ramp and tail are serial with streaming" },
    { "M3",  true,  "skinny products read cold weights at 0.87 of the measured rate",
                    "it was measured re-reading 117 MB with 50 MB of L2: the hit share solves h = exp(-(1-h) 117/50), 0.13" },
    { "M4",  true,  "the index arguments of a cache write are two more kernels",
                    "a position's cast and offset are device work" },
    { "C1",  false, "fewer rows than the grid's 8192 leave the last wave of tiles part empty",
                    "4096 x 768 outputs are 192 tiles of 128 x 128: two waves on 132 SMs, 73 % full; tiles' rates to be measured" },
    { "C2",  false, "two processes on one host make each call cost it 1.1 times",
                    "rows that wait on the host are low by that ratio; to be measured" },
    { "C3",  false, "queued gathers and sums of shards cost 6 us of latency each",
                    "two rows imply it; to be measured" },
    { "C4",  false, "attention's rate grows with the length",
                    "rates were taken at one length: S / (S + 500), in f32 250, is a guess until three are" },
    { "N1",  true,  "a group of ranks that spans nodes moves its bytes at the network's rate, a ring of g ranks a node at g times one device's; stages send the parts of a tensor-parallel group",
                    "rings enter and leave a node by each member's own port and go at the pace of their slowest hop; a tree's latency grows with its depth" },
    { "CP",  true,  "positions split over processes: attention works on all keys, which go around while the block before is worked on, or are gathered first",
                    "ring attention and Megatron-Core's context parallelism; backward sends the gradients of keys and values too" },
    { "EP",  true,  "experts split over processes: rows go to their experts and back, forward and backward, (e - 1) / e of them over the link",
                    "the all-to-all dispatcher of mixtures; balanced, a process receives as many rows as it sends" },
    { "SP",  true,  "a reduce-scatter of positions is a collective, not an elementwise step",
                    "it moves what the gather before it moved" },
    { "Z",   true,  "shards: what ZeRO 1 and 2 gather and sum once a step is not paid every pass; a process updates its part; weights gathered ahead, and the sums, run beside the calls, a group at a time",
                    "a collective of its own stream waits for the link alone and a group for its weights; without gathering ahead nothing overlaps, as in the code that was measured" },
    { "DP",  true,  "a rank sums its own gradients over replicas and context, in buckets beside the last backward pass",
                    "gradients are there only in backward, those of other stages are other ranks', and the last bucket has nothing to hide under" },
    { "R1",  true,  "a product runs at the rate of its own shape: of its rows where they were measured, its gradients as products of theirs; a batch of narrow ones like the narrowest weight; 16-bit rows that are no multiples of 16 bytes at a third",
                    "few rows leave tiles and waves empty, a batch has many tiles, and tensor cores are fed by aligned loads" },
    { "R2",  true,  "a smaller or a strided operand is paid by the element, not by the byte",
                    "places are computed element by element; the rate was measured on 2 bytes, and on 4 a V100 would else beat its data sheet" },
    { "R3",  true,  "fused attention, caches and exchanges take what was measured at their length, bytes and processes",
                    "short sequences leave a device part empty; small exchanges wait for their hops, large ones reach the link's rate slowly" },
    { "R4",  true,  "with master weights the optimizer reads gradients, reads and writes masters and states in the masters' dtype, and writes weights",
                    "mixed-precision Adam moves 28 bytes a parameter, not 7 times its 2 (Rajbhandari et al., ZeRO, 2020, section 3.1)" },
    { "K1",  true,  "checkpointing runs the calls of what it computes again, not a share of every call",
                    "a recomputed attention core repeats attention and no product, and an output head outside the blocks repeats nothing" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(rules) == LIN_RULE_COUNT, "every switch has a row");

const lin_time_rule *lin_time_rule_at(uint32_t index)
{
    return index < ARRAY_LEN(rules) ? &rules[index] : NULL;
}

static const char *const model_names[] = { "linnet", "reference" };

bool lin_time_model_find(const char *name, lin_time_model *out)
{
    for (uint32_t i = 0; i < ARRAY_LEN(model_names); i++) {
        if (strcmp(model_names[i], name) != 0)
            continue;
        *out = (lin_time_model)i;
        return true;
    }
    return false;
}

const char *lin_time_model_name(lin_time_model model)
{
    return model_names[model];
}

uint64_t lin_time_model_rules(lin_time_model model)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < ARRAY_LEN(rules) && model == LIN_TIME_LINNET; i++)
        if (rules[i].in_linnet)
            bits |= 1u << i;
    return bits;
}
