/* SPDX-License-Identifier: MIT */
/*
 * What a message adds to the mistake: an example or the value that was probably meant, which the option
 * accepts; the name that was meant; the program whose file it is; the comment behind a value.
 */
#include "proxy/conf/option.h"
#include "tests/unit/conf/load.h"

/* ---- every option has an example ---- */

static const char *section_of(const struct conf_option *o)
{
	static char text[64];
	const struct conf_section_type *type = &conf_section_types[o->section];
	/* A section of its own; [server] is not there yet. */
	snprintf(text, sizeof text, "[%s%s]\n", type->word, type->is_named ? " x" : "");
	return text;
}

/* The mistakes of a configuration with `key = value` in a section of its own. The caller frees it. */
static char *mistakes_of(const struct conf_option *o, const char *value, size_t length)
{
	char text[1024];
	snprintf(text, sizeof text, "[listen l]\naddress = 127.0.0.1:1\n" LOAD_ORIGIN LOAD_ROUTE "%s%s = %.*s\n", section_of(o), o->key, (int)length, value);
	struct load load = load_text(text);
	conf_free(load.conf);
	return load.errors;
}

/* The line of the report that refuses the value in line 8; NULL: it may lack a companion at most. */
static const char *mistake_in_line_8(const char *errors)
{
	static const char *const words[] = {"bad value '", " has no value;", "the value of ", " is not replaced: "};
	const char *at = strstr(errors, "test.ini:8: ");
	for (size_t i = 0; at && i < sizeof words / sizeof *words; i++) {
		const char *word = strstr(at, words[i]);
		if (word && word < at + strcspn(at, "\n"))
			return at;
	}
	return NULL;
}

/* The value behind the last "KEY = " of the line: the example or the suggestion. */
static struct slice shown_value(const struct conf_option *o, const char *line)
{
	char head[80];
	size_t end = strcspn(line, "\n");
	struct slice found = {NULL, 0};
	snprintf(head, sizeof head, "%s = ", o->key);
	for (const char *at = strstr(line, head); at && at < line + end; at = strstr(at + 1, head))
		found = slice_of(at + strlen(head), (size_t)(line + end - at) - strlen(head));
	if (found.len > 0 && found.ptr[found.len - 1] == '?' && strstr(line, "did you mean"))
		found.len--;
	return found;
}

static void every_bad_value_is_shown_with_one_that_the_option_accepts(void **state)
{
	(void)state;
	static const char *const values[] = {"", "nonsense!", "\"open", "~(", "-1", "0", "1", "30", "true",
	    "off", "99999999999", "1h30m", "10MB", "100", "50%", "# why", "${X}",
	    "example.com:80", "https://example.com/x", "/x", "127.0.0.1", "192.0.2.1/24", "1d", "200",
	    "css", "relaid", "1,000", "6000/min", "100r/s", "localhost", ":80", "80ms", "<=1", "8.5"};
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		unsigned refused = 0;
		for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
			char *errors = mistakes_of(o, values[v], strlen(values[v]));
			const char *line = mistake_in_line_8(errors);
			if (line) {
				refused++;
				struct slice value = shown_value(o, line);
				if (value.len == 0)
					fail_msg("no example: %s", line);
				char *again = mistakes_of(o, value.ptr, value.len);
				if (mistake_in_line_8(again))
					fail_msg("%s refuses its example: %s%s", o->key, line, again);
				free(again);
			}
			free(errors);
		}
		if (refused < 2)
			fail_msg("%s accepts everything", o->key);
	}
}

/* ---- suggestions ---- */

static void assert_meant(enum conf_kind section, const char *key, const char *value, const char *meant)
{
	const struct conf_option *o = conf_find_option(section, slice_of_string(key));
	char *errors = mistakes_of(o, value, strlen(value)), end[256];
	snprintf(end, sizeof end, "; did you mean %s = %s?\n", key, meant);
	if (!strstr(errors, end))
		fail_msg("'%s' lacks '%s'", errors, end);
	free(errors);
}

