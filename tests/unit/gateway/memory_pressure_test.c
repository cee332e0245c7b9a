/* SPDX-License-Identifier: MIT */
/*
 * The worker's memory is short: what is shed, in which order, which peers are affected, and that normal service resumes.
 * The test sets the marks so that one object at a time must be shed.
 */
#include "tests/support/gateway_world.h"

#include "proxy/net/net_conn.h"
#include "tests/support/net_faults.h"

#include <errno.h>

#define RULES                                                                                      \
	"[route a]\norigin = a\n[push hold]\npromised-path = /hold*\naction = hold\n"              \
	"[push all]\naction = forward\n"
#define MIB ((size_t)1 << 20)

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

/* A small limit: a few streams make memory short. */
#define WIDE "stream-window = 256k"

/* Sets the marks so high that nothing is shed. */
static void relax(struct gate_world *w)
{
	w->gateway->env.memory_high_bytes = w->gateway->pressure.low_bytes = SIZE_MAX / 4;
	gate_passes(w);
	assert_false(w->gateway->env.memory_is_short);
	assert_false(w->gateway->relay.makes_no_pushes);
}

/* Sets the marks so that exactly one object is shed. */
static void press(struct gate_world *w)
{
	w->gateway->env.memory_high_bytes = w->gateway->env.budget.used_bytes;
	w->gateway->pressure.low_bytes = w->gateway->env.budget.used_bytes - 1;
	gate_passes(w);
	relax(w);
}

static void expect_shed(const struct gate_world *w, uint64_t holds, uint64_t offers,
    uint64_t connections, uint64_t streams)
{
	assert_int_equal(w->counters.shed_holds, holds);
	assert_int_equal(w->counters.shed_offers, offers);
	assert_int_equal(w->counters.shed_connections, connections);
	assert_int_equal(w->counters.shed_streams, streams);
}

/* A request for a page that the origin has received and not answered. */
static struct gate_stream *page(struct gate_world *w, struct gate_peer *client)
{
	gate_get(client, "/page");
	UNTIL(w, gate_find(w, "/page"));
	return gate_find(w, "/page");
}

static void answer_fresh(struct gate_stream *s)
{
	gate_answer_fields(s, 200, false, "cache-control", "max-age=600", NULL);
	gate_more(s, 5, true);
}

static void is_held(struct gate_world *w, struct gate_stream *at, const char *path)
{
	uint64_t held = w->counters.pushes_held;
	answer_fresh(gate_promise(at, "http", "example.com", path));
	UNTIL(w, w->counters.pushes_held == held + 1);
	gate_passes(w);
}

static struct client_conn *newest(struct gate_world *w)
{
	return container_of(w->gateway->clients.conns.prev, struct client_conn, link);
}

/* Sets the times back, as if the present state had lasted for some time. */
static void was_idle_long(struct client_conn *c)
{
	c->quiet_since -= 10 * USEC_PER_SEC;
}

static struct gate_peer *idle_client(struct gate_world *w)
{
	uint64_t open = w->counters.connections_open;
	struct gate_peer *p = gate_client(w, NULL);
	UNTIL(w, w->counters.connections_open == open + 1 && p->settings_came > 0);
	gate_passes(w);
	return p;
}

/* A response that its client does not read. */
static struct gate_stream *stuck_response(struct gate_world *w)
{
	const struct gate_peer_options stuck = {.window = UINT32_MAX};
	struct gate_stream *s = gate_get(gate_client(w, &stuck), "/stuck");
	UNTIL(w, gate_find(w, "/stuck"));
	gate_answer(gate_find(w, "/stuck"), 200, 3000, true);
	UNTIL(w, s->status == 200);
	gate_passes(w);
	list_for_each(&w->gateway->relay.live, x, struct exchange,
	    link) if (x->download.body.bytes == 3000) x->download.taken.since =
	    x->download.taken.last -= 10 * USEC_PER_SEC;
	return s;
}

