/* SPDX-License-Identifier: MIT */
/* Connections that carry the requests of one client alone: who may use which, who waits, and what becomes of a request whose
 * connection does not come up (pool_private.c). */
#include "tests/support/destination_check.h"
#include "tests/support/script_peer.h"

#include <stdio.h>

/* covers: R687 */

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
#define CLIENTS 3

struct scene {
	struct gate_world *w;
	struct gate_site *site;
	struct gate_peer *clients[CLIENTS];
	struct server *server;
	struct pool *pool; /* POOL_PLAIN of the server */
};

static struct scene scene(const char *origin)
{
	const struct gate_peer_options no_push = {.no_push = true};
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = http://%%a\nconnections = private\nsend-proxy = v1\n%s\n"
	    "[route r]\nhost = example.com\norigin = c\n",
	    origin);
	struct scene s = {.w = gate_world_new(NULL, NULL, NULL, more)};
	s.site = &s.w->sites[0];
	script_site(s.site);
	for (unsigned i = 0; i < CLIENTS; i++)
		s.clients[i] = gate_client(s.w, &no_push);
	s.server = gate_server(s.w, s.w->conf->origin_count - 1);
	s.pool = origin_server_pool(&s.server->at, POOL_PLAIN);
	return s;
}

static void close_scene(struct scene *s)
{
	UNTIL(s->w, s->w->counters.requests_open == 0);
	destinations_check_idle(&s->w->gateway->upstream);
	assert_int_equal(s->pool->slow.open, 0);
	gate_world_free(s->w);
}

static size_t connection_of(const struct scene *s, const char *line)
{
	for (size_t i = 0; i < script_origins(s->site); i++)
		if (script_saw(script_origin(s->site, i), line))
			return i + 1;
	return 0;
}

#define SENT(s, line) UNTIL((s)->w, connection_of((s), (line)) > 0)
#define HOLDS(s) destinations_check(&(s)->w->gateway->upstream)

static void answered(struct scene *s, struct gate_stream *x, const char *line)
{
	script_put(script_origin(s->site, connection_of(s, line) - 1), OK, sizeof(OK) - 1);
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, 200);
	HOLDS(s);
}

static struct gate_stream *get(struct scene *s, unsigned client, const char *path)
{
	return gate_get(s->clients[client], path);
}

static struct gate_stream *slow(struct scene *s, unsigned client, const char *path)
{
	return gate_request(s->clients[client], "POST", "example.com", path, false, NULL);
}

/* ---- whose they are ---- */

static void connection_is_used_again_by_its_client_alone(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *a = get(&s, 0, "/a");
	SENT(&s, "GET /a");
	answered(&s, a, "GET /a");
	struct gate_stream *b = get(&s, 1, "/b");
	SENT(&s, "GET /b");
	answered(&s, b, "GET /b");
	assert_int_not_equal(connection_of(&s, "GET /b"), connection_of(&s, "GET /a"));
	struct gate_stream *again = get(&s, 0, "/again");
	SENT(&s, "GET /again");
	assert_int_equal(connection_of(&s, "GET /again"), connection_of(&s, "GET /a"));
	answered(&s, again, "GET /again");
	assert_int_equal(s.pool->count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(script_times(script_origin(s.site, i), "PROXY TCP4 127.0.0.1 127.0.0.1 "), 1);
	close_scene(&s);
}

/* ---- as many as there may be ---- */

static void idle_connection_makes_room_and_busy_ones_are_waited_for_in_turn(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 2");
	struct gate_stream *a = get(&s, 0, "/a"), *b = get(&s, 1, "/b");
	SENT(&s, "GET /a");
	SENT(&s, "GET /b");
	answered(&s, a, "GET /a");
	/* That of client 0 is idle: it is closed for client 2. */
	struct gate_stream *c = get(&s, 2, "/c");
	SENT(&s, "GET /c");
	assert_int_equal(s.pool->count, 2);
	HOLDS(&s);
	/* All are busy. */
	struct gate_stream *d = get(&s, 0, "/d");
	UNTIL(s.w, s.pool->queued == 1);
	struct gate_stream *e = get(&s, 1, "/e");
	UNTIL(s.w, s.pool->queued == 2);
	HOLDS(&s);
	assert_int_equal(s.pool->connecting, 0);
	/* The first one that waits is that of client 0, though the connection is one of client 1. */
	answered(&s, b, "GET /b");
	SENT(&s, "GET /d");
	assert_int_equal(connection_of(&s, "GET /e"), 0);
	answered(&s, c, "GET /c");
	SENT(&s, "GET /e");
	answered(&s, d, "GET /d");
	answered(&s, e, "GET /e");
	assert_int_equal(script_origins(s.site), 5);
	close_scene(&s);
}

static void one_that_waits_gets_the_connection_of_its_client_when_that_is_idle(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 1");
	struct gate_stream *a = get(&s, 0, "/a");
	SENT(&s, "GET /a");
	struct gate_stream *b = get(&s, 0, "/b");
	UNTIL(s.w, s.pool->queued == 1);
	answered(&s, a, "GET /a");
	SENT(&s, "GET /b");
	answered(&s, b, "GET /b");
	assert_int_equal(script_origins(s.site), 1);
	close_scene(&s);
}

static void connection_that_opens_counts_as_a_request_of_max_requests(void **state)
{
	(void)state;
	struct scene s = scene("max-requests = 1");
	struct gate_stream *a = get(&s, 0, "/a");
	UNTIL(s.w, s.pool->connecting == 1);
	struct gate_stream *b = get(&s, 1, "/b");
	UNTIL(s.w, s.server->at.requests == 2);
	SENT(&s, "GET /a");
	gate_passes(s.w);
	assert_int_equal(s.pool->count, 1);
	answered(&s, a, "GET /a");
	SENT(&s, "GET /b");
	answered(&s, b, "GET /b");
	close_scene(&s);
}

/* ---- slow uploads ---- */

static void slow_upload_takes_its_share_while_its_connection_opens(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, 0, "/a");
	UNTIL(s.w, s.pool->connecting == 1);
	assert_int_equal(s.pool->slow.open, 1);
	struct gate_stream *b = slow(&s, 1, "/b");
	UNTIL(s.w, s.server->at.requests == 2);
	HOLDS(&s);
	assert_int_equal(s.pool->slow.open, 1);
	SENT(&s, "POST /a");
	gate_passes(s.w);
	assert_int_equal(connection_of(&s, "POST /b"), 0);
	gate_more(a, 1, true);
	SENT(&s, "POST /b");
	assert_int_equal(s.pool->slow.open, 1);
	gate_more(b, 1, true);
	answered(&s, a, "POST /a");
	answered(&s, b, "POST /b");
	close_scene(&s);
}

