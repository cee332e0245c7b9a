/* SPDX-License-Identifier: MIT */
/* Server-Timing on the responses of a route: what it says of pushes, of held responses and of times. */
#include "tests/unit/gateway/field_rules.h"

#include <regex.h>

#define ROUTE "[route a]\norigin = a\nserver-timing = yes\n"
#define MS "[0-9]+(\\.[0-9]{0,2}[1-9])?"
#define TIMES "queue;dur=" MS ", connect;dur=" MS ", origin;dur=" MS

static void timing_is(const struct gate_stream *s, const char *pattern)
{
	char text[512];
	regex_t regex;
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, field_text(s->head, "server-timing", text), 0, NULL, 0) != 0)
		fail_msg("%s: \"%s\", not %s", s->path, text, pattern);
	regfree(&regex);
}

/* A page's stream at the origin. */
static struct gate_stream *page_at(struct gate_world *w, struct gate_peer *client, const char *path, struct gate_stream **page)
{
	*page = gate_get(client, path);
	UNTIL(w, gate_find(w, path));
	return gate_find(w, path);
}

static void page_and_push_say_what_became_of_the_promise(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    ROUTE "[push no]\npromised-path = /no.css\naction = drop\n[push yes]\naction = forward\n");
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *page, *at = page_at(w, client, "/page", &page);
	struct gate_stream *promise = gate_promise(at, "http", "example.com", "/yes.css");
	struct gate_stream *refused = gate_promise(at, "http", "example.com", "/no.css");
	UNTIL(w, gate_find_at(client, "/yes.css") && refused->is_over);
	gate_answer_fields(promise, 200, true, "x-a", "b", NULL);
	gate_answer_fields(at, 200, true, "server-timing", "db;dur=53", NULL);
	struct gate_stream *push = gate_find_at(client, "/yes.css");
	UNTIL(w, page->is_over && push->is_over);
	timing_is(page, "^db;dur=53 \\| pushgate;desc=\"forward drop\", " TIMES "$");
	timing_is(push, "^pushgate;desc=\"forward\", origin;dur=" MS "$");
	gate_world_free(w);
}

static void a_plain_response_has_times_alone(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, ROUTE "response-remove = Server-Timing\n");
	struct gate_stream *page, *at = page_at(w, gate_client(w, NULL), "/page", &page);
	gate_answer_fields(at, 200, true, "server-timing", "db;dur=53", NULL);
	UNTIL(w, page->is_over);
	timing_is(page, "^" TIMES "$"); /* the route removes the origin's, not ours */
	at = page_at(w, page->peer, "/again", &page);
	gate_answer_fields(at, 404, true, "x-a", "b", NULL);
	UNTIL(w, page->is_over);
	timing_is(page, "^origin;dur=" MS "$");
	at = page_at(w, page->peer, "/lost", &page);
	gate_reset_stream(at, SESSION_INTERNAL_ERROR);
	UNTIL(w, page->is_over);
	assert_int_equal(page->status, 502);
	timing_is(page, "^$");
	gate_world_free(w);
}

static void a_route_without_the_option_adds_nothing(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *page, *at = page_at(w, gate_client(w, NULL), "/page", &page);
	gate_answer_fields(at, 200, true, "server-timing", "db;dur=53", NULL);
	UNTIL(w, page->is_over);
	timing_is(page, "^db;dur=53$");
	gate_world_free(w);
}

static void a_held_response_says_for_how_long(void **state)
{
	(void)state;
	static const struct gate_peer_options refuses = {.no_push = true};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, ROUTE "[push all]\naction = hold\n");
	struct gate_peer *client = gate_client(w, &refuses);
	struct gate_stream *page, *at = page_at(w, client, "/page", &page);
	struct gate_stream *whole = gate_promise(at, "http", "example.com", "/whole.css");
	struct gate_stream *late = gate_promise(at, "http", "example.com", "/late.css");
	gate_answer_fields(whole, 200, true, "cache-control", "max-age=60", "server-timing", "db;dur=1", NULL);
	gate_answer_fields(at, 200, true, "x-a", "b", NULL);
	UNTIL(w, page->is_over && w->gateway->hold.by_uri.count == 2);
	timing_is(page, "^pushgate;desc=\"hold\", " TIMES "$");
	gate_passes(w);
	struct gate_stream *joins = gate_get(client, "/late.css"), *claims = gate_get(client, "/whole.css");
	UNTIL(w, claims->is_over);
	timing_is(claims, "^db;dur=1 \\| pushgate;desc=\"held\", held;dur=" MS "$");
	gate_answer_fields(late, 200, true, "cache-control", "max-age=60", NULL);
	UNTIL(w, joins->is_over);
	timing_is(joins, "^pushgate;desc=\"joined\", held;dur=" MS "$");
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(page_and_push_say_what_became_of_the_promise),
	    cmocka_unit_test(a_plain_response_has_times_alone),
	    cmocka_unit_test(a_route_without_the_option_adds_nothing),
	    cmocka_unit_test(a_held_response_says_for_how_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
