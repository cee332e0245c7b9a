/* SPDX-License-Identifier: MIT */
/* Hosts of URIs: which are names, which are addresses, and which only look like one of them. */
#include "proxy/http/host.h"

#include "proxy/http/authority.h"
#include "tests/unit/http/heads.h"

#define TEN "0123456789"
#define LABEL_OF_63 TEN TEN TEN TEN TEN TEN "abc"
#define NAME_OF_253 LABEL_OF_63 "." LABEL_OF_63 "." LABEL_OF_63 "." TEN TEN TEN TEN TEN TEN "a"

static void is_name(const char *host, const char *expected)
{
	char name[HTTP_HOST_TEXT];
	struct address address;
	assert_int_equal(http_host_read(slice_of_string(host), name, &address), HTTP_HOST_NAME);
	assert_string_equal(name, expected);
}

static void is_address(const char *host, const char *expected)
{
	char name[HTTP_HOST_TEXT], text[46];
	struct address address;
	assert_int_equal(http_host_read(slice_of_string(host), name, &address), HTTP_HOST_ADDRESS);
	assert_string_equal(name, expected);
	assert_string_equal(address_format(&address, text, sizeof text), expected);
}

static void names_are_in_lower_case_without_their_last_dot(void **state)
{
	(void)state;
	is_name("www.example.com", "www.example.com");
	is_name("WWW.Example.COM.", "www.example.com");
	is_name("localhost", "localhost");
	is_name("a", "a");
	is_name("xn--fiqs8s.example", "xn--fiqs8s.example");
	is_name("_http._tcp.example.com", "_http._tcp.example.com");
	is_name("1.example", "1.example");
	is_name("127.0.0.1.example", "127.0.0.1.example");
	is_name("0x7f.example", "0x7f.example");
	is_name("example.1a", "example.1a");
	is_name("example.0xg", "example.0xg");
	is_name("example.x1", "example.x1");
	is_name("a--b-.example", "a--b-.example");
	is_name(LABEL_OF_63 ".example", LABEL_OF_63 ".example");
	is_name(NAME_OF_253, NAME_OF_253);
	is_name(NAME_OF_253 ".", NAME_OF_253);
}

static void addresses_have_one_form(void **state)
{
	(void)state;
	is_address("127.0.0.1", "127.0.0.1");
	is_address("0.0.0.0", "0.0.0.0");
	is_address("255.255.255.255", "255.255.255.255");
	is_address("192.0.2.10", "192.0.2.10");
	is_address("[::1]", "::1");
	is_address("[::]", "::");
	is_address("[2001:DB8:0:0::1]", "2001:db8::1");
	is_address("[0:0:0:0:0:0:0:1]", "::1");
	is_address("[64:ff9b::192.0.2.1]", "64:ff9b::c000:201");
	is_address("[::127.0.0.1]", "::127.0.0.1");
	is_address("[fe80::1]", "fe80::1");
}

/* Some program reads each of them as an address, or they are no name that can be looked up. */
static const char *const strange[] = {
    "",
    ".",
    "..",
    "127.1",
    "127.0.1",
    "1.2.3",
    "0",
    "1",
    "2130706433",
    "4294967296",
    "99999999999999999999",
    "017700000001",
    "0177.0.0.1",
    "127.0.0.01",
    "127.0.0.00",
    "00.0.0.0",
    "127.000.000.001",
    "0x7f000001",
    "0X7F000001",
    "0x7f.1",
    "0x7f.0.0.1",
    "0x7F.0x0.0x0.0x1",
    "0x",
    "0x.0x.0x.0x",
    "127.0.0.0x",
    "0xffffffffffffffff",
    "127.0.0.1.",
    "127.0.0.1..",
    "127.1.",
    "2130706433.",
    "256.0.0.1",
    "127.0.0.256",
    "127.0.0.0.1",
    "127..0.1",
    ".127.0.0.1",
    "foo.1",
    "foo.01",
    "foo.0x1",
    "foo.0X",
    "foo.1.",
    "www.example.com.42",
    "a..example",
    ".example",
    "example..",
    "a b",
    "a/b",
    "a:b",
    "::1",
    "fe80::1",
    "a@b",
    "a\\b",
    "a%41",
    "%31%32%37.0.0.1",
    "127%2e0%2e0%2e1",
    "127.0.0.1%00",
    "%EF%BC%91.0.0.1",
    "a~b",
    "a!b",
    "a,b",
    "a;b",
    "a'b",
    "a(b)",
    "a*b",
    "a+b",
    "a=b",
    "a$b",
    "a&b",
    "*",
    "*.example.com",
    "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1",
    "\xe2\x91\xa0.example",
    "127\xe3\x80\x82" "0\xe3\x80\x82" "0\xe3\x80\x82" "1",
    "ex\xc3\xa4mple",
    "\x7f",
    "\t",
    "[",
    "]",
    "[]",
    "[::1",
    "::1]",
    "[127.0.0.1]",
    "[localhost]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[fe80::1%251]",
    "[v1.fe80::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::FFFF:8.8.8.8]",
    "[0:0:0:0:0:ffff:0a00:0001]",
    "[1::2::3]",
    "[12345::]",
    "[::1.2.3]",
    "[::01.2.3.4]",
    "[::0x7f.0.0.1]",
    "[::1]x",
    "[::1].",
    "[[::1]]",
    LABEL_OF_63 "d.example",
    "example." LABEL_OF_63 "d",
    NAME_OF_253 "b",
};

static void all_else_is_strange(void **state)
{
	(void)state;
	char name[HTTP_HOST_TEXT];
	struct address address;
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
		if (http_host_read(slice_of_string(strange[i]), name, &address) !=
		    HTTP_HOST_STRANGE)
			fail_msg("'%s' is not strange", strange[i]);
	char with_nul[] = "a\0b";
	assert_int_equal(
	    http_host_read(slice_of(with_nul, 3), name, &address), HTTP_HOST_STRANGE);
}

/* All that comes out as a name or an address is an authority, and is read as the same once more. */
static void what_is_read_is_read_again(void **state)
{
	(void)state;
	static const char letters[] = "01279xfXaA.-_[]:%~";
	unsigned seed = 1;
	for (int i = 0; i < 200000; i++) {
		char text[13], name[HTTP_HOST_TEXT], again[HTTP_HOST_TEXT];
		struct address address, second;
		struct http_authority authority;
		size_t length = 1 + (size_t)rand_r(&seed) % 12;
		for (size_t k = 0; k < length; k++)
			text[k] = letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
		struct slice host = slice_of(text, length);
		enum http_host_kind kind = http_host_read(host, name, &address);
		if (kind == HTTP_HOST_STRANGE)
			continue;
		assert_true(http_authority_parse(host, SLICE("http"), &authority));
		assert_int_equal(authority.host.len, length);
		if (kind == HTTP_HOST_ADDRESS && address.family == 6)
			continue;
		assert_int_equal(http_host_read(slice_of_string(name), again, &second), kind);
		assert_string_equal(name, again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_in_lower_case_without_their_last_dot),
	    cmocka_unit_test(addresses_have_one_form),
	    cmocka_unit_test(all_else_is_strange),
	    cmocka_unit_test(what_is_read_is_read_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
