/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the engine: the connection, its streams, and the functions of each file.
 * Private to h2/.
 */
#ifndef PUSHGATE_H2_H2_CONN_H
#define PUSHGATE_H2_H2_CONN_H

#include "proxy/base/ensure.h"
#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/base/spares.h"
#include "proxy/h2/block.h"
#include "proxy/h2/early.h"
#include "proxy/h2/flow.h"
#include "proxy/h2/forgotten.h"
#include "proxy/h2/frame.h"
#include "proxy/h2/guard.h"
#include "proxy/h2/out.h"
#include "proxy/h2/sched.h"
#include "proxy/h2/settings.h"
#include "proxy/h2/state.h"
#include "proxy/hpack/hpack.h"

/* The next part of a message, in one direction. */
enum h2_phase {
	H2_PHASE_HEAD, /* the head of the request or of the final response */
	H2_PHASE_BODY, /* DATA or trailers */
	H2_PHASE_DONE,
};

/* The life of a stream object. */
enum h2_life {
	H2_LIFE_ALIVE,  /* in the map */
	H2_LIFE_ENDING, /* its last event is queued */
	H2_LIFE_ENDED,  /* its last event has been delivered */
};

struct h2_stream {
	struct session_stream base;
	struct map_node node;
	struct h2_place place; /* has the id and the priority */
	struct list ending;    /* in h2_conn.endings */
	struct h2_outflow outflow;
	struct h2_inflow inflow;
	uint64_t body_left; /* bytes that content-length still allows; or HTTP_LENGTH_UNKNOWN */
	uint64_t offered;   /* h2_offer: bytes … */
	uint64_t unread;    /* delivered bytes that the owner has not credited yet */
	uint32_t id;
	uint8_t state, life, recv_phase, send_phase;
	uint8_t interims;
	uint8_t method;   /* enum http_method of the request, for its response's framing */
	bool offered_end; /* … and the end behind them */
	bool is_pushed;
	bool is_bodyless; /* the response to receive has no content */
	bool is_tunnel;   /* a CONNECT that was answered 2xx: DATA alone, in both directions */
	/* The last event. */
	bool end_unprocessed;
	uint8_t end_kind; /* enum session_event_kind: RESET or CLOSED */
	uint32_t end_code;
	const struct session_fault *end_fault;
	const char *end_reason;
};

/* Bytes that a stream charges to the budget: the struct and two slots of the map. */
#define H2_STREAM_COST (sizeof(struct h2_stream) + 2 * sizeof(void *))
/* Most spare streams of a busy connection: enough for a page with its pushes. */
#define H2_SPARE_STREAMS 32u

enum h2_reading {
	H2_READING_PREFACE,
	H2_READING_HEADER,
	H2_READING_PAYLOAD, /* gathered in the block */
	H2_READING_PAD,     /* DATA: the pad length */
	H2_READING_DATA,
	H2_READING_SKIP, /* padding and ignored frames */
};

struct h2_reader {
	enum h2_reading at;
	uint8_t filled; /* bytes of the preface or of `header` */
	uint8_t header[H2_FRAME_HEADER_LEN];
	struct h2_frame frame;
	uint32_t left;            /* payload bytes not yet received */
	uint32_t data_left;       /* the DATA bytes among them; the rest is padding */
	struct h2_stream *stream; /* of DATA; NULL: the stream is gone, discard */
	struct chunk *chunk;      /* borrowed during h2_receive: the bytes being read */
};

/* PINGs that this side sends; the kind is the first byte of the payload. */
enum h2_ping_kind { H2_PING_OWNER = 1, H2_PING_RESETS = 2, H2_PING_SHUTDOWN = 3 };

enum h2_goaway {
	H2_GOAWAY_NOT,
	H2_GOAWAY_ANNOUNCED, /* GOAWAY with the highest possible id was sent, RFC 9113 6.8 */
	H2_GOAWAY_FINAL,
};

