/* SPDX-License-Identifier: MIT */
/* What becomes of Forwarded and of the fields of proxy authentication, in both modes. */
#include "tests/unit/route/made_request.h"

#include "proxy/http/field_key.h"

#define CLAIMS                                                                                                         \
	"forwarded: for=192.0.2.1\nx-forwarded-for: 192.0.2.1\nx-forwarded-proto: https\nx-forwarded-host: b.example\n" \
	"x-real-ip: 192.0.2.1\n"
#define OURS                                                                                    \
	"forwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-for: 10.0.0.1\n" \
	"x-forwarded-proto: http\nx-forwarded-host: a.example:81\n"
#define ALL_OURS OURS "x-forwarded-port: 81\nx-real-ip: 10.0.0.1\n"
#define FORWARD "mode = forward"

/* covers: R498 */
static void what_proxies_say_of_the_client_goes_no_further(void **state)
{
	(void)state;
	origin_gets(FORWARD, "", "10.0.0.1", CLAIMS, "");
	origin_gets(FORWARD, "forwarded = auto", "10.0.0.1", "accept: */*\n" CLAIMS "x-own: 1\n", "accept: */*\nx-own: 1\n");
	origin_gets("", "forwarded = remove", "10.0.0.1", CLAIMS, "");
	origin_gets("trusted = 10.0.0.1", "forwarded = remove", "10.0.0.1", CLAIMS, "");
	origin_gets("", "forwarded = keep", "10.0.0.1", CLAIMS, CLAIMS);
	origin_gets(FORWARD, "forwarded = keep", "10.0.0.1", CLAIMS, CLAIMS);
}

/* covers: R640 */
static void origin_is_told_what_pushgate_knows_of_a_client_that_is_not_trusted(void **state)
{
	(void)state;
	static const char *const routes[] = {"", "forwarded = auto", "forwarded = append", "forwarded = replace"};
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		origin_gets("", routes[i], "10.0.0.1", "", ALL_OURS);
		origin_gets("", routes[i], "10.0.0.1", "accept: */*\n" CLAIMS "x-own: 1\n", "accept: */*\nx-own: 1\n" ALL_OURS);
		origin_gets("trusted = 10.0.0.2", routes[i], "10.0.0.1", CLAIMS CLAIMS, ALL_OURS);
	}
	origin_gets(FORWARD, "forwarded = replace", "10.0.0.1", CLAIMS, ALL_OURS);
	origin_gets("", "", "10.0.0.1", "x-forwarded-ssl: on\nx-forwarded-prefix: /a\nx-forwarded: 1\n",
	    "x-forwarded: 1\n" ALL_OURS);
}

/* covers: R640 */
static void of_a_trusted_proxy_origin_is_told_what_that_proxy_says(void **state)
{
	(void)state;
	static const char said[] = "x-real-ip: 192.0.2.1\nx-forwarded-port: 8443\nx-forwarded-ssl: on\nforwarded: for=192.0.2.1\n"
				   "x-forwarded-for: 192.0.2.1\nx-forwarded-proto: https\nx-forwarded-host: b.example\n";
	origin_gets("trusted = 10.0.0.0/8", "", "10.0.0.1", said,
	    "x-real-ip: 192.0.2.1\nx-forwarded-port: 8443\nx-forwarded-ssl: on\n"
	    "forwarded: for=192.0.2.1, for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-for: 192.0.2.1, 10.0.0.1\n"
	    "x-forwarded-proto: https\nx-forwarded-host: b.example\n");
	/* The proxy's own address is not that of its client. */
	origin_gets("trusted = 10.0.0.0/8", "", "10.0.0.1", "", OURS);
}

