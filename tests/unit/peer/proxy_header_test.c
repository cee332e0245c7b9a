/* SPDX-License-Identifier: MIT */
/* PROXY headers: both versions, whole, in pieces and wrong; and what a connection keeps of one. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/base/crc32c.h"
#include "proxy/peer/peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEHIND "GET / HTTP/1.1\r\n"

static const char *shown(const struct address *a)
{
	static char text[2][46];
	static unsigned turn;
	turn ^= 1;
	return address_format(a, text[turn], sizeof(text[turn]));
}

/* Reads the bytes with others behind them, and each part of them: that must want more. */
static struct peer_header good(struct slice bytes)
{
	static char text[LIMIT_PROXY_HEADER_BYTES + 64];
	struct peer_header h;
	size_t length = 0;
	const char *fault = "none";
	memcpy(text, bytes.ptr, bytes.len);
	for (size_t n = 0; n < bytes.len; n++) {
		/* In memory of its own, so that a sanitizer sees a read behind the end. */
		char *part = malloc(n + 1);
		memcpy(part, text, n);
		assert_int_equal(peer_header_read(slice_of(part, n), &h, &length, &fault), PEER_READING_MORE);
		free(part);
	}
	memcpy(text + bytes.len, BEHIND, sizeof(BEHIND));
	for (size_t more = 0; more <= sizeof(BEHIND); more++) {
		if (peer_header_read(slice_of(text, bytes.len + more), &h, &length, &fault) != PEER_READING_DONE)
			fail_msg("refused: %s", fault);
		assert_int_equal(length, bytes.len);
	}
	return h;
}

/* Refused when `at` bytes have come at the latest, and never accepted before. */
static void bad(struct slice bytes, size_t at, const char *wanted)
{
	struct peer_header h;
	size_t length;
	const char *fault = NULL;
	for (size_t n = 0; n <= bytes.len; n++) {
		enum peer_reading r = peer_header_read(slice_sub(bytes, 0, n), &h, &length, &fault);
		if (r == PEER_READING_DONE)
			fail_msg("accepted: %.*s", SLICE_ARG(bytes));
		if (r == PEER_READING_BAD && n < at)
			fail_msg("%s: refused after %zu bytes", fault, n);
		if (r == PEER_READING_BAD) {
			assert_string_equal(fault, wanted);
			return;
		}
	}
	fail_msg("not refused: %s", wanted);
}

