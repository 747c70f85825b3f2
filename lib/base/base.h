/* SPDX-License-Identifier: MIT */
#ifndef LIN_BASE_H
#define LIN_BASE_H

/*
 * The ground everything stands on: one header a subject, all of them included here. Nothing in this
 * folder knows what a model is.
 */

#include "arena.h"
#include "checked.h"
#include "dtype.h"
#include "error.h"
#include "expr.h"
#include "names.h"
#include "sort.h"
#include "text.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
