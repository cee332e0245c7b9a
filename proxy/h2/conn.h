/* SPDX-License-Identifier: MIT */
/* What the files of the engine share: the connection, its streams, and who does what. */
#ifndef PUSHGATE_H2_CONN_H
#define PUSHGATE_H2_CONN_H

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

/* How far a message has come, in one direction. */
enum h2_phase {
	H2_PHASE_HEAD, /* the request or the final response head is to come */
	H2_PHASE_BODY, /* DATA or trailers */
	H2_PHASE_DONE,
};

/* Where a stream object is. */
enum h2_life {
	H2_LIFE_ALIVE,  /* in the map */
	H2_LIFE_ENDING, /* its last event is queued */
	H2_LIFE_ENDED,  /* its last event has been handed out */
};

struct h2_stream {
	struct map_node node;
	struct h2_place place; /* with the id and the priority */
	struct list ending;    /* in h2_conn.endings */
	void *user;            /* the owner's */
	struct h2_outflow outflow;
	struct h2_inflow inflow;
	uint64_t body_left; /* bytes that content-length still allows; HTTP_LENGTH_UNKNOWN */
	uint64_t offered;   /* h2_offer: bytes … */
	uint64_t unread;    /* bytes handed out and not credited yet */
	uint32_t id;
	uint8_t state, life, recv_phase, send_phase;
	uint8_t interims;
	uint8_t method;   /* enum http_method of the request, for its response's framing */
	bool offered_end; /* … and the end behind them */
	bool is_pushed;
	bool is_bodyless; /* the response that comes has no content */
	/* The last event. */
	bool end_unprocessed;
	uint8_t end_kind; /* enum h2_event_kind: RESET or CLOSED */
	uint32_t end_code;
	const struct h2_fault *end_fault;
	const char *end_reason;
};

/* What one of our streams costs the budget: the struct and two slots of the map. */
#define H2_STREAM_COST (sizeof(struct h2_stream) + 2 * sizeof(void *))
/* A busy connection keeps so many of them for its next requests; a page with its pushes. */
#define H2_SPARE_STREAMS 32u

enum h2_reading {
	H2_READING_PREFACE,
	H2_READING_HEADER,
	H2_READING_PAYLOAD, /* gathered in the block */
	H2_READING_PAD,     /* DATA: the pad length */
	H2_READING_DATA,
	H2_READING_SKIP, /* padding, and what is ignored */
};

struct h2_reader {
	enum h2_reading at;
	uint8_t filled; /* bytes of the preface or of `header` */
	uint8_t header[H2_FRAME_HEADER_LEN];
	struct h2_frame frame;
	uint32_t left;            /* payload bytes still to come */
	uint32_t data_left;       /* of them DATA bytes; the rest is padding */
	struct h2_stream *stream; /* DATA: whose; NULL = nobody's any more */
	struct chunk *chunk;      /* borrows: the bytes at hand, during h2_receive */
};

/* PINGs of ours; the kind is the first byte of the payload. */
enum h2_ping_kind { H2_PING_OWNER = 1, H2_PING_RESETS = 2, H2_PING_SHUTDOWN = 3 };

enum h2_goaway {
	H2_GOAWAY_NOT,
	H2_GOAWAY_ANNOUNCED, /* GOAWAY of the highest possible id is out, RFC 9113 6.8 */
	H2_GOAWAY_FINAL,
};

/* SETTINGS of ours that are not acknowledged yet; more are joined into the last. */
#define H2_SETTINGS_PENDING 3u
/* Runs of ids that the peer skipped, to tell "never used" from "closed" (RFC 9113 5.1.1). */
#define H2_GAPS_KEPT 4u

/* Streams by who opened them and how far they are. Only h2_stream_move changes it. */
struct h2_census {
	uint32_t local_open,
	    remote_open; /* open or half-closed: what MAX_CONCURRENT_STREAMS counts */
	uint32_t local_reserved, remote_reserved;
};

struct h2_conn {
	enum h2_role role;
	struct h2_env env;
	const struct h2_limits *limits; /* borrows */
	usec now;
	uint64_t id_mix;

	/* Settings. */
	struct h2_settings local;    /* as we announced last */
	struct h2_settings wanted;   /* as the owner wants: announced when a place is free */
	struct h2_settings acked;    /* as the peer has acknowledged */
	struct h2_settings *pending; /* H2_SETTINGS_PENDING of them; NULL while there are none */
	uint32_t pending_count;
	uint32_t window_now; /* the initial window that we hold the peer to */
	struct h2_settings peer;
	bool peer_settings_came, was_acked;
	usec settings_deadline, preface_deadline;

