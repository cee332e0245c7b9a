/* SPDX-License-Identifier: MIT */
/* Subscriptions (RFC 8030): a parent that is never answered gets all of its pushes, over an origin connection of its own,
 * however slow its client is, and costs nobody else anything. */
#include "tests/support/gateway_world.h"

#include "proxy/relay/deadline.h"

#include <stdio.h>
#include <stdlib.h>

/* covers: P-sub-own-connection P-sub-limit P-sub-in-order P-sub-held-back P-sub-origin-clocks P-sub-cancel P-sub-refusals */

#define ROUTES "[route feed]\npath = /feed\norigin = a\nsubscription = yes\n[route all]\norigin = a\n"

static void ok(struct gate_stream *s)
{
	if (strncmp(s->path, "/feed", 5) != 0)
		gate_answer(s, 200, 5, true);
}

struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *feed, *at; /* at the client, at the origin */
	unsigned promised;
};

static void subscribe(struct scene *s, const struct gate_peer_options *options, const char *path)
{
	s->client = gate_client(s->w, options);
	s->feed = gate_get(s->client, path);
	UNTIL(s->w, gate_find(s->w, path));
	s->at = gate_find(s->w, path);
}

static struct scene scene_new(
    const char *server, const char *origin, const struct gate_peer_options *options)
{
	struct scene s = {.w = gate_world_new(server, NULL, origin, ROUTES)};
	s.w->sites[0].serve = ok;
	subscribe(&s, options, "/feed");
	return s;
}

static struct gate_stream *promise(struct scene *s)
{
	char path[32];
	snprintf(path, sizeof(path), "/message/%u", s->promised++);
	return gate_promise(s->at, "http", "example.com", path);
}

static void push_many(struct scene *s, unsigned count, size_t body)
{
	for (unsigned i = 0; i < count; i++)
		gate_answer(promise(s), 200, body, true);
}

static void others_are_served(struct gate_world *w)
{
	struct gate_stream *page = gate_get(gate_client(w, NULL), "/page");
	UNTIL(w, page->is_over);
	assert_int_equal(page->status, 200);
}

/* How many pushes the client has; fails if one of them came before an earlier one, or was lost. A client with small windows
 * may give a later push its last credit first: then the heads are in order, and the ends need not be. */
static unsigned delivered(const struct scene *s)
{
	unsigned done = 0;
	bool is_missing = false, has_small_windows = s->client->options.window > 0;
	for (size_t i = 0; i < s->client->stream_count; i++) {
		const struct gate_stream *push = s->client->streams[i];
		if (!push->parent)
			continue;
		assert_false(push->was_reset);
		if (has_small_windows ? push->status == 0 : !push->is_over) {
			is_missing = true;
			continue;
		}
		assert_false(is_missing);
		if (!push->is_over)
			continue;
		assert_int_equal(push->status, 200);
		done++;
	}
	return done;
}

static struct exchange *parent_of(struct gate_world *w)
{
	return list_first(&w->gateway->relay.live, struct exchange, link);
}

/* ---- the connection ---- */

static void a_subscription_has_a_connection_of_its_own(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	others_are_served(s.w);
	assert_ptr_not_equal(gate_find(s.w, "/page")->peer, s.at->peer);
	struct scene other = {.w = s.w};
	subscribe(&other, NULL, "/feed/other");
	assert_ptr_not_equal(other.at->peer, s.at->peer);
	assert_int_equal(s.at->peer->stream_count, 1);
	assert_int_equal(s.at->peer->enable_push, 1);
	assert_int_equal(s.w->counters.subscriptions_open, 2);
	gate_answer(s.at, 200, 5, true);
	UNTIL(s.w, s.feed->is_over && s.at->peer->ended);
	assert_false(other.at->peer->ended);
	assert_int_equal(s.w->counters.subscriptions_open, 1);
	gate_world_free(s.w);
}

