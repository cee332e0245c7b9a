/* SPDX-License-Identifier: MIT */
/* TLS servers that ask clients for certificates, for some of their hosts. */
#include "proxy/base/sealed.h"
#include "tests/unit/net/rig.h"

static struct certs certs;
static struct joined home; /* stays, since a session is resumed at the address that it came from */
static char folder[64];
static char texts[8][96];

/* A file of tests/support/client-certs; eight at a time. */
static char *file(const char *name)
{
	static size_t next;
	char *text = texts[next++ % 8];
	snprintf(text, sizeof(texts[0]), "%s/%s", folder, name);
	return text;
}

static void run(const char *format, const char *argument)
{
	char command[256];
	snprintf(command, sizeof(command), format, argument);
	assert_int_equal(system(command), 0);
}

static int set_up_group(void **state)
{
	(void)state;
	certs_init(&certs, "one.example.com two.example.com free.example.com");
	snprintf(folder, sizeof(folder), "%s", P_tmpdir "/pushgate-auth-XXXXXX");
	assert_non_null(mkdtemp(folder));
	run("tests/support/client-certs %s", folder);
	joined_init(&home);
	return 0;
}

static int tear_down_group(void **state)
{
	(void)state;
	joined_fini(&home);
	certs_fini(&certs);
	run("rm -rf %s", folder);
	return 0;
}

/* ---- servers and clients ---- */

/* one.example.com and two.example.com have a row each, if there are so many; others are not asked. */
static size_t find(const void *context, struct slice name)
{
	const struct net_client_auth *a = *(struct net_client_auth *const *)context;
	if (slice_equal(name, SLICE("one.example.com")))
		return 0;
	return slice_equal(name, SLICE("two.example.com")) ? 1 : a->count;
}

struct asking {
	struct net_client_ca rows[2];
	struct net_client_auth auth, *self;
	struct net_tls *tls;
	struct net_tickets tickets;
};

static struct net_certificate own;

static struct net_tls *server_of(const struct net_tickets *tickets)
{
	char error[256] = "";
	own = (struct net_certificate){certs.ecdsa, certs.ecdsa_key};
	struct net_tls *t = net_tls_server_new(
	    &(struct net_tls_server_options){
		.certificates = &own, .certificate_count = 1, .alpn = "h2", .tickets = tickets},
	    error, sizeof(error));
	assert_string_equal(error, "");
	return t;
}

static void init(struct asking *a, const char *crl, bool is_required)
{
	char error[256] = "";
	static char ca[96], list[96];
	snprintf(ca, sizeof(ca), "%s", file("ca.pem"));
	snprintf(list, sizeof(list), "%s", file(crl ? crl : ""));
	*a = (struct asking){.self = NULL};
	a->rows[0] = a->rows[1] = (struct net_client_ca){ca, crl ? list : NULL, is_required};
	a->auth = (struct net_client_auth){a->rows, 2, "front", find, &a->self};
	a->self = &a->auth;
	net_tickets_init(&a->tickets, 0);
	a->tls = server_of(&a->tickets);
	assert_true(net_tls_ask_clients(a->tls, &a->auth, NULL, error, sizeof(error)));
	assert_string_equal(error, "");
}

static struct net_tls *client_of(const char *name, uint16_t version)
{
	static struct net_certificate shown;
	static char chain[96], key[96];
	char error[256] = "";
	struct net_tls *t = client_with(&certs, true, "h2");
	if (name) {
		snprintf(chain, sizeof(chain), "%s/%s.pem", folder, name);
		snprintf(key, sizeof(key), "%s/%s.key", folder, name);
		shown = (struct net_certificate){chain, key};
		assert_true(net_tls_show_certificate(t, &shown, NULL, error, sizeof(error)));
	}
	SSL_CTX_set_max_proto_version(t->context, version);
	return t;
}

struct outcome {
	bool is_open, is_resumed;
	char names[CLIENT_CERTIFICATE_NAMES_BYTES + 1], leaf[4096], why[256];
};

