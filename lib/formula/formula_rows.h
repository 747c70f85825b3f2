/* SPDX-License-Identifier: MIT */
#ifndef LIN_FORMULA_ROWS_H
#define LIN_FORMULA_ROWS_H

/* The tables of lib/formula, one a group of subjects. */

#include "formula/formula.h"

typedef struct lin_formula_group {
    const lin_formula *rows;
    uint32_t count;
} lin_formula_group;

extern const lin_formula_group lin_formula_parameters; /* formula_parameters.c */
extern const lin_formula_group lin_formula_states;     /* formula_states.c */
extern const lin_formula_group lin_formula_kept;       /* formula_kept.c */
extern const lin_formula_group lin_formula_steps;      /* formula_steps.c */
extern const lin_formula_group lin_formula_layouts;    /* formula_layouts.c */

/* What a model is made of, in the papers the rows cite. */
#define LIN_MEGATRON_2022                                                         \
    "Korthikanti et al., Reducing Activation Recomputation in Large Transformer " \
    "Models, 2022 (arXiv:2205.05198)"
#define LIN_MEGATRON_2021                                                               \
    "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, " \
    "2021 (arXiv:2104.04473)"
#define LIN_ZERO_2020                                                                    \
    "Rajbhandari et al., ZeRO: Memory Optimizations Toward Training Trillion Parameter " \
    "Models, 2020 (arXiv:1910.02054)"
#define LIN_MEGATRON_CODE "Megatron-LM, megatron/training/theoretical_memory_usage.py"
#define LIN_MEGATRON_DOCS "Megatron Core documentation, Distributed Optimizer"

#endif
