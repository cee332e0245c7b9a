/* SPDX-License-Identifier: MIT */
/* Destinations that requests name, in a whole gateway: shared, bounded, evicted, and judged for each request. */
#include "tests/support/script_peer.h"

#include <sys/resource.h>

#include <stdio.h>

#include "proxy/gateway/gateway_private.h"
#include "proxy/upstream/dynamic_destination.h"

#define LOCAL "access = a\nmode = forward\n"
#define RULES "[access a]\nallow = address=127.0.0.0/8 port=1-65535\n"

/* The hosts file gives addresses; no resolver answers. */
static struct gate_world *world(const char *listen, const char *more)
{
	return gate_world_new("resolver = 127.0.0.1:1\ndns-timeout = 100ms\n", listen, NULL, more);
}

static struct gate_stream *ask(struct gate_peer *c, const char *host, unsigned port, const char *path)
{
	char authority[128];
	snprintf(authority, sizeof(authority), "%s:%u", host, port);
	return gate_request(c, "GET", authority, path, true, NULL);
}

static void answer(struct script_peer *p)
{
	static const char text[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
	script_put(p, text, sizeof(text) - 1);
}

static void expect(struct gate_world *w, struct gate_stream *s, unsigned status, const char *error)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
	if (error && !strstr(s->status_error, error))
		fail_msg("%s, and not %s", s->status_error, error);
}

/* ---- shared ---- */

static void requests_for_one_host_share_its_destination(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES);
	struct gate_site *site = &w->sites[0];
	script_site(site);
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test other.test\n"));
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = ask(c, "one.test", site->port, "/1");
	struct script_peer *o = script_origin(site, 0);
	SCRIPT_SEES(o, "GET /1 HTTP/1.1\r\n");
	assert_true(script_saw(o, "host: one.test:"));
	answer(o);
	expect(w, s, 200, NULL);
	/* The case of the name and a final dot do not count, and the connection is used again. */
	s = ask(c, "ONE.test.", site->port, "/2");
	SCRIPT_SEES(o, "GET /2 HTTP/1.1\r\n");
	answer(o);
	expect(w, s, 200, NULL);
	assert_int_equal(w->counters.destinations_made, 1);
	/* Another name of the same address is another destination. */
	s = ask(c, "other.test", site->port, "/3");
	SCRIPT_SEES(script_origin(site, 1), "GET /3 HTTP/1.1\r\n");
	answer(script_origin(site, 1));
	expect(w, s, 200, NULL);
	assert_int_equal(w->counters.destinations_made, 2);
	assert_int_equal(w->counters.destinations, 2);
	gate_world_free(w);
}

/* How long the newest connection, which is idle, stays open. */
static usec stays(struct gate_world *w)
{
	struct origin_conn *c = gate_newest_conn(w);
	UNTIL(w, c->quiet_since != USEC_NEVER);
	gate_passes(w);
	return c->timer.deadline - c->quiet_since;
}

/* A flood of hosts that are asked once must not keep a connection to each of them for idle-timeout. */
static void a_connection_to_a_host_that_was_asked_once_is_soon_closed(void **state)
{
	(void)state;
	static const struct {
		const char *option;
		usec once, again;
	} rows[] = {
	    {"", 5 * USEC_PER_SEC, 60 * USEC_PER_SEC},
	    {"idle-timeout = 2s\n", 2 * USEC_PER_SEC, 2 * USEC_PER_SEC},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[256];
		snprintf(more, sizeof(more), RULES "[origin o]\nserver = forward:\n%s", rows[i].option);
		struct gate_world *w = world(LOCAL, more);
		struct gate_site *site = &w->sites[0];
		script_site(site);
		struct gate_peer *c = gate_client(w, NULL);
		for (unsigned n = 0; n < 2; n++) {
			struct gate_stream *s = ask(c, "127.0.0.1", site->port, n ? "/2" : "/1");
			SCRIPT_SEES(script_origin(site, 0), n ? "GET /2 HTTP/1.1\r\n" : "GET /1 HTTP/1.1\r\n");
			answer(script_origin(site, 0));
			expect(w, s, 200, NULL);
			usec wanted = n ? rows[i].again : rows[i].once, got = stays(w);
			assert_true(got >= wanted && got < wanted + USEC_PER_SEC);
		}
		gate_world_free(w);
	}
}

