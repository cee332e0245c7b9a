/* SPDX-License-Identifier: MIT */
/* Offers of our own: pushes that no origin promised, and 103 Early Hints. */
#include "tests/support/relay_world.h"

#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct http_resource css = {
    .target = {SLICE_INIT("https"), SLICE_INIT("example.com"), SLICE_INIT("/a.css")},
    .as = SLICE_INIT("style"),
};
static const struct http_resource script = {
    .target = {SLICE_INIT("https"), SLICE_INIT("example.com"), SLICE_INIT("/b.js")},
    .as = SLICE_INIT("script"),
};

static struct http_head *hinted(struct world *w, const char *link)
{
	struct http_head *h = world_response(w, 103);
	http_head_add(h, SLICE("link"), slice_of_string(link));
	return h;
}

/* A page that a client has asked an origin for. */
struct page {
	struct world *w;
	struct exchange *x;
	struct world_leg *down;
};

/* What is offered with it becomes this. */
static struct page page_asked_for(enum policy_action action)
{
	struct page p = {.w = world_new()};
	struct world_leg *up;
	p.w->rules.fallback = action;
	p.x = world_connected(p.w, "GET", true, &p.down, &up);
	return p;
}

static struct exchange *offer(const struct page *p, const struct http_resource *resource)
{
	return exchange_offer(p->x, POLICY_CONFIG, resource, RELAY_OFFER_PLAIN);
}

static void offer_of_our_own_is_promised_first_and_asked_for_then(void **state)
{
	(void)state; /* covers: R78 P-make-before-reference */
	struct page p = page_asked_for(POLICY_FORWARD);
	struct exchange *push = exchange_offer(p.x, POLICY_LINK, &css, RELAY_OFFER_PLAIN);
	assert_non_null(push);
	assert_string_equal(p.down->said, "promise /a.css");
	assert_ptr_equal(p.w->dispatched[1], push);
	assert_null(http_head_find(push->request, HTTP_TOKEN_VIA));
	assert_int_equal(push->pushed.source, POLICY_LINK);
	struct world_leg *push_down = world_leg_of(p.w, &push->down);
	exchange_on_response(push, world_response(p.w, 200), false);
	world_download(p.w, push, "body", true);
	world_take(push_down);
	assert_string_equal(push_down->said, "head 200; end; detach");
	exchange_on_response(p.x, world_response(p.w, 200), true);
	assert_string_equal(p.w->ended, "x2 complete 200; x1 complete 200");
	world_free(p.w);
}

static void failed_response_to_a_push_of_our_own_is_withdrawn(void **state)
{
	(void)state; /* covers: P-make-withdrawn */
	struct page p = page_asked_for(POLICY_FORWARD);
	struct exchange *push = exchange_offer(p.x, POLICY_LINK, &css, RELAY_OFFER_PLAIN);
	struct world_leg *push_down = world_leg_of(p.w, &push->down),
			 *push_up = world_leg_of(p.w, &push->up);
	exchange_on_response(push, world_response(p.w, 404), false);
	assert_string_equal(push_up->said, "reset 8");
	assert_string_equal(push_down->said, "reset 8");
	assert_ptr_equal(push->pushed.verdict.reason, &policy_reason_STATUS);
	world_end(p.w);
}

static void cancelled_by_the_client_its_request_is_cancelled_too(void **state)
{
	(void)state; /* covers: R80 */
	struct page p = page_asked_for(POLICY_FORWARD);
	struct exchange *push = offer(&p, &css);
	struct world_leg *push_up = world_leg_of(p.w, &push->up);
	exchange_on_down_ended(push, &relay_cause_DOWN_RESET, 8, NULL);
	assert_string_equal(push_up->said, "reset 8");
	assert_false(exchange_is_over(p.x));
	world_end(p.w);
}

