/* SPDX-License-Identifier: MIT */
/* The limits of each server of a destination: what is counted where when requests and tunnels change servers. */
#include "tests/support/gateway_world.h"

#include <stdio.h>

/* covers: R424 */

#define FLEET 2

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static struct gate_world *fleet_world(const char *options, const char *route)
{
	char more[1024];
	snprintf(more, sizeof(more),
	    "[origin f]\nserver = %%A\nserver = %%B\nbalance = round-robin\n%s[route r]\norigin = f\n%s", options, route);
	return gate_world_new(NULL, NULL, NULL, more);
}

static struct destination *fleet(struct gate_world *w)
{
	return &w->gateway->upstream.destinations[FLEET];
}

static struct server *server_at(struct gate_world *w, unsigned site)
{
	list_for_each(&fleet(w)->servers, s, struct server, link)
	{
		if (net_address_port(s->at.address) == w->sites[site].port)
			return s;
	}
	return NULL;
}

static void expect(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
}

static void pass(struct gate_world *w, usec span)
{
	relay_advance(&w->gateway->relay, clock_monotonic() + span);
}

/* ---- tunnels ---- */

static struct gate_peer *tunnel_client(struct gate_world *w)
{
	w->sites[0].options.takes_tunnels = w->sites[1].options.takes_tunnels = true;
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->settings_came > 0);
	return c;
}

static uint32_t tunnels_of_both(struct gate_world *w)
{
	return server_at(w, 0)->at.known.tunnels + server_at(w, 1)->at.known.tunnels;
}

static void a_tunnel_is_counted_where_it_is(void **state)
{
	(void)state;
	struct gate_world *w = fleet_world("", "upgrade = echo\n");
	struct gate_peer *c = tunnel_client(w);
	gate_site_close(&w->sites[0]);
	struct gate_stream *s[4];
	for (unsigned i = 0; i < 4; i++)
		s[i] = gate_tunnel(c, "echo", "/t");
	UNTIL(w, gate_seen(&w->sites[1], "/t") == 4);
	assert_int_equal(server_at(w, 0)->at.known.tunnels, 0);
	assert_int_equal(server_at(w, 1)->at.known.tunnels, 4);
	struct gate_peer *p = w->sites[1].peers[0];
	for (size_t i = 0; i < p->stream_count; i++)
		gate_answer(p->streams[i], 403, 0, true);
	for (unsigned i = 0; i < 4; i++)
		expect(w, s[i], 403);
	assert_int_equal(tunnels_of_both(w), 0);
	gate_world_free(w);
}

static void a_tunnel_that_no_server_takes_is_not_counted(void **state)
{
	(void)state;
	struct gate_world *w = fleet_world("", "upgrade = echo\n");
	struct gate_peer *c = tunnel_client(w);
	gate_site_close(&w->sites[0]);
	gate_site_close(&w->sites[1]);
	expect(w, gate_tunnel(c, "echo", "/t"), 503);
	assert_int_equal(tunnels_of_both(w), 0);
	gate_world_free(w);
}

/* ---- max-requests ---- */

/* Both sites have a connection that is idle. */
static void warm_up(struct gate_world *w, struct gate_peer *c)
{
	w->sites[0].serve = w->sites[1].serve = ok;
	for (unsigned i = 0; i < 4; i++)
		expect(w, gate_get(c, "/warm"), 200);
	gate_passes(w);
	w->sites[0].serve = w->sites[1].serve = NULL;
}

static void the_last_request_that_a_server_may_have_leaves_at_once(void **state)
{
	(void)state;
	struct gate_world *w = fleet_world("max-requests = 1\nmax-connections = 1\n", "");
	struct gate_peer *c = gate_client(w, NULL);
	warm_up(w, c);
	struct gate_stream *first = gate_get(c, "/a"), *second = gate_get(c, "/a");
	gate_passes(w);
	assert_int_equal(fleet(w)->origin.queued, 0);
	ok(gate_find_at(w->sites[0].peers[0], "/a"));
	ok(gate_find_at(w->sites[1].peers[0], "/a"));
	expect(w, first, 200);
	expect(w, second, 200);
	gate_world_free(w);
}

/* A request with pushes and one without use different connections of the same server. */
static void room_of_one_connection_is_room_for_all_kinds(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-requests = 1\n", NULL);
	struct gate_peer *pushes = gate_client(w, NULL);
	struct gate_peer *none = gate_client(w, &(struct gate_peer_options){.no_push = true});
	w->sites[0].serve = ok;
	expect(w, gate_get(pushes, "/warm"), 200);
	expect(w, gate_get(none, "/warm"), 200);
	gate_passes(w);
	w->sites[0].serve = NULL;
	struct gate_stream *first = gate_get(pushes, "/a");
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 1);
	struct gate_stream *second = gate_get(none, "/b");
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/b"), 0);
	w->sites[0].serve = ok;
	ok(gate_find(w, "/a"));
	expect(w, first, 200);
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/b"), 1);
	expect(w, second, 200);
	gate_world_free(w);
}

