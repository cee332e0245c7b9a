/* SPDX-License-Identifier: MIT */
/*
 * The contract of one connection's protocol, whichever version of HTTP it is. h1/ and h2/ implement
 * it without I/O and without a clock. The owner of the transport (client/ for a client's connection,
 * origin/ for an origin's) drives a session and knows no version:
 *
 *   input    session_receive until it has consumed all bytes; after each call session_next_event
 *            until it returns false
 *   output   session_next_output until it returns false; then session_next_event again, since output
 *            may end streams
 *   time     session_deadline says when session_tick wants to be called
 *   commands everything else; a command reports nothing by itself at once, but may leave an event
 *
 * A stream is a handle on which the owner hangs a pointer (`user`). A handle dies with its
 * SESSION_EVENT_RESET or SESSION_EVENT_CLOSED, at the next call of session_next_event or
 * session_receive, in session_reset, and in session_free. After SESSION_EVENT_FAILED every handle
 * stays valid until session_free, but commands do nothing.
 */
#ifndef PUSHGATE_SESSION_SESSION_H
#define PUSHGATE_SESSION_SESSION_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"
#include "proxy/base/clock.h"
#include "proxy/base/hop_settings.h"
#include "proxy/http/head.h"
#include "proxy/http/priority.h"

struct session;

/* The head of every stream; the protocol's own state follows it. */
struct session_stream {
	void *user; /* the owner's */
};

/* Codes that end a stream or a connection (RFC 9113 7); a version without codes maps them. */
enum session_code {
	SESSION_NO_ERROR = 0x0,
	SESSION_PROTOCOL_ERROR = 0x1,
	SESSION_INTERNAL_ERROR = 0x2,
	SESSION_FLOW_CONTROL_ERROR = 0x3,
	SESSION_SETTINGS_TIMEOUT = 0x4,
	SESSION_STREAM_CLOSED = 0x5,
	SESSION_FRAME_SIZE_ERROR = 0x6,
	SESSION_REFUSED_STREAM = 0x7,
	SESSION_CANCEL = 0x8,
	SESSION_COMPRESSION_ERROR = 0x9,
	SESSION_CONNECT_ERROR = 0xa,
	SESSION_ENHANCE_YOUR_CALM = 0xb,
	SESSION_INADEQUATE_SECURITY = 0xc,
	SESSION_HTTP_1_1_REQUIRED = 0xd,
};
const char *session_code_name(uint32_t code); /* "CANCEL"; "UNKNOWN" for any other number */

/* The answer to a request that cannot be read; the connection ends behind it. */
enum session_refusal {
	SESSION_REFUSAL_NONE,
	SESSION_REFUSAL_MALFORMED, /* 400 */
	SESSION_REFUSAL_LATE,      /* 408: its head did not come in time */
	SESSION_REFUSAL_TARGET,    /* 414: its target is too long */
	SESSION_REFUSAL_FIELDS,    /* 431: its fields are too large */
	SESSION_REFUSAL_CODING,    /* 501: a transfer coding that we do not know */
	SESSION_REFUSAL_VERSION,   /* 505: another major version of HTTP */
};

enum session_scope { SESSION_SCOPE_STREAM, SESSION_SCOPE_CONNECTION };

/* A peer's violation of the protocol: one constant row each, in the protocol's table. */
struct session_fault {
	const char *name;       /* a reason code for logs and counters: "promise-on-stream-zero" */
	const char *section;    /* "RFC 9113 6.6" */
	const char *text;       /* a sentence */
	enum session_code code; /* of the RST_STREAM or GOAWAY that answers it */
	enum session_scope scope;
	enum session_refusal refusal; /* of the answer to a request that cannot be read */
};

/* The peer exceeded a rate limit, which ends the connection. */
static inline bool session_fault_is_flood(const struct session_fault *f)
{
	return f->scope == SESSION_SCOPE_CONNECTION && f->code == SESSION_ENHANCE_YOUR_CALM;
}

/* ---- events ---- */