static void refused_offer_of_our_own_asks_the_origin_nothing(void **state)
{
	(void)state; /* covers: R79 */
	struct page p = page_asked_for(POLICY_FORWARD);
	p.w->push_enabled = false;
	assert_null(exchange_offer(p.x, POLICY_LINK, &css, RELAY_OFFER_PLAIN));
	assert_int_equal(p.w->dispatch_count, 1);
	assert_string_equal(p.w->refused, "push-disabled");
	world_end(p.w);
}

static void hints_of_one_turn_leave_in_one_103(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct page p = page_asked_for(POLICY_HINT);
	assert_null(offer(&p, &css));
	assert_null(offer(&p, &script));
	assert_string_equal(p.down->said, "");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said,
	    "head 103; link </a.css>; rel=preload; as=style; link </b.js>; rel=preload; as=script");
	assert_string_equal(p.w->refused, "hint default; hint default");
	relay_send_hints(&p.w->relay);
	offer(&p, &css);
	assert_string_equal(p.w->refused, "hint default; hint default; hint-late");
	exchange_on_response(p.x, world_response(p.w, 200), true);
	assert_true(exchange_is_over(p.x));
	world_free(p.w);
}

static void hints_wait_as_long_as_configured(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct page p = page_asked_for(POLICY_HINT);
	p.w->relay.hint_wait = 50000;
	offer(&p, &css);
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "");
	assert_true(relay_hints_due(&p.w->relay) == p.w->relay.now + 50000);
	world_pass(p.w, 60000);
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "head 103; link </a.css>; rel=preload; as=style");
	assert_true(relay_hints_due(&p.w->relay) == USEC_NEVER);
	world_end(p.w);
}

static void hints_join_the_103_of_the_origin(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct page p = page_asked_for(POLICY_HINT);
	offer(&p, &css);
	exchange_on_response(p.x, hinted(p.w, "</o.css>; rel=preload"), false);
	assert_string_equal(p.down->said,
	    "head 103; link </o.css>; rel=preload; link </a.css>; rel=preload; as=style");
	relay_send_hints(&p.w->relay);
	exchange_on_response(p.x, world_response(p.w, 200), true);
	assert_string_equal(p.down->said,
	    "head 103; link </o.css>; rel=preload; link </a.css>; rel=preload; "
	    "as=style; head 200 end; detach");
	world_free(p.w);
}

static void a_resource_is_hinted_once(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct page p = page_asked_for(POLICY_HINT);
	offer(&p, &css);
	assert_false(exchange_was_hinted(p.x, &css.target)); /* it waits */
	offer(&p, &css);
	assert_string_equal(p.w->refused, "hint default; duplicate");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "head 103; link </a.css>; rel=preload; as=style");
	assert_true(exchange_was_hinted(p.x, &css.target));
	assert_false(exchange_was_hinted(p.x, &script.target));
	/* The same path of another host is another resource. */
	struct http_target other = css.target;
	other.authority = SLICE("cdn.example.com");
	assert_false(exchange_was_hinted(p.x, &other));
	exchange_note_hinted(p.x, &other);
	assert_true(exchange_was_hinted(p.x, &other));
	other.scheme = SLICE("http");
	assert_false(exchange_was_hinted(p.x, &other));
	world_end(p.w);
}

/* What the owner does with the origin's 103. */
static bool keeps_interim;

static bool note_style(void *context, struct exchange *x, struct http_head *head)
{
	(void)context, (void)head;
	exchange_note_hinted(x, &css.target);
	return keeps_interim;
}

static struct page page_whose_103_has_the_style(struct relay_ops *ops)
{
	struct page p = page_asked_for(POLICY_HINT);
	*ops = *p.w->relay.ops;
	ops->interim_head = note_style;
	p.w->relay.ops = ops;
	return p;
}

