/* SPDX-License-Identifier: MIT */
/* The option acme: the authority, the names, and the certificate that is there while no other one is. */
#include "proxy/base/sealed.h"
#include "tests/unit/conf/load.h"
#include "tests/unit/conf/pem.h"
#include <sys/stat.h>

#define SERVER "[server]\nacme-dir = /var/acme\n"
#define URL "https://ca.example/dir"
#define CLEAR "[listen c]\naddress = 127.0.0.1:80\n"
#define TLS(value) "[listen l]\naddress = 127.0.0.1:443\nacme = " value "\n"
#define HOSTS(hosts) "[route r]\nhost = " hosts "\norigin = o\n"

static void names_are_the_hosts_of_all_routes(void **state)
{
	(void)state;
	struct load load = load_fine(SERVER "acme-email = me@a.example\n" TLS(URL) CLEAR LOAD_ORIGIN HOSTS(
	    "A.example b.example") "[route s]\nhost = b.example c.example\npath = /x\norigin = o\n"
				   "[route any]\nhost = * 10.0.0.1 [::1]\norigin = o\n",
	    "");
	const struct conf_listen *l = &load.conf->listens[0];
	const struct conf_acme *acme = &load.conf->server.acme;
	assert_string_equal(acme->directory, URL);
	assert_string_equal(acme->server->text, "ca.example");
	assert_string_equal(acme->server->host, "ca.example");
	assert_int_equal(acme->server->port, 443);
	assert_true(conf_acme_has_name(load.conf));
	assert_string_equal(acme->email, "me@a.example");
	assert_non_null(l->acme);
	assert_int_equal(l->acme->count, 3);
	assert_string_equal(l->acme->names[0], "a.example");
	assert_string_equal(l->acme->names[1], "b.example");
	assert_string_equal(l->acme->names[2], "c.example");
	assert_string_equal(l->acme->file, "/var/acme/l.pem");
	assert_int_equal(l->certificate_count, 1);
	assert_string_equal(l->certificates[0].chain_file, "/var/acme/l.pem");
	assert_string_equal(l->certificates[0].key_file, "/var/acme/l.pem");
	assert_null(load.conf->listens[1].acme);
	load_free(&load);
}

static void several_listeners_have_one_authority(void **state)
{
	(void)state;
	struct load load = load_fine(SERVER TLS(URL) CLEAR
	    "[listen m]\naddress = 127.0.0.1:444\nacme = " URL "\n" LOAD_ORIGIN HOSTS("a.example"),
	    "");
	assert_string_equal(load.conf->listens[2].acme->file, "/var/acme/m.pem");
	load_free(&load);
	assert_refused(SERVER TLS(URL) CLEAR
	    "[listen m]\naddress = 127.0.0.1:444\nacme = https://other.example/dir\n" LOAD_ORIGIN HOSTS(
		"a.example"),
	    "test.ini:10: another [listen NAME] has acme = https://ca.example/dir; name the same "
	    "directory in all\n");
}

