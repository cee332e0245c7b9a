/* SPDX-License-Identifier: MIT */
/*
 * The answer of a watch, put together from its questions: A and AAAA of its host, or SRV and then A and AAAA of each
 * target. Nothing is reported before all questions have been answered or have failed once; but when one of them has
 * brought addresses, the others have 50 ms left (RFC 8305 3).
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/names/names_private.h"
#include "proxy/names/order.h"

/* RFC 8305 8: the resolution delay. */
#define PATIENCE (50 * USEC_PER_MSEC)

/* Watches that are looked at in one loop pass: each may bring servers, whose routes the kernel is asked for. */
#define LOOKS_PER_PASS 4u

/* One question of a watch. */
struct watch_link {
	struct list of_watch, of_question;
	struct name_watch *watch;
	struct name_question *question;
	uint16_t port, priority, weight; /* of its addresses */
};

struct name_watch {
	struct names *names;
	struct list link;           /* in names.watches */
	struct list due;            /* in names.due, or in none */
	bool is_name;               /* false: the host can be no name, and is never asked for */
	struct watch_link *service; /* the SRV question, or NULL */
	bool is_service_new;        /* its targets are to be linked */
	struct list links;          /* of A and AAAA */
	struct net_timer patience;
	bool is_patient, is_out_of_patience, has_reported;
	struct name_address *addresses;
	size_t count;
	const char *error;
	void (*changed)(void *context, const struct name_answer *answer);
	void *context;
};

/* ---- links ---- */

static struct watch_link *link_question(
    struct name_watch *w, const char *host, enum dns_type type, const struct dns_target *target)
{
	struct watch_link *l = memory_new(struct watch_link);
	*l = (struct watch_link){.watch = w,
	    .question = name_question_get(w->names, host, type),
	    .port = target->port,
	    .priority = target->priority,
	    .weight = target->weight};
	list_init(&l->of_watch);
	list_append(&l->question->links, &l->of_question);
	return l;
}

static void unlink_question(struct watch_link *l)
{
	list_remove(&l->of_watch);
	list_remove(&l->of_question);
	name_question_drop(l->question);
	free(l);
}

static void link_addresses(struct name_watch *w, const char *host, const struct dns_target *target)
{
	static const enum dns_type types[] = {DNS_AAAA, DNS_A};
	for (size_t i = 0; i < 2; i++) {
		struct watch_link *l = link_question(w, host, types[i], target);
		list_append(&w->links, &l->of_watch);
	}
}

/* The new ones first, so that a target that stays is not asked for anew. */
static void link_targets(struct name_watch *w)
{
	struct list old;
	list_init(&old);
	list_splice(&old, &w->links);
	const struct name_question *q = w->service->question;
	for (size_t i = 0; i < q->count; i++)
		link_addresses(w, q->targets[i].host, &q->targets[i]);
	list_for_each(&old, l, struct watch_link, of_watch) unlink_question(l);
	w->is_service_new = false;
}

/* ---- the answer ---- */

static void make_due(struct name_watch *w)
{
	if (!list_is_linked(&w->due))
		list_append(&w->names->due, &w->due);
	net_timer_set(&w->names->look, net_now(w->names->loop));
}

void name_watch_due(struct name_question *q)
{
	list_for_each(&q->links, l, struct watch_link, of_question)
	{
		if (l == l->watch->service)
			l->watch->is_service_new = true;
		make_due(l->watch);
	}
}

struct sum {
	size_t settled, all;
	const char *failure; /* of a question that no resolver answers */
	const char *lack;    /* of a question whose answer is that there is nothing */
	struct name_address list[LIMIT_SRV_ADDRESSES];
	size_t count;
};

static void add_address(struct sum *s, const struct watch_link *l, const struct address *ip)
{
	struct name_address a = {.priority = l->priority, .weight = l->weight};
	net_address_set_ip(&a.address, ip, l->port);
	for (size_t i = 0; i < s->count; i++)
		if (memcmp(s->list[i].address.bytes, a.address.bytes, a.address.length) == 0)
			return;
	if (s->count < LIMIT_SRV_ADDRESSES)
		s->list[s->count++] = a;
}

static void add_question(struct sum *s, const struct watch_link *l)
{
	const struct name_question *q = l->question;
	s->all++;
	s->settled += q->is_settled;
	if (q->error && q->is_negative)
		s->lack = q->error;
	else if (q->error)
		s->failure = q->error;
	for (size_t i = 0; i < q->count && q->type != DNS_SRV; i++)
		add_address(s, l, &q->addresses[i]);
}

