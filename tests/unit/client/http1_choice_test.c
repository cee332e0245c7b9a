/* SPDX-License-Identifier: MIT */
/* Which version of HTTP a client's connection speaks: by its first bytes in cleartext, by ALPN over TLS, and by the
 * listener's `protocols`. */
#include "tests/unit/client/http1_client.h"

/* ---- in cleartext ---- */

static void http1_is_what_does_not_begin_like_http2(void **state)
{
	(void)state;
	static const char *const methods[] = {"GET", "P", "PRI", "PRIX", "PROPFIND", "X", "SEARCH"};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	for (unsigned i = 0; i < 7; i++) {
		char request[128], path[16];
		snprintf(path, sizeof(path), "/%u", i);
		snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: example.com\r\n\r\n", methods[i], path);
		struct script_peer *c = http1_client(w, request);
		answer(w, path, 200, 10);
		assert_string_equal(gate_find(w, path)->method, methods[i]);
		SCRIPT_SEES(c, "HTTP/1.1 200");
		SCRIPT_SEES(c, "\r\n\r\na\r\n0000000000\r\n0\r\n\r\n");
	}
	assert_int_equal(w->counters.not_http2, 0);
	gate_world_free(w);
}

/* The bytes by which the protocol was chosen are part of the request. */
static void no_byte_is_lost_when_bytes_come_one_at_a_time(void **state)
{
	(void)state;
	static const char *const requests[] = {
	    "POST /up HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhello",
	    "PRI * HTTP/2.0X /up HTTP/1.1\r\n", "PRI * HTTP/1.1\r\nHost: example.com\r\n\r\n"};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct script_peer *c = http1_client(w, "");
		UNTIL(w, net_conn_is_open(c->net));
		for (const char *at = requests[i]; *at; at++) {
			script_put(c, at, 1);
			net_run_once(w->loop, 0);
			net_run_once(w->loop, 0);
		}
		if (i > 0) {
			SCRIPT_SEES(c, "HTTP/1.1 400 ");
			continue;
		}
		answer(w, "/up", 204, 0);
		assert_int_equal(gate_find(w, "/up")->received, 5);
		assert_memory_equal(gate_find(w, "/up")->text, "hello", 5);
		SCRIPT_SEES(c, "HTTP/1.1 204 ");
	}
	gate_world_free(w);
}

static void http2_is_still_chosen_when_its_preface_comes_in_pieces(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	for (size_t n = 1; n < H2_PREFACE_LEN; n += 5) {
		static const char empty_settings[] = "\0\0\0\4\0\0\0\0\0";
		struct script_peer *c = http1_client(w, "");
		script_put(c, H2_PREFACE, n);
		UNTIL(w, net_conn_is_open(c->net) && c->out_bytes == 0);
		gate_passes(w);
		script_put(c, &H2_PREFACE[n], H2_PREFACE_LEN - n);
		script_put(c, empty_settings, 9);
		UNTIL(w, c->in_bytes >= 9);
		assert_int_equal(c->in[3], 4); /* the frame's type: SETTINGS */
		script_abort(c);
	}
	gate_world_free(w);
}

static void first_bytes_that_stay_away_are_late(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "preface-timeout = 50ms", NULL, NULL);
	struct script_peer *silent = http1_client(w, ""), *half = http1_client(w, "PRI * HT");
	UNTIL(w, silent->ended && half->ended);
	assert_int_equal(silent->in_bytes + half->in_bytes, 0);
	assert_int_equal(w->counters.preface_late, 2);
	gate_world_free(w);
}

/* ---- protocols ---- */

static void listener_without_http1_answers_505(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "protocols = h2", NULL, NULL);
	struct script_peer *c = http1_client(w, GET("/"));
	SCRIPT_SEES(c, "HTTP/1.1 505 ");
	SCRIPT_SEES(c, "This endpoint speaks HTTP/2.\n");
	UNTIL(w, c->ended);
	assert_int_equal(w->counters.not_http2, 1);
	gate_world_free(w);
}

static void listener_without_http2_refuses_its_preface(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "protocols = http/1.1", NULL, NULL);
	struct script_peer *http2 = http1_client(w, H2_PREFACE);
	SCRIPT_SEES(http2, "HTTP/1.1 505 ");
	UNTIL(w, http2->ended);
	struct script_peer *c = http1_client(w, GET("/"));
	answer(w, "/", 200, 5);
	SCRIPT_SEES(c, "HTTP/1.1 200 ");
	assert_int_equal(script_times(http2, "HTTP/1.1"), 1);
	gate_world_free(w);
}

