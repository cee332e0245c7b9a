/* SPDX-License-Identifier: MIT */
/*
 * Two protocols in one gateway: each connection has the one that its first bytes or ALPN name, and both hops of an
 * exchange may differ.
 */
#include "tests/support/script_peer.h"
#include "tests/unit/conf/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The first one is spoken with origins in cleartext. */
static const struct session_protocol *const h2_first[] = {&protocols_h2, &session_scripted, NULL};
static const struct session_protocol *const script_first[] = {&session_scripted, &protocols_h2, NULL};

#define READY "ready 100 65535 1"

static struct gate_world *before_h2(void)
{
	return gate_world_with(h2_first, NULL, NULL, NULL, NULL);
}

static struct gate_world *before_script(const char *more)
{
	struct gate_world *w = gate_world_with(script_first, NULL, NULL, NULL, more);
	script_site(&w->sites[0]);
	return w;
}

/* ---- a scripted client, an HTTP/2 origin ---- */

static void a_scripted_client_is_served_by_an_http2_origin(void **state)
{
	(void)state;
	struct gate_world *w = before_h2();
	struct script_peer *client = script_client(w);
	script_say(client, "head 1 POST http example.com /up");
	script_say(client, "data 1 5 hello");
	script_say(client, "trailers 1|x-sum: 1");
	UNTIL(w, gate_find(w, "/up") && gate_find(w, "/up")->ended);
	struct gate_stream *up = gate_find(w, "/up");
	assert_memory_equal(up->text, "hello", 5);
	assert_int_equal(up->trailers, 1);
	gate_answer_fields(up, 103, false, "x-early", "1", NULL);
	gate_answer(up, 200, 3000, false);
	UNTIL(w, up->out == 0);
	gate_trailers(up);
	SCRIPT_SEES(client, "head 1 103|x-early: 1");
	SCRIPT_SEES(client, "head 1 200|");
	SCRIPT_SEES(client, "trailers 1|x-checksum: 1");
	assert_int_equal(script_body(client, 1), 3000);
	gate_world_free(w);
}

static void an_http2_origins_push_reaches_a_scripted_client(void **state)
{
	(void)state;
	struct gate_world *w = before_h2();
	struct script_peer *client = script_client(w);
	script_say(client, "head 1. GET http example.com /page");
	UNTIL(w, gate_find(w, "/page"));
	struct gate_stream *page = gate_find(w, "/page");
	struct gate_stream *a = gate_promise(page, "http", "example.com", "/a.css");
	struct gate_stream *b = gate_promise(page, "http", "example.com", "/b.css");
	SCRIPT_SEES(client, "promise 1 2 GET http example.com /a.css");
	SCRIPT_SEES(client, "promise 1 4 GET http example.com /b.css");
	gate_answer(a, 200, 10, true);
	SCRIPT_SEES(client, "data 2. 10 ");
	script_say(client, "reset 4 8");
	UNTIL(w, b->was_reset);
	assert_int_equal(b->code, SESSION_CANCEL);
	gate_reset_stream(page, SESSION_INTERNAL_ERROR);
	SCRIPT_SEES(client, "head 1 502");
	gate_world_free(w);
}

/* ---- an HTTP/2 client, a scripted origin ---- */

static void an_http2_client_is_served_by_a_scripted_origin(void **state)
{
	(void)state;
	struct gate_world *w = before_script(NULL);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *up =
	    gate_request(client, "POST", "example.com", "/up", false, "x-a", "1", NULL);
	gate_more(up, 5000, false);
	UNTIL(w, up->out == 0);
	gate_trailers(up);
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, READY);
	SCRIPT_SEES(origin, "head 1 POST http example.com /up|x-a: 1");
	SCRIPT_SEES(origin, "trailers 1|x-checksum: 1");
	assert_int_equal(script_body(origin, 1), 5000);
	script_say(origin, "head 1 103|x-early: 1");
	script_say(origin, "head 1 200");
	script_say(origin, "data 1 5 hello");
	script_say(origin, "trailers 1|x-end: 1");
	UNTIL(w, up->trailers == 1);
	assert_int_equal(up->status, 200);
	assert_int_equal(up->interims, 1);
	assert_memory_equal(up->text, "hello", 5);
	gate_world_free(w);
}

static void a_scripted_origins_push_reaches_an_http2_client(void **state)
{
	(void)state;
	struct gate_world *w = before_script(NULL);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *page = gate_get(client, "/page");
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, READY);
	script_say(origin, "promise 1 2 GET http example.com /a.css");
	script_say(origin, "promise 1 4 GET http example.com /b.css");
	UNTIL(w, gate_find_at(client, "/b.css"));
	script_say(origin, "head 2 200");
	script_say(origin, "data 2. 3 css");
	struct gate_stream *pushed = gate_find_at(client, "/a.css");
	UNTIL(w, pushed->ended);
	assert_memory_equal(pushed->text, "css", 3);
	gate_reset_stream(gate_find_at(client, "/b.css"), SESSION_CANCEL);
	SCRIPT_SEES(origin, "reset 4 8");
	script_abort(origin);
	UNTIL(w, page->status == 502);
	gate_world_free(w);
}

