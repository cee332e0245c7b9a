/* SPDX-License-Identifier: MIT */
/* The access log: what a line says, how it is escaped and cut, and how lines leave. */
#include "proxy/observe/observe.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct observe_counters counters;
	struct observe observe;
	int read_fd;
	char text[65536];
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	int fds[2];
	if (!b || pipe2(fds, O_NONBLOCK) != 0)
		return -1;
	b->read_fd = fds[0];
	b->observe = (struct observe){
	    .counters = &b->counters, .access_fd = fds[1], .error_fd = -1, .worker = 3};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	close(b->read_fd);
	if (b->observe.access_fd >= 0)
		close(b->observe.access_fd);
	free(b);
	return 0;
}

/* What has been written to the pipe so far. */
static const char *written(struct bench *b)
{
	size_t used = 0;
	for (;;) {
		ssize_t n = read(b->read_fd, b->text + used, sizeof(b->text) - 1 - used);
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	b->text[used] = '\0';
	return b->text;
}

static struct observe_exchange plain_exchange(void)
{
	return (struct observe_exchange){
	    .started_wall = 1767323045678901u, /* 2026-01-02T03:04:05.678901Z */
	    .duration = 1234,
	    .id = 7,
	    .client = {.connection = 5,
		.address = {{127, 0, 0, 1}, 4},
		.listen = "main",
		.protocol = "h2"},
	    .request = {.method = SLICE("GET"),
		.scheme = SLICE("https"),
		.authority = SLICE("a.test"),
		.path = SLICE("/")},
	    .response = {.status = 200, .bytes = 10, .first_byte = 900},
	    .ending.outcome = OBSERVE_COMPLETE,
	};
}

static const char *line_of(struct bench *b, const struct observe_exchange *x)
{
	observe_access_log(&b->observe, x);
	observe_flush(&b->observe);
	return written(b);
}

static const char *line_of_path(struct bench *b, struct slice path)
{
	struct observe_exchange x = plain_exchange();
	x.request.path = path;
	return line_of(b, &x);
}

static void complete_exchange_is_one_json_line(void **state)
{
	struct observe_exchange x = plain_exchange();
	assert_string_equal(line_of(*state, &x),
	    "{\"time\":\"2026-01-02T03:04:05.678Z\",\"worker\":3,\"id\":7,\"connection\":5,\"client\":\"127.0.0.1\","
	    "\"listen\":\"main\",\"protocol\":\"h2\",\"method\":\"GET\",\"scheme\":\"https\",\"authority\":\"a.test\","
	    "\"path\":\"/\",\"status\":200,\"request_bytes\":0,\"response_bytes\":10,"
	    "\"duration_us\":1234,\"first_byte_us\":900,\"outcome\":\"complete\"}\n");
}

static void push_names_its_parent_and_its_verdict(void **state)
{
	struct observe_exchange x = plain_exchange();
	const struct policy_rule rule = {.name = "styles"};
	const struct observe_push push = {.parent_id = 6,
	    .source = POLICY_RELAYED,
	    .verdict = {POLICY_FORWARD, &policy_reason_RULE, &rule},
	    .end_reason = &policy_reason_CLIENT_RESET};
	x.push = &push;
	x.ending = (struct observe_ending){
	    .outcome = OBSERVE_CLIENT_RESET, .code = 8, .code_name = "CANCEL"};
	const char *line = line_of(*state, &x);
	assert_non_null(
	    strstr(line, "\"outcome\":\"client-reset\",\"code\":8,\"code_name\":\"CANCEL\""));
	assert_non_null(strstr(line,
	    "\"push\":true,\"parent\":6,\"source\":\"relayed\",\"verdict\":\"forward\","
	    "\"rule\":\"styles\",\"reason\":\"rule\",\"end_reason\":\"client-reset\"}"));
}

static void miss_of_a_held_response_names_its_cause(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.hold.missed = "vary \"x";
	assert_non_null(strstr(line_of(*state, &x), "\"outcome\":\"complete\",\"missed\":\"vary \\\"x\"}"));
}

static void reset_with_no_error_still_shows_its_code(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.ending.outcome = OBSERVE_ORIGIN_RESET;
	x.ending.code_name = "NO_ERROR";
	assert_non_null(strstr(line_of(*state, &x), "\"code\":0,\"code_name\":\"NO_ERROR\""));
}

static void line_of_an_unknown_client_says_nothing_of_one(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.client = (struct observe_client){0};
	assert_non_null(strstr(line_of(*state, &x), "\"worker\":3,\"id\":7,\"method\":\"GET\""));
}

static void dates_are_right_across_months_and_leap_days(void **state)
{
	static const struct {
		usec wall;
		const char *text;
	} rows[] = {
	    {0, "1970-01-01T00:00:00.000Z"},
	    {951782399999000u, "2000-02-28T23:59:59.999Z"},
	    {951782400000000u, "2000-02-29T00:00:00.000Z"},
	    {951868800000000u, "2000-03-01T00:00:00.000Z"},
	    {1709164800000000u, "2024-02-29T00:00:00.000Z"},
	    {1735689599001000u, "2024-12-31T23:59:59.001Z"},
	    {1735689600000000u, "2025-01-01T00:00:00.000Z"},
	    {4107542400000000u, "2100-03-01T00:00:00.000Z"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct observe_exchange x = plain_exchange();
		x.started_wall = rows[i].wall;
		const char *line = line_of(*state, &x);
		assert_memory_equal(line + strlen("{\"time\":\""), rows[i].text, 24);
	}
}

static void quotes_backslashes_and_controls_are_escaped(void **state)
{
	const char *line =
	    line_of_path(*state, SLICE("/a\"b\\c\nd\x01\x7f/long enough for the fast way"));
	assert_non_null(strstr(
	    line, "\"path\":\"/a\\\"b\\\\c\\u000ad\\u0001\\u007f/long enough for the fast way\""));
}

static void every_byte_is_escaped_wherever_it_stands(void **state)
{
	/* Eight positions, so that each byte meets the eight-at-a-time way in each place. */
	for (unsigned byte = 0; byte < 256; byte++) {
		for (size_t place = 0; place < 8; place++) {
			char path[] = "abcdefghijklmnop", want[64];
			path[place] = (char)byte;
			char shown[8];
			if (byte == '"' || byte == '\\')
				snprintf(shown, sizeof(shown), "\\%c", byte);
			else if (byte < 0x20 || byte >= 0x7f)
				snprintf(shown, sizeof(shown), "\\u00%02x", byte);
			else
				snprintf(shown, sizeof(shown), "%c", byte);
			snprintf(want, sizeof(want), "\"path\":\"%.*s%s%s\"", (int)place,
			    "abcdefghijklmnop", shown, &"abcdefghijklmnop"[place + 1]);
			assert_non_null(strstr(line_of_path(*state, slice_of(path, 16)), want));
		}
	}
}

static void valid_utf8_stays(void **state)
{
	assert_non_null(strstr(line_of_path(*state, SLICE("/\u00e9\u20ac\U0001f600\ud7ff")),
	    "\"path\":\"/\u00e9\u20ac\U0001f600\ud7ff\""));
}

static void invalid_utf8_is_escaped_byte_by_byte(void **state)
{
	static const struct {
		struct slice in;
		const char *out;
	} rows[] = {
	    {SLICE_INIT("/\xc3"), "/\\u00c3"},                                  /* cut short */
	    {SLICE_INIT("/\xc0\xaf"), "/\\u00c0\\u00af"},                       /* overlong */
	    {SLICE_INIT("/\xe0\x80\xaf"), "/\\u00e0\\u0080\\u00af"},            /* overlong */
	    {SLICE_INIT("/\xed\xa0\x80"), "/\\u00ed\\u00a0\\u0080"},            /* surrogate */
	    {SLICE_INIT("/\xf4\x90\x80\x80"), "/\\u00f4\\u0090\\u0080\\u0080"}, /* too high */
	    {SLICE_INIT("/\xf0\x8f\xbf\xbf"), "/\\u00f0\\u008f\\u00bf\\u00bf"}, /* overlong */
	    {SLICE_INIT("/\xe2\x82(x"), "/\\u00e2\\u0082(x"},
	    {SLICE_INIT("/\xff\xfe"), "/\\u00ff\\u00fe"},
	    {SLICE_INIT("/\xc2\x9b"), "/\\u00c2\\u009b"}, /* a control that terminals obey */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_non_null(strstr(line_of_path(*state, rows[i].in), rows[i].out));
}

static void long_values_are_cut_and_marked_and_the_line_stays_whole(void **state)
{
	static char path[100000];
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	const char *line = line_of_path(*state, slice_of(path, sizeof(path)));
	assert_true(strlen(line) < OBSERVE_BATCH_BYTES);
	assert_non_null(strstr(line, "xxx\u2026\",\"status\":200"));
	assert_non_null(strstr(line, ",\"cut\":true}\n"));
}

static void cut_never_tears_a_character_or_an_escape(void **state)
{
	char path[3000];
	for (size_t shift = 0; shift < 4; shift++) {
		memset(path, 'x', shift);
		for (size_t i = shift; i + 4 <= sizeof(path); i += 4)
			memcpy(path + i, "\U0001f600", 4);
		const char *line = line_of_path(*state, slice_of(path, shift + 2800));
		assert_non_null(strstr(line, "\U0001f600\u2026\",\"status\""));
	}
	memset(path, '\x01', sizeof(path));
	assert_non_null(
	    strstr(line_of_path(*state, slice_of(path, sizeof(path))), "\\u0001\u2026\""));
}

/* A certificate's names: as long as they are logged, and longer. */
#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X500 X64 X64 X64 X64 X64 X64 X64 X64

static void line_that_is_too_long_for_a_batch_has_short_texts(void **state)
{
	static char junk[5000], name[5000];
	memset(junk, '\x01', sizeof(junk));
	memset(name, '\x01', sizeof(name) - 1);
	struct slice s = slice_of(junk, sizeof(junk));
	static char of_certificate[] = "subject:" X500 "\nsha256:" X64;
	const struct slice names = slice_of(of_certificate, sizeof(of_certificate) - 1);
	struct policy_reason reason = {.code = name};
	const struct policy_rule rule = {.name = name};
	const struct observe_push push = {
	    .parent_id = UINT64_MAX, .verdict = {.reason = &reason, .rule = &rule}, .end_reason = &reason};
	struct observe_trace trace;
	memset(&trace, '0', sizeof(trace));
	struct observe_exchange x = {
	    .started_wall = 4107542400000000u,
	    .user = s,
	    .trace = &trace,
	    .duration = UINT64_MAX,
	    .id = UINT64_MAX,
	    .route = name,
	    .origin = {.name = name, .connection = UINT64_MAX, .address = name, .protocol = name,
		.request_bytes = UINT64_MAX, .response_bytes = UINT64_MAX, .queue = UINT64_MAX,
		.connect = UINT64_MAX, .first_byte = UINT64_MAX, .duration = UINT64_MAX},
	    .client = {.connection = UINT64_MAX, .listen = name, .protocol = name, .tls = name, .cipher = name, .alpn = name,
		.proxy_authority = s, .proxy_alpn = s, .proxy_id = s, .certificate = &(struct client_certificate){.names = names}},
	    .weight = UINT32_MAX,
	    .tunnel = s,
	    .tunnel_ended = name,
	    .request = {s, s, s, s, s, s, s, UINT64_MAX, 2, s},
	    .response = {UINT16_MAX, UINT64_MAX, UINT64_MAX},
	    .ending = {.code = UINT32_MAX, .code_name = name, .detail = name, .refused_address = name},
	    .hold = {UINT64_MAX, true, name, UINT64_MAX},
	    .push = &push,
	};
	memset(x.client.address.bytes, 0xff, sizeof(x.client.address.bytes));
	x.client.address.family = 6;
	x.client.claimed_peer = x.client.tcp_peer = &x.client.address;
	struct bench *b = *state;
	b->observe.worker = UINT32_MAX - 1;
	const char *line = line_of(b, &x);
	assert_in_range(strlen(line), 2500, OBSERVE_BATCH_BYTES);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	assert_non_null(strstr(line, ",\"cut\":true}\n"));
	/* The next line is as ever. */
	struct observe_exchange next = plain_exchange();
	assert_non_null(strstr(line_of(b, &next), "\"path\":\"/\",\"status\":200"));
}

static void of_a_certificate_the_subject_is_told_or_its_first_name(void **state)
{
	struct bench *b = *state;
	static const struct {
		struct slice names;
		const char *told;
	} rows[] = {
	    {SLICE_INIT("sha256:ab\nsubject:CN=a,O=b\nissuer:CN=c\ncn:a\n"), "\"client_cert\":\"CN=a,O=b\",\"client_cert_sha256\":\"ab\","},
	    {SLICE_INIT("sha256:ab\nissuer:CN=c\nuri:spiffe://a/b\n"), "\"client_cert\":\"issuer:CN=c\",\"client_cert_sha256\":\"ab\","},
	    {SLICE_INIT("sha256:ab\n"), "\"client_cert\":\"sha256:ab\",\"client_cert_sha256\":\"ab\","},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct client_certificate c = {.names = rows[i].names};
		struct observe_exchange x = plain_exchange();
		x.client.certificate = &c;
		assert_non_null(strstr(line_of(b, &x), rows[i].told));
	}
	struct observe_exchange none = plain_exchange();
	assert_null(strstr(line_of(b, &none), "client_cert"));
}

/* ---- what connections have in common ---- */

static void lines_of_connections_that_share_a_slot_are_not_mixed_up(void **state)
{
	struct bench *b = *state;
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 3; i++) {
			struct observe_exchange x = plain_exchange();
			char client[64], origin[64], name[8];
			snprintf(name, sizeof(name), "o%u", (unsigned)i);
			x.client.connection = 1 + i * OBSERVE_CLIENTS;
			x.client.address.bytes[3] = (uint8_t)(10 + i);
			x.client.tls = i == 1 ? "TLSv1.3" : "";
			x.client.cipher = i == 1 ? "TLS_AES_128_GCM_SHA256" : "";
			x.origin = (struct observe_origin){.name = name,
			    .connection = 1 + i * OBSERVE_ORIGINS,
			    .address = "127.0.0.1:1",
			    .protocol = "h2",
			    .first_byte = USEC_NEVER,
			    .duration = USEC_NEVER};
			const char *line = line_of(b, &x);
			snprintf(client, sizeof(client),
			    "\"connection\":%u,\"client\":\"127.0.0.%u\",\"listen\":\"main\"",
			    (unsigned)x.client.connection, (unsigned)(10 + i));
			snprintf(origin, sizeof(origin),
			    "\"origin\":\"o%u\",\"origin_address\":\"127.0.0.1:1\",\"origin_con",
			    (unsigned)i);
			assert_non_null(strstr(line, client));
			assert_non_null(strstr(line, origin));
			assert_int_equal(strstr(line, "\"tls\":\"TLSv1.3\"") != NULL, i == 1);
		}
	}
}

/* An HTTP/1 connection may carry requests of both versions. */
static void each_line_names_the_version_of_its_own_messages(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.origin = (struct observe_origin){.name = "o", .connection = 9, .address = "127.0.0.1:1",
	    .first_byte = USEC_NEVER, .duration = USEC_NEVER};
	for (unsigned i = 0; i < 4; i++) {
		x.client.protocol = i & 1 ? "http/1.0" : "http/1.1";
		x.origin.protocol = i & 2 ? "http/1.0" : "http/1.1";
		const char *line = line_of(*state, &x);
		assert_non_null(strstr(line, i & 1 ? "\"protocol\":\"http/1.0\"" : "\"protocol\":\"http/1.1\""));
		assert_non_null(strstr(line, i & 2 ? "\"origin_protocol\":\"http/1.0\"" : "\"origin_protocol\":\"http/1.1\""));
	}
}

static void long_name_of_a_connection_marks_each_of_its_lines_as_cut(void **state)
{
	struct observe_exchange x = plain_exchange();
	static char name[200];
	memset(name, 'n', sizeof(name) - 1);
	x.client.listen = name;
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(strstr(line_of(*state, &x), "\u2026\",\"protocol\":\"h2\""));
	assert_non_null(strstr(line_of(*state, &x), "\"cut\":true}"));
}

static void times_that_never_came_are_absent_and_0_is_a_time(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.response.first_byte = USEC_NEVER;
	x.origin = (struct observe_origin){.connection = 3, .first_byte = 0, .duration = USEC_NEVER};
	const char *line = line_of(*state, &x);
	assert_null(strstr(line, "\"first_byte_us\""));
	assert_non_null(strstr(line, "\"origin_first_byte_us\":0,"));
	assert_null(strstr(line, "origin_duration_us"));
	assert_null(strstr(line, "queue_us"));
}

static void request_may_name_another_client_than_its_connection(void **state)
{
	struct bench *b = *state;
	const struct address peer = {{10, 0, 0, 1}, 4};
	for (uint8_t i = 0; i < 3; i++) {
		struct observe_exchange x = plain_exchange();
		char want[80];
		x.client.address.bytes[3] = i;
		x.client.is_named = i < 2;
		x.client.tcp_peer = i < 2 ? &peer : NULL;
		snprintf(want, sizeof(want), "\"client\":\"127.0.0.%u\",%s\"listen\"", i,
		    i < 2 ? "\"tcp_peer\":\"10.0.0.1\"," : "");
		assert_non_null(strstr(line_of(b, &x), want));
	}
}

/* ---- log-fields ---- */

static void fields_that_are_left_out_are_absent(void **state)
{
	struct bench *b = *state;
	struct observe_exchange x = plain_exchange();
	static const enum log_field left_out[] = {LOG_FIELD_time, LOG_FIELD_client, LOG_FIELD_path,
	    LOG_FIELD_status, LOG_FIELD_outcome};
	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
		log_field_set_put(&b->observe.left_out, left_out[i], true);
	assert_string_equal(line_of(b, &x),
	    "{\"worker\":3,\"id\":7,\"connection\":5,\"listen\":\"main\",\"protocol\":\"h2\","
	    "\"method\":\"GET\",\"scheme\":\"https\",\"authority\":\"a.test\","
	    "\"request_bytes\":0,\"response_bytes\":10,\"duration_us\":1234,"
	    "\"first_byte_us\":900}\n");
}

static void line_without_any_field_is_an_empty_object(void **state)
{
	struct bench *b = *state;
	struct observe_exchange x = plain_exchange();
	b->observe.left_out = log_field_set_every();
	log_field_set_put(&b->observe.left_out, LOG_FIELD_rule, false);
	assert_string_equal(line_of(b, &x), "{}\n");
}

static void each_field_can_be_written_alone(void **state)
{
	struct bench *b = *state;
#define NAME(name, ...) #name,
	static const char *const names[] = {LOG_FIELDS(NAME)};
#undef NAME
	static char path[5000];
	struct policy_reason reason = {.code = "x"};
	memset(path, 'x', sizeof(path));
	struct observe_exchange x = plain_exchange();
	const struct policy_rule rule = {.name = "x"};
	const struct observe_push push = {
	    .verdict = {.reason = &reason, .rule = &rule}, .end_reason = &reason};
	x.client.tls = x.client.cipher = x.client.alpn = x.route = "x";
	x.request.sni = SLICE("x");
	x.request.ech = "accepted";
	x.request.speculation_tags = SLICE("x");
	x.client.claimed_peer = x.client.tcp_peer = &x.client.address;
	x.client.proxy_authority = x.client.proxy_alpn = x.client.proxy_id = SLICE("x");
	x.client.certificate = &(struct client_certificate){.names = SLICE_INIT("sha256:x\nsubject:x\n")};
	x.ending.code_name = x.ending.detail = x.ending.refused_address = "x";
	x.origin = (struct observe_origin){"x", 1, "x", "x", 1, 1, 1, 1, 1, 1};
	x.request.path = slice_of(path, sizeof(path));
	x.user = x.request.user_agent = x.request.referer = x.request.id = SLICE("x");
	struct observe_trace trace;
	memset(&trace, '0', sizeof(trace));
	x.trace = &trace;
	x.hold = (struct observe_hold){2, true, "x", 2};
	x.push = &push;
	x.arm = "x=on";
	x.tunnel = SLICE("x");
	x.tunnel_ended = "x";
	x.request.retries = 1;
	x.weight = 2;
	for (unsigned i = 0; i < LOG_FIELD_COUNT; i++) {
		char want[64];
		b->observe.left_out = log_field_set_every();
		log_field_set_put(&b->observe.left_out, i, false);
		if (i == LOG_FIELD_cut) /* the path is what is cut */
			log_field_set_put(&b->observe.left_out, LOG_FIELD_path, false);
		memset(b->observe.clients, 0, sizeof(b->observe.clients));
		memset(b->observe.origins, 0, sizeof(b->observe.origins));
		const char *line = line_of(b, &x);
		snprintf(want, sizeof(want), i == LOG_FIELD_cut ? ",\"%s\":" : "{\"%s\":", names[i]);
		if (!strstr(line, want))
			fail_msg("no %s in %.80s", names[i], line);
	}
}

/* ---- log-sample ---- */

static void sample_keeps_pages_whole_and_is_even(void **state)
{
	struct bench *b = *state;
	unsigned chosen = 0;
	b->observe.sample = 10;
	for (uint64_t page = 1; page <= 10000; page++) {
		uint32_t weight = observe_weight(&b->observe, page, false);
		assert_true(weight == 0 || weight == 10);
		assert_int_equal(observe_weight(&b->observe, page, false), weight);
		chosen += weight > 0;
	}
	assert_in_range(chosen, 900, 1100);
	assert_int_equal(b->counters.log_sampled_out, 2 * (10000 - chosen));
	/* A page after each nine others is as likely as any other. */
	chosen = 0;
	for (uint64_t page = 10; page <= 100000; page += 10)
		chosen += observe_weight(&b->observe, page, false) > 0;
	assert_in_range(chosen, 900, 1100);
}

static void failures_are_written_whatever_the_sample(void **state)
{
	struct bench *b = *state;
	b->observe.sample = 1000000;
	for (uint64_t page = 1; page <= 100; page++)
		assert_int_equal(observe_weight(&b->observe, page, true), 1);
	assert_int_equal(b->counters.log_sampled_out, 0);
}

static void line_says_what_it_stands_for(void **state)
{
	struct observe_exchange x = plain_exchange();
	x.weight = 100;
	assert_non_null(strstr(line_of(*state, &x), "\"outcome\":\"complete\",\"sample\":100}"));
	x.weight = 1;
	assert_null(strstr(line_of(*state, &x), "sample"));
}

static void log_that_is_off_counts_no_line_as_left_out(void **state)
{
	struct bench *b = *state;
	close(b->observe.access_fd);
	b->observe.access_fd = -1;
	b->observe.sample = 2;
	for (uint64_t page = 1; page <= 100; page++)
		assert_int_equal(observe_weight(&b->observe, page, true), 0);
	assert_int_equal(b->counters.log_sampled_out, 0);
}

static void lines_wait_for_the_flush(void **state)
{
	struct bench *b = *state;
	struct observe_exchange x = plain_exchange();
	observe_access_log(&b->observe, &x);
	observe_access_log(&b->observe, &x);
	assert_string_equal(written(b), "");
	observe_flush(&b->observe);
	const char *text = written(b);
	const char *first_end = strchr(text, '\n');
	assert_non_null(first_end);
	assert_non_null(strchr(first_end + 1, '\n'));
	observe_flush(&b->observe);
	assert_string_equal(written(b), "");
}

static void batch_leaves_by_itself_before_it_exceeds_what_a_pipe_takes_whole(void **state)
{
	struct bench *b = *state;
	struct observe_exchange x = plain_exchange();
	size_t lines = 0;
	for (unsigned i = 0; i < 100; i++) {
		x.id = i;
		observe_access_log(&b->observe, &x);
		/* One write at a time is in the pipe here. */
		const char *text = written(b);
		assert_in_range(strlen(text), 0, OBSERVE_BATCH_BYTES);
		if (text[0])
			assert_int_equal(text[strlen(text) - 1], '\n');
		for (; *text; text++)
			lines += *text == '\n';
	}
	assert_true(lines > 0);
	observe_flush(&b->observe);
	for (const char *text = written(b); *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, 100);
}

static void full_pipe_drops_and_counts(void **state)
{
	struct bench *b = *state;
	char filler[4096] = {0};
	while (write(b->observe.access_fd, filler, sizeof(filler)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	struct observe_exchange x = plain_exchange();
	observe_access_log(&b->observe, &x);
	observe_access_log(&b->observe, &x);
	assert_int_equal(b->counters.access_lines_dropped, 0);
	observe_flush(&b->observe);
	assert_int_equal(b->counters.access_lines_dropped, 2);
	written(b);
	while (written(b)[0])
		;
	assert_int_equal(strncmp(line_of(b, &x), "{\"time\"", 7), 0);
	assert_int_equal(b->counters.access_lines_dropped, 2);
}

static void log_that_is_off_costs_nothing(void **state)
{
	struct bench *b = *state;
	close(b->observe.access_fd);
	b->observe.access_fd = -1;
	struct observe_exchange x = plain_exchange();
	observe_access_log(&b->observe, &x);
	observe_flush(&b->observe);
	assert_int_equal(b->observe.batch.bytes, 0);
	assert_int_equal(b->counters.access_lines_dropped, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(complete_exchange_is_one_json_line),
	    TEST(push_names_its_parent_and_its_verdict),
	    TEST(miss_of_a_held_response_names_its_cause),
	    TEST(line_of_an_unknown_client_says_nothing_of_one),
	    TEST(reset_with_no_error_still_shows_its_code),
	    TEST(dates_are_right_across_months_and_leap_days),
	    TEST(quotes_backslashes_and_controls_are_escaped),
	    TEST(every_byte_is_escaped_wherever_it_stands),
	    TEST(valid_utf8_stays),
	    TEST(invalid_utf8_is_escaped_byte_by_byte),
	    TEST(long_values_are_cut_and_marked_and_the_line_stays_whole),
	    TEST(cut_never_tears_a_character_or_an_escape),
	    TEST(line_that_is_too_long_for_a_batch_has_short_texts),
	    TEST(of_a_certificate_the_subject_is_told_or_its_first_name),
	    TEST(lines_of_connections_that_share_a_slot_are_not_mixed_up),
	    TEST(each_line_names_the_version_of_its_own_messages),
	    TEST(long_name_of_a_connection_marks_each_of_its_lines_as_cut),
	    TEST(times_that_never_came_are_absent_and_0_is_a_time),
	    TEST(request_may_name_another_client_than_its_connection),
	    TEST(fields_that_are_left_out_are_absent),
	    TEST(line_without_any_field_is_an_empty_object),
	    TEST(each_field_can_be_written_alone),
	    TEST(sample_keeps_pages_whole_and_is_even),
	    TEST(failures_are_written_whatever_the_sample),
	    TEST(line_says_what_it_stands_for),
	    TEST(log_that_is_off_counts_no_line_as_left_out),
	    TEST(lines_wait_for_the_flush),
	    TEST(batch_leaves_by_itself_before_it_exceeds_what_a_pipe_takes_whole),
	    TEST(full_pipe_drops_and_counts),
	    TEST(log_that_is_off_costs_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
