/* SPDX-License-Identifier: MIT */
/* proxy-protocol and client-address of [listen]: what they store, and what they need. */
#include "tests/unit/conf/load.h"

#define REST LOAD_ORIGIN LOAD_ROUTE LOAD_LISTEN
#define TRUSTED "trusted = 192.0.2.1\n"

static void proxy_protocol_is_off_unless_it_is_required(void **state)
{
	(void)state;
	struct load load = load_fine(REST, "");
	const struct conf_proxy_protocol *p = &load.conf->listens[0].proxy_protocol;
	assert_false(p->is_required);
	assert_int_equal(p->timeout, 10 * USEC_PER_SEC);
	assert_int_equal(p->https_port, 0);
	load_free(&load);
	load = load_fine(REST TRUSTED "proxy-protocol = required\nproxy-protocol-timeout = 3s\nproxy-protocol-https-port = 443\n", "");
	p = &load.conf->listens[0].proxy_protocol;
	assert_true(p->is_required);
	assert_int_equal(p->timeout, 3 * USEC_PER_SEC);
	assert_int_equal(p->https_port, 443);
	load_free(&load);
}

static void client_address_names_a_field(void **state)
{
	(void)state;
	static const struct {
		const char *text, *field;
		enum http_token token;
		uint32_t hops;
	} rows[] = {
	    {REST, "", HTTP_TOKEN_NONE, 1},
	    {REST "client-address = peer\n", "", HTTP_TOKEN_NONE, 1},
	    {REST TRUSTED "client-address = forwarded\n", "forwarded", HTTP_TOKEN_FORWARDED, 1},
	    {REST TRUSTED "client-address = X-Forwarded-For\nclient-hops = 2\n", "x-forwarded-for", HTTP_TOKEN_X_FORWARDED_FOR, 2},
	    {REST TRUSTED "client-address = CF-Connecting-IP\nclient-hops = 16\n", "cf-connecting-ip", HTTP_TOKEN_NONE, 16},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = load_fine(rows[i].text, "");
		const struct conf_client_address *from = &load.conf->listens[0].client_address;
		assert_true(slice_equal(from->field, slice_of_string(rows[i].field)));
		assert_int_equal(from->token, rows[i].token);
		assert_int_equal(from->hops, rows[i].hops);
		assert_int_equal(conf_listen_names_clients(&load.conf->listens[0]), *rows[i].field != 0);
		load_free(&load);
	}
}

static void both_need_peers_that_are_trusted(void **state)
{
	(void)state;
	assert_refused(REST "proxy-protocol = required\n",
	    "test.ini:7: proxy-protocol takes headers of peers in trusted alone, and the section has none; add "
	    "trusted = with the addresses of the balancer\n");
	assert_refused(REST "client-address = x-forwarded-for\n",
	    "test.ini:7: client-address believes peers in trusted alone, and the section has none; add trusted = "
	    "with the addresses of the proxies in front\n");
}

static void options_without_these_have_no_effect(void **state)
{
	(void)state;
	struct load load = load_fine(REST "proxy-protocol-https-port = 443\n",
	    "test.ini:7: warning: proxy-protocol-https-port has no effect, because proxy-protocol is off; remove it\n");
	load_free(&load);
	load = load_fine(REST "client-hops = 2\n", "test.ini:7: warning: client-hops has no effect, because client-address is peer; remove it\n");
	load_free(&load);
}

/* ---- what origins are told ---- */

#define ORIGIN(lines) LOAD_LISTEN LOAD_ROUTE "[origin o]\n" lines

static void origin_is_told_of_clients_on_connections_of_their_own(void **state)
{
	(void)state;
	struct load load = load_fine(ORIGIN("server = http://192.0.2.9:80\n"), "");
	assert_false(load.conf->origins[0].is_private);
	assert_int_equal(load.conf->origins[0].send_proxy, PEER_VERSION_NONE);
	assert_false(conf_tells_ends(load.conf));
	load_free(&load);
	load = load_fine(ORIGIN("server = https1://192.0.2.9:443\nconnections = private\nsend-proxy = v1\n"), "");
	assert_true(load.conf->origins[0].is_private);
	assert_int_equal(load.conf->origins[0].send_proxy, PEER_VERSION_1);
	assert_true(conf_tells_ends(load.conf));
	load_free(&load);
	load = load_fine(ORIGIN("server = h1+unix:/run/a.sock\nsend-proxy = v2\nconnections = private\n"), "");
	assert_int_equal(load.conf->origins[0].send_proxy, PEER_VERSION_2);
	load_free(&load);
}

static void connection_with_many_clients_has_no_header(void **state)
{
	(void)state;
	assert_refused(ORIGIN("server = http://192.0.2.9:80\nsend-proxy = v2\n"),
	    "test.ini:7: a PROXY header names one client for a whole connection, and the connections of this origin are "
	    "shared by all clients; add connections = private\n");
	static const char *const multiplex[] = {"https://192.0.2.9:443", "h2://192.0.2.9:443", "h2c://192.0.2.9:80", "h2c+unix:/a", "demo:"};
	for (size_t i = 0; i < sizeof multiplex / sizeof *multiplex; i++) {
		char text[512];
		snprintf(text, sizeof(text), ORIGIN("server = %s\nconnections = private\n"), multiplex[i]);
		assert_refused(text,
		    "test.ini:7: connections = private needs servers in HTTP/1.1 alone; write server = "
		    "http://HOST:PORT, https1://HOST:PORT or h1+unix:/PATH\n");
	}
}

static void no_connection_is_spare_before_its_client_is_known(void **state)
{
	(void)state;
	struct load load = load_fine(ORIGIN("server = http://192.0.2.9:80\nconnections = private\nspare-connections = 1\n"),
	    "test.ini:8: warning: spare-connections has no effect, because connections is private, and none is opened before "
	    "its client is known; remove it\n");
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(proxy_protocol_is_off_unless_it_is_required),
	    cmocka_unit_test(client_address_names_a_field),
	    cmocka_unit_test(both_need_peers_that_are_trusted),
	    cmocka_unit_test(options_without_these_have_no_effect),
	    cmocka_unit_test(origin_is_told_of_clients_on_connections_of_their_own),
	    cmocka_unit_test(connection_with_many_clients_has_no_header),
	    cmocka_unit_test(no_connection_is_spare_before_its_client_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
