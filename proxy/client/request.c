/* SPDX-License-Identifier: MIT */
/* A request's head becomes an exchange; the gateway says what becomes of that. */
#include "proxy/client/private.h"

/* 431: the session has decoded the field list for the compression table alone. The log wants the
 * pseudo-fields that came; whether they are well formed is not known. */
static void name_unvalidated(struct http_head *head)
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

/* The exchange of a request; NULL: there is no memory for it, and its stream was reset. */
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
	x->context.hold_store = &c->held;
	x->context.upload_limit_bytes = c->listener->conf->max_request_body_bytes;
	return x;
}

void client_request(struct client_conn *c, struct session_event *e)
{
	if (e->oversize)
		name_unvalidated(e->head);
	struct exchange *x = begin_exchange(c, e);
	if (!x)
		return;
	if (e->oversize) {
		exchange_refuse(x, &relay_cause_HEAD_LARGE, NULL);
		return;
	}
	x->context.came_through = offer_came_through(x->request);
	if (c->diary.is_awake)
		client_diary_request(c, x);
	c->clients->ops->request(c->clients->context, x);
}
