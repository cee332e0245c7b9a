/* SPDX-License-Identifier: MIT */
/*
 * The relay and its held responses between legs in memory that do anything which an HTTP/2 stream
 * may: requests, responses, pushes, resets, credit, in any order and at any time. After each step
 * no byte is lost (received = forwarded + waiting, or discarded) and all credit that is due was
 * given; in the end everything has ended and all budgets are back.
 *
 * Input: one byte of options, then steps of three: the action, which stream, an argument.
 */
#include "tests/fuzz/input.h"
#include "tests/support/seldom.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/hold/hold.h"
#include "proxy/relay/relay.h"

#define STREAMS 96u
#define CLIENTS 2u
#define PATHS 4u

/* One stream of an engine, as far as the relay can tell. */
struct stream {
	struct leg *leg; /* NULL: over, or none yet */
	unsigned client; /* of a downstream one */
	bool is_down, is_push;
	bool head_came, source_ended, is_bodyless; /* what came from it */
	bool head_went, sink_ended, has_body;      /* what went to it */
	bool is_held_back;                         /* the origin of a subscription */
	size_t given, credited;
};

struct world {
	struct relay relay;
	struct hold hold;
	struct hold_store stores[CLIENTS];
	/* The worker's, and of it what connections and held responses may take. */
	struct budget budget, client_budgets[CLIENTS], origin_budget, hold_budget;
	struct chunk_pool *chunks, *small;
	struct http_head_pool *heads;
	struct policy_rules rules;
	struct stream streams[STREAMS];
	struct list dispatched; /* exchanges that want an upstream stream */
	struct list starting;   /* pushes whose response wants room */
	bool has_subscriptions;
	bool connects_at_once, has_room, cannot_promise, offers_links, is_facts_bad, is_paced;
	uint64_t begun, ended;
};

static const struct leg_ops leg_ops;

static const char *const paths[PATHS] = {"/", "/a.css", "/b.js", "/c"};

/* ---- streams ---- */

static struct stream *stream_new(struct world *w, bool is_down)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *s = &w->streams[i];
		if (s->leg || s->head_went)
			continue;
		*s = (struct stream){.is_down = is_down, .head_went = true};
		return s;
	}
	return NULL;
}

static struct leg leg_from(struct world *w, struct stream *s)
{
	return (struct leg){.ops = &leg_ops,
	    .carrier = s,
	    .budget = s->is_down ? &w->client_budgets[s->client] : &w->origin_budget};
}

/* Gone for both. */
static void stream_cut(struct stream *s)
{
	struct leg *leg = s->leg;
	*s = (struct stream){0};
	if (!leg)
		return;
	list_remove(&leg->link);
	leg->ops = NULL;
}

/* Both sides have ended: the engine closes it. */
static void close_if_over(struct stream *s)
{
	struct leg *leg = s->leg;
	if (!leg || !s->source_ended || !s->sink_ended)
		return;
	stream_cut(s);
	exchange_on_leg_closed(leg);
}

static struct world *world_of(const struct leg *leg)
{
	return leg->exchange->relay->context;
}

static bool send_head(struct leg *leg, const struct http_head *head, bool end)
{
	struct world *w = world_of(leg);
	struct exchange *x = leg->exchange;
	struct stream *s = leg->carrier;
	ensure(s->is_down && !s->sink_ended);
	if (x->pushed.state == PUSH_PROMISED && !w->has_room) {
		if (!http_head_is_interim(head) && !list_is_linked(&x->waiting))
			list_append(&w->starting, &x->waiting);
		return false;
	}
	if (!http_head_is_interim(head))
		list_remove(&x->waiting);
	ensure(end == false || !http_head_is_interim(head));
	s->sink_ended = end;
	return true;
}

static void send_body(struct leg *leg, const struct flow *flow)
{
	struct stream *s = leg->carrier;
	ensure(flow == exchange_flow_to(leg) && !s->sink_ended);
	s->has_body = true;
}

static void send_trailers(struct leg *leg, const struct http_head *trailers)
{
	struct stream *s = leg->carrier;
	ensure(trailers->kind == HTTP_TRAILERS && !s->sink_ended);
	s->sink_ended = true;
}

