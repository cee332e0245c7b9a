/* SPDX-License-Identifier: MIT */
/*
 * Whose tunnels there are: how many each client and each user has open, and how many bytes a second all of one
 * owner's tunnels carry together (options max-tunnels-per-client, max-tunnels-per-user, tunnel-rate).
 *
 * The rate is a token bucket, kept as the time at which it will be full again. Bytes are counted when their sink has
 * taken them, whichever way they go. When more have passed than the bucket has, the sources get no credit: nothing is
 * lost, each side's flow control stops its sender. All tunnels that wait for credit are in the owner's list, and its
 * one timer gives it out in small parts, so that neither one tunnel nor one direction takes it all.
 *
 * An owner is found by a keyed hash. One without tunnels is forgotten when its bucket is full.
 */
#ifndef PUSHGATE_RELAY_TUNNEL_OWNER_H
#define PUSHGATE_RELAY_TUNNEL_OWNER_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/base/wheel.h"

#include <stdbool.h>

struct exchange;
struct relay;
struct tunnel_owner;

struct tunnel_owners {
	struct map map;
	struct list resting; /* without tunnels; the one that is so for the longest comes first */
	uint32_t resting_count;
};

/* A tunnel, as its owners know it. */
struct tunnel_share {
	struct exchange *exchange;
	struct tunnel_owner *client, *user; /* NULL: is not counted */
	struct tunnel_owner *rated;         /* one of them; NULL: without a rate */
	struct list waiting;                /* in rated->waiting: it gets no credit now */
	bool has_waited;
};

/* Who is counted, by keyed hashes; 0: nobody. */
struct tunnel_keys {
	uint64_t client, user;
	uint64_t bytes_per_second; /* of the user, else of the client; 0 = any rate */
};

void tunnel_owners_init(struct tunnel_owners *owners);
void tunnel_owners_fini(struct relay *r); /* ensures that none has a tunnel */
/* How many tunnels this owner has, those among them that are only asked for. */
uint32_t tunnel_owner_count(const struct relay *r, uint64_t key);
/* x, a request for a tunnel, counts until tunnel_share_end. */
void tunnel_share_begin(struct exchange *x, const struct tunnel_keys *keys);
void tunnel_share_end(struct exchange *x);
/* n bytes of the tunnel were taken by their sink. */
void tunnel_share_charge(struct tunnel_share *share, size_t n);
/* Whether the tunnel's sources get no credit for now; it is given later, from `owed` of its flows. */
bool tunnel_share_waits(struct tunnel_share *share);

#endif
