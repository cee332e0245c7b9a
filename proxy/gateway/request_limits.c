/* SPDX-License-Identifier: MIT */
/*
 * Limits on the requests of a route (limit-requests): each line has a table of what it has counted
 * (limit_table.h). A request that one line refuses is counted in none of them.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/gateway/limit_table.h"
#include "proxy/limits.h"

#define NSEC_PER_USEC UINT64_C(1000)
#define NO_KEY 0 /* the line does not count the request */

struct limit_line {
	struct limit_terms terms;
	struct limit_table *table; /* owned */
};

struct request_limits {
	size_t count;
	struct limit_line lines[]; /* by conf_request_limit.index */
};

/* Not in the exchange's arena, which does not outlive the opening of a tunnel. */
struct limits_held {
	size_t count;
	struct limit_entry *entries[];
};

static void open_line(
    struct limit_line *line, const struct conf_request_limit *limit, uint32_t keys)
{
	if (limit->rate > 0)
		line->terms.interval_nsec = limit->period * NSEC_PER_USEC / limit->rate;
	line->terms.burst = limit->burst;
	line->terms.concurrent = limit->concurrent;
	line->table = limit_table_new(limit->key == CONF_LIMIT_ALL ? 1 : keys);
}

void request_limits_open(struct gateway *g)
{
	const struct conf *c = g->env.conf;
	size_t count = c->request_limit_count;
	if (count == 0)
		return;
	g->limits = memory_zalloc(sizeof(*g->limits) + count * sizeof(g->limits->lines[0]));
	g->limits->count = count;
	for (size_t i = 0; i < c->route_count; i++)
		for (size_t k = 0; k < c->routes[i].request_limit_count; k++) {
			const struct conf_request_limit *limit = &c->routes[i].request_limits[k];
			open_line(
			    &g->limits->lines[limit->index], limit, c->server.limit_table_keys);
		}
}

void request_limits_close(struct gateway *g)
{
	for (size_t i = 0; g->limits && i < g->limits->count; i++)
		limit_table_free(g->limits->lines[i].table);
	free(g->limits);
}

/* ---- keys ---- */

static uint64_t as_key(uint64_t hash)
{
	return hash == NO_KEY ? 1 : hash;
}

static uint64_t key_of_client(const struct exchange *x, uint64_t seed)
{
	if (x->facts.client.family == 0)
		return NO_KEY;
	struct address a = address_subscriber(x->facts.client);
	return as_key(hash_bytes(seed ^ a.family, a.bytes, sizeof(a.bytes)));
}

/* A field may come in several lines, and their order counts. */
static uint64_t key_of_field(
    const struct exchange *x, const struct conf_request_limit *limit, uint64_t seed)
{
	const struct http_head *head = x->request;
	uint64_t key = NO_KEY;
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token == limit->field_token &&
		    (f->token != HTTP_TOKEN_NONE || slice_equal(f->name, limit->field)))
			key = as_key(hash_bytes(seed ^ key, f->value.ptr, f->value.len));
	}
	return key;
}

static uint64_t key_of(
    const struct gateway *g, const struct exchange *x, const struct conf_request_limit *limit)
{
	uint64_t seed = g->env.seed, key;
	switch (limit->key) {
	case CONF_LIMIT_ALL:
		return 1;
	case CONF_LIMIT_FIELD:
		key = key_of_field(x, limit, seed);
		if (key != NO_KEY)
			return key;
		break;
	case CONF_LIMIT_CLIENT:
		break;
	}
	return key_of_client(x, ~seed);
}

/* ---- one request ---- */

static struct limit_line *line_of(struct gateway *g, const struct conf_request_limit *limit)
{
	return &g->limits->lines[limit->index];
}

static void count_limited(
    struct gateway *g, const struct exchange *x, const struct conf_request_limit *limit)
{
	struct observe_counters *c = g->env.observe->counters;
	size_t route = (size_t)(x->place.route - g->env.conf->routes);
	c->requests_limited += !limit->is_shadow;
	c->requests_limited_shadow += limit->is_shadow;
	if (route < OBSERVE_PLACES)
		c->route_limited[route][limit->is_shadow]++;
}