/* Most unacknowledged SETTINGS frames; further changes wait and are sent together. */
#define H2_SETTINGS_PENDING 3u
/* Ranges of ids that the peer skipped: they were never used (RFC 9113 5.1.1). */
#define H2_GAPS_KEPT 4u

/* Number of streams, by opener and state. Only h2_stream_move changes it. */
struct h2_census {
	uint32_t local_open,
	    remote_open; /* open or half-closed: what MAX_CONCURRENT_STREAMS counts */
	uint32_t local_reserved, remote_reserved;
};

struct h2_conn {
	struct session session;
	enum h2_role role;
	struct budget *budget;          /* borrows: the connection's */
	const struct h2_limits *limits; /* borrows */
	usec now;
	uint64_t id_mix;

	/* Settings. */
	struct h2_settings local;    /* announced last */
	struct h2_settings wanted;   /* wanted by the owner; announced when `pending` has room */
	struct h2_settings acked;    /* acknowledged by the peer */
	struct h2_settings *pending; /* array of H2_SETTINGS_PENDING; NULL while none is pending */
	uint32_t pending_count;
	uint32_t window_now; /* the initial window that is enforced */
	struct h2_settings peer;
	bool peer_settings_came, was_acked;
	usec settings_deadline, preface_deadline;

	/* Streams. */
	struct map streams;      /* alive ones, by id */
	struct list endings;     /* their last event is queued */
	struct h2_stream *ended; /* its last event was delivered: freed at the next call */
	struct spares spares;    /* spare streams, charged; empty while the connection is idle */
	struct h2_census census;
	uint32_t handles;
	uint32_t own_next_id; /* above H2_ID_MAX: ids are used up */
	uint32_t peer_last_id;
	struct {
		uint32_t low, high;
	} gaps[H2_GAPS_KEPT];
	uint32_t gap_next;
	struct h2_forgotten forgotten;
	struct h2_early early;

	/* Input. */
	struct h2_reader reader;
	struct h2_block block;
	struct hpack_decoder *decoder;
	size_t decoder_charged; /* charged even if memory is short: both sides' tables must agree */
	struct h2_inflow inflow;
	struct h2_guard guard;

	/* Output. */
	struct h2_out out;
	struct hpack_encoder *encoder;
	size_t encoder_charged;
	struct h2_outflow outflow;
	struct h2_sched sched;
	uint8_t data_header[H2_FRAME_HEADER_LEN]; /* of the DATA frame that was handed out last */

	/* Events. */
	struct session_event event; /* at most one per frame; `endings` follow it */
	const char *reason;         /* details of the fault that a handler returns */
	bool has_event, failure_queued;
	bool was_terminated; /* by the owner, which gets no more events */
	uint64_t events_made;

	/* The end. */
	const struct session_fault *failure;
	uint32_t failure_code;
	bool has_failed; /* nothing more is received; only queued output is sent */
	bool goaway_came;
	enum h2_goaway goaway_sent;
	uint32_t goaway_sent_last;
	uint32_t goaway_came_last;
	usec shutdown_deadline;

	/* PINGs. */
	bool owner_ping;
	uint32_t ping_serial;
	uint32_t owner_serial, resets_serial, shutdown_serial;
};

static inline struct h2_conn *h2_of(const struct session *s)
{
	return (struct h2_conn *)(uintptr_t)s;
}

static inline struct h2_stream *h2_stream_of(const struct session_stream *s)
{
	return (struct h2_stream *)(uintptr_t)s;
}

/* The handle of a stream; NULL is fine. */
static inline struct session_stream *h2_handle(struct h2_stream *s)
{
	return s ? &s->base : NULL;
}

/* The differences between the roles. */
struct h2_role_row {
	const char *name;
	uint32_t own_first_id;
	bool peer_opens_by_headers;    /* RFC 9113 8.1: requests come from clients */
	bool expects_preface;          /* RFC 9113 3.4 */
	struct http_priority priority; /* of new streams: a client's uploads take turns */
};
extern const struct h2_role_row h2_role_rows[2];

