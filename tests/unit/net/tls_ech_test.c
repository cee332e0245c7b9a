/* SPDX-License-Identifier: MIT */
/* Encrypted ClientHello: keys from a file, and handshakes of a client that knows one of them, an old one, or none. */
#include "tests/unit/net/rig.h"
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define OUTER "outer.example.com"
#define INNER "inner.example.com"

static struct certs certs, others;
static char path[128];

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, OUTER);
	certs_init(&others, INNER);
	snprintf(path, sizeof(path), "%s/ech.pem", certs.directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certs_fini(&certs);
	certs_fini(&others);
	return 0;
}

static void put(const char *first, const char *second)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s%s", first, second);
	assert_int_equal(fclose(f), 0);
}

static struct net_tls *server_new(void)
{
	static struct net_certificate both[2];
	static struct net_tls_parameters parameters;
	char error[512] = "";
	both[0] = (struct net_certificate){certs.ecdsa, certs.ecdsa_key};
	both[1] = (struct net_certificate){others.ecdsa, others.ecdsa_key};
	parameters = (struct net_tls_parameters){.most = NET_TLS_1_3, .ech_file = path};
	struct net_tls_server_options o = {
	    .certificates = both, .certificate_count = 2, .alpn = "h2", .parameters = &parameters};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	assert_string_equal(error, "");
	return t;
}

/* ---- a client ---- */

/* The ECHConfigList of a pair. */
struct ech_list {
	uint8_t bytes[512];
	size_t length;
};

static struct ech_list list_of(const char *pair)
{
	struct ech_list l = {.length = 0};
	BIO *in = BIO_new_mem_buf(pair, -1);
	char *label, *header;
	uint8_t *data;
	long length;
	while (l.length == 0 && PEM_read_bio(in, &label, &header, &data, &length)) {
		if (strcmp(label, "ECHCONFIG") == 0) {
			assert_true((size_t)length <= sizeof(l.bytes));
			memcpy(l.bytes, data, (size_t)length);
			l.length = (size_t)length;
		}
		OPENSSL_free(label);
		OPENSSL_free(header);
		OPENSSL_free(data);
	}
	BIO_free(in);
	assert_true(l.length > 0);
	return l;
}

struct meeting {
	struct joined j;
	SSL_CTX *context;
	SSL *ssl;
	int fd, error, reason;
};

/* A client of the library's own, which asks for the inner name, and for h2. */
static void meet(struct meeting *m, struct net_tls *server, const struct ech_list *list)
{
	static const uint8_t alpn[] = {2, 'h', '2'};
	joined_init(&m->j);
	m->j.server_tls = server;
	m->context = SSL_CTX_new(TLS_method());
	m->ssl = SSL_new(m->context);
	m->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(m->fd, &m->j.at.any, m->j.at.length), 0);
	assert_int_equal(fcntl(m->fd, F_SETFL, O_NONBLOCK), 0);
	assert_true(SSL_set_fd(m->ssl, m->fd) && SSL_set_tlsext_host_name(m->ssl, INNER));
	assert_int_equal(SSL_set_alpn_protos(m->ssl, alpn, sizeof(alpn)), 0);
	if (list)
		assert_true(SSL_set1_ech_config_list(m->ssl, list->bytes, list->length));
	SSL_set_connect_state(m->ssl);
	do {
		net_run_once(m->j.rig.loop, USEC_PER_MSEC);
		int r = SSL_do_handshake(m->ssl);
		m->error = SSL_get_error(m->ssl, r);
		m->reason = ERR_GET_REASON(ERR_peek_error());
	} while (m->error == SSL_ERROR_WANT_READ);
	run_until(&m->j.rig, m->j.server.opened || m->j.server.ended);
}

static void part(struct meeting *m)
{
	SSL_free(m->ssl);
	SSL_CTX_free(m->context);
	close(m->fd);
	joined_fini(&m->j);
	ERR_clear_error();
}

static bool shows(const struct meeting *m, const char *name)
{
	X509 *x = SSL_get_peer_certificate(m->ssl);
	bool is_for = x && X509_check_host(x, name, strlen(name), 0, NULL) == 1;
	X509_free(x);
	return is_for;
}

static bool is_accepted(struct net_tls *server, const struct ech_list *list)
{
	struct meeting m;
	meet(&m, server, list);
	bool is_accepted = m.error == SSL_ERROR_NONE && SSL_ech_accepted(m.ssl);
	if (is_accepted) {
		assert_true(net_conn_has_ech(m.j.server.conn));
		assert_true(slice_equal(net_conn_sni(m.j.server.conn), SLICE(INNER)));
		assert_true(shows(&m, INNER));
	}
	part(&m);
	return is_accepted;
}

