/* SPDX-License-Identifier: MIT */
/*
 * Names of a module or a block: a list in source order with a hash table over it, so that a file of
 * n items costs O(n) whatever its names are (names are numbers, mixed by a multiplication).
 */

#include "lang/check.h"

static uint32_t first_slot(const binding_list *list, lin_name name)
{
    return (uint32_t)(((uint64_t)name * 0x9E3779B97F4A7C15u) >> 32) & (list->slot_count - 1);
}

/* The slot that holds `name`, or the empty one where it would go. */
static uint32_t slot_of(const binding_list *list, lin_name name)
{
    uint32_t slot = first_slot(list, name);
    while (list->slots[slot] != 0 && list->items[list->slots[slot] - 1].name != name)
        slot = (slot + 1) & (list->slot_count - 1);
    return slot;
}

/* At most half of the slots are taken. */
static void grow_slots(lin_arena *arena, binding_list *list)
{
    if (list->slot_count > 2 * list->count)
        return;
    list->slot_count = list->slot_count == 0 ? 16 : 4 * list->slot_count;
    list->slots = LIN_NEW_ARRAY(arena, uint32_t, list->slot_count);
    for (uint32_t i = 0; i < list->count; i++)
        list->slots[slot_of(list, list->items[i].name)] = i + 1;
}

binding *lin_binding_find(const binding_list *list, lin_name name)
{
    if (list->slot_count == 0)
        return NULL;
    uint32_t slot = slot_of(list, name);
    return list->slots[slot] == 0 ? NULL : &list->items[list->slots[slot] - 1];
}

binding *lin_binding_add(lin_arena *arena, binding_list *list, binding b)
{
    binding *older = lin_binding_find(list, b.name);
    if (older != NULL)
        return older;
    grow_slots(arena, list);
    LIN_PUSH(arena, list, b);
    list->slots[slot_of(list, b.name)] = list->count;
    return NULL;
}
