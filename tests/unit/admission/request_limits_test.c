/* SPDX-License-Identifier: MIT */
/* limit-requests in a whole gateway: what is refused and how, what is counted, and that no open request is lost. */
#include "proxy/admission/limit_table.h"
#include "tests/support/script_peer.h"

#include <stdlib.h>

static struct gate_world *world(const char *lines)
{
	char more[1024];
	snprintf(more, sizeof(more), "[route a]\norigin = a\n%s\n[route b]\norigin = b\nhost = b.test\n", lines);
	return gate_world_new(NULL, NULL, NULL, more);
}

static struct gate_stream *asks(struct gate_peer *c, const char *path, const char *name, const char *value)
{
	return gate_request(c, "GET", "example.com", path, true, name, value, NULL);
}

/* It is not refused: it comes to the origin, which answers it. */
static void is_served(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, s->is_over || gate_find(w, s->path));
	assert_false(s->is_over);
	gate_answer(gate_find(w, s->path), 200, 10, true);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
}

static void field_is(const struct gate_stream *s, enum http_token token, const char *wanted)
{
	const struct http_field *f = http_head_find(s->head, token);
	struct slice value = f ? f->value : SLICE("(none)");
	if (!slice_equal(value, slice_of_string(wanted)))
		fail_msg("%s: %.*s, not %s", http_token_name(token).ptr, SLICE_ARG(value), wanted);
}

static void is_refused(struct gate_world *w, struct gate_stream *s, const char *after, const char *cause)
{
	char text[32];
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 429);
	field_is(s, HTTP_TOKEN_RETRY_AFTER, after);
	assert_non_null(strstr(s->status_error, "error=http_request_denied"));
	snprintf(text, sizeof(text), "429 Too Many Requests: %s\n", cause);
	assert_memory_equal(s->text, text, strlen(text));
	assert_null(gate_find(w, s->path));
}

static void above_the_rate_a_client_is_told_when_to_come_again(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 1/h burst 2");
	struct gate_peer *c = gate_client(w, NULL), *other = gate_client(w, NULL);
	is_served(w, gate_get(c, "/1"));
	is_served(w, gate_get(other, "/2")); /* the same address */
	is_refused(w, gate_get(c, "/3"), "3600", "request-rate");
	struct gate_stream *s = gate_request(c, "GET", "b.test", "/elsewhere", true, NULL); /* no limit there */
	UNTIL(w, gate_find(w, "/elsewhere"));
	gate_answer(gate_find(w, "/elsewhere"), 200, 0, true);
	UNTIL(w, s->is_over);
	assert_int_equal(w->counters.requests_limited, 1);
	assert_int_equal(w->counters.causes[relay_cause_index(&relay_cause_REQUEST_RATE)], 1);
	assert_int_equal(w->counters.limit_table_full, 0);
	gate_world_free(w);
}

static void a_call_of_grpc_is_told_in_its_own_words(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 1/h");
	struct gate_peer *c = gate_client(w, NULL);
	is_served(w, gate_get(c, "/1"));
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/a.S/M", false, "content-type", "application/grpc", NULL);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	field_is(s, HTTP_TOKEN_RETRY_AFTER, "(none)");
	bool has_status = false;
	for (uint32_t i = 0; i < s->head->count; i++)
		if (slice_equal(s->head->fields[i].name, SLICE("grpc-status")))
			has_status = slice_equal(s->head->fields[i].value, SLICE("8"));
	assert_true(has_status);
	gate_world_free(w);
}

/* ---- open requests ---- */

static void completes(struct gate_world *w, struct gate_stream *s)
{
	is_served(w, s);
}

static void is_reset_by_client(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	gate_reset_stream(s, RELAY_CANCEL);
}

static void is_reset_by_origin(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	gate_reset_stream(gate_find(w, s->path), RELAY_INTERNAL_ERROR);
	UNTIL(w, s->is_over);
}

static void loses_its_client(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	gate_peer_abort(s->peer);
}

static void loses_its_origin(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	gate_answer(gate_find(w, s->path), 200, 10, false);
	UNTIL(w, s->received == 10);
	gate_peer_abort(gate_find(w, s->path)->peer);
	UNTIL(w, s->is_over || s->was_reset);
}

