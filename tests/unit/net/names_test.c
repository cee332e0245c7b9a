/* SPDX-License-Identifier: MIT */
/* Which hosts a certificate covers (RFC 9525 6). */
#include "tests/unit/net/rig.h"

static struct certs certs;
static struct net_tls *server;

static int set_up(void **state)
{
	(void)state;
	certs_init(
	    &certs, "'*.example.com' example.org 192.0.2.7 2001:db8::7 '*.net' 'w*.example.edu'");
	server = server_with(&certs, true, true, "h2", NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	net_tls_free(server);
	certs_fini(&certs);
	return 0;
}

static bool covers(const char *host)
{
	return net_tls_covers(server, slice_of_string(host));
}

static void names_are_covered_without_regard_to_case(void **state)
{
	(void)state;
	assert_true(covers("example.org"));
	assert_true(covers("EXAMPLE.org"));
	assert_true(covers("example.org."));
	assert_true(covers("localhost"));
	assert_false(covers("www.example.org"));
	assert_false(covers("xample.org"));
	assert_false(covers(""));
	assert_false(covers("."));
}

static void a_wildcard_covers_exactly_one_label(void **state)
{
	(void)state;
	assert_true(covers("a.example.com"));
	assert_true(covers("A.Example.Com"));
	assert_false(covers("example.com"));
	assert_false(covers(".example.com"));
	assert_false(covers("a.b.example.com"));
	assert_false(covers("aexample.com"));
}

static void a_wildcard_for_a_top_level_covers_nothing(void **state)
{
	(void)state;
	assert_false(covers("example.net"));
}

static void a_partial_wildcard_covers_nothing(void **state)
{
	(void)state;
	assert_false(covers("www.example.edu"));
}

static void addresses_are_covered_by_address_entries_alone(void **state)
{
	(void)state;
	assert_true(covers("127.0.0.1"));
	assert_true(covers("192.0.2.7"));
	assert_true(covers("::1"));
	assert_true(covers("[::1]"));
	assert_true(covers("[2001:DB8:0::7]"));
	assert_false(covers("192.0.2.8"));
	assert_false(covers("[2001:db8::8]"));
}

static void the_common_name_does_not_count(void **state)
{
	(void)state;
	assert_false(covers("pushgate test rsa"));
	assert_false(covers("pushgate test ecdsa"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_covered_without_regard_to_case),
	    cmocka_unit_test(a_wildcard_covers_exactly_one_label),
	    cmocka_unit_test(a_wildcard_for_a_top_level_covers_nothing),
	    cmocka_unit_test(a_partial_wildcard_covers_nothing),
	    cmocka_unit_test(addresses_are_covered_by_address_entries_alone),
	    cmocka_unit_test(the_common_name_does_not_count),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