static void reset(struct leg *leg, uint32_t code)
{
	struct stream *s = leg->carrier;
	ensure(code < RELAY_PASS);
	if (leg->exchange)
		stream_cut(s);
	else /* a promise that was refused before it became an exchange */
		*s = (struct stream){0};
}

static void credit(struct leg *leg, size_t n)
{
	struct stream *s = leg->carrier;
	s->credited += n;
	ensure(s->credited <= s->given && !s->source_ended);
}

static void detach(struct leg *leg)
{
	stream_cut(leg->carrier);
}

static bool promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	struct world *w = world_of(leg);
	struct stream *parent = leg->carrier;
	struct stream *s = w->cannot_promise ? NULL : stream_new(w, true);
	ensure(parent->is_down && request->method.len > 0);
	if (!s)
		return false;
	s->client = parent->client;
	s->is_push = s->source_ended = true;
	s->leg = &child->down;
	child->down.ops = &leg_ops;
	child->down.carrier = s;
	child->down.budget = &w->client_budgets[s->client];
	return true;
}

static void hold_back(struct leg *leg, bool is_held_back)
{
	struct stream *s = leg->carrier;
	ensure(!s->is_down && !s->is_push && s->is_held_back != is_held_back);
	s->is_held_back = is_held_back;
}

static const struct leg_ops leg_ops = {
    .send_head = send_head,
    .send_body = send_body,
    .send_trailers = send_trailers,
    .promise = promise,
    .reset = reset,
    .credit = credit,
    .detach = detach,
    .hold_back = hold_back,
};

/* ---- what the relay asks ---- */

static void connect(struct world *w, struct exchange *x)
{
	struct stream *s = stream_new(w, false);
	list_remove(&x->waiting);
	if (!s) {
		exchange_on_up_failed(x, &relay_cause_QUEUE_FULL, 0, NULL);
		return;
	}
	s->leg = &x->up;
	s->sink_ended = x->upload.source_ended && x->upload.body.bytes == 0 && !x->upload.trailers;
	const struct leg leg = leg_from(w, s);
	exchange_on_connected(x, &leg);
}

static void dispatch(void *context, struct exchange *x)
{
	struct world *w = context;
	ensure(!x->up.ops && !list_is_linked(&x->waiting));
	x->pushes.is_subscription =
	    w->has_subscriptions && x->method == HTTP_METHOD_GET && !exchange_is_push(x);
	list_append(&w->dispatched, &x->waiting);
	if (w->connects_at_once)
		connect(w, x);
}

static void undispatch(void *context, struct exchange *x)
{
	(void)context;
	list_remove(&x->waiting);
}

static void offer_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct world *w = context;
	(void)place;
	offer->origin_may_promise = offer->listener_covers = !w->is_facts_bad;
	offer->client_push_enabled = offer->client_accepts_streams = true;
	offer->hint_refusal = exchange_may_hint(parent) ? NULL : &policy_reason_HINT_LATE;
	offer->hold_refusal = hold_refusal(parent, promised);
}

static void offer_settled(void *context, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict)
{
	(void)context, (void)parent, (void)offer;
	ensure(verdict.reason != NULL);
}

static void push_promised(void *context, struct exchange *push)
{
	struct world *w = context;
	ensure(push->pushed.state == PUSH_PROMISED || push->pushed.state == PUSH_HELD);
	w->begun++;
}

static void offer(struct exchange *x, enum policy_source source, unsigned path)
{
	const struct http_resource resource = {
	    .target = {x->request->scheme, x->request->authority, slice_of_string(paths[path % PATHS])},
	    .as = SLICE("style")};
	exchange_offer(x, source, &resource, RELAY_OFFER_PLAIN);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	struct world *w = context;
	if (!list_is_empty(&w->hold.used))
		hold_invalidate(&w->hold, x, head);
	if (w->offers_links && x->pushed.state == PUSH_NONE && !exchange_is_over(x))
		offer(x, POLICY_LINK, head->status);
}

