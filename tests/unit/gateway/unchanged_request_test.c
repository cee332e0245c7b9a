/* SPDX-License-Identifier: MIT */
/*
 * The diary, the memory of pages and the log read the request as the client sent it; a route's rules change only the head that the
 * origin gets. A retry sends the same head again.
 */
#include "proxy/remembered/remembered_private.h"
#include "tests/unit/gateway/field_rules.h"

#include <unistd.h>

/* covers: P-src-once P-src-remembered-private P-num-log P-make-request-fields R72 */

#define ROUTE "[route a]\norigin = a\n"

/* One exchange with these fields both ways; what the origin got. */
static struct gate_stream *visit(struct gate_world *w, struct gate_peer *client, const char *path,
    const char *const *fields, const char *const *response, struct gate_stream **answer)
{
	size_t before = gate_seen(&w->sites[0], path);
	struct gate_stream *asked = gate_request(client, "GET", "example.com", path, true, SPREAD(fields));
	struct gate_stream *at = at_origin(w, path, before + 1);
	request_is_as_sent(w, path, fields);
	gate_answer_fields(at, 200, false, SPREAD(response));
	UNTIL(w, asked->status != 0);
	request_is_as_sent(w, path, fields);
	gate_more(at, 1, true);
	UNTIL(w, asked->is_over);
	gate_passes(w);
	if (answer)
		*answer = asked;
	return at;
}

static const field_list no_fields;

/* ---- the log ---- */

static void the_log_has_what_the_client_sent(void **state)
{
	(void)state;
	static const char *const rules[] = {
	    "",
	    "request-set = User-Agent: gate\nrequest-set = Referer: http://gate/",
	    "request-add = User-Agent: gate\nrequest-add = Referer: http://gate/",
	    "request-remove = User-Agent\nrequest-remove = Referer",
	};
	static const char *const agents[] = {"tester", "gate", "tester | gate", ""};
	static const char *const referers[] = {"http://a/", "http://gate/", "http://a/ | http://gate/", ""};
	static const field_list fields = {"user-agent", "tester", "referer", "http://a/"};
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		int fd[2];
		char line[4096];
		assert_int_equal(pipe(fd), 0);
		struct gate_world *w = rules_world(NULL, rules[i]);
		w->observe.access_fd = fd[1];
		struct gate_stream *at = visit(w, gate_client(w, NULL), "/a", fields, no_fields, NULL);
		field_is(at->head, "user-agent", agents[i], rules[i]);
		field_is(at->head, "referer", referers[i], rules[i]);
		observe_flush(&w->observe);
		ssize_t n = read(fd[0], line, sizeof(line) - 1);
		assert_true(n > 0);
		line[n] = '\0';
		assert_non_null(strstr(line, "\"path\":\"/a\""));
		assert_non_null(strstr(line, "\"user_agent\":\"tester\""));
		assert_non_null(strstr(line, "\"referer\":\"http://a/\""));
		assert_null(strstr(line, "gate/"));
		w->observe.access_fd = -1;
		close(fd[0]);
		close(fd[1]);
		gate_world_free(w);
	}
}

/* ---- the diary ---- */

static enum policy_known known(const struct gate_world *w, const char *path)
{
	const struct client_conn *c = list_first(&w->gateway->clients.conns, struct client_conn, link);
	uint64_t key = policy_diary_key(SLICE("GET"), SLICE("example.com"), slice_of_string(path));
	struct policy_diary_note note;
	return policy_diary_find(&c->diary.resources, key, &note)
		   ? policy_diary_answer(&note, false, 0, (uint32_t)(w->gateway->relay.now / USEC_PER_SEC))
		   : POLICY_NOT_KNOWN;
}

