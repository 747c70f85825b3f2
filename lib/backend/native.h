/* SPDX-License-Identifier: MIT */
#ifndef LIN_NATIVE_H
#define LIN_NATIVE_H

/* Native implementations as the registry spells them -> what is known of their storage. */

#include "backend/backend.h"

/* "torch.rms_norm(input dtype)" and "torch.rms_norm" are one row; attention is matched by its
 * prefix. NULL: nothing is known. */
const lin_native *lin_native_find(const char *spelling);

#endif
