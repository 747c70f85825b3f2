/* SPDX-License-Identifier: MIT */

/*
 * How ggml stores tensors: elements and bytes of a block.
 *
 * Sources: the static assertions of ggml-common.h and the enum of ggml.h (ggml-org/llama.cpp),
 * whose Python copy gguf-py/gguf/constants.py differs for Q8_1 alone (40 bytes there, from when its
 * two scales were floats); numbers from 133 on are ik_llama.cpp's. Types that were removed from
 * files (4, 5, 31 to 33, 36 to 38) are missing on purpose.
 */

#include "source/gguf.h"

#include <string.h>

/* clang-format off */
static const lin_gguf_type types[] = {
    /* id  name        elements bytes row */
    {   0, "f32",        1,   4, 0 },
    {   1, "f16",        1,   2, 0 },
    {   2, "Q4_0",      32,  18, 0 },
    {   3, "Q4_1",      32,  20, 0 },
    {   6, "Q5_0",      32,  22, 0 },
    {   7, "Q5_1",      32,  24, 0 },
    {   8, "Q8_0",      32,  34, 0 },
    {   9, "Q8_1",      32,  36, 0 },
    {  10, "Q2_K",     256,  84, 0 },
    {  11, "Q3_K",     256, 110, 0 },
    {  12, "Q4_K",     256, 144, 0 },
    {  13, "Q5_K",     256, 176, 0 },
    {  14, "Q6_K",     256, 210, 0 },
    {  15, "Q8_K",     256, 292, 0 },
    {  16, "IQ2_XXS",  256,  66, 0 },
    {  17, "IQ2_XS",   256,  74, 0 },
    {  18, "IQ3_XXS",  256,  98, 0 },
    {  19, "IQ1_S",    256,  50, 0 },
    {  20, "IQ4_NL",    32,  18, 0 },
    {  21, "IQ3_S",    256, 110, 0 },
    {  22, "IQ2_S",    256,  82, 0 },
    {  23, "IQ4_XS",   256, 136, 0 },
    {  24, "i8",         1,   1, 0 },
    {  25, "i16",        1,   2, 0 },
    {  26, "i32",        1,   4, 0 },
    {  27, "i64",        1,   8, 0 },
    {  28, "f64",        1,   8, 0 },
    {  29, "IQ1_M",    256,  56, 0 },
    {  30, "bf16",       1,   2, 0 },
    {  34, "TQ1_0",    256,  54, 0 },
    {  35, "TQ2_0",    256,  66, 0 },
    {  39, "MXFP4",     32,  17, 0 },
    {  40, "NVFP4",     64,  36, 0 },
    {  41, "Q1_0",     128,  18, 0 },
    {  42, "Q2_0",      64,  18, 0 },
    { 133, "Q6_0",      32,  26, 0 },
    { 137, "IQ2_K",    256,  76, 0 },
    { 138, "IQ3_K",    256, 110, 0 },
    { 139, "IQ4_K",    256, 144, 0 },
    { 140, "IQ5_K",    256, 176, 0 },
    { 141, "IQ6_K",    256, 212, 0 },
    { 144, "IQ4_KS",   256, 136, 4 },
    { 152, "IQ5_KS",   256, 168, 4 },
};
/* clang-format on */

const lin_gguf_type *lin_gguf_type_of(uint32_t id)
{
    for (uint32_t i = 0; i < ARRAY_LEN(types); i++)
        if (types[i].id == id)
            return &types[i];
    return NULL;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_word(const char *a, const char *b)
{
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

const lin_gguf_type *lin_gguf_type_named(const char *name)
{
    for (uint32_t i = 0; i < ARRAY_LEN(types); i++)
        if (same_word(types[i].name, name))
            return &types[i];
    return NULL;
}
