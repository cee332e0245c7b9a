/* SPDX-License-Identifier: MIT */
/*
 * A hop without connections. The relay, the policy, the held responses and the facts of an offer
 * are the data plane's own code; the legs on both sides are stand-ins that accept everything. State
 * of a live connection (rates, memory, feedback of earlier pushes, the client's diary) has its
 * initial value.
 */
#include "proxy/base/chunk.h"
#include "proxy/base/ensure.h"
#include "proxy/limits.h"
#include "proxy/tool/explain.h"

#define MEMORY_BYTES (256u << 20)
#define NOW_USEC USEC_PER_SEC

/* ---- legs ---- */

static const struct leg_ops leg_ops;

static bool leg_send_head(struct leg *leg, const struct http_head *head, bool end)
{
	(void)leg, (void)head, (void)end;
	return true;
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	(void)leg, (void)flow;
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	(void)leg, (void)trailers;
}

static bool leg_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	(void)request;
	struct explain_scene *s = leg->carrier;
	child->down.ops = &leg_ops;
	child->down.carrier = s;
	s->client.open_pushes++;
	return true;
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	(void)code;
	leg->ops = NULL;
}

static void leg_credit(struct leg *leg, size_t n)
{
	(void)leg, (void)n;
}

static void leg_detach(struct leg *leg)
{
	leg->ops = NULL;
}

static const struct leg_ops leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};

/* ---- relay callbacks ---- */

static void dispatch(void *context, struct exchange *x)
{
	if (exchange_is_push(x))
		return; /* the pushed response is not simulated */
	struct explain_scene *s = context;
	s->wants_pushes = offer_wants_pushes(&s->base, &s->client, x);
	x->pushes.is_subscription = offer_is_subscription(x, s->wants_pushes);
	const struct leg up = {.ops = &leg_ops, .carrier = s};
	exchange_on_connected(x, &up);
}

static void undispatch(void *context, struct exchange *x)
{
	(void)context, (void)x;
}

static uint64_t key_of(const struct http_head *promised)
{
	return policy_diary_key(promised->method, promised->authority, promised->path);
}

static void offer_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct explain_scene *s = context;
	offer_context(&s->base, &s->client, parent, promised, offer, place);
	struct policy_diary_note note;
	if (!parent->facts.came_through && policy_diary_find(&s->diary, key_of(promised), &note))
		offer->known = policy_diary_answer(
		    &note, offer->source != POLICY_RELAYED, (uint32_t)parent->id, 0);
	if (s->correct)
		s->correct(s->context, offer);
	s->deciding = offer; /* until report_verdict */
}

static void report_verdict(void *context, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict)
{
	struct explain_scene *s = context;
	struct explain_offer e = {
	    .offer = offer, .verdict = verdict, .was_decided = offer == s->deciding};
	const struct exchange_hints *hints = &parent->hints;
	bool is_hinted = verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD;
	if (is_hinted && !offer->in_early_hints && hints->count > 0)
		e.hint = hints->list[hints->count - 1].link;
	s->decided(s->context, &e);
	s->deciding = NULL;
	if (parent->facts.came_through)
		return;
	const struct policy_diary_note hinted = {
	    .state = POLICY_DIARY_HAD, .fresh_until_sec = UINT32_MAX};
	const struct policy_diary_note pushed = {.state = POLICY_DIARY_PUSHED_UNANSWERED};
	if (is_hinted)
		policy_diary_put(&s->diary, key_of(offer->promised), &hinted);
	else if (verdict.action == POLICY_FORWARD &&
		 offer->promised->method_token == HTTP_METHOD_GET)
		policy_diary_put(&s->diary, key_of(offer->promised), &pushed);
}

