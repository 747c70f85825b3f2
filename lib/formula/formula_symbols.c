/* SPDX-License-Identifier: MIT */

/* What the letters mean, the same in every formula. Searched in order: there are few. */

#include "formula/formula.h"
#include <string.h>

/* clang-format off */
static const struct symbol_row {
    const char *name, *meaning;
    int64_t least;
} symbol_rows[] = {
    { "a", "attention heads", 1 },
    { "b", "sequences in a micro-batch", 1 },
    { "bytes", "bytes a parameter", 1 },
    { "c", "context-parallel degree", 1 },
    { "chunk", "rows of a chunk", 1 },
    { "d", "width of a head", 1 },
    { "dn", "width of a head without rotation", 1 },
    { "dr", "rotated width of a head", 1 },
    { "dv", "width of a head's value", 1 },
    { "e", "bytes an element", 1 },
    { "f", "operations a token", 1 },
    { "g", "key and value heads", 1 },
    { "gradient", "bytes of a gradient element", 0 },
    { "h", "hidden width", 1 },
    { "held", "bytes a logit that something else keeps", 0 },
    { "i", "stage, from 0 on", 0 },
    { "k", "layers a region", 1 },
    { "m", "micro-batches", 1 },
    { "master", "bytes of a master weight", 0 },
    { "moment", "bytes of an element of each of two moments", 0 },
    { "n", "learned positions", 0 },
    { "p", "pipeline stages", 1 },
    { "r", "recomputed layers", 0 },
    { "rkv", "width of the key and value latent", 1 },
    { "rq", "width of the query latent", 1 },
    { "s", "positions of a sequence", 1 },
    { "t", "tensor-parallel degree", 1 },
    { "tables", "vocabulary tables: 1 with a tied head, 2 with a head of its own", 1 },
    { "v", "chunks of layers a rank", 1 },
    { "weight", "bytes of a weight", 1 },
    { "window", "positions a layer sees", 1 },
    { "A", "bytes a layer keeps when nothing is recomputed", 1 },
    { "C", "bytes of a device that may be used", 1 },
    { "D", "data-parallel ranks", 1 },
    { "E", "experts", 1 },
    { "F", "width of the MLP", 1 },
    { "Fe", "width of an expert's MLP", 1 },
    { "Fs", "width of the shared expert's MLP, 0 without one", 0 },
    { "G", "micro-batches in a group of the schedule", 1 },
    { "I", "bytes of a region's input", 1 },
    { "L", "layers", 1 },
    { "M", "bytes of the model states", 0 },
    { "N", "parameters in matrices", 0 },
    { "P", "parameters", 1 },
    { "R", "operations a device can do in a second", 1 },
    { "T", "tokens", 1 },
    { "U", "share of that rate which is reached, in percent", 1 },
    { "V", "vocabulary", 1 },
    { "W", "seconds", 1 },
    { "X", "bytes of everything beside the states", 0 },
};
/* clang-format on */

static const struct symbol_row *find(const char *symbol)
{
    for (uint32_t i = 0; i < ARRAY_LEN(symbol_rows); i++)
        if (strcmp(symbol_rows[i].name, symbol) == 0)
            return &symbol_rows[i];
    return NULL;
}

const char *lin_formula_meaning(const char *symbol)
{
    const struct symbol_row *row = find(symbol);
    return row != NULL ? row->meaning : NULL;
}

int64_t lin_formula_least(const char *symbol)
{
    const struct symbol_row *row = find(symbol);
    return row != NULL ? row->least : 0;
}
