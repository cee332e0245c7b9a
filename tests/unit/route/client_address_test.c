/* SPDX-License-Identifier: MIT */
/* The client of a request from a proxy: trusted and untrusted peers, forged values, both families, many values. */
#include "tests/unit/route/made_request.h"

#define TRUSTED "trusted = 10.0.0.1 2001:db8:1::/64\n"
#define X "x-forwarded-for: "
#define F "forwarded: "
#define TEN "10.0.0.1"

struct row {
	const char *fields;
	const char *client; /* NULL: the peer */
};

/* Of a request of this peer with these fields. */
static void client_is(const char *listen, const char *peer, const char *fields, const char *wanted)
{
	char text[46];
	struct made m = made_new(listen, "", peer, fields);
	route_find_client(&m.x.facts);
	address_format(&m.x.facts.client, text, sizeof(text));
	if (strcmp(text, wanted ? wanted : peer) != 0)
		fail_msg("%s, of %s: %s, not %s", fields, peer, text, wanted ? wanted : peer);
	assert_int_equal(m.x.facts.is_named, wanted != NULL);
	address_format(&m.x.facts.peer, text, sizeof(text));
	assert_string_equal(text, peer);
	made_free(&m);
}

static void each(const char *listen, const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		client_is(listen, TEN, rows[i].fields, rows[i].client);
		client_is(listen, "2001:db8:1::7", rows[i].fields, rows[i].client);
		/* Nobody else is believed, whatever the field says. */
		client_is(listen, "10.0.0.2", rows[i].fields, NULL);
		client_is(listen, "2001:db8:2::7", rows[i].fields, NULL);
	}
}

#define EACH(listen, rows) each(TRUSTED listen, rows, sizeof(rows) / sizeof(*(rows)))

/* covers: R688 */
static void last_address_is_the_clients(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {"", NULL},
	    {"x-real-ip: 192.0.2.1", NULL},
	    {F "for=192.0.2.1", NULL},
	    {X "192.0.2.1", "192.0.2.1"},
	    {X "2001:db8::1", "2001:db8::1"},
	    {X "2001:DB8:0::0001", "2001:db8::1"},
	    {X "[2001:db8::1]", "2001:db8::1"},
	    {X "[2001:db8::1]:443", "2001:db8::1"},
	    {X "192.0.2.1:50000", "192.0.2.1"},
	    {X "\"192.0.2.1:50000\"", "192.0.2.1"},
	    {X "::ffff:192.0.2.1", "192.0.2.1"},
	    {X "[::ffff:192.0.2.1]:1", "192.0.2.1"},
	    /* What stands before it may be forged. */
	    {X "127.0.0.1, 192.0.2.1", "192.0.2.1"},
	    {X "10.0.0.1, 10.0.0.1, 192.0.2.1", "192.0.2.1"},
	    {X "unknown, 192.0.2.1", "192.0.2.1"},
	    {X "\", 192.0.2.1", "192.0.2.1"},
	    {X "127.0.0.1,192.0.2.1 ,", "192.0.2.1"},
	    {X "127.0.0.1\nx-forwarded-for: 192.0.2.1", "192.0.2.1"},
	    {X "192.0.2.1\nx-forwarded-for: ,", "192.0.2.1"},
	    {X "192.0.2.1, 10.0.0.1", "10.0.0.1"},
	    /* A client of its own: neither the peer nor anybody that the client has named. */
	    {X "127.0.0.1, unknown", "unknown"},
	    {X "127.0.0.1, _hidden", "unknown"},
	    {X "127.0.0.1, a.example", "unknown"},
	    {X "127.0.0.1, 192.0.2.256", "unknown"},
	    {X "127.0.0.1, 192.0.2.01", "unknown"},
	    {X "127.0.0.1, 192.0.2.1:", "unknown"},
	    {X "127.0.0.1, 192.0.2.1 192.0.2.2", "unknown"},
	    {X "127.0.0.1, [192.0.2.1]", "unknown"},
	    {X "127.0.0.1, [2001:db8::1", "unknown"},
	    {X "127.0.0.1, [2001:db8::1]443", "unknown"},
	    {X "127.0.0.1, [2001:db8::1]:", "unknown"},
	    {X "127.0.0.1, 2001:db8::1%eth0", "unknown"},
	    {X "127.0.0.1, -", "unknown"},
	    {X "127.0.0.1, \"", "unknown"},
	    {X ",", "unknown"},
	};
	EACH("client-address = x-forwarded-for", rows);
	EACH("client-address = X-Forwarded-For\nclient-hops = 1", rows);
}