static void the_diary_knows_what_the_client_got_for_its_own_request(void **state)
{
	(void)state;
	static const struct {
		const char *rules;
		field_list request, response;
		enum policy_known known;
	} rows[] = {
	    {"", {NULL}, {"etag", "\"1\""}, POLICY_KNOWN_VALIDATOR},
	    {"", {NULL}, {NULL}, POLICY_NOT_KNOWN},
	    {"", {NULL}, {"cache-control", "max-age=60"}, POLICY_KNOWN},
	    {"request-set = Cookie: gate=1\nrequest-set = Authorization: Basic x", {"cookie", "a=1"}, {"etag", "\"1\""},
		POLICY_KNOWN_VALIDATOR},
	    {"request-remove = Cookie\nrequest-remove = Authorization", {"cookie", "a=1", "authorization", "Basic y"},
		{"etag", "\"1\""}, POLICY_KNOWN_VALIDATOR},
	    {"request-add = Cookie: gate=1\nrequest-add = Authorization: Basic x", {NULL}, {"etag", "\"1\""},
		POLICY_KNOWN_VALIDATOR},
	    {"request-set = Cache-Control: no-store", {NULL}, {"cache-control", "max-age=60"}, POLICY_KNOWN},
	    {"request-remove = Cache-Control", {"cache-control", "no-store"}, {"cache-control", "max-age=60"},
		POLICY_NOT_KNOWN},
	    /* Of the response the client's side counts: that is what it has. */
	    {"response-set = Cache-Control: no-store", {NULL}, {"cache-control", "max-age=60", "etag", "\"1\""},
		POLICY_NOT_KNOWN},
	    {"response-set = Cache-Control: max-age=60", {NULL}, {"cache-control", "no-store"}, POLICY_KNOWN},
	    {"response-add = Cache-Control: no-store", {NULL}, {"cache-control", "max-age=60"}, POLICY_NOT_KNOWN},
	    {"response-remove = Cache-Control", {NULL}, {"cache-control", "max-age=60"}, POLICY_NOT_KNOWN},
	    {"response-set = ETag: \"gate\"", {NULL}, {NULL}, POLICY_KNOWN_VALIDATOR},
	    {"response-remove = ETag", {NULL}, {"etag", "\"1\""}, POLICY_NOT_KNOWN},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = rules_world(NULL, rows[i].rules);
		visit(w, gate_client(w, NULL), "/a", rows[i].request, rows[i].response, NULL);
		if (known(w, "/a") != rows[i].known)
			fail_msg("row %zu, \"%s\": %d", i, rows[i].rules, known(w, "/a"));
		gate_world_free(w);
	}
}

static void the_diary_knows_what_a_claimer_got(void **state)
{
	(void)state;
	static const struct {
		const char *rules;
		enum policy_known known;
	} rows[] = {
	    {"request-set = Cookie: gate=1", POLICY_KNOWN_VALIDATOR},
	    {"request-remove = Cookie", POLICY_KNOWN_VALIDATOR},
	    {"response-set = Cache-Control: no-store", POLICY_NOT_KNOWN},
	};
	static const struct play p = {.name = "claimed",
	    .page = {"cookie", "a=1"},
	    .response = {"cache-control", "max-age=60", "etag", "\"1\""},
	    .claim = {"cookie", "a=1"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage = {.w = rules_world(NULL, rows[i].rules)};
		struct played d = play(&stage, &p);
		assert_string_equal(d.outcome, "claimed");
		assert_int_equal(known(stage.w, d.path), rows[i].known);
		gate_world_free(stage.w);
	}
}

/* ---- the diary's cookie ---- */

static const field_list navigation = {"sec-fetch-mode", "navigate"};

static void the_diarys_cookie_is_read_and_sent_whatever_the_rules_say(void **state)
{
	(void)state;
	static const char *const rules[] = {"", "request-remove = Cookie", "request-set = Cookie: gate=1",
	    "response-set = Set-Cookie: r=1", "response-remove = Set-Cookie"};
	static const char *const at_origin_[] = {"a=1", "", "gate=1", "a=1", "a=1"};
	static const field_list etag = {"etag", "\"1\""};
	char file[64] = "/tmp/pushgate-rules-XXXXXX", server[256];
	int fd = mkstemp(file);
	assert_int_equal(write(fd, "a secret of sixteen", 19), 19);
	close(fd);
	snprintf(server, sizeof(server), "diary-cookie = pg\ndiary-cookie-key = %s", file);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		char more[256], set[512], cookie[1200];
		snprintf(more, sizeof(more), ROUTE "%s\n", rules[i]);
		struct gate_world *w = gate_world_new(server, NULL, NULL, more);
		struct gate_peer *client = gate_client(w, NULL);
		struct gate_stream *page;
		visit(w, client, "/a.css", no_fields, etag, NULL);
		visit(w, client, "/page", navigation, no_fields, &page);
		field_text(page->head, "set-cookie", set);
		char *own = strstr(set, OWN_COOKIE);
		assert_non_null(own);
		snprintf(cookie, sizeof(cookie), "a=1; %.*s", (int)strcspn(own, ";"), own);
		/* The next connection. */
		gate_peer_abort(client);
		client = gate_client(w, NULL);
		const field_list with = {"cookie", cookie};
		gate_request(client, "GET", "example.com", "/again", true, SPREAD(with));
		struct gate_stream *at = at_origin(w, "/again", 1);
		field_is(at->head, "cookie", at_origin_[i], rules[i]);
		request_is_as_sent(w, "/again", with);
		struct gate_stream *promise = gate_promise(at, "http", "example.com", "/a.css");
		UNTIL(w, promise->is_over);
		assert_true(promise->was_reset);
		assert_int_equal(w->counters.push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(&policy_reason_KNOWN)], 1);
		gate_world_free(w);
	}
	unlink(file);
}

