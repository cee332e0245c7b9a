/* SPDX-License-Identifier: MIT */
/* What is recorded of a page and of its pushes, by verdict and by how they end. */
#include "tests/support/gateway_world.h"

#include "proxy/base/memory.h"

#define RULES                                                                                      \
	"[route a]\norigin = a\n[push no]\npromised-path = /drop*\naction = drop\n"                \
	"[push hint]\npromised-path = /hint*\naction = hint\nhint-clients = all\n"                 \
	"[push small]\npromised-path = /small*\nmax-bytes = 10\naction = forward\n"                \
	"[push hold]\npromised-path = /hold*\naction = hold\n"                                     \
	"[push both]\npromised-path = /both*\naction = hint+hold\nhint-clients = all\n"
enum { NO = 1, HINT, SMALL, HOLD, BOTH };

struct scene {
	struct gate_world *w;
	struct gate_peer *client;
	struct gate_stream *page, *at; /* at the client, at the origin */
	struct waterfall records;
	struct page_record r;
};

static struct scene *world(const char *listen, const char *more)
{
	struct scene *s = memory_new(struct scene);
	s->records = (struct waterfall){.workers = 1, .records = 8};
	s->records.memory = memory_zalloc(waterfall_bytes(1, 8));
	gate_share_pages(&s->records);
	s->w = gate_world_new(NULL, listen, NULL, more);
	s->client = gate_client(s->w, NULL);
	return s;
}

static void asks(struct scene *s, const char *path)
{
	s->page = gate_request(s->client, "GET", "example.com", path, true, "user-agent", "tester", NULL);
	UNTIL(s->w, gate_find(s->w, path));
	s->at = gate_find(s->w, path);
}

static struct scene *page(const char *path)
{
	struct scene *s = world(NULL, RULES);
	asks(s, path);
	return s;
}

static void ends(struct scene *s)
{
	gate_world_free(s->w);
	gate_share_pages(NULL);
	free(s->records.memory);
	free(s);
}

static void page_ends(struct scene *s)
{
	gate_answer(s->at, 200, 100, true);
	UNTIL(s->w, s->page->is_over);
}

static struct gate_stream *promise(struct scene *s, const char *path)
{
	struct gate_stream *promise = gate_promise(s->at, "http", "example.com", path);
	assert_non_null(promise);
	return promise;
}

static void hold(struct scene *s, const char *path, size_t body)
{
	struct gate_stream *held = promise(s, path);
	gate_answer_fields(held, 200, false, "cache-control", "max-age=60", "vary", "x-kind", NULL);
	gate_more(held, body, true);
	UNTIL(s->w, held->is_over);
}

/* The nth record, counted from 1. */
static bool reads(struct scene *s, uint32_t nth)
{
	return waterfall_read(&s->records, 0, nth % s->records.records, &s->r);
}

static const struct page_push *push(struct scene *s, const char *path)
{
	for (uint32_t i = 0; i < s->r.push_count; i++)
		if (strcmp(s->r.pushes[i].path, path) == 0)
			return &s->r.pushes[i];
	fail_msg("%s is not recorded", path);
	return NULL;
}

static bool is_ended(struct scene *s, const char *path)
{
	return reads(s, 1) && push(s, path)->at[PAGE_PUSH_END] != USEC_NEVER;
}

/* Which times a push has, as bits. */
static unsigned times(const struct page_push *p)
{
	unsigned bits = 0;
	usec last = p->at[PAGE_PUSH_DECIDED];
	for (unsigned i = 0; i < PAGE_PUSH_TIME_COUNT; i++)
		if (p->at[i] != USEC_NEVER) {
			bits |= 1u << i;
			assert_true(p->at[i] >= last);
		}
	return bits;
}
#define TIMES(...) bits_of((const int[]){__VA_ARGS__, -1})
static unsigned bits_of(const int *list)
{
	unsigned bits = 0;
	for (; *list >= 0; list++)
		bits |= 1u << *list;
	return bits;
}

static void decided(const struct page_push *p, enum policy_action verdict,
    const struct policy_reason *reason, unsigned rule)
{
	assert_int_equal(p->source, POLICY_RELAYED);
	assert_int_equal(p->verdict, verdict);
	assert_int_equal(p->reason, policy_reason_position(reason) + 1);
	assert_int_equal(p->rule, rule);
}

/* ---- pages ---- */

