/* SPDX-License-Identifier: MIT */

/* The spellings, sizes and classes of dtype.h's lists as tables. */

#include "base/base.h"

#include <string.h>

typedef struct dtype_row {
    const char *name;
    int64_t bytes;
    lin_dtype_class class;
} dtype_row;

static const dtype_row dtype_rows[] = {
#define X(id, spelling, bytes, class) [LIN_DTYPE_##id] = { spelling, bytes, class },
    LIN_DTYPES(X)
#undef X
};
_Static_assert(ARRAY_LEN(dtype_rows) == LIN_DTYPE_COUNT, "every dtype has one row");

static const char *const category_names[] = {
#define X(id, spelling) [LIN_CATEGORY_##id] = spelling,
    LIN_CATEGORIES(X)
#undef X
};
_Static_assert(ARRAY_LEN(category_names) == LIN_CATEGORY_COUNT, "every category has one name");

static const char *const confidence_names[] = {
    [LIN_EXACT] = "exact",
    [LIN_BACKEND_MODELED] = "backend-modeled",
    [LIN_ESTIMATED] = "estimated",
    [LIN_UNKNOWN] = "unknown",
};

const char *lin_dtype_name(lin_dtype dtype)
{
    return dtype_rows[dtype].name;
}

int64_t lin_dtype_bytes(lin_dtype dtype)
{
    return dtype_rows[dtype].bytes;
}

lin_dtype_class lin_dtype_class_of(lin_dtype dtype)
{
    return dtype_rows[dtype].class;
}

bool lin_dtype_find(const char *name, uint64_t length, lin_dtype *out)
{
    for (uint32_t i = 0; i < LIN_DTYPE_COUNT; i++) {
        const char *known = dtype_rows[i].name;
        if (strlen(known) == length && memcmp(known, name, (size_t)length) == 0) {
            *out = (lin_dtype)i;
            return true;
        }
    }
    return false;
}

const char *lin_category_name(lin_category category)
{
    return category_names[category];
}

const char *lin_confidence_name(lin_confidence confidence)
{
    return confidence_names[confidence];
}
