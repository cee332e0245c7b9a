/* SPDX-License-Identifier: MIT */
/*
 * A script against one HTTP/2 engine in memory: the test plays the peer. Frames that the peer `sends`
 * are delivered at once; the engine's output is collected and checked against the rules that RFC 9113
 * has for every sender (sizes, windows, order, ids, HPACK); `expects` removes it from the queue. The
 * peer uses libnghttp2's HPACK, so that proxy/hpack is not tested against itself.
 *
 * This is not a second engine: it has no stream states and answers nothing by itself.
 *
 * Every suite runs several times (script_run): with the input whole, byte by byte, in random pieces.
 */
#ifndef PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_H
#define PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/h2_inside.h"
#include "tests/support/head_names.h"

#define SCRIPT_START ((usec)1000000)

/* RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1. */
enum script_setting {
	SCRIPT_TABLE_SIZE = 1,
	SCRIPT_ENABLE_PUSH = 2,
	SCRIPT_MAX_STREAMS = 3,
	SCRIPT_WINDOW = 4,
	SCRIPT_FRAME_SIZE = 5,
	SCRIPT_LIST_SIZE = 6,
	SCRIPT_CONNECT_PROTOCOL = 8,
	SCRIPT_NO_7540_PRIORITY = 9,
	SCRIPT_SETTINGS_END = 0,
};

/* Options of script_open; all zero: the defaults. */
struct script_options {
	const struct h2_settings *local; /* NULL: h2_settings_initial */
	const struct h2_limits *limits;  /* NULL: h2_limits_default */
	size_t budget_bytes;             /* 0: plenty */
	bool silent;                     /* script_open exchanges neither preface nor SETTINGS */
	bool no_ack;                     /* the peer does not acknowledge our SETTINGS */
	const uint32_t *settings;        /* pairs in the peer's first SETTINGS, ended by 0 */
};

struct script_event {
	enum session_event_kind kind;
	uint32_t id, promised;
	struct http_head *head; /* the script's: freed by script_close */
	uint8_t *data;
	size_t length;
	const struct session_fault *fault;
	const char *reason;
	uint32_t code, last_id;
	char debug[64];
	void *user;
	bool end, oversize, unprocessed;
};

/* A frame that the engine sent; a field block with its CONTINUATIONs is one frame. */
struct script_frame {
	uint8_t type, flags;
	uint32_t id, length;
	uint8_t *payload;   /* without padding and block; NULL for DATA */
	uint32_t promised;  /* PUSH_PROMISE */
	uint32_t code;      /* RST_STREAM, GOAWAY */
	uint32_t last_id;   /* GOAWAY */
	uint32_t increment; /* WINDOW_UPDATE */
	uint32_t frames;    /* 1 + CONTINUATIONs */
	char *fields;       /* "name: value\n" each, "!" before those never indexed */
};

struct script_stream {
	uint32_t id;
	struct session_stream *handle; /* NULL: not (or no longer) alive */
	int64_t window;           /* what the engine may still send */
	size_t body_at;           /* bytes of body sent by the engine */
	bool announced;           /* the owner has had an event of it */
	bool over;                /* RESET or CLOSED seen, or reset by the owner */
	bool sent_end, sent_rst;  /* by the engine */
};

struct script {
	struct session *conn;
	struct h2_config config;
	struct session_env env;
	enum h2_role role; /* the engine's */
	usec now;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget worker, budget;
	struct script_stream **streams;
	uint32_t stream_count;
	struct script_event **events;
	struct script_frame **frames;
	size_t events_head, events_tail, frames_head, frames_tail;
	/* The peer's side. */
	void *deflater, *inflater;
	uint32_t peer_window_initial, peer_frame_size, peer_push, peer_table_size;
	int64_t connection_window; /* what the engine may still send */
	uint8_t *out;              /* bytes of an unfinished output frame */
	size_t out_bytes, out_room;
	uint8_t *block; /* a field block that is not complete yet */
	size_t block_bytes;
	struct script_frame *pending; /* its first frame; NULL: none open */
	bool preface_seen, settings_seen;
	uint32_t last_promised; /* by the engine */
	uint32_t last_opened;   /* by the engine */
	uint32_t last_peer;     /* the highest id that the script has used */
	uint32_t goaway_id;     /* of the engine's last GOAWAY */
	uint64_t ping_payload;  /* the last PING that the engine sent */
	uint32_t pings_due;     /* sent and not answered by the script */
	size_t frames_answered; /* script_answers_pings has handled the frames before this one */
	size_t credit_from;     /* WINDOW_UPDATEs before this frame are not counted any more */
	uint32_t data_most;     /* h2_next_data's `most` */
	bool glue;              /* sends collect until script_delivers */
	uint8_t *glued;
	size_t glued_bytes;
	uint32_t random;
	/* File and line of the running expectation, and a log of what has happened so far. */
	const char *file;
	int line;
	char *transcript;
	size_t transcript_bytes;
};

