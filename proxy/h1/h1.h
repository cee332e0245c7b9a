/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 and HTTP/1.0 (RFC 9112) on one connection, either role. Strict, no I/O, no clock, no log:
 * bytes and the time come in, events and bytes go out.
 *
 *   input    h1_receive, then h1_next_event until it returns false
 *   output   h1_next_output until it returns false; then h1_next_event again
 *   time     h1_deadline says when h1_tick wants to be called
 *   commands everything else; a command reports nothing at once, but may leave an event
 *
 * One message is read at a time. What the peer sends behind it waits in the chunks that it came in,
 * and is looked at when the exchange before it is over: pipelined requests are answered in order, one
 * after the other. While h1_is_full the owner should not read from the transport; what it gives to
 * h1_receive all the same is kept.
 *
 * A message's framing is decided once, by the rules of RFC 9112 6.3, from fields that are then taken
 * away: heads that leave this folder have no Connection, no Transfer-Encoding and nothing that the
 * sender nominated, their names are in lower case, the request line and the status line have become
 * pseudo-fields, and http_head_validate has accepted them. Heads that come here to be sent are such
 * heads too, and get the framing that the peer's version allows.
 *
 * A tunnel (RFC 9110 7.8, 9.3.6) is a request like any other until its answer. To the owner it is a
 * CONNECT, with `protocol` for an Upgrade, and its answer is a 2xx with `opens_tunnel`: a 101 on the
 * wire, where the request was an Upgrade. Then the bytes of both directions are DATA events and offers,
 * without framing, and each direction ends by itself: ours with h1_has_finished, the peer's with a last
 * DATA event. Until the answer the client's bytes wait; after another answer they are dropped, and the
 * connection ends, so that none of them can be taken for a request.
 *
 * A server's head has `upgrade` when the request offers to change the protocol; the owner decides. A client's
 * h1_request of a CONNECT with `protocol` is written as GET with Upgrade. The keys of WebSocket (RFC 6455
 * 1.3) are of one hop: they are made, checked and taken away here (struct h1_websocket).
 *
 * A peer's faults are rows (struct h1_fault). Bugs of this program fail ensure().
 */
#ifndef PUSHGATE_H1_H1_H
#define PUSHGATE_H1_H1_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"
#include "proxy/base/clock.h"
#include "proxy/http/head.h"

enum h1_role { H1_SERVER, H1_CLIENT };

/* A peer's fault: one constant row each, in fault.c. */
struct h1_fault {
	const char *name;    /* a reason code for logs and counters: "chunk-size-bad" */
	const char *section; /* "RFC 9112 7.1" */
	const char *text;    /* a sentence */
	uint16_t status;     /* of the answer to a request: 400, 408, 414, 431, 501, 505 */
};
size_t h1_fault_index(const struct h1_fault *fault);
const char *h1_fault_name(size_t index); /* NULL after the last */

struct h1_limits {
	uint32_t head_bytes; /* of one head on the wire, its first line included: 431, 414 */
	/* Of its fields as RFC 9113 6.5.2 counts them, the request's target among them: oversize. A target that is
	 * larger by itself: 414. */
	uint32_t list_bytes;
	uint32_t trailer_bytes;   /* of one trailer section on the wire */
	uint32_t extension_bytes; /* of all chunk extensions of one message */
	uint32_t window_bytes;    /* of a body that the owner has not credited yet; then is_full */
	uint32_t interim_responses; /* client: to one request */
	usec head_timeout;          /* server: from the first byte of a head to its end; 0: none */
};
extern const struct h1_limits h1_limits_default;

struct h1_conn;

/* base64, and 0 behind it */
#define H1_WEBSOCKET_KEY 25
#define H1_WEBSOCKET_ACCEPT 29

/* Of the program, for all connections: randomness and SHA-1 are not this folder's. */
struct h1_websocket {
	void (*make_key)(char key[H1_WEBSOCKET_KEY]);
	void (*accept)(struct slice key, char accept[H1_WEBSOCKET_ACCEPT]);
};

struct h1_env {
	const struct h1_websocket *websocket; /* NULL: no WebSocket is opened or asked for */
	struct http_head_pool *heads;         /* borrows */
	struct budget *budget;                /* borrows: the connection's; pays for what waits */
	bool is_tls;   /* server: the scheme of requests that do not name one */
	bool is_proxy; /* server: what Host says beside a whole URI is ignored (RFC 9112 3.2.2) */
	void (*fault)(void *context, const struct h1_fault *fault); /* optional, for counters */
	void *fault_context;
	/* Optional: one line for each head that is received or sent. */
	void (*trace)(void *context, const char *line);
	void *trace_context;
};

struct h1_conn *h1_new(
    enum h1_role role, const struct h1_limits *limits, const struct h1_env *env, usec now);
void h1_free(struct h1_conn *c);

/* ---- input ---- */

/* Takes all bytes, and keeps a reference to the chunk while some of them have not been read. */
void h1_receive(struct h1_conn *c, struct chunk *chunk, size_t offset, size_t length, usec now);
/* Nothing more comes. is_clean: FIN, and over TLS close_notify before it. */
void h1_receive_end(struct h1_conn *c, bool is_clean);
bool h1_is_full(const struct h1_conn *c);

