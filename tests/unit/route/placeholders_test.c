/* SPDX-License-Identifier: MIT */
/* What {client} and the like become in the fields of requests and responses. */
#include "tests/unit/route/made_request.h"

#include "proxy/limits.h"

#define KEEP "forwarded = keep\n"

/* What one request is known by. */
struct known {
	const char *client, *scheme, *authority, *path, *tls, *user, *id, *cert; /* cert: names */
};

static struct made known_new(const char *rules, const struct known *k)
{
	char route[1024];
	snprintf(route, sizeof(route), KEEP "%s", rules);
	struct made m = made_new("", route, k->client ? k->client : "10.0.0.1", "");
	struct http_head *request = (struct http_head *)(uintptr_t)m.x.request;
	if (k->scheme)
		request->scheme = slice_of_string(k->scheme);
	if (k->authority)
		request->authority = slice_of_string(k->authority);
	if (k->path)
		request->path = slice_of_string(k->path);
	m.x.facts.tls = k->tls;
	m.x.facts.user = k->user ? exchange_user_new(slice_of_string(k->user)) : NULL;
	m.x.facts.certificate = k->cert ? client_certificate_new(slice_of_string(k->cert), SLICE(":YWJj+/==:"), SLICE("")) : NULL;
	m.x.facts.request_id = k->id ? slice_of_string(k->id) : SLICE("");
	return m;
}

static void known_free(struct made *m)
{
	exchange_user_release(m->x.facts.user);
	client_certificate_release(m->x.facts.certificate);
	made_free(m);
}

/* The field "x-a" of the request and of the response; NULL: there is none. */
static void becomes(const char *value, struct known k, const char *wanted)
{
	char rules[512];
	snprintf(rules, sizeof(rules), "request-set = X-A: %s\nresponse-set = X-A: %s", value, value);
	struct made m = known_new(rules, &k);
	struct http_head *sent = route_origin_request(&m.env, &m.x.facts, &m.x.place), *answer = http_head_new(m.heads);
	answer->kind = HTTP_RESPONSE;
	http_head_add(answer, SLICE("x-a"), SLICE("the origin's"));
	route_apply_fields(&m.x.place.route->response_fields, &m.x.facts, answer);
	const struct http_head *both[] = {sent, answer};
	for (size_t i = 0; i < 2; i++) {
		struct slice got = {0};
		for (uint32_t n = 0; n < both[i]->count; n++)
			if (slice_equal(both[i]->fields[n].name, SLICE("x-a")))
				got = both[i]->fields[n].value;
		if (wanted ? !slice_equal(got, slice_of_string(wanted)) : got.len > 0)
			fail_msg("%s became \"%.*s\", not \"%s\"", value, SLICE_ARG(got), wanted ? wanted : "(nothing)");
	}
	http_head_free(sent);
	http_head_free(answer);
	known_free(&m);
}

#define KNOWN(...) ((struct known){__VA_ARGS__})

/* covers: R643 */
static void placeholders_say_what_is_known_of_the_request(void **state)
{
	(void)state;
	becomes("{client}", KNOWN(.client = "192.0.2.7"), "192.0.2.7");
	becomes("{client}", KNOWN(.client = "2001:db8::7"), "2001:db8::7");
	becomes("for=\"[{client}]\"; x", KNOWN(.client = "2001:db8::7"), "for=\"[2001:db8::7]\"; x");
	becomes("{host}", KNOWN(.authority = "a.example:81"), "a.example");
	becomes("{host} {port}", KNOWN(.authority = "[2001:db8::1]:8443"), "[2001:db8::1] 8443");
	becomes("{port}", KNOWN(.authority = "a.example", .scheme = "https"), "443");
	becomes("{scheme}://{host}:{port}", KNOWN(.scheme = "https"), "https://a.example:81");
	becomes("{path}", KNOWN(.path = "/a/b?c=d&e"), "/a/b");
	becomes("{query}", KNOWN(.path = "/a/b?c=d&e"), "?c=d&e");
	becomes("{path}{query}", KNOWN(.path = "/a/b?c=%20"), "/a/b?c=%20");
	becomes("{protocol}", KNOWN(0), "h2");
	becomes("{tls}", KNOWN(.tls = "TLSv1.3"), "TLSv1.3");
	becomes("{user}", KNOWN(.user = "alice@a.example"), "alice@a.example");
	becomes("id {request-id}!", KNOWN(.id = "a-b/c+=="), "id a-b/c+==!");
	becomes("{client}, {client}", KNOWN(0), "10.0.0.1, 10.0.0.1");
	struct known with = {.cert = "sha256:0a\nsubject:CN=a b,O=c/d\nissuer:CN=\"e\";f\ncn:a b\ncn:other\n"};
	becomes("{client-cert}", with, ":YWJj+/==:");
	becomes("<{client-cert-subject}>", with, "<CN=a%20b%2CO=c/d>");
	becomes("{client-cert-issuer}", with, "CN=%22e%22%3Bf");
	becomes("cn={client-cert-cn}; fp={client-cert-fingerprint}", with, "cn=a%20b; fp=0a");
	becomes("{client-cert}{client-cert-subject}{client-cert-issuer}{client-cert-cn}{client-cert-fingerprint}", KNOWN(0), NULL);
}

