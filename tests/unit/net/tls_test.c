/* SPDX-License-Identifier: MIT */
/* TLS: verification, the choice of the certificate, negotiation, and refusals. */
#include "tests/unit/net/rig.h"
#include <openssl/err.h>

static struct certs certs, others; /* others: another CA, and *.example.com */
static struct joined home; /* stays, since a session is resumed at the address that it came from */

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, "www.example.org");
	certs_init(&others, "'*.example.com' 192.0.2.7");
	joined_init(&home);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	joined_fini(&home);
	certs_fini(&certs);
	certs_fini(&others);
	return 0;
}

/* Runs one handshake; the owners are kept for assertions. */
struct meeting {
	struct joined j;
	struct net_tls *server, *client;
};

static void meet(
    struct meeting *m, struct net_tls *server, struct net_tls *client, const char *name)
{
	joined_init(&m->j);
	m->server = server;
	m->client = client;
	joined_connect(&m->j, server, client, name);
	run_until(&m->j.rig,
	    (m->j.client.opened || m->j.client.ended) && (m->j.server.opened || m->j.server.ended));
}

static void part(struct meeting *m)
{
	joined_fini(&m->j);
	net_tls_free(m->server);
	net_tls_free(m->client);
}

static int key_type_shown(const struct meeting *m)
{
	X509 *x = SSL_get_peer_certificate(m->j.client.conn->layer.ssl);
	assert_non_null(x);
	EVP_PKEY *key = X509_get_pubkey(x);
	int type = EVP_PKEY_id(key);
	EVP_PKEY_free(key);
	X509_free(x);
	return type;
}

static bool slice_is(struct slice s, const char *text)
{
	return slice_equal(s, slice_of_string(text));
}

static void both_ends_report_the_negotiated_parameters(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2,http/1.1", NULL),
	    client_with(&certs, true, "http/1.1,h2"), "www.example.org");
	assert_true(slice_is(net_conn_alpn(m.j.client.conn), "h2"));
	assert_true(slice_is(net_conn_alpn(m.j.server.conn), "h2"));
	assert_true(slice_is(net_conn_sni(m.j.server.conn), "www.example.org"));
	assert_string_equal(net_conn_tls_version(m.j.server.conn), "TLSv1.3");
	assert_true(net_conn_is_tls(m.j.server.conn));
	assert_true(net_conn_peer_covers(m.j.client.conn, SLICE("www.example.org")));
	assert_true(net_conn_peer_covers(m.j.client.conn, SLICE("localhost")));
	assert_true(net_conn_peer_covers(m.j.client.conn, SLICE("[::1]")));
	assert_false(net_conn_peer_covers(m.j.client.conn, SLICE("example.org")));
	assert_false(net_conn_peer_covers(m.j.server.conn, SLICE("localhost")));
	part(&m);
}

static void an_ip_literal_is_verified_and_not_sent_as_sni(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "::1");
	assert_int_equal(m.j.client.opened, 1);
	assert_int_equal(net_conn_sni(m.j.server.conn).len, 0);
	part(&m);
}

static void client_refuses(
    const struct certs *shown, const struct certs *believed, const char *name, const char *text)
{
	struct meeting m;
	meet(&m, server_with(shown, true, true, "h2", NULL), client_with(believed, true, "h2"),
	    name);
	assert_int_equal(m.j.client.opened, 0);
	assert_int_equal(m.j.client.end, NET_END_CERTIFICATE);
	assert_string_equal(m.j.client.text, text);
	part(&m);
}

static void a_certificate_of_an_unknown_ca_is_refused(void **state)
{
	(void)state;
	client_refuses(&certs, &others, "localhost",
	    "certificate verify failed: unable to get local issuer certificate");
}

static void a_certificate_for_another_name_is_refused(void **state)
{
	(void)state;
	client_refuses(
	    &certs, &certs, "example.org", "certificate verify failed: Hostname mismatch");
	client_refuses(
	    &certs, &certs, "192.0.2.1", "certificate verify failed: IP address mismatch");
}

static void a_verifying_client_without_a_name_refuses(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	struct net_tls *server = server_with(&certs, true, true, "h2", NULL);
	struct net_tls *client = client_with(&certs, true, "h2");
	joined_connect(&j, server, client, NULL);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_TLS);
	assert_string_equal(j.client.text, "no name to verify the server by");
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
}

