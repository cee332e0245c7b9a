/* SPDX-License-Identifier: MIT */
/* The codec as a session: the functions that its owner may call, and its beginning. */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/memory.h"

static const struct session_ops ops = {
    .name = "http/1.1",
    .capabilities = H1_CAPABILITIES,
    .free = h1_free,
    .receive = h1_receive,
    .next_event = h1_next_event,
    .is_full = h1_is_full,
    .ended = h1_receive_end,
    .next_output = h1_next_output,
    .wants_write = h1_wants_write,
    .offer = h1_offer,
    .request_room = h1_request_room,
    .request_fits = h1_request_fits,
    .request = h1_request,
    .widen = h1_widen,
    .respond = h1_respond,
    .set_priority = h1_set_priority,
    .priority = h1_priority,
    .trailers = h1_trailers,
    .reset = h1_reset,
    .credit = h1_credit,
    .shutdown = h1_shutdown,
    .half_close = h1_half_close,
    .terminate = h1_terminate,
    .deadline = h1_deadline,
    .tick = h1_tick,
    .peer = h1_peer,
    .is_done = h1_is_done,
    .has_finished = h1_has_finished,
    .must_abort = h1_must_abort,
    .has_failed = h1_has_failed,
    .describe = h1_describe,
    .check = h1_check,
};

struct session *h1_new(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now)
{
	struct h1_conn *c = memory_new(struct h1_conn);
	session_init(&c->session, &ops, env, conn);
	c->config = config;
	c->role = c->config->role;
	c->budget = conn->budget;
	c->is_tls = conn->is_tls;
	c->now = now;
	c->keeps = true;
	c->window = c->config->limits.window_bytes;
	c->head_since = c->role == H1_SERVER ? now : USEC_NEVER;
	return &c->session;
}