/* The client's field is taken away all the same.
 * covers: R643 */
static void a_value_of_nothing_is_not_sent(void **state)
{
	(void)state;
	becomes("{user}", KNOWN(0), NULL);
	becomes("{tls}{request-id}", KNOWN(.tls = ""), NULL);
	becomes("{query}", KNOWN(.path = "/"), NULL);
	becomes("user={user}", KNOWN(0), "user=");
	becomes("{user} {tls}", KNOWN(0), NULL);
	becomes("a {user}", KNOWN(0), "a");
	struct known unix_socket = {.client = ""};
	becomes("{client}", unix_socket, NULL);
	origin_gets("", KEEP "request-set = X-User: {user}", "10.0.0.1", "x-user: admin\nx_user: admin\n", "");
	origin_gets("", KEEP "request-add = X-User: {user}", "10.0.0.1", "x-user: own\n", "x-user: own\n");
}

/* covers: R644 */
static void clients_cannot_leave_their_place_in_a_value(void **state)
{
	(void)state;
	becomes("\"{host}\"", KNOWN(.authority = "a,b;c=d"), "\"a%2Cb%3Bc%3Dd\"");
	becomes("{user}", KNOWN(.user = "a\"b\\c,d;e=f g%h"), "a%22b%5Cc%2Cd%3Be%3Df%20g%25h");
	becomes("{user}", KNOWN(.user = "m\xc3\xbcller"), "m%C3%BCller");
	becomes("{user}", KNOWN(.user = "a\r\nb\tc\x7f"), "a%0D%0Ab%09c%7F");
	becomes("<{path}>", KNOWN(.path = "/a,b;c\"d>\\(e)?"), "</a%2Cb%3Bc%22d%3E%5C%28e%29>");
	becomes("{query}", KNOWN(.path = "/?a=b,c&d='*$!"), "?a=b%2Cc&d='*$!");
}

/* covers: R644 */
static void a_value_has_a_bound(void **state)
{
	(void)state;
	static char path[LIMIT_WRITTEN_VALUE_BYTES + 2];
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	becomes("{path}", KNOWN(.path = path), NULL);
	path[LIMIT_WRITTEN_VALUE_BYTES] = '\0';
	becomes("{path}", KNOWN(.path = path), path);
	becomes("{path}{host}", KNOWN(.path = path), NULL);
	path[LIMIT_WRITTEN_VALUE_BYTES - 1] = ',';
	becomes("{path}", KNOWN(.path = path), NULL);
}

/* ---- what is said to one client is no answer to another ---- */