static void the_server_hears_the_alert_of_the_client(void **state)
{
	(void)state;
	struct meeting m;
	/* TLS 1.2, where the server waits for the client's word. */
	struct net_tls *client = client_with(&others, true, "h2");
	SSL_CTX_set_max_proto_version(client->context, TLS1_2_VERSION);
	meet(&m, server_with(&certs, true, true, "h2", NULL), client, "localhost");
	assert_int_equal(m.j.server.end, NET_END_ALERT);
	assert_string_equal(m.j.server.text, "the peer sent the alert: unknown CA");
	part(&m);
}

static void without_verification_any_certificate_is_accepted(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&others, false, "h2"),
	    "nobody.invalid");
	assert_int_equal(m.j.client.opened, 1);
	assert_false(net_conn_peer_covers(m.j.client.conn, SLICE("localhost")));
	part(&m);
}

static void alpn_without_ours_is_refused_with_the_right_alert(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "http/1.1"),
	    "localhost");
	assert_int_equal(m.j.server.opened, 0);
	assert_int_equal(m.j.server.end, NET_END_TLS);
	assert_string_equal(m.j.client.text, "the peer sent the alert: no application protocol");
	part(&m);
}

static void no_alpn_at_all_is_left_to_the_owner(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, NULL),
	    "localhost");
	assert_int_equal(m.j.server.opened, 1);
	assert_int_equal(net_conn_alpn(m.j.server.conn).len, 0);
	assert_int_equal(net_conn_alpn(m.j.client.conn).len, 0);
	part(&m);
}

static int shown_to(const uint16_t *schemes, size_t count, uint16_t version)
{
	struct meeting m;
	struct net_tls *client = client_with(&certs, true, "h2");
	SSL_CTX_set_verify_algorithm_prefs(client->context, schemes, count);
	SSL_CTX_set_max_proto_version(client->context, version);
	meet(&m, server_with(&certs, true, true, "h2", NULL), client, "localhost");
	assert_int_equal(m.j.client.opened, 1);
	int type = key_type_shown(&m);
	part(&m);
	return type;
}

static void the_client_s_signature_algorithms_choose_the_key(void **state)
{
	(void)state;
	static const uint16_t rsa[] = {SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_RSA_PKCS1_SHA256};
	static const uint16_t ecdsa[] = {SSL_SIGN_ECDSA_SECP256R1_SHA256};
	static const uint16_t both[] = {
	    SSL_SIGN_RSA_PSS_RSAE_SHA256, SSL_SIGN_ECDSA_SECP256R1_SHA256};
	static const uint16_t versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(shown_to(rsa, 2, versions[i]), EVP_PKEY_RSA);
		assert_int_equal(shown_to(ecdsa, 1, versions[i]), EVP_PKEY_EC);
		assert_int_equal(shown_to(both, 2, versions[i]), EVP_PKEY_EC);
	}
}

static void a_tls12_client_without_ecdsa_suites_gets_rsa(void **state)
{
	(void)state;
	struct meeting m;
	struct net_tls *client = client_with(&certs, true, "h2");
	SSL_CTX_set_max_proto_version(client->context, TLS1_2_VERSION);
	assert_true(SSL_CTX_set_strict_cipher_list(client->context, "ECDHE-RSA-AES128-GCM-SHA256"));
	meet(&m, server_with(&certs, true, true, "h2", NULL), client, "localhost");
	assert_int_equal(m.j.client.opened, 1);
	assert_int_equal(key_type_shown(&m), EVP_PKEY_RSA);
	part(&m);
}

static void sni_chooses_the_certificate(void **state)
{
	(void)state;
	struct {
		const char *name;
		const struct certs *ca;
	} cases[] = {
	    {"www.example.org", &certs},
	    {"a.example.com", &others},
	    {"B.Example.COM", &others},
	    /* Both have it: the earlier one. */
	    {"localhost", &certs},
	};
	struct net_certificate list[] = {
	    {certs.ecdsa, certs.ecdsa_key}, {others.ecdsa, others.ecdsa_key}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char error[256];
		struct net_tls_server_options o = {
		    .certificates = list, .certificate_count = 2, .alpn = "h2"};
		struct meeting m;
		meet(&m, net_tls_server_new(&o, error, sizeof(error)),
		    client_with(cases[i].ca, true, "h2"), cases[i].name);
		assert_string_equal(m.j.client.text, "");
		assert_int_equal(m.j.client.opened, 1);
		part(&m);
	}
}

