/* SPDX-License-Identifier: MIT */
/* What a good configuration becomes: values, defaults, lists; and the files in etc/ are good ones. */
#include "tests/support/patterns.h"
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"
#include "proxy/log_fields.h"
#include "tests/unit/conf/load.h"

static void assert_slice(struct slice s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.ptr, text, s.len);
}

static void defaults_are_those_of_the_header(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	const struct conf *c = load.conf;
	assert_int_equal(c->server.workers, 0);
	assert_null(c->server.user);
	assert_null(c->server.access_log);
	assert_string_equal(c->server.error_log, "-");
	for (unsigned f = 0; f < LOG_FIELD_COUNT; f++)
		assert_false(log_field_set_has(&c->server.log_left_out, f));
	assert_int_equal(c->server.log_sample, 1);
	assert_null(c->server.status_socket);
	assert_string_equal(c->server.pseudonym, "pushgate");
	assert_int_equal(c->server.memory_bytes, 256 << 20);
	assert_int_equal(c->server.connection_memory_bytes, 16 << 20);
	assert_int_equal(c->server.drain_timeout, 30 * USEC_PER_SEC);
	assert_int_equal(c->server.promise_refusals, 1000);
	assert_int_equal(c->server.promise_rate, 100000);
	assert_int_equal(c->server.reset_rate, 100);
	assert_int_equal(c->server.push_start_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(c->server.diary_entries, 256);
	assert_null(c->server.diary_cookie);
	assert_int_equal(c->server.diary_key_count, 0);
	assert_int_equal(c->server.diary_cookie_age, 7 * 24 * 3600 * USEC_PER_SEC);
	assert_int_equal(c->server.hold_max_count, 32);
	assert_int_equal(c->server.hold_max_bytes, 2 << 20);
	assert_int_equal(c->server.hold_max_age, 30 * USEC_PER_SEC);
	assert_false(c->server.hold_shared);
	assert_int_equal(c->server.hint_wait, 0);
	assert_int_equal(c->policy.caps.per_parent, 100);
	assert_int_equal(c->policy.caps.per_connection, 256);
	assert_int_equal(c->policy.caps.bytes_in_flight, 4 << 20);
	assert_int_equal(c->policy.fallback, POLICY_FORWARD);
	assert_int_equal(c->policy.count, 0);
	load_free(&load);
}

static void listen_defaults_are_those_of_the_header(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	const struct conf_listen *l = &load.conf->listens[0];
	assert_int_equal(load.conf->listen_count, 1);
	assert_string_equal(l->name, "l");
	assert_string_equal(l->file, "test.ini");
	assert_int_equal(l->line, 1);
	assert_string_equal(l->address_text, "127.0.0.1:8443");
	assert_int_equal(l->address.any.sa_family, AF_INET);
	assert_int_equal(l->certificate_count, 0);
	assert_false(l->clients_shared);
	assert_int_equal(l->max_connections, 10000);
	assert_int_equal(l->max_concurrent_streams, 100);
	assert_int_equal(l->stream_window_bytes, 256 << 10);
	assert_int_equal(l->connection_window_bytes, 1 << 20);
	assert_int_equal(l->header_table_bytes, 4096);
	assert_int_equal(l->max_header_list_bytes, 64 << 10);
	assert_int_equal(l->tls_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(l->preface_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(l->settings_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(l->header_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(l->idle_timeout, 180 * USEC_PER_SEC);
	assert_int_equal(l->write_timeout, 60 * USEC_PER_SEC);
	assert_int_equal(l->keepalive, 60 * USEC_PER_SEC);
	assert_int_equal(l->body_timeout, 30 * USEC_PER_SEC);
	assert_int_equal(l->max_request_body_bytes, 0);
	assert_int_equal(l->max_connections_per_client, 1000);
	load_free(&load);
}

static void assert_rate(struct rate rate, uint32_t per_second, uint32_t burst)
{
	assert_int_equal(rate.per_second, per_second);
	assert_int_equal(rate.burst, burst);
}

static void assert_limits(const struct conf_limits *l)
{
	assert_rate(l->faults, 100, 200);
	assert_rate(l->pings, 500, 1000);
	assert_rate(l->settings, 20, 100);
	assert_rate(l->priorities, 1000, 2000);
	assert_rate(l->empty_frames, 200, 1000);
	assert_rate(l->window_updates, 50000, 100000);
	assert_rate(l->field_blocks, 10000, 20000);
	assert_int_equal(l->field_block_bytes, 128 << 10);
	assert_int_equal(l->continuations, 32);
	assert_int_equal(l->control_bytes, 256 << 10);
	assert_int_equal(l->min_rate, 100);
}

static void limits_have_the_defaults_of_the_header(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	const struct conf_listen *l = &load.conf->listens[0];
	const struct conf_origin *o = &load.conf->origins[0];
	assert_limits(&l->limits);
	assert_rate(l->limits.resets, 100, 200);
	assert_rate(l->limits.expansion, 4096, 4096);
	assert_limits(&o->limits);
	assert_rate(o->limits.promises, 400000, 400000);
	assert_int_equal(o->limits.reserved_pushes, 4096);
	assert_int_equal(o->limits.interim_responses, 32);
	load_free(&load);
}

static void the_highest_rate_needs_no_burst(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN
	    "limit-resets = 100000000/s\nlimit-pings = 60000000/s\n" LOAD_ORIGIN LOAD_ROUTE,
	    "");
	const struct conf_limits *l = &load.conf->listens[0].limits;
	assert_rate(l->resets, 100000000, 100000000);
	assert_rate(l->pings, 60000000, 100000000);
	load_free(&load);
}

static void demo_origin_may_have_delays(void **state)
{
	(void)state;
	struct load load = load_fine(
	    LOAD_LISTEN LOAD_ROUTE "[origin o]\nserver = demo:?rtt=40ms&think=1s\n", "");
	const struct conf_origin *o = &load.conf->origins[0];
	assert_int_equal(o->kind, CONF_ORIGIN_DEMO);
	assert_int_equal(o->servers[0].demo_rtt, 40 * USEC_PER_MSEC);
	assert_int_equal(o->servers[0].demo_think, USEC_PER_SEC);
	load_free(&load);
}

static void origin_may_have_many_servers(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN LOAD_ROUTE "[origin o]\nserver = http://127.0.0.1:81 weight=256\n"
							    "server = http://b.example  backup\n"
							    "server = h1+unix:/run/c.sock down weight=2\n"
							    "server = srv:_http._tcp.d.example\n"
							    "[origin p]\nserver = h2c+srv:_grpc._tcp.e.example weight=3\n"
							    "[origin q]\nserver = srv:_https._tcp.f.example\n"
							    "[route p]\norigin = p\nhost = p\n[route q]\norigin = q\nhost = q\n",
	    "");
	const struct conf_origin *o = load.conf->origins;
	const struct conf_origin_server *s = o[0].servers;
	assert_int_equal(o[0].server_count, 4);
	assert_int_equal(o[0].protocols, CONF_HTTP1);
	assert_string_equal(o[0].server_text, "http://127.0.0.1:81");
	assert_int_equal(s[0].weight, 256);
	assert_string_equal(s[1].host, "b.example");
	assert_true(s[1].is_backup && !s[1].is_down && s[1].weight == 1);
	assert_true(s[2].is_down && !s[2].is_backup && s[2].weight == 2);
	assert_true(s[3].is_srv && s[3].port == 0 && s[3].address.length == 0);
	assert_string_equal(s[3].host, "_http._tcp.d.example");
	assert_string_equal(s[3].tls_name, "d.example");
	assert_int_equal(o[1].protocols, CONF_HTTP2);
	assert_string_equal(o[1].servers[0].host, "_grpc._tcp.e.example");
	assert_int_equal(o[2].kind, CONF_ORIGIN_TLS);
	load_free(&load);
}

static void origin_defaults_are_those_of_the_header(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	const struct conf_origin *o = &load.conf->origins[0];
	assert_int_equal(load.conf->origin_count, 1);
	assert_string_equal(o->name, "o");
	assert_int_equal(o->kind, CONF_ORIGIN_DEMO);
	assert_string_equal(o->server_text, "demo:");
	assert_int_equal(o->server_count, 1);
	assert_null(o->servers[0].host);
	assert_int_equal(o->servers[0].address.length, 0);
	assert_int_equal(o->servers[0].weight, 1);
	assert_false(o->servers[0].is_backup || o->servers[0].is_down || o->servers[0].is_srv);
	assert_null(o->tls_ca);
	assert_true(o->tls_verify);
	assert_null(o->tls_name);
	assert_int_equal(o->push, CONF_PUSH_AUTO);
	assert_int_equal(o->scheme, CONF_SCHEME_KEEP);
	assert_null(o->host_override);
	assert_int_equal(o->max_concurrent_pushes, 1000);
	assert_int_equal(o->max_connections, 4);
	assert_int_equal(o->spare_connections, 0);
	assert_int_equal(o->max_queue, 10000);
	assert_int_equal(o->slow_share, 75);
	assert_int_equal(o->stream_window_bytes, 64 << 10);
	assert_int_equal(o->max_stream_window_bytes, 4 << 20);
	assert_int_equal(o->connection_window_bytes, 16 << 20);
	assert_int_equal(o->max_header_list_bytes, 64 << 10);
	assert_int_equal(o->max_request_list_bytes, 64 << 10);
	assert_int_equal(o->connect_timeout, 5 * USEC_PER_SEC);
	assert_int_equal(o->settings_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(o->queue_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(o->response_timeout, 60 * USEC_PER_SEC);
	assert_int_equal(o->idle_timeout, 60 * USEC_PER_SEC);
	assert_int_equal(o->write_timeout, 60 * USEC_PER_SEC);
	assert_int_equal(o->keepalive, 60 * USEC_PER_SEC);
	assert_int_equal(o->body_timeout, 60 * USEC_PER_SEC);
	assert_int_equal(o->upload_linger, 10 * USEC_PER_SEC);
	load_free(&load);
}

static void server_options_are_read(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[server]\nworkers = 3\naccess-log = -\nerror-log = off\n"
				"status-socket = /run/p.sock\nmemory=1GiB\ndrain-timeout: 500ms\n"
				"default-action = DROP\nmax-push-bytes = 131072\n",
		"");
	const struct conf *c = load.conf;
	assert_int_equal(c->server.workers, 3);
	assert_string_equal(c->server.access_log, "-");
	assert_null(c->server.error_log);
	assert_string_equal(c->server.status_socket, "/run/p.sock");
	assert_int_equal(c->server.memory_bytes, 1 << 30);
	assert_int_equal(c->server.drain_timeout, 500 * USEC_PER_MSEC);
	assert_int_equal(c->policy.fallback, POLICY_DROP);
	assert_int_equal(c->policy.caps.bytes_in_flight, 131072);
	load_free(&load);
}

static void log_fields_are_names_or_all_but_some(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		bool has_path, has_cut, has_time, has_status, has_code;
	} rows[] = {
	    {"all", true, true, true, true, true},
	    {"path", true, false, false, false, false},
	    {"path, status time", true, false, true, true, false},
	    {"all -path -cut", false, false, true, true, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[512];
		snprintf(text, sizeof text, LOAD_REST "[server]\nlog-fields = %s\nlog-sample = 1/50\n",
		    rows[i].value);
		struct load load = load_fine(text, "");
		const struct log_field_set *left_out = &load.conf->server.log_left_out;
		assert_int_equal(log_field_set_has(left_out, LOG_FIELD_path), !rows[i].has_path);
		assert_int_equal(log_field_set_has(left_out, LOG_FIELD_cut), !rows[i].has_cut);
		assert_int_equal(log_field_set_has(left_out, LOG_FIELD_time), !rows[i].has_time);
		assert_int_equal(log_field_set_has(left_out, LOG_FIELD_status), !rows[i].has_status);
		assert_int_equal(log_field_set_has(left_out, LOG_FIELD_code), !rows[i].has_code);
		assert_int_equal(load.conf->server.log_sample, 50);
		load_free(&load);
	}
}

static void every_server_form_is_understood(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_LISTEN LOAD_ROUTE "[origin o]\nserver = h2://example.com\n"
					     "[origin p]\nserver = h2c://127.0.0.1:81/\n"
					     "[origin q]\nserver = h2c://[::1]\n"
					     "[origin r]\nserver = h2c+unix:/run/o.sock\n"
					     "[origin s]\nserver = https1://example.com:8443 weight=2\n"
					     "[origin t]\nserver = https1+srv:_app._tcp.example.com\n"
					     "[route t]\norigin = s\nhost = t\n"
					     "[route u]\norigin = t\nhost = u\n"
					     "[route p]\norigin = p\nhost = p\n"
					     "[route q]\norigin = q\nhost = q\n"
					     "[route s]\norigin = r\nhost = s\n",
		"");
	const struct conf_origin *o = load.conf->origins;
	assert_int_equal(load.conf->origin_count, 6);
	for (size_t i = 4; i < 6; i++) {
		assert_int_equal(o[i].kind, CONF_ORIGIN_TLS);
		assert_int_equal(o[i].protocols, CONF_HTTP1);
		assert_string_equal(o[i].servers[0].tls_name, "example.com");
	}
	assert_int_equal(o[4].servers[0].port, 8443);
	assert_true(o[5].servers[0].is_srv);
	assert_int_equal(o[0].kind, CONF_ORIGIN_TLS);
	assert_string_equal(o[0].servers[0].host, "example.com");
	assert_string_equal(o[0].servers[0].tls_name, "example.com");
	assert_int_equal(o[0].servers[0].port, 443);
	assert_int_equal(o[0].servers[0].address.length, 0); /* a name */
	assert_int_equal(o[1].kind, CONF_ORIGIN_PLAIN);
	assert_int_equal(o[1].servers[0].port, 81);
	assert_int_equal(o[1].servers[0].address.any.sa_family, AF_INET);
	assert_string_equal(o[2].servers[0].host, "::1");
	assert_int_equal(o[2].servers[0].port, 80);
	assert_int_equal(o[2].servers[0].address.any.sa_family, AF_INET6);
	assert_int_equal(o[3].kind, CONF_ORIGIN_PLAIN);
	assert_null(o[3].servers[0].host);
	assert_int_equal(o[3].servers[0].address.any.sa_family, AF_UNIX);
	assert_int_equal(o[3].index, 3);
	assert_ptr_equal(load.conf->routes[0].origin, &o[0]);
	load_free(&load);
}

static void origin_options_are_read(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN LOAD_ROUTE
	    "[origin o]\nserver = h2://a.example:8443\ntls-verify = no\ntls-name = b.example\n"
	    "push = refuse\nscheme = hop\nhost = c.example:9\nmax-stream-window = 8M\nidle-timeout "
	    "= 0\n",
	    "");
	const struct conf_origin *o = &load.conf->origins[0];
	assert_false(o->tls_verify);
	assert_string_equal(o->tls_name, "b.example");
	assert_int_equal(o->push, CONF_PUSH_REFUSE);
	assert_int_equal(o->scheme, CONF_SCHEME_HOP);
	assert_string_equal(o->host_override, "c.example:9");
	assert_int_equal(o->max_stream_window_bytes, 8 << 20);
	assert_int_equal(o->idle_timeout, 0);
	load_free(&load);
}

static void lists_are_separated_and_repeated(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_LISTEN LOAD_ORIGIN "[route r]\norigin = o\nhost = a.example,*.b.example "
					      " c.example\nhost = d.example\npath = /x /y/\n",
		"");
	const struct conf_route *r = &load.conf->routes[0];
	assert_int_equal(r->host_count, 4);
	assert_slice(r->hosts[0], "a.example");
	assert_slice(r->hosts[1], "*.b.example");
	assert_slice(r->hosts[2], "c.example");
	assert_slice(r->hosts[3], "d.example");
	assert_int_equal(r->path_count, 2);
	assert_slice(r->paths[1], "/y/");
	load_free(&load);
}

static void traced_clients_are_address_blocks(void **state)
{
	(void)state;
	struct load load = load_fine(
	    LOAD_REST "[server]\ntrace = 192.0.2.0/24, 127.0.0.1\ntrace = 2001:db8::/32\n", "");
	const struct conf_server *s = &load.conf->server;
	assert_int_equal(s->traced_count, 3);
	assert_int_equal(s->traced[0].bits, 24);
	assert_int_equal(s->traced[1].bits, 32);
	assert_int_equal(s->traced[2].base.family, 6);
	load_free(&load);
	load = load_fine(LOAD_REST, "");
	assert_int_equal(load.conf->server.traced_count, 0);
	load_free(&load);
}

static bool trusts(const struct conf_listen *l, const char *address)
{
	struct address peer = {0};
	assert_true(strcmp(address, "unix") == 0 || address_parse(slice_of_string(address), &peer));
	return conf_listen_trusts(l, &peer);
}

static void trusted_peers_are_address_blocks_and_unix_sockets(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_ORIGIN LOAD_ROUTE
	    "[listen a]\naddress = 127.0.0.1:1\n"
	    "[listen b]\naddress = 127.0.0.1:2\ntrusted = 192.0.2.0/24, 2001:db8::/32\ntrusted = 203.0.113.7\n"
	    "[listen c]\naddress = 127.0.0.1:3\ntrusted = unix\n",
	    "");
	const struct conf_listen *l = load.conf->listens;
	static const struct {
		const char *peer;
		bool is_trusted[3];
	} rows[] = {
	    {"192.0.2.255", {false, true, false}},
	    {"::ffff:192.0.2.1", {false, true, false}},
	    {"192.0.3.0", {false, false, false}},
	    {"2001:db8:1::1", {false, true, false}},
	    {"203.0.113.7", {false, true, false}},
	    {"203.0.113.8", {false, false, false}},
	    {"0.0.0.0", {false, false, false}},
	    {"unix", {false, false, true}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(trusts(&l[j], rows[i].peer), rows[i].is_trusted[j]);
	load_free(&load);
}

static void push_rule_gets_every_condition_and_limit(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST
	    "[push first]\nsource = relayed\nclient = 192.0.2.0/24, 2001:db8::1\nhost = *.example\n"
	    "path = /a/*\npromised-path = *.css\nuser-agent = curl/* \"Some Thing/1,2 *\"\n"
	    "type = style font\nmethod = get\nversion = 1.1 2\npush-enabled = yes\naction = forward\n"
	    "max-per-parent = 5\nmax-bytes = 64k\nstatus = 2xx 3xx\nurgency = 0\n"
	    "[push second]\naction = drop\n",
	    "");
	const struct policy_rule *rule = load.conf->policy.rules;
	assert_int_equal(load.conf->policy.count, 2);
	assert_string_equal(rule->name, "first");
	assert_int_equal(rule->line, 7);
	assert_int_equal(rule->sources, 1u << POLICY_RELAYED);
	assert_int_equal(rule->client_count, 2);
	assert_int_equal(rule->clients[0].bits, 24);
	assert_int_equal(rule->clients[1].bits, 128);
	assert_slice(rule->hosts.globs[0], "*.example");
	assert_slice(rule->paths.globs[0], "/a/*");
	assert_slice(rule->promised_paths.globs[0], "*.css");
	assert_int_equal(rule->user_agents.count, 2);
	assert_slice(rule->user_agents.globs[1], "Some Thing/1,2 *");
	assert_int_equal(rule->types, 1u << POLICY_TYPE_STYLE | 1u << POLICY_TYPE_FONT);
	assert_int_equal(rule->methods, 1u << HTTP_METHOD_GET);
	assert_int_equal(rule->versions, 1u << HTTP_VERSION_1_1 | 1u << HTTP_VERSION_2);
	assert_int_equal(rule->push_enabled, POLICY_YES);
	assert_int_equal(rule->action, POLICY_FORWARD);
	assert_int_equal(rule->max_per_parent, 5);
	assert_int_equal(rule->max_bytes, 65536);
	assert_int_equal(rule->statuses_allowed, 1u << 2 | 1u << 3);
	assert_int_equal(rule->urgency, 0);
	assert_int_equal(rule->index, 0);
	assert_int_equal(rule[1].action, POLICY_DROP);
	assert_int_equal(rule[1].share, POLICY_DRAWS);
	assert_int_equal(rule[1].min_used, 0);
	assert_int_equal(rule[1].min_sample, 100);
	assert_false(rule[1].shadow || rule[1].cross_origin || rule[1].on_revalidation ||
		     rule[1].hint_anyone);
	assert_int_equal(rule[1].urgency, -1);
	assert_int_equal(rule[1].index, 1);
	load_free(&load);
}

static void expressions_are_compiled_as_their_option_compares(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[push a]\naction = forward\npath = /x/* \"~^/[a-c]{1,2}$\"\npath = "
				"~\\.html$\nuser-agent = ~^curl/\n"
				"content-type = text/css ~^IMAGE/\n",
		"");
	const struct policy_rule *rule = load.conf->policy.rules;
	assert_int_equal(rule->paths.count, 3);
	assert_null(rule->paths.regexes[0]);
	assert_slice(rule->paths.globs[1], "~^/[a-c]{1,2}$");
	static const struct {
		const char *path;
		bool is_taken;
	} rows[] = {{"/x/y", true}, {"/ab", true}, {"/abc", false}, {"/AB", false},
	    {"/i.html", true}, {"/i.htmlx", false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(
		    patterns_take(&rule->paths, slice_of_string(rows[i].path), false),
		    rows[i].is_taken);
	assert_true(patterns_take(&rule->user_agents, SLICE("CURL/8"), true));
	assert_true(patterns_take(&rule->media_types, SLICE("image/png"), true));
	assert_true(patterns_take(&rule->media_types, SLICE("Text/CSS"), true));
	load_free(&load);
}

static void comments_blank_lines_and_a_byte_order_mark_are_skipped(void **state)
{
	(void)state;
	struct load load =
	    load_fine("\xef\xbb\xbf; first\r\n\r\n  # second\r\n" LOAD_LISTEN LOAD_ORIGIN
		      "[ push   r ]\r\n   action = drop  \r\n" LOAD_ROUTE,
		"");
	assert_string_equal(load.conf->policy.rules[0].name, "r");
	assert_int_equal(load.conf->policy.rules[0].line, 8);
	load_free(&load);
}

static void semicolon_in_a_value_is_kept(void **state)
{
	(void)state;
	struct load load = load_fine(
	    LOAD_REST "[push a]\naction = drop\nuser-agent = \"Mozilla/5.0 (X11; Linux*\"\n", "");
	assert_slice(load.conf->policy.rules[0].user_agents.globs[0], "Mozilla/5.0 (X11; Linux*");
	load_free(&load);
}

static void free_ports_are_not_the_same_address(void **state)
{
	(void)state;
	struct load load = load_fine(
	    "[listen a]\naddress = 127.0.0.1:0\n[listen b]\naddress = 127.0.0.1:0\n" LOAD_ORIGIN
		LOAD_ROUTE,
	    "");
	assert_int_equal(load.conf->listen_count, 2);
	load_free(&load);
}

static void examples_are_good_files(void **state)
{
	(void)state;
	static const char *const files[] = {"etc/pushgate.ini", "etc/gateway.ini", "etc/strip.ini",
	    "etc/per-path.ini", "etc/hold.ini", "etc/hint.ini", "etc/preload.ini", "etc/demo.ini",
	    "etc/demo-forward.ini", "etc/forward.ini"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct load load = load_file(files[i], false);
		assert_string_equal(load.errors, "");
		assert_non_null(load.conf);
		load_free(&load);
	}
}

static void examples_without_certificates_pass_a_full_check(void **state)
{
	(void)state;
	static const char *const files[] = {
	    "etc/pushgate.ini", "etc/gateway.ini", "etc/strip.ini", "etc/per-path.ini",
	    "etc/hold.ini", "etc/hint.ini", "etc/preload.ini", "etc/forward.ini"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		struct load load = load_file(files[i], true);
		assert_string_equal(load.errors, "");
		assert_non_null(load.conf);
		load_free(&load);
	}
}

/* etc/pushgate.ini with the ';' of every option taken away. */
static char *complete_example(void)
{
	char *text = NULL, line[1024];
	size_t length;
	FILE *in = fopen("etc/pushgate.ini", "r"), *out = open_memstream(&text, &length);
	assert_non_null(in);
	while (fgets(line, sizeof line, in))
		fputs(line[0] == ';' && line[1] != ' ' ? line + 1 : line, out);
	fclose(in);
	fclose(out);
	return text;
}

static void complete_example_is_good_with_every_option_uncommented(void **state)
{
	(void)state;
	char *text = complete_example();
	/* TLS options have no effect on a cleartext server, and it says so. */
	memcpy(strstr(text, "server = http://") + 9, "  h2://", 7);
	/* Options of names have none where no server has one. */
	memcpy(strstr(text, "server =   h2://") + 16, "a.example:8080", 14);
	/* Its key has none without the cookie. */
	memcpy(strstr(text, "diary-cookie = off"), "diary-cookie = abc", 18);
	/* Nor has the host of checks without a check. */
	memcpy(strstr(text, "health-check = off"), "health-check = /ok", 18);
	/* Nor have paths that rules never name without rules. */
	*(strstr(text, "\nspeculation-deny = ") + 1) = ';';
	/* They are for server = forward: alone. */
	*(strstr(text, "\nupstream-proxy = ") + 1) = ';';
	*(strstr(text, "\nno-proxy = ") + 1) = ';';
	/* It stands in place of certificate and key; the others are for it alone. */
	static const char *const acme[] = {"\nacme = ", "\nacme-dir = ", "\nacme-email = ",
	    "\nacme-challenge = ", "\nacme-ca = "};
	for (size_t i = 0; i < sizeof acme / sizeof *acme; i++)
		*(strstr(text, acme[i]) + 1) = ';';
	*(strstr(text, "\ntunnel-sni = ") + 1) = ';';
	/* They stand in place of origin. */
	*(strstr(text, "\nredirect = ") + 1) = ';';
	*(strstr(text, "\nanswer = ") + 1) = ';';
	*(strstr(text, "\nfiles = ") + 1) = ';';
	struct load load = load_fine(text, "");
	/* A certificate, and a folder of them. */
	assert_int_equal(load.conf->listens[0].certificate_count, 2);
	assert_int_equal(load.conf->policy.count, 1);
	load_free(&load);
	free(text);
}

static void complete_example_shows_every_option_with_its_default(void **state)
{
	(void)state;
	char *text = complete_example();
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		char head[64], line[256];
		snprintf(head, sizeof head, "\n[%s", conf_section_types[o->section].word);
		const char *section = strstr(text, head);
		assert_non_null(section);
		const char *end = strstr(section + 2, "\n[");
		snprintf(line, sizeof line, "\n%s = %s%s", o->key, o->preset ? o->preset : "",
		    o->preset ? "\n" : "");
		const char *found = strstr(section, line);
		if (!found || (end && found > end))
			fail_msg("[%s] lacks '%s'", conf_section_types[o->section].word, line + 1);
	}
	free(text);
}

static char *help_text(const char *section);

static void complete_example_is_what_the_table_prints(void **state)
{
	(void)state;
	char *text = help_text("example"), line[1024];
	const char *at = text;
	FILE *in = fopen("etc/pushgate.ini", "r");
	assert_non_null(in);
	while (fgets(line, sizeof line, in)) {
		if (strncmp(at, line, strlen(line)) != 0)
			fail_msg("etc/pushgate.ini is not what `pushgate help-config example` "
				 "prints, at: %s",
			    line);
		at += strlen(line);
	}
	assert_string_equal(at, "");
	fclose(in);
	free(text);
}

static void every_option_has_a_default_or_an_example(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_option_count; i++)
		if (!conf_options[i].preset && !conf_options[i].example)
			fail_msg("%s has neither", conf_options[i].key);
}

