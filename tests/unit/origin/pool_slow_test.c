/* SPDX-License-Identifier: MIT */
/* The share of the connections to an origin in HTTP/1.1 that requests may have while their body has not wholly come, and the
 * line in which others wait for it (pool_slow.c). */
#include "tests/support/script_peer.h"

#include <stdio.h>

/* covers: R650 */

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

struct scene {
	struct gate_world *w;
	struct gate_site *site;
	struct gate_peer *client;
	struct server *server;
	struct pool *pool; /* POOL_PLAIN of the server */
};

/* All requests use the plain pool: the client takes no pushes. */
static struct scene scene(const char *origin)
{
	const struct gate_peer_options no_push = {.no_push = true};
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = http://%%a\n%s\n[route r]\nhost = example.com\norigin = c\n", origin);
	struct scene s = {.w = gate_world_new(NULL, NULL, NULL, more)};
	s.site = &s.w->sites[0];
	script_site(s.site);
	s.client = gate_client(s.w, &no_push);
	s.server = gate_server(s.w, s.w->conf->origin_count - 1);
	s.pool = origin_server_pool(&s.server->at, POOL_PLAIN);
	return s;
}

static struct destination *destination(const struct scene *s)
{
	return s->server->destination;
}

/* A body of unknown length is not gathered first: it is sent as it comes. */
static struct gate_stream *slow(struct scene *s, const char *path)
{
	return gate_request(s->client, "POST", "example.com", path, false, NULL);
}

static size_t connection_of(struct scene *s, const char *line)
{
	for (size_t i = 0; i < script_origins(s->site); i++)
		if (script_saw(script_origin(s->site, i), line))
			return i + 1;
	return 0;
}

#define SENT(s, line) UNTIL((s)->w, connection_of((s), (line)) > 0)

/* The connection that has got this request answers. */
static void answer(struct scene *s, const char *line)
{
	size_t n = connection_of(s, line);
	assert_true(n > 0);
	script_put(script_origin(s->site, n - 1), OK, sizeof(OK) - 1);
}

static void answered(struct scene *s, struct gate_stream *x, const char *line)
{
	answer(s, line);
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, 200);
}

static void assert_slow(struct scene *s, uint32_t open, uint32_t queued)
{
	assert_int_equal(s->pool->slow.open, open);
	assert_int_equal(s->pool->slow.queued, queued);
	assert_int_equal(destination(s)->origin.slow_queued, queued);
}

/* In no queue is anything any more. */
static void assert_no_queue(struct scene *s)
{
	assert_int_equal(s->pool->queued, 0);
	assert_int_equal(s->pool->slow.queued, 0);
	assert_true(list_is_empty(&s->pool->slow.waiting));
	assert_int_equal(s->server->at.queued, 0);
	assert_int_equal(destination(s)->origin.queued, 0);
	assert_int_equal(destination(s)->origin.slow_queued, 0);
}

/* ---- the share ---- */

static void only_ordinary_connections_with_one_request_at_a_time_are_shared_out(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct origin_known *known = &s.server->at.known;
	const struct origin_known http1 = *known;
	assert_true(pool_slow_is_bounded(s.pool));
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		assert_int_equal(
		    pool_slow_is_bounded(origin_server_pool(&s.server->at, kind)), kind == POOL_PLAIN);
	known->capabilities |= SESSION_MULTIPLEXES;
	assert_false(pool_slow_is_bounded(s.pool));
	*known = http1;
	known->protocol = NULL;
	assert_false(pool_slow_is_bounded(s.pool));
	*known = http1;
	gate_world_free(s.w);
}

static void the_share_is_that_part_of_what_there_is_and_at_least_one(void **state)
{
	(void)state;
	const struct {
		unsigned connections, requests, share, most;
	} rows[] = {
	    {10, 0, 25, 2},
	    {10, 0, 100, 10},
	    {10, 0, 29, 2},
	    {10, 0, 30, 3},
	    {10, 0, 1, 1},
	    {1, 0, 75, 1},
	    {10, 4, 50, 2},
	    {10, 9, 100, 9},
	    {10, 10, 100, 10},
	    {10, 40, 100, 10},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[128];
		snprintf(text, sizeof(text),
		    "max-http1-connections = %u\nmax-requests = %u\nslow-share = %u",
		    rows[i].connections, rows[i].requests, rows[i].share);
		struct scene s = scene(text);
		struct pool_slow *p = &s.pool->slow;
		for (p->open = 0; p->open < rows[i].most + 2; p->open++) {
			uint32_t room = p->open < rows[i].most ? rows[i].most - p->open : 0;
			assert_int_equal(pool_slow_has_room(s.pool), room > 0);
			assert_int_equal(pool_slow_wanted(s.pool), 0);
			for (p->queued = 1; p->queued < 4; p->queued++) {
				assert_false(pool_slow_has_room(s.pool));
				assert_int_equal(pool_slow_wanted(s.pool),
				    p->queued < room ? p->queued : room);
			}
			p->queued = 0;
		}
		p->open = 0;
		gate_world_free(s.w);
	}
}

