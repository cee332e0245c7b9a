/* SPDX-License-Identifier: MIT */
/* The requests that wait for any server of an origin: which of them a server takes that was given others. */
#include "tests/support/gateway_world.h"
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
		if (s->is_slow)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_connection_does_not_get_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
