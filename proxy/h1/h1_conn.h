/* SPDX-License-Identifier: MIT */
/*
 * Private to h1/: a connection, as the object that its files implement together.
 *
 *   input.c       received bytes that have not been read: pieces; whole lines of a head
 *   h1_head.c     the first line and the fields become a head
 *   framing.c     the fields for this hop: how the message ends, whether the connection goes on
 *   body.c        the body: content-length, chunks, trailers, or to the end of the connection
 *   events.c      one event at a time out of the above
 *   h1_tunnel.c   requests that ask for a tunnel, and answers that open one
 *   output.c      heads and framing of messages to the peer
 *   h1_conn.c     the stream, faults, the trace
 *   h1_session.c  the functions that the owner may call: life, commands, time, questions
 */
#ifndef PUSHGATE_H1_H1_CONN_H
#define PUSHGATE_H1_H1_CONN_H

#include "proxy/h1/h1_fault.h"

/* The part of a message to which the next byte of the peer belongs. */
enum h1_reading {
	H1_READ_START,    /* the first byte of a head */
	H1_READ_HEAD,     /* a head that has begun */
	H1_READ_LENGTH,   /* a body with content-length */
	H1_READ_CHUNKS,   /* a chunked body */
	H1_READ_TRAILERS, /* the trailer section of one */
	H1_READ_TO_END,   /* a response's body that ends with the connection */
	H1_READ_TUNNEL,   /* one direction of a tunnel, which ends with the connection */
	H1_READ_DONE,     /* the message is complete: further bytes wait */
	H1_READ_NOTHING,  /* nothing is read any more, further bytes are dropped */
};

/* Where in the framing of a chunk the next byte stands (RFC 9112 7.1). */
enum h1_chunk_part {
	H1_CHUNK_SIZE_FIRST,
	H1_CHUNK_SIZE,
	/* Extensions: whitespace may stand around ";" and "=", but not at the end. */
	H1_CHUNK_SPACE, /* behind the size: an extension must follow */
	H1_CHUNK_NAME_FIRST,
	H1_CHUNK_NAME,
	H1_CHUNK_NAME_SPACE,
	H1_CHUNK_VALUE_FIRST,
	H1_CHUNK_VALUE,
	H1_CHUNK_QUOTED,
	H1_CHUNK_ESCAPED,
	H1_CHUNK_QUOTED_END,
	H1_CHUNK_VALUE_SPACE,
	H1_CHUNK_LINE_LF,
	H1_CHUNK_DATA,
	H1_CHUNK_DATA_CR,
	H1_CHUNK_DATA_LF,
};

/* How the body that goes to the peer is framed. */
enum h1_writing {
	H1_WRITE_NOTHING, /* no head was sent, or the message has no body */
	H1_WRITE_LENGTH,
	H1_WRITE_CHUNKS,
	H1_WRITE_TO_END, /* the end of the connection ends it */
	H1_WRITE_HELD,   /* client: bytes of a tunnel that has not been opened yet wait */
	H1_WRITE_TUNNEL, /* one direction of a tunnel: the end of the sending side ends it */
};

/* Bytes of a head that came in several pieces; or of heads that wait to be sent. */
struct h1_buffer {
	char *bytes;
	size_t length, capacity;
};
/* Makes room for n more bytes, and returns where they go. */
char *h1_buffer_reserve(struct h1_buffer *b, size_t n);
void h1_buffer_add(struct h1_buffer *b, struct slice bytes);
void h1_buffer_free(struct h1_buffer *b);

/* Received bytes that have not been read. */
struct h1_input {
	struct piece at;    /* holds its chunk; length 0: it was read, `chunk` may be lent out */
	struct piece *more; /* behind it; each holds its chunk */
	uint32_t first, count, capacity;
	struct h1_buffer head; /* of the present head or trailer section */
	size_t line_bytes;     /* of its present line, so far */
	bool ends_with_cr;     /* the last byte in `head` */
	bool has_ended;        /* nothing more will come */
	bool was_cut;          /* the end was not clean: it ends no message and no tunnel */
};

/* No sender needs more than one Upgrade field. */
#define H1_UPGRADES_MOST 4u

/* The statements of a head's fields about this hop. */
struct h1_hop {
	uint32_t codings; /* members of Transfer-Encoding */
	bool is_chunked;  /* the last one is chunked */
	bool has_other_coding, has_chunked_twice;
	bool has_length;
	bool has_host;
	bool closes, keeps, names_upgrade; /* options of Connection */
	uint32_t option_count;
	usec keepalive; /* Keep-Alive: timeout, 0 = none */
	uint32_t nominated_count;
	uint32_t upgrade_count; /* Upgrade fields */
	struct slice nominated[32];
	struct slice upgrades[H1_UPGRADES_MOST]; /* their values */
};

