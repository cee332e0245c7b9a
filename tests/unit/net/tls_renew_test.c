/* SPDX-License-Identifier: MIT */
/* TLS contexts whose files have changed: the next handshakes, and connections that are there already. */
#include "proxy/base/sealed.h"
#include "tests/unit/net/rig.h"

static struct certs certs, others; /* two authorities; `others` covers *.example.com too */
static char chain[128], key[128], authorities[128], second[128], second_key[128];
static struct net_certificate files[] = {{chain, key}, {second, second_key}};

static void put(const char *from, const char *to)
{
	char command[512];
	snprintf(command, sizeof(command), "cp %s %s", from, to);
	assert_int_equal(system(command), 0);
}

static int set_up_group(void **state)
{
	(void)state;
	certs_init(&certs, "www.example.org");
	certs_init(&others, "'*.example.com'");
	snprintf(chain, sizeof(chain), "%s/current.pem", certs.directory);
	snprintf(key, sizeof(key), "%s/current.key", certs.directory);
	snprintf(second, sizeof(second), "%s/second.pem", certs.directory);
	snprintf(second_key, sizeof(second_key), "%s/second.key", certs.directory);
	snprintf(authorities, sizeof(authorities), "%s/current-ca.pem", certs.directory);
	return 0;
}

static int tear_down_group(void **state)
{
	(void)state;
	certs_fini(&certs);
	certs_fini(&others);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	put(certs.rsa, chain);
	put(certs.rsa_key, key);
	put(certs.ecdsa, second);
	put(certs.ecdsa_key, second_key);
	put(certs.ca, authorities);
	return 0;
}

static struct net_tls *server_of(size_t count, const struct sealed *sealed)
{
	char error[256] = "";
	struct net_tls_server_options o = {
	    .certificates = files, .certificate_count = count, .alpn = "h2", .files = sealed};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	assert_string_equal(error, "");
	return t;
}

static void renew(struct net_tls *t)
{
	char error[256] = "";
	assert_true(net_tls_renew(t, NULL, error, sizeof(error)));
	assert_string_equal(error, "");
}

/* Whether the handshake succeeds. */
static bool meets(struct net_tls *server, struct net_tls *client, const char *name)
{
	struct joined j;
	joined_init(&j);
	joined_connect(&j, server, client, name);
	run_until(
	    &j.rig, (j.client.opened || j.client.ended) && (j.server.opened || j.server.ended));
	bool is_open = j.client.opened == 1;
	joined_fini(&j);
	return is_open;
}

static void the_next_handshake_has_the_new_certificate_and_connections_go_on(void **state)
{
	(void)state;
	struct net_tls *server = server_of(1, NULL), *client = client_with(&certs, true, "h2");
	struct net_tls *other = client_with(&others, true, "h2");
	struct joined j;
	joined_init(&j);
	joined_open(&j, server, client, "localhost");
	assert_false(meets(server, other, "a.example.com"));
	put(others.rsa, chain);
	put(others.rsa_key, key);
	renew(server);
	assert_true(meets(server, other, "a.example.com"));
	assert_true(net_tls_covers(server, SLICE("b.example.com")));
	owner_send(&j.server, 0, 1000);
	owner_send(&j.client, 0, 1000);
	run_until(&j.rig, j.client.received == 1000 && j.server.received == 1000);
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
	net_tls_free(other);
}

static void a_handshake_that_has_begun_goes_on_with_the_new_certificate(void **state)
{
	(void)state;
	static const char *const names[] = {
	    "a.example.com", "127.0.0.1"}; /* the second one is no SNI */
	for (size_t i = 0; i < 2; i++) {
		set_up(NULL);
		struct net_tls *server = server_of(1, NULL),
			       *client = client_with(&others, true, "h2");
		struct joined j;
		joined_init(&j);
		joined_connect(&j, server, client, names[i]);
		put(others.rsa, chain);
		put(others.rsa_key, key);
		renew(server);
		run_until(&j.rig, j.client.opened || j.client.ended);
		assert_string_equal(j.client.text, "");
		assert_int_equal(j.client.opened, 1);
		joined_fini(&j);
		net_tls_free(server);
		net_tls_free(client);
	}
}

static void a_pair_that_does_not_fit_keeps_the_old_one(void **state)
{
	(void)state;
	char error[256] = "";
	struct net_tls *server = server_of(2, NULL), *client = client_with(&certs, true, "h2");
	const SSL_CTX *before[] = {
	    server->certificates[0].context, server->certificates[1].context};
	put(others.ecdsa_key, second_key);
	assert_false(net_tls_renew(server, NULL, error, sizeof(error)));
	assert_non_null(strstr(error, second_key));
	for (size_t i = 0; i < 2; i++)
		assert_ptr_equal(server->certificates[i].context, before[i]);
	assert_true(meets(server, client, "localhost"));
	put(others.ecdsa, second);
	renew(server);
	net_tls_free(server);
	net_tls_free(client);
}

