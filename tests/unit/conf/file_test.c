/* SPDX-License-Identifier: MIT */
/* What needs files: includes, certificates, names that are looked up. Each test has a folder of its own. */
#include "tests/unit/conf/load.h"
#include "tests/unit/conf/pem.h"
#include <ftw.h>
#include <sys/stat.h>

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pushgate-conf.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st, (void)kind, (void)walk;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

/* Loads main.ini; in `errors` every @ stands for the folder. */
static struct conf *load_main(bool opens_files, const char *errors)
{
	char expected[4096] = "";
	for (size_t used = 0; *errors; errors++)
		used += (size_t)snprintf(expected + used, sizeof expected - used, "%.*s",
		    *errors == '@' ? (int)strlen(folder) : 1, *errors == '@' ? folder : errors);
	struct load load = load_file(path_of("main.ini"), opens_files);
	assert_string_equal(load.errors, expected);
	free(load.errors);
	return load.conf;
}

static void missing_file_is_one_mistake(void **state)
{
	(void)state;
	assert_null(load_main(true,
	    "@/main.ini:1: the configuration file '@/main.ini' cannot be read: No such file or "
	    "directory; name another one with -c FILE, or begin one: pushgate help-config example\n"));
	write_file("main.conf", "");
	assert_null(load_main(true,
	    "@/main.ini:1: the configuration file '@/main.ini' cannot be read: No such file or "
	    "directory; did you mean '@/main.conf'?\n"));
	mkdir(path_of("main.ini"), 0700);
	assert_null(load_main(true,
	    "@/main.ini:1: the configuration file '@/main.ini' cannot be read: Is a directory; name "
	    "another one with -c FILE, or begin one: pushgate help-config example\n"));
}

/* It was named by mistake. */
static void file_of_more_than_4_mib_is_refused(void **state)
{
	(void)state;
	enum { LINE = 100, LINES = 60000 };
	char *text = malloc(LINE * LINES + 1);
	assert_non_null(text);
	memset(text, '#', LINE * LINES);
	for (size_t i = 1; i <= LINES; i++)
		text[i * LINE - 1] = '\n';
	text[LINE * LINES] = '\0';
	write_file("large.ini", text);
	free(text);
	struct load load = load_file(path_of("large.ini"), false);
	assert_null(load.conf);
	assert_non_null(strstr(load.errors, "File too large"));
	load_free(&load);
}

static void included_files_are_read_in_place(void **state)
{
	(void)state;
	mkdir(path_of("conf.d"), 0700);
	write_file("main.ini",
	    "include = origin.ini\ninclude = conf.d/*.ini\ninclude = none.d/*.ini\n" LOAD_LISTEN
	    "[push z]\nhost = z\naction = drop\n");
	write_file("origin.ini", LOAD_ORIGIN);
	write_file("conf.d/b.ini", "[push b]\nhost = b\naction = drop\n");
	write_file("conf.d/a.ini", "include = ../route.ini\n[push a]\nhost = a\naction = drop\n");
	write_file("route.ini", LOAD_ROUTE "[push r]\nhost = r\naction = drop\n");
	struct conf *c = load_main(true, "");
	assert_non_null(c);
	assert_int_equal(c->route_count, 1);
	assert_int_equal(c->policy.count, 4);
	assert_string_equal(c->policy.rules[0].name, "r");
	assert_string_equal(c->policy.rules[1].name, "a");
	assert_string_equal(c->policy.rules[2].name, "b");
	assert_string_equal(c->policy.rules[3].name, "z");
	assert_string_equal(c->policy.rules[2].file, path_of("conf.d/b.ini"));
	assert_string_equal(c->policy.rules[0].file, path_of("conf.d/../route.ini"));
	conf_free(c);
}

static void who_only_looks_something_up_gets_no_warnings(void **state)
{
	(void)state;
	write_file("main.ini", LOAD_REST "[server]\nhint-wait = 1ms\n");
	conf_free(load_main(true, "@/main.ini:8: warning: hint-wait has no effect, because no rule and "
				  "no default-action hints; remove it\n"));
	conf_free(load_main(false, ""));
}

