/* SPDX-License-Identifier: MIT */
/* An exchange that waits long, such as an event stream, keeps no timer busy: neither its own nor those of its connections. */
#include "tests/support/gateway_world.h"

#include "proxy/relay/deadline.h"

#include <stdio.h>
#include <stdlib.h>

/* covers: R200 R202 */

static struct client_conn *client_of(struct gate_world *w)
{
	return list_first(&w->gateway->clients.conns, struct client_conn, link);
}

static struct origin_conn *origin_of(struct gate_world *w)
{
	return gate_first_conn(w);
}

static void silent_event_stream_sets_no_timer_of_its_connections(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, "keepalive = 0", "keepalive = 0",
	    "[route r]\norigin = a\nstream-idle-timeout = 0\n");
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
	session_ping(c->h2, net_now(w->loop));
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

static void an_origin_that_is_not_read_is_not_silent(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "keepalive = 60s", NULL);
	struct relay *relay = &w->gateway->relay;
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/page");
	UNTIL(w, gate_find(w, "/page"));
	assert_int_not_equal(origin_silence_deadline(origin_of(w)), USEC_NEVER);
	relay_pause_origins(relay);
	assert_int_equal(origin_silence_deadline(origin_of(w)), USEC_NEVER);
	relay_resume_origins(relay);
	assert_int_not_equal(origin_silence_deadline(origin_of(w)), USEC_NEVER);
	gate_answer(gate_find(w, "/page"), 200, 1, true);
	UNTIL(w, s->is_over);
	gate_world_free(w);
}

/* ---- how long it may be silent ---- */

static struct exchange *only_exchange(struct gate_world *w)
{
	return list_first(&w->gateway->relay.live, struct exchange, link);
}

/* Which deadline stands, and how long after the last movement. */
static void expect_deadline(struct gate_world *w, const struct relay_cause *cause, unsigned sec)
{
	const struct exchange *x = only_exchange(w);
	struct exchange_deadline d = exchange_deadline(only_exchange(w));
	assert_ptr_equal(d.cause, cause);
	usec moved = x->upload.given.last;
	moved = x->upload.taken.last > moved ? x->upload.taken.last : moved;
	moved = x->download.given.last > moved ? x->download.given.last : moved;
	moved = x->download.taken.last > moved ? x->download.taken.last : moved;
	assert_int_equal(d.at, moved + sec * USEC_PER_SEC);
}

static void silent_grpc_call_has_ten_minutes_by_default(void **state)
{
	(void)state;
	static const char *const types[] = {"application/grpc", "Application/GRPC+proto", "application/grpc; x=y",
	    "application/grpc-web", "application/grpcx", "application/json"};
	for (unsigned i = 0; i < 6; i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct gate_peer *c = gate_client(w, NULL);
		struct gate_stream *s = gate_request(
		    c, "POST", "example.com", "/call", false, "content-type", types[i], NULL);
		gate_more(s, 10, false);
		UNTIL(w, gate_find(w, "/call") && gate_find(w, "/call")->received == 10);
		if (i < 3)
			expect_deadline(w, &relay_cause_STREAM_IDLE, 600);
		else
			assert_ptr_equal(
			    exchange_deadline(only_exchange(w)).cause, &relay_cause_UPLOAD_LATE);
		gate_answer(gate_find(w, "/call"), 200, 10, false);
		UNTIL(w, s->received == 10);
		expect_deadline(w, &relay_cause_STREAM_IDLE, 600); /* a response without content-length */
		gate_world_free(w);
	}
}

static void route_says_how_long_and_what_streams(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[route r]\norigin = a\nstream-idle-timeout = 11m\nstreaming = yes\n");
	struct gate_peer *c = gate_client(w, NULL);
	gate_request(c, "POST", "example.com", "/call", false, NULL);
	UNTIL(w, gate_find(w, "/call"));
	expect_deadline(w, &relay_cause_STREAM_IDLE, 660);
	gate_world_free(w);
}

/* ---- is the peer still there? ---- */

struct watched {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *stream, *at;
};

static struct watched watched(void)
{
	struct watched s = {.w = gate_world_new(NULL, NULL, NULL, NULL)};
	s.client = gate_client(s.w, NULL);
	s.stream = gate_get(s.client, "/events");
	UNTIL(s.w, gate_find(s.w, "/events"));
	s.at = gate_find(s.w, "/events");
	gate_answer(s.at, 200, 5, false);
	UNTIL(s.w, s.stream->received == 5);
	gate_passes(s.w);
	/* The kernel may still owe an acknowledgement, and a peer that takes bytes is excused. */
	while (net_conn_is_undelivered(client_of(s.w)->net) || net_conn_is_undelivered(origin_of(s.w)->net))
		gate_passes(s.w);
	return s;
}

/* Nothing has come from it for five minutes. */
static void be_silent(struct gate_world *w, struct peer_silence *p)
{
	p->heard = w->gateway->relay.now - PING_EVERY_USEC;
}

static void peer_that_answers_the_ping_stays(void **state)
{
	(void)state;
	struct watched s = watched();
	struct client_conn *c = client_of(s.w);
	struct origin_conn *o = origin_of(s.w);
	be_silent(s.w, &c->silence);
	be_silent(s.w, &o->silence);
	uint32_t window = o->window.bytes;
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	assert_true(c->silence.asked > 0 && o->silence.asked > 0);
	UNTIL(s.w, c->silence.asked == 0 && o->silence.asked == 0);
	assert_int_equal(o->window.bytes, window);
	/* The next one is five minutes later. */
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	assert_int_equal(c->timer.deadline, c->silence.heard + PING_EVERY_USEC);
	assert_int_equal(o->timer.deadline, o->silence.heard + PING_EVERY_USEC);
	assert_false(s.stream->is_over);
	gate_world_free(s.w);
}

