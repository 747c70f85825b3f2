/* SPDX-License-Identifier: MIT */
#ifndef LIN_ZOO_FILES_H
#define LIN_ZOO_FILES_H

/* What embed.py writes: the files of meson.build, sorted by path as strcmp sorts. */

#include "zoo/zoo.h"

extern const lin_zoo_file lin_zoo_files[];
extern const uint32_t lin_zoo_file_count;

#endif