static void everything_else_is_a_mistake(void **state)
{
	(void)state;
	static const struct {
		const char *text, *error;
	} rows[] = {
	    {SERVER TLS("http://ca.example/dir") CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"the directory of an authority has https://"},
	    {SERVER TLS("https://ca.example") CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"it is not the URL of a directory"},
	    {SERVER TLS("https://ca.example:0/d") CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"it is not HOST:PORT"},
	    {SERVER TLS(URL) CLEAR LOAD_ORIGIN HOSTS("a.example *.b.example"),
		"test.ini:5: acme gets no certificate for *.b.example of [route r]: an authority makes "
		"one for a wildcard by a record of the DNS alone; name each host there, or use "
		"certificate and key of another client of ACME\n"},
	    {SERVER TLS(URL) CLEAR LOAD_ORIGIN LOAD_ROUTE,
		"test.ini:5: no route has a host that a certificate could be for"},
	    {TLS(URL) CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"test.ini:3: acme needs a folder for keys and certificates"},
	    {SERVER TLS(URL) "certificate = c.pem\nkey = k.pem\n" CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"test.ini:5: a [listen NAME] with acme has no other certificate"},
	    {SERVER TLS(URL) "mode = admin\n" CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"test.ini:5: acme is for mode = gateway"},
	    {SERVER "acme-email = me\n" TLS(URL) CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"write one address of mail"},
	    {SERVER TLS(URL) "redirect-to-https = yes\n" CLEAR LOAD_ORIGIN HOSTS("a.example"),
		"redirect-to-https is for cleartext"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = load_text(rows[i].text);
		assert_null(load.conf);
		if (!strstr(load.errors, rows[i].error))
			fail_msg("%s\nis not in\n%s", rows[i].error, load.errors);
		load_free(&load);
	}
}

static void hundred_hosts_are_the_most(void **state)
{
	(void)state;
	for (int count = 100; count <= 101; count++) {
		char text[8192];
		int n = snprintf(text, sizeof text, SERVER TLS(URL) CLEAR LOAD_ORIGIN "[route r]\norigin = o\nhost =");
		for (int i = 0; i < count; i++)
			n += snprintf(text + n, sizeof text - (size_t)n, " h%d.example", i);
		struct load load = load_text(text);
		assert_int_equal(load.conf != NULL, count == 100);
		assert_int_equal(
		    strstr(load.errors, "the routes have more than 100 hosts") != NULL, count > 100);
		load_free(&load);
	}
}

static void challenge_is_where_it_can_be_answered(void **state)
{
	(void)state;
	static const struct {
		const char *option, *clear;
		bool is_over_tls, warns;
	} rows[] = {
	    {"", CLEAR, false, false},
	    {"", "", true, false},
	    {"", CLEAR "mode = admin\n", true, false},
	    {"acme-challenge = tls\n", CLEAR, true, false},
	    {"acme-challenge = http\n", CLEAR, false, false},
	    {"acme-challenge = http\n", "", false, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[1024];
		snprintf(text, sizeof text, "[server]\nacme-dir = /var/acme\n%s" TLS(URL) "%s" LOAD_ORIGIN HOSTS("a.example"),
		    rows[i].option, rows[i].clear);
		struct load load = load_text(text);
		assert_non_null(load.conf);
		assert_int_equal(conf_acme_is_over_tls(load.conf), rows[i].is_over_tls);
		assert_int_equal(strstr(load.errors,
				     "warning: the authority asks each host for a file over cleartext, and each "
				     "[listen NAME] has a certificate; add one without, at port 80\n") != NULL,
		    rows[i].warns);
		load_free(&load);
	}
}

static void names_are_as_authorities_know_them(void **state)
{
	(void)state;
	struct load load = load_text(SERVER TLS(URL) CLEAR LOAD_ORIGIN HOSTS("A.example. b.example") "[route s]\nhost = a.example localhost\npath = /x\norigin = o\n");
	assert_non_null(load.conf);
	const struct conf_acme_listen *acme = load.conf->listens[0].acme;
	assert_int_equal(acme->count, 3);
	assert_string_equal(acme->names[0], "a.example");
	assert_string_equal(acme->names[1], "b.example");
	assert_string_equal(acme->names[2], "localhost");
	assert_string_equal(load.errors,
	    "test.ini:5: warning: no public authority makes a certificate for localhost of [route s], and an order with it "
	    "fails; remove that host, or name an authority of your own\n");
	load_free(&load);
}

static void options_of_the_account_have_no_effect_alone(void **state)
{
	(void)state;
	struct load load = load_text(SERVER LOAD_REST);
	assert_non_null(load.conf);
	assert_non_null(strstr(load.errors, "no [listen NAME] has acme"));
	load_free(&load);
}

/* ---- files ---- */

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/pushgate-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char path[80];
	snprintf(path, sizeof path, "%s/l.pem", folder);
	unlink(path);
	return rmdir(folder);
}

static struct load load_with_file(const char *bytes)
{
	char text[1024], path[80];
	snprintf(path, sizeof path, "%s/l.pem", folder);
	if (bytes) {
		FILE *f = fopen(path, "w");
		fputs(bytes, f);
		fclose(f);
	}
	snprintf(text, sizeof text,
	    "[server]\nacme-dir = %s\n" TLS(URL) CLEAR LOAD_ORIGIN HOSTS("test1.invalid"), folder);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_non_null(load.conf);
	return load;
}

/* What the listener begins with. */
static void begins_with(const struct load *load, bool is_self_signed_for_now)
{
	static const char *const names[] = {"test1.invalid"};
	const struct conf_listen *l = &load->conf->listens[0];
	struct sealed_view v;
	struct net_issued issued;
	assert_int_equal(sealed_view_open(load->conf->sealed, l->acme->file, &v), 0);
	struct net_key *key = net_key_read(v.bytes);
	assert_non_null(key);
	assert_true(net_issued_read(v.bytes, key, names, 1, &issued));
	assert_int_equal(issued.missing, 1);
	assert_int_equal(issued.ends, l->shown[0].ends);
	assert_int_equal(issued.ends < 4000000000, is_self_signed_for_now);
	assert_int_equal(strstr(load->errors, "yet; clients get one that nobody has signed until the first comes") != NULL,
	    is_self_signed_for_now);
	net_key_free(key);
	sealed_view_close(&v);
}

static void listener_has_a_certificate_before_the_first_comes(void **state)
{
	(void)state;
	struct load load = load_with_file(NULL);
	begins_with(&load, true);
	load_free(&load);
}

static void listener_has_the_certificate_of_its_file(void **state)
{
	(void)state;
	char text[4096];
	snprintf(text, sizeof text, "%s%s", PEM_KEY_1, PEM_CERTIFICATE_1);
	struct load load = load_with_file(text);
	begins_with(&load, false);
	load_free(&load);
}

static void damaged_file_does_not_stop_the_start(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "x", PEM_CERTIFICATE_1, PEM_KEY_1};
	char other[4096];
	for (size_t i = 0; i < 4; i++) {
		struct load load = load_with_file(texts[i]);
		begins_with(&load, true);
		load_free(&load);
	}
	snprintf(other, sizeof other, "%s%s", PEM_KEY_2, PEM_CERTIFICATE_1);
	struct load load = load_with_file(other);
	begins_with(&load, true);
	load_free(&load);
}

#define FILE_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_are_the_hosts_of_all_routes),
	    cmocka_unit_test(several_listeners_have_one_authority),
	    cmocka_unit_test(everything_else_is_a_mistake),
	    cmocka_unit_test(hundred_hosts_are_the_most),
	    cmocka_unit_test(challenge_is_where_it_can_be_answered),
	    cmocka_unit_test(names_are_as_authorities_know_them),
	    cmocka_unit_test(options_of_the_account_have_no_effect_alone),
	    FILE_TEST(listener_has_a_certificate_before_the_first_comes),
	    FILE_TEST(listener_has_the_certificate_of_its_file),
	    FILE_TEST(damaged_file_does_not_stop_the_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