/* ---- the line ---- */

static void others_wait_in_a_line_of_their_own(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 50");
	struct gate_stream *a = slow(&s, "/a"), *b = slow(&s, "/b");
	SENT(&s, "POST /a");
	SENT(&s, "POST /b");
	struct gate_stream *c = slow(&s, "/c"), *d = slow(&s, "/d");
	UNTIL(s.w, s.pool->slow.queued == 2);
	assert_slow(&s, 2, 2);
	assert_int_equal(s.pool->queued, 0);
	assert_int_equal(s.server->at.queued, 2);
	assert_int_equal(destination(&s)->origin.queued, 2);
	list_for_each(&s.pool->slow.waiting, x, struct exchange, waiting)
	{
		assert_ptr_equal(attempt_of(x)->at.pool, s.pool);
		assert_int_equal(x->upload_wait, UPLOAD_IS_SLOW);
	}
	/* No connection is opened for them, and other requests do not wait. */
	assert_int_equal(s.pool->count, 2);
	struct gate_stream *get = gate_get(s.client, "/get");
	SENT(&s, "GET /get");
	answered(&s, get, "GET /get");
	assert_slow(&s, 2, 2);
	/* They are sent in their order. */
	gate_more(a, 1, true);
	UNTIL(s.w, s.pool->slow.open == 1 || connection_of(&s, "POST /c") > 0);
	answered(&s, a, "POST /a");
	SENT(&s, "POST /c");
	gate_passes(s.w);
	assert_slow(&s, 2, 1);
	assert_int_equal(connection_of(&s, "POST /d"), 0);
	gate_more(c, 1, true);
	answered(&s, c, "POST /c");
	SENT(&s, "POST /d");
	assert_no_queue(&s);
	gate_more(b, 1, true);
	gate_more(d, 1, true);
	answered(&s, b, "POST /b");
	answered(&s, d, "POST /d");
	assert_slow(&s, 0, 0);
	gate_world_free(s.w);
}

static void an_idle_connection_is_for_others_when_the_share_is_used(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 50");
	struct gate_stream *a = slow(&s, "/a"), *b = slow(&s, "/b");
	SENT(&s, "POST /a");
	SENT(&s, "POST /b");
	struct gate_stream *first = gate_get(s.client, "/first");
	SENT(&s, "GET /first");
	answered(&s, first, "GET /first");
	uint32_t count = s.pool->count;
	struct gate_stream *c = slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 1 || connection_of(&s, "POST /c") > 0);
	assert_slow(&s, 2, 1);
	struct gate_stream *second = gate_get(s.client, "/second");
	SENT(&s, "GET /second");
	assert_int_equal(connection_of(&s, "GET /second"), connection_of(&s, "GET /first"));
	assert_int_equal(s.pool->count, count);
	answered(&s, second, "GET /second");
	gate_reset_stream(a, SESSION_CANCEL);
	gate_reset_stream(b, SESSION_CANCEL);
	gate_reset_stream(c, SESSION_CANCEL);
	UNTIL(s.w, s.w->counters.requests_open == 0);
	assert_no_queue(&s);
	gate_world_free(s.w);
}

/* One whose last byte has left holds no part of the share, however long its response takes. */
static void the_share_is_free_when_the_body_has_come(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, "/a");
	SENT(&s, "POST /a");
	struct gate_stream *b = slow(&s, "/b");
	UNTIL(s.w, s.pool->slow.queued == 1);
	gate_more(a, 1, true);
	SENT(&s, "POST /b");
	assert_false(a->is_over);
	assert_slow(&s, 1, 0);
	gate_more(b, 1, true);
	answered(&s, b, "POST /b");
	answered(&s, a, "POST /a");
	assert_slow(&s, 0, 0);
	gate_world_free(s.w);
}

