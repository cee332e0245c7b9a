/* SPDX-License-Identifier: MIT */
/*
 * Offers: facts are gathered, the policy decides, and a push or a hint is made. An origin's promise is
 * decided at once, before anything else of the origin is read, so that the client too gets it before
 * the bytes that refer to the resource. An offer of our own is decided before the head that names it is
 * sent.
 */
#include "proxy/relay/relay_private.h"

#include "proxy/base/ensure.h"

/* The code of the RST_STREAM that refuses a promise (RFC 9113 8.4, 8.4.2). */
static uint32_t refusal_code(const struct policy_reason *reason)
{
	static const struct {
		const struct policy_reason *reason;
		uint32_t code;
	} codes[] = {
	    {&policy_reason_METHOD, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_BODY, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_MALFORMED, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_AUTHORITY, RELAY_PROTOCOL_ERROR},
	    {&policy_reason_PARENT_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_PARENT_LIFE_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_CONNECTION_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_BYTES_CAP, RELAY_REFUSED_STREAM},
	    {&policy_reason_PROMISE_RATE, RELAY_REFUSED_STREAM},
	    {&policy_reason_BUDGET, RELAY_REFUSED_STREAM},
	    {&policy_reason_PUSH_SHED, RELAY_REFUSED_STREAM},
	};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i].reason == reason)
			return codes[i].code;
	return RELAY_CANCEL;
}

bool relay_reason_is_limit(const struct policy_reason *reason)
{
	return refusal_code(reason) == RELAY_REFUSED_STREAM;
}

/* One offer, until it has its verdict. */
struct offering {
	struct exchange *parent;
	struct leg *up;                       /* the promised stream; NULL: an offer of our own */
	struct http_head *head;               /* owned */
	const struct http_resource *resource; /* of our own offers */
	enum relay_offer_flags flags;
	struct policy_offer offer;
	struct relay_place place;
};

static void decide_without_push(struct offering *o, struct policy_verdict verdict)
{
	struct relay *r = o->parent->relay;
	o->parent->pushes.verdicts |= (uint8_t)(1u << verdict.action);
	if (o->up)
		o->up->ops->reset(o->up, refusal_code(verdict.reason));
	r->ops->offer_decided(r->context, o->parent, &o->offer, verdict);
}

/* This parent has a push of the same method and URI already. */
static bool is_repeated(const struct exchange *parent, const struct http_head *promised)
{
	const struct http_target target = http_target_of(promised);
	list_for_each(&parent->pushes.list, child, struct exchange, pushed.sibling)
	{
		const struct http_target open = http_target_of(child->request);
		if (child->request->method_token == promised->method_token &&
		    http_target_equal(&open, &target))
			return true;
	}
	return false;
}

/* A subscription's origin that pushes a resource again means a new message. An offer beyond max-pushes-per-parent is
 * dropped in any case: an origin that goes on promising must not have each promise compared with all open pushes. */
static bool may_be_repeated(const struct offering *o)
{
	const struct exchange *x = o->parent;
	return !o->offer.is_expected && x->pushes.open < x->relay->policy->caps.per_parent;
}

static void hint(struct offering *o)
{
	if (o->flags & RELAY_OFFER_EARLY)
		return; /* the origin's own 103 has the link */
	struct http_resource promised = {
	    .target = http_target_of(o->head),
	    .as = slice_of_string(policy_type_as(policy_type_of_path(o->head->path))),
	};
	exchange_hint(o->parent, o->resource ? o->resource : &promised);
}

static const struct policy_verdict no_memory = {
    .action = POLICY_DROP, .reason = &policy_reason_BUDGET};
static const struct policy_verdict shed = {
    .action = POLICY_DROP, .reason = &policy_reason_PUSH_SHED};

/* All other members are 0 already. */
static void fill_push(
    struct exchange *push, const struct offering *o, struct policy_verdict verdict)
{
	struct exchange *x = o->parent;
	push->facts.listener = x->facts.listener;
	push->facts.client = x->facts.client;
	push->facts.is_named = x->facts.is_named;
	push->facts.peer = x->facts.peer;
	push->facts.ends = peer_ends_hold(x->facts.ends);
	push->facts.user = exchange_user_hold(x->facts.user);
	push->facts.tls = x->facts.tls;
	if (x->facts.request_id.len > 0) /* its parent may end first */
		push->facts.request_id = arena_copy(exchange_arena(push), x->facts.request_id);
	push->facts.certificate = client_certificate_hold(x->facts.certificate);
	push->facts.client_ca = x->facts.client_ca;
	push->place = o->place;
	push->timing.waits_since = x->relay->now;
	push->upload.source_ended = true;
	push->upload.state = FLOW_DONE;
	push->pushed.state = PUSH_OFFERED;
	push->pushed.is_expected = o->offer.is_expected;
	push->pushed.source = o->offer.source;
	push->pushed.parent = x;
	push->pushed.parent_id = x->id;
	push->pushed.verdict = verdict;
}