static void add_up(struct name_watch *w, struct sum *s)
{
	*s = (struct sum){.lack = w->is_name ? NULL : "it cannot be the name of a host"};
	list_for_each(&w->links, l, struct watch_link, of_watch) add_question(s, l);
	if (w->service)
		add_question(s, w->service);
}

/* ---- reports ---- */

static bool is_same(const struct name_address *a, const struct name_address *b)
{
	return a->priority == b->priority && a->weight == b->weight &&
	       a->address.length == b->address.length &&
	       memcmp(a->address.bytes, b->address.bytes, a->address.length) == 0;
}

static bool has_changed(
    const struct name_watch *w, const struct sum *s, size_t count, const char *error)
{
	if (!w->has_reported || w->error != error || w->count != count)
		return true;
	for (size_t i = 0; i < count; i++)
		if (!is_same(&w->addresses[i], &s->list[i]))
			return true;
	return false;
}

/* That a host has addresses of one family alone is no error. */
static void report(struct name_watch *w, struct sum *s)
{
	size_t count = order_addresses(s->list, s->count);
	const char *error = s->failure ? s->failure : count > 0 ? NULL : s->lack;
	if (!has_changed(w, s, count, error))
		return;
	w->has_reported = true;
	w->addresses = memory_resize(w->addresses, count + 1, sizeof(*s->list));
	memcpy(w->addresses, s->list, count * sizeof(*s->list));
	w->count = count;
	w->error = error;
	struct name_answer answer = {w->addresses, count, error};
	w->changed(w->context, &answer);
}

static void look(struct name_watch *w)
{
	struct sum *s;
	if (w->is_service_new)
		link_targets(w);
	s = memory_new(struct sum);
	add_up(w, s);
	bool is_complete = s->settled == s->all;
	if (is_complete) {
		w->is_patient = w->is_out_of_patience = false;
		net_timer_set(&w->patience, USEC_NEVER);
	} else if (s->count > 0 && !w->is_patient) {
		w->is_patient = true;
		net_timer_set(&w->patience, net_now(w->names->loop) + PATIENCE);
	}
	if (is_complete || (w->is_out_of_patience && s->count > 0))
		report(w, s);
	free(s);
}

static void on_patience(void *context)
{
	struct name_watch *w = context;
	w->is_out_of_patience = true;
	make_due(w);
}

/* The owner may end any watch in the callback. */
void name_watch_look_at_some(void *names)
{
	struct names *n = names;
	struct name_watch *w;
	for (unsigned i = 0; i < LOOKS_PER_PASS; i++) {
		if (!(w = list_first(&n->due, struct name_watch, due)))
			return;
		list_remove(&w->due);
		look(w);
	}
	net_timer_set(&n->look, net_now(n->loop));
}

/* ---- life ---- */

struct name_watch *names_watch(struct names *n, const char *host, uint16_t port, bool is_srv,
    void (*changed)(void *context, const struct name_answer *answer), void *context)
{
	const struct dns_target own = {.port = port};
	char name[DNS_NAME_BYTES];
	struct name_watch *w = memory_new(struct name_watch);
	w->names = n;
	w->changed = changed;
	w->context = context;
	list_init(&w->due);
	list_init(&w->links);
	list_append(&n->watches, &w->link);
	net_timer_init(&w->patience, n->loop, on_patience, w);
	w->is_name = dns_name_copy(slice_of_string(host), name);
	if (w->is_name && is_srv)
		w->service = link_question(w, name, DNS_SRV, &own);
	else if (w->is_name)
		link_addresses(w, name, &own);
	w->is_service_new = w->service && w->service->question->is_settled;
	make_due(w);
	return w;
}

void names_set_client_key(struct name_watch *w, uint64_t client_key)
{
	list_for_each(&w->links, l, struct watch_link, of_watch)
	{
		struct name_question *q = l->question;
		bool is_new = q->links.next == q->links.prev && !q->query.is_active;
		if (!is_new)
			continue;
		q->client_key = client_key;
		q->query.client_key = client_key;
	}
}

void names_unwatch(struct name_watch *w)
{
	list_for_each(&w->links, l, struct watch_link, of_watch) unlink_question(l);
	if (w->service)
		unlink_question(w->service);
	net_timer_fini(&w->patience);
	list_remove(&w->due);
	list_remove(&w->link);
	free(w->addresses);
	free(w);
}
