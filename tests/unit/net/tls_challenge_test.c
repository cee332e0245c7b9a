/* SPDX-License-Identifier: MIT */
/* An authority's handshakes: who gets the certificate of a challenge, and who gets that of the listener. */
#include "tests/unit/net/rig.h"
#include <openssl/x509v3.h>

static struct certs certs;
static struct net_challenge challenge;
static struct net_tls_parameters parameters;

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, "");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certs_fini(&certs);
	return 0;
}

static struct net_tls *listener(void)
{
	const struct net_certificate certificate = {.chain_file = certs.ecdsa, .key_file = certs.ecdsa_key};
	const struct net_tls_server_options o = {.certificates = &certificate, .certificate_count = 1, .alpn = "h2,http/1.1", .challenge = &challenge, .parameters = parameters.most ? &parameters : NULL};
	char error[256] = "";
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	if (!t)
		fail_msg("%s", error);
	return t;
}

static void set_challenge(const char *name, const char *text)
{
	challenge = (struct net_challenge){0};
	snprintf(challenge.name, sizeof(challenge.name), "%s", name);
	net_sha256(slice_of_string(text), challenge.digest);
}

/* What a client is shown. */
struct shown {
	bool is_open, is_critical;
	char alpn[32];
	uint8_t digest[NET_SHA256_BYTES]; /* of the challenge; zeroes: an ordinary certificate */
	char name[64];                    /* the only one of a challenge's certificate */
};

static void read_certificate(X509 *x, struct shown *s)
{
	ASN1_OBJECT *oid = OBJ_txt2obj("1.3.6.1.5.5.7.1.31", 1);
	int at = X509_get_ext_by_OBJ(x, oid, -1);
	ASN1_OBJECT_free(oid);
	if (at < 0)
		return;
	const ASN1_OCTET_STRING *value = X509_EXTENSION_get_data(X509_get_ext(x, at));
	s->is_critical = X509_EXTENSION_get_critical(X509_get_ext(x, at));
	assert_int_equal(ASN1_STRING_length(value), 2 + NET_SHA256_BYTES);
	memcpy(s->digest, ASN1_STRING_get0_data(value) + 2, NET_SHA256_BYTES);
	GENERAL_NAMES *names = X509_get_ext_d2i(x, NID_subject_alt_name, NULL, NULL);
	assert_int_equal(sk_GENERAL_NAME_num(names), 1);
	const ASN1_IA5STRING *name = sk_GENERAL_NAME_value(names, 0)->d.dNSName;
	snprintf(s->name, sizeof(s->name), "%.*s", ASN1_STRING_length(name), (const char *)ASN1_STRING_get0_data(name));
	GENERAL_NAMES_free(names);
}

static struct shown shown_to(const char *alpn, const char *name)
{
	struct joined j;
	struct shown s = {0};
	struct net_tls *server = listener(), *client = client_with(&certs, false, alpn);
	joined_init(&j);
	joined_connect(&j, server, client, name);
	run_until(&j.rig, (j.client.opened || j.client.ended) && (j.server.opened || j.server.ended));
	s.is_open = j.client.opened && !j.client.ended;
	if (s.is_open) {
		X509 *x = SSL_get_peer_certificate(j.client.conn->layer.ssl);
		snprintf(s.alpn, sizeof(s.alpn), "%.*s", SLICE_ARG(net_conn_alpn(j.client.conn)));
		read_certificate(x, &s);
		X509_free(x);
	}
	joined_fini(&j);
	net_tls_free(server);
	net_tls_free(client);
	return s;
}

static const uint8_t none[NET_SHA256_BYTES];

static void authority_gets_the_certificate_of_the_challenge(void **state)
{
	(void)state;
	set_challenge("a.example", "token.thumbprint");
	static const char *const names[] = {"a.example", "A.Example"};
	for (size_t i = 0; i < 2; i++) {
		struct shown s = shown_to(NET_CHALLENGE_ALPN, names[i]);
		assert_true(s.is_open);
		assert_true(s.is_critical);
		assert_string_equal(s.alpn, "acme-tls/1");
		assert_string_equal(s.name, "a.example");
		assert_memory_equal(s.digest, challenge.digest, NET_SHA256_BYTES);
	}
	/* The next challenge, in the same context. */
	set_challenge("b.example", "other.thumbprint");
	struct shown s = shown_to(NET_CHALLENGE_ALPN, "b.example");
	assert_memory_equal(s.digest, challenge.digest, NET_SHA256_BYTES);
	assert_false(shown_to(NET_CHALLENGE_ALPN, "a.example").is_open);
}

static void others_get_the_listeners_own(void **state)
{
	(void)state;
	set_challenge("a.example", "token.thumbprint");
	static const struct {
		const char *alpn, *name, *agreed;
	} rows[] = {
	    {"h2", "a.example", "h2"},
	    {"acme-tls/1,h2", "a.example", "h2"}, /* RFC 8737 3: alone */
	    {"h2,acme-tls/1", "a.example", "h2"},
	    {"http/1.1,acme-tls/1", "b.example", "http/1.1"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct shown s = shown_to(rows[i].alpn, rows[i].name);
		assert_true(s.is_open);
		assert_string_equal(s.alpn, rows[i].agreed);
		assert_memory_equal(s.digest, none, sizeof(none));
	}
}

static void without_a_challenge_the_protocol_is_refused(void **state)
{
	(void)state;
	set_challenge("a.example", "token.thumbprint");
	assert_false(shown_to(NET_CHALLENGE_ALPN, "b.example").is_open);
	assert_false(shown_to(NET_CHALLENGE_ALPN, "127.0.0.1").is_open); /* no SNI */
	challenge = (struct net_challenge){0};
	assert_false(shown_to(NET_CHALLENGE_ALPN, "a.example").is_open);
	assert_true(shown_to("h2", "a.example").is_open);
}

/* The certificate of a host that is new: the one that there is covers it no more than any unknown name. */
static void strict_sni_refuses_no_challenge(void **state)
{
	(void)state;
	parameters = (struct net_tls_parameters){.most = NET_TLS_1_3, .strict_sni = true};
	set_challenge("new.example", "token.thumbprint");
	struct shown s = shown_to(NET_CHALLENGE_ALPN, "new.example");
	bool others_are_refused = !shown_to("h2", "new.example").is_open && !shown_to(NET_CHALLENGE_ALPN, "other.example").is_open;
	parameters = (struct net_tls_parameters){0};
	assert_true(s.is_open);
	assert_memory_equal(s.digest, challenge.digest, NET_SHA256_BYTES);
	assert_true(others_are_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(authority_gets_the_certificate_of_the_challenge),
	    cmocka_unit_test(others_get_the_listeners_own),
	    cmocka_unit_test(without_a_challenge_the_protocol_is_refused),
	    cmocka_unit_test(strict_sni_refuses_no_challenge),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
