/* SPDX-License-Identifier: MIT */
/*
 * Priorities of future requests (RFC 9218 7.1): a PRIORITY_UPDATE may come before its request. Only
 * idle ids, above the last id that the peer has opened, are stored. The store is bounded; a
 * priority without room is dropped, and its request gets the default priority.
 */
#ifndef PUSHGATE_H2_EARLY_H
#define PUSHGATE_H2_EARLY_H

#include "proxy/base/budget.h"
#include "proxy/http/priority.h"

#include <stdint.h>

/* More than the streams that a client opens at once. */
#define H2_EARLY_KEPT 128u

struct h2_early_entry {
	uint32_t id;
	struct http_priority priority;
};

/* Initialize with zeroes: empty. */
struct h2_early {
	struct h2_early_entry *entries; /* in order of arrival */
	uint32_t count, capacity;
};

void h2_early_fini(struct h2_early *e, struct budget *budget);
/* Stores the latest priority of the id; drops the oldest entry if there is no room. */
void h2_early_put(
    struct h2_early *e, struct budget *budget, uint32_t id, struct http_priority priority);
/* True and *priority if there is one for this id. */
bool h2_early_find(const struct h2_early *e, uint32_t id, struct http_priority *priority);
/* The peer has opened this id: drops the entries of it and all lower ids (RFC 9113 5.1.1). */
void h2_early_forget(struct h2_early *e, uint32_t id);

#endif
