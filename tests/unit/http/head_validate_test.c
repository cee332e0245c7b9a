/* SPDX-License-Identifier: MIT */
/*
 * What a well-formed head is, rule by rule and both ways (RFC 9113 8.2, 8.3, 8.4, 8.5; RFC 9110
 * 5.5, 8.6). Heads are built from lines "name: value" the way a decoder would.
 */
#include "tests/unit/http/heads.h"

#define GET_ROOT ":method: GET", ":scheme: https", ":authority: a.example", ":path: /"
#define GET_OF(authority) ":method: GET", ":scheme: https", ":authority: " authority, ":path: /"
#define OK ":status: 200"

static void check(enum http_head_kind kind, const char *fault, const char *const *lines)
{
	struct http_head *head = decoded(lines);
	const char *found = http_head_validate(head, kind);
	if (!fault && found)
		fail_msg("refused: %s", found);
	if (fault && !found)
		fail_msg("accepted, want: %s", fault);
	if (fault && !strstr(found, fault))
		fail_msg("refused with: %s, want: %s", found, fault);
	http_head_free(head);
}

#define ACCEPT(kind, ...) check(kind, NULL, LINES(__VA_ARGS__))
#define REFUSE(kind, fault, ...) check(kind, fault, LINES(__VA_ARGS__))

static void pseudo_fields_move_to_their_slots(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(":method: POST", ":path: /a?b", ":scheme: https",
	    ":authority: a.example:8443", "content-length: 12", "x-one: 1"));
	head->fields[1].never_index = true;
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_true(slice_equal(head->method, SLICE("POST")));
	assert_int_equal(head->method_token, HTTP_METHOD_POST);
	assert_true(slice_equal(head->path, SLICE("/a?b")));
	assert_true(slice_equal(head->scheme, SLICE("https")));
	assert_true(slice_equal(head->authority, SLICE("a.example:8443")));
	assert_false(head->authority_from_host);
	assert_int_equal(head->never_index_pseudo, HTTP_PSEUDO_PATH);
	assert_int_equal(head->content_length, 12);
	assert_int_equal(head->status, 0);
	assert_int_equal(head->count, 2);
	assert_true(slice_equal(head->fields[0].name, SLICE("content-length")));
	assert_true(slice_equal(head->fields[1].name, SLICE("x-one")));
	http_head_free(head);
}

