/* SPDX-License-Identifier: MIT */
/* upstream-proxy and no-proxy of [origin]: what they become, whom they are for, and their mistakes. */
#include "tests/unit/conf/load.h"

#include "proxy/net/net.h"

#define FORWARD "[listen l]\naddress = 127.0.0.1:8443\nmode = forward\n[origin o]\nserver = forward:\n"
#define ROUTED LOAD_ROUTE

static struct load with(const char *lines, const char *warnings)
{
	char text[2048];
	snprintf(text, sizeof text, FORWARD "%s" ROUTED, lines);
	return load_fine(text, warnings);
}

static const struct conf_upstream_proxy *proxy_of(const struct load *load, const char *host)
{
	struct address a;
	struct slice name = slice_of_string(host);
	return conf_upstream_proxy_for(
	    &load->conf->origins[0], name, address_parse(name, &a) ? &a : NULL);
}

static void proxy_has_a_place_and_credentials(void **state)
{
	(void)state;
	struct load load = with("upstream-proxy = https://me:p%40ss%3A%25@proxy.test:3128 *.a.test, b.test\n"
				"upstream-proxy = http://[::1]:8080 c.test\n"
				"upstream-proxy = http://Aladdin:open%20sesame@192.0.2.1:80\n",
	    "");
	const struct conf_chain *chain = &load.conf->origins[0].chain;
	assert_int_equal(chain->proxy_count, 3);
	const struct conf_upstream_proxy *p = chain->proxies;
	assert_string_equal(p[0].text, "https://proxy.test:3128");
	assert_true(p[0].is_tls);
	assert_string_equal(p[0].server->host, "proxy.test");
	assert_int_equal(p[0].server->port, 3128);
	assert_true(conf_server_is_name(p[0].server));
	assert_true(slice_equal(p[0].authorization, SLICE("Basic bWU6cEBzczol")));
	assert_int_equal(p[0].host_count, 2);
	assert_string_equal(p[1].text, "http://[::1]:8080");
	assert_false(p[1].is_tls);
	assert_int_equal(p[1].authorization.len, 0);
	assert_int_equal(net_address_port(&p[1].server->address), 8080);
	/* RFC 7617 2 */
	assert_true(
	    slice_equal(p[2].authorization, SLICE("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")));
	load_free(&load);
}

static void first_proxy_that_is_for_a_destination_is_used(void **state)
{
	(void)state;
	struct load load = with("upstream-proxy = http://one.test:1 *.a.test\n"
				"upstream-proxy = http://two.test:2 *.test\n"
				"upstream-proxy = http://three.test:3\n"
				"no-proxy = near.a.test *.local.test 10.0.0.0/8\n"
				"no-proxy = 2001:db8::/32 192.0.2.7\n",
	    "");
	assert_string_equal(proxy_of(&load, "x.a.test")->text, "http://one.test:1");
	assert_string_equal(proxy_of(&load, "a.test")->text, "http://two.test:2");
	assert_string_equal(proxy_of(&load, "example.com")->text, "http://three.test:3");
	assert_string_equal(proxy_of(&load, "192.0.2.8")->text, "http://three.test:3");
	static const char *const direct[] = {"near.a.test", "y.local.test", "10.1.2.3", "2001:db8::1",
	    "192.0.2.7", "localhost", "x.localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::"};
	for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
		assert_null(proxy_of(&load, direct[i]));
	load_free(&load);
	load = with("upstream-proxy = http://one.test:1 *.a.test\n", "");
	assert_null(proxy_of(&load, "b.test"));
	load_free(&load);
}

/* A mistake is shown without the user and the password. */
static void mistake(const char *line, const char *shown)
{
	char text[2048];
	snprintf(text, sizeof text, FORWARD "%s\n" ROUTED, line);
	struct load load = load_text(text);
	assert_null(load.conf);
	assert_non_null(strstr(load.errors, shown));
	assert_null(strstr(load.errors, "hidden"));
	load_free(&load);
}

static void mistakes_say_what_is_wrong_and_hide_passwords(void **state)
{
	(void)state;
	mistake("upstream-proxy = socks://hidden:hidden@proxy.test:1080", "neither http nor https");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test", "it is not HOST:PORT");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80/x", "must not have a path");
	mistake("upstream-proxy = http://hidden:%hidden@proxy.test:80", "hexadecimal");
	mistake("upstream-proxy = http://hidden:%0ahidden@proxy.test:80", "hexadecimal");
	mistake("upstream-proxy = http://hidden@proxy.test:80", "the user has no password");
	mistake("upstream-proxy = http://:hidden@proxy.test:80", "a user must have a name");
	mistake("upstream-proxy = http://hidden%3ahidden:x@proxy.test:80", "without ':'");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80 a/b", "no name of hosts");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80 \"a", "quotation");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80 password-file=x",
	    "without a password");
	mistake("upstream-proxy = http://proxy.test:80 password-file=x", "needs a user");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80 # why", "comment");
	mistake("upstream-proxy = http://hidden:hidden@proxy.test:80;", "ends with ';'");
	mistake("upstream-proxy = 'http://hidden:hidden@proxy.test:80'", "in quotes");
	mistake("upstream-proxy = http://hidden:hidden hidden@proxy.test:80", "it is not HOST:PORT");
	mistake("upstream-proxies = http://hidden:hidden@proxy.test:80", "upstream-proxies");
	mistake("upstream-proxy http://hidden:hidden@proxy.test:80", "test.ini:6");
	mistake("no-proxy = http://a.test", "bad value 'http://a.test' for no-proxy");
	mistake("no-proxy = 10.0.0.1/8", "bad value '10.0.0.1/8' for no-proxy");
	mistake("no-proxy = \"a", "close the quotation");
}