static void a_cancelled_subscription_closes_its_connection_behind_its_last_push(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *promised = promise(&s);
	gate_answer(promised, 200, 5, false);
	UNTIL(s.w, s.client->stream_count == 2 && s.client->streams[1]->received == 5);
	gate_reset_stream(s.feed, SESSION_CANCEL);
	UNTIL(s.w, s.at->is_over);
	assert_int_equal(s.at->code, SESSION_CANCEL);
	gate_passes(s.w);
	assert_false(s.at->peer->ended);
	gate_more(promised, 7, true);
	UNTIL(s.w, s.at->peer->ended);
	assert_int_equal(delivered(&s), 1);
	assert_int_equal(s.client->streams[1]->received, 12);
	gate_world_free(s.w);
}

static void only_gets_of_clients_that_take_pushes_are_subscriptions(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "max-subscriptions = 1", NULL);
	const struct gate_peer_options no_push = {.no_push = true};
	struct gate_stream *of_browser = gate_get(gate_client(s.w, &no_push), "/feed/x");
	struct gate_stream *deletion =
	    gate_request(s.client, "DELETE", "example.com", "/feed/y", true, NULL);
	UNTIL(s.w, gate_find(s.w, "/feed/x") && gate_find(s.w, "/feed/y"));
	gate_answer(gate_find(s.w, "/feed/x"), 200, 5, true);
	gate_answer(gate_find(s.w, "/feed/y"), 200, 5, true);
	UNTIL(s.w, of_browser->is_over && deletion->is_over);
	assert_int_equal(of_browser->status, 200);
	assert_int_equal(deletion->status, 200);
	gate_world_free(s.w);
}

static void subscriptions_above_the_limit_get_503(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "max-subscriptions = 2", NULL);
	struct scene second = {.w = s.w};
	subscribe(&second, NULL, "/feed/second");
	struct gate_stream *third = gate_get(s.client, "/feed/third");
	UNTIL(s.w, third->is_over);
	assert_int_equal(third->status, 503);
	assert_int_equal(s.w->counters.causes[RELAY_CAUSE_INDEX_SUBSCRIPTIONS_FULL], 1);
	gate_reset_stream(s.feed, SESSION_CANCEL);
	UNTIL(s.w, s.at->peer->ended);
	subscribe(&s, NULL, "/feed/fourth");
	others_are_served(s.w);
	gate_world_free(s.w);
}

/* Each request asks how many there are: it must not look at thousands of connections. */
static void open_subscriptions_are_counted_without_a_look_at_each(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "max-subscriptions = 3", NULL);
	struct scene second = {.w = s.w};
	subscribe(&second, NULL, "/feed/second");
	struct pool *p = gate_pool(s.w, 0, POOL_SUBSCRIPTIONS);
	assert_false(list_is_empty(&p->conns));
	struct list hidden;
	list_init(&hidden);
	list_splice(&hidden, &p->conns);
	assert_int_equal(pool_most_connections(p), 1);
	list_splice(&p->conns, &hidden);
	gate_world_free(s.w);
}

static void a_subscription_is_sent_again_when_its_connection_is_refused(void **state)
{
	(void)state;
	struct scene s = {.w = gate_world_new(NULL, NULL, "max-subscriptions = 1", ROUTES)};
	gate_site_close(&s.w->sites[0]);
	s.client = gate_client(s.w, NULL);
	s.feed = gate_get(s.client, "/feed");
	UNTIL(s.w, s.feed->is_over);
	assert_int_equal(s.feed->status, 503);
	gate_site_open(&s.w->sites[0]);
	subscribe(&s, NULL, "/feed/again");
	gate_world_free(s.w);
}

/* ---- slow subscribers ---- */

static void a_client_with_one_stream_gets_all_in_order(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_new(
	    "max-pushes-per-parent = 8\nmax-pushes-per-connection = 10\npush-start-timeout = 1ms", NULL,
	    &one);
	push_many(&s, 400, 100);
	others_are_served(s.w);
	UNTIL(s.w, delivered(&s) == 400);
	assert_int_equal(s.w->counters.pushes_dropped, 0);
	gate_world_free(s.w);
}

