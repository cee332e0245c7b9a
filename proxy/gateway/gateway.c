/* SPDX-License-Identifier: MIT */
/* The data plane: opens and closes its parts in order, and runs the end of each loop pass. */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/reserve.h"
#include "proxy/limits.h"

/* Free heads that the pool keeps, because the load of a busy worker varies. */
#define HEADS_KEPT 2048u
/* Free small chunks that the pool keeps; they hold copied pieces, see LIMIT_COPY_BELOW_BYTES. */
#define SMALL_CHUNKS_KEPT 1024u
/* The store shared by all clients may hold this many times as much as one connection's store. */
#define HOLD_SHARED_TIMES 16u

/* ---- the loop pass ---- */

void gateway_reap(struct gateway *g)
{
	relay_reap(&g->relay);
	while (!list_is_empty(&g->env.dead)) {
		struct list *link = g->env.dead.next;
		list_remove(link);
		struct deferred_free *object = container_of(link, struct deferred_free, link);
		object->free(object);
	}
}

static void advance_wheel(void *context)
{
	struct gateway *g = context;
	relay_advance(&g->relay, net_now(g->env.loop));
}

void gateway_set_timer(struct gateway *g)
{
	const usec due[] = {wheel_next(&g->relay.wheel), relay_hints_due(&g->relay),
	    memory_pressure_due(g), admin_due(g->admin)};
	usec next = USEC_NEVER;
	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		next = due[i] < next ? due[i] : next;
	net_timer_set(&g->env.timer, next);
}

/* Called after all events of a loop pass, before the dirty connections are written: no caller on the
 * stack uses the objects that have ended. */
static void on_pass(void *context)
{
	struct gateway *g = context;
	relay_send_hints(&g->relay);
	hold_run(&g->hold);
	admin_run(g->admin);
	gateway_reap(g);
	memory_squeeze_pass(g);
	memory_pressure_pass(g);
	memory_trim_pass(g);
	gateway_set_timer(g);
	observe_log_left_out(g->env.observe, g->relay.now);
	drain_check(g);
}

/* ---- life ---- */

static void open_env(struct gateway *g, const struct gateway_env *env)
{
	g->env = (struct worker_env){
	    .loop = env->loop,
	    .conf = env->conf,
	    .observe = env->observe,
	    .health_table = env->health_table,
	    .server_orders = env->server_orders,
	    .chunks = env->chunks,
	    .tickets = env->tickets,
	    .acme_challenge = env->acme_challenge,
	    .key_log = env->key_log,
	    .seed = env->seed,
	    .protocols = env->protocols ? env->protocols : protocols_all,
	    .heads = http_head_pool_new(HEADS_KEPT),
	    .relay = &g->relay,
	};
	g->acme_thumbprint = env->acme_thumbprint;
	budget_init(&g->env.budget, NULL, env->conf->server.memory_bytes);
	list_init(&g->env.dead);
	net_timer_init(&g->env.timer, env->loop, advance_wheel, g);
	net_set_closing_budget(env->loop, &g->env.budget);
	g->small_chunks = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, SMALL_CHUNKS_KEPT);
	list_init(&g->sockets);
}

/* If all gateways had the same pseudonym, a request through two of them would look like a loop. */
static struct slice make_pseudonym(struct gateway *g, uint32_t suffix)
{
	const char *configured = g->env.conf->server.pseudonym;
	if (strcmp(configured, "pushgate") == 0)
		snprintf(g->pseudonym_text, sizeof(g->pseudonym_text), "pushgate-%08x", suffix);
	else
		snprintf(g->pseudonym_text, sizeof(g->pseudonym_text), "%s", configured);
	return slice_of_string(g->pseudonym_text);
}

static void open_tracing(struct gateway *g, const struct gateway_env *env)
{
	if (!env->send_span || !env->conf->server.tracing.collector)
		return;
	g->env.tracing = tracing_new(&g->env, &g->env.budget);
	g->env.tracing->send = env->send_span;
	g->env.tracing->context = env->span_context;
}

static void open_relay(struct gateway *g, struct slice pseudonym)
{
	g->relay = (struct relay){
	    .ops = &gateway_relay_ops,
	    .context = g,
	    .policy = &g->env.conf->policy,
	    .chunks = g->env.chunks,
	    .small_chunks = g->small_chunks,
	    .heads = g->env.heads,
	    .budget = &g->env.budget,
	    .pseudonym = pseudonym,
	    .hint_wait = g->env.conf->server.hint_wait,
	    .now = net_now(g->env.loop),
	};
	relay_init(&g->relay);
}

