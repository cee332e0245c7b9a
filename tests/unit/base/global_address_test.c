/* SPDX-License-Identifier: MIT */
/* Which addresses are globally reachable by the registries, and what IPv6 addresses carry. */
#include "proxy/base/global_address.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct address address_of(const char *text)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

static void all_are(enum address_reach reach, const char *const *texts)
{
	for (; *texts; texts++) {
		struct address a = address_of(*texts);
		if (address_reach(&a) != reach)
			fail_msg("%s is %d, not %d", *texts, (int)address_reach(&a), (int)reach);
	}
}

static void borders_of_each_ipv4_block(void **state)
{
	(void)state;
	all_are(ADDRESS_NOT_GLOBAL,
	    (const char *const[]){"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255",
		"100.64.0.0", "100.127.255.255", "127.0.0.0", "127.255.255.255", "169.254.0.0",
		"169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.8",
		"192.0.0.11", "192.0.0.170", "192.0.0.255", "192.0.2.0", "192.0.2.255",
		"192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255", "198.18.0.0",
		"198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
		"203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0",
		"255.255.255.255", NULL});
	all_are(ADDRESS_GLOBAL,
	    (const char *const[]){"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255",
		"100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0",
		"172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.0.9", "192.0.0.10",
		"192.0.1.0", "192.0.3.0", "192.31.196.1", "192.52.193.1", "192.88.98.255",
		"192.88.100.0", "192.167.255.255", "192.169.0.0", "192.175.48.1",
		"198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
		"203.0.112.255", "203.0.114.0", "223.255.255.255", NULL});
}

static void borders_of_each_ipv6_block(void **state)
{
	(void)state;
	all_are(ADDRESS_NOT_GLOBAL,
	    (const char *const[]){"::", "::1", "::2", "::8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9a::1",
		"64:ff9b:0:0:0:1::", "64:ff9b:1::", "64:ff9b:1:ffff::808:808", "64:ff9b:2::", "100::",
		"100::ffff:ffff:ffff:ffff", "100:0:0:1::", "1fff:ffff::", "2001::", "2001::1",
		"2001:0:808:808::f7f7:f7f7", "2001:1::", "2001:1::4", "2001:2::", "2001:2:0:1::",
		"2001:4:111::", "2001:4:113::", "2001:5::", "2001:10::", "2001:1f:ffff::", "2001:40::",
		"2001:1ff:ffff::", "2001:db8::", "2001:db8:ffff:ffff::", "2002::", "2002:808:808::1",
		"2002:ffff:ffff::", "3fff::", "3fff:fff:ffff::", "4000::", "5f00::", "fc00::",
		"fdff:ffff::", "fe80::", "febf:ffff::", "fec0::", "ff00::", "ff02::1",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL});
	all_are(ADDRESS_GLOBAL,
	    (const char *const[]){"2000::", "2001:1::1", "2001:1::2", "2001:1::3", "2001:3::1",
		"2001:4:112::1", "2001:20::1", "2001:2f:ffff::", "2001:30::1", "2001:3f:ffff::",
		"2001:200::", "2001:db7:ffff::", "2001:db9::", "2003::", "2620:4f:8000::1",
		"2a00:1450:4001::200e", "3ffe:ffff::", "3fff:1000::", "64:ff9b::8.8.8.8",
		"64:ff9b::192.0.0.9", NULL});
}

static void global_prefixes_do_not_cover_what_they_carry(void **state)
{
	(void)state;
	all_are(ADDRESS_EMBEDS,
	    (const char *const[]){"64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::0.0.0.0",
		"64:ff9b::169.254.169.254", "64:ff9b::255.255.255.255", "2a00::5efe:10.0.0.1",
		"2a00::200:5efe:127.0.0.1", "2a00:1:2:3:0:5efe:c0a8:1", NULL});
	all_are(ADDRESS_GLOBAL,
	    (const char *const[]){"2a00::5efe:8.8.8.8", "2a00::200:5efe:8.8.8.8",
		"2a00::1:5efe:10.0.0.1", "2a00::5eff:10.0.0.1", "2a00::10.0.0.1", NULL});
}

static void no_address_is_not_global(void **state)
{
	(void)state;
	struct address none = {0};
	assert_int_equal(address_reach(&none), ADDRESS_NOT_GLOBAL);
	struct address mapped = {.family = 6, .bytes = {[10] = 0xff, [11] = 0xff, 8, 8, 8, 8}};
	assert_int_equal(address_reach(&mapped), ADDRESS_NOT_GLOBAL);
}

/* Some of what is carried is this address. */
static void carries(const struct address *a, const char *inner)
{
	struct address out[ADDRESS_EMBEDDED_MOST], expected = address_of(inner);
	size_t count = address_embedded(a, out);
	assert_in_range(count, 1, ADDRESS_EMBEDDED_MOST);
	for (size_t i = 0; i < count; i++)
		if (memcmp(&out[i], &expected, sizeof expected) == 0)
			return;
	fail_msg("%s is not carried", inner);
}

static void what_is_carried(void **state)
{
	(void)state;
	static const struct {
		const char *outer, *inner;
	} rows[] = {
	    {"::192.0.2.33", "192.0.2.33"},
	    {"::ffff:0:192.0.2.33", "192.0.2.33"},
	    {"64:ff9b::192.0.2.33", "192.0.2.33"},
	    {"64:ff9b:1:c000:2:2100::", "192.0.2.33"},      /* RFC 6052 2.2: behind 48 bits */
	    {"64:ff9b:1:3c0:0:221::", "192.0.2.33"},        /* 56 */
	    {"64:ff9b:1:344:c0:2:2100::", "192.0.2.33"},    /* 64 */
	    {"64:ff9b:1:344::192.0.2.33", "192.0.2.33"},    /* 96 */
	    {"2002:c000:221::1", "192.0.2.33"},
	    {"2001:0:c000:221::", "192.0.2.33"},            /* Teredo's server */
	    {"2001:0:808:808:0:0:3fff:fdde", "192.0.2.33"}, /* its client */
	    {"fe80::5efe:192.0.2.33", "192.0.2.33"},
	    {"fe80::200:5efe:192.0.2.33", "192.0.2.33"},
	    {"2002:808:808:0:0:5efe:192.0.2.33", "192.0.2.33"},
	    {"2002:808:808:0:0:5efe:192.0.2.33", "8.8.8.8"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct address outer = address_of(rows[i].outer);
		carries(&outer, rows[i].inner);
	}
	struct address mapped = {.family = 6, .bytes = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 33}};
	carries(&mapped, "192.0.2.33");
	struct address out[ADDRESS_EMBEDDED_MOST], plain = address_of("192.0.2.33");
	assert_int_equal(address_embedded(&plain, out), 0);
	plain = address_of("2a00:1450::1");
	assert_int_equal(address_embedded(&plain, out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(borders_of_each_ipv4_block),
	    cmocka_unit_test(borders_of_each_ipv6_block),
	    cmocka_unit_test(global_prefixes_do_not_cover_what_they_carry),
	    cmocka_unit_test(no_address_is_not_global),
	    cmocka_unit_test(what_is_carried),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
