/* SPDX-License-Identifier: MIT */
/* Origin connections: how many are opened, which requests they get, and what happens when they end. */
#include "tests/support/gateway_world.h"

#include "proxy/limits.h"
#include "proxy/net/net_conn.h"

#include <stdio.h>
#include <unistd.h>

/* covers: R31 R35 R66 R72 R73 R74 R76 */

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static size_t open_peers(const struct gate_site *site)
{
	size_t n = 0;
	for (size_t i = 0; i < site->peer_count; i++)
		n += !site->peers[i]->ended;
	return n;
}

static size_t peers_with_push(const struct gate_site *site, uint32_t enable_push)
{
	size_t n = 0;
	for (size_t i = 0; i < site->peer_count; i++)
		n +=
		    site->peers[i]->settings_came > 0 && site->peers[i]->enable_push == enable_push;
	return n;
}

static void a_request_is_answered(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	assert_int_equal(s->received, 5);
	assert_true(s->ended);
	gate_world_free(w);
}

/* ---- MAX_CONCURRENT_STREAMS ---- */

static void the_limit_holds_for_requests_queued_before_settings(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 3;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[20];
	for (unsigned i = 0; i < 20; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		s[i] = gate_get(c, path);
	}
	UNTIL(w, w->sites[0].peer_count == 1 && w->sites[0].peers[0]->open_now == 3);
	gate_passes(w);
	struct gate_peer *o = w->sites[0].peers[0];
	for (unsigned i = 0; i < 20; i++) {
		UNTIL(w, o->stream_count > i);
		ok(o->streams[i]);
	}
	for (unsigned i = 0; i < 20; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->status, 200);
	}
	assert_int_equal(o->open_most, 3);
	assert_int_equal(w->sites[0].peer_count, 1);
	gate_world_free(w);
}

static void a_cancelled_request_frees_its_stream_for_the_next(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	struct gate_stream *second = gate_get(c, "/second");
	gate_passes(w);
	assert_null(gate_find(w, "/second"));
	gate_reset_stream(first, SESSION_CANCEL);
	UNTIL(w, gate_find(w, "/second"));
	ok(gate_find(w, "/second"));
	UNTIL(w, second->is_over);
	assert_int_equal(second->status, 200);
	assert_int_equal(w->sites[0].peers[0]->open_most, 1);
	gate_world_free(w);
}

static void an_upload_that_ends_frees_its_stream_for_the_next(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_request(c, "POST", "example.com", "/first", false, NULL);
	UNTIL(w, gate_find(w, "/first"));
	ok(gate_find(w, "/first"));
	UNTIL(w, first->ended);
	struct gate_stream *second = gate_get(c, "/second");
	gate_passes(w);
	assert_null(gate_find(w, "/second"));
	gate_more(first, 10, true);
	w->sites[0].serve = ok;
	UNTIL(w, second->is_over);
	assert_int_equal(second->status, 200);
	gate_world_free(w);
}

/* ---- reading is held back because memory is short ---- */

static struct origin_conn *newest(struct gate_world *w)
{
	return gate_newest_conn(w);
}

/* What the timer would do in an hour. */
static void expire(struct gate_world *w, struct origin_conn *c)
{
	origin_conn_expired(&c->timer, w->gateway->relay.now + 3600 * USEC_PER_SEC);
}

static void an_origin_connected_to_while_reading_is_held_back_is_not_read_and_not_late(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	origins_pause_reading(&w->gateway->upstream.origins, true);
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/a");
	UNTIL(w, w->sites[0].peer_count == 1 && w->sites[0].peers[0]->settings_came == 1);
	gate_passes(w);
	struct origin_conn *c = newest(w);
	assert_true(c->is_open);
	assert_false(c->is_ready);
	expire(w, c);
	assert_false(c->is_closing);
	assert_int_equal(c->timer.deadline, USEC_NEVER);
	origins_pause_reading(&w->gateway->upstream.origins, false);
	assert_int_equal(
	    c->timer.deadline, w->gateway->relay.now + c->pool->conf->settings_timeout);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

/* Its acknowledgement of our SETTINGS, its answer and the room in its socket: all of these wait for us. */
static void an_origin_that_is_not_read_any_more_is_not_late(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].options.is_silent = true;
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/a");
	UNTIL(w, newest(w) && newest(w)->is_open);
	struct origin_conn *c = newest(w);
	struct relay *r = &w->gateway->relay;
	usec due = c->timer.deadline;
	origins_pause_reading(&w->gateway->upstream.origins, true);
	expire(w, c);
	assert_false(c->is_closing);
	usec before = r->now;
	UNTIL(w, net_now(w->loop) >= before + 50 * USEC_PER_MSEC);
	worker_now(&w->gateway->env);
	origins_pause_reading(&w->gateway->upstream.origins, false);
	assert_true(r->unread_usec >= 50 * USEC_PER_MSEC);
	/* The time that was left when reading stopped is left now. */
	assert_int_equal(c->timer.deadline, due + r->unread_usec);
	/* When none was left, what waits in the socket is read first. */
	origins_pause_reading(&w->gateway->upstream.origins, true);
	c->started = 0;
	origins_pause_reading(&w->gateway->upstream.origins, false);
	assert_int_equal(c->timer.deadline, r->now + BLOCKED_CHECK_USEC);
	expire(w, c);
	assert_true(c->is_closing);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 504);
	gate_world_free(w);
}

