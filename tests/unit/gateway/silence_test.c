/* SPDX-License-Identifier: MIT */
/* An exchange that waits long, such as an event stream, keeps no timer busy: neither its own nor those of its connections. */
#include "tests/support/gateway_world.h"

static struct client_conn *client_of(struct gate_world *w)
{
	return list_first(&w->gateway->clients.conns, struct client_conn, link);
}

static struct origin_conn *origin_of(struct gate_world *w)
{
	for (size_t i = 0; i < POOL_KINDS * w->conf->origin_count; i++)
		if (!list_is_empty(&w->gateway->upstream.pools[i].conns))
			return list_first(
			    &w->gateway->upstream.pools[i].conns, struct origin_conn, link);
	return NULL;
}

static void silent_event_stream_sets_no_timer_of_its_connections(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "body-timeout = 0", NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/events");
	UNTIL(w, gate_find(w, "/events"));
	gate_answer(gate_find(w, "/events"), 200, 5, false);
	UNTIL(w, s->received == 5);
	gate_passes(w);
	const struct exchange *x = list_first(&w->gateway->relay.live, struct exchange, link);
	assert_non_null(x);
	assert_false(exchange_is_over(x));
	/* Each was armed while the exchange moved. Once it is silent, a look leaves them off. */
	client_conn_expired(&client_of(w)->timer, w->gateway->relay.now);
	origin_conn_expired(&origin_of(w)->timer, w->gateway->relay.now);
	assert_int_equal(client_of(w)->timer.deadline, USEC_NEVER);
	assert_int_equal(origin_of(w)->timer.deadline, USEC_NEVER);
	UNTIL(w, x->timing.timer.deadline == USEC_NEVER);
	gate_world_free(w);
}

static void blocked_client_is_looked_at_every_second(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	const struct gate_peer_options wide = {.window = 1 << 30};
	struct gate_peer *c = gate_client(w, &wide);
	struct gate_stream *s = gate_get(c, "/large");
	UNTIL(w, gate_find(w, "/large"));
	/* Wide windows, and a socket that fills up. */
	h2_ping(c->h2, net_now(w->loop));
	net_conn_dirty(c->net);
	gate_passes(w);
	net_conn_pause_reading(c->net, NET_PAUSE_PEER);
	gate_answer(gate_find(w, "/large"), 200, 60000000, true);
	UNTIL(w, net_conn_is_blocked(client_of(w)->net));
	UNTIL(w, client_of(w)->timer.deadline <= w->gateway->relay.now + BLOCKED_CHECK_USEC);
	net_conn_resume_reading(c->net, NET_PAUSE_PEER);
	UNTIL(w, s->received > 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(silent_event_stream_sets_no_timer_of_its_connections),
	    cmocka_unit_test(blocked_client_is_looked_at_every_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
