/* SPDX-License-Identifier: MIT */
/* Makes an exchange from a request's head and gives it to the gateway. */
#include "proxy/client/private.h"

/* For a request that is refused with 431: the session decoded its field block without validating it.
 * Finds the pseudo-fields for the log; they may be malformed. */
static void find_pseudo_fields(struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		switch (f->token) {
		case HTTP_TOKEN_PSEUDO_METHOD:
			head->method = f->value;
			head->method_token = (uint16_t)http_method_find(f->value);
			break;
		case HTTP_TOKEN_PSEUDO_SCHEME:
			head->scheme = f->value;
			break;
		case HTTP_TOKEN_PSEUDO_AUTHORITY:
			head->authority = f->value;
			break;
		case HTTP_TOKEN_PSEUDO_PATH:
			head->path = f->value;
			break;
		}
	}
}

/* Makes the exchange of a request. Resets the stream and returns NULL when memory is short. */
static struct exchange *begin_exchange(struct client_conn *c, struct session_event *e)
{
	struct worker_env *env = c->clients->env;
	const struct leg leg = {
	    .ops = &client_leg_ops, .carrier = c, .stream = e->stream, .budget = &c->budget};
	struct exchange *x = exchange_new(env->relay, &leg, e->head, e->end);
	WORKER_COUNT(env, requests, 1);
	if (!x) {
		WORKER_COUNT(env, memory_refused, 1);
		WORKER_COUNT(env, streams_refused_memory, 1);
		session_reset(c->session, e->stream, SESSION_REFUSED_STREAM);
		return NULL;
	}
	session_set_user(c->session, e->stream, &x->down);
	list_append(&c->legs, &x->down.link);
	WORKER_COUNT(env, requests_open, 1);
	client_conn_is_busy(c);
	x->context.listen = c->listener->conf;
	x->context.client = c->address;
	x->context.down = c->hop;
	x->context.hold_store = &c->held;
	x->context.upload_limit_bytes = c->listener->conf->max_request_body_bytes;
	return x;
}

void client_request(struct client_conn *c, struct session_event *e)
{
	if (e->oversize)
		find_pseudo_fields(e->head);
	bool came_through = offer_came_through(e->head);
	if (!e->oversize)
		client_diary_extract_cookie(c, e->head, came_through);
	struct exchange *x = begin_exchange(c, e);
	if (!x)
		return;
	if (e->oversize) {
		exchange_refuse(x, &relay_cause_HEAD_LARGE, NULL);
		return;
	}
	x->context.came_through = came_through;
	client_diary_request(c, x);
	c->clients->ops->request(c->clients->context, x);
}