/* It may not read because it cannot send. */
static void an_origin_whose_socket_is_full_while_it_is_not_read_is_not_late(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].options.window = 1 << 30;
	struct gate_stream *s =
	    gate_request(gate_client(w, NULL), "POST", "example.com", "/a", false, NULL);
	UNTIL(w, gate_find(w, "/a"));
	struct origin_conn *c = newest(w);
	struct gate_peer *o = w->sites[0].peers[0];
	int small = 4096;
	setsockopt(c->net->fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(o->net->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	net_conn_pause_reading(o->net, NET_PAUSE_PEER);
	gate_more(s, 1000000, true);
	UNTIL(w, net_conn_is_blocked(c->net));
	origins_pause_reading(&w->gateway->upstream.origins, true);
	expire(w, c);
	assert_false(c->is_closing);
	origins_pause_reading(&w->gateway->upstream.origins, false);
	usec limit = c->pool->conf->write_timeout;
	origin_conn_expired(&c->timer, w->gateway->relay.now + limit - 1);
	assert_false(c->is_closing);
	expire(w, c);
	assert_true(c->is_closing);
	UNTIL(w, s->is_over || s->status == 502);
	gate_world_free(w);
}

/* ---- cancelled requests ---- */

static size_t requests_open(const struct gate_site *site)
{
	size_t n = 0;
	for (size_t i = 0; i < site->peer_count; i++)
		n += site->peers[i]->open_now;
	return n;
}

/* The client cancels 150 requests at the origin; one further request stays open. */
static void cancel_many(struct gate_world *w)
{
	struct gate_peer *c = gate_client(w, NULL);
	size_t seen = gate_seen(&w->sites[0], "/cancelled");
	for (unsigned i = 0; i < 150; i++) {
		struct gate_stream *s = gate_get(c, "/cancelled");
		UNTIL(w, gate_seen(&w->sites[0], "/cancelled") == seen + i + 1);
		gate_reset_stream(s, SESSION_CANCEL);
	}
	UNTIL(w, requests_open(&w->sites[0]) == 1);
}

static void a_connection_with_many_cancelled_requests_is_replaced(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, "limit-resets = 1000000/s", "max-connections = 1", NULL);
	struct gate_site *site = &w->sites[0];
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *stays = gate_get(c, "/stays");
	UNTIL(w, gate_find(w, "/stays"));
	cancel_many(w);
	struct gate_stream *next = gate_get(c, "/next");
	UNTIL(w, gate_find(w, "/next"));
	assert_ptr_equal(gate_find(w, "/next")->peer, site->peers[1]);
	ok(gate_find(w, "/next"));
	UNTIL(w, next->is_over && next->status == 200);
	assert_false(site->peers[0]->ended);
	/* Nothing of what was under way is lost, and then it ends. */
	ok(gate_find(w, "/stays"));
	UNTIL(w, stays->is_over && stays->status == 200);
	UNTIL(w, site->peers[0]->ended);
	gate_world_free(w);
}

static void retired_connections_are_limited_to_max_connections(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, "limit-resets = 1000000/s", "max-connections = 1", NULL);
	struct gate_site *site = &w->sites[0];
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/held");
	UNTIL(w, gate_find(w, "/held"));
	cancel_many(w);
	cancel_many(w);
	assert_int_equal(site->peer_count, 2);
	struct gate_stream *next = gate_get(c, "/next");
	UNTIL(w, gate_find(w, "/next"));
	ok(gate_find(w, "/next"));
	UNTIL(w, next->is_over && next->status == 200);
	assert_int_equal(site->peer_count, 2);
	gate_world_free(w);
}

