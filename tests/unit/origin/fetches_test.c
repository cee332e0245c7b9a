/* SPDX-License-Identifier: MIT */
/* How much of a server's room fetches may have, and when there is none for them (fetches.c). */
#include "tests/support/script_peer.h"

#include <stdio.h>

/* covers: P-fetch-share */

static struct gate_world *world(const char *scheme, const char *origin)
{
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = %s://%%a\n%s\n[route r]\nhost = example.com\norigin = c\n", scheme, origin);
	return gate_world_new(NULL, NULL, NULL, more);
}

static struct origin_server *server_of(struct gate_world *w)
{
	return &gate_server(w, w->conf->origin_count - 1)->at;
}

static const struct {
	const char *scheme, *origin;
	uint32_t streams; /* of the last connection that was ready */
	uint32_t share, room;
} rows[] = {
    {"http", "max-http1-connections = 8", 1, 2, 8},
    {"http", "max-http1-connections = 8\nfetch-share = 100%", 1, 8, 8},
    {"http", "max-http1-connections = 8\nfetch-share = 1%", 1, 1, 8}, /* at least one */
    {"http", "max-http1-connections = 8\nmax-requests = 4", 1, 1, 4},
    {"http", "max-http1-connections = 8", 0, 1, 8}, /* nothing is known yet: one opens a connection */
    {"h2c", "max-connections = 2", 10, 5, 20},
    {"h2c", "max-connections = 2", 100000, 50, 200}, /* no more are reckoned with */
    {"h2c", "max-connections = 2\nmax-requests = 40", 100, 10, 40},
    {"h2c", "max-connections = 2", 0, 1, 200},
};

static void fetches_have_their_share_of_the_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = world(rows[i].scheme, rows[i].origin);
		struct origin_server *s = server_of(w);
		s->known.streams = rows[i].streams;
		fetches_of(s);
		for (s->fetches->open = 0; s->fetches->open < rows[i].room + 2; s->fetches->open++) {
			assert_int_equal(fetches_have_room(s), s->fetches->open < rows[i].share);
			assert_int_equal(origin_fetch_is_crowded(s), s->fetches->open >= rows[i].room);
		}
		s->fetches->open = 0;
		gate_world_free(w);
	}
}

/* Those that wait for their share, and held responses that have come, take nothing of it. */
static void clients_that_have_the_room_leave_none_for_fetches(void **state)
{
	(void)state;
	struct gate_world *w = world("http", "max-http1-connections = 4");
	struct origin_server *s = server_of(w);
	fetches_of(s);
	const struct {
		uint32_t requests, waiting, kept;
		bool is_crowded;
	} cases[] = {
	    {3, 0, 0, false}, {4, 0, 0, true}, {5, 1, 0, true}, {5, 2, 0, false}, {5, 0, 2, false},
	    {6, 1, 1, true}, {4, 4, 0, true}, /* as many fetches wait as there is room */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s->requests = cases[i].requests;
		s->fetches->queued = cases[i].waiting;
		s->fetches->kept = cases[i].kept;
		assert_int_equal(origin_fetch_is_crowded(s), cases[i].is_crowded);
	}
	s->requests = s->fetches->queued = s->fetches->kept = 0;
	gate_world_free(w);
}

/* They have connections of their own; max-requests counts them all the same. */
static void tunnels_and_subscriptions_leave_the_room_to_fetches(void **state)
{
	(void)state;
	for (int has_bound = 0; has_bound < 2; has_bound++) {
		struct gate_world *w =
		    world("http", has_bound ? "max-http1-connections = 8\nmax-requests = 4" : "max-http1-connections = 4");
		struct origin_server *s = server_of(w);
		struct pool *p = origin_server_pool(s, POOL_SUBSCRIPTIONS);
		s->known.streams = 1;
		s->known.tunnels = 2;
		p->leaving = 2;
		s->requests = 5;
		assert_int_equal(origin_fetch_is_crowded(s), has_bound);
		assert_int_equal(server_spares_room(s), !has_bound);
		s->requests = 8;
		assert_true(origin_fetch_is_crowded(s));
		s->requests = 3; /* a connection of a subscription that is over closes */
		assert_false(origin_fetch_is_crowded(s));
		s->requests = s->known.tunnels = p->leaving = 0;
		gate_world_free(w);
	}
}

/* Another server sends one of them: those that wait for the share of this one are looked at. */
static void a_fetch_that_another_server_takes_over_leaves_its_share(void **state)
{
	(void)state;
	struct gate_world *w = world("http", "server = http://%b\nmax-http1-connections = 4");
	struct server *from = gate_server(w, w->conf->origin_count - 1);
	struct server *to = container_of(from->link.next, struct server, link);
	struct exchange x = {0};
	struct origin_attempt *a = origin_attempt_of(&x);
	destination_give(&x, from);
	fetch_begins(&from->at, &x);
	from->at.fetches->queued = 1;
	pool_take_over(origin_server_pool(&to->at, POOL_PLAIN), &x);
	assert_true(list_is_linked(&from->at.fetches->timer.link));
	assert_int_equal(from->at.fetches->open, 0);
	assert_int_equal(to->at.fetches->open, 1);
	from->at.fetches->queued = 0;
	destination_exchange_ended(&x);
	assert_null(a->server);
	assert_int_equal(to->at.fetches->open, 0);
	gate_world_free(w);
}

static void without_a_share_there_is_never_room(void **state)
{
	(void)state;
	struct gate_world *w = world("http", "fetch-share = 0%");
	assert_true(origin_fetch_is_crowded(server_of(w)));
	assert_false(fetches_have_room(server_of(w)));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fetches_have_their_share_of_the_room),
	    cmocka_unit_test(clients_that_have_the_room_leave_none_for_fetches),
	    cmocka_unit_test(tunnels_and_subscriptions_leave_the_room_to_fetches),
	    cmocka_unit_test(a_fetch_that_another_server_takes_over_leaves_its_share),
	    cmocka_unit_test(without_a_share_there_is_never_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
