/* SPDX-License-Identifier: MIT */
/* Each mistake that a configuration can have is named with file, line, and what would be right. */
#include "proxy/conf/option.h"
#include "proxy/limits.h"
#include "tests/unit/conf/load.h"

/* What the messages say may be written. */
static const char *form_of(enum conf_kind section, const char *key)
{
	static char text[256];
	return conf_option_form(conf_find_option(section, slice_of_string(key)), text, sizeof text);
}

static const char *choices_of(enum conf_kind section, const char *key)
{
	static char text[256];
	return conf_option_choices(
	    conf_find_option(section, slice_of_string(key)), ", ", " or ", text, sizeof text);
}

static void unknown_section_is_named_with_a_suggestion(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[listn x]\naddress = 1\n[frobnicate]\na = b\n",
	    "test.ini:7: unknown section [listn]; did you mean [listen NAME]?\n"
	    "test.ini:9: unknown section [frobnicate]; write [server], [listen NAME], [access NAME], [origin "
	    "NAME], [route NAME], [routes], [push NAME], [preload NAME] or [errors]\n");
}

static void unknown_option_is_named_with_a_suggestion(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\nworker = 2\nzzzzzzzz = 1\naddress = 127.0.0.1:1\n",
	    "test.ini:8: [server] has no option 'worker'; did you mean 'workers'?\n"
	    "test.ini:9: [server] has no option 'zzzzzzzz'; see pushgate help-config server\n"
	    "test.ini:10: [server] has no option 'address'; it belongs to [listen NAME]\n");
}

static void option_before_any_section_is_refused(void **state)
{
	(void)state;
	assert_refused("workers = 2\n" LOAD_REST,
	    "test.ini:1: 'workers' is before the first section; put it "
	    "below [server] or another header\n");
}

static void number_outside_its_range_is_refused_with_the_range(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[server]\npromise-rate = 0\nreset-rate = many\npromise-refusals = 1000001\n"
	    "workers = 0\n",
	    "test.ini:8: bad value '0' for promise-rate; give a whole number from 1 to 1000000, such as promise-rate = 100000\n"
	    "test.ini:9: bad value 'many' for reset-rate; give a whole number from 1 to 1000000, such as reset-rate = 100\n"
	    "test.ini:10: bad value '1000001' for promise-refusals; give a whole number from 1 to 1000000, such as promise-refusals = 1000\n"
	    "test.ini:11: bad value '0' for workers; write auto or a number from 1 to 256, such as workers = 4\n");
}

static void log_fields_and_sample_are_refused_with_a_suggestion_or_an_example(void **state)
{
	(void)state;
	static const struct {
		const char *value, *errors;
	} rows[] = {
	    {"log-fields = all -user-agent",
		"test.ini:8: the access log has no field 'user-agent'; did you mean 'user_agent'?\n"},
	    {"log-fields = zzzzzz",
		"test.ini:8: the access log has no field 'zzzzzz'; docs/LOG.md names them\n"},
	    {"log-fields = -path",
		"test.ini:8: bad value '-path' for log-fields; write names, or all and what to leave out, "
		"such as log-fields = all -user_agent -referer\n"},
	    {"log-fields = all path",
		"test.ini:8: bad value 'path' for log-fields; write names, or all and what to leave out, "
		"such as log-fields = all -user_agent -referer\n"},
	    {"log-fields = time \"path status",
		"test.ini:8: bad value '\"path status' for log-fields; close the quotation with a '\"', "
		"such as log-fields = all -user_agent -referer\n"},
	    {"log-sample = 0.01",
		"test.ini:8: bad value '0.01' for log-sample; write 1/1 for all lines, or a share from "
		"1/2 to 1/1000000, such as log-sample = 1/100\n"},
	    {"log-sample = 1/0",
		"test.ini:8: bad value '1/0' for log-sample; write 1/1 for all lines, or a share from "
		"1/2 to 1/1000000, such as log-sample = 1/100\n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[512];
		snprintf(text, sizeof text, LOAD_REST "[server]\n%s\n", rows[i].value);
		assert_refused(text, rows[i].errors);
	}
}

static void size_without_sense_is_refused_with_examples(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\nmemory = 12Q\nconnection-memory = 1k\n"
				 "max-push-bytes = 99999999999999999999G\n",
	    "test.ini:8: bad value '12Q' for memory; give bytes from 16M to 1024G (k, M, G), such as memory = 256M\n"
	    "test.ini:9: bad value '1k' for connection-memory; give bytes from 1M to 64G (k, M, G), such as connection-memory = 16M\n"
	    "test.ini:10: bad value '99999999999999999999G' for max-push-bytes; give bytes from 64k to 1G (k, M, G), such as max-push-bytes = 4M\n");
}

