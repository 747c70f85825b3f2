/* SPDX-License-Identifier: MIT */

/*
 * What questions share: models and devices, which are immutable and go to any number of threads at
 * once, and planners, which one thread has at a time. Two threads that ask the same at the same
 * moment get a planner each, and both are kept.
 *
 * What was not used for longest goes when there are too many, or too many bytes: all objects are
 * made with an allocator that counts. So a sweep over ever new models stays as small as one over a
 * few.
 *
 * Cost: a lookup is one hash and a short chain under a lock.
 */

#define _POSIX_C_SOURCE 200809L

#include "cli_sweep.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 512, MOST_ENTRIES = 512 };
static const int64_t MOST_BYTES = (int64_t)512 << 20;

typedef enum entry_kind { ENTRY_MODEL, ENTRY_DEVICE, ENTRY_PLANNER } entry_kind;

typedef struct store_entry {
    struct store_entry *next;          /* in its bucket */
    struct store_entry *newer, *older; /* by last use */
    uint64_t hash;
    entry_kind kind;
    void *object;
    size_t key_length;
    char key[];
} store_entry;

struct sweep_store {
    const sweep_settings *settings;
    pthread_mutex_t lock;
    store_entry *buckets[BUCKETS];
    store_entry *newest, *oldest;
    int count;
    _Atomic int64_t bytes; /* of all that was made with the store's configs */
};

