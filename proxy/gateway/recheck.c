/* SPDX-License-Identifier: MIT */
/*
 * access-recheck: after a reload the open tunnels of older workers are judged by the access rules of the newest
 * configuration. Only another process has these rules. An older worker asks it about each tunnel, a few at a time, and
 * ends those that are denied. The other process judges a tunnel as it would judge a request for it. Requests that are
 * no tunnels are not asked about.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/limits.h"
#include <stdio.h>

/* Questions without an answer: so many leave in one loop pass, and one more for each answer that comes. */
#define ASKED_MOST 32u
/* A question that the system has not taken is asked again after this time. */
#define AGAIN_USEC (100 * USEC_PER_MSEC)

/* ---- an older worker ---- */

/* Rules look at no query, which may have secrets in it. No pattern is searched for in all of a longer path: this one is
 * ambiguous too (http_path_is_ambiguous). */
static struct slice path_of(const struct http_head *head)
{
	struct slice path = slice_sub(head->path, 0, slice_find(head->path, '?'));
	return path.len <= GATEWAY_TUNNEL_PATH ? path : SLICE("/%00");
}

/* A host has at most 253 bytes: a longer authority is malformed, and so is the part of it that is sent. */
static struct slice authority_of(const struct http_head *head)
{
	return slice_sub(head->authority, 0, GATEWAY_TUNNEL_TEXT);
}

static bool ask(const struct gateway *g, const struct exchange *x)
{
	const struct http_head *head = x->request;
	const struct conf_listen *l = x->facts.listener;
	const struct gateway_tunnel t = {
	    .id = x->id,
	    .client = x->facts.client,
	    .is_forward = conf_listen_is_forward(l),
	    .is_connect = head->protocol.len == 0,
	    .to = upstream_reached(x),
	    .listener = slice_of_string(l->name),
	    .user = access_record_user(x),
	    .scheme = slice_sub(head->scheme, 0, GATEWAY_TUNNEL_TEXT),
	    .authority = authority_of(head),
	    .path = path_of(head),
	    .cert = x->facts.certificate ? x->facts.certificate->names : SLICE(""),
	};
	return g->recheck.ask(g->recheck.context, &t);
}

static void ask_more(struct gateway *g)
{
	struct recheck *r = &g->recheck;
	struct exchange *x;
	while (r->asked_count < ASKED_MOST &&
	       (x = list_first(&r->unasked, struct exchange, waiting))) {
		if (!ask(g, x)) {
			/* Else the next answer makes room. */
			if (r->asked_count == 0)
				wheel_set(&g->relay.wheel, &r->again,
				    clock_after(g->relay.now, AGAIN_USEC));
			return;
		}
		list_remove(&x->waiting);
		list_append(&r->asked, &x->waiting);
		r->asked_count++;
	}
}

static void ask_again(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, recheck.again);
	(void)now;
	ask_more(g);
}

void recheck_open(struct gateway *g)
{
	list_init(&g->recheck.unasked);
	list_init(&g->recheck.asked);
	wheel_node_init(&g->recheck.again, ask_again);
}

void recheck_opened(struct gateway *g, struct exchange *x)
{
	if (!x->facts.listener)
		return;
	list_append(&g->recheck.unasked, &x->waiting);
	ask_more(g);
}

static void forget_all(struct list *tunnels)
{
	list_for_each(tunnels, x, struct exchange, waiting) list_remove(&x->waiting);
}

void recheck_close(struct gateway *g)
{
	g->recheck.ask = NULL;
	g->recheck.asked_count = 0;
	forget_all(&g->recheck.unasked);
	forget_all(&g->recheck.asked);
	wheel_forget(&g->relay.wheel, &g->recheck.again);
}

void gateway_recheck(struct gateway *g,
    bool (*ask_about)(void *context, const struct gateway_tunnel *t), void *context)
{
	recheck_close(g);
	worker_now(&g->env);
	if (!ask_about)
		return;
	net_note(g->env.loop, "listed tunnels for access-recheck");
	g->recheck.ask = ask_about;
	g->recheck.context = context;
	list_for_each(&g->relay.live, x, struct exchange, link)
	{
		if (exchange_is_tunnel(x) && x->facts.listener)
			list_append(&g->recheck.unasked, &x->waiting);
	}
	ask_more(g);
}

bool gateway_recheck_is_under_way(const struct gateway *g)
{
	return !list_is_empty(&g->recheck.unasked) || !list_is_empty(&g->recheck.asked);
}

bool gateway_recheck_answer(struct gateway *g, uint64_t id, const char *reason)
{
	struct recheck *r = &g->recheck;
	struct exchange *judged = NULL;
	char detail[64];
	if (r->asked_count == 0)
		return false;
	worker_now(&g->env);
	r->asked_count--;
	list_for_each(&r->asked, x, struct exchange, waiting)
	{
		if (x->id == id)
			judged = x;
	}
	if (judged) /* else it has ended meanwhile */
		list_remove(&judged->waiting);
	if (judged && *reason) {
		snprintf(detail, sizeof(detail), "access-revoked: %s", reason);
		exchange_abort(judged, &relay_cause_ACCESS_REVOKED, detail);
		worker_schedule_drain_check(&g->env);
	}
	ask_more(g);
	return true;
}

/* ---- a worker with the newest rules ---- */

static const struct conf_listen *find_listener(
    const struct conf *conf, const struct gateway_tunnel *t)
{
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_listen *l = &conf->listens[i];
		if (slice_equal(slice_of_string(l->name), t->listener) &&
		    conf_listen_is_forward(l) == t->is_forward)
			return l;
	}
	return NULL;
}

/* As destination_admits, by the one address that the tunnel leads to. */
static struct access_verdict judge(const struct request_facts *f, const struct net_address *to)
{
	struct effort effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
	struct request_target target;
	struct net_address literal;
	if (!conf_listen_is_forward(f->listener))
		return access_may_ask(f, &effort);
	if (!to && route_read_target(f->head, &target) && target.is_address) {
		net_address_set_ip(&literal, &target.address, target.port);
		to = &literal;
	}
	return access_may_reach(f, to, &effort);
}

const char *gateway_judge_tunnel(const struct gateway *g, const struct gateway_tunnel *t)
{
	const struct http_head head = {
	    .kind = HTTP_REQUEST,
	    .method = SLICE("CONNECT"),
	    .method_token = HTTP_METHOD_CONNECT,
	    .scheme = t->scheme,
	    .authority = t->authority,
	    .path = t->path,
	    .protocol = t->is_connect ? SLICE("") : SLICE("websocket"), /* or another one */
	};
	const struct request_facts facts = {
	    .listener = find_listener(g->env.conf, t),
	    .client = t->client,
	    .user = t->user.len > 0 ? exchange_user_new(t->user) : NULL,
	    .certificate =
		t->cert.len > 0 ? client_certificate_new(t->cert, SLICE(""), SLICE("")) : NULL,
	    .head = &head,
	};
	struct access_verdict verdict = {.answer = ACCESS_ALLOW};
	if (facts.listener && facts.listener->access)
		verdict = judge(&facts, t->to);
	exchange_user_release(facts.user);
	client_certificate_release(facts.certificate);
	return verdict.answer == ACCESS_ALLOW ? NULL : verdict.reason;
}
