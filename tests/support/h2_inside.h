/* SPDX-License-Identifier: MIT */
/* Queries of an engine's state that only tests need, and its output frame by frame. */
#ifndef PUSHGATE_TESTS_H2_INSIDE_H
#define PUSHGATE_TESTS_H2_INSIDE_H

#include "proxy/h2/h2_conn.h"

static inline bool h2_stream_is_pushed(const struct session_stream *s)
{
	return h2_stream_of(s)->is_pushed;
}

static inline bool h2_peer_settings_came(const struct session *s)
{
	return h2_of(s)->peer_settings_came;
}

static inline const struct h2_settings *h2_peer_settings(const struct session *s)
{
	return &h2_of(s)->peer;
}

/* Announced last. */
static inline const struct h2_settings *h2_local_settings(const struct session *s)
{
	return &h2_of(s)->local;
}

/* Whether the peer has acknowledged our first SETTINGS. */
static inline bool h2_settings_acknowledged(const struct session *s)
{
	return h2_of(s)->was_acked;
}

/* How many streams the owner may still use. */
static inline uint32_t h2_open_streams(const struct session *s)
{
	return h2_of(s)->handles;
}

/* Frames that are ready to send before any DATA. */
static inline struct slice h2_control(const struct session *s)
{
	const struct h2_out *o = &h2_of(s)->out;
	return h2_out_length(o) > 0 ? slice_of(o->data + o->start, h2_out_length(o)) : SLICE("");
}

/* So many bytes of them have been sent, maybe not all. */
static inline void h2_control_taken(struct session *s, size_t bytes)
{
	struct h2_conn *c = h2_of(s);
	h2_out_taken(&c->out, bytes);
	h2_out_trim(&c->out, c->handles == 0);
}

#endif