static void a_page_is_recorded_with_what_the_log_has_of_it(void **state)
{
	(void)state;
	struct scene *s = page("/page?user=jo&token=secret");
	promise(s, "/drop.css");
	UNTIL(s->w, reads(s, 1));
	assert_false(s->r.result.is_over);
	assert_int_equal(s->r.change, 0); /* no news before its end */
	page_ends(s);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	assert_int_equal(s->r.change, 1);
	assert_int_equal(s->r.exchange, 1);
	assert_int_equal(s->r.connection, 1);
	assert_string_equal(s->r.request.method, "GET");
	assert_string_equal(s->r.request.scheme, "http");
	assert_string_equal(s->r.request.authority, "example.com");
	assert_string_equal(s->r.request.path, "/page?user=…&token=…");
	assert_string_equal(s->r.request.user_agent, "tester");
	assert_int_equal(s->r.request.version, HTTP_VERSION_2);
	assert_int_equal(s->r.request.client.family, 4);
	assert_int_equal(s->r.place.listen, 1);
	assert_int_equal(s->r.place.route, 1);
	assert_int_equal(s->r.place.origin, 1);
	assert_memory_equal(s->r.place.server, "127.0.0.1:", 10);
	assert_int_equal(s->r.result.status, 200);
	assert_int_equal(s->r.result.bytes, 100);
	assert_int_equal(s->r.result.outcome, OBSERVE_COMPLETE);
	for (unsigned i = 0; i < PAGE_TIME_COUNT; i++)
		assert_true(s->r.result.at[i] <= s->r.result.at[PAGE_END]);
	assert_false(s->r.is_cut);
	ends(s);
}

static void nothing_of_a_credential_is_in_the_memory(void **state)
{
	(void)state;
	const char *path = "/page?token=secret";
	struct scene *s = world(NULL, RULES);
	s->page = gate_request(s->client, "GET", "example.com", path, true, "cookie", "secret=1", "authorization",
	    "Basic c2VjcmV0OjE=", NULL);
	UNTIL(s->w, gate_find(s->w, path));
	s->at = gate_find(s->w, path);
	promise(s, "/drop.css?token=secret");
	promise(s, "/hold.css?token=secret");
	page_ends(s);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	size_t bytes = waterfall_bytes(1, 8);
	assert_null(memmem(s->records.memory, bytes, "secret", 6));
	assert_null(memmem(s->records.memory, bytes, "c2VjcmV0", 8));
	assert_non_null(memmem(s->records.memory, bytes, "token=", 6));
	ends(s);
}

/* There are 8 records at once, and two more each second. */
static void what_becomes_of_the_pushes_of_a_page_too_many_is_not_recorded(void **state)
{
	(void)state;
	struct scene *s = world(NULL, RULES);
	unsigned pages = 0;
	for (; waterfall_left_out(&s->records, 0) == 0; pages++) {
		char path[16], held[16];
		snprintf(path, sizeof(path), "/%u", pages);
		snprintf(held, sizeof(held), "/hold%u.css", pages);
		asks(s, path);
		promise(s, "/drop.css");
		hold(s, held, 40);
		page_ends(s);
		struct gate_stream *claim = gate_get(s->client, held);
		UNTIL(s->w, claim->is_over && s->w->counters.requests_open == 0);
	}
	assert_true(pages > 8);
	assert_int_equal(s->w->counters.holds_claimed, pages);
	uint32_t recorded = (uint32_t)waterfall_last_number(&s->records, 0);
	assert_int_equal(recorded + waterfall_left_out(&s->records, 0), pages);
	for (uint32_t nth = recorded; nth > recorded - 8; nth--) {
		assert_true(reads(s, nth));
		assert_int_equal(s->r.push_count, 2);
	}
	ends(s);
}

static void a_page_that_is_lost_says_so(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	promise(s, "/drop.css");
	gate_reset_stream(s->at, SESSION_INTERNAL_ERROR);
	UNTIL(s->w, s->page->is_over);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	assert_int_equal(s->r.result.outcome, OBSERVE_ORIGIN_RESET);
	assert_string_equal(s->r.result.detail, "origin-reset");
	assert_int_equal(s->r.result.status, 502);
	ends(s);
}

/* field, its value, and whether the request is a page. */
static const struct {
	const char *name, *value;
	bool is_page;
} navigations[] = {
    {"accept", "text/html,application/xhtml+xml", true},
    {"accept", "image/*", false},
    {"sec-fetch-mode", "navigate", true},
    {"sec-fetch-mode", "no-cors", false},
    {"user-agent", "curl", false},
};

static void a_page_without_offers_is_recorded_if_a_browser_navigates(void **state)
{
	(void)state;
	struct scene *s = world(NULL, RULES);
	uint32_t recorded = 0;
	for (size_t i = 0; i < sizeof(navigations) / sizeof(navigations[0]); i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%zu", i);
		s->page = gate_request(s->client, "GET", "example.com", path, true, navigations[i].name,
		    navigations[i].value, NULL);
		UNTIL(s->w, gate_find(s->w, path));
		s->at = gate_find(s->w, path);
		page_ends(s);
		UNTIL(s->w, s->w->counters.requests_open == 0);
		recorded += navigations[i].is_page;
		assert_false(reads(s, recorded + 1));
		if (!navigations[i].is_page)
			continue;
		assert_true(reads(s, recorded));
		assert_string_equal(s->r.request.path, path);
		assert_int_equal(s->r.offers, 0);
	}
	ends(s);
}

