/* SPDX-License-Identifier: MIT */
/* The data plane as a whole: its life, its turn, its drain. */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/via.h"
#include "proxy/limits.h"

/* Free heads kept for the swings of a busy worker. */
#define HEADS_KEPT 2048u
/* Small chunks hold pieces that were copied; see LIMIT_COPY_BELOW_BYTES. */
#define SMALL_CHUNKS_KEPT 1024u
/* What is held for everybody may take as much as is held for so many connections. */
#define HOLD_SHARED_TIMES 16u

struct listener_socket {
	struct list link;
	struct net_listener *net;
	struct listener *listener;
};

/* ---- what time it is ---- */

struct slice hop_date(struct hop *h)
{
	uint64_t sec = clock_wall() / USEC_PER_SEC;
	if (sec != h->date_sec) {
		http_date_write(h->date_text, sec);
		h->date_sec = sec;
	}
	return slice_of(h->date_text, sizeof(h->date_text));
}

usec hop_now(struct hop *h)
{
	return h->relay.now = net_now(h->env.loop);
}

void hop_nudge(struct hop *h)
{
	if (h->is_draining && !h->is_drained)
		net_timer_set(&h->timer, net_now(h->env.loop));
}

static struct slice date(void *context)
{
	return hop_date(context);
}

static void dispatch(void *context, struct exchange *x)
{
	struct hop *h = context;
	const struct conf_route *route = x->route;
	if (!x->retried)
		fields_apply(&route->request_fields, x->request);
	pool_dispatch(pool_choose(h, x), x);
}

static void undispatch(void *context, struct exchange *x)
{
	(void)context;
	pool_undispatch(x);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	struct hop *h = context;
	const struct conf_route *route = x->route;
	if (route && !http_head_is_interim(head))
		fields_apply(&route->response_fields, head);
	if (!http_head_is_interim(head) && !list_is_empty(&h->hold.used))
		hold_invalidate(&h->hold, x, head);
	offer_with_response(x, head);
	if (x->memory && !http_head_is_interim(head))
		memory_response(x, head);
	http_via_add(head, h->pseudonym);
}

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	struct hop *h = context;
	const struct conf_origin *o = x->origin;
	const struct conf_listen *l = x->listen;
	switch (what) {
	case RELAY_TIMEOUT_BODY_UP:
		return l ? l->body_timeout : 0;
	case RELAY_TIMEOUT_TAKE_DOWN:
		return x->down.ops == &down_leg_ops ? down_take_limit(x->down.carrier, &x->down)
						    : 0;
	case RELAY_TIMEOUT_TAKE_UP:
		return x->up.ops == &up_leg_ops ? up_take_limit(x->up.carrier, &x->up) : 0;
	case RELAY_TIMEOUT_PUSH_START:
		return h->env.conf->server.push_start_timeout;
	case RELAY_TIMEOUT_QUEUE:
		return o ? o->queue_timeout : 0;
	case RELAY_TIMEOUT_RESPONSE:
		return o ? o->response_timeout : 0;
	case RELAY_TIMEOUT_BODY_DOWN:
		return o ? o->body_timeout : 0;
	case RELAY_TIMEOUT_LINGER:
		return o ? o->upload_linger : USEC_PER_SEC;
	}
	return 0;
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	(void)context;
	const struct conf_origin *o = x->origin;
	const struct conf_listen *l = x->listen;
	if (side == RELAY_CLIENT)
		return l ? l->limits.min_rate : 0;
	return o ? o->limits.min_rate : 0;
}

static const struct relay_ops relay_ops = {
    .dispatch = dispatch,
    .undispatch = undispatch,
    .offer_facts = promise_facts,
    .offer_settled = promise_settled,
    .offer_shadowed = feedback_shadowed,
    .push_promised = promise_made,
    .response_head = response_head,
    .ended = account_ended,
    .date = date,
    .time_limit = time_limit,
    .min_rate = min_rate,
};

static uint64_t epoch_sec(void *context)
{
	(void)context;
	return clock_wall() / USEC_PER_SEC;
}

static const struct hold_ops hold_ops = {.epoch_sec = epoch_sec, .note = account_held};

/* ---- the turn ---- */

static void reap(struct hop *h)
{
	relay_reap(&h->relay);
	while (!list_is_empty(&h->dead)) {
		struct list *link = h->dead.next;
		list_remove(link);
		struct corpse *corpse = container_of(link, struct corpse, link);
		corpse->bury(corpse);
	}
}

