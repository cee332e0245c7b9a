/* SPDX-License-Identifier: MIT */
/*
 * Orders for single servers (`pushgate server`), in shared memory: the master writes them, the workers read them, and
 * write how far they have obeyed. A row for each line `server` of each origin, in the order of the configuration.
 * Included by observe.h.
 */
#ifndef PUSHGATE_OBSERVE_SERVER_ORDERS_H
#define PUSHGATE_OBSERVE_SERVER_ORDERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum server_order {
	SERVER_READY,      /* as the configuration and its health say */
	SERVER_DRAIN,      /* gets no new request; those that are open end */
	SERVER_TAKEN_DOWN, /* the same, and its connections are cut */
};
const char *server_order_text(enum server_order order); /* "drain" */

struct server_orders_row {
	enum server_order order;
	uint32_t weight; /* 0: as configured */
};

/* A process's own: no worker can write an address or a size of it. */
struct server_orders {
	size_t rows;
	uint32_t workers;
	_Atomic uint32_t *version; /* shared, as all below: counts the changes */
	_Atomic uint32_t *words;   /* of each row */
	_Atomic uint32_t *seen;    /* the version that each worker has obeyed */
	_Atomic uint32_t
	    *open; /* of each worker, for each row: requests; only of rows with an order */
};

size_t server_orders_bytes(size_t rows, uint32_t workers);
/* Over zeroed memory of server_orders_bytes, which it borrows; to be freed with free(). */
struct server_orders *server_orders_new(void *memory, size_t rows, uint32_t workers);
void server_orders_give(struct server_orders *s, size_t row, struct server_orders_row order);
/* All that was given until now is to be obeyed. */
void server_orders_publish(struct server_orders *s);
struct server_orders_row server_orders_get(const struct server_orders *s, size_t row);
void server_orders_obeyed(struct server_orders *s, uint32_t worker, uint32_t version);
/* All workers but those that are down have obeyed what was published last. */
bool server_orders_are_obeyed(const struct server_orders *s);
/* The worker has died: it has nothing open, and is not waited for. */
void server_orders_forget(struct server_orders *s, uint32_t worker);
void server_orders_tell_open(
    struct server_orders *s, uint32_t worker, size_t row, uint32_t requests);
/* As the workers have told. */
uint32_t server_orders_open(const struct server_orders *s, size_t row);

#endif
