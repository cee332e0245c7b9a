/* SPDX-License-Identifier: MIT */
/* The requests that wait for any server of an origin: which of them a server takes that was given others; and how many
 * servers one request is given to. */
#include "tests/support/gateway_world.h"
#include "proxy/relay/exchange.h"
#include <cmocka.h>

enum { REQUESTS = 20 };

/* A world whose origin a has two servers: the site of a, and that of b, which accepts and says nothing. */
static struct gate_world *world_with_a_mute_server(void)
{
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	const struct net_address *both[] = {gate_site_address(w, 0), gate_site_address(w, 1)};
	w->sites[1].options.is_silent = true;
	gate_set_servers(w, 0, both, 2);
	return w;
}

static size_t open_at(const struct gate_site *site)
{
	size_t open = 0;
	for (size_t i = 0; i < site->peer_count; i++)
		open += site->peers[i] ? site->peers[i]->open_now : 0;
	return open;
}

static bool some_server_is_slow(struct gate_world *w)
{
	struct destination *d = &w->gateway->upstream.destinations[0];
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->at.is_slow)
			return true;
	}
	return false;
}

/* The first connection that opens gets its server's part, and the rest when the other one takes long. */
static void the_first_connection_does_not_get_all(void **state)
{
	(void)state;
	struct gate_world *w = world_with_a_mute_server();
	struct gate_peer *client = gate_client(w, NULL);
	for (unsigned i = 0; i < REQUESTS; i++)
		gate_get(client, "/");
	UNTIL(w, open_at(&w->sites[0]) > 0);
	/* On a machine that stood still for a quarter of a second it may have all by now. */
	if (!some_server_is_slow(w))
		assert_in_range(open_at(&w->sites[0]), 1, REQUESTS / 2 + 1);
	UNTIL(w, open_at(&w->sites[0]) == REQUESTS);
	assert_true(some_server_is_slow(w));
	gate_world_free(w);
}

enum { FLEET = 2 * EXCHANGE_SERVERS_MOST + 3 };

/* However many there are: when none can be connected to, a request knocks at a few of them, once each. */
static void a_request_is_given_to_eight_servers_at_most(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct net_address addresses[FLEET];
	const struct net_address *pointers[FLEET];
	gate_site_close(&w->sites[0]);
	for (unsigned i = 0; i < FLEET; i++) {
		char text[32];
		int n = snprintf(text, sizeof(text), "127.0.0.%u:%u", i + 1, w->sites[0].port);
		assert_null(net_address_parse(slice_of(text, (size_t)n), &addresses[i]));
		pointers[i] = &addresses[i];
	}
	gate_set_servers(w, 0, pointers, FLEET);
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/");
	UNTIL(w, s->is_over);
	assert_int_equal(w->counters.upstream_connections, EXCHANGE_SERVERS_MOST);
	assert_int_equal(w->counters.upstream_failed, EXCHANGE_SERVERS_MOST);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_connection_does_not_get_all),
	    cmocka_unit_test(a_request_is_given_to_eight_servers_at_most),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