static void push_promised(void *context, struct exchange *push)
{
	struct explain_scene *s = context;
	report_verdict(s, push->pushed.parent, s->deciding, push->pushed.verdict);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	struct explain_scene *s = context;
	const struct conf_route *route = x->place.route;
	if (route)
		route_map_response(x->request, &x->place, head);
	if (route)
		route_apply_fields(&route->response_fields, &x->facts, head);
	if (!offer_has_links(x, head))
		return;
	/* Explained even if the gateway would not read them. */
	s->ignores_links = !offer_reads_links(&s->base, &s->client, x);
	offer_links(x, head);
}

static bool interim_head(void *context, struct exchange *x, struct http_head *head)
{
	struct explain_scene *s = context;
	route_map_response(x->request, &x->place, head);
	return offer_on_interim(&s->base, &s->client, x, head);
}

static void ended(void *context, struct exchange *x)
{
	(void)context, (void)x;
}

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	(void)context, (void)x, (void)what;
	return 0;
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	(void)context, (void)x, (void)side;
	return 0;
}

static const struct relay_ops relay_ops = {
    .dispatch = dispatch,
    .undispatch = undispatch,
    .offer_facts = offer_facts,
    .offer_decided = report_verdict,
    .hold = hold_bind,
    .push_promised = push_promised,
    .response_head = response_head,
    .interim_head = interim_head,
    .ended = ended,
    .time_limit = time_limit,
    .min_rate = min_rate,
};

static uint64_t epoch_sec(void *context)
{
	(void)context;
	return 0;
}

static const struct hold_ops hold_ops = {.epoch_sec = epoch_sec};

/* ---- life ---- */

static void open_connection(struct explain_scene *s)
{
	const struct conf_server *c = &s->conf->server;
	const struct hold_limits limits = {
	    .count = c->hold_max_count, .bytes = c->hold_max_bytes, .age = c->hold_max_age};
	bool one_user = !s->listen || !s->listen->clients_shared;
	hold_store_init(&s->held, &s->hold, &s->budget, &limits, one_user);
	s->held.is_secluded = s->who.certificate || !conf_listen_shares(s->listen);
	policy_diary_init(&s->diary, one_user ? c->diary_entries : 0);
}

void explain_scene_init(struct explain_scene *s)
{
	const struct conf *conf = s->conf;
	budget_init(&s->budget, NULL, MEMORY_BYTES);
	s->chunks = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, 0);
	s->heads = http_head_pool_new(16);
	s->router = s->tables ? router_of_table(conf, s->tables->gateway)
			      : router_new(conf, CONF_MODE_GATEWAY, 0);
	s->forward_router = s->tables ? router_of_table(conf, s->tables->forward)
				      : router_new(conf, CONF_MODE_FORWARD, 0);
	s->routes = (struct route_env){
	    .router = s->router,
	    .forward_router = s->forward_router,
	    .pseudonym = slice_of_string(conf->server.pseudonym),
	    .via = http_via_make(slice_of_string(conf->server.pseudonym)),
	};
	s->base = (struct offer_env){.conf = conf, .route = &s->routes, .manifests = s->manifests};
	s->relay = (struct relay){
	    .ops = &relay_ops,
	    .context = s,
	    .policy = &conf->policy,
	    .chunks = s->chunks,
	    .small_chunks = s->chunks,
	    .heads = s->heads,
	    .budget = &s->budget,
	    .pseudonym = s->routes.pseudonym,
	    .hint_wait = conf->server.hint_wait,
	    .now = NOW_USEC,
	};
	relay_init(&s->relay);
	const struct hold_limits shared = {.count = conf->server.hold_max_count};
	hold_init(&s->hold, &s->relay, &hold_ops, s, conf->server.hold_shared ? &shared : NULL);
	open_connection(s);
	s->x = NULL;
	s->deciding = NULL;
}