static void the_inner_name_chooses_the_certificate(void **state)
{
	(void)state;
	char *pair = net_ech_make(OUTER);
	const struct ech_list list = list_of(pair);
	put(pair, "");
	struct net_tls *server = server_new();
	assert_true(is_accepted(server, &list));
	/* Clients without the key are served as ever. */
	struct meeting m;
	meet(&m, server, NULL);
	assert_int_equal(m.error, SSL_ERROR_NONE);
	assert_false(net_conn_has_ech(m.j.server.conn));
	assert_true(shows(&m, INNER));
	part(&m);
	net_tls_free(server);
	free(pair);
}

static void a_client_with_an_old_key_gets_the_first_one_and_is_accepted_with_it(void **state)
{
	(void)state;
	char *old = net_ech_make(OUTER), *first = net_ech_make(OUTER),
	     *second = net_ech_make(OUTER);
	const struct ech_list lists[] = {list_of(old), list_of(first), list_of(second)};
	put(first, second);
	struct net_tls *server = server_new();
	struct meeting m;
	struct ech_list retry;
	const uint8_t *bytes;
	meet(&m, server, &lists[0]);
	assert_int_equal(m.error, SSL_ERROR_SSL);
	assert_int_equal(m.reason, SSL_R_ECH_REJECTED);
	assert_true(shows(&m, OUTER));
	SSL_get0_ech_retry_configs(m.ssl, &bytes, &retry.length);
	memcpy(retry.bytes, bytes, retry.length);
	part(&m);
	assert_int_equal(retry.length, lists[1].length);
	assert_memory_equal(retry.bytes, lists[1].bytes, retry.length);
	assert_true(is_accepted(server, &retry));
	assert_true(is_accepted(server, &lists[2]));
	net_tls_free(server);
	free(old);
	free(first);
	free(second);
}

static void keys_are_exchanged_by_a_renewal(void **state)
{
	(void)state;
	char error[512] = "", *old = net_ech_make(OUTER), *next = net_ech_make(OUTER);
	const struct ech_list lists[] = {list_of(old), list_of(next)};
	put(old, "");
	struct net_tls *server = server_new();
	put(next, "");
	/* The certificates are the same, and their contexts stay. */
	const SSL_CTX *kept = server->context;
	assert_true(net_tls_renew(server, NULL, error, sizeof(error)));
	assert_ptr_equal(server->context, kept);
	assert_false(is_accepted(server, &lists[0]));
	assert_true(is_accepted(server, &lists[1]));
	put("", "");
	assert_false(net_tls_renew(server, NULL, error, sizeof(error)));
	assert_true(is_accepted(server, &lists[1]));
	net_tls_free(server);
	free(old);
	free(next);
}

static void is_refused(
    struct net_tls *server, const char *first, const char *second, const char *why)
{
	char error[512] = "";
	put(first, second);
	assert_false(net_ech_check(server, path, NULL, error, sizeof(error)));
	if (!strstr(error, why))
		fail_msg("'%s' has no '%s'", error, why);
}

static void a_file_with_a_mistake_is_refused(void **state)
{
	(void)state;
	char error[512], *pair = net_ech_make(OUTER), *other = net_ech_make("strange.example.com");
	char *config = strstr(pair, "-----BEGIN ECHCONFIG"),
	     *key = strstr(pair, "-----BEGIN PRIVATE");
	char key_alone[512], damaged[2048];
	put(pair, "");
	struct net_tls *server = server_new();
	assert_true(net_ech_check(server, path, NULL, error, sizeof(error)));
	snprintf(key_alone, sizeof(key_alone), "%.*s", (int)(config - key), key);
	is_refused(server, "", "", "there is no ECHCONFIG");
	is_refused(server, "text\n", "", "there is no ECHCONFIG");
	is_refused(server, config, "", "has no PRIVATE KEY above it");
	is_refused(server, pair, config, "has no PRIVATE KEY above it");
	is_refused(server, pair, key_alone, "has no ECHCONFIG below it");
	is_refused(
	    server, other, "", "covers the outer name of an ECHCONFIG (strange.example.com)");
	is_refused(server, key_alone, strstr(other, "-----BEGIN ECHCONFIG"),
	    "does not fit the PRIVATE KEY");
	snprintf(damaged, sizeof(damaged),
	    "%s-----BEGIN ECHCONFIG-----\nAAUA\n-----END ECHCONFIG-----\n", key_alone);
	is_refused(server, damaged, "", "an ECHCONFIG is malformed");
	snprintf(damaged, sizeof(damaged),
	    "-----BEGIN PRIVATE KEY-----\nAAUA\n-----END PRIVATE KEY-----\n%s", config);
	is_refused(server, damaged, "", "none of X25519");
	assert_null(net_ech_make("no name"));
	assert_null(net_ech_make(""));
	net_tls_free(server);
	free(pair);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_inner_name_chooses_the_certificate),
	    cmocka_unit_test(a_client_with_an_old_key_gets_the_first_one_and_is_accepted_with_it),
	    cmocka_unit_test(keys_are_exchanged_by_a_renewal),
	    cmocka_unit_test(a_file_with_a_mistake_is_refused),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
