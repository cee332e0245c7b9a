/* SPDX-License-Identifier: MIT */
/* Socket addresses: from text and to text. */
#include "tests/unit/net/rig.h"

static void parsed_address_is_formatted_as_it_was_written(void **state)
{
	(void)state;
	static const char *const texts[] = {
	    "127.0.0.1:80", "[::1]:443", "0.0.0.0:0", "[2001:db8::1]:65535", "unix:/run/some.sock"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct net_address a;
		char text[NET_ADDRESS_TEXT];
		assert_null(net_address_parse(slice_of_string(texts[i]), &a));
		assert_string_equal(net_address_format(&a, text, sizeof(text)), texts[i]);
	}
}

static void star_is_any_address_of_both_families(void **state)
{
	(void)state;
	struct net_address a;
	char text[NET_ADDRESS_TEXT];
	assert_null(net_address_parse(SLICE("*:8080"), &a));
	assert_string_equal(net_address_format(&a, text, sizeof(text)), "[::]:8080");
}

static void malformed_addresses_are_named(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "80", "localhost:80", "127.0.0.1",
	    "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:8x", "::1:80", "[::1]",
	    "[::1:80", "[127.0.0.1]:80", "256.0.0.1:80", "unix:", "unix:relative", ":80"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct net_address a;
		if (!net_address_parse(slice_of_string(texts[i]), &a))
			fail_msg("accepted: %s", texts[i]);
	}
}

static void the_longest_unix_path_fits_and_one_more_does_not(void **state)
{
	(void)state;
	char path[120], text[NET_ADDRESS_TEXT];
	struct net_address a;
	memset(path, 'x', sizeof(path));
	memcpy(path, "unix:/", 6);
	assert_null(net_address_parse(slice_of(path, 5 + 107), &a));
	net_address_format(&a, text, sizeof(text));
	assert_int_equal(strlen(text), 5 + 107);
	assert_memory_equal(text, path, 5 + 107);
	assert_non_null(net_address_parse(slice_of(path, 5 + 108), &a));
}

static void a_mapped_address_counts_as_ipv4(void **state)
{
	(void)state;
	struct net_address a;
	struct address ip;
	/* Built by hand: the text form is read as IPv4 already. */
	memset(&a, 0, sizeof(a));
	a.in6.sin6_family = AF_INET6;
	a.in6.sin6_addr.s6_addr[10] = a.in6.sin6_addr.s6_addr[11] = 0xff;
	memcpy(a.in6.sin6_addr.s6_addr + 12, (uint8_t[]){192, 0, 2, 1}, 4);
	a.length = sizeof(a.in6);
	net_address_ip(&a, &ip);
	struct net_address v4, v6;
	struct address other;
	assert_null(net_address_parse(SLICE("192.0.2.1:1"), &v4));
	net_address_ip(&v4, &other);
	assert_memory_equal(&ip, &other, sizeof(ip));
	assert_null(net_address_parse(SLICE("[2001:db8::1]:1"), &v6));
	net_address_ip(&v6, &other);
	assert_int_equal(other.family, 6);
	assert_int_equal(ip.family, 4);
	assert_memory_equal(ip.bytes, ((uint8_t[]){192, 0, 2, 1}), 4);
}

static void a_unix_socket_has_no_ip(void **state)
{
	(void)state;
	struct net_address a;
	struct address ip;
	assert_null(net_address_parse(SLICE("unix:/x"), &a));
	net_address_ip(&a, &ip);
	assert_int_equal(ip.family, 0);
}

static void literals_resolve_to_themselves(void **state)
{
	(void)state;
	struct net_address out[4];
	const char *error = NULL;
	char text[NET_ADDRESS_TEXT];
	assert_int_equal(net_resolve("127.0.0.1", 81, out, 4, &error), 1);
	assert_string_equal(net_address_format(&out[0], text, sizeof(text)), "127.0.0.1:81");
	assert_int_equal(net_resolve("::1", 82, out, 4, &error), 1);
	assert_string_equal(net_address_format(&out[0], text, sizeof(text)), "[::1]:82");
}

static void an_unresolvable_name_says_why(void **state)
{
	(void)state;
	struct net_address out[1];
	const char *error = NULL;
	/* Never sent to a resolver: it is no host name at all. */
	assert_int_equal(net_resolve("not a name", 1, out, 1, &error), 0);
	assert_non_null(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parsed_address_is_formatted_as_it_was_written),
	    cmocka_unit_test(star_is_any_address_of_both_families),
	    cmocka_unit_test(malformed_addresses_are_named),
	    cmocka_unit_test(the_longest_unix_path_fits_and_one_more_does_not),
	    cmocka_unit_test(a_mapped_address_counts_as_ipv4),
	    cmocka_unit_test(a_unix_socket_has_no_ip),
	    cmocka_unit_test(literals_resolve_to_themselves),
	    cmocka_unit_test(an_unresolvable_name_says_why),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
