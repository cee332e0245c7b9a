/* SPDX-License-Identifier: MIT */
/*
 * Requests that are sent when they are whole: to a server in HTTP/1.1, with a small body (request-buffer). Meanwhile
 * they have no server and no place in a queue, and their bytes are charged to their client's connection.
 *
 *   dispatched ──> gathers ── whole, or more than it may be, or memory is short ──> given to a server
 *
 * The client has body-timeout and min-rate to send the rest. One that asks whether it may (Expect: 100-continue) is
 * answered by the server, and its request is sent at once, unless the route has request-buffer: then 100 comes from
 * here.
 */
#include "proxy/upstream/destination.h"

/* Without request-buffer: of bodies whose length is announced. */
#define ANNOUNCED_MOST 65536u

/* Where ALPN decides, what the first server spoke last stands for all. */
static bool speaks_http1(const struct destination *d)
{
	if (d->origin.conf->protocols == CONF_HTTP1)
		return true;
	const struct server *s = list_first(&d->servers, struct server, link);
	return s && s->at.known.protocol && (s->at.known.capabilities & SESSION_MULTIPLEXES) == 0;
}

/* The window of its stream bounds what a client may send before any of it is taken. */
static uint32_t most_bytes(const struct exchange *x)
{
	const struct conf_request_buffer *conf = &x->place.route->request_buffer;
	uint32_t bytes = conf->is_given ? conf->bytes : ANNOUNCED_MOST;
	uint32_t window = x->facts.listener->stream_window_bytes - 1;
	return bytes < window ? bytes : window;
}

static bool is_small(const struct exchange *x)
{
	uint64_t length = x->request->content_length;
	bool is_announced = length != HTTP_LENGTH_UNKNOWN;
	if (!is_announced && !x->place.route->request_buffer.is_given)
		return false;
	return (is_announced ? length : x->upload.received) <= most_bytes(x);
}

/* The server may want to refuse the request before its body is sent (RFC 9110 10.1.1). */
static bool waits_for_server(const struct exchange *x)
{
	return !x->place.route->request_buffer.is_given && http_expects_continue(x->request);
}

static bool may_gather(const struct exchange *x)
{
	return !x->upload.source_ended && budget_room(x->payer.budget) > 0 && is_small(x);
}

bool gathering_begins(const struct destination *d, struct exchange *x)
{
	bool is_stream = x->terms.is_streaming || x->terms.is_call || x->tunnel.is_asked;
	if (is_stream || exchange_is_push(x) || !x->facts.listener || !speaks_http1(d) ||
	    !may_gather(x) || waits_for_server(x))
		return false;
	x->upload_wait = UPLOAD_GATHERS;
	exchange_continue(x);
	return true;
}

void gathering_grew(struct destination *d, struct exchange *x)
{
	if (may_gather(x))
		return;
	x->upload_wait = UPLOAD_WAITS_NOT;
	x->timing.waits_since = x->relay->now;
	destination_dispatch(d, x);
}
