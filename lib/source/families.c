/* SPDX-License-Identifier: MIT */

/* The model_types that are read, one row each. */

#include "source/family.h"

#include <string.h>

/* clang-format off */
static const family_row families[] = {
    { "llama",   "llama",   family_llama },
    { "mistral", "mistral", family_llama },
};
/* clang-format on */

const family_row *lin_family_find(const char *model_type)
{
    for (uint32_t i = 0; i < ARRAY_LEN(families); i++)
        if (strcmp(families[i].model_type, model_type) == 0)
            return &families[i];
    return NULL;
}

uint32_t lin_family_count(void)
{
    return ARRAY_LEN(families);
}

const family_row *lin_family_at(uint32_t index)
{
    return &families[index];
}
