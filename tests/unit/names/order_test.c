/* SPDX-License-Identifier: MIT */
/* The order of addresses, with routes that the test chooses. */
#include "proxy/names/order.h"
#include "tests/unit/names/dns_rig.h"

static const char *source4, *source6; /* NULL: no route */

static bool source(const struct net_address *to, struct address *from)
{
	struct address ip;
	net_address_ip(to, &ip);
	const char *text = ip.family == 4 ? source4 : source6;
	return text && address_parse(slice_of_string(text), from);
}

/* Addresses separated by spaces; "=" and a number give the priority of the following ones. */
static void check(const char *list, const char *want)
{
	struct name_address all[16];
	char got[512] = "";
	size_t count = 0;
	uint16_t priority = 0;
	struct slice rest = slice_of_string(list);
	while (rest.len > 0) {
		struct slice word = slice_sub(rest, 0, slice_find(rest, ' '));
		rest = slice_from(rest, word.len + 1);
		struct address ip;
		if (word.ptr[0] == '=') {
			priority = (uint16_t)(word.ptr[1] - '0');
			continue;
		}
		assert_true(address_parse(word, &ip));
		all[count] = (struct name_address){.priority = priority};
		net_address_set_ip(&all[count++].address, &ip, 80);
	}
	count = order_addresses_by(all, count, source);
	for (size_t i = 0; i < count; i++) {
		struct address ip;
		net_address_ip(&all[i].address, &ip);
		strcat(got, i > 0 ? " " : "");
		strcat(got, show_address(&ip));
	}
	assert_string_equal(got, want);
}

/* covers: R437 */
static void families_take_turns_ipv6_first(void **state)
{
	(void)state;
	source4 = "203.0.113.1";
	source6 = "2001:db8::ff";
	check("192.0.2.1 192.0.2.2 2001:db8::2 2001:db8::1",
	    "2001:db8::1 192.0.2.1 2001:db8::2 192.0.2.2");
	check("192.0.2.3 192.0.2.2 192.0.2.1 2001:db8::1",
	    "2001:db8::1 192.0.2.1 192.0.2.2 192.0.2.3");
	check("192.0.2.3", "192.0.2.3");
	check("", "");
}

/* covers: R437 */
static void address_without_a_route_is_left_out_unless_none_has_one(void **state)
{
	(void)state;
	source4 = "203.0.113.1";
	source6 = NULL;
	check("2001:db8::1 192.0.2.1 192.0.2.2", "192.0.2.1 192.0.2.2");
	source4 = NULL;
	source6 = "2001:db8::ff";
	check("192.0.2.1 2001:db8::2 2001:db8::1", "2001:db8::1 2001:db8::2");
	source6 = NULL;
	check("192.0.2.1 2001:db8::1", "2001:db8::1 192.0.2.1");
}

/* RFC 6724 10.1 and 10.2, as far as one source address goes. */
/* covers: R437 */
static void rules_of_rfc_6724_count(void **state)
{
	(void)state;
	source4 = "203.0.113.1";
	source6 = "fe80::1"; /* link-local alone: IPv4 reaches a global address better */
	check("2001:db8::1 192.0.2.1", "192.0.2.1 2001:db8::1");
	source6 = "2001:0:1::1"; /* Teredo: its label is another */
	check("2001:db8::1 192.0.2.1", "192.0.2.1 2001:db8::1");
	source6 = "2002:c633:6401::2"; /* 6to4 to 6to4: precedence 30 is less than 35 */
	check("2002:c633:6401::1 192.0.2.1", "192.0.2.1 2002:c633:6401::1");
	source6 = "2001:db8:1::5"; /* the longer prefix */
	check("2001:db8:2::1 2001:db8:1::1 2001:db8:0::1",
	    "2001:db8:1::1 2001:db8::1 2001:db8:2::1");
	source6 = "2001:db8::2"; /* precedence: global before unique local */
	check("fd00::1 2001:db8::1", "2001:db8::1 fd00::1");
	source4 = "127.0.0.1"; /* the scope of source and destination */
	source6 = "::1";
	check("192.0.2.1 127.0.0.1", "127.0.0.1 192.0.2.1");
	check("2001:db8::1 ::1", "::1 2001:db8::1");
	source6 = "fec0::5";
	check("2001:db8::1 fec0::1", "fec0::1 2001:db8::1");
}

static void priorities_stay_apart(void **state)
{
	(void)state;
	source4 = "203.0.113.1";
	source6 = "2001:db8::ff";
	check("=2 192.0.2.1 2001:db8::1 =1 192.0.2.9 2001:db8::9",
	    "2001:db8::9 192.0.2.9 2001:db8::1 192.0.2.1");
}

static void kernel_knows_a_route_to_itself(void **state)
{
	(void)state;
	struct net_address here;
	struct address from;
	assert_null(net_address_parse(SLICE("127.0.0.1:53"), &here));
	assert_true(net_route_source(&here, &from));
	assert_string_equal(show_address(&from), "127.0.0.1");
	/* A scope is needed for a link-local address. */
	assert_null(net_address_parse(SLICE("[fe80::1]:53"), &here));
	assert_false(net_route_source(&here, &from));
	struct name_address two[2] = {0};
	assert_null(net_address_parse(SLICE("127.0.0.1:53"), &two[0].address));
	assert_null(net_address_parse(SLICE("127.0.0.2:53"), &two[1].address));
	assert_int_equal(order_addresses(two, 2), 2);
	/* Of IPv4 alone: by the address, whatever the routes. */
	assert_null(net_address_parse(SLICE("240.0.0.9:53"), &two[0].address));
	assert_null(net_address_parse(SLICE("240.0.0.1:53"), &two[1].address));
	assert_int_equal(order_addresses(two, 2), 2);
	char text[NET_ADDRESS_TEXT];
	assert_string_equal(net_address_format(&two[0].address, text, sizeof(text)), "240.0.0.1:53");
	/* A link-local address without a scope is reached from nowhere. */
	assert_null(net_address_parse(SLICE("[fe80::1]:53"), &two[0].address));
	assert_null(net_address_parse(SLICE("127.0.0.1:53"), &two[1].address));
	assert_int_equal(order_addresses(two, 2), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(families_take_turns_ipv6_first),
	    cmocka_unit_test(address_without_a_route_is_left_out_unless_none_has_one),
	    cmocka_unit_test(rules_of_rfc_6724_count),
	    cmocka_unit_test(priorities_stay_apart),
	    cmocka_unit_test(kernel_knows_a_route_to_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