static void one_that_becomes_whole_leaves_the_line(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, "/a");
	SENT(&s, "POST /a");
	struct gate_stream *b = slow(&s, "/b"), *c = slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 2);
	gate_more(c, 1, true);
	SENT(&s, "POST /c");
	assert_slow(&s, 1, 1);
	assert_int_equal(connection_of(&s, "POST /b"), 0);
	answered(&s, c, "POST /c");
	gate_more(b, 1, true);
	SENT(&s, "POST /b");
	answered(&s, b, "POST /b");
	assert_slow(&s, 1, 0);
	gate_more(a, 1, true);
	answered(&s, a, "POST /a");
	assert_no_queue(&s);
	gate_world_free(s.w);
}

static void one_that_is_cancelled_leaves_the_line_or_gives_its_connection_back(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, "/a");
	SENT(&s, "POST /a");
	struct gate_stream *b = slow(&s, "/b"), *c = slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 2);
	gate_reset_stream(b, SESSION_CANCEL);
	UNTIL(s.w, s.pool->slow.queued == 1);
	assert_slow(&s, 1, 1);
	assert_int_equal(s.server->at.queued, 1);
	assert_int_equal(destination(&s)->origin.queued, 1);
	gate_reset_stream(a, SESSION_CANCEL);
	SENT(&s, "POST /c");
	assert_slow(&s, 1, 0);
	/* A response may come before the body's end. */
	answer(&s, "POST /c");
	UNTIL(s.w, c->ended);
	assert_int_equal(c->status, 200);
	gate_reset_stream(c, SESSION_CANCEL);
	UNTIL(s.w, s.pool->slow.open == 0);
	assert_int_equal(connection_of(&s, "POST /b"), 0);
	assert_no_queue(&s);
	gate_world_free(s.w);
}

static void they_may_fill_their_share_of_the_queue(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 2\nslow-share = 50\nmax-queue = 5");
	slow(&s, "/a");
	SENT(&s, "POST /a");
	slow(&s, "/b");
	slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 2);
	struct gate_stream *refused = slow(&s, "/d");
	UNTIL(s.w, refused->ended);
	assert_int_equal(refused->status, 503);
	assert_slow(&s, 1, 2);
	/* The others have the rest of it, and one connection. */
	struct gate_stream *gets[4];
	for (unsigned i = 0; i < 4; i++) {
		gets[i] = gate_get(s.client, "/get");
		SENT(&s, "GET /get");
	}
	UNTIL(s.w, s.pool->queued == 3);
	assert_int_equal(destination(&s)->origin.queued, 5);
	for (unsigned i = 0; i < 4; i++) {
		UNTIL(s.w, script_times(script_origin(s.site, 1), "GET /get") == i + 1);
		answered(&s, gets[i], "GET /get");
	}
	gate_world_free(s.w);
}

static void a_full_queue_refuses_them(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 1\nslow-share = 100\nmax-queue = 2");
	struct gate_stream *gets[3];
	for (unsigned i = 0; i < 3; i++) {
		gets[i] = gate_get(s.client, "/get");
		SENT(&s, "GET /get");
	}
	UNTIL(s.w, s.pool->queued == 2);
	struct gate_stream *refused = slow(&s, "/a");
	UNTIL(s.w, refused->ended);
	assert_int_equal(refused->status, 503);
	assert_slow(&s, 0, 0);
	for (unsigned i = 0; i < 3; i++) {
		UNTIL(s.w, script_times(script_origin(s.site, 0), "GET /get") == i + 1);
		answered(&s, gets[i], "GET /get");
	}
	gate_world_free(s.w);
}

/* ---- which is sent next ---- */

static void the_one_that_waits_longest_is_sent_first_of_both_lines(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 1\nslow-share = 100");
	const char *paths[] = {"/1", "/2", "/3", "/4"};
	const char *lines[] = {"GET /1", "POST /2", "GET /3", "POST /4"};
	struct gate_stream *x[4];
	for (unsigned i = 0; i < 4; i++) {
		x[i] = i % 2 == 0 ? gate_get(s.client, paths[i]) : slow(&s, paths[i]);
		UNTIL(s.w, i == 0 ? connection_of(&s, lines[0]) > 0
				  : s.pool->queued + s.pool->slow.queued == i);
	}
	for (unsigned i = 0; i < 4; i++) {
		SENT(&s, lines[i]);
		assert_int_equal(s.pool->queued + s.pool->slow.queued, 3 - i);
		if (i % 2 == 1)
			gate_more(x[i], 1, true);
		UNTIL(s.w, s.pool->slow.open == 0);
		answered(&s, x[i], lines[i]);
	}
	assert_int_equal(script_origins(s.site), 1);
	gate_world_free(s.w);
}

