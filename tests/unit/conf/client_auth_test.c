/* SPDX-License-Identifier: MIT */
/* The lines client-ca of a listener: which of them is for a host, and what is wrong with others. */
#include "tests/unit/conf/load.h"

#define TLS "certificate = a.pem\nkey = a.key\n"
#define TLS_LISTEN LOAD_LISTEN TLS

static struct load load_lines(const char *lines)
{
	char text[1024];
	snprintf(text, sizeof(text), TLS_LISTEN "%s" LOAD_ORIGIN LOAD_ROUTE, lines);
	struct load load = load_text(text);
	assert_string_equal(load.errors, "");
	assert_non_null(load.conf->listens[0].client_auth);
	return load;
}

static void a_host_has_the_first_line_that_names_it_else_the_one_without_hosts(void **state)
{
	(void)state;
	struct load load = load_lines("client-ca = /a.pem host=a.test,*.b.test\n"
				      "client-ca = /rest.pem optional\n"
				      "client-ca = /b.pem optional host=x.b.test,192.0.2.1 crl=/b.crl\n");
	const struct conf_client_auth *a = load.conf->listens[0].client_auth;
	static const struct {
		const char *host;
		uint32_t of_host, of_name;
	} rows[] = {{"a.test", 0, 0}, {"A.Test.", 0, 0}, {"x.b.test", 0, 0}, {"b.test", 1, 1}, {"", 1, 1}, {"c.test", 1, 1},
	    {"192.0.2.1", 2, 2}, {"a..test", CONF_CLIENT_CA_STRANGE, 1}, {"a%2etest", CONF_CLIENT_CA_STRANGE, 1}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(conf_client_ca_of_host(a, slice_of_string(rows[i].host)), rows[i].of_host);
		assert_int_equal(conf_client_ca_of_name(a, slice_of_string(rows[i].host)), rows[i].of_name);
		assert_int_equal(a->net.find(a->net.context, slice_of_string(rows[i].host)), rows[i].of_name);
	}
	assert_int_equal(a->net.count, 3);
	assert_true(a->net.authorities[0].is_required);
	assert_false(a->net.authorities[1].is_required);
	assert_string_equal(a->net.authorities[0].ca_file, "/a.pem");
	assert_null(a->net.authorities[0].crl_file);
	assert_string_equal(a->net.authorities[2].crl_file, "/b.crl");
	assert_string_equal(a->net.scope, "l");
	load_free(&load);
}

static void without_a_line_for_all_others_they_are_not_asked(void **state)
{
	(void)state;
	struct load load = load_lines("client-ca = /a.pem host=a.test\n");
	const struct conf_client_auth *a = load.conf->listens[0].client_auth;
	assert_int_equal(conf_client_ca_of_host(a, SLICE("b.test")), 1);
	assert_int_equal(conf_client_ca_of_name(a, SLICE("")), 1);
	assert_true(a->has_hosts);
	load_free(&load);
	load = load_fine(LOAD_LISTEN "certificates = /certs\nclient-ca = /a.pem\n" LOAD_ORIGIN LOAD_ROUTE, "");
	assert_non_null(load.conf->listens[0].client_auth);
	load_free(&load);
	load = load_lines("client-ca = /a.pem\n");
	a = load.conf->listens[0].client_auth;
	assert_int_equal(conf_client_ca_of_host(a, SLICE("a%2etest")), 0);
	assert_false(a->has_hosts);
	load_free(&load);
}

