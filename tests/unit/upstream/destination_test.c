/* SPDX-License-Identifier: MIT */
/* A destination of two servers, at the sites a and b: which one serves what waits when one is slow, full, dead or leaves. */
#include "tests/support/gateway_world.h"
#include "tests/support/net_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* covers: R424 */

#define BOTH "[origin f]\nserver = %A\nserver = %B\n"
#define ROUTED "[route r]\norigin = f\n"
#define FLEET 2

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static struct destination *fleet(struct gate_world *w)
{
	return &w->gateway->upstream.destinations[FLEET];
}

static struct server *server_at(struct gate_world *w, unsigned site)
{
	list_for_each(&fleet(w)->servers, s, struct server, link)
	{
		if (!s->at.is_leaving && net_address_port(s->at.address) == w->sites[site].port)
			return s;
	}
	return NULL;
}

/* All that was given to servers is given back: nothing waits, nothing is outstanding. */
static void assert_nothing_is_left(struct gate_world *w)
{
	gate_passes(w);
	assert_int_equal(fleet(w)->origin.queued, 0);
	list_for_each(&fleet(w)->servers, s, struct server, link)
	{
		assert_int_equal(s->member.outstanding, 0);
		assert_int_equal(s->at.queued, 0);
	}
}

static void expect(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
}

/* ---- a server that does not answer a connect ---- */

static uint16_t silent_port;
static unsigned silent_connects;
static int full_pipe[2] = {-1, -1};

/* Nothing ever happens at the write end of a full pipe. */
static void fill_pipe(void)
{
	char bytes[4096] = {0};
	assert_int_equal(pipe2(full_pipe, O_NONBLOCK | O_CLOEXEC), 0);
	while (write(full_pipe[1], bytes, sizeof(bytes)) > 0)
		;
}

static int connect_or_wait(int fd, const struct sockaddr *to, socklen_t length)
{
	const struct net_address address = {.length = length};
	struct net_address a = address;
	memcpy(a.bytes, to, length);
	if (net_address_port(&a) != silent_port)
		return connect(fd, to, length);
	silent_connects++;
	assert_int_equal(dup2(full_pipe[1], fd), fd);
	errno = EINPROGRESS;
	return -1;
}

static void let_be_silent(const struct gate_world *w, unsigned site)
{
	fill_pipe();
	silent_port = w->sites[site].port;
	silent_connects = 0;
	net_sys.connect = connect_or_wait;
}

static int speak_again(void **state)
{
	(void)state;
	net_sys_reset();
	if (full_pipe[0] >= 0) {
		close(full_pipe[0]);
		close(full_pipe[1]);
	}
	full_pipe[0] = full_pipe[1] = -1;
	return 0;
}

/* The server has a connection, and the other one has not been asked for anything. */
static void connect_alone(struct gate_world *w, struct gate_peer *c, unsigned site)
{
	struct server *other = server_at(w, 1 - site);
	other->at.is_slow = true;
	destination_changed(fleet(w));
	gate_passes(w);
	expect(w, gate_get(c, "/first"), 200);
	other->at.is_slow = false;
	destination_changed(fleet(w));
	gate_passes(w);
}

static struct gate_stream *get_at(struct gate_world *w, struct gate_peer *c, unsigned site)
{
	for (unsigned i = 0; i < 64; i++) {
		struct gate_stream *s = gate_get(c, "/a");
		gate_passes(w);
		struct server *given = server_at(w, site);
		if (given->at.queued > 0)
			return s;
		UNTIL(w, s->is_over);
	}
	fail_msg("no request was given to that server");
	return NULL;
}

static struct pool *waiting_pool(struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->at.pools[kind] && s->at.pools[kind]->queued > 0)
			return s->at.pools[kind];
	return NULL;
}

