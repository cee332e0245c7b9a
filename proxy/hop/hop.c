/* SPDX-License-Identifier: MIT */
/* The data plane as a whole: its life and its turn. */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

/* Free heads kept for the swings of a busy worker. */
#define HEADS_KEPT 2048u
/* Small chunks hold pieces that were copied; see LIMIT_COPY_BELOW_BYTES. */
#define SMALL_CHUNKS_KEPT 1024u
/* What is held for everybody may take as much as is held for so many connections. */
#define HOLD_SHARED_TIMES 16u

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

/* ---- the turn ---- */

void hop_reap(struct hop *h)
{
	relay_reap(&h->relay);
	while (!list_is_empty(&h->dead)) {
		struct list *link = h->dead.next;
		list_remove(link);
		struct corpse *corpse = container_of(link, struct corpse, link);
		corpse->bury(corpse);
	}
}

static void advance_wheel(void *context)
{
	struct hop *h = context;
	relay_advance(&h->relay, net_now(h->env.loop));
}

void hop_set_timer(struct hop *h)
{
	const usec due[] = {
	    wheel_next(&h->relay.wheel), relay_hints_due(&h->relay), pressure_due(h)};
	usec next = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		next = due[i] < next ? due[i] : next;
	net_timer_set(&h->timer, next);
}

/* Before the dirty connections are walked: nothing of this loop pass is needed any more. */
static void on_pass(void *context)
{
	struct hop *h = context;
	relay_send_hints(&h->relay);
	hold_run(&h->hold);
	hop_reap(h);
	pressure_pass(h);
	leftover_pass(h);
	hop_set_timer(h);
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

static void begin_relay(struct hop *h)
{
	h->relay = (struct relay){
	    .ops = &hop_relay_ops,
	    .context = h,
	    .policy = &h->env.conf->policy,
	    .chunks = h->env.chunks,
	    .small_chunks = h->small,
	    .heads = h->heads,
	    .budget = &h->budget,
	    .pseudonym = h->pseudonym,
	    .hint_wait = h->env.conf->server.hint_wait,
	    .now = net_now(h->env.loop),
	};
	relay_init(&h->relay);
}

static void begin_hold(struct hop *h)
{
	const struct conf_server *c = &h->env.conf->server;
	h->hold_limits = (struct hold_limits){
	    .count = c->hold_max_count,
	    .bytes = c->hold_max_bytes,
	    .age = c->hold_max_age,
	};
	const struct hold_limits shared = {
	    .count = c->hold_max_count * HOLD_SHARED_TIMES,
	    .bytes = c->hold_max_bytes * HOLD_SHARED_TIMES,
	    .age = c->hold_max_age,
	};
	hold_init(&h->hold, &h->relay, &hop_hold_ops, h, c->hold_shared ? &shared : NULL);
	h->hold.shared.budget = &h->hold_budget;
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
	begin_relay(h);
	feedback_init(h);
	memory_setup(h);
	begin_hold(h);
	for (size_t i = 0; i < conf->policy.count; i++)
		h->asks_rtt =
		    h->asks_rtt || conf->policy.rules[i].rtt_compare != POLICY_COMPARE_NONE;
	leftover_init(h);
	wheel_node_init(&h->drain_timer, drain_expired);
	wheel_node_init(&h->manifests_timer, check_manifests);
	wheel_node_init(&h->learned_timer, NULL);
	net_timer_init(&h->timer, env->loop, advance_wheel, h);
	bool is_open = listeners_open(h, error, error_size);
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
	net_on_pass(env->loop, on_pass, h);
	return h;
}

void hop_free(struct hop *h)
{
	const struct conf *conf = h->env.conf;
	net_on_pass(h->env.loop, NULL, NULL);
	listeners_stop(h);
	list_for_each(&h->downs, d, struct down, link) down_abort(d, NULL);
	hold_fini(&h->hold);
	list_for_each(&h->relay.live, x, struct exchange, link)
	    exchange_abort(x, &relay_cause_DRAINED, NULL);
	for (size_t i = 0; h->pools && i < 2 * conf->origin_count; i++)
		pool_fini(&h->pools[i]);
	hop_reap(h);
	listeners_close(h);
	for (size_t i = 0; h->pools && i < conf->origin_count; i++)
		net_tls_free(h->pools[2 * i].tls);
	leftover_fini(h);
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
	etags_fini(&h->etags);
	free(h->pools);
	free(h->push_off_until);
	free(h);
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