static void turn_the_wheel(void *context)
{
	struct hop *h = context;
	relay_turn(&h->relay, net_now(h->env.loop));
}

static void set_timer(struct hop *h)
{
	const usec due[] = {
	    wheel_next(&h->relay.wheel), relay_hints_due(&h->relay), pressure_due(h)};
	usec next = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		next = due[i] < next ? due[i] : next;
	net_timer_set(&h->timer, next);
}

/* Before the dirty connections are walked: nothing of this turn is needed any more. */
static void on_turn(void *context)
{
	struct hop *h = context;
	relay_send_hints(&h->relay);
	hold_run(&h->hold);
	reap(h);
	pressure_turn(h);
	set_timer(h);
	observe_tell_left_out(h->env.observe, h->relay.now);
	hop_check_drained(h);
}

/* ---- life ---- */

/* A pseudonym that others may share would make every chain of two a loop. */
static void make_pseudonym(struct hop *h)
{
	const char *configured = h->env.conf->server.pseudonym;
	if (strcmp(configured, "pushgate") == 0 && h->env.ticket_key)
		snprintf(h->pseudonym_text, sizeof(h->pseudonym_text), "pushgate-%08x",
		    (unsigned)(hash_bytes(0, h->env.ticket_key, 48) & 0xffffffffu));
	else
		snprintf(h->pseudonym_text, sizeof(h->pseudonym_text), "%s", configured);
	h->pseudonym = slice_of_string(h->pseudonym_text);
}

static bool open_listeners(struct hop *h, char *error, size_t error_size)
{
	const struct conf *conf = h->env.conf;
	h->listeners =
	    memory_resize(NULL, conf->listen_count ? conf->listen_count : 1, sizeof(*h->listeners));
	memset(h->listeners, 0, conf->listen_count * sizeof(*h->listeners));
	for (size_t i = 0; i < conf->listen_count; i++) {
		struct listener *l = &h->listeners[i];
		l->hop = h;
		l->conf = &conf->listens[i];
		list_init(&l->sockets);
		map_init(&l->clients);
	}
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_listen *c = &conf->listens[i];
		if (c->certificate_count == 0)
			continue;
		const struct net_tls_server_options o = {
		    .certificates = c->certificates,
		    .certificate_count = c->certificate_count,
		    .alpn = "h2",
		    .ticket_key = h->env.ticket_key,
		};
		h->listeners[i].tls = net_tls_server_new(&o, error, error_size);
		if (!h->listeners[i].tls)
			return false;
	}
	return true;
}

static bool open_pools(struct hop *h, char *error, size_t error_size)
{
	const struct conf *conf = h->env.conf;
	h->pools = memory_resize(NULL, conf->origin_count * 2 + 1, sizeof(*h->pools));
	for (size_t i = 0; i < conf->origin_count; i++) {
		pool_init(&h->pools[2 * i], h, &conf->origins[i], NULL, true);
		pool_init(&h->pools[2 * i + 1], h, &conf->origins[i], NULL, false);
	}
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_origin *o = &conf->origins[i];
		if (o->kind != CONF_ORIGIN_H2_TLS)
			continue;
		const struct net_tls_client_options options = {
		    .ca_file = o->tls_ca, .verify = o->tls_verify, .alpn = "h2"};
		struct net_tls *tls = net_tls_client_new(&options, error, error_size);
		if (!tls)
			return false;
		h->pools[2 * i].tls = h->pools[2 * i + 1].tls = tls;
	}
	return true;
}

static void drain_expired(struct wheel_node *node, usec now);

/* A manifest that a build has written anew is in use so much later at most. */
#define MANIFESTS_CHECK_USEC (2 * USEC_PER_SEC)

static void say_manifest(void *context, const char *line)
{
	struct hop *h = context;
	observe_log(h->env.observe, OBSERVE_WARN, "manifest %s", line);
}

static void check_manifests(struct wheel_node *node, usec now)
{
	struct hop *h = container_of(node, struct hop, manifests_timer);
	manifests_check(h->manifests, say_manifest, h);
	wheel_set(&h->relay.wheel, node, now + MANIFESTS_CHECK_USEC);
}