static struct sealed *sealed_files(void)
{
	struct sealed *s = sealed_new();
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(sealed_add(s, files[i].chain_file), 0);
		assert_int_equal(sealed_add(s, files[i].key_file), 0);
	}
	sealed_seal(s);
	return s;
}

static void what_has_not_changed_is_not_read_again(void **state)
{
	(void)state;
	char error[256] = "";
	struct sealed *first = sealed_files();
	struct net_tls *server = server_of(2, first);
	const SSL_CTX *before[] = {
	    server->certificates[0].context, server->certificates[1].context};
	put(others.ecdsa, second);
	put(others.ecdsa_key, second_key);
	struct sealed *newer = sealed_files();
	assert_true(sealed_replace(first, dup(sealed_descriptor(newer))));
	assert_true(net_tls_renew(server, first, error, sizeof(error)));
	assert_ptr_equal(server->certificates[0].context, before[0]);
	assert_ptr_not_equal(server->certificates[1].context, before[1]);
	sealed_free(first);
	sealed_free(newer);
	net_tls_free(server);
}

/* ---- bundles ---- */

/* The sealed bundle "bundle" of these pairs: chain and key of each. */
static struct sealed *bundle_of(const struct net_certificate *pairs, size_t count)
{
	struct sealed *s = sealed_new();
	struct sealed_part parts[16];
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		parts[n++] = (struct sealed_part){.text = SLICE(NET_BUNDLE_LINE "pair\n")};
		parts[n++] = (struct sealed_part){.path = pairs[i].chain_file};
		parts[n++] = (struct sealed_part){.path = pairs[i].key_file};
		parts[n++] = (struct sealed_part){.text = SLICE("\n")};
	}
	assert_int_equal(sealed_add_parts(s, "bundle", parts, n), 0);
	sealed_seal(s);
	return s;
}

static bool replace(struct net_tls *t, struct sealed *s, const struct net_certificate *pairs,
    size_t count, char *error, size_t size)
{
	struct sealed *newer = bundle_of(pairs, count);
	assert_true(sealed_replace(s, dup(sealed_descriptor(newer))));
	sealed_free(newer);
	return net_tls_renew(t, s, error, size);
}

static void certificates_of_a_bundle_come_go_and_stay(void **state)
{
	(void)state;
	char error[256] = "";
	const struct net_certificate bundle = {"bundle", NULL};
	const struct net_certificate rsa = {certs.rsa, certs.rsa_key};
	const struct net_certificate ecdsa = {certs.ecdsa, certs.ecdsa_key};
	const struct net_certificate other = {others.rsa, others.rsa_key};
	const struct net_certificate mixed = {others.rsa, certs.rsa_key};
	struct sealed *s = bundle_of((struct net_certificate[]){rsa, ecdsa}, 2);
	struct net_tls_server_options o = {
	    .certificates = &bundle, .certificate_count = 1, .alpn = "h2", .files = s};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	assert_string_equal(error, "");
	assert_int_equal(net_tls_certificate_count(t), 2);
	const SSL_CTX *kept = t->certificates[1].context;
	/* The first one goes, another one comes; the same one twice is no mistake. */
	assert_true(replace(
	    t, s, (struct net_certificate[]){other, ecdsa, ecdsa}, 3, error, sizeof(error)));
	assert_int_equal(net_tls_certificate_count(t), 3);
	assert_ptr_equal(t->certificates[1].context, kept);
	assert_true(net_tls_covers(t, SLICE("a.example.com")));
	/* One that does not fit keeps all of before, those that would have stayed too. */
	assert_false(
	    replace(t, s, (struct net_certificate[]){ecdsa, mixed, rsa}, 3, error, sizeof(error)));
	assert_non_null(strstr(error, "pair: "));
	assert_int_equal(net_tls_certificate_count(t), 3);
	assert_ptr_equal(t->certificates[1].context, kept);
	assert_true(replace(t, s, (struct net_certificate[]){ecdsa}, 1, error, sizeof(error)));
	assert_int_equal(net_tls_certificate_count(t), 1);
	assert_false(net_tls_covers(t, SLICE("a.example.com")));
	struct net_tls *client = client_with(&certs, true, "h2");
	assert_true(meets(t, client, "localhost"));
	net_tls_free(client);
	net_tls_free(t);
	sealed_free(s);
}

/* Begins to take these certificates. */
static void begin(
    struct net_tls *t, struct sealed *s, const struct net_certificate *pairs, size_t count)
{
	struct sealed *newer = bundle_of(pairs, count);
	assert_true(sealed_replace(s, dup(sealed_descriptor(newer))));
	sealed_free(newer);
	net_tls_renew_begin(t, s);
}