static struct outcome meet(struct net_tls *server, struct net_tls *client, const char *host)
{
	struct outcome o = {0};
	const char *wrong;
	joined_connect(&home, server, client, host);
	run_until(&home.rig, home.server.opened || home.server.ended);
	o.is_open = home.server.opened == 1;
	if (o.is_open) {
		struct client_certificate *c =
		    net_conn_client_certificate(home.server.conn, &wrong);
		owner_send(&home.server, 0, 10); /* tickets travel with it */
		run_until(&home.rig, home.client.received == 10);
		o.is_resumed = SSL_session_reused(home.server.conn->layer.ssl);
		snprintf(o.why, sizeof(o.why), "%s", wrong ? wrong : "");
		if (c) {
			snprintf(o.names, sizeof(o.names), "%.*s", SLICE_ARG(c->names));
			snprintf(o.leaf, sizeof(o.leaf), "%.*s", SLICE_ARG(c->leaf));
			assert_int_equal(c->chain.len, 0);
		}
		client_certificate_release(c);
	} else {
		snprintf(o.why, sizeof(o.why), "%s", home.server.text);
	}
	joined_part(&home);
	return o;
}

static struct outcome meet_as(struct asking *a, const char *name, const char *host)
{
	struct net_tls *client = client_of(name, TLS1_3_VERSION);
	struct outcome o = meet(a->tls, client, host);
	net_tls_free(client);
	return o;
}

static void is_refused(struct asking *a, const char *name, const char *why)
{
	struct outcome o = meet_as(a, name, "one.example.com");
	assert_false(o.is_open);
	if (!strstr(o.why, why))
		fail_msg("'%s' has no '%s'", o.why, why);
}

/* ---- who gets in ---- */

static void a_certificate_of_the_authority_is_taken_and_no_other(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, true);
	assert_true(meet_as(&a, "alice", "one.example.com").is_open);
	assert_true(meet_as(&a, "bob", "one.example.com").is_open);
	is_refused(&a, NULL, "peer did not return a certificate");
	is_refused(&a, "mallory", "certificate verify failed: unable to get local issuer");
	is_refused(&a, "expired", "certificate verify failed: certificate has expired");
	is_refused(&a, "server", "certificate verify failed: unsupported certificate purpose");
	net_tls_free(a.tls);
}

static void where_it_is_optional_a_client_without_one_gets_in_and_a_wrong_one_does_not(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, false);
	struct outcome o = meet_as(&a, NULL, "one.example.com");
	assert_true(o.is_open);
	assert_string_equal(o.names, "");
	assert_true(meet_as(&a, "alice", "one.example.com").names[0] != '\0');
	is_refused(&a, "mallory", "certificate verify failed");
	net_tls_free(a.tls);
}

static void other_hosts_ask_for_nothing(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, true);
	struct outcome o = meet_as(&a, "mallory", "free.example.com");
	assert_true(o.is_open);
	assert_string_equal(o.names, "");
	net_tls_free(a.tls);
}

static void a_revoked_certificate_is_refused(void **state)
{
	(void)state;
	struct asking a;
	init(&a, "crl.pem", true);
	assert_true(meet_as(&a, "alice", "one.example.com").is_open);
	is_refused(&a, "bob", "certificate verify failed: certificate revoked");
	net_tls_free(a.tls);
}

/* ---- resumption ---- */

static const uint16_t versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static SSL_SESSION *kept;

static int keep(SSL *ssl, SSL_SESSION *session)
{
	(void)ssl;
	SSL_SESSION_free(kept);
	kept = session;
	return 1;
}

/* Whether the session of one handshake is resumed by the other. The client offers its session to any name here: a real
 * one would not, and a hostile one does. */
static bool resumes(
    struct asking *a, const char *host, struct asking *b, const char *other, uint16_t version)
{
	struct net_tls *client = client_of("alice", version);
	kept = NULL;
	SSL_CTX_sess_set_new_cb(client->context, keep);
	assert_true(meet(a->tls, client, host).is_open);
	assert_non_null(kept);
	tls_sessions_put(&client->sessions, &home.at, other, kept);
	kept = NULL;
	struct outcome o = meet(b->tls, client, other);
	assert_true(o.is_open);
	SSL_SESSION_free(kept);
	net_tls_free(client);
	return o.is_resumed;
}

static void a_session_is_resumed_at_its_own_host_alone(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, false);
	for (size_t i = 0; i < 2; i++) {
		uint16_t v = versions[i];
		assert_true(resumes(&a, "one.example.com", &a, "one.example.com", v));
		assert_true(resumes(&a, "free.example.com", &a, "free.example.com", v));
		assert_false(resumes(&a, "one.example.com", &a, "two.example.com", v));
		assert_false(resumes(&a, "free.example.com", &a, "one.example.com", v));
		assert_false(resumes(&a, "one.example.com", &a, "free.example.com", v));
	}
	net_tls_free(a.tls);
}