static void fields_can_be_added_after_settling(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(GET_ROOT, "x-first: 1"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	for (int i = 0; i < 300; i++)
		http_head_add(head, SLICE("x-more"), SLICE("2"));
	assert_int_equal(head->count, 301);
	assert_true(slice_equal(head->fields[0].name, SLICE("x-first")));
	assert_true(slice_equal(head->fields[300].value, SLICE("2")));
	http_head_free(head);
}

static void list_bytes_count_every_field_unless_the_decoder_did(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(OK, "age: 10"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_int_equal(head->list_bytes, 7 + 3 + 32 + 3 + 2 + 32);
	http_head_free(head);
	head = decoded(LINES(OK, "age: 10"));
	head->list_bytes = 5;
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_int_equal(head->list_bytes, 5);
	http_head_free(head);
}

static void request_needs_method_scheme_and_path(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, GET_ROOT);
	ACCEPT(HTTP_REQUEST, ":path: /", ":authority: a", ":scheme: http", ":method: GET");
	REFUSE(HTTP_REQUEST, "no method", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_REQUEST, "no scheme", ":method: GET", ":authority: a", ":path: /");
	REFUSE(HTTP_REQUEST, ":path", ":method: GET", ":authority: a", ":scheme: https");
	REFUSE(HTTP_REQUEST, "empty :path", ":method: GET", ":authority: a", ":scheme: https",
	    ":path: ");
	REFUSE(HTTP_REQUEST, "no method", ":method: ", ":authority: a", ":scheme: https", ":path: /");
	REFUSE(HTTP_REQUEST, "no scheme", ":method: GET", ":authority: a", ":scheme: ", ":path: /");
}

static void empty_head_is_well_formed_for_trailers_alone(void **state)
{
	(void)state;
	const char *const none[] = {NULL};
	check(HTTP_TRAILERS, NULL, none);
	check(HTTP_REQUEST, "no method", none);
	check(HTTP_PROMISE, "no method", none);
	check(HTTP_RESPONSE, ":status", none);
}

static void pseudo_field_twice_is_malformed(void **state)
{
	(void)state;
	REFUSE(HTTP_REQUEST, "twice", GET_ROOT, ":method: GET");
	REFUSE(HTTP_REQUEST, "twice", GET_ROOT, ":scheme: https");
	REFUSE(HTTP_REQUEST, "twice", GET_ROOT, ":authority: a.example");
	REFUSE(HTTP_REQUEST, "twice", GET_ROOT, ":path: /");
	REFUSE(HTTP_RESPONSE, "twice", OK, OK);
	REFUSE(HTTP_REQUEST, "twice", GET_ROOT, ":protocol: x", ":protocol: x");
}

static void pseudo_field_after_a_field_is_malformed(void **state)
{
	(void)state;
	REFUSE(HTTP_REQUEST, "after", ":method: GET", ":scheme: https", ":authority: a", "age: 1",
	    ":path: /");
	REFUSE(HTTP_RESPONSE, "after", "age: 1", OK);
}

static void pseudo_field_of_another_kind_is_malformed(void **state)
{
	(void)state;
	REFUSE(HTTP_REQUEST, ":status", GET_ROOT, OK);
	REFUSE(HTTP_REQUEST, "unknown pseudo", GET_ROOT, ":other: 1");
	REFUSE(HTTP_REQUEST, "unknown pseudo", GET_ROOT, ":: 1");
	REFUSE(HTTP_RESPONSE, "request pseudo", OK, ":path: /");
	REFUSE(HTTP_RESPONSE, "request pseudo", ":method: GET", OK);
	REFUSE(HTTP_RESPONSE, "request pseudo", OK, ":protocol: x");
	REFUSE(HTTP_TRAILERS, "pseudo", OK);
	REFUSE(HTTP_TRAILERS, "pseudo", ":path: /");
	REFUSE(HTTP_TRAILERS, "pseudo", ":x: /");
}

static void method_is_a_token(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, ":method: M-SEARCH", ":scheme: https", ":authority: a", ":path: /");
	ACCEPT(HTTP_REQUEST, ":method: get", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "token", ":method: GE T", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "token", ":method: G\r\n", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_REQUEST, "token", ":method: G/", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_REQUEST, "token", ":method: \xc3\xa4", ":scheme: https", ":authority: a",
	    ":path: /");
}

static void scheme_has_its_own_form(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, ":method: GET", ":scheme: h+t.t-p2", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "no scheme", ":method: GET", ":scheme: 2http", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "no scheme", ":method: GET", ":scheme: ht_tp", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "no scheme", ":method: GET", ":scheme: http:", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "no scheme", ":method: GET", ":scheme: \xe1", ":authority: a", ":path: /");
}

static void path_begins_with_a_slash_or_is_the_star_of_options(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, ":method: GET", ":scheme: https", ":authority: a", ":path: //");
	ACCEPT(HTTP_REQUEST, ":method: OPTIONS", ":scheme: https", ":authority: a", ":path: *");
	ACCEPT(HTTP_REQUEST, ":method: OPTIONS", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(
	    HTTP_REQUEST, "slash", ":method: GET", ":scheme: https", ":authority: a", ":path: *");
	REFUSE(HTTP_REQUEST, "slash", ":method: OPTIONS", ":scheme: https", ":authority: a",
	    ":path: **");
	REFUSE(
	    HTTP_REQUEST, "slash", ":method: GET", ":scheme: https", ":authority: a", ":path: a");
	REFUSE(HTTP_REQUEST, "slash", ":method: GET", ":scheme: https", ":authority: a",
	    ":path: https://a/");
	REFUSE(
	    HTTP_REQUEST, "slash", ":method: GET", ":scheme: https", ":authority: a", ":path: ?q");
}

