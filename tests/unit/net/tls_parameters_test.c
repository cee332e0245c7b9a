/* SPDX-License-Identifier: MIT */
/* What a server accepts: versions, suites and groups by name, strict-sni; exact names before wildcards. */
#include "tests/unit/net/rig.h"

static struct certs certs, exact, wild; /* `exact` has a.example.com, `wild` has *.example.com */

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, "www.example.org");
	certs_init(&exact, "a.example.com");
	certs_init(&wild, "'*.example.com'");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certs_fini(&certs);
	certs_fini(&exact);
	certs_fini(&wild);
	return 0;
}

static struct net_tls *server_of(
    const struct net_certificate *list, size_t count, const struct net_tls_parameters *p)
{
	char error[256] = "";
	struct net_tls_server_options o = {
	    .certificates = list, .certificate_count = count, .alpn = "h2", .parameters = p};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	assert_string_equal(error, "");
	return t;
}

static const struct net_tls_parameters both = {.most = NET_TLS_1_3};

/* Frees the client, whose text is kept: that of its end, or what it has agreed on. */
static const char *meets(struct net_tls *server, struct net_tls *client, const char *name)
{
	static char text[256];
	struct joined j;
	joined_init(&j);
	joined_connect(&j, server, client, name);
	run_until(
	    &j.rig, (j.client.opened || j.client.ended) && (j.server.opened || j.server.ended));
	if (j.client.opened) {
		X509 *x = SSL_get_peer_certificate(j.client.conn->layer.ssl);
		struct tls_names names;
		EVP_PKEY *key = X509_get_pubkey(x);
		tls_names_init(&names, x);
		snprintf(text, sizeof(text), "%s %s %s %s", net_conn_tls_version(j.client.conn),
		    SSL_get_curve_name(SSL_get_curve_id(j.client.conn->layer.ssl)),
		    EVP_PKEY_id(key) == EVP_PKEY_RSA ? "RSA" : "ECDSA",
		    names.dns[names.dns_count - 1]);
		tls_names_fini(&names);
		EVP_PKEY_free(key);
		X509_free(x);
	} else
		snprintf(text, sizeof(text), "%s", j.client.text);
	joined_fini(&j);
	net_tls_free(client);
	return text;
}

static struct net_tls *client_of(uint16_t version)
{
	struct net_tls *client = client_with(&certs, false, "h2");
	SSL_CTX_set_min_proto_version(client->context, version);
	SSL_CTX_set_max_proto_version(client->context, version);
	return client;
}