/* ---- what is remembered ---- */

static void what_is_remembered_depends_on_the_clients_own_fields(void **state)
{
	(void)state;
	static const struct {
		const char *rules;
		field_list page, resource;
		uint32_t resources;
	} rows[] = {
	    {"", {NULL}, {NULL}, 1},
	    {"request-set = Authorization: Basic x", {NULL}, {NULL}, 1},
	    {"request-add = Authorization: Basic x", {NULL}, {NULL}, 1},
	    {"request-set = Cookie: gate=1", {NULL}, {NULL}, 1},
	    {"request-add = Cookie: gate=1", {NULL}, {NULL}, 1},
	    {"request-set = Referer: http://gate/", {NULL}, {NULL}, 1},
	    {"request-remove = Referer", {NULL}, {NULL}, 1},
	    {"request-remove = Sec-Fetch-Mode", {NULL}, {NULL}, 1},
	    {"request-set = Sec-Fetch-Mode: navigate", {NULL}, {NULL}, 1},
	    {"", {NULL}, {"cookie", "a=1"}, 0},
	    {"request-remove = Cookie", {NULL}, {"cookie", "a=1"}, 0},
	    {"request-set = Cookie: gate=1", {NULL}, {"cookie", "a=1"}, 0},
	    {"request-remove = Authorization", {NULL}, {"authorization", "Basic x"}, 0},
	    {"request-remove = Cookie", {"cookie", "a=1"}, {NULL}, 1},
	    {"request-remove = Authorization", {"authorization", "Basic x"}, {NULL}, 0},
	};
	static const field_list html = {"content-type", "text/html"};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[512];
		snprintf(more, sizeof(more), ROUTE "%s\n[preload p]\nremembered = propose\n", rows[i].rules);
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
		struct gate_peer *client = gate_client(w, NULL);
		const field_list page = {"sec-fetch-mode", "navigate", rows[i].page[0], rows[i].page[1]};
		const field_list resource = {"sec-fetch-mode", "no-cors", "referer", "http://example.com/page",
		    rows[i].resource[0], rows[i].resource[1]};
		visit(w, client, "/page", page, html, NULL);
		visit(w, client, "/a.css", resource, no_fields, NULL);
		uint32_t count = w->gateway->lessons.memory->resource_count;
		if (count != rows[i].resources)
			fail_msg("row %zu, \"%s\": %u", i, rows[i].rules, count);
		gate_world_free(w);
	}
}

/* ---- the policy and what it promises ---- */

/* A promise of our own has the client's fields, and what the origin is asked then has the route's. */
static void our_own_promise_has_the_clients_fields(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    ROUTE "request-set = User-Agent: gate\nrequest-remove = Accept-Language\nrequest-set = Cookie: gate=1\n"
		  "[preload p]\nlink = yes\n");
	struct gate_peer *client = gate_client(w, NULL);
	gate_request(client, "GET", "example.com", "/page", true, "user-agent", "tester", "accept-language", "de", "cookie", "a=1",
	    NULL);
	gate_answer_fields(at_origin(w, "/page", 1), 200, true, "link", "</a.css>; rel=preload; as=style", NULL);
	struct gate_stream *at = at_origin(w, "/a.css", 1);
	UNTIL(w, gate_find_at(client, "/a.css"));
	const struct http_head *promised = gate_find_at(client, "/a.css")->head;
	field_is(promised, "user-agent", "tester", "promise");
	field_is(promised, "accept-language", "de", "promise");
	field_is(promised, "cookie", "", "promise");
	field_is(at->head, "user-agent", "gate", "origin");
	field_is(at->head, "accept-language", "", "origin");
	field_is(at->head, "cookie", "gate=1", "origin");
	gate_world_free(w);
}

