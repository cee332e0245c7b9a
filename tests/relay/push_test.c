/* SPDX-License-Identifier: MIT */
/* An origin's promise in the relay: verdicts, codes, order, waiting for room, children and parents. */
#include "tests/support/relay_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void promise_is_passed_on_at_once_and_before_the_response(void **state)
{
	(void)state; /* covers: R42 R43 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	world_promise(w, x, "/a.css", &push_up, &push_down);
	assert_string_equal(down->said, "promise /a.css");
	exchange_on_response(x, world_response(w, 200), true);
	assert_string_equal(down->said, "promise /a.css; head 200 end; detach");
	exchange_on_down_ended(push_down->leg->exchange, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(w);
}

static void push_outlives_its_parent(void **state)
{
	(void)state; /* covers: R46 R53 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	relay_reap(&w->relay);
	assert_null(push->pushed.parent);
	assert_string_equal(push_up->said, "");
	exchange_on_response(push, world_response(w, 200), false);
	world_download(w, push, "body { }", true);
	world_take(push_down);
	assert_memory_equal(push_down->bytes, "body { }", 8);
	assert_string_equal(push_down->said, "head 200; end; detach");
	assert_true(exchange_is_over(push));
	assert_int_equal(push->pushed.state, PUSH_DONE);
	assert_null(push->pushed.end_reason);
	world_free(w);
}

/* Also when the request is over and its record is gone. */
static void push_is_its_parents_users(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange_user *user = malloc(sizeof(*user) + sizeof("alice"));
	assert_non_null(user);
	user->references = 1;
	user->length = 5;
	memcpy(user->name, "alice", sizeof("alice"));
	x->facts.user = user;
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	assert_ptr_equal(push->facts.user, user);
	assert_int_equal(user->references, 2);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	relay_reap(&w->relay);
	assert_int_equal(user->references, 1);
	assert_string_equal(push->facts.user->name, "alice");
	world_end(w);
}

/* The same of its id. */
static void push_has_its_parents_id(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	x->facts.request_id = arena_copy(exchange_arena(x), SLICE("an-id"));
	struct exchange *push = world_promise(w, x, "/a.css", &push_up, &push_down);
	assert_ptr_not_equal(push->facts.request_id.ptr, x->facts.request_id.ptr);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	relay_reap(&w->relay);
	assert_true(slice_equal(push->facts.request_id, SLICE("an-id")));
	world_end(w);
}

static void refused_promise_is_reset_with_the_code_of_its_reason(void **state)
{
	(void)state; /* covers: R21 R27 R32 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);

	w->origin_may_promise = false;
	assert_null(world_promise(w, x, "/foreign", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 1");
	w->origin_may_promise = true;

	w->listener_covers = false;
	assert_null(world_promise(w, x, "/uncovered", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 8");
	w->listener_covers = true;

	w->push_enabled = false;
	assert_null(world_promise(w, x, "/unwanted", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 8");
	w->push_enabled = true;

	w->rate_exceeded = true;
	assert_null(world_promise(w, x, "/fast", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	w->rate_exceeded = false;

	w->rules.fallback = POLICY_DROP;
	assert_null(world_promise(w, x, "/dropped", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 8");
	w->rules.fallback = POLICY_FORWARD;

	assert_string_equal(w->refused, "authority; downstream-authority; push-disabled; promise-rate; default");
	assert_string_equal(down->said, "");
	assert_non_null(world_promise(w, x, "/good", &push_up, &push_down));
	assert_string_equal(down->said, "promise /good");
	world_end(w);
}

static void same_resource_is_promised_once_per_parent(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_non_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	struct world_leg *again_up, *again_down;
	assert_null(world_promise(w, x, "/a.css", &again_up, &again_down));
	assert_string_equal(w->refused, "duplicate");
	world_end(w);
}

static void parent_cap_refuses_what_is_above_it(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	w->rules.caps.per_parent = 2;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_non_null(world_promise(w, x, "/1", &push_up, &push_down));
	assert_non_null(world_promise(w, x, "/2", &push_up, &push_down));
	assert_null(world_promise(w, x, "/3", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, "parent-cap");
	world_end(w);
}

/* An origin that promises on and on must not have each promise compared with all open pushes: the cap comes first. */
static void promise_above_the_parent_cap_is_compared_with_no_other(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	w->rules.caps.per_parent = 1;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_non_null(world_promise(w, x, "/a", &push_up, &push_down));
	assert_null(world_promise(w, x, "/a", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, "parent-cap");
	world_end(w);
}

static void used_up_budget_refuses_the_promise_and_nothing_else(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	w->budget.limit_bytes = w->budget.used_bytes;
	assert_null(world_promise(w, x, "/a", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, "budget");
	exchange_on_response(x, world_response(w, 200), true);
	assert_string_equal(w->ended, "x1 complete 200");
	world_free(w);
}

static void pushed_response_waits_for_room_and_starts_when_there_is(void **state)
{
	(void)state; /* covers: R33 R34 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a", &push_up, &push_down);
	push_down->must_wait = true;
	exchange_on_response(push, world_response(w, 200), false);
	world_download(w, push, "abc", true);
	assert_string_equal(push_down->said, "waits");
	assert_false(push_down->is_ready);
	push_down->must_wait = false;
	exchange_on_start(push);
	world_take(push_down);
	assert_string_equal(push_down->said, "waits; head 200; end; detach");
	assert_memory_equal(push_down->bytes, "abc", 3);
	world_end(w);
}

static void waiting_push_gives_no_credit_to_the_origin(void **state)
{
	(void)state; /* covers: R56 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a", &push_up, &push_down);
	push_down->must_wait = true;
	exchange_on_response(push, world_response(w, 200), false);
	world_download(w, push, "abc", false);
	assert_int_equal(push_up->credit, 0);
	push_down->must_wait = false;
	exchange_on_start(push);
	world_take(push_down);
	assert_int_equal(push_up->credit, 3);
	world_end(w);
}

static void review_withdraws_on_both_sides(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct policy_rule rule = {.name = "ok-only", .action = POLICY_FORWARD, .statuses_allowed = 1u << 2, .urgency = -1};
	w->rules.rules = &rule;
	w->rules.count = 1;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/missing", &push_up, &push_down);
	exchange_on_response(push, world_response(w, 404), false);
	assert_string_equal(push_up->said, "reset 8");
	assert_string_equal(push_down->said, "reset 8");
	assert_ptr_equal(push->pushed.verdict.reason, &policy_reason_STATUS);
	assert_ptr_equal(push->pushed.end_reason, &policy_reason_STATUS);
	exchange_on_response(x, world_response(w, 200), true);
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void trailers_and_interims_pass_on_a_push(void **state)
{
	(void)state; /* covers: R45 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a", &push_up, &push_down);
	exchange_on_response(push, world_response(w, 103), false);
	exchange_on_response(push, world_response(w, 200), false);
	world_download(w, push, "abc", false);
	exchange_on_download_trailers(push, world_trailers(w));
	world_take(push_down);
	assert_string_equal(push_down->said, "head 103; head 200; trailers 1; detach");
	world_end(w);
}

static void promise_on_a_push_is_refused(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down, *second_up, *second_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a", &push_up, &push_down);
	assert_null(world_promise(w, push, "/b", &second_up, &second_down));
	assert_string_equal(w->refused, "parent-pushed");
	world_end(w);
}

static void promises_are_repeated_only_by_the_same_method_and_uri(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_non_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	const struct leg ours = {.ops = x->up.ops, .carrier = push_up, .budget = &w->up_budget};
	struct exchange *head = exchange_on_promise(x, &ours, world_request(w, "HEAD", "/a.css"));
	assert_non_null(head);
	struct http_head *elsewhere = world_request(w, "GET", "/a.css");
	elsewhere->authority = SLICE("other.example.com");
	assert_non_null(exchange_on_promise(x, &ours, elsewhere));
	struct http_head *in_clear = world_request(w, "GET", "/a.css");
	in_clear->scheme = SLICE("http");
	assert_non_null(exchange_on_promise(x, &ours, in_clear));
	assert_string_equal(down->said, "promise /a.css; promise /a.css; promise /a.css; promise /a.css");
	assert_string_equal(w->refused, "");
	world_end(w);
}

static void nothing_is_pushed_while_memory_is_short(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	w->relay.makes_no_pushes = true;
	assert_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	assert_string_equal(push_up->said, "reset 7");
	assert_string_equal(w->refused, "push-shed");
	w->relay.makes_no_pushes = false;
	assert_non_null(world_promise(w, x, "/a.css", &push_up, &push_down));
	world_end(w);
}

/* No path leads there with an engine before it; the relay does not rely on that. */
static void promise_whose_parent_has_been_answered_whole_is_refused(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	w->limits[RELAY_TIMEOUT_LINGER] = 10 * USEC_PER_SEC;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), true);
	assert_null(world_promise(w, x, "/late", &push_up, &push_down));
	exchange_on_leg_closed(&x->down);
	assert_null(world_promise(w, x, "/later", &push_up, &push_down));
	assert_string_equal(w->refused, "parent-gone; parent-gone");
	exchange_on_up_failed(x, &relay_cause_UP_LOST, 0, NULL);
	assert_true(exchange_is_over(x));
	world_free(w);
}

static void owners_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place)
{
	(void)context, (void)parent, (void)place;
	offer->origin_may_promise = offer->listener_covers = true;
	offer->client_push_enabled = offer->client_accepts_streams = true;
	offer->duplicate = slice_equal(promised->path, SLICE("/known"));
	offer->hold_refusal = &policy_reason_HOLD_SHARED;
}

static void what_the_owner_says_of_an_offer_stands(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct relay_ops ops = *w->relay.ops;
	ops.offer_facts = owners_facts;
	w->relay.ops = &ops;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_null(world_promise(w, x, "/known", &push_up, &push_down));
	w->rules.fallback = POLICY_HOLD;
	assert_null(world_promise(w, x, "/held", &push_up, &push_down));
	assert_string_equal(w->refused, "duplicate; hold-shared");
	/* It says nothing against hints, and they are too late all the same. */
	w->rules.fallback = POLICY_HINT;
	exchange_on_response(x, world_response(w, 200), false);
	assert_null(world_promise(w, x, "/hinted", &push_up, &push_down));
	assert_int_equal(x->hints.count, 0);
	assert_true(relay_hints_due(&w->relay) == USEC_NEVER);
	world_end(w);
}

static char shadows[64];
static void note_shadow(void *context, struct exchange *parent, const struct policy_verdict *verdict)
{
	(void)context, (void)parent;
	strncat(shadows, verdict->rule->name, sizeof(shadows) - 1);
}

static void shadow_rule_is_told_of_and_changes_nothing(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct policy_rule rule = {.name = "perhaps", .action = POLICY_DROP, .shadow = true, .urgency = -1};
	w->rules.rules = &rule;
	w->rules.count = 1;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	assert_non_null(world_promise(w, x, "/unheard", &push_up, &push_down)); /* nobody asks for it */
	struct relay_ops ops = *w->relay.ops;
	ops.offer_shadowed = note_shadow;
	w->relay.ops = &ops;
	shadows[0] = 0;
	assert_non_null(world_promise(w, x, "/a", &push_up, &push_down));
	assert_string_equal(shadows, "perhaps");
	assert_string_equal(down->said, "promise /unheard; promise /a");
	rule.shadow = false;
	assert_null(world_promise(w, x, "/b", &push_up, &push_down));
	assert_string_equal(shadows, "perhaps");
	world_end(w);
}

static void push_that_may_not_start_yet_goes_on_waiting(void **state)
{
	(void)state; /* covers: R33 */
	struct world *w = world_new();
	struct world_leg *down, *up, *push_up, *push_down;
	struct exchange *x = world_connected(w, "GET", true, &down, &up);
	struct exchange *push = world_promise(w, x, "/a", &push_up, &push_down);
	push_down->must_wait = true;
	exchange_on_start(push); /* there is nothing to start with */
	assert_string_equal(push_down->said, "");
	exchange_on_response(push, world_response(w, 204), true);
	exchange_on_start(push);
	assert_string_equal(push_down->said, "waits; waits");
	assert_false(exchange_is_over(push));
	push_down->must_wait = false;
	exchange_on_start(push);
	assert_string_equal(push_down->said, "waits; waits; head 204 end; detach");
	assert_true(exchange_is_over(push));
	exchange_on_start(push); /* and once only */
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(promise_is_passed_on_at_once_and_before_the_response),
	    cmocka_unit_test(push_outlives_its_parent),
	    cmocka_unit_test(push_is_its_parents_users),
	    cmocka_unit_test(push_has_its_parents_id),
	    cmocka_unit_test(refused_promise_is_reset_with_the_code_of_its_reason),
	    cmocka_unit_test(same_resource_is_promised_once_per_parent),
	    cmocka_unit_test(parent_cap_refuses_what_is_above_it),
	    cmocka_unit_test(promise_above_the_parent_cap_is_compared_with_no_other),
	    cmocka_unit_test(used_up_budget_refuses_the_promise_and_nothing_else),
	    cmocka_unit_test(pushed_response_waits_for_room_and_starts_when_there_is),
	    cmocka_unit_test(waiting_push_gives_no_credit_to_the_origin),
	    cmocka_unit_test(review_withdraws_on_both_sides),
	    cmocka_unit_test(trailers_and_interims_pass_on_a_push),
	    cmocka_unit_test(promise_on_a_push_is_refused),
	    cmocka_unit_test(promises_are_repeated_only_by_the_same_method_and_uri),
	    cmocka_unit_test(nothing_is_pushed_while_memory_is_short),
	    cmocka_unit_test(promise_whose_parent_has_been_answered_whole_is_refused),
	    cmocka_unit_test(what_the_owner_says_of_an_offer_stands),
	    cmocka_unit_test(shadow_rule_is_told_of_and_changes_nothing),
	    cmocka_unit_test(push_that_may_not_start_yet_goes_on_waiting),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