/* ---- growth and queue ---- */

static void a_queue_opens_connections_up_to_the_limit(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 3", NULL);
	w->sites[0].options.max_streams = 2;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 20; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		gate_get(c, path);
	}
	UNTIL(w, w->sites[0].peer_count == 3 && w->sites[0].peers[2]->open_now == 2);
	gate_passes(w);
	assert_int_equal(w->sites[0].peer_count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(w->sites[0].peers[i]->open_most, 2);
	w->sites[0].serve = ok;
	for (unsigned i = 0; i < 3; i++)
		for (size_t j = 0; j < 2; j++)
			ok(w->sites[0].peers[i]->streams[j]);
	for (unsigned i = 0; i < 20; i++)
		UNTIL(w, c->streams[i]->is_over && c->streams[i]->status == 200);
	gate_world_free(w);
}

static void a_full_queue_answers_503(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1\nmax-queue = 2", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	struct gate_stream *s[3];
	for (unsigned i = 0; i < 3; i++)
		s[i] = gate_get(c, "/more");
	UNTIL(w, s[2]->is_over);
	assert_int_equal(s[2]->status, 503);
	assert_non_null(strstr(s[2]->status_error, "connection_limit_reached"));
	assert_int_equal(s[0]->status, 0);
	assert_int_equal(s[1]->status, 0);
	gate_world_free(w);
}

static void a_request_past_queue_timeout_is_answered_504(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, NULL, "max-connections = 1\nqueue-timeout = 50ms", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	struct gate_stream *second = gate_get(c, "/second");
	UNTIL(w, second->is_over);
	assert_int_equal(second->status, 504);
	assert_non_null(strstr(second->status_error, "connection_timeout"));
	ok(gate_find(w, "/first"));
	UNTIL(w, first->is_over);
	assert_int_equal(first->status, 200);
	gate_world_free(w);
}

/* ---- the end of connections ---- */

static void a_refused_stream_is_tried_again(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	gate_reset_stream(gate_find(w, "/a"), SESSION_REFUSED_STREAM);
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 2);
	ok(gate_find(w, "/a"));
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	/* And three times at most. */
	s = gate_get(c, "/b");
	for (size_t i = 1; i <= 3; i++) {
		UNTIL(w, gate_seen(&w->sites[0], "/b") == i);
		gate_reset_stream(gate_find(w, "/b"), SESSION_REFUSED_STREAM);
	}
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 503);
	assert_int_equal(w->counters.requests_retried, 2);
	gate_world_free(w);
}

static void a_refused_stream_is_retried_on_another_connection_first(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].options.max_streams = 2;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 3; i++)
		gate_get(c, "/full");
	UNTIL(w, gate_seen(&w->sites[0], "/full") == 3);
	/* One stream is free on the first connection, and one at least on others. */
	ok(w->sites[0].peers[0]->streams[0]);
	UNTIL(w, c->streams[0]->is_over || c->streams[1]->is_over || c->streams[2]->is_over);
	gate_passes(w);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	struct gate_peer *first = gate_find(w, "/a")->peer;
	gate_reset_stream(gate_find(w, "/a"), SESSION_REFUSED_STREAM);
	UNTIL(w, gate_seen(&w->sites[0], "/a") == 2);
	assert_int_equal(first->open_now, 1);
	for (size_t i = 0; i < w->sites[0].peer_count; i++) {
		struct gate_stream *at = gate_find_at(w->sites[0].peers[i], "/a");
		if (at && at->handle) {
			assert_ptr_not_equal(at->peer, first);
			ok(at);
		}
	}
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

static void a_post_that_may_have_been_processed_is_not_repeated(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(c, "/warm");
	UNTIL(w, s->is_over);
	w->sites[0].serve = NULL;
	s = gate_request(c, "POST", "example.com", "/post", true, NULL);
	UNTIL(w, gate_find(w, "/post"));
	gate_peer_abort(w->sites[0].peers[0]);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 502);
	assert_int_equal(gate_seen(&w->sites[0], "/post"), 1);
	gate_world_free(w);
}