/* REFUSED_STREAM: the request is sent once more, and is one all the same. */
static void is_retried(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	struct gate_stream *first = gate_find(w, s->path);
	gate_reset_stream(first, RELAY_REFUSED_STREAM);
	UNTIL(w, gate_find(w, s->path) != first || s->is_over);
	if (!s->is_over)
		gate_answer(gate_find(w, s->path), 200, 10, true);
	UNTIL(w, s->is_over);
}

static void is_answered_early(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, gate_find(w, s->path));
	gate_answer(gate_find(w, s->path), 413, 0, true);
	UNTIL(w, s->is_over);
}

static void an_open_request_counts_until_it_ends_in_whatever_way(void **state)
{
	(void)state;
	static void (*const ways[])(struct gate_world *w, struct gate_stream *s) = {completes, is_reset_by_client,
	    is_reset_by_origin, loses_its_client, loses_its_origin, is_retried, is_answered_early};
	struct gate_world *w = world("limit-requests = concurrent=1\nlimit-requests = concurrent=5 by=all");
	struct gate_peer *watcher = gate_client(w, NULL);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		char path[32], refused[32];
		snprintf(path, sizeof(path), "/way%zu", i);
		snprintf(refused, sizeof(refused), "/refused%zu", i);
		struct gate_stream *s = gate_get(gate_client(w, NULL), path);
		UNTIL(w, gate_find(w, path));
		is_refused(w, gate_get(watcher, refused), "1", "request-concurrency");
		ways[i](w, s);
		UNTIL(w, w->counters.requests_open == 0);
	}
	is_served(w, gate_get(watcher, "/last"));
	/* One is left open: the gateway's end gives it back. */
	gate_get(watcher, "/open");
	UNTIL(w, gate_find(w, "/open"));
	gate_world_free(w);
}

static void a_tunnel_is_open_until_it_is_closed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin c]\nserver = http://%a\n[route r]\norigin = c\nupgrade = echo\nlimit-requests = concurrent=1\n");
	struct gate_site *site = &w->sites[0];
	script_site(site);
	static const char upgrade[] = "GET /t HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
	static const char opening[] = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
	struct script_peer *client = script_client_mute(w, NULL, NULL);
	script_put(client, upgrade, strlen(upgrade));
	UNTIL(w, script_origins(site) > 0);
	struct script_peer *origin = script_origin(site, 0);
	SCRIPT_SEES(origin, "upgrade: echo");
	script_put(origin, opening, strlen(opening));
	SCRIPT_SEES(client, "101 Switching Protocols");
	struct script_peer *second = script_client_mute(w, NULL, NULL);
	script_put(second, upgrade, strlen(upgrade));
	SCRIPT_SEES(second, "429 Too Many Requests");
	SCRIPT_SEES(second, "retry-after: 1\r\n");
	script_abort(origin);
	UNTIL(w, w->counters.tunnels_open == 0 && w->counters.requests_open == 0);
	struct script_peer *third = script_client_mute(w, NULL, NULL);
	script_put(third, upgrade, strlen(upgrade));
	UNTIL(w, script_origins(site) > 1);
	gate_world_free(w);
}

/* ---- what is counted ---- */

static void what_one_line_refuses_is_counted_in_none(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 2/h\nlimit-requests = concurrent=1 by=all");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/1");
	UNTIL(w, gate_find(w, "/1"));
	for (unsigned i = 0; i < 5; i++)
		is_refused(w, gate_get(c, "/refused"), "1", "request-concurrency");
	is_served(w, s);
	is_served(w, gate_get(c, "/2"));
	is_refused(w, gate_get(c, "/3"), "1800", "request-rate");
	gate_world_free(w);
}

static void the_longest_wait_is_told(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 60/h burst 1\nlimit-requests = 1/h by=all\nlimit-requests = concurrent=1");
	struct gate_peer *c = gate_client(w, NULL);
	gate_get(c, "/1");
	UNTIL(w, gate_find(w, "/1"));
	is_refused(w, gate_get(c, "/2"), "3600", "request-rate");
	gate_world_free(w);
}

