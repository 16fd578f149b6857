/* Lists of slots. A slot is in the list of its state, unless it is answered. Every task passes through several, so these
 * functions are in the header. */
#ifndef RBDHW_SLOTS_H
#define RBDHW_SLOTS_H

#include "exchange.h"

enum { RBDHW_NONE = UINT16_MAX };

static inline uint16_t rbdhw_number_of(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    return (uint16_t)(slot - driver->slots);
}

/* Returns the first slot of a list; NULL if it is empty. */
static inline struct rbdhw_slot *rbdhw_first_of(struct rbdhw_driver *driver, enum rbdhw_state state)
{
    const uint16_t first = driver->lists[state].first;
    return first == RBDHW_NONE ? NULL : &driver->slots[first];
}

/* Puts a slot that is in no list at the end of one. */
static inline void rbdhw_append(struct rbdhw_driver *driver, struct rbdhw_slot *slot, enum rbdhw_state state)
{
    struct rbdhw_list *list = &driver->lists[state];
    const uint16_t number = rbdhw_number_of(driver, slot);
    slot->state = (uint8_t)state;
    slot->previous = list->last;
    slot->next = RBDHW_NONE;
    if (list->last == RBDHW_NONE)
        list->first = number;
    else
        driver->slots[list->last].next = number;
    list->last = number;
    list->length++;
}

/* Takes a slot out of its list. */
static inline void rbdhw_unlink(struct rbdhw_driver *driver, struct rbdhw_slot *slot)
{
    struct rbdhw_list *list = &driver->lists[slot->state];
    if (slot->previous == RBDHW_NONE)
        list->first = slot->next;
    else
        driver->slots[slot->previous].next = slot->next;
    if (slot->next == RBDHW_NONE)
        list->last = slot->previous;
    else
        driver->slots[slot->next].previous = slot->previous;
    list->length--;
}

#endif
