/* SPDX-License-Identifier: MIT */
/* Private to origin/: an origin connection with its session, legs and window growth. */
#ifndef PUSHGATE_ORIGIN_ORIGIN_PRIVATE_H
#define PUSHGATE_ORIGIN_ORIGIN_PRIVATE_H

#include "proxy/base/rate.h"
#include "proxy/http/status_line.h"
#include "proxy/limits.h"
#include "proxy/origin/origin.h"
#include "proxy/origin/pool.h"

/* The receive window that a connection's streams may have (origin_window.c). */
struct origin_window {
	uint32_t bytes;
	uint64_t probe_bytes; /* received since the PING was sent */
	bool is_probing;      /* the PING has not been answered yet */
};

/* A connection that carries one request at a time (origin_single.c). */
struct origin_single {
	uint64_t filled;   /* requests that have been given to protocols_fill */
	bool has_answered; /* a byte has come since the last request was sent */
	/* A cancelled request: its response is read to the end, and dropped. 0: none is. */
	usec discards_since;
	size_t discarded_bytes;
};

/* The origin has ended the connection with an error that a request may have caused (origin_breakage.c). */
struct origin_breakage {
	bool has_come;
	const struct leg *blamed; /* compared only; NULL: no request of those that are left */
};

/* How a connection that is not whole any more goes on. */
enum origin_transport {
	ORIGIN_TRANSPORT_OPEN,
	/* Our side of its tunnel has ended, and nothing is sent any more; the origin's goes on. */
	ORIGIN_TRANSPORT_FINISHED,
	ORIGIN_TRANSPORT_READABLE, /* nothing can be sent; what the origin has sent is still read */
	ORIGIN_TRANSPORT_ENDED,    /* the session still holds what the client has not taken */
};

/* Other hosts that were promised for, and whether the certificate of the connection is valid for them. */
struct promised_hosts {
	uint64_t hashes[LIMIT_PROMISED_HOSTS]; /* with a secret seed */
	bool covered[LIMIT_PROMISED_HOSTS];
	uint32_t count;
};

/* The promises that came on a connection (origin_promise.c). */
struct origin_promises {
	struct bucket all, refusals, resets; /* promise-rate, promise-refusals, reset-rate */
	/* Those that some limit refused, for the log: how many, and the last one. */
	uint64_t refused;
	usec refused_at;
	const struct policy_reason *refused_for; /* NULL: none was refused */
	bool are_off;                            /* too many were refused: push was turned off */
	struct promised_hosts *hosts;            /* owned; NULL: for none yet */
};

/* The client that a connection belongs to (pool_private.c). */
struct origin_owner {
	struct peer_header client; /* as the origin is told */
	struct origin_conn *conn;
	struct map_node node; /* in pool->owners, until the connection is retired */
	/* The request that the connection is opened for: struct exchange, by `waiting`. */
	struct list waiting;
};

struct origin_conn {
	struct origins *origins;
	struct pool *pool;
	struct net_conn *net;
	const struct session_plan *plan; /* borrows: of a pool of the origin */
	struct origin_owner *owner;      /* owned; NULL: all clients share the connection */
	struct session *session;         /* NULL until connected */
	struct session
	    *dialogue; /* with an upstream proxy, before the session; NULL: there is none */
	struct budget budget;
	struct list all;    /* in origins->conns */
	struct list link;   /* in pool->conns */
	struct list usable; /* in pool->usable */
	struct deferred_free deferred;
	struct list legs;
	struct wheel_node timer;
	usec started; /* of the connect; once connected, of the session (relay_origin_clock) */
	/* For the log lines of its exchanges. */
	struct origin_hop hop;
	usec opened, ready; /* the connect began; the origin's SETTINGS came, 0 = not yet */
	usec quiet_since;   /* the end of the last stream; USEC_NEVER while there is one */
	struct peer_progress progress;
	struct peer_silence silence;
	struct status_line first_line; /* until it is ready: does it answer in HTTP/1? */
	uint64_t requests;             /* sent so far */
	uint64_t cancels;              /* how many of the requests we have reset */
	struct origin_window window;
	struct origin_single single;
	struct origin_breakage breakage;
	enum origin_transport transport;
	enum net_end end;        /* with ORIGIN_TRANSPORT_ENDED */
	bool offers_http1_alone; /* by ALPN: pool_offers_http1_alone */
	bool demands_http1;      /* HTTP_1_1_REQUIRED came on it, and its server gets HTTP/1.1 */
	bool asks_proxy;         /* the tunnel through its upstream proxy is not open yet */
	/* The origin has ended its side of a tunnel, and ours goes on: net/ does not report
	 * the end of ours, so the timer asks. */
	bool is_half_closed;
	bool is_open;    /* connected */
	bool is_ready;   /* requests may be sent: over HTTP/2, the origin's SETTINGS have arrived */
	bool is_closing; /* retired: gets no more requests */
	bool is_gone;    /* will be freed at the end of the loop pass */
	bool has_failed; /* before it was ready, and that was reported */
	bool carries_slow; /* a request whose body has not wholly come (pool_slow.c) */
	bool is_held_back; /* not read from, because a subscriber is slow (relay/subscription.c) */
	bool is_full;      /* not read from, because the session is full: its client is slow */
	usec read_since;   /* when it was last held back no more; 0: never was */
	struct origin_promises promises;
};

