/* SPDX-License-Identifier: MIT */
/* Fields of requests under names that an origin may take for others, and trailers: neither brings back what a route takes away. */
#include "tests/unit/route/made_request.h"

#include "proxy/http/spelling.h"

/* covers: R641 R642 */

#define FORWARD "mode = forward"
#define KEEP "forwarded = keep\n"

static void names_are_alike_if_their_letters_and_digits_are(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool alike;
	} rows[] = {
	    {"x-auth", "x-auth", true},
	    {"x-auth", "x_auth", true},
	    {"x_auth", "x-auth", true},
	    {"x-auth", "x.auth", true},
	    {"x-a-b", "x_a-b", true},
	    {"x-auth", "x-auti", false},
	    {"x-auth", "xauth", false},
	    {"x-auth", "x--auth", false},
	    {"x-auth", "x-auth-", false},
	    {"x-1", "x_1", true},
	    {"x-1", "x-a", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(http_names_alike(slice_of_string(rows[i].a), slice_of_string(rows[i].b)), rows[i].alike);
	assert_int_equal(http_token_alike(SLICE("x_forwarded.for")), HTTP_TOKEN_X_FORWARDED_FOR);
	assert_int_equal(http_token_alike(SLICE("x-forwarded-for")), HTTP_TOKEN_X_FORWARDED_FOR);
	assert_int_equal(http_token_alike(SLICE("x_own")), HTTP_TOKEN_NONE);
	char longest[300];
	memset(longest, '_', sizeof(longest));
	assert_int_equal(http_token_alike(slice_of(longest, sizeof(longest))), HTTP_TOKEN_NONE);
	assert_true(http_name_is_marked(SLICE("x_auth")));
	assert_true(http_name_is_marked(SLICE("x~auth")));
	assert_false(http_name_is_marked(SLICE("x-auth1")));
}

/* What a head's names note, so that nobody looks for spellings in the others. */
static void heads_note_names_that_may_be_others(void **state)
{
	(void)state;
	static const struct {
		const char *fields;
		unsigned noted;
	} rows[] = {
	    {"accept: */*\nx-own: 1\n", 0},
	    {"x-forwarded-for: 1\n", HTTP_NOTED_PROXY},
	    {"forwarded: for=1\n", HTTP_NOTED_PROXY},
	    {"via: 2 a\nx_own: 1\n", HTTP_NOTED_PROXY | HTTP_NOTED_NAMES},
	    {"x_own: 1\n", HTTP_NOTED_NAMES},
	    {"accept: */*\nx.own: 1\nx-other: 2\n", HTTP_NOTED_NAMES},
	    {"x-forwarded-ssl: on\n", HTTP_NOTED_NAMES},
	    {"x-forwarded: 1\n", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new("", "", "10.0.0.1", rows[i].fields);
		assert_int_equal(m.x.request->noted, rows[i].noted);
		struct http_head *copy = http_head_compact(http_head_copy(m.x.request), NULL, 0);
		assert_int_equal(copy->noted, rows[i].noted);
		http_head_free(copy);
		made_free(&m);
	}
}

#define CLAIMS "x_forwarded_for: 1\nx-forwarded_proto: https\nx_forwarded-host: b\nx.forwarded.port: 1\nx_real_ip: 1\n" \
	       "x_forwarded_ssl: on\n"

static void what_a_route_sets_or_removes_goes_in_each_spelling(void **state)
{
	(void)state;
	static const struct {
		const char *listen, *route, *fields, *wanted;
	} rows[] = {
	    {"", KEEP "underscores = pass\nrequest-set = X-Auth: ours", "x_auth: forged\nx-auth: 1\nx.auth: 2\nx_own: 3\n",
		"x_own: 3\nx-auth: ours\n"},
	    {"", KEEP "underscores = pass\nrequest-remove = X-Internal", "x_internal: forged\nx_own: 3\n", "x_own: 3\n"},
	    {"", KEEP "underscores = pass\nrequest-remove = X_Internal", "x-internal: 1\nx_internal: 2\n", ""},
	    {"", KEEP "underscores = pass\nrequest-add = X-Auth: ours", "x_auth: 1\nx-auth: 2\n",
		"x_auth: 1\nx-auth: 2\nx-auth: ours\n"},
	    {"", KEEP "underscores = pass\nrequest-set = User-Agent: ours", "user_agent: forged\nuser-agent: 1\naccept: */*\n",
		"accept: */*\nuser-agent: ours\n"},
	    {"", KEEP "underscores = pass\nrequest-set = User_Agent: ours", "user_agent: forged\nuser-agent: 1\n",
		"user_agent: ours\n"},
	    {"", KEEP "request-set = X_Own: 1\nrequest-set = X-Own: 2", "", "x-own: 2\n"},
	    {"", KEEP "request-set = User_Agent: 1\nrequest-remove = User-Agent", "", ""},
	    {FORWARD, "underscores = pass\nrequest-remove = X-Internal", "x_internal: forged\nx_own: 3\n", "x_own: 3\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		origin_gets(rows[i].listen, rows[i].route, "10.0.0.1", rows[i].fields, rows[i].wanted);
}

static void others_go_where_the_route_says_so_or_changes_fields(void **state)
{
	(void)state;
	static const struct {
		const char *listen, *route, *wanted;
	} rows[] = {
	    {FORWARD, "", "x-own: 1\nx_own: 2\nx.own: 3\n"},
	    {"", KEEP, "x-own: 1\nx_own: 2\nx.own: 3\n"},
	    {"", KEEP "underscores = auto", "x-own: 1\nx_own: 2\nx.own: 3\n"},
	    {"", KEEP "request-add = X-Y: 1", "x-own: 1\nx_own: 2\nx.own: 3\nx-y: 1\n"},
	    {"", KEEP "response-remove = X-Y", "x-own: 1\nx_own: 2\nx.own: 3\n"},
	    {"", KEEP "request-remove = X-Y\nunderscores = pass", "x-own: 1\nx_own: 2\nx.own: 3\n"},
	    {"", KEEP "request-remove = X-Y", "x-own: 1\n"},
	    {"", KEEP "request-set = X-Y: 1", "x-own: 1\nx-y: 1\n"},
	    {"", KEEP "request-set = X_Y: 1", "x-own: 1\nx_y: 1\n"},
	    {"", KEEP "underscores = drop", "x-own: 1\n"},
	    {FORWARD, "underscores = drop", "x-own: 1\n"},
	    {"", "forwarded = remove", "x-own: 1\n"},
	    {FORWARD, "forwarded = remove", "x-own: 1\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		origin_gets(rows[i].listen, rows[i].route, "10.0.0.1", "x-own: 1\nx_own: 2\nx.own: 3\n", rows[i].wanted);
}

/* Written by replace, which is the default, such fields pass: many applications have names of their own. */
static void by_default_a_gateway_drops_the_forwarding_fields_alone(void **state)
{
	(void)state;
	static const char ours[] = "x_own: 1\nforwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-for: 10.0.0.1\n"
				   "x-forwarded-proto: http\nx-forwarded-host: a.example:81\nx-forwarded-port: 81\nx-real-ip: 10.0.0.1\n";
	origin_gets("", "", "10.0.0.1", "x_own: 1\n" CLAIMS, ours);
	origin_gets("", "forwarded = replace", "10.0.0.1", "x_own: 1\n" CLAIMS, strchr(ours, '\n') + 1);
}

static void what_pushgate_writes_itself_goes_in_each_other_spelling(void **state)
{
	(void)state;
	static const char *const listens[] = {"", FORWARD, "trusted = 10.0.0.1"};
	for (size_t i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		origin_gets(listens[i], KEEP "underscores = pass", "10.0.0.1", CLAIMS, "");
		origin_gets(listens[i], KEEP "underscores = drop", "10.0.0.1", "content_length: 5\ntransfer_encoding: chunked\n", "");
	}
	static const char login[] = "proxy_authorization: Basic YQ==\nproxy_authenticate: Basic\n";
	origin_gets(FORWARD, "", "10.0.0.1", login, "");
	origin_gets("", KEEP, "10.0.0.1", login, login); /* the origin may be the proxy that is meant */
}

/* ---- trailers ---- */

static void trailers_are(const char *listen, const char *route, bool is_request, const char *fields, const char *wanted)
{
	struct made m = made_new(listen, route, "10.0.0.1", "");
	struct http_head *trailers = http_head_new(m.heads);
	add_fields(trailers, fields);
	assert_null(http_head_validate(trailers, HTTP_TRAILERS));
	http_head_strip_hop(trailers);
	if (is_request)
		route_request_trailers(m.x.facts.listener, m.x.place.route, trailers);
	else
		route_response_trailers(m.x.place.route, trailers);
	text_is(trailers, wanted);
	http_head_free(trailers);
	made_free(&m);
}

static void trailers_do_not_bring_back_what_a_route_takes_away(void **state)
{
	(void)state;
	static const char rules[] = "request-set = X-Auth: ours\nrequest-remove = X-Internal\nrequest-add = X-Own: 1\n"
				    "response-set = X-Page: ours\nresponse-remove = X-Debug\nresponse-add = X-More: 1\n"
				    "underscores = pass\n";
	static const char came[] = "x-auth: 1\nx_auth: 2\nx-internal: 3\nx_internal: 4\nx-own: 5\nx-page: 6\nx-debug: 7\n"
				   "x_debug: 8\nx-more: 9\ngrpc-status: 0\nx_other: 10\n";
	static const char *const listens[] = {"", FORWARD};
	for (size_t i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		trailers_are(listens[i], rules, true, came,
		    "x-own: 5\nx-page: 6\nx-debug: 7\nx_debug: 8\nx-more: 9\ngrpc-status: 0\nx_other: 10\n");
		trailers_are(listens[i], rules, false, came,
		    "x-auth: 1\nx_auth: 2\nx-internal: 3\nx_internal: 4\nx-own: 5\nx-more: 9\ngrpc-status: 0\nx_other: 10\n");
		trailers_are(listens[i], "underscores = drop", true, "x-own: 1\nx_own: 2\n", "x-own: 1\n");
		trailers_are(listens[i], "underscores = drop", false, "x-own: 1\nx_own: 2\n", "x-own: 1\nx_own: 2\n");
	}
}

static void trailers_say_nothing_of_the_client(void **state)
{
	(void)state;
	static const char came[] = "forwarded: for=1\nx-forwarded-for: 1\nx-forwarded-proto: https\nx-forwarded-host: b\n"
				   "x-forwarded-port: 1\nx-real-ip: 1\nx-forwarded-ssl: on\n" CLAIMS "x-own: 1\n";
	static const char *const listens[] = {"", FORWARD, "trusted = 10.0.0.1"};
	for (size_t i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		trailers_are(listens[i], "", true, came, "x-own: 1\n");
		trailers_are(listens[i], KEEP, true, came, "x-own: 1\n");
		trailers_are(listens[i], "", false, came, "x-own: 1\n");
	}
}

/* covers: R563 */
static void trailers_have_no_credentials_for_pushgate(void **state)
{
	(void)state;
	static const char asks[] = "access = a\n[access a]\nusers = users\nask = all\nallow = user=*";
	static const char login[] = "authorization: Basic YQ==\nproxy-authorization: Basic YQ==\nproxy_authorization: Basic YQ==\n";
	trailers_are(asks, "", true, login, "proxy_authorization: Basic YQ==\n");
	trailers_are(FORWARD, "", true, login, "authorization: Basic YQ==\n");
	trailers_are("", "", true, login, "authorization: Basic YQ==\nproxy_authorization: Basic YQ==\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_alike_if_their_letters_and_digits_are),
	    cmocka_unit_test(heads_note_names_that_may_be_others),
	    cmocka_unit_test(what_a_route_sets_or_removes_goes_in_each_spelling),
	    cmocka_unit_test(others_go_where_the_route_says_so_or_changes_fields),
	    cmocka_unit_test(by_default_a_gateway_drops_the_forwarding_fields_alone),
	    cmocka_unit_test(what_pushgate_writes_itself_goes_in_each_other_spelling),
	    cmocka_unit_test(trailers_do_not_bring_back_what_a_route_takes_away),
	    cmocka_unit_test(trailers_say_nothing_of_the_client),
	    cmocka_unit_test(trailers_have_no_credentials_for_pushgate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