	/* Streams. */
	struct map streams;      /* alive ones, by id */
	struct list endings;     /* their last event is queued */
	struct h2_stream *ended; /* its last event was handed out: freed at the next call */
	struct spares spares;    /* streams, charged; none while all is quiet */
	struct h2_census census;
	uint32_t handles;
	uint32_t own_next_id; /* above H2_ID_MAX: used up */
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
	size_t
	    decoder_charged; /* the tables grow even when memory is short: both sides' must agree */
	struct h2_inflow inflow;
	struct h2_guard guard;

	/* Output. */
	struct h2_out out;
	struct hpack_encoder *encoder;
	size_t encoder_charged;
	struct h2_outflow outflow;
	struct h2_sched sched;

	/* Events. */
	struct h2_event event; /* at most one per frame; `endings` follow it */
	const char *reason;    /* of the fault that a handler is about to return */
	bool has_event, failure_queued;
	bool was_terminated; /* by the owner: it wants no more events */
	uint64_t events_made;

	/* The end. */
	const struct h2_fault *failure;
	uint32_t failure_code;
	bool has_failed; /* nothing is received or sent any more but what is queued */
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

/* What differs between the roles. */
struct h2_role_row {
	const char *name;
	uint32_t own_first_id;
	bool peer_opens_by_headers;    /* RFC 9113 8.1: requests come from clients */
	bool expects_preface;          /* RFC 9113 3.4 */
	struct http_priority priority; /* of new streams: a client shares out its uploads fairly */
};
extern const struct h2_role_row h2_role_rows[2];

static inline enum h2_role h2_other_role(enum h2_role role)
{
	return role == H2_SERVER ? H2_CLIENT : H2_SERVER;
}

static inline bool h2_id_is_own(const struct h2_conn *c, uint32_t id)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no caller has a stream without it */
	return (id & 1u) == (h2_role_rows[c->role].own_first_id & 1u);
}

/* ---- conn.c ---- */

/* A stream's fault (the stream may be unknown) or the connection's: RST_STREAM or GOAWAY. */
void h2_fault_apply(struct h2_conn *c, uint32_t stream_id, const struct h2_fault *fault);
/* The connection is over. `say`: by a GOAWAY of ours. */
void h2_note_fault(const struct h2_conn *c, const struct h2_fault *fault);
void h2_conn_fail(struct h2_conn *c, const struct h2_fault *fault, uint32_t code, bool say);
/* The frame's one event, zeroed but for kind and stream. */
struct h2_event *h2_event_make(struct h2_conn *c, enum h2_event_kind kind, struct h2_stream *s);
/* Frees the stream whose last event was handed out. */
void h2_conn_bury(struct h2_conn *c);

/* ---- stream.c ---- */

/* Opens: the stream object in its first state. NULL: the budget refuses. */
struct h2_stream *h2_stream_new(struct h2_conn *c, uint32_t id, enum h2_input first);
void h2_stream_free(struct h2_conn *c, struct h2_stream *s);
/* Gives back what is kept for streams to come. */
void h2_stream_free_spares(struct h2_conn *c);
struct h2_stream *h2_stream_find(const struct h2_conn *c, uint32_t id);
/* The state of any id, and the object if there is one. */
enum h2_state h2_stream_state(const struct h2_conn *c, uint32_t id, struct h2_stream **s);
/* The only place that changes a stream's state and the census. NULL, or the peer's fault. */
const struct h2_fault *h2_stream_move(struct h2_conn *c, struct h2_stream *s, enum h2_input input);
/* A verdict for a frame on any id. *s is NULL when the frame is to be discarded. */
const struct h2_fault *h2_stream_receive(
    struct h2_conn *c, uint32_t id, enum h2_input input, struct h2_stream **s);
/* END_STREAM in one direction; queues CLOSED when that was the second. */
void h2_stream_end(struct h2_conn *c, struct h2_stream *s, enum h2_input input);
/* Takes it out of everything and queues its RESET. */
void h2_stream_abort(struct h2_conn *c, struct h2_stream *s, enum h2_input input,
    const struct h2_fault *fault, uint32_t code, bool unprocessed);
