/* SPDX-License-Identifier: MIT */
/* Promises: which ones an origin may make, what the client receives, and the limits on refusals. */
#include "tests/support/gateway_world.h"

#include "tests/unit/conf/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* covers: R21 R22 R27 R31 R33 R34 R40 R41 R43 R45 R52 R53 R55 R64 */

/* A world, a client, and its request at the origin. */
struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page; /* at the client */
	struct gate_stream *at;   /* at the origin */
};

static struct scene scene_of(struct gate_world *w, const struct gate_peer_options *options)
{
	struct scene s = {.w = w, .client = gate_client(w, options)};
	s.page = gate_get(s.client, "/page");
	UNTIL(w, gate_find(w, "/page"));
	s.at = gate_find(w, "/page");
	return s;
}

static struct scene scene_new(const char *server, const char *origin, const char *more)
{
	return scene_of(gate_world_new(server, NULL, origin, more), NULL);
}

/* Expects that the promise is refused with this code, and that the parent and a valid promise after it succeed. */
static void refused(struct scene *s, struct gate_stream *promise, uint32_t code)
{
	assert_non_null(promise);
	UNTIL(s->w, promise->is_over);
	assert_true(promise->was_reset);
	assert_int_equal(promise->code, code);
	size_t before = s->client->stream_count;
	struct gate_stream *good = gate_promise(s->at, "http", "example.com", "/good.css");
	UNTIL(s->w, gate_find_at(s->client, "/good.css"));
	assert_int_equal(s->client->stream_count, before + 1);
	gate_answer(good, 200, 10, true);
	gate_answer(s->at, 200, 100, true);
	struct gate_stream *push = gate_find_at(s->client, "/good.css");
	UNTIL(s->w, push->is_over && s->page->is_over);
	assert_int_equal(push->received, 10);
	assert_int_equal(s->page->received, 100);
	gate_world_free(s->w);
}

/* Expects that the client receives this promise with the parent's authority. */
static void forwarded(struct scene *s, struct gate_stream *promise, const char *scheme,
    const char *authority, const char *path)
{
	assert_non_null(promise);
	UNTIL(s->w, gate_find_at(s->client, path));
	struct gate_stream *push = gate_find_at(s->client, path);
	assert_string_equal(push->authority, authority);
	assert_string_equal(push->scheme, scheme);
	assert_ptr_equal(push->parent, s->page);
	gate_answer(promise, 200, 1234, true);
	UNTIL(s->w, push->is_over);
	assert_int_equal(push->status, 200);
	assert_int_equal(push->received, 1234);
	gate_world_free(s->w);
}

/* ---- which promises are allowed ---- */

static void origin_may_promise_for_the_authority_of_its_request(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	forwarded(&s, gate_promise(s.at, "http", "example.com", "/a.css"), "http", "example.com",
	    "/a.css");
}

static void authority_routed_to_another_origin_is_refused(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	refused(&s, gate_promise(s.at, "http", "b.example", "/a.css"), SESSION_PROTOCOL_ERROR);
}

static void path_routed_to_another_origin_is_refused(void **state)
{
	(void)state;
	struct scene s =
	    scene_new(NULL, NULL, "[route a]\norigin = a\n[route b]\npath = /other\norigin = b\n");
	refused(&s, gate_promise(s.at, "http", "example.com", "/other/a.css"), SESSION_PROTOCOL_ERROR);
}

static void authority_without_route_is_refused(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, "[route a]\nhost = example.com\norigin = a\n");
	refused(&s, gate_promise(s.at, "http", "example.org", "/a.css"), SESSION_PROTOCOL_ERROR);
}

static void another_authority_of_the_same_origin_is_forwarded(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	forwarded(&s, gate_promise(s.at, "http", "static.example", "/a.css"), "http",
	    "static.example", "/a.css");
}

static void the_origins_server_authority_is_mapped_back(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, "[route a]\nhost = example.com\norigin = a\n");
	char own[64];
	snprintf(own, sizeof(own), "127.0.0.1:%u", s.w->sites[0].port);
	forwarded(&s, gate_promise(s.at, "http", own, "/a.css"), "http", "example.com", "/a.css");
}