/* ---- origin_conn.c ---- */

/* Takes the owner, which is NULL if clients share the connection. */
struct origin_conn *origin_conn_open(struct pool *p, struct origin_owner *owner);
/* Closes the connection at once, without GOAWAY. */
void origin_conn_kill(struct origin_conn *c, const struct relay_cause *cause);
/* Closes the connection when what was sent has left; at once if that would look like another end than it is. */
void origin_conn_close(struct origin_conn *c);
/* Sends GOAWAY, then closes. */
void origin_conn_terminate(struct origin_conn *c, uint32_t code, struct slice why);
/* The connection has failed: ends its exchanges, frees it and tells the pool. */
void origin_conn_lost(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);
/* Room for origin_conn_say. */
#define ORIGIN_TEXT_BYTES 512
/* For the log alone: "the origin at ADDRESS" and the text, which tells what it did. */
const char *origin_conn_say(
    const struct origin_conn *c, const char *text, char buffer[ORIGIN_TEXT_BYTES]);
/* Fails all exchanges on the connection; the relay retries those that may be retried. */
void origin_conn_end_exchanges(
    struct origin_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);
/* The cause for an exchange whose connection has ended: whether its request may be sent again. */
const struct relay_cause *origin_conn_loss(const struct origin_conn *c, const struct exchange *x);
/* The transport is open: starts the session and settings-timeout. */
void origin_conn_begin_session(struct origin_conn *c, const struct session_plan *plan);

/* ---- origin_transport.c ---- */

extern const struct net_conn_ops origin_conn_ops;
/* The transport is open, and so is the tunnel that it goes through: begins the session. */
void origin_conn_opened(struct origin_conn *c);
/* The transport has ended, and the session has nothing left for its owner. */
void origin_conn_ended(struct origin_conn *c, const char *text);

/* ---- upstream_proxy.c ---- */

/* NULL: the demo origin cannot be connected to. */
struct net_conn *origin_conn_connect(struct origin_conn *c);
/* The memory that a connection of this pool is charged for. */
size_t origin_conn_bytes(const struct pool *p);
/* Whether the upstream proxy itself has answered, and no client may have the response: it asks for credentials, or opens
 * no tunnel. True: the exchange has failed, and the head is freed. */
bool upstream_proxy_refused(
    struct origin_conn *c, struct leg *leg, struct http_head *head, bool end);
/* While c->asks_proxy: the events of its transport. */
void upstream_proxy_opened(struct origin_conn *c);
void upstream_proxy_received(
    struct origin_conn *c, struct chunk *chunk, size_t offset, size_t length);
/* It has answered wrongly, as `what` says, or ended the connection. */
void upstream_proxy_failed(struct origin_conn *c, const char *what);

/* ---- origin_conn_events.c ---- */

void origin_conn_handle_events(struct origin_conn *c); /* all pending events of its session */

/* ---- origin_single.c ---- */

/* All events have been handled: the connection may be free for the next request. */
void origin_single_update(struct origin_conn *c);
/* The only request of the connection is cancelled; the leg of x is cut already. */
void origin_single_cancel(
    struct origin_conn *c, const struct exchange *x, struct session_stream *stream, uint32_t code);
/* The same, but for a response that has begun: reads it to its end if that can come soon. */
void origin_single_drop(
    struct origin_conn *c, const struct exchange *x, struct session_stream *stream, uint32_t code);
/* Bytes of the response to a cancelled request have come. */
void origin_single_discard(struct origin_conn *c, size_t bytes);
usec origin_single_discard_deadline(const struct origin_conn *c);
/* How long the connection may be idle; 0: no limit. */
usec origin_single_idle_limit(const struct origin_conn *c);
/* The request has not left, or the origin has not begun to answer it. */
bool origin_single_is_unsent(const struct origin_conn *c);
bool origin_single_is_silent(const struct origin_conn *c);

/* ---- origin_breakage.c ---- */

/* The origin has sent GOAWAY with this error. */
void origin_breakage_came(struct origin_conn *c, const struct session_event *goaway);
/* The cause with which the exchange of a leg ends that was ended by the same error: one that repeats the request, or
 * not. */
