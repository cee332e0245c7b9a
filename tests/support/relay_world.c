/* SPDX-License-Identifier: MIT */
/* Legs in memory; see relay_world.h. */
#include "tests/support/relay_world.h"

#include "proxy/admission/admission.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

#include <stdarg.h>
#include <stdio.h>

static const struct leg_ops ops;

static void record(char *said, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void record(char *said, const char *format, ...)
{
	va_list list;
	size_t n = strlen(said);
	va_start(list, format);
	if (n > 0)
		n += (size_t)snprintf(said + n, WORLD_SAID - n, "; ");
	vsnprintf(said + n, WORLD_SAID - n, format, list);
	va_end(list);
}

static struct world_leg *mine(struct leg *leg)
{
	return leg->carrier;
}

/* ---- legs ---- */

void world_take(struct world_leg *l)
{
	if (!l->leg)
		return;
	struct leg *leg = l->leg;
	const struct flow *f = exchange_flow_to(leg);
	while (l->leg && (f->body.bytes > 0 || (flow_may_end(f) && f->state == FLOW_BODY))) {
		struct piece p = exchange_leg_front(leg, SIZE_MAX);
		if (p.length > 0) {
			ensure(l->byte_count + p.length < WORLD_SAID);
			memcpy(l->bytes + l->byte_count, piece_slice(p).ptr, p.length);
			l->byte_count += p.length;
		}
		bool end = p.length == f->body.bytes && flow_may_end(f);
		if (end)
			record(l->said, "end");
		exchange_on_taken(leg, p.length, end);
		if (end)
			return;
	}
}

static bool on_head(struct leg *leg, const struct http_head *head, bool end)
{
	struct world_leg *l = mine(leg);
	if (l->must_wait) {
		if (!http_head_is_interim(head))
			record(l->said, "waits");
		return false;
	}
	record(l->said, "head %u%s", head->status, end ? " end" : "");
	for (uint32_t i = 0; i < head->count; i++)
		if (head->fields[i].token == HTTP_TOKEN_LINK ||
		    slice_equal(head->fields[i].name, SLICE("content-security-policy")) ||
		    slice_equal(head->fields[i].name, SLICE("referrer-policy")))
			record(l->said, "%.*s %.*s", SLICE_ARG(head->fields[i].name),
			    SLICE_ARG(head->fields[i].value));
	return true;
}

static void on_body(struct leg *leg, const struct flow *flow)
{
	(void)flow;
	mine(leg)->is_ready = true; /* the body is read later, by the test, as at the end of a loop pass */
}

static void on_trailers(struct leg *leg, const struct http_head *trailers)
{
	record(mine(leg)->said, "trailers %u", trailers->count);
}

static void on_reset(struct leg *leg, uint32_t code)
{
	struct world_leg *l = mine(leg);
	record(l->said, "reset %u", code);
	l->leg = NULL;
	if (leg->exchange) /* NULL: a promise that was refused before it became an exchange */
		list_remove(&leg->link);
}

static void on_credit(struct leg *leg, size_t n)
{
	mine(leg)->credit += n;
}

static void on_detach(struct leg *leg)
{
	record(mine(leg)->said, "detach");
	mine(leg)->leg = NULL;
	list_remove(&leg->link);
}

static void on_discard(struct leg *leg, bool end)
{
	record(mine(leg)->said, end ? "discard end" : "discard");
	mine(leg)->leg = NULL;
	list_remove(&leg->link);
}

static void on_hold_back(struct leg *leg, bool is_held_back)
{
	record(mine(leg)->said, is_held_back ? "hold back" : "go on");
}

static struct world_leg *leg_new(struct world *w)
{
	ensure(w->leg_count < WORLD_STREAMS);
	struct world_leg *l = &w->legs[w->leg_count++];
	return l;
}

static bool on_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	struct world_leg *parent = mine(leg);
	struct world *w = child->relay->context;
	if (w->cannot_promise)
		return false;
	record(parent->said, "promise %.*s", SLICE_ARG(request->path));
	struct world_leg *l = leg_new(w);
	l->is_push = true;
	l->leg = &child->down;
	child->down.ops = &ops;
	child->down.carrier = l;
	child->down.budget = &w->down_budget;
	return true;
}

static const struct leg_ops ops = {on_head, on_body, on_trailers, on_promise, on_reset, on_credit, on_detach, on_discard, on_hold_back};

