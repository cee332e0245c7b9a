/* SPDX-License-Identifier: MIT */
/*
 * Forward mode in the configuration: the sections that a listener with mode = forward adds, those of the file that take
 * their place, and what does not fit together.
 */
#include "tests/unit/conf/load.h"
#include "tests/unit/conf/pem.h"

#define FORWARD_LISTEN "[listen f]\naddress = 127.0.0.1:3128\nmode = forward\n"
#define FORWARD_ORIGIN "[origin web]\nserver = forward:\n"

static const struct conf_route *route(const struct conf *c, const char *name)
{
	for (size_t i = 0; i < c->route_count; i++)
		if (strcmp(c->routes[i].name, name) == 0)
			return &c->routes[i];
	fail_msg("there is no [route %s]", name);
	return NULL;
}

/* ---- what is added ---- */

static void listener_alone_is_enough(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD_LISTEN, "");
	const struct conf *c = load.conf;
	assert_int_equal(c->listen_count, 1);
	assert_true(conf_listen_is_forward(&c->listens[0]));
	assert_true(c->listens[0].takes_tunnels);
	assert_int_equal(c->origin_count, 1);
	assert_string_equal(c->origins[0].name, "forward");
	assert_int_equal(c->origins[0].kind, CONF_ORIGIN_FORWARD);
	assert_int_equal(c->route_count, 1);
	const struct conf_route *r = route(c, "forward");
	assert_true(r->is_forward);
	assert_ptr_equal(r->origin, &c->origins[0]);
	assert_int_equal(r->host_count + r->path_count, 0);
	assert_int_equal(r->upgrade_count, 1);
	assert_int_equal(r->upgrades[0].len, strlen("websocket"));
	assert_memory_equal(r->upgrades[0].ptr, "websocket", r->upgrades[0].len);
	assert_true(conf_has_names(c));
	load_free(&load);
}

static void two_listeners_share_what_is_added(void **state)
{
	(void)state;
	struct load load =
	    load_fine(FORWARD_LISTEN "[listen g]\naddress = 127.0.0.1:3129\nmode = forward\n", "");
	assert_int_equal(load.conf->origin_count, 1);
	assert_int_equal(load.conf->route_count, 1);
	load_free(&load);
}

static void gateway_gets_nothing_added(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	assert_int_equal(load.conf->origin_count, 1);
	assert_int_equal(load.conf->route_count, 1);
	assert_false(load.conf->routes[0].is_forward);
	load_free(&load);
}

static void both_kinds_of_listeners_have_routes_of_their_own(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST FORWARD_LISTEN, "");
	assert_int_equal(load.conf->route_count, 2);
	assert_false(route(load.conf, "r")->is_forward);
	assert_true(route(load.conf, "forward")->is_forward);
	assert_false(load.conf->listens[0].takes_tunnels);
	assert_true(load.conf->listens[1].takes_tunnels);
	load_free(&load);
}

/* ---- what is there already ---- */

static void origin_of_the_file_is_used(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD_LISTEN FORWARD_ORIGIN "connect-timeout = 3s\n", "");
	assert_int_equal(load.conf->origin_count, 1);
	const struct conf_route *r = route(load.conf, "forward");
	assert_string_equal(r->origin->name, "web");
	assert_int_equal(r->origin->connect_timeout, 3 * USEC_PER_SEC);
	load_free(&load);
	/* It may have the name of the built-in one. */
	load = load_fine(FORWARD_LISTEN "[origin forward]\nserver = forward:\n", "");
	assert_int_equal(load.conf->origin_count, 1);
	assert_string_equal(route(load.conf, "forward")->origin->name, "forward");
	load_free(&load);
}

static void route_that_takes_everything_replaces_the_built_in_one(void **state)
{
	(void)state;
	static const char *const conditions[] = {
	    "", "host = *\n", "path = /\n", "host = a.example *\npath = /x /\n"};
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		char text[512];
		snprintf(text, sizeof text, FORWARD_LISTEN FORWARD_ORIGIN "[route all]\norigin = web\n%s",
		    conditions[i]);
		struct load load = load_fine(text, "");
		assert_int_equal(load.conf->route_count, 1);
		assert_true(route(load.conf, "all")->is_forward);
		assert_int_equal(route(load.conf, "all")->upgrade_count, 0);
		assert_false(load.conf->listens[0].takes_tunnels);
		load_free(&load);
	}
}

