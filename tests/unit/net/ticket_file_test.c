/* SPDX-License-Identifier: MIT */
/* Ticket keys from a file: servers that share it resume each other's sessions, and keys that are exchanged refuse none. */
#include "tests/unit/net/rig.h"

static struct certs certs;
static struct joined home; /* stays, since a session is resumed at the address that it came from */
static char path[128];

#define A "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
#define B "b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2"
#define C "c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3"

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, "www.example.org");
	joined_init(&home);
	snprintf(path, sizeof(path), "%s/tickets.keys", certs.directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	joined_fini(&home);
	certs_fini(&certs);
	return 0;
}

static void put(const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct net_tls *server_new(void)
{
	char error[256] = "";
	const struct net_certificate one = {certs.ecdsa, certs.ecdsa_key};
	struct net_tls_server_options o = {
	    .certificates = &one, .certificate_count = 1, .alpn = "h2", .ticket_file = path};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	assert_string_equal(error, "");
	/* The list is on this function's stack. */
	t->source_count = 0;
	return t;
}

/* Reads the file again. */
static bool renew(struct net_tls *t)
{
	char error[256] = "";
	return tls_ticket_file_read(&t->ticket_file, NULL, error, sizeof(error));
}

static bool is_resumed(struct net_tls *server, struct net_tls *client)
{
	joined_open(&home, server, client, "localhost");
	owner_send(&home.server, 0, 10); /* tickets travel with it */
	run_until(&home.rig, home.client.received == 10);
	bool is_resumed = SSL_session_reused(home.server.conn->layer.ssl);
	joined_part(&home);
	return is_resumed;
}

static void a_session_is_resumed_by_another_server_with_the_same_file(void **state)
{
	(void)state;
	static const uint16_t versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	put("# of today\n" A "\r\n\n" B "\n");
	for (size_t i = 0; i < 2; i++) {
		struct net_tls *one = server_new(), *two = server_new();
		struct net_tls *client = client_with(&certs, true, "h2");
		SSL_CTX_set_max_proto_version(client->context, versions[i]);
		assert_false(is_resumed(one, client));
		assert_true(is_resumed(two, client));
		assert_true(is_resumed(one, client));
		net_tls_free(one);
		net_tls_free(two);
		net_tls_free(client);
	}
}

static void a_key_that_is_not_the_first_is_accepted_and_the_ticket_replaced(void **state)
{
	(void)state;
	put(A "\n");
	struct net_tls *server = server_new(), *client = client_with(&certs, true, "h2");
	assert_false(is_resumed(server, client));
	put(B "\n" A "\n");
	assert_true(renew(server));
	assert_true(is_resumed(server, client));
	/* The client has a ticket of the new key by now. */
	put(C "\n" B "\n");
	assert_true(renew(server));
	assert_true(is_resumed(server, client));
	/* One of a key that has gone makes a whole handshake. */
	put(A "\n");
	assert_true(renew(server));
	assert_false(is_resumed(server, client));
	net_tls_free(server);
	net_tls_free(client);
}

static void a_bad_file_is_refused_and_the_keys_of_before_stay(void **state)
{
	(void)state;
	static const struct {
		const char *text, *wrong;
	} rows[] = {
	    {"", "it has no secret"},
	    {"# nothing\n", "it has no secret"},
	    {A "\nshort\n", "line 2 is too short for a secret"},
	    {A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n" A "\n",
		"line 9 is one secret too many"},
	};
	put(A "\n");
	struct net_tls *server = server_new(), *client = client_with(&certs, true, "h2");
	assert_false(is_resumed(server, client));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char error[256], expected[256];
		put(rows[i].text);
		assert_false(renew(server));
		assert_false(net_ticket_file_check(NULL, path, error, sizeof(error)));
		snprintf(expected, sizeof(expected), "%s: %s", path, rows[i].wrong);
		assert_string_equal(error, expected);
	}
	assert_true(is_resumed(server, client));
	net_tls_free(server);
	net_tls_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_session_is_resumed_by_another_server_with_the_same_file),
	    cmocka_unit_test(a_key_that_is_not_the_first_is_accepted_and_the_ticket_replaced),
	    cmocka_unit_test(a_bad_file_is_refused_and_the_keys_of_before_stay),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