/* RFC 8305 5 and 8: 250 ms. The time is the test's. */
static void another_server_is_tried_beside_a_slow_connect(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	let_be_silent(w, 0);
	w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	/* A connect that began during the test would be told of times that have not come yet. */
	connect_alone(w, c, 1);
	struct gate_stream *s = get_at(w, c, 0);
	struct server *slow = server_at(w, 0);
	struct pool *p = waiting_pool(slow);
	struct origin_conn *conn = list_first(&p->conns, struct origin_conn, link);
	size_t peers = w->sites[1].peer_count;
	assert_int_equal(p->race_timer.deadline, conn->opened + 250 * USEC_PER_MSEC);
	/* Not before: */
	relay_advance(&w->gateway->relay, conn->opened + 249 * USEC_PER_MSEC);
	assert_false(slow->at.is_slow);
	assert_int_equal(slow->at.queued, 1);
	assert_int_equal(w->sites[1].peer_count, peers);
	/* A second connect does not put it off. */
	origin_conn_open(p, NULL);
	assert_int_equal(p->race_timer.deadline, conn->opened + 250 * USEC_PER_MSEC);
	/* But then. The wheel fires at most two ticks late. */
	relay_advance(&w->gateway->relay, conn->opened + 270 * USEC_PER_MSEC);
	assert_true(slow->at.is_slow);
	relay_advance(&w->gateway->relay, conn->opened + 290 * USEC_PER_MSEC);
	assert_int_equal(slow->at.queued, 0);
	assert_true(silent_connects >= 1);
	assert_true(conn->net && !conn->is_gone); /* the first one goes on */
	expect(w, s, 200);
	/* New requests avoid it. */
	unsigned before = silent_connects;
	for (unsigned i = 0; i < 20; i++)
		expect(w, gate_get(c, "/b"), 200);
	assert_int_equal(silent_connects, before);
	gate_world_free(w);
}

/* When the first one is ready after all, it serves again. */
static void a_slow_server_that_connects_is_used(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	let_be_silent(w, 0);
	w->sites[0].serve = w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = get_at(w, c, 0);
	struct server *slow = server_at(w, 0);
	usec opened = list_first(&waiting_pool(slow)->conns, struct origin_conn, link)->opened;
	relay_advance(&w->gateway->relay, opened + 270 * USEC_PER_MSEC);
	relay_advance(&w->gateway->relay, opened + 290 * USEC_PER_MSEC);
	expect(w, s, 200);
	assert_true(slow->at.is_slow);
	/* The connect fails, and the next one works. */
	net_sys.connect = connect;
	relay_advance(&w->gateway->relay, opened + 6 * USEC_PER_SEC);
	assert_false(slow->at.is_slow);
	for (unsigned i = 0; i < 60; i++)
		expect(w, gate_get(c, "/c"), 200);
	assert_true(gate_seen(&w->sites[0], "/c") > 0);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

/* ---- the queue is the destination's ---- */

static void what_waits_for_a_full_server_is_served_by_the_other(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, BOTH "max-connections = 1\n" ROUTED);
	w->sites[0].options.max_streams = w->sites[1].options.max_streams = 2;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[12];
	for (unsigned i = 0; i < 12; i++)
		s[i] = gate_get(c, "/a");
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 2 && gate_seen(&w->sites[1], "/a") == 2);
	gate_passes(w);
	assert_int_equal(fleet(w)->origin.queued, 8);
	/* Site a answers nothing, site b everything: it serves also what was given to a. */
	w->sites[1].serve = ok;
	for (size_t i = 0; i < w->sites[1].peers[0]->stream_count; i++)
		ok(w->sites[1].peers[0]->streams[i]);
	UNTIL(w, gate_seen(&w->sites[1], "/a") == 10);
	assert_int_equal(gate_seen(&w->sites[0], "/a"), 2);
	for (size_t i = 0; i < 2; i++)
		ok(w->sites[0].peers[0]->streams[i]);
	for (unsigned i = 0; i < 12; i++)
		expect(w, s[i], 200);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

static void max_requests_bounds_what_a_server_has(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, NULL, NULL, BOTH "max-requests = 3\n" ROUTED);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[20];
	for (unsigned i = 0; i < 20; i++)
		s[i] = gate_get(c, "/a");
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 3 && gate_seen(&w->sites[1], "/a") == 3);
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/a") + gate_seen(&w->sites[1], "/a"), 6);
	assert_int_equal(fleet(w)->origin.queued, 14);
	w->sites[0].serve = w->sites[1].serve = ok;
	for (unsigned site = 0; site < 2; site++)
		for (unsigned i = 0; i < 3; i++)
			ok(w->sites[site].peers[0]->streams[i]);
	for (unsigned i = 0; i < 20; i++)
		expect(w, s[i], 200);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