/* Links are read from what the route makes of the response: so may it add one, or take one away. */
static void links_are_those_of_the_route(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *link;
		const char *offered;
	} rows[] = {
	    {"response-add = Link: </b.css>; rel=preload; as=style", NULL, "/b.css"},
	    {"response-set = Link: </b.css>; rel=preload; as=style", "</a.css>; rel=preload; as=style", "/b.css"},
	    {"response-remove = Link", "</a.css>; rel=preload; as=style", NULL},
	    {"", "</a.css>; rel=preload; as=style", "/a.css"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gate_world *w = rules_world(NULL, rows[i].rules);
		const field_list response = {rows[i].link ? "link" : NULL, rows[i].link};
		visit(w, gate_client(w, NULL), "/page", no_fields, response, NULL);
		assert_int_equal(w->counters.pushes_held, rows[i].offered ? 1 : 0);
		if (rows[i].offered)
			UNTIL(w, gate_seen(&w->sites[0], rows[i].offered) == 1); /* it leaves behind its page */
		gate_world_free(w);
	}
}

/* ---- what the origin gets ---- */

#define ALL_RULES                                                                                  \
	"request-add = X-Gate: 1\nrequest-set = Cookie: gate=1\nrequest-remove = Referer\n"

static void same_head(const struct http_head *a, const struct http_head *b)
{
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_true(slice_equal(a->fields[i].name, b->fields[i].name));
		assert_true(slice_equal(a->fields[i].value, b->fields[i].value));
	}
	assert_true(slice_equal(a->authority, b->authority));
	assert_true(slice_equal(a->path, b->path));
}

static void answer(struct gate_stream *s)
{
	gate_answer(s, 200, 3, true);
}

static void a_retry_sends_the_same_head_once_more(void **state)
{
	(void)state;
	static const field_list fields = {"max-forwards", "5", "cookie", "a=1", "referer", "http://a/", "via", "1.1 cdn"};
	struct gate_world *w = rules_world(NULL, ALL_RULES);
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *warm = gate_request(client, "OPTIONS", "example.com", "/warm", true, SPREAD(fields));
	answer(at_origin(w, "/warm", 1));
	UNTIL(w, warm->is_over);
	struct gate_stream *asked = gate_request(client, "OPTIONS", "example.com", "/a", true, SPREAD(fields));
	struct gate_stream *first = at_origin(w, "/a", 1);
	request_is_as_sent(w, "/a", fields);
	gate_peer_abort(first->peer);
	first->is_over = true;
	struct gate_stream *second = at_origin(w, "/a", 2);
	request_is_as_sent(w, "/a", fields);
	assert_ptr_not_equal(first->peer, second->peer);
	same_head(first->head, second->head);
	field_is(second->head, "max-forwards", "4", "retry");
	field_is(second->head, "x-gate", "1", "retry");
	field_is(second->head, "cookie", "gate=1", "retry");
	field_is(second->head, "referer", "", "retry");
	char via[512];
	field_text(second->head, "via", via);
	assert_int_equal(strncmp(via, "1.1 cdn | 2 ", 12), 0);
	assert_null(strchr(via + 12, '|'));
	answer(second);
	UNTIL(w, asked->is_over);
	assert_int_equal(asked->received, 3);
	assert_int_equal(w->counters.requests_retried, 1);
	gate_world_free(w);
}

static void a_refused_stream_is_asked_again_with_the_same_head(void **state)
{
	(void)state;
	static const field_list fields = {"max-forwards", "1", "cookie", "a=1"};
	struct gate_world *w = rules_world(NULL, ALL_RULES);
	struct gate_stream *asked =
	    gate_request(gate_client(w, NULL), "OPTIONS", "example.com", "/a", true, SPREAD(fields));
	struct gate_stream *first = at_origin(w, "/a", 1);
	gate_reset_stream(first, SESSION_REFUSED_STREAM);
	struct gate_stream *second = at_origin(w, "/a", 2);
	request_is_as_sent(w, "/a", fields);
	same_head(first->head, second->head);
	field_is(second->head, "max-forwards", "0", "retry");
	gate_answer(second, 200, 3, true);
	UNTIL(w, asked->is_over);
	gate_world_free(w);
}