/* A link that makes no offer is dropped without the policy, after the page's record was begun or before. */
static void a_link_that_makes_no_offer_belongs_to_the_one_record_of_its_page(void **state)
{
	(void)state;
	struct scene *s = world(NULL, RULES "[preload p]\nlink = yes\n");
	for (uint32_t i = 0; i < 2; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		s->page = gate_request(s->client, "GET", "example.com", path, true, "accept", i ? "text/html" : "*/*", NULL);
		UNTIL(s->w, gate_find(s->w, path));
		s->at = gate_find(s->w, path);
		gate_answer_fields(s->at, 200, true, "link", "</a.css>; rel=preload; nopush", NULL);
		UNTIL(s->w, s->page->is_over && s->w->counters.requests_open == 0);
		assert_true(reads(s, i + 1));
		assert_string_equal(s->r.request.path, path);
		assert_int_equal(s->r.offers, 1);
		assert_true(s->r.result.is_over);
		assert_int_equal(waterfall_last_number(&s->records, 0), i + 1);
	}
	ends(s);
}

static void a_listener_that_records_nothing_has_no_records(void **state)
{
	(void)state;
	struct scene *s = world("record-pages = no", RULES);
	asks(s, "/page");
	promise(s, "/drop.css");
	hold(s, "/hold.css", 40);
	page_ends(s);
	assert_false(reads(s, 1));
	ends(s);
}

/* ---- offers and pushes ---- */

static void a_drop_and_a_hint_are_decided_and_no_more(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	promise(s, "/drop.css");
	promise(s, "/hint.css");
	page_ends(s);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	assert_int_equal(s->r.offers, 2);
	const struct page_push *drop = push(s, "/drop.css"), *hint = push(s, "/hint.css");
	decided(drop, POLICY_DROP, &policy_reason_RULE, NO);
	assert_int_equal(times(drop), TIMES(PAGE_PUSH_DECIDED));
	assert_int_equal(drop->outcome, OBSERVE_REFUSED);
	assert_int_equal(drop->use, PAGE_USE_UNKNOWN);
	decided(hint, POLICY_HINT, &policy_reason_RULE, HINT);
	assert_int_equal(times(hint), TIMES(PAGE_PUSH_DECIDED, PAGE_PUSH_HINT));
	assert_int_equal(hint->exchange, 0);
	ends(s);
}

static void a_push_that_is_delivered_is_used(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	struct gate_stream *p = promise(s, "/a.css");
	gate_answer(p, 200, 40, true);
	page_ends(s);
	UNTIL(s->w, is_ended(s, "/a.css"));
	const struct page_push *a = push(s, "/a.css");
	decided(a, POLICY_FORWARD, &policy_reason_DEFAULT, 0);
	assert_int_equal(times(a), TIMES(PAGE_PUSH_DECIDED, PAGE_PUSH_PROMISE, PAGE_PUSH_HEAD, PAGE_PUSH_SENT, PAGE_PUSH_COMPLETE, PAGE_PUSH_END));
	assert_int_equal(a->bytes, 40);
	assert_int_equal(a->status, 200);
	assert_int_equal(a->use, PAGE_USED);
	assert_int_equal(a->wasted_bytes, 0);
	assert_int_equal(a->exchange, 2);
	ends(s);
}

static void a_push_that_the_client_resets_is_wasted(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	struct gate_stream *p = promise(s, "/a.css");
	gate_answer(p, 200, 40, false);
	UNTIL(s->w, gate_find_at(s->client, "/a.css") && gate_find_at(s->client, "/a.css")->received == 40);
	gate_reset_stream(gate_find_at(s->client, "/a.css"), SESSION_CANCEL);
	UNTIL(s->w, is_ended(s, "/a.css"));
	const struct page_push *a = push(s, "/a.css");
	assert_int_equal(a->use, PAGE_WASTED);
	assert_int_equal(a->wasted_bytes, 40);
	assert_int_equal(a->outcome, OBSERVE_CLIENT_RESET);
	page_ends(s);
	ends(s);
}