/* True when this byte is accepted at this place of a value (or path) of this length. */
static bool byte_passes(const char *name, size_t len, size_t at, int byte)
{
	struct http_head *head = http_head_new(pool);
	char text[40];
	bool is_path = strcmp(name, ":path") == 0;
	memset(text, 'v', len);
	text[0] = is_path ? '/' : 'v';
	text[at] = (char)byte;
	if (is_path) {
		add_line(head, ":method: GET");
		add_line(head, ":scheme: https");
		add_line(head, ":authority: a");
	} else {
		add_line(head, OK);
	}
	http_head_add(head, slice_of_string(name), slice_of(text, len));
	bool passes = !http_head_validate(head, is_path ? HTTP_REQUEST : HTTP_RESPONSE);
	http_head_free(head);
	return passes;
}

static void every_byte_of_a_value_is_judged_at_every_place(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		bool is_control = (byte < 0x20 && byte != '\t') || byte == 0x7f;
		bool is_blank = byte == ' ' || byte == '\t';
		for (size_t len = 1; len <= 25; len++) {
			for (size_t at = 0; at < len; at++) {
				bool is_edge = at == 0 || at == len - 1;
				bool want = !is_control && !(is_blank && is_edge);
				assert_int_equal(byte_passes("x-any", len, at, byte), want);
				assert_int_equal(byte_passes("server", len, at, byte), want);
			}
		}
	}
}

static void value_with_a_tab_is_still_searched_for_controls(void **state)
{
	(void)state;
	ACCEPT(HTTP_RESPONSE, OK, "x-any: a\tb\tcdefghijkl");
	REFUSE(HTTP_RESPONSE, "control", OK, "x-any: a\tbcdefghijkl\x01z");
	REFUSE(HTTP_TRAILERS, "control", "x-any: \x7f");
	ACCEPT(HTTP_RESPONSE, OK, "x-any: ");
}

static void every_byte_of_a_path_is_judged_at_every_place(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		bool want = byte > 0x20 && byte != 0x7f && byte != '#';
		for (size_t len = 2; len <= 25; len++) {
			for (size_t at = 1; at < len; at++)
				assert_int_equal(byte_passes(":path", len, at, byte), want);
		}
	}
}

static void every_byte_of_a_name_is_judged(void **state)
{
	(void)state;
	const char *specials = "!#$%&'*+-.^_`|~";
	for (int byte = 0; byte < 256; byte++) {
		bool want = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
			    (byte != 0 && strchr(specials, byte));
		for (size_t at = 0; at < 3; at++) {
			char name[3] = {'x', 'x', 'x'};
			struct http_head *head = http_head_new(pool);
			name[at] = (char)byte;
			http_head_add(head, slice_of(name, 3), SLICE("1"));
			assert_int_equal(http_head_validate(head, HTTP_TRAILERS) == NULL, want);
			http_head_free(head);
		}
	}
}

static void names_say_what_is_wrong_with_them(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(""), SLICE("1"));
	assert_non_null(strstr(http_head_validate(head, HTTP_TRAILERS), "empty field name"));
	http_head_free(head);
	REFUSE(HTTP_RESPONSE, "upper case", OK, "X-Any: 1");
	REFUSE(HTTP_RESPONSE, "upper case", OK, "Server: 1");
	REFUSE(HTTP_RESPONSE, "not a token", OK, "x any: 1");
	REFUSE(HTTP_RESPONSE, "not a token", OK, "x:y: 1");
}

static void connection_specific_fields_are_malformed(void **state)
{
	(void)state;
	const char *lines[] = {"connection: close", "connection: ", "keep-alive: 5",
	    "proxy-connection: keep-alive", "transfer-encoding: chunked", "upgrade: h2c"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		REFUSE(HTTP_REQUEST, "connection-specific", GET_ROOT, lines[i]);
		REFUSE(HTTP_PROMISE, "connection-specific", GET_ROOT, lines[i]);
		REFUSE(HTTP_RESPONSE, "connection-specific", OK, lines[i]);
		REFUSE(HTTP_TRAILERS, "connection-specific", lines[i]);
	}
}