/* The other listener has the same keys of tickets, as all listeners of a worker have. */
static struct net_tls *listener_like(struct asking *b, const struct asking *a)
{
	char error[256] = "";
	b->self = &b->auth;
	b->tls = server_of(&a->tickets);
	assert_true(net_tls_ask_clients(b->tls, &b->auth, NULL, error, sizeof(error)));
	return b->tls;
}

static void a_session_is_not_resumed_by_another_listener_or_another_condition(void **state)
{
	(void)state;
	struct asking a, b, c, plain;
	init(&a, NULL, false);
	b = c = a;
	b.auth.scope = "back";
	b.auth.context = &b.self;
	listener_like(&b, &a);
	c.rows[0].is_required = true;
	c.auth.authorities = c.rows;
	c.auth.context = &c.self;
	listener_like(&c, &a);
	plain = a;
	plain.tls = server_of(&a.tickets);
	for (size_t i = 0; i < 2; i++) {
		uint16_t v = versions[i];
		assert_false(resumes(&a, "one.example.com", &b, "one.example.com", v));
		assert_false(resumes(&a, "one.example.com", &c, "one.example.com", v));
		assert_false(resumes(&plain, "one.example.com", &a, "one.example.com", v));
		assert_false(resumes(&a, "one.example.com", &plain, "one.example.com", v));
	}
	net_tls_free(a.tls);
	net_tls_free(b.tls);
	net_tls_free(c.tls);
	net_tls_free(plain.tls);
}

/* ---- renewal ---- */

static void put(const char *from, const char *to)
{
	char command[256];
	snprintf(command, sizeof(command), "cp %s/%s %s/%s", folder, from, folder, to);
	assert_int_equal(system(command), 0);
}

static void a_new_list_ends_the_resumption_of_a_revoked_certificate(void **state)
{
	(void)state;
	struct asking a;
	char error[256] = "";
	put("empty.crl", "current.crl");
	init(&a, "current.crl", true);
	struct net_tls *client = client_of("bob", TLS1_3_VERSION);
	assert_true(meet(a.tls, client, "one.example.com").is_open);
	assert_true(meet(a.tls, client, "one.example.com").is_resumed);
	put("crl.pem", "current.crl");
	assert_true(net_tls_renew(a.tls, NULL, error, sizeof(error)));
	struct outcome o = meet(a.tls, client, "one.example.com");
	assert_false(o.is_open);
	assert_non_null(strstr(o.why, "certificate revoked"));
	put("ca.pem", "current.crl");
	assert_false(net_tls_renew(a.tls, NULL, error, sizeof(error)));
	assert_non_null(strstr(error, "current.crl"));
	is_refused(&a, "bob", "certificate revoked");
	net_tls_free(client);
	net_tls_free(a.tls);
}

static struct sealed *sealed_files(const struct asking *a)
{
	struct sealed *s = sealed_new();
	assert_int_equal(sealed_add(s, certs.ecdsa), 0);
	assert_int_equal(sealed_add(s, certs.ecdsa_key), 0);
	assert_int_equal(sealed_add(s, a->rows[0].ca_file), 0);
	assert_int_equal(sealed_add(s, a->rows[0].crl_file), 0);
	sealed_seal(s);
	return s;
}

static void exchange(struct asking *a, struct sealed *s)
{
	struct sealed *newer = sealed_files(a);
	assert_true(sealed_replace(s, dup(sealed_descriptor(newer))));
	sealed_free(newer);
}

/* The second exchange has the same list as the first, whose renewal has not come as far as the lists. */
static void a_new_list_counts_also_where_one_renewal_overtakes_another(void **state)
{
	(void)state;
	struct asking a;
	char error[256] = "";
	put("empty.crl", "current.crl");
	init(&a, "current.crl", true);
	struct sealed *s = sealed_files(&a);
	assert_true(meet_as(&a, "bob", "one.example.com").is_open);
	put("crl.pem", "current.crl");
	exchange(&a, s);
	net_tls_renew_begin(a.tls, s);
	exchange(&a, s);
	assert_true(net_tls_renew(a.tls, s, error, sizeof(error)));
	is_refused(&a, "bob", "certificate revoked");
	sealed_free(s);
	net_tls_free(a.tls);
}