struct h1_stream {
	struct session_stream base;
	bool is_open;
	bool was_read;     /* its incoming message is complete */
	bool was_written;  /* its outgoing message is complete */
	bool has_left;     /* bytes of its outgoing message were given out */
	bool has_answer;   /* server: a final head was sent; client: one came */
	bool is_old;       /* server: the request is in HTTP/1.0 */
	bool asks_upgrade; /* server: its head was given out with `upgrade` */
	enum http_method method;
	struct http_priority priority;
	uint32_t interims;
};

struct h1_conn {
	struct session session;
	enum h1_role role;
	const struct h1_config *config; /* borrows */
	struct budget *budget;          /* borrows: the connection's; pays for bytes that wait */
	bool is_tls;                    /* server: the scheme of requests that do not name one */
	usec now;
	struct h1_input input;
	/* The incoming message. */
	enum h1_reading reading;
	uint64_t body_left; /* H1_READ_LENGTH; of the present chunk */
	enum h1_chunk_part chunk;
	uint32_t size_digits;
	uint32_t extension_bytes; /* of this message */
	size_t owed;              /* bytes of DATA events without credit */
	uint32_t window;          /* of this stream */
	/* Server: since when a head is owed: for the deadline. USEC_NEVER: none is. 0: it begins with
	 * the next session_tick, because `now` is older. */
	usec head_since;
	bool now_is_old;   /* the time has gone on since the bytes that are read now came */
	bool is_late;      /* the head is */
	bool skipped_line; /* one empty line before a request line (RFC 9112 2.2) */
	bool line_was_checked;
	struct h1_buffer
	    nominated; /* by Connection, of a message that may have trailers; each with a comma */
	/* The outgoing message. */
	struct h1_buffer output;
	bool
	    output_lent; /* the last call for output returned it: it is empty from the next call on */
	enum h1_writing writing;
	bool body_follows;   /* the head was sent, and the end of the message was not */
	uint64_t write_left; /* H1_WRITE_LENGTH */
	size_t offered;
	bool offered_end;
	/* A request for a tunnel: the key of WebSocket, the client's or ours ("": none), and the
	 * protocol that we asked an origin for. */
	char websocket_key[H1_WEBSOCKET_KEY];
	struct h1_buffer asked_protocol;
	struct h1_stream stream;
	/* The connection. */
	bool keeps;    /* another exchange may follow the present one */
	bool is_going; /* session_shutdown: no request after the present one */
	bool has_failed;
	bool must_abort;
	bool was_ready; /* client: SESSION_EVENT_READY was given out */
	/* SESSION_EVENT_FAILED is the next event, for this fault. */
	bool failure_is_due;
	const struct session_fault *failure;
	size_t charged; /* to the budget, for held chunks and buffers */
	/* Client: of the origin's last final response. */
	bool peer_is_old;
	usec peer_keepalive;
};

static inline struct h1_conn *h1_of(const struct session *s)
{
	return (struct h1_conn *)(uintptr_t)s;
}

/* Begins an event of the one stream. */
static inline void h1_event_make(
    struct h1_conn *c, struct session_event *event, enum session_event_kind kind)
{
	*event = (struct session_event){
	    .kind = kind, .stream = &c->stream.base, .user = c->stream.base.user};
}

static inline void h1_count_fault(const struct h1_conn *c, const struct session_fault *fault)
{
	session_count_fault(&c->session, fault, (size_t)(fault - h1_faults));
}

/* The event is due to this fault, which is counted. */
static inline void h1_event_blame(const struct h1_conn *c, struct session_event *event,
    const struct session_fault *fault, const char *reason)
{
	event->fault = fault;
	event->reason = reason;
	event->code = fault->code;
	event->refusal = c->role == H1_SERVER ? fault->refusal : SESSION_REFUSAL_NONE;
	h1_count_fault(c, fault);
}

/* ---- input.c ---- */

void h1_input_fini(struct h1_conn *c);
void h1_input_add(struct h1_conn *c, struct chunk *chunk, size_t offset, size_t length);
void h1_input_drop(struct h1_conn *c); /* the received bytes are not wanted */
/* The bytes at the front; empty: there are none. Valid until the next call of any of these. */
struct slice h1_input_front(struct h1_conn *c);
void h1_input_take(struct h1_conn *c, size_t n); /* of those at the front */
/* The same n bytes, as a piece: valid until the next h1_input_front. */
struct piece h1_input_take_piece(struct h1_conn *c, size_t n);
void h1_input_skip(struct h1_conn *c, size_t n); /* of all that is here; releases nothing */
size_t h1_input_bytes(const struct h1_conn *c);
size_t h1_input_held(const struct h1_conn *c); /* memory of the bytes that wait */
/*
 * Reads lines up to the empty one. Returns true when it has come: then *head is everything before it,
 * each line with its CRLF, and the next call begins anew; *head is valid until the next call of any of these.
 * False with *fault NULL: more bytes are needed.
 */
bool h1_input_lines(
    struct h1_conn *c, size_t most, struct slice *head, const struct session_fault **fault);

/* ---- h1_head.c ---- */

/* Makes a head of the bytes, with `oversize` when its fields are over list_bytes: then it is not
 * validated. Returns NULL, or the fault, with *reason (may be NULL) for people. */
