/* SPDX-License-Identifier: MIT */

/*
 * What engines store a cache in besides the dtypes of the language: eight-bit floats, and the types
 * that llama.cpp takes for --cache-type-k and --cache-type-v (common/arg.cpp), with their blocks as
 * in ggml-common.h.
 */

#include "memory/memory.h"

#include <string.h>

/* clang-format off */
static const lin_kv_format formats[] = {
    { "f16",      1,  2 },
    { "bf16",     1,  2 },
    { "f32",      1,  4 },
    { "f64",      1,  8 },
    { "i8",       1,  1 },
    { "u8",       1,  1 },
    { "i16",      1,  2 },
    { "u16",      1,  2 },
    { "i32",      1,  4 },
    { "u32",      1,  4 },
    { "i64",      1,  8 },
    { "u64",      1,  8 },
    { "bool",     1,  1 },
    { "fp8",      1,  1 },
    { "fp8_e4m3", 1,  1 },
    { "fp8_e5m2", 1,  1 },
    { "q8_0",    32, 34 },
    { "q5_1",    32, 24 },
    { "q5_0",    32, 22 },
    { "q4_1",    32, 20 },
    { "q4_0",    32, 18 },
    { "iq4_nl",  32, 18 },
};
/* clang-format on */

const lin_kv_format *lin_kv_format_find(const char *name, uint64_t length)
{
    for (uint32_t i = 0; i < ARRAY_LEN(formats); i++)
        if (strlen(formats[i].name) == length && memcmp(formats[i].name, name, length) == 0)
            return &formats[i];
    return NULL;
}

const lin_kv_format *lin_kv_format_at(uint32_t index)
{
    return index < ARRAY_LEN(formats) ? &formats[index] : NULL;
}