static void an_unknown_name_gets_the_default_certificate(void **state)
{
	(void)state;
	struct net_certificate list[] = {
	    {others.ecdsa, others.ecdsa_key}, {certs.rsa, certs.rsa_key}};
	char error[256];
	struct net_tls_server_options o = {
	    .certificates = list, .certificate_count = 2, .alpn = "h2"};
	struct meeting m;
	meet(&m, net_tls_server_new(&o, error, sizeof(error)), client_with(&certs, false, "h2"),
	    "nobody.invalid");
	assert_int_equal(m.j.client.opened, 1);
	X509 *x = SSL_get_peer_certificate(m.j.client.conn->layer.ssl);
	struct tls_names names;
	tls_names_init(&names, x);
	assert_true(tls_names_cover(&names, SLICE("x.example.com")));
	tls_names_fini(&names);
	X509_free(x);
	part(&m);
}

static void only_ephemeral_aead_suites_are_accepted_in_tls12(void **state)
{
	(void)state;
	static const struct {
		const char *suite;
		bool is_taken;
	} suites[] = {
	    {"ECDHE-ECDSA-AES128-GCM-SHA256", true},
	    {"ECDHE-ECDSA-AES256-GCM-SHA384", true},
	    {"ECDHE-ECDSA-CHACHA20-POLY1305", true},
	    {"ECDHE-RSA-AES128-GCM-SHA256", true},
	    {"ECDHE-RSA-AES256-GCM-SHA384", true},
	    {"ECDHE-RSA-CHACHA20-POLY1305", true},
	    {"ECDHE-RSA-AES128-SHA", false},
	    {"ECDHE-ECDSA-AES128-SHA", false},
	    {"AES128-GCM-SHA256", false},
	    {"AES256-SHA", false},
	};
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++) {
		struct meeting m;
		struct net_tls *client = client_with(&certs, true, "h2");
		SSL_CTX_set_max_proto_version(client->context, TLS1_2_VERSION);
		assert_true(SSL_CTX_set_strict_cipher_list(client->context, suites[i].suite));
		meet(&m, server_with(&certs, true, true, "h2", NULL), client, "localhost");
		assert_int_equal(m.j.client.opened, suites[i].is_taken);
		assert_int_equal(m.j.server.opened, suites[i].is_taken);
		if (suites[i].is_taken)
			assert_string_equal(net_conn_tls_version(m.j.server.conn), "TLSv1.2");
		else
			assert_string_equal(
			    m.j.client.text, "the peer sent the alert: handshake failure");
		part(&m);
	}
}