static void the_authority_that_we_sent_is_mapped_back(void **state)
{
	(void)state;
	struct scene s =
	    scene_new(NULL, "host = inner.example", "[route a]\nhost = example.com\norigin = a\n");
	assert_string_equal(s.at->authority, "inner.example");
	forwarded(&s, gate_promise(s.at, "http", "inner.example", "/a.css"), "http", "example.com",
	    "/a.css");
}

/* covers: P-recv-access */
static void what_the_client_may_not_ask_for_is_not_promised_to_it(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "access = rules", NULL,
	    "[access rules]\ndeny = path=/secret/*\nallow = path=/*\n[route a]\norigin = a\n");
	struct scene s = scene_of(w, NULL);
	struct gate_stream *promise = gate_promise(s.at, "http", "example.com", "/secret/a.css");
	UNTIL(w, promise->is_over);
	assert_int_equal(promise->code, SESSION_CANCEL);
	size_t reason = policy_reason_position(&policy_reason_ACCESS_DENIED);
	assert_int_equal(w->counters.push[POLICY_RELAYED][POLICY_DROP][reason], 1);
	forwarded(&s, gate_promise(s.at, "http", "example.com", "/a.css"), "http", "example.com", "/a.css");
}

static void another_scheme_is_refused(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	refused(&s, gate_promise(s.at, "https", "example.com", "/a.css"), SESSION_PROTOCOL_ERROR);
}

/* ---- TLS: the certificate of the listener ---- */

struct tls_files {
	char chain[64], key[64];
	struct net_tls *client;
};