static void mistakes_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *line, *wrong;
	} rows[] = {
	    {"client-ca = /a.pem needed", "behind the file are required, optional, host= and crl="},
	    {"client-ca = /a.pem host=", "write a host behind host="},
	    {"client-ca = /a.pem host=a.test:443", "a host is a name without a port"},
	    {"client-ca = /a.pem host=a.test host=b.test", "give hosts once"},
	    {"client-ca = /a.pem crl=", "write one file behind crl="},
	    {"client-ca = /a.pem crl=/a crl=/b", "write one file behind crl="},
	    {"client-ca = /a.pem\nclient-ca = /b.pem", "an earlier client-ca has no host= either"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		snprintf(text, sizeof(text), TLS_LISTEN "%s\n" LOAD_ORIGIN LOAD_ROUTE, rows[i].line);
		struct load load = load_text(text);
		assert_null(load.conf);
		if (!strstr(load.errors, rows[i].wrong) || strncmp(load.errors, "test.ini:", 9) != 0)
			fail_msg("%s: %s", rows[i].line, load.errors);
		load_free(&load);
	}
	assert_refused(LOAD_LISTEN "client-ca = /a.pem\n" LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:3: client-ca is for TLS, but the section has no certificate; add certificate = FILE and key = FILE\n");
	/* One mistake of the certificate is not two. */
	assert_refused("[listen l]\naddress = unix:/tmp/l\nacme = https://ca.example/dir\nclient-ca = /a.pem\n" LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:3: acme needs a folder for keys and certificates; add acme-dir = FOLDER to [server]\n");
	assert_refused(LOAD_LISTEN LOAD_ORIGIN "client-certificate = /a /b /c\n" LOAD_ROUTE,
	    "test.ini:5: bad value '/a /b /c' for client-certificate; write FILE [KEY-FILE], such as client-certificate = "
	    "/etc/pushgate/gate.pem /etc/pushgate/gate.key\n");
}

static void an_origin_has_its_certificate_and_key_in_two_files_or_one(void **state)
{
	(void)state;
	struct load load = load_text(LOAD_REST "[origin p]\nserver = https://a.test\nclient-certificate = /a.pem /a.key\n"
					       "[route s]\npath = /p\norigin = p\n");
	assert_string_equal(load.errors, "");
	assert_string_equal(load.conf->origins[1].client_certificate->chain_file, "/a.pem");
	assert_string_equal(load.conf->origins[1].client_certificate->key_file, "/a.key");
	assert_null(load.conf->origins[0].client_certificate);
	load_free(&load);
	load = load_text(LOAD_REST "[origin p]\nserver = https://a.test\nclient-certificate = /a.pem\n"
				   "[route s]\npath = /p\norigin = p\n");
	assert_string_equal(load.conf->origins[1].client_certificate->key_file, "/a.pem");
	load_free(&load);
}

/* ---- flaws of the files ---- */

static char folder[] = P_tmpdir "/pushgate-flaws-XXXXXX";

static int make_files(void **state)
{
	(void)state;
	char command[512];
	assert_non_null(mkdtemp(folder));
	snprintf(command, sizeof(command), "tests/support/client-certs %s && cd %s && cat ca.pem crl.pem >both.pem && cat expired.crl empty.crl >two.crl && "
		"cat ca.pem middle.pem >chain.pem && cat crl.pem middle.crl >chain.crl && cat middle.pem other-ca.pem >part.pem && "
		"openssl req -new -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=gate -days 30 -out own.pem -keyout own.key 2>log", folder, folder);
	assert_int_equal(system(command), 0);
	return 0;
}

static int remove_files(void **state)
{
	(void)state;
	char command[512];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void flaws_of_authorities_and_of_their_lists_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *line, *warning;
	} rows[] = {
	    {"ca.pem crl=crl.pem", ""},
	    {"ca.pem crl=two.crl", ""},
	    {"chain.pem crl=chain.crl", ""},
	    {"chain.pem optional", ""},
	    {"middle.pem", "the authority that has signed CN=test middle,O=Example is not in 'middle.pem', so that no certificate of "
			   "CN=test middle,O=Example is taken; add those above it, up to a self-signed one\n"},
	    {"part.pem", "the authority that has signed CN=test middle,O=Example is not in 'part.pem', so that no certificate of "
			 "CN=test middle,O=Example is taken; add those above it, up to a self-signed one\n"},
	    {"alice.pem", "CN=alice,O=Example in 'alice.pem' is no authority, so that it lets nobody in; put the authority there that "
			  "has signed it\n"},
	    {"expired-ca.pem", "the authority CN=test expired-ca,O=Example in 'expired-ca.pem' has expired on 2021-01-01, so that no "
			       "certificate of it is taken; put the new one there\n"},
	    {"ca.pem crl=expired.crl", "the list of CN=test ca,O=Example in 'expired.crl' has expired on 2021-01-01, so that no certificate "
				       "of it is taken; get the new one\n"},
	    {"chain.pem crl=crl.pem", "there is no list of CN=test middle,O=Example in 'crl.pem', so that no certificate of it is taken; add "
				      "its list, or an empty one\n"},
	    {"ca.pem crl=chain.crl", "the authority CN=test middle,O=Example, whose list is in 'chain.crl', is not in 'ca.pem', so that the "
				     "list counts only for clients that send its certificate with theirs; add it there, or remove the list\n"},
	    {"both.pem", "the list of CN=test ca,O=Example in 'both.pem' revokes nothing, because the line has no crl; add crl=both.pem\n"},
	    {"both.pem crl=both.pem", ""},
	};
	assert_int_equal(chdir(folder), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512], expected[512] = "";
		snprintf(text, sizeof(text), LOAD_LISTEN "certificate = own.pem\nkey = own.key\nclient-ca = %s\n" LOAD_ORIGIN LOAD_ROUTE, rows[i].line);
		if (rows[i].warning[0])
			snprintf(expected, sizeof(expected), "test.ini:5: warning: %s", rows[i].warning);
		struct load load = load_bytes(slice_of_string(text), true);
		const char *own = "test.ini:3: warning: the certificate in 'own.pem' has no name";
		char *at = strstr(load.errors, own);
		assert_non_null(at);
		*at = '\0';
		assert_string_equal(load.errors, expected);
		assert_non_null(load.conf);
		load_free(&load);
	}
}

