/* SPDX-License-Identifier: MIT */
/*
 * A route's field rules and held responses. Credentials are compared as the clients sent them, Vary as the origin got the fields. A
 * private response that was held for one user's page never answers a request with other credentials.
 */
#include "tests/unit/gateway/field_rules.h"

#include <unistd.h>

/* covers: P-hold-claim P-hold-private P-hold-shared */

#define PRIVATE "cache-control", "private, max-age=60"
#define FRESH "cache-control", "max-age=60"

/* ---- credentials: every kind of rule, every pair of users ---- */

enum change { KEEPS, SETS, ADDS, REMOVES };

struct rules {
	enum change cookie, authorization;
};

#define RULE_COOKIE "gate=1"
#define RULE_AUTHORIZATION "Basic Z2F0ZQ=="

static void write_rule(char *text, size_t size, enum change change, const char *name, const char *value)
{
	static const char *const words[] = {"", "set", "add", "remove"};
	size_t n = strlen(text);
	if (change != KEEPS)
		snprintf(text + n, size - n, "request-%s = %s%s%s\n", words[change], name, change == REMOVES ? "" : ": ",
		    change == REMOVES ? "" : value);
}

static const field_list users[] = {
    {NULL},
    {"cookie", "user=one"},
    {"cookie", "user=two"},
    {"authorization", "Basic b25l"},
    {"authorization", "Basic dHdv"},
    {"cookie", "user=one", "authorization", "Basic b25l"},
    {"cookie", RULE_COOKIE},
    {"authorization", RULE_AUTHORIZATION},
};
#define USERS (sizeof(users) / sizeof(users[0]))

/* A user's fields for one request, with the diary's cookie, which differs in each request. */
static void fields_of_user(const char **fields, size_t user, unsigned nonce, bool has_own, char own[64])
{
	bool has_cookie = users[user][0] && strcmp(users[user][0], "cookie") == 0;
	memcpy(fields, users[user], sizeof(field_list));
	if (!has_own)
		return;
	snprintf(own, 64, "%s%s" OWN_COOKIE "v%u", has_cookie ? fields[1] : "", has_cookie ? "; " : "", nonce);
	if (has_cookie) {
		fields[1] = own;
	} else {
		size_t n = fields[0] ? 2 : 0;
		fields[n] = "cookie";
		fields[n + 1] = own;
	}
}

/* What a rule makes of the user's own value. */
static void origin_sees(const struct http_head *head, const char *const *user, const char *name, enum change change,
    const char *value)
{
	char wanted[128] = "";
	const char *own = NULL;
	for (; user && *user; user += 2)
		if (strcmp(user[0], name) == 0)
			own = user[1];
	if (own && (change == KEEPS || change == ADDS))
		snprintf(wanted, sizeof(wanted), "%s", own);
	if (change == SETS || change == ADDS)
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "%s%s", *wanted ? " | " : "", value);
	field_is(head, name, wanted, name);
}

static void origin_sees_user(const struct gate_stream *at, const char *const *user, const struct rules *r)
{
	origin_sees(at->head, user, "cookie", r->cookie, RULE_COOKIE);
	origin_sees(at->head, user, "authorization", r->authorization, RULE_AUTHORIZATION);
}

static bool same_user(size_t a, size_t b)
{
	return a == b;
}

static const char *authorization_of(size_t user)
{
	for (const char *const *f = users[user]; *f; f += 2)
		if (strcmp(f[0], "authorization") == 0)
			return f[1];
	return "";
}

static const char *why_missed(size_t owner, size_t asker)
{
	return strcmp(authorization_of(owner), authorization_of(asker)) != 0 ? "authorization" : "cookie";
}