const struct session_fault *h1_read_request(struct h1_conn *c, struct slice bytes,
    struct http_head *head, struct h1_hop *hop, bool *oversize, const char **reason);
const struct session_fault *h1_read_response(struct h1_conn *c, struct slice bytes,
    struct http_head *head, struct h1_hop *hop, bool *oversize, const char **reason);
const struct session_fault *h1_read_trailers(
    struct h1_conn *c, struct slice bytes, struct http_head *head, const char **reason);
/* Whether this may be the first line of a request, without its CRLF; for lines whose head may never end. */
const struct session_fault *h1_check_request_line(struct slice line);
/* Puts the parts of the line into a head that is not validated. */
void h1_read_request_line(const struct h1_conn *c, struct slice line, struct http_head *head);

/* ---- framing.c ---- */

void h1_hop_init(struct h1_hop *hop);
/* Looks at one field. Returns true when the field is for this hop alone, and not for the head. */
bool h1_hop_field(struct h1_hop *hop, enum http_token token, struct slice value);
/* Whether the sender would change to another protocol than HTTP/2, which needs no Upgrade here. */
bool h1_hop_upgrades(const struct h1_hop *hop);
/* Removes the fields that Connection nominates. Returns NULL or the fault. */
const struct session_fault *h1_hop_nominations(struct h1_hop *hop, struct http_head *head);
/* Removes the fields that Connection nominated in the head before these trailers. */
void h1_drop_nominated(const struct h1_conn *c, struct http_head *trailers);
/* Decides how the message is framed (RFC 9112 6.3), and whether the connection may go on behind it.
 * Returns NULL or the fault. */
const struct session_fault *h1_frame_request(
    struct h1_conn *c, const struct http_head *head, const struct h1_hop *hop);
const struct session_fault *h1_frame_response(
    struct h1_conn *c, struct http_head *head, const struct h1_hop *hop);

/* ---- body.c ---- */

/* Reads on in the body. Returns true with an event. */
bool h1_read_body(struct h1_conn *c, struct session_event *event);

/* ---- h1_tunnel.c ---- */

bool h1_is_websocket(struct slice protocol);
/* The field of a key or of its answer, which is for this hop alone. */
bool h1_is_websocket_key(struct slice name);
/* Server: fills `upgrade` of a request that offers to change the protocol, and takes its key away. */
void h1_tunnel_offered(struct h1_conn *c, struct http_head *head, const struct h1_hop *hop);
/* Client: checks a 101 that has not been validated, and makes it the head of a 200 in which nothing of
 * this hop is left. Returns NULL or the fault. */
const struct session_fault *h1_tunnel_answer(
    struct h1_conn *c, struct http_head *head, const struct h1_hop *hop);
/* Client: the validated final head opens the tunnel that was asked for. */
void h1_tunnel_opened(struct h1_conn *c, struct http_head *head);

/* ---- events.c ---- */

void h1_read_no_more(struct h1_conn *c); /* further bytes are dropped */
bool h1_next_event(struct session *session, struct session_event *event);

/* ---- output.c ---- */

/* While so much of earlier heads has not left, an interim response is left out, and a request waits. */
#define H1_UNSENT_MOST 65536u

static inline size_t h1_unsent_bytes(const struct h1_conn *c)
{
	return c->output_lent ? 0 : c->output.length;
}
size_t h1_output_held(const struct h1_conn *c);
/* Client: a final answer has come. If it opened no tunnel, the bytes for one are not sent. */
void h1_end_held(struct h1_conn *c);
bool h1_next_output(struct session *session, uint32_t most, struct session_output *output);
bool h1_wants_write(const struct session *session);
void h1_offer(struct session *session, struct session_stream *stream, size_t bytes, bool end);
struct session_stream *h1_request(
    struct session *session, const struct http_head *head, bool end, void *user);
/* Interim responses to HTTP/1.0 are never sent. */
bool h1_respond(
    struct session *session, struct session_stream *stream, const struct http_head *head, bool end);
/* Trailers are lost where the body has no chunks. */
bool h1_trailers(
    struct session *session, struct session_stream *stream, const struct http_head *head);

/* ---- h1_conn.c ---- */

void h1_open_stream(struct h1_conn *c, enum http_method method, void *user);
void h1_end_stream(struct h1_conn *c); /* it is over, complete or not */
/* Server: all of the request has come, though it may not have been read. */
bool h1_request_is_here(const struct h1_conn *c);
/* Server: whether the present request may get interim responses. */
bool h1_takes_interim(const struct h1_conn *c);
/* A line for a head, if the connection is traced: nothing of it that may be a secret. */
void h1_trace_head(const struct h1_conn *c, bool out, const struct http_head *head, size_t bytes);
void h1_fail(
    struct h1_conn *c, const struct session_fault *fault); /* FAILED follows; fault may be NULL */

uint32_t h1_request_room(const struct session *session); /* 0 or 1 */

#endif