/* Servers take what follows such a login on its connection for requests of the same user. */
static void a_login_of_a_connection_is_nobody_elses(void **state)
{
	(void)state;
	static const char *const values[] = {"Negotiate YIIJ", "NTLM TlRM", "Basic YTpi"};
	for (size_t i = 0; i < 3; i++) {
		struct gate_world *w = world(LOCAL, RULES);
		struct gate_site *site = &w->sites[0];
		char authority[64];
		script_site(site);
		snprintf(authority, sizeof(authority), "127.0.0.1:%u", site->port);
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s =
		    gate_request(c, "GET", authority, "/1", true, "authorization", values[i], NULL);
		SCRIPT_SEES(script_origin(site, 0), "GET /1 HTTP/1.1\r\n");
		answer(script_origin(site, 0));
		expect(w, s, 200, NULL);
		s = ask(c, "127.0.0.1", site->port, "/2");
		size_t at = i < 2;
		SCRIPT_SEES(script_origin(site, at), "GET /2 HTTP/1.1\r\n");
		answer(script_origin(site, at));
		expect(w, s, 200, NULL);
		gate_world_free(w);
	}
}

/* ---- bounded ---- */

static void the_one_unused_for_the_longest_is_evicted(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES "[origin o]\nserver = forward:\nmax-destinations = 16\n");
	struct gate_site *site = &w->sites[0];
	script_site(site);
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 40; i++) {
		char host[32];
		snprintf(host, sizeof(host), "127.0.0.%u", 1 + i);
		/* Connects to the first address succeed, the others are refused. */
		struct gate_stream *s = ask(c, host, site->port, "/");
		if (i == 0) {
			SCRIPT_SEES(script_origin(site, 0), "GET / HTTP/1.1\r\n");
			answer(script_origin(site, 0));
		}
		expect(w, s, i == 0 ? 200 : 503, NULL);
		assert_true(w->counters.destinations <= 16);
	}
	gate_passes(w);
	assert_int_equal(w->counters.destinations_made, 40);
	assert_int_equal(w->counters.destinations_evicted, 24);
	assert_int_equal(w->counters.destinations, 16);
	/* The first one was evicted with its connection. */
	UNTIL(w, script_origin(site, 0)->ended);
	gate_world_free_gateway(w);
	assert_int_equal(w->counters.destinations, 0);
	gate_world_free(w);
}

static void when_all_are_in_use_the_next_is_refused(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES "[origin o]\nserver = forward:\nmax-destinations = 16\n");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *open[16];
	char host[32];
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test\n"));
	script_site(&w->sites[0]);
	for (unsigned i = 0; i < 16; i++) {
		snprintf(host, sizeof(host), "n%u.one.test", i);
		char hosts[512];
		size_t n = 0;
		for (unsigned k = 0; k <= i; k++)
			n += (size_t)snprintf(hosts + n, sizeof(hosts) - n, "127.0.0.1 n%u.one.test\n", k);
		gateway_set_hosts(w->gateway, slice_of_string(hosts));
		open[i] = ask(c, host, w->sites[0].port, "/open");
		SCRIPT_SEES(script_origin(&w->sites[0], i), "GET /open HTTP/1.1\r\n");
	}
	expect(w, ask(c, "127.0.0.9", w->sites[0].port, "/"), 503, "connection_limit_reached");
	answer(script_origin(&w->sites[0], 3));
	expect(w, open[3], 200, NULL);
	expect(w, ask(c, "127.0.0.9", w->sites[0].port, "/"), 503, "connection_refused");
	assert_int_equal(w->counters.destinations_evicted, 1);
	gate_world_free(w);
}