static void rate_without_sense_is_refused_with_examples(void **state)
{
	(void)state;
	assert_refused(LOAD_ROUTE LOAD_ORIGIN "limit-pings = 5\nlimit-faults = 0/s\n"
					      "limit-promises = 9/s burst 100000001\n" LOAD_LISTEN,
	    "test.ini:5: bad value '5' for limit-pings; give a rate from 1/s to 100000000/s, with or without a burst; did you mean limit-pings = 5/s?\n"
	    "test.ini:6: bad value '0/s' for limit-faults; give a rate from 1/s to 100000000/s, with or without a burst, such as limit-faults = 100/s burst 200\n"
	    "test.ini:7: bad value '9/s burst 100000001' for limit-promises; give a rate from 1/s to 100000000/s, with or without a burst, such as limit-promises = 400000/s burst 400000\n");
}

static void time_without_unit_is_refused_with_examples(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\ndrain-timeout = 30\npush-start-timeout = 25h\n"
				 "[origin p]\nserver = demo:\nupload-linger = 0\n",
	    "test.ini:8: bad value '30' for drain-timeout; give a time with its unit (ms, s, m, h) from 0 to 24h; did you mean drain-timeout = 30s?\n"
	    "test.ini:9: bad value '25h' for push-start-timeout; give a time with its unit (ms, s, m, h) from 0 to 24h, such as push-start-timeout = 10s\n"
	    "test.ini:12: bad value '0' for upload-linger; give a time with its unit (ms, s, m, h) from 1ms to 24h, such as upload-linger = 10s\n");
}

static void choice_that_does_not_exist_is_refused_with_the_choices(void **state)
{
	(void)state;
	char errors[1024];
	snprintf(errors, sizeof errors,
	    "test.ini:3: bad value 'many' for clients; write single or shared, such as clients = shared\n"
	    "test.ini:6: bad value 'maybe' for push; write auto, accept or refuse, such as push = accept\n"
	    "test.ini:7: bad value 'x' for scheme; write keep or hop, such as scheme = hop\n"
	    "test.ini:11: bad value 'explode' for action; write %s, such as action = forward\n"
	    "test.ini:12: bad value 'noise' for type; write unknown, document, style, script, "
	    "image, font, json or media, such as type = style script image\n"
	    "test.ini:13: bad value 'perhaps' for push-enabled; write any, no or yes, such as push-enabled = no\n",
	    choices_of(CONF_SECTION_PUSH, "action"));
	assert_refused(LOAD_LISTEN
	    "clients = many\n" LOAD_ORIGIN "push = maybe\nscheme = x\n" LOAD_ROUTE
	    "[push a]\naction = explode\ntype = style,noise\npush-enabled = perhaps\n",
	    errors);
}

static void value_that_is_empty_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\npseudonym =\n",
	    "test.ini:8: pseudonym has no value; remove the line or give one, such as pseudonym = edge1\n");
}

static void bad_client_block_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\nclient = 192.0.2.0/24 192.0.2.1/24 nowhere\naction = drop\n",
	    "test.ini:8: bad value '192.0.2.1/24' for client: the address has bits set behind the prefix; write addresses or blocks (ADDRESS/BITS); did you mean client = 192.0.2.0/24?\n"
	    "test.ini:8: bad value 'nowhere' for client: not an IPv4 or IPv6 address; write addresses or blocks (ADDRESS/BITS), such as client = 192.0.2.0/24 2001:db8::/32\n");
}

static void bad_traced_block_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\ntrace = 192.0.2.1/24\n",
	    "test.ini:8: bad value '192.0.2.1/24' for trace: the address has bits set behind the prefix; write addresses or blocks (ADDRESS/BITS); did you mean trace = 192.0.2.0/24?\n");
}

