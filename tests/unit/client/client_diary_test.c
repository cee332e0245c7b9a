/* SPDX-License-Identifier: MIT */
/* The diary of a client connection: what it records, what it is charged, and what is counted for each rule. */
#include "tests/support/gateway_world.h"

/* covers: P-src-once P-src-data P-make-client-reset P-make-withdrawn P-num-metrics */

#define ROUTE "[route a]\norigin = a\n"

/* A world, a client, and its page at the origin. */
struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page, *at;
};

static void visit(struct scene *s, const char *path)
{
	s->page = gate_get(s->client, path);
	UNTIL(s->w, gate_find(s->w, path));
	s->at = gate_find(s->w, path);
}

static struct scene scene_new(const char *server, const char *more)
{
	struct scene s = {.w = gate_world_new(server, NULL, NULL, more)};
	s.client = gate_client(s.w, NULL);
	visit(&s, "/page");
	return s;
}

static void finish_page(struct scene *s)
{
	gate_answer(s->at, 200, 10, true);
	UNTIL(s->w, s->page->is_over);
}

static struct client_conn *conn_of(const struct scene *s)
{
	return list_first(&s->w->gateway->clients.conns, struct client_conn, link);
}

static uint64_t known_count(const struct scene *s)
{
	return s->w->counters
	    .push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(&policy_reason_KNOWN)];
}

static struct gate_stream *promise(struct scene *s, const char *path)
{
	struct gate_stream *p = gate_promise(s->at, "http", "example.com", path);
	assert_non_null(p);
	return p;
}

/* Promises a resource and waits for the promise; returns the client's stream. */
static struct gate_stream *is_forwarded(struct scene *s, const char *path)
{
	struct gate_stream *before = gate_find_at(s->client, path);
	struct gate_stream *p = promise(s, path);
	UNTIL(s->w,
	    p->is_over || (gate_find_at(s->client, path) && gate_find_at(s->client, path) != before));
	assert_false(p->is_over);
	return p;
}

static void is_dropped_as_known(struct scene *s, const char *path)
{
	uint64_t before = known_count(s);
	struct gate_stream *p = promise(s, path);
	UNTIL(s->w, p->is_over);
	assert_true(p->was_reset);
	assert_int_equal(p->code, SESSION_CANCEL);
	assert_int_equal(known_count(s), before + 1);
}

static uint64_t rule_count(const struct scene *s, uint32_t rule, enum policy_event event)
{
	return s->w->counters.rules[rule].events[event];
}

/* ---- the diary ---- */

static void connection_without_offers_remembers_nothing(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	gate_answer_fields(s.at, 200, true, "etag", "\"1\"", NULL);
	UNTIL(s.w, s.page->is_over);
	struct client_conn *c = conn_of(&s);
	assert_false(c->diary.is_recording);
	assert_int_equal(policy_diary_bytes(&c->diary.resources), 0);
	assert_null(s.w->gateway->clients.validators.entries);
	gate_world_free(s.w);
}

static void own_sources_start_recording_at_the_first_request(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, ROUTE "[preload p]\npath = /elsewhere\nlink = yes\n");
	gate_answer_fields(s.at, 200, true, "etag", "\"1\"", NULL);
	UNTIL(s.w, s.page->is_over);
	assert_int_equal(conn_of(&s)->diary.resources.count, 1);
	visit(&s, "/other");
	is_dropped_as_known(&s, "/page");
	finish_page(&s);
	gate_world_free(s.w);
}

static struct policy_diary_note note_of(const struct scene *s, const char *path)
{
	struct policy_diary_note note = {.state = POLICY_DIARY_PUSHED_ONCE};
	uint64_t key = policy_diary_key(SLICE("GET"), SLICE("example.com"), slice_of_string(path));
	assert_true(policy_diary_find(&conn_of(s)->diary.resources, key, &note));
	return note;
}

static void push_in_flight_is_not_promised_again(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *p = is_forwarded(&s, "/a.css");
	gate_answer_fields(p, 200, false, "etag", "\"1\"", NULL);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->status == 200);
	struct scene other = s;
	visit(&other, "/page2");
	is_dropped_as_known(&other, "/a.css");
	gate_more(p, 5, true);
	finish_page(&s);
	finish_page(&other);
	gate_world_free(s.w);
}