static bool interim_head(void *context, struct exchange *x, struct http_head *head)
{
	const struct world *w = context;
	const struct http_resource resource = {
	    .target = {x->request->scheme, x->request->authority, slice_of_string(paths[head->status % PATHS])},
	    .as = SLICE("style")};
	if (!w->offers_links || x->pushed.state != PUSH_NONE || exchange_is_over(x))
		return true;
	if (exchange_was_hinted(x, &resource.target) || !exchange_offer_early(x, &resource, RELAY_OFFER_PLAIN))
		return false;
	exchange_note_hinted(x, &resource.target);
	return true;
}

static void ended(void *context, struct exchange *x)
{
	struct world *w = context;
	ensure(exchange_is_over(x) && !x->down.ops && !x->up.ops);
	ensure(x->upload.body.bytes == 0 && x->download.body.bytes == 0);
	w->ended++;
}

static usec time_limit(void *context, const struct exchange *x, enum relay_timeout what)
{
	(void)context, (void)x;
	return what == RELAY_TIMEOUT_BODY_UP ? 0 : (3 + what) * USEC_PER_SEC;
}

static uint32_t min_rate(void *context, const struct exchange *x, enum relay_side side)
{
	const struct world *w = context;
	(void)x;
	return w->is_paced ? 500u << side : 0;
}

static const struct relay_ops relay_ops = {
    .dispatch = dispatch,
    .undispatch = undispatch,
    .offer_facts = offer_facts,
    .offer_decided = offer_settled,
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
	struct world *w = context;
	return 1795262400 + w->relay.now / USEC_PER_SEC;
}

static void note(void *context, const struct hold_note *n)
{
	(void)context;
	ensure((n->reason == NULL) == (n->outcome == HOLD_MISSED));
}

static const struct hold_ops hold_ops = {.epoch_sec = epoch_sec, .note = note};

/* ---- heads ---- */

static void add(struct http_head *head, const char *name, const char *value)
{
	http_head_add(head, slice_of_string(name), slice_of_string(value));
}

static struct http_head *request(struct world *w, const char *method, uint8_t argument)
{
	static const char *const fields[8][2] = {{"cookie", "user=a"}, {"cookie", "user=b"},
	    {"accept-language", "de"}, {"cache-control", "no-cache"}, {"if-none-match", "\"e\""},
	    {"range", "bytes=0-1"}, {"x-field", "value"}, {"if-modified-since", "x"}};
	struct http_head *head = http_head_new(w->heads);
	add(head, ":method", method);
	add(head, ":scheme", "https");
	add(head, ":authority", "a.example");
	add(head, ":path", paths[argument % PATHS]);
	add(head, fields[argument / PATHS % 8][0], fields[argument / PATHS % 8][1]);
	ensure(!http_head_validate(head, HTTP_REQUEST));
	return head;
}

static struct http_head *response(struct world *w, uint8_t argument)
{
	static const char *const statuses[8] = {
	    "200", "200", "404", "304", "204", "302", "500", "206"};
	static const char *const fields[8][2] = {{"cache-control", "max-age=4"},
	    {"cache-control", "no-store"}, {"vary", "accept-language"}, {"etag", "\"e\""},
	    {"cache-control", "private, no-cache"}, {"vary", "*"}, {"x-field", "value"},
	    {"location", "/a.css"}};
	struct http_head *head = http_head_new(w->heads);
	add(head, ":status", statuses[argument % 8]);
	add(head, fields[argument / 8 % 8][0], fields[argument / 8 % 8][1]);
	if (argument >= 64)
		add(head, "cache-control", "max-age=4");
	ensure(!http_head_validate(head, HTTP_RESPONSE));
	return head;
}

static struct http_head *other(struct world *w, enum http_head_kind kind, const char *status)
{
	struct http_head *head = http_head_new(w->heads);
	if (kind == HTTP_RESPONSE)
		add(head, ":status", status);
	add(head, "x-field", "value");
	ensure(!http_head_validate(head, kind));
	return head;
}

/* ---- steps ---- */