static void password_may_stand_in_a_file(void **state)
{
	(void)state;
	char path[] = "/tmp/pushgate-test-XXXXXX", text[2048];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "open sesame\r\nrest", 17), 17);
	snprintf(text, sizeof text,
	    FORWARD "upstream-proxy = http://Aladdin@proxy.test:80 password-file=%s\n" ROUTED, path);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_string_equal(load.errors, "");
	assert_true(slice_equal(load.conf->origins[0].chain.proxies[0].authorization,
	    SLICE("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")));
	load_free(&load);
	assert_int_equal(ftruncate(fd, 0), 0);
	load = load_bytes(slice_of_string(text), true);
	assert_non_null(strstr(load.errors, "is no password of 1 to 255 bytes"));
	load_free(&load);
	close(fd);
	unlink(path);
	load = load_bytes(slice_of_string(text), true);
	assert_non_null(strstr(load.errors, path));
	load_free(&load);
}

static void own_listener_is_no_upstream_proxy(void **state)
{
	(void)state;
	static const char *const own[] = {"127.0.0.1:8443", "localhost:8443"};
	for (size_t i = 0; i < 2; i++) {
		char line[128];
		snprintf(line, sizeof line, "upstream-proxy = http://%s", own[i]);
		mistake(line, "is the address of [listen l], so that its requests would come back");
	}
	struct load load = with("upstream-proxy = http://127.0.0.1:8444\n", "");
	load_free(&load);
	load = load_text("[listen l]\naddress = *:8443\nmode = forward\n[origin o]\nserver = forward:\n"
			 "upstream-proxy = http://127.0.0.2:8443\n" LOAD_ROUTE);
	assert_null(load.conf);
	load_free(&load);
}

static void lines_without_effect_are_warned_of(void **state)
{
	(void)state;
	struct load load = with("no-proxy = a.test\n",
	    "test.ini:6: warning: no-proxy has no effect, because the section has no upstream-proxy; remove it\n");
	load_free(&load);
	load = with("upstream-proxy = http://one.test:1\nupstream-proxy = http://two.test:2 a.test\n",
	    "test.ini:7: warning: upstream-proxy http://two.test:2 is never used, because http://one.test:1 before it is "
	    "for every destination; put it first, or name destinations behind the other\n");
	load_free(&load);
	load = load_fine(LOAD_LISTEN "[origin o]\nserver = demo:\nupstream-proxy = http://one.test:1\n" LOAD_ROUTE,
	    "test.ini:5: warning: upstream-proxy has no effect, because the origin is not server = forward:; remove it\n");
	load_free(&load);
}

static void rule_about_addresses_is_warned_of_behind_a_proxy(void **state)
{
	(void)state;
	static const char text[] = "[listen l]\naddress = 127.0.0.1:8443\nmode = forward\naccess = a\n"
				   "[access a]\nallow = address=global\nallow = address=10.0.0.0/8\n"
				   "[origin o]\nserver = forward:\n%s" LOAD_ROUTE;
	char with_proxy[512], without[512];
	snprintf(with_proxy, sizeof with_proxy, text, "upstream-proxy = http://one.test:1\n");
	snprintf(without, sizeof without, text, "");
	struct load load = load_fine(with_proxy,
	    "test.ini:7: warning: this line takes no name that goes through an upstream-proxy, because the proxy looks it "
	    "up; it takes what is written as an address, and what no-proxy names\n");
	load_free(&load);
	load = load_fine(without, "");
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(proxy_has_a_place_and_credentials),
	    cmocka_unit_test(first_proxy_that_is_for_a_destination_is_used),
	    cmocka_unit_test(mistakes_say_what_is_wrong_and_hide_passwords),
	    cmocka_unit_test(password_may_stand_in_a_file),
	    cmocka_unit_test(own_listener_is_no_upstream_proxy),
	    cmocka_unit_test(lines_without_effect_are_warned_of),
	    cmocka_unit_test(rule_about_addresses_is_warned_of_behind_a_proxy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
