/* SPDX-License-Identifier: MIT */

/*
 * A bindings file while a hierarchy is instantiated: which paths are bound, and which of them share
 * storage (language.md 15.4). A path may be concrete, or as the manifest writes it, with `[*]` for
 * the index of an array's element and `{i}` for the same index in the tensor's name (source.h).
 * Paths are interned, so each parameter costs a probe or two, whatever the length of the file.
 */

#include "trace/trace_walk.h"

#include <string.h>

enum { MOST_INDICES = 8 };

/* Objects made for one bound path: several when it stands for the elements of an array. */
typedef struct bound_path {
    bool is_whole;        /* not only a prefix of a bound path */
    uint32_t first, last; /* objects + 1, chained by `next` */
} bound_path;

struct path_bindings {
    const lin_weight_binding *rows;
    uint32_t row_count;
    lin_names *paths;        /* bound paths and every prefix of one */
    bound_path *bound;       /* by path */
    LIN_LIST(uint32_t) next; /* by object: the next of its path, + 1 */
    lin_names *tensors;
    LIN_LIST(uint32_t) owners; /* by tensor: the object that owns it, + 1 */
};

/* How many names a path and its prefixes may take. */
static uint64_t intern_path(lin_names *paths, const char *path)
{
    uint64_t words = 1;
    lin_names_add(paths, path, strlen(path));
    for (const char *c = path; *c != '\0'; c++) {
        if (*c != '.' && *c != '[')
            continue;
        lin_names_add(paths, path, (uint64_t)(c - path));
        words++;
    }
    return words;
}

path_bindings *lin_walk_read_bindings(walker *w)
{
    const lin_source *source = w->source;
    if (!source->has_bindings || w->settings->no_bindings)
        return NULL;
    path_bindings *b = LIN_NEW(w->scratch, path_bindings);
    b->rows = source->bindings;
    b->row_count = source->binding_count;
    b->paths = lin_names_new(w->scratch);
    b->tensors = lin_names_new(w->scratch);
    uint64_t words = 1;
    for (uint32_t i = 0; i < b->row_count; i++)
        words += intern_path(b->paths, b->rows[i].path);
    b->bound = LIN_NEW_ARRAY(w->scratch, bound_path, words);
    for (uint32_t i = 0; i < b->row_count; i++) {
        const char *path = b->rows[i].path;
        b->bound[lin_names_find(b->paths, path, strlen(path))].is_whole = true;
    }
    return b;
}

static lin_name find_whole(const path_bindings *b, const char *path)
{
    lin_name name = lin_names_find(b->paths, path, strlen(path));
    return name != 0 && b->bound[name].is_whole ? name : 0;
}

bool lin_walk_is_bound(const path_bindings *b, const char *path, const char *pattern)
{
    return b && (find_whole(b, path) != 0 || find_whole(b, pattern) != 0);
}

bool lin_walk_is_bound_under(const path_bindings *b, const char *path, const char *pattern)
{
    return b && (lin_names_find(b->paths, path, strlen(path)) != 0 ||
                 lin_names_find(b->paths, pattern, strlen(pattern)) != 0);
}

void lin_walk_note_bound(walker *w, path_bindings *b, const char *path, const char *pattern,
                         uint32_t object)
{
    if (!b)
        return;
    lin_name name = find_whole(b, path);
    if (name == 0)
        name = find_whole(b, pattern);
    if (name == 0)
        return;
    while (b->next.count <= object)
        LIN_PUSH(w->scratch, &b->next, 0);
    bound_path *bound = &b->bound[name];
    if (bound->first == 0)
        bound->first = object + 1;
    else
        b->next.items[bound->last - 1] = object + 1;
    bound->last = object + 1;
}

/* The indices among a path's parts: "groups.3.near.2.w" has 3 and 2. How many. */
static uint32_t read_indices(const char *path, int64_t out[MOST_INDICES])
{
    uint32_t count = 0;
    for (const char *dot = strchr(path, '.'); dot && count < MOST_INDICES;
         dot = strchr(dot + 1, '.')) {
        uint64_t digits = strspn(dot + 1, "0123456789");
        char end = dot[1 + digits];
        if ((end == '\0' || end == '.') && lin_parse_i64(dot + 1, digits, &out[count]))
            count++;
    }
    return count;
}

static lin_name intern_tensor(walker *w, path_bindings *b, const char *tensor, const char *path)
{
    int64_t indices[MOST_INDICES];
    const uint32_t count = read_indices(path, indices);
    lin_text_clear(&w->text);
    lin_binding_tensor_name(&w->text, tensor, indices, count);
    lin_walk_check_text(w);
    lin_name name = lin_names_add(b->tensors, lin_text_data(&w->text), w->text.length);
    while (b->owners.count <= name)
        LIN_PUSH(w->scratch, &b->owners, 0);
    return name;
}

static void tie_object(walker *w, path_bindings *b, const char *tensor, uint32_t id)
{
    lin_object *object = &w->graph->objects.items[id];
    lin_name name = intern_tensor(w, b, tensor, object->path);
    uint32_t *owner = &b->owners.items[name];
    if (*owner == 0)
        *owner = id + 1;
    if (*owner == id + 1)
        return;
    object->owner = *owner - 1;
    object->bytes = w->zero;
}

/* In file order: the first path of a tensor owns it. */
void lin_walk_tie(walker *w, path_bindings *b)
{
    bool any = false;
    if (!b || b->row_count == 0)
        return;
    for (uint32_t i = 0; i < b->row_count; i++) {
        const char *path = b->rows[i].path;
        const bound_path *bound = &b->bound[lin_names_find(b->paths, path, strlen(path))];
        for (uint32_t id = bound->first; id != 0; id = b->next.items[id - 1]) {
            tie_object(w, b, b->rows[i].tensor, id - 1);
            any = true;
        }
    }
    if (!any)
        lin_walk_fail(w, LINNET_ERROR_FORMAT,
                      "the bindings name no parameter of the model: `%s` is none of its paths",
                      b->rows[0].path);
}
