/* SPDX-License-Identifier: MIT */
/* See dynamic_destination.h. */
#include "proxy/upstream/dynamic_destination.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/base/subscriber.h"

#include <sys/resource.h>

struct dynamic_destination {
	struct destination destination;
	struct conf_origin_server line;
	const struct template *template;
	struct map_node node;
	/* While no exchange has it: in dynamic->unused, and in that of its origin. */
	struct list link, sibling;
	usec unused_since;
	uint32_t users; /* exchanges */
	struct deferred_free deferred;
	uint16_t port;
	char host
	    []; /* http_host_read; empty: of a destination that is an upstream proxy. Behind it: tunnel_to */
};

/* Those of one origin. */
struct dynamic_siblings {
	size_t count;
	struct list unused; /* as they were left, by `sibling` */
};

struct dynamic_destinations {
	struct upstream *upstream;
	struct templates *templates;
	struct map all;
	struct dynamic_siblings *origins; /* by conf_origin.index */
	struct list unused;               /* the one that is so for the longest comes first */
	struct wheel_node timer;
	struct net_timer spare;
	/* Connections of all, and above how many those to unused destinations are closed. */
	size_t connections, most_connections;
	bool is_closed;
};

/* In HOST:PORT beside a host of a target: brackets, colon, port. */
#define TUNNEL_TO_MORE 8u

/* Without a connection. A name is not looked up again meanwhile, and one that has no address is answered at once. */
#define UNUSED_USEC (10 * USEC_PER_SEC)

/* Of a connection to where one request went. Most of such hosts are never asked again, and a flood of them would leave
 * as many connections for idle-timeout. */
#define ASKED_ONCE_IDLE_USEC (5 * USEC_PER_SEC)

static struct dynamic_destination *dynamic_of(struct destination *d)
{
	return container_of(d, struct dynamic_destination, destination);
}

/* Unused destinations that are looked at in a loop pass. */
#define LOOKS_AT_ONCE 256u

/* ---- the end of one ---- */

static struct dynamic_siblings *siblings_of(
    const struct dynamic_destinations *o, const struct dynamic_destination *m)
{
	return &o->origins[m->template->conf.index];
}

static void free_dynamic(struct deferred_free *deferred)
{
	struct dynamic_destination *m =
	    container_of(deferred, struct dynamic_destination, deferred);
	struct worker_env *env = m->destination.upstream->env;
	/* Its connections have ended in the meantime, and that is a change. */
	wheel_forget(worker_wheel(env), &m->destination.change_timer);
	destination_free(&m->destination);
	env->observe->counters->destinations--;
	free(m);
}

/* Requests do not find it any more. */
static void end_dynamic(struct dynamic_destinations *o, struct dynamic_destination *m)
{
	ensure(m->users == 0);
	map_remove(&o->all, &m->node);
	siblings_of(o, m)->count--;
	list_remove(&m->link);
	list_remove(&m->sibling);
	destination_close(&m->destination);
	worker_free_later(o->upstream->env, &m->deferred, free_dynamic);
}

/* ---- unused ones ---- */

static size_t connections_of(const struct destination *d)
{
	size_t count = 0;
	list_for_each(&d->servers, s, struct server, link) count += s->at.connections;
	return count;
}

/* Those that still have connections are looked at again later. */
static void look_at_unused(struct wheel_node *timer, usec now)
{
	struct dynamic_destinations *o = container_of(timer, struct dynamic_destinations, timer);
	struct list kept;
	list_init(&kept);
	worker_now(o->upstream->env);
	for (unsigned i = 0; i < LOOKS_AT_ONCE; i++) {
		struct dynamic_destination *m =
		    list_first(&o->unused, struct dynamic_destination, link);
		if (!m || m->unused_since + UNUSED_USEC > now)
			break;
		if (connections_of(&m->destination) == 0) {
			end_dynamic(o, m);
			continue;
		}
		m->unused_since = now;
		list_remove(&m->link);
		list_append(&kept, &m->link);
	}
	list_splice(&o->unused, &kept);
	struct dynamic_destination *next = list_first(&o->unused, struct dynamic_destination, link);
	if (!next)
		return;
	usec due = next->unused_since + UNUSED_USEC;
	usec soonest = now + WHEEL_TICK_USEC; /* in another loop pass */
	wheel_set(worker_wheel(o->upstream->env), &o->timer, due > soonest ? due : soonest);
}

static void evict(struct dynamic_destinations *o, struct dynamic_destination *m)
{
	end_dynamic(o, m);
	WORKER_COUNT(o->upstream->env, destinations_evicted, 1);
}