/* FNV-1a (Fowler, Noll and Vo). */
static uint64_t hash_of(entry_kind kind, const char *key, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ (uint64_t)kind;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- objects ---- */

static void *count_bytes(void *user, void *ptr, uint64_t old_size, uint64_t new_size)
{
    sweep_store *store = user;
    if (new_size == 0) {
        free(ptr);
        atomic_fetch_sub_explicit(&store->bytes, (int64_t)old_size, memory_order_relaxed);
        return NULL;
    }
    void *block = realloc(ptr, (size_t)new_size);
    if (block != NULL)
        atomic_fetch_add_explicit(&store->bytes,
                                  (int64_t)new_size - (ptr != NULL ? (int64_t)old_size : 0),
                                  memory_order_relaxed);
    return block;
}

static void release(entry_kind kind, void *take_object)
{
    switch (kind) {
    case ENTRY_MODEL:
        linnet_model_unref(take_object);
        break;
    case ENTRY_DEVICE:
        linnet_device_unref(take_object);
        break;
    case ENTRY_PLANNER:
        linnet_planner_free(take_object);
        break;
    }
}

/* ---- the list by last use ---- */

static void unlink_entry(sweep_store *store, store_entry *entry)
{
    store_entry **at = &store->buckets[entry->hash % BUCKETS];
    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    *(entry->newer != NULL ? &entry->newer->older : &store->newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &store->oldest) = entry->newer;
    store->count--;
}

static void link_entry(sweep_store *store, store_entry *entry)
{
    store_entry **bucket = &store->buckets[entry->hash % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    entry->newer = NULL;
    entry->older = store->newest;
    *(store->newest != NULL ? &store->newest->newer : &store->oldest) = entry;
    store->newest = entry;
    store->count++;
}

static store_entry *find(const sweep_store *store, entry_kind kind, const char *key, size_t length)
{
    const uint64_t hash = hash_of(kind, key, length);
    store_entry *entry = store->buckets[hash % BUCKETS];
    while (entry != NULL && (entry->hash != hash || entry->kind != kind ||
                             entry->key_length != length || memcmp(entry->key, key, length) != 0))
        entry = entry->next;
    return entry;
}

/* Under the lock, because the bytes are known again only when an object is gone. */
static void cut_back(sweep_store *store)
{
    while (store->oldest != NULL &&
           (store->count > MOST_ENTRIES ||
            atomic_load_explicit(&store->bytes, memory_order_relaxed) > MOST_BYTES)) {
        store_entry *entry = store->oldest;
        unlink_entry(store, entry);
        release(entry->kind, entry->object);
        free(entry);
    }
}

/* Without memory for the entry the object goes: it can be made again. */
static void keep(sweep_store *store, entry_kind kind, const char *key, size_t length,
                 void *take_object)
{
    store_entry *entry = malloc(sizeof *entry + length);
    if (entry == NULL) {
        release(kind, take_object);
        return;
    }
    *entry = (store_entry){ .hash = hash_of(kind, key, length),
                            .kind = kind,
                            .object = take_object,
                            .key_length = length };
    memcpy(entry->key, key, length);
    pthread_mutex_lock(&store->lock);
    link_entry(store, entry);
    cut_back(store);
    pthread_mutex_unlock(&store->lock);
}

/* ---- the store ---- */

sweep_store *sweep_store_new(const sweep_settings *settings)
{
    sweep_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return NULL;
    store->settings = settings;
    atomic_init(&store->bytes, 0);
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

void sweep_store_free(sweep_store *store)
{
    if (store == NULL)
        return;
    while (store->oldest != NULL) {
        store_entry *entry = store->oldest;
        unlink_entry(store, entry);
        release(entry->kind, entry->object);
        free(entry);
    }
    pthread_mutex_destroy(&store->lock);
    free(store);
}

const sweep_settings *sweep_store_settings(const sweep_store *store)
{
    return store->settings;
}

linnet_status sweep_store_config(sweep_store *store, linnet_config **out, linnet_error *err)
{
    return linnet_config_new_with_allocator(count_bytes, store, out, err);
}

/* ---- what is shared ---- */

/* A reference for the caller, or NULL. */
static void *share(sweep_store *store, entry_kind kind, const char *key, size_t length)
{
    void *object = NULL;
    pthread_mutex_lock(&store->lock);
    store_entry *entry = find(store, kind, key, length);
    if (entry != NULL) {
        unlink_entry(store, entry);
        link_entry(store, entry);
        object = entry->object;
        if (kind == ENTRY_MODEL)
            linnet_model_ref(object);
        else
            linnet_device_ref(object);
    }
    pthread_mutex_unlock(&store->lock);
    return object;
}

/* Two threads may open the same model at once; both copies are good, and one ages. */
linnet_status sweep_store_model(sweep_store *store, const linnet_config *config, const char *name,
                                const char *std_directory, linnet_model **out, linnet_error *err)
{
    cli_buffer key = { 0 };
    cli_append(&key, name, strlen(name) + 1);
    if (std_directory != NULL)
        cli_append(&key, std_directory, strlen(std_directory));
    linnet_status status = LINNET_OK;
    *out = share(store, ENTRY_MODEL, key.data, key.length);
    if (*out == NULL && (status = linnet_model_open(config, name, NULL, out, err)) == LINNET_OK)
        keep(store, ENTRY_MODEL, key.data, key.length, linnet_model_ref(*out));
    free(key.data);
    return status;
}

linnet_status sweep_store_device(sweep_store *store, const char *name, linnet_device **out,
                                 linnet_error *err)
{
    linnet_config *config = NULL;
    const size_t length = strlen(name);
    *out = share(store, ENTRY_DEVICE, name, length);
    if (*out != NULL)
        return LINNET_OK;
    linnet_status status = sweep_store_config(store, &config, err);
    if (status == LINNET_OK)
        status = linnet_device_open(config, name, out, err);
    if (status == LINNET_OK)
        keep(store, ENTRY_DEVICE, name, length, linnet_device_ref(*out));
    linnet_config_free(config);
    return status;
}

/* ---- planners ---- */

linnet_planner *sweep_store_take(sweep_store *store, const cli_buffer *key)
{
    pthread_mutex_lock(&store->lock);
    store_entry *entry = find(store, ENTRY_PLANNER, key->data, key->length);
    if (entry != NULL)
        unlink_entry(store, entry);
    pthread_mutex_unlock(&store->lock);
    linnet_planner *planner = entry != NULL ? entry->object : NULL;
    free(entry);
    return planner;
}

void sweep_store_give(sweep_store *store, const cli_buffer *key, linnet_planner *take_planner)
{
    keep(store, ENTRY_PLANNER, key->data, key->length, take_planner);
}
