/* SPDX-License-Identifier: MIT */
/* Slips of which `check` once said nothing, something wrong, or the same thing twice. */
#include "tests/unit/conf/load.h"

#define LISTEN "[listen l]\naddress = 127.0.0.1:8081\n"
#define ORIGIN "[origin o]\nserver = http://127.0.0.1:9\n"
#define ROUTE "[route r]\norigin = o\n"
#define REST LISTEN ORIGIN ROUTE

/* Each text has one mistake, and nothing follows from it. */
static void one_slip_is_one_mistake(void **state)
{
	(void)state;
	static const struct {
		const char *text, *said;
	} rows[] = {
	    /* a required option */
	    {LISTEN "[origin o]\nsever = http://127.0.0.1:9\n" ROUTE, "4: [origin] has no option 'sever'; did you mean 'server'?"},
	    {LISTEN "[origin o]\nserver http://127.0.0.1:9\n" ROUTE, "4: the line has no '='; write server = http://127.0.0.1:9"},
	    {"[listen l]\nadress = 127.0.0.1:8081\n" ORIGIN ROUTE, "2: [listen] has no option 'adress'; did you mean 'address'?"},
	    {"[listen l]\nadress 8081\n" ORIGIN ROUTE, "2: the line has no '='; did you mean 'address'? Write address = VALUE"},
	    {LISTEN ORIGIN "[route r]\norigni = o\n", "6: [route] has no option 'origni'; did you mean 'origin'?"},
	    {LISTEN ORIGIN "[route r]\nrediret = /x\n", "6: [route] has no option 'rediret'; did you mean 'redirect'?"},
	    {LISTEN ORIGIN "[route r]\nanswer 503\n", "6: the line has no '='; write answer = 503"},
	    /* a section */
	    {"[listn l]\naddress = 127.0.0.1:8081\n" ORIGIN ROUTE, "1: unknown section [listn]; did you mean [listen NAME]?"},
	    {LISTEN "[orign o]\nserver = http://127.0.0.1:9\n" ROUTE, "3: unknown section [orign]; did you mean [origin NAME]?"},
	    {LISTEN ORIGIN "[rout r]\norigin = o\n", "5: unknown section [rout]; did you mean [route NAME]?"},
	    {LISTEN "access = x\n[acess x]\nallow = all\n" ORIGIN ROUTE, "4: unknown section [acess]; did you mean [access NAME]?"},
	    {LISTEN "mode = forward\naccess = x\n[acess x]\nallow = all\n", "5: unknown section [acess]; did you mean [access NAME]?"},
	    /* an equals sign that is missing before a value with a colon or an equals sign */
	    {REST "request-set X-A: b=c\n", "7: there is no '=' behind the first word; write request-set = X-A: b=c"},
	    {LISTEN "access = x\n" ORIGIN ROUTE "[access x]\ndeny host=a.test\nallow = all\n", "9: there is no '=' behind the first word; write deny = host=a.test"},
	    {REST "[route s]\npath = /s\norigni http://127.0.0.1:80;\n", "9: the line has no '='; did you mean 'origin'? Write origin = VALUE"},
	    {REST "max tunnels = 5\n", "7: [route] has no option 'max tunnels'; see pushgate help-config route"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char said[256];
		snprintf(said, sizeof said, "test.ini:%s\n", rows[i].said);
		assert_refused(rows[i].text, said);
	}
}

/* What is not misspelt is still missing. */
static void other_slips_are_told_beside(void **state)
{
	(void)state;
	assert_refused(LISTEN "[origin o]\nblance = least\n" ROUTE,
	    "test.ini:4: [origin] has no option 'blance'; did you mean 'balance'?\n"
	    "test.ini:3: [origin o] has no server; add a line such as server = http://127.0.0.1:8080\n");
	assert_refused("[lstn l]\n[route r]\nanswer = 503\n[route s]\npath = /s\norigin = o\n",
	    "test.ini:1: unknown section [lstn]; did you mean [listen NAME]?\n"
	    "test.ini:6: there is no [origin o]; add the section or name another\n");
}

#define LOOP(server, listen) "test.ini:4: warning: server " server " is the address of [listen " listen "], so that its requests would come back; name the server of the application\n"

static void is_told(const char *text, const char *warning)
{
	struct load load = load_fine(text, warning);
	load_free(&load);
}

static void a_server_that_is_the_listener_is_told(void **state)
{
	(void)state;
	is_told(LISTEN "[origin o]\nserver = http://127.0.0.1:8081\n" ROUTE, LOOP("http://127.0.0.1:8081", "l"));
	is_told(LISTEN "[origin o]\nserver = https://localhost:8081\n" ROUTE, LOOP("https://localhost:8081", "l"));
	is_told("[listen l]\naddress = *:8081\n[origin o]\nserver = h2c://[::1]:8081\n" ROUTE, LOOP("h2c://[::1]:8081", "l"));
	is_told("[listen l]\naddress = unix:/run/l.sock\n[origin o]\nserver = h1+unix:/run/l.sock\n" ROUTE, LOOP("h1+unix:/run/l.sock", "l"));
	is_told(LISTEN "[origin o]\nserver = http://127.0.0.1:9\nserver = http://127.0.0.1:8081\n" ROUTE,
	    "test.ini:5: warning: server http://127.0.0.1:8081 is the address of [listen l], so that its requests would come back; name the server of "
	    "the application\n");
	static const char *const others[] = {
	    "http://127.0.0.1:8082", "http://127.0.0.2:8081", "http://app.test:8081", "h1+unix:/run/l.sock", "demo:", "srv:_http._tcp.a.test"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		char text[256];
		snprintf(text, sizeof text, LISTEN "[origin o]\nserver = %s\n" ROUTE, others[i]);
		struct load load = load_fine(text, "");
		load_free(&load);
	}
	struct load load = load_fine("[listen l]\naddress = 127.0.0.1:0\n[origin o]\nserver = srv:_http._tcp.localhost\n" ROUTE, "");
	load_free(&load);
}

static void names_that_resemble_websocket_are_told(void **state)
{
	(void)state;
	static const char *const wrong[] = {"web-socket", "websockets", "web_socket", "Websoket", "ws", "WSS"};
	static const char *const right[] = {"websocket", "WebSocket", "tls/1.2", "IRC/6.9", "socket", "connect-udp"};
	char text[512], said[256];
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		snprintf(text, sizeof text, REST "upgrade = %s\n", wrong[i]);
		snprintf(said, sizeof said, "did you mean upgrade = websocket?");
		struct load load = load_text(text);
		assert_non_null(strstr(load.errors, said));
		assert_memory_equal(load.errors, "test.ini:7: ", 12);
		load_free(&load);
	}
	for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
		snprintf(text, sizeof text, REST "upgrade = %s\n", right[i]);
		struct load load = load_fine(text, "");
		load_free(&load);
	}
	struct load load = load_fine(LISTEN ORIGIN "[routes]\nupgrade = web-socket\n" ROUTE,
	    "test.ini:6: warning: no client asks for the protocol web-socket; did you mean upgrade = websocket?\n");
	load_free(&load);
}