/* An eighth fewer than there may be, so that this is not done for each new one. */
static void spare(void *context)
{
	struct dynamic_destinations *o = context;
	size_t target = o->most_connections - o->most_connections / 8;
	size_t excess = o->connections > target ? o->connections - target : 0;
	worker_now(o->upstream->env);
	for (unsigned i = 0; i < LOOKS_AT_ONCE && excess > 0; i++) {
		struct dynamic_destination *m =
		    list_first(&o->unused, struct dynamic_destination, link);
		if (!m)
			return;
		size_t count = connections_of(&m->destination);
		excess -= count < excess ? count : excess;
		evict(o, m);
	}
}

/* ---- all of them ---- */

static bool is_used(const struct conf *conf)
{
	for (size_t i = 0; i < conf->origin_count; i++)
		if (conf->origins[i].kind == CONF_ORIGIN_FORWARD)
			return true;
	return false;
}

/* Half of the descriptors: idle connections to unused destinations must not take the place of clients. */
static size_t most_connections(void)
{
	struct rlimit limit;
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : SIZE_MAX;
}

bool dynamic_destinations_open(struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	if (!is_used(conf))
		return true;
	struct dynamic_destinations *o = u->dynamic = memory_new(struct dynamic_destinations);
	o->upstream = u;
	map_init(&o->all);
	o->origins = memory_zalloc(conf->origin_count * sizeof(*o->origins));
	for (size_t i = 0; i < conf->origin_count; i++)
		list_init(&o->origins[i].unused);
	list_init(&o->unused);
	wheel_node_init(&o->timer, look_at_unused);
	net_timer_init(&o->spare, u->env->loop, spare, o);
	o->most_connections = most_connections();
	o->templates = templates_open(u, error, error_size);
	return o->templates != NULL;
}

void dynamic_destinations_close(struct dynamic_destinations *o)
{
	if (!o)
		return;
	o->is_closed = true;
	wheel_forget(worker_wheel(o->upstream->env), &o->timer);
	net_timer_fini(&o->spare);
	list_for_each(&o->unused, m, struct dynamic_destination, link) end_dynamic(o, m);
}

bool dynamic_destinations_renew_tls(
    const struct dynamic_destinations *o, char *error, size_t error_size)
{
	return !o || templates_renew_tls(o->templates, error, error_size);
}

void dynamic_destinations_free(struct dynamic_destinations *o)
{
	if (!o)
		return;
	ensure(o->all.count == 0);
	templates_free(o->templates);
	map_fini(&o->all);
	free(o->origins);
	free(o);
}

/* Not at once: the connection belongs to a destination that is at work. */
void dynamic_destination_conn_opened(struct origin_server *s)
{
	struct dynamic_destinations *o = server_above(s)->destination->upstream->dynamic;
	if (++o->connections > o->most_connections && o->spare.deadline == USEC_NEVER)
		net_timer_set(&o->spare, net_now(o->upstream->env->loop));
}

void dynamic_destination_conn_ended(struct origin_server *s)
{
	server_above(s)->destination->upstream->dynamic->connections--;
}

/* ---- exchanges ---- */

static void use(struct dynamic_destination *m, struct exchange *x)
{
	if (m->users++ == 0) {
		list_remove(&m->link);
		list_remove(&m->sibling);
	}
	attempt_of(x)->destination = &m->destination;
}

static void leave(struct dynamic_destinations *o, struct dynamic_destination *m)
{
	struct worker_env *env = o->upstream->env;
	ensure(m->users > 0);
	if (--m->users > 0)
		return;
	m->unused_since = env->relay->now;
	list_append(&o->unused, &m->link);
	list_append(&siblings_of(o, m)->unused, &m->sibling);
	if (o->is_closed)
		end_dynamic(o, m);
	else if (o->timer.deadline == USEC_NEVER)
		wheel_set(worker_wheel(env), &o->timer, m->unused_since + UNUSED_USEC);
}

/* ---- the one of a request ---- */

static uint64_t hash_of(const struct dynamic_destinations *o, const struct template *t,
    const struct request_target *target)
{
	uint64_t seed =
	    o->upstream->env->seed ^ (uint64_t)(uintptr_t)t ^ (uint64_t)target->port << 48;
	return hash_bytes(seed, target->host, strlen(target->host));
}

static struct dynamic_destination *find(const struct dynamic_destinations *o,
    const struct template *t, const struct request_target *target, uint64_t hash)
{
	for (struct map_node *n = map_find(&o->all, hash); n; n = map_next(n)) {
		struct dynamic_destination *m = container_of(n, struct dynamic_destination, node);
		if (m->template == t && m->port == target->port &&
		    strcmp(m->host, target->host) == 0)
			return m;
	}
	return NULL;
}

