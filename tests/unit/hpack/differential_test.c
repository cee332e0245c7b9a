/* SPDX-License-Identifier: MIT */
/*
 * Both coders against libnghttp2's: random and hostile lists, sizes that change in mid-stream,
 * fields that must never be indexed. A failure prints the seed; HPACK_SEED=N runs that one alone.
 */
#include "tests/unit/hpack/kit.h"

#include <nghttp2/nghttp2.h>

#define SEEDS 300
#define BLOCKS 24
#define FIELDS_MAX 40

static const char *const names[] = {":method", ":path", ":authority", ":scheme", ":status",
    "accept", "accept-encoding", "authorization", "cache-control", "content-length", "cookie",
    "date", "etag", "link", "set-cookie", "user-agent", "via", "x-forwarded-for", "priority", "x-a",
    "x-b", "x-request-id", "sec-fetch-mode", "a", "www-authenticate"};
static const char *const values[] = {"", "GET", "POST", "/", "/index.html", "http", "https", "200",
    "404", "gzip, deflate", "no-cache", "text/html; charset=utf-8", "1", "max-age=31536000",
    "Mon, 21 Oct 2013 20:13:21 GMT", "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101", "a=b",
    "session=0123456789abcdef0123456789abcdef"};

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))

static struct slice random_bytes(uint64_t *random, struct arena *arena, uint32_t max, bool any)
{
	size_t n = kit_below(random, max + 1);
	char *p = arena_bytes(arena, n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = any ? (char)kit_below(random, 256) : (char)('a' + kit_below(random, 26));
	return slice_of(p, n);
}

static struct slice random_name(uint64_t *random, struct arena *arena)
{
	if (kit_below(random, 8) != 0)
		return slice_of_string(names[kit_below(random, COUNT(names))]);
	struct slice name = random_bytes(random, arena, 30, false);
	return name.len ? name : SLICE("n");
}

static struct slice random_value(uint64_t *random, struct arena *arena)
{
	switch (kit_below(random, 8)) {
	case 0:
		return random_bytes(random, arena, 40, true);
	case 1:
		return random_bytes(random, arena, kit_below(random, 10) ? 300 : 6000, false);
	case 2:
		return random_bytes(random, arena, 2, false);
	default:
		return slice_of_string(values[kit_below(random, COUNT(values))]);
	}
}

static struct http_head *random_head(struct http_head_pool *pool, uint64_t *random)
{
	struct http_head *head = http_head_new(pool);
	uint32_t n = kit_below(random, FIELDS_MAX);

	head->kind = HTTP_TRAILERS; /* all of them as fields, in this order */
	for (uint32_t i = 0; i < n; i++) {
		struct slice name = random_name(random, &head->arena);
		kit_add(head, name, random_value(random, &head->arena), kit_below(random, 10) == 0);
	}
	return head;
}

/* Would our encoder mark it as never to be indexed, on top of what the head says? */
static bool is_secret(const struct http_field *f)
{
	if (f->hash >= 1 && f->hash <= 61)
		return f->never_index; /* empty, and sent by its index in the static table */
	return f->never_index || f->token == HTTP_TOKEN_AUTHORIZATION ||
	       f->token == HTTP_TOKEN_SET_COOKIE ||
	       (f->token == HTTP_TOKEN_COOKIE && f->value.len < 20);
}

static void expect_nghttp2_reads(
    nghttp2_hd_inflater *inflater, struct slice block, const struct http_head *head)
{
	const uint8_t *at = (const uint8_t *)block.ptr, *end = at + block.len;
	uint32_t i = 0;

	for (;;) {
		nghttp2_nv nv;
		int flags = 0;
		ssize_t n =
		    nghttp2_hd_inflate_hd2(inflater, &nv, &flags, at, (size_t)(end - at), 1);
		assert_true(n >= 0);
		at += n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT) {
			assert_true(i < head->count);
			const struct http_field *f = &head->fields[i++];
			assert_true(slice_equal(f->name, slice_of(nv.name, nv.namelen)));
			assert_true(slice_equal(f->value, slice_of(nv.value, nv.valuelen)));
			assert_int_equal(!!(nv.flags & NGHTTP2_NV_FLAG_NO_INDEX), is_secret(f));
		}
		if (flags & NGHTTP2_HD_INFLATE_FINAL)
			break;
		assert_true(n > 0 || (flags & NGHTTP2_HD_INFLATE_EMIT));
	}
	assert_ptr_equal(at, end);
	assert_int_equal(i, head->count);
	nghttp2_hd_inflate_end_headers(inflater);
}

