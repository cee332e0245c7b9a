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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_host_has_the_first_line_that_names_it_else_the_one_without_hosts),
	    cmocka_unit_test(without_a_line_for_all_others_they_are_not_asked),
	    cmocka_unit_test(mistakes_are_told),
	    cmocka_unit_test(an_origin_has_its_certificate_and_key_in_two_files_or_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