static void write_file(char *name, size_t size, const char *text)
{
	snprintf(name, size, "/tmp/pushgate-promise-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct scene tls_scene(struct tls_files *f, const char *origin, const char *authority)
{
	char listen[256], error[128];
	write_file(f->chain, sizeof(f->chain), PEM_CERTIFICATE_1); /* for test1.invalid */
	write_file(f->key, sizeof(f->key), PEM_KEY_1);
	snprintf(listen, sizeof(listen), "certificate = %s\nkey = %s", f->chain, f->key);
	const struct net_tls_client_options o = {.verify = false, .alpn = "h2"};
	f->client = net_tls_client_new(&o, error, sizeof(error));
	assert_non_null(f->client);
	const struct gate_peer_options options = {.tls = f->client, .server_name = "test1.invalid"};
	struct scene s = {.w = gate_world_new(NULL, listen, origin, NULL)};
	s.client = gate_client(s.w, &options);
	s.page = gate_request(s.client, "GET", authority, "/page", true, NULL);
	UNTIL(s.w, gate_find(s.w, "/page"));
	s.at = gate_find(s.w, "/page");
	return s;
}

static void tls_files_drop(struct tls_files *f)
{
	unlink(f->chain);
	unlink(f->key);
	net_tls_free(f->client);
}

static void a_tls_client_before_a_cleartext_origin_gets_promises_it_can_accept(void **state)
{
	(void)state;
	static const char *const schemes[] = {"http", "https"};
	for (size_t i = 0; i < 2; i++) {
		struct tls_files f;
		struct scene s = tls_scene(&f, i ? NULL : "scheme = hop", "test1.invalid");
		assert_string_equal(s.at->scheme, schemes[i]);
		forwarded(&s, gate_promise(s.at, schemes[i], "test1.invalid", "/a.css"), "https",
		    "test1.invalid", "/a.css");
		tls_files_drop(&f);
	}
}

static void authority_outside_the_listeners_certificate_is_dropped(void **state)
{
	(void)state;
	struct tls_files f;
	struct scene s = tls_scene(&f, NULL, "test1.invalid");
	struct gate_stream *promise = gate_promise(s.at, "https", "test2.invalid", "/a.css");
	UNTIL(s.w, promise->is_over);
	assert_int_equal(promise->code, SESSION_CANCEL);
	size_t reason = policy_reason_position(&policy_reason_DOWNSTREAM_AUTHORITY);
	assert_int_equal(s.w->counters.push[POLICY_RELAYED][POLICY_DROP][reason], 1);
	gate_world_free(s.w);
	tls_files_drop(&f);
}

/* ---- the client's settings ---- */

static void a_client_without_push_is_promised_nothing(void **state)
{
	(void)state;
	/* Even where the origin is told that it may. */
	const struct gate_peer_options no_push = {.no_push = true};
	struct scene s = scene_of(gate_world_new(NULL, NULL, "push = accept", NULL), &no_push);
	struct gate_stream *promise = gate_promise(s.at, "http", "example.com", "/a.css");
	UNTIL(s.w, promise->is_over);
	assert_int_equal(promise->code, SESSION_CANCEL);
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, s.page->is_over);
	assert_int_equal(s.page->received, 5);
	assert_int_equal(s.client->stream_count, 1);
	gate_world_free(s.w);
}

static void pushed_responses_keep_to_the_clients_limit(void **state)
{
	(void)state;
	const struct gate_peer_options two = {.max_streams = 2};
	struct scene s = scene_of(gate_world_new(NULL, NULL, NULL, NULL), &two);
	struct gate_stream *promise[8];
	for (unsigned i = 0; i < 8; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		promise[i] = gate_promise(s.at, "http", "example.com", path);
		gate_answer(promise[i], 200, 3000, true);
	}
	gate_answer(s.at, 200, 5, true);
	for (unsigned i = 0; i < 8; i++) {
		UNTIL(s.w, s.client->stream_count > 1 + i);
		struct gate_stream *push = s.client->streams[1 + i];
		UNTIL(s.w, push->is_over);
		assert_int_equal(push->received, 3000);
		assert_true(push->ended);
	}
	assert_in_range(s.client->open_most, 1, 2);
	gate_world_free(s.w);
}

static void push_that_waits_is_whole_when_all_announced_bytes_came(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	for (unsigned came = 4; came <= 5; came++) {
		struct scene s = scene_of(gate_world_new(NULL, NULL, NULL, NULL), &one);
		struct gate_stream *first = gate_promise(s.at, "http", "example.com", "/1");
		struct gate_stream *second = gate_promise(s.at, "http", "example.com", "/2");
		gate_answer(first, 200, 5, false);
		UNTIL(s.w, gate_find_at(s.client, "/2") && gate_find_at(s.client, "/1")->received == 5);
		gate_answer_fields(second, 200, false, "content-length", "5", NULL);
		gate_more(second, came, false);
		gate_passes(s.w);
		gate_reset_stream(second, SESSION_NO_ERROR);
		gate_passes(s.w);
		gate_more(first, 1, true);
		struct gate_stream *push = gate_find_at(s.client, "/2");
		UNTIL(s.w, push->is_over);
		assert_int_equal(push->ended, came == 5);
		assert_int_equal(push->was_reset, came < 5);
		assert_int_equal(push->code, came < 5 ? SESSION_INTERNAL_ERROR : SESSION_NO_ERROR);
		gate_world_free(s.w);
	}
}

static void interim_response_does_not_block_its_own_push(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_of(gate_world_new(NULL, NULL, NULL, NULL), &one);
	struct gate_stream *promise = gate_promise(s.at, "http", "example.com", "/a.css");
	gate_answer(promise, 103, 0, false);
	UNTIL(
	    s.w, gate_find_at(s.client, "/a.css") && gate_find_at(s.client, "/a.css")->interims == 1);
	gate_answer(promise, 200, 7, true);
	struct gate_stream *push = gate_find_at(s.client, "/a.css");
	UNTIL(s.w, push->is_over);
	assert_int_equal(push->status, 200);
	assert_int_equal(push->received, 7);
	gate_world_free(s.w);
}

static void a_raised_limit_starts_the_pushes_that_wait(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_of(gate_world_new(NULL, NULL, NULL, NULL), &one);
	struct gate_stream *first = gate_promise(s.at, "http", "example.com", "/first");
	gate_answer(first, 200, 1, false);
	UNTIL(
	    s.w, gate_find_at(s.client, "/first") && gate_find_at(s.client, "/first")->received == 1);
	struct gate_stream *second = gate_promise(s.at, "http", "example.com", "/second");
	gate_answer(second, 200, 9, true);
	UNTIL(s.w, gate_find_at(s.client, "/second"));
	gate_passes(s.w);
	assert_int_equal(gate_find_at(s.client, "/second")->status, 0);
	struct h2_settings settings = gate_peer_settings(&s.client->options, true);
	settings.max_concurrent_streams = 2;
	h2_update_settings(s.client->h2, &settings, net_now(s.w->loop));
	net_conn_dirty(s.client->net);
	UNTIL(s.w, gate_find_at(s.client, "/second")->is_over);
	assert_int_equal(gate_find_at(s.client, "/second")->received, 9);
	/* At 0 nothing is promised, and what was promised goes on. */
	settings.max_concurrent_streams = 0;
	h2_update_settings(s.client->h2, &settings, net_now(s.w->loop));
	net_conn_dirty(s.client->net);
	gate_passes(s.w);
	struct gate_stream *third = gate_promise(s.at, "http", "example.com", "/third");
	UNTIL(s.w, third->is_over);
	assert_null(gate_find_at(s.client, "/third"));
	gate_more(first, 5, true);
	UNTIL(s.w, gate_find_at(s.client, "/first")->is_over);
	assert_int_equal(gate_find_at(s.client, "/first")->received, 6);
	gate_world_free(s.w);
}

static void a_push_that_waits_too_long_is_cancelled_on_both_sides(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s =
	    scene_of(gate_world_new("push-start-timeout = 50ms", NULL, NULL, NULL), &one);
	struct gate_stream *first = gate_promise(s.at, "http", "example.com", "/first");
	gate_answer(first, 200, 1, false);
	UNTIL(
	    s.w, gate_find_at(s.client, "/first") && gate_find_at(s.client, "/first")->received == 1);
	struct gate_stream *second = gate_promise(s.at, "http", "example.com", "/second");
	gate_answer(second, 200, 1, false);
	UNTIL(s.w, second->is_over && gate_find_at(s.client, "/second") &&
		       gate_find_at(s.client, "/second")->is_over);
	assert_int_equal(second->code, SESSION_CANCEL);
	assert_int_equal(gate_find_at(s.client, "/second")->code, SESSION_CANCEL);
	assert_false(first->is_over);
	gate_world_free(s.w);
}

static void reset_by_the_origin_starts_the_next_waiting_push(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_of(gate_world_new(NULL, NULL, NULL, NULL), &one);
	struct gate_stream *first = gate_promise(s.at, "http", "example.com", "/first");
	gate_answer(first, 200, 1, false);
	struct gate_stream *second = gate_promise(s.at, "http", "example.com", "/second");
	gate_answer(second, 200, 9, true);
	UNTIL(
	    s.w, gate_find_at(s.client, "/first") && gate_find_at(s.client, "/first")->received == 1);
	gate_reset_stream(first, SESSION_INTERNAL_ERROR);
	UNTIL(s.w, gate_find_at(s.client, "/second") && gate_find_at(s.client, "/second")->is_over);
	assert_int_equal(gate_find_at(s.client, "/second")->received, 9);
	assert_int_equal(gate_find_at(s.client, "/first")->code, SESSION_INTERNAL_ERROR);
	gate_world_free(s.w);
}

/* ---- ends ---- */

static void a_clients_reset_reaches_the_origin_with_its_code(void **state)
{
	(void)state;
	static const uint32_t codes[] = {SESSION_CANCEL, SESSION_REFUSED_STREAM, SESSION_INTERNAL_ERROR, 77};
	for (size_t i = 0; i < 4; i++) {
		struct scene s = scene_new(NULL, NULL, NULL);
		struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a"),
				  *b = gate_promise(s.at, "http", "example.com", "/b");
		if (i & 1) /* before or during the response */
			gate_answer(a, 200, 10, false);
		UNTIL(s.w, gate_find_at(s.client, "/b"));
		gate_reset_stream(gate_find_at(s.client, "/a"), codes[i]);
		UNTIL(s.w, a->is_over);
		assert_int_equal(a->code, codes[i]);
		gate_answer(b, 200, 4, true);
		gate_answer(s.at, 200, 5, true);
		UNTIL(s.w, s.page->is_over && gate_find_at(s.client, "/b")->is_over);
		assert_int_equal(s.page->received, 5);
		assert_int_equal(gate_find_at(s.client, "/b")->received, 4);
		gate_world_free(s.w);
	}
}

static void a_lost_client_cancels_its_requests_and_promises(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a");
	UNTIL(s.w, gate_find_at(s.client, "/a"));
	gate_peer_abort(s.client);
	UNTIL(s.w, a->is_over && s.at->is_over);
	assert_int_equal(a->code, SESSION_CANCEL);
	assert_int_equal(s.at->code, SESSION_CANCEL);
	assert_false(s.at->peer->ended);
	assert_false(s.at->peer->goaway_came);
	gate_world_free(s.w);
}

static void a_push_outlives_its_parent(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a");
	UNTIL(s.w, gate_find_at(s.client, "/a"));
	gate_reset_stream(s.page, SESSION_CANCEL);
	UNTIL(s.w, s.at->is_over);
	gate_answer(a, 200, 6, true);
	UNTIL(s.w, gate_find_at(s.client, "/a")->is_over);
	assert_int_equal(gate_find_at(s.client, "/a")->received, 6);
	gate_world_free(s.w);
}

static void a_promise_for_a_parent_that_the_client_has_reset_is_cancelled(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	gate_reset_stream(s.page, SESSION_CANCEL);
	struct gate_stream *a = NULL;
	/* The origin promises before it has seen the reset. */
	a = gate_promise(s.at, "http", "example.com", "/a");
	UNTIL(s.w, a->is_over);
	assert_int_equal(a->code, SESSION_CANCEL);
	assert_int_equal(s.client->stream_count, 1);
	gate_world_free(s.w);
}

static void a_lost_origin_resets_its_pushes_and_the_client_lives(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a");
	gate_promise(s.at, "http", "example.com", "/b");
	gate_answer(a, 200, 6, false);
	UNTIL(s.w, gate_find_at(s.client, "/a") && gate_find_at(s.client, "/a")->received == 6);
	gate_peer_abort(s.at->peer);
	UNTIL(s.w, gate_find_at(s.client, "/a")->is_over && gate_find_at(s.client, "/b")->is_over &&
		       s.page->is_over);
	assert_int_equal(gate_find_at(s.client, "/a")->code, SESSION_INTERNAL_ERROR);
	assert_int_equal(s.page->status, 502);
	assert_false(s.client->goaway_came);
	assert_false(s.client->ended);
	gate_world_free(s.w);
}

static void goaway_without_error_lets_pushes_complete(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a");
	UNTIL(s.w, gate_find_at(s.client, "/a"));
	gate_shutdown(s.at->peer);
	gate_passes(s.w);
	gate_answer(a, 200, 30000, true);
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, gate_find_at(s.client, "/a")->is_over && s.page->is_over);
	assert_int_equal(gate_find_at(s.client, "/a")->received, 30000);
	assert_int_equal(s.page->received, 5);
	UNTIL(s.w, s.at->peer->ended);
	gate_world_free(s.w);
}