static void our_blocks(uint64_t seed)
{
	struct http_head_pool *pool = http_head_pool_new(4);
	uint64_t random = seed * 2 + 1;
	uint32_t own = (uint32_t[]){0, 100, 4096, 4096, 65536}[kit_below(&random, 5)];
	struct hpack_encoder *e = hpack_encoder_new(own, KIT_SEED);
	nghttp2_hd_inflater *inflater;

	assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
	for (int block = 0; block < BLOCKS; block++) {
		for (uint32_t i = kit_below(&random, 8) == 0 ? 1 + kit_below(&random, 3) : 0; i;
		     i--) {
			uint32_t size = kit_below(&random, kit_below(&random, 2) ? 200 : 20000);
			assert_int_equal(nghttp2_hd_inflate_change_table_size(inflater, size), 0);
			hpack_encoder_set_limit(e, size);
		}
		struct http_head *head = random_head(pool, &random);
		struct slice bytes = kit_encode(e, head);
		if (bytes.len > 0)
			expect_nghttp2_reads(inflater, bytes, head);
		free((void *)bytes.ptr);
		http_head_free(head);
	}
	nghttp2_hd_inflate_del(inflater);
	hpack_encoder_free(e);
	http_head_pool_free(pool);
}

static struct slice nghttp2_writes(nghttp2_hd_deflater *deflater, const struct http_head *head)
{
	nghttp2_nv nvs[FIELDS_MAX];

	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		nvs[i] = (nghttp2_nv){
		    .name = (uint8_t *)(uintptr_t)f->name.ptr,
		    .namelen = f->name.len,
		    .value = (uint8_t *)(uintptr_t)f->value.ptr,
		    .valuelen = f->value.len,
		    .flags = f->never_index ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
		};
	}
	size_t bound = nghttp2_hd_deflate_bound(deflater, nvs, head->count);
	uint8_t *out = malloc(bound);
	assert_non_null(out);
	ssize_t n = nghttp2_hd_deflate_hd(deflater, out, bound, nvs, head->count);
	assert_true(n >= 0);
	return slice_of(out, (size_t)n);
}

/* nghttp2 marks these of its own accord, too. */
static bool is_marked(const struct http_field *f)
{
	return f->never_index || f->token == HTTP_TOKEN_AUTHORIZATION ||
	       f->token == HTTP_TOKEN_PROXY_AUTHORIZATION ||
	       (f->token == HTTP_TOKEN_COOKIE && f->value.len < 20);
}