struct hop *hop_new(const struct hop_env *env, char *error, size_t error_size)
{
	struct hop *h = memory_new(struct hop);
	h->env = *env;
	const struct conf *conf = env->conf;
	budget_init(&h->budget, NULL, conf->server.memory_bytes);
	pressure_init(&h->pressure, &h->budget);
	net_set_closing_budget(env->loop, &h->budget);
	/* What is kept in the hope of a request must leave room for requests. */
	budget_init(&h->hold_budget, &h->budget, conf->server.memory_bytes / 2);
	h->small = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, SMALL_CHUNKS_KEPT);
	h->heads = http_head_pool_new(HEADS_KEPT);
	list_init(&h->downs);
	list_init(&h->dead);
	make_pseudonym(h);
	h->router = router_new(conf, env->seed);
	ensure(!h2_fault_name(OBSERVE_FAULTS) && RELAY_CAUSE_COUNT <= OBSERVE_CAUSES);
	h->facts =
	    (struct facts_base){.conf = conf, .router = h->router, .pseudonym = h->pseudonym};
	h->push_off_until = memory_zalloc((conf->route_count + 1) * sizeof(*h->push_off_until));
	h->relay = (struct relay){
	    .ops = &relay_ops,
	    .context = h,
	    .policy = &conf->policy,
	    .chunks = env->chunks,
	    .small_chunks = h->small,
	    .heads = h->heads,
	    .budget = &h->budget,
	    .pseudonym = h->pseudonym,
	    .hint_wait = conf->server.hint_wait,
	    .now = net_now(env->loop),
	};
	relay_init(&h->relay);
	feedback_init(h);
	memory_setup(h);
	h->hold_limits = (struct hold_limits){
	    .count = conf->server.hold_max_count,
	    .bytes = conf->server.hold_max_bytes,
	    .age = conf->server.hold_max_age,
	};
	const struct hold_limits shared = {
	    .count = conf->server.hold_max_count * HOLD_SHARED_TIMES,
	    .bytes = conf->server.hold_max_bytes * HOLD_SHARED_TIMES,
	    .age = conf->server.hold_max_age,
	};
	hold_init(&h->hold, &h->relay, &hold_ops, h, conf->server.hold_shared ? &shared : NULL);
	for (size_t i = 0; i < conf->policy.count; i++)
		h->asks_rtt =
		    h->asks_rtt || conf->policy.rules[i].rtt_compare != POLICY_COMPARE_NONE;
	wheel_node_init(&h->drain_timer, drain_expired);
	wheel_node_init(&h->manifests_timer, check_manifests);
	wheel_node_init(&h->learned_timer, NULL);
	net_timer_init(&h->timer, env->loop, turn_the_wheel, h);
	bool is_open = open_listeners(h, error, error_size);
	if (is_open) {
		h->manifests = manifests_open(conf, error, error_size);
		h->facts.manifests = h->manifests;
		is_open = h->manifests != NULL;
	}
	is_open = open_pools(h, is_open ? error : NULL, is_open ? error_size : 0) && is_open;
	if (!is_open) {
		hop_free(h);
		return NULL;
	}
	learned_open(h);
	if (manifests_count(h->manifests) > 0)
		wheel_set(
		    &h->relay.wheel, &h->manifests_timer, h->relay.now + MANIFESTS_CHECK_USEC);
	net_on_turn(env->loop, on_turn, h);
	return h;
}

void hop_free(struct hop *h)
{
	const struct conf *conf = h->env.conf;
	net_on_turn(h->env.loop, NULL, NULL);
	for (size_t i = 0; i < conf->listen_count; i++)
		list_for_each(&h->listeners[i].sockets, s, struct listener_socket, link)
		{
			net_listener_free(s->net);
			list_remove(&s->link);
			free(s);
		}
	list_for_each(&h->downs, d, struct down, link) down_abort(d, NULL);
	hold_fini(&h->hold);
	list_for_each(&h->relay.live, x, struct exchange, link)
	    exchange_abort(x, &relay_cause_DRAINED, NULL);
	for (size_t i = 0; h->pools && i < 2 * conf->origin_count; i++)
		pool_fini(&h->pools[i]);
	reap(h);
	for (size_t i = 0; i < conf->listen_count; i++) {
		net_tls_free(h->listeners[i].tls);
		map_fini(&h->listeners[i].clients);
	}
	for (size_t i = 0; h->pools && i < conf->origin_count; i++)
		net_tls_free(h->pools[2 * i].tls);
	wheel_forget(&h->relay.wheel, &h->drain_timer);
	wheel_forget(&h->relay.wheel, &h->manifests_timer);
	manifests_close(h->manifests);
	learned_close(h);
	net_timer_fini(&h->timer);
	relay_fini(&h->relay);
	router_free(h->router);
	chunk_pool_free(h->small);
	http_head_pool_free(h->heads);
	net_set_closing_budget(h->env.loop, NULL);
	budget_fini(&h->hold_budget);
	budget_fini(&h->budget);
	feedback_fini(h);
	free(h->etags);
	free(h->listeners);
	free(h->pools);
	free(h->push_off_until);
	free(h);
}