/* All users' pages, each asked by all users: the same one claims, every other one goes to the origin. */
static void all_pairs_of_users(const char *server, const struct rules *r, enum held_source source, bool has_own)
{
	char text[512] = "", own[2][64];
	write_rule(text, sizeof(text), r->cookie, "Cookie", RULE_COOKIE);
	write_rule(text, sizeof(text), r->authorization, "Authorization", RULE_AUTHORIZATION);
	struct stage stage = {.w = rules_world(server, text)};
	unsigned claims = 0;
	for (size_t owner = 0; owner < USERS; owner++) {
		struct gate_peer *client = refusing_client(stage.w);
		for (size_t asker = 0; asker < USERS; asker++) {
			struct play p = {.source = source, .response = {PRIVATE}};
			struct played d = {0};
			fields_of_user(p.page, owner, 2 * stage.plays, has_own, own[0]);
			fields_of_user(p.claim, asker, 2 * stage.plays + 1, has_own, own[1]);
			play_page(&stage, client, &p, &d);
			play_claim(&stage, client, &p, &d);
			origin_sees_user(d.page_at, users[owner], r);
			if (d.own_at) /* our own offers have no credentials but the route's */
				origin_sees_user(d.own_at, NULL, r);
			if (d.claim_at)
				origin_sees_user(d.claim_at, users[asker], r);
			const char *wanted = same_user(owner, asker) ? "claimed" : why_missed(owner, asker);
			if (strcmp(d.outcome, wanted) != 0)
				fail_msg("%suser %zu's asked by user %zu (source %d, own cookie %d): %s, not %s", text, owner,
				    asker, source, has_own, d.outcome, wanted);
			claims += same_user(owner, asker);
		}
	}
	assert_int_equal(claims, USERS);
	assert_int_equal(stage.w->counters.holds_claimed, USERS);
	gate_world_free(stage.w);
}

static const struct rules kinds[] = {
    {KEEPS, KEEPS},
    {SETS, KEEPS},
    {ADDS, KEEPS},
    {REMOVES, KEEPS},
    {KEEPS, SETS},
    {KEEPS, ADDS},
    {KEEPS, REMOVES},
    {SETS, SETS},
    {ADDS, ADDS},
    {REMOVES, REMOVES},
    {SETS, REMOVES},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void no_user_gets_what_is_held_for_another(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		all_pairs_of_users(NULL, &kinds[i], PROMISED, false);
		all_pairs_of_users(NULL, &kinds[i], LINKED, false);
	}
}

static void nor_where_holds_are_shared_as_it_is_private(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++)
		all_pairs_of_users("hold-shared = yes", &kinds[i], PROMISED, false);
}

struct key_file {
	char name[64], server[256];
};

static struct key_file key_file_new(const char *more)
{
	static const char secret[] = "a secret of sixteen";
	struct key_file f;
	snprintf(f.name, sizeof(f.name), "/tmp/pushgate-rules-XXXXXX");
	int fd = mkstemp(f.name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, secret, sizeof(secret) - 1), sizeof(secret) - 1);
	close(fd);
	snprintf(f.server, sizeof(f.server), "diary-cookie = pg\ndiary-cookie-key = %s\n%s", f.name, more);
	return f;
}

static void the_diary_cookie_makes_no_claim_miss(void **state)
{
	(void)state;
	struct key_file f = key_file_new("");
	for (size_t i = 0; i < KINDS; i++) {
		all_pairs_of_users(f.server, &kinds[i], PROMISED, true);
		all_pairs_of_users(f.server, &kinds[i], LINKED, true);
	}
	unlink(f.name);
}

/* ---- Vary, response rules, and shared holds ---- */

struct row {
	const char *rules;
	struct play play;
	bool shares;
	const char *outcome;
	/* What the origin gets of a field, and what the claimer. NULL: not asked. */
	const char *field, *at_page, *at_own, *at_claim;
	const char *answer_field, *in_answer;
};

static void row_holds(const struct row *row)
{
	const char *name = row->play.name;
	struct stage stage = {.w = rules_world(row->shares ? "hold-shared = yes" : NULL, row->rules)};
	struct played d = play(&stage, &row->play);
	if (strcmp(d.outcome, row->outcome) != 0)
		fail_msg("%s: %s, not %s", name, d.outcome, row->outcome);
	if (row->at_page)
		field_is(d.page_at->head, row->field, row->at_page, name);
	if (row->at_own)
		field_is(d.own_at->head, row->field, row->at_own, name);
	if (row->at_claim)
		field_is(d.claim_at->head, row->field, row->at_claim, name);
	if (row->in_answer)
		field_is(d.answer->head, row->answer_field, row->in_answer, name);
	gate_world_free(stage.w);
}

#define ROWS_HOLD(rows)                                                                            \
	for (size_t at_ = 0; at_ < sizeof(rows) / sizeof((rows)[0]); at_++)                        \
	row_holds(&(rows)[at_])