/* covers: R63 */
static void load_is_shed_cheapest_first(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, RULES);
	const struct gate_peer_options one = {.max_streams = 1};
	struct gate_peer *client = gate_client(w, &one);
	struct gate_stream *at = page(w, client);
	is_held(w, at, "/hold-old");
	is_held(w, at, "/hold-new");
	/* One push has begun; another one waits for its place. */
	struct gate_stream *begun = gate_promise(at, "http", "example.com", "/begun");
	gate_answer(begun, 200, 5, false);
	struct gate_stream *waits = gate_promise(at, "http", "example.com", "/waits");
	gate_answer(waits, 200, 5, true);
	UNTIL(w, gate_find_at(client, "/waits") && gate_find_at(client, "/begun")->received == 5);
	struct gate_stream *stuck = stuck_response(w);
	struct gate_peer *idle = idle_client(w);
	was_idle_long(newest(w));

	press(w);
	expect_shed(w, 1, 0, 0, 0);
	assert_int_equal(w->counters.holds_evicted, 1);
	assert_int_equal(w->counters.holds_expired, 0);
	struct gate_stream *fresh = gate_get(client, "/hold-new");
	UNTIL(w, fresh->is_over);
	assert_int_equal(w->counters.holds_claimed, 1); /* the old one has gone, not this one */

	press(w);
	expect_shed(w, 1, 1, 0, 0);
	UNTIL(w, gate_find_at(client, "/waits")->is_over);
	assert_int_equal(gate_find_at(client, "/waits")->code, SESSION_REFUSED_STREAM);

	press(w);
	expect_shed(w, 1, 1, 1, 0);
	UNTIL(w, idle->ended);
	assert_true(idle->goaway_came);
	assert_int_equal(idle->goaway_code, SESSION_NO_ERROR);

	press(w);
	expect_shed(w, 1, 1, 1, 1);
	UNTIL(w, stuck->is_over);
	assert_int_equal(stuck->code, SESSION_INTERNAL_ERROR);

	press(w); /* nothing is left that may go */
	expect_shed(w, 1, 1, 1, 1);
	gate_more(begun, 5, true);
	gate_answer(at, 200, 5, true);
	UNTIL(w, gate_find_at(client, "/begun")->is_over && gate_find_at(client, "/page")->is_over);
	assert_int_equal(gate_find_at(client, "/begun")->received, 10);
	assert_false(gate_find_at(client, "/page")->was_reset);
	gate_world_free(w);
}

/* The origin neither reads the upload nor answers.
 * covers: R63 */
static void a_stalled_upload_is_answered_503(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].options.window = UINT32_MAX;
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *s = gate_request(client, "POST", "example.com", "/up", false, NULL);
	UNTIL(w, gate_find(w, "/up"));
	gate_passes(w);
	gate_more(s, 3000, false);
	struct exchange *x = list_first(&w->gateway->relay.live, struct exchange, link);
	UNTIL(w, x->upload.body.bytes == 3000);
	press(w); /* not yet: it has only just come */
	expect_shed(w, 0, 0, 0, 0);
	x->upload.taken.since = x->upload.taken.last -= 10 * USEC_PER_SEC;
	press(w);
	UNTIL(w, s->is_over && gate_find(w, "/up")->is_over);
	expect_shed(w, 0, 0, 0, 1);
	assert_int_equal(s->status, 503);
	assert_int_equal(gate_find(w, "/up")->code, SESSION_CANCEL);
	gate_world_free(w);
}

/* The client reads single bytes, just often enough that the exchange never stands still.
 * covers: R63 */
static void one_byte_now_and_then_counts_as_stalled(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *stuck = stuck_response(w);
	struct exchange *x = list_first(&w->gateway->relay.live, struct exchange, link);
	x->download.taken.last = w->gateway->relay.now;
	x->download.taken.moved = 3000; /* the rest of it would leave within ten seconds */
	press(w);
	expect_shed(w, 0, 0, 0, 0);
	x->download.taken.moved = 10;
	press(w);
	UNTIL(w, stuck->is_over);
	expect_shed(w, 0, 0, 0, 1);
	gate_world_free(w);
}

/* covers: R63 */
static void shared_held_responses_use_at_most_half_of_the_memory(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new("hold-shared = yes", NULL, NULL, RULES);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *at = page(w, client);
	is_held(w, at, "/hold-for-all");
	UNTIL(w, w->gateway->hold.shared.count == 1 && w->gateway->hold.shared.bytes == 5);
	assert_true(w->gateway->hold_budget.used_bytes > 5);
	assert_int_equal(
	    container_of(w->gateway->clients.conns.next, struct client_conn, link)->hold_budget.used_bytes, 0);
	gate_answer(at, 200, 5, true);
	gate_world_free(w);
}