/* ---- listeners ---- */

static void accepted(void *context, int fd, const struct net_address *peer)
{
	struct listener_socket *s = context;
	down_accept(s->listener, fd, peer);
}

static void paused(void *context, int error)
{
	struct listener_socket *s = context;
	struct hop *h = s->listener->hop;
	HOP_COUNT(h, accept_paused, 1);
	observe_log(h->env.observe, OBSERVE_WARN, "%s: accepting pauses: %s",
	    s->listener->conf->name, strerror(error));
}

void hop_listen(struct hop *h, const struct conf_listen *listen, int fd)
{
	struct listener_socket *s = memory_new(struct listener_socket);
	s->listener = &h->listeners[listen - h->env.conf->listens];
	s->net = net_listener_new(h->env.loop, fd, accepted, paused, s);
	list_append(&s->listener->sockets, &s->link);
}

/* ---- drain ---- */

/* After its deadline what is left is reset or answered 503; this long for that to leave. */
#define DRAIN_LAST_WORDS_USEC USEC_PER_SEC

static void drain_expired(struct wheel_node *node, usec now)
{
	struct hop *h = container_of(node, struct hop, drain_timer);
	if (!h->is_late) {
		h->is_late = true;
		list_for_each(&h->relay.live, x, struct exchange, link)
		    exchange_abort(x, &relay_cause_DRAINED, NULL);
		wheel_set(&h->relay.wheel, node, now + DRAIN_LAST_WORDS_USEC);
		return;
	}
	list_for_each(&h->downs, d, struct down, link) down_abort(d, NULL);
	hop_nudge(h);
}

void hop_drain(struct hop *h, usec deadline, void (*drained)(void *context), void *context)
{
	h->is_draining = true;
	h->drained = drained;
	h->drained_context = context;
	hop_now(h);
	for (size_t i = 0; i < h->env.conf->listen_count; i++)
		list_for_each(&h->listeners[i].sockets, s, struct listener_socket, link)
		{
			net_listener_free(s->net);
			list_remove(&s->link);
			free(s);
		}
	list_for_each(&h->downs, d, struct down, link) down_shutdown(d);
	hold_drain(&h->hold);
	wheel_set(&h->relay.wheel, &h->drain_timer, deadline);
	set_timer(h);
	hop_check_drained(h);
}

static bool has_origins(const struct hop *h)
{
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		if (!list_is_empty(&h->pools[i].ups))
			return true;
	return false;
}

/* The origins hear of the end once nobody needs them, and have a moment to take it in. */
static void part(struct hop *h)
{
	h->is_parting = true;
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		pool_part(&h->pools[i]);
	wheel_set(&h->relay.wheel, &h->drain_timer, hop_now(h) + DRAIN_LAST_WORDS_USEC);
	set_timer(h);
}

void hop_check_drained(struct hop *h)
{
	if (!h->is_draining || h->is_drained || !list_is_empty(&h->downs) ||
	    h->relay.live_count > 0)
		return;
	if (!h->is_parting)
		part(h);
	if (has_origins(h) && !h->is_late)
		return;
	h->is_drained = true;
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		pool_fini(&h->pools[i]);
	reap(h);
	h->drained(h->drained_context);
}

/* ---- questions ---- */

size_t hop_describe(const struct hop *h, char *buffer, size_t size)
{
	size_t n = 0;
	list_for_each(&h->downs, d, struct down, link) if (d->h2 && n < size) n +=
	    h2_describe(d->h2, buffer + n, size - n);
	for (size_t i = 0; i < 2 * h->env.conf->origin_count; i++)
		list_for_each(&h->pools[i].ups, u, struct up, link) if (u->h2 && n < size) n +=
		    h2_describe(u->h2, buffer + n, size - n);
	list_for_each(&h->relay.live, x, struct exchange, link) if (n < size) n +=
	    exchange_describe(x, buffer + n, size - n);
	return n;
}