static void max_requests_holds_for_them_too(void **state)
{
	(void)state;
	struct scene s = scene("max-requests = 2\nslow-share = 100");
	struct gate_stream *a = gate_get(s.client, "/a"), *b = gate_get(s.client, "/b");
	SENT(&s, "GET /a");
	SENT(&s, "GET /b");
	struct gate_stream *c = slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 1);
	struct origin_conn *to = NULL;
	assert_null(pool_slow_next(s.pool, &to));
	gate_passes(s.w);
	assert_slow(&s, 0, 1);
	answered(&s, a, "GET /a");
	SENT(&s, "POST /c");
	assert_slow(&s, 1, 0);
	gate_more(c, 1, true);
	answered(&s, c, "POST /c");
	answered(&s, b, "GET /b");
	assert_no_queue(&s);
	gate_world_free(s.w);
}

static void the_next_of_them_needs_its_share_and_a_connection(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 1\nslow-share = 100");
	struct origin_conn *to = NULL;
	assert_null(pool_slow_next(s.pool, &to)); /* none waits */
	struct gate_stream *a = gate_get(s.client, "/a");
	SENT(&s, "GET /a");
	struct gate_stream *b = slow(&s, "/b");
	UNTIL(s.w, s.pool->slow.queued == 1);
	struct exchange *x = list_first(&s.pool->slow.waiting, struct exchange, waiting);
	assert_null(pool_slow_next(s.pool, &to)); /* the connection is taken */
	struct origin_conn *c = gate_newest_conn(s.w);
	pool_make_usable(s.pool, c);
	s.pool->slow.open = 1;
	assert_null(pool_slow_next(s.pool, &to)); /* the share is taken */
	s.pool->slow.open = 0;
	pool_make_unusable(s.pool, c);
	answered(&s, a, "GET /a");
	SENT(&s, "POST /b");
	assert_true(origin_conn_of(x) == c && c->carries_slow);
	gate_more(b, 1, true);
	UNTIL(s.w, !c->carries_slow);
	answered(&s, b, "POST /b");
	gate_world_free(s.w);
}

/* ---- those that waited in another line ---- */

/* As where ALPN chooses the protocol: what came before it was known waits like all others. */
static void those_that_came_before_the_protocol_was_known_wait_for_their_share_when_it_is(
    void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 50");
	struct gate_stream *x[4];
	const char *paths[] = {"/0", "/1", "/2", "/3"};
	s.server->at.known.protocol = NULL;
	for (unsigned i = 0; i < 4; i++)
		x[i] = slow(&s, paths[i]);
	struct gate_stream *get = gate_get(s.client, "/get");
	SENT(&s, "GET /get");
	SENT(&s, "POST /0");
	SENT(&s, "POST /1");
	assert_slow(&s, 2, 2);
	assert_int_equal(s.pool->queued, 0);
	answered(&s, get, "GET /get");
	for (unsigned i = 0; i < 4; i++) {
		char line[16];
		snprintf(line, sizeof(line), "POST %s", paths[i]);
		SENT(&s, line);
		gate_more(x[i], 1, true);
		answered(&s, x[i], line);
	}
	assert_slow(&s, 0, 0);
	assert_no_queue(&s);
	gate_world_free(s.w);
}