static void the_103_of_the_origin_counts_as_a_hint(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct relay_ops ops;
	struct page p = page_whose_103_has_the_style(&ops);
	keeps_interim = true;
	offer(&p, &css);
	offer(&p, &script);
	exchange_on_response(p.x, hinted(p.w, "</a.css>; rel=preload; nonce=x"), false);
	assert_string_equal(p.down->said, "head 103; link </a.css>; rel=preload; nonce=x; "
					  "link </b.js>; rel=preload; as=script");
	offer(&p, &css);
	assert_string_equal(p.w->refused, "hint default; hint default; hint-late");
	world_end(p.w);

	p = page_whose_103_has_the_style(&ops);
	exchange_on_response(p.x, hinted(p.w, "</a.css>; rel=preload; nonce=x"), false);
	offer(&p, &css);
	offer(&p, &script);
	assert_string_equal(p.w->refused, "duplicate; hint default");
	world_end(p.w);
}

static void hints_that_wait_leave_in_a_103_that_has_nothing_else(void **state)
{
	(void)state; /* covers: P-hint-filtered */
	struct relay_ops ops;
	struct page p = page_whose_103_has_the_style(&ops);
	keeps_interim = false;
	exchange_on_response(p.x, world_response(p.w, 103), false);
	assert_string_equal(p.down->said, "");
	offer(&p, &script);
	exchange_on_response(p.x, world_response(p.w, 103), false);
	assert_string_equal(p.down->said, "head 103; link </b.js>; rel=preload; as=script");
	exchange_on_response(p.x, world_response(p.w, 103), false);
	assert_string_equal(p.down->said, "head 103; link </b.js>; rel=preload; as=script");
	world_end(p.w);
}

static void so_many_resources_are_hinted_and_no_more(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_HINT);
	char path[16];
	for (unsigned i = 0; i < LIMIT_HINTS_PER_REQUEST; i++) {
		struct http_target target = css.target;
		snprintf(path, sizeof(path), "/%u.css", i);
		target.path = slice_of_string(path);
		exchange_note_hinted(p.x, &target);
		assert_true(exchange_was_hinted(p.x, &target));
	}
	exchange_note_hinted(p.x, &script.target);
	assert_false(exchange_was_hinted(p.x, &script.target));
	offer(&p, &css);
	assert_string_equal(p.w->refused, "hint-cap");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "");
	world_end(p.w);
}

static void client_that_does_not_navigate(void *context, struct exchange *parent,
    struct http_head *promised, struct policy_offer *offer, struct relay_place *place)
{
	(void)context, (void)parent, (void)promised, (void)place;
	offer->hint_refusal = &policy_reason_HINT_CLIENT;
	offer->origin_may_promise = offer->listener_covers = true;
}

/* A rule that hints to all clients overrides one reason, and no other. */
static void hints_to_anyone_are_sent_once_and_bounded_too(void **state)
{
	(void)state; /* covers: P-hint-once */
	struct page p = page_asked_for(POLICY_DROP);
	struct policy_rule rule = {.name = "all", .action = POLICY_HINT, .hint_anyone = true};
	p.w->rules.rules = &rule;
	p.w->rules.count = 1;
	struct relay_ops ops = *p.w->relay.ops;
	ops.offer_facts = client_that_does_not_navigate;
	p.w->relay.ops = &ops;
	offer(&p, &css);
	offer(&p, &css);
	exchange_offer(p.x, POLICY_LINK, &script, RELAY_OFFER_UNSEEN);
	assert_string_equal(p.w->refused, "hint rule; duplicate; link-push-only");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "head 103; link </a.css>; rel=preload; as=style");
	p.w->rules.count = 0;
	world_end(p.w);
}

static void own_103_has_the_policies_of_the_page(void **state)
{
	(void)state; /* covers: P-hint-policies */
	struct page p = page_asked_for(POLICY_HINT);
	exchange_hint_under(p.x, SLICE("default-src *"), SLICE("origin")); /* no hint waits */
	assert_null(p.x->hints.policies);
	offer(&p, &css);
	exchange_hint_under(p.x, SLICE(""), SLICE(""));
	assert_null(p.x->hints.policies);
	char csp[] = "default-src 'self'";
	exchange_hint_under(p.x, slice_of_string(csp), SLICE("no-referrer"));
	csp[0] = 'x'; /* it was lent */
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said,
	    "head 103; link </a.css>; rel=preload; as=style; "
	    "content-security-policy default-src 'self'; referrer-policy no-referrer");
	world_end(p.w);
}

