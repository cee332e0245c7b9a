/* SPDX-License-Identifier: MIT */
/* What the files of the scripted session share: its state (scripted_state.c), and what it reads (scripted_frames.c). */
#ifndef PUSHGATE_TESTS_SCRIPTED_INSIDE_H
#define PUSHGATE_TESTS_SCRIPTED_INSIDE_H

#include "tests/support/scripted_session.h"

#include "proxy/base/list.h"

#define LINE_MOST 8192u
#define FRAME_MOST 1024u

struct scripted_config {
	struct session_ops ops; /* with the capabilities */
	bool is_server, wants_pushes;
	uint32_t streams, window;
	usec ready_timeout;
};

struct scripted_stream {
	struct session_stream base;
	struct list link; /* in streams */
	uint32_t id, receive_window, widest;
	int64_t send_window;
	size_t offered;
	struct http_priority priority;
	bool offered_end, local_ended, remote_ended;
	bool is_push, has_begun; /* has_begun: its first head was sent, or came */
	bool is_over;            /* its last event waits */
};

struct waiting_event {
	struct list link;
	struct session_event event;
};

struct scripted {
	struct session session;
	const struct scripted_config *config;
	struct session_conn conn;
	struct list streams, events;
	struct scripted_stream *buried_next; /* its last event has been handed out */
	/* input */
	char line[LINE_MOST];
	size_t line_bytes, spaces;
	bool in_payload, payload_ends;
	size_t payload_left;
	struct scripted_stream *payload_stream; /* NULL: forgotten */
	/* output */
	char *out, *lent; /* lent: of the last output */
	size_t out_bytes, out_room;
	char header[64]; /* of the last data frame */
	/* the peer */
	bool is_ready, peer_takes_pushes, going_away, goaway_came, has_failed, is_pinging;
	uint32_t peer_streams, peer_window, last_id, next_id, next_promise;
	usec begun;
};

enum row { UNKNOWN_FRAME, UNKNOWN_STREAM, MALFORMED_HEAD, WINDOW_EXCEEDED, NOT_READY, TOO_LONG, ONE_AT_A_TIME };

/* ---- scripted_state.c ---- */

const char *scripted_fault_name(size_t row);
/* Counts a fault, and returns its row. */
const struct session_fault *scripted_fault(const struct scripted *s, enum row row);
/* The peer has broken the protocol: the connection is over. */
void scripted_fail(struct scripted *s, enum row row);
void scripted_say(struct scripted *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct session_event *scripted_event(
    struct scripted *s, enum session_event_kind kind, struct scripted_stream *stream);
/* Those of the stream; NULL: all. */
void scripted_forget_events(struct scripted *s, const struct scripted_stream *stream);
struct scripted_stream *scripted_stream_new(struct scripted *s, uint32_t id);
void scripted_stream_free(struct scripted *s, struct scripted_stream *stream);
/* Streams that count against a limit: the client's (odd), or the server's. */
uint32_t scripted_open_streams(const struct scripted *s, bool odd);
/* Frees the stream whose last event was handed out. */
void scripted_bury(struct scripted *s);
void scripted_check_closed(struct scripted *s, struct scripted_stream *stream);
bool scripted_next_event(struct session *session, struct session_event *event);

/* ---- scripted_frames.c ---- */

size_t scripted_receive(
    struct session *session, struct chunk *chunk, size_t offset, size_t length, usec now);

/* ---- scripted_fill.c ---- */

bool scripted_next_output(struct session *session, uint32_t most, struct session_output *output);
bool scripted_wants_write(const struct session *session);

#endif
