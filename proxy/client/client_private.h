/* SPDX-License-Identifier: MIT */
/* Private to client/: the listener, and a client's connection with its session, legs, diary and held responses. */
#ifndef PUSHGATE_CLIENT_CLIENT_PRIVATE_H
#define PUSHGATE_CLIENT_CLIENT_PRIVATE_H

#include "proxy/base/map.h"
#include "proxy/client/client.h"

struct client_address;

/* The peer of a connection that is to be made: the claimed one, if the TCP peer has sent a PROXY header. */
struct client_peer {
	struct peer_ends *ends; /* with a reference; NULL: there are none */
	struct address address;
	uint16_t port;
};

struct client_listener {
	struct clients *clients;
	const struct conf_listen *conf;
	struct session_plan *plans; /* owned: the protocols that its connections may speak */
	struct net_tls *tls;        /* owned; NULL: cleartext */
	uint32_t connections;
	struct map addresses; /* of struct client_address: connections per client address */
};

struct client_diary {
	struct policy_diary resources;    /* its member `most` is 0: it stores nothing */
	struct policy_cookie_set *cookie; /* owned; the set in the client's cookie; NULL: none */
	uint64_t cookie_text;             /* hash of the cookie that was parsed last */
	uint64_t cookie_hash;             /* of the set as the client has it; 0: it is empty */
	bool is_recording; /* an offer was made on this connection, or may be at any time */
};

struct client_conn {
	struct clients *clients;
	struct client_listener *listener;
	struct net_conn *net;    /* NULL once closed */
	struct session *session; /* NULL until the protocol is known */
	struct budget budget;
	struct budget hold_budget; /* pays for the responses held for this client */
	struct list link;          /* in clients->conns */
	struct deferred_free deferred;
	struct list legs;
	struct list waiting;  /* pushes whose response waits for the client's stream limit */
	struct list idle;     /* in clients->idle while quiet_since is not USEC_NEVER */
	size_t closing_bytes; /* this connection's share of clients->closing_bytes */
	struct wheel_node timer;
	struct peer_ends *
	    ends; /* has a reference; NULL: the peer is the TCP peer, and no origin is told of it */
	struct address address; /* the peer's */
	uint16_t port;          /* as the address, for traces */
	uint8_t first_count;
	bool is_leaving;                /* the gateway drains, and takes one more request */
	struct client_hop hop;          /* for the log lines of its exchanges */
	const char *tls;                /* "" = cleartext */
	struct client_address *counted; /* NULL: no limit per client address applies */
	usec opened, quiet_since;
	usec
	    leaves_at; /* is_leaving: the last request comes until then; USEC_NEVER: a response is under way */
	/* The client has ended its sending side, and only reads: when something last left for it.
	 * USEC_NEVER: it may still send. */
	usec half_closed;
	struct peer_progress progress;
	union {
		/* Until the protocol is known: first_count of them. Then the silence. */
		uint8_t first_bytes[PROTOCOLS_MATCH_BYTES];
		struct peer_silence silence;
	};
	struct bucket near_deadlines; /* of its calls: client_bound_call */
	struct hold_store held;
	struct client_diary diary;
	uint64_t push_buffered; /* bytes of pushed responses that wait to be sent */
	uint32_t pushes_open;
	bool is_open, is_closing;
	bool is_unread; /* the session is full: nothing is read from the client */
	/* Our side of its tunnel has ended, and nothing is sent any more; the client's goes on. */
	bool is_finished;
	uint32_t client_ca; /* request_facts.client_ca */
	struct client_certificate
	    *certificate; /* that the client has shown: a reference; NULL: none */
};

/* ---- arrivals.c ---- */

void client_arrivals_shutdown(struct clients *c); /* what becomes of them takes one more request */
void client_arrivals_abort(struct clients *c);

/* ---- client_conn.c ---- */

/* Makes a connection, which has been charged and counted, of a socket. Takes fd and the ends. */
struct client_conn *client_conn_new(struct client_listener *l, int fd,
    const struct client_peer *peer, struct client_address *counted);
/* GOAWAY; open streams go on. A client in HTTP/1.1 to which no head has said that its connection closes may still send one
 * request, within a moment behind the last response. */
void client_conn_shutdown(struct client_conn *c);
/* The same without that moment. */
void client_conn_leave(struct client_conn *c);
/* Whether its socket has been full since `since` or earlier. */
static inline bool client_conn_is_blocked(const struct client_conn *c, usec since)
{
	usec blocked = net_conn_blocked_since(c->net);
	return blocked != USEC_NEVER && blocked <= since;
}
/* After an event: if a client that is to leave has no request, that moment begins. */
void client_conn_wait_for_last(struct client_conn *c);
/* Closes the connection at once, without GOAWAY. detail (may be NULL) goes to the log lines of its
 * exchanges. */