enum session_event_kind {
	SESSION_EVENT_READY, /* the peer's settings are in force: requests may be sent to an origin */
	/* `head` (yours to free), `end`; `oversize`: answer 431. `refusal`: the request cannot be read;
	 * `fault` and `reason` say why, `head` has what could be read and is not validated; answer it */
	SESSION_EVENT_HEAD,
	/* `piece` (lent until the next call: hold the chunk to keep it), `end`. The owner owes
	 * session_credit for these bytes, whatever becomes of them. */
	SESSION_EVENT_DATA,
	SESSION_EVENT_TRAILERS, /* `head` (yours to free); ends the receiving side */
	/* The request's body cannot be read on: `fault`, `reason`. The stream is still there for an
	 * answer of `refusal`; nothing more comes from the client. */
	SESSION_EVENT_REFUSED,
	/* origins: `stream` is the parent, `promised` the new stream, `head` (yours to free).
	 * `promised` NULL: the session has refused it already, `fault` says why; `last_id` is its id */
	SESSION_EVENT_PROMISE,
	/* the stream is over: by the peer (`fault` NULL, `code`), or by us for its `fault`.
	 * `unprocessed`: the peer did not process the request, so it may be sent again */
	SESSION_EVENT_RESET,
	SESSION_EVENT_CLOSED, /* both sides of the stream ended normally */
	/* The peer accepts no new streams; `code`, `last_id`, `debug`. `stream`: the first one that it has not
	 * processed; NULL: it has processed all */
	SESSION_EVENT_GOAWAY,
	SESSION_EVENT_PONG,   /* a session_ping came back */
	SESSION_EVENT_FAILED, /* the connection is over: flush the output, then close */
};

struct session_event {
	enum session_event_kind kind;
	uint32_t code, last_id;
	struct session_stream *stream, *promised;
	void *user; /* of `stream`; NULL when the owner set none */
	struct piece piece;
	struct http_head *head;
	const struct session_fault *fault;
	const char *reason; /* HEAD, REFUSED, RESET, PROMISE: what was wrong, or NULL */
	struct slice debug; /* GOAWAY: the peer's own words; lent until the next call */
	enum session_refusal refusal;
	/* `end`: the receiving side ends with this event. `oversize`: of RESET too: a list of fields was
	 * over the limit. */
	bool end, oversize, unprocessed;
};

/* Bytes to send, in this order: `before`, then `length` bytes from the front of the stream's body, then
 * `after`. Lent until the next call. */
struct session_output {
	struct slice before, after;
	struct session_stream *stream; /* NULL: no body */
	uint32_t length;
	bool end; /* the stream's body ends with these bytes */
};

/* ---- sessions ---- */

/* The abilities of a session, whether or not its peer allows them at the moment. */
enum session_capability {
	SESSION_MULTIPLEXES = 1,  /* several requests at a time */
	SESSION_SENDS_PUSHES = 2, /* PUSH_PROMISE to a client */
	SESSION_TAKES_PUSHES = 4, /* PUSH_PROMISE from an origin */
	SESSION_TRAILERS = 8,     /* else their fields are lost, and the body ends */
	SESSION_INTERIM = 16,     /* 1xx responses beside 100 */
	SESSION_PINGS = 32,       /* session_ping is answered */
	SESSION_HINTS = 64,       /* a client reads 103 (Early Hints) that it has not asked for */
	SESSION_TUNNELS = 128,    /* a request may become a tunnel, if the peer allows it too */
	/* gRPC: both bodies at the same time, and trailers that reach every peer */
	SESSION_CALLS = 256,
};

/* Whether a request can be sent on this session at all. */
enum session_fit {
	SESSION_FITS,
	SESSION_HEAD_LARGE,   /* the peer has announced that it takes no head of this size */
	SESSION_NEEDS_LENGTH, /* the peer takes no body of unknown length (HTTP/1.0) */
	SESSION_NO_TUNNEL,    /* the peer has not announced that it takes :protocol (RFC 8441 3) */
};

/* The abilities that the peer allows at the moment. */
struct session_peer {
	bool takes_pushes;   /* ENABLE_PUSH */
	bool takes_streams;  /* MAX_CONCURRENT_STREAMS is not 0 */
	bool takes_interim;  /* 1xx responses: false for a request in HTTP/1.0 */
	bool takes_tunnels;  /* an origin: a CONNECT with :protocol; HTTP/1.1: Upgrade */
	bool answers_expect; /* an origin: Expect: 100-continue; false: it speaks HTTP/1.0 */
	bool is_going_away;  /* GOAWAY sent or received; HTTP/1: no request after this one */
	bool goaway_came;    /* GOAWAY received: the peer takes no more streams */
	usec keepalive;      /* how long the peer keeps an idle connection; 0 = it did not say */
	size_t unsent_bytes; /* heads and promises that have not left yet */
};

