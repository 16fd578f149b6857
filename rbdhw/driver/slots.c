#include "slots.h"

enum { NONE = UINT16_MAX };

uint16_t rbdhw_number_of(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot)
{
    return (uint16_t)(slot - driver->slots);
}

struct rbdhw_slot *rbdhw_first_of(struct rbdhw_driver *driver, enum rbdhw_state state)
{
    const uint16_t first = driver->lists[state].first;
    return first == NONE ? NULL : &driver->slots[first];
}

void rbdhw_append(struct rbdhw_driver *driver, struct rbdhw_slot *slot, enum rbdhw_state state)
{
    struct rbdhw_list *list = &driver->lists[state];
    const uint16_t number = rbdhw_number_of(driver, slot);
    slot->state = (uint8_t)state;
    slot->previous = list->last;
    slot->next = NONE;
    if (list->last == NONE)
        list->first = number;
    else
        driver->slots[list->last].next = number;
    list->last = number;
    list->length++;
}

void rbdhw_unlink(struct rbdhw_driver *driver, struct rbdhw_slot *slot)
{
    struct rbdhw_list *list = &driver->lists[slot->state];
    if (slot->previous == NONE)
        list->first = slot->next;
    else
        driver->slots[slot->previous].next = slot->next;
    if (slot->next == NONE)
        list->last = slot->previous;
    else
        driver->slots[slot->next].previous = slot->previous;
    list->length--;
}

void rbdhw_empty(struct rbdhw_driver *driver, uint32_t first)
{
    for (int state = 0; state < RBDHW_ANSWERED; state++)
        driver->lists[state] = (struct rbdhw_list){NONE, NONE, 0};
    for (uint32_t k = 0; k < driver->options.window; k++) {
        driver->slots[k].generation = first;
        rbdhw_append(driver, &driver->slots[k], RBDHW_FREE);
    }
}
