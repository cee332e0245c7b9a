/* SPDX-License-Identifier: MIT */
/* What hosts(5) and resolv.conf(5) say. */
#include "proxy/names/hosts.h"
#include "tests/unit/names/dns_rig.h"

static void look(const char *text, const char *host, const char *want)
{
	struct address found[4];
	char got[256] = "";
	struct hosts *h = hosts_new(slice_of_string(text));
	size_t count = hosts_find(h, host, found, 4);
	for (size_t i = 0; i < count; i++) {
		strcat(got, i > 0 ? " " : "");
		strcat(got, show_address(&found[i]));
	}
	hosts_free(h);
	assert_string_equal(got, want);
}

static void hosts_have_addresses_and_names(void **state)
{
	(void)state;
	const char *text = "# a comment\n"
			   "192.0.2.1\tWeb web.test # another\r\n"
			   "2001:db8::1 other alias.\n"
			   "\n"
			   "nonsense web\n"
			   "192.0.2.3";
	look(text, "web", "192.0.2.1");
	look(text, "web.test", "192.0.2.1");
	look(text, "alias", "2001:db8::1");
	look(text, "another", "");
	look(text, "nonsense", "");
	look("", "web", "");
	look("192.0.2.1 twice\n192.0.2.1 twice\n", "twice", "192.0.2.1");
}

static void localhost_is_this_host_whatever_the_file_says(void **state)
{
	(void)state;
	look("192.0.2.1 localhost x.localhost", "localhost", "::1 127.0.0.1");
	look("", "a.b.localhost", "::1 127.0.0.1");
	/* A machine without IPv6 has no ::1, and a rule for 127.0.0.0/8 is meant to take localhost there. */
	look("127.0.0.1 localhost", "localhost", "127.0.0.1");
	look("127.0.0.1 localhost", "a.localhost", "127.0.0.1");
	look("127.0.0.1 localhost\n::1 LOCALHOST", "localhost", "::1 127.0.0.1");
	look("127.0.0.1 localhost\n127.0.0.2 b.localhost", "b.localhost", "127.0.0.2");
	look("::1 localhost\n192.0.2.1 localhost b.localhost", "localhost", "::1");
	look("::1 localhost\n192.0.2.1 localhost b.localhost", "b.localhost", "::1");
	look("", "notlocalhost", "");
}

static void long_hosts_file_is_cut_at_a_line(void **state)
{
	(void)state;
	size_t size = LIMIT_NAMES_FILE_BYTES + 40;
	char *text = memory_zalloc(size + 1);
	memset(text, '#', size);
	memcpy(text, "192.0.2.1 first\n", 16);
	memcpy(text + LIMIT_NAMES_FILE_BYTES - 16, "\n192.0.2.2 secondhalf\n", 22);
	look(text, "first", "192.0.2.1");
	look(text, "secon", "");
	look(text, "secondhalf", "");
	free(text);
}

static void resolv_conf_names_resolvers(void **state)
{
	(void)state;
	struct net_address found[4];
	char text[NET_ADDRESS_TEXT];
	const char *file = "; comment\nsearch example.com\nnameserver 192.0.2.53\n"
			   "nameserver fe80::1%eth0\nnameserver  2001:db8::53 \noptions timeout:1\n";
	assert_int_equal(resolv_conf_read(slice_of_string(file), found, 4), 2);
	assert_string_equal(net_address_format(&found[0], text, sizeof(text)), "192.0.2.53:53");
	assert_string_equal(net_address_format(&found[1], text, sizeof(text)), "[2001:db8::53]:53");
	assert_int_equal(resolv_conf_read(slice_of_string(file), found, 1), 1);
	assert_int_equal(resolv_conf_read(SLICE(""), found, 4), 1);
	assert_string_equal(net_address_format(&found[0], text, sizeof(text)), "127.0.0.1:53");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(hosts_have_addresses_and_names),
	    cmocka_unit_test(localhost_is_this_host_whatever_the_file_says),
	    cmocka_unit_test(long_hosts_file_is_cut_at_a_line),
	    cmocka_unit_test(resolv_conf_names_resolvers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
