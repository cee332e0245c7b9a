/* SPDX-License-Identifier: MIT */
/*
 * Limits on the requests of a route (limit-requests): each line has a table of its own
 * (limit_table.h). A request that one line refuses is counted in none of them.
 */
#include "proxy/admission/admission_private.h"

#include "proxy/admission/limit_table.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/limits.h"

#define NO_KEY 0 /* the line does not count the request */

struct request_limits {
	size_t count;
	struct limit_table *lines[]; /* owned; by conf_request_limit.index */
};

/* Where a request is open. */
struct open_place {
	struct limit_table *line;
	struct limit_entry *entry;
};

/* Not in the exchange's arena, which does not outlive the opening of a tunnel. */
struct open_requests {
	size_t count;
	struct open_place places[];
};

static struct limit_table *open_line(
    const struct admission *a, const struct conf_request_limit *limit)
{
	struct limit_terms terms = {.burst = limit->burst, .concurrent = limit->concurrent};
	if (limit->rate > 0)
		terms.interval_nsec = limit->period * NSEC_PER_USEC / limit->rate;
	return limit_table_in(
	    admission_memory(a, limit->index), &terms, admission_line_keys(a->env->conf, limit));
}

void request_limits_open(struct admission *a)
{
	const struct conf *c = a->env->conf;
	size_t count = c->request_limit_count;
	if (count == 0)
		return;
	a->limits = memory_zalloc(sizeof(*a->limits) + count * sizeof(a->limits->lines[0]));
	a->limits->count = count;
	for (size_t i = 0; i < c->route_count; i++)
		for (size_t k = 0; k < c->routes[i].request_limit_count; k++) {
			const struct conf_request_limit *limit = &c->routes[i].request_limits[k];
			a->limits->lines[limit->index] = open_line(a, limit);
		}
}

void request_limits_close(struct admission *a)
{
	for (size_t i = 0; a->limits && i < a->limits->count; i++)
		limit_table_free(a->limits->lines[i]);
	free(a->limits);
}

/* ---- keys ---- */

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
			key = subscriber_key_of_text(seed ^ key, f->value);
	}
	return key;
}

static uint64_t key_of(
    uint64_t seed, const struct exchange *x, const struct conf_request_limit *limit)
{
	uint64_t key = limit->key == CONF_LIMIT_FIELD ? key_of_field(x, limit, seed) : NO_KEY;
	if (limit->key == CONF_LIMIT_ALL)
		return 1;
	if (key != NO_KEY || x->facts.client.family == 0) /* a unix socket */
		return key;
	return subscriber_key_of_client(~seed, &x->facts.client);
}

/* ---- one request ---- */

static void note_limited(
    struct admission *a, const struct exchange *x, const struct conf_request_limit *limit)
{
	static const char over[] = "request limit", shadow[] = "request limit shadow";
	struct observe_counters *c = a->env->observe->counters;
	size_t route = (size_t)(x->place.route - a->env->conf->routes);
	char text[ADMISSION_CLIENT_TEXT];
	c->requests_limited += !limit->is_shadow;
	c->requests_limited_shadow += limit->is_shadow;
	if (route < OBSERVE_PLACES)
		c->route_limited[route][limit->is_shadow]++;
	observe_log_fault(a->env->observe, OBSERVE_INFO, limit->is_shadow ? shadow : over,
	    a->env->relay->now, "%s: client %s: route %s: over limit-requests = %s, %s",
	    x->facts.listener->name, admission_client_text(x, text), x->place.route->name,
	    limit->text, limit->is_shadow ? "which is in shadow: passes" : "answered 429");
}

static void refuse(struct exchange *x, enum limit_answer answer, usec wait)
{
	uint32_t seconds = admission_seconds(wait);
	admission_part(x)->retry_after = seconds > 0 ? seconds : 1;
	exchange_refuse(x,
	    answer == LIMIT_RATE ? &relay_cause_REQUEST_RATE : &relay_cause_REQUEST_CONCURRENCY,
	    NULL);
}

/* Asks the lines that are not in shadow. The one with the longest wait makes the answer. */
static bool is_refused(struct admission *a, struct exchange *x, const uint64_t *keys)
{
	const struct conf_route *route = x->place.route;
	const struct conf_request_limit *refusing = NULL;
	enum limit_answer answer = LIMIT_PASSES;
	usec longest = 0, wait;
	for (size_t i = 0; i < route->request_limit_count; i++) {
		const struct conf_request_limit *limit = &route->request_limits[i];
		if (limit->is_shadow || keys[i] == NO_KEY)
			continue;
		enum limit_answer one = limit_table_ask(
		    a->limits->lines[limit->index], keys[i], a->env->relay->now, &wait);
		if (one == LIMIT_PASSES || (refusing && wait <= longest))
			continue;
		refusing = limit;
		answer = one;
		longest = wait;
	}
	if (!refusing)
		return false;
	note_limited(a, x, refusing);
	refuse(x, answer, longest);
	return true;
}

/* Counts in one line. A line in shadow counts only the requests that it would let pass. */
static struct open_place count_in(
    struct admission *a, struct exchange *x, const struct conf_request_limit *limit, uint64_t key)
{
	struct limit_table *line = a->limits->lines[limit->index];
	usec now = a->env->relay->now, wait;
	bool was_full = false;
	if (limit->is_shadow && limit_table_ask(line, key, now, &wait) != LIMIT_PASSES) {
		note_limited(a, x, limit);
		return (struct open_place){0};
	}
	struct limit_entry *e = limit_table_take(line, key, now, &was_full);
	WORKER_COUNT(a->env, limit_table_full, was_full);
	return (struct open_place){line, e};
}

RARE bool request_limits_admit(struct admission *a, struct exchange *x)
{
	const struct conf_route *route = x->place.route;
	uint64_t keys[LIMIT_REQUEST_LIMITS];
	struct open_place places[LIMIT_REQUEST_LIMITS];
	size_t count = 0;
	for (size_t i = 0; i < route->request_limit_count; i++)
		keys[i] = key_of(a->seed, x, &route->request_limits[i]);
	if (is_refused(a, x, keys))
		return false;
	for (size_t i = 0; i < route->request_limit_count; i++) {
		struct open_place at = {0};
		if (keys[i] != NO_KEY)
			at = count_in(a, x, &route->request_limits[i], keys[i]);
		if (at.entry)
			places[count++] = at;
	}
	if (count == 0)
		return true;
	size_t bytes = count * sizeof(places[0]);
	struct open_requests *open = memory_alloc(sizeof(*open) + bytes);
	open->count = count;
	memcpy(open->places, places, bytes);
	admission_part(x)->open = open;
	return true;
}

void request_limits_ended(struct exchange *x)
{
	struct open_requests *open = admission_part(x)->open;
	for (size_t i = 0; i < open->count; i++)
		limit_entry_give(open->places[i].line, open->places[i].entry);
	free(open);
	admission_part(x)->open = NULL;
}