/* ---- over TLS ---- */

static void served(struct tls_world *t, struct script_peer *c)
{
	put(c, "GET /tls HTTP/1.1\r\nHost: test1.invalid\r\n\r\n");
	answer(t->w, "/tls", 200, 5);
	assert_string_equal(gate_find(t->w, "/tls")->scheme, "https");
	SCRIPT_SEES(c, "HTTP/1.1 200 ");
	assert_int_equal(t->w->counters.not_http2, 0);
}

static void alpn_chooses_http1_and_so_does_its_absence(void **state)
{
	(void)state;
	static const char *const alpn[] = {"http/1.1", NULL};
	static const char *const listen[] = {NULL, "protocols = http/1.1"};
	for (unsigned i = 0; i < 4; i++) {
		struct tls_world t;
		tls_world(&t, alpn[i % 2], listen[i / 2]);
		served(&t, tls_client(&t));
		tls_world_free(&t);
	}
}

/* RFC 7301 3.2: the server prefers; pushes need HTTP/2. */
static void client_that_offers_both_speaks_http2(void **state)
{
	(void)state;
	struct tls_world t;
	tls_world(&t, "http/1.1,h2", NULL);
	struct script_peer *c = tls_client(&t);
	UNTIL(t.w, c->in_bytes >= 9);
	assert_int_equal(c->in[3], 4);
	tls_world_free(&t);
	tls_world(&t, "h2,http/1.1", "protocols = http/1.1");
	served(&t, tls_client(&t));
	tls_world_free(&t);
}

static void handshake_fails_when_alpn_offers_nothing_that_the_listener_speaks(void **state)
{
	(void)state;
	static const char *const cases[][2] = {{"h2", "protocols = http/1.1"}, {"http/1.1", "protocols = h2"}};
	for (unsigned i = 0; i < 2; i++) {
		struct tls_world t;
		tls_world(&t, cases[i][0], cases[i][1]);
		struct script_peer *c = tls_client(&t);
		UNTIL(t.w, c->ended);
		assert_int_equal(c->end, NET_END_ALERT);
		assert_int_equal(c->in_bytes, 0);
		UNTIL(t.w, t.w->counters.tls_failed == 1);
		tls_world_free(&t);
	}
}

static void listener_without_http1_answers_a_client_without_alpn_505(void **state)
{
	(void)state;
	struct tls_world t;
	tls_world(&t, NULL, "protocols = h2");
	struct script_peer *c = tls_client(&t);
	put(c, GET("/"));
	SCRIPT_SEES(c, "HTTP/1.1 505 ");
	UNTIL(t.w, c->ended);
	tls_world_free(&t);
}

/* The session begins with the handshake's end, so that the limits of HTTP/1 hold, not preface-timeout. */
static void client_over_tls_without_alpn_may_wait_with_its_first_request(void **state)
{
	(void)state;
	struct tls_world t;
	tls_world(&t, NULL, "preface-timeout = 1ms\nheader-timeout = 1s");
	struct script_peer *c = tls_client(&t);
	UNTIL(t.w, client_of(t.w) && client_of(t.w)->session);
	gate_passes(t.w);
	usec since = net_now(t.w->loop);
	UNTIL(t.w, net_now(t.w->loop) > since + 20 * USEC_PER_MSEC);
	assert_false(c->ended);
	assert_string_equal(session_name(client_of(t.w)->session), "http/1.1");
	served(&t, c);
	tls_world_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(http1_is_what_does_not_begin_like_http2),
	    cmocka_unit_test(no_byte_is_lost_when_bytes_come_one_at_a_time),
	    cmocka_unit_test(http2_is_still_chosen_when_its_preface_comes_in_pieces),
	    cmocka_unit_test(first_bytes_that_stay_away_are_late),
	    cmocka_unit_test(listener_without_http1_answers_505),
	    cmocka_unit_test(listener_without_http2_refuses_its_preface),
	    cmocka_unit_test(alpn_chooses_http1_and_so_does_its_absence),
	    cmocka_unit_test(client_that_offers_both_speaks_http2),
	    cmocka_unit_test(handshake_fails_when_alpn_offers_nothing_that_the_listener_speaks),
	    cmocka_unit_test(listener_without_http1_answers_a_client_without_alpn_505),
	    cmocka_unit_test(client_over_tls_without_alpn_may_wait_with_its_first_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
