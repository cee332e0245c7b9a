/* SPDX-License-Identifier: MIT */
/* What a configuration needs to be served, and what is gone with it: the rest of a start outlives it (start.h). */
#ifndef PUSHGATE_PROCESS_OUTFIT_H
#define PUSHGATE_PROCESS_OUTFIT_H

#include "proxy/observe/observe.h"
#include "proxy/process/identity.h"
#include "proxy/process/limit_memories.h"
#include "proxy/process/sockets.h"
#include "proxy/route/route.h"
#include "proxy/waterfall/waterfall.h"

struct outfit {
	struct conf *conf;           /* owned */
	struct router_tables tables; /* of its routes: workers begin with them */
	uint32_t workers;
	struct identity identity; /* of workers and helpers */
	struct sockets_share share;
	struct observe_counters *slots; /* shared memory: one for each worker */
	struct series series;           /* the same, a lane for each worker */
	void *series_memory;            /* its shared part */
	size_t series_bytes;
	struct health_table *health_table; /* the same, for all; NULL: nothing to know */
	void *health_table_memory;         /* its shared part */
	size_t health_table_bytes;
	struct server_orders *orders; /* the same; NULL: no command can give any */
	void *orders_memory;          /* its shared part */
	size_t orders_bytes;
	struct certificate_entry
	    *certificates; /* the same, of each listener; NULL: none has acme */
	struct observe_remembered
	    *remembered; /* the same: lines of the memory of pages; NULL: nothing remembers */
	struct connection_lane *connections; /* a lane of each worker; NULL: no admin listener */
	struct waterfall pages;              /* page records; its memory is NULL: there are none */
	struct limit_memories limits;        /* of the workers' tables; none in single mode */
};

uint32_t outfit_count_workers(const struct conf *conf, bool single);
/* Fills in what conf and workers need. The sockets do not listen yet. False with a message; call outfit_close even then. */
bool outfit_open(struct outfit *o, struct sockets *sockets, char *error, size_t error_size);
/* Another load of the same text takes the place of conf, which is freed: takes both. tables: NULL: the lists are the same, and
 * so are the tables, which point to nothing in conf. */
void outfit_exchange(struct outfit *o, struct conf *conf, const struct router_tables *tables);
/* Lets orders for servers be given. False with a message. */
bool outfit_take_orders(struct outfit *o, char *error, size_t error_size);
/* Frees the configuration as well. Idempotent. */
void outfit_close(struct outfit *o);
/* Zeroed memory that the children share. NULL with a message. */
void *outfit_map_shared(size_t bytes, const char *what, char *error, size_t error_size);

#endif
