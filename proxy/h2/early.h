/* SPDX-License-Identifier: MIT */
/*
 * Priorities of requests that are still to come (RFC 9218 7.1): a PRIORITY_UPDATE may overtake its
 * request. Only ids above the last that the peer has opened are idle, and count. Bounded; what
 * there is no room for is forgotten, which costs a request its priority and nothing else.
 */
#ifndef PUSHGATE_H2_EARLY_H
#define PUSHGATE_H2_EARLY_H

#include "proxy/base/budget.h"
#include "proxy/http/priority.h"

#include <stdint.h>

/* More than the streams that anybody opens at a time. */
#define H2_EARLY_KEPT 128u

struct h2_early_entry {
	uint32_t id;
	struct http_priority priority;
};

struct h2_early {
	struct h2_early_entry *entries; /* in the order in which they came */
	uint32_t count, capacity;
};

void h2_early_init(struct h2_early *e);
void h2_early_fini(struct h2_early *e, struct budget *budget);
/* The latest counts; the oldest is forgotten when there is no room. */
void h2_early_put(
    struct h2_early *e, struct budget *budget, uint32_t id, struct http_priority priority);
/* True, and the priority, when one came for this id. */
bool h2_early_find(const struct h2_early *e, uint32_t id, struct http_priority *priority);
/* The peer has used this id: it and all lower ones are idle no more (RFC 9113 5.1.1). */
void h2_early_forget(struct h2_early *e, uint32_t id);

#endif