static void values_that_are_nearly_right_are_corrected(void **state)
{
	(void)state;
	static const struct {
		enum conf_kind section;
		const char *key, *value, *meant;
	} rows[] = {
	    {CONF_SECTION_SERVER, "drain-timeout", "1h30m", "90m"},
	    {CONF_SECTION_SERVER, "drain-timeout", "30", "30s"},
	    {CONF_SECTION_SERVER, "drain-timeout", "90sec", "90s"},
	    {CONF_SECTION_SERVER, "drain-timeout", "1d", "24h"},
	    {CONF_SECTION_SERVER, "drain-timeout", "1.5 minutes", "90s"},
	    {CONF_SECTION_SERVER, "memory", "1.5G", "1536M"},
	    {CONF_SECTION_SERVER, "memory", "33554432 bytes", "32M"},
	    {CONF_SECTION_SERVER, "promise-rate", "1,000", "1000"},
	    {CONF_SECTION_SERVER, "promise-rate", "10k", "10000"},
	    {CONF_SECTION_SERVER, "hold-shared", "true", "yes"},
	    {CONF_SECTION_SERVER, "hold-shared", "Yess", "yes"},
	    {CONF_SECTION_SERVER, "sandbox", "no", "off"},
	    {CONF_SECTION_SERVER, "default-action", "forwad", "forward"},
	    {CONF_SECTION_LISTEN, "address", "localhost:80", "127.0.0.1:80"},
	    {CONF_SECTION_LISTEN, "address", ":8443", "*:8443"},
	    {CONF_SECTION_LISTEN, "address", "8443", "*:8443"},
	    {CONF_SECTION_LISTEN, "address", "::1:8443", "[::1]:8443"},
	    {CONF_SECTION_LISTEN, "address", "0.0.0.0", "0.0.0.0:8443"},
	    {CONF_SECTION_LISTEN, "address", "https://127.0.0.1:8443/", "127.0.0.1:8443"},
	    {CONF_SECTION_LISTEN, "address", "/run/a.sock", "unix:/run/a.sock"},
	    {CONF_SECTION_LISTEN, "trusted", "10.1.2.3/8", "10.0.0.0/8"},
	    {CONF_SECTION_LISTEN, "trusted", "2001:db8::1/64", "2001:db8::/64"},
	    {CONF_SECTION_LISTEN, "trusted", "localhost", "127.0.0.1 ::1"},
	    {CONF_SECTION_ORIGIN, "server", "H2C://127.0.0.1:80", "h2c://127.0.0.1:80"},
	    {CONF_SECTION_ORIGIN, "server", "unix:/run/app.sock:", "h1+unix:/run/app.sock"},
	    {CONF_SECTION_PUSH, "host", "example.com:443", "example.com"},
	    {CONF_SECTION_ORIGIN, "push", "off", "refuse"},
	    {CONF_SECTION_ORIGIN, "server", "HTTP://127.0.0.1:8080", "http://127.0.0.1:8080"},
	    {CONF_SECTION_ORIGIN, "server", "http://127.0.0.1:8080/app", "http://127.0.0.1:8080"},
	    {CONF_SECTION_ORIGIN, "server", "http://unix:/run/app.sock:", "h1+unix:/run/app.sock"},
	    {CONF_SECTION_ORIGIN, "server", "a.example:8443", "https://a.example:8443"},
	    {CONF_SECTION_LISTEN, "protocols", "http2", "h2"},
	    {CONF_SECTION_LISTEN, "protocols", "h1", "http/1.1"},
	    {CONF_SECTION_LISTEN, "protocols", "HTTP1.1", "http/1.1"},
	    {CONF_SECTION_LISTEN, "hsts", "31536000", "365d"},
	    {CONF_SECTION_LISTEN, "hsts", "max-age=31536000; includeSubDomains", "365d include-subdomains"},
	    {CONF_SECTION_ROUTE, "host", "https://example.com:443/", "example.com"},
	    {CONF_SECTION_ROUTE, "host", ".example.com", "*.example.com"},
	    {CONF_SECTION_ROUTE, "path", "/api/*", "/api/"},
	    {CONF_SECTION_ROUTE, "upgrade", "yes", "websocket"},
	    {CONF_SECTION_ROUTE, "upgrade", "wss", "websocket"},
	    {CONF_SECTION_PUSH, "rtt", "<=80ms", "<80ms"},
	    {CONF_SECTION_PUSH, "rtt", "> 0.2 sec", ">200ms"},
	    {CONF_SECTION_PUSH, "share", "10", "10%"},
	    {CONF_SECTION_PUSH, "version", "h2", "2"},
	    {CONF_SECTION_PUSH, "version", "HTTP/1.1", "1.1"},
	    {CONF_SECTION_PRELOAD, "version", "http/1.0", "1.0"},
	    {CONF_SECTION_PUSH, "status", "404", "4xx"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_meant(rows[i].section, rows[i].key, rows[i].value, rows[i].meant);
}

static void value_without_a_suggestion_is_shown_the_example(void **state)
{
	(void)state;
	static const struct {
		enum conf_kind section;
		const char *key, *value;
	} rows[] = {
	    {CONF_SECTION_ORIGIN, "server", "ftp://127.0.0.1:21"},
	    {CONF_SECTION_ORIGIN, "server", "h2c//127.0.0.1:80"},
	    {CONF_SECTION_ORIGIN, "server", "h2c://127.0.0.1:80 max_fails=5"},
	    {CONF_SECTION_LISTEN, "keepalive", "75s 60s"},
	    {CONF_SECTION_ROUTE, "host", "'a.example' 'b.example'"},
	    {CONF_SECTION_ROUTE, "path", "\\.php$"},
	    {CONF_SECTION_PUSH, "path", "*.{css,js}"},
	    {CONF_SECTION_PUSH, "user-agent", "Mozilla/5.0 (X11; Linux)"},
	    {CONF_SECTION_SERVER, "access-log", "stdout"},
	    {CONF_SECTION_SERVER, "error-log", "syslog"},
	    {CONF_SECTION_SERVER, "status-socket", "on"},
	    {CONF_SECTION_SERVER, "status-socket", "127.0.0.1:9090"},
	    {CONF_SECTION_SERVER, "status-socket", "unix:/run/pushgate.sock"},
	    {CONF_SECTION_PRELOAD, "add", "/a.css; as=style"},
	    /* words of other programs */
	    {CONF_SECTION_SERVER, "default-action", "deny"},
	    {CONF_SECTION_LISTEN, "limit-pings", "100r/s"},
	    {CONF_SECTION_LISTEN, "limit-pings", "6000/min"},
	    {CONF_SECTION_LISTEN, "address", "*,3000"},
	    {CONF_SECTION_LISTEN, "address", "443 ssl http2"},
	    {CONF_SECTION_LISTEN, "address", "*:443 ssl"},
	    {CONF_SECTION_ORIGIN, "server", "127.0.0.1,3000"},
	    {CONF_SECTION_ORIGIN, "server", "grpc://a:1"},
	    {CONF_SECTION_ORIGIN, "server", "h1://a:1"},
	    {CONF_SECTION_ORIGIN, "server", "tls://a.example"},
	    {CONF_SECTION_ORIGIN, "server", "tcp://a.example:443"},
	    {CONF_SECTION_LISTEN, "redirect-to-https", "permanent"},
	    {CONF_SECTION_LISTEN, "redirect-to-https", "https://example.com:8443"},
	    {CONF_SECTION_LISTEN, "redirect-to-https", "false"},
	    {CONF_SECTION_LISTEN, "hsts", "yes"},
	    {CONF_SECTION_ROUTE, "host", "_"},
	    {CONF_SECTION_PUSH, "type", "css"},
	    {CONF_SECTION_PUSH, "client", "all"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct conf_option *o = conf_find_option(rows[i].section, slice_of_string(rows[i].key));
		char *errors = mistakes_of(o, rows[i].value, strlen(rows[i].value));
		char buffer[256];
		const char *example = conf_option_example(o, buffer, sizeof buffer);
		const char *line = mistake_in_line_8(errors);
		if (!line || strstr(line, "did you mean") || !strstr(line, example))
			fail_msg("%s = %s: '%s' lacks '%s'", rows[i].key, rows[i].value, errors, example);
		free(errors);
	}
}

static void names_that_resemble_known_ones_are_recognized(void **state)
{
	(void)state;
	static const struct {
		const char *text, *end;
	} rows[] = {
	    {"[route s]\norigin = O\n", "there is no [origin O]; did you mean origin = o?"},
	    {"[origin backend]\nserver = demo:\n[route s]\norigin = backnd\n",
		"there is no [origin backnd]; did you mean origin = backend?"},
	    {"[Server]\n", "unknown section [Server]; did you mean [server]?"},
	    {"[listen:x]\n", "unknown section [listen:x]; did you mean [listen NAME]?"},
	    {"[upstream x]\n", "unknown section [upstream]; write [server], [listen NAME]"},
	    {"[server]\nAccess_Log = x\n",
		"[server] has no option 'Access_Log'; did you mean 'access-log'?"},
	    {"[listen m]\nbind = x\naddress = *:1\n",
		"[listen] has no option 'bind'; see pushgate help-config listen"},
	    {"[route s]\norigin = o\nserver = x\n",
		"[route] has no option 'server'; it belongs to [origin NAME]\n"},
	    {"[server]\n\xc2\xa0workers = 2\n",
		"the name has a character that is not ASCII, such as a no-break space; type it "
		"again"},
	    {"[rout x]\nbackend = app\n", "unknown section [rout]; did you mean [route NAME]?"},
	    {"[route s]\nproxy_pass http://127.0.0.1:80;\n",
		"test.ini:8: "},
	    {"[listen m]\nadress *:443;\n",
		"the line has no '='; did you mean 'address'? Write address = VALUE"},
	    {"[server]\n// a comment\n",
		"the line is not a section, option or comment; begin a comment with ';' or '#'"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];
		snprintf(text, sizeof text, LOAD_REST "%s", rows[i].text);
		struct load load = load_text(text);
		if (load.conf || !strstr(load.errors, rows[i].end))
			fail_msg("'%s' lacks '%s'", load.errors, rows[i].end);
		load_free(&load);
	}
}

static void misspelt_header_above_all_others_is_no_file_of_another_program(void **state)
{
	(void)state;
	struct load load = load_text("[rout x]\nbackend = app\n" LOAD_LISTEN LOAD_ORIGIN);
	if (!strstr(load.errors, "test.ini:1: unknown section [rout]; did you mean [route NAME]?"))
		fail_msg("%s", load.errors);
	load_free(&load);
}

/* ---- around a value ---- */

static void comments_quotes_and_variables_are_named_as_such(void **state)
{
	(void)state;
	assert_refused(LOAD_REST
	    "[push a]\naction = drop ; why\nrtt = <80ms\t# slow\nuser-agent = \"a ; b\" c ;d\n"
	    "[server]\naccess-log = \"/var/log/a\"\nworkers = 4;\nremembered-file = ${DIR}/x\n"
	    "pseudonym = # none\nuser = '\xe2\x80\x9cx\xe2\x80\x9d'\n",
	    "test.ini:8: the value of action has a comment behind it ('; why'); comments stand on lines of their own: write action = drop\n"
	    "test.ini:9: the value of rtt has a comment behind it ('# slow'); comments stand on lines of their own: write rtt = <80ms\n"
	    "test.ini:10: the value of user-agent has a comment behind it (';d'); comments stand on lines of their own: write user-agent = \"a ; b\" c\n"
	    "test.ini:12: the value of access-log is in quotes, which would belong to it; write access-log = /var/log/a\n"
	    "test.ini:13: the value of workers ends with ';'; write workers = 4\n"
	    "test.ini:14: '${DIR}' is not replaced: a configuration has no variables; write the value itself, such as remembered-file = /var/lib/pushgate/pages.json\n"
	    "test.ini:15: the value of pseudonym has a comment behind it ('# none'); comments stand on lines of their own: write pseudonym = edge1\n"
	    "test.ini:16: the value of user has typographic quotes; write plain ones or none, such as user = pushgate\n");
}

static void fields_may_have_what_other_values_may_not(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "response-set = X-A: b ; c # d\nresponse-add = X-B: ${HOME};\n",
	    "test.ini:8: warning: '${HOME}' is sent as it stands: a configuration has no variables; write the text itself\n");
	assert_int_equal(load.conf->routes[0].response_fields.count, 2);
	load_free(&load);
	/* Quotes belong to lists, and so do '$' and '#' to expressions. */
	load = load_fine(LOAD_REST "[push a]\naction = forward\npath = \"/a\" ~^/b$ \"~^/[a-z] #$\" /c#d\n", "");
	assert_int_equal(load.conf->policy.rules[0].paths.count, 4);
	load_free(&load);
	/* An odd client, an IPv6 address, and a file that is called like a word. */
	load = load_fine(LOAD_REST "[push a]\naction = forward\nuser-agent = (null)*\nhost = [::1] [2001:db8:*\n"
				   "[server]\naccess-log = ./stdout\n", "");
	load_free(&load);
}

static void white_space_and_line_ends_of_any_system_are_read(void **state)
{
	(void)state;
	struct load load = load_fine("\xef\xbb\xbf[listen l]\r\n\taddress\t=\t127.0.0.1:8443  \r\n"
				     " [origin o]\r\nserver=demo:\r\n[route r]\r\norigin : o \t\r\n",
	    "");
	assert_string_equal(load.conf->listens[0].address_text, "127.0.0.1:8443");
	load_free(&load);
}

/* ---- files of other programs ---- */

#define OTHER "a file of another program"

static void files_of_other_programs_get_one_hint(void **state)
{
	(void)state;
	static const struct {
		const char *text, *what;
		unsigned line;
	} rows[] = {
	    {"user  nginx;\nworker_processes auto;\nhttp {\n}\n", OTHER, 1},
	    {"# mine\n\nhttp {\n\tlisten 443 ssl;\n}\n", OTHER, 3},
	    {"global\n\tdaemon\nfrontend x\n\tbind :80\n", OTHER, 1},
	    {"<VirtualHost *:443>\nServerName x\n</VirtualHost>\n", OTHER, 1},
	    {"frontend=*,3000;no-tls\nbackend=127.0.0.1,80\n", OTHER, 1},
	    {"# ours\nacl localnet src 10.0.0.0/8\nhttp_access allow localnet\n", OTHER, 2},
	    {"vcl 4.1;\n", OTHER, 1},
	    {"example.com {\n}\n", OTHER, 1},
	    {"hosts:\n  \"a\":\n", "YAML", 1},
	    {"---\na: b\n", "YAML", 1},
	    {"{\n  \"server\": {}\n}\n", "JSON", 1},
	    {"[[listen]]\naddress = \"x\"\n", "TOML", 1},
	    {"<?xml version=\"1.0\"?>\n", "an XML or HTML file", 1},
	    {"-----BEGIN CERTIFICATE-----\n", "a PEM file", 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char start[128];
		snprintf(start, sizeof start, "test.ini:%u: this looks like %s ('", rows[i].line, rows[i].what);
		struct load load = load_text(rows[i].text);
		if (strncmp(load.errors, start, strlen(start)) != 0 ||
		    strchr(load.errors, '\n') != strrchr(load.errors, '\n') ||
		    !strstr(load.errors, "docs/MOVING.md"))
			fail_msg("'%s' is not one line '%s...'", load.errors, start);
		assert_null(load.conf);
		load_free(&load);
	}
	/* Below a section of ours it is a line like any other. */
	assert_refused(LOAD_REST "[server]\nlisten 443 ssl;\n",
	    "test.ini:8: the line is not a section, option or comment; write key = value\n");
}

static void files_of_wide_characters_get_one_hint(void **state)
{
	(void)state;
	static const struct slice texts[] = {
	    SLICE_INIT("\xff\xfe[\0s\0"), SLICE_INIT("\xfe\xff\0[\0s"), SLICE_INIT("[\0s\0e\0"), SLICE_INIT("\0[\0s\0e")};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct load load = load_bytes(texts[i], false);
		assert_string_equal(load.errors, "test.ini:1: the file is UTF-16 or UTF-32; save it as UTF-8\n");
		assert_null(load.conf);
		load_free(&load);
	}
}

/* ---- what changes nothing ---- */

static void assert_idle(const char *text, const char *warning)
{
	char all[1024], line[512];
	snprintf(all, sizeof all, LOAD_REST "%s", text);
	snprintf(line, sizeof line, "warning: %s\n", warning);
	struct load load = load_text(all);
	if (!load.conf || !strstr(load.errors, line))
		fail_msg("'%s' lacks '%s'", load.errors, line);
	load_free(&load);
}

static void what_changes_nothing_is_a_warning(void **state)
{
	(void)state;
	static const struct {
		const char *text, *warning;
	} rows[] = {
	    {"[origin p]\nserver = demo:\n",
		"[origin p] is used by no route; add origin = p to one, or remove the section"},
	    {"[push a]\nsource = link\naction = drop\n",
		"[push a] never matches, because no push has the source link: no [preload NAME] has "
		"link = yes; add one, or remove the rule"},
	    {"[push a]\nsource = manifest remembered\naction = drop\n",
		"[push a] never matches, because no push has the source manifest: no [preload NAME] "
		"has a manifest; add one, or remove the rule"},
	    {"host = a.example\n[push a]\nhost = b.example\naction = drop\n",
		"[push a] never matches, because no route has such a host and path; correct them or "
		"remove the section"},
	    {"path = /a /b\n[preload a]\npath = /c/*\nlink = yes\n",
		"[preload a] never matches, because no route has such a host and path; correct them "
		"or remove the section"},
	    {"[server]\nhold-max-age = 1s\n",
		"hold-max-age has no effect, because no rule and no default-action holds responses; "
		"remove it"},
	    {"[server]\nhint-wait = 1ms\n",
		"hint-wait has no effect, because no rule and no default-action hints; remove it"},
	    {"[server]\nremembered-file = x\n",
		"remembered-file has no effect, because no [preload NAME] has remembered = propose or "
		"remembered = apply; remove it"},
	    {"[server]\ndiary-cookie-key = x\n",
		"diary-cookie-key has no effect, because diary-cookie is off; remove it"},
	    {"[listen m]\naddress = *:1\ntls-timeout = 1s\n",
		"tls-timeout has no effect, because the section has no certificate; remove it"},
	    {"[origin p]\nserver = demo:\nspeculation-share = 80%\n",
		"speculation-share has no effect, because no route to it has speculation; remove it"},
	    {"speculation-deny = /x\n",
		"speculation-deny has no effect, because speculation is off; remove it"},
	    {"[origin p]\nserver = demo:\nhash = client\n",
		"hash has no effect, because the origin has one server; remove it"},
	    {"[origin p]\nserver = http://192.0.2.1:1\nbalance = round-robin\n",
		"balance has no effect, because the origin has one server; remove it"},
	    {"[origin p]\nserver = h1+unix:/x\nslow-start = 1s\n",
		"slow-start has no effect, because the origin has one server; remove it"},
	    {"[origin p]\nserver = demo:\naffinity-cookie = s\n",
		"affinity-cookie has no effect, because the origin has one server; remove it"},
	    {"[origin p]\nserver = h2://a:1\ntls-verify = no\ntls-ca = x\n",
		"tls-ca has no effect, because tls-verify is no; remove it"},
	    {"[origin p]\nserver = h2://a:1\ntls-name = 192.0.2.1\n",
		"tls-name is an IP address: it is not sent as SNI, and the origin's certificate must "
		"have it as iPAddress; write the certificate's host name"},
	    {"[origin p]\nserver = demo:\npush = refuse\nlimit-promises = 1/s\n",
		"limit-promises has no effect, because the origin has push = refuse; remove it"},
	    {"[listen m]\naddress = *:1\nprotocols = http/1.1\nmax-concurrent-streams = 1\n",
		"max-concurrent-streams has no effect, because protocols is http/1.1; remove it"},
	    {"[origin p]\nserver = http://127.0.0.1:1\npush = accept\n",
		"push has no effect, because the origin speaks HTTP/1.1 alone (http://, h1+unix:); remove it"},
	    {"[origin p]\nserver = h1+unix:/x\nlimit-pings = 1/s\n",
		"limit-pings has no effect, because the origin speaks HTTP/1.1 alone (http://, h1+unix:); remove it"},
	    {"[origin p]\nserver = h2c://127.0.0.1:1\nmax-http1-connections = 1\n",
		"max-http1-connections has no effect, because the origin speaks HTTP/2 alone (h2://, "
		"h2c://, h2c+unix:); remove it"},
	    {"[origin p]\nserver = http://127.0.0.1:1\n[route s]\nhost = s\norigin = p\nsubscription = yes\n",
		"subscription has no effect, because the pushes that it waits for never come: its "
		"origin speaks HTTP/1.1 alone; remove it"},
	    {"[origin p]\nserver = demo:\nmax-subscriptions = 1\n",
		"max-subscriptions has no effect, because no route to it has subscription = yes; "
		"remove it"},
	    {"[origin p]\nserver = demo:\npush = refuse\n[route s]\nhost = s\norigin = p\nsubscription = yes\n",
		"subscription has no effect, because the pushes that it waits for never come: its "
		"origin has push = refuse; remove it"},
	    {"[server]\ntunnel-drain-timeout = 1s\n",
		"tunnel-drain-timeout has no effect, because no route has upgrade; remove it"},
	    {"[server]\naccess-recheck = yes\n",
		"access-recheck has no effect, because no route has upgrade; remove it"},
	    {"upgrade = websocket\n[server]\naccess-recheck = yes\n",
		"access-recheck has no effect, because no [listen NAME] has access; remove it"},
	    {"[origin p]\nserver = demo:\nmax-tunnels = 1\n[route s]\nhost = s\norigin = p\n[route t]\n"
	     "host = t\norigin = o\nupgrade = websocket\n",
		"max-tunnels has no effect, because no route to it has upgrade; remove it"},
	    {"tunnel-idle-timeout = 1s\n",
		"tunnel-idle-timeout has no effect, because the section has no upgrade; remove it"},
	    {"tunnel-half-closed-timeout = 1s\n",
		"tunnel-half-closed-timeout has no effect, because the section has no upgrade; remove it"},
	    {"tunnel-age = 1s\n", "tunnel-age has no effect, because the section has no upgrade; remove it"},
	    {"tunnel-bytes = 1k\n",
		"tunnel-bytes has no effect, because the section has no upgrade; remove it"},
	    {"[push a]\naction = drop\nmax-bytes = 1k\n",
		"max-bytes has no effect, because the rule drops its pushes; remove it"},
	    {"[push a]\naction = hint\nurgency = 1\n",
		"urgency has no effect, because no response follows a hint; remove it"},
	    {"[push a]\naction = hold\nhint-clients = all\n",
		"hint-clients has no effect, because the rule does not hint; remove it"},
	    {"[push a]\naction = hold\nsource = relayed\ncross-origin = yes\n",
		"cross-origin has no effect, because it is for pushes that pushgate offers; remove it"},
	    {"[push a]\naction = hold\nmin-sample = 5\n",
		"min-sample has no effect, because min-used is 0%; remove it"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_idle(rows[i].text, rows[i].warning);
}

static void tunnels_and_tls_have_effect_in_forward_mode(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN "mode = forward\n[server]\ntunnel-drain-timeout = 1s\naccess-recheck = yes\n"
	    "[origin o]\nserver = forward:\nmax-tunnels = 1\ntls-verify = no\n" LOAD_ROUTE
	    "tunnel-idle-timeout = 1s\ntunnel-half-closed-timeout = 1s\ntunnel-age = 1s\ntunnel-bytes = 1k\n",
	    "");
	load_free(&load);
}

static void rule_for_relayed_pushes_that_each_origin_refuses_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN LOAD_ORIGIN "push = refuse\n" LOAD_ROUTE
	    "[push a]\nsource = relayed\naction = forward\n[server]\npromise-rate = 5\n",
	    "test.ini:9: warning: [push a] never matches, because no push has the source relayed: each origin has push = refuse; set push = auto in one, or remove the rule\n"
	    "test.ini:12: warning: promise-rate has no effect, because each origin has push = refuse; remove it\n");
	load_free(&load);
}

static void rule_for_relayed_pushes_of_origins_that_speak_http1_is_a_warning(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_LISTEN "[origin o]\nserver = http://127.0.0.1:1\n" LOAD_ROUTE
	    "[push a]\nsource = relayed\naction = forward\n[server]\npromise-rate = 5\n",
	    "test.ini:8: warning: [push a] never matches, because no push has the source relayed: no origin promises: each has push = refuse or speaks HTTP/1.1 alone; make one an https://, h2:// or h2c:// server, or remove the rule\n"
	    "test.ini:11: warning: promise-rate has no effect, because no origin promises: each has push = refuse or speaks HTTP/1.1 alone; remove it\n");
	load_free(&load);
}