static void versions_outside_the_bounds_are_refused(void **state)
{
	(void)state;
	const struct net_certificate one = {certs.ecdsa, certs.ecdsa_key};
	static const struct {
		enum net_tls_version least, most;
		bool takes_12, takes_13;
	} rows[] = {
	    {NET_TLS_1_2, NET_TLS_1_3, true, true},
	    {NET_TLS_1_3, NET_TLS_1_3, false, true},
	    {NET_TLS_1_2, NET_TLS_1_2, true, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct net_tls_parameters p = {.least = rows[i].least, .most = rows[i].most};
		struct net_tls *server = server_of(&one, 1, &p);
		assert_string_equal(meets(server, client_of(TLS1_2_VERSION), "www.example.org"),
		    rows[i].takes_12 ? "TLSv1.2 X25519 ECDSA www.example.org"
				     : "the peer sent the alert: protocol version");
		assert_string_equal(meets(server, client_of(TLS1_3_VERSION), "www.example.org"),
		    rows[i].takes_13 ? "TLSv1.3 X25519 ECDSA www.example.org"
				     : "the peer sent the alert: protocol version");
		net_tls_free(server);
	}
}

static void suites_choose_the_kind_of_certificate_in_tls12(void **state)
{
	(void)state;
	const struct net_certificate list[] = {
	    {certs.ecdsa, certs.ecdsa_key}, {certs.rsa, certs.rsa_key}};
	/* With tls-max = 1.2 a client that speaks 1.3 too is judged by its suites. */
	const struct net_tls_parameters p = {
	    .suites = "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256"};
	struct net_tls *server = server_of(list, 2, &p);
	assert_string_equal(meets(server, client_of(TLS1_2_VERSION), "www.example.org"),
	    "TLSv1.2 X25519 RSA www.example.org");
	assert_string_equal(meets(server, client_with(&certs, false, "h2"), "www.example.org"),
	    "TLSv1.2 X25519 RSA www.example.org");
	net_tls_free(server);
}

static void by_itself_the_server_prefers_aes_whatever_the_client_does(void **state)
{
	(void)state;
	const struct net_certificate one = {certs.ecdsa, certs.ecdsa_key};
	const struct net_tls_parameters p = {.most = NET_TLS_1_2};
	static const struct {
		const char *offered, *chosen;
	} rows[] = {
	    {"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-"
	     "SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
	    {"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
	    {"ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct joined j;
		struct net_tls *server = server_of(&one, 1, &p),
			       *client = client_of(TLS1_2_VERSION);
		assert_true(SSL_CTX_set_strict_cipher_list(client->context, rows[i].offered));
		joined_init(&j);
		joined_open(&j, server, client, "www.example.org");
		assert_string_equal(net_conn_tls_cipher(j.server.conn), rows[i].chosen);
		joined_fini(&j);
		net_tls_free(client);
		net_tls_free(server);
	}
}

static void groups_are_those_that_are_named(void **state)
{
	(void)state;
	const struct net_certificate one = {certs.rsa, certs.rsa_key};
	const struct net_tls_parameters p = {.most = NET_TLS_1_3, .groups = "P-384:P-256"};
	struct net_tls *server = server_of(&one, 1, &p);
	assert_string_equal(meets(server, client_of(TLS1_3_VERSION), "www.example.org"),
	    "TLSv1.3 P-384 RSA www.example.org");
	struct net_tls *client = client_of(TLS1_3_VERSION);
	assert_true(SSL_CTX_set1_curves_list(client->context, "X25519"));
	assert_string_equal(
	    meets(server, client, "www.example.org"), "the peer sent the alert: handshake failure");
	net_tls_free(server);
}

static void names_of_suites_and_groups_are_known(void **state)
{
	(void)state;
	static const struct {
		const char *word, *name, *wrong;
		bool is_group;
	} rows[] = {
	    {"ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", NULL, false},
	    {"tls_ecdhe_ecdsa_with_chacha20_poly1305_sha256", "ECDHE-ECDSA-CHACHA20-POLY1305", NULL,
		false},
	    {"AES128-GCM-SHA256", NULL, "HTTP/2 forbids it (RFC 9113 appendix A)", false},
	    {"TLS_AES_128_GCM_SHA256", NULL,
		"it is a suite of TLS 1.3, and the linked BoringSSL accepts all of those", false},
	    {"HIGH", NULL, "HTTP/2 forbids it (RFC 9113 appendix A)", false},
	    {"ECDHE-RSA-CAMELLIA", NULL, "the linked BoringSSL has no such suite", false},
	    {"ECDHE-RSA-AES128-GCM-SHA256:RC4-MD5", NULL, "the linked BoringSSL has no such suite",
		false},
	    {"x25519", "X25519", NULL, true},
	    {"secp384r1", "P-384", NULL, true},
	    {"prime256v1", "P-256", NULL, true},
	    {"ffdhe2048", NULL, "the linked BoringSSL does not have it (see pushgate version)",
		true},
	    {"P-257", NULL, "there is no such group", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *wrong = NULL;
		struct slice word = slice_of_string(rows[i].word);
		const char *name =
		    rows[i].is_group ? net_tls_group(word, &wrong) : net_tls_suite(word, &wrong);
		assert_string_equal(
		    name ? name : wrong, rows[i].name ? rows[i].name : rows[i].wrong);
	}
	char text[128];
	assert_non_null(strstr(net_tls_groups(text, sizeof(text)), "X25519 P-256 P-384 P-521"));
}

static void an_exact_name_goes_before_a_wildcard_whatever_the_order_and_the_key(void **state)
{
	(void)state;
	const struct net_certificate lists[][2] = {
	    {{wild.ecdsa, wild.ecdsa_key}, {exact.rsa, exact.rsa_key}},
	    {{exact.rsa, exact.rsa_key}, {wild.ecdsa, wild.ecdsa_key}},
	};
	for (size_t i = 0; i < 2; i++) {
		struct net_tls *server = server_of(lists[i], 2, &both);
		assert_string_equal(meets(server, client_of(TLS1_3_VERSION), "a.example.com"),
		    "TLSv1.3 X25519 RSA a.example.com");
		assert_string_equal(meets(server, client_of(TLS1_3_VERSION), "b.example.com"),
		    "TLSv1.3 X25519 ECDSA *.example.com");
		/* A client that cannot verify the exact one gets the other. */
		struct net_tls *client = client_of(TLS1_3_VERSION);
		static const uint16_t ecdsa[] = {SSL_SIGN_ECDSA_SECP256R1_SHA256};
		SSL_CTX_set_verify_algorithm_prefs(client->context, ecdsa, 1);
		assert_string_equal(
		    meets(server, client, "a.example.com"), "TLSv1.3 X25519 ECDSA *.example.com");
		net_tls_free(server);
	}
}

static void strict_sni_refuses_unknown_names_and_none(void **state)
{
	(void)state;
	const struct net_certificate one = {wild.ecdsa, wild.ecdsa_key};
	const struct net_tls_parameters p = {.most = NET_TLS_1_3, .strict_sni = true};
	struct net_tls *server = server_of(&one, 1, &p);
	static const uint16_t versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(meets(server, client_of(versions[i]), "nobody.invalid"),
		    "the peer sent the alert: unrecognized name");
		/* An address is no SNI. */
		assert_string_equal(meets(server, client_of(versions[i]), "127.0.0.1"),
		    i ? "the peer sent the alert: missing extension"
		      : "the peer sent the alert: unrecognized name");
		assert_null(
		    strstr(meets(server, client_of(versions[i]), "x.example.com"), "alert"));
	}
	net_tls_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_outside_the_bounds_are_refused),
	    cmocka_unit_test(suites_choose_the_kind_of_certificate_in_tls12),
	    cmocka_unit_test(by_itself_the_server_prefers_aes_whatever_the_client_does),
	    cmocka_unit_test(groups_are_those_that_are_named),
	    cmocka_unit_test(names_of_suites_and_groups_are_known),
	    cmocka_unit_test(an_exact_name_goes_before_a_wildcard_whatever_the_order_and_the_key),
	    cmocka_unit_test(strict_sni_refuses_unknown_names_and_none),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