static void mistakes_name_the_file_that_they_are_in(void **state)
{
	(void)state;
	write_file("main.ini", "include = sub.ini\n" LOAD_REST "[listen l]\naddress = x\n");
	write_file("sub.ini", "\n[server]\nworkers = x\n[origin o]\nserver = demo:\n");
	assert_null(load_main(false,
	    "@/sub.ini:3: bad value 'x' for workers; write auto or a number from 1 to 256, such as "
	    "workers = 4\n"
	    "@/main.ini:4: duplicate section [origin o], first at @/sub.ini:4; give it another "
	    "name\n"
	    "@/main.ini:8: duplicate section [listen l], first at @/main.ini:2; give it another "
	    "name\n"
	    "@/main.ini:9: bad value 'x' for address: a port is missing: ADDRESS:PORT; write IP:PORT, "
	    "*:PORT or unix:/PATH, such as address = 127.0.0.1:8443\n"));
}

/* The working folder is a test's own: it goes there and comes back. */
static void paths_start_at_their_file_and_not_at_the_working_folder(void **state)
{
	(void)state;
	static const char *const spellings[] = {"main.ini", "./main.ini", "conf.d/../main.ini", NULL};
	char *back = getcwd(NULL, 0);
	mkdir(path_of("conf.d"), 0700);
	write_file("main.ini", "include = conf.d/*.ini\n[server]\nstatus-socket = s\n" LOAD_REST);
	write_file("conf.d/a.ini", "[preload p]\nmanifest = a.json\nmanifest = /b.json\n");
	assert_int_equal(chdir(folder), 0);
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		struct load load = load_file(spellings[i] ? spellings[i] : path_of("main.ini"), false);
		assert_string_equal(load.errors, "");
		char *own = realpath(folder, NULL), *named = strdup(load.conf->server.status_socket);
		assert_int_equal(named[0], '/');
		assert_string_equal(strrchr(named, '/'), "/s");
		*strrchr(named, '/') = '\0';
		char *real = realpath(named, NULL);
		assert_string_equal(real, own);
		const struct conf_preload *p = &load.conf->preloads[0];
		assert_int_equal(p->manifests[0][0], '/');
		assert_non_null(strstr(p->manifests[0], "/conf.d/a.json"));
		assert_string_equal(p->manifests[1], "/b.json");
		free(real);
		free(named);
		free(own);
		load_free(&load);
	}
	assert_int_equal(chdir(back), 0);
	free(back);
}

static void assert_place(const struct conf *c, const char *section, size_t index, const char *key, size_t nth,
    const char *file, uint32_t line)
{
	struct conf_place at = conf_find_place(c, section, index, key, nth);
	assert_string_equal(at.file, file);
	assert_int_equal(at.line, line);
}

static void place_of_each_option_is_known_after_the_load(void **state)
{
	(void)state;
	write_file("main.ini", "include = a.ini\n" LOAD_REST "[preload q]\nmanifest = 1\nadd = /x\nmanifest = 2\n");
	write_file("a.ini", "\n[preload p]\nlink = yes\n");
	struct conf *c = load_main(false, "");
	char main_file[128], included[128];
	snprintf(main_file, sizeof main_file, "%s", path_of("main.ini"));
	snprintf(included, sizeof included, "%s", path_of("a.ini"));
	assert_place(c, "listen", 0, "address", 0, main_file, 3);
	assert_place(c, "preload", 0, "link", 0, included, 3);
	assert_place(c, "preload", 1, "manifest", 0, main_file, 9);
	assert_place(c, "preload", 1, "manifest", 1, main_file, 11);
	assert_place(c, "preload", 0, "manifest", 0, included, 2); /* not given: its section */
	assert_place(c, "server", 0, "user", 0, main_file, 1);     /* nor that */
	conf_free(c);
}

static void include_cycles_and_missing_includes_are_refused(void **state)
{
	(void)state;
	write_file("main.ini", "include = a.ini\ninclude = gone.ini\n" LOAD_REST);
	write_file("a.ini", "include = b.ini\n");
	write_file("b.ini", "include = a.ini\ninclude = main.ini\ninclude = b.ini\n");
	assert_null(load_main(false,
	    "@/b.ini:1: '@/a.ini' is already included at @/main.ini:1; include a file once\n"
	    "@/b.ini:2: '@/main.ini' includes itself; include other files\n"
	    "@/b.ini:3: '@/b.ini' is already included at @/a.ini:1; include a file once\n"
	    "@/main.ini:2: the included file '@/gone.ini' cannot be read: No such file or directory; "
	    "name a readable file\n"));
}