static const struct conf_option *option(enum conf_kind section, const char *key)
{
	const struct conf_option *o = conf_find_option(section, slice_of_string(key));
	assert_non_null(o);
	return o;
}

/* The word stands alone in the text, between spaces. */
static bool has_word(const char *text, struct slice word)
{
	struct slice rest = slice_of_string(text), other;
	while (value_next_word(&rest, &other) == VALUE_WORD)
		if (slice_equal(word, other))
			return true;
	return false;
}

static void forms_and_choices_name_every_word(void **state)
{
	(void)state;
	char form[256], choices[256];
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		struct slice rest = slice_of_string(o->choices ? o->choices : ""), word;
		if (!o->choices)
			continue;
		conf_option_form(o, form, sizeof form);
		conf_option_choices(o, " ", " or ", choices, sizeof choices);
		while (value_next_word(&rest, &word) == VALUE_WORD) {
			assert_true(has_word(form, word));
			assert_true(has_word(choices, word));
		}
	}
	assert_string_equal(conf_option_choices(option(CONF_SECTION_PUSH, "push-enabled"), ", ",
				" or ", choices, sizeof choices),
	    "any, no or yes");
	assert_string_equal(conf_option_form(option(CONF_SECTION_ROUTE, "host"), form, sizeof form),
	    "NAME | *.NAME | * ...");
}

