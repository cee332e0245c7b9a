/* SPDX-License-Identifier: MIT */
/* Makes an exchange from a request's head and gives it to the gateway. */
#include "proxy/client/client_private.h"

#include "proxy/limits.h"

static void find_field(const struct http_head *head, enum http_token token, struct slice *value)
{
	const struct http_field *f = http_head_find(head, token);
	if (f)
		*value = f->value;
}

/* For a request that is refused with 431: the session decoded its field block without validating it.
 * Finds the pseudo-fields for the log; they may be malformed. */
static void find_pseudo_fields(struct http_head *head)
{
	find_field(head, HTTP_TOKEN_PSEUDO_METHOD, &head->method);
	find_field(head, HTTP_TOKEN_PSEUDO_SCHEME, &head->scheme);
	find_field(head, HTTP_TOKEN_PSEUDO_AUTHORITY, &head->authority);
	find_field(head, HTTP_TOKEN_PSEUDO_PATH, &head->path);
	head->method_token = (uint16_t)http_method_find(head->method);
}

const struct relay_cause *client_refusal_cause(enum session_refusal refusal)
{
	static const struct relay_cause *const causes[] = {
	    [SESSION_REFUSAL_MALFORMED] = &relay_cause_DOWN_MALFORMED,
	    [SESSION_REFUSAL_LATE] = &relay_cause_REQUEST_LATE,
	    [SESSION_REFUSAL_TARGET] = &relay_cause_TARGET_LARGE,
	    [SESSION_REFUSAL_FIELDS] = &relay_cause_HEAD_LARGE,
	    [SESSION_REFUSAL_CODING] = &relay_cause_CODING_UNKNOWN,
	    [SESSION_REFUSAL_VERSION] = &relay_cause_VERSION_UNKNOWN,
	};
	return causes[refusal];
}

/* For the log. Mostly it is the host of the request, and costs a comparison. */
static void note_hello(const struct client_conn *c, struct exchange *x)
{
	const struct slice sni = net_conn_sni(c->net), authority = x->request->authority;
	const struct slice host = slice_sub(authority, 0, sni.len);
	bool is_host = (slice_equal(host, sni) || slice_equal_nocase(host, sni)) &&
		       (authority.len == sni.len || authority.ptr[sni.len] == ':');
	client_part(x)->has_ech = net_conn_has_ech(c->net);
	if (sni.len > 0 && !is_host)
		x->facts.sni = arena_copy(exchange_arena(x), sni);
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
	session_set_user(e->stream, &x->down);
	list_append(&c->legs, &x->down.link);
	WORKER_COUNT(env, requests_open, 1);
	client_conn_is_busy(c);
	x->facts.listener = c->listener->conf;
	x->facts.peer = x->facts.client = c->address;
	x->facts.ends = peer_ends_hold(c->ends);
	x->facts.tls = c->tls;
	x->facts.certificate = client_certificate_hold(c->certificate);
	x->facts.client_ca = c->client_ca;
	client_part(x)->hop = c->hop;
	if (e->head->version != HTTP_VERSION_NONE) /* HTTP/1.0 and 1.1 may share a connection */
		client_part(x)->hop.protocol = http_version_name(e->head->version);
	note_hello(c, x);
	hold_part(x)->store = &c->held;
	return x;
}

static void refuse(struct client_conn *c, struct exchange *x, const struct session_event *e)
{
	if (e->oversize) {
		exchange_refuse(x, &relay_cause_HEAD_LARGE, NULL);
		return;
	}
	WORKER_COUNT(c->clients->env, peer_faults_down, 1);
	client_log_fault(c, e->fault->name, e->reason ? e->reason : e->fault->text);
	exchange_refuse(
	    x, client_refusal_cause(e->refusal), e->reason ? e->reason : e->fault->name);
}

void client_request(struct client_conn *c, struct session_event *e)
{
	if (e->oversize || e->refusal)
		find_pseudo_fields(e->head);
	bool is_readable = !e->oversize && e->refusal == SESSION_REFUSAL_NONE;
	bool came_through = route_came_through(c->listener->conf, e->head);
	size_t work = LIMIT_HEAD_WORK_BYTES + e->head->list_bytes;
	if (is_readable)
		route_adopt_scheme(c->listener->conf, &c->address, e->head);
	if (is_readable)
		client_diary_extract_cookie(c, e->head, came_through);
	struct exchange *x = begin_exchange(c, e);
	if (!x)
		return;
	if (!is_readable) {
		refuse(c, x, e);
		return;
	}
	x->facts.came_through = came_through;
	route_find_client(&x->facts);
	client_diary_request(c, x);
	c->clients->ops->request(c->clients->context, x);
	net_worked(c->clients->env->loop, work + exchange_effort_spent(x));
}

/* A call that lasts so long holds one of the client's streams for long enough. */
#define DEADLINE_NEAR_USEC USEC_PER_SEC

/*
 * At its deadline a call is cancelled at the origin, as if the client had reset it, but no RST_STREAM of the
 * client's is needed: calls of a millisecond would be a rapid reset (CVE-2023-44487) that limit-resets does not
 * count. So near deadlines have the same rate here. Beyond it the call goes on for a while: the client and
 * the origin know the deadline themselves.
 */
void client_bound_call(struct exchange *x)
{
	struct client_conn *c = client_conn_of(x);
	/* uncovered: a request that has just come has its client */
	if (!c || x->terms.call_timeout >= DEADLINE_NEAR_USEC)
		return;
	if (!bucket_take(&c->near_deadlines, &c->listener->conf->limits.resets, 1, x->relay->now))
		x->terms.call_timeout = DEADLINE_NEAR_USEC;
}