static void bad_trusted_peer_is_refused(void **state)
{
	(void)state;
	assert_refused("[listen l]\naddress = 127.0.0.1:1\ntrusted = loadbalancer\n" LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:3: bad value 'loadbalancer' for trusted: not an IPv4 or IPv6 address; write addresses, blocks (ADDRESS/BITS) or unix, such as trusted = 192.0.2.10 2001:db8::/64 unix\n");
	/* Only there. */
	assert_refused(LOAD_REST "[server]\ntrace = unix\n",
	    "test.ini:8: bad value 'unix' for trace: not an IPv4 or IPv6 address; write addresses or blocks (ADDRESS/BITS), such as trace = 192.0.2.0/24 2001:db8::/32\n");
}

static void unclosed_quotation_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[push a]\nuser-agent = curl/* \"Some Thing\naction = drop\n",
	    "test.ini:8: bad value '\"Some Thing' for user-agent; close the quotation with a '\"', such as user-agent = curl/* \"*Example Browser 1.*\"\n");
}

static void duplicate_section_is_refused_with_the_first(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\n[origin o]\nserver = demo:\n[server]\nworkers = x\n",
	    "test.ini:8: duplicate section [origin o], first at test.ini:3; give it another name\n"
	    "test.ini:10: duplicate section [server], first at test.ini:7; put its options there\n"
	    "test.ini:11: bad value 'x' for workers; write auto or a number from 1 to 256, such as workers = 4\n");
	/* What is wrong with its options as a whole is told of the first. */
	assert_refused(LOAD_REST "[server]\n[server]\ndiary-cookie = a\n",
	    "test.ini:8: duplicate section [server], first at test.ini:7; put its options there\n"
	    "test.ini:7: diary-cookie has no key; add diary-cookie-key = FILE\n");
}

static void duplicate_option_is_refused_with_the_first(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\nworkers = 1\n\nworkers = 2\n",
	    "test.ini:10: duplicate option 'workers', first at test.ini:8; remove one of them\n");
}

static void section_names_are_checked(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push]\n[push a b]\naction = x\n[server x]\n[push y\n[push z] ; why\n",
	    "test.ini:7: [push] has no name; write [push NAME]\n"
	    "test.ini:8: bad name 'a b'; use letters, digits, '.', '_' and '-'\n"
	    "test.ini:10: [server] takes no name; write [server]\n"
	    "test.ini:11: the section header has no ']'; write [section NAME]\n"
	    "test.ini:12: a comment is behind the section header; comments stand on lines of their own\n");
}

static void line_that_is_nothing_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\nworkers 2\n= 3\n",
	    "test.ini:8: the line has no '='; write workers = 2\n"
	    "test.ini:9: the line is not a section, option or comment; write key = value\n");
}

static void route_to_nowhere_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN LOAD_ORIGIN "[route r]\norigin = nobody\n[route s]\nhost = a\n",
	    "test.ini:6: there is no [origin nobody]; add the section or name another\n"
	    "test.ini:7: [route s] has no origin; add a line such as origin = o\n");
}

static void listen_without_address_is_refused(void **state)
{
	(void)state;
	assert_refused("[listen l]\n" LOAD_ORIGIN LOAD_ROUTE,
	    "test.ini:1: [listen l] has no address; add a line such as address = 127.0.0.1:8443\n");
}

static void address_in_use_by_another_listen_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[listen m]\n\naddress = 127.0.0.1:8443\n",
	    "test.ini:9: 127.0.0.1:8443 is already used by [listen l] at test.ini:2; choose "
	    "another address\n");
}

static void bad_address_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_ORIGIN LOAD_ROUTE "[listen l]\naddress = localhost:80\n"
					      "[listen m]\naddress = 127.0.0.1\n",
	    "test.ini:6: bad value 'localhost:80' for address: not an IP address; write IP:PORT, *:PORT or unix:/PATH; did you mean address = 127.0.0.1:80?\n"
	    "test.ini:8: bad value '127.0.0.1' for address: a port is missing: ADDRESS:PORT; write IP:PORT, *:PORT or unix:/PATH; did you mean address = 127.0.0.1:8443?\n");
}

