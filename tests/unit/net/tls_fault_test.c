/* SPDX-License-Identifier: MIT */
/*
 * Peers that violate TLS: alerts in each phase, bytes that are not TLS, truncated or oversized records, failing sockets.
 * `ended` is called once, with a text that names the fault.
 */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"

/* One end speaks TLS; on the other end the test sends any bytes. */
struct bout {
	struct joined j;
	struct owner *tls, *raw;
};

static void bout_init(struct bout *b, bool we_serve)
{
	struct joined *j = &b->j;
	joined_init(j);
	b->tls = we_serve ? &j->server : &j->client;
	b->raw = we_serve ? &j->client : &j->server;
	joined_connect(j, we_serve ? server_tls : NULL, we_serve ? NULL : client_tls, "localhost");
	/* A client has said its hello by then. */
	run_until(&j->rig, we_serve ? j->client.opened && j->server.conn : j->server.received > 0);
}

static void bout_say(struct bout *b, const void *bytes, size_t length)
{
	assert_int_equal(send(b->raw->conn->fd, bytes, length, MSG_NOSIGNAL), length);
}

/* Expects no further callback, and no spinning of the loop. */
static void bout_fini(struct bout *b)
{
	uint64_t passes = b->j.rig.loop->pass;
	for (int i = 0; i < 4; i++)
		net_run_once(b->j.rig.loop, 2 * USEC_PER_MSEC);
	assert_in_range(b->j.rig.loop->pass - passes, 1, 16);
	assert_true(b->tls->ended <= 1);
	joined_fini(&b->j);
}

static void expect_tls(struct bout *b, const char *text)
{
	run_until(&b->j.rig, b->tls->ended);
	if (strcmp(b->tls->text, text) != 0)
		fail_msg("%s, not %s", b->tls->text, text);
	assert_int_equal(b->tls->end, strstr(text, "sent the alert") ? NET_END_ALERT : NET_END_TLS);
	assert_int_equal(b->tls->opened, 0);
	assert_int_equal(b->tls->received, 0);
}

/* ---- alerts ---- */

static const struct {
	uint8_t code;
	const char *name;
} alerts[] = {
    {10, "unexpected message"},
    {20, "bad record mac"},
    {40, "handshake failure"},
    {42, "bad certificate"},
    {48, "unknown CA"},
    {51, "decrypt error"},
    {70, "protocol version"},
    {80, "internal error"},
    {120, "no application protocol"},
};

#define ALERTS (sizeof(alerts) / sizeof(alerts[0]))

static void an_alert_in_the_handshake_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ALERTS; i++) {
		const uint8_t record[] = {21, 3, 3, 0, 2, 2, alerts[i / 2].code};
		char text[64];
		snprintf(text, sizeof(text), "the peer sent the alert: %s", alerts[i / 2].name);
		struct bout b;
		bout_init(&b, i % 2);
		bout_say(&b, record, sizeof(record));
		expect_tls(&b, text);
		bout_fini(&b);
	}
}

/* Makes the TLS library of the connection send an alert, as after an error of its own. */
static void send_alert(struct net_conn *c, uint8_t code)
{
	assert_int_equal(c->loop->output.size, 0);
	assert_int_equal(SSL_send_fatal_alert(c->layer.ssl, code), 1);
	net_conn_send_output(c);
}

static void an_alert_on_an_open_connection_is_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ALERTS; i++) {
		char text[64];
		snprintf(text, sizeof(text), "the peer sent the alert: %s", alerts[i / 2].name);
		struct joined j;
		joined_init_tls(&j);
		struct owner *from = i % 2 ? &j.server : &j.client;
		struct owner *to = i % 2 ? &j.client : &j.server;
		owner_send(from, 0, 1000);
		run_until(&j.rig, to->received == 1000);
		send_alert(from->conn, alerts[i / 2].code);
		run_until(&j.rig, to->ended);
		assert_string_equal(to->text, text);
		assert_int_equal(to->end, NET_END_ALERT);
		run_passes(&j.rig, 3);
		assert_int_equal(to->ended, 1);
		joined_fini(&j);
	}
}

static void bytes_before_an_alert_are_delivered(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	net_conn_pause_reading(j.server.conn, NET_PAUSE_PEER);
	owner_send(&j.client, 0, 50000);
	run_until(&j.rig, j.client.sent == 50000);
	run_passes(&j.rig, 2);
	send_alert(j.client.conn, SSL_AD_INTERNAL_ERROR);
	net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.received, 50000);
	assert_false(j.server.is_wrong);
	assert_string_equal(j.server.text, "the peer sent the alert: internal error");
	joined_fini(&j);
}

static void an_early_close_notify_ends_the_handshake(void **state)
{
	(void)state;
	static const uint8_t record[] = {21, 3, 3, 0, 2, 1, 0};
	for (int we_serve = 0; we_serve < 2; we_serve++) {
		struct bout b;
		bout_init(&b, we_serve);
		bout_say(&b, record, sizeof(record));
		expect_tls(&b, "closed by the peer during the handshake");
		bout_fini(&b);
	}
}