static void the_queue_of_all_servers_is_bounded(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, BOTH "max-connections = 1\nmax-queue = 5\n" ROUTED);
	w->sites[0].options.max_streams = w->sites[1].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *warm[8];
	w->sites[0].serve = w->sites[1].serve = ok;
	for (unsigned i = 0; i < 5; i++)
		warm[i] = gate_get(c, "/warm");
	for (unsigned i = 0; i < 5; i++)
		expect(w, warm[i], 200);
	w->sites[0].serve = w->sites[1].serve = NULL;
	unsigned refused = 0;
	struct gate_stream *s[12];
	for (unsigned i = 0; i < 12; i++)
		s[i] = gate_get(c, "/a");
	UNTIL(w, gate_seen(&w->sites[0], "/a") + gate_seen(&w->sites[1], "/a") >= 1);
	gate_passes(w);
	assert_true(fleet(w)->origin.queued <= 5);
	for (unsigned i = 0; i < 12; i++)
		refused += s[i]->status == 503;
	assert_in_range(refused, 5, 6);
	gate_world_free(w);
}

/* ---- a dead server ---- */

static void a_dead_server_costs_no_request(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	gate_site_close(&w->sites[0]);
	w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[60];
	for (unsigned i = 0; i < 60; i++)
		s[i] = gate_request(c, i % 2 ? "POST" : "GET", "example.com", "/a", true, NULL);
	for (unsigned i = 0; i < 60; i++)
		expect(w, s[i], 200);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

static void all_servers_dead_is_an_answer(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	gate_site_close(&w->sites[0]);
	gate_site_close(&w->sites[1]);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[10];
	for (unsigned i = 0; i < 10; i++)
		s[i] = gate_get(c, "/a");
	for (unsigned i = 0; i < 10; i++)
		expect(w, s[i], 503);
	assert_non_null(strstr(s[0]->status_error, "connection_refused"));
	assert_nothing_is_left(w);
	gate_world_free(w);
}

static void backups_serve_while_the_others_are_gone(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, "[origin f]\nserver = %A\nserver = %B backup\n" ROUTED);
	w->sites[0].serve = w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 20; i++)
		expect(w, gate_get(c, "/a"), 200);
	assert_int_equal(gate_seen(&w->sites[1], "/a"), 0);
	server_leave(server_at(w, 0));
	for (unsigned i = 0; i < 5; i++)
		expect(w, gate_get(c, "/b"), 200);
	assert_int_equal(gate_seen(&w->sites[1], "/b"), 5);
	gate_world_free(w);
}

static void all_down_is_said(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, "[origin f]\nserver = %A down\n" ROUTED);
	struct gate_peer *c = gate_client(w, NULL);
	expect(w, gate_get(c, "/a"), 503);
	gate_world_free(w);
}

static void reset_it(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_INTERNAL_ERROR);
}

/* A name such as localhost has two addresses, and only one has a server. */
static void what_a_reached_server_failed_with_is_told(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	gate_site_close(&w->sites[1]);
	w->sites[0].serve = reset_it;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 6; i++)
		expect(w, gate_get(c, "/a"), 502);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

/* A tunnel is counted at the server that it goes to in the end, and at no other. */
static void tunnels_are_counted_where_they_are(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, BOTH "[route r]\norigin = f\nupgrade = websocket\n");
	w->sites[1].options.takes_tunnels = true;
	gate_site_close(&w->sites[0]);
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->settings_came > 0);
	struct gate_stream *s[8];
	for (unsigned i = 0; i < 8; i++)
		s[i] = gate_tunnel(c, "websocket", "/chat");
	UNTIL(w, gate_seen(&w->sites[1], "/chat") == 8);
	assert_int_equal(server_at(w, 1)->at.known.tunnels, 8);
	assert_int_equal(server_at(w, 0)->at.known.tunnels, 0);
	for (size_t i = 0; i < w->sites[1].peer_count; i++)
		for (size_t k = 0; k < w->sites[1].peers[i]->stream_count; k++)
			gate_answer(w->sites[1].peers[i]->streams[k], 404, 0, true);
	for (unsigned i = 0; i < 8; i++)
		expect(w, s[i], 404);
	assert_int_equal(server_at(w, 1)->at.known.tunnels, 0);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

