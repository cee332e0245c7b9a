/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/2 engine (RFC 9113, tolerant of RFC 7540 peers): one connection, either role. No I/O, no
 * clock, no log: bytes and the time come in, events and bytes go out.
 *
 *   input    h2_receive until it has consumed all; after each call h2_next_event until false
 *   output   h2_control (frames already made), then h2_next_data (one DATA frame each), until
 *            both are empty
 *   time     h2_deadline says when to call h2_tick next
 *   commands everything else; a command never emits an event about its own stream at once, but may
 *            leave one in the queue (H2_EVENT_CLOSED after the last DATA): drain events after output too
 *
 * Streams are handles; the owner can attach a pointer to each. A handle becomes invalid after its
 * H2_EVENT_RESET or H2_EVENT_CLOSED (at the next call of h2_next_event or h2_receive), in h2_reset,
 * and in h2_free. After H2_EVENT_FAILED every handle stays valid until h2_free, but commands on
 * them do nothing.
 *
 * A tunnel is the stream of a CONNECT that was answered with 2xx (RFC 9113 8.5). A CONNECT has `protocol`
 * if the server has announced that it takes it (enable_connect_protocol, RFC 8441). A client's HEAD event
 * with `opens_tunnel` begins the tunnel, a server's h2_respond. From then on there is DATA alone, and each
 * direction ends by itself.
 *
 * The peer's faults are rows (struct h2_fault); NULL = no fault. Bugs of this program fail
 * ensure().
 */
#ifndef PUSHGATE_H2_H2_H
#define PUSHGATE_H2_H2_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"
#include "proxy/base/clock.h"
#include "proxy/base/rate.h"
#include "proxy/http/head.h"
#include "proxy/http/priority.h"

enum h2_role { H2_SERVER, H2_CLIENT };

/* RFC 9113 7. */
enum h2_code {
	H2_NO_ERROR = 0x0,
	H2_PROTOCOL_ERROR = 0x1,
	H2_INTERNAL_ERROR = 0x2,
	H2_FLOW_CONTROL_ERROR = 0x3,
	H2_SETTINGS_TIMEOUT = 0x4,
	H2_STREAM_CLOSED = 0x5,
	H2_FRAME_SIZE_ERROR = 0x6,
	H2_REFUSED_STREAM = 0x7,
	H2_CANCEL = 0x8,
	H2_COMPRESSION_ERROR = 0x9,
	H2_CONNECT_ERROR = 0xa,
	H2_ENHANCE_YOUR_CALM = 0xb,
	H2_INADEQUATE_SECURITY = 0xc,
	H2_HTTP_1_1_REQUIRED = 0xd,
};
/* "PROTOCOL_ERROR", …; "UNKNOWN" for codes without a name. */
const char *h2_code_name(uint32_t code);

enum h2_scope { H2_SCOPE_STREAM, H2_SCOPE_CONNECTION };

/* A peer's fault: one constant row each, in fault.c. */
struct h2_fault {
	const char *name;    /* a reason code for logs and counters: "promise-on-stream-zero" */
	const char *section; /* "RFC 9113 6.6" */
	const char *text;    /* a sentence */
	enum h2_code code;
	enum h2_scope scope;
};

/* Rows are numbered from 0, for counters. */
size_t h2_fault_index(const struct h2_fault *fault);
const char *h2_fault_name(size_t index); /* NULL after the last */

/* RFC 9113 6.5.2, RFC 8441 3 and RFC 9218 2.1. */
struct h2_settings {
	uint32_t header_table_size;      /* 4096 */
	uint32_t enable_push;            /* 1 */
	uint32_t max_concurrent_streams; /* UINT32_MAX = no limit */
	uint32_t initial_window_size;    /* 65535 */
	uint32_t max_frame_size;         /* 16384 */
	uint32_t max_header_list_size;   /* UINT32_MAX = no limit */
	/* 0; a server's 1: requests may be a CONNECT with :protocol. A client's says nothing. */
	uint32_t enable_connect_protocol;
	uint32_t no_rfc7540_priorities; /* 0 */
};
/* The RFC's initial values. */
extern const struct h2_settings h2_settings_initial;

/*
 * Limits for one connection. Each rate has a row in guard.c with its fault (ENHANCE_YOUR_CALM on
 * the connection).
 */