/* The client reads nothing for a while: what waits here is bounded, and no clock of the origin runs. */
static void a_client_that_reads_late_loses_nothing(void **state)
{
	(void)state;
	const struct gate_peer_options small = {.window = 1000};
	struct scene s =
	    scene_new("max-pushes-per-parent = 8\npush-start-timeout = 1ms", NULL, &small);
	net_conn_pause_reading(s.client->net, NET_PAUSE_PEER);
	push_many(&s, 100, 3000);
	UNTIL(s.w, s.w->counters.subscriptions_held_back == 1);
	push_many(&s, 300, 3000);
	others_are_served(s.w);
	/* What one read of the origin's socket gives may be above the bound. */
	assert_in_range(s.w->counters.pushes_open, 8, 100);
	struct exchange *x = parent_of(s.w);
	struct origin_conn *c = origin_conn_of(x);
	assert_true(exchange_is_held_back(x));
	assert_int_equal(exchange_deadline(x).at, USEC_NEVER);
	assert_int_equal(c->timer.deadline, USEC_NEVER);
	net_conn_resume_reading(s.client->net, NET_PAUSE_PEER);
	UNTIL(s.w, delivered(&s) == 400);
	assert_true(exchange_deadline(x).at < USEC_NEVER);
	assert_in_range(x->download.given.since, c->read_since, s.w->gateway->relay.now);
	for (size_t i = 1; i < s.client->stream_count; i++)
		assert_int_equal(s.client->streams[i]->received, 3000);
	assert_false(s.feed->is_over);
	gate_world_free(s.w);
}

/* Responses without a body are over as soon as their heads are written, whether the client reads them or not. */
static void unread_heads_hold_the_origin_back_too(void **state)
{
	(void)state;
	enum { PUSHES = 450, FIELD = 30000 };
	struct scene s = scene_new("max-push-bytes = 64k\nmax-pushes-per-parent = 4", NULL, NULL);
	net_conn_pause_reading(s.client->net, NET_PAUSE_PEER);
	char *field = malloc(FIELD + 1);
	memset(field, 'x', FIELD);
	field[FIELD] = '\0';
	for (unsigned i = 0; i < PUSHES; i++) {
		gate_answer_fields(promise(&s), 200, true, "x-large", field, NULL);
		gate_passes(s.w);
	}
	free(field);
	UNTIL(s.w, s.w->counters.subscriptions_held_back == 1);
	assert_in_range(s.w->counters.pushes_open, 4, PUSHES / 2);
	net_conn_resume_reading(s.client->net, NET_PAUSE_PEER);
	UNTIL(s.w, delivered(&s) == PUSHES);
	gate_world_free(s.w);
}

static void pushes_that_wait_begin_in_the_order_of_their_promises(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_new(NULL, NULL, &one);
	struct gate_stream *p[5];
	for (unsigned i = 0; i < 5; i++)
		p[i] = promise(&s);
	gate_answer(p[0], 200, 1, false);
	for (unsigned i = 4; i > 0; i--)
		gate_answer(p[i], 200, 1, true);
	UNTIL(s.w, s.client->stream_count == 6 && s.client->streams[1]->received == 1);
	gate_passes(s.w);
	gate_more(p[0], 1, true);
	UNTIL(s.w, delivered(&s) == 5);
	gate_world_free(s.w);
}