static void no_promise_is_sent_after_the_clients_goaway(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *a = gate_promise(s.at, "http", "example.com", "/a");
	UNTIL(s.w, gate_find_at(s.client, "/a"));
	session_shutdown(s.client->h2, net_now(s.w->loop));
	net_conn_dirty(s.client->net);
	gate_passes(s.w);
	struct gate_stream *b = gate_promise(s.at, "http", "example.com", "/b");
	UNTIL(s.w, b->is_over);
	assert_int_equal(b->code, SESSION_CANCEL);
	gate_answer(a, 200, 3, true);
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, gate_find_at(s.client, "/a")->is_over && s.page->is_over);
	assert_int_equal(gate_find_at(s.client, "/a")->received, 3);
	assert_int_equal(s.page->received, 5);
	gate_world_free(s.w);
}

/* ---- limits on refusals ---- */

static void past_reset_rate_the_route_uses_connections_without_push(void **state)
{
	(void)state;
	struct scene s = scene_new("reset-rate = 5\npromise-refusals = 1000", NULL, NULL);
	for (unsigned i = 0; i < 20; i++)
		gate_promise(s.at, "http", "b.example", "/no");
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, s.page->is_over);
	assert_int_equal(s.page->received, 5);
	struct gate_stream *next = gate_get(s.client, "/next");
	UNTIL(s.w, gate_find(s.w, "/next"));
	struct gate_peer *o = gate_find(s.w, "/next")->peer;
	assert_ptr_not_equal(o, s.at->peer);
	assert_int_equal(o->enable_push, 0);
	gate_answer(gate_find(s.w, "/next"), 200, 5, true);
	UNTIL(s.w, next->is_over);
	/* No setting of the live connection has changed, and it lives. */
	assert_int_equal(s.at->peer->settings_came, 1);
	assert_false(s.at->peer->goaway_came);
	gate_world_free(s.w);
}

