/* SPDX-License-Identifier: MIT */
/* Queries of an engine's state that only tests need. */
#ifndef PUSHGATE_TESTS_H2_INSIDE_H
#define PUSHGATE_TESTS_H2_INSIDE_H

#include "proxy/h2/h2_conn.h"

static inline void *h2_stream_user(const struct h2_stream *s)
{
	return s->user;
}

static inline bool h2_stream_is_pushed(const struct h2_stream *s)
{
	return s->is_pushed;
}

static inline bool h2_peer_settings_came(const struct h2_conn *c)
{
	return c->peer_settings_came;
}

/* Whether the peer has acknowledged our first SETTINGS. */
static inline bool h2_settings_acknowledged(const struct h2_conn *c)
{
	return c->was_acked;
}

/* How many streams the owner may still use. */
static inline uint32_t h2_open_streams(const struct h2_conn *c)
{
	return c->handles;
}

#endif