static void end_all(struct explain_scene *s)
{
	/*
	 * End the client's exchanges first; what then remains has no client and is aborted below.
	 */
	list_for_each(&s->relay.live, gone, struct exchange, link)
	{
		if (exchange_is_over(gone) || gone->down.ops != &leg_ops)
			continue;
		gone->down.ops = NULL;
		exchange_on_down_ended(gone, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
	}
	hold_store_fini(&s->held);
	list_for_each(&s->relay.live, x, struct exchange, link)
	    exchange_abort(x, &relay_cause_DRAINED, NULL);
	hold_run(&s->hold);
	relay_reap(&s->relay);
	policy_diary_fini(&s->diary);
	s->x = NULL;
	s->client.open_pushes = 0;
}

void explain_end(struct explain_scene *s)
{
	end_all(s);
	open_connection(s);
}

void explain_scene_fini(struct explain_scene *s)
{
	end_all(s);
	exchange_user_release(s->who.user);
	client_certificate_release(s->who.certificate);
	hold_fini(&s->hold);
	relay_fini(&s->relay);
	router_free(s->router);
	router_free(s->forward_router);
	chunk_pool_free(s->chunks);
	http_head_pool_free(s->heads);
	budget_fini(&s->budget);
}

void explain_set_user(struct explain_scene *s, const char *name)
{
	exchange_user_release(s->who.user);
	s->who.user = name && name[0] ? exchange_user_new(slice_of_string(name)) : NULL;
}

void explain_set_certificate(struct explain_scene *s, struct client_certificate *certificate)
{
	client_certificate_release(s->who.certificate);
	s->who.certificate = certificate;
	s->held.is_secluded = certificate || !conf_listen_shares(s->listen);
}

/* ---- events ---- */

/* A balancer that ends TLS says so in its PROXY header: else no request for https would come there. */
static struct peer_ends *ends_of(const struct explain_scene *s, const struct http_head *request)
{
	const struct peer_header header = {.is_tls = true};
	bool is_claimed = s->listen && s->listen->proxy_protocol.is_required &&
			  slice_equal_nocase(request->scheme, SLICE("https"));
	return is_claimed ? peer_ends_new(&header, &s->peer, 0) : NULL;
}

static void set_certificate(const struct explain_scene *s, struct exchange *x)
{
	const struct conf_listen *l = x->facts.listener;
	const struct net_client_ca *ca = explain_client_ca(l, x->request);
	if (l && l->client_auth)
		x->facts.client_ca = (uint32_t)(ca ? ca - l->client_auth->authorities
						   : (ptrdiff_t)l->client_auth->net.count);
	if (ca)
		x->facts.certificate = client_certificate_hold(s->who.certificate);
}

const struct relay_cause *explain_ask(
    struct explain_scene *s, struct http_head *request, const char **detail)
{
	const struct leg down = {.ops = &leg_ops, .carrier = s};
	struct exchange *x = exchange_new(&s->relay, &down, request, true);
	ensure(x != NULL);
	s->x = x;
	s->ignores_links = false;
	x->facts.listener = s->listen;
	x->facts.client = s->client.address;
	x->facts.peer = s->peer;
	x->facts.ends = ends_of(s, request);
	x->facts.user = exchange_user_hold(s->who.user);
	set_certificate(s, x);
	hold_part(x)->store = &s->held;
	x->facts.came_through = route_came_through(s->listen, request);
	route_find_client(&x->facts);
	s->client.address = x->facts.client;
	*detail = NULL;
	const struct relay_cause *refusal =
	    route_admit(&s->routes, &x->facts, exchange_arena(x), detail);
	if (!refusal && s->access)
		refusal = explain_access(s->access, x, detail);
	if (!refusal) {
		struct request_routing routing;
		refusal = route_find(&s->routes, &x->facts, exchange_effort(x), &routing, detail);
		exchange_set_routing(x, &routing);
	}
	return refusal || !s->access ? refusal : explain_reach(s->access, s->conf, x, detail);
}

void explain_dispatch(struct explain_scene *s)
{
	offer_on_request(&s->base, &s->client, s->x);
	exchange_dispatch(s->x);
	relay_send_hints(&s->relay);
}

void explain_promise(struct explain_scene *s, struct http_head *promised)
{
	const struct leg up = {.ops = &leg_ops, .carrier = s};
	exchange_on_promise(s->x, &up, promised);
}