static void origin_without_server_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN "[origin o]\n" LOAD_ROUTE,
	    "test.ini:3: [origin o] has no server; add a line such as server = http://127.0.0.1:8080\n");
}

static void server_that_is_none_is_refused(void **state)
{
	(void)state;
	static const char right[] =
	    "write https://HOST:PORT, http://HOST:PORT, https1://HOST:PORT, h2://HOST:PORT, h2c://HOST:PORT, h1+unix:/PATH, h2c+unix:/PATH, srv:NAME, demo: or forward:, and behind it weight=NUMBER, backup or down";
	static const struct {
		const char *server, *wrong, *meant;
	} cases[] = {
	    {"example.com:80", "its scheme is missing", "http://example.com:80"},
	    {"example.com:443", "its scheme is missing", "https://example.com:443"},
	    {"demo", "its scheme is missing", "demo:"},
	    {"tcp://127.0.0.1:81", "its scheme is unknown", NULL},
	    {"unix:/run/a.sock", "its scheme is unknown", "h1+unix:/run/a.sock"},
	    {"h2://", "it is not HOST:PORT", NULL},
	    {"h2://user@host:1", "it is not HOST:PORT", NULL},
	    {"h2c://host:0", "it is not HOST:PORT", NULL},
	    {"h2c://host:70000", "it is not HOST:PORT", NULL},
	    {"http://no..where:80", "its host is no name that can be looked up", NULL},
	    {"srv:_grpc._tcp.a.example", "its service is neither _http nor _https: say how it is spoken to, such as h2c+srv:", NULL},
	    {"srv:_http._udp.a.example", "it is not srv:_SERVICE._tcp.NAME", NULL},
	    {"h2c+srv:a.example", "it is not srv:_SERVICE._tcp.NAME", NULL},
	    {"http://a:80 weight=0", "a weight is a number from 1 to 256", NULL},
	    {"http://a:80 weight=257", "a weight is a number from 1 to 256", NULL},
	    {"http://a:80 slow", "a server may have weight=NUMBER, backup and down behind it", NULL},
	    {"h2c://host:80/path", "it must not have a path", "h2c://host:80"},
	    {"http://host:8080/app/", "it must not have a path", "http://host:8080"},
	    {"https://host/app", "it must not have a path", "https://host"},
	    {"http://unix:/run/a.sock:", "it must not have a path", "h1+unix:/run/a.sock"},
	    {"https://", "it is not HOST:PORT", NULL},
	    {"h1+unix:relative", "a unix socket needs an absolute path", NULL},
	    {"h2c+unix:relative", "a unix socket needs an absolute path", NULL},
	    {"demo:slow", "only ?think=TIME&rtt=TIME may follow demo:", NULL},
	    {"demo:?", "only ?think=TIME&rtt=TIME may follow demo:", NULL},
	    {"demo:?depth=1s", "the demo site knows only think and rtt", NULL},
	    {"demo:?think=1s&", "the demo site knows only think and rtt", NULL},
	    {"demo:?think", "think and rtt take a time of at most 60s, such as 150ms", NULL},
	    {"demo:?rtt=61s", "think and rtt take a time of at most 60s, such as 150ms", NULL},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[512], errors[512];
		snprintf(text, sizeof text, LOAD_LISTEN "[origin o]\nserver = %s\n" LOAD_ROUTE,
		    cases[i].server);
		snprintf(errors, sizeof errors,
		    "test.ini:4: bad value '%s' for server: %s; %s%s server = %s%s\n",
		    cases[i].server, cases[i].wrong, right,
		    cases[i].meant ? "; did you mean" : ", such as",
		    cases[i].meant ? cases[i].meant : "http://127.0.0.1:8080",
		    cases[i].meant ? "?" : "");
		assert_refused(text, errors);
	}
}

static void servers_of_an_origin_fit_each_other(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN "[origin o]\nserver = http://a:80\nserver = h2c://b:80\n" LOAD_ROUTE,
	    "test.ini:5: h2c://b:80 is spoken to otherwise than http://a:80, a server of the same origin; give both the same scheme, or each an [origin] of its own\n");
	assert_refused(LOAD_LISTEN "[origin o]\nserver = http://a:80\nserver = http://a:80 backup\n" LOAD_ROUTE,
	    "test.ini:5: http://a:80 is a server of this origin already; remove the line, or give the first one weight=2\n");
}