/* ---- by first bytes ---- */

static void the_first_bytes_choose_also_one_at_a_time(void **state)
{
	(void)state;
	static const char first[] = "script/1\nready 100 65535 1\nhead 1. GET http example.com /slow\n";
	struct gate_world *w = before_h2();
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	for (size_t i = 0; i < sizeof(first) - 1; i++) {
		script_put(client, first + i, 1);
		gate_passes(w);
	}
	UNTIL(w, gate_find(w, "/slow"));
	gate_answer(gate_find(w, "/slow"), 204, 0, true);
	SCRIPT_SEES(client, "head 1. 204");
	gate_world_free(w);
}

/* Knows its own only when all bytes are there that it may look at. */
static enum protocols_match match_late(const uint8_t *bytes, size_t n)
{
	(void)bytes;
	return n < PROTOCOLS_MATCH_BYTES ? PROTOCOLS_MATCH_MORE : PROTOCOLS_MATCH_YES;
}

static void whole_frames_among_the_first_bytes_are_not_lost(void **state)
{
	(void)state;
	struct session_protocol late = session_scripted;
	late.match = match_late;
	const struct session_protocol *const protocols[] = {&late, NULL};
	struct gate_world *w = gate_world_with(protocols, NULL, NULL, NULL, NULL);
	script_site(&w->sites[0]);
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_put(client, "script/1\nready 9 9 1\nhe", 23); /* "ready" is an event */
	gate_passes(w);
	script_say(client, "ad 1. GET http example.com /page");
	script_say(script_origin(&w->sites[0], 0), READY);
	SCRIPT_SEES(script_origin(&w->sites[0], 0), "head 1. GET http example.com /page");
	gate_world_free(w);
}

static void http2_is_chosen_by_its_first_bytes_one_at_a_time(void **state)
{
	(void)state;
	static const char first[] = H2_PREFACE "\0\0\0\4\0\0\0\0\0"
					       "\0\0\x13\1\5\0\0\0\1"
					       "\x82\x86\x41\xb"
					       "example.com"
					       "\4\2/a";
	struct gate_world *w = before_script(NULL);
	int fd = gate_raw(w);
	for (size_t i = 0; i < sizeof(first) - 1; i++) {
		assert_int_equal(send(fd, first + i, 1, 0), 1);
		gate_passes(w);
	}
	struct script_peer *origin = script_origin(&w->sites[0], 0);
	script_say(origin, READY);
	SCRIPT_SEES(origin, "head 1. GET http example.com /a|");
	close(fd);
	gate_world_free(w);
}

static void first_bytes_of_neither_are_answered_505_with_the_names_of_both(void **state)
{
	(void)state;
	struct gate_world *w = before_h2();
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_say(client, "script/2");
	SCRIPT_SEES(client, "HTTP/1.1 505 ");
	SCRIPT_SEES(client, "content-length: 39\r\n");
	SCRIPT_SEES(client, "\r\n\r\nThis endpoint speaks HTTP/2, script/1.\n");
	UNTIL(w, w->counters.connections_open == 0);
	assert_int_equal(w->counters.not_http2, 1);
	gate_world_free(w);
}

static void first_bytes_that_stay_away_are_late(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_with(h2_first, NULL, "preface-timeout = 100ms", NULL, NULL);
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_put(client, "scrip", 5);
	UNTIL(w, client->ended);
	assert_int_equal(w->counters.preface_late, 1);
	gate_world_free(w);
}

/* ---- by ALPN ---- */

struct tls_files {
	char chain[64], key[64], listen[256];
};