static inline enum h2_role h2_other_role(enum h2_role role)
{
	return role == H2_SERVER ? H2_CLIENT : H2_SERVER;
}

static inline bool h2_id_is_own(const struct h2_conn *c, uint32_t id)
{
	/*
	 * NOLINTNEXTLINE(clang-analyzer-core.NullDereference): every stream belongs to a connection
	 */
	return (id & 1u) == (h2_role_rows[c->role].own_first_id & 1u);
}

/* ---- h2_conn.c ---- */

/* Answers a fault of a stream (which may be unknown) or the connection: RST_STREAM or GOAWAY. */
void h2_fault_apply(struct h2_conn *c, uint32_t stream_id, const struct session_fault *fault);
/* h2_conn_fail ends the connection; `say`: sends GOAWAY. */
void h2_note_fault(const struct h2_conn *c, const struct session_fault *fault);
void h2_conn_fail(struct h2_conn *c, const struct session_fault *fault, uint32_t code, bool say);
/* Returns the frame's event; all members but kind and stream are zero. */
struct session_event *h2_event_make(
    struct h2_conn *c, enum session_event_kind kind, struct h2_stream *s);
/* Frees the stream whose last event was delivered. */
void h2_conn_bury(struct h2_conn *c);
bool h2_next_event(struct session *session, struct session_event *event);
usec h2_deadline(const struct session *session);
void h2_tick(struct session *session, usec now);

/* HEADERS may not come behind the head that this role has sent: DATA alone (RFC 9113 8.5). A CONNECT has
 * no content that trailers could follow, whatever its answer is. */
static inline bool h2_stream_takes_data_alone(const struct h2_stream *s, enum h2_role sender)
{
	return s->is_tunnel || (sender == H2_CLIENT && s->method == HTTP_METHOD_CONNECT);
}

/* ---- stream.c ---- */

/* Makes a stream object in its first state. NULL: the budget refuses. */
struct h2_stream *h2_stream_new(struct h2_conn *c, uint32_t id, enum h2_input first);
void h2_stream_free(struct h2_conn *c, struct h2_stream *s);
/* Frees its memory alone. */
void h2_stream_release(struct h2_conn *c, struct h2_stream *s);
/* Frees the spare streams. */
void h2_stream_free_spares(struct h2_conn *c);
struct h2_stream *h2_stream_find(const struct h2_conn *c, uint32_t id);
/* The state of any id; *s: the stream object or NULL. */
enum h2_state h2_stream_state(const struct h2_conn *c, uint32_t id, struct h2_stream **s);
/*
 * Changes a stream's state and the census; no other function does. Returns NULL or the peer's
 * fault.
 */
const struct session_fault *h2_stream_move(
    struct h2_conn *c, struct h2_stream *s, enum h2_input input);
/* Checks a frame on any id. *s is NULL if the frame must be discarded. */
const struct session_fault *h2_stream_receive(
    struct h2_conn *c, uint32_t id, enum h2_input input, struct h2_stream **s);
/* Ends one direction (END_STREAM); queues CLOSED if both have ended. */
void h2_stream_end(struct h2_conn *c, struct h2_stream *s, enum h2_input input);
/* Detaches the stream and queues its RESET event. */
void h2_stream_abort(struct h2_conn *c, struct h2_stream *s, enum h2_input input,
    const struct session_fault *fault, uint32_t code, bool unprocessed);