enum h1_event_kind {
	H1_EVENT_READY, /* client: the first event */
	/* `head` (the owner frees it), `end`. Server: `oversize`: the fields are over list_bytes,
	 * answer 431. With `fault`: the request cannot be read; `head` has the pseudo-fields that
	 * were found and is not validated; answer fault->status */
	H1_EVENT_HEAD,
	/* `piece`: lent until the next call; the owner owes h1_credit for it. `end` */
	H1_EVENT_DATA,
	H1_EVENT_TRAILERS, /* `head` (the owner frees it); ends the message */
	/* server: the request's body cannot be read on (`fault`); the stream is there for an answer */
	H1_EVENT_REFUSED,
	/* client: the response cannot be read on (`fault`). The stream is over; FAILED follows. That the
	 * peer ends the connection in the middle of a response is no event: the stream is just open */
	H1_EVENT_RESET,
	H1_EVENT_CLOSED, /* request and response are complete: the stream is over */
	H1_EVENT_FAILED, /* the connection is over, outside of any stream; `fault` may be NULL */
};

struct h1_event {
	enum h1_event_kind kind;
	void *user; /* of the stream; NULL when there is none */
	struct http_head *head;
	struct piece piece;
	const struct h1_fault *fault;
	const char *reason; /* a sentence for the log, or NULL */
	bool end, oversize;
};
/* False: there is none. */
bool h1_next_event(struct h1_conn *c, struct h1_event *event);

/* ---- output ---- */

/* Bytes to send, in this order: `before`, then `length` bytes from the front of the owner's body, then
 * `after`. Lent until the next call. `end`: the body, and the message, end with them. */
struct h1_output {
	struct slice before, after;
	uint32_t length;
	bool end;
	void *user;
};
/* At most `most` bytes of body. What it returns must be sent. False: nothing can be sent now. */
bool h1_next_output(struct h1_conn *c, uint32_t most, struct h1_output *output);
bool h1_wants_write(const struct h1_conn *c);
size_t h1_unsent_bytes(const struct h1_conn *c); /* of heads */
/* The owner has `bytes` of body for the stream; end: nothing follows them. Replaces the last offer. */
void h1_offer(struct h1_conn *c, size_t bytes, bool end);

/* ---- the one stream: a request and its response ---- */

bool h1_has_stream(const struct h1_conn *c);
void h1_set_user(struct h1_conn *c, void *user);

/* Client: whether a request may be sent now: 0 or 1. */
uint32_t h1_request_room(const struct h1_conn *c);
/* Client: the origin speaks HTTP/1.0 as far as its last response says: it takes no chunks, and does
 * not answer Expect. */
bool h1_peer_is_old(const struct h1_conn *c);
/* Client: how long the origin says that it keeps an idle connection (Keep-Alive); 0: it did not. */
usec h1_peer_keepalive(const struct h1_conn *c);
/* Client. False: there is no room. */
bool h1_request(struct h1_conn *c, const struct http_head *head, bool end, void *user);
/* Server: an interim or final head. False: nothing was sent; interim responses to HTTP/1.0 never are. */
bool h1_respond(struct h1_conn *c, const struct http_head *head, bool end);
/* Server: whether the present request may get interim responses. */
bool h1_takes_interim(const struct h1_conn *c);
/* After the whole body; head NULL: the end alone. Lost where the body has no chunks. */
void h1_trailers(struct h1_conn *c, const struct http_head *head);
/* The owner wants no more of the stream. Whatever is incomplete ends the connection; see
 * h1_must_abort. No event follows. */
void h1_reset(struct h1_conn *c);
void h1_credit(struct h1_conn *c, size_t bytes);
/* Our direction of a tunnel has ended, and all of it was given out. */
bool h1_has_finished(const struct h1_conn *c);
void h1_widen(struct h1_conn *c, uint32_t window); /* of this stream; never narrows it */

/* ---- the end ---- */

/* No request after the present one. */
void h1_shutdown(struct h1_conn *c);
/* Server: the client has ended its sending side, and still reads. */
void h1_half_close(struct h1_conn *c);
/* Ends the connection; no event follows. */
void h1_terminate(struct h1_conn *c);
bool h1_is_going_away(const struct h1_conn *c);
bool h1_is_done(const struct h1_conn *c); /* nothing is left to do: close when all has left */
bool h1_has_failed(const struct h1_conn *c);
/* A message was cut off that a clean end of the transport would complete, or make look complete. */
bool h1_must_abort(const struct h1_conn *c);

/* ---- time and questions ---- */

usec h1_deadline(const struct h1_conn *c); /* USEC_NEVER: none */
void h1_tick(struct h1_conn *c, usec now);
void h1_set_trace(struct h1_conn *c, void (*trace)(void *context, const char *line), void *context);
size_t h1_describe(const struct h1_conn *c, char *buffer, size_t size);
void h1_check(const struct h1_conn *c); /* every invariant */

#endif
