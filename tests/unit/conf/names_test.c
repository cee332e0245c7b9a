/* SPDX-License-Identifier: MIT */
/* The options of [server] that say how names are looked up: what they become, and their mistakes. */
#include "tests/unit/conf/load.h"

#include "proxy/net/net.h"

#define NAMED LOAD_LISTEN "[origin o]\nserver = http://www.test:80\n" LOAD_ROUTE

static struct load server(const char *options, const char *rest)
{
	char text[1024];
	snprintf(text, sizeof text, "[server]\n%s%s", options, rest);
	return load_text(text);
}

static void nothing_is_given(void **state)
{
	(void)state;
	struct load load = load_fine(NAMED, "");
	const struct conf_server *s = &load.conf->server;
	assert_int_equal(s->resolver_count, 0);
	assert_int_equal(conf_dns_min_ttl(s, false), 5 * USEC_PER_SEC);
	assert_int_equal(conf_dns_min_ttl(s, true), USEC_PER_SEC);
	assert_int_equal(s->dns_max_ttl, 3600 * USEC_PER_SEC);
	assert_int_equal(s->dns_negative_ttl, 5 * USEC_PER_SEC);
	assert_int_equal(s->dns_timeout, 2 * USEC_PER_SEC);
	assert_string_equal(s->hosts_file, "/etc/hosts");
	assert_string_equal(s->resolv_conf, "/etc/resolv.conf");
	assert_true(conf_has_names(load.conf));
	load_free(&load);
	load = load_fine(LOAD_REST, "");
	assert_false(conf_has_names(load.conf));
	load_free(&load);
	load = load_fine(LOAD_LISTEN "[origin o]\nserver = http://[::1]:80\n" LOAD_ROUTE, "");
	assert_false(conf_has_names(load.conf));
	load_free(&load);
	load = load_fine(LOAD_LISTEN "[origin o]\nserver = srv:_http._tcp.a.test\n" LOAD_ROUTE, "");
	assert_true(conf_has_names(load.conf));
	load_free(&load);
}

static void resolvers_have_addresses_and_maybe_ports(void **state)
{
	(void)state;
	static const char *const want[] = {"192.0.2.1:53", "192.0.2.2:5353", "[2001:db8::1]:53",
	    "[2001:db8::2]:53", "[2001:db8::3]:5353"};
	struct load load = server("resolver = 192.0.2.1, 192.0.2.2:5353 2001:db8::1\n"
				  "resolver = [2001:db8::2] [2001:db8::3]:5353\n",
	    NAMED);
	assert_string_equal(load.errors, "");
	assert_int_equal(load.conf->server.resolver_count, 5);
	for (size_t i = 0; i < 5; i++) {
		char text[NET_ADDRESS_TEXT];
		net_address_format(&load.conf->server.resolvers[i], text, sizeof text);
		assert_string_equal(text, want[i]);
	}
	load_free(&load);
}

static void resolver_that_is_no_address_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"dns.example", "192.0.2.1:0", "192.0.2.1:x", "*:53",
	    "unix:/run/dns", "[192.0.2.1", "\"192.0.2.1", "tls://192.0.2.1",
	    "192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4 192.0.2.5 192.0.2.6 192.0.2.7 192.0.2.8 192.0.2.9"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char line[160];
		snprintf(line, sizeof line, "resolver = %s\n", bad[i]);
		struct load load = server(line, NAMED);
		assert_null(load.conf);
		assert_non_null(strstr(load.errors, "test.ini:2: "));
		load_free(&load);
	}
}

static void shortest_time_must_not_be_longer_than_the_longest(void **state)
{
	(void)state;
	assert_refused("[server]\ndns-min-ttl = 2m\ndns-max-ttl = 1m\n" NAMED,
	    "test.ini:2: dns-min-ttl is longer than dns-max-ttl; make it at most as long\n");
}

static void options_without_a_name_have_no_effect(void **state)
{
	(void)state;
	struct load load = load_fine("[server]\nresolver = 192.0.2.1\ndns-min-ttl = 1s\ndns-max-ttl = 1m\n"
				     "dns-negative-ttl = 1s\ndns-timeout = 1s\nhosts-file = h\n" LOAD_REST,
	    "test.ini:2: warning: resolver has no effect, because no server has a name; remove it\n"
	    "test.ini:3: warning: dns-min-ttl has no effect, because no server has a name; remove it\n"
	    "test.ini:4: warning: dns-max-ttl has no effect, because no server has a name; remove it\n"
	    "test.ini:5: warning: dns-negative-ttl has no effect, because no server has a name; remove it\n"
	    "test.ini:6: warning: dns-timeout has no effect, because no server has a name; remove it\n"
	    "test.ini:7: warning: hosts-file has no effect, because no server has a name; remove it\n");
	load_free(&load);
	load = load_fine("[server]\nresolver = 192.0.2.1\nresolv-conf = /r\n" NAMED,
	    "test.ini:3: warning: resolv-conf has no effect, because resolver is given; remove it\n");
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_given),
	    cmocka_unit_test(resolvers_have_addresses_and_maybe_ports),
	    cmocka_unit_test(resolver_that_is_no_address_is_refused),
	    cmocka_unit_test(shortest_time_must_not_be_longer_than_the_longest),
	    cmocka_unit_test(options_without_a_name_have_no_effect),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
