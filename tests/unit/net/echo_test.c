/* SPDX-License-Identifier: MIT */
/* Bytes arrive in order and complete in both directions, in portions of any size. */
#include "tests/unit/net/rig.h"

static void both_ways(struct owner *client, struct owner *server, uint64_t bytes)
{
	client->receive_seed = 42;
	server->echoes = true;
	owner_send(client, 42, bytes);
	run_until(client->rig, client->received == bytes || client->ended || server->ended);
	assert_int_equal(client->ended, 0);
	assert_int_equal(server->ended, 0);
	assert_false(client->is_wrong);
	assert_int_equal(client->received, bytes);
	assert_int_equal(server->received, bytes);
	assert_in_range(server->queued_peak_bytes, 1, 131072 + LIMIT_CHUNK_BYTES);
}

static void plain_bytes_arrive_both_ways(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	both_ways(&j.client, &j.server, 16u << 20);
	joined_fini(&j);
}

static void plain_bytes_arrive_over_a_socket_pair(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	both_ways(&p.a, &p.b, 8u << 20);
	pair_fini(&p);
}

static void tls_bytes_arrive_both_ways(void **state)
{
	(void)state;
	struct certs certs;
	struct joined j;
	certs_init(&certs, "");
	joined_init(&j);
	struct net_tls *server = server_with(&certs, true, true, "h2", NULL);
	struct net_tls *client = client_with(&certs, true, "h2");
	joined_open(&j, server, client, "localhost");
	assert_string_equal(net_conn_tls_version(j.client.conn), "TLSv1.3");
	both_ways(&j.client, &j.server, 16u << 20);
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
	certs_fini(&certs);
}

/* Each end sends its own pattern at once. */
static void tls_bytes_cross(void **state)
{
	(void)state;
	struct certs certs;
	struct joined j;
	certs_init(&certs, "");
	joined_init(&j);
	struct net_tls *server = server_with(&certs, false, true, "h2", NULL);
	struct net_tls *client = client_with(&certs, true, "h2");
	joined_open(&j, server, client, "127.0.0.1");
	j.client.receive_seed = 1;
	j.server.receive_seed = 2;
	owner_send(&j.server, 1, 8u << 20);
	owner_send(&j.client, 2, 8u << 20);
	run_until(&j.rig, j.client.received == 8u << 20 && j.server.received == 8u << 20);
	assert_false(j.client.is_wrong);
	assert_false(j.server.is_wrong);
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
	certs_fini(&certs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_bytes_arrive_both_ways),
	    cmocka_unit_test(plain_bytes_arrive_over_a_socket_pair),
	    cmocka_unit_test(tls_bytes_arrive_both_ways),
	    cmocka_unit_test(tls_bytes_cross),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