static void a_held_response_is_claimed_after_its_page(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	hold(s, "/hold.css", 40);
	hold(s, "/both.css", 50);
	page_ends(s);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	assert_int_equal(times(push(s, "/hold.css")), TIMES(PAGE_PUSH_DECIDED, PAGE_PUSH_HOLD));
	uint64_t news = s->r.change;
	struct gate_stream *claim = gate_get(s->client, "/hold.css");
	UNTIL(s->w, claim->is_over && is_ended(s, "/hold.css"));
	const struct page_push *p = push(s, "/hold.css");
	decided(p, POLICY_HOLD, &policy_reason_RULE, HOLD);
	assert_int_equal(times(p), TIMES(PAGE_PUSH_DECIDED, PAGE_PUSH_HOLD, PAGE_PUSH_HEAD, PAGE_PUSH_COMPLETE, PAGE_PUSH_CLAIM, PAGE_PUSH_END));
	assert_int_equal(p->use, PAGE_USED);
	assert_int_equal(p->end_reason, policy_reason_position(&policy_reason_CLAIMED) + 1);
	assert_int_equal(p->bytes, 40);
	assert_true(s->r.change > news);
	gate_peer_abort(s->client); /* the other one expires with its connection */
	UNTIL(s->w, is_ended(s, "/both.css"));
	p = push(s, "/both.css");
	decided(p, POLICY_HINT_HOLD, &policy_reason_RULE, BOTH);
	assert_int_equal(times(p), TIMES(PAGE_PUSH_DECIDED, PAGE_PUSH_HINT, PAGE_PUSH_HOLD, PAGE_PUSH_HEAD, PAGE_PUSH_COMPLETE, PAGE_PUSH_END));
	assert_int_equal(p->use, PAGE_WASTED);
	assert_int_equal(p->wasted_bytes, 50);
	ends(s);
}

static void a_miss_of_a_held_response_has_its_cause(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	hold(s, "/hold.css", 30);
	page_ends(s);
	gate_passes(s->w);
	struct gate_stream *miss =
	    gate_request(s->client, "GET", "example.com", "/hold.css", true, "x-kind", "b", NULL);
	UNTIL(s->w, gate_find(s->w, "/hold.css")->parent == NULL);
	gate_answer(gate_find(s->w, "/hold.css"), 200, 5, true);
	UNTIL(s->w, miss->is_over);
	gate_peer_abort(s->client);
	UNTIL(s->w, is_ended(s, "/hold.css"));
	assert_string_equal(push(s, "/hold.css")->missed, "vary x-kind");
	assert_int_equal(push(s, "/hold.css")->use, PAGE_WASTED);
	ends(s);
}

static void a_push_that_is_withdrawn_has_its_second_verdict(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	struct gate_stream *p = promise(s, "/small.css");
	gate_answer_fields(p, 200, false, "content-length", "40", NULL);
	UNTIL(s->w, is_ended(s, "/small.css"));
	const struct page_push *a = push(s, "/small.css");
	decided(a, POLICY_DROP, &policy_reason_TOO_LARGE, SMALL);
	assert_int_equal(a->end_reason, policy_reason_position(&policy_reason_TOO_LARGE) + 1);
	assert_int_equal(a->use, PAGE_USE_UNKNOWN);
	page_ends(s);
	ends(s);
}

static void a_push_to_another_host_has_its_authority(void **state)
{
	(void)state;
	struct scene *s = page("/page");
	promise(s, "/drop.css");
	assert_non_null(gate_promise(s->at, "http", "other.example", "/drop2.css"));
	page_ends(s);
	UNTIL(s->w, reads(s, 1) && s->r.result.is_over);
	assert_string_equal(push(s, "/drop.css")->authority, "");
	assert_string_equal(push(s, "/drop2.css")->authority, "other.example");
	ends(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_page_is_recorded_with_what_the_log_has_of_it),
	    cmocka_unit_test(nothing_of_a_credential_is_in_the_memory),
	    cmocka_unit_test(what_becomes_of_the_pushes_of_a_page_too_many_is_not_recorded),
	    cmocka_unit_test(a_page_that_is_lost_says_so),
	    cmocka_unit_test(a_page_without_offers_is_recorded_if_a_browser_navigates),
	    cmocka_unit_test(a_link_that_makes_no_offer_belongs_to_the_one_record_of_its_page),
	    cmocka_unit_test(a_listener_that_records_nothing_has_no_records),
	    cmocka_unit_test(a_drop_and_a_hint_are_decided_and_no_more),
	    cmocka_unit_test(a_push_that_is_delivered_is_used),
	    cmocka_unit_test(a_push_that_the_client_resets_is_wasted),
	    cmocka_unit_test(a_held_response_is_claimed_after_its_page),
	    cmocka_unit_test(a_miss_of_a_held_response_has_its_cause),
	    cmocka_unit_test(a_push_that_is_withdrawn_has_its_second_verdict),
	    cmocka_unit_test(a_push_to_another_host_has_its_authority),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