/* ---- bytes that are not TLS ---- */

#define BYTES(text) text, sizeof(text) - 1

// clang-format off
static const struct {
	bool we_serve;
	const char *bytes;
	size_t length;
	const char *text;
} garbage[] = {
    {true,  BYTES("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "an HTTP request came without TLS"},
    {true,  BYTES("CONNECT localhost:443 HTTP/1.1\r\n\r\n"), "a CONNECT request came without TLS"},
    {true,  BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "what came is not TLS (wrong version number)"},
    {true,  BYTES("PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n"), "what came is not TLS (wrong version number)"},
    {true,  BYTES("SSH-2.0-OpenSSH_9.2\r\n"), "what came is not TLS (wrong version number)"},
    {true,  BYTES("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "what came is not TLS (wrong version number)"},
    {true,  BYTES("\x80\x10\x01\x00\x02\x00\x03\x00\x00\x00\x04\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1"), "what came is not TLS (wrong version number)"}, /* SSL 2 */
    {true,  BYTES("\x16\x03\x01\x00\x04\x02\x00\x00\x00"), "unexpected message"}, /* a ServerHello */
    {true,  BYTES("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"), "decode error"}, /* a ClientHello of one byte */
    {true,  BYTES("\x16\x03\x01\x48\x01garbage"), "encrypted length too long"}, /* a record of 18433 bytes */
    {true,  BYTES("\x17\x03\x03\x00\x01x"), "unexpected record"}, /* application data */
    {true,  BYTES("\x16\x03\x01\x00\x04\x01\xff\xff\xff"), "excessive message size"}, /* a message of 16 MiB */
    {false, BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), "what came is not TLS (wrong version number)"},
    {false, BYTES("220 mail.example ESMTP\r\n"), "what came is not TLS (wrong version number)"},
    {false, BYTES("\0\0\6\4\0\0\0\0\0\0\3\0\0\0\144"), "what came is not TLS (wrong version number)"}, /* HTTP/2 SETTINGS in cleartext */
    {false, BYTES("\x16\x03\x03\x00\x04\x02\x00\x00\x00"), "decode error"}, /* an empty ServerHello */
    {false, BYTES("\x16\x03\x03\x48\x01garbage"), "encrypted length too long"},
    {false, BYTES("\x17\x03\x03\x00\x01x"), "application data instead of handshake"},
};
// clang-format on

#define GARBAGE (sizeof(garbage) / sizeof(garbage[0]))

static void bytes_that_are_not_tls_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < GARBAGE; i++) {
		struct bout b;
		bout_init(&b, garbage[i].we_serve);
		bout_say(&b, garbage[i].bytes, garbage[i].length);
		expect_tls(&b, garbage[i].text);
		bout_fini(&b);
	}
}

/* The client closes without waiting: the TLS error must be reported, not the failure to send our alert. */
static void tls_error_is_reported_even_if_the_alert_cannot_be_sent(void **state)
{
	(void)state;
	static const uint8_t hello[] = {22, 3, 1, 0, 5, 1, 0, 0, 1, 0};
	static const int errors[] = {EPIPE, ECONNRESET, EAGAIN};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct bout b;
		bout_init(&b, true);
		net_faults_begin();
		net_faults_plan(
		    (struct net_fault){NET_CALL_SEND, NET_SIDE_ANY, errors[i], 1, SIZE_MAX});
		bout_say(&b, hello, sizeof(hello));
		expect_tls(&b, "decode error");
		assert_int_equal(net_faults.failed, 1);
		net_conn_close(b.tls->conn);
		b.tls->conn = NULL;
		run_until(&b.j.rig, b.raw->ended);
		bout_fini(&b);
	}
}

static void an_end_within_the_hello_is_an_end_in_the_handshake(void **state)
{
	(void)state;
	static const char begun[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 and no more";
	for (size_t length = 1; length < sizeof(begun); length += 4) {
		struct bout b;
		bout_init(&b, true);
		bout_say(&b, begun, length);
		run_passes(&b.j.rig, 3);
		assert_int_equal(b.tls->ended, 0);
		shutdown(b.raw->conn->fd, SHUT_WR);
		expect_tls(&b, "closed by the peer during the handshake");
		bout_fini(&b);
	}
}

/* ---- an open connection ---- */

struct open_row {
	const char *bytes;
	size_t length;
	const char *text;
};

static void invalid_record_ends_an_open_connection(void **state)
{
	(void)state;
	// clang-format off
	static const struct open_row rows[] = {
	    {BYTES("\x17\x03\x03\x48\x01garbage"), "encrypted length too long"},
	    {BYTES("\x17\x03\x03\x00\x02xx"), "decryption failed or bad record mac"},
	    {BYTES("\x17\x03\x03\x00\x00"), "decryption failed or bad record mac"},
	    {BYTES("\x15\x03\x03\x00\x02\x02\x28"), "decryption failed or bad record mac"}, /* an alert in cleartext */
	    {BYTES("GET / HTTP/1.1\r\n\r\n"), "what came is not TLS (wrong version number)"},
	};
	// clang-format on
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct joined j;
		const struct open_row *row = &rows[i / 2];
		joined_init_tls(&j);
		struct owner *from = i % 2 ? &j.server : &j.client;
		struct owner *to = i % 2 ? &j.client : &j.server;
		owner_send(from, 0, 1000);
		run_until(&j.rig, to->received == 1000);
		assert_int_equal(
		    send(from->conn->fd, row->bytes, row->length, MSG_NOSIGNAL), row->length);
		run_until(&j.rig, to->ended);
		if (strcmp(to->text, row->text) != 0)
			fail_msg("%s, not %s", to->text, row->text);
		assert_int_equal(to->end, NET_END_TLS);
		assert_int_equal(to->received, 1000);
		/* Our alert tells the peer. */
		net_conn_close(to->conn);
		to->conn = NULL;
		run_until(&j.rig, from->ended);
		assert_non_null(strstr(from->text, "the peer sent the alert: "));
		joined_fini(&j);
	}
}