static void route_with_conditions_stands_beside_the_built_in_one(void **state)
{
	(void)state;
	static const char *const conditions[] = {
	    "host = *.example\n", "path = /api\n", "method = GET\n", "field = x-a: b\n"};
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		char text[512];
		snprintf(text, sizeof text, FORWARD_LISTEN FORWARD_ORIGIN "[route some]\norigin = web\n%s",
		    conditions[i]);
		struct load load = load_fine(text, "");
		assert_int_equal(load.conf->origin_count, 1);
		assert_int_equal(load.conf->route_count, 2);
		assert_true(route(load.conf, "some")->is_forward);
		assert_true(route(load.conf, "forward")->is_forward);
		load_free(&load);
	}
}

static void route_may_name_the_built_in_origin(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD_LISTEN "[route some]\norigin = forward\nhost = a.example\n", "");
	assert_int_equal(load.conf->route_count, 2);
	assert_ptr_equal(route(load.conf, "some")->origin, route(load.conf, "forward")->origin);
	load_free(&load);
	load = load_fine(FORWARD_LISTEN "[route all]\norigin = forward\n", "");
	assert_int_equal(load.conf->route_count, 1);
	load_free(&load);
}

static void gateway_route_for_everything_replaces_nothing(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST FORWARD_LISTEN FORWARD_ORIGIN, "");
	assert_int_equal(load.conf->route_count, 2);
	assert_string_equal(route(load.conf, "forward")->origin->name, "web");
	load_free(&load);
}

/* ---- mistakes ---- */

static void names_that_the_built_in_sections_need_are_not_for_others(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN "[origin forward]\nserver = demo:\n",
	    "test.ini:4: mode = forward at test.ini:3 makes a section [origin forward], but this one "
	    "has not server = forward:; give it another name\n");
	assert_refused(FORWARD_LISTEN FORWARD_ORIGIN "[route forward]\norigin = web\nhost = a.example\n",
	    "test.ini:6: mode = forward at test.ini:3 makes a section [route forward], but this one "
	    "does not take every request of forward mode; give it another name\n");
	assert_refused(LOAD_ORIGIN LOAD_LISTEN FORWARD_LISTEN "[route forward]\norigin = o\n",
	    "test.ini:8: mode = forward at test.ini:7 makes a section [route forward], but this one "
	    "does not take every request of forward mode; give it another name\n");
}

static void forward_origin_shares_no_route(void **state)
{
	(void)state;
	static const char wrong[] =
	    "test.ini:12: an origin with server = forward: shares no route with others; name it alone\n";
	assert_refused(LOAD_LISTEN FORWARD_LISTEN LOAD_ORIGIN FORWARD_ORIGIN
	    "[route r]\nhost = a.example\norigin = web, o\n",
	    wrong);
	assert_refused(LOAD_LISTEN FORWARD_LISTEN LOAD_ORIGIN FORWARD_ORIGIN
	    "[route r]\nhost = a.example\norigin = o, web\n",
	    wrong);
}

static void rewrite_is_for_gateways(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN FORWARD_ORIGIN "[route r]\norigin = web\npath = /a\nrewrite = /a /b\n",
	    "test.ini:9: rewrite is for gateways, and the route has an origin with server = forward:; "
	    "remove it\n");
}

static void a_proxy_says_nothing_of_https_for_others(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN "redirect-to-https = yes\n",
	    "test.ini:4: redirect-to-https is about the hosts of a gateway, and mode = forward is for every host; "
	    "remove it\n");
	assert_refused(FORWARD_LISTEN "hsts = 365d\n",
	    "test.ini:4: hsts is for TLS, but the section has no certificate (browsers ignore it in cleartext); put it "
	    "into the [listen NAME] with the certificate\n"
	    "test.ini:4: hsts is about the hosts of a gateway, and mode = forward is for every host; remove it\n");
}

static void responses_of_other_sites_get_no_server_timing(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN FORWARD_ORIGIN "[route r]\norigin = web\nspeculation = prefetch\n",
	    "test.ini:8: speculation is about the responses of a gateway's origins, and mode = forward is for every host; "
	    "remove it\n");
	assert_refused(FORWARD_LISTEN FORWARD_ORIGIN "[route r]\norigin = web\nserver-timing = yes\n",
	    "test.ini:8: server-timing is about the responses of a gateway's origins, and mode = forward is for every host; "
	    "remove it\n");
}

static void forward_origin_has_one_line_server(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN "[origin web]\nserver = forward:x\n",
	    "test.ini:5: bad value 'forward:x' for server: nothing may follow forward:; write "
	    "https://HOST:PORT, http://HOST:PORT, https1://HOST:PORT, h2://HOST:PORT, h2c://HOST:PORT, h1+unix:/PATH, "
	    "h2c+unix:/PATH, srv:NAME, demo: or forward:, and behind it weight=NUMBER, backup or down, "
	    "such as server = http://127.0.0.1:8080\n");
}

