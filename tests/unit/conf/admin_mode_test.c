/* SPDX-License-Identifier: MIT */
/* mode = admin: where such a listener may be, which options it has, and ready-when and drain-delay of [server]. */
#include "tests/unit/conf/load.h"

#define ADMIN(address) "[listen a]\naddress = " address "\nmode = admin\n"

static void it_is_local_by_itself(void **state)
{
	(void)state;
	static const char *const texts[] = {
	    ADMIN("127.0.0.1:9000") LOAD_REST,
	    ADMIN("127.255.0.9:9000") LOAD_REST,
	    ADMIN("[::1]:9000") LOAD_REST,
	    ADMIN("unix:/run/admin.sock") LOAD_REST,
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct load load = load_fine(texts[i], "");
		assert_int_equal(load.conf->listens[0].mode, CONF_MODE_ADMIN);
		assert_false(conf_listen_is_forward(&load.conf->listens[0]));
		assert_false(conf_listen_shares(&load.conf->listens[0]));
		assert_null(load.conf->listens[0].access);
		load_free(&load);
	}
}

#define REMOTE(address, why)                                                                       \
	"[listen a] has mode = admin and listens for other machines on " address ", but " why      \
	"; allow clients there (allow = client=ADDRESS/BITS), or listen on 127.0.0.1:PORT or "     \
	"unix:/PATH\n"

static void other_addresses_need_rules_that_allow(void **state)
{
	(void)state;
	assert_refused(ADMIN("*:9000") LOAD_REST, "test.ini:2: " REMOTE("*:9000", "it has no access"));
	assert_refused(ADMIN("192.0.2.1:9000") LOAD_REST, "test.ini:2: " REMOTE("192.0.2.1:9000", "it has no access"));
	assert_refused(ADMIN("[::]:9000") LOAD_REST, "test.ini:2: " REMOTE("[::]:9000", "it has no access"));
	assert_refused(ADMIN("*:9000") "access = x\n[access x]\ndeny = all\n" LOAD_REST,
	    "test.ini:4: " REMOTE("*:9000", "its access has no allow")
	    "test.ini:5: warning: [access x] has no allow, so that every request is denied; add one\n");
	assert_refused(ADMIN("*:9000") "access = y\n" LOAD_REST,
	    "test.ini:4: there is no [access y]; add the section or name another\n");
	struct load load = load_fine(ADMIN("*:9000") "access = x\n[access x]\nallow = client=192.0.2.0/24\n" LOAD_REST, "");
	assert_ptr_equal(load.conf->listens[0].access, &load.conf->accesses[0]);
	load_free(&load);
}

static void options_of_routes_are_not_for_it(void **state)
{
	(void)state;
	assert_refused(ADMIN("127.0.0.1:1") "redirect-to-https = yes\n" LOAD_REST,
	    "test.ini:4: redirect-to-https is about the hosts of a gateway, and mode = admin serves none; remove it\n");
	struct load load = load_fine(ADMIN("127.0.0.1:1") "pac = yes\nshares = yes\nclients = shared\n" LOAD_REST,
	    "test.ini:4: warning: pac has no effect, because mode is admin; remove it\n"
	    "test.ini:6: warning: clients has no effect, because mode is admin; remove it\n"
	    "test.ini:5: warning: shares has no effect, because mode is admin; remove it\n");
	load_free(&load);
	/* Rules with conditions of forward mode alone are no more for it than for a gateway. */
	load = load_text(ADMIN("127.0.0.1:1") "access = x\n[access x]\nallow = port=443\n" LOAD_REST);
	assert_non_null(strstr(load.errors, "test.ini:4: [access x] has a rule with port="));
	load_free(&load);
}

static void it_is_no_listener_of_routes(void **state)
{
	(void)state;
	struct load load = load_fine(ADMIN("127.0.0.1:1") LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:6: warning: [route r] never matches, because no [listen NAME] has mode = gateway; add one, or remove the section\n");
	load_free(&load);
	assert_refused(ADMIN("127.0.0.1:1"), "test.ini:1: there is no [route NAME]; add one with an origin\n");
	/* Nor are tunnels opened there, whichever routes have upgrade. */
	load = load_fine(ADMIN("127.0.0.1:1") LOAD_REST "upgrade = websocket\n", "");
	assert_false(load.conf->listens[0].takes_tunnels);
	assert_true(load.conf->listens[1].takes_tunnels);
	load_free(&load);
	/* An access of its own is nothing that a route's quotas could go by. */
	load = load_fine(ADMIN("127.0.0.1:1") "access = x\n[access x]\nallow = all\n" LOAD_REST "upgrade = websocket\nmax-tunnels-per-user = 3\n",
	    "test.ini:14: warning: max-tunnels-per-user has no effect, because no listener that it serves has access; remove it\n");
	load_free(&load);
}

static void ready_when_needs_something_to_wait_for(void **state)
{
	(void)state;
#define SERVERS "[server]\nready-when = servers\n"
	struct load load = load_fine(SERVERS ADMIN("127.0.0.1:1") LOAD_REST, ""); /* the demo site always works */
	assert_int_equal(load.conf->server.ready_when, CONF_READY_SERVERS);
	load_free(&load);
	load = load_fine(SERVERS ADMIN("127.0.0.1:1") LOAD_LISTEN "[origin o]\nserver = http://127.0.0.1:2\nhealth-check = /up\n" LOAD_ROUTE, "");
	load_free(&load);
	assert_refused(SERVERS ADMIN("127.0.0.1:1") LOAD_LISTEN "[origin o]\nserver = http://127.0.0.1:2\n" LOAD_ROUTE,
	    "test.ini:2: ready-when = servers waits for a health check, and no [origin NAME] has one; "
	    "add health-check = /PATH or health-check = connect to one\n");
	load = load_fine(SERVERS LOAD_REST,
	    "test.ini:2: warning: ready-when has no effect, because no [listen NAME] has mode = admin; remove it\n");
	load_free(&load);
}

static void drains_begin_at_once_unless_told(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	assert_int_equal(load.conf->server.drain_delay, 0);
	assert_int_equal(load.conf->server.ready_when, CONF_READY_START);
	load_free(&load);
	load = load_fine("[server]\ndrain-delay = 1500ms\n" LOAD_REST, "");
	assert_int_equal(load.conf->server.drain_delay, 1500 * USEC_PER_MSEC);
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_local_by_itself),
	    cmocka_unit_test(other_addresses_need_rules_that_allow),
	    cmocka_unit_test(options_of_routes_are_not_for_it),
	    cmocka_unit_test(it_is_no_listener_of_routes),
	    cmocka_unit_test(ready_when_needs_something_to_wait_for),
	    cmocka_unit_test(drains_begin_at_once_unless_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