static void their_blocks(uint64_t seed)
{
	struct http_head_pool *pool = http_head_pool_new(4);
	uint64_t random = seed * 2 + 1;
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	nghttp2_hd_deflater *deflater;

	assert_int_equal(nghttp2_hd_deflate_new(&deflater, 16384), 0);
	for (int block = 0; block < BLOCKS; block++) {
		for (uint32_t i = kit_below(&random, 8) == 0 ? 1 + kit_below(&random, 3) : 0; i;
		     i--) {
			uint32_t size = kit_below(&random, kit_below(&random, 2) ? 200 : 20000);
			assert_int_equal(nghttp2_hd_deflate_change_table_size(deflater, size), 0);
			hpack_decoder_set_limit(d, size);
		}
		struct http_head *head = random_head(pool, &random), *got = http_head_new(pool);
		struct slice bytes = nghttp2_writes(deflater, head);
		/* Sometimes the list is too large for us; the table must keep step all the same. */
		size_t limit = kit_below(&random, 4) ? KIT_NO_LIMIT : kit_below(&random, 2000);
		size_t list = 0;
		for (uint32_t i = 0; i < head->count; i++)
			list += head->fields[i].name.len + head->fields[i].value.len + 32;
		enum hpack_result result = hpack_decode(d, bytes, limit, got);
		hpack_decoder_check(d);
		assert_int_equal(result, list > limit ? HPACK_TOO_LARGE : HPACK_OK);
		if (result == HPACK_OK)
			assert_int_equal(got->count, head->count);
		for (uint32_t i = 0; result == HPACK_OK && i < head->count; i++) {
			assert_true(slice_equal(got->fields[i].name, head->fields[i].name));
			assert_true(slice_equal(got->fields[i].value, head->fields[i].value));
			assert_int_equal(got->fields[i].token, head->fields[i].token);
			assert_int_equal(got->fields[i].never_index, is_marked(&head->fields[i]));
		}
		free((void *)bytes.ptr);
		http_head_free(got);
		http_head_free(head);
	}
	nghttp2_hd_deflate_del(deflater);
	hpack_decoder_free(d);
	http_head_pool_free(pool);
}

/* As on a relay: what one hop's decoder gave goes to the next hop's encoder, keys and all. */
static void relayed_blocks(uint64_t seed)
{
	struct http_head_pool *pool = http_head_pool_new(4);
	uint64_t random = seed * 2 + 1;
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	struct hpack_encoder *e = hpack_encoder_new(4096, KIT_SEED);
	nghttp2_hd_deflater *deflater;
	nghttp2_hd_inflater *inflater;

	assert_int_equal(nghttp2_hd_deflate_new(&deflater, 4096), 0);
	assert_int_equal(nghttp2_hd_inflate_new(&inflater), 0);
	for (int block = 0; block < BLOCKS; block++) {
		struct http_head *head = random_head(pool, &random), *got = http_head_new(pool);
		struct slice in = nghttp2_writes(deflater, head);
		got->kind = HTTP_TRAILERS;
		assert_int_equal(hpack_decode(d, in, KIT_NO_LIMIT, got), HPACK_OK);
		struct slice out = kit_encode(e, got);
		if (out.len > 0)
			expect_nghttp2_reads(inflater, out, got);
		free((void *)in.ptr);
		free((void *)out.ptr);
		http_head_free(got);
		http_head_free(head);
	}
	nghttp2_hd_deflate_del(deflater);
	nghttp2_hd_inflate_del(inflater);
	hpack_decoder_free(d);
	hpack_encoder_free(e);
	http_head_pool_free(pool);
}

static void for_each_seed(const char *what, void (*run)(uint64_t seed))
{
	const char *one = getenv("HPACK_SEED");
	uint64_t from = one ? strtoull(one, NULL, 10) : 1;

	for (uint64_t seed = from; seed < from + (one ? 1 : SEEDS); seed++) {
		char note[64];
		/* cmocka prints this only when the test fails. */
		snprintf(note, sizeof(note), "%s, HPACK_SEED=%llu", what, (unsigned long long)seed);
		setenv("HPACK_RUNNING", note, 1);
		run(seed);
	}
	unsetenv("HPACK_RUNNING");
}

static void nghttp2_reads_what_we_write(void **state)
{
	(void)state;
	for_each_seed("ours", our_blocks);
}

static void we_read_what_nghttp2_writes(void **state)
{
	(void)state;
	for_each_seed("theirs", their_blocks);
}

static void nghttp2_reads_what_we_relay(void **state)
{
	(void)state;
	for_each_seed("relayed", relayed_blocks);
}

static int say_seed(void **state)
{
	const char *note = getenv("HPACK_RUNNING");
	(void)state;

	if (note)
		print_error("failed with %s\n", note);
	unsetenv("HPACK_RUNNING");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(nghttp2_reads_what_we_write, say_seed),
	    cmocka_unit_test_teardown(we_read_what_nghttp2_writes, say_seed),
	    cmocka_unit_test_teardown(nghttp2_reads_what_we_relay, say_seed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