static void include_depth_is_bounded(void **state)
{
	(void)state;
	write_file("main.ini", "include = 1.ini\n" LOAD_REST);
	for (int i = 1; i < 10; i++) {
		char name[16], text[32];
		snprintf(name, sizeof name, "%d.ini", i);
		snprintf(text, sizeof text, "include = %d.ini\n", i + 1);
		write_file(name, text);
	}
	assert_null(load_main(false,
	    "@/7.ini:1: includes are nested more than 8 deep; include the file from a file above\n"));
}

#define TLS_LISTEN "[listen l]\naddress = 127.0.0.1:8443\ncertificate = c.pem\nkey = k.pem\n"

static void certificates_are_paired_and_relative_to_the_file(void **state)
{
	(void)state;
	write_file(
	    "main.ini", TLS_LISTEN "certificate = c2.pem\nkey = k2.pem\n" LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_1);
	write_file("c2.pem", PEM_CERTIFICATE_2);
	write_file("k2.pem", PEM_KEY_2);
	struct conf *c = load_main(true, "");
	assert_non_null(c);
	assert_int_equal(c->listens[0].certificate_count, 2);
	assert_string_equal(c->listens[0].certificates[0].chain_file, path_of("c.pem"));
	assert_string_equal(c->listens[0].certificates[1].chain_file, path_of("c2.pem"));
	assert_string_equal(c->listens[0].certificates[1].key_file, path_of("k2.pem"));
	conf_free(c);
}

static void missing_certificate_and_key_are_refused(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	assert_null(load_main(true, "@/main.ini:3: the certificate file '@/c.pem' cannot be read: "
				    "No such file or directory; name a PEM "
				    "file\n"
				    "@/main.ini:4: the key file '@/k.pem' cannot be read: No such "
				    "file or directory; name a PEM file\n"));
	struct conf *c = load_main(false, ""); /* not looked at without opens_files */
	assert_non_null(c);
	conf_free(c);
}

static void damaged_key_is_not_said_to_be_that_of_another_certificate(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n");
	assert_null(load_main(true,
	    "@/main.ini:4: the key in '@/k.pem' is damaged or of an unknown kind; copy the whole file again, or make an RSA or P-256 key\n"));
}

/* On the curve secp256k1. */
static void certificate_for_an_unknown_kind_of_key_is_refused(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", PEM_CERTIFICATE_SECP256K1);
	write_file("k.pem", PEM_KEY_1);
	assert_null(load_main(true,
	    "@/main.ini:3: the certificate in '@/c.pem' is for an unknown kind of key; request it with an RSA or P-256 key\n"));
}

static void key_of_another_certificate_is_refused(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_2);
	assert_null(load_main(true,
	    "@/main.ini:4: the key '@/k.pem' does not belong to the certificate '@/c.pem'; name the key that the certificate was requested with\n"));
}

static void certificate_that_is_none_is_refused(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", "not a certificate\n");
	write_file("k.pem", PEM_KEY_1);
	assert_null(load_main(true,
	    "@/main.ini:3: there is no certificate in '@/c.pem'; name a PEM file, which has a line -----BEGIN CERTIFICATE-----\n"));
}

/* The certificate and the key are written as they are; the one mistake or warning is `report`. */
static void assert_pair(const char *certificate, const char *key, bool is_refused, const char *report)
{
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", certificate);
	write_file("k.pem", key);
	struct conf *c = load_main(true, report);
	assert_int_equal(c == NULL, is_refused);
	conf_free(c);
}

