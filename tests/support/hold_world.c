/* SPDX-License-Identifier: MIT */
/* Held pushes in memory; see hold_world.h. */
#include "tests/support/hold_world.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdarg.h>
#include <stdio.h>

const struct hold_limits hold_world_ample = {
    .count = 64, .bytes = 4 << 20, .age = 30 * USEC_PER_SEC};

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

static struct hold_world *mine(const struct exchange *x)
{
	return container_of(x->relay->ops, struct hold_world, ops);
}

static void add(struct http_head *head, hold_fields fields)
{
	for (; fields && *fields; fields += 2)
		http_head_add(head, slice_of_string(fields[0]), slice_of_string(fields[1]));
}

/* ---- recorded callbacks ---- */

static void offer_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	struct hold_world *hw = mine(parent);
	(void)context;
	offer->origin_may_promise = offer->listener_covers = true;
	(void)place;
	offer->client_accepts_streams = true;
	offer->hold_refusal = hold_refusal(parent, promised);
	offer->hint_refusal = exchange_may_hint(parent) ? NULL : &policy_reason_HINT_LATE;
	add(promised, hw->promise_fields);
}

static void response_head(void *context, struct exchange *x, struct http_head *head)
{
	char *text = mine(x)->heads[x->id % HOLD_WORLD_HEADS];
	size_t n = 0;
	(void)context;
	if (http_head_is_interim(head))
		return;
	mine(x)->held_for = hold_held_for(x);
	if (hold_part(x)->miss != HOLD_FITS)
		hold_tell_miss(x, head);
	text[0] = 0;
	for (uint32_t i = 0; i < head->count && n < HOLD_WORLD_HEAD_BYTES; i++)
		n += (size_t)snprintf(text + n, HOLD_WORLD_HEAD_BYTES - n, "%.*s: %.*s\n",
		    SLICE_ARG(head->fields[i].name), SLICE_ARG(head->fields[i].value));
}

static const char *end_name(enum push_state state)
{
	switch (state) {
	case PUSH_CLAIMED:
		return "claimed";
	case PUSH_EXPIRED:
		return "expired";
	case PUSH_CANCELLED:
		return "cancelled";
	case PUSH_DONE:
		return "done";
	case PUSH_NONE:
	case PUSH_OFFERED:
	case PUSH_PROMISED:
	case PUSH_ANSWERING:
	case PUSH_HELD:
		break;
	}
	return "?";
}

static void ended(void *context, struct exchange *x)
{
	struct world *w = context;
	record(w->ended, "x%llu %s %u", (unsigned long long)x->id,
	    x->ending.cause ? x->ending.cause->name : "complete", x->response.status);
	if (x->pushed.state != PUSH_NONE)
		record(mine(x)->pushes, "%.*s %s %s", SLICE_ARG(x->request->path),
		    end_name(x->pushed.state), x->pushed.end_reason ? x->pushed.end_reason->code : "-");
}

static uint64_t epoch_sec(void *context)
{
	struct hold_world *hw = context;
	return 1000000000u + hw->w->relay.now / USEC_PER_SEC;
}

static void record_note(void *context, const struct hold_note *n)
{
	static const char *const names[HOLD_OUTCOME_COUNT] = {
	    "claimed", "expired", "evicted", "invalidated", "withdrawn", "failed", "missed"};
	struct hold_world *hw = context;
	hw->wasted_bytes += n->wasted_bytes;
	if (n->outcome == HOLD_MISSED)
		record(hw->notes, "missed %s%s%.*s", hold_miss_name(n->miss), n->field.len ? ":" : "",
		    SLICE_ARG(n->field));
	else if (n->outcome == HOLD_CLAIMED)
		record(hw->notes, "claimed%s", n->is_live ? " live" : "");
	else
		record(hw->notes, "%s %s %llu", names[n->outcome], n->reason->code,
		    (unsigned long long)n->wasted_bytes);
}

static const struct hold_ops hold_ops = {.epoch_sec = epoch_sec, .note = record_note};

/* ---- life ---- */

struct hold_world *hold_world_with(hold_fields parent, bool came_through,
    const struct hold_limits *own, const struct hold_limits *shared)
{
	struct hold_world *hw = memory_new(struct hold_world);
	hw->w = world_new();
	hw->ops = *hw->w->relay.ops;
	hw->ops.offer_facts = offer_facts;
	hw->ops.hold = hold_bind;
	hw->ops.response_head = response_head;
	hw->ops.ended = ended;
	hw->w->relay.ops = &hw->ops;
	hw->w->rules.fallback = POLICY_HOLD;
	hold_init(&hw->hold, &hw->w->relay, &hold_ops, hw, shared);
	hold_store_init(&hw->store, &hw->hold, &hw->w->budget, own, true);
	hw->parent = hold_world_request(hw, &hw->store, "GET", "/", parent, &hw->parent_down);
	hw->parent->facts.came_through = came_through;
	exchange_dispatch(hw->parent);
	hw->parent_up = world_leg_of(hw->w, &hw->parent->up);
	return hw;
}

struct hold_world *hold_world_new(void)
{
	return hold_world_with(NULL, false, &hold_world_ample, NULL);
}

void hold_world_lose(struct hold_world *hw)
{
	list_for_each(&hw->w->relay.live, x, struct exchange, link) if (x->pushed.state == PUSH_NONE)
	    exchange_on_down_ended(x, &relay_cause_DOWN_LOST, 0, NULL);
}