static void host_never_reaches_the_origin(void **state)
{
	(void)state;
	static const char *const rules[] = {"", ALL_RULES};
	static const field_list fields = {"host", "example.com", "te", "trailers", "max-forwards", "7"};
	for (size_t i = 0; i < 2; i++) {
		struct gate_world *w = rules_world(NULL, rules[i]);
		struct gate_stream *at = visit(w, gate_client(w, NULL), "/a", fields, no_fields, NULL);
		field_is(at->head, "host", "", rules[i]);
		field_is(at->head, "te", "trailers", rules[i]);
		field_is(at->head, "max-forwards", "7", rules[i]); /* of GET it says nothing */
		assert_string_equal(at->authority, "example.com");
		gate_world_free(w);
	}
}

/* The client's authority and scheme are in its own request; the origin's are on the wire alone. */
static void an_origin_with_its_own_host_changes_nothing_here(void **state)
{
	(void)state;
	static const struct play p = {.name = "inner host",
	    .source = LINKED,
	    .page = {"cookie", "a=1"},
	    .response = {"cache-control", "private, max-age=60"},
	    .claim = {"cookie", "a=1"}};
	struct stage stage = {
	    .w = gate_world_new(NULL, NULL, "host = inner.example",
		ROUTE "request-set = Cookie: gate=1\n[push hold]\naction = hold\n[preload links]\nlink = yes\n")};
	struct played d = play(&stage, &p);
	assert_string_equal(d.outcome, "claimed");
	assert_string_equal(d.page_at->authority, "inner.example");
	assert_string_equal(d.own_at->authority, "inner.example");
	gate_world_free(stage.w);
}

/* A request that found a response on its way waits for it; it goes to the origin, once, when that fails. */
static void a_claim_that_fails_goes_to_the_origin_with_the_rules_applied_once(void **state)
{
	(void)state;
	static const field_list fields = {"cookie", "a=1", "referer", "http://a/"};
	struct gate_world *w = rules_world(NULL, ALL_RULES);
	struct gate_peer *client = refusing_client(w);
	gate_request(client, "GET", "example.com", "/page", true, SPREAD(fields));
	struct gate_stream *promise = gate_promise(at_origin(w, "/page", 1), "http", "example.com", "/a.css");
	gate_passes(w);
	struct gate_stream *asked = gate_request(client, "GET", "example.com", "/a.css", true, SPREAD(fields));
	gate_passes(w);
	assert_int_equal(gate_seen(&w->sites[0], "/a.css"), 0);
	request_is_as_sent(w, "/a.css", fields);
	gate_reset_stream(promise, SESSION_INTERNAL_ERROR);
	struct gate_stream *at = at_origin(w, "/a.css", 1);
	request_is_as_sent(w, "/a.css", fields);
	field_is(at->head, "x-gate", "1", "claim");
	field_is(at->head, "cookie", "gate=1", "claim");
	field_is(at->head, "referer", "", "claim");
	gate_answer(at, 200, 3, true);
	UNTIL(w, asked->is_over);
	assert_int_equal(asked->received, 3);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_log_has_what_the_client_sent),
	    cmocka_unit_test(the_diary_knows_what_the_client_got_for_its_own_request),
	    cmocka_unit_test(the_diary_knows_what_a_claimer_got),
	    cmocka_unit_test(the_diarys_cookie_is_read_and_sent_whatever_the_rules_say),
	    cmocka_unit_test(what_is_remembered_depends_on_the_clients_own_fields),
	    cmocka_unit_test(our_own_promise_has_the_clients_fields),
	    cmocka_unit_test(links_are_those_of_the_route),
	    cmocka_unit_test(a_retry_sends_the_same_head_once_more),
	    cmocka_unit_test(a_refused_stream_is_asked_again_with_the_same_head),
	    cmocka_unit_test(host_never_reaches_the_origin),
	    cmocka_unit_test(an_origin_with_its_own_host_changes_nothing_here),
	    cmocka_unit_test(a_claim_that_fails_goes_to_the_origin_with_the_rules_applied_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
