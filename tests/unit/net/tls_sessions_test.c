/* SPDX-License-Identifier: MIT */
/* The sessions that a client resumes: which connections get one, for several servers, and how many are kept. */
#include "tests/unit/net/rig.h"

/* A burst: connections that begin before any of them has ended. */
enum { BURST = 4, SERVERS = 2 };

struct server {
	struct joined joined;
	struct net_tls *tls;
	struct owner clients[BURST], ends[BURST];
	unsigned accepted;
};

static struct net_tls *client;

static void accept_one(void *p, int fd, const struct net_address *peer)
{
	struct server *s = p;
	(void)peer;
	struct owner *o = &s->ends[s->accepted++];
	o->conn = net_conn_new(s->joined.rig.loop, fd, s->tls, &owner_ops, o);
	owner_send(o, 0, 10); /* tickets travel with it */
}

static void server_init(struct server *s)
{
	memset(s, 0, sizeof(*s));
	joined_init(&s->joined);
	/* Its ticket keys are its own. */
	s->tls = server_with(&pair_certs, false, true, "h2", NULL);
	net_listener_free(s->joined.listener);
	s->joined.listener =
	    net_listener_new(s->joined.rig.loop, s->joined.listen_fd, accept_one, NULL, s);
}

static void server_fini(struct server *s)
{
	joined_fini(&s->joined);
	net_tls_free(s->tls);
}

static void connect_all(struct server *s, const char *name, unsigned count)
{
	s->accepted = 0;
	for (unsigned i = 0; i < count; i++) {
		owner_init(&s->clients[i], &s->joined.rig);
		owner_init(&s->ends[i], &s->joined.rig);
		s->clients[i].conn = net_connect(
		    s->joined.rig.loop, &s->joined.at, client, name, &owner_ops, &s->clients[i]);
	}
}

/* Ends the burst, and returns how many of its handshakes resumed a session. */
static unsigned count_resumed(struct server *s, unsigned count)
{
	unsigned resumed = 0;
	for (unsigned i = 0; i < count; i++)
		run_until(&s->joined.rig, s->clients[i].received == 10);
	for (unsigned i = 0; i < count; i++) {
		resumed += SSL_session_reused(s->clients[i].conn->layer.ssl) != 0;
		owner_fini(&s->clients[i]);
		owner_fini(&s->ends[i]);
	}
	run_passes(&s->joined.rig, 2);
	return resumed;
}

static void a_burst_to_two_servers_resumes_a_session_of_each_server(void **state)
{
	(void)state;
	struct server servers[SERVERS];
	client = client_with(&pair_certs, true, "h2");
	for (unsigned i = 0; i < SERVERS; i++)
		server_init(&servers[i]);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < SERVERS; i++)
			connect_all(&servers[i], "localhost", BURST);
		for (unsigned i = 0; i < SERVERS; i++)
			assert_int_equal(count_resumed(&servers[i], BURST), round == 0 ? 0 : BURST);
	}
	for (unsigned i = 0; i < SERVERS; i++)
		server_fini(&servers[i]);
	net_tls_free(client);
}

static void a_ticket_of_tls_1_3_is_used_once_and_a_session_of_tls_1_2_again(void **state)
{
	(void)state;
	static const uint16_t versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};
	for (size_t i = 0; i < 2; i++) {
		struct server s;
		server_init(&s);
		client = client_with(&pair_certs, true, "h2");
		SSL_CTX_set_max_proto_version(client->context, versions[i]);
		connect_all(&s, "localhost", 1);
		assert_int_equal(count_resumed(&s, 1), 0);
		size_t kept = client->sessions.count;
		assert_true(kept > 0 && kept < BURST);
		connect_all(&s, "localhost", BURST);
		assert_int_equal(count_resumed(&s, BURST), i == 0 ? kept : BURST);
		server_fini(&s);
		net_tls_free(client);
	}
}

static void a_session_is_not_used_for_another_name_at_the_same_address(void **state)
{
	(void)state;
	struct server s;
	server_init(&s);
	client = client_with(&pair_certs, true, "h2");
	connect_all(&s, "localhost", 1);
	assert_int_equal(count_resumed(&s, 1), 0);
	connect_all(&s, "127.0.0.1", 1);
	assert_int_equal(count_resumed(&s, 1), 0);
	connect_all(&s, "localhost", 1);
	assert_int_equal(count_resumed(&s, 1), 1);
	server_fini(&s);
	net_tls_free(client);
}

/* ---- bounds ---- */

static SSL_SESSION *session_of(uint16_t version)
{
	SSL_SESSION *session = SSL_SESSION_new(client->context);
	assert_non_null(session);
	assert_true(SSL_SESSION_set_protocol_version(session, version));
	return session;
}

static void put(struct tls_sessions *all, unsigned port, uint16_t version)
{
	struct net_address at;
	assert_null(net_address_parse(SLICE("192.0.2.1:1"), &at));
	at.in.sin_port = htons((uint16_t)port);
	tls_sessions_put(all, &at, "a.test", session_of(version));
}

static void the_oldest_sessions_go_when_there_are_many(void **state)
{
	(void)state;
	struct tls_sessions all = {.count = 0};
	list_init(&all.newest);
	client = client_with(&pair_certs, true, "h2");
	for (unsigned i = 0; i < 3 * LIMIT_SESSIONS_OF_SERVER; i++)
		put(&all, 1, TLS1_3_VERSION);
	assert_int_equal(all.count, LIMIT_SESSIONS_OF_SERVER);
	/* A session that may be used again leaves no other one of its server. */
	put(&all, 2, TLS1_3_VERSION);
	put(&all, 1, TLS1_2_VERSION);
	assert_int_equal(all.count, 2);
	for (unsigned port = 3; port < 3 * LIMIT_SESSIONS; port++) {
		put(&all, port, TLS1_3_VERSION);
		assert_true(all.count <= LIMIT_SESSIONS);
	}
	assert_int_equal(all.count, LIMIT_SESSIONS);
	tls_sessions_clear(&all);
	assert_int_equal(all.count, 0);
	net_tls_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_burst_to_two_servers_resumes_a_session_of_each_server),
	    cmocka_unit_test(a_ticket_of_tls_1_3_is_used_once_and_a_session_of_tls_1_2_again),
	    cmocka_unit_test(a_session_is_not_used_for_another_name_at_the_same_address),
	    cmocka_unit_test(the_oldest_sessions_go_when_there_are_many),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