enum action {
	ACTION_REQUEST,
	ACTION_CONNECT,
	ACTION_REFUSE,
	ACTION_INTERIM,
	ACTION_RESPONSE,
	ACTION_BYTES,
	ACTION_BYTES_END,
	ACTION_TRAILERS,
	ACTION_FAIL,
	ACTION_PROMISE,
	ACTION_OFFER,
	ACTION_TAKE,
	ACTION_TAKE_ALL,
	ACTION_START,
	ACTION_ABORT,
	ACTION_PASS,
	ACTION_TURN,
	ACTION_SWITCH,
	ACTION_LOSE,
	ACTION_SHORT, /* of memory, later */
	ACTION_COUNT
};

static void begin_request(struct world *w, uint8_t which, uint8_t argument)
{
	static const char *const methods[8] = {
	    "GET", "GET", "GET", "GET", "HEAD", "POST", "PUT", "DELETE"};
	struct stream *s = stream_new(w, true);
	if (!s)
		return;
	s->client = which % CLIENTS;
	const struct leg leg = leg_from(w, s);
	s->head_came = true;
	s->source_ended = which & 64 || !(which & 32);
	struct exchange *x = exchange_new(
	    &w->relay, &leg, request(w, methods[which / 2 % 8], argument), s->source_ended);
	if (!x) {
		*s = (struct stream){0};
		return;
	}
	w->begun++;
	s->leg = &x->down;
	hold_part(x)->store = &w->stores[s->client];
	x->facts.came_through = which & 128;
	x->terms.upload_limit_bytes = argument & 128 ? 20000 : 0;
	if (!list_is_empty(&w->hold.used) && hold_claim(&w->hold, x))
		return;
	exchange_dispatch(x);
}

static void respond(struct world *w, struct stream *s, uint8_t argument)
{
	if (s->is_down || s->head_came)
		return;
	struct exchange *x = s->leg->exchange;
	struct http_head *head = response(w, argument);
	s->head_came = true;
	s->is_bodyless = http_response_is_bodyless(head, x->method);
	s->source_ended = s->is_bodyless;
	exchange_on_response(x, head, s->source_ended);
}

static void give_bytes(struct world *w, struct stream *s, uint8_t argument, bool end)
{
	if (!s->head_came || s->source_ended)
		return;
	struct chunk *chunk = chunk_acquire(w->chunks);
	uint32_t length = (uint32_t)argument * argument / 4;
	memset(chunk->data, argument, length);
	s->given += length;
	s->source_ended = end;
	struct exchange *x = s->leg->exchange;
	(s->is_down ? exchange_on_upload : exchange_on_download)(
	    x, (struct piece){chunk, 0, length}, end);
	chunk_release(chunk);
}

static void give_trailers(struct world *w, struct stream *s)
{
	if (!s->head_came || s->source_ended)
		return;
	struct http_head *trailers = other(w, HTTP_TRAILERS, NULL);
	s->source_ended = true;
	(s->is_down ? exchange_on_upload_trailers : exchange_on_download_trailers)(
	    s->leg->exchange, trailers);
}

static void fail(struct stream *s, uint8_t argument)
{
	static const struct relay_cause *const up[] = {&relay_cause_UP_RESET,
	    &relay_cause_UP_UNPROCESSED, &relay_cause_UP_LOST, &relay_cause_UP_MALFORMED};
	static const struct relay_cause *const down[] = {&relay_cause_DOWN_RESET,
	    &relay_cause_DOWN_MALFORMED, &relay_cause_DOWN_LOST, &relay_cause_DOWN_RESET};
	struct exchange *x = s->leg->exchange;
	const struct relay_cause *cause = (s->is_down ? down : up)[argument & 3];
	bool is_down = s->is_down;
	stream_cut(s);
	(is_down ? exchange_on_down_ended : exchange_on_up_failed)(
	    x, cause, argument >> 2 & 15, NULL);
}

static void make_promise(struct world *w, struct stream *parent, uint8_t argument)
{
	if (parent->is_down || parent->source_ended)
		return;
	struct stream *s = stream_new(w, false);
	if (!s)
		return;
	const struct leg leg = leg_from(w, s);
	s->sink_ended = true;
	struct exchange *push =
	    exchange_on_promise(parent->leg->exchange, &leg, request(w, "GET", argument));
	if (push)
		s->leg = &push->up;
	else
		ensure(!s->head_went); /* it was reset */
}

