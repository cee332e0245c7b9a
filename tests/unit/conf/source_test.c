/* SPDX-License-Identifier: MIT */
/* source-address of an [origin]: what it becomes, and its mistakes. */
#include "tests/unit/conf/load.h"

static struct load origin(const char *options)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN LOAD_ROUTE "[origin o]\n%s", options);
	return load_text(text);
}

static const char *text_of(const struct net_address *a, char text[NET_ADDRESS_TEXT])
{
	return a->length > 0 ? net_address_format(a, text, NET_ADDRESS_TEXT) : "none";
}

static void there_is_one_of_each_family(void **state)
{
	(void)state;
	static const struct {
		const char *options, *ipv4, *ipv6;
	} rows[] = {
	    {"server = http://127.0.0.1:80\n", "none", "none"},
	    {"server = http://127.0.0.1:80\nsource-address = 192.0.2.7\n", "192.0.2.7:0", "none"},
	    {"server = http://[::1]:80\nsource-address = 2001:db8::7\n", "none", "[2001:db8::7]:0"},
	    {"server = http://[::1]:80\nserver = http://127.0.0.1:80\nsource-address = ::7 "
	     "192.0.2.7\n",
		"192.0.2.7:0", "[::7]:0"},
	    {"server = http://name.test:80\nsource-address = ::7\n", "none", "[::7]:0"},
	    {"server = h1+unix:/s\nserver = http://127.0.0.1\nsource-address = 192.0.2.7\n",
		"192.0.2.7:0", "none"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[NET_ADDRESS_TEXT];
		struct load load = origin(rows[i].options);
		assert_string_equal(load.errors, "");
		const struct net_source *s = &load.conf->origins[0].source;
		assert_string_equal(text_of(&s->ipv4, text), rows[i].ipv4);
		assert_string_equal(text_of(&s->ipv6, text), rows[i].ipv6);
		load_free(&load);
	}
}

static void mistakes_have_a_line(void **state)
{
	(void)state;
	static const struct {
		const char *options, *says;
	} rows[] = {
	    {"server = http://127.0.0.1\nsource-address = localhost\n",
		"test.ini:7: bad value 'localhost' for source-address: it is no IP address; write "
		"an IP address "
		"of this machine, or one of IPv4 and one of IPv6, such as source-address = "
		"192.0.2.7 2001:db8::7\n"},
	    {"server = http://127.0.0.1\nsource-address = 192.0.2.1 ::1 192.0.2.2\n",
		"test.ini:7: source-address has an address of IPv4 already: 192.0.2.2 is one too "
		"many; leave "
		"one of each family\n"},
	    {"server = http://127.0.0.1\nsource-address = 0.0.0.0\n",
		"test.ini:7: source-address 0.0.0.0 stands for no address in particular; name one "
		"of this "
		"machine, or remove it\n"},
	    {"source-address = 192.0.2.1\nserver = http://127.0.0.1\nserver = http://[::1]:80\n",
		"test.ini:8: server http://[::1]:80 has an address of IPv6, and source-address has "
		"none of "
		"that family; add one to it\n"},
	    {"source-address = ::1\nserver = forward:\nupstream-proxy = http://127.0.0.1:3128\n",
		"test.ini:3: warning: [route r] never matches, because no [listen NAME] has mode = "
		"forward; add "
		"that to one\n"
		"test.ini:8: upstream-proxy http://127.0.0.1:3128 has an address of IPv4, and "
		"source-address "
		"has none of that family; add one to it\n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = origin(rows[i].options);
		assert_string_equal(load.errors, rows[i].says);
		assert_null(load.conf);
		load_free(&load);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(there_is_one_of_each_family),
	    cmocka_unit_test(mistakes_have_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
