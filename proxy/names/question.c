/* SPDX-License-Identifier: MIT */
/*
 * One name and type, kept up to date.
 *
 *     asked ──answer──→ known for its TTL ──→ asked again; the old answer stays meanwhile
 *       └──no answer──→ the old answer stays; asked again after min-ttl, then twice as long each time, to 30 s
 *
 * A name that the hosts file has is never asked for.
 */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/names/names_private.h"

#define BACKOFF_MOST (30 * USEC_PER_SEC)

static void ask(struct name_question *q);

static usec least(usec a, usec b)
{
	return a < b ? a : b;
}

static usec most(usec a, usec b)
{
	return a > b ? a : b;
}

/* Replaces the answer. Tells the watches if the answer or the error is another. */
static void set(struct name_question *q, const char *error, const void *items, size_t count)
{
	size_t size = q->type == DNS_SRV ? sizeof(*q->targets) : sizeof(*q->addresses);
	bool is_same = q->is_settled && q->error == error && q->count == count &&
		       (count == 0 || memcmp(q->addresses, items, count * size) == 0);
	q->is_settled = q->is_negative = true;
	q->error = error;
	if (is_same)
		return;
	void *copy = NULL;
	if (count > 0) {
		copy = memory_alloc(count * size);
		memcpy(copy, items, count * size);
	}
	free(q->addresses);
	q->addresses = copy;
	q->count = count;
	name_watch_due(q);
}

static void set_failed(struct name_question *q, const char *error)
{
	bool is_new = !q->is_settled || q->error != error;
	q->is_settled = true;
	q->is_negative = false;
	q->error = error;
	if (is_new)
		name_watch_due(q);
}

/* ---- DNS ---- */

static void ask_after(struct name_question *q, usec span)
{
	net_timer_set(&q->timer, net_now(q->names->loop) + span);
}

static usec positive_span(const struct name_question *q, uint32_t ttl)
{
	const struct names *n = q->names;
	usec floor = q->client_key != 0 ? n->asked_min_ttl : n->min_ttl;
	return most(floor, least(n->max_ttl, ttl * USEC_PER_SEC));
}

/* A new name should be found soon; but a TTL of 0 must not keep the resolver busy. */
static usec negative_span(const struct names *n, uint32_t ttl)
{
	usec floor = least(n->min_ttl, n->negative_ttl);
	return most(floor, least(n->negative_ttl, ttl * USEC_PER_SEC));
}

static void on_answer(void *context, const struct dns_answer *answer)
{
	struct name_question *q = context;
	struct names *n = q->names;
	q->is_asking = false;
	switch (answer->outcome) {
	case DNS_ANSWERED:
		q->backoff = 0;
		ask_after(q, positive_span(q, answer->ttl));
		set(q, NULL, answer->addresses, answer->count);
		return;
	case DNS_NEGATIVE:
		q->backoff = 0;
		ask_after(q, negative_span(n, answer->ttl));
		set(q, answer->error, NULL, 0);
		return;
	case DNS_FOREIGN:
	case DNS_TRUNCATED:
	case DNS_FAILED:
		q->backoff = most(n->min_ttl, least(2 * q->backoff, BACKOFF_MOST));
		ask_after(q, q->backoff);
		set_failed(q, answer->error);
		return;
	}
}

static void ask(struct name_question *q)
{
	if (q->is_asking)
		return;
	q->is_asking = true;
	net_timer_set(&q->timer, USEC_NEVER);
	name_query_start(&q->query, q->names, q->host, q->type, on_answer, q);
	q->query.client_key = q->client_key;
}

static void on_timer(void *context)
{
	ask(context);
}

/* ---- the hosts file ---- */

static bool family_is(const struct address *a, enum dns_type type)
{
	return a->family == (type == DNS_A ? 4 : 6);
}

/* True: the file has the name, maybe with no address of this family. */
static bool take_from_hosts(struct name_question *q)
{
	struct address found[2 * LIMIT_NAME_ADDRESSES];
	if (q->type == DNS_SRV)
		return false;
	size_t all = hosts_find(q->names->hosts, q->host, found, 2 * LIMIT_NAME_ADDRESSES);
	size_t count = 0;
	for (size_t i = 0; i < all && count < LIMIT_NAME_ADDRESSES; i++)
		if (family_is(&found[i], q->type))
			found[count++] = found[i];
	if (all == 0)
		return false;
	if (q->is_asking)
		name_query_stop(&q->query);
	q->is_asking = false;
	q->is_of_hosts = true;
	q->backoff = 0;
	net_timer_set(&q->timer, USEC_NEVER);
	set(q, count > 0 ? NULL : "the name has no address", found, count);
	return true;
}

void name_question_reread(struct name_question *q)
{
	bool was_of_hosts = q->is_of_hosts;
	q->is_of_hosts = false;
	if (!take_from_hosts(q) && was_of_hosts)
		ask(q);
}

void name_question_retry(struct name_question *q)
{
	if (q->backoff == 0)
		return;
	q->backoff = 0;
	ask(q);
}

/* ---- life ---- */

static uint64_t hash_of(const struct names *n, const char *host, enum dns_type type)
{
	return hash_bytes(n->seed + type, host, strlen(host));
}

struct name_question *name_question_get(struct names *n, const char *host, enum dns_type type)
{
	uint64_t hash = hash_of(n, host, type);
	for (struct map_node *node = map_find(&n->questions, hash); node; node = map_next(node)) {
		struct name_question *q = container_of(node, struct name_question, node);
		if (q->type == type && strcmp(q->host, host) == 0)
			return q;
	}
	struct name_question *q = memory_new(struct name_question);
	q->names = n;
	q->host = memory_strdup(host);
	q->type = type;
	list_init(&q->links);
	net_timer_init(&q->timer, n->loop, on_timer, q);
	map_insert(&n->questions, &q->node, hash);
	if (!take_from_hosts(q))
		ask(q);
	return q;
}

void name_question_drop(struct name_question *q)
{
	if (!list_is_empty(&q->links))
		return;
	if (q->is_asking)
		name_query_stop(&q->query);
	net_timer_fini(&q->timer);
	map_remove(&q->names->questions, &q->node);
	free(q->addresses);
	free(q->host);
	free(q);
}
