/* SPDX-License-Identifier: MIT */
/* A client's connection: its transport, its engine, and all that belongs to it alone. */
#ifndef PUSHGATE_HOP_DOWN_H
#define PUSHGATE_HOP_DOWN_H

#include "proxy/h2/h2.h"
#include "proxy/hop/connection.h"
#include "proxy/hop/memory.h"
#include "proxy/hop/taking.h"
#include "proxy/relay/relay.h"

struct client;
struct hop;
struct listener;

struct down {
	struct hop *hop;
	struct listener *listener;
	struct net_conn *net; /* NULL once closed */
	struct h2_conn *h2;   /* NULL until the preface has been seen */
	struct budget budget;
	struct budget hold_budget; /* of what is held for it */
	struct list link;          /* in hop->downs */
	struct corpse corpse;
	struct list legs;
	struct list waiting;  /* pushes whose response waits for room */
	struct list idle;     /* in hop->pressure.idle while quiet_since is not USEC_NEVER */
	size_t closing_bytes; /* its part of hop->pressure.closing_bytes */
	struct wheel_node timer;
	struct address client;
	struct client *counted; /* among the listener's; NULL: not counted */
	usec opened, quiet_since;
	struct taking taking;
	struct hold_store held;
	struct memory memory;
	uint64_t push_buffered; /* bytes of pushed responses that wait here */
	uint32_t pushes_open;
	uint8_t sniffed[H2_PREFACE_LEN];
	uint8_t sniffed_len;
	bool is_open, is_closing;
};

void down_accept(struct listener *l, int fd, const struct net_address *peer);
void down_shutdown(struct down *d); /* graceful */
/* At once and without a word; detail: for the log of its exchanges, or NULL. */
void down_abort(struct down *d, const char *detail);
void down_shed(struct down *d, const char *why); /* idle or unread, and its memory is wanted */
void down_start_waiting(struct down *d);         /* pushes that may begin now */
/* The client is gone, or as good as gone, for all exchanges on it. */
void down_end_exchanges(
    struct down *d, const struct relay_cause *cause, uint32_t code, const char *detail);

/* down_events.c */
void down_take_events(struct down *d); /* of its engine */

/* down_deadline.c */
void down_is_quiet(struct down *d); /* it has no stream; or: its time without one begins again */
void down_is_busy(struct down *d);  /* a request came */
void down_arm(struct down *d);
void down_arm_sooner(struct down *d); /* if something is due before what the timer is set to */
void down_expired(struct wheel_node *timer, usec now);
/* How long this exchange's client may take nothing, or too little, of what waits for it. */
usec down_take_limit(struct down *d, const struct leg *leg);

/* down_leg.c */
extern const struct leg_ops down_leg_ops;
/* Cuts the links between a leg and its connection and stream; the stream itself is left alone. */
void down_leg_cut(struct leg *leg);

/* request.c: a request came. Takes head. */
void down_request(
    struct down *d, struct h2_stream *s, struct http_head *head, bool end, bool oversize);

#endif