static void what_may_have_an_effect_is_no_warning(void **state)
{
	(void)state;
	static const char *const texts[] = {
	    /* Defaults that are written down, as in the complete example. */
	    "upgrade = websocket mqtt\ntunnel-idle-timeout = 1s\ntunnel-half-closed-timeout = 1s\n"
	    "tunnel-age = 1s\ntunnel-bytes = 1k\n[server]\ntunnel-drain-timeout = 1s\n",
	    "[origin p]\nserver = demo:\nmax-tunnels = 1\n[route s]\nhost = s\norigin = p\nupgrade = websocket\n",
	    "[server]\nhold-max-count = 32\nhint-wait = 0\nhold-shared = no\n",
	    "host = a.example *.b.example\n[push a]\nhost = x.b.example ~. *.c\naction = drop\n",
	    "path = /a\n[push a]\npath = /a/b *.css\naction = drop\n",
	    "path = /a/b\n[push a]\npath = /a/* \naction = drop\n",
	    "[push a]\nsource = relayed link\naction = drop\n",
	    "[push a]\nsource = remembered\naction = drop\n[preload p]\nremembered = propose\n",
	    "[server]\ndefault-action = hint+hold\nhold-max-age = 1s\nhint-wait = 1ms\n",
	    /* ALPN decides: both may be spoken. */
	    "[origin p]\nserver = https://127.0.0.1:1\npush = accept\nmax-connections = 2\nmax-http1-connections = 2\n[route s]\nhost = s\norigin = p\n",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char all[512];
		snprintf(all, sizeof all, LOAD_REST "%s", texts[i]);
		struct load load = load_fine(all, "");
		load_free(&load);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_bad_value_is_shown_with_one_that_the_option_accepts),
	    cmocka_unit_test(values_that_are_nearly_right_are_corrected),
	    cmocka_unit_test(misspelt_header_above_all_others_is_no_file_of_another_program),
	    cmocka_unit_test(value_without_a_suggestion_is_shown_the_example),
	    cmocka_unit_test(names_that_resemble_known_ones_are_recognized),
	    cmocka_unit_test(comments_quotes_and_variables_are_named_as_such),
	    cmocka_unit_test(fields_may_have_what_other_values_may_not),
	    cmocka_unit_test(white_space_and_line_ends_of_any_system_are_read),
	    cmocka_unit_test(files_of_other_programs_get_one_hint),
	    cmocka_unit_test(files_of_wide_characters_get_one_hint),
	    cmocka_unit_test(what_changes_nothing_is_a_warning),
	    cmocka_unit_test(tunnels_and_tls_have_effect_in_forward_mode),
	    cmocka_unit_test(rule_for_relayed_pushes_that_each_origin_refuses_is_a_warning),
	    cmocka_unit_test(rule_for_relayed_pushes_of_origins_that_speak_http1_is_a_warning),
	    cmocka_unit_test(what_may_have_an_effect_is_no_warning),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
