/* SPDX-License-Identifier: MIT */

/* A config.json as a model: the document is read whole, its family answers (family.h). */

#include "source/family.h"

linnet_status lin_config_read(lin_arena *arena, const char *name, const char *text, uint64_t length,
                              family_reader *out, linnet_error *err)
{
    const lin_json *config = NULL;
    linnet_status status = lin_json_read(name, text, length, true, arena, &config, err);
    if (status != LINNET_OK)
        return status;
    *out = (family_reader){ .arena = arena, .config_name = name, .err = err };
    return lin_family_read(out, config);
}