/* A backup has idle connections from the time when it was needed, and serves nothing that waits for others. */
static void a_backup_takes_over_nothing(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin f]\nserver = %A\nserver = %B backup\nmax-connections = 1\n" ROUTED);
	w->sites[0].options.max_streams = 1;
	w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	gate_site_close(&w->sites[0]);
	expect(w, gate_get(c, "/first"), 200);
	gate_site_open(&w->sites[0]);
	struct gate_stream *s[4];
	for (unsigned i = 0; i < 4; i++)
		s[i] = gate_get(c, "/a");
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 1);
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[1], "/a"), 0);
	w->sites[0].serve = ok;
	ok(gate_find(w, "/a"));
	for (unsigned i = 0; i < 4; i++)
		expect(w, s[i], 200);
	assert_int_equal(gate_seen(&w->sites[1], "/a"), 0);
	gate_world_free(w);
}

/* ---- a server that leaves ---- */

static void a_server_that_leaves_finishes_what_it_has(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *at = NULL, *s[64];
	unsigned n = 0;
	while (!at && n < 64) {
		s[n++] = gate_get(c, "/a");
		gate_passes(w);
		at = w->sites[0].peer_count > 0 ? gate_find_at(w->sites[0].peers[0], "/a") : NULL;
	}
	assert_non_null(at);
	gate_answer(at, 200, 3, false); /* it has begun */
	server_leave(server_at(w, 0));
	assert_null(server_at(w, 0));
	for (unsigned i = 0; i < 20; i++)
		expect(w, gate_get(c, "/b"), 200);
	assert_int_equal(gate_seen(&w->sites[0], "/b"), 0);
	gate_more(at, 2, true);
	for (unsigned i = 0; i < n; i++)
		expect(w, s[i], 200);
	UNTIL(w, w->sites[0].peers[0]->ended);
	UNTIL(w, fleet(w)->server_count == 1); /* and is freed */
	assert_nothing_is_left(w);
	gate_world_free(w);
}

static void what_waits_for_a_server_that_leaves_goes_to_another(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	let_be_silent(w, 0);
	w->sites[1].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = get_at(w, c, 0);
	server_leave(server_at(w, 0));
	expect(w, s, 200);
	UNTIL(w, fleet(w)->server_count == 1);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

/* ---- pushes ---- */

static void a_push_counts_at_the_server_of_its_parent(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, BOTH ROUTED);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	struct gate_stream *at = gate_find(w, "/a");
	struct server *server = server_at(w, at->peer->site == &w->sites[0] ? 0 : 1);
	assert_int_equal(server->member.outstanding, 1);
	struct gate_stream *push = gate_promise(at, "http", "example.com", "/p.css");
	UNTIL(w, gate_find_at(c, "/p.css"));
	assert_int_equal(server->member.outstanding, 2);
	ok(push);
	ok(at);
	expect(w, s, 200);
	UNTIL(w, gate_find_at(c, "/p.css")->is_over);
	assert_nothing_is_left(w);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(another_server_is_tried_beside_a_slow_connect, speak_again),
	    cmocka_unit_test_teardown(a_slow_server_that_connects_is_used, speak_again),
	    cmocka_unit_test(what_waits_for_a_full_server_is_served_by_the_other),
	    cmocka_unit_test(max_requests_bounds_what_a_server_has),
	    cmocka_unit_test(the_queue_of_all_servers_is_bounded),
	    cmocka_unit_test(a_dead_server_costs_no_request),
	    cmocka_unit_test(all_servers_dead_is_an_answer),
	    cmocka_unit_test(backups_serve_while_the_others_are_gone),
	    cmocka_unit_test(all_down_is_said),
	    cmocka_unit_test(what_a_reached_server_failed_with_is_told),
	    cmocka_unit_test(tunnels_are_counted_where_they_are),
	    cmocka_unit_test(a_backup_takes_over_nothing),
	    cmocka_unit_test_teardown(a_server_that_leaves_finishes_what_it_has, speak_again),
	    cmocka_unit_test_teardown(what_waits_for_a_server_that_leaves_goes_to_another, speak_again),
	    cmocka_unit_test(a_push_counts_at_the_server_of_its_parent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