static usec two_hours_later(void)
{
	return clock_wall() + 7200 * USEC_PER_SEC;
}

/* The files are the same, so that the session would be resumed. */
static void a_session_ends_with_the_list_by_which_it_was_verified(void **state)
{
	(void)state;
	struct asking a;
	init(&a, "short.crl", true);
	for (size_t i = 0; i < 2; i++) {
		struct net_tls *client = client_of("alice", versions[i]);
		assert_true(meet(a.tls, client, "one.example.com").is_open);
		struct outcome o = meet(a.tls, client, "one.example.com");
		assert_true(o.is_resumed);
		assert_string_equal(o.why, "");
		a.tls->wall = two_hours_later;
		o = meet(a.tls, client, "one.example.com");
		assert_true(o.is_resumed);
		assert_string_equal(o.why, "CRL has expired");
		assert_string_equal(o.names, "");
		a.tls->wall = clock_wall;
		net_tls_free(client);
	}
	net_tls_free(a.tls);
}

static void ninety_minutes_later(const SSL *ssl, struct timeval *now)
{
	(void)ssl;
	*now = (struct timeval){.tv_sec = time(NULL) + 5400};
}

/* A client with a renewed certificate may offer the ticket of the one before, which was valid for an hour. */
static void a_session_ends_with_the_certificate_of_its_client(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, true);
	for (size_t i = 0; i < 2; i++) {
		struct net_tls *brief = client_of("brief", versions[i]);
		struct net_tls *alice = client_of("alice", versions[i]);
		meet(a.tls, brief, "one.example.com");
		meet(a.tls, alice, "one.example.com");
		SSL_CTX_set_current_time_cb(a.tls->context, ninety_minutes_later);
		struct outcome o = meet(a.tls, brief, "one.example.com");
		assert_true(o.is_open);
		assert_false(o.is_resumed);
		assert_true(meet(a.tls, alice, "one.example.com").is_resumed);
		SSL_CTX_set_current_time_cb(a.tls->context, NULL);
		net_tls_free(brief);
		net_tls_free(alice);
	}
	net_tls_free(a.tls);
}

/* ---- what is known of it ---- */

static void names_and_the_item_of_a_certificate_are_read(void **state)
{
	(void)state;
	struct asking a;
	init(&a, NULL, true);
	struct outcome o = meet_as(&a, "alice", "one.example.com");
	assert_true(slice_starts_with(slice_of_string(o.names), SLICE("sha256:")));
	assert_string_equal(strchr(o.names, '\n') + 1, "subject:CN=alice,O=Example\n"
						       "issuer:CN=test ca,O=Example\n"
						       "cn:alice\n"
						       "dns:alice.example.com\n"
						       "email:alice@example.com\n"
						       "uri:spiffe://example.com/alice\n"
						       "ip:192.0.2.1\n");
	assert_true(slice_starts_with(slice_of_string(o.leaf), SLICE(":MII")));
	assert_int_equal(o.leaf[strlen(o.leaf) - 1], ':');
	net_tls_free(a.tls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_certificate_of_the_authority_is_taken_and_no_other),
	    cmocka_unit_test(
		where_it_is_optional_a_client_without_one_gets_in_and_a_wrong_one_does_not),
	    cmocka_unit_test(other_hosts_ask_for_nothing),
	    cmocka_unit_test(a_revoked_certificate_is_refused),
	    cmocka_unit_test(a_session_is_resumed_at_its_own_host_alone),
	    cmocka_unit_test(a_session_is_not_resumed_by_another_listener_or_another_condition),
	    cmocka_unit_test(a_new_list_ends_the_resumption_of_a_revoked_certificate),
	    cmocka_unit_test(a_session_ends_with_the_list_by_which_it_was_verified),
	    cmocka_unit_test(a_new_list_counts_also_where_one_renewal_overtakes_another),
	    cmocka_unit_test(a_session_ends_with_the_certificate_of_its_client),
	    cmocka_unit_test(names_and_the_item_of_a_certificate_are_read),
	};
	return cmocka_run_group_tests(tests, set_up_group, tear_down_group);
}
