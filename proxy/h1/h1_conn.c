/* SPDX-License-Identifier: MIT */
/* The one stream of a connection, the end of both by a fault, and the trace of heads. */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ensure.h"

#include <stdio.h>

const struct h1_limits h1_limits_default = {
    .head_bytes = 131072,
    .list_bytes = 65536,
    .trailer_bytes = 16384,
    .extension_bytes = 4096,
    .window_bytes = 65536,
    .interim_responses = 32,
    .head_timeout = 10 * USEC_PER_SEC,
};

void h1_open_stream(struct h1_conn *c, enum http_method method, void *user)
{
	c->stream = (struct h1_stream){
	    .base.user = user,
	    .is_open = true,
	    .method = method,
	    .priority = HTTP_PRIORITY_DEFAULT,
	};
	c->owed = 0;
	c->window = c->config->limits.window_bytes;
}

void h1_end_stream(struct h1_conn *c)
{
	c->stream = (struct h1_stream){0};
	c->body_follows = false;
}

void h1_fail(struct h1_conn *c, const struct session_fault *fault)
{
	ensure(!c->has_failed);
	c->has_failed = c->failure_is_due = true;
	c->failure = fault;
	h1_read_no_more(c);
}

uint32_t h1_request_room(const struct session *session)
{
	const struct h1_conn *c = h1_of(session);
	bool is_free = c->role == H1_CLIENT && !c->stream.is_open && c->reading == H1_READ_START;
	return is_free && !c->is_going && !c->input.has_ended && h1_input_bytes(c) == 0;
}

bool h1_takes_interim(const struct h1_conn *c)
{
	return c->stream.is_open && !c->stream.is_old && !c->stream.has_answer;
}

bool h1_request_is_here(const struct h1_conn *c)
{
	return c->stream.was_read ||
	       (c->reading == H1_READ_LENGTH && c->body_left <= h1_input_bytes(c));
}

void h1_trace_head(const struct h1_conn *c, bool out, const struct http_head *head, size_t bytes)
{
	char line[96];
	if (!c->session.traced)
		return;
	const char *way = out ? "->" : "<-";
	bool is_switch = head->opens_tunnel && head->protocol.len > 0;
	if (head->status > 0)
		snprintf(line, sizeof(line), "%s response %u len=%zu", way,
		    is_switch ? 101u : (unsigned)head->status, bytes);
	else
		snprintf(line, sizeof(line), "%s %s len=%zu", way,
		    head->kind == HTTP_TRAILERS ? "trailers" : "request", bytes);
	c->session.env->trace(c->session.traced, line);
}