static void log_limit(
    struct gateway *g, const struct exchange *x, const struct conf_request_limit *limit)
{
	static const char over[] = "request limit", shadow[] = "request limit shadow";
	char text[64];
	observe_log_fault(g->env.observe, OBSERVE_INFO, limit->is_shadow ? shadow : over,
	    g->relay.now, "%s: client %s: route %s: over limit-requests = %s, %s",
	    x->facts.listener->name,
	    x->facts.client.family == 0 ? "unix"
					: address_format(&x->facts.client, text, sizeof(text)),
	    x->place.route->name, limit->text,
	    limit->is_shadow ? "which is in shadow: passes" : "answered 429");
}

static void refuse(struct exchange *x, enum limit_answer answer, usec wait)
{
	usec seconds = (wait + USEC_PER_SEC - 1) / USEC_PER_SEC;
	x->context.retry_after = seconds > 0 ? (uint32_t)seconds : 1;
	exchange_refuse(x,
	    answer == LIMIT_RATE ? &relay_cause_REQUEST_RATE : &relay_cause_REQUEST_CONCURRENCY,
	    NULL);
}

/* Asks the lines that are not in shadow. The one with the longest wait makes the answer. */
static bool is_refused(struct gateway *g, struct exchange *x, const uint64_t *keys)
{
	const struct conf_route *route = x->place.route;
	const struct conf_request_limit *refusing = NULL;
	enum limit_answer answer = LIMIT_PASSES;
	usec longest = 0, wait;
	for (size_t i = 0; i < route->request_limit_count; i++) {
		const struct conf_request_limit *limit = &route->request_limits[i];
		const struct limit_line *line = line_of(g, limit);
		if (limit->is_shadow || keys[i] == NO_KEY)
			continue;
		enum limit_answer a =
		    limit_table_ask(line->table, &line->terms, keys[i], g->relay.now, &wait);
		if (a == LIMIT_PASSES || (refusing && wait <= longest))
			continue;
		refusing = limit;
		answer = a;
		longest = wait;
	}
	if (!refusing)
		return false;
	count_limited(g, x, refusing);
	log_limit(g, x, refusing);
	refuse(x, answer, longest);
	return true;
}

/* Counts in one line. A line in shadow counts only what it would let pass. */
static struct limit_entry *count_in(
    struct gateway *g, struct exchange *x, const struct conf_request_limit *limit, uint64_t key)
{
	struct limit_line *line = line_of(g, limit);
	usec now = g->relay.now, wait;
	bool was_full = false;
	if (limit->is_shadow &&
	    limit_table_ask(line->table, &line->terms, key, now, &wait) != LIMIT_PASSES) {
		count_limited(g, x, limit);
		log_limit(g, x, limit);
		return NULL;
	}
	struct limit_entry *e = limit_table_take(line->table, &line->terms, key, now, &was_full);
	WORKER_COUNT(&g->env, limit_table_full, was_full);
	return e;
}

RARE bool request_limits_admit(struct gateway *g, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	uint64_t keys[LIMIT_REQUEST_LIMITS];
	struct limit_entry *entries[LIMIT_REQUEST_LIMITS];
	size_t count = 0;
	for (size_t i = 0; i < route->request_limit_count; i++)
		keys[i] = key_of(g, x, &route->request_limits[i]);
	if (is_refused(g, x, keys))
		return false;
	for (size_t i = 0; i < route->request_limit_count; i++) {
		struct limit_entry *e =
		    keys[i] == NO_KEY ? NULL : count_in(g, x, &route->request_limits[i], keys[i]);
		if (e)
			entries[count++] = e;
	}
	if (count == 0)
		return true;
	size_t bytes = count * sizeof(entries[0]);
	struct limits_held *held = memory_alloc(sizeof(*held) + bytes);
	held->count = count;
	memcpy(held->entries, entries, bytes);
	x->context.limits_held = held;
	return true;
}

void request_limits_ended(struct exchange *x)
{
	struct limits_held *held = x->context.limits_held;
	for (size_t i = 0; i < held->count; i++)
		limit_entry_give(held->entries[i]);
	free(held);
	x->context.limits_held = NULL;
}
