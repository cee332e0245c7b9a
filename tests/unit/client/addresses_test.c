/* SPDX-License-Identifier: MIT */
/* max-connections-per-client: how many connections a client may have, and which addresses are one client. */
#include "proxy/client/client_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MOST 3u

struct scene {
	struct observe_counters counters;
	struct observe observe;
	struct worker_env env;
	struct clients clients;
	struct conf_listen conf;
	struct client_listener listener;
};

static void begin(struct scene *s, uint32_t most)
{
	*s = (struct scene){.env.seed = 7, .conf.max_connections_per_client = most};
	s->observe.counters = &s->counters;
	s->env.observe = &s->observe;
	s->clients.env = &s->env;
	s->listener.clients = &s->clients;
	s->listener.conf = &s->conf;
	map_init(&s->listener.addresses);
}

static void end(struct scene *s)
{
	assert_int_equal(s->listener.addresses.count, 0);
	map_fini(&s->listener.addresses);
}

static bool enters(struct scene *s, const char *text, struct client_address **client)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	return client_address_attach(&s->listener, &a, client);
}

/* Whether two addresses count as one client: a second connection is refused when the limit is 1. */
static bool are_one(const char *a, const char *b)
{
	static struct scene s; /* too large for the stack */
	struct client_address *clients[MOST], *other;
	begin(&s, MOST);
	for (unsigned i = 0; i < MOST; i++)
		assert_true(enters(&s, a, &clients[i]));
	bool is_one = !enters(&s, b, &other);
	assert_int_equal(s.counters.connections_refused_client, is_one);
	if (!is_one)
		client_address_detach(&s.listener, other);
	for (unsigned i = 0; i < MOST; i++)
		client_address_detach(&s.listener, clients[i]);
	end(&s);
	return is_one;
}

/* covers: R64 */
static void client_is_an_address_or_an_ipv6_64(void **state)
{
	(void)state;
	assert_true(are_one("192.0.2.1", "192.0.2.1"));
	assert_false(are_one("192.0.2.1", "192.0.2.2"));
	assert_true(are_one("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"));
	assert_false(are_one("2001:db8:1:2::1", "2001:db8:1:3::1"));
	assert_false(are_one("2001:db8::1", "192.0.2.1"));
	assert_true(are_one("::ffff:192.0.2.1", "192.0.2.1"));
	/* The same bytes in another family. */
	assert_false(are_one("32.1.13.184", "2001:db8::"));
}

static void closed_connection_frees_its_slot(void **state)
{
	(void)state;
	struct scene s;
	struct client_address *clients[MOST], *more;
	begin(&s, MOST);
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < MOST; i++)
			assert_true(enters(&s, "192.0.2.1", &clients[i]));
		assert_false(enters(&s, "192.0.2.1", &more));
		client_address_detach(&s.listener, clients[0]);
		assert_true(enters(&s, "192.0.2.1", &clients[0]));
		for (unsigned i = 0; i < MOST; i++)
			client_address_detach(&s.listener, clients[i]);
	}
	end(&s);
}

static void address_without_connections_is_removed(void **state)
{
	(void)state;
	struct scene s;
	struct client_address *client;
	char text[32];
	begin(&s, MOST);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "10.0.%u.%u", i / 250, i % 250);
		assert_true(enters(&s, text, &client));
		assert_int_equal(s.listener.addresses.count, 1);
		client_address_detach(&s.listener, client);
	}
	end(&s);
}

static void unix_sockets_and_listeners_without_limit_do_not_count(void **state)
{
	(void)state;
	struct scene s;
	struct client_address *client;
	const struct address none = {.family = 0};
	begin(&s, 1);
	for (unsigned i = 0; i < 10; i++)
		assert_true(client_address_attach(&s.listener, &none, &client));
	assert_null(client);
	end(&s);
	begin(&s, 0);
	for (unsigned i = 0; i < 10; i++)
		assert_true(enters(&s, "192.0.2.1", &client));
	assert_null(client);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(client_is_an_address_or_an_ipv6_64),
	    cmocka_unit_test(closed_connection_frees_its_slot),
	    cmocka_unit_test(address_without_connections_is_removed),
	    cmocka_unit_test(unix_sockets_and_listeners_without_limit_do_not_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
