/* SPDX-License-Identifier: MIT */
/* The server name in the first bytes of a TLS client: whole, in pieces, split over records, and wrong in each place. */
#include "proxy/net/net.h"

#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct bytes {
	char at[2 * NET_HELLO_BYTES];
	size_t length;
};

/* The first flight of a client of this library. name NULL: without SNI. */
static struct bytes hello_of(const char *name)
{
	struct bytes b;
	SSL_CTX *context = SSL_CTX_new(TLS_method());
	SSL *ssl = SSL_new(context);
	BIO *out = BIO_new(BIO_s_mem());
	SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
	SSL_set_connect_state(ssl);
	if (name)
		assert_true(SSL_set_tlsext_host_name(ssl, name));
	assert_int_not_equal(SSL_do_handshake(ssl), 1);
	b.length = (size_t)BIO_read(out, b.at, sizeof b.at);
	SSL_free(ssl);
	SSL_CTX_free(context);
	return b;
}

static enum net_hello read_hello(const struct bytes *b, char name[NET_HELLO_NAME_BYTES])
{
	return net_read_hello(slice_of(b->at, b->length), name);
}

static void names(const struct bytes *b, const char *wanted)
{
	char name[NET_HELLO_NAME_BYTES];
	assert_int_equal(read_hello(b, name), NET_HELLO_WHOLE);
	assert_string_equal(name, wanted);
}

static void is_other(const struct bytes *b)
{
	char name[NET_HELLO_NAME_BYTES];
	assert_int_equal(read_hello(b, name), NET_HELLO_OTHER);
}

/* The message in records of so many bytes each. */
static struct bytes split(const struct bytes *whole, size_t size)
{
	struct bytes b = {.length = 0};
	for (size_t at = 5; at < whole->length; at += size) {
		size_t n = whole->length - at < size ? whole->length - at : size;
		memcpy(b.at + b.length, whole->at, 3);
		b.at[b.length + 3] = (char)(n >> 8);
		b.at[b.length + 4] = (char)n;
		memcpy(b.at + b.length + 5, whole->at + at, n);
		b.length += 5 + n;
	}
	return b;
}

static void the_name_is_read(void **state)
{
	(void)state;
	struct bytes b = hello_of("www.Example.ORG");
	names(&b, "www.example.org");
	b = hello_of(NULL);
	names(&b, "");
	b = hello_of("a.test");
	memcpy(b.at + b.length, "and what follows", 16);
	b.length += 16;
	names(&b, "a.test");
}

static void it_may_come_in_pieces_and_records(void **state)
{
	(void)state;
	static const size_t sizes[] = {1, 2, 3, 50, 4000};
	char name[NET_HELLO_NAME_BYTES];
	struct bytes whole = hello_of("a.test");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct bytes b = split(&whole, sizes[i]);
		names(&b, "a.test");
		for (size_t n = b.length; b.length = --n, n > 0;)
			assert_int_equal(read_hello(&b, name), NET_HELLO_MORE);
	}
	assert_int_equal(net_read_hello(SLICE(""), name), NET_HELLO_MORE);
}

static void other_bytes_are_none(void **state)
{
	(void)state;
	static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x16G", "\x15\x03\x01",
	    "\x80\x2e\x01\x03\x01", "\x16\x03\x01\x40\x01\x01", "\x16\x03\x01\x01\x01\x02"};
	char name[NET_HELLO_NAME_BYTES];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_int_equal(net_read_hello(slice_of_string(texts[i]), name), NET_HELLO_OTHER);
	/* A record without bytes; a message that is longer than is read. */
	assert_int_equal(net_read_hello(SLICE("\x16\x03\x01\x00\x00"), name), NET_HELLO_OTHER);
	assert_int_equal(net_read_hello(SLICE("\x16\x03\x01\x00\x10\x01\x00\x3f\xfd"), name), NET_HELLO_OTHER);
	assert_int_equal(net_read_hello(SLICE("\x16\x03\x01\x00\x10\x01\x00\x3f\xfc"), name), NET_HELLO_MORE);
}

/* ---- made by hand ---- */

/* A ClientHello with these extensions, and `behind` behind them. */
static struct bytes made(struct slice extensions, size_t behind)
{
	struct bytes b = {.length = 0};
	char *p = b.at + 9;
	memcpy(p, "\x03\x03", 2);
	memset(p + 2, 'r', 32);
	memcpy(p + 34, "\0\0\x02\x13\x01\x01\0", 7);
	p[41] = (char)(extensions.len >> 8);
	p[42] = (char)extensions.len;
	memcpy(p + 43, extensions.ptr, extensions.len);
	memset(p + 43 + extensions.len, 'x', behind);
	size_t n = 43 + extensions.len + behind;
	memcpy(b.at, "\x16\x03\x01", 3);
	b.at[3] = (char)((n + 4) >> 8);
	b.at[4] = (char)(n + 4);
	b.at[5] = 1;
	b.at[6] = 0;
	b.at[7] = (char)(n >> 8);
	b.at[8] = (char)n;
	b.length = 9 + n;
	return b;
}

#define NAME_A "\0\0\0\x06\0\x04\0\0\x01" "a"
#define NAME_B "\0\0\0\x06\0\x04\0\0\x01" "b"

static void one_name_counts_and_no_second(void **state)
{
	(void)state;
	struct bytes b = made(SLICE(NAME_A), 0);
	names(&b, "a");
	b = made(SLICE("\x12\x34\0\x01x" NAME_A), 0);
	names(&b, "a");
	b = made(SLICE("\0\0\0\x07\0\x05\0\0\x02" "a."), 0);
	names(&b, "a");
	static const struct slice wrong[] = {
	    SLICE_INIT(NAME_A NAME_B),                                /* two extensions */
	    SLICE_INIT("\0\0\0\x0a\0\x08\0\0\x01" "a\0\0\x01" "b"),   /* two names */
	    SLICE_INIT("\0\0\0\x07\0\x04\0\0\x01" "ax"),              /* bytes behind the list */
	    SLICE_INIT("\0\0\0\x06\0\x04\x01\0\x01" "a"),             /* another type of name */
	    SLICE_INIT("\0\0\0\x05\0\x03\0\0\0"),                     /* an empty name */
	    SLICE_INIT("\0\0\0\x07\0\x05\0\0\x02" "a\0"),             /* a NUL */
	    SLICE_INIT("\0\0\0\0"),                                   /* nothing in it */
	    SLICE_INIT("\0\0\0\x09\0\x04\0\0\x01" "a"),               /* longer than the extensions */
	    SLICE_INIT("\x12\x34\0"),                                 /* cut off */
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		b = made(wrong[i], 0);
		is_other(&b);
	}
	b = made(SLICE(NAME_A), 1);
	is_other(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_name_is_read),
	    cmocka_unit_test(it_may_come_in_pieces_and_records),
	    cmocka_unit_test(other_bytes_are_none),
	    cmocka_unit_test(one_name_counts_and_no_second),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
