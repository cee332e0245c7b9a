/* SPDX-License-Identifier: MIT */
/*
 * What the files of client/ share: a listener, and a client's connection with all that belongs to it.
 *
 *   clients ─── listener ─── client_conn ─┬─ session ─── streams ─── legs of exchanges
 *                                         ├─ diary
 *                                         └─ store of held responses
 */
#ifndef PUSHGATE_CLIENT_PRIVATE_H
#define PUSHGATE_CLIENT_PRIVATE_H

#include "proxy/base/map.h"
#include "proxy/client/client.h"

struct client_address;

struct client_listener {
	struct clients *clients;
	const struct conf_listen *conf;
	struct session_plan *plans; /* owned: the protocols of its connections */
	struct net_tls *tls;        /* owned; NULL: cleartext */
	uint32_t connections;
	struct map addresses; /* struct client_address: how many connections each has */
};

struct client_diary {
	struct policy_diary resources;    /* most 0: nothing is remembered */
	struct policy_cookie_set *cookie; /* owned; what the client carries; NULL: nothing yet */
	uint64_t cookie_text;             /* a hash of the cookie that was read last */
	bool is_awake;                    /* something was offered here, or may be at any time */
};

struct client_conn {
	struct clients *clients;
	struct client_listener *listener;
	struct net_conn *net;    /* NULL once closed */
	struct session *session; /* NULL until the protocol is known */
	struct budget budget;
	struct budget hold_budget; /* of what is held for it */
	struct list link;          /* in clients->conns */
	struct deferred_free deferred;
	struct list legs;
	struct list waiting;  /* pushes whose response waits for the client's stream limit */
	struct list idle;     /* in clients->idle while quiet_since is not USEC_NEVER */
	size_t closing_bytes; /* its part of clients->closing_bytes */
	struct wheel_node timer;
	struct address address;
	struct client_address *counted; /* NULL: not counted */
	usec opened, quiet_since;
	struct peer_progress progress;
	struct hold_store held;
	struct client_diary diary;
	uint64_t push_buffered; /* bytes of pushed responses that wait here */
	uint32_t pushes_open;
	uint8_t first_bytes[SESSION_MATCH_BYTES]; /* until the protocol is known */
	uint8_t first_count;
	bool is_open, is_closing;
	uint16_t port; /* the client's, for traces */
};

/* ---- client_conn.c ---- */

void client_conn_shutdown(struct client_conn *c); /* graceful */
/* At once and without a word; detail: for the log of its exchanges, or NULL. */
void client_conn_abort(struct client_conn *c, const char *detail);
void client_conn_start_waiting(struct client_conn *c); /* pushes that may begin now */
/* The client is gone for all exchanges on the connection. */
void client_conn_end_exchanges(
    struct client_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);

/* ---- client_conn_events.c ---- */

void client_conn_take_events(struct client_conn *c); /* of its session */

/* ---- client_deadline.c ---- */

/* The connection has no stream; or its time without one begins again. */
void client_conn_is_quiet(struct client_conn *c);
void client_conn_is_busy(struct client_conn *c); /* a request came */
void client_conn_arm(struct client_conn *c);
void client_conn_arm_sooner(struct client_conn *c); /* if the timer is set to a later time */
void client_conn_expired(struct wheel_node *timer, usec now);

/* ---- client_leg.c ---- */

extern const struct leg_ops client_leg_ops;
/* The connection behind the downstream leg of x; NULL: there is none, or none any more. */
static inline struct client_conn *client_conn_of(const struct exchange *x)
{
	return x->down.ops == &client_leg_ops ? x->down.carrier : NULL;
}
/* Cuts the links between a leg and its connection and stream; the stream itself is left alone. */
void client_leg_cut(struct leg *leg);

/* ---- request.c ---- */

/* The head of a request came. Takes head. */
void client_request(struct client_conn *c, struct session_event *e);

/* ---- addresses.c ---- */

/* Another connection from this address. False: it has as many as it may have. */
bool client_address_enter(
    struct client_listener *l, const struct address *from, struct client_address **entered);
void client_address_leave(
    struct client_listener *l, struct client_address *entered); /* NULL is fine */

/* ---- diary.c ---- */

void client_diaries_open(struct clients *c);
void client_diary_init(struct client_conn *c);
void client_diary_fini(struct client_conn *c);
/* Takes the diary's cookie out of a request that has just come. */
void client_diary_take_cookie(struct client_conn *c, struct http_head *request, bool came_through);
/* A request came: its exchange gets the diary, if that is awake. */
void client_diary_request(struct client_conn *c, struct exchange *x);

/* ---- trace.c ---- */

void client_traces_open(struct clients *c);
void client_traces_close(struct clients *c);
bool client_is_traced(const struct client_conn *c);
void client_trace_frame(void *conn, const char *line); /* for session_env */

/* ---- fault_log.c: what clients do wrong; `what` is a constant string ---- */

void client_log_refused(struct client_listener *l, const struct address *from, const char *what);
void client_log_fault(const struct client_conn *c, const char *what, const char *more);
/* For session_env; the context is struct clients. */
void client_count_fault(void *clients, const struct session_fault *fault);
/* Counts the status of a response that goes to a client. */
void client_count_status(struct clients *c, uint16_t status);

#endif