static void vary_is_compared_as_the_origin_got_the_field(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {"request-set = Accept-Encoding: gzip",
		{"set: the origin promises what it got", PROMISED, {"accept-encoding", "br"}, {"accept-encoding", "gzip"},
		    {PRIVATE, "vary", "accept-encoding"}, {"accept-encoding", "br"}, false},
		false, .outcome = "claimed", .field = "accept-encoding", .at_page = "gzip"},
	    {"request-set = Accept-Encoding: gzip",
		{"set: the client's own value does not matter", PROMISED, {"accept-encoding", "br"},
		    {"accept-encoding", "gzip"}, {PRIVATE, "vary", "accept-encoding"}, {"accept-encoding", "zstd"}, false},
		false, .outcome = "claimed"},
	    {"request-set = Accept-Encoding: gzip",
		{"set: nor does it for our own offer", LINKED, {"accept-encoding", "br"}, {NULL},
		    {PRIVATE, "vary", "accept-encoding"}, {NULL}, false},
		false, .outcome = "claimed", .field = "accept-encoding", .at_page = "gzip", .at_own = "gzip"},
	    {"request-set = Accept-Encoding: gzip",
		{"set: a promise for another value", PROMISED, {"accept-encoding", "br"}, {"accept-encoding", "br"},
		    {PRIVATE, "vary", "accept-encoding"}, {"accept-encoding", "br"}, false},
		false, .outcome = "vary", .field = "accept-encoding", .at_claim = "gzip"},
	    {"request-set = X-Tenant: one",
		{"set: a field without a token", LINKED, {"x-tenant", "two"}, {NULL}, {PRIVATE, "vary", "X-Tenant"},
		    {"x-tenant", "three"}, false},
		false, .outcome = "claimed", .field = "x-tenant", .at_page = "one", .at_own = "one"},
	    {"request-set = User-Agent: gate",
		{"set: User-Agent", LINKED, {"user-agent", "a"}, {NULL}, {PRIVATE, "vary", "user-agent"}, {"user-agent", "b"},
		    false},
		false, .outcome = "claimed", .field = "user-agent", .at_page = "gate", .at_own = "gate"},
	    {"request-set = Referer: gate",
		{"set: Referer", LINKED, {NULL}, {NULL}, {PRIVATE, "vary", "referer"},
		    {"referer", "http://example.com/page0"}, false},
		false, .outcome = "claimed", .field = "referer", .at_page = "gate", .at_own = "gate"},
	    {"request-set = Cookie: gate=1",
		{"set: Cookie", LINKED, {"cookie", "a=1"}, {NULL}, {PRIVATE, "vary", "cookie"}, {"cookie", "a=1"}, false},
		false, .outcome = "claimed", .field = "cookie", .at_page = "gate=1", .at_own = "gate=1"},
	    {"request-set = Authorization: Basic x",
		{"set: Authorization", LINKED, {NULL}, {NULL}, {PRIVATE, "vary", "authorization"}, {NULL}, false}, false,
		.outcome = "claimed", .field = "authorization", .at_page = "Basic x", .at_own = "Basic x"},
	    {"request-remove = Accept-Language",
		{"remove: the origin never got it", PROMISED, {"accept-language", "en"}, {NULL},
		    {PRIVATE, "vary", "accept-language"}, {"accept-language", "fr"}, false},
		false, .outcome = "claimed", .field = "accept-language", .at_page = ""},
	    {"request-remove = Accept-Language",
		{"remove: our own offer", LINKED, {"accept-language", "en"}, {NULL}, {PRIVATE, "vary", "accept-language"},
		    {"accept-language", "fr"}, false},
		false, .outcome = "claimed", .field = "accept-language", .at_page = "", .at_own = ""},
	    {"request-remove = Accept-Language",
		{"remove: a promise with it", PROMISED, {"accept-language", "en"}, {"accept-language", "en"},
		    {PRIVATE, "vary", "accept-language"}, {"accept-language", "en"}, false},
		false, .outcome = "vary", .field = "accept-language", .at_claim = ""},
	    {"request-remove = Cookie",
		{"remove: Cookie", LINKED, {"cookie", "a=1"}, {NULL}, {PRIVATE, "vary", "cookie"}, {"cookie", "a=1"}, false},
		false, .outcome = "claimed", .field = "cookie", .at_page = "", .at_own = ""},
	    {"request-add = Accept-Encoding: gzip",
		{"add: equal", LINKED, {"accept-encoding", "br"}, {NULL}, {PRIVATE, "vary", "accept-encoding"},
		    {"accept-encoding", "br"}, false},
		false, .outcome = "claimed", .field = "accept-encoding", .at_page = "br | gzip", .at_own = "br | gzip"},
	    {"request-add = Accept-Encoding: gzip",
		{"add: the client's part differs", LINKED, {"accept-encoding", "br"}, {NULL},
		    {PRIVATE, "vary", "accept-encoding"}, {"accept-encoding", "zstd"}, false},
		false, .outcome = "vary", .field = "accept-encoding", .at_claim = "zstd | gzip"},
	};
	ROWS_HOLD(rows);
}