static void client_that_does_not_answer_is_ended(void **state)
{
	(void)state;
	struct watched s = watched();
	struct client_conn *c = client_of(s.w);
	s.client->options.is_silent = true;
	be_silent(s.w, &c->silence);
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	assert_int_equal(c->timer.deadline, c->silence.asked + PING_ANSWER_USEC);
	c->silence.asked -= PING_ANSWER_USEC;
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	assert_int_equal(s.w->counters.ping_late_down, 1);
	UNTIL(s.w, s.at->was_reset);
	assert_true(clients_are_gone(&s.w->gateway->clients));
	gate_world_free(s.w);
}

/* The answer has to wait for what was sent before: as long as that is acknowledged, the client is there. */
static void client_that_still_takes_what_was_sent_before_the_ping_stays(void **state)
{
	(void)state;
	enum { FIELD = 30000 };
	struct watched s = watched();
	struct client_conn *c = client_of(s.w);
	net_conn_pause_reading(s.client->net, NET_PAUSE_PEER);
	char *field = malloc(FIELD + 1);
	memset(field, 'x', FIELD);
	field[FIELD] = '\0';
	while (!net_conn_is_blocked(c->net)) {
		char path[16];
		snprintf(path, sizeof(path), "/%zu", s.client->stream_count);
		gate_get(s.client, path);
		UNTIL(s.w, gate_find(s.w, path));
		gate_answer_fields(gate_find(s.w, path), 200, true, "x-large", field, NULL);
		gate_passes(s.w);
	}
	free(field);
	be_silent(s.w, &c->silence);
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	assert_true(c->silence.asked > 0);
	uint64_t delivered = net_conn_delivered(c->net);
	net_conn_resume_reading(s.client->net, NET_PAUSE_PEER);
	UNTIL(s.w, net_conn_delivered(c->net) > delivered);
	net_conn_pause_reading(s.client->net, NET_PAUSE_PEER);
	gate_passes(s.w);
	assert_true(c->silence.asked > 0);
	c->silence.asked -= PING_ANSWER_USEC;
	usec now = s.w->gateway->relay.now;
	client_conn_expired(&c->timer, now);
	assert_int_equal(s.w->counters.ping_late_down, 0);
	assert_int_equal(c->silence.asked, now);
	/* It takes nothing more. */
	gate_passes(s.w);
	c->silence.delivered = net_conn_delivered(c->net);
	c->silence.asked -= PING_ANSWER_USEC;
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	assert_int_equal(s.w->counters.ping_late_down, 1);
	gate_world_free(s.w);
}

static void origin_that_does_not_answer_is_ended(void **state)
{
	(void)state;
	struct watched s = watched();
	struct origin_conn *o = origin_of(s.w);
	s.at->peer->options.is_silent = true;
	be_silent(s.w, &o->silence);
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	/* What it may have sent waits in a socket that is not read from: it cannot be blamed. */
	o->silence.asked -= PING_ANSWER_USEC;
	origins_pause_reading(&s.w->gateway->upstream.origins, true);
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	assert_int_equal(s.w->counters.ping_late_up, 0);
	origins_pause_reading(&s.w->gateway->upstream.origins, false);
	assert_int_equal(o->silence.asked, 0);
	o->silence.asked = s.w->gateway->relay.now - PING_ANSWER_USEC;
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	assert_int_equal(s.w->counters.ping_late_up, 1);
	UNTIL(s.w, s.stream->was_reset);
	assert_int_equal(s.stream->code, SESSION_INTERNAL_ERROR);
	gate_world_free(s.w);
}

static void quiet_connection_gets_no_ping(void **state)
{
	(void)state;
	struct watched s = watched();
	struct client_conn *c = client_of(s.w);
	struct origin_conn *o = origin_of(s.w);
	gate_more(s.at, 1, true);
	UNTIL(s.w, s.stream->is_over && s.at->is_over);
	gate_passes(s.w);
	be_silent(s.w, &c->silence);
	be_silent(s.w, &o->silence);
	client_conn_expired(&c->timer, s.w->gateway->relay.now);
	origin_conn_expired(&o->timer, s.w->gateway->relay.now);
	assert_int_equal(c->silence.asked, 0);
	assert_int_equal(o->silence.asked, 0);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(silent_event_stream_sets_no_timer_of_its_connections),
	    cmocka_unit_test(blocked_client_is_looked_at_every_second),
	    cmocka_unit_test(silent_grpc_call_has_ten_minutes_by_default),
	    cmocka_unit_test(route_says_how_long_and_what_streams),
	    cmocka_unit_test(peer_that_answers_the_ping_stays),
	    cmocka_unit_test(client_that_does_not_answer_is_ended),
	    cmocka_unit_test(client_that_still_takes_what_was_sent_before_the_ping_stays),
	    cmocka_unit_test(origin_that_does_not_answer_is_ended),
	    cmocka_unit_test(an_origin_that_is_not_read_is_not_silent),
	    cmocka_unit_test(quiet_connection_gets_no_ping),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