/* ---- the relay's owner ---- */

static struct leg leg_from(struct world_leg *l, struct budget *budget)
{
	return (struct leg){.ops = &ops, .carrier = l, .budget = budget};
}

static void dispatch(void *context, struct exchange *x)
{
	struct world *w = context;
	ensure(w->dispatch_count < 15);
	w->dispatched[w->dispatch_count++] = x;
	if (!w->connects)
		return;
	struct world_leg *up = leg_new(w);
	up->leg = &x->up;
	const struct leg leg = leg_from(up, &w->up_budget);
	exchange_on_connected(x, &leg);
}

static void undispatch(void *context, struct exchange *x)
{
	(void)context;
	list_remove(&x->waiting);
}

static void facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	(void)place;
	offer->hint_refusal = exchange_may_hint(parent) ? NULL : &policy_reason_HINT_LATE;
	struct world *w = context;
	(void)promised;
	w->facts_count++;
	offer->origin_may_promise = w->origin_may_promise;
	offer->listener_covers = w->listener_covers;
	offer->client_push_enabled = w->push_enabled;
	offer->client_accepts_streams = true;
	offer->promise_rate_exceeded = w->rate_exceeded;
	offer->client_going_away = w->client_goes_away;
}

static void record_decision(void *context, struct exchange *parent, const struct policy_offer *offer, struct policy_verdict verdict)
{
	struct world *w = context;
	(void)parent, (void)offer;
	bool is_hint = verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD;
	record(w->refused, "%s%s", is_hint ? "hint " : "", verdict.reason->code);
}

static void promised(void *context, struct exchange *push)
{
	(void)context, (void)push;
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	(void)context, (void)x, (void)head;
}

static bool interim_head(void *context, struct exchange *x, struct http_head *head)
{
	(void)context, (void)x, (void)head;
	return true;
}

static void ended(void *context, struct exchange *x)
{
	struct world *w = context;
	record(w->ended, "x%llu %s %u", (unsigned long long)x->id, x->ending.cause ? x->ending.cause->name : "complete", x->response.status);
}

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	struct world *w = context;
	(void)x;
	return w->limits[what];
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	struct world *w = context;
	(void)x;
	return w->min_rate[side];
}

static enum relay_look tunnel_look(void *context, struct exchange *x, const char **detail)
{
	const struct world *w = context;
	(void)x;
	*detail = "looked at";
	return w->look;
}

static bool is_special(void *context, const struct exchange *parent, const struct http_head *promised)
{
	const struct world *w = context;
	(void)parent, (void)promised;
	return w->offers_are_special;
}

static void body_passes(void *context, struct exchange *x, struct slice bytes)
{
	struct world *w = context;
	(void)x;
	record(w->looked, "%.*s", SLICE_ARG(bytes));
}

static const struct relay_ops relay_ops = {
    .dispatch = dispatch,
    .undispatch = undispatch,
    .tunnel_waits = tunnel_quota_waits,
    .tunnel_look = tunnel_look,
    .offer_facts = facts,
    .offer_is_special = is_special,
    .offer_decided = record_decision,
    .push_promised = promised,
    .response_head = response_head,
    .interim_head = interim_head,
    .body_passes = body_passes,
    .ended = ended,
    .time_limit = time_limit,
    .min_rate = min_rate,
};

struct world *world_new(void)
{
	struct world *w = memory_new(struct world);
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	w->small = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, 4);
	w->heads = http_head_pool_new(8);
	budget_init(&w->budget, NULL, 64 << 20);
	budget_init(&w->down_budget, &w->budget, 64 << 20);
	budget_init(&w->up_budget, &w->budget, 64 << 20);
	w->rules.caps = (struct policy_caps){
	    .per_parent = 100, .per_parent_life = 1000, .per_connection = 256, .bytes_in_flight = 4 << 20};
	w->rules.fallback = POLICY_FORWARD;
	w->connects = true;
	w->limits[RELAY_TIMEOUT_LINGER] = USEC_PER_SEC;
	w->origin_may_promise = w->listener_covers = w->push_enabled = true;
	w->relay = (struct relay){
	    .ops = &relay_ops,
	    .context = w,
	    .policy = &w->rules,
	    .chunks = w->chunks,
	    .small_chunks = w->small,
	    .heads = w->heads,
	    .budget = &w->budget,
	    .pseudonym = SLICE("tester"),
	    .now = 1000000,
	};
	relay_init(&w->relay);
	return w;
}