static void files_that_hold_something_else_are_named(void **state)
{
	(void)state;
	assert_pair(PEM_KEY_1, PEM_CERTIFICATE_1, true,
	    "@/main.ini:3: certificate and key are swapped: '@/c.pem' is a private key, and the file "
	    "of line 4 is a certificate; exchange the two files\n");
	assert_pair(PEM_KEY_1, PEM_KEY_1, true,
	    "@/main.ini:3: '@/c.pem' is a key and not a certificate; name the certificate's file\n");
	assert_pair(PEM_CERTIFICATE_1, PEM_CERTIFICATE_1, true,
	    "@/main.ini:4: '@/k.pem' is a certificate and not a private key; name the key's file\n");
	assert_pair(PEM_CERTIFICATE_1, PEM_ENCRYPTED_KEY_1, true,
	    "@/main.ini:4: the key in '@/k.pem' is encrypted; decrypt it: openssl pkey -in @/k.pem "
	    "-out NEW.key, and let nobody else read the new file\n");
	assert_pair("", PEM_KEY_1, true,
	    "@/main.ini:3: the certificate file '@/c.pem' is empty; put the certificate and its "
	    "chain there\n");
	assert_pair(PEM_CERTIFICATE_1, "", true,
	    "@/main.ini:4: the key file '@/k.pem' is empty; put the private key there\n");
	assert_pair("0\x82\1\1\2\1\1\1\1\1", "0\x82\1\1\2\1\1\1\1\1", true,
	    "@/main.ini:3: '@/c.pem' is in the form DER; write it as PEM: openssl x509 -inform DER "
	    "-in @/c.pem\n"
	    "@/main.ini:4: '@/k.pem' is in the form DER; write it as PEM: openssl pkey -inform DER "
	    "-in @/k.pem\n");
	assert_pair("0\x82\1\1\2\1\3\1\1\1", PEM_KEY_1, true,
	    "@/main.ini:3: '@/c.pem' is in the form PKCS #12; write it as PEM: openssl pkcs12 -nodes "
	    "-in @/c.pem\n");
	assert_pair("-----BEGIN CERTIFICATE REQUEST-----\n", "-----BEGIN PUBLIC KEY-----\n", true,
	    "@/main.ini:3: '@/c.pem' is a request for a certificate; name the certificate that the "
	    "authority made of it\n"
	    "@/main.ini:4: '@/k.pem' is a public key and not a private key; name the private one\n");
	/* PEM lines around something that is none: the library's own words. */
	assert_pair("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", PEM_KEY_1, true,
	    "@/main.ini:3: the certificate cannot be used: @/c.pem: header too long; name a PEM "
	    "certificate and its own key\n");
}

static void misspelt_manifest_is_a_warning(void **state)
{
	(void)state;
	write_file("main.ini", LOAD_REST "[preload p]\nmanifest = manfest.json\n");
	conf_free(load_main(true, ""));
	write_file("manifest.json", "{}");
	conf_free(load_main(true, "@/main.ini:8: warning: there is no manifest '@/manfest.json'; did "
				  "you mean '@/manifest.json'?\n"));
}

static void folders_in_place_of_certificates_are_named(void **state)
{
	(void)state;
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE);
	mkdir(path_of("c.pem"), 0700);
	mkdir(path_of("k.pem"), 0700);
	assert_null(load_main(true,
	    "@/main.ini:3: the certificate file '@/c.pem' cannot be read: Is a directory; name a PEM "
	    "file\n"
	    "@/main.ini:4: the key file '@/k.pem' cannot be read: Is a directory; name a PEM file\n"));
}

static void lone_certificate_beside_its_chain_is_a_warning(void **state)
{
	(void)state;
	write_file("main.ini",
	    "[listen l]\naddress = 127.0.0.1:8443\ncertificate = cert.pem\nkey = k.pem\n" LOAD_ORIGIN
		LOAD_ROUTE);
	write_file("cert.pem", PEM_SIGNED_2);
	write_file("k.pem", PEM_KEY_2);
	conf_free(load_main(true, ""));
	write_file("fullchain.pem", PEM_SIGNED_2);
	conf_free(load_main(true,
	    "@/main.ini:3: warning: '@/cert.pem' lacks the certificates that signed it, so that many "
	    "clients refuse it; name '@/fullchain.pem'\n"));
}

static void certificates_that_clients_refuse_are_warnings(void **state)
{
	(void)state;
	assert_pair(PEM_EXPIRED_1, PEM_KEY_1, false,
	    "@/main.ini:3: warning: the certificate in '@/c.pem' has expired on 2021-01-01, so that "
	    "clients refuse it; renew it\n");
	assert_pair(PEM_FUTURE_1, PEM_KEY_1, false,
	    "@/main.ini:3: warning: the certificate in '@/c.pem' is not valid before 2100-01-01; "
	    "check this machine's clock, or wait\n");
	assert_pair(PEM_NAMELESS_1, PEM_KEY_1, false,
	    "@/main.ini:3: warning: the certificate in '@/c.pem' has no name (subjectAltName), so "
	    "that clients refuse it for each host; have it made with its hosts' names\n");
}