static void a_renewal_in_steps_changes_nothing_before_its_end(void **state)
{
	(void)state;
	char error[256] = "";
	unsigned steps = 0;
	const struct net_certificate bundle = {"bundle", NULL};
	const struct net_certificate rsa = {certs.rsa, certs.rsa_key};
	const struct net_certificate ecdsa = {certs.ecdsa, certs.ecdsa_key};
	const struct net_certificate other = {others.rsa, others.rsa_key};
	const struct net_certificate mixed = {others.rsa, certs.rsa_key};
	struct sealed *s = bundle_of((struct net_certificate[]){rsa, ecdsa}, 2);
	struct net_tls_server_options o = {
	    .certificates = &bundle, .certificate_count = 1, .alpn = "h2", .files = s};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	struct net_tls *client = client_with(&certs, true, "h2");
	const SSL_CTX *kept = t->certificates[1].context;
	/* A failure in the middle, with one that would have stayed in the list already. */
	begin(t, s, (struct net_certificate[]){ecdsa, mixed, rsa}, 3);
	while (net_tls_renew_step(t, 0, error, sizeof(error)))
		assert_string_equal(error, "");
	assert_non_null(strstr(error, "pair: "));
	error[0] = '\0';
	assert_ptr_equal(t->certificates[1].context, kept);
	/* A renewal that is under way begins again with what has changed since. */
	begin(t, s, (struct net_certificate[]){ecdsa, rsa, other}, 3);
	assert_true(net_tls_renew_step(t, 0, error, sizeof(error)));
	assert_true(net_tls_renew_step(t, 0, error, sizeof(error)));
	begin(t, s, (struct net_certificate[]){other, ecdsa, other, other}, 4);
	for (; net_tls_renew_step(t, 0, error, sizeof(error)); steps++) {
		/* The bundle is opened, and four certificates are read. */
		bool has_exchanged = net_tls_certificate_count(t) == 4;
		assert_int_equal(has_exchanged, steps >= 5);
		assert_true(has_exchanged || net_tls_certificate_count(t) == 2);
		assert_true(meets(t, client, "localhost"));
	}
	assert_string_equal(error, "");
	assert_ptr_equal(t->certificates[1].context, kept);
	assert_false(net_tls_renew_step(t, 0, error, sizeof(error)));
	/* One that is under way when its server goes. */
	begin(t, s, (struct net_certificate[]){ecdsa, rsa}, 2);
	assert_true(net_tls_renew_step(t, 0, error, sizeof(error)));
	assert_true(net_tls_renew_step(t, 0, error, sizeof(error)));
	net_tls_free(client);
	net_tls_free(t);
	sealed_free(s);
}

/* A ticket is sealed by the same keys as before. */
static void a_session_is_resumed_over_a_renewal(void **state)
{
	(void)state;
	struct net_tls *server = server_of(1, NULL), *client = client_with(&certs, true, "h2");
	struct joined j;
	joined_init(&j);
	for (unsigned i = 0; i < 2; i++) {
		joined_open(&j, server, client, "localhost");
		owner_send(&j.server, 0, 10); /* tickets travel with it */
		run_until(&j.rig, j.client.received == 10);
		assert_int_equal(SSL_session_reused(j.server.conn->layer.ssl), i);
		joined_part(&j);
		renew(server);
	}
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
}

static void a_client_believes_the_new_authorities_alone(void **state)
{
	(void)state;
	char error[256] = "";
	struct net_tls_client_options o = {
	    .ca_file = authorities, .verify = true, .alpn = "h2"};
	struct net_tls *server = server_of(1, NULL);
	struct net_tls *client = net_tls_client_new(&o, error, sizeof(error));
	struct joined j;
	joined_init(&j);
	joined_open(&j, server, client, "localhost");
	put(others.ca, authorities);
	renew(client);
	/* A session of the old authorities would make the next handshake do without a certificate. */
	owner_send(&j.server, 0, 10);
	run_until(&j.rig, j.client.received == 10);
	assert_int_equal(client->sessions.count, 0);
	joined_fini(&j);
	assert_false(meets(server, client, "localhost"));
	put(others.rsa, chain);
	put(others.rsa_key, key);
	renew(server);
	assert_true(meets(server, client, "localhost"));
	assert_int_equal(truncate(authorities, 0), 0);
	assert_false(net_tls_renew(client, NULL, error, sizeof(error)));
	assert_non_null(strstr(error, authorities));
	assert_true(meets(server, client, "localhost"));
	net_tls_free(server);
	net_tls_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(
		the_next_handshake_has_the_new_certificate_and_connections_go_on, set_up),
	    cmocka_unit_test_setup(
		a_handshake_that_has_begun_goes_on_with_the_new_certificate, set_up),
	    cmocka_unit_test_setup(a_pair_that_does_not_fit_keeps_the_old_one, set_up),
	    cmocka_unit_test_setup(what_has_not_changed_is_not_read_again, set_up),
	    cmocka_unit_test_setup(certificates_of_a_bundle_come_go_and_stay, set_up),
	    cmocka_unit_test_setup(a_renewal_in_steps_changes_nothing_before_its_end, set_up),
	    cmocka_unit_test_setup(a_session_is_resumed_over_a_renewal, set_up),
	    cmocka_unit_test_setup(a_client_believes_the_new_authorities_alone, set_up),
	};
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
