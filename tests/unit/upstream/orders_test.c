/* SPDX-License-Identifier: MIT */
/* A whole gateway with two servers, and orders for them. */
#include "proxy/upstream/destination.h"
#include "tests/support/gateway_world.h"

#include <stdio.h>
#include <stdlib.h>

/* The world's own two origins have a row each. */
enum { FIRST_ROW = 2, ROWS = 4 };

struct ordered {
	struct gate_world *w;
	struct server_orders *orders;
	void *memory;
};

static struct ordered begin(const char *options)
{
	char more[512];
	struct ordered o = {.memory = calloc(1, server_orders_bytes(ROWS, 4))};
	o.orders = server_orders_new(o.memory, ROWS, 4);
	snprintf(more, sizeof(more),
	    "[origin f]\nserver = %%A\nserver = %%B\nbalance = round-robin\n%s\n[route r]\norigin = f\n", options);
	gate_share_orders(o.orders);
	o.w = gate_world_new(NULL, NULL, NULL, more);
	gate_share_orders(NULL);
	return o;
}

static void end(struct ordered *o)
{
	gate_world_free(o->w);
	free(o->orders);
	free(o->memory);
}

static struct destination *destination_of(const struct ordered *o)
{
	return &o->w->gateway->upstream.destinations[2];
}

static struct server *server_of(const struct ordered *o, size_t site)
{
	struct server *s = list_first(&destination_of(o)->servers, struct server, link);
	return site == 0 ? s : container_of(s->link.next, struct server, link);
}

static void give(struct ordered *o, size_t site, enum server_order order, uint32_t weight)
{
	server_orders_give(o->orders, FIRST_ROW + site, (struct server_orders_row){order, weight});
	server_orders_publish(o->orders);
	UNTIL(o->w, o->w->gateway->upstream.orders_seen == atomic_load(o->orders->version));
}

static bool is_connected(const struct ordered *o)
{
	return server_of(o, 0)->at.connections > 0 && server_of(o, 1)->at.connections > 0;
}

static void answer_ok(struct gate_stream *s)
{
	gate_answer(s, 200, 2, true);
}

static void answer_503(struct gate_stream *s)
{
	gate_answer(s, 503, 2, true);
}

static void say_nothing(struct gate_stream *s)
{
	(void)s;
}

static unsigned ask(struct ordered *o, struct gate_peer *c, unsigned times)
{
	unsigned status = 0;
	for (unsigned i = 0; i < times; i++) {
		struct gate_stream *s = gate_get(c, "/");
		UNTIL(o->w, s->is_over);
		status = s->status;
	}
	return status;
}

static void a_server_that_drains_gets_nothing_new_and_ends_what_it_has(void **state)
{
	(void)state;
	struct ordered o = begin("");
	o.w->sites[0].serve = o.w->sites[1].serve = answer_ok;
	struct gate_peer *c = gate_client(o.w, NULL);
	/* No request is given to another server because a connect takes long. */
	for (unsigned i = 0; i < 100 && !is_connected(&o); i++)
		assert_int_equal(ask(&o, c, 1), 200);
	assert_true(is_connected(&o));
	size_t before = gate_seen(&o.w->sites[0], "/");
	o.w->sites[0].serve = o.w->sites[1].serve = say_nothing;
	struct gate_stream *slow[2] = {gate_get(c, "/slow"), gate_get(c, "/slow")};
	UNTIL(o.w, gate_seen(&o.w->sites[0], "/slow") == 1 && gate_seen(&o.w->sites[1], "/slow") == 1);
	o.w->sites[0].serve = o.w->sites[1].serve = answer_ok;
	give(&o, 0, SERVER_DRAIN, 0);
	assert_int_equal(health_state(server_of(&o, 0)), SERVER_DOWN);
	assert_int_equal(ask(&o, c, 6), 200);
	assert_int_equal(gate_seen(&o.w->sites[0], "/"), before);
	UNTIL(o.w, server_orders_open(o.orders, FIRST_ROW) == 1);
	assert_int_equal(server_orders_open(o.orders, FIRST_ROW + 1), 0); /* has no order */
	assert_false(slow[0]->is_over);
	assert_false(slow[1]->is_over);
	give(&o, 0, SERVER_READY, 0);
	assert_int_equal(destination_of(&o)->ordered_count, 0);
	ask(&o, c, 6);
	assert_true(gate_seen(&o.w->sites[0], "/") > before);
	end(&o);
}

static void requests_of_a_server_that_is_taken_down_move(void **state)
{
	(void)state;
	struct ordered o = begin("eject-failures = 1\nretry-budget = 100%");
	o.w->sites[0].serve = say_nothing;
	o.w->sites[1].serve = answer_ok;
	struct gate_peer *c = gate_client(o.w, NULL);
	struct gate_stream *s[2] = {gate_get(c, "/"), gate_get(c, "/")};
	UNTIL(o.w, gate_seen(&o.w->sites[0], "/") == 1);
	give(&o, 0, SERVER_TAKEN_DOWN, 0);
	UNTIL(o.w, s[0]->is_over && s[1]->is_over);
	assert_int_equal(s[0]->status, 200);
	assert_int_equal(s[1]->status, 200);
	assert_int_equal(server_of(&o, 0)->at.connections, 0);
	/* The order was the reason, not the server. */
	give(&o, 0, SERVER_READY, 0);
	assert_int_equal(health_state(server_of(&o, 0)), SERVER_UP);
	end(&o);
}