const struct relay_cause *origin_breakage_cause(
    const struct origin_conn *c, const struct leg *leg, const struct relay_cause *cause);

/* ---- http1_required.c ---- */

/* The connections of the pool that open now offer HTTP/1.1 alone. */
bool pool_offers_http1_alone(const struct pool *p);
/* A stream or the connection has ended with HTTP_1_1_REQUIRED (RFC 9113 7). If its server can be asked by HTTP/1.1, it
 * is from now on, for a time. */
void origin_conn_demands_http1(struct origin_conn *c);
/* The cause with which the exchange of a leg ends: one that repeats the request over HTTP/1.1, or the given one. */
const struct relay_cause *origin_http1_cause(const struct origin_conn *c, const struct leg *leg,
    const struct relay_cause *cause, uint32_t code);
/* A connection has come up whose protocol is not the one that is needed: it can carry no tunnels, or its server has
 * demanded HTTP/1.1 since it was opened. True: the next ones will use HTTP/1.1. */
bool pool_changes_to_http1(struct pool *p, const struct session *s);
/* The origin has agreed on no protocol by ALPN. Returns the cause that ends the requests that wait. */
const struct relay_cause *origin_conn_refuses_alpn(const struct origin_conn *c);
/* HTTP/1.1 alone was offered, and the origin has agreed on nothing and ended the connection behind the request:
 * some do that in place of a TLS alert. */
bool origin_conn_ignores_http1(const struct origin_conn *c);

/* ---- origin_promise.c ---- */

/* The origin promised a resource on this connection. */
void origin_promise(struct origin_conn *c, struct session_event *e);
void origin_promises_ended(const struct origin_conn *c); /* the connection is gone */

/* ---- origin_window.c ---- */

void origin_window_init(struct origin_window *w, const struct conf_origin *o);
/* This many bytes of a body have arrived: may start a measurement. */
void origin_window_probe(struct origin_conn *c, size_t received);
void origin_window_grow(struct origin_conn *c); /* the PING was answered */
/* Widens the window of the exchange's stream to the measured size if its client keeps up. */
void origin_window_widen(struct origin_conn *c, struct exchange *x);

/* ---- origin_deadline.c ---- */

void origin_conn_arm(struct origin_conn *c);
/* The connection's output cannot be filled now: looks at the session in the next loop pass. */
void origin_conn_look_soon(struct origin_conn *c);
/* Reading from origins has resumed: the deadlines go on. */
void origin_conn_read_again(struct origin_conn *c);
usec origin_connect_deadline(const struct origin_conn *c);
usec origin_settings_deadline(const struct origin_conn *c);
usec origin_session_due(const struct origin_conn *c);
usec origin_idle_deadline(const struct origin_conn *c);
usec origin_write_deadline(struct origin_conn *c);
usec origin_silence_deadline(const struct origin_conn *c); /* for the next PING, or its answer */
usec origin_read_on_deadline(const struct origin_conn *c);

/* ---- origin_timer.c ---- */

void origin_conn_expired(struct wheel_node *timer, usec now);

/* ---- origin_leg.c ---- */

extern const struct leg_ops origin_leg_ops;
/* The origin connection of x; NULL: the exchange has none, or it is gone. */
static inline struct origin_conn *origin_conn_of(const struct exchange *x)
{
	return x->up.ops == &origin_leg_ops ? x->up.carrier : NULL;
}
void origin_leg_cut(struct leg *leg); /* its exchange has no connection any more */
/* The same, while its connection goes on. Once a subscription has no leg, the relay cannot end that its
 * connection is held back, and the connection would never be read from again. */
void origin_leg_end(struct leg *leg);
/* A client's request has claimed what was fetched: tells the origin how urgent that is. */
void origin_leg_hurry(struct leg *leg, struct http_priority priority);
/* Adds the credentials for the upstream proxy. */
void upstream_proxy_authorize(const struct origin_conn *c, struct http_head *head);
/* Sends the exchange's request. Returns NULL, or why it cannot be sent: no memory, or a head too
 * large for this origin. */
const struct relay_cause *origin_conn_send(struct origin_conn *c, struct exchange *x);

/* ---- origin_fault_log.c: logs and counts the faults of origins; `what` is a constant string ---- */

void origin_log_fault(const struct origin_conn *c, const char *what, const char *more);
/* The origin has ended the connection while it owed a response; a failure of the transport has been logged. */
void origin_log_cut_response(const struct origin_conn *c);
/* The `fault` callback of session_env; its context is struct origins. */
void origin_count_fault(void *upstream, const struct session_fault *fault, size_t index);

#endif