/* A push is work too, and its end makes room as that of a request does. */
static void the_end_of_a_push_makes_room(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-requests = 1\n", NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	struct gate_stream *at = gate_find(w, "/a");
	struct gate_stream *push = gate_promise(at, "http", "example.com", "/p.css");
	ok(at);
	expect(w, first, 200);
	struct gate_stream *second = gate_get(c, "/b");
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/b"), 0);
	w->sites[0].serve = ok;
	ok(push);
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/b"), 1);
	expect(w, second, 200);
	gate_world_free(w);
}

/* What the server may not get needs no connection. */
static void a_full_server_gets_no_more_connections(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-requests = 2\nmax-connections = 50\n", NULL);
	w->sites[0].options.max_streams = 2;
	struct gate_peer *c = gate_client(w, &(struct gate_peer_options){.no_push = true});
	struct gate_stream *s[20];
	w->sites[0].serve = ok;
	expect(w, gate_get(c, "/warm"), 200);
	gate_passes(w);
	w->sites[0].serve = NULL;
	size_t before = w->sites[0].peer_count;
	for (unsigned i = 0; i < 20; i++)
		s[i] = gate_get(c, "/a");
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/a"), 2);
	assert_true(w->sites[0].peer_count <= before + 1);
	w->sites[0].serve = ok;
	for (size_t i = 0; i < w->sites[0].peer_count; i++)
		for (size_t n = 0; n < w->sites[0].peers[i]->stream_count; n++)
			if (!w->sites[0].peers[i]->streams[n]->ended || strcmp(w->sites[0].peers[i]->streams[n]->path, "/a") == 0)
				ok(w->sites[0].peers[i]->streams[n]);
	for (unsigned i = 0; i < 20; i++)
		expect(w, s[i], 200);
	gate_world_free(w);
}

/* ---- one that is busy, and one that is not ---- */

static void a_request_does_not_wait_while_another_server_has_room(void **state)
{
	(void)state;
	struct gate_world *w = fleet_world("max-requests = 1\n", "");
	struct gate_peer *c = gate_client(w, NULL);
	warm_up(w, c);
	struct gate_stream *slow = gate_get(c, "/slow");
	gate_passes(w);
	unsigned busy = gate_seen(&w->sites[0], "/slow") > 0 ? 0 : 1;
	w->sites[1 - busy].serve = ok;
	for (unsigned i = 0; i < 6; i++) {
		struct gate_stream *s = gate_get(c, "/quick");
		gate_passes(w);
		assert_true(s->is_over);
	}
	ok(gate_find_at(w->sites[busy].peers[0], "/slow"));
	expect(w, slow, 200);
	pass(w, USEC_PER_SEC);
	gate_world_free(w);
}

/* Its connection was free before, but it had more to do than the other: responses that their client did not take. */
static void a_server_whose_last_exchange_ends_takes_what_waits(void **state)
{
	(void)state;
	struct gate_world *w = fleet_world("max-connections = 1\n", "");
	w->sites[0].options.max_streams = w->sites[1].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_peer *slow = gate_client(w, &(struct gate_peer_options){.window = 1, .keeps_credit = true});
	warm_up(w, c);
	struct gate_stream *first = gate_get(slow, "/first");
	gate_passes(w);
	struct gate_stream *at = gate_find(w, "/first");
	struct gate_site *free = at->peer->site, *busy = &w->sites[free == &w->sites[0]];
	ok(at);
	gate_passes(w);
	struct gate_stream *kept = gate_get(c, "/kept");
	gate_passes(w);
	assert_int_equal(gate_seen(busy, "/kept"), 1);
	struct gate_stream *second = gate_get(slow, "/second");
	gate_passes(w);
	assert_int_equal(gate_seen(free, "/second"), 1);
	struct gate_stream *waits = gate_get(c, "/waits");
	gate_passes(w);
	ok(gate_find(w, "/second"));
	gate_passes(w);
	assert_int_equal(fleet(w)->origin.queued, 1);
	gate_reset_stream(first, SESSION_CANCEL);
	gate_reset_stream(second, SESSION_CANCEL);
	gate_passes(w);
	assert_int_equal(gate_seen(free, "/waits"), 1);
	ok(gate_find(w, "/waits"));
	ok(gate_find(w, "/kept"));
	expect(w, waits, 200);
	expect(w, kept, 200);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tunnel_is_counted_where_it_is),
	    cmocka_unit_test(a_tunnel_that_no_server_takes_is_not_counted),
	    cmocka_unit_test(the_last_request_that_a_server_may_have_leaves_at_once),
	    cmocka_unit_test(room_of_one_connection_is_room_for_all_kinds),
	    cmocka_unit_test(the_end_of_a_push_makes_room),
	    cmocka_unit_test(a_full_server_gets_no_more_connections),
	    cmocka_unit_test(a_request_does_not_wait_while_another_server_has_room),
	    cmocka_unit_test(a_server_whose_last_exchange_ends_takes_what_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