static void source_that_does_not_exist_is_refused(void **state)
{
	(void)state;
	char errors[256];
	snprintf(errors, sizeof errors, "test.ini:8: bad value 'nowhere' for source; write %s, such as source = relayed\n",
	    choices_of(CONF_SECTION_PUSH, "source"));
	assert_refused(LOAD_REST "[push a]\nsource = nowhere\naction = drop\n", errors);
}

static void bad_expressions_are_refused_with_the_byte(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\naction = drop\npath = /ok \"~^/a{2,1}$\"\nhost = ~(a\nuser-agent = ~\n",
	    "test.ini:9: bad value '~^/a{2,1}$' for path: numbers out of order in {} quantifier, at byte 8; correct it or write a pattern, such as path = /app/* *.html\n"
	    "test.ini:10: bad value '~(a' for host: missing closing parenthesis, at byte 3; correct it or write a pattern, such as host = example.com *.example.com\n"
	    "test.ini:11: bad value '~' for user-agent: it is empty, at byte 1; correct it or write a pattern, such as user-agent = curl/* \"*Example Browser 1.*\"\n");
}

static void bad_media_types_are_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\naction = drop\ncontent-type = css text/css;q=1 text/css\n",
	    "test.ini:9: bad value 'css' for content-type; write a media type without parameters, such as content-type = text/css image/*\n"
	    "test.ini:9: bad value 'text/css;q=1' for content-type; write a media type without parameters; did you mean content-type = text/css?\n");
}

static void empty_configuration_lacks_everything(void **state)
{
	(void)state;
	assert_refused("", "test.ini:1: there is no [listen NAME]; add one with an address\n"
			   "test.ini:1: there is no [route NAME]; add one with an origin\n");
}

static void certificate_and_key_come_in_pairs(void **state)
{
	(void)state;
	assert_refused(LOAD_ORIGIN LOAD_ROUTE LOAD_LISTEN
	    "certificate = a.pem\nkey = a.key\ncertificate = b.pem\n"
	    "[listen m]\naddress = 127.0.0.1:1\nkey = a.key\n",
	    "test.ini:9: certificate without a key; add key = FILE below it\n"
	    "test.ini:12: key without a certificate; add certificate = FILE above it\n");
}

static void route_patterns_are_checked(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[route x]\norigin = o\nhost = a:80 *a.b *.ok.example *\npath = api /a*\n",
	    "test.ini:9: bad value 'a:80' for host; write a host name without a port, *.NAME or *; did you mean host = a?\n"
	    "test.ini:9: bad value '*a.b' for host; write a host name without a port, *.NAME or *, such as host = example.com *.example.com\n"
	    "test.ini:10: bad value 'api' for path; write a path that begins with '/'; did you mean path = /api?\n"
	    "test.ini:10: bad value '/a*' for path; write the beginning of a path, without '*', '?', '#' and spaces; did you mean path = /a?\n");
}

static void push_patterns_are_checked(void **state)
{
	(void)state;
	char errors[1024];
	snprintf(errors, sizeof errors,
	    "test.ini:9: bad value 'https://a' for host; write a host name pattern, without scheme "
	    "and path; did you mean host = a?\n"
	    "test.ini:10: bad value 'index.html' for path; write a path pattern that begins with "
	    "'/' or '*'; did you mean path = /index.html?\n"
	    "test.ini:11: bad value '8' for urgency; write %s, such as urgency = 1\n"
	    "test.ini:12: bad value '200' for status; write 2xx, 3xx, 4xx or 5xx; did you mean "
	    "status = 2xx?\n",
	    form_of(CONF_SECTION_PUSH, "urgency"));
	assert_refused(LOAD_REST
	    "[push x]\naction = drop\nhost = https://a\npath = index.html\nurgency = 8\n"
	    "status = 200\n",
	    errors);
}

static void push_rule_without_action_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[push x]\npath = /a\n",
	    "test.ini:7: [push x] has no action; add a line such as action = forward\n");
}