static void other_mistakes_are_reported_alone(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN "[server]\nworkers = x\n",
	    "test.ini:5: bad value 'x' for workers; write auto or a number from 1 to 256, such as workers = 4\n");
	assert_refused(FORWARD_LISTEN "[route r]\norigin = forward\nhost = a.example\nnonsense = 1\n",
	    "test.ini:7: [route] has no option 'nonsense'; see pushgate help-config route\n");
	assert_refused(FORWARD_LISTEN "[origin forward]\nserver = forward:\nnonsense = 1\n",
	    "test.ini:6: [origin] has no option 'nonsense'; see pushgate help-config origin\n");
	assert_refused(FORWARD_LISTEN "[origin forward]\nnonsense = 1\n",
	    "test.ini:5: [origin] has no option 'nonsense'; see pushgate help-config origin\n"
	    "test.ini:4: [origin forward] has no server; add a line such as server = http://127.0.0.1:8080\n");
}

/* ---- warnings ---- */

static void route_that_no_listener_uses_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD_LISTEN LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:6: warning: [route r] never matches, because no [listen NAME] has mode = "
	    "gateway; add one, or remove the section\n");
	load_free(&load);
	load = load_fine(LOAD_REST FORWARD_ORIGIN "[route s]\norigin = web\n",
	    "test.ini:9: warning: [route s] never matches, because no [listen NAME] has mode = "
	    "forward; add that to one\n");
	load_free(&load);
}

static void routes_of_the_two_modes_do_not_hide_each_other(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST FORWARD_LISTEN FORWARD_ORIGIN "[route all]\norigin = web\n", "");
	load_free(&load);
	load = load_fine(FORWARD_LISTEN FORWARD_ORIGIN "[route a]\norigin = web\n[route b]\norigin = web\n",
	    "test.ini:8: warning: [route b] never matches, because [route a] at test.ini:6 has its "
	    "hosts and paths; remove one of them\n");
	load_free(&load);
}

static void options_of_an_origin_that_forward_mode_has_not_are_told(void **state)
{
	(void)state;
	assert_refused(FORWARD_LISTEN FORWARD_ORIGIN "tls-name = a.example\nhealth-check = /ok\n",
	    "test.ini:6: tls-name is for the servers of one origin, and server = forward: stands for every host; remove it\n"
	    "test.ini:7: health-check is for the servers of one origin, and server = forward: stands for every host; remove it\n");
	struct load load = load_fine(FORWARD_LISTEN FORWARD_ORIGIN "eject-failures = 3\n",
	    "test.ini:6: warning: eject-failures has no effect, because server is forward:, and pushgate "
	    "keeps no health of servers that requests name; remove it\n");
	load_free(&load);
	load = load_fine(FORWARD_LISTEN FORWARD_ORIGIN
	    "tls-ca = /a.pem\nbalance = round-robin\nmax-connections = 2\nmax-http1-connections = 2\n"
	    "max-destinations = 20\n[route all]\norigin = web\nretry-on = lost\nretries = 1\n",
	    "");
	load_free(&load);
	load = load_fine(LOAD_LISTEN LOAD_ORIGIN "max-destinations = 20\n" LOAD_ROUTE,
	    "test.ini:5: warning: max-destinations has no effect, because server is not forward:; remove it\n");
	load_free(&load);
}

/* ---- certificates ---- */

static char folder[64];