/* The line `server` that the target stands for; its texts lie in m. */
static void fill_line(struct dynamic_destination *m, const struct request_target *target)
{
	const struct conf_upstream_proxy *p = m->template->conf.proxy;
	struct destination *d = &m->destination;
	size_t size = strlen(target->host) + 1;
	memcpy(m->host, target->host, size);
	m->port = target->port;
	if (p)
		m->line = *p->server;
	else
		m->line = (struct conf_origin_server){.text = m->host,
		    .host = m->host,
		    .port = target->port,
		    .tls_name = m->host,
		    .weight = 1};
	if (!p && target->is_address)
		net_address_set_ip(&m->line.address, &target->address, target->port);
	d->origin.speaks_to_proxy = p && size == 1;
	if (!p || d->origin.speaks_to_proxy)
		return;
	bool is_ipv6 = strchr(m->host, ':') != NULL;
	m->line.tls_name = m->host;
	d->origin.tunnel_to = m->host + size;
	d->origin.proxy_tls = m->template->proxy_tls;
	snprintf(m->host + size, size + TUNNEL_TO_MORE, is_ipv6 ? "[%s]:%u" : "%s:%u", m->host,
	    (unsigned)target->port);
}

static struct dynamic_destination *make(struct dynamic_destinations *o, const struct template *t,
    const struct request_target *target, uint64_t hash, const struct address *client)
{
	struct upstream *u = o->upstream;
	size_t size = strlen(target->host) + 1;
	struct dynamic_destination *m =
	    memory_zalloc(sizeof(*m) + size + (t->conf.proxy ? size + TUNNEL_TO_MORE : 0));
	struct destination *d = &m->destination;
	m->template = t;
	list_init(&m->link);
	list_init(&m->sibling);
	map_insert(&o->all, &m->node, hash);
	siblings_of(o, m)->count++;
	WORKER_COUNT(u->env, destinations, 1);
	WORKER_COUNT(u->env, destinations_made, 1);
	destination_init(d, u, &t->conf, true);
	fill_line(m, target);
	d->origin.plans[0] = t->plans[0];
	d->origin.plans[1] = t->plans[1];
	d->origin.tls = t->tls;
	d->lines = &m->line;
	d->line_count = 1;
	d->client_key = subscriber_key_of_client(u->env->seed, client);
	if (d->origin.idle_timeout == 0 || d->origin.idle_timeout > ASKED_ONCE_IDLE_USEC)
		d->origin.idle_timeout = ASKED_ONCE_IDLE_USEC;
	destination_begin(d);
	return m;
}

/* Makes room for one more. False: all are in use. */
static bool make_room(struct dynamic_destinations *o, const struct conf_origin *origin)
{
	const struct dynamic_siblings *own = &o->origins[origin->index];
	if (own->count < origin->max_destinations)
		return true;
	struct dynamic_destination *longest =
	    list_first(&own->unused, struct dynamic_destination, sibling);
	if (!longest)
		return false;
	evict(o, longest);
	return true;
}

static const struct template *template_of(
    const struct dynamic_destinations *o, const struct exchange *x, struct request_target *target)
{
	const struct conf_origin *origin = x->place.origin;
	const struct conf_upstream_proxy *p = conf_upstream_proxy_for(
	    origin, slice_of_string(target->host), target->is_address ? &target->address : NULL);
	enum template_kind kind = target->is_tunnel ? TEMPLATE_TUNNEL
				  : target->is_tls  ? TEMPLATE_HTTPS
						    : TEMPLATE_HTTP;
	if (p && kind == TEMPLATE_HTTP && x->tunnel.is_asked) {
		kind = TEMPLATE_TUNNEL; /* RFC 6455 4.1 */
	} else if (p && kind != TEMPLATE_HTTPS) {
		kind = TEMPLATE_HTTP;
		target->host[0] = '\0'; /* all have the same connections */
		target->port = 0;
	}
	return templates_get(o->templates, origin, p, kind);
}

struct destination *dynamic_destination_get(struct upstream *u, struct exchange *x)
{
	struct dynamic_destinations *o = u->dynamic;
	const struct conf_origin *origin = x->place.origin;
	const struct request_target *named = route_target_of(&x->facts, exchange_arena(x));
	if (!named) {
		exchange_on_up_failed(x, &relay_cause_HOST_STRANGE, 0, NULL);
		return NULL;
	}
	struct request_target target = *named;
	const struct template *t = template_of(o, x, &target);
	uint64_t hash = hash_of(o, t, &target);
	struct dynamic_destination *m = find(o, t, &target, hash);
	if (!m && !make_room(o, origin)) {
		exchange_on_up_failed(x, &relay_cause_DESTINATIONS_FULL, 0, NULL);
		return NULL;
	}
	if (m)
		m->destination.origin.idle_timeout = m->template->conf.idle_timeout;
	else
		m = make(o, t, &target, hash, &x->facts.client);
	use(m, x);
	return &m->destination;
}

void dynamic_destination_adopt(struct destination *d, struct exchange *push)
{
	use(dynamic_of(d), push);
}

RARE void dynamic_destination_exchange_ended(struct exchange *x)
{
	struct destination *d = attempt_of(x)->destination;
	attempt_of(x)->destination = NULL;
	leave(d->upstream->dynamic, dynamic_of(d));
}