static void take(struct stream *s, size_t most)
{
	struct leg *leg = s->leg;
	struct flow *f = exchange_flow_to(leg);
	if (!s->has_body || f->state != FLOW_BODY)
		return;
	size_t n = most < f->body.bytes ? most : f->body.bytes;
	bool end = n == f->body.bytes && flow_may_end(f);
	s->has_body = n < f->body.bytes;
	s->sink_ended = end;
	for (size_t left = n; left > 0 || end;) {
		struct piece p = body_front(&f->body, left);
		ensure(p.length > 0 || left == 0);
		left -= p.length;
		exchange_on_taken(leg, p.length, end && left == 0);
		if (left == 0)
			return;
	}
}

static void turn(struct world *w)
{
	relay_send_hints(&w->relay);
	hold_run(&w->hold);
	relay_reap(&w->relay);
}

static void pass(struct world *w, usec span)
{
	usec until = w->relay.now + span;
	while (w->relay.now < until) {
		relay_advance(&w->relay, w->relay.now + USEC_PER_SEC / 4);
		turn(w);
	}
}

static void start(struct world *w)
{
	w->has_room = true;
	while (!list_is_empty(&w->starting)) {
		struct exchange *x = list_first(&w->starting, struct exchange, waiting);
		exchange_on_start(x);
		ensure(!list_is_linked(&x->waiting));
	}
}

static void flip(struct world *w, uint8_t argument)
{
	bool *const switches[] = {&w->connects_at_once, &w->has_room, &w->cannot_promise,
	    &w->offers_links, &w->is_facts_bad, &w->is_paced, &w->hold.shares};
	unsigned i = argument % 8;
	if (i < 6 || (i == 6 && w->hold.shared.limits.count > 0))
		*switches[i] = !*switches[i];
	else
		w->rules.fallback = (enum policy_action)(argument / 8 % POLICY_ACTION_COUNT);
}

/* A client's connection is lost, and what is held for it goes; another one comes. */
static void lose(struct world *w, unsigned client)
{
	static const struct hold_limits limits = {
	    .count = 4, .bytes = 30000, .age = 20 * USEC_PER_SEC};
	for (unsigned i = 0; i < STREAMS; i++) {
		struct stream *s = &w->streams[i];
		if (s->leg && s->is_down && s->client == client)
			fail(s, 2);
	}
	hold_store_fini(&w->stores[client]);
	turn(w);
	ensure(w->client_budgets[client].used_bytes == 0); /* what is left is not the client's */
	hold_store_init(&w->stores[client], &w->hold, &w->hold_budget, &limits, client == 0);
}

static void act_on_stream(struct world *w, enum action action, struct stream *s, uint8_t argument)
{
	switch (action) {
	case ACTION_INTERIM:
		if (!s->is_down && !s->head_came)
			exchange_on_response(s->leg->exchange,
			    other(w, HTTP_RESPONSE, argument & 1 ? "103" : "100"), false);
		break;
	case ACTION_RESPONSE:
		respond(w, s, argument);
		break;
	case ACTION_BYTES:
	case ACTION_BYTES_END:
		give_bytes(w, s, argument, action == ACTION_BYTES_END);
		break;
	case ACTION_TRAILERS:
		give_trailers(w, s);
		break;
	case ACTION_FAIL:
		fail(s, argument);
		return;
	case ACTION_PROMISE:
		make_promise(w, s, argument);
		break;
	case ACTION_OFFER:
		offer(s->leg->exchange, POLICY_CONFIG, argument);
		break;
	case ACTION_TAKE:
		take(s, (size_t)argument * 50);
		break;
	case ACTION_TAKE_ALL:
		take(s, SIZE_MAX);
		break;
	case ACTION_ABORT:
		exchange_abort(s->leg->exchange, &relay_cause_DRAINED, NULL);
		return;
	case ACTION_REQUEST:
	case ACTION_CONNECT:
	case ACTION_REFUSE:
	case ACTION_START:
	case ACTION_PASS:
	case ACTION_TURN:
	case ACTION_SWITCH:
	case ACTION_LOSE:
	case ACTION_SHORT:
	case ACTION_COUNT:
		break;
	}
	close_if_over(s);
}