void hold_world_free(struct hold_world *hw)
{
	hold_world_lose(hw);
	hold_store_fini(&hw->store);
	hold_fini(&hw->hold);
	world_free(hw->w);
	free(hw);
}

/* ---- the origin ---- */

struct exchange *hold_world_promise(
    struct hold_world *hw, const char *path, hold_fields fields, struct world_leg **up)
{
	struct world_leg *legs[2] = {0};
	hw->promise_fields = fields;
	struct exchange *push = world_promise(hw->w, hw->parent, path, &legs[0], &legs[1]);
	hw->promise_fields = NULL;
	if (up)
		*up = legs[0];
	return push;
}

struct exchange *hold_world_promise_at(struct hold_world *hw, const char *scheme, const char *authority)
{
	const struct leg leg = {.ops = hw->parent->up.ops, .carrier = hw->parent_up, .budget = &hw->w->up_budget};
	struct http_head *promised = world_request(hw->w, "GET", "/a");
	promised->scheme = slice_of_string(scheme);
	promised->authority = slice_of_string(authority);
	return exchange_on_promise(hw->parent, &leg, promised);
}

void hold_world_head(
    struct hold_world *hw, struct exchange *push, unsigned status, hold_fields fields, bool end)
{
	struct http_head *head = world_response(hw->w, status);
	add(head, fields);
	exchange_on_response(push, head, end);
}

struct exchange *hold_world_push(
    struct hold_world *hw, const char *path, hold_fields fields, const char *body)
{
	struct exchange *push = hold_world_promise(hw, path, NULL, NULL);
	ensure(push);
	hold_world_head(hw, push, 200, fields, false);
	world_download(hw->w, push, body, true);
	exchange_on_leg_closed(&push->up);
	hold_world_pass(hw);
	return push;
}

/* ---- the client ---- */

struct exchange *hold_world_request(struct hold_world *hw, struct hold_store *s, const char *method,
    const char *path, hold_fields fields, struct world_leg **down)
{
	struct exchange *x = world_exchange(hw->w, method, true, down);
	ensure(x);
	struct http_head *request = world_request_of(x);
	request->path = arena_copy(&request->arena, slice_of_string(path));
	add(request, fields);
	hold_part(x)->store = s;
	return x;
}

bool hold_world_ask(struct hold_world *hw, struct hold_store *s, const char *method,
    const char *path, hold_fields fields, struct world_leg **down)
{
	struct exchange *x = hold_world_request(hw, s, method, path, fields, down);
	bool is_claimed = hold_claim(&hw->hold, x);
	if (!is_claimed)
		exchange_dispatch(x);
	hold_world_pass(hw);
	hold_world_take(hw, *down);
	return is_claimed;
}

bool hold_world_get(
    struct hold_world *hw, const char *path, hold_fields fields, struct world_leg **down)
{
	return hold_world_ask(hw, &hw->store, "GET", path, fields, down);
}

void hold_world_pass(struct hold_world *hw)
{
	hold_run(&hw->hold);
}

void hold_world_wait(struct hold_world *hw, usec span)
{
	usec until = hw->w->relay.now + span;
	while (hw->w->relay.now < until) {
		usec step = until - hw->w->relay.now;
		world_pass(hw->w, step < USEC_PER_SEC / 4 ? step : USEC_PER_SEC / 4);
		hold_world_pass(hw);
	}
}

/* Bytes that do not fit into the leg's buffer are only counted. */
static bool take_once(struct hold_world *hw, struct world_leg *l)
{
	struct leg *leg = l->leg;
	const struct flow *f = exchange_flow_to(leg);
	struct piece p = body_front(&f->body, SIZE_MAX);
	bool end = p.length == f->body.bytes && flow_may_end(f) && f->state == FLOW_BODY;
	if (p.length == 0 && !end)
		return false;
	size_t room = sizeof(l->bytes) - 1 - l->byte_count,
	       kept = p.length < room ? p.length : room;
	if (kept > 0)
		memcpy(l->bytes + l->byte_count, piece_slice(p).ptr, kept);
	l->byte_count += kept;
	hw->taken += p.length;
	if (end)
		record(l->said, "end");
	exchange_on_taken(leg, p.length, end);
	return true;
}

void hold_world_take(struct hold_world *hw, struct world_leg *down)
{
	for (;;) {
		bool took = false;
		while (down->leg && take_once(hw, down))
			took = true;
		if (!took)
			return;
		hold_world_pass(hw);
	}
}

bool hold_world_same_route(void *context, const struct exchange *a, const struct exchange *b)
{
	(void)context;
	return a->place.route == b->place.route;
}

const struct conf_route *hold_world_route(unsigned number)
{
	static const char routes[4];
	ensure(number < sizeof(routes));
	return (const struct conf_route *)(const void *)&routes[number];
}

const char *hold_world_field(struct hold_world *hw, uint64_t id, const char *name)
{
	char *value = hw->value;
	char *text = hw->heads[id % HOLD_WORLD_HEADS];
	size_t n = strlen(name);
	for (char *line = text; *line; line = strchr(line, '\n') + 1) {
		if (strncmp(line, name, n) != 0 || line[n] != ':')
			continue;
		snprintf(value, HOLD_WORLD_HEAD_BYTES, "%.*s", (int)strcspn(line + n + 2, "\n"),
		    line + n + 2);
		return value;
	}
	return "";
}