static void a_line_in_shadow_counts_and_refuses_nothing(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 1/h shadow\nlimit-requests = 3/h\nlimit-requests = concurrent=1 shadow");
	struct gate_peer *c = gate_client(w, NULL);
	is_served(w, gate_get(c, "/1"));
	assert_int_equal(w->counters.requests_limited_shadow, 0);
	is_served(w, gate_get(c, "/2"));
	assert_int_equal(w->counters.requests_limited_shadow, 1);
	is_served(w, gate_get(c, "/3"));
	assert_int_equal(w->counters.requests_limited_shadow, 2);
	is_refused(w, gate_get(c, "/4"), "1200", "request-rate");
	assert_int_equal(w->counters.requests_limited_shadow, 2);
	assert_int_equal(w->counters.requests_limited, 1);
	gate_world_free(w);
}

static void each_value_of_a_field_counts_on_its_own(void **state)
{
	(void)state;
	static const char *const rows[][2] = {{"X-Api-Key", "x-api-key"}, {"Authorization", "authorization"}};
	for (size_t i = 0; i < 2; i++) {
		char lines[64];
		const char *name = rows[i][1];
		snprintf(lines, sizeof(lines), "limit-requests = 1/h by=field:%s", rows[i][0]);
		struct gate_world *w = world(lines);
		struct gate_peer *c = gate_client(w, NULL);
		is_served(w, asks(c, "/1", name, "one"));
		is_served(w, asks(c, "/2", name, "two"));
		is_served(w, asks(c, "/3", name, ""));
		is_refused(w, asks(c, "/4", name, "one"), "3600", "request-rate");
		is_refused(w, asks(c, "/5", name, "two"), "3600", "request-rate");
		/* Without the field, the client counts. */
		is_served(w, gate_get(c, "/6"));
		is_refused(w, asks(c, "/7", "x-other", "one"), "3600", "request-rate");
		/* The lines of a field are one value. */
		is_served(w, gate_request(c, "GET", "example.com", "/8", true, name, "one", name, "two", NULL));
		is_refused(w, gate_request(c, "GET", "example.com", "/9", true, name, "one", name, "two", NULL), "3600", "request-rate");
		is_served(w, gate_request(c, "GET", "example.com", "/10", true, name, "two", name, "one", NULL));
		gate_world_free(w);
	}
}

static void what_does_not_reach_a_route_is_not_counted(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[route a]\norigin = a\npath = /a\nlimit-requests = 1/h\n");
	struct gate_peer *c = gate_client(w, NULL);
	for (unsigned i = 0; i < 3; i++) {
		struct gate_stream *s = gate_get(c, "/b");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 404);
		s = gate_request(c, "TRACE", "example.com", "/a", true, "max-forwards", "0", NULL);
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 501);
	}
	is_served(w, gate_get(c, "/a"));
	is_refused(w, gate_get(c, "/a/2"), "3600", "request-rate");
	gate_world_free(w);
}

static void pushes_are_not_counted(void **state)
{
	(void)state;
	struct gate_world *w = world("limit-requests = 2/h concurrent=1\n[preload p]\nadd = /own.css as=style");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/page");
	UNTIL(w, gate_find(w, "/page") && gate_find(w, "/own.css"));
	struct gate_stream *push = gate_promise(gate_find(w, "/page"), "http", "example.com", "/pushed");
	gate_answer(push, 200, 10, true);
	gate_answer(gate_find(w, "/own.css"), 200, 10, true);
	is_served(w, s);
	UNTIL(w, w->counters.requests_open == 0);
	is_served(w, gate_get(c, "/2"));
	is_refused(w, gate_get(c, "/3"), "1800", "request-rate");
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(above_the_rate_a_client_is_told_when_to_come_again),
	    cmocka_unit_test(a_call_of_grpc_is_told_in_its_own_words),
	    cmocka_unit_test(an_open_request_counts_until_it_ends_in_whatever_way),
	    cmocka_unit_test(a_tunnel_is_open_until_it_is_closed),
	    cmocka_unit_test(what_one_line_refuses_is_counted_in_none),
	    cmocka_unit_test(the_longest_wait_is_told),
	    cmocka_unit_test(a_line_in_shadow_counts_and_refuses_nothing),
	    cmocka_unit_test(each_value_of_a_field_counts_on_its_own),
	    cmocka_unit_test(what_does_not_reach_a_route_is_not_counted),
	    cmocka_unit_test(pushes_are_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