static void vary_on_a_field_without_a_rule_still_tells_requests_apart(void **state)
{
	(void)state;
	static const char *const rules[] = {"", "request-set = Cookie: gate=1", "request-remove = Cookie",
	    "request-add = Authorization: Basic x", "request-set = User-Agent: gate\nrequest-remove = Referer"};
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct row rows[] = {
		    {rules[i],
			{"another language, promised", PROMISED, {"accept-language", "en"}, {"accept-language", "en"},
			    {PRIVATE, "vary", "accept-language"}, {"accept-language", "fr"}, false},
			false, .outcome = "vary", .field = "accept-language", .at_page = "en", .at_claim = "fr"},
		    {rules[i],
			{"another language, our own", LINKED, {"accept-language", "en"}, {NULL},
			    {PRIVATE, "vary", "accept-language"}, {"accept-language", "fr"}, false},
			false, .outcome = "vary", .field = "accept-language", .at_own = "en", .at_claim = "fr"},
		    {rules[i],
			{"the same language, promised", PROMISED, {"accept-language", "en"}, {"accept-language", "en"},
			    {PRIVATE, "vary", "accept-language"}, {"accept-language", "en"}, false},
			false, .outcome = "claimed"},
		    {rules[i],
			{"the same language, our own", LINKED, {"accept-language", "en"}, {NULL},
			    {PRIVATE, "vary", "accept-language"}, {"accept-language", "en"}, false},
			false, .outcome = "claimed"},
		    {rules[i],
			{"Vary: *", PROMISED, {NULL}, {NULL}, {PRIVATE, "vary", "*"}, {NULL}, false}, false, .outcome = "vary"},
		};
		ROWS_HOLD(rows);
	}
}

/* The origin's response decides what is held; what the route makes of it is for the client. */
static void response_rules_are_for_the_claimer(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {"response-set = Cache-Control: no-store",
		{"what the client may not store is held all the same", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, false},
		false, .outcome = "claimed", .answer_field = "cache-control", .in_answer = "no-store"},
	    {"response-set = Cache-Control: max-age=60",
		{"what the origin says not to store is not held", PROMISED, {NULL}, {NULL}, {"cache-control", "no-store"},
		    {NULL}, false},
		false, .outcome = "origin", .answer_field = "cache-control", .in_answer = "max-age=60"},
	    {"response-remove = Vary",
		{"the origin's Vary counts", LINKED, {"accept-language", "en"}, {NULL}, {PRIVATE, "vary", "accept-language"},
		    {"accept-language", "fr"}, false},
		false, .outcome = "vary", .answer_field = "vary", .in_answer = ""},
	    {"response-remove = Vary",
		{"and the claimer does not see it", LINKED, {"accept-language", "en"}, {NULL},
		    {PRIVATE, "vary", "accept-language"}, {"accept-language", "en"}, false},
		false, .outcome = "claimed", .answer_field = "vary", .in_answer = ""},
	    {"response-add = Vary: origin",
		{"the route's Vary goes to the claimer", PROMISED, {NULL}, {NULL}, {PRIVATE, "vary", "accept"}, {NULL}, false},
		false, .outcome = "claimed", .answer_field = "vary", .in_answer = "accept | origin"},
	    {"response-set = ETag: \"gate\"",
		{"conditions are about the origin's ETag", PROMISED, {NULL}, {NULL}, {PRIVATE, "etag", "\"1\""},
		    {"if-none-match", "\"1\""}, false},
		false, .outcome = "304", .answer_field = "etag", .in_answer = "\"gate\""},
	    {"response-set = ETag: \"gate\"",
		{"the route's own ETag is for the origin", PROMISED, {NULL}, {NULL}, {PRIVATE, "etag", "\"1\""},
		    {"if-none-match", "\"gate\""}, false},
		false, .outcome = "revalidation", .field = "if-none-match", .at_claim = "\"gate\""},
	    {"response-remove = ETag",
		{"a removed ETag", PROMISED, {NULL}, {NULL}, {PRIVATE, "etag", "\"1\""}, {NULL}, false}, false, .outcome = "claimed",
		.answer_field = "etag", .in_answer = ""},
	    {"response-set = Set-Cookie: a=1",
		{"a set Set-Cookie comes once", PROMISED, {NULL}, {NULL}, {PRIVATE, "set-cookie", "b=2"}, {NULL}, false},
		false, .outcome = "claimed", .answer_field = "set-cookie", .in_answer = "a=1"},
	    {"response-add = Set-Cookie: a=1",
		{"an added Set-Cookie comes once", LINKED, {NULL}, {NULL}, {PRIVATE, "set-cookie", "b=2"}, {NULL}, false},
		false, .outcome = "claimed", .answer_field = "set-cookie", .in_answer = "b=2 | a=1"},
	    {"response-add = Via: 2 other",
		{"Via comes once from each", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, false}, false, .outcome = "claimed",
		.answer_field = "cache-status", .in_answer = "pushgate; hit; detail=held"},
	};
	ROWS_HOLD(rows);
}