static void a_get_on_a_connection_that_closed_meanwhile_is_repeated(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(c, "/warm");
	UNTIL(w, s->is_over);
	w->sites[0].serve = NULL;
	s = gate_get(c, "/a");
	UNTIL(w, gate_find(w, "/a"));
	w->sites[0].serve = ok;
	gate_peer_abort(w->sites[0].peers[0]);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

static void requests_use_another_connection_after_goaway(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	struct gate_stream *at = gate_find(w, "/first");
	gate_shutdown(w->sites[0].peers[0]);
	gate_passes(w);
	struct gate_stream *second = gate_get(c, "/second");
	w->sites[0].serve = ok;
	UNTIL(w, second->is_over);
	assert_int_equal(second->status, 200);
	assert_int_equal(w->sites[0].peer_count, 2);
	/* What was under way there finishes. */
	assert_false(first->is_over);
	ok(at);
	UNTIL(w, first->is_over);
	assert_int_equal(first->status, 200);
	UNTIL(w, w->sites[0].peers[0]->ended);
	assert_false(w->sites[0].peers[1]->ended);
	gate_world_free(w);
}

static void requests_above_the_last_id_of_goaway_are_retried(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	/* The origin's final GOAWAY and these requests cross. */
	struct gate_peer *o = w->sites[0].peers[0];
	gate_shutdown(o);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/post", true, NULL);
	w->sites[0].serve = ok;
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	ok(gate_find(w, "/first"));
	UNTIL(w, first->is_over);
	gate_world_free(w);
}

static void a_refused_connection_answers_503_and_recovers(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	gate_site_close(&w->sites[0]);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[10];
	for (unsigned i = 0; i < 10; i++)
		s[i] = gate_get(c, "/a");
	for (unsigned i = 0; i < 10; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->status, 503);
		assert_non_null(strstr(s[i]->status_error, "connection_refused"));
	}
	gate_site_open(&w->sites[0]);
	w->sites[0].serve = ok;
	struct gate_stream *again = gate_get(c, "/b");
	UNTIL(w, again->is_over);
	assert_int_equal(again->status, 200);
	gate_world_free(w);
}

static void failed_connects_are_not_repeated_at_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	/* What is there serves, slowly, and there is no more to be had. */
	gate_site_close(&w->sites[0]);
	struct gate_stream *s[20];
	for (unsigned i = 0; i < 20; i++)
		s[i] = gate_get(c, "/more");
	gate_passes(w);
	uint64_t since = w->counters.upstream_connections;
	w->sites[0].serve = ok;
	ok(gate_find(w, "/first"));
	for (unsigned i = 0; i < 20; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->status, 200);
	}
	assert_true(w->counters.upstream_connections - since <= 5);
	gate_world_free(w);
}

static void a_connection_without_settings_answers_504(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new(NULL, NULL, "settings-timeout = 60ms\nconnect-timeout = 10m", NULL);
	w->sites[0].options.is_silent = true;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 504);
	assert_int_equal(w->counters.settings_late, 1);
	assert_int_equal(w->counters.connect_late, 0);
	gate_world_free(w);
}

static void an_origin_whose_tls_fails_answers_503(void **state)
{
	(void)state;
	/* It speaks cleartext where TLS was expected. */
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin t]\nserver = h2://%a\ntls-verify = no\n[route t]\norigin = t\n[route b]\nhost "
	    "= b.example\norigin = b\n"
	    "[route a]\nhost = a.example\norigin = a\n");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 503);
	assert_non_null(strstr(s->status_error, "tls_protocol_error"));
	gate_world_free(w);
}

static void trailers_are_sent_again_with_a_retried_request(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/a", false, NULL);
	gate_trailers(s);
	UNTIL(w, gate_find(w, "/a") && gate_find(w, "/a")->ended);
	assert_int_equal(gate_find(w, "/a")->trailers, 1);
	gate_reset_stream(gate_find(w, "/a"), SESSION_REFUSED_STREAM);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 503);
	gate_world_free(w);
}

static void every_server_is_tried(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	/* One is dead, the other is alive. */
	gate_set_servers(w, 0,
	    (const struct net_address *[]){gate_site_address(w, 1), gate_site_address(w, 0)}, 2);
	gate_site_close(&w->sites[1]);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

/* The first server gets two connections at a time, and both fail. */
static void connections_that_fail_together_skip_no_server(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "settings-timeout = 500ms", NULL);
	gate_set_servers(w, 0,
	    (const struct net_address *[]){gate_site_address(w, 1), gate_site_address(w, 0)}, 2);
	w->sites[1].options.is_silent = true;
	w->sites[0].serve = ok;
	struct gate_peer *c[2] = {gate_client(w, NULL), gate_client(w, NULL)};
	struct gate_stream *s[150];
	for (unsigned i = 0; i < 150; i++)
		s[i] = gate_get(c[i % 2], "/a");
	for (unsigned i = 0; i < 150; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->status, 200);
	}
	gate_world_free(w);
}