/* Another subscription of the same client has a push that waits between them. */
static void pushes_of_one_subscription_do_not_pass_each_other_behind_those_of_another(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1};
	struct scene s = scene_new(NULL, NULL, &one);
	struct scene other = {.w = s.w, .client = s.client, .promised = 10};
	gate_get(s.client, "/feed/other");
	UNTIL(s.w, (other.at = gate_find(s.w, "/feed/other")) != NULL);
	struct gate_stream *first = promise(&s), *second = promise(&s), *third = promise(&s);
	struct gate_stream *others = promise(&other);
	gate_answer(first, 200, 1, false);
	UNTIL(s.w, s.client->stream_count == 6 && gate_find_at(s.client, "/message/0")->received == 1);
	struct gate_stream *const answered[] = {third, others, second};
	for (unsigned i = 0; i < 3; i++) {
		gate_answer(answered[i], 200, 200000, true); /* takes several round trips */
		gate_passes(s.w);
	}
	gate_more(first, 1, true);
	UNTIL(s.w, gate_find_at(s.client, "/message/2")->is_over);
	assert_true(gate_find_at(s.client, "/message/1")->is_over);
	UNTIL(s.w, gate_find_at(s.client, "/message/10")->is_over);
	gate_world_free(s.w);
}

static void pushes_of_any_type_are_equally_urgent(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	static const char *const paths[] = {"/m.mp4", "/m.json", "/m.css"};
	for (unsigned i = 0; i < 3; i++)
		gate_promise(s.at, "http", "example.com", paths[i]);
	UNTIL(s.w, s.client->stream_count == 4);
	list_for_each(&s.w->gateway->relay.live, x, struct exchange, link)
	{
		if (exchange_is_push(x))
			assert_int_equal(client_priority(x).urgency, 5);
	}
	gate_world_free(s.w);
}

/* ---- time ---- */

/* How much later a parent that has not been answered ends because of a push. */
static usec prolonged(struct scene *s)
{
	struct exchange *x = parent_of(s->w);
	usec before = exchange_deadline(x).at, next = clock_monotonic() + 5 * USEC_PER_MSEC;
	UNTIL(s->w, clock_monotonic() >= next);
	push_many(s, 1, 5);
	UNTIL(s->w, delivered(s) == s->promised);
	usec after = exchange_deadline(x).at;
	gate_world_free(s->w);
	return after - before;
}

static void each_push_prolongs_the_life_of_a_subscription(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	assert_true(prolonged(&s) >= 5 * USEC_PER_MSEC);
}

static void without_the_option_pushes_prolong_nothing(void **state)
{
	(void)state;
	struct scene s = {.w = gate_world_new(NULL, NULL, NULL, NULL)};
	subscribe(&s, NULL, "/feed");
	assert_int_equal(prolonged(&s), 0);
}

/* The acknowledgement of our SETTINGS lies unread in the socket. */
static void the_protocols_own_clocks_stand_still_too(void **state)
{
	(void)state;
	const struct gate_peer_options one = {.max_streams = 1, .keeps_credit = true, .window = 10};
	struct scene s = scene_new("max-pushes-per-parent = 4", "settings-timeout = 10s", &one);
	push_many(&s, 8, 100);
	UNTIL(s.w, s.w->counters.subscriptions_held_back == 1);
	struct origin_conn *c = origin_conn_of(parent_of(s.w));
	session_refuse_pushes(c->session, s.w->gateway->relay.now);
	net_conn_dirty(c->net);
	UNTIL(s.w, s.at->peer->settings_came == 2);
	origin_conn_expired(&c->timer, s.w->gateway->relay.now + 3600 * USEC_PER_SEC);
	assert_int_equal(c->timer.deadline, USEC_NEVER);
	gate_passes(s.w);
	assert_false(s.at->peer->ended);
	/* The client goes on: the origin has the whole time from now on. */
	gate_reset_stream(s.feed, SESSION_CANCEL);
	UNTIL(s.w, !c->is_held_back);
	assert_true(c->read_since > 0);
	gate_world_free(s.w);
}

/* ---- refusals ---- */