static void shared_responses_follow_the_origins_request_and_response(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {"", {"private", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, true}, true, .outcome = "origin"},
	    {"response-set = Cache-Control: public, max-age=60",
		{"private, whatever the route says", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, true}, true, .outcome = "origin"},
	    {"request-remove = Cookie",
		{"the origin gets no cookies", PROMISED, {"cookie", "a=1"}, {NULL}, {FRESH}, {"cookie", "a=2"}, true}, true,
		.outcome = "claimed", .field = "cookie", .at_page = ""},
	    {"request-remove = Cookie",
		{"private, and the origin gets no cookies", PROMISED, {"cookie", "a=1"}, {NULL}, {PRIVATE}, {"cookie", "a=2"}, true},
		true, .outcome = "origin", .field = "cookie", .at_page = "", .at_claim = ""},
	    {"request-set = Cookie: gate=1",
		{"with the route's cookies", LINKED, {"cookie", "a=1"}, {NULL}, {FRESH, "vary", "cookie"}, {"cookie", "a=2"},
		    true},
		true, .outcome = "claimed", .field = "cookie", .at_page = "gate=1", .at_own = "gate=1"},
	    {"request-set = Cookie: gate=1",
		{"another language", LINKED, {"accept-language", "en"}, {NULL}, {FRESH, "vary", "accept-language"},
		    {"accept-language", "fr"}, true},
		true, .outcome = "vary"},
	    {"request-remove = Authorization",
		{"the page's client sent Authorization, which the origin did not get", PROMISED, {"authorization", "Basic b25l"}, {NULL},
		    {FRESH}, {NULL}, true},
		true, .outcome = "origin", .field = "authorization", .at_page = "", .at_claim = ""},
	    {"request-remove = Authorization",
		{"the same, with a directive that allows it", PROMISED, {"authorization", "Basic b25l"}, {NULL},
		    {"cache-control", "public, max-age=60"}, {NULL}, true},
		true, .outcome = "claimed"},
	    {"request-set = Authorization: Basic x",
		{"promised for the route's own credentials (RFC 9111 3.5)", PROMISED, {NULL}, {NULL}, {FRESH}, {NULL}, true},
		true, .outcome = "origin", .field = "authorization", .at_page = "Basic x", .at_claim = "Basic x"},
	    {"request-add = Authorization: Basic x",
		{"asked for with the route's own credentials (RFC 9111 3.5)", LINKED, {NULL}, {NULL}, {FRESH}, {NULL}, true},
		true, .outcome = "origin", .field = "authorization", .at_own = "Basic x", .at_claim = "Basic x"},
	    {"request-set = Authorization: Basic x",
		{"the same, with a directive that allows it", LINKED, {NULL}, {NULL}, {"cache-control", "s-maxage=60"}, {NULL}, true},
		true, .outcome = "claimed"},
	    {"response-remove = Set-Cookie",
		{"Set-Cookie is for one user", PROMISED, {NULL}, {NULL}, {FRESH, "set-cookie", "a=1"}, {NULL}, true}, true,
		.outcome = "origin"},
	    {"response-set = Set-Cookie: a=1",
		{"the route's own Set-Cookie is for every client", PROMISED, {NULL}, {NULL}, {FRESH}, {NULL}, true}, true,
		.outcome = "claimed", .answer_field = "set-cookie", .in_answer = "a=1"},
	};
	ROWS_HOLD(rows);
}