static void chain_begins_with_the_certificate_of_the_key(void **state)
{
	(void)state;
	static char both[8192];
	snprintf(both, sizeof both, "%s%s", PEM_CERTIFICATE_2, PEM_CERTIFICATE_1);
	assert_pair(both, PEM_KEY_1, true,
	    "@/main.ini:3: the certificate of the key is number 2 in '@/c.pem'; put it first, then "
	    "the one that signed it, and so on\n");
	/* The second one of the chain counts too. */
	snprintf(both, sizeof both, "%s%s", PEM_CERTIFICATE_2, PEM_EXPIRED_1);
	assert_pair(both, PEM_KEY_2, false,
	    "@/main.ini:3: warning: certificate 2 of the chain (test1.invalid) in '@/c.pem' has "
	    "expired on 2021-01-01, so that clients refuse it; renew it\n");
}

static void keys_of_two_certificates_that_are_exchanged_are_named(void **state)
{
	(void)state;
	write_file(
	    "main.ini", TLS_LISTEN "certificate = c2.pem\nkey = k2.pem\n" LOAD_ORIGIN LOAD_ROUTE);
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_2);
	write_file("c2.pem", PEM_CERTIFICATE_2);
	write_file("k2.pem", PEM_KEY_1);
	assert_null(load_main(true,
	    "@/main.ini:4: the key '@/k.pem' belongs to the certificate of line 5, but keys are taken "
	    "in the order of the certificates; write each key below its certificate\n"
	    "@/main.ini:6: the key '@/k2.pem' belongs to the certificate of line 3, but keys are "
	    "taken in the order of the certificates; write each key below its certificate\n"));
}

static void hosts_of_routes_that_no_certificate_covers_are_warnings(void **state)
{
	(void)state;
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_1);
	write_file("c2.pem", PEM_CERTIFICATE_2);
	write_file("k2.pem", PEM_KEY_2);
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE
	    "host = test1.invalid other.invalid *.test1.invalid\n[route s]\norigin = o\nhost = *\n");
	conf_free(load_main(true,
	    "@/main.ini:9: warning: no certificate covers other.invalid, so that clients refuse it "
	    "over TLS; add one that has this name to [listen NAME]\n"
	    "@/main.ini:9: warning: no certificate covers *.test1.invalid, so that clients refuse it "
	    "over TLS; add one that has this name to [listen NAME]\n"));
	/* Those of all listeners count, and wildcards of one label. */
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE
	    "host = test1.invalid *.test2.invalid www.test2.invalid\n"
	    "[listen m]\naddress = 127.0.0.1:8444\ncertificate = c2.pem\nkey = k2.pem\n");
	conf_free(load_main(true, ""));
	/* Something in front ends TLS. */
	write_file("main.ini", TLS_LISTEN LOAD_ORIGIN LOAD_ROUTE
	    "host = other.invalid\n[listen m]\naddress = 127.0.0.1:8444\ntrusted = 192.0.2.1\n");
	conf_free(load_main(true, ""));
}

static void default_certificate_of_no_route_is_a_warning(void **state)
{
	(void)state;
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_1);
	write_file("c2.pem", PEM_CERTIFICATE_2);
	write_file("k2.pem", PEM_KEY_2);
	write_file("main.ini", TLS_LISTEN "certificate = c2.pem\nkey = k2.pem\n" LOAD_ORIGIN LOAD_ROUTE
	    "host = test2.invalid\n");
	conf_free(load_main(true,
	    "@/main.ini:3: warning: the first certificate is the default, for clients that name no "
	    "host (SNI) or an unknown one, and it covers no host of a route; put that of line 5 "
	    "first\n"));
	write_file("main.ini", TLS_LISTEN "certificate = c2.pem\nkey = k2.pem\n" LOAD_ORIGIN LOAD_ROUTE);
	conf_free(load_main(true, ""));
	/* A route for any host serves the first one too. */
	write_file("main.ini", TLS_LISTEN "certificate = c2.pem\nkey = k2.pem\n" LOAD_ORIGIN LOAD_ROUTE
	    "host = test2.invalid\n[route rest]\norigin = o\n");
	conf_free(load_main(true, ""));
}