static void line_names_both_ends(void **state)
{
	(void)state;
	static const struct {
		const char *line, *from, *to;
		uint16_t from_port, to_port;
	} rows[] = {
	    {"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n", "192.0.2.1", "198.51.100.2", 56324, 443},
	    {"PROXY TCP4 0.0.0.0 255.255.255.255 0 65535\r\n", "0.0.0.0", "255.255.255.255", 0, 65535},
	    {"PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "2001:db8::1", "::1", 1, 2},
	    {"PROXY TCP6 2001:DB8::A ::1 1 2\r\n", "2001:db8::a", "::1", 1, 2},
	    {"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\n", "192.0.2.1", "::1", 1, 2},
	    {"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
		"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 65535, 65535},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct peer_header h = good(slice_of_string(rows[i].line));
		assert_false(h.is_local);
		assert_string_equal(shown(&h.from), rows[i].from);
		assert_string_equal(shown(&h.to), rows[i].to);
		assert_int_equal(h.from_port, rows[i].from_port);
		assert_int_equal(h.to_port, rows[i].to_port);
	}
	assert_true(good(SLICE("PROXY UNKNOWN\r\n")).is_local);
	assert_true(good(SLICE("PROXY UNKNOWN ffff::1 what ever 65536\r\n")).is_local);
}

static void wrong_line_is_refused(void **state)
{
	(void)state;
	static const char no_header[] = "the connection does not begin with one";
	static const char no_addresses[] = "its line has no addresses and ports";
	static const char no_end[] = "its line does not end with CR LF";
	char line[256];
	bad(SLICE("GET / HTTP/1.1\r\n\r\n"), 1, no_header);
	bad(SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 3, no_header);
	bad(SLICE("proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n"), 1, no_header);
	bad(SLICE("PROXY\r\n"), 6, no_header);
	bad(SLICE("\x16\x03\x01\x02\x00\x01"), 1, no_header);
	bad(SLICE("\r\nGET / HTTP/1.1\r\n"), 3, no_header);
	static const char *const rests[] = {"", "TCP4", "TCP4 192.0.2.1", "TCP4 192.0.2.1 192.0.2.2", "TCP4 192.0.2.1 192.0.2.2 1",
	    "TCP4 192.0.2.1 192.0.2.2 1 ", "TCP4 192.0.2.1 192.0.2.2  1 2", "TCP4  192.0.2.1 192.0.2.2 1 2",
	    "TCP4 192.0.2.1 192.0.2.2 1 2 ", "TCP4 192.0.2.1 192.0.2.2 1 2 3", "TCP4 192.0.2.1 192.0.2.2 65536 2",
	    "TCP4 192.0.2.1 192.0.2.2 01 2", "TCP4 192.0.2.1 192.0.2.2 +1 2", "TCP4 192.0.2.1 192.0.2.2 -1 2",
	    "TCP4 192.0.2.1 192.0.2.2 1 0x2", "TCP4 192.0.2.01 192.0.2.2 1 2", "TCP4 192.0.2 192.0.2.2 1 2",
	    "TCP4 192.0.2.256 192.0.2.2 1 2", "TCP4 a.example 192.0.2.2 1 2", "TCP4 2001:db8::1 192.0.2.2 1 2",
	    "TCP4 ::ffff:192.0.2.1 192.0.2.2 1 2", "TCP6 192.0.2.1 ::1 1 2", "TCP6 2001:db8::1%eth0 ::1 1 2",
	    "TCP6 [2001:db8::1] ::1 1 2", "TCP6 2001:db8::1::2 ::1 1 2", "tcp4 192.0.2.1 192.0.2.2 1 2", "TCP5 192.0.2.1 192.0.2.2 1 2",
	    "UDP4 192.0.2.1 192.0.2.2 1 2", "UNKNOWNS", "unknown", "TCP4\t192.0.2.1\t192.0.2.2\t1\t2"};
	for (size_t i = 0; i < sizeof(rests) / sizeof(*rests); i++) {
		int n = snprintf(line, sizeof(line), "PROXY %s\r\n", rests[i]);
		bad(slice_of(line, (size_t)n), (size_t)n, no_addresses);
	}
	bad(SLICE("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n"), 35, no_end);
	bad(SLICE("PROXY \n"), 7, no_end);
	/* 107 bytes are a line; another one is none, whatever comes. */
	memset(line, 'x', sizeof(line));
	memcpy(line, "PROXY UNKNOWN ", 14);
	bad(slice_of(line, 108), 107, "its line is longer than 107 bytes");
	memcpy(line + 105, "\r\n", 2);
	assert_true(good(slice_of(line, 107)).is_local);
}

/* ---- version 2 ---- */

struct made {
	size_t length;
	uint8_t bytes[LIMIT_PROXY_HEADER_BYTES + 64];
};

static void put(struct made *m, const void *bytes, size_t count)
{
	memcpy(m->bytes + m->length, bytes, count);
	m->length += count;
	m->bytes[14] = (uint8_t)((m->length - 16) >> 8);
	m->bytes[15] = (uint8_t)(m->length - 16);
}

static struct made v2(uint8_t command, uint8_t family)
{
	struct made m = {16, "\r\n\r\n\0\r\nQUIT\n"};
	m.bytes[12] = command;
	m.bytes[13] = family;
	return m;
}

static struct made v2_ipv4(void)
{
	struct made m = v2(0x21, 0x11);
	put(&m, "\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb", 12);
	return m;
}

static void put_value(struct made *m, uint8_t type, const void *bytes, size_t count)
{
	const uint8_t begin[3] = {type, (uint8_t)(count >> 8), (uint8_t)count};
	put(m, begin, 3);
	put(m, bytes, count);
}

static struct slice all(const struct made *m)
{
	return slice_of(m->bytes, m->length);
}

static void put_sum(struct made *m, size_t at)
{
	uint32_t sum = crc32c(0, all(m));
	for (int i = 0; i < 4; i++)
		m->bytes[at + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
}

static void header_of_version_2_names_both_ends(void **state)
{
	(void)state;
	struct made m = v2_ipv4();
	struct peer_header h = good(all(&m));
	assert_false(h.is_local || h.is_tls);
	assert_string_equal(shown(&h.from), "192.0.2.1");
	assert_string_equal(shown(&h.to), "198.51.100.2");
	assert_int_equal(h.from_port, 56324);
	assert_int_equal(h.to_port, 443);

	m = v2(0x21, 0x21);
	put(&m, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	put(&m, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\x02\x07", 16);
	put(&m, "\x00\x01\x00\x50", 4);
	h = good(all(&m));
	assert_string_equal(shown(&h.from), "2001:db8::1");
	assert_string_equal(shown(&h.to), "192.0.2.7");
	assert_int_equal(h.to_port, 80);

	uint8_t paths[216] = "/run/a.sock";
	m = v2(0x21, 0x31);
	put(&m, paths, sizeof(paths));
	h = good(all(&m));
	assert_int_equal(h.from.family, ADDRESS_UNKNOWN);
	assert_false(h.is_local);
	m = v2(0x21, 0x12); /* a client that has come by UDP */
	put(&m, v2_ipv4().bytes + 16, 12);
	assert_false(good(all(&m)).is_local);
}

static void local_and_unspecified_are_of_the_tcp_peer(void **state)
{
	(void)state;
	struct made m = v2(0x20, 0x00);
	assert_true(good(all(&m)).is_local);
	m = v2(0x20, 0x11); /* what is behind LOCAL is discarded: it may be no address */
	put(&m, "\x20\xff\xff", 3);
	assert_true(good(all(&m)).is_local);
	m = v2(0x20, 0xf7); /* its family too */
	assert_true(good(all(&m)).is_local);
	m = v2(0x21, 0x00);
	put_value(&m, 0x05, "id", 2);
	struct peer_header h = good(all(&m));
	assert_true(h.is_local);
}

static void values_are_read_and_unknown_ones_skipped(void **state)
{
	(void)state;
	struct made m = v2_ipv4();
	put_value(&m, 0x04, "\0\0\0", 3); /* NOOP */
	put_value(&m, 0xea, "\x01vpce-08d2", 10);
	put_value(&m, 0x01, "h2", 2);
	put_value(&m, 0x02, "a.example", 9);
	put_value(&m, 0x05, "\x01\x02", 2);
	put_value(&m, 0x20, "\x01\0\0\0\0\x21\0\x07TLSv1.3", 15);
	put_value(&m, 0x30, "netns", 5);
	struct peer_header h = good(all(&m));
	assert_true(h.is_tls);
	assert_true(slice_equal(h.alpn, SLICE("h2")));
	assert_true(slice_equal(h.authority, SLICE("a.example")));
	assert_true(slice_equal(h.id, SLICE("\x01\x02")));
	m = v2_ipv4();
	put_value(&m, 0x20, "\x06\0\0\0\0", 5); /* of a certificate alone, which without TLS means nothing */
	assert_false(good(all(&m)).is_tls);
}

static void sum_is_checked_where_it_is_sent(void **state)
{
	(void)state;
	assert_int_equal(crc32c(0, SLICE("123456789")), 0xe3069283u);
	assert_int_equal(crc32c(crc32c(0, SLICE("1234")), SLICE("56789")), 0xe3069283u);
	struct made m = v2_ipv4();
	put_value(&m, 0x05, "id", 2);
	put_value(&m, 0x03, "\0\0\0\0", 4);
	size_t at = m.length - 4;
	put_value(&m, 0x02, "a.example", 9);
	put_sum(&m, at);
	good(all(&m));
	for (size_t i = 16; i < m.length; i++) {
		struct peer_header h;
		size_t length;
		const char *fault = NULL;
		if (i == at - 3) /* it would be no sum */
			continue;
		m.bytes[i] ^= 1;
		assert_int_equal(peer_header_read(all(&m), &h, &length, &fault), PEER_READING_BAD);
		m.bytes[i] ^= 1;
	}
	m.bytes[at] ^= 0x80;
	bad(all(&m), m.length, "its checksum is wrong");
	m = v2_ipv4();
	put_value(&m, 0x03, "\0\0\0", 3);
	bad(all(&m), m.length, "its checksum has not 4 bytes");
}

static void wrong_header_of_version_2_is_refused(void **state)
{
	(void)state;
	char id[129] = "";
	struct made m = v2_ipv4();
	m.bytes[12] = 0x11;
	bad(all(&m), 16, "its version is not 2");
	m.bytes[12] = 0x31;
	bad(all(&m), 16, "its version is not 2");
	m.bytes[12] = 0x22;
	bad(all(&m), 16, "its command is neither LOCAL nor PROXY");
	m = v2_ipv4();
	m.bytes[13] = 0x41;
	bad(all(&m), 16, "its address family or transport is unknown");
	m.bytes[13] = 0x13;
	bad(all(&m), 16, "its address family or transport is unknown");
	m = v2_ipv4();
	m.bytes[14] = 0x0f;
	m.bytes[15] = 0xf1; /* the head and this are one byte more than the bound */
	bad(all(&m), 16, "it is too long");
	m.bytes[14] = m.bytes[15] = 0xff;
	bad(all(&m), 16, "it is too long");
	m = v2(0x21, 0x11);
	put(&m, "\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01", 11);
	bad(all(&m), m.length, "it is too short for its addresses");
	m = v2(0x21, 0x21);
	put(&m, v2_ipv4().bytes + 16, 12);
	bad(all(&m), m.length, "it is too short for its addresses");
	m = v2_ipv4();
	put(&m, "\x05\0", 2);
	bad(all(&m), m.length, "a value in it is cut off");
	m = v2_ipv4();
	put(&m, "\x05\0\x03id", 5);
	bad(all(&m), m.length, "a value in it is cut off");
	m = v2_ipv4();
	put_value(&m, 0x05, id, 128);
	good(all(&m));
	m = v2_ipv4();
	put_value(&m, 0x05, id, 129);
	bad(all(&m), m.length, "its PP2_TYPE_UNIQUE_ID is longer than 128 bytes");
	m = v2_ipv4();
	put_value(&m, 0x20, "\x01\0\0\0", 4);
	bad(all(&m), m.length, "its PP2_TYPE_SSL is too short");
	m = v2_ipv4();
	put_value(&m, 0x20, "\x01\0\0\0\0\x21\0\x08TLSv1.3", 15);
	bad(all(&m), m.length, "a value in its PP2_TYPE_SSL is cut off");
	m = v2_ipv4();
	m.bytes[0] = '\n';
	bad(all(&m), 1, "the connection does not begin with one");
	m = v2_ipv4();
	m.bytes[11] = 'X';
	bad(all(&m), 12, "the connection does not begin with one");
}

static void longest_header_is_read(void **state)
{
	(void)state;
	static const uint8_t zeros[LIMIT_PROXY_HEADER_BYTES];
	struct made m = v2_ipv4();
	put_value(&m, 0x04, zeros, LIMIT_PROXY_HEADER_BYTES - 16 - 12 - 3);
	assert_int_equal(m.length, LIMIT_PROXY_HEADER_BYTES);
	good(all(&m));
}

/* ---- writing ---- */

static struct address ip(const char *text)
{
	struct address a = {0};
	if (text)
		assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

/* What is written is read again as the same, but that mixed families have become IPv6. */
static void written_header_is_read_again(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
		uint16_t from_port, to_port;
		const char *line;
		size_t length; /* of version 2 */
	} rows[] = {
	    {"192.0.2.1", "198.51.100.2", 1, 65535, "PROXY TCP4 192.0.2.1 198.51.100.2 1 65535\r\n", 28},
	    {"2001:db8::1", "2001:db8::2", 50000, 443, "PROXY TCP6 2001:db8::1 2001:db8::2 50000 443\r\n", 52},
	    {"192.0.2.1", "2001:db8::2", 1, 2, "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 1 2\r\n", 52},
	    {"2001:db8::1", "192.0.2.1", 0, 2, "PROXY TCP6 2001:db8::1 ::ffff:192.0.2.1 0 2\r\n", 52},
	    {"192.0.2.1", NULL, 0, 0, "PROXY TCP4 192.0.2.1 0.0.0.0 0 0\r\n", 28},
	    {"2001:db8::1", NULL, 7, 0, "PROXY TCP6 2001:db8::1 :: 7 0\r\n", 52},
	    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 65535, 65535,
	        "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe 65535 65535\r\n", 52},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t bytes[PEER_WRITTEN_BYTES];
		const struct peer_header h = {.from = ip(rows[i].from), .to = ip(rows[i].to), .from_port = rows[i].from_port, .to_port = rows[i].to_port};
		for (unsigned version = PEER_VERSION_1; version <= PEER_VERSION_2; version++) {
			struct peer_header again;
			const char *fault = NULL;
			size_t read, length = peer_header_write(version, &h, bytes);
			assert_int_equal(length, version == PEER_VERSION_1 ? strlen(rows[i].line) : rows[i].length);
			if (version == PEER_VERSION_1)
				assert_memory_equal(bytes, rows[i].line, length);
			assert_int_equal(peer_header_read(slice_of(bytes, length), &again, &read, &fault), PEER_READING_DONE);
			assert_int_equal(read, length);
			assert_memory_equal(&again.from, &h.from, sizeof(h.from));
			if (rows[i].to)
				assert_memory_equal(&again.to, &h.to, sizeof(h.to));
			assert_int_equal(again.from_port, h.from_port);
			assert_int_equal(again.to_port, h.to_port);
			assert_false(again.is_local);
		}
	}
}

static void header_of_no_address_says_so(void **state)
{
	(void)state;
	uint8_t bytes[PEER_WRITTEN_BYTES];
	const struct peer_header local = {.is_local = true, .from = ip("192.0.2.1"), .to = ip("192.0.2.2")};
	const struct peer_header unknown = {.from = {.family = ADDRESS_UNKNOWN}, .to = ip("192.0.2.2")}, none = {.from_port = 7};
	const struct peer_header *const all[] = {&local, &unknown, &none};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(peer_header_write(PEER_VERSION_1, all[i], bytes), 15);
		assert_memory_equal(bytes, "PROXY UNKNOWN\r\n", 15);
		assert_int_equal(peer_header_write(PEER_VERSION_2, all[i], bytes), 16);
		assert_memory_equal(bytes, "\r\n\r\n\0\r\nQUIT\n", 12);
		assert_int_equal(bytes[12], all[i]->is_local ? 0x20 : 0x21);
		assert_memory_equal(bytes + 13, "\0\0\0", 3);
		assert_false(peer_header_names(all[i]));
	}
}

static void headers_are_the_same_if_both_ends_are(void **state)
{
	(void)state;
	const struct peer_header h = {.from = ip("192.0.2.1"), .to = ip("192.0.2.2"), .from_port = 1, .to_port = 2};
	struct peer_header others[6] = {h, h, h, h, h, h};
	others[1].from = ip("192.0.2.9");
	others[2].to = ip("192.0.2.9");
	others[3].from_port = 9;
	others[4].to_port = 9;
	others[5].from.family = 6;
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(peer_header_is_same(&h, &others[i]), i == 0);
	assert_true(peer_header_names(&h));
}

/* ---- ends ---- */

static void ends_keep_what_the_header_says(void **state)
{
	(void)state;
	const struct address tcp = {{10, 0, 0, 1}, 4};
	struct peer_header h = {.authority = SLICE("a.example"), .alpn = SLICE("h2"), .id = SLICE("a\0b\xff"),
	    .from_port = 5, .to_port = 443, .to = {{192, 0, 2, 2}, 4}};
	struct peer_ends *c = peer_ends_new(&h, &tcp, 0);
	assert_false(c->is_https);
	assert_true(slice_equal(c->authority, h.authority));
	assert_true(slice_equal(c->alpn, h.alpn));
	assert_true(slice_equal(c->id, SLICE("610062ff")));
	assert_string_equal(shown(&c->tcp), "10.0.0.1");
	assert_string_equal(shown(&c->to), "192.0.2.2");
	assert_int_equal(c->port, 5);
	assert_int_equal(c->to_port, 443);
	assert_true(c->is_claimed);
	assert_ptr_equal(peer_ends_hold(c), c);
	peer_ends_release(c);
	peer_ends_release(c);
	assert_null(peer_ends_hold(NULL));
	peer_ends_release(NULL);

	c = peer_ends_new(&h, &tcp, 443);
	assert_true(c->is_https);
	peer_ends_release(c);
	c = peer_ends_new(&h, &tcp, 80);
	assert_false(c->is_https);
	peer_ends_release(c);
	h = (struct peer_header){.is_local = true};
	c = peer_ends_new(&h, &tcp, 0);
	assert_false(c->is_claimed);
	assert_false(c->is_https);
	peer_ends_release(c);
	h = (struct peer_header){.is_tls = true};
	c = peer_ends_new(&h, &tcp, 0);
	assert_true(c->is_https);
	assert_int_equal(c->id.len, 0);
	peer_ends_release(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(line_names_both_ends),
	    cmocka_unit_test(wrong_line_is_refused),
	    cmocka_unit_test(header_of_version_2_names_both_ends),
	    cmocka_unit_test(local_and_unspecified_are_of_the_tcp_peer),
	    cmocka_unit_test(values_are_read_and_unknown_ones_skipped),
	    cmocka_unit_test(sum_is_checked_where_it_is_sent),
	    cmocka_unit_test(wrong_header_of_version_2_is_refused),
	    cmocka_unit_test(longest_header_is_read),
	    cmocka_unit_test(written_header_is_read_again),
	    cmocka_unit_test(header_of_no_address_says_so),
	    cmocka_unit_test(headers_are_the_same_if_both_ends_are),
	    cmocka_unit_test(ends_keep_what_the_header_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
