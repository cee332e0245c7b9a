/* SPDX-License-Identifier: MIT */
/* Which option limits which wait of an exchange: each has a value of its own here, and each kind of exchange a line. */
#include "tests/unit/gateway/field_rules.h"

#include "proxy/relay/deadline.h"

static const char *const names[] = {
    [RELAY_TIMEOUT_BODY_UP] = "body-up", [RELAY_TIMEOUT_TAKE_DOWN] = "take-down", [RELAY_TIMEOUT_TAKE_UP] = "take-up",
    [RELAY_TIMEOUT_PUSH_START] = "push-start", [RELAY_TIMEOUT_QUEUE] = "queue", [RELAY_TIMEOUT_RESPONSE] = "response",
    [RELAY_TIMEOUT_BODY_DOWN] = "body-down", [RELAY_TIMEOUT_IDLE] = "idle", [RELAY_TIMEOUT_CALL] = "call",
    [RELAY_TIMEOUT_REQUEST] = "request", [RELAY_TIMEOUT_TUNNEL_AGE] = "tunnel-age",
    [RELAY_TIMEOUT_TUNNEL_HELLO] = "tunnel-hello", [RELAY_TIMEOUT_TUNNEL_HALF] = "tunnel-half", [RELAY_TIMEOUT_LINGER] = "linger"};

static struct gate_world *world(void)
{
	static const struct gate_peer_options tunnels = {.takes_tunnels = true};
	struct gate_world *w = gate_world_new("push-start-timeout = 11s",
	    "body-timeout = 12s\nwrite-timeout = 13s\nmin-rate = 14",
	    "queue-timeout = 15s\nresponse-timeout = 16s\nbody-timeout = 17s\nwrite-timeout = 18s\nupload-linger = 19s\n"
	    "min-rate = 20",
	    "[route own]\npath = /own\norigin = a\nconnect-timeout = 21s\nresponse-timeout = 22s\nrequest-timeout = 23s\n"
	    "stream-idle-timeout = 24s\n"
	    "[route tunnel]\npath = /tunnel\norigin = a\nupgrade = echo\ntunnel-idle-timeout = 25s\n"
	    "tunnel-half-closed-timeout = 26s\ntunnel-age = 27s\nrequest-timeout = 28s\n"
	    "[route half]\npath = /half\norigin = a\nupgrade = echo\ntunnel-half-closed-timeout = 0\n"
	    "tunnel-idle-timeout = 29s\n"
	    "[route feed]\npath = /feed\norigin = a\nsubscription = yes\nrequest-timeout = 30s\n"
	    "[route rest]\norigin = a\nstream-idle-timeout = 31s\n");
	w->sites[0].options = tunnels;
	return w;
}

/* wanted: "name seconds …" of those that are limited. Nothing here waits to be written. */
static void limits_are(struct gate_world *w, const struct exchange *x, const char *wanted)
{
	const struct relay *r = &w->gateway->relay;
	char text[512] = "";
	assert_non_null(x);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(text);
		usec limit = r->ops->time_limit(r->context, x, (enum relay_timeout)i);
		if (limit > 0)
			snprintf(text + n, sizeof(text) - n, "%s %llu ", names[i], (unsigned long long)(limit / USEC_PER_SEC));
	}
	assert_string_equal(text, wanted);
}

static struct gate_stream *at_origin_with(struct gate_world *w, const char *path)
{
	UNTIL(w, gate_find(w, path));
	return gate_find(w, path);
}

static void each_wait_has_its_option(void **state)
{
	(void)state;
	struct gate_world *w = world();
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/rest");
	at_origin_with(w, "/rest");
	limits_are(w, exchange_of(w, "/rest"),
	    "queue 15 response 16 body-down 17 body-up 12 push-start 11 linger 19 idle 31 tunnel-half 60 ");
	gate_get(c, "/own");
	at_origin_with(w, "/own");
	limits_are(w, exchange_of(w, "/own"),
	    "queue 21 response 22 body-down 17 body-up 12 push-start 11 linger 19 idle 24 request 23 tunnel-half 60 ");
	gate_world_free(w);
}

static void tunnels_have_limits_of_their_own(void **state)
{
	(void)state;
	struct gate_world *w = world();
	struct gate_peer *c = gate_client(w, NULL);
	static const char *const paths[] = {"/tunnel", "/half"};
	UNTIL(w, c->settings_came > 0);
	for (unsigned i = 0; i < 2; i++) {
		struct gate_stream *s = gate_tunnel(c, "echo", paths[i]);
		gate_answer(at_origin_with(w, paths[i]), 200, 0, false);
		UNTIL(w, s->status == 200);
		limits_are(w, exchange_of(w, paths[i]), i
			? "queue 15 response 16 body-down 17 body-up 12 push-start 11 linger 19 idle 29 tunnel-half 29 "
			: "queue 15 response 16 body-down 17 body-up 12 push-start 11 linger 19 idle 25 tunnel-age 27 "
			  "tunnel-half 26 ");
	}
	gate_world_free(w);
}

static void a_subscription_waits_for_ever_and_its_pushes_with_it(void **state)
{
	(void)state;
	struct gate_world *w = world();
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/feed");
	struct gate_stream *at = at_origin_with(w, "/feed");
	limits_are(w, exchange_of(w, "/feed"),
	    "queue 15 body-down 17 body-up 12 push-start 11 linger 19 idle 600 tunnel-half 60 ");
	gate_promise(at, "http", "example.com", "/feed/1");
	UNTIL(w, w->counters.pushes_open == 1);
	struct exchange *push = list_first(&exchange_of(w, "/feed")->pushes.list, struct exchange, pushed.sibling);
	limits_are(w, push, "queue 15 response 16 body-down 17 body-up 12 linger 19 idle 600 tunnel-half 60 ");
	gate_world_free(w);
}

static void each_side_has_its_least_rate(void **state)
{
	(void)state;
	struct gate_world *w = world();
	const struct relay *r = &w->gateway->relay;
	gate_get(gate_client(w, NULL), "/rest");
	at_origin_with(w, "/rest");
	assert_int_equal(r->ops->min_rate(r->context, exchange_of(w, "/rest"), RELAY_CLIENT), 14);
	assert_int_equal(r->ops->min_rate(r->context, exchange_of(w, "/rest"), RELAY_ORIGIN), 20);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_wait_has_its_option),
	    cmocka_unit_test(tunnels_have_limits_of_their_own),
	    cmocka_unit_test(a_subscription_waits_for_ever_and_its_pushes_with_it),
	    cmocka_unit_test(each_side_has_its_least_rate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