/* Removes the stream from the map and the scheduler. */
void h2_stream_detach(struct h2_conn *c, struct h2_stream *s);
/* The peer opens this id: its lower idle ids are now closed. */
void h2_stream_note_id(struct h2_conn *c, uint32_t id);
bool h2_stream_was_skipped(const struct h2_conn *c, uint32_t id);
/* In this state the peer may have sent frames that cross our RST_STREAM. */
static inline bool h2_peer_may_send(enum h2_state state)
{
	return state != H2_STATE_HALF_CLOSED_REMOTE && state != H2_STATE_RESERVED_LOCAL;
}
/* Remembers that this side reset the id while the peer may still have been sending on it. */
void h2_stream_forget(struct h2_conn *c, uint32_t id);
/* Updates the stream's place in the scheduler. */
void h2_stream_schedule(struct h2_conn *c, struct h2_stream *s);

/* ---- conn_frames.c, conn_data.c, conn_settings.c, block.c: the handlers of frames ---- */

const struct session_fault *h2_recv_data(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_priority(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_rst_stream(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_settings(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_ping(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_goaway(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_window_update(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_recv_priority_update(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_block_begin(struct h2_conn *c, const uint8_t *payload);
const struct session_fault *h2_block_continue(struct h2_conn *c, const uint8_t *payload);

/* ---- conn_data.c ---- */

/* Receives the pad length of a DATA frame. */
const struct session_fault *h2_recv_pad_length(struct h2_conn *c, uint8_t pad);
/* Gives credit for these bytes, and sends WINDOW_UPDATE when half of the window is owed. */
void h2_credit_stream(struct h2_conn *c, struct h2_stream *s, uint32_t bytes);
/* Receives a run of DATA bytes. */
void h2_recv_data_piece(struct h2_conn *c, struct chunk *chunk, size_t offset, uint32_t length);
/* Sends the stream's WINDOW_UPDATE at half the window. The engine itself gives connection credit on receipt. */
void h2_credit(struct session *session, struct session_stream *stream, size_t bytes);
/* Sends the difference at once. Never shrinks the window. */
void h2_widen(struct session *session, struct session_stream *stream, uint32_t window);

/* ---- conn_head.c, conn_push.c: a complete field block ---- */

const struct session_fault *h2_recv_headers(struct h2_conn *c, struct slice block);
const struct session_fault *h2_recv_promise(struct h2_conn *c, struct slice block);
/* Decodes into a new head, owned by the caller. *too_large: over the list's limit. */
const struct session_fault *h2_decode(
    struct h2_conn *c, struct slice block, struct http_head **head, bool *too_large);
/* How many streams the peer may open: the largest limit that it may still assume (5.1.2, 6.5.3). */
uint32_t h2_streams_allowed(const struct h2_conn *c);

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
enum h2_promise_answer h2_may_promise(
    const struct session *session, const struct session_stream *stream);
/* The promised stream begins one step less urgent than its parent, so that it never starves it. */
struct session_stream *h2_promise(struct session *session, struct session_stream *parent,
    const struct http_head *request, void *user);
uint32_t h2_push_room(const struct session *session);

/* ---- conn_settings.c ---- */

/* Sends SETTINGS for c->wanted, if it differs and `pending` has room. */
void h2_settings_announce(struct h2_conn *c);
/* Changes this side's settings: max_concurrent_streams, initial_window_size and enable_push (to 0) alone. */
void h2_update_settings(struct session *session, const struct h2_settings *local, usec now);
void h2_refuse_pushes(struct session *session, usec now);

/* ---- frame_send.c ---- */

struct hpack_encoder *h2_encoder(struct h2_conn *c);
void h2_send_frame(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length);
/* The same for a frame that the peer provoked. */
void h2_send_provoked(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length);
void h2_send_rst_stream(struct h2_conn *c, uint32_t id, uint32_t code);
void h2_send_window_update(struct h2_conn *c, uint32_t id, uint32_t increment);
void h2_send_ping(struct h2_conn *c, enum h2_ping_kind kind);
/* Sends HEADERS or PUSH_PROMISE, and CONTINUATIONs as the peer's MAX_FRAME_SIZE requires. */
void h2_send_block(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    uint32_t promised_id, const struct http_head *head);

/* ---- conn_send.c ---- */

/* The next DATA frame by RFC 9218 (urgency first; incremental streams take turns). */
bool h2_next_data(struct session *session, uint32_t most, struct session_output *output);
/* Frames that were made before first, then DATA frames. */
bool h2_next_output(struct session *session, uint32_t most, struct session_output *output);
bool h2_wants_write(const struct session *session);
void h2_offer(struct session *session, struct session_stream *stream, size_t bytes, bool end);
/* By the peer's MAX_CONCURRENT_STREAMS (100 until its SETTINGS have come), ids and GOAWAY. */
uint32_t h2_request_room(const struct session *session);
/* The largest field section that may be sent: the peer's SETTINGS_MAX_HEADER_LIST_SIZE, else the limit
 * request_list_bytes. */
uint32_t h2_list_bytes_most(const struct session *session);
enum session_fit h2_request_fits(
    const struct session *session, const struct http_head *head, bool end);
struct session_stream *h2_request(
    struct session *session, const struct http_head *head, bool end, void *user);
/* False: the stream accepts no head any more, or it is pushed and h2_push_room is 0, or the head is interim
 * and output_bytes of heads are queued. */
bool h2_respond(
    struct session *session, struct session_stream *stream, const struct http_head *head, bool end);
/* A CONNECT and a tunnel have no trailers (RFC 9113 8.5): there the end alone is sent. */
bool h2_trailers(
    struct session *session, struct session_stream *stream, const struct http_head *head);
/* Frames that still arrive for the stream are ignored. */
void h2_reset(struct session *session, struct session_stream *stream, uint32_t code);
void h2_set_priority(
    struct session *session, struct session_stream *stream, struct http_priority priority);
bool h2_ping(struct session *session, usec now);
/* The peer has so much unread output that only necessary frames are queued. */
static inline bool h2_peer_is_behind(const struct h2_conn *c)
{
	return h2_out_length(&c->out) > c->limits->output_bytes;
}

/* ---- conn_shutdown.c ---- */

void h2_send_goaway(struct h2_conn *c, uint32_t last_id, uint32_t code, struct slice debug);
/* Finishes a graceful shutdown: sends the second GOAWAY. */
void h2_shutdown_finish(struct h2_conn *c);
/* The highest id of the peer that was processed, for GOAWAY. */
uint32_t h2_last_taken_id(const struct h2_conn *c);
/* Sends GOAWAY with the highest id that the peer could open, and after a round trip (or a second) GOAWAY
 * with the last id. */
void h2_shutdown(struct session *session, usec now);
void h2_half_close(struct session *session, usec now);
void h2_terminate(struct session *session, uint32_t code, struct slice debug);

/* ---- frame_trace.c ---- */

void h2_trace_frame(const struct h2_conn *c, bool out, const struct h2_frame *frame);
static inline void h2_trace(const struct h2_conn *c, bool out, const struct h2_frame *frame)
{
	if (__builtin_expect(c->session.traced != NULL, 0))
		h2_trace_frame(c, out, frame);
}

/* ---- conn_recv.c ---- */

size_t h2_receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now);

/* ---- describe.c, invariants.c ---- */

static inline bool h2_is_going_away(const struct h2_conn *c)
{
	return c->goaway_came || c->goaway_sent != H2_GOAWAY_NOT;
}
static inline bool h2_is_done(const struct h2_conn *c)
{
	return c->has_failed ||
	       (c->handles == 0 && (c->goaway_came || c->goaway_sent == H2_GOAWAY_FINAL));
}
/* DATA bytes that flow control allows now on the stream (stream and connection window). */
static inline uint32_t h2_window(const struct h2_conn *c, const struct h2_stream *s)
{
	int64_t window =
	    s->outflow.window < c->outflow.window ? s->outflow.window : c->outflow.window;
	return window > 0 ? (uint32_t)window : 0;
}
size_t h2_describe(const struct session *session, char *buffer, size_t size);
void h2_check(const struct session *session);

#endif