static void each_origin_has_room_of_its_own(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES
	    "[origin small]\nserver = forward:\nmax-destinations = 16\n[route small]\nhost = one.test\norigin = small\n"
	    "[origin large]\nserver = forward:\n[route large]\norigin = large\n");
	struct gate_peer *c = gate_client(w, NULL);
	gateway_set_hosts(w->gateway, SLICE("127.0.0.9 one.test\n"));
	for (unsigned i = 0; i < 20; i++) {
		char host[32];
		snprintf(host, sizeof(host), "127.0.1.%u", 1 + i);
		expect(w, ask(c, host, 1, "/"), 503, NULL);
	}
	for (unsigned port = 1; port <= 17; port++)
		expect(w, ask(c, "one.test", port, "/"), 503, NULL);
	gate_passes(w);
	assert_int_equal(w->counters.destinations, 20 + 16);
	assert_int_equal(w->counters.destinations_evicted, 1);
	gate_world_free(w);
}

/* The limit of descriptors is looked at when the gateway begins: half of them, and an eighth fewer once that is passed. */
static void no_more_are_evicted_for_their_connections_than_need_be(void **state)
{
	(void)state;
	enum { MOST = 16, LEFT = MOST - MOST / 8 };
	struct rlimit usual, low;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
	low = usual;
	low.rlim_cur = 2 * MOST;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	struct gate_world *w = world(LOCAL, RULES "[origin o]\nserver = forward:\n");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
	struct gate_site *site = &w->sites[0];
	gate_site_close(site); /* the site's listener has looked at the limit, too */
	gate_site_open(site);
	script_site(site);
	struct gate_peer *c = gate_client(w, NULL);
	char hosts[1024];
	size_t n = 0;
	for (unsigned i = 0; i <= MOST; i++)
		n += (size_t)snprintf(hosts + n, sizeof(hosts) - n, "127.0.0.1 n%u.test\n", i);
	gateway_set_hosts(w->gateway, slice_of_string(hosts));
	for (unsigned i = 0; i <= MOST; i++) {
		char host[32];
		snprintf(host, sizeof(host), "n%u.test", i);
		for (unsigned k = 1; k <= 2; k++) { /* what is asked for once is idle for a short time alone */
			struct gate_stream *s = ask(c, host, site->port, "/");
			UNTIL(w, script_origins(site) > i && script_times(script_origin(site, i), "GET / HTTP/1.1\r\n") == k);
			answer(script_origin(site, i));
			expect(w, s, 200, NULL);
		}
	}
	UNTIL(w, w->counters.destinations_evicted > 0);
	gate_passes(w);
	assert_int_equal(w->counters.destinations_evicted, MOST + 1 - LEFT);
	assert_int_equal(w->counters.destinations, LEFT);
	UNTIL(w, script_origin(site, 0)->ended); /* unused for the longest */
	assert_false(script_origin(site, MOST + 1 - LEFT)->ended);
	gate_world_free(w);
}

/* So that no loop pass takes long, however many were named at once. */
static void those_that_nobody_uses_are_forgotten_in_parts(void **state)
{
	(void)state;
	enum { COUNT = 300, AT_ONCE = 256 };
	struct gate_world *w = world(LOCAL, RULES);
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < COUNT; i++) {
		char host[32];
		snprintf(host, sizeof(host), "127.0.%u.%u", 1 + i / 200, 1 + i % 200);
		expect(w, ask(c, host, 1, "/"), 503, NULL); /* nobody listens there */
	}
	gate_passes(w);
	assert_int_equal(w->counters.destinations, COUNT);
	usec later = w->gateway->relay.now + 20 * USEC_PER_SEC;
	relay_advance(&w->gateway->relay, later);
	gate_passes(w);
	assert_int_equal(w->counters.destinations, COUNT - AT_ONCE);
	relay_advance(&w->gateway->relay, later + 4 * WHEEL_TICK_USEC);
	gate_passes(w);
	assert_int_equal(w->counters.destinations, 0);
	gate_world_free(w);
}

/* ---- judged ---- */