void client_conn_abort(struct client_conn *c, const char *detail);
/* The client has closed the connection, in both directions. */
void client_conn_closed(struct client_conn *c);
/* Starts waiting pushed responses, in order, while the client's stream limit allows. */
void client_conn_start_waiting(struct client_conn *c);
/* Ends the downstream side of every exchange on the connection. */
void client_conn_end_exchanges(
    struct client_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail);

/* ---- client_conn_events.c ---- */

void client_conn_handle_events(struct client_conn *c); /* all pending events of its session */

/* ---- client_deadline.c ---- */

/* The last stream has ended: starts (or restarts) the idle time. */
void client_conn_is_quiet(struct client_conn *c);
void client_conn_is_busy(struct client_conn *c);    /* a request arrived: stops the idle time */
void client_conn_arm(struct client_conn *c);        /* sets the timer to the nearest deadline */
void client_conn_arm_sooner(struct client_conn *c); /* only if that is earlier than it is set */
void client_conn_expired(struct wheel_node *timer, usec now);

/* ---- half_close.c ---- */

static inline bool client_conn_is_half_closed(const struct client_conn *c)
{
	return c->half_closed != USEC_NEVER;
}
/* The client has ended its sending side: what it asked for is still answered. */
void client_half_close(struct client_conn *c);
/* After a fill, which sent something or did not: ends the responses whose windows are used up. */
void client_half_closed_filled(struct client_conn *c, bool has_sent);
/* When the client is given up, because nothing has left for it; USEC_NEVER: not half-closed. */
usec client_half_closed_deadline(const struct client_conn *c);
/* The timer's: returns true when it has found that the client is gone, and closed the connection. */
bool client_half_closed_check(struct client_conn *c, usec now);

/* ---- client_auth.c ---- */

/* The handshake is over, and the listener may have asked for a certificate. False: it cannot be believed, and the
 * connection has been aborted. */
bool client_auth_open(struct client_conn *c);
void client_auth_close(struct client_conn *c);

/* ---- client_leg.c ---- */

extern const struct leg_ops client_leg_ops;
/* The client connection of x; NULL: the exchange has none, or it is gone. */
static inline struct client_conn *client_conn_of(const struct exchange *x)
{
	return x->down.ops == &client_leg_ops ? x->down.carrier : NULL;
}
/* Unlinks a leg from its connection and its stream; does not reset the stream. */
void client_leg_cut(struct leg *leg);

/* ---- client_request.c ---- */

/* The outcome of a request that cannot be read. */
const struct relay_cause *client_refusal_cause(enum session_refusal refusal);
/* A request's head arrived. Takes e->head. */
void client_request(struct client_conn *c, struct session_event *e);

/* ---- addresses.c ---- */

/* Counts another connection from this address. Returns false when the address has reached
 * max-connections-per-client. */
bool client_address_attach(
    struct client_listener *l, const struct address *from, struct client_address **counted);
void client_address_detach(
    struct client_listener *l, struct client_address *counted); /* NULL is fine */

/* ---- client_diary.c ---- */

void client_diaries_open(struct clients *c);
void client_diary_init(struct client_conn *c);
void client_diary_fini(struct client_conn *c);
/* Gives the exchange of a new request the connection's diary, if that is recording. */
void client_diary_request(struct client_conn *c, struct exchange *x);
/* Adds the resources that are held for the page to the set that its cookie will carry. */
void client_diary_expect(const struct exchange *page, struct policy_cookie_set *set);

/* ---- diary_cookie.c ---- */

/* Removes the diary's cookie from a request that has just arrived, and reads it. */
void client_diary_extract_cookie(
    struct client_conn *c, struct http_head *request, bool came_through);
/* Whether the cookie has the version with the latest known validator, or any version that is fresh
 * for as long as the cookie lives. */
bool diary_cookie_has(
    const struct client_diary *diary, uint64_t key, bool is_heard_of, uint32_t validator);
/* Sets the cookie on a navigation's response if the client's set has changed. */
void diary_cookie_add(struct client_conn *c, const struct exchange *x, struct http_head *head);

/* ---- client_trace.c ---- */

void client_traces_open(struct clients *c);
void client_traces_close(struct clients *c);
bool client_is_traced(const struct client_conn *c);
void client_trace_frame(void *conn, const char *line); /* for session_env */

/* ---- client_fault_log.c: logs and counts the faults of clients; `what` is a constant string ---- */

void client_log(const struct client_listener *l, const struct address *client, const char *what,
    const char *more); /* more: may be NULL */
static inline void client_log_fault(const struct client_conn *c, const char *what, const char *more)
{
	client_log(c->listener, &c->address, what, more);
}
/* The `fault` callback of session_env; its context is struct clients. */
void client_count_fault(void *clients, const struct session_fault *fault, size_t index);
/* Counts a response sent to a client by its status class. */
void client_count_status(struct clients *c, uint16_t status);
/* The connection speaks no protocol of ours: it ends after an answer that says so. */
void client_refuse_protocol(struct client_conn *c, const char *what);

#endif