static void rule_about_interim_responses_is_about_requests(void **state)
{
	(void)state;
	static const char *const conditions[] = {
	    "source = link", "type = style", "method = GET", "promised-path = /a"};
	for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
		char text[512];
		snprintf(text, sizeof text, LOAD_REST "[push x]\naction = drop\n%s\ninterim = %s\n",
		    conditions[i], i % 2 ? "yes" : "no");
		assert_refused(text,
		    "test.ini:10: interim is for whole requests, but this rule has source, type, method or "
		    "promised-path; write a rule without them\n");
	}
}

static void rule_behind_an_unconditional_one_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push all]\naction = drop\n[push late]\npath = /a\naction = forward\n",
	    "test.ini:9: [push late] is never reached, because [push all] at test.ini:7 matches all its offers; put it first or remove it\n");
}

static void rule_equal_to_an_earlier_one_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\nhost = X y\naction = drop\n[push b]\nhost = y, x\naction = forward\n",
	    "test.ini:10: [push b] is never reached, because [push a] at test.ini:7 matches all its offers; put it first or remove it\n");
}

static void rule_that_looks_shadowed_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[push a]\npath = /a*\naction = drop\n"
					       "[push b]\npath = /a/b*\naction = forward\n",
	    "test.ini:10: warning: [push b] is probably never reached, because [push a] at test.ini:7 "
	    "looks wider; "
	    "put the narrower rule first\n");
	assert_int_equal(load.conf->policy.count, 2);
	load_free(&load);
}

static void limit_that_is_in_the_way_of_another_option_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_ROUTE LOAD_LISTEN
	    "max-concurrent-streams = 1000\n"
	    "max-field-block = 32k\n" LOAD_ORIGIN "limit-promises = 10/s\nmax-header-list = 256k\n",
	    "test.ini:6: warning: max-field-block is smaller than max-header-list, so that a large head ends the connection; set it to at least the same size\n"
	    "test.ini:5: warning: the burst of limit-resets is smaller than "
	    "max-concurrent-streams, so that a client may not cancel all its requests at once; "
	    "make it larger\n"
	    "test.ini:10: warning: max-field-block is smaller than max-header-list, so that a large head ends the connection; set it to at least the same size\n"
	    "test.ini:9: warning: limit-promises is below promise-rate of [server], so that it ends the connection before promise-rate refuses promises; make it larger\n");
	load_free(&load);
}

static void memory_that_one_connection_can_use_up_is_a_warning(void **state)
{
	(void)state;
	static const char warning[] =
	    "test.ini:8: warning: connection-memory is half of memory or more, so that a single "
	    "connection can use up a worker's memory; make it smaller, or memory larger\n";
	struct load load = load_fine(LOAD_REST "[server]\nmemory = 32M\n", warning);
	load_free(&load);
	load = load_fine(LOAD_REST "[server]\nconnection-memory = 128M\n", warning);
	load_free(&load);
	load = load_fine(LOAD_REST "[server]\nconnection-memory = 127M\n", "");
	load_free(&load);
	load = load_fine(LOAD_REST "[server]\nmemory = 33M\n", "");
	load_free(&load);
	load = load_fine(LOAD_REST "[server]\nhold-max-bytes = 17M\n",
	    "test.ini:8: warning: hold-max-bytes is larger than connection-memory, which is reached first; make it smaller\n"
	    "test.ini:8: warning: hold-max-bytes has no effect, because no rule and no default-action holds responses; remove it\n");
	load_free(&load);
}

static void tls_option_of_a_cleartext_origin_is_a_warning(void **state)
{
	(void)state;
	struct load load =
	    load_fine(LOAD_REST "[origin p]\nserver = h2c://127.0.0.1:1\ntls-verify = no\n",
		"test.ini:9: warning: tls-verify has no effect, because server is not https:// or h2://; remove it\n"
		"test.ini:7: warning: [origin p] is used by no route; add origin = p to one, or remove the section\n");
	load_free(&load);
}