/* An offer is a duplicate of a held response when the origin would get equal fields. */
static void an_offer_with_equal_fields_at_the_origin_is_a_duplicate(void **state)
{
	(void)state;
	static const char *const rules[] = {"request-set = Accept-Language: en", "request-remove = Accept-Language"};
	for (size_t i = 0; i < 2; i++) {
		struct gate_world *w = rules_world(NULL, rules[i]);
		struct gate_peer *client = refusing_client(w);
		static const char *const languages[] = {"en", "fr"};
		for (size_t j = 0; j < 2; j++) {
			char path[16];
			snprintf(path, sizeof(path), "/page%zu", j);
			struct gate_stream *page = gate_request(client, "GET", "example.com", path, true, "accept-language", languages[j], NULL);
			struct gate_stream *at = at_origin(w, path, 1);
			gate_answer_fields(at, 200, true, "link", "</a.css>; rel=preload; as=style", NULL);
			if (j == 0) {
				struct gate_stream *own = at_origin(w, "/a.css", 1);
				gate_answer_fields(own, 200, false, PRIVATE, "vary", "accept-language", NULL);
				gate_more(own, HELD_BYTES, true);
				UNTIL(w, own->is_over);
			}
			UNTIL(w, page->is_over);
			gate_passes(w);
		}
		assert_int_equal(gate_seen(&w->sites[0], "/a.css"), 1);
		assert_int_equal(w->counters.pushes_held, 1);
		gate_world_free(w);
	}
}

/* RFC 9111 4.4: the origin's Location counts, not that which the client gets. */
static void a_change_ends_what_the_origins_location_names(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {"", {"no rule", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, false}, false, .outcome = "origin"},
	    {"response-remove = Location", {"removed", PROMISED, {NULL}, {NULL}, {PRIVATE}, {NULL}, false}, false, .outcome = "origin"},
	    {"response-set = Location: /elsewhere", {"set", LINKED, {NULL}, {NULL}, {PRIVATE}, {NULL}, false}, false,
		.outcome = "origin"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage = {.w = rules_world(NULL, rows[i].rules)};
		struct played d = {0};
		struct gate_peer *client = refusing_client(stage.w);
		play_page(&stage, client, &rows[i].play, &d);
		struct gate_stream *change = gate_request(client, "POST", "example.com", "/form", true, NULL);
		gate_answer_fields(at_origin(stage.w, "/form", 1), 201, true, "location", d.path, NULL);
		UNTIL(stage.w, change->is_over);
		gate_passes(stage.w);
		play_claim(&stage, client, &rows[i].play, &d);
		if (strcmp(d.outcome, rows[i].outcome) != 0)
			fail_msg("Location %s: %s", rows[i].play.name, d.outcome);
		gate_world_free(stage.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_user_gets_what_is_held_for_another),
	    cmocka_unit_test(nor_where_holds_are_shared_as_it_is_private),
	    cmocka_unit_test(the_diary_cookie_makes_no_claim_miss),
	    cmocka_unit_test(vary_is_compared_as_the_origin_got_the_field),
	    cmocka_unit_test(vary_on_a_field_without_a_rule_still_tells_requests_apart),
	    cmocka_unit_test(response_rules_are_for_the_claimer),
	    cmocka_unit_test(shared_responses_follow_the_origins_request_and_response),
	    cmocka_unit_test(an_offer_with_equal_fields_at_the_origin_is_a_duplicate),
	    cmocka_unit_test(a_change_ends_what_the_origins_location_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