static void own_103_may_have_one_policy_and_links_that_are_ready(void **state)
{
	(void)state; /* covers: P-hint-policies */
	static const struct {
		const char *csp, *referrer, *said;
	} rows[] = {
	    {"default-src 'self'", "", "content-security-policy default-src 'self'"},
	    {"", "origin", "referrer-policy origin"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct page p = page_asked_for(POLICY_HINT);
		struct http_resource ready = css;
		char said[256];
		ready.link = SLICE("</a.css>; rel=preload; as=style; fetchpriority=high");
		offer(&p, &ready);
		exchange_hint_under(
		    p.x, slice_of_string(rows[i].csp), slice_of_string(rows[i].referrer));
		relay_send_hints(&p.w->relay);
		snprintf(said, sizeof(said), "head 103; link %.*s; %s", SLICE_ARG(ready.link), rows[i].said);
		assert_string_equal(p.down->said, said);
		world_end(p.w);
	}
}

/* How many of three offers are decided by themselves; all are hinted. */
static void hints_that_no_rule_tells_apart_are_decided_once(void **state)
{
	(void)state; /* covers: P-src-remembered-hint */
	static const struct {
		bool is_special, has_rule, looks_at_types;
		enum policy_action action;
		enum relay_offer_flags flags;
		bool has_preconnect;
		uint32_t decided;
	} rows[] = {
	    {.decided = 1},
	    {.has_rule = true, .action = POLICY_HINT, .decided = 1},
	    {.has_rule = true, .action = POLICY_HINT, .looks_at_types = true, .decided = 3},
	    {.has_rule = true, .action = POLICY_HINT_HOLD, .decided = 3}, /* without a hold only a hint is left */
	    {.is_special = true, .decided = 3},
	    {.flags = RELAY_OFFER_PROPOSAL, .decided = 3},
	    {.has_preconnect = true, .decided = 3},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct page p = page_asked_for(POLICY_HINT);
		struct policy_rule rule = {.name = "r", .action = rows[i].action};
		struct relay_offer_run run = {0};
		struct http_resource last = script, third = css;
		third.target.path = SLICE("/c.css");
		last.is_preconnect = rows[i].has_preconnect;
		rule.types = rows[i].looks_at_types ? 1u << POLICY_TYPE_STYLE | 1u << POLICY_TYPE_SCRIPT : 0;
		p.w->offers_are_special = rows[i].is_special;
		if (rows[i].has_rule) {
			p.w->rules.rules = &rule;
			p.w->rules.count = 1;
		}
		uint32_t before = p.w->facts_count;
		exchange_offer_next(p.x, POLICY_REMEMBERED, &css, rows[i].flags, &run);
		exchange_offer_next(p.x, POLICY_REMEMBERED, &last, rows[i].flags, &run);
		exchange_offer_next(p.x, POLICY_REMEMBERED, &third, rows[i].flags, &run);
		/* What was hinted before speaks against it. */
		exchange_offer_next(p.x, POLICY_REMEMBERED, &css, rows[i].flags, &run);
		if (p.w->facts_count - before != rows[i].decided + 1)
			fail_msg("row %zu: %u decided, %s", i, p.w->facts_count - before, p.w->refused);
		p.w->rules.count = 0;
		world_end(p.w);
	}
}

static void an_onlooker_gets_each_piece_that_goes_on(void **state)
{
	(void)state; /* covers: P-src-remembered-reading */
	struct page p = page_asked_for(POLICY_FORWARD);
	exchange_on_response(p.x, world_response(p.w, 200), false);
	world_download(p.w, p.x, "unseen", false);
	p.x->onlooker = &p;
	world_download(p.w, p.x, "one", false);
	world_download(p.w, p.x, "two", true);
	assert_string_equal(p.w->looked, "one; two");
	world_take(p.down);
	assert_string_equal(p.w->ended, "x1 complete 200");
	world_free(p.w);
}

static void a_103_of_the_origin_keeps_its_own_policies(void **state)
{
	(void)state; /* covers: P-hint-policies */
	struct page p = page_asked_for(POLICY_HINT);
	offer(&p, &css);
	exchange_hint_under(p.x, SLICE("default-src 'self'"), SLICE(""));
	struct http_head *early = world_response(p.w, 103);
	http_head_add(early, SLICE("referrer-policy"), SLICE("origin"));
	exchange_on_response(p.x, early, false);
	relay_send_hints(&p.w->relay);
	assert_string_equal(
	    p.down->said, "head 103; referrer-policy origin; link </a.css>; rel=preload; as=style");
	world_end(p.w);
}

static void offer_final(void *context, struct exchange *x, struct http_head *head)
{
	(void)context, (void)head;
	exchange_offer(x, POLICY_LINK, &css, RELAY_OFFER_PLAIN);
}

static void offer_of_the_final_head_is_late_for_a_hint(void **state)
{
	(void)state; /* covers: P-hint-late */
	struct page p = page_asked_for(POLICY_HINT);
	struct relay_ops ops = *p.w->relay.ops;
	ops.response_head = offer_final;
	p.w->relay.ops = &ops;
	offer(&p, &script);
	exchange_on_response(p.x, world_response(p.w, 200), false);
	assert_string_equal(p.w->refused, "hint default; hint-late");
	assert_string_equal(p.down->said, "head 103; link </b.js>; rel=preload; as=script; head 200");
	world_end(p.w);
}

static void a_link_of_the_103_is_a_hint_that_needs_no_other(void **state)
{
	(void)state; /* covers: P-hint-filtered P-hint-once */
	struct page p = page_asked_for(POLICY_HINT);
	assert_true(exchange_offer_early(p.x, &css, RELAY_OFFER_PLAIN));
	assert_true(exchange_offer_early(p.x, &css, RELAY_OFFER_UNSEEN));
	p.w->rules.fallback = POLICY_DROP; /* no rule, so the link stays */
	assert_true(exchange_offer_early(p.x, &css, RELAY_OFFER_PLAIN));
	struct policy_rule rule = {.name = "no", .action = POLICY_DROP};
	p.w->rules.rules = &rule;
	p.w->rules.count = 1;
	assert_false(exchange_offer_early(p.x, &css, RELAY_OFFER_PLAIN));
	p.w->rules.count = 0;
	assert_string_equal(p.w->refused, "hint default; link-push-only; default; rule");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "");
	world_end(p.w);
}