/* covers: R63 */
static void requests_are_refused_last_and_accepted_again_after_the_shortage(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, RULES);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *at = page(w, client);
	w->gateway->env.memory_high_bytes = w->gateway->env.budget.used_bytes;
	w->gateway->pressure.low_bytes = w->gateway->env.budget.used_bytes / 2;
	gate_passes(w);
	assert_true(w->gateway->env.memory_is_short);
	/* Above the mark: no pushes any more, but requests. */
	struct gate_stream *push = gate_promise(at, "http", "example.com", "/style");
	UNTIL(w, push->is_over);
	assert_int_equal(push->code, SESSION_REFUSED_STREAM);
	expect_shed(w, 0, 1, 0, 0);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(client, "/one");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	/* Between the marks: the same, so that what was shed does not come back at once. */
	size_t high = w->gateway->env.memory_high_bytes;
	w->gateway->env.memory_high_bytes = SIZE_MAX / 4;
	gate_passes(w);
	push = gate_promise(at, "http", "example.com", "/script");
	UNTIL(w, push->is_over);
	assert_int_equal(push->code, SESSION_REFUSED_STREAM);
	w->gateway->env.memory_high_bytes = high;
	/* At the limit: no requests any more either, for the client to send again. */
	size_t limit = w->gateway->env.budget.limit_bytes;
	w->gateway->env.budget.limit_bytes = w->gateway->env.budget.used_bytes;
	struct gate_stream *refused = gate_get(client, "/two");
	UNTIL(w, refused->is_over);
	assert_true(refused->unprocessed);
	assert_int_equal(w->counters.streams_refused_memory, 1);
	assert_int_equal(gate_seen(&w->sites[0], "/two"), 0);
	/* And all is as it was. */
	w->gateway->env.budget.limit_bytes = limit;
	relax(w);
	s = gate_get(client, "/two");
	push = gate_promise(at, "http", "example.com", "/style");
	gate_answer(push, 200, 5, true);
	gate_answer(at, 200, 5, true);
	UNTIL(w,
	    s->is_over && gate_find_at(client, "/style") && gate_find_at(client, "/style")->is_over);
	assert_int_equal(s->status, 200);
	assert_int_equal(gate_find_at(client, "/style")->received, 5);
	gate_world_free(w);
}

/* covers: R63 */
static void one_loop_pass_sheds_a_bounded_number(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new("hold-max-count = 128", NULL, NULL, RULES);
	struct gate_stream *at = page(w, gate_client(w, NULL));
	char path[32];
	for (unsigned i = 0; i < 30; i++) {
		snprintf(path, sizeof(path), "/hold%u", i);
		is_held(w, at, path);
	}
	for (unsigned i = 30; i < 100; i++) {
		snprintf(path, sizeof(path), "/hold%u", i);
		answer_fresh(gate_promise(at, "http", "example.com", path));
	}
	UNTIL(w, w->counters.pushes_held == 100);
	w->gateway->pressure.low_bytes = 0;
	w->gateway->env.shed(&w->gateway->env);
	assert_int_equal(w->counters.shed_holds, 64);
	assert_true(w->gateway->pressure.has_more);
	w->gateway->env.memory_high_bytes = 1;
	gate_passes(w);
	assert_int_equal(w->counters.shed_holds, 100);
	assert_false(w->gateway->pressure.has_more);
	relax(w);
	gate_answer(at, 200, 5, true);
	gate_world_free(w);
}

/* covers: R63 */
static void connection_younger_than_a_second_is_not_shed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_peer *old = idle_client(w);
	was_idle_long(newest(w));
	struct gate_peer *new = idle_client(w);
	w->gateway->env.memory_high_bytes = w->gateway->pressure.low_bytes = 1;
	UNTIL(w, old->ended);
	gate_passes(w);
	assert_false(new->goaway_came);
	expect_shed(w, 0, 0, 1, 0);
	relax(w);
	w->sites[0].serve = ok;
	struct gate_stream *s = gate_get(new, "/");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

/* Bytes within its open windows still arrive; its next requests are refused; other clients are served.
 * covers: R63 */