static void write_file(const char *name, const char *text)
{
	char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pushgate-forward.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	write_file("c.pem", PEM_CERTIFICATE_1);
	write_file("k.pem", PEM_KEY_1);
	write_file("c2.pem", PEM_CERTIFICATE_2);
	write_file("k2.pem", PEM_KEY_2);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	static const char *const names[] = {"c.pem", "k.pem", "c2.pem", "k2.pem", "main.ini"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	return rmdir(folder);
}

/* Loads the text from a file beside the certificates; the warnings are given without its path. */
static void assert_warns(const char *text, const char *warnings)
{
	char path[128], *found = NULL;
	size_t length;
	write_file("main.ini", text);
	snprintf(path, sizeof path, "%s/main.ini", folder);
	struct load load = load_file(path, true);
	FILE *out = open_memstream(&found, &length);
	for (const char *at = load.errors; *at;)
		if (strncmp(at, path, strlen(path)) == 0)
			at += strlen(path);
		else
			fputc(*at++, out);
	fclose(out);
	assert_string_equal(found, warnings);
	assert_non_null(load.conf);
	free(found);
	load_free(&load);
}

#define CERTIFICATE "certificate = c.pem\nkey = k.pem\n"
#define CERTIFICATE_2 "certificate = c2.pem\nkey = k2.pem\n"

static void certificate_of_the_proxy_need_not_cover_hosts(void **state)
{
	(void)state;
	assert_warns(FORWARD_LISTEN CERTIFICATE, "");
	assert_warns(FORWARD_LISTEN CERTIFICATE FORWARD_ORIGIN
	    "[route r]\norigin = web\nhost = other.invalid\n",
	    "");
	/* Nor does the order of its certificates depend on routes. */
	assert_warns(FORWARD_LISTEN CERTIFICATE CERTIFICATE_2 LOAD_LISTEN CERTIFICATE_2 LOAD_ORIGIN
	    LOAD_ROUTE "host = test2.invalid\n",
	    "");
}

static void certificate_of_the_proxy_covers_no_host_of_a_gateway(void **state)
{
	(void)state;
	static const char uncovered[] =
	    ":12: warning: no certificate covers test1.invalid, so that clients refuse it over TLS; "
	    "add one that has this name to [listen NAME]\n";
	assert_warns(FORWARD_LISTEN CERTIFICATE "[listen l]\naddress = 127.0.0.1:8443\n" CERTIFICATE_2
		     "[route r]\norigin = o\nhost = test1.invalid\n" LOAD_ORIGIN,
	    uncovered);
	/* A forward listener with trusted peers ends no TLS for the gateway. */
	assert_warns("[listen f]\naddress = 127.0.0.1:3128\nmode = forward\ntrusted = 192.0.2.1\n"
		     "\n[listen l]\naddress = 127.0.0.1:8443\n" CERTIFICATE_2
		     "[route r]\norigin = o\nhost = test1.invalid\n" LOAD_ORIGIN,
	    uncovered);
	/* A gateway in cleartext needs no certificate, whatever the proxy has. */
	assert_warns(FORWARD_LISTEN CERTIFICATE LOAD_LISTEN LOAD_ORIGIN LOAD_ROUTE
	    "host = other.invalid\n",
	    "");
}

static void route_of_the_proxy_serves_no_certificate_of_a_gateway(void **state)
{
	(void)state;
	static const char first[] =
	    ":6: warning: the first certificate is the default, for clients that name no host (SNI) "
	    "or an unknown one, and it covers no host of a route; put that of line 8 first\n";
	/* The built-in route is for any host, and another one for that of the certificate, but both in forward mode. */
	assert_warns(FORWARD_LISTEN LOAD_LISTEN CERTIFICATE CERTIFICATE_2 LOAD_ORIGIN LOAD_ROUTE
	    "host = test2.invalid\n" FORWARD_ORIGIN "[route s]\norigin = web\nhost = test1.invalid\n",
	    first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(listener_alone_is_enough),
	    cmocka_unit_test(two_listeners_share_what_is_added),
	    cmocka_unit_test(gateway_gets_nothing_added),
	    cmocka_unit_test(both_kinds_of_listeners_have_routes_of_their_own),
	    cmocka_unit_test(origin_of_the_file_is_used),
	    cmocka_unit_test(route_that_takes_everything_replaces_the_built_in_one),
	    cmocka_unit_test(route_with_conditions_stands_beside_the_built_in_one),
	    cmocka_unit_test(route_may_name_the_built_in_origin),
	    cmocka_unit_test(gateway_route_for_everything_replaces_nothing),
	    cmocka_unit_test(names_that_the_built_in_sections_need_are_not_for_others),
	    cmocka_unit_test(forward_origin_shares_no_route),
	    cmocka_unit_test(rewrite_is_for_gateways),
	    cmocka_unit_test(a_proxy_says_nothing_of_https_for_others),
	    cmocka_unit_test(responses_of_other_sites_get_no_server_timing),
	    cmocka_unit_test(forward_origin_has_one_line_server),
	    cmocka_unit_test(other_mistakes_are_reported_alone),
	    cmocka_unit_test(route_that_no_listener_uses_is_a_warning),
	    cmocka_unit_test(routes_of_the_two_modes_do_not_hide_each_other),
	    cmocka_unit_test(options_of_an_origin_that_forward_mode_has_not_are_told),
	    cmocka_unit_test(certificate_of_the_proxy_need_not_cover_hosts),
	    cmocka_unit_test(certificate_of_the_proxy_covers_no_host_of_a_gateway),
	    cmocka_unit_test(route_of_the_proxy_serves_no_certificate_of_a_gateway),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