static void te_says_trailers_or_nothing(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, GET_ROOT, "te: trailers");
	ACCEPT(HTTP_REQUEST, GET_ROOT, "te: Trailers");
	REFUSE(HTTP_REQUEST, "te other", GET_ROOT, "te: gzip");
	REFUSE(HTTP_REQUEST, "te other", GET_ROOT, "te: trailers, gzip");
	REFUSE(HTTP_REQUEST, "te other", GET_ROOT, "te: ");
}

static void content_length_is_one_number(void **state)
{
	(void)state;
	ACCEPT(HTTP_RESPONSE, OK, "content-length: 0");
	ACCEPT(HTTP_RESPONSE, OK, "content-length: 18446744073709551614");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: 18446744073709551615");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: -1");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: +1");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: ");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: 1 ");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: 5, 5");
	REFUSE(HTTP_RESPONSE, "not a number", OK, "content-length: 0x10");
	REFUSE(HTTP_RESPONSE, "differ", OK, "content-length: 5", "content-length: 6");
	REFUSE(HTTP_TRAILERS, "trailers", "content-length: 5");
}

static void equal_content_lengths_become_one(void **state)
{
	(void)state;
	struct http_head *head =
	    decoded(LINES(OK, "content-length: 5", "age: 1", "content-length: 5", "date: x"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_int_equal(head->content_length, 5);
	assert_int_equal(head->count, 3);
	assert_int_equal(head->fields[0].token, HTTP_TOKEN_CONTENT_LENGTH);
	assert_int_equal(head->fields[1].token, HTTP_TOKEN_AGE);
	assert_int_equal(head->fields[2].token, HTTP_TOKEN_DATE);
	http_head_free(head);
}

static void status_is_three_digits_and_not_101(void **state)
{
	(void)state;
	ACCEPT(HTTP_RESPONSE, ":status: 100");
	ACCEPT(HTTP_RESPONSE, ":status: 103");
	ACCEPT(HTTP_RESPONSE, ":status: 599");
	ACCEPT(HTTP_RESPONSE, ":status: 999");
	REFUSE(HTTP_RESPONSE, "101", ":status: 101");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: 099");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: 000");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: 20");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: 2000");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: 20x");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: +20");
	REFUSE(HTTP_RESPONSE, "100 to 999", ":status: ");
}