static void versions_before_tls12_are_refused(void **state)
{
	(void)state;
	struct meeting m;
	struct net_tls *client = client_with(&certs, true, "h2");
	SSL_CTX_set_min_proto_version(client->context, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(client->context, TLS1_1_VERSION);
	assert_true(SSL_CTX_set_cipher_list(client->context, "ALL"));
	meet(&m, server_with(&certs, true, true, "h2", NULL), client, "localhost");
	assert_int_equal(m.j.client.opened, 0);
	assert_int_equal(m.j.server.end, NET_END_TLS);
	part(&m);
}

/* ---- session tickets ---- */

static usec test_time;

static usec test_wall(void)
{
	return test_time;
}

/* A worker that began with these tickets; its clock is the test's. */
static struct net_tls *worker_with(const struct net_tickets *tickets)
{
	struct net_tls *t = server_with(&certs, true, true, "h2", tickets);
	t->wall = test_wall;
	return t;
}

static struct net_tickets tickets_now(void)
{
	struct net_tickets t;
	test_time = 1000 * NET_TICKET_PERIOD_USEC + NET_TICKET_PERIOD_USEC / 2;
	net_tickets_init(&t, test_time);
	return t;
}

static struct net_tls *client_of(uint16_t version)
{
	struct net_tls *client = client_with(&certs, true, "h2");
	SSL_CTX_set_max_proto_version(client->context, version);
	return client;
}

/* Whether the client's session is resumed. It keeps the newest ticket that comes. */
static bool resumes(struct net_tls *server, struct net_tls *client, const char *name)
{
	joined_open(&home, server, client, name);
	owner_send(&home.server, 0, 10); /* tickets travel with it */
	run_until(&home.rig, home.client.received == 10);
	bool is_resumed = SSL_session_reused(home.server.conn->layer.ssl);
	assert_int_equal(SSL_session_reused(home.client.conn->layer.ssl), is_resumed);
	/* The certificate is known on a resumed connection too. */
	assert_true(net_conn_peer_covers(home.client.conn, SLICE("www.example.org")));
	assert_true(slice_is(net_conn_alpn(home.client.conn), "h2"));
	assert_true(client->sessions.count > 0);
	joined_part(&home);
	return is_resumed;
}

static bool is_resumed_by_a_sibling(const struct net_tickets *first_tickets,
    const struct net_tickets *second_tickets, uint16_t version, const char *second_name)
{
	struct net_tls *client = client_of(version);
	struct net_tls *first = worker_with(first_tickets), *second = worker_with(second_tickets);
	assert_false(resumes(first, client, "localhost"));
	bool is_resumed = resumes(second, client, second_name);
	net_tls_free(first);
	net_tls_free(second);
	net_tls_free(client);
	return is_resumed;
}

static const uint16_t versions[] = {TLS1_3_VERSION, TLS1_2_VERSION};

static void a_sibling_with_the_same_key_resumes_the_session(void **state)
{
	(void)state;
	const struct net_tickets t = tickets_now();
	for (size_t i = 0; i < 2; i++)
		assert_true(is_resumed_by_a_sibling(&t, &t, versions[i], "localhost"));
}

static void another_ticket_key_resumes_nothing(void **state)
{
	(void)state;
	const struct net_tickets t = tickets_now();
	assert_false(is_resumed_by_a_sibling(&t, NULL, TLS1_3_VERSION, "localhost"));
	assert_false(is_resumed_by_a_sibling(NULL, NULL, TLS1_2_VERSION, "localhost"));
}

static void a_session_is_not_offered_to_another_name(void **state)
{
	(void)state;
	const struct net_tickets t = tickets_now();
	for (size_t i = 0; i < 2; i++)
		assert_false(is_resumed_by_a_sibling(&t, &t, versions[i], "www.example.org"));
}

/* The first ticket of each client is as old as the test says when the second connection comes. */
static bool is_resumed_after(usec span, uint16_t version)
{
	const struct net_tickets t = tickets_now();
	struct net_tls *client = client_of(version);
	struct net_tls *first = worker_with(&t), *second = worker_with(&t);
	assert_false(resumes(first, client, "localhost"));
	test_time += span;
	/* The second worker has had nothing to do since its start. */
	bool is_resumed = resumes(second, client, "localhost");
	net_tls_free(first);
	net_tls_free(second);
	net_tls_free(client);
	return is_resumed;
}

static void a_ticket_is_good_until_the_next_period_has_ended(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_true(is_resumed_after(NET_TICKET_PERIOD_USEC / 2 - 1, versions[i]));
		assert_true(is_resumed_after(NET_TICKET_PERIOD_USEC / 2, versions[i]));
		assert_true(is_resumed_after(NET_TICKET_PERIOD_USEC * 3 / 2 - 1, versions[i]));
		assert_false(is_resumed_after(NET_TICKET_PERIOD_USEC * 3 / 2, versions[i]));
		assert_false(is_resumed_after(1000 * NET_TICKET_PERIOD_USEC, versions[i]));
	}
}

static void a_ticket_of_the_previous_key_is_replaced(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct net_tickets t = tickets_now();
		struct net_tls *client = client_of(versions[i]), *server = worker_with(&t);
		assert_false(resumes(server, client, "localhost"));
		for (unsigned periods = 0; periods < 10; periods++) {
			test_time += NET_TICKET_PERIOD_USEC;
			assert_true(resumes(server, client, "localhost"));
		}
		net_tls_free(server);
		net_tls_free(client);
	}
}