/* Members marked "may be NULL" are so in sessions that have no use for them. */
struct session_ops {
	const char *name; /* "h2" */
	unsigned capabilities;
	void (*free)(struct session *s);
	/* input */
	size_t (*receive)(
	    struct session *s, struct chunk *chunk, size_t offset, size_t length, usec now);
	bool (*next_event)(struct session *s, struct session_event *event);
	/* The owner should not read from the transport: received bytes wait for credit, or for their turn.
	 * May be NULL: never. */
	bool (*is_full)(const struct session *s);
	/* Nothing more will come from the peer. is_clean: it said so (FIN, over TLS close_notify);
	 * else bytes may be missing. Events may follow. May be NULL. */
	void (*ended)(struct session *s, bool is_clean);
	/* output */
	bool (*next_output)(struct session *s, uint32_t most, struct session_output *output);
	bool (*wants_write)(const struct session *s);
	void (*offer)(struct session *s, struct session_stream *stream, size_t bytes, bool end);
	/* to an origin */
	uint32_t (*request_room)(const struct session *s); /* requests that may be sent now */
	enum session_fit (*request_fits)(
	    const struct session *s, const struct http_head *head, bool end);
	struct session_stream *(*request)(
	    struct session *s, const struct http_head *head, bool end, void *user);
	void (*refuse_pushes)(struct session *s, usec now); /* may be NULL, as ping */
	void (*widen)(struct session *s, struct session_stream *stream, uint32_t window);
	bool (*ping)(struct session *s, usec now);
	/* to a client */
	bool (*respond)(struct session *s, struct session_stream *stream,
	    const struct http_head *head, bool end);
	/* May be NULL, as push_room: no pushes. */
	struct session_stream *(*promise)(struct session *s, struct session_stream *parent,
	    const struct http_head *request, void *user);
	uint32_t (*push_room)(const struct session *s);
	/* to a client, or to an origin in a session that multiplexes */
	void (*set_priority)(
	    struct session *s, struct session_stream *stream, struct http_priority priority);
	struct http_priority (*priority)(
	    const struct session *s, const struct session_stream *stream);
	/* both; a stream whose answer was a head with opens_tunnel carries bytes in both directions from
	 * then on, each of which ends by itself. head NULL: the end alone, since the session does not have SESSION_TRAILERS */
	bool (*trailers)(
	    struct session *s, struct session_stream *stream, const struct http_head *head);
	void (*reset)(struct session *s, struct session_stream *stream, uint32_t code);
	void (*credit)(struct session *s, struct session_stream *stream, size_t bytes);
	void (*shutdown)(struct session *s, usec now);
	void (*half_close)(struct session *s, usec now); /* to a client */
	void (*terminate)(struct session *s, uint32_t code, struct slice why);
	/* time; both may be NULL: nothing is ever due */
	usec (*deadline)(const struct session *s);
	void (*tick)(struct session *s, usec now);
	/* questions */
	struct session_peer (*peer)(const struct session *s);
	/* What both sides have announced, to be shown to people. May be NULL: the protocol has no settings. */
	void (*settings)(
	    const struct session *s, struct hop_settings *ours, struct hop_settings *theirs);
	/* May be NULL, as the next: there are no windows. */
	uint32_t (*stream_window)(const struct session *s, const struct session_stream *stream);
	/* The stream's own window is used up; the connection's does not count. */
	bool (*stream_is_shut)(const struct session *s, const struct session_stream *stream);
	bool (*is_done)(const struct session *s);
	/* Our side of the one stream has ended, and the peer's may go on: a tunnel. The sending side of
	 * the transport ends when all has left. May be NULL: never. */
	bool (*has_finished)(const struct session *s);
	/* The transport must be aborted: a clean end would look like the end of a message. May
	 * be NULL: never. */
	bool (*must_abort)(const struct session *s);
	bool (*has_failed)(const struct session *s);
	size_t (*describe)(const struct session *s, char *buffer, size_t size);
	void (*check)(const struct session *s);
};

/* The owner of the transports gives this to all of its sessions. */
struct session_env {
	struct http_head_pool *heads; /* borrows */
	uint64_t seed;
	/* Called for each fault that ends a stream or the connection, for counters: index is its place among
	 * all protocols' faults. Must not call the session. May be NULL. */
	void (*fault)(void *context, const struct session_fault *fault, size_t index);
	void *context;
	/* Called with one line for each frame, or each head, that a traced session receives or sends. It
	 * may call session_trace. */
	void (*trace)(void *traced, const char *line);
	/* front returns the next piece (borrowed, at most `most` bytes) of the body that the owner
	 * offered on the stream with this `user`. taken reports that n bytes of it, and with `end`
	 * the end, have been put into a send. */
	struct piece (*front)(void *user, size_t most);
	void (*taken)(void *user, size_t n, bool end);
};

/* The owner gives this to one session. */
struct session_conn {
	struct budget *budget; /* borrows: the connection's */
	void *traced;          /* for env->trace; NULL: this session is not traced */
	bool is_tls;           /* the scheme of requests that do not name one */
};

/* The head of every session; the protocol's own state follows it. */
struct session {
	const struct session_ops *ops;
	const struct session_env *env; /* borrows */
	void *traced;
	size_t first_fault; /* in the counters of all protocols' faults */
};

#include "proxy/session/session_calls.h"

#endif