static const struct policy_reason *hold(struct exchange *parent, struct exchange *push)
{
	struct leg leg = {0};
	const struct policy_reason *failure = push->relay->ops->hold(parent, push, &leg);
	if (failure)
		return failure;
	exchange_bind(&push->down, &leg);
	push->pushed.state = PUSH_HELD;
	return NULL;
}

/* Promises the push downstream, or holds it: then it has a downstream leg. Returns why it could not be
 * done, or NULL. */
static const struct policy_reason *give_down_leg(const struct offering *o, struct exchange *push)
{
	struct exchange *x = o->parent;
	if (push->pushed.verdict.action != POLICY_FORWARD)
		return hold(x, push);
	if (!x->down.ops->promise(&x->down, o->head, push))
		return &policy_reason_BUDGET;
	push->pushed.state = PUSH_PROMISED;
	push->pushed.was_promised = true;
	list_append(&x->relay->unbegun, &push->pushed.unbegun);
	return NULL;
}

/* Returns the pushed exchange, promised or held. NULL: there was no memory, and the owner has been told
 * that the offer was dropped. */
static struct exchange *make_push(struct offering *o, struct policy_verdict verdict)
{
	struct exchange *x = o->parent;
	bool is_short = x->relay->makes_no_pushes;
	struct exchange *push =
	    is_short ? NULL : exchange_alloc(x->relay, x->payer.budget, o->head);
	if (!push) {
		decide_without_push(o, is_short ? shed : no_memory);
		http_head_free(o->head);
		return NULL;
	}
	http_head_strip_hop(o->head);
	fill_push(push, o, verdict);
	const struct policy_reason *failure = give_down_leg(o, push);
	if (failure) {
		const struct policy_verdict failed = {
		    .action = POLICY_DROP, .reason = failure, .rule = verdict.rule};
		decide_without_push(o, failed);
		exchange_finish(push, &relay_cause_NO_MEMORY, 0, NULL);
		return NULL;
	}
	list_append(&x->pushes.list, &push->pushed.sibling);
	x->pushes.open++;
	x->pushes.ever++;
	x->pushes.verdicts |= (uint8_t)(1u << verdict.action);
	return push;
}

/* Why no hint is possible; the owner may know other reasons. */
static const struct policy_reason *hint_refusal(const struct offering *o)
{
	if (o->flags & RELAY_OFFER_UNSEEN)
		return &policy_reason_LINK_PUSH_ONLY;
	if (o->flags & RELAY_OFFER_EARLY)
		return NULL;
	const struct http_target target = http_target_of(o->head);
	return exchange_hint_refusal(o->parent, &target);
}

/* Made when the first offer of a request is decided. */
static struct policy_request *request_of(struct exchange *x)
{
	const struct policy_rules *rules = x->relay->policy;
	if (!x->pushes.request) {
		x->pushes.request = arena_alloc(exchange_arena(x), policy_request_bytes(rules));
		policy_request_init(x->pushes.request, rules, x->request, &x->facts.client);
		exchange_charge(x);
	}
	return x->pushes.request;
}

/* Gathers the facts, decides, acts. */
static struct exchange *decide(struct offering *o, struct policy_verdict *decided)
{
	struct exchange *x = o->parent;
	struct relay *r = x->relay;
	o->offer.parent = x->request;
	o->offer.promised = o->head;
	o->offer.parent_gone =
	    exchange_is_over(x) || !x->down.ops || x->download.state == FLOW_DONE;
	o->offer.parent_is_push = exchange_is_push(x);
	o->offer.is_expected = x->pushes.is_subscription && o->up;
	o->offer.parent_pushes = x->pushes.open;
	o->offer.parent_pushes_ever = x->pushes.ever;
	o->offer.now = r->now;
	o->offer.hold_refusal = &policy_reason_NO_HOLD; /* unless the owner says otherwise */
	o->offer.effort = exchange_effort(x);
	o->offer.request = request_of(x);
	o->place = x->place;
	r->ops->offer_facts(r->context, x, o->head, &o->offer, &o->place);
	if (may_be_repeated(o))
		o->offer.duplicate = o->offer.duplicate || is_repeated(x, o->head);
	/* A rule may override that one of the owner's reasons. */
	if (!o->offer.hint_refusal || o->offer.hint_refusal == &policy_reason_HINT_CLIENT) {
		const struct policy_reason *refusal = hint_refusal(o);
		o->offer.hint_refusal = refusal ? refusal : o->offer.hint_refusal;
	}
	struct policy_verdict shadow;
	struct policy_verdict verdict =
	    policy_decide_with(r->policy, r->feedback, &o->offer, &shadow, NULL);
	*decided = verdict;
	if (shadow.rule && r->ops->offer_shadowed)
		r->ops->offer_shadowed(r->context, x, &shadow);
	if (verdict.action == POLICY_HINT || verdict.action == POLICY_HINT_HOLD)
		hint(o);
	if (verdict.action != POLICY_DROP && verdict.action != POLICY_HINT)
		return make_push(o, verdict);
	decide_without_push(o, verdict);
	http_head_free(o->head);
	return NULL;
}