static void past_promise_refusals_push_is_turned_off_on_the_connection(void **state)
{
	(void)state;
	struct scene s = scene_new("reset-rate = 100000\npromise-refusals = 10", NULL, NULL);
	struct gate_stream *other = gate_get(s.client, "/other");
	UNTIL(s.w, gate_find(s.w, "/other"));
	struct gate_stream *good = gate_promise(s.at, "http", "example.com", "/good");
	for (unsigned i = 0; i < 20; i++)
		gate_promise(s.at, "http", "b.example", "/no");
	UNTIL(s.w, s.at->peer->settings_came == 2);
	assert_int_equal(h2_peer_settings(s.at->peer->h2)->enable_push, 0);
	assert_null(gate_promise(s.at, "http", "example.com", "/late"));
	/* What was under way goes on. */
	gate_answer(good, 200, 3, true);
	gate_answer(s.at, 200, 5, true);
	gate_answer(gate_find(s.w, "/other"), 200, 5, true);
	UNTIL(s.w, other->is_over && s.page->is_over && gate_find_at(s.client, "/good")->is_over);
	assert_int_equal(gate_find_at(s.client, "/good")->received, 3);
	assert_int_equal(other->received, 5);
	assert_false(s.at->peer->failed);
	/* New requests use the other pool. */
	gate_get(s.client, "/next");
	UNTIL(s.w, gate_find(s.w, "/next"));
	assert_int_equal(gate_find(s.w, "/next")->peer->enable_push, 0);
	assert_ptr_not_equal(gate_find(s.w, "/next")->peer, s.at->peer);
	gate_world_free(s.w);
}