static struct stream *pick(struct world *w, uint8_t which)
{
	unsigned alive = 0;
	for (unsigned i = 0; i < STREAMS; i++)
		alive += w->streams[i].leg != NULL;
	unsigned n = alive ? which % alive : 0;
	for (unsigned i = 0; i < STREAMS && alive; i++)
		if (w->streams[i].leg && n-- == 0)
			return &w->streams[i];
	return NULL;
}

static void act(struct world *w, enum action action, uint8_t which, uint8_t argument)
{
	struct stream *s;
	if (action == ACTION_REQUEST) {
		begin_request(w, which, argument);
	} else if (action == ACTION_CONNECT || action == ACTION_REFUSE) {
		if (list_is_empty(&w->dispatched))
			return;
		struct exchange *x = list_first(&w->dispatched, struct exchange, waiting);
		if (action == ACTION_CONNECT) {
			connect(w, x);
			return;
		}
		list_remove(&x->waiting);
		exchange_on_up_failed(x,
		    argument & 1 ? &relay_cause_UP_UNREACHABLE : &relay_cause_QUEUE_FULL, 0, NULL);
	} else if (action == ACTION_START) {
		start(w);
	} else if (action == ACTION_PASS) {
		pass(w, (usec)(argument % 16) * USEC_PER_SEC / 2);
	} else if (action == ACTION_TURN) {
		turn(w);
	} else if (action == ACTION_SWITCH) {
		flip(w, argument);
	} else if (action == ACTION_LOSE) {
		lose(w, which % CLIENTS);
	} else if (action == ACTION_SHORT) {
		if (which & 1)
			chunk_pool_fail_nth(w->small, argument % 8u);
		else
			budget_fail_nth(&w->budget, argument % 8u);
	} else if ((s = pick(w, which))) {
		act_on_stream(w, action, s, argument);
	}
}

/* ---- what must hold ---- */

static void check_flow(const struct flow *f, bool is_own)
{
	uint64_t known = f->forwarded + f->body.bytes;
	if (is_own)
		return;
	ensure(f->state == FLOW_ABORTED ? known <= f->received : known == f->received);
	const struct stream *s = f->source->ops == &leg_ops ? f->source->carrier : NULL;
	if (!s || s->source_ended)
		return;
	ensure(s->given == f->received);
	ensure(s->given - s->credited == f->body.bytes + f->owed);
	ensure(f->owed == 0 || f->body.bytes > 0); /* or it waited for ever */
}

/* The sums are those of the pushes, and the client of a held back origin has something to do. */
static void check_subscription(const struct exchange *x)
{
	struct push_backlog sum = {0};
	uint32_t open = 0;
	list_for_each(&x->pushes.list, push, struct exchange, pushed.sibling)
	{
		const struct flow *f = &push->download;
		bool is_begun = push->pushed.state == PUSH_ANSWERING;
		open++;
		if (!push->pushed.is_expected || push->pushed.state == PUSH_HELD)
			continue;
		sum.answered += push->response.answered_by == ANSWERED_BY_ORIGIN;
		sum.begun += is_begun;
		sum.starved += is_begun && f->body.bytes == 0 && !f->source_ended;
		sum.bytes += f->body.bytes;
	}
	ensure(open == x->pushes.open);
	if (exchange_is_push(x)) /* its backlog is its part of its parent's */
		return;
	ensure(sum.answered == x->backlog.answered && sum.begun == x->backlog.begun);
	ensure(sum.starved == x->backlog.starved && sum.bytes == x->backlog.bytes);
	if (!x->pushes.is_held_back)
		return;
	const struct stream *s = x->up.ops == &leg_ops ? x->up.carrier : NULL;
	ensure(s && s->is_held_back);
	ensure(sum.starved == 0 || sum.starved < sum.begun);
	ensure(sum.answered > 0 || sum.bytes > 0);
}