struct h2_limits {
	/* Announced to the peer, besides the settings. */
	uint32_t connection_window; /* receive window of the connection, ≥ 65535 */
	/* Local resources. */
	uint32_t field_block_bytes;   /* ≤ LIMIT_FIELD_BLOCK_BYTES; above: ENHANCE_YOUR_CALM */
	uint32_t continuations;       /* in one block */
	uint32_t encoder_table_bytes; /* highest table size used, whatever the peer allows */
	uint32_t interim_responses;   /* client: of one request; above: the stream is reset */
	uint32_t reserved_streams;   /* client: promised and unanswered at a time; above: the engine
	                                   refuses with REFUSED_STREAM by itself */
	uint32_t control_bytes;      /* queued control output that the peer provoked (acks, pings,
	                                   resets); above: ENHANCE_YOUR_CALM */
	uint32_t request_list_bytes; /* client: of a request's fields, unless the peer announces
	                                   SETTINGS_MAX_HEADER_LIST_SIZE; UINT32_MAX: any */
	uint32_t output_bytes;       /* server: queued heads and promises; above: requests are
	                                   refused with REFUSED_STREAM, and interim responses left
	                                   out, until the peer has read */
	/* Floods. */
	struct rate resets_received; /* rapid reset (CVE-2023-44487) */
	struct rate resets_provoked; /* the peer's faults make us reset (CVE-2025-8671) */
	struct rate pings, settings, priorities, empty_frames, window_updates;
	struct rate promises; /* received promises */
	struct rate field_blocks;
	struct rate
	    expansion; /* server: KiB of fields beyond those of their blocks (RFC 7541 7.3) */
	/* Time. */
	usec preface_timeout;  /* server: the client's preface and first SETTINGS */
	usec settings_timeout; /* our SETTINGS to be acknowledged: SETTINGS_TIMEOUT */
	usec block_timeout;    /* HEADERS until END_HEADERS */
};
extern const struct h2_limits h2_limits_default;

struct h2_conn;
struct h2_stream;

struct h2_env {
	struct http_head_pool *heads; /* borrows */
	/* borrows: the connection's; the engine charges what a peer can make grow */
	struct budget *budget;
	uint64_t seed; /* the process's hash seed */
	/*
	 * Optional: called for each fault that becomes RST_STREAM or GOAWAY, for counters; many
	 * also cause an event. Must not call the engine.
	 */
	void (*fault)(void *context, const struct h2_fault *fault);
	void *fault_context;
	/*
	 * Optional: called for each frame received or sent, with one line ("s5 <- HEADERS len=41
	 * end").
	 */
	void (*trace)(void *context, const char *line);
	void *trace_context;
};

/*
 * Makes a connection and queues its preface, SETTINGS, and the connection's WINDOW_UPDATE. A server
 * never announces ENABLE_PUSH (RFC 9113 6.5.2). Copies `local` and `env`; borrows `limits`.
 */
struct h2_conn *h2_new(enum h2_role role, const struct h2_settings *local,
    const struct h2_limits *limits, const struct h2_env *env, usec now);
void h2_free(struct h2_conn *c);

/* ---- input ---- */

/*
 * Receives bytes from the peer: chunk->data[offset, offset+length). Returns how many were consumed:
 * all, or up to the end of the first frame (or piece of a DATA payload) that caused an event: fetch
 * the events, then call again with the rest. After H2_EVENT_FAILED everything is consumed and
 * ignored.
 */
size_t h2_receive(struct h2_conn *c, struct chunk *chunk, size_t offset, size_t length, usec now);
/* The peer closed its side of the transport: causes FAILED, unless the connection had ended. */
void h2_receive_eof(struct h2_conn *c);

enum h2_event_kind {
	H2_EVENT_SETTINGS, /* the peer's SETTINGS apply now: h2_peer_settings */
	H2_EVENT_HEAD,     /* `head` (the owner frees it), `end` */
	H2_EVENT_DATA, /* `piece` (borrows the chunk given to h2_receive: hold it to keep it), `end`. The
	                      owner owes h2_credit for these bytes, whatever becomes of them. */
	H2_EVENT_TRAILERS, /* `head` (takes); ends the stream's receiving side */
	H2_EVENT_PROMISE, /* client: `stream` is the parent, `promised` the new stream, `head` (takes). With `fault`:
	                      malformed and refused by the engine, for the log only: `promised` and `head` are
	                      NULL, `reason` says what was wrong, `last_id` is the promised id */
	H2_EVENT_RESET, /* the stream is over: by the peer (`fault` NULL, `code`) or by us for the peer's `fault`.
	                      `unprocessed`: GOAWAY or REFUSED_STREAM says that the peer did nothing */
	H2_EVENT_CLOSED, /* both sides ended normally */
	/* from the peer: `code`, `last_id`, `debug`; no new streams can be opened */
	H2_EVENT_GOAWAY,
	H2_EVENT_PONG, /* an h2_ping was answered */
	H2_EVENT_FAILED, /* the connection is over: `fault` (peer's, NULL = transport or GOAWAY with error),
	                      `code`. Flush the output, then close. The owner ends each stream */
};