static void promises_above_max_pushes_per_parent_are_refused(void **state)
{
	(void)state;
	struct scene s = scene_new("max-pushes-per-parent = 3", NULL, NULL);
	struct gate_stream *promise[5];
	for (unsigned i = 0; i < 5; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		promise[i] = gate_promise(s.at, "http", "example.com", path);
	}
	UNTIL(s.w, promise[3]->is_over && promise[4]->is_over);
	assert_int_equal(promise[3]->code, SESSION_REFUSED_STREAM);
	assert_int_equal(promise[4]->code, SESSION_REFUSED_STREAM);
	UNTIL(s.w, s.client->stream_count == 4);
	assert_false(promise[2]->is_over);
	gate_world_free(s.w);
}

/* Unsent promises count as bytes waiting for the client, as unsent pushed responses do. */
static void unread_promises_count_as_pushed_bytes(void **state)
{
	(void)state;
	enum { PATHS = 80, PATH_BYTES = 1000 };
	char *text = malloc(PATHS * (PATH_BYTES + 20) + 100);
	char long_text[PATH_BYTES + 1] = "";
	memset(long_text, 'Z', PATH_BYTES); /* eight bits of a Huffman code */
	int n = sprintf(text, "[route r]\norigin = a\n[preload p]\n");
	for (int i = 0; i < PATHS; i++)
		n += sprintf(text + n, "add = /%s%d\n", long_text, i);
	struct scene s = scene_new("default-action = forward\nmax-push-bytes = 64k", NULL, text);
	free(text);
	size_t reason = policy_reason_position(&policy_reason_BYTES_CAP);
	uint64_t refused = s.w->counters.push[POLICY_CONFIG][POLICY_DROP][reason];
	assert_in_range(refused, 1, PATHS - 1);
	UNTIL(s.w, s.client->stream_count == 1 + PATHS - refused);
	/* It has read them. */
	gate_get(s.client, "/next");
	UNTIL(s.w, s.client->stream_count > 2 + PATHS - refused);
	gate_world_free(s.w);
}