static void hints_leave_before_a_response_of_the_same_pass(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_HINT);
	offer(&p, &css);
	exchange_on_response(p.x, world_response(p.w, 200), true);
	assert_string_equal(
	    p.down->said, "head 103; link </a.css>; rel=preload; as=style; head 200 end; detach");
	world_free(p.w);
}

static void promise_may_become_a_hint(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_HINT);
	struct world_leg *push_up, *push_down;
	p.w->push_enabled = false;
	assert_null(world_promise(p.w, p.x, "/style/a.css", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 8");
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "head 103; link </style/a.css>; rel=preload; as=style");
	world_end(p.w);
}

static void hints_of_a_request_that_ends_go_with_it(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_HINT);
	p.w->relay.hint_wait = 50000;
	offer(&p, &css);
	exchange_on_down_ended(p.x, &relay_cause_DOWN_RESET, 8, NULL);
	world_pass(p.w, 60000);
	relay_send_hints(&p.w->relay);
	assert_string_equal(p.down->said, "");
	world_free(p.w);
}

static void hints_leave_only_before_the_response_and_with_somebody_to_read_them(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_FORWARD);
	assert_true(exchange_may_hint(p.x));
	struct exchange *push = offer(&p, &css);
	assert_non_null(push);
	assert_false(exchange_may_hint(push));
	exchange_on_response(p.x, world_response(p.w, 200), false);
	assert_false(exchange_may_hint(p.x));
	exchange_on_down_ended(push, &relay_cause_DOWN_LOST, 0, NULL);
	exchange_on_down_ended(p.x, &relay_cause_DOWN_LOST, 0, NULL);
	assert_false(exchange_may_hint(p.x));

	p.x = world_exchange(p.w, "GET", true, &p.down);
	exchange_on_leg_closed(&p.x->down);
	assert_false(exchange_may_hint(p.x));
	exchange_on_down_ended(p.x, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(p.w);
}