static void route_that_is_never_taken_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[route s]\norigin = o\npath = /\nhost = *\n"
					       "[route t]\norigin = o\nhost = a b\npath = /x "
					       "/y\n[route u]\norigin = o\nhost = B\npath = /y\n"
					       "[route v]\norigin = o\nhost = b c\npath = /y\n",
	    "test.ini:7: warning: [route s] never matches, because [route r] at test.ini:5 has its "
	    "hosts and paths; "
	    "remove one of them\n"
	    "test.ini:15: warning: [route u] never matches, because [route t] at test.ini:11 has its "
	    "hosts and paths; "
	    "remove one of them\n");
	load_free(&load);
}

static void status_socket_has_the_length_of_a_socket_path(void **state)
{
	(void)state;
	char text[512], path[128];
	memset(path, 'a', sizeof path);
	path[0] = '/', path[107] = '\0';
	snprintf(text, sizeof text, LOAD_REST "[server]\nstatus-socket = %s\n", path);
	struct load load = load_fine(text, "");
	load_free(&load);
	path[107] = 'a', path[108] = '\0';
	snprintf(text, sizeof text, LOAD_REST "[server]\nstatus-socket = %s\n", path);
	assert_refused(text, "test.ini:8: the path of status-socket is longer than 107 bytes; "
			     "choose a shorter one\n");
}

static void limits_that_contradict_each_other_are_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[server]\nmemory = 16M\nconnection-memory = 17M\n"
	    "[origin p]\nserver = demo:\nstream-window = 8M\nspare-connections = 5\n",
	    "test.ini:9: connection-memory is larger than memory; make it at most as large\n"
	    "test.ini:12: max-stream-window is smaller than stream-window; make it at least as "
	    "large\n"
	    "test.ini:13: spare-connections is larger than max-connections; make it at most as "
	    "large\n");
}

static void overlong_line_is_refused_and_the_rest_is_read(void **state)
{
	(void)state;
	size_t length = LIMIT_CONF_LINE_BYTES + 1;
	char *text = malloc(length + 1024);
	memset(text, 'x', length);
	strcpy(text + length, "\n" LOAD_REST "[server]\nworkers = y\n");
	assert_refused(text,
	    "test.ini:1: the line is longer than 16384 bytes; split the list over several lines\n"
	    "test.ini:9: bad value 'y' for workers; write auto or a number from 1 to 256, such as workers = 4\n");
	free(text);
}

static void line_of_the_greatest_length_is_read_whole(void **state)
{
	(void)state;
	static const char head[] = LOAD_REST "[push a]\naction = drop\nuser-agent = ";
	size_t lead = strlen("user-agent = "), room = LIMIT_CONF_LINE_BYTES - lead;
	char *text = malloc(sizeof head + room + 2);
	strcpy(text, head);
	memset(text + strlen(head), 'x', room);
	strcpy(text + strlen(head) + room, "\n");
	struct load load = load_fine(text, "");
	assert_int_equal(load.conf->policy.rules[0].user_agents.globs[0].len, room);
	load_free(&load);
	free(text);
}

static void overlong_names_are_refused(void **state)
{
	(void)state;
	/* 48 bytes are allowed, header word and name together. */
	assert_refused(LOAD_REST
	    "[push a234567890123456789012345678901234567890123]\naction = drop\n"
	    "[push a2345678901234567890123456789012345678901234]\naction = drop\n"
	    "[server]\na234567890123456789012345678901234567890123456789 = 1\n",
	    "test.ini:9: the section's name is longer than 48 bytes; shorten it\n"
	    "test.ini:12: the option's name is longer than 48 bytes; no option has such a name\n");
}

static void nul_byte_is_refused(void **state)
{
	(void)state;
	static const char text[] = LOAD_REST "[server]\nworkers = 1\0002\n";
	struct load load = load_bytes(slice_of(text, sizeof text - 1), false);
	assert_string_equal(load.errors,
	    "test.ini:8: the line contains a NUL byte; save the file as plain text\n");
	assert_null(load.conf);
	load_free(&load);
}

static void control_bytes_do_not_reach_the_terminal(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[server]\npseudonym = \033[31m\n",
	    "test.ini:8: bad value '?[31m' for pseudonym; use letters, digits, '.', '_' and '-', such as pseudonym = edge1\n");
}