/* Nothing is known of the response yet, so it may be data: the origin that promises it twice means it twice. */
static void promise_is_not_known_by_a_push_that_has_not_begun(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *one = is_forwarded(&s, "/data");
	struct scene other = s;
	visit(&other, "/page2");
	struct gate_stream *two = is_forwarded(&other, "/data");
	gate_answer(one, 200, 5, true);
	gate_answer(two, 200, 5, true);
	finish_page(&s);
	finish_page(&other);
	assert_int_equal(note_of(&s, "/data").state, POLICY_DIARY_PUSHED_ONCE);
	gate_world_free(s.w);
}

static void offer_of_our_own_is_known_by_a_push_that_has_not_begun(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, ROUTE "[preload p]\npath = /page*\nadd = /a.css\n");
	UNTIL(s.w, gate_find(s.w, "/a.css"));
	struct scene other = s;
	visit(&other, "/page2");
	size_t known = policy_reason_position(&policy_reason_KNOWN);
	assert_int_equal(s.w->counters.push[POLICY_CONFIG][POLICY_DROP][known], 1);
	gate_answer(gate_find(s.w, "/a.css"), 200, 5, true);
	finish_page(&s);
	finish_page(&other);
	gate_world_free(s.w);
}

static void failed_push_is_unknown_again(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *p = is_forwarded(&s, "/a.css");
	gate_answer(p, 200, 5, false);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->received == 5);
	gate_reset_stream(p, SESSION_INTERNAL_ERROR);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->is_over);
	finish_page(&s);
	visit(&s, "/page2");
	gate_answer(is_forwarded(&s, "/a.css"), 200, 5, true);
	finish_page(&s);
	gate_world_free(s.w);
}

static void push_answered_with_an_error_is_unknown_again(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	gate_answer(is_forwarded(&s, "/a.css"), 503, 5, true);
	finish_page(&s);
	visit(&s, "/page2");
	gate_answer(is_forwarded(&s, "/a.css"), 200, 5, true);
	finish_page(&s);
	gate_world_free(s.w);
}

static void reset_by_the_client_counts_as_known(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *p = is_forwarded(&s, "/a.css");
	gate_reset_stream(gate_find_at(s.client, "/a.css"), SESSION_CANCEL);
	UNTIL(s.w, p->is_over);
	finish_page(&s);
	visit(&s, "/page2");
	is_dropped_as_known(&s, "/a.css");
	finish_page(&s);
	gate_world_free(s.w);
}

/* The client's word counts for one page, unless a validator says what the client has. */
static void reset_before_the_head_counts_for_a_short_time(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *p = is_forwarded(&s, "/data");
	gate_reset_stream(gate_find_at(s.client, "/data"), SESSION_CANCEL);
	UNTIL(s.w, p->is_over);
	struct policy_diary_note note = note_of(&s, "/data");
	uint32_t now_sec = (uint32_t)(s.w->gateway->relay.now / USEC_PER_SEC);
	assert_int_equal(note.validator, 0);
	assert_in_range(note.fresh_until_sec, now_sec + 1, now_sec + 10);
	assert_int_equal(
	    policy_diary_answer(&note, false, 0, note.fresh_until_sec), POLICY_NOT_KNOWN);
	finish_page(&s);
	gate_world_free(s.w);
}

static void reset_before_the_head_of_what_was_data_does_not_count(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	gate_answer(is_forwarded(&s, "/data"), 200, 5, true);
	UNTIL(s.w, gate_find_at(s.client, "/data")->is_over);
	for (int i = 0; i < 2; i++) {
		struct gate_stream *p = is_forwarded(&s, "/data");
		gate_reset_stream(gate_find_at(s.client, "/data"), SESSION_CANCEL);
		UNTIL(s.w, p->is_over);
		assert_int_equal(note_of(&s, "/data").state, POLICY_DIARY_PUSHED_ONCE);
	}
	finish_page(&s);
	visit(&s, "/page2");
	gate_answer(is_forwarded(&s, "/data"), 200, 5, true);
	finish_page(&s);
	gate_world_free(s.w);
}