static void used_up_connection_budget_affects_only_that_client(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new("connection-memory = 1M\nhold-max-bytes = 1M", NULL, WIDE, NULL);
	const struct gate_peer_options stuck = {.keeps_credit = true};
	struct gate_peer *slow = gate_client(w, &stuck), *quick = gate_client(w, NULL);
	struct gate_stream *s[5];
	char path[32];
	for (unsigned i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "/slow%u", i);
		s[i] = gate_get(slow, path);
		UNTIL(w, gate_find(w, path));
		gate_answer(gate_find(w, path), 200, 400000, true);
	}
	const struct client_conn *c = container_of(w->gateway->clients.conns.next, struct client_conn, link);
	UNTIL(w, c->budget.used_bytes > c->budget.limit_bytes);
	w->sites[0].serve = ok;
	struct gate_stream *refused = gate_get(slow, "/more");
	UNTIL(w, refused->is_over);
	assert_int_equal(refused->code, SESSION_REFUSED_STREAM);
	struct gate_stream *served = gate_get(quick, "/quick");
	UNTIL(w, served->is_over);
	assert_int_equal(served->status, 200);
	/* It reads at last: everything comes, and it is served again. */
	slow->options.keeps_credit = false;
	for (unsigned i = 0; i < 5; i++)
		gate_credit(s[i]);
	for (unsigned i = 0; i < 5; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->received, 400000);
		assert_false(s[i]->was_reset);
	}
	served = gate_get(slow, "/again");
	UNTIL(w, served->is_over);
	assert_int_equal(served->status, 200);
	expect_shed(w, 0, 0, 0, 0);
	gate_world_free(w);
}

/* The same with an origin: other requests to it go over another connection.
 * covers: R63 */
static void origin_connection_without_budget_gets_no_more_requests(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new("connection-memory = 1M\nhold-max-bytes = 1M", NULL, NULL, NULL);
	w->sites[0].options.keeps_credit = true;
	w->sites[0].options.window = UINT32_MAX;
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 5; i++)
		gate_more(gate_request(c, "POST", "example.com", "/up", false, NULL), 400000, false);
	UNTIL(w, gate_seen(&w->sites[0], "/up") == 5);
	struct origin_conn *origin = gate_first_conn(w);
	assert_non_null(origin);
	UNTIL(w, origin->budget.used_bytes > origin->budget.limit_bytes);
	w->sites[0].serve = ok;
	size_t peers = w->sites[0].peer_count;
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/other");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	assert_true(w->sites[0].peer_count > peers);
	gate_world_free(w);
}

static size_t most_live(const struct gate_world *w)
{
	return w->gateway->env.budget.limit_bytes + 4 * MIB;
}

#define CROWD 4u
#define CROWD_EACH 100u

/* Each response alone fits into the memory, and all were requested before memory was short.
 * covers: R63 */
static void responses_beyond_the_memory_wait_in_the_origins_sockets(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	size_t limit = w->gateway->env.budget.limit_bytes = 4 * MIB;
	memory_pressure_open(w->gateway);
	const struct gate_peer_options stuck = {.keeps_credit = true, .window = 1};
	struct gate_stream *s[CROWD * CROWD_EACH];
	for (unsigned i = 0; i < CROWD; i++) {
		struct gate_peer *p = gate_client(w, &stuck);
		for (unsigned j = 0; j < CROWD_EACH; j++)
			s[i * CROWD_EACH + j] = gate_get(p, "/stuck");
	}
	UNTIL(w, gate_seen(&w->sites[0], "/stuck") == CROWD * CROWD_EACH);
	for (size_t i = 0; i < w->sites[0].peer_count; i++)
		for (size_t j = 0; j < w->sites[0].peers[i]->stream_count; j++)
			gate_answer(w->sites[0].peers[i]->streams[j], 200, 16000, true);
	UNTIL(w, w->gateway->pressure.pauses_origins);
	UNTIL(w, w->counters.shed_streams > 0 && !w->gateway->env.memory_is_short);
	assert_in_range(w->gateway->env.budget.peak_bytes, limit, limit + limit / 8 + MIB);
	/* No more went than had to, and others are served. */
	w->sites[0].serve = ok;
	struct gate_stream *honest = gate_get(gate_client(w, NULL), "/honest");
	UNTIL(w, honest->is_over);
	assert_int_equal(honest->status, 200);
	unsigned shed = 0;
	for (unsigned i = 0; i < CROWD * CROWD_EACH; i++)
		shed += s[i]->is_over;
	assert_true(shed > 0 && shed < CROWD * CROWD_EACH);
	gate_world_free(w);
}

/* Many clients read nothing; one client makes small requests one after the other.
 * covers: R63 */