static void ticket_keys_do_not_go_back_with_the_clock(void **state)
{
	(void)state;
	struct net_tickets t = tickets_now(), before = t;
	net_tickets_advance(&t, test_time - 100 * NET_TICKET_PERIOD_USEC);
	assert_memory_equal(&t, &before, sizeof(t));
	net_tickets_advance(&t, 0);
	assert_memory_equal(&t, &before, sizeof(t));
}

static bool contains(const struct net_tickets *t, const uint8_t *bytes)
{
	return memmem(t, sizeof(*t), bytes, 32) != NULL;
}

static void old_ticket_keys_are_erased(void **state)
{
	(void)state;
	const struct net_tickets before = tickets_now();
	struct net_tls *idle = worker_with(&before);
	const struct net_tickets *t = &idle->tickets;
	assert_memory_equal(t, &before, sizeof(before));
	test_time += NET_TICKET_PERIOD_USEC;
	net_tls_advance_tickets(idle);
	assert_false(contains(t, before.secret));
	assert_true(contains(t, before.current.mac) && contains(t, before.current.cipher));
	assert_memory_equal(&t->previous, &before.current, sizeof(before.current));
	assert_memory_not_equal(&t->current, &before.current, sizeof(before.current));
	test_time += NET_TICKET_PERIOD_USEC;
	net_tls_advance_tickets(idle);
	assert_false(contains(t, before.current.mac) || contains(t, before.current.cipher));
	/* One that skips the periods comes to the same keys. */
	struct net_tickets late = before;
	net_tickets_advance(&late, test_time);
	assert_memory_equal(&late, t, sizeof(late));
	net_tls_free(idle);
}

static void close_sends_close_notify_and_the_peer_sees_eof(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	owner_send(&m.j.server, 0, 100000);
	run_until(&m.j.rig, m.j.server.sent == 100000 && !net_conn_is_blocked(m.j.server.conn));
	net_conn_close(m.j.server.conn);
	m.j.server.conn = NULL;
	run_until(&m.j.rig, m.j.client.ended);
	assert_int_equal(m.j.client.end, NET_END_EOF);
	assert_int_equal(m.j.client.received, 100000);
	assert_int_equal(SSL_get_shutdown(m.j.client.conn->layer.ssl) & SSL_RECEIVED_SHUTDOWN,
	    SSL_RECEIVED_SHUTDOWN);
	part(&m);
}

static void close_notify_leaves_our_sending_side_open(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	SSL_shutdown(m.j.client.conn->layer.ssl);
	net_conn_send_output(m.j.client.conn);
	run_until(&m.j.rig, m.j.server.ended);
	assert_int_equal(m.j.server.end, NET_END_EOF);
	owner_send(&m.j.server, 0, 100000);
	run_until(&m.j.rig, m.j.client.received == 100000);
	assert_false(m.j.client.is_wrong);
	part(&m);
}

static void a_trailing_dot_of_the_server_name_does_not_matter(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost.");
	assert_int_equal(m.j.client.opened, 1);
	assert_true(slice_is(net_conn_sni(m.j.server.conn), "localhost"));
	part(&m);
}

static void fin_without_close_notify_is_an_end_of_its_own(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	shutdown(m.j.server.conn->fd, SHUT_WR);
	run_until(&m.j.rig, m.j.client.ended);
	assert_int_equal(m.j.client.end, NET_END_TRUNCATED);
	part(&m);
}

static void garbage_fails_the_handshake(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	struct net_tls *server = server_with(&certs, true, true, "h2", NULL);
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	joined_connect(&j, server, NULL, NULL);
	run_until(&j.rig, j.client.opened && j.server.conn);
	assert_int_equal(send(j.client.conn->fd, request, sizeof(request) - 1, MSG_NOSIGNAL),
	    sizeof(request) - 1);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_TLS);
	assert_string_equal(j.server.text, "an HTTP request came without TLS");
	joined_fini(&j);
	net_tls_free(server);
}

static void a_broken_record_fails_the_connection_with_an_alert(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	static const uint8_t record[5 + 32] = {23, 3, 3, 0, 32};
	assert_int_equal(
	    send(m.j.client.conn->fd, record, sizeof(record), MSG_NOSIGNAL), sizeof(record));
	run_until(&m.j.rig, m.j.server.ended);
	assert_int_equal(m.j.server.end, NET_END_TLS);
	assert_string_equal(m.j.server.text, "decryption failed or bad record mac");
	net_conn_close(m.j.server.conn);
	m.j.server.conn = NULL;
	run_until(&m.j.rig, m.j.client.ended);
	assert_string_equal(m.j.client.text, "the peer sent the alert: bad record mac");
	part(&m);
}