#define FORWARD "[listen f]\naddress = 127.0.0.1:3128\nmode = forward\naccess = x\n[access x]\nallow = all\n"

static void a_preload_that_nothing_can_use_is_told(void **state)
{
	(void)state;
	struct load load = load_fine(FORWARD "[preload p]\npath = /shop/*\nadd = /x.css\n",
	    "test.ini:9: warning: [preload p] is for no site: no [listen NAME] has mode = gateway, and each site would be asked for "
	    "these resources; name theirs with host, or remove the section\n");
	load_free(&load);
	load = load_fine(FORWARD "[preload p]\nhost = a.test\nadd = /x.css\n", "");
	load_free(&load);
	load = load_fine(FORWARD "[preload p]\nlink = yes\n", "");
	load_free(&load);
	load = load_fine(LISTEN ORIGIN "[route r]\nhost = a.test\norigin = o\n[route s]\nhost = b.test\nredirect = https://a.test{path}\n"
				       "[preload p]\nhost = b.test\nadd = /x.css\n",
	    "test.ini:12: warning: [preload p] never matches, because no route has such a host and path; correct them or "
	    "remove the section\n");
	load_free(&load);
}

static void bytes_that_are_no_text_are_told_as_such(void **state)
{
	(void)state;
	static const struct {
		const char *begin, *what;
	} rows[] = {{"\x7f" "ELF", "a program"}, {"\x1f\x8b\x08", "compressed (gzip)"}, {"\xfd" "7zXZ", "compressed (xz)"},
	    {"PK\x03\x04", "a zip file"}, {"\x30\x82\x01\x02", "a certificate or a key in DER"}, {"{\"", "binary"}, {"", "binary"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (uint32_t seed = 1; seed < 20; seed++) {
			char bytes[2048], said[256];
			uint32_t x = seed;
			for (size_t b = 0; b < sizeof bytes; b++) {
				x = x * 1664525u + 1013904223u;
				bytes[b] = (char)(x >> 24);
			}
			memcpy(bytes, rows[i].begin, strlen(rows[i].begin));
			snprintf(said, sizeof said, "test.ini:1: the file is %s, not a text with lines; name a configuration, or begin one: "
						    "pushgate help-config example\n", rows[i].what);
			struct load load = load_bytes(slice_of(bytes, 100 * seed), false);
			assert_null(load.conf);
			assert_string_equal(load.errors, said);
			load_free(&load);
		}
	/* One byte that went astray is told with its line. */
	struct load load = load_bytes(SLICE(REST "[server]\nworkers = 1\0\n"), false);
	assert_non_null(strstr(load.errors, "test.ini:8: the line contains a NUL byte"));
	load_free(&load);
	load = load_bytes(SLICE("; \xd0\xbf\xd1\x83\xd1\x88 \xe4\xf6\xfc\xdf \x1b[0m\n" REST), false);
	assert_string_equal(load.errors, "");
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_slip_is_one_mistake),
	    cmocka_unit_test(other_slips_are_told_beside),
	    cmocka_unit_test(a_server_that_is_the_listener_is_told),
	    cmocka_unit_test(names_that_resemble_websocket_are_told),
	    cmocka_unit_test(a_preload_that_nothing_can_use_is_told),
	    cmocka_unit_test(bytes_that_are_no_text_are_told_as_such),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