struct h2_event {
	enum h2_event_kind kind;
	struct h2_stream *stream, *promised;
	void *user; /* the owner's pointer of `stream`; NULL if not set */
	struct http_head *head;
	struct piece piece;
	const struct h2_fault *fault;
	/* RESET, PROMISE: the error of http_head_validate, for the log; or NULL */
	const char *reason;
	uint32_t code, last_id;
	struct slice debug; /* lent until the next call */
	bool end;           /* END_STREAM: the receiving side ends with this event */
	/*
	 * HEAD at a server: the field list is over the limit; `head` has only the pseudo-fields so
	 * far and is not validated: answer 431. RESET: the field list of a response or trailers was
	 * over the limit.
	 */
	bool oversize;
	bool unprocessed;
};

/* The next event; NULL: there are no more. Lent until the next call that is not a question. */
const struct h2_event *h2_take_event(struct h2_conn *c);
/* The same, copied. False: there are no more events. */
static inline bool h2_next_event(struct h2_conn *c, struct h2_event *event)
{
	const struct h2_event *next = h2_take_event(c);
	if (next)
		*event = *next;
	return next != NULL;
}

/* ---- output ---- */

/*
 * Frames ready to send, in order, contiguous; valid until the next command. Send all of them before
 * any further DATA frame.
 */
struct slice h2_control(const struct h2_conn *c);
void h2_control_taken(struct h2_conn *c, size_t bytes);

/*
 * Tells the engine how much body the owner has for a stream: `bytes` bytes, and with `end` the end
 * of the stream behind them. Replaces the previous offer; h2_next_data counts down. Do not call it
 * after `end` was sent.
 */
void h2_offer(struct h2_conn *c, struct h2_stream *s, size_t bytes, bool end);

struct h2_data_frame {
	struct h2_stream *stream;
	void *user;
	/* DATA bytes that the owner must write after the header, from the front of its body */
	uint32_t length;
	bool end;
	uint8_t header[9];
};

/*
 * The next DATA frame by RFC 9218 (urgency first; incremental streams take turns), at most `most`
 * bytes of payload. If it returns true the frame must be sent: windows are charged, and the stream
 * may be closed (its CLOSED event queued). False: no DATA can be sent now.
 */
bool h2_next_data(struct h2_conn *c, uint32_t most, struct h2_data_frame *frame);
/* True if h2_control or h2_next_data has output. */
bool h2_wants_write(const struct h2_conn *c);

/* ---- commands ---- */

/*
 * How many more requests may be opened now, by the peer's MAX_CONCURRENT_STREAMS (100 until its
 * SETTINGS have come), ids and GOAWAY. 0 if failed or shutting down.
 */
uint32_t h2_request_room(const struct h2_conn *c);
/* Client: opens a stream. NULL if h2_request_room is 0 or the budget refuses. */
struct h2_stream *h2_request(struct h2_conn *c, const struct http_head *head, bool end, void *user);
/*
 * Server: sends an interim or final response head. On a pushed stream only while h2_push_room is
 * not 0. False (nothing was sent): the stream accepts no head any more, or the head is interim and
 * output_bytes of heads are queued.
 */
bool h2_respond(struct h2_conn *c, struct h2_stream *s, const struct http_head *head, bool end);
/*
 * Sends trailers, which end the stream's sending side. Call it after h2_next_data has taken all
 * DATA. A CONNECT and a tunnel have no trailers (RFC 9113 8.5): there the end alone is sent.
 */
bool h2_trailers(struct h2_conn *c, struct h2_stream *s, const struct http_head *head);

/* Server: why a promise on this parent is impossible now. */
enum h2_promise_answer {
	H2_PROMISE_POSSIBLE,
	H2_PROMISE_DISABLED,   /* ENABLE_PUSH is 0 */
	H2_PROMISE_NO_STREAMS, /* MAX_CONCURRENT_STREAMS is 0 */
	/* not open or half-closed (remote), or itself pushed, or a tunnel */
	H2_PROMISE_PARENT_CLOSED,
	H2_PROMISE_GOING_AWAY,
	H2_PROMISE_NO_IDS,
};
enum h2_promise_answer h2_may_promise(const struct h2_conn *c, const struct h2_stream *parent);
/*
 * Queues PUSH_PROMISE. NULL unless H2_PROMISE_POSSIBLE. The promised stream begins one step less
 * urgent than its parent, so that it never starves it.
 */
struct h2_stream *h2_promise(
    struct h2_conn *c, struct h2_stream *parent, const struct http_head *request, void *user);
/* Server: how many pushed responses may begin now (the client's MAX_CONCURRENT_STREAMS). */
uint32_t h2_push_room(const struct h2_conn *c);

