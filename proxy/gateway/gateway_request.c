/* SPDX-License-Identifier: MIT */
/*
 * Handles a new request: refuses it, answers it from a held response, or sends it to its origin. The steps: is it for
 * this listener, which user sent it, may that user ask for it, which route takes it.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/rare.h"

/* The operator has probably forgotten the line that says where TLS ends. */
static RARE void log_untrusted_scheme(struct gateway *g, const struct exchange *x)
{
	static const char what[] = "untrusted scheme";
	char text[64];
	const struct conf_listen *l = x->facts.listener;
	const char *peer = address_format(&x->facts.peer, text, sizeof(text));
	observe_log_fault(g->env.observe, OBSERVE_WARN, what, g->relay.now,
	    "%s: peer %s: %s, answered 421; if TLS ends there, add trusted = %s to [listen %s]",
	    l->name, peer, l->certificate_count > 0 ? "http over TLS" : "https in cleartext",
	    x->facts.peer.family == 0 ? "unix" : peer, l->name);
}

static bool wants_websocket(const struct http_head *head)
{
	struct slice offered = head->upgrade, protocol;
	while (slice_next_member(&offered, &protocol))
		if (slice_equal_nocase(protocol, SLICE("websocket")))
			return true;
	return slice_equal_nocase(head->protocol, SLICE("websocket"));
}

/* Without the option the origin gets an ordinary GET. Its answer does not tell the operator to add the option. */
static RARE void log_forgotten_upgrade(struct gateway *g, const struct exchange *x)
{
	static const char what[] = "forgotten upgrade";
	char text[64];
	const struct http_head *head = x->request;
	if (x->tunnel.is_asked || !x->place.origin || !wants_websocket(head))
		return;
	observe_log_fault(g->env.observe, OBSERVE_INFO, what, g->relay.now,
	    "%s: client %s asks for a WebSocket at %.*s; if it is to get one, add upgrade = "
	    "websocket to [route %s]",
	    x->facts.listener->name, address_format(&x->facts.client, text, sizeof(text)),
	    (int)slice_find(head->path, '?'), head->path.ptr, x->place.route->name);
}

/* ---- the steps ---- */

/* A page that is answered from a held response wants its resources too. */
static RARE void offer_own(struct gateway *g, struct exchange *x)
{
	struct client_facts facts;
	offer_on_request(&g->offers, client_facts(x, &facts), x);
	const struct conf_arm *arm = offer_part(x)->arm;
	if (arm && arm->preload < OBSERVE_PLACES)
		g->env.observe->counters->arm_pages[arm->preload][arm->is_on]++;
}

/* What has come before, while the client's password was checked, counts too. */
static bool bound_body(struct exchange *x)
{
	uint64_t most = route_body_limit(&x->facts, x->place.route);
	x->terms.upload_limit_bytes = most;
	if (most == 0 || x->upload.received <= most)
		return true;
	exchange_refuse(x, &relay_cause_UPLOAD_LARGE, NULL);
	return false;
}

/* The route has speculation. */
static RARE void note_speculative(struct gateway *g, struct exchange *x)
{
	x->terms.is_speculative = policy_purpose_of(x->request) != POLICY_PURPOSE_NONE;
	WORKER_COUNT(&g->env, requests_speculative, x->terms.is_speculative);
}

/* The last step: the request is for an origin, or for a held response. */
static void serve(struct gateway *g, struct exchange *x)
{
	if (x->place.origin->balance.affinity_cookie)
		upstream_read_affinity(x);
	if (x->place.route->request_limit_count > 0 && !request_limits_admit(&g->admission, x))
		return;
	if (x->tunnel.is_asked && conf_route_counts_tunnels(x->place.route) &&
	    !tunnel_quotas_admit(&g->admission, x))
		return;
	if (x->tunnel.is_asked && x->place.route->matches_sni) /* of an upgrade nothing is known */
		x->tunnel.is_checked = x->request->protocol.len == 0;
	if (!x->tunnel.is_asked) /* which has tunnel-age */
		x->terms.request_timeout = x->place.route->request_timeout;
	if (!x->tunnel.is_asked && !bound_body(x))
		return;
	if (x->terms.call_timeout > 0)
		client_bound_call(x);
	if (x->place.route->speculation.kind != SPECULATION_OFF)
		note_speculative(g, x);
	if (g->hint_uses)
		hint_uses_asked(g, x);
	if (g->env.conf->preload_count > 0)
		offer_own(g, x);
	if (exchange_is_over(x) || (hold_may_answer(&g->hold) && hold_claim(&g->hold, x)))
		return;
	exchange_dispatch(x);
}

static void route(struct gateway *g, struct exchange *x)
{
	const char *detail = NULL;
	struct request_routing routing;
	if (g->lessons.memory && speculation_serves(g, x))
		return;
	const struct relay_cause *refusal =
	    route_find(&g->routes, &x->facts, exchange_effort(x), &routing, &detail);
	exchange_set_routing(x, &routing);
	if (x->request->upgrade.len + x->request->protocol.len > 0)
		log_forgotten_upgrade(g, x);
	if (!refusal)
		serve(g, x);
	else if (refusal == &relay_cause_ADMIN_PAGE)
		admin_request(g->admin, x);
	else
		exchange_refuse(x, refusal, detail);
}

/* The listener has rules. If a user is asked again because the credentials were wrong, the log says so. */
static void judge(struct gateway *g, struct exchange *x, enum user_answer user)
{
	struct access_verdict verdict = access_may_ask(&x->facts, exchange_effort(x));
	if (verdict.answer == ACCESS_ASK && user == USER_WRONG)
		verdict.reason = "credentials-refused";
	const struct relay_cause *refusal = access_cause(x->facts.listener, &verdict);
	if (!refusal) {
		route(g, x);
		return;
	}
	admission_part(x)->denial = (uint8_t)(1 + verdict.why);
	exchange_refuse(x, refusal, verdict.reason);
}

void gateway_identified(void *context, struct exchange *x, enum user_answer answer)
{
	struct gateway *g = context;
	switch (answer) {
	case USER_WAITS:
		return;
	case USER_BUSY:
		exchange_refuse(x, &relay_cause_USERS_BUSY, NULL);
		return;
	case USER_LIMITED:
		exchange_refuse(x, &relay_cause_USER_FAILURES, NULL);
		return;
	case USER_NONE:
	case USER_KNOWN:
	case USER_WRONG: /* the rules may want a user */
		judge(g, x, answer);
		return;
	}
}

void gateway_request(void *context, struct exchange *x)
{
	struct gateway *g = context;
	const struct conf_listen *listen = x->facts.listener;
	const char *detail = NULL;
	if (g->env.tracing)
		tracing_begin(g->env.tracing, x);
	if (listen->request_id != CONF_REQUEST_ID_OFF)
		gateway_give_id(g, x);
	if (g->acme_thumbprint && challenge_serves(g, x))
		return;
	if (listen->serves_pac && conf_listen_is_forward(listen) && pac_serves(g, x))
		return;
	const struct relay_cause *refusal =
	    route_admit(&g->routes, &x->facts, exchange_arena(x), &detail);
	if (refusal) {
		if (refusal == &relay_cause_UNTRUSTED_SCHEME)
			log_untrusted_scheme(g, x);
		exchange_refuse(x, refusal, detail);
	} else if (!listen->access) {
		route(g, x);
	} else if (access_asks_for_users(listen)) {
		gateway_identified(g, x, users_identify(&g->admission, x));
	} else {
		judge(g, x, USER_NONE);
	}
}