/* Nothing more can be promised on the client's connection, so a subscription waits for nothing: its client
 * may begin anew on another one. */
static void end_if_in_vain(struct exchange *x, const struct policy_reason *refusal)
{
	if (x->pushes.is_subscription && refusal == &policy_reason_CLIENT_GOING_AWAY)
		exchange_abort(x, &relay_cause_PUSH_OFF, refusal->code);
}

struct exchange *exchange_on_promise(
    struct exchange *x, const struct leg *up, struct http_head *head)
{
	struct leg leg = *up;
	struct offering o = {
	    .parent = x, .up = &leg, .head = head, .offer = {.source = POLICY_RELAYED}};
	if (x->pushes.is_subscription)
		flow_begin_source(&x->download, x->relay->now); /* a promise ends the silence */
	struct policy_verdict verdict;
	struct exchange *push = decide(&o, &verdict);
	if (!push) {
		end_if_in_vain(x, verdict.reason);
		return NULL;
	}
	exchange_bind(&push->up, &leg);
	push->timing.sent = x->relay->now;
	exchange_move(push, EXCHANGE_CONNECT);
	exchange_arm(push);
	x->relay->ops->push_promised(x->relay->context, push);
	return push;
}

static struct exchange *offer(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, enum relay_offer_flags flags,
    struct policy_verdict *verdict)
{
	struct http_head *head = http_promise_make(x->request, resource, false);
	*verdict = (struct policy_verdict){.action = POLICY_DROP};
	if (!head)
		return NULL;
	struct offering o = {
	    .parent = x,
	    .head = head,
	    .resource = resource,
	    .flags = flags,
	    .offer =
		{
		    .source = source,
		    .as = resource->as,
		    .cross_origin = (flags & RELAY_OFFER_CROSS_ORIGIN) != 0,
		    .is_proposal = (flags & RELAY_OFFER_PROPOSAL) != 0,
		    .in_early_hints = (flags & RELAY_OFFER_EARLY) != 0,
		    .is_preconnect = resource->is_preconnect,
		},
	};
	struct exchange *push = decide(&o, verdict);
	if (!push)
		return NULL;
	x->relay->ops->push_promised(x->relay->context, push);
	exchange_dispatch(push);
	return push;
}

struct exchange *exchange_offer(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, enum relay_offer_flags flags)
{
	struct policy_verdict verdict;
	exchange_charge(x); /* the request's arena may have grown by the resource */
	return offer(x, source, resource, flags, &verdict);
}

/* ---- lists ---- */

/* Whether the verdict that was just given is that of all offers like it: a hint, whatever the resource is. */
static bool is_hint_for_all(
    const struct exchange *x, const struct relay_offer_run *run, bool is_preconnect)
{
	const struct policy_verdict *v = &run->verdict;
	const struct policy_rules *rules = x->relay->policy;
	enum policy_action wanted = v->rule ? v->rule->action : rules->fallback;
	return v->action == POLICY_HINT && wanted == POLICY_HINT && !is_preconnect &&
	       run->flags == RELAY_OFFER_PLAIN && x->relay->ops->offer_is_special &&
	       policy_ignores_resources(rules);
}

/* False: something may speak against this resource. */
static bool hint_again(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, const struct relay_offer_run *run)
{
	const struct relay *r = x->relay;
	struct http_head named = *x->request; /* read only, instead of a real one for each */
	named.path = resource->target.path;
	const struct http_target target = http_target_of(&named);
	if (resource->is_preconnect || x->pushes.open > 0 || exchange_effort(x)->is_used_up ||
	    exchange_hint_refusal(x, &target) || r->ops->offer_is_special(r->context, x, &named))
		return false;
	const struct policy_offer same = {.source = source,
	    .parent = x->request,
	    .promised = &named,
	    .as = resource->as,
	    .client = x->facts.client};
	exchange_hint(x, resource);
	r->ops->offer_decided(r->context, x, &same, run->verdict);
	return true;
}

void exchange_offer_next(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, enum relay_offer_flags flags, struct relay_offer_run *run)
{
	if (run->is_hint && flags == run->flags && hint_again(x, source, resource, run))
		return;
	exchange_charge(x);
	offer(x, source, resource, flags, &run->verdict);
	run->flags = flags;
	run->is_hint = !exchange_is_over(x) && is_hint_for_all(x, run, resource->is_preconnect);
}

bool exchange_offer_early(
    struct exchange *x, const struct http_resource *resource, enum relay_offer_flags flags)
{
	struct policy_verdict verdict;
	offer(x, POLICY_LINK, resource, flags | RELAY_OFFER_EARLY, &verdict);
	return verdict.action != POLICY_DROP || verdict.reason != &policy_reason_RULE;
}
