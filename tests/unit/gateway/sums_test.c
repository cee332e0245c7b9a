/* SPDX-License-Identifier: MIT */
/* Counters, access log and clients agree on how many bytes clients were sent, also when a response is held. */
#include "tests/unit/gateway/field_rules.h"

#include <unistd.h>

struct scene {
	struct stage stage;
	int fd[2];
	char log[16384];
};

static struct gate_world *world_of(struct scene *s)
{
	return s->stage.w;
}

static void scene_init(struct scene *s, const char *rules)
{
	*s = (struct scene){.stage.w = rules_world(NULL, rules)};
	assert_int_equal(pipe(s->fd), 0);
	world_of(s)->observe.access_fd = s->fd[1];
}

static void scene_fini(struct scene *s)
{
	close(s->fd[0]);
	close(s->fd[1]);
	gate_world_free(world_of(s));
}

/* Ends all clients and reads the access log: afterwards every exchange is in it. */
static void everybody_leaves(struct scene *s)
{
	struct gate_world *w = world_of(s);
	for (size_t i = 0; i < w->client_count; i++)
		gate_peer_abort(w->clients[i]);
	UNTIL(w, w->counters.requests_open == 0);
	observe_flush(&w->observe);
	w->observe.access_fd = -1;
	ssize_t n = read(s->fd[0], s->log, sizeof(s->log) - 1);
	assert_true(n > 0);
	s->log[n] = '\0';
}

/* The sum of a number over all lines of the log. */
static uint64_t logged(const struct scene *s, const char *key)
{
	char text[64];
	uint64_t sum = 0;
	snprintf(text, sizeof(text), "\"%s\":", key);
	for (const char *p = s->log; (p = strstr(p, text)) != NULL;) {
		p += strlen(text);
		sum += strtoull(p, NULL, 10);
	}
	return sum;
}

static uint64_t received_by_clients(const struct scene *s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s->stage.w->client_count; i++)
		for (size_t j = 0; j < s->stage.w->clients[i]->stream_count; j++)
			sum += s->stage.w->clients[i]->streams[j]->received;
	return sum;
}

static void sums_agree(struct scene *s, uint64_t wasted)
{
	uint64_t received = received_by_clients(s);
	everybody_leaves(s);
	assert_int_equal(world_of(s)->counters.down_out_bytes, received);
	assert_int_equal(logged(s, "response_bytes"), received);
	assert_int_equal(world_of(s)->counters.hold_wasted_bytes, wasted);
	assert_int_equal(logged(s, "wasted_bytes"), wasted);
}

#define FRESH {"cache-control", "max-age=60", "etag", "\"1\""}

static void a_claimed_response_counts_once(void **state)
{
	(void)state; /* covers: P-num-log P-num-metrics P-hold-claim */
	static const struct play p = {.name = "claimed", .response = FRESH};
	struct scene s;
	scene_init(&s, "");
	struct played d = play(&s.stage, &p);
	assert_string_equal(d.outcome, "claimed");
	sums_agree(&s, 0);
	assert_int_equal(world_of(&s)->counters.down_out_bytes, 1 + HELD_BYTES);
	scene_fini(&s);
}

static void what_nobody_asked_for_was_sent_to_nobody(void **state)
{
	(void)state; /* covers: P-num-log P-hold-bounds */
	static const struct play p = {.name = "unclaimed", .response = FRESH};
	struct scene s;
	struct played d = {0};
	scene_init(&s, "");
	play_page(&s.stage, refusing_client(world_of(&s)), &p, &d);
	sums_agree(&s, HELD_BYTES);
	assert_int_equal(world_of(&s)->counters.down_out_bytes, 1);
	scene_fini(&s);
}

static void a_304_sends_nothing_of_what_was_held(void **state)
{
	(void)state; /* covers: P-num-log */
	static const struct play p = {.name = "304", .response = FRESH, .claim = {"if-none-match", "\"1\""}};
	struct scene s;
	scene_init(&s, "");
	struct played d = play(&s.stage, &p);
	assert_string_equal(d.outcome, "304");
	sums_agree(&s, HELD_BYTES);
	scene_fini(&s);
}

static void what_a_claimer_got_before_its_reset_is_not_wasted(void **state)
{
	(void)state; /* covers: P-num-log P-hold-bounds */
	static const struct play p = {.name = "reset", .response = FRESH};
	static const struct gate_peer_options narrow = {.no_push = true, .keeps_credit = true, .window = HELD_BYTES - 1};
	struct scene s;
	struct played d = {0};
	scene_init(&s, "");
	struct gate_peer *client = gate_client(world_of(&s), &narrow);
	play_page(&s.stage, client, &p, &d);
	struct gate_stream *claim = gate_get(client, d.path);
	UNTIL(world_of(&s), claim->received == HELD_BYTES - 1);
	gate_reset_stream(claim, SESSION_CANCEL);
	gate_passes(world_of(&s));
	sums_agree(&s, 1);
	scene_fini(&s);
}

static void a_withdrawn_hold_is_no_push_that_failed(void **state)
{
	(void)state; /* covers: P-num-metrics */
	static const struct play p = {.name = "withdrawn", .response = {"cache-control", "no-store"}};
	struct scene s;
	scene_init(&s, "");
	struct gate_world *w = world_of(&s);
	struct gate_stream *asked = gate_get(refusing_client(w), "/page");
	UNTIL(w, gate_find(w, "/page"));
	struct gate_stream *at = gate_find(w, "/page");
	struct gate_stream *held = gate_promise(at, "http", "example.com", "/a.css");
	gate_answer_fields(held, 200, false, SPREAD(p.response));
	gate_more(held, HELD_BYTES, true);
	UNTIL(w, held->is_over);
	gate_answer(at, 200, 1, true);
	UNTIL(w, asked->is_over);
	assert_int_equal(w->counters.pushes_held, 1);
	assert_int_equal(w->counters.pushes_forwarded, 0);
	assert_int_equal(w->counters.pushes_failed, 0);
	assert_int_equal(w->counters.push_out_bytes, 0);
	uint64_t wasted = w->counters.hold_wasted_bytes;
	assert_in_range(wasted, 0, HELD_BYTES);
	sums_agree(&s, wasted);
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_claimed_response_counts_once),
	    cmocka_unit_test(what_nobody_asked_for_was_sent_to_nobody),
	    cmocka_unit_test(a_304_sends_nothing_of_what_was_held),
	    cmocka_unit_test(what_a_claimer_got_before_its_reset_is_not_wasted),
	    cmocka_unit_test(a_withdrawn_hold_is_no_push_that_failed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