/* Out of the map and the scheduler. */
void h2_stream_detach(struct h2_conn *c, struct h2_stream *s);
/* The peer uses a new id of its own: lower idle ones are closed now. */
void h2_stream_note_id(struct h2_conn *c, uint32_t id);
bool h2_stream_was_skipped(const struct h2_conn *c, uint32_t id);
/* In this state the peer may have sent what a RST_STREAM of ours will cross. */
static inline bool h2_peer_may_send(enum h2_state state)
{
	return state != H2_STATE_HALF_CLOSED_REMOTE && state != H2_STATE_RESERVED_LOCAL;
}
/* We reset this id while the peer may still have been sending on it. */
void h2_stream_forget(struct h2_conn *c, uint32_t id);
/* Puts it where it belongs in the scheduler. */
void h2_stream_schedule(struct h2_conn *c, struct h2_stream *s);

/* ---- conn_frames.c, conn_data.c, conn_settings.c, block.c: the frame table's handlers ---- */

const struct h2_fault *h2_recv_data(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_priority(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_rst_stream(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_settings(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_ping(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_goaway(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_window_update(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_recv_priority_update(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_block_begin(struct h2_conn *c, const uint8_t *payload);
const struct h2_fault *h2_block_continue(struct h2_conn *c, const uint8_t *payload);

/* ---- conn_data.c ---- */

/* The pad length came. */
const struct h2_fault *h2_recv_pad_length(struct h2_conn *c, uint8_t pad);
/* A run of DATA bytes. */
void h2_recv_data_piece(struct h2_conn *c, struct chunk *chunk, size_t offset, uint32_t length);

/* ---- conn_head.c, conn_push.c: a complete field block ---- */

const struct h2_fault *h2_recv_headers(struct h2_conn *c, struct slice block);
const struct h2_fault *h2_recv_promise(struct h2_conn *c, struct slice block);
/* Decodes into a fresh head of the caller's; *too_large: over the list limit. */
const struct h2_fault *h2_decode(
    struct h2_conn *c, struct slice block, struct http_head **head, bool *too_large);
/* The lowest limit on the peer's streams that it must know of (RFC 9113 5.1.2, 6.5.3). */
uint32_t h2_streams_allowed(const struct h2_conn *c);
/* A promised id that gets no stream: RST_STREAM. */
const struct h2_fault *h2_refuse_id(struct h2_conn *c, uint32_t id, const struct h2_fault *why);

/* ---- conn_settings.c ---- */

/* Announces c->wanted if it differs and a place is free. */
void h2_settings_announce(struct h2_conn *c);
struct hpack_encoder *h2_encoder(struct h2_conn *c);

/* ---- conn_send.c ---- */

void h2_send_frame(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length);
/* The same for what the peer made us send. */
void h2_send_provoked(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    const uint8_t *payload, size_t length);
void h2_send_rst_stream(struct h2_conn *c, uint32_t id, uint32_t code);
void h2_send_window_update(struct h2_conn *c, uint32_t id, uint32_t increment);
void h2_send_ping(struct h2_conn *c, enum h2_ping_kind kind);
/* HEADERS or PUSH_PROMISE, with the CONTINUATIONs that the peer's MAX_FRAME_SIZE asks for. */
void h2_send_block(struct h2_conn *c, enum h2_frame_type type, uint8_t flags, uint32_t id,
    uint32_t promised_id, const struct http_head *head);
/* So much waits for the peer to read it that it is given nothing that can be done without. */
static inline bool h2_peer_is_behind(const struct h2_conn *c)
{
	return h2_out_length(&c->out) > c->limits->output_bytes;
}

/* ---- conn_shutdown.c ---- */

void h2_send_goaway(struct h2_conn *c, uint32_t last_id, uint32_t code, struct slice debug);
/* The second half of a graceful shutdown. */
void h2_shutdown_finish(struct h2_conn *c);
/* The highest id of the peer's that we have taken, for GOAWAY. */
uint32_t h2_last_taken_id(const struct h2_conn *c);

/* ---- trace.c ---- */

void h2_trace_frame(const struct h2_conn *c, bool out, const struct h2_frame *frame);
static inline void h2_trace(const struct h2_conn *c, bool out, const struct h2_frame *frame)
{
	if (__builtin_expect(c->env.trace != NULL, 0))
		h2_trace_frame(c, out, frame);
}

#endif