/* The length to which a sent record is cut; its rest is never sent. */
static size_t cut_to;

static ssize_t cutting_send(int fd, const void *buffer, size_t size, int flags)
{
	size_t n = size < cut_to ? size : cut_to;
	ssize_t r = n > 0 ? send(fd, buffer, n, flags) : 0;
	assert_int_equal(r, n);
	cut_to = 0;
	return (ssize_t)size;
}

static void an_end_within_a_record_delivers_nothing_of_it(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 600; cut += 45) {
		struct joined j;
		joined_init_tls(&j);
		owner_send(&j.client, 0, 1000);
		run_until(&j.rig, j.server.received == 1000);
		net_sys.send = cutting_send;
		cut_to = cut;
		owner_send(&j.client, 0, 600);
		run_until(&j.rig, j.client.sent == 1600);
		run_passes(&j.rig, 2);
		assert_int_equal(j.server.ended, 0);
		shutdown(j.client.conn->fd, SHUT_WR);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_TRUNCATED);
		assert_int_equal(j.server.received, 1000);
		joined_fini(&j);
	}
}

static void records_in_single_bytes_are_read(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	net_faults_begin();
	net_faults.send_most = 1; /* from the hello on */
	joined_open(&j, server_tls, client_tls, "localhost");
	owner_send(&j.client, 0, 500);
	owner_send(&j.server, 0, 500);
	run_until(&j.rig, j.server.received == 500 && j.client.received == 500);
	assert_false(j.server.is_wrong || j.client.is_wrong);
	joined_fini(&j);
}

static void a_record_that_cannot_be_made_fails_the_connection(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	/* The library takes nothing more after its close_notify. */
	assert_int_equal(SSL_shutdown(j.server.conn->layer.ssl), 0);
	net_buffer_reset(&j.rig.loop->output, NET_OUTPUT_BYTES);
	owner_send(&j.server, 0, 100000);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_TLS);
	assert_string_equal(j.server.text, "a record could not be written");
	int fills = j.server.fills;
	net_conn_dirty(j.server.conn);
	run_passes(&j.rig, 3);
	assert_int_equal(j.server.fills, fills);
	assert_int_equal(j.server.ended, 1);
	joined_fini(&j);
}

static void a_reset_in_the_handshake_is_an_error_with_a_reason(void **state)
{
	(void)state;
	for (int we_serve = 0; we_serve < 2; we_serve++) {
		struct bout b;
		bout_init(&b, we_serve);
		struct linger hard = {1, 0};
		setsockopt(b.raw->conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		net_conn_abort(b.raw->conn);
		b.raw->conn = NULL;
		run_until(&b.j.rig, b.tls->ended);
		assert_int_equal(b.tls->end, NET_END_ERROR);
		assert_string_equal(b.tls->text, "read: Connection reset by peer");
		bout_fini(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_alert_in_the_handshake_is_named),
	    cmocka_unit_test(an_alert_on_an_open_connection_is_named),
	    cmocka_unit_test(bytes_before_an_alert_are_delivered),
	    cmocka_unit_test(an_early_close_notify_ends_the_handshake),
	    cmocka_unit_test(bytes_that_are_not_tls_are_named),
	    cmocka_unit_test(tls_error_is_reported_even_if_the_alert_cannot_be_sent),
	    cmocka_unit_test(an_end_within_the_hello_is_an_end_in_the_handshake),
	    cmocka_unit_test(a_reset_in_the_handshake_is_an_error_with_a_reason),
	    cmocka_unit_test(invalid_record_ends_an_open_connection),
	    cmocka_unit_test(an_end_within_a_record_delivers_nothing_of_it),
	    cmocka_unit_test(records_in_single_bytes_are_read),
	    cmocka_unit_test(a_record_that_cannot_be_made_fails_the_connection),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