static void write_file(char *name, size_t size, const char *text)
{
	snprintf(name, size, "/tmp/pushgate-choice-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct gate_world *tls_world(struct tls_files *f)
{
	write_file(f->chain, sizeof(f->chain), PEM_CERTIFICATE_1); /* for test1.invalid */
	write_file(f->key, sizeof(f->key), PEM_KEY_1);
	snprintf(f->listen, sizeof(f->listen), "certificate = %s\nkey = %s", f->chain, f->key);
	return gate_world_with(h2_first, NULL, f->listen, NULL, NULL);
}

static void tls_drop(struct tls_files *f)
{
	unlink(f->chain);
	unlink(f->key);
}

static struct net_tls *client_tls(const char *alpn)
{
	char error[128];
	const struct net_tls_client_options o = {.verify = false, .alpn = alpn};
	struct net_tls *tls = net_tls_client_new(&o, error, sizeof(error));
	assert_non_null(tls);
	return tls;
}

static void alpn_chooses_over_tls(void **state)
{
	(void)state;
	struct tls_files f;
	struct gate_world *w = tls_world(&f);
	struct net_tls *script = client_tls("script/1"), *h2 = client_tls("h2");
	struct script_peer *client = script_client_mute(w, script, "test1.invalid");
	SCRIPT_SEES(client, "ready "); /* before the client has said a word */
	script_say(client, "script/1");
	script_say(client, READY);
	script_say(client, "head 1. GET https test1.invalid /script");
	const struct gate_peer_options options = {.tls = h2, .server_name = "test1.invalid"};
	struct gate_peer *other = gate_client(w, &options);
	struct gate_stream *get = gate_request(other, "GET", "test1.invalid", "/h2", true, NULL);
	UNTIL(w, gate_find(w, "/script") && gate_find(w, "/h2"));
	gate_answer(gate_find(w, "/script"), 204, 0, true);
	gate_answer(gate_find(w, "/h2"), 204, 0, true);
	SCRIPT_SEES(client, "head 1. 204");
	UNTIL(w, get->status == 204);
	gate_world_free(w);
	net_tls_free(script);
	net_tls_free(h2);
	tls_drop(&f);
}

static void over_tls_the_first_bytes_do_not_choose(void **state)
{
	(void)state;
	struct tls_files f;
	struct gate_world *w = tls_world(&f);
	struct net_tls *none = client_tls(NULL);
	struct script_peer *client = script_client_mute(w, none, "test1.invalid");
	script_say(client, "script/1");
	SCRIPT_SEES(client, "HTTP/1.1 505 ");
	UNTIL(w, client->ended);
	assert_int_equal(w->counters.not_http2, 1);
	gate_world_free(w);
	net_tls_free(none);
	tls_drop(&f);
}

static void a_client_whose_alpn_names_neither_is_refused(void **state)
{
	(void)state;
	struct tls_files f;
	struct gate_world *w = tls_world(&f);
	struct net_tls *other = client_tls("script/2");
	struct script_peer *client = script_client_mute(w, other, "test1.invalid");
	script_say(client, "script/1");
	UNTIL(w, client->ended);
	assert_false(script_saw(client, "ready "));
	assert_int_equal(w->counters.not_http2 + w->counters.tls_failed, 1);
	gate_world_free(w);
	net_tls_free(other);
	tls_drop(&f);
}

/* ---- an origin over TLS ---- */

static void answer_204(struct gate_stream *s)
{
	gate_answer(s, 204, 0, true);
}

/* An origin whose certificate nobody verifies, and that knows this protocol alone. */
static unsigned status_from_origin(const char *alpn, bool is_script)
{
	struct tls_files f;
	char error[128];
	write_file(f.chain, sizeof(f.chain), PEM_CERTIFICATE_1);
	write_file(f.key, sizeof(f.key), PEM_KEY_1);
	const struct net_certificate certificate = {f.chain, f.key};
	const struct net_tls_server_options o = {
	    .certificates = &certificate, .certificate_count = 1, .alpn = alpn};
	struct net_tls *tls = net_tls_server_new(&o, error, sizeof(error));
	assert_non_null(tls);
	struct gate_world *w = gate_world_with(h2_first, NULL, NULL, NULL,
	    "[origin t]\nserver = h2://%a\ntls-verify = no\n[route t]\norigin = t\n");
	w->sites[0].options.tls = tls;
	w->sites[0].serve = answer_204;
	if (is_script)
		script_site(&w->sites[0]);
	struct gate_stream *get = gate_get(gate_client(w, NULL), "/page");
	if (is_script) {
		struct script_peer *origin = script_origin(&w->sites[0], 0);
		script_say(origin, READY);
		UNTIL(w, get->status || script_saw(origin, "head 1. "));
		script_say(origin, "head 1. 204");
	}
	UNTIL(w, get->status);
	unsigned status = get->status;
	gate_world_free(w);
	net_tls_free(tls);
	tls_drop(&f);
	return status;
}

static void alpn_chooses_also_with_an_origin(void **state)
{
	(void)state;
	assert_int_equal(status_from_origin("script/1", true), 204);
	assert_int_equal(status_from_origin("h2", false), 204);
}

static void an_origin_that_agrees_on_neither_is_not_spoken_with(void **state)
{
	(void)state;
	assert_int_equal(status_from_origin("script/2", true), 503); /* its alert */
	assert_int_equal(status_from_origin(NULL, true), 503);       /* our refusal */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_scripted_client_is_served_by_an_http2_origin),
	    cmocka_unit_test(an_http2_origins_push_reaches_a_scripted_client),
	    cmocka_unit_test(an_http2_client_is_served_by_a_scripted_origin),
	    cmocka_unit_test(a_scripted_origins_push_reaches_an_http2_client),
	    cmocka_unit_test(the_first_bytes_choose_also_one_at_a_time),
	    cmocka_unit_test(whole_frames_among_the_first_bytes_are_not_lost),
	    cmocka_unit_test(http2_is_chosen_by_its_first_bytes_one_at_a_time),
	    cmocka_unit_test(first_bytes_of_neither_are_answered_505_with_the_names_of_both),
	    cmocka_unit_test(first_bytes_that_stay_away_are_late),
	    cmocka_unit_test(alpn_chooses_over_tls),
	    cmocka_unit_test(over_tls_the_first_bytes_do_not_choose),
	    cmocka_unit_test(a_client_whose_alpn_names_neither_is_refused),
	    cmocka_unit_test(alpn_chooses_also_with_an_origin),
	    cmocka_unit_test(an_origin_that_agrees_on_neither_is_not_spoken_with),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