/* ---- a page that was held ---- */

/* The origin has pushed /next with its page, but not answered it; the client then asks for it. */
static struct gate_stream *ask_for_held_page(struct scene *s, struct gate_stream **asked, const char *cookie)
{
	struct gate_stream *next = gate_promise(s->at, "http", "example.com", "/next");
	UNTIL(s->w, s->w->counters.pushes_held == 1);
	*asked = gate_request(s->client, "GET", "example.com", "/next", true, "cookie", cookie, NULL);
	gate_passes(s->w);
	assert_ptr_equal(gate_find(s->w, "/next"), next); /* it waits for the push */
	return next;
}

#define HELD_PAGE "[route r]\norigin = a\n[push hold]\npromised-path = /next\naction = hold\n"                            \
		  "[push own]\naction = forward\n[preload p]\npath = /next\nadd = /add.css\nlink = yes\n"

/* covers: R40 */
static void page_has_its_own_pushes_although_it_was_held(void **state)
{
	(void)state;
	static const char link[] = "</link.css>; rel=preload; x-http2-push-only";
	/* It is for all clients; or the cookie that has changed keeps it from this one, so that it is fetched again. */
	static const char *const kinds[] = {"public, max-age=60", "private, max-age=60"};
	for (size_t i = 0; i < 2; i++) {
		struct scene s = scene_new(NULL, NULL, HELD_PAGE);
		struct gate_stream *asked, *next = ask_for_held_page(&s, &asked, "a=1");
		gate_answer_fields(next, 200, true, "cache-control", kinds[i], "link", link, NULL);
		if (i == 1) {
			UNTIL(s.w, gate_find(s.w, "/next") != next);
			gate_answer_fields(gate_find(s.w, "/next"), 200, true, "link", link, NULL);
		}
		UNTIL(s.w, asked->is_over);
		assert_int_equal(asked->status, 200);
		assert_int_equal(s.w->counters.holds_claimed, i == 0);
		assert_non_null(gate_find_at(s.client, "/add.css"));
		assert_non_null(gate_find_at(s.client, "/link.css"));
		assert_null(http_head_find(asked->head, HTTP_TOKEN_LINK));
		gate_world_free(s.w);
	}
}

/* covers: P-hold-missed */
static void rule_is_told_why_nobody_could_claim_what_it_held(void **state)
{
	(void)state;
	static const struct {
		const char *name, *value;
		enum hold_miss miss;
	} rows[] = {{"vary", "*", HOLD_MISS_VARY}, {"cache-control", "max-age=0", HOLD_MISS_NOT_FRESH}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene_new(NULL, NULL, HELD_PAGE);
		struct gate_stream *next = gate_promise(s.at, "http", "example.com", "/next");
		UNTIL(s.w, s.w->counters.pushes_held == 1);
		gate_answer_fields(next, 200, true, rows[i].name, rows[i].value, NULL);
		UNTIL(s.w, s.w->counters.pushes_open == 0);
		for (unsigned miss = 0; miss < HOLD_MISS_COUNT; miss++)
			assert_int_equal(s.w->gateway->rule_misses[0].count[miss], miss == rows[i].miss);
		gate_world_free(s.w);
	}
}

/* covers: P-hint-forwarded */
static void links_of_a_103_are_pushed_also_to_a_client_that_gets_none(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL,
	    "[route r]\norigin = a\n[push q]\naction = forward\ninterim = no\n[preload p]\nlink = yes\n");
	gate_answer_fields(s.at, 103, false, "link", "</a.css>; rel=preload", NULL);
	UNTIL(s.w, gate_find_at(s.client, "/a.css"));
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, s.page->is_over);
	assert_int_equal(s.page->interims, 0);
	gate_world_free(s.w);
}