#define GARBAGE LIMIT_CHUNK_BYTES

/* As much as one read takes: the fault and the end of the connection come in one loop pass. */
static void send_garbage(struct gate_site *site, int fd)
{
	(void)site;
	char *garbage = calloc(1, GARBAGE);
	int size = GARBAGE * 2;
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert_int_equal(send(fd, garbage, GARBAGE, MSG_NOSIGNAL), GARBAGE);
	free(garbage);
	close(fd);
}

static void a_connection_that_fails_before_settings_counts_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	/* The first speaks no HTTP/2, the second is alive. */
	gate_set_servers(w, 0,
	    (const struct net_address *[]){gate_site_address(w, 1), gate_site_address(w, 0)}, 2);
	w->sites[1].adopt = send_garbage;
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/a");
	UNTIL(w, newest(w));
	w->sites[0].serve = ok;
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

static void an_idle_connection_is_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "idle-timeout = 50ms", NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	UNTIL(w, w->sites[0].peers[0]->ended);
	assert_true(w->sites[0].peers[0]->goaway_came);
	assert_int_equal(w->sites[0].peers[0]->goaway_code, SESSION_NO_ERROR);
	assert_int_equal(w->counters.upstream_connections_open, 0);
	/* The client notices nothing of it. */
	s = gate_get(c, "/b");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

static void a_connection_that_is_not_ready_is_not_idle(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(
	    NULL, NULL, "idle-timeout = 20ms\nsettings-timeout = 10m\nqueue-timeout = 200ms", NULL);
	w->sites[0].options.is_silent = true;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 504);
	assert_int_equal(w->sites[0].peer_count, 1);
	assert_false(w->sites[0].peers[0]->ended);
	gate_world_free(w);
}

static void a_queue_is_served_when_the_only_connection_has_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 1", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *first = gate_get(c, "/first");
	UNTIL(w, gate_find(w, "/first"));
	struct gate_stream *second = gate_get(c, "/second");
	gate_passes(w);
	w->sites[0].serve = ok;
	gate_peer_abort(w->sites[0].peers[0]);
	UNTIL(w, first->is_over && second->is_over);
	assert_int_equal(first->status, 502);
	assert_int_equal(second->status, 200);
	gate_world_free(w);
}

/* ---- two pools ---- */

static void clients_with_and_without_push_have_pools_of_their_own(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *with = gate_client(w, NULL);
	const struct gate_peer_options no_push = {.no_push = true};
	struct gate_peer *without = gate_client(w, &no_push);
	for (unsigned i = 0; i < 5; i++) {
		struct gate_stream *a = gate_get(with, "/a"), *b = gate_get(without, "/b");
		UNTIL(w, a->is_over && b->is_over);
	}
	assert_int_equal(w->sites[0].peer_count, 2);
	assert_int_equal(peers_with_push(&w->sites[0], 1), 1);
	assert_int_equal(peers_with_push(&w->sites[0], 0), 1);
	for (size_t i = 0; i < 2; i++) {
		struct gate_peer *o = w->sites[0].peers[i];
		assert_int_equal(o->settings_came, 1);
		for (size_t j = 0; j < o->stream_count; j++)
			assert_string_equal(o->streams[j]->path, o->enable_push ? "/a" : "/b");
	}
	gate_world_free(w);
}

static void a_client_that_turns_push_off_changes_pools_not_settings(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over);
	struct h2_settings settings = gate_peer_settings(&c->options, true);
	settings.enable_push = 0;
	h2_update_settings(c->h2, &settings, net_now(w->loop));
	s = gate_get(c, "/b");
	UNTIL(w, s->is_over);
	assert_int_equal(w->sites[0].peer_count, 2);
	assert_int_equal(w->sites[0].peers[0]->settings_came, 1);
	assert_int_equal(w->sites[0].peers[1]->settings_came, 1);
	assert_int_equal(w->sites[0].peers[1]->enable_push, 0);
	assert_non_null(gate_find_at(w->sites[0].peers[1], "/b"));
	gate_world_free(w);
}