static void as_many_addresses_count_as_there_are_proxies(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {X "192.0.2.1, 10.0.0.9", "192.0.2.1"},
	    {X "127.0.0.1, 192.0.2.1, 10.0.0.9", "192.0.2.1"},
	    {X "127.0.0.1\nx-forwarded-for: 192.0.2.1\nx-forwarded-for: 10.0.0.9", "192.0.2.1"},
	    {X "127.0.0.1, 192.0.2.1\nx-forwarded-for: 10.0.0.9", "192.0.2.1"},
	    {X "unknown, 10.0.0.9", "unknown"},
	    {X "192.0.2.1, unknown", "192.0.2.1"},
	    /* Fewer: a proxy has added each of them. */
	    {X "192.0.2.1", "192.0.2.1"},
	    {"", NULL},
	};
	EACH("client-address = x-forwarded-for\nclient-hops = 2", rows);
	static const struct row three[] = {
	    {X "127.0.0.1, 192.0.2.1, 10.0.0.8, 10.0.0.9", "192.0.2.1"},
	    {X "192.0.2.1, 10.0.0.9", "192.0.2.1"},
	};
	EACH("client-address = x-forwarded-for\nclient-hops = 3", three);
}

static void forwarded_is_read_by_its_grammar(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {X "192.0.2.1", NULL},
	    {F "for=192.0.2.1", "192.0.2.1"},
	    {F "For=\"[2001:db8:cafe::17]:4711\"", "2001:db8:cafe::17"},
	    {F "for=\"[2001:db8::1]\";proto=https;by=203.0.113.43", "2001:db8::1"},
	    {F "by=203.0.113.43; proto=http ;for=192.0.2.60:_port", "192.0.2.60"},
	    {F "for=\"192.0.2.60:_port\"", "192.0.2.60"},
	    {F "for=127.0.0.1, for=192.0.2.1", "192.0.2.1"},
	    {F "for=127.0.0.1\nforwarded: for=192.0.2.1", "192.0.2.1"},
	    {F "for=\"a, b\", for=192.0.2.1", "192.0.2.1"},
	    {F "for=127.0.0.1, for=unknown", "unknown"},
	    {F "for=127.0.0.1, for=_gazonk", "unknown"},
	    {F "for=127.0.0.1, for=\"_gazonk:1\"", "unknown"},
	    {F "for=127.0.0.1, proto=https", "unknown"},
	    {F "for=127.0.0.1, for=192.0.2.1;for=192.0.2.2", "unknown"},
	    {F "for=127.0.0.1, for=;for=192.0.2.2", "unknown"},
	    {F "for=127.0.0.1, for = 192.0.2.1", "unknown"},
	    {F "for=127.0.0.1, xfor=192.0.2.1", "unknown"},
	    {F "for=127.0.0.1, for=", "unknown"},
	    {F "for=127.0.0.1, 192.0.2.1", "unknown"},
	    /* The client has opened quotes: what the proxy has added is not within them, nor its host out of them. */
	    {F "for=\", for=192.0.2.1", "192.0.2.1"},
	    {F "for=\"\\, for=192.0.2.1", "192.0.2.1"},
	    {F "\", for=\"[2001:db8::1]:443\"", "2001:db8::1"},
	    {F "for=\"x, for=192.0.2.1;host=\"a,for=127.0.0.1;x=\"", "192.0.2.1"},
	    {F "for=\"x, for=192.0.2.1;host=\"a\\\",for=127.0.0.1;x=\\\"\"", "192.0.2.1"},
	    {F "for=\"x, for=192.0.2.1;host=\"a,for=127.0.0.1\\\\\"", "192.0.2.1"},
	    {F "for=192.0.2.1;host=\"a", "192.0.2.1"},
	    {F "for=\"192.0.2.1", "unknown"},
	};
	EACH("client-address = forwarded", rows);
	static const struct row two[] = {
	    {F "for=127.0.0.1, for=192.0.2.1, for=10.0.0.9", "192.0.2.1"},
	    {F "for=127.0.0.1, for=192.0.2.1\nforwarded: for=10.0.0.9", "192.0.2.1"},
	    {F "for=\"\nforwarded: for=10.0.0.9", "unknown"},
	    {F "for=192.0.2.1", "192.0.2.1"},
	    {F "for=\", for=192.0.2.1, for=\"10.0.0.9, 10.0.0.8\"", "192.0.2.1"},
	};
	EACH("client-address = forwarded\nclient-hops = 2", two);
}

/* ---- many values ---- */

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33) % below;
}