static void hints_do_not_join_other_interim_responses(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_HINT);
	offer(&p, &css);
	exchange_on_response(p.x, world_response(p.w, 102), false);
	assert_string_equal(p.down->said, "head 102");
	relay_send_hints(&p.w->relay);
	assert_string_equal(
	    p.down->said, "head 102; head 103; link </a.css>; rel=preload; as=style");
	world_end(p.w);
}

static void resource_that_makes_no_request_is_not_offered(void **state)
{
	(void)state;
	struct page p = page_asked_for(POLICY_FORWARD);
	const struct http_resource broken = {
	    .target = {SLICE("https"), SLICE("example.com"), SLICE("no path")},
	    .as = SLICE("style")};
	assert_null(exchange_offer(p.x, POLICY_LINK, &broken, RELAY_OFFER_PLAIN));
	assert_string_equal(p.w->refused, "");
	assert_string_equal(p.down->said, "");
	world_end(p.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(offer_of_our_own_is_promised_first_and_asked_for_then),
	    cmocka_unit_test(failed_response_to_a_push_of_our_own_is_withdrawn),
	    cmocka_unit_test(cancelled_by_the_client_its_request_is_cancelled_too),
	    cmocka_unit_test(refused_offer_of_our_own_asks_the_origin_nothing),
	    cmocka_unit_test(hints_of_one_turn_leave_in_one_103),
	    cmocka_unit_test(hints_wait_as_long_as_configured),
	    cmocka_unit_test(hints_join_the_103_of_the_origin),
	    cmocka_unit_test(a_resource_is_hinted_once),
	    cmocka_unit_test(the_103_of_the_origin_counts_as_a_hint),
	    cmocka_unit_test(hints_that_wait_leave_in_a_103_that_has_nothing_else),
	    cmocka_unit_test(so_many_resources_are_hinted_and_no_more),
	    cmocka_unit_test(hints_to_anyone_are_sent_once_and_bounded_too),
	    cmocka_unit_test(own_103_has_the_policies_of_the_page),
	    cmocka_unit_test(own_103_may_have_one_policy_and_links_that_are_ready),
	    cmocka_unit_test(hints_that_no_rule_tells_apart_are_decided_once),
	    cmocka_unit_test(an_onlooker_gets_each_piece_that_goes_on),
	    cmocka_unit_test(a_103_of_the_origin_keeps_its_own_policies),
	    cmocka_unit_test(offer_of_the_final_head_is_late_for_a_hint),
	    cmocka_unit_test(a_link_of_the_103_is_a_hint_that_needs_no_other),
	    cmocka_unit_test(hints_leave_before_a_response_of_the_same_pass),
	    cmocka_unit_test(promise_may_become_a_hint),
	    cmocka_unit_test(hints_of_a_request_that_ends_go_with_it),
	    cmocka_unit_test(hints_leave_only_before_the_response_and_with_somebody_to_read_them),
	    cmocka_unit_test(hints_do_not_join_other_interim_responses),
	    cmocka_unit_test(resource_that_makes_no_request_is_not_offered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