/* The port that the client has asked for: what is before pushgate may have mapped that of the listener. */
static void port_is_that_of_the_request(void **state)
{
	(void)state;
	static const struct {
		const char *scheme, *authority, *port;
	} rows[] = {
	    {"http", "a.example:81", "81"},
	    {"http", "a.example", "80"},
	    {"https", "a.example", "443"},
	    {"https", "a.example:", "443"},
	    {"https", "a443", "443"},
	    {"https", "192.0.2.1", "443"},
	    {"http", "[2001:db8::1]", "80"},
	    {"https", "[2001:db8::1]:8443", "8443"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new("", "", "10.0.0.1", "");
		struct http_head *request = (struct http_head *)(uintptr_t)m.x.request;
		request->scheme = slice_of_string(rows[i].scheme);
		request->authority = slice_of_string(rows[i].authority);
		struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
		const struct http_field *port = http_head_find(head, HTTP_TOKEN_X_FORWARDED_PORT);
		assert_non_null(port);
		assert_true(slice_equal(port->value, slice_of_string(rows[i].port)));
		http_head_free(head);
		made_free(&m);
	}
}

/* covers: R497 */
static void replace_believes_no_client(void **state)
{
	(void)state;
	origin_gets("", "forwarded = replace", "10.0.0.1", CLAIMS, ALL_OURS);
	origin_gets("trusted = 10.0.0.0/8", "forwarded = replace", "10.0.0.1", CLAIMS "x-forwarded-ssl: on\n", ALL_OURS);
	origin_gets("trusted = 10.0.0.0/8", "forwarded = replace", "10.0.0.1", "", ALL_OURS);
	origin_gets("trusted = unix", "forwarded = replace", "", CLAIMS,
	    "forwarded: for=unknown;host=\"a.example:81\";proto=http\nx-forwarded-proto: http\nx-forwarded-host: a.example:81\n"
	    "x-forwarded-port: 81\n");
}

/* covers: R497 */
static void append_believes_trusted_clients_alone(void **state)
{
	(void)state;
	origin_gets("", "forwarded = append", "10.0.0.1", "", ALL_OURS);
	origin_gets(FORWARD, "forwarded = append", "10.0.0.1", "", ALL_OURS);
	origin_gets("", "forwarded = append", "10.0.0.1", CLAIMS, ALL_OURS);
	origin_gets("trusted = 10.0.0.2", "forwarded = append", "10.0.0.1", CLAIMS, ALL_OURS);
}

static void address_goes_behind_those_of_a_trusted_proxy(void **state)
{
	(void)state;
	origin_gets("trusted = 10.0.0.0/8", "forwarded = append", "10.0.0.1", CLAIMS,
	    "forwarded: for=192.0.2.1, for=10.0.0.1;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-for: 192.0.2.1, 10.0.0.1\nx-forwarded-proto: https\nx-forwarded-host: b.example\n"
	    "x-real-ip: 192.0.2.1\n");
	origin_gets("trusted = 10.0.0.0/8", "forwarded = append", "10.0.0.1", "x-forwarded-for: 192.0.2.1\nx-forwarded-for: 192.0.2.2\n",
	    "x-forwarded-for: 192.0.2.1\nx-forwarded-for: 192.0.2.2, 10.0.0.1\n"
	    "forwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
	origin_gets("trusted = 10.0.0.0/8", "forwarded = append", "10.0.0.1", "x-forwarded-for: \n",
	    "x-forwarded-for: 10.0.0.1\nforwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
}

/* RFC 7239 6.
 * covers: R497 */
static void other_addresses_have_their_forms(void **state)
{
	(void)state;
	origin_gets("", "forwarded = append", "2001:db8::1", "",
	    "forwarded: for=\"[2001:db8::1]\";host=\"a.example:81\";proto=http\nx-forwarded-for: 2001:db8::1\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\nx-forwarded-port: 81\nx-real-ip: 2001:db8::1\n");
	origin_gets("trusted = unix", "forwarded = append", "", "x-forwarded-for: 192.0.2.1\n",
	    "x-forwarded-for: 192.0.2.1\nforwarded: for=unknown;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
}

/* Clients that share a place in the table, authorities of all lengths, both schemes, several modes: each request gets what it
 * would get without the table, and what it borrows is right until the next one. */
static void what_is_kept_for_one_client_is_told_of_no_other(void **state)
{
	(void)state;
	static const char *const listens[] = {"", "trusted = 10.0.0.0/9"};
	static const char *const routes[] = {"", "forwarded = replace", "forwarded = remove", "forwarded = keep"};
	static const char *const schemes[] = {"https", "http", "HTTPS"};
	char authority[200], address[64];
	struct forwarding_table *table = forwarding_table_new(7);
	uint64_t random = 1;
	for (size_t i = 0; i < 16; i++) {
		struct made m = made_new(listens[i % 2], routes[i / 2 % 4], "10.0.0.1", "x-forwarded-for: 192.0.2.1\n");
		struct http_head *request = (struct http_head *)(uintptr_t)m.x.request;
		for (int n = 0; n < 2000; n++) {
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
			unsigned pick = (unsigned)(random >> 33);
			memset(authority, 'a', sizeof(authority));
			request->authority = slice_of(authority, 1 + (pick >> 4) % (pick % 16 == 0 ? sizeof(authority) : 3));
			if (pick % 3 == 0)
				memcpy(authority, "a:9", 3);
			request->scheme = slice_of_string(schemes[pick % 7 == 0 ? 2 : pick % 2]);
			const char *form = pick % 5 == 0 ? "2001:db8::%x:%x" : "10.%u.0.%u";
			snprintf(address, sizeof(address), form, pick >> 8 & 255, pick >> 16 & 255);
			assert_true(address_parse(slice_of_string(address), &m.x.facts.client));
			if (pick % 31 == 0)
				m.x.facts.client = (struct address){0};
			m.x.facts.peer = m.x.facts.client;
			m.env.forwarding = NULL;
			struct http_head *alone = route_origin_request(&m.env, &m.x.facts, &m.x.place);
			for (int again = 0; again < 2; again++) {
				m.env.forwarding = table;
				struct http_head *kept = route_origin_request(&m.env, &m.x.facts, &m.x.place);
				assert_int_equal(kept->count, alone->count);
				for (uint32_t f = 0; f < kept->count; f++) {
					const struct http_field *a = &kept->fields[f], *b = &alone->fields[f];
					assert_int_equal(a->token, b->token);
					assert_true(slice_equal(a->name, b->name) && slice_equal(a->value, b->value));
					assert_true(a->hash == 0 || a->hash == http_field_key(7, a->token, a->name, a->value));
				}
				http_head_free(kept);
			}
			http_head_free(alone);
		}
		made_free(&m);
	}
	forwarding_table_free(table);
	forwarding_table_free(NULL);
}

static void rules_of_the_route_have_the_last_word(void **state)
{
	(void)state;
	origin_gets(FORWARD, "request-set = X-Real-IP: 192.0.2.9", "10.0.0.1", CLAIMS, "x-real-ip: 192.0.2.9\n");
	origin_gets("", "forwarded = append\nrequest-remove = Forwarded\nrequest-remove = X-Forwarded-Host", "10.0.0.1", "",
	    "x-forwarded-for: 10.0.0.1\nx-forwarded-proto: http\nx-forwarded-port: 81\nx-real-ip: 10.0.0.1\n");
}

static void held_responses_are_told_of_changes(void **state)
{
	(void)state;
	struct made m = made_new("", "forwarded = keep", "10.0.0.1", "");
	assert_false(route_changes_forwarding(m.x.facts.listener, m.x.place.route));
	made_free(&m);
	m = made_new("", "", "10.0.0.1", "");
	assert_true(route_changes_forwarding(m.x.facts.listener, m.x.place.route));
	made_free(&m);
	m = made_new(FORWARD, "", "10.0.0.1", "");
	assert_true(route_changes_forwarding(m.x.facts.listener, m.x.place.route));
	made_free(&m);
}

/* ---- proxy authentication ---- */

#define LOGIN "authorization: Basic Yg==\nproxy-authorization: Basic YQ==\nproxy-authenticate: Basic\n"

/* covers: R345 R347 R563 */
static void credentials_of_a_forward_proxy_go_no_further(void **state)
{
	(void)state;
	origin_gets(FORWARD, "", "10.0.0.1", LOGIN, "authorization: Basic Yg==\n");
	origin_gets("", "forwarded = keep", "10.0.0.1", LOGIN, LOGIN); /* the origin may be the proxy that is meant */
	origin_gets("", "forwarded = keep", "10.0.0.1", "proxy: http://evil.example\nx-own: 1\n", "x-own: 1\n");
	origin_gets(FORWARD, "", "10.0.0.1", "proxy: http://evil.example\n", "");
}

/* covers: R563 */
static void credentials_of_a_gateway_go_no_further(void **state)
{
	(void)state;
	static const char asks[] = "access = a\n[access a]\nusers = users\nask = all\nallow = user=*";
	origin_gets(asks, "forwarded = keep", "10.0.0.1", "authorization: Basic YQ==\n", "");
	origin_gets(asks, "forwarded = keep", "10.0.0.1", "authorization: basic\tYQ==\n", "");
	origin_gets(asks, "forwarded = keep", "10.0.0.1", "authorization: Bearer x\nauthorization: Basic YQ==\n", "");
	origin_gets(asks, "forwarded = keep", "10.0.0.1", "authorization: Bearer x\n", "authorization: Bearer x\n");
	origin_gets("access = a\n[access a]\nallow = all", "forwarded = keep", "10.0.0.1", "authorization: Basic YQ==\n",
	    "authorization: Basic YQ==\n");
}

static struct http_head *response(struct made *m, uint16_t status)
{
	struct http_head *head = http_head_new(m->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	http_head_add(head, SLICE("proxy-authenticate"), SLICE("Basic realm=\"x\""));
	http_head_add(head, SLICE("www-authenticate"), SLICE("Basic"));
	http_head_add(head, SLICE("proxy-authentication-info"), SLICE("nextnonce=\"x\""));
	return head;
}

/* covers: R347 */
static void no_origin_asks_for_them(void **state)
{
	(void)state;
	static const struct {
		const char *listen;
		uint16_t status, wanted;
		const char *fields;
	} rows[] = {
	    {FORWARD, 200, 200, "www-authenticate: Basic\n"},
	    {FORWARD, 103, 103, "www-authenticate: Basic\n"},
	    {FORWARD, 401, 401, "www-authenticate: Basic\n"},
	    {FORWARD, 407, 502,
		"www-authenticate: Basic\nproxy-status: gate; error=http_protocol_error; received-status=407; "
		"details=\"a server asked for the credentials of a proxy\"\n"},
	    {"", 407, 407,
		"proxy-authenticate: Basic realm=\"x\"\nwww-authenticate: Basic\nproxy-authentication-info: nextnonce=\"x\"\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new(rows[i].listen, "", "10.0.0.1", "");
		struct http_head *head = response(&m, rows[i].status);
		route_response_of_proxy(&m.env, m.x.facts.listener, head);
		assert_int_equal(head->status, rows[i].wanted);
		text_is(head, rows[i].fields);
		http_head_free(head);
		made_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_proxies_say_of_the_client_goes_no_further),
	    cmocka_unit_test(origin_is_told_what_pushgate_knows_of_a_client_that_is_not_trusted),
	    cmocka_unit_test(of_a_trusted_proxy_origin_is_told_what_that_proxy_says),
	    cmocka_unit_test(port_is_that_of_the_request),
	    cmocka_unit_test(replace_believes_no_client),
	    cmocka_unit_test(append_believes_trusted_clients_alone),
	    cmocka_unit_test(address_goes_behind_those_of_a_trusted_proxy),
	    cmocka_unit_test(other_addresses_have_their_forms),
	    cmocka_unit_test(what_is_kept_for_one_client_is_told_of_no_other),
	    cmocka_unit_test(rules_of_the_route_have_the_last_word),
	    cmocka_unit_test(held_responses_are_told_of_changes),
	    cmocka_unit_test(credentials_of_a_forward_proxy_go_no_further),
	    cmocka_unit_test(credentials_of_a_gateway_go_no_further),
	    cmocka_unit_test(no_origin_asks_for_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