static void refusals_of_a_subscription_turn_push_off_for_it_alone(void **state)
{
	(void)state;
	struct scene s = {.w = gate_world_new("reset-rate = 5\npromise-refusals = 20", NULL, NULL,
			      ROUTES "[push none]\npromised-path = /message/*\naction = drop\n")};
	subscribe(&s, NULL, "/feed");
	push_many(&s, 30, 5);
	UNTIL(s.w, s.at->peer->settings_came == 2);
	assert_int_equal(s.w->counters.push_off_connections, 1);
	assert_int_equal(s.w->counters.push_off_routes, 0);
	UNTIL(s.w, s.feed->is_over);
	assert_int_equal(s.feed->status, 503);
	assert_int_equal(s.w->counters.causes[RELAY_CAUSE_INDEX_PUSH_OFF], 1);
	struct scene other = {.w = s.w};
	subscribe(&other, NULL, "/feed/other");
	gate_answer(gate_promise(other.at, "http", "example.com", "/wanted"), 200, 5, true);
	UNTIL(s.w, delivered(&other) == 1);
	UNTIL(s.w, s.at->peer->ended);
	assert_int_equal(s.w->counters.push_off_connections_open[0], 0);
	gate_world_free(s.w);
}

/* RFC 9113 6.8: after a GOAWAY its receiver begins no stream. On another connection the client gets the pushes. */
static void a_subscription_is_over_with_the_next_push_after_the_goaway_of_its_client(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL, NULL);
	struct gate_stream *before = promise(&s);
	UNTIL(s.w, s.client->stream_count == 2);
	gate_world_drain(s.w, 60 * USEC_PER_SEC);
	gate_passes(s.w);
	assert_true(s.client->goaway_came);
	struct gate_stream *after_ours = promise(&s);
	UNTIL(s.w, s.client->stream_count == 3);
	gate_answer(after_ours, 200, 7, true);
	UNTIL(s.w, s.client->streams[2]->is_over);
	assert_int_equal(s.client->streams[2]->received, 7);
	gate_shutdown(s.client);
	gate_passes(s.w);
	assert_false(s.feed->is_over);
	struct gate_stream *late = promise(&s);
	UNTIL(s.w, s.feed->is_over && late->is_over);
	assert_int_equal(s.feed->status, 503);
	assert_int_equal(s.w->counters.causes[RELAY_CAUSE_INDEX_PUSH_OFF], 1);
	gate_answer(before, 200, 5, true);
	UNTIL(s.w, s.w->drained == 1 && s.client->streams[1]->is_over);
	assert_int_equal(s.client->streams[1]->received, 5);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_subscription_has_a_connection_of_its_own),
	    cmocka_unit_test(a_cancelled_subscription_closes_its_connection_behind_its_last_push),
	    cmocka_unit_test(only_gets_of_clients_that_take_pushes_are_subscriptions),
	    cmocka_unit_test(subscriptions_above_the_limit_get_503),
	    cmocka_unit_test(open_subscriptions_are_counted_without_a_look_at_each),
	    cmocka_unit_test(a_subscription_is_sent_again_when_its_connection_is_refused),
	    cmocka_unit_test(a_client_with_one_stream_gets_all_in_order),
	    cmocka_unit_test(a_client_that_reads_late_loses_nothing),
	    cmocka_unit_test(unread_heads_hold_the_origin_back_too),
	    cmocka_unit_test(pushes_that_wait_begin_in_the_order_of_their_promises),
	    cmocka_unit_test(pushes_of_one_subscription_do_not_pass_each_other_behind_those_of_another),
	    cmocka_unit_test(pushes_of_any_type_are_equally_urgent),
	    cmocka_unit_test(each_push_prolongs_the_life_of_a_subscription),
	    cmocka_unit_test(without_the_option_pushes_prolong_nothing),
	    cmocka_unit_test(the_protocols_own_clocks_stand_still_too),
	    cmocka_unit_test(refusals_of_a_subscription_turn_push_off_for_it_alone),
	    cmocka_unit_test(a_subscription_is_over_with_the_next_push_after_the_goaway_of_its_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