static void an_end_during_the_handshake_is_a_tls_failure(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	struct net_tls *server = server_with(&certs, true, true, "h2", NULL);
	joined_connect(&j, server, NULL, NULL);
	run_until(&j.rig, j.client.opened && j.server.conn);
	net_conn_close(j.client.conn);
	j.client.conn = NULL;
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_TLS);
	assert_string_equal(j.server.text, "closed by the peer during the handshake");
	joined_fini(&j);
	net_tls_free(server);
}

static void the_context_may_be_freed_before_its_connections(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	net_tls_free(m.server);
	net_tls_free(m.client);
	m.server = m.client = NULL;
	owner_send(&m.j.server, 0, 1000);
	run_until(&m.j.rig, m.j.client.received == 1000);
	part(&m);
}

static void idle_connections_hold_no_buffers(void **state)
{
	(void)state;
	struct meeting m;
	meet(&m, server_with(&certs, true, true, "h2", NULL), client_with(&certs, true, "h2"),
	    "localhost");
	owner_send(&m.j.server, 0, 100000);
	run_until(&m.j.rig, m.j.client.received == 100000);
	assert_null(m.j.server.conn->unsent);
	assert_null(m.j.client.conn->pending_input);
	/* The loop's own read chunk alone is out. */
	assert_int_equal(chunk_pool_out(m.j.rig.chunks), 1);
	part(&m);
}

static void unusable_files_are_named(void **state)
{
	(void)state;
	char error[256], expected[256];
	struct net_certificate one = {"/nonexistent/chain.pem", certs.rsa_key};
	struct net_tls_server_options o = {
	    .certificates = &one, .certificate_count = 1, .alpn = "h2"};
	assert_null(net_tls_server_new(&o, error, sizeof(error)));
	assert_string_equal(error, "/nonexistent/chain.pem: No such file or directory");
	one = (struct net_certificate){certs.rsa, certs.ecdsa_key};
	assert_null(net_tls_server_new(&o, error, sizeof(error)));
	assert_non_null(strstr(error, certs.ecdsa_key));
	one = (struct net_certificate){certs.rsa_key, certs.rsa_key};
	assert_null(net_tls_server_new(&o, error, sizeof(error)));
	snprintf(expected, sizeof(expected), "%s: no start line", certs.rsa_key);
	assert_string_equal(error, expected);
	o.certificate_count = 0;
	assert_null(net_tls_server_new(&o, error, sizeof(error)));
	struct net_tls_client_options c = {
	    .ca_file = "/nonexistent/ca.pem", .verify = true, .alpn = "h2"};
	assert_null(net_tls_client_new(&c, error, sizeof(error)));
	assert_non_null(strstr(error, "/nonexistent/ca.pem: "));
}

static void make_certificate(const char *key_options, const char *chain, const char *key)
{
	char command[512];
	snprintf(command, sizeof(command),
	    "openssl req -x509 -newkey %s -nodes -days 9 -subj /CN=x -addext "
	    "subjectAltName=DNS:localhost "
	    "-keyout %s -out %s 2>/dev/null",
	    key_options, key, chain);
	assert_int_equal(system(command), 0);
}