static char *help_text(const char *section)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	conf_print_help(out, section);
	fclose(out);
	return text;
}

static void help_shows_every_option_within_80_columns(void **state)
{
	(void)state;
	char *text = help_text(NULL);
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		char head[64], line[64];
		snprintf(head, sizeof head, "\n[%s", conf_section_types[o->section].word);
		snprintf(line, sizeof line, "\n  %s\n", o->key);
		const char *section = strstr(text, head);
		const char *end = section ? strstr(section + 2, "\n[") : NULL;
		const char *found = section ? strstr(section, line) : NULL;
		if (!found || (end && found > end))
			fail_msg("[%s] lacks %s", conf_section_types[o->section].word, o->key);
	}
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 80);
	free(text);
}

static void help_of_one_section_shows_that_alone(void **state)
{
	(void)state;
	char *text = help_text("route");
	assert_memory_equal(text, "[route NAME]\n", 13);
	assert_null(strstr(text, "[origin NAME]\n"));
	assert_non_null(strstr(text, "\n  origin\n      NAME | NAME WEIGHT, ...\n      Required.\n"));
	free(text);
}

static void topics_of_the_help_are_the_sections_and_the_example(void **state)
{
	(void)state;
	static const char *const known[] = {
	    "server", "listen", "access", "origin", "route", "routes", "push", "preload", "errors", "example"};
	const char *topic;
	for (size_t i = 0; (topic = conf_help_topic(i)); i++) {
		assert_true(i < sizeof(known) / sizeof(known[0]));
		assert_string_equal(topic, known[i]);
		char *text = help_text(topic);
		assert_true(strlen(text) > 100);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_are_those_of_the_header),
	    cmocka_unit_test(listen_defaults_are_those_of_the_header),
	    cmocka_unit_test(limits_have_the_defaults_of_the_header),
	    cmocka_unit_test(the_highest_rate_needs_no_burst),
	    cmocka_unit_test(demo_origin_may_have_delays),
	    cmocka_unit_test(origin_may_have_many_servers),
	    cmocka_unit_test(origin_defaults_are_those_of_the_header),
	    cmocka_unit_test(server_options_are_read),
	    cmocka_unit_test(log_fields_are_names_or_all_but_some),
	    cmocka_unit_test(every_server_form_is_understood),
	    cmocka_unit_test(origin_options_are_read),
	    cmocka_unit_test(lists_are_separated_and_repeated),
	    cmocka_unit_test(traced_clients_are_address_blocks),
	    cmocka_unit_test(trusted_peers_are_address_blocks_and_unix_sockets),
	    cmocka_unit_test(push_rule_gets_every_condition_and_limit),
	    cmocka_unit_test(expressions_are_compiled_as_their_option_compares),
	    cmocka_unit_test(comments_blank_lines_and_a_byte_order_mark_are_skipped),
	    cmocka_unit_test(semicolon_in_a_value_is_kept),
	    cmocka_unit_test(free_ports_are_not_the_same_address),
	    cmocka_unit_test(examples_are_good_files),
	    cmocka_unit_test(examples_without_certificates_pass_a_full_check),
	    cmocka_unit_test(complete_example_is_good_with_every_option_uncommented),
	    cmocka_unit_test(complete_example_shows_every_option_with_its_default),
	    cmocka_unit_test(help_shows_every_option_within_80_columns),
	    cmocka_unit_test(complete_example_is_what_the_table_prints),
	    cmocka_unit_test(every_option_has_a_default_or_an_example),
	    cmocka_unit_test(forms_and_choices_name_every_word),
	    cmocka_unit_test(help_of_one_section_shows_that_alone),
	    cmocka_unit_test(topics_of_the_help_are_the_sections_and_the_example),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