static void bad_names_of_hosts_are_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[origin p]\nserver = h2://a:1\ntls-name = a:1\nhost = a b\n",
	    "test.ini:9: bad value 'a:1' for tls-name; write a host name without a port, such as tls-name = origin.example.com\n"
	    "test.ini:10: bad value 'a b' for host; write keep, NAME or NAME:PORT, such as host = app.internal:8080\n");
}

static void include_inside_a_section_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "include = x.ini\n",
	    "test.ini:7: include is inside a section; move it above the first section\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unknown_section_is_named_with_a_suggestion),
	    cmocka_unit_test(unknown_option_is_named_with_a_suggestion),
	    cmocka_unit_test(option_before_any_section_is_refused),
	    cmocka_unit_test(number_outside_its_range_is_refused_with_the_range),
	    cmocka_unit_test(log_fields_and_sample_are_refused_with_a_suggestion_or_an_example),
	    cmocka_unit_test(size_without_sense_is_refused_with_examples),
	    cmocka_unit_test(rate_without_sense_is_refused_with_examples),
	    cmocka_unit_test(time_without_unit_is_refused_with_examples),
	    cmocka_unit_test(choice_that_does_not_exist_is_refused_with_the_choices),
	    cmocka_unit_test(value_that_is_empty_is_refused),
	    cmocka_unit_test(bad_client_block_is_refused),
	    cmocka_unit_test(bad_traced_block_is_refused),
	    cmocka_unit_test(bad_trusted_peer_is_refused),
	    cmocka_unit_test(unclosed_quotation_is_refused),
	    cmocka_unit_test(duplicate_section_is_refused_with_the_first),
	    cmocka_unit_test(duplicate_option_is_refused_with_the_first),
	    cmocka_unit_test(section_names_are_checked),
	    cmocka_unit_test(line_that_is_nothing_is_refused),
	    cmocka_unit_test(route_to_nowhere_is_refused),
	    cmocka_unit_test(listen_without_address_is_refused),
	    cmocka_unit_test(address_in_use_by_another_listen_is_refused),
	    cmocka_unit_test(bad_address_is_refused),
	    cmocka_unit_test(origin_without_server_is_refused),
	    cmocka_unit_test(server_that_is_none_is_refused),
	    cmocka_unit_test(servers_of_an_origin_fit_each_other),
	    cmocka_unit_test(empty_configuration_lacks_everything),
	    cmocka_unit_test(certificate_and_key_come_in_pairs),
	    cmocka_unit_test(route_patterns_are_checked),
	    cmocka_unit_test(push_patterns_are_checked),
	    cmocka_unit_test(push_rule_without_action_is_refused),
	    cmocka_unit_test(rule_about_interim_responses_is_about_requests),
	    cmocka_unit_test(rule_behind_an_unconditional_one_is_refused),
	    cmocka_unit_test(rule_equal_to_an_earlier_one_is_refused),
	    cmocka_unit_test(rule_that_looks_shadowed_is_a_warning),
	    cmocka_unit_test(source_that_does_not_exist_is_refused),
	    cmocka_unit_test(bad_expressions_are_refused_with_the_byte),
	    cmocka_unit_test(bad_media_types_are_refused),
	    cmocka_unit_test(limit_that_is_in_the_way_of_another_option_is_a_warning),
	    cmocka_unit_test(memory_that_one_connection_can_use_up_is_a_warning),
	    cmocka_unit_test(tls_option_of_a_cleartext_origin_is_a_warning),
	    cmocka_unit_test(route_that_is_never_taken_is_a_warning),
	    cmocka_unit_test(status_socket_has_the_length_of_a_socket_path),
	    cmocka_unit_test(limits_that_contradict_each_other_are_refused),
	    cmocka_unit_test(overlong_line_is_refused_and_the_rest_is_read),
	    cmocka_unit_test(line_of_the_greatest_length_is_read_whole),
	    cmocka_unit_test(overlong_names_are_refused),
	    cmocka_unit_test(nul_byte_is_refused),
	    cmocka_unit_test(control_bytes_do_not_reach_the_terminal),
	    cmocka_unit_test(bad_names_of_hosts_are_refused),
	    cmocka_unit_test(include_inside_a_section_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