static void reset_before_the_head_means_the_latest_version(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL), other = s;
	gate_answer_fields(is_forwarded(&s, "/a.css"), 200, true, "etag", "\"1\"", NULL);
	UNTIL(s.w, gate_find_at(s.client, "/a.css")->is_over);
	uint32_t validator = note_of(&s, "/a.css").validator;
	assert_int_not_equal(validator, 0);
	other.client = gate_client(s.w, NULL);
	visit(&other, "/page2");
	struct gate_stream *p = promise(&other, "/a.css");
	UNTIL(s.w, gate_find_at(other.client, "/a.css"));
	gate_reset_stream(gate_find_at(other.client, "/a.css"), SESSION_REFUSED_STREAM);
	UNTIL(s.w, p->is_over);
	const struct client_conn *c =
	    container_of(s.w->gateway->clients.conns.prev, struct client_conn, link);
	struct policy_diary_note note;
	uint64_t key = policy_diary_key(SLICE("GET"), SLICE("example.com"), SLICE("/a.css"));
	assert_true(policy_diary_find(&c->diary.resources, key, &note));
	assert_int_equal(note.validator, validator);
	finish_page(&s);
	finish_page(&other);
	gate_world_free(s.w);
}

static void reset_behind_the_head_leaves_what_the_head_says(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct gate_stream *data = is_forwarded(&s, "/data"), *css = is_forwarded(&s, "/a.css");
	gate_answer_fields(data, 200, false, "cache-control", "no-cache", "etag", "\"1\"", NULL);
	gate_answer_fields(css, 200, false, "etag", "\"1\"", NULL);
	struct gate_stream *got[] = {gate_find_at(s.client, "/data"), gate_find_at(s.client, "/a.css")};
	UNTIL(s.w, got[0]->status == 200 && got[1]->status == 200);
	gate_reset_stream(got[0], SESSION_CANCEL);
	gate_reset_stream(got[1], SESSION_CANCEL);
	UNTIL(s.w, data->is_over && css->is_over);
	finish_page(&s);
	visit(&s, "/page2");
	is_dropped_as_known(&s, "/a.css");
	gate_answer(is_forwarded(&s, "/data"), 200, 5, true);
	finish_page(&s);
	gate_world_free(s.w);
}

static void not_modified_confirms_the_version(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	gate_answer_fields(is_forwarded(&s, "/a.css"), 200, true, "last-modified", "x", NULL);
	finish_page(&s);
	static const struct {
		const char *name, *value, *page;
		bool is_known;
	} rows[] = {{"x-nothing", "1", "/page2", true}, {"cache-control", "max-age=60", "/page3", true},
	    {"cache-control", "no-cache", "/page4", false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		s.page = gate_get(s.client, "/a.css");
		UNTIL(s.w, !gate_find(s.w, "/a.css")->is_over);
		gate_answer_fields(gate_find(s.w, "/a.css"), 304, true, rows[i].name, rows[i].value, NULL);
		UNTIL(s.w, s.page->is_over);
		visit(&s, rows[i].page);
		if (rows[i].is_known)
			is_dropped_as_known(&s, "/a.css");
		else
			gate_answer(is_forwarded(&s, "/a.css"), 200, 5, true);
		finish_page(&s);
	}
	gate_world_free(s.w);
}

static void hint_counts_as_known(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, ROUTE "[push h]\naction = hint\nhint-clients = all\n");
	struct gate_stream *p = promise(&s, "/a.css");
	UNTIL(s.w, p->is_over && s.page->interims == 1);
	finish_page(&s);
	visit(&s, "/page2");
	is_dropped_as_known(&s, "/a.css");
	finish_page(&s);
	assert_int_equal(rule_count(&s, 0, POLICY_EVENT_HINTED), 1);
	gate_world_free(s.w);
}

static void diary_is_charged_to_its_connection(void **state)
{
	(void)state;
	struct scene s = scene_new("diary-entries = 100", NULL);
	struct client_conn *c = conn_of(&s);
	struct gate_stream *pushes[40];
	char path[32];
	for (unsigned i = 0; i < 40; i++) {
		snprintf(path, sizeof(path), "/%u.css", i);
		pushes[i] = is_forwarded(&s, path);
		size_t diary = policy_diary_bytes(&c->diary.resources);
		assert_true(diary > 0 && diary <= c->budget.used_bytes);
	}
	assert_int_equal(c->diary.resources.count, 40);
	for (unsigned i = 0; i < 40; i++)
		gate_answer(pushes[i], 200, 0, true);
	finish_page(&s);
	size_t used = c->budget.used_bytes, diary = policy_diary_bytes(&c->diary.resources);
	client_diary_fini(c);
	assert_int_equal(c->budget.used_bytes, used - diary);
	gate_world_free(s.w);
}