struct script *script_at(struct script *s, const char *file, int line);
#define SCRIPT_AT(s) script_at((s), __FILE__, __LINE__)

#define SCRIPT_TEST(name) static void name(void **state __attribute__((unused)))

/* Runs a group of tests once for each way of splitting the input; returns main's exit status. */
int script_run(const char *name, const struct CMUnitTest *tests, size_t count);
#define SCRIPT_RUN(tests) script_run(#tests, tests, sizeof(tests) / sizeof *(tests))

/* ---- life ---- */

/* Unless the options say otherwise, exchanges and acknowledges the prefaces and SETTINGS, and removes
 * their events. */
struct script *script_open(enum h2_role role);
struct script *script_open_with(enum h2_role role, const struct script_options *options);
/* Frees everything; the pools and the budget ensure that nothing leaked. */
void script_close(struct script *s);
_Noreturn void script_fail(struct script *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- the peer sends ---- */

void script_sends_bytes(struct script *s, const void *bytes, size_t length);
void script_sends_preface(struct script *s);
void script_sends_raw(
    struct script *s, uint8_t type, uint8_t flags, uint32_t id, const void *payload, size_t length);
/* Only a frame header, with any length. */
void script_sends_frame_header(
    struct script *s, uint32_t length, uint8_t type, uint8_t flags, uint32_t id);
/* Fields as name, value, …, NULL. A name that starts with '!' is sent never indexed (without the !).
 * `flags` may hold END_STREAM; END_HEADERS is added. */
void script_sends_headers(struct script *s, uint32_t id, unsigned flags, ...);
void script_sends_promise(struct script *s, uint32_t id, uint32_t promised, ...);
/* Common heads. */
void script_sends_get(struct script *s, uint32_t id);               /* with END_STREAM */
void script_sends_post(struct script *s, uint32_t id);              /* open */
void script_sends_ok(struct script *s, uint32_t id, uint8_t flags); /* :status 200 */
void script_sends_good_promise(struct script *s, uint32_t id, uint32_t promised);
void script_sends_data(struct script *s, uint32_t id, uint8_t flags, size_t length);
void script_sends_padded_data(
    struct script *s, uint32_t id, uint8_t flags, size_t length, uint8_t padding);
void script_sends_rst(struct script *s, uint32_t id, uint32_t code);
void script_sends_settings(struct script *s, ...); /* id, value (uint32_t), …, 0 */
void script_sends_settings_ack(struct script *s);
void script_sends_ping(struct script *s, uint64_t payload);
void script_sends_goaway(struct script *s, uint32_t last_id, uint32_t code, const char *debug);
void script_sends_window_update(struct script *s, uint32_t id, uint32_t increment);
void script_sends_priority(struct script *s, uint32_t id, uint32_t parent);
void script_sends_priority_update(struct script *s, uint32_t id, const char *value);
/* Acknowledges the engine's PINGs that were not answered yet. */
void script_answers_pings(struct script *s);
/* Delivers the frames collected while s->glue was set, in one piece (or split), and clears it. */
void script_delivers(struct script *s);
void script_eof(struct script *s);
void script_ticks(struct script *s, usec span);

/* A field block by the peer's encoder; returns its length. */
size_t script_encodes(struct script *s, uint8_t *out, size_t room, ...);
size_t script_encodes_list(struct script *s, uint8_t *out, size_t room, va_list list);
/* Writes one literal field without indexing, with any bytes, without the encoder; returns the length. */
size_t script_literal(
    uint8_t *out, const void *name, size_t name_bytes, const void *value, size_t value_bytes);
void script_put32(uint8_t *out, uint32_t value);

/* ---- the owner commands ---- */

struct script_stream *script_stream(struct script *s, uint32_t id); /* made if unknown */
struct session_stream *script_handle(struct script *s, uint32_t id);     /* fails when dead */
/* A validated head. The caller frees it. */
struct http_head *script_head(struct script *s, enum http_head_kind kind, ...);
uint32_t script_requests(struct script *s, bool end, const char *method, const char *path);
uint32_t script_gets(struct script *s); /* GET /, ended; 0 when refused */
bool script_responds(struct script *s, uint32_t id, bool end, const char *status);
bool script_trails(struct script *s, uint32_t id);
uint32_t script_promises(struct script *s, uint32_t parent, const char *path); /* 0: refused */
/* h2_offer: this many bytes of body, and with `end` the end. */
void script_offers(struct script *s, uint32_t id, size_t bytes, bool end);
void script_resets(struct script *s, uint32_t id, uint32_t code);
void script_credits(struct script *s, uint32_t id, size_t bytes);

/* ---- expectations ---- */

/* Collects all pending output and events; every expectation does this first. */
void script_pumps(struct script *s);

/* The next event; fails when it is of another kind or stream. Lent until script_close. */
struct script_event *script_expects_event(struct script *s, enum session_event_kind kind, uint32_t id);
struct script_event *script_expects_head(struct script *s, uint32_t id, bool end);
/* DATA events for `length` bytes together; `end` on the last. */
void script_expects_data(struct script *s, uint32_t id, size_t length, bool end);
void script_expects_no_event(struct script *s);
/*
 * The next frame. The engine's own WINDOW_UPDATE and PING frames are skipped unless they are
 * expected: the engine chooses when to send them.
 */
struct script_frame *script_expects_frame(struct script *s, uint8_t type, uint32_t id);
void script_expects_no_frame(struct script *s);
void script_expects_nothing(struct script *s); /* neither a frame nor an event */
struct script_frame *script_expects_rst(struct script *s, uint32_t id, uint32_t code);
struct script_frame *script_expects_goaway(struct script *s, uint32_t code);
/* RST_STREAM, and a RESET event with its fault if the owner knew the stream; nothing else. */
void script_expects_stream_error(struct script *s, uint32_t id, uint32_t code);
/* GOAWAY as the last frame, FAILED as the last event, both with the code. */
void script_expects_connection_error(struct script *s, uint32_t code);
/* DATA frames for `length` bytes together, `end` on the last. */
void script_expects_body(struct script *s, uint32_t id, size_t length, bool end);
void script_expects_settings_ack(struct script *s);
/* The field block is exactly this text (script_frame.fields). */
void script_expects_fields(struct script *s, const struct script_frame *frame, const char *text);
/* The connection works: the engine answers a PING and sends nothing else. */
void script_expects_alive(struct script *s);
/* Removes the WINDOW_UPDATEs for the stream (0: the connection) from the queue; returns their sum. */
uint32_t script_takes_credit(struct script *s, uint32_t id);
/* Removes all queued frames and events. */
void script_clears(struct script *s);

// clang-format off
#define script_expects_event(s, kind, id) (script_expects_event)(SCRIPT_AT(s), kind, id)
#define script_expects_head(s, id, end) (script_expects_head)(SCRIPT_AT(s), id, end)
#define script_expects_data(s, id, n, end) (script_expects_data)(SCRIPT_AT(s), id, n, end)
#define script_expects_no_event(s) (script_expects_no_event)(SCRIPT_AT(s))
#define script_expects_frame(s, type, id) (script_expects_frame)(SCRIPT_AT(s), type, id)
#define script_expects_no_frame(s) (script_expects_no_frame)(SCRIPT_AT(s))
#define script_expects_nothing(s) (script_expects_nothing)(SCRIPT_AT(s))
#define script_expects_rst(s, id, code) (script_expects_rst)(SCRIPT_AT(s), id, code)
#define script_expects_goaway(s, code) (script_expects_goaway)(SCRIPT_AT(s), code)
#define script_expects_stream_error(s, id, code) (script_expects_stream_error)(SCRIPT_AT(s), id, code)
#define script_expects_connection_error(s, code) (script_expects_connection_error)(SCRIPT_AT(s), code)
#define script_expects_body(s, id, n, end) (script_expects_body)(SCRIPT_AT(s), id, n, end)
#define script_expects_settings_ack(s) (script_expects_settings_ack)(SCRIPT_AT(s))
#define script_expects_fields(s, f, text) (script_expects_fields)(SCRIPT_AT(s), f, text)
#define script_expects_alive(s) (script_expects_alive)(SCRIPT_AT(s))
// clang-format on

#endif