/* Both have more to do than they may: what waits is not given to a server that is out of use. */
static void a_server_that_is_taken_down_takes_nothing_from_others(void **state)
{
	(void)state;
	struct ordered o = begin("max-requests = 2\nretry-budget = 100%");
	o.w->sites[0].serve = o.w->sites[1].serve = say_nothing;
	struct gate_peer *c = gate_client(o.w, NULL);
	struct gate_stream *s[9];
	for (size_t i = 0; i < 9; i++)
		s[i] = gate_get(c, "/");
	UNTIL(o.w, gate_seen(&o.w->sites[0], "/") == 2 && gate_seen(&o.w->sites[1], "/") == 2);
	give(&o, 0, SERVER_TAKEN_DOWN, 0);
	assert_false(server_of(&o, 0)->at.takes_any);
	assert_int_equal(server_of(&o, 0)->at.connections, 0);
	assert_int_equal(server_of(&o, 0)->at.requests, 0);
	assert_int_equal(gate_seen(&o.w->sites[0], "/"), 2);
	o.w->sites[1].serve = answer_ok;
	give(&o, 1, SERVER_TAKEN_DOWN, 0);
	for (size_t i = 0; i < 9; i++)
		UNTIL(o.w, s[i]->is_over);
	assert_int_equal(gate_seen(&o.w->sites[0], "/"), 2);
	assert_int_equal(server_of(&o, 1)->at.connections, 0);
	end(&o);
}

static void without_a_server_in_use_requests_fail_at_once(void **state)
{
	(void)state;
	struct ordered o = begin("");
	o.w->sites[0].serve = o.w->sites[1].serve = answer_ok;
	struct gate_peer *c = gate_client(o.w, NULL);
	give(&o, 0, SERVER_DRAIN, 0);
	give(&o, 1, SERVER_TAKEN_DOWN, 0);
	assert_int_equal(destination_of(&o)->ordered_count, 2);
	assert_int_equal(ask(&o, c, 1), 503);
	give(&o, 1, SERVER_DRAIN, 0);
	assert_int_equal(destination_of(&o)->ordered_count, 2);
	assert_int_equal(ask(&o, c, 1), 503);
	give(&o, 1, SERVER_READY, 0);
	assert_int_equal(ask(&o, c, 1), 200);
	end(&o);
}

static void the_last_one_in_use_is_not_ejected(void **state)
{
	(void)state;
	struct ordered o = begin("eject-failures = 1");
	o.w->sites[0].serve = o.w->sites[1].serve = answer_503;
	struct gate_peer *c = gate_client(o.w, NULL);
	give(&o, 0, SERVER_DRAIN, 0);
	ask(&o, c, 4);
	assert_int_equal(health_state(server_of(&o, 1)), SERVER_UP);
	give(&o, 0, SERVER_READY, 0);
	for (unsigned i = 0; i < 20 && destination_of(&o)->ejected_count == 0; i++)
		ask(&o, c, 1);
	assert_int_equal(destination_of(&o)->ejected_count, 1);
	end(&o);
}

static void a_weight_holds_until_it_is_taken_back(void **state)
{
	(void)state;
	struct ordered o = begin("");
	o.w->sites[0].serve = o.w->sites[1].serve = answer_ok;
	struct gate_peer *c = gate_client(o.w, NULL);
	give(&o, 0, SERVER_READY, 4);
	assert_int_equal(server_of(&o, 0)->member.weight, 4);
	ask(&o, c, 10);
	assert_int_equal(gate_seen(&o.w->sites[0], "/"), 8);
	give(&o, 0, SERVER_READY, 0);
	assert_int_equal(server_of(&o, 0)->member.weight, 1);
	end(&o);
}

/* A worker that begins later. */
static void orders_from_before_are_obeyed_from_the_start(void **state)
{
	(void)state;
	struct ordered o = begin("");
	give(&o, 1, SERVER_DRAIN, 0);
	gate_share_orders(o.orders);
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B\n[route r]\norigin = f\n");
	gate_share_orders(NULL);
	struct ordered later = {.w = w};
	assert_int_equal(health_state(server_of(&later, 0)), SERVER_UP);
	assert_int_equal(health_state(server_of(&later, 1)), SERVER_DOWN);
	gate_world_free(w);
	end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_server_that_drains_gets_nothing_new_and_ends_what_it_has),
	    cmocka_unit_test(requests_of_a_server_that_is_taken_down_move),
	    cmocka_unit_test(a_server_that_is_taken_down_takes_nothing_from_others),
	    cmocka_unit_test(without_a_server_in_use_requests_fail_at_once),
	    cmocka_unit_test(the_last_one_in_use_is_not_ejected),
	    cmocka_unit_test(a_weight_holds_until_it_is_taken_back),
	    cmocka_unit_test(orders_from_before_are_obeyed_from_the_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
