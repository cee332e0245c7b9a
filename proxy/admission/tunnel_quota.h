/* SPDX-License-Identifier: MIT */
/*
 * Tunnel quotas: how many tunnels a client or a user has open, and how many bytes a second they carry together (options
 * max-tunnels-per-client, max-tunnels-per-user, tunnel-rate).
 *
 * Bytes are counted when their sink has taken them, in either direction. When more have passed than the quota's bucket
 * has, the sources get no credit: nothing is lost, each side's flow control stops its sender. All tunnels that wait for
 * credit are in the quota's list, and its one timer gives it out in small parts, so that neither one tunnel nor one
 * direction takes it all.
 *
 * A quota is found by a subscriber key. One without tunnels is forgotten when its bucket is full.
 *
 * Workers of older generations may still have tunnels of the same client or user, for hours: the table that all of them
 * share (limit_table.h) has the number of these, and the bucket. If it has no room for a key, each worker counts alone.
 */
#ifndef PUSHGATE_ADMISSION_TUNNEL_QUOTA_H
#define PUSHGATE_ADMISSION_TUNNEL_QUOTA_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"

#include <stdbool.h>

struct exchange;
struct limit_table;
struct relay;
struct tunnel_quota;

struct tunnel_quotas {
	struct relay *relay;        /* borrows */
	struct limit_table *shared; /* borrows; NULL: this worker counts alone */
	struct map map;
	struct list resting; /* without tunnels; the one that is so for the longest comes first */
	uint32_t resting_count;
};

/* A tunnel, or a request for one, as its quotas count it. */
struct counted_tunnel {
	struct exchange *exchange;
	struct tunnel_quota *client, *user; /* NULL: is not counted */
	struct tunnel_quota *rated;         /* one of them; NULL: without a rate */
	uint64_t charged_bytes;             /* of both directions */
	struct list waiting;                /* in rated->waiting: it gets no credit now */
	bool has_waited;
};

/* Subscriber keys; 0: is not counted. */
struct tunnel_keys {
	uint64_t client, user;
	uint64_t bytes_per_second; /* of the user, else of the client; 0 = any rate */
};

void tunnel_quotas_init(struct tunnel_quotas *quotas, struct relay *relay);
void tunnel_quotas_fini(struct tunnel_quotas *quotas); /* ensures that none has a tunnel */
/* How many tunnels this client or user has here and in workers of older generations, with those that are only asked for. */
uint32_t tunnel_quotas_count(const struct tunnel_quotas *quotas, uint64_t key);
/* x, a request for a tunnel, counts until tunnel_quotas_end, which returns whether it had to wait for credit. */
void tunnel_quotas_begin(
    struct tunnel_quotas *quotas, struct exchange *x, const struct tunnel_keys *keys);
bool tunnel_quotas_end(struct exchange *x);
/* relay_ops.tunnel_waits. */
bool tunnel_quota_waits(void *context, struct exchange *x);

#endif
