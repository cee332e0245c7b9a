/* SPDX-License-Identifier: MIT */
/* The examples of RFC 7541, appendix C: integers, literals, and four series of messages. */
#include "tests/unit/hpack/kit.h"

#include "proxy/hpack/huffman.h"
#include "proxy/hpack/integer.h"

struct message {
	const char *hex, *list;
};

static void expect_series(uint32_t table_bytes, const struct message *messages, size_t n)
{
	struct http_head_pool *pool = http_head_pool_new(1);
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);

	/* As if the table had been made smaller by SETTINGS and a size update. */
	if (table_bytes != 4096) {
		hpack_decoder_set_limit(d, table_bytes);
		char update[32];
		uint8_t bytes[INTEGER_BYTES_MAX];
		size_t len = (size_t)(integer_encode(bytes, 0x20, 5, table_bytes) - bytes);
		for (size_t i = 0; i < len; i++)
			snprintf(update + 2 * i, 3, "%02x", bytes[i]);
		kit_expect(d, pool, update, "");
	}
	for (size_t i = 0; i < n; i++)
		kit_expect(d, pool, messages[i].hex, messages[i].list);
	hpack_decoder_free(d);
	http_head_pool_free(pool);
}

static void integers_of_c1(void **state)
{
	uint8_t out[INTEGER_BYTES_MAX];
	uint32_t value;
	(void)state;

	assert_int_equal(integer_encode(out, 0, 5, 10) - out, 1);
	assert_int_equal(out[0], 10);
	assert_int_equal(integer_encode(out, 0, 5, 1337) - out, 3);
	assert_memory_equal(out, "\x1f\x9a\x0a", 3);
	const uint8_t *at = out;
	assert_true(integer_decode(&at, out + 3, 5, &value));
	assert_int_equal(value, 1337);
	assert_ptr_equal(at, out + 3);
	assert_int_equal(integer_encode(out, 0, 8, 42) - out, 1);
	assert_int_equal(out[0], 42);
}

static void literals_of_c2(void **state)
{
	struct http_head_pool *pool = http_head_pool_new(1);
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	(void)state;

	kit_expect(d, pool, "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
	    "custom-key: custom-header\n");
	kit_expect(d, pool, "040c 2f73 616d 706c 652f 7061 7468", ":path: /sample/path\n");
	kit_expect(d, pool, "1008 7061 7373 776f 7264 0673 6563 7265 74", "!password: secret\n");
	kit_expect(d, pool, "82", ":method: GET\n");
	/* Only the first of them went into the table. */
	kit_expect(d, pool, "be", "custom-key: custom-header\n");
	kit_expect_result(d, pool, "bf", HPACK_BAD);
	hpack_decoder_free(d);
	http_head_pool_free(pool);
}

#define REQUEST_1 ":method: GET\n:scheme: http\n:path: /\n:authority: www.example.com\n"
#define REQUEST_2 REQUEST_1 "cache-control: no-cache\n"
#define REQUEST_3                                                                                  \
	":method: GET\n:scheme: https\n:path: /index.html\n:authority: www.example.com\n"          \
	"custom-key: custom-value\n"

static void requests_without_huffman_of_c3(void **state)
{
	static const struct message messages[] = {
	    {"8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", REQUEST_1},
	    {"8286 84be 5808 6e6f 2d63 6163 6865", REQUEST_2},
	    {"8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", REQUEST_3},
	};
	(void)state;
	expect_series(4096, messages, 3);
}

static void requests_with_huffman_of_c4(void **state)
{
	static const struct message messages[] = {
	    {"8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", REQUEST_1},
	    {"8286 84be 5886 a8eb 1064 9cbf", REQUEST_2},
	    {"8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", REQUEST_3},
	};
	(void)state;
	expect_series(4096, messages, 3);
}

#define RESPONSE(status, second)                                                                   \
	":status: " status "\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:" second        \
	" GMT\nlocation: https://www.example.com\n"
#define RESPONSE_3                                                                                 \
	":status: 200\ncache-control: private\ndate: Mon, 21 Oct 2013 20:13:22 GMT\n"              \
	"location: https://www.example.com\ncontent-encoding: gzip\n"                              \
	"set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1\n"

static void responses_without_huffman_of_c5(void **state)
{
	static const struct message messages[] = {
	    {"4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032"
	     "303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63"
	     "6f6d",
		RESPONSE("302", "21")},
	    {"4803 3330 37c1 c0bf", RESPONSE("307", "21")},
	    {"88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0"
	     "5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851"
	     "5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31",
		RESPONSE_3},
	};
	(void)state;
	expect_series(256, messages, 3);
}

static void responses_with_huffman_of_c6(void **state)
{
	static const struct message messages[] = {
	    {"4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b"
	     "ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
		RESPONSE("302", "21")},
	    {"4883 640e ffc1 c0bf", RESPONSE("307", "21")},
	    {"88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad"
	     "94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160"
	     "65c0 03ed 4ee5 b106 3d50 07",
		RESPONSE_3},
	};
	(void)state;
	expect_series(256, messages, 3);
}

/* Our own policy happens to choose what the examples chose. */
static void encoder_writes_the_requests_of_c4(void **state)
{
	struct http_head_pool *pool = http_head_pool_new(1);
	struct hpack_encoder *e = hpack_encoder_new(4096, KIT_SEED);
	struct http_head *head = http_head_new(pool);
	(void)state;

	head->kind = HTTP_TRAILERS; /* fields alone, in the examples' order */
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	http_head_add(head, SLICE(":authority"), SLICE("www.example.com"));
	kit_expect_bytes(e, head, "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff");
	http_head_add(head, SLICE("cache-control"), SLICE("no-cache"));
	kit_expect_bytes(e, head, "8286 84be 5886 a8eb 1064 9cbf");
	http_head_free(head);
	hpack_encoder_free(e);
	http_head_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(integers_of_c1),
	    cmocka_unit_test(literals_of_c2),
	    cmocka_unit_test(requests_without_huffman_of_c3),
	    cmocka_unit_test(requests_with_huffman_of_c4),
	    cmocka_unit_test(responses_without_huffman_of_c5),
	    cmocka_unit_test(responses_with_huffman_of_c6),
	    cmocka_unit_test(encoder_writes_the_requests_of_c4),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