static void a_listener_of_ours_is_no_destination(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES);
	struct gate_peer *c = gate_client(w, NULL);
	unsigned port = net_address_port(&w->at);
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test\n"));
	/* The configuration may name any free port: what was connected to says more. */
	((struct conf_listen *)w->conf->listens)->address = w->at;
	expect(w, ask(c, "127.0.0.1", port, "/"), 403, "proxy_loop_detected");
	expect(w, ask(c, "one.test", port, "/"), 403, "proxy_loop_detected");
	/* A listener for all addresses. */
	struct address any = {.family = 4};
	net_address_set_ip(&((struct conf_listen *)w->conf->listens)->address, &any, (uint16_t)port);
	expect(w, ask(c, "127.0.0.1", port, "/"), 403, "proxy_loop_detected");
	assert_int_equal(w->counters.connections, 1 + 1); /* it came out here, and was ended */
	gate_world_free(w);
}

static void each_request_is_judged_on_a_connection_that_is_open(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, "[access a]\nallow = address=127.0.0.1 port=1-65535\n");
	struct gate_site *site = &w->sites[0];
	script_site(site);
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test\n"));
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = ask(c, "one.test", site->port, "/1");
	SCRIPT_SEES(script_origin(site, 0), "GET /1 HTTP/1.1\r\n");
	answer(script_origin(site, 0));
	expect(w, s, 200, NULL);
	/* The name says another address now; the connection to the first one would do. */
	gateway_set_hosts(w->gateway, SLICE("127.0.0.2 one.test\n"));
	expect(w, ask(c, "one.test", site->port, "/2"), 403, "destination_ip_prohibited");
	/* Both: a name is refused if one of its addresses is. */
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test\n127.0.0.2 one.test\n"));
	expect(w, ask(c, "one.test", site->port, "/3"), 403, "destination_ip_prohibited");
	assert_false(script_saw(script_origin(site, 0), "GET /2"));
	assert_false(script_saw(script_origin(site, 0), "GET /3"));
	assert_int_equal(script_origins(site), 1);
	/* And back. */
	gateway_set_hosts(w->gateway, SLICE("127.0.0.1 one.test\n"));
	s = ask(c, "one.test", site->port, "/4");
	size_t at = script_origins(site) - 1;
	UNTIL(w, script_saw(script_origin(site, at = script_origins(site) - 1), "GET /4"));
	answer(script_origin(site, at));
	expect(w, s, 200, NULL);
	gate_world_free(w);
}

static void a_name_that_nobody_knows_says_so(void **state)
{
	(void)state;
	struct gate_world *w = world(LOCAL, RULES);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = ask(c, "nobody.test", 80, "/");
	UNTIL(w, s->is_over);
	assert_true(s->status == 503 || s->status == 504);
	assert_true(strstr(s->status_error, "dns_") != NULL);
	gate_world_free(w);
}

/* ---- the request itself ---- */

static void the_default_reaches_no_private_address(void **state)
{
	(void)state;
	struct gate_world *w = world("mode = forward\n", "");
	struct gate_peer *c = gate_client(w, NULL);
	expect(w, ask(c, "127.0.0.1", 80, "/"), 403, "destination_ip_prohibited");
	expect(w, ask(c, "[::1]", 80, "/"), 403, "destination_ip_prohibited");
	expect(w, ask(c, "2130706433", 80, "/"), 403, "destination_ip_prohibited");
	expect(w, ask(c, "192.0.2.1", 25, "/"), 403, "http_request_denied");
	assert_int_equal(w->counters.upstream_connections, 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_for_one_host_share_its_destination),
	    cmocka_unit_test(a_connection_to_a_host_that_was_asked_once_is_soon_closed),
	    cmocka_unit_test(a_login_of_a_connection_is_nobody_elses),
	    cmocka_unit_test(the_one_unused_for_the_longest_is_evicted),
	    cmocka_unit_test(no_more_are_evicted_for_their_connections_than_need_be),
	    cmocka_unit_test(when_all_are_in_use_the_next_is_refused),
	    cmocka_unit_test(each_origin_has_room_of_its_own),
	    cmocka_unit_test(those_that_nobody_uses_are_forgotten_in_parts),
	    cmocka_unit_test(a_listener_of_ours_is_no_destination),
	    cmocka_unit_test(each_request_is_judged_on_a_connection_that_is_open),
	    cmocka_unit_test(a_name_that_nobody_knows_says_so),
	    cmocka_unit_test(the_default_reaches_no_private_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