/* covers: P-src-link-skipped */
static void link_past_the_limit_is_hidden_too(void **state)
{
	(void)state;
	static const char hidden[] = ", </secret>; rel=preload; x-http2-push-only, </end>; rel=next";
	char link[4096] = "</0>; rel=preload";
	size_t n = strlen(link);
	for (unsigned i = 1; i < LIMIT_LINKS_PER_RESPONSE; i++)
		n += (size_t)snprintf(link + n, sizeof(link) - n, ", </%u>; rel=preload", i);
	snprintf(link + n, sizeof(link) - n, "%s", hidden);
	struct scene s = scene_new(NULL, NULL, "[route r]\norigin = a\n[preload p]\nlink = yes\n");
	struct exchange *x = list_first(&s.w->gateway->relay.live, struct exchange, link);
	struct client_facts facts;
	struct http_head *early = http_head_new(s.w->heads);
	http_head_add_token(early, HTTP_TOKEN_PSEUDO_STATUS, SLICE("103"));
	assert_null(http_head_validate(early, HTTP_RESPONSE));
	http_head_add_token(early, HTTP_TOKEN_LINK, slice_of_string(link));
	assert_true(offer_on_interim(&s.w->gateway->offers, client_facts(x, &facts), x, early));
	gate_answer_fields(s.at, 200, true, "link", link, NULL);
	UNTIL(s.w, s.page->is_over);
	const struct http_head *heads[] = {early, s.page->head};
	for (size_t i = 0; i < 2; i++) {
		const struct http_field *f = http_head_find(heads[i], HTTP_TOKEN_LINK);
		assert_non_null(f);
		assert_null(memmem(f->value.ptr, f->value.len, "</secret>", 9));
		assert_non_null(memmem(f->value.ptr, f->value.len, "</end>", 6));
	}
	http_head_free(early);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(origin_may_promise_for_the_authority_of_its_request),
	    cmocka_unit_test(authority_routed_to_another_origin_is_refused),
	    cmocka_unit_test(path_routed_to_another_origin_is_refused),
	    cmocka_unit_test(authority_without_route_is_refused),
	    cmocka_unit_test(another_authority_of_the_same_origin_is_forwarded),
	    cmocka_unit_test(the_origins_server_authority_is_mapped_back),
	    cmocka_unit_test(the_authority_that_we_sent_is_mapped_back),
	    cmocka_unit_test(what_the_client_may_not_ask_for_is_not_promised_to_it),
	    cmocka_unit_test(another_scheme_is_refused),
	    cmocka_unit_test(a_tls_client_before_a_cleartext_origin_gets_promises_it_can_accept),
	    cmocka_unit_test(authority_outside_the_listeners_certificate_is_dropped),
	    cmocka_unit_test(a_client_without_push_is_promised_nothing),
	    cmocka_unit_test(pushed_responses_keep_to_the_clients_limit),
	    cmocka_unit_test(push_that_waits_is_whole_when_all_announced_bytes_came),
	    cmocka_unit_test(interim_response_does_not_block_its_own_push),
	    cmocka_unit_test(a_raised_limit_starts_the_pushes_that_wait),
	    cmocka_unit_test(a_push_that_waits_too_long_is_cancelled_on_both_sides),
	    cmocka_unit_test(reset_by_the_origin_starts_the_next_waiting_push),
	    cmocka_unit_test(a_clients_reset_reaches_the_origin_with_its_code),
	    cmocka_unit_test(a_lost_client_cancels_its_requests_and_promises),
	    cmocka_unit_test(a_push_outlives_its_parent),
	    cmocka_unit_test(a_promise_for_a_parent_that_the_client_has_reset_is_cancelled),
	    cmocka_unit_test(a_lost_origin_resets_its_pushes_and_the_client_lives),
	    cmocka_unit_test(goaway_without_error_lets_pushes_complete),
	    cmocka_unit_test(no_promise_is_sent_after_the_clients_goaway),
	    cmocka_unit_test(past_reset_rate_the_route_uses_connections_without_push),
	    cmocka_unit_test(past_promise_refusals_push_is_turned_off_on_the_connection),
	    cmocka_unit_test(promises_above_max_pushes_per_parent_are_refused),
	    cmocka_unit_test(unread_promises_count_as_pushed_bytes),
	    cmocka_unit_test(page_has_its_own_pushes_although_it_was_held),
	    cmocka_unit_test(rule_is_told_why_nobody_could_claim_what_it_held),
	    cmocka_unit_test(links_of_a_103_are_pushed_also_to_a_client_that_gets_none),
	    cmocka_unit_test(link_past_the_limit_is_hidden_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