static void certificate_with_another_key_type_is_chosen_if_the_client_supports_it(void **state)
{
	(void)state;
	static const struct {
		const char *options;
		uint16_t scheme;
		int type;
	} kinds[] = {
	    {"ec -pkeyopt ec_paramgen_curve:P-384", SSL_SIGN_ECDSA_SECP384R1_SHA384, EVP_PKEY_EC},
	    {"ec -pkeyopt ec_paramgen_curve:P-521", SSL_SIGN_ECDSA_SECP521R1_SHA512, EVP_PKEY_EC},
	    {"ed25519", SSL_SIGN_ED25519, EVP_PKEY_ED25519},
	};
	char chain[128], key[128], error[256];
	snprintf(chain, sizeof(chain), "%s/other.pem", certs.directory);
	snprintf(key, sizeof(key), "%s/other.key", certs.directory);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		make_certificate(kinds[i].options, chain, key);
		struct net_certificate list[] = {{certs.rsa, certs.rsa_key}, {chain, key}};
		struct net_tls_server_options o = {
		    .certificates = list, .certificate_count = 2, .alpn = "h2"};
		const uint16_t schemes[] = {
		    kinds[i].scheme, SSL_SIGN_ECDSA_SECP256R1_SHA256, SSL_SIGN_RSA_PSS_RSAE_SHA256};
		for (size_t with = 0; with < 2; with++) {
			struct meeting m;
			struct net_tls *client = client_with(&certs, false, "h2");
			/* Without its own scheme the client gets the other key; Ed25519 is not preferred to RSA. */
			SSL_CTX_set_verify_algorithm_prefs(
			    client->context, schemes + 1 - with, with ? 1 : 2);
			meet(&m, net_tls_server_new(&o, error, sizeof(error)), client, "localhost");
			assert_string_equal(m.j.client.text, "");
			assert_int_equal(key_type_shown(&m), with ? kinds[i].type : EVP_PKEY_RSA);
			part(&m);
		}
	}
}

static void invalid_server_name_fails_the_connection(void **state)
{
	(void)state;
	char name[400];
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	struct joined j;
	joined_init(&j);
	struct net_tls *server = server_with(&certs, true, true, "h2", NULL);
	struct net_tls *client = client_with(&certs, true, "h2");
	joined_connect(&j, server, client, name);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_TLS);
	assert_string_equal(j.client.text, "the server name is not a host name");
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_ends_report_the_negotiated_parameters),
	    cmocka_unit_test(an_ip_literal_is_verified_and_not_sent_as_sni),
	    cmocka_unit_test(a_certificate_of_an_unknown_ca_is_refused),
	    cmocka_unit_test(a_certificate_for_another_name_is_refused),
	    cmocka_unit_test(a_verifying_client_without_a_name_refuses),
	    cmocka_unit_test(the_server_hears_the_alert_of_the_client),
	    cmocka_unit_test(without_verification_any_certificate_is_accepted),
	    cmocka_unit_test(alpn_without_ours_is_refused_with_the_right_alert),
	    cmocka_unit_test(no_alpn_at_all_is_left_to_the_owner),
	    cmocka_unit_test(the_client_s_signature_algorithms_choose_the_key),
	    cmocka_unit_test(a_tls12_client_without_ecdsa_suites_gets_rsa),
	    cmocka_unit_test(certificate_with_another_key_type_is_chosen_if_the_client_supports_it),
	    cmocka_unit_test(invalid_server_name_fails_the_connection),
	    cmocka_unit_test(sni_chooses_the_certificate),
	    cmocka_unit_test(an_unknown_name_gets_the_default_certificate),
	    cmocka_unit_test(only_ephemeral_aead_suites_are_accepted_in_tls12),
	    cmocka_unit_test(versions_before_tls12_are_refused),
	    cmocka_unit_test(a_sibling_with_the_same_key_resumes_the_session),
	    cmocka_unit_test(another_ticket_key_resumes_nothing),
	    cmocka_unit_test(a_session_is_not_offered_to_another_name),
	    cmocka_unit_test(a_ticket_is_good_until_the_next_period_has_ended),
	    cmocka_unit_test(a_ticket_of_the_previous_key_is_replaced),
	    cmocka_unit_test(ticket_keys_do_not_go_back_with_the_clock),
	    cmocka_unit_test(old_ticket_keys_are_erased),
	    cmocka_unit_test(close_sends_close_notify_and_the_peer_sees_eof),
	    cmocka_unit_test(close_notify_leaves_our_sending_side_open),
	    cmocka_unit_test(a_trailing_dot_of_the_server_name_does_not_matter),
	    cmocka_unit_test(fin_without_close_notify_is_an_end_of_its_own),
	    cmocka_unit_test(garbage_fails_the_handshake),
	    cmocka_unit_test(a_broken_record_fails_the_connection_with_an_alert),
	    cmocka_unit_test(an_end_during_the_handshake_is_a_tls_failure),
	    cmocka_unit_test(the_context_may_be_freed_before_its_connections),
	    cmocka_unit_test(idle_connections_hold_no_buffers),
	    cmocka_unit_test(unusable_files_are_named),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