static void authority_is_a_host_and_perhaps_a_port(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, GET_OF("[2001:db8::1]:443"));
	ACCEPT(HTTP_REQUEST, GET_OF("a_b.example:1"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("user@a.example"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("user:pass@a.example:1"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF(""));
	REFUSE(HTTP_REQUEST, "authority", GET_OF(":443"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("a.example/"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("a b"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("a.example:70000"));
	REFUSE(HTTP_REQUEST, "authority", GET_OF("a.example:x"));
}

static void host_stands_in_for_a_missing_authority(void **state)
{
	(void)state;
	struct http_head *head =
	    decoded(LINES(":method: GET", ":scheme: https", ":path: /", "host: a.example:8443"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_true(head->authority_from_host);
	assert_true(slice_equal(head->authority, SLICE("a.example:8443")));
	assert_non_null(http_head_find(head, HTTP_TOKEN_HOST));
	http_head_free(head);
	REFUSE(
	    HTTP_REQUEST, "authority", ":method: GET", ":scheme: https", ":path: /", "host: u@a");
	REFUSE(HTTP_REQUEST, "authority", ":method: GET", ":scheme: https", ":path: /", "host: ");
}

static void http_request_without_any_authority_is_malformed(void **state)
{
	(void)state;
	REFUSE(HTTP_REQUEST, "neither authority", ":method: GET", ":scheme: https", ":path: /");
	REFUSE(HTTP_REQUEST, "neither authority", ":method: GET", ":scheme: HTTP", ":path: /");
	ACCEPT(HTTP_REQUEST, ":method: GET", ":scheme: coap", ":path: /");
}

/* RFC 9112 3.2: only in HTTP/1.0, and only where the target has no authority either. */
static void old_request_may_name_no_host(void **state)
{
	(void)state;
	static const struct {
		enum http_version version;
		bool scheme_from_connection, is_good;
	} rows[] = {{HTTP_VERSION_1_0, true, true}, {HTTP_VERSION_1_0, false, false},
	    {HTTP_VERSION_1_1, true, false}, {HTTP_VERSION_2, true, false}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct http_head *head = decoded(LINES(":method: GET", ":scheme: http", ":path: /"));
		head->version = (uint8_t)rows[i].version;
		head->scheme_from_connection = rows[i].scheme_from_connection;
		assert_int_equal(http_head_validate(head, HTTP_REQUEST) == NULL, rows[i].is_good);
		assert_int_equal(head->authority.len, 0);
		http_head_free(head);
	}
}

static void host_agrees_with_the_authority(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, GET_ROOT, "host: a.example");
	ACCEPT(HTTP_REQUEST, GET_ROOT, "host: A.Example");
	ACCEPT(HTTP_REQUEST, GET_ROOT, "host: a.example:443");
	ACCEPT(HTTP_REQUEST, GET_OF("a.example:443"), "host: a.example");
	REFUSE(HTTP_REQUEST, "differs", GET_ROOT, "host: b.example");
	REFUSE(HTTP_REQUEST, "differs", GET_ROOT, "host: a.example:80");
	REFUSE(HTTP_REQUEST, "malformed host", GET_ROOT, "host: ");
	REFUSE(HTTP_REQUEST, "malformed host", GET_ROOT, "host: x@a.example");
	REFUSE(HTTP_REQUEST, "host twice", GET_ROOT, "host: a.example", "host: a.example");
	ACCEPT(HTTP_RESPONSE, OK, "host: anything at all", "host: twice");
	REFUSE(HTTP_PROMISE, "differs", GET_ROOT, "host: b.example");
	REFUSE(HTTP_TRAILERS, "host in trailers", "host: a.example");
}

static void connect_has_an_authority_with_port_and_nothing_else(void **state)
{
	(void)state;
	ACCEPT(HTTP_REQUEST, ":method: CONNECT", ":authority: a.example:443");
	ACCEPT(
	    HTTP_REQUEST, ":method: CONNECT", ":authority: a.example:443", "host: a.example:443");
	ACCEPT(HTTP_REQUEST, ":method: CONNECT", ":authority: a.example:443", "host: a.example");
	REFUSE(HTTP_REQUEST, "differs", ":method: CONNECT", ":authority: a:443", "host: b:443");
	REFUSE(HTTP_REQUEST, "differs", ":method: CONNECT", ":authority: a:443", "host: a:444");
	REFUSE(HTTP_REQUEST, "differs", ":method: CONNECT", ":authority: a:443", "host: b");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: a.example");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: ");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: a.example:");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: a.example:0");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: a.example:65536");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: :443");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: me@a.example:443");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: me:x@a.example:443");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: http://a.example:443");
	REFUSE(HTTP_REQUEST, "port", ":method: CONNECT", ":authority: a.example:443/");
	REFUSE(HTTP_REQUEST, "content", ":method: CONNECT", ":authority: a:1", "content-length: 1");
	ACCEPT(HTTP_REQUEST, ":method: CONNECT", ":authority: a:1", "content-length: 0");
	REFUSE(HTTP_REQUEST, "without :authority", ":method: CONNECT", "host: a.example:443");
	REFUSE(HTTP_REQUEST, ":scheme or :path", ":method: CONNECT", ":authority: a:1", ":path: /");
	REFUSE(HTTP_REQUEST, ":scheme or :path", ":method: CONNECT", ":authority: a:1",
	    ":scheme: https");
}

/* The receiver has announced SETTINGS_ENABLE_CONNECT_PROTOCOL. */
static void check_allowed(const char *fault, const char *const *lines)
{
	struct http_head *head = decoded(lines);
	head->allows_protocol = true;
	const char *found = http_head_validate(head, HTTP_REQUEST);
	if (fault ? !found || !strstr(found, fault) : found != NULL)
		fail_msg("%s, want: %s", found ? found : "accepted", fault ? fault : "accepted");
	http_head_free(head);
}

#define EXTENDED(protocol, authority)                                                              \
	":method: CONNECT", ":protocol: " protocol, ":scheme: https", ":authority: " authority,    \
	    ":path: /"
#define TUNNEL(...) check_allowed(NULL, LINES(__VA_ARGS__))
#define NO_TUNNEL(fault, ...) check_allowed(fault, LINES(__VA_ARGS__))

static void extended_connect_is_a_request_with_a_protocol(void **state)
{
	(void)state;
	TUNNEL(EXTENDED("websocket", "a.example"));
	TUNNEL(EXTENDED("Connect-UDP/1.0", "a.example:8443"));
	TUNNEL(EXTENDED("websocket", "a.example"), "host: a.example:443");
	TUNNEL(":method: CONNECT", ":protocol: x", ":scheme: https", ":path: /", "host: a");
	NO_TUNNEL("differs", EXTENDED("websocket", "a.example:8443"), "host: a.example");
	NO_TUNNEL("differs", EXTENDED("websocket", "a.example"), "host: b.example");
	NO_TUNNEL("malformed authority", EXTENDED("websocket", "me@a.example"));
	NO_TUNNEL("neither authority", ":method: CONNECT", ":protocol: x", ":scheme: https",
	    ":path: /");
	NO_TUNNEL("no scheme", ":method: CONNECT", ":protocol: x", ":authority: a", ":path: /");
	NO_TUNNEL(":path", ":method: CONNECT", ":protocol: x", ":authority: a", ":scheme: https");
	NO_TUNNEL("slash", ":method: CONNECT", ":protocol: x", ":scheme: https", ":authority: a",
	    ":path: *");
	NO_TUNNEL("CONNECT with :scheme or :path", ":method: CONNECT", ":scheme: https",
	    ":authority: a:443", ":path: /");
	NO_TUNNEL("extended CONNECT", GET_ROOT, ":protocol: websocket");
	NO_TUNNEL("twice", EXTENDED("websocket", "a"), ":protocol: websocket");
}

static void protocol_is_a_name_with_or_without_a_version(void **state)
{
	(void)state;
	NO_TUNNEL("name of a protocol", EXTENDED("", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("/", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("x/", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("/1", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("x/1/2", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("x, y", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED("web\rsocket", "a"));
	NO_TUNNEL("name of a protocol", EXTENDED(" x", "a"));
}

static void extended_connect_has_no_length(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(EXTENDED("websocket", "a.example"),
	    "content-length: 5", "x-one: 1", "content-length: 5", "host: a.example"));
	head->allows_protocol = true;
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_int_equal(head->content_length, HTTP_LENGTH_UNKNOWN);
	assert_int_equal(head->count, 2);
	assert_slice(head->protocol, "websocket");
	http_head_free(head);
	NO_TUNNEL("not a number", EXTENDED("websocket", "a"), "content-length: x");
}

/* Others than requests have none, whatever was announced. */
static void protocol_is_for_requests(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(GET_ROOT, ":protocol: websocket"));
	head->allows_protocol = true;
	assert_non_null(http_head_validate(head, HTTP_PROMISE));
	http_head_free(head);
	head = decoded(LINES(OK, ":protocol: websocket"));
	head->allows_protocol = true;
	assert_non_null(http_head_validate(head, HTTP_RESPONSE));
	http_head_free(head);
}

static void extended_connect_is_malformed_unless_announced(void **state)
{
	(void)state;
	REFUSE(HTTP_REQUEST, "extended CONNECT", ":method: CONNECT", ":protocol: websocket",
	    ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_REQUEST, "extended CONNECT", GET_ROOT, ":protocol: websocket");
}

static void promise_is_a_get_or_head_without_body(void **state)
{
	(void)state;
	ACCEPT(HTTP_PROMISE, GET_ROOT, "accept: x");
	ACCEPT(HTTP_PROMISE, ":method: HEAD", ":scheme: https", ":authority: a", ":path: /");
	ACCEPT(HTTP_PROMISE, GET_ROOT, "content-length: 0");
	REFUSE(HTTP_PROMISE, "body", GET_ROOT, "content-length: 1");
	REFUSE(
	    HTTP_PROMISE, "method", ":method: POST", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_PROMISE, "method", ":method: OPTIONS", ":scheme: https", ":authority: a",
	    ":path: *");
	REFUSE(HTTP_PROMISE, "method", ":method: CONNECT", ":authority: a:443");
	REFUSE(
	    HTTP_PROMISE, "method", ":method: BREW", ":scheme: https", ":authority: a", ":path: /");
	REFUSE(HTTP_PROMISE, "without :authority", ":method: GET", ":scheme: https", ":path: /",
	    "host: a.example");
	REFUSE(
	    HTTP_PROMISE, "slash", ":method: GET", ":scheme: https", ":authority: a", ":path: a");
}

static void cookie_crumbs_are_legal_and_kept(void **state)
{
	(void)state;
	struct http_head *head =
	    decoded(LINES(GET_ROOT, "cookie: a=1", "cookie: b=2", "cookie: c=3"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_int_equal(head->count, 3);
	http_head_free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pseudo_fields_move_to_their_slots),
	    cmocka_unit_test(fields_can_be_added_after_settling),
	    cmocka_unit_test(list_bytes_count_every_field_unless_the_decoder_did),
	    cmocka_unit_test(request_needs_method_scheme_and_path),
	    cmocka_unit_test(empty_head_is_well_formed_for_trailers_alone),
	    cmocka_unit_test(pseudo_field_twice_is_malformed),
	    cmocka_unit_test(pseudo_field_after_a_field_is_malformed),
	    cmocka_unit_test(pseudo_field_of_another_kind_is_malformed),
	    cmocka_unit_test(method_is_a_token),
	    cmocka_unit_test(scheme_has_its_own_form),
	    cmocka_unit_test(path_begins_with_a_slash_or_is_the_star_of_options),
	    cmocka_unit_test(every_byte_of_a_value_is_judged_at_every_place),
	    cmocka_unit_test(value_with_a_tab_is_still_searched_for_controls),
	    cmocka_unit_test(every_byte_of_a_path_is_judged_at_every_place),
	    cmocka_unit_test(every_byte_of_a_name_is_judged),
	    cmocka_unit_test(names_say_what_is_wrong_with_them),
	    cmocka_unit_test(connection_specific_fields_are_malformed),
	    cmocka_unit_test(te_says_trailers_or_nothing),
	    cmocka_unit_test(content_length_is_one_number),
	    cmocka_unit_test(equal_content_lengths_become_one),
	    cmocka_unit_test(status_is_three_digits_and_not_101),
	    cmocka_unit_test(authority_is_a_host_and_perhaps_a_port),
	    cmocka_unit_test(host_stands_in_for_a_missing_authority),
	    cmocka_unit_test(http_request_without_any_authority_is_malformed),
	    cmocka_unit_test(old_request_may_name_no_host),
	    cmocka_unit_test(host_agrees_with_the_authority),
	    cmocka_unit_test(connect_has_an_authority_with_port_and_nothing_else),
	    cmocka_unit_test(extended_connect_is_a_request_with_a_protocol),
	    cmocka_unit_test(protocol_is_a_name_with_or_without_a_version),
	    cmocka_unit_test(extended_connect_has_no_length),
	    cmocka_unit_test(protocol_is_for_requests),
	    cmocka_unit_test(extended_connect_is_malformed_unless_announced),
	    cmocka_unit_test(promise_is_a_get_or_head_without_body),
	    cmocka_unit_test(cookie_crumbs_are_legal_and_kept),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