/* Whatever a client writes, in as many members and lines as it likes, the address counts that the proxies have added. */
static void no_value_of_a_client_comes_before_what_the_proxies_add(void **state)
{
	(void)state;
	static const char *const inventions[] = {"127.0.0.1", "for=127.0.0.1", "unknown", "\"", "for=\"", "for=\"\\", "\\", "[::1", "", "a b", "for=\"a, b\"",
	    "for=\"[::1]:80\";host=\"x\\\"", "192.0.2.1, 192.0.2.2", ";", "for=127.0.0.1;for=::1", "2001:db8::99"};
	static const char *const seen[] = {"192.0.2.77", "2001:db8::77", "::ffff:198.51.100.7"};
	static const char *const forms[][3] = {{"192.0.2.77", "2001:db8::77", "::ffff:198.51.100.7"},
	    {"192.0.2.77:1234", "[2001:db8::77]:1234", "[::ffff:198.51.100.7]"}};
	uint64_t random = 7;
	for (unsigned i = 0; i < 600; i++) {
		char fields[4096], options[128];
		bool is_forwarded = i % 2 == 0;
		const char *name = is_forwarded ? F : X;
		uint32_t hops = 1 + draw(&random, 3), which = draw(&random, 3), form = draw(&random, 2);
		size_t n = (size_t)snprintf(fields, sizeof(fields), "%s", name);
		for (uint32_t k = draw(&random, 40); k > 0; k--)
			n += (size_t)snprintf(fields + n, sizeof(fields) - n, "%s%s", inventions[draw(&random, 16)],
			    draw(&random, 5) ? "," : "\n");
		for (char *at = fields; (at = strchr(at, '\n')); at++) { /* each line is one of the field */
			memmove(at + 1 + strlen(name), at + 1, strlen(at));
			memcpy(at + 1, name, strlen(name));
			n += strlen(name);
		}
		bool is_apart = draw(&random, 2) == 0;
		n += (size_t)snprintf(fields + n, sizeof(fields) - n, "%s%s", is_apart ? "\n" : ", ", is_apart ? name : "");
		const char *address = forms[form][which];
		n += is_forwarded ? (size_t)snprintf(fields + n, sizeof(fields) - n, "for=\"%s\";host=\"a,for=::1;\\\"\\\\\";proto=https", address)
				  : (size_t)snprintf(fields + n, sizeof(fields) - n, "%s", address);
		for (uint32_t k = 1; k < hops; k++)
			n += (size_t)snprintf(fields + n, sizeof(fields) - n, ",%s%s", draw(&random, 2) ? " " : "", is_forwarded ? "for=10.0.0.9" : "10.0.0.9");
		snprintf(options, sizeof(options), TRUSTED "client-address = %s\nclient-hops = %u", is_forwarded ? "forwarded" : "x-forwarded-for", hops);
		const char *wanted = which == 2 ? "198.51.100.7" : seen[which];
		client_is(options, TEN, fields, wanted);
		client_is(options, "2001:db8:1::7", fields, wanted);
		client_is(options, "10.0.0.2", fields, NULL);
		client_is(options, "2001:db8:2::7", fields, NULL);
	}
}

static void another_field_may_name_the_client(void **state)
{
	(void)state;
	static const struct row rows[] = {
	    {X "192.0.2.1", NULL},
	    {"cf-connecting-ip: 192.0.2.1", "192.0.2.1"},
	    {"cf-connecting-ip: 2001:db8::1", "2001:db8::1"},
	    {"cf-connecting-ip: 127.0.0.1\ncf-connecting-ip: 192.0.2.1", "192.0.2.1"},
	    {"cf-connecting-ip: for=192.0.2.1", "unknown"},
	    {"cf_connecting_ip: 192.0.2.1", NULL},
	};
	EACH("client-address = CF-Connecting-IP", rows);
	struct made m = made_new(TRUSTED "client-address = cf-connecting-ip", "", TEN, "cf-connecting-ip: 192.0.2.1");
	assert_true(route_came_through(m.x.facts.listener, m.x.request));
	assert_false(route_came_through(NULL, m.x.request));
	made_free(&m);
}

static void without_the_option_the_peer_is_the_client(void **state)
{
	(void)state;
	client_is(TRUSTED, TEN, X "192.0.2.1\nforwarded: for=192.0.2.1", NULL);
	client_is(TRUSTED "client-address = peer", TEN, X "192.0.2.1", NULL);
}

static void unknown_client_is_in_no_block_and_is_no_socket(void **state)
{
	(void)state;
	struct made m = made_new(TRUSTED "client-address = x-forwarded-for\naccess = a\n[access a]\nallow = client=private\n"
					 "allow = client=unix\nallow = client=0.0.0.0/0,::/0\n", "", TEN, X "_hidden");
	assert_true(access_takes_client(m.x.facts.listener->access, &m.x.facts.client));
	route_find_client(&m.x.facts);
	assert_false(access_takes_client(m.x.facts.listener->access, &m.x.facts.client));
	made_free(&m);
}

/* An origin is told of the peer as the one that the request has come from, behind what the peer says. */
static void forwarding_fields_of_a_trusted_peer_go_on_with_the_peer(void **state)
{
	(void)state;
	struct made m = made_new(TRUSTED "client-address = x-forwarded-for", "", TEN, X "192.0.2.1");
	route_find_client(&m.x.facts);
	struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_X_FORWARDED_FOR);
	assert_true(f && slice_equal(f->value, SLICE("192.0.2.1, 10.0.0.1")));
	http_head_free(head);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(last_address_is_the_clients),
	    cmocka_unit_test(as_many_addresses_count_as_there_are_proxies),
	    cmocka_unit_test(forwarded_is_read_by_its_grammar),
	    cmocka_unit_test(no_value_of_a_client_comes_before_what_the_proxies_add),
	    cmocka_unit_test(another_field_may_name_the_client),
	    cmocka_unit_test(without_the_option_the_peer_is_the_client),
	    cmocka_unit_test(unknown_client_is_in_no_block_and_is_no_socket),
	    cmocka_unit_test(forwarding_fields_of_a_trusted_peer_go_on_with_the_peer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