static void push_accept_and_refuse_use_one_pool(void **state)
{
	(void)state;
	for (unsigned mode = 0; mode < 2; mode++) {
		struct gate_world *w =
		    gate_world_new(NULL, NULL, mode ? "push = accept" : "push = refuse", NULL);
		w->sites[0].serve = ok;
		const struct gate_peer_options no_push = {.no_push = true};
		struct gate_peer *with = gate_client(w, NULL), *without = gate_client(w, &no_push);
		struct gate_stream *a = gate_get(with, "/a"), *b = gate_get(without, "/b");
		UNTIL(w, a->is_over && b->is_over);
		assert_int_equal(w->sites[0].peer_count, 1);
		assert_int_equal(w->sites[0].peers[0]->enable_push, mode);
		gate_world_free(w);
	}
}

/* ---- early answers ---- */

static void an_early_answer_with_no_error_reaches_the_client_whole(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/up", false, NULL);
	gate_more(s, 1000, false);
	UNTIL(w, gate_find(w, "/up") && gate_find(w, "/up")->received == 1000);
	gate_answer(gate_find(w, "/up"), 403, 20000, true);
	UNTIL(w, s->ended);
	assert_int_equal(s->status, 403);
	assert_int_equal(s->received, 20000);
	gate_reset_stream(gate_find(w, "/up"), SESSION_NO_ERROR);
	UNTIL(w, s->is_over);
	assert_int_equal(s->code, SESSION_NO_ERROR);
	gate_world_free(w);
}

static void a_worker_forgets_connections_that_are_over(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	for (unsigned i = 0; i < 20; i++) {
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s = gate_get(c, "/a");
		UNTIL(w, s->is_over);
		gate_peer_abort(c);
	}
	UNTIL(w, w->counters.connections_open == 0);
	assert_int_equal(open_peers(&w->sites[0]), 1);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_is_answered),
	    cmocka_unit_test(the_limit_holds_for_requests_queued_before_settings),
	    cmocka_unit_test(an_origin_connected_to_while_reading_is_held_back_is_not_read_and_not_late),
	    cmocka_unit_test(an_origin_that_is_not_read_any_more_is_not_late),
	    cmocka_unit_test(an_origin_whose_socket_is_full_while_it_is_not_read_is_not_late),
	    cmocka_unit_test(a_cancelled_request_frees_its_stream_for_the_next),
	    cmocka_unit_test(an_upload_that_ends_frees_its_stream_for_the_next),
	    cmocka_unit_test(a_connection_with_many_cancelled_requests_is_replaced),
	    cmocka_unit_test(retired_connections_are_limited_to_max_connections),
	    cmocka_unit_test(a_queue_opens_connections_up_to_the_limit),
	    cmocka_unit_test(a_full_queue_answers_503),
	    cmocka_unit_test(a_request_past_queue_timeout_is_answered_504),
	    cmocka_unit_test(a_refused_stream_is_tried_again),
	    cmocka_unit_test(a_refused_stream_is_retried_on_another_connection_first),
	    cmocka_unit_test(a_post_that_may_have_been_processed_is_not_repeated),
	    cmocka_unit_test(a_get_on_a_connection_that_closed_meanwhile_is_repeated),
	    cmocka_unit_test(requests_use_another_connection_after_goaway),
	    cmocka_unit_test(requests_above_the_last_id_of_goaway_are_retried),
	    cmocka_unit_test(a_refused_connection_answers_503_and_recovers),
	    cmocka_unit_test(failed_connects_are_not_repeated_at_once),
	    cmocka_unit_test(a_connection_without_settings_answers_504),
	    cmocka_unit_test(an_origin_whose_tls_fails_answers_503),
	    cmocka_unit_test(trailers_are_sent_again_with_a_retried_request),
	    cmocka_unit_test(every_server_is_tried),
	    cmocka_unit_test(connections_that_fail_together_skip_no_server),
	    cmocka_unit_test(a_connection_that_fails_before_settings_counts_once),
	    cmocka_unit_test(an_idle_connection_is_closed),
	    cmocka_unit_test(a_connection_that_is_not_ready_is_not_idle),
	    cmocka_unit_test(a_queue_is_served_when_the_only_connection_has_closed),
	    cmocka_unit_test(clients_with_and_without_push_have_pools_of_their_own),
	    cmocka_unit_test(a_client_that_turns_push_off_changes_pools_not_settings),
	    cmocka_unit_test(push_accept_and_refuse_use_one_pool),
	    cmocka_unit_test(an_early_answer_with_no_error_reaches_the_client_whole),
	    cmocka_unit_test(a_worker_forgets_connections_that_are_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
