/* Lists of slots. A slot is in the list of its state, unless it is answered. */
#ifndef RBDHW_SLOTS_H
#define RBDHW_SLOTS_H

#include "exchange.h"

uint16_t rbdhw_number_of(const struct rbdhw_driver *driver, const struct rbdhw_slot *slot);

/* Returns the first slot of a list; NULL if it is empty. */
struct rbdhw_slot *rbdhw_first_of(struct rbdhw_driver *driver, enum rbdhw_state state);

/* Puts a slot that is in no list at the end of one. */
void rbdhw_append(struct rbdhw_driver *driver, struct rbdhw_slot *slot, enum rbdhw_state state);

/* Takes a slot out of its list. */
void rbdhw_unlink(struct rbdhw_driver *driver, struct rbdhw_slot *slot);

#endif