static void check(struct world *w)
{
	size_t live = 0;
	list_for_each(&w->relay.live, x, struct exchange, link)
	{
		live++;
		check_flow(&x->upload, false);
		check_flow(&x->download, exchange_is_own_answer(x));
		check_subscription(x);
		ensure(!exchange_is_over(x));
		/* Nobody is left to answer but of what was answered. */
		ensure(x->down.ops || x->download.state == FLOW_DONE);
	}
	ensure(live == w->relay.live_count);
	for (unsigned i = 0; i < STREAMS; i++)
		ensure(!w->streams[i].leg || w->streams[i].leg->carrier == &w->streams[i]);
}

/* ---- life ---- */

enum {
	OPTION_SHARED = 1,
	OPTION_POOR = 2,
	OPTION_AT_ONCE = 4,
	OPTION_HINT_WAIT = 8,
	OPTION_ACTION = 16, /* and above: the verdict; above that: whether GETs are subscriptions */
};

static void open_world(struct world *w, uint8_t options)
{
	const struct hold_limits shared = {.count = 8, .bytes = 60000, .age = 10 * USEC_PER_SEC};
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 2);
	w->small = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, 4);
	w->heads = http_head_pool_new(8);
	budget_init(&w->budget, NULL, options & OPTION_POOR ? 40000 : 16u << 20);
	list_init(&w->dispatched);
	list_init(&w->starting);
	w->has_room = true;
	w->connects_at_once = options & OPTION_AT_ONCE;
	w->has_subscriptions = options / OPTION_ACTION / POLICY_ACTION_COUNT & 1;
	w->rules.caps = (struct policy_caps){
	    .per_parent = 6, .per_parent_life = 30, .per_connection = 10, .bytes_in_flight = 20000};
	w->rules.fallback = (enum policy_action)(options / OPTION_ACTION % POLICY_ACTION_COUNT);
	w->relay = (struct relay){
	    .ops = &relay_ops,
	    .context = w,
	    .policy = &w->rules,
	    .chunks = w->chunks,
	    .small_chunks = w->small,
	    .heads = w->heads,
	    .budget = &w->budget,
	    .pseudonym = SLICE("fuzz"),
	    .hint_wait = options & OPTION_HINT_WAIT ? USEC_PER_SEC : 0,
	    .now = USEC_PER_SEC,
	};
	relay_init(&w->relay);
	hold_init(&w->hold, &w->relay, &hold_ops, w, options & OPTION_SHARED ? &shared : NULL);
	budget_init(&w->hold_budget, &w->budget, 100000);
	budget_init(&w->origin_budget, &w->budget, 200000);
	for (unsigned i = 0; i < CLIENTS; i++) {
		budget_init(&w->client_budgets[i], &w->budget, 200000);
		hold_store_init(&w->stores[i], &w->hold, &w->hold_budget, &shared, i == 0);
	}
}

static void close_world(struct world *w)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		lose(w, i);
	check(w);
	pass(w, 20 * USEC_PER_SEC);
	for (unsigned i = 0; i < CLIENTS; i++)
		hold_store_fini(&w->stores[i]);
	hold_fini(&w->hold);
	ensure(w->relay.live_count == 0 && w->begun == w->ended);
	for (unsigned i = 0; i < STREAMS; i++)
		ensure(!w->streams[i].leg);
	ensure(list_is_empty(&w->dispatched) && list_is_empty(&w->starting));
	relay_fini(&w->relay);
	for (unsigned i = 0; i < CLIENTS; i++)
		budget_fini(&w->client_budgets[i]);
	budget_fini(&w->origin_budget);
	budget_fini(&w->hold_budget);
	budget_fini(&w->budget);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->small);
	chunk_pool_free(w->chunks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct world *w = memory_new(struct world);
	uint32_t steps = 0;
	open_world(w, input_byte(&in));
	while (in.left > 0) {
		enum action action = (enum action)input_below(&in, ACTION_COUNT);
		uint8_t which = input_byte(&in);
		act(w, action, which, input_byte(&in));
		if (seldom(&steps))
			check(w);
	}
	close_world(w);
	free(w);
	return 0;
}