/*
 * Sends RST_STREAM. The handle is invalid afterwards; no event follows. Frames that still arrive
 * for the stream are ignored.
 */
void h2_reset(struct h2_conn *c, struct h2_stream *s, uint32_t code);
/*
 * The owner has processed n bytes of DATA events: sends the stream's WINDOW_UPDATE at half the
 * window. The engine itself gives connection credit on receipt.
 */
void h2_credit(struct h2_conn *c, struct h2_stream *s, size_t bytes);
/*
 * Enlarges this stream's receive window to `window` and sends the difference at once. Never shrinks
 * it.
 */
void h2_set_window(struct h2_conn *c, struct h2_stream *s, uint32_t window);
void h2_set_priority(struct h2_conn *c, struct h2_stream *s, struct http_priority priority);
/* Sends a PING; H2_EVENT_PONG tells the round trip. False: one is already in transit. */
bool h2_ping(struct h2_conn *c, usec now);
/*
 * Graceful shutdown: sends GOAWAY with the highest id that the peer could open, and after a round
 * trip (or a second) GOAWAY with the last id. Streams continue. Idempotent.
 */
void h2_shutdown(struct h2_conn *c, usec now);
/*
 * Server: the peer has ended its sending side in good order, and still reads. Nothing of it is waited
 * for any more; sends GOAWAY with the last id. Streams continue.
 */
void h2_half_close(struct h2_conn *c, usec now);
/*
 * Ends the connection at once: sends GOAWAY with the last id and the code. No event follows, not
 * even FAILED; the owner ends its streams.
 */
void h2_terminate(struct h2_conn *c, enum h2_code code, struct slice debug);
/*
 * Changes this side's settings. Only max_concurrent_streams, initial_window_size and enable_push
 * (to 0) may change.
 */
void h2_update_settings(struct h2_conn *c, const struct h2_settings *local, usec now);

/* ---- time ---- */

usec h2_deadline(const struct h2_conn *c); /* USEC_NEVER if there is none */
void h2_tick(struct h2_conn *c, usec now);

/* ---- questions ---- */

void h2_stream_set_user(struct h2_stream *s, void *user);
uint32_t h2_stream_id(const struct h2_stream *s);
struct http_priority h2_stream_priority(const struct h2_stream *s);
/* DATA bytes that flow control allows now on the stream (stream and connection window). */
uint32_t h2_stream_window(const struct h2_conn *c, const struct h2_stream *s);
/* The stream's own window is used up, whatever the connection's is. */
bool h2_stream_is_shut(const struct h2_stream *s);
const struct h2_settings *h2_peer_settings(const struct h2_conn *c);
const struct h2_settings *h2_local_settings(const struct h2_conn *c); /* announced last */
/* The largest field section that may be sent: the peer's SETTINGS_MAX_HEADER_LIST_SIZE, else the limit
 * request_list_bytes. */
uint32_t h2_list_bytes_most(const struct h2_conn *c);
/*
 * No stream is open, and GOAWAY was sent or received or the connection has failed: flush the
 * output, then close the transport.
 */
bool h2_is_done(const struct h2_conn *c);
bool h2_has_failed(const struct h2_conn *c);
bool h2_is_going_away(const struct h2_conn *c); /* GOAWAY sent or received */
/* One line per connection and stream, for the status page and the crash dump. Returns its length.
 * */
size_t h2_describe(const struct h2_conn *c, char *buffer, size_t size);
/* Changes the trace of h2_env; trace NULL ends it. May be called by the trace itself. */
void h2_set_trace(struct h2_conn *c, void (*trace)(void *context, const char *line), void *context);
/* Checks every invariant (debug and fuzz builds). */
void h2_check(const struct h2_conn *c);

/* The frame types, flags and the 9-byte header for tests, trace and tools (RFC 9113 4.1, 6). */
enum h2_frame_type {
	H2_DATA = 0x0,
	H2_HEADERS = 0x1,
	H2_PRIORITY = 0x2,
	H2_RST_STREAM = 0x3,
	H2_SETTINGS = 0x4,
	H2_PUSH_PROMISE = 0x5,
	H2_PING = 0x6,
	H2_GOAWAY = 0x7,
	H2_WINDOW_UPDATE = 0x8,
	H2_CONTINUATION = 0x9,
	H2_PRIORITY_UPDATE = 0x10,
};
enum h2_flag {
	H2_END_STREAM = 0x1,
	H2_ACK = 0x1,
	H2_END_HEADERS = 0x4,
	H2_PADDED = 0x8,
	H2_HAS_PRIORITY = 0x20,
};
/* The client connection preface (RFC 9113 3.4). */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define H2_PREFACE_LEN 24u

#endif