/* Refuses the n-th charge to the connection's budget: one of a promise's charges is the diary's. */
static void entry_refused_by_the_budget_is_left_out(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, NULL);
	struct client_conn *c = conn_of(&s);
	struct gate_stream *p = NULL, *got = NULL;
	char path[32];
	for (unsigned n = 1; !got; n++) {
		assert_true(n < 20);
		snprintf(path, sizeof(path), "/%u.css", n);
		budget_fail_nth(&c->budget, n);
		p = promise(&s, path);
		UNTIL(s.w, p->is_over || gate_find_at(s.client, path));
		got = gate_find_at(s.client, path);
	}
	budget_fail_nth(&c->budget, 0);
	assert_int_equal(c->diary.resources.count, 0);
	assert_int_equal(policy_diary_bytes(&c->diary.resources), 0);
	gate_answer_fields(p, 200, true, "etag", "\"1\"", NULL);
	UNTIL(s.w, got->is_over);
	assert_int_equal(c->diary.resources.count, 1); /* the response's head noted it once more */
	finish_page(&s);
	gate_world_free(s.w);
}

/* ---- rules ---- */

static void ends_of_pushes_are_counted_for_their_rule(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL,
	    ROUTE "[push none]\npath = /never\naction = drop\n[push all]\naction = forward\n");
	gate_answer(is_forwarded(&s, "/used"), 200, 7, true);
	struct gate_stream *reset = is_forwarded(&s, "/reset");
	gate_answer(reset, 200, 5, false);
	UNTIL(s.w, gate_find_at(s.client, "/reset")->received == 5 &&
		       gate_find_at(s.client, "/used")->is_over);
	gate_reset_stream(gate_find_at(s.client, "/reset"), SESSION_CANCEL);
	UNTIL(s.w, reset->is_over);
	struct gate_stream *failed = is_forwarded(&s, "/failed");
	gate_reset_stream(failed, SESSION_INTERNAL_ERROR);
	UNTIL(s.w, gate_find_at(s.client, "/failed")->is_over);
	finish_page(&s);
	assert_int_equal(rule_count(&s, 1, POLICY_EVENT_OFFERED), 3);
	assert_int_equal(rule_count(&s, 1, POLICY_EVENT_FORWARDED), 3);
	assert_int_equal(rule_count(&s, 1, POLICY_EVENT_USED), 1);
	assert_int_equal(rule_count(&s, 1, POLICY_EVENT_RESET), 1);
	assert_int_equal(rule_count(&s, 1, POLICY_EVENT_WITHDRAWN), 0);
	assert_int_equal(s.w->counters.rules[1].used_bytes, 7);
	assert_int_equal(s.w->counters.rules[1].wasted_bytes, 5);
	assert_int_equal(rule_count(&s, 0, POLICY_EVENT_OFFERED), 0);
	gate_world_free(s.w);
}

static void withdrawn_pushes_of_our_own_pause_their_rule(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, ROUTE "[push own]\naction = forward\nmin-sample = 3\n"
					       "[preload p]\npath = /page*\nlink = yes\n");
	gate_answer_fields(s.at, 200, true, "link",
	    "</1.css>; rel=preload, </2.css>; rel=preload, </3.css>; rel=preload", NULL);
	static const char *const paths[] = {"/1.css", "/2.css", "/3.css"};
	for (unsigned i = 0; i < 3; i++) {
		UNTIL(s.w, gate_find(s.w, paths[i]));
		gate_answer(gate_find(s.w, paths[i]), 404, 0, true);
		UNTIL(s.w, gate_find_at(s.client, paths[i])->is_over);
	}
	UNTIL(s.w, s.page->is_over);
	assert_int_equal(rule_count(&s, 0, POLICY_EVENT_WITHDRAWN), 3);
	assert_int_equal(s.w->gateway->feedback.tallies[0].state, POLICY_RULE_PAUSED);
	visit(&s, "/page2");
	gate_answer_fields(s.at, 200, true, "link", "</4.css>; rel=preload", NULL);
	UNTIL(s.w, s.page->is_over);
	size_t paused = policy_reason_position(&policy_reason_PAUSED);
	assert_int_equal(s.w->counters.push[POLICY_LINK][POLICY_DROP][paused], 1);
	assert_null(gate_find(s.w, "/4.css"));
	gate_world_free(s.w);
}