/* A request that waits at one server, whose protocol is not known, is taken over by another one. */
static void one_that_another_server_takes_over_waits_for_the_share_of_that(void **state)
{
	(void)state;
	struct scene s = scene("slow-share = 1");
	const struct net_address *both[] = {
	    gate_site_address(s.w, 0), gate_site_address(s.w, 1)};
	script_site(&s.w->sites[1]);
	gate_set_servers(s.w, s.w->conf->origin_count - 1, both, 2);
	struct destination *d =
	    &s.w->gateway->upstream.destinations[s.w->conf->origin_count - 1];
	list_for_each(&d->servers, each, struct server, link) each->at.known.protocol = NULL;
	slow(&s, "/a");
	struct server *from = NULL, *to = NULL;
	UNTIL(s.w, d->origin.queued == 1);
	list_for_each(&d->servers, each, struct server, link)
	{
		if (each->at.queued > 0)
			from = each;
		else if (!each->at.is_leaving)
			to = each;
	}
	assert_non_null(from);
	assert_non_null(to);
	struct pool *p = origin_server_pool(&to->at, POOL_PLAIN);
	struct exchange *x =
	    list_first(&from->at.pools[POOL_PLAIN]->shared.requests, struct exchange, waiting);
	assert_false(pool_slow_defers(p, x)); /* nothing is known of the other one either */
	to->at.known.protocol = &protocols_http1;
	to->at.known.capabilities = 0;
	assert_false(pool_slow_defers(p, x)); /* there is room */
	p->slow.open = 1;
	x->upload.source_ended = true;
	assert_false(pool_slow_defers(p, x)); /* it is whole */
	x->upload.source_ended = false;
	assert_true(pool_slow_defers(p, x));
	assert_ptr_equal(attempt_of(x)->at.pool, p);
	assert_ptr_equal(attempt_of(x)->at.server, to);
	assert_int_equal(x->upload_wait, UPLOAD_IS_SLOW);
	assert_int_equal(from->at.queued, 0);
	assert_int_equal(from->at.pools[POOL_PLAIN]->queued, 0);
	assert_int_equal(from->member.outstanding, 0);
	assert_int_equal(to->at.queued, 1);
	assert_int_equal(to->member.outstanding, 1);
	assert_int_equal(d->origin.queued, 1);
	assert_int_equal(d->origin.slow_queued, 1);
	assert_false(pool_slow_defers(p, x)); /* it is in that line already */
	p->slow.open = 0;
	pool_serve(p);
	UNTIL(s.w, connection_of(&s, "POST /a") > 0 ||
			   (script_origins(&s.w->sites[1]) > 0 &&
			       script_saw(script_origin(&s.w->sites[1], 0), "POST /a")));
	assert_int_equal(p->slow.open, 1);
	assert_int_equal(d->origin.slow_queued, 0);
	gate_world_free(s.w);
}

/* ---- connections that fail ---- */

static void they_end_with_the_others_when_the_server_cannot_be_reached(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 4\nslow-share = 25");
	struct gate_stream *a = slow(&s, "/a");
	SENT(&s, "POST /a");
	struct gate_stream *b = slow(&s, "/b"), *c = slow(&s, "/c");
	UNTIL(s.w, s.pool->slow.queued == 2);
	gate_site_close(s.site);
	script_abort(script_origin(s.site, 0));
	UNTIL(s.w, a->ended && b->ended && c->ended);
	assert_int_equal(a->status, 502);
	assert_int_equal(b->status, 503);
	assert_int_equal(c->status, 503);
	assert_slow(&s, 0, 0);
	assert_no_queue(&s);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_ordinary_connections_with_one_request_at_a_time_are_shared_out),
	    cmocka_unit_test(the_share_is_that_part_of_what_there_is_and_at_least_one),
	    cmocka_unit_test(others_wait_in_a_line_of_their_own),
	    cmocka_unit_test(an_idle_connection_is_for_others_when_the_share_is_used),
	    cmocka_unit_test(the_share_is_free_when_the_body_has_come),
	    cmocka_unit_test(one_that_becomes_whole_leaves_the_line),
	    cmocka_unit_test(one_that_is_cancelled_leaves_the_line_or_gives_its_connection_back),
	    cmocka_unit_test(they_may_fill_their_share_of_the_queue),
	    cmocka_unit_test(a_full_queue_refuses_them),
	    cmocka_unit_test(the_one_that_waits_longest_is_sent_first_of_both_lines),
	    cmocka_unit_test(max_requests_holds_for_them_too),
	    cmocka_unit_test(the_next_of_them_needs_its_share_and_a_connection),
	    cmocka_unit_test(those_that_came_before_the_protocol_was_known_wait_for_their_share_when_it_is),
	    cmocka_unit_test(one_that_another_server_takes_over_waits_for_the_share_of_that),
	    cmocka_unit_test(they_end_with_the_others_when_the_server_cannot_be_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