static void stalled_exchanges_are_shed_for_those_that_progress(void **state)
{
	(void)state;
	struct gate_world *w =
	    gate_world_new("memory = 16M\nconnection-memory = 4M", NULL, WIDE, NULL);
	const struct gate_peer_options stuck = {.keeps_credit = true, .window = 1};
	char path[32];
	for (unsigned i = 0; i < 8; i++) {
		struct gate_peer *p = gate_client(w, &stuck);
		for (unsigned j = 0; j < 20; j++) {
			snprintf(path, sizeof(path), "/stuck%u-%u", i, j);
			const struct gate_stream *s = gate_get(p, path);
			/* A 503 is no end of the stream: its body waits for the client's window. */
			UNTIL(w, gate_find(w, path) || s->status != 0 || s->is_over || p->ended);
			if (p->ended)
				break;
			if (gate_find(w, path))
				gate_answer(gate_find(w, path), 200, 250000, true);
		}
	}
	UNTIL(w, w->gateway->env.memory_is_short);
	w->sites[0].serve = ok;
	struct gate_peer *honest = gate_client(w, NULL);
	unsigned served = 0;
	while (served < 20) {
		if (honest->goaway_came || honest->ended) /* was idle for long on a slow machine */
			honest = gate_client(w, NULL);
		struct gate_stream *s = gate_get(honest, "/honest");
		UNTIL(w, s->is_over || honest->ended);
		assert_true(
		    s->status == 200 || s->unprocessed || s->status == 503 || honest->ended);
		served += s->status == 200;
		assert_true(w->gateway->env.budget.used_bytes < most_live(w));
		assert_true(honest->stream_count < GATE_PEER_STREAMS - 1);
		if (s->status != 200) /* as a client does */
			net_run_once(w->loop, 50 * USEC_PER_MSEC);
	}
	UNTIL(w, w->counters.shed_streams > 0 && !w->gateway->env.memory_is_short);
	assert_true(w->gateway->env.budget.peak_bytes < most_live(w));
	gate_world_free(w);
}

/* Sends the client interim responses with this many bytes of heads on its only stream. */
static void send_interim_heads(struct gate_world *w, struct client_conn *c, size_t bytes)
{
	static char text[8000];
	memset(text, '!', sizeof(text)); /* a table takes no such field */
	struct leg *leg = list_first(&c->legs, struct leg, link);
	for (size_t said = 0; said < bytes; said += sizeof(text)) {
		struct http_head *head = http_head_new(w->heads);
		http_head_add(head, SLICE(":status"), SLICE("103"));
		http_head_add(head, SLICE("x-large"), slice_of(text, sizeof(text)));
		assert_null(http_head_validate(head, HTTP_RESPONSE));
		assert_true(session_respond(c->session, leg->stream, head, false));
		http_head_free(head);
	}
	net_conn_dirty(c->net);
	gate_passes(w);
}

/* covers: R63 */
static void connection_with_many_unread_heads_is_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	net_faults_begin();
	struct gate_peer *client = gate_client(w, NULL);
	page(w, client);
	gate_passes(w);
	struct client_conn *c = newest(w);
	/* Its socket takes nothing; what leaves the engine first waits in front of it. */
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, SIZE_MAX});
	send_interim_heads(w, c, 1);
	assert_true(net_conn_is_blocked(c->net));
	send_interim_heads(w, c, 60000);
	c->net->blocked_since -= 10 * USEC_PER_SEC;
	press(w);
	expect_shed(w, 0, 0, 0, 0); /* that much anybody may leave */
	send_interim_heads(w, c, 60000);
	c->net->blocked_since = w->gateway->relay.now;
	press(w);
	expect_shed(w, 0, 0, 0, 0); /* and for a moment any amount */
	c->net->blocked_since -= 10 * USEC_PER_SEC;
	press(w);
	expect_shed(w, 0, 0, 1, 0);
	net_faults_plan((struct net_fault){.error = 0});
	UNTIL(w, client->ended);
	UNTIL(w, gate_find(w, "/page")->is_over);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(load_is_shed_cheapest_first),
	    cmocka_unit_test(a_stalled_upload_is_answered_503),
	    cmocka_unit_test(one_byte_now_and_then_counts_as_stalled),
	    cmocka_unit_test(shared_held_responses_use_at_most_half_of_the_memory),
	    cmocka_unit_test(requests_are_refused_last_and_accepted_again_after_the_shortage),
	    cmocka_unit_test(one_loop_pass_sheds_a_bounded_number),
	    cmocka_unit_test(connection_younger_than_a_second_is_not_shed),
	    cmocka_unit_test(used_up_connection_budget_affects_only_that_client),
	    cmocka_unit_test(origin_connection_without_budget_gets_no_more_requests),
	    cmocka_unit_test(responses_beyond_the_memory_wait_in_the_origins_sockets),
	    cmocka_unit_test(stalled_exchanges_are_shed_for_those_that_progress),
	    cmocka_unit_test(connection_with_many_unread_heads_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