/* The response was delivered; the request's body waits for the origin when the client has gone. */
static void request_that_outlives_its_connection_leaves_the_diary_alone(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    ROUTE "[push own]\naction = forward\n[preload p]\nlink = yes\n");
	w->sites[0].options = (struct gate_peer_options){.window = 10, .keeps_credit = true};
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *s = gate_request(client, "GET", "example.com", "/long", false, NULL);
	gate_more(s, 1000, true);
	UNTIL(w, gate_find(w, "/long") && gate_find(w, "/long")->received == 10);
	gate_answer(gate_find(w, "/long"), 200, 5, true);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_peer_abort(client);
	UNTIL(w, w->counters.connections_open == 0);
	gate_passes(w);
	assert_int_equal(w->counters.requests_open, 1);
	gate_world_free(w);
}

static void rules_beyond_the_slots_are_counted_together(void **state)
{
	(void)state;
	char more[8192] = ROUTE, text[8192];
	size_t n = strlen(more), size = sizeof(more);
	for (unsigned i = 0; i < OBSERVE_RULES + 2; i++)
		n += (size_t)snprintf(more + n, size - n,
		    "[push r%u]\npromised-path = /%u.css\naction = forward\n", i, i);
	struct scene s = scene_new(NULL, more);
	char path[32];
	for (unsigned i = OBSERVE_RULES - 1; i < OBSERVE_RULES + 2; i++) {
		snprintf(path, sizeof(path), "/%u.css", i);
		gate_answer(is_forwarded(&s, path), 200, 1, true);
	}
	finish_page(&s);
	assert_int_equal(rule_count(&s, OBSERVE_RULES - 1, POLICY_EVENT_FORWARDED), 1);
	assert_int_equal(rule_count(&s, OBSERVE_RULES, POLICY_EVENT_FORWARDED), 2);
	FILE *out = fmemopen(text, sizeof(text), "w");
	const struct observe_named_rule last = {
	    s.w->conf->policy.rules[OBSERVE_RULES - 1].name, s.w->counters.rules[OBSERVE_RULES - 1]};
	for (size_t family = 0; family < OBSERVE_RULE_FAMILIES; family++)
		observe_rules_print(family, &last, 1, &s.w->counters.rules[OBSERVE_RULES], out);
	fclose(out);
	assert_non_null(strstr(text, "pushgate_rule_total{rule=\"r63\",event=\"forwarded\"} 1\n"));
	assert_non_null(
	    strstr(text, "pushgate_rule_total{rule=\"(other)\",event=\"forwarded\"} 2\n"));
	assert_null(strstr(text, "r64"));
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(connection_without_offers_remembers_nothing),
	    cmocka_unit_test(own_sources_start_recording_at_the_first_request),
	    cmocka_unit_test(push_in_flight_is_not_promised_again),
	    cmocka_unit_test(promise_is_not_known_by_a_push_that_has_not_begun),
	    cmocka_unit_test(offer_of_our_own_is_known_by_a_push_that_has_not_begun),
	    cmocka_unit_test(failed_push_is_unknown_again),
	    cmocka_unit_test(push_answered_with_an_error_is_unknown_again),
	    cmocka_unit_test(reset_by_the_client_counts_as_known),
	    cmocka_unit_test(reset_before_the_head_counts_for_a_short_time),
	    cmocka_unit_test(reset_before_the_head_of_what_was_data_does_not_count),
	    cmocka_unit_test(reset_before_the_head_means_the_latest_version),
	    cmocka_unit_test(reset_behind_the_head_leaves_what_the_head_says),
	    cmocka_unit_test(not_modified_confirms_the_version),
	    cmocka_unit_test(hint_counts_as_known),
	    cmocka_unit_test(diary_is_charged_to_its_connection),
	    cmocka_unit_test(entry_refused_by_the_budget_is_left_out),
	    cmocka_unit_test(ends_of_pushes_are_counted_for_their_rule),
	    cmocka_unit_test(withdrawn_pushes_of_our_own_pause_their_rule),
	    cmocka_unit_test(request_that_outlives_its_connection_leaves_the_diary_alone),
	    cmocka_unit_test(rules_beyond_the_slots_are_counted_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
