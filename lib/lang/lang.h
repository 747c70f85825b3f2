/* SPDX-License-Identifier: MIT */
#ifndef LIN_LANG_H
#define LIN_LANG_H

/*
 * The front end: source text -> checked program, diagnostics. `lang` knows the language and no
 * model, framework or file system: modules come through a loader it is given.
 *
 *     text --lexer,parser--> syntax tree --resolve--> declarations --body--> operations
 * --simplify--> lin_program
 *
 * Read types.h (types, declarations) and ops.h (the operations the tracer walks) next to this page;
 * both are part of this contract. syntax.h, lexer.h, check.h and solver.h belong to this folder
 * alone.
 */

#include "base/base.h"
#include "lang/diagnostics.h"
#include "lang/ops.h"
#include "lang/types.h"

/* ---- modules ---- */

/* Why a loader has no text for a module. */
typedef enum lin_load_result {
    LIN_LOAD_OK,
    LIN_LOAD_MISSING, /* no such module: E1202 at the import */
    LIN_LOAD_PACKAGE, /* the package's linnet.toml is wrong: E5001, `message` says how */
    LIN_LOAD_STOP     /* the loader failed and filled `err` */
} lin_load_result;

typedef struct lin_load_request {
    const char *module;    /* "std.nn.linear", "crate", "crate.a.b", "dep.a" */
    const char *from_name; /* the importing file, as its loader named it */
    const char
        *from_package; /* the importing module's package, as its loader named it; "" for none */
} lin_load_request;

/* What a loader hands over; texts are copied by the caller of the loader. */
typedef struct lin_loaded {
    const char *name;    /* for diagnostics: "std/nn/linear.linnet", a path */
    const char *package; /* identity of the package the text belongs to, "" for none; with `module`
                            it makes the module's identity */
    const char *text;
    uint64_t length;
    char message[256]; /* for LIN_LOAD_PACKAGE */
} lin_loaded;

typedef struct lin_loader {
    lin_load_result (*load)(void *user, const lin_load_request *request, lin_loaded *out,
                            linnet_error *err);
    void *user;
} lin_loader;

/* ---- checking ---- */

typedef struct lin_lang_limits {
    uint64_t source_bytes; /* of one file; 16 MiB */
    uint32_t modules;      /* 4096 */
    uint32_t diagnostics;  /* errors reported before the rest are only counted; 100 */
} lin_lang_limits;

extern const lin_lang_limits lin_lang_default_limits;

/* A file handed to the front end. */
typedef struct lin_lang_file {
    const char *name;    /* as the user named it */
    const char *package; /* as lin_loaded.package; "" */
    const char *text;
    uint64_t length;
} lin_lang_file;

/*
 * Parses and checks `file` and every module it reaches, and lowers every function. The program owns
 * everything it needs in one arena of its own. `diagnostics` (may be NULL) receives every finding,
 * warnings included; without errors the call succeeds.
 *
 * LINNET_ERROR_SOURCE  the program is wrong; `err` has the first error (code, place)
 * LINNET_ERROR_FILE    the text is larger than the limit
 */
linnet_status lin_lang_check(const lin_lang_file *file, const lin_loader *loader,
                             const lin_lang_limits *limits, const lin_allocator *allocator,
                             lin_diagnostics *diagnostics, lin_program **out_program,
                             linnet_error *err);
void lin_program_free(lin_program *program); /* accepts NULL */

/* The small TOML subset of linnet.toml and nest.toml (lib/lang/toml.c): tables, bare and quoted
 * keys, strings, integers, booleans, floats, one-line inline tables and arrays of these. Events in
 * file order; `table` is the dotted name ("" at the top, "dependencies.dep" for an inline table's
 * keys). Return false from `value` to stop with that message. */
typedef enum lin_toml_kind {
    LIN_TOML_STRING,
    LIN_TOML_INTEGER,
    LIN_TOML_BOOLEAN,
    LIN_TOML_OTHER
} lin_toml_kind;
typedef struct lin_toml_value {
    const char *table, *key;
    lin_toml_kind kind;
    const char *text; /* of a string, decoded */
    int64_t integer;  /* of an integer or a boolean */
    uint32_t line, column;
} lin_toml_value;
typedef struct lin_toml_reader {
    bool (*value)(void *user, const lin_toml_value *value, linnet_error *err);
    void *user;
} lin_toml_reader;
/* LINNET_ERROR_FORMAT with line and column; duplicate keys and tables are errors, as in TOML. */
linnet_status lin_toml_read(const char *source_name, const char *text, uint64_t length,
                            lin_arena *scratch, const lin_toml_reader *reader, linnet_error *err);

/* ---- bindings ---- */

/*
 * What generics stand for while a program is instantiated: dimensions become expressions of `table`
 * (another table than the program's), packs lists of them, dtypes concrete ones. Immutable once
 * made; `outer` is the enclosing block's environment.
 */
typedef struct lin_env lin_env;

/* What one generic stands for. */
typedef struct lin_bound {
    lin_symbol symbol; /* the generic's symbol in the program's table */
    lin_generic_kind kind;
    lin_expr dim;         /* LIN_GENERIC_DIM: in the environment's table */
    const lin_expr *dims; /* LIN_GENERIC_SHAPE: the axes the pack stands for */
    uint32_t dim_count;
    lin_dtype_term
        dtype; /* dtype generics; stays a generic's own term when `inspect` leaves it open */
} lin_bound;

const lin_env *lin_env_new(lin_arena *arena, const lin_program *program, lin_expr_table *table,
                           const lin_env *outer, const lin_bound *bounds, uint32_t count);
/* The environment inside a callee: its generics bound to `substitution`, whose terms are in `env`'s
 * terms; `outer` (may be NULL) is the receiving block's environment. */
const lin_env *lin_env_enter(lin_arena *arena, const lin_env *env, const lin_env *outer,
                             const lin_substitution *substitution);
/* LIN_EXPR_INVALID when a generic is unbound or the arithmetic does not fit. */
lin_expr lin_env_dim(const lin_env *env, lin_expr dim);
lin_dtype_term lin_env_dtype(const lin_env *env, lin_dtype_term dtype);
/* The axes of a tensor or shape type with packs expanded, in `arena`. *out_rank receives their
 * number. */
const lin_expr *lin_env_shape(lin_arena *arena, const lin_env *env, const lin_axis *axes,
                              uint32_t axis_count, uint32_t *out_rank);

/* ---- manifest ---- */

typedef struct lin_manifest_entry {
    const char *path;       /* "layers[*].attention.q_proj.weight" */
    lin_member_kind kind;   /* param, buffer or state */
    const lin_block *block; /* that declares the member */
    const lin_member *member;
    lin_dtype_term dtype;
    const lin_expr *shape; /* in the environment's table */
    uint32_t rank;
    const lin_expr *repeats; /* array lengths, outermost first */
    uint32_t repeat_count;
    bool optional; /* itself, or under an optional sub */
} lin_manifest_entry;

typedef struct lin_manifest {
    const lin_manifest_entry *entries; /* depth first, members in declaration order */
    uint32_t count;
} lin_manifest;

/* The manifest of `block` under `env` (the block's own generics bound). LINNET_ERROR_OVERFLOW,
 * LINNET_ERROR_UNSUPPORTED. */
linnet_status lin_manifest_new(lin_arena *arena, const lin_program *program, const lin_block *block,
                               const lin_env *env, lin_manifest *out, linnet_error *err);

/* Types as text, in the program's own symbols: for messages, `inspect`. */
void lin_type_print(lin_text *out, const lin_program *program, const lin_type *type);

#endif
