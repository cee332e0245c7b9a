/* SPDX-License-Identifier: MIT */
/* A connection to an origin: its transport, its engine, and what it has been like so far. */
#ifndef PUSHGATE_HOP_UP_H
#define PUSHGATE_HOP_UP_H

#include "proxy/base/rate.h"
#include "proxy/h2/h2.h"
#include "proxy/hop/connection.h"
#include "proxy/hop/pool.h"
#include "proxy/hop/taking.h"

struct hop;

/* What its streams' windows have grown to (up_window.c). */
struct up_window {
	uint32_t bytes;
	uint64_t probe_bytes; /* came since the PING was sent */
	bool is_probing;
};

struct up {
	struct hop *hop;
	struct pool *pool;
	struct net_conn *net;
	struct h2_conn *h2; /* NULL until connected */
	struct budget budget;
	struct list link; /* in pool->ups */
	struct corpse corpse;
	struct list legs;
	struct wheel_node timer;
	usec started, quiet_since; /* started: to connect; once connected, since then */
	struct taking taking;
	uint64_t requests; /* sent so far */
	uint64_t cancels;  /* of these, reset by us */
	struct up_window window;
	bool is_open, is_ready, is_closing; /* connected; SETTINGS came; no more requests */
	bool is_gone;                       /* on hop->dead */
	/* it promised so much that was refused that we turned push off here */
	bool push_was_withdrawn;
	struct bucket promises, refusals, resets;
};

void up_open(struct pool *p);
/* What we announce to the origin. */
struct h2_settings up_settings(const struct conf_origin *o, bool push);
void up_kill(struct up *u, const struct relay_cause *cause); /* at once and without a word */
void up_terminate(struct up *u, enum h2_code code, struct slice why); /* GOAWAY, then close */
void up_retire(struct up *u); /* takes no more requests; closes when those that it has are over */
/* The connection has failed: no request can start on it any more, and what waited for it hears. */
void up_lost(struct up *u, const struct relay_cause *cause, uint32_t code, const char *detail);
/* All exchanges on it fail; those that may be are sent again elsewhere. */
void up_end_exchanges(
    struct up *u, const struct relay_cause *cause, uint32_t code, const char *detail);

/* up_events.c */
void up_take_events(struct up *u); /* of its engine */

/* up_window.c */
void up_window_init(struct up_window *w, const struct conf_origin *o);
void up_window_probe(struct up *u, size_t received); /* so many bytes of a body have come */
void up_window_grow(struct up *u);                   /* the PING is answered */
/* The exchange's stream may have what the windows have grown to. */
void up_window_widen(struct up *u, struct exchange *x);

/* up_deadline.c */
void up_arm(struct up *u);
void up_expired(struct wheel_node *timer, usec now);
/* How long the origin may take nothing, or too little, of this exchange's upload. */
usec up_take_limit(struct up *u, const struct leg *leg);

/* up_leg.c */
extern const struct leg_ops up_leg_ops;
void up_leg_cut(struct leg *leg);
bool up_has_room(const struct up *u);
/* Sends the exchange's request; else why it cannot be sent: no memory, or too large for this origin. */
const struct relay_cause *up_send(struct up *u, struct exchange *x);

#endif