static void connection_whose_request_has_left_gives_its_share_back_and_is_one_of_its_client(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, 0, "/a");
	UNTIL(s.w, s.pool->connecting == 1);
	struct origin_conn *c = list_first(&s.pool->conns, struct origin_conn, link);
	struct exchange *x = list_first(&c->owner->waiting, struct exchange, waiting);
	origin_unqueue(x);
	pool_dispatch(s.pool, x);
	/* No second connection is opened, since the first one has the share. */
	assert_true(list_is_empty(&c->owner->waiting) && c->carries_slow);
	assert_int_equal(s.pool->count, 1);
	SENT(&s, "POST /a");
	HOLDS(&s);
	assert_true(origin_conn_of(x) == c && c->carries_slow);
	gate_more(a, 1, true);
	UNTIL(s.w, !c->carries_slow);
	answered(&s, a, "POST /a");
	assert_int_equal(s.pool->count, 1);
	close_scene(&s);
}

/* ---- connections that do not come up ---- */

static void connection_that_fails_fails_its_request_alone(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *a = get(&s, 0, "/a");
	SENT(&s, "GET /a");
	gate_site_close(s.site);
	struct gate_stream *b = get(&s, 1, "/b");
	UNTIL(s.w, b->is_over);
	assert_int_equal(b->status, 503);
	HOLDS(&s);
	assert_false(a->is_over);
	answered(&s, a, "GET /a");
	struct gate_stream *again = get(&s, 0, "/again");
	SENT(&s, "GET /again");
	answered(&s, again, "GET /again");
	close_scene(&s);
}

static void server_that_leaves_while_a_connection_opens_leaves_the_request_to_another(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct destination *d = s.server->destination;
	const struct net_address *both[] = {gate_site_address(s.w, 0), gate_site_address(s.w, 1)};
	struct gate_stream *a = get(&s, 0, "/a");
	UNTIL(s.w, s.pool->connecting == 1);
	script_site(&s.w->sites[1]);
	server_new(d, &d->origin.conf->servers[0], both[1], 1);
	server_leave(s.server);
	destination_changed(d);
	UNTIL(s.w, script_origins(&s.w->sites[1]) > 0 && script_saw(script_origin(&s.w->sites[1], 0), "GET /a"));
	script_put(script_origin(&s.w->sites[1], 0), OK, sizeof(OK) - 1);
	UNTIL(s.w, a->is_over);
	assert_int_equal(a->status, 200);
	HOLDS(&s);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connection_is_used_again_by_its_client_alone),
	    cmocka_unit_test(idle_connection_makes_room_and_busy_ones_are_waited_for_in_turn),
	    cmocka_unit_test(one_that_waits_gets_the_connection_of_its_client_when_that_is_idle),
	    cmocka_unit_test(connection_that_opens_counts_as_a_request_of_max_requests),
	    cmocka_unit_test(slow_upload_takes_its_share_while_its_connection_opens),
	    cmocka_unit_test(connection_whose_request_has_left_gives_its_share_back_and_is_one_of_its_client),
	    cmocka_unit_test(connection_that_fails_fails_its_request_alone),
	    cmocka_unit_test(server_that_leaves_while_a_connection_opens_leaves_the_request_to_another),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