/* covers: R645 */
static void fields_that_tell_who_the_client_is_are_alike_for_one_client_alone(void **state)
{
	(void)state;
	static const struct {
		const char *rules;
		struct known a, b;
		bool is_alike;
	} rows[] = {
	    {"request-set = X-A: 1", {.user = "alice"}, {.user = "bob"}, true},
	    {"request-set = X-A: {user}", {.user = "alice"}, {.user = "bob"}, false},
	    {"request-set = X-A: {user}", {.user = "alice"}, {.user = "alice"}, true},
	    {"request-set = X-A: {user}", {.user = "alice"}, {.user = NULL}, false},
	    {"request-add = X-A: of {client}", {.client = "10.0.0.1"}, {.client = "10.0.0.2"}, false},
	    {"request-add = X-A: of {client}", {.client = "10.0.0.1"}, {.client = "10.0.0.1"}, true},
	    {"request-set = X-A: {path}\nrequest-set = X-B: {request-id}", {.path = "/a", .id = "1"}, {.path = "/b", .id = "2"}, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made a = known_new(rows[i].rules, &rows[i].a), b = known_new(rows[i].rules, &rows[i].b);
		const struct conf_fields *of_a = &a.x.place.route->request_fields, *of_b = &b.x.place.route->request_fields;
		assert_int_equal(route_fields_alike(of_a, &a.x.facts, of_b, &b.x.facts), rows[i].is_alike);
		assert_int_equal(route_fields_alike(of_a, &a.x.facts, of_a, &b.x.facts), rows[i].is_alike);
		assert_int_equal(route_fields_key(of_a, &a.x.facts) == route_fields_key(of_b, &b.x.facts), rows[i].is_alike);
		known_free(&a);
		known_free(&b);
	}
}

static void a_brace_that_is_text_is_no_placeholder(void **state)
{
	(void)state;
	struct known k = {.user = "alice"};
	struct made a = known_new("request-set = X-A: {user}", &k), b = known_new("request-set = X-A: {{user}", &k);
	const struct conf_fields *of_a = &a.x.place.route->request_fields, *of_b = &b.x.place.route->request_fields;
	assert_false(route_fields_alike(of_a, &a.x.facts, of_b, &b.x.facts));
	assert_true(route_fields_key(of_a, &a.x.facts) != route_fields_key(of_b, &b.x.facts));
	known_free(&a);
	known_free(&b);
}

/* ---- X-Request-Id ---- */

/* covers: R646 */
static void origin_gets_the_id_alone(void **state)
{
	(void)state;
	static const char theirs[] = "x-request-id: theirs\nx_request_id: theirs\nx-request-id: again\nx-own: 1\n";
	struct made m = made_new("request-id = make", KEEP, "10.0.0.1", theirs);
	m.x.facts.request_id = SLICE("ours");
	struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	http_head_remove(head, HTTP_TOKEN_VIA);
	text_is(head, "x-own: 1\nx-request-id: ours\n");
	http_head_free(head);
	struct http_head *trailers = http_head_new(m.heads);
	trailers->kind = HTTP_TRAILERS;
	add_fields(trailers, "x-request-id: theirs\nx-own: 1\nx_request_id: theirs\n");
	trailers->noted = HTTP_NOTED_NAMES;
	route_request_trailers(m.x.facts.listener, m.x.place.route, trailers);
	text_is(trailers, "x-own: 1\n");
	http_head_free(trailers);
	made_free(&m);
	origin_gets("", KEEP, "10.0.0.1", theirs, theirs);
}

/* covers: R646 */
static void rules_of_the_route_may_take_the_id_away(void **state)
{
	(void)state;
	struct made m = made_new("request-id = make", KEEP "request-remove = X-Request-Id\nrequest-set = X-Trace: {request-id}", "10.0.0.1", "");
	m.x.facts.request_id = SLICE("ours");
	struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	http_head_remove(head, HTTP_TOKEN_VIA);
	text_is(head, "x-trace: ours\n");
	http_head_free(head);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(placeholders_say_what_is_known_of_the_request),
	    cmocka_unit_test(a_value_of_nothing_is_not_sent),
	    cmocka_unit_test(clients_cannot_leave_their_place_in_a_value),
	    cmocka_unit_test(a_value_has_a_bound),
	    cmocka_unit_test(fields_that_tell_who_the_client_is_are_alike_for_one_client_alone),
	    cmocka_unit_test(a_brace_that_is_text_is_no_placeholder),
	    cmocka_unit_test(origin_gets_the_id_alone),
	    cmocka_unit_test(rules_of_the_route_may_take_the_id_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