static void open_hold(struct gateway *g)
{
	const struct conf_server *c = &g->env.conf->server;
	/* Held responses may never be requested: keep half of the memory for requests. */
	budget_init(&g->hold_budget, &g->env.budget, c->memory_bytes / 2);
	const struct hold_limits shared = {
	    .count = c->hold_max_count * HOLD_SHARED_TIMES,
	    .bytes = c->hold_max_bytes * HOLD_SHARED_TIMES,
	    .age = c->hold_max_age,
	};
	hold_init(&g->hold, &g->relay, &gateway_hold_ops, g, c->hold_shared ? &shared : NULL);
	g->hold.shared.budget = &g->hold_budget;
}

static struct router *open_router(
    const struct gateway *g, enum conf_listen_mode mode, const struct slice *table)
{
	return table ? router_of_table(g->env.conf, *table)
		     : router_new(g->env.conf, mode, g->env.seed);
}

void gateway_use_tables(struct gateway *g, const struct router_tables *tables)
{
	router_use(g->router, tables->gateway);
	if (g->forward_router)
		router_use(g->forward_router, tables->forward);
}

static void open_offers(struct gateway *g, const struct gateway_env *env)
{
	const struct router_tables *tables = env->tables;
	g->routes.router = g->router =
	    open_router(g, CONF_MODE_GATEWAY, tables ? &tables->gateway : NULL);
	g->routes.forward_router = g->forward_router =
	    open_router(g, CONF_MODE_FORWARD, tables ? &tables->forward : NULL);
	g->offers.manifests = g->manifests = manifests_new(g->env.conf);
	g->routes.forwarding = g->forwarding = forwarding_table_new(g->env.seed);
	lessons_open(g, env);
}

/* False with a message. */
static bool open_names(struct gateway *g, char *error, size_t error_size)
{
	const struct conf_server *c = &g->env.conf->server;
	const struct names_options o = {.resolvers = c->resolvers,
	    .resolver_count = c->resolver_count,
	    .min_ttl = conf_dns_min_ttl(c, false),
	    .asked_min_ttl = conf_dns_min_ttl(c, true),
	    .max_ttl = c->dns_max_ttl,
	    .negative_ttl = c->dns_negative_ttl,
	    .timeout = c->dns_timeout};
	if (!conf_has_names(g->env.conf))
		return true;
	g->upstream.names = g->names = names_new(g->env.loop, &o, error, error_size);
	return g->names != NULL;
}

static void open_admission(struct gateway *g, const struct gateway_env *env)
{
	g->admission = (struct admission){.env = &g->env,
	    .identified = gateway_identified,
	    .context = g,
	    .ask_password = env->ask_password,
	    .ask_context = env->ask_context,
	    .memories = env->limit_memories,
	    .lane = env->limit_lane,
	    .seed = env->limit_memories ? env->limit_seed : env->seed};
	admission_open(&g->admission);
}

void gateway_take_over(struct gateway *g)
{
	worker_now(&g->env);
	upstream_take_over(&g->upstream);
}

struct users *gateway_users(struct gateway *g)
{
	return g->admission.users;
}

static const struct client_ops client_ops = {.request = gateway_request};

static bool open_clients(struct gateway *g, char *error, size_t error_size)
{
	const struct conf_server *c = &g->env.conf->server;
	g->clients = (struct clients){
	    .env = &g->env,
	    .ops = &client_ops,
	    .context = g,
	    .hold = &g->hold,
	    .hold_limits = {.count = c->hold_max_count,
		.bytes = c->hold_max_bytes,
		.age = c->hold_max_age},
	    .hold_budget = &g->hold_budget,
	};
	return clients_open(&g->clients, error, error_size);
}