void world_free(struct world *w)
{
	relay_fini(&w->relay);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
	chunk_pool_free(w->small);
	budget_fini(&w->down_budget);
	budget_fini(&w->up_budget);
	budget_fini(&w->budget);
	free(w);
}

void world_end(struct world *w)
{
	list_for_each(&w->relay.live, x, struct exchange, link)
	    exchange_abort(x, &relay_cause_DRAINED, NULL);
	while (!list_is_empty(&w->relay.live)) /* the relay may still be sending its own answers */
		exchange_on_down_ended(list_first(&w->relay.live, struct exchange, link),
		    &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

struct http_head *world_request(struct world *w, const char *method, const char *path)
{
	struct http_head *h = http_head_new(w->heads);
	http_head_add(h, SLICE(":method"), slice_of_string(method));
	http_head_add(h, SLICE(":scheme"), SLICE("https"));
	http_head_add(h, SLICE(":authority"), SLICE("example.com"));
	http_head_add(h, SLICE(":path"), slice_of_string(path));
	ensure(http_head_validate(h, HTTP_REQUEST) == NULL);
	return h;
}

struct http_head *world_response(struct world *w, unsigned status)
{
	char text[8];
	struct http_head *h = http_head_new(w->heads);
	snprintf(text, sizeof(text), "%u", status % 1000);
	http_head_add(h, SLICE(":status"), slice_of_string(text));
	ensure(http_head_validate(h, HTTP_RESPONSE) == NULL);
	return h;
}

struct http_head *world_trailers(struct world *w)
{
	struct http_head *h = http_head_new(w->heads);
	http_head_add(h, SLICE("x-checksum"), SLICE("1"));
	ensure(http_head_validate(h, HTTP_TRAILERS) == NULL);
	return h;
}

struct exchange *world_exchange(struct world *w, const char *method, bool end, struct world_leg **down)
{
	*down = leg_new(w);
	const struct leg leg = leg_from(*down, &w->down_budget);
	struct exchange *x = exchange_new(&w->relay, &leg, world_request(w, method, "/"), end);
	if (x)
		(*down)->leg = &x->down;
	return x;
}

struct exchange *world_connected(struct world *w, const char *method, bool end, struct world_leg **down, struct world_leg **up)
{
	struct exchange *x = world_exchange(w, method, end, down);
	w->connects = true;
	exchange_dispatch(x);
	*up = world_leg_of(w, &x->up);
	return x;
}

struct exchange *world_promise(struct world *w, struct exchange *x, const char *path, struct world_leg **up, struct world_leg **down)
{
	*up = leg_new(w);
	const struct leg leg = leg_from(*up, &w->up_budget);
	struct exchange *push = exchange_on_promise(x, &leg, world_request(w, "GET", path));
	if (push) {
		(*up)->leg = &push->up;
		*down = world_leg_of(w, &push->down);
	}
	return push;
}

struct world_leg *world_leg_of(struct world *w, const struct leg *leg)
{
	for (unsigned i = 0; i < w->leg_count; i++)
		if (w->legs[i].leg == leg)
			return &w->legs[i];
	return NULL;
}

/* Delivers text in a chunk of its own, as a read does. */
static void hand_over(struct world *w, struct exchange *x, const char *text, bool end,
    void (*to)(struct exchange *, struct piece, bool))
{
	struct chunk *c = chunk_acquire(w->chunks);
	size_t n = strlen(text);
	ensure(n <= c->capacity);
	memcpy(c->data, text, n);
	to(x, (struct piece){c, 0, (uint32_t)n}, end);
	chunk_release(c);
}

void world_upload(struct world *w, struct exchange *x, const char *text, bool end)
{
	hand_over(w, x, text, end, exchange_on_upload);
}

void world_download(struct world *w, struct exchange *x, const char *text, bool end)
{
	hand_over(w, x, text, end, exchange_on_download);
}

void world_pass(struct world *w, usec span)
{
	usec until = w->relay.now + span;
	while (w->relay.now < until)
		relay_advance(&w->relay, w->relay.now + WHEEL_TICK_USEC);
}