static void authorities_are_read(void **state)
{
	(void)state;
	write_file("main.ini",
	    LOAD_LISTEN LOAD_ROUTE "[origin o]\nserver = h2://127.0.0.1:1\ntls-ca = ca.pem\n");
	assert_null(load_main(true, "@/main.ini:7: the tls-ca file '@/ca.pem' cannot be read: No such "
				    "file or directory; name a PEM file of authorities\n"));
	write_file("ca.crt", PEM_CERTIFICATE_1);
	assert_null(load_main(true, "@/main.ini:7: the tls-ca file '@/ca.pem' cannot be read: No such "
				    "file or directory; did you mean '@/ca.crt'?\n"));
	write_file("ca.pem", "");
	assert_null(load_main(true,
	    "@/main.ini:7: there is no certificate in the tls-ca file '@/ca.pem': it is empty; name "
	    "a PEM file of authorities, or remove the line for those of the system\n"));
	write_file("ca.pem", PEM_KEY_1);
	assert_null(load_main(true,
	    "@/main.ini:7: there is no certificate in the tls-ca file '@/ca.pem': it is a private "
	    "key; name a PEM file of authorities, or remove the line for those of the system\n"));
	write_file("ca.pem", PEM_CERTIFICATE_1);
	struct conf *c = load_main(true, "");
	assert_non_null(c);
	assert_string_equal(c->origins[0].tls_ca, path_of("ca.pem"));
	conf_free(c);
}

static void names_are_not_looked_up(void **state)
{
	(void)state;
	write_file("main.ini", LOAD_LISTEN LOAD_ROUTE "[origin o]\nserver = h2c://no-such-name.invalid:81\n");
	struct conf *c = load_main(true, "");
	assert_non_null(c);
	assert_int_equal(c->origins[0].servers[0].address.length, 0);
	assert_string_equal(c->origins[0].servers[0].host, "no-such-name.invalid");
	conf_free(c);
}

static void users_are_looked_up(void **state)
{
	(void)state;
	write_file("main.ini", LOAD_REST "[server]\nuser = no user of this name\n");
	assert_null(load_main(true,
	    "@/main.ini:8: there is no user 'no user of this name'; name an existing user or remove the line\n"));
	write_file("main.ini", LOAD_REST "[server]\nuser = root\naccess-log = logs/access\n");
	struct conf *c = load_main(true, "");
	assert_non_null(c);
	assert_string_equal(c->server.user, "root");
	assert_string_equal(c->server.access_log, path_of("logs/access"));
	conf_free(c);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FILE_TEST(missing_file_is_one_mistake),
	    FILE_TEST(file_of_more_than_4_mib_is_refused),
	    FILE_TEST(included_files_are_read_in_place),
	    FILE_TEST(who_only_looks_something_up_gets_no_warnings),
	    FILE_TEST(mistakes_name_the_file_that_they_are_in),
	    FILE_TEST(paths_start_at_their_file_and_not_at_the_working_folder),
	    FILE_TEST(place_of_each_option_is_known_after_the_load),
	    FILE_TEST(include_cycles_and_missing_includes_are_refused),
	    FILE_TEST(include_depth_is_bounded),
	    FILE_TEST(certificates_are_paired_and_relative_to_the_file),
	    FILE_TEST(missing_certificate_and_key_are_refused),
	    FILE_TEST(damaged_key_is_not_said_to_be_that_of_another_certificate),
	    FILE_TEST(certificate_for_an_unknown_kind_of_key_is_refused),
	    FILE_TEST(key_of_another_certificate_is_refused),
	    FILE_TEST(certificate_that_is_none_is_refused),
	    FILE_TEST(files_that_hold_something_else_are_named),
	    FILE_TEST(misspelt_manifest_is_a_warning),
	    FILE_TEST(folders_in_place_of_certificates_are_named),
	    FILE_TEST(lone_certificate_beside_its_chain_is_a_warning),
	    FILE_TEST(certificates_that_clients_refuse_are_warnings),
	    FILE_TEST(chain_begins_with_the_certificate_of_the_key),
	    FILE_TEST(keys_of_two_certificates_that_are_exchanged_are_named),
	    FILE_TEST(hosts_of_routes_that_no_certificate_covers_are_warnings),
	    FILE_TEST(default_certificate_of_no_route_is_a_warning),
	    FILE_TEST(authorities_are_read),
	    FILE_TEST(names_are_not_looked_up),
	    FILE_TEST(users_are_looked_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