struct gateway *gateway_new(const struct gateway_env *env, char *error, size_t error_size)
{
	struct gateway *g = memory_new(struct gateway);
	open_env(g, env);
	ensure(protocols_fault_count(g->env.protocols) <= OBSERVE_FAULTS &&
	       RELAY_CAUSE_COUNT <= OBSERVE_CAUSES);
	struct slice pseudonym = make_pseudonym(g, env->via_suffix);
	g->routes = (struct route_env){.pseudonym = pseudonym, .via = http_via_make(pseudonym)};
	g->offers = (struct offer_env){
	    .conf = env->conf, .route = &g->routes, .promiser = &upstream_promiser};
	open_relay(g, pseudonym);
	open_tracing(g, env);
	g->request_ids = unique_new();
	feedback_init(g);
	open_hold(g);
	open_offers(g, env);
	const struct admin_env facts = admin_facts(g, env);
	g->admin = admin_new(&facts);
	open_admission(g, env);
	page_records_open(g, env->pages);
	times_record_open(g);
	connection_records_open(
	    g, env->connections ? &env->connections[env->observe->worker] : NULL);
	drain_open(g);
	recheck_open(g);
	memory_trim_open(g);
	memory_pressure_open(g);
	reserve_open(memory_squeeze, g);
	g->upstream = (struct upstream){.env = &g->env};
	g->upstream.origins = (struct origins){.env = &g->env,
	    .routes = &g->routes,
	    .demo_connect = env->demo_connect,
	    .demo_context = env->demo_context};
	if (!open_names(g, error, error_size) || !open_clients(g, error, error_size) ||
	    !upstream_open(&g->upstream, error, error_size)) {
		gateway_free(g);
		return NULL;
	}
	net_on_pass(env->loop, on_pass, g);
	net_on_long_pass(env->loop, long_pass_report, g);
	return g;
}

void gateway_renew_tls(const struct gateway *g)
{
	clients_renew_tls(&g->clients);
}

bool gateway_renew_tls_step(const struct gateway *g, char *error, size_t error_size)
{
	char others[256] = "";
	usec until = clock_monotonic() + NET_PASS_USEC;
	net_note(g->env.loop, "took in certificates");
	if (clients_renew_tls_step(&g->clients, until, error, error_size))
		return true;
	if (!upstream_renew_tls(&g->upstream, others, sizeof(others)))
		snprintf(error, error_size, "%s", others);
	return false;
}

void gateway_free(struct gateway *g)
{
	net_on_pass(g->env.loop, NULL, NULL);
	net_on_long_pass(g->env.loop, NULL, NULL);
	listeners_stop(g);
	clients_abort(&g->clients);
	hold_fini(&g->hold);
	list_for_each(&g->relay.live, x, struct exchange, link)
	    exchange_abort(x, &relay_cause_DRAINED, NULL);
	upstream_close(&g->upstream);
	gateway_reap(g);
	clients_close(&g->clients);
	upstream_free(&g->upstream);
	names_free(g->names);
	admin_free(g->admin);
	reserve_close();
	memory_trim_close(g);
	wheel_forget(&g->relay.wheel, &g->drain.timer);
	wheel_forget(&g->relay.wheel, &g->drain.tunnel_timer);
	recheck_close(g);
	connection_records_close(g);
	manifests_close(g->manifests);
	lessons_close(g);
	net_timer_fini(&g->env.timer);
	relay_fini(&g->relay);
	tracing_free(g->env.tracing);
	router_free(g->router);
	router_free(g->forward_router);
	forwarding_table_free(g->forwarding);
	chunk_pool_free(g->small_chunks);
	http_head_pool_free(g->env.heads);
	net_set_closing_budget(g->env.loop, NULL);
	budget_fini(&g->hold_budget);
	budget_fini(&g->env.budget);
	admission_close(&g->admission);
	waterfall_lane_free(g->pages);
	times_record_close(g);
	free(g->pac_text);
	feedback_fini(g);
	free(g);
}

void gateway_set_manifest(struct gateway *g, size_t at, struct offer_manifest *manifest)
{
	manifests_set(g->manifests, at, manifest);
	net_note(g->env.loop, "took in a manifest");
}

void gateway_set_hosts(struct gateway *g, struct slice text)
{
	if (g->names)
		names_set_hosts(g->names, text);
	net_note(g->env.loop, "took in the hosts file");
}

void gateway_set_resolv_conf(struct gateway *g, struct slice text)
{
	if (g->names)
		names_set_resolv_conf(g->names, text);
	net_note(g->env.loop, "took in resolv.conf");
}

bool gateway_trace(struct gateway *g, const struct cidr *from, usec until, int socket)
{
	worker_now(&g->env);
	return clients_trace(&g->clients, from, until, socket);
}

size_t gateway_describe(const struct gateway *g, char *buffer, size_t size)
{
	size_t n = clients_describe(&g->clients, buffer, size);
	if (n < size)
		n += origins_describe(&g->upstream.origins, buffer + n, size - n);
	if (n < size)
		n += hold_describe(&g->hold, buffer + n, size - n);
	if (n < size && g->lessons.memory)
		n += remembered_describe(g->lessons.memory, buffer + n, size - n);
	list_for_each(&g->relay.live, x, struct exchange, link) if (n < size) n +=
	    exchange_describe(x, buffer + n, size - n);
	return n;
}