static void a_condition_is_told_of_where_no_client_shows_a_certificate(void **state)
{
	(void)state;
#define WARNING(line, what, has, remove)                                                           \
	"test.ini:" line ": warning: " what " never matches, because no [listen NAME] " has            \
	" client-ca, so that no client shows a certificate; add it there, or remove the " remove "\n"
	static const char asks[] = "client-ca = /a.pem\n", rules[] = "access = x\n", rest[] = LOAD_ORIGIN LOAD_ROUTE
	    "cert = cn:a\n[access x]\nallow = cert=cn:a\n[push p]\naction = drop\ncert = cn:a\n";
	char text[1024];
	snprintf(text, sizeof(text), TLS_LISTEN "%s%s%s", rules, asks, rest);
	struct load load = load_fine(text, "");
	load_free(&load);
	snprintf(text, sizeof(text), TLS_LISTEN "%s%s", rules, rest);
	load = load_fine(text, WARNING("12", "this line", "with access = x has", "line")
				   WARNING("10", "[route r]", "with mode = gateway has", "section")
				       WARNING("15", "[push p]", "has", "section"));
	load_free(&load);
	/* The listener of the rules does not ask, and the one that asks is no gateway. */
	snprintf(text, sizeof(text), TLS_LISTEN "%s%s[listen f]\naddress = 127.0.0.1:9\nmode = forward\naccess = f\n" TLS "%s[access f]\nallow = client=10.0.0.0/8\n",
	    rules, rest, asks);
	load = load_fine(text, WARNING("12", "this line", "with access = x has", "line")
				   WARNING("10", "[route r]", "with mode = gateway has", "section"));
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_host_has_the_first_line_that_names_it_else_the_one_without_hosts),
	    cmocka_unit_test(without_a_line_for_all_others_they_are_not_asked),
	    cmocka_unit_test(mistakes_are_told),
	    cmocka_unit_test(an_origin_has_its_certificate_and_key_in_two_files_or_one),
	    cmocka_unit_test(a_condition_is_told_of_where_no_client_shows_a_certificate),
	    cmocka_unit_test_setup_teardown(
		flaws_of_authorities_and_of_their_lists_are_told, make_files, remove_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
