/* SPDX-License-Identifier: MIT */
/* Manifests and the learned table as bytes for another process: nothing is lost, and nothing is believed. */
/* covers: P-src-manifest P-src-learned */
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include "tests/support/learned_look.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MUTATIONS = 20000 };

/* A sequence that is the same each time. */
static uint32_t draw(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* One to four wrong bytes, a wrong number, or a wrong length. */
static size_t mutate(uint8_t *bytes, size_t length, uint32_t *seed)
{
	uint32_t kind = draw(seed) % 4;
	if (kind == 0)
		return draw(seed) % length;
	if (kind == 1) {
		static const uint32_t numbers[] = {0, 1, 0x7fffffff, 0x80000000, UINT32_MAX, 1000};
		memcpy(bytes + draw(seed) % (length / 4) * 4, &numbers[draw(seed) % 6], 4);
		return length;
	}
	for (uint32_t n = 1 + draw(seed) % 4; n > 0; n--)
		bytes[draw(seed) % length] = (uint8_t)draw(seed);
	return length;
}

/* ---- manifests ---- */

static unsigned released;

static void release(void *bytes, size_t length)
{
	(void)length;
	released++;
	free(bytes);
}

static struct offer_manifest *parse(const char *text)
{
	struct offer_manifest *m = offer_manifest_parse(slice_of_string(text), "m.json", stderr);
	assert_non_null(m);
	return m;
}

static struct offer_manifest *through_bytes(struct offer_manifest *m)
{
	struct slice flat = offer_manifest_flat(m);
	void *copy = memcpy(memory_alloc(flat.len), flat.ptr, flat.len);
	struct offer_manifest *other = offer_manifest_of_flat(copy, flat.len, release);
	assert_non_null(other);
	offer_manifest_free(m);
	return other;
}

static const char *const pages = "{\"index.html\": {\"a.css\": {\"type\": \"style\"}},"
				 "\"shop/\": {\"/b.js\": {\"crossorigin\": \"\"}, \"c.woff2\": {}},"
				 "\"z.html\": {\"https://other.example/d.png\": {}}}";

static void assert_target(const struct offer_manifest *m, const char *page, size_t i, const char *target)
{
	struct offer_manifest_resources r = offer_manifest_find(m, slice_of_string(page));
	assert_true(r.count > i);
	assert_true(slice_equal(r.list[i].target, slice_of_string(target)));
}

static void a_manifest_says_the_same_from_its_bytes(void **state)
{
	(void)state;
	released = 0;
	struct offer_manifest *m = through_bytes(parse(pages));
	assert_target(m, "/", 0, "/a.css");
	assert_target(m, "/index.html?x", 0, "/a.css");
	assert_target(m, "/shop/", 0, "/b.js");
	assert_target(m, "/shop/", 1, "/shop/c.woff2");
	assert_target(m, "/z.html", 0, "https://other.example/d.png");
	struct offer_manifest_resources shop = offer_manifest_find(m, SLICE("/shop/"));
	assert_true(slice_equal(shop.list[0].crossorigin, SLICE("anonymous")));
	assert_true(slice_equal(shop.list[1].as, SLICE("font")));
	assert_int_equal(offer_manifest_find(m, SLICE("/shop")).count, 0);
	offer_manifest_free(m);
	assert_int_equal(released, 1);
	m = through_bytes(parse("{\"/only.css\": {\"type\": \"style\"}}"));
	assert_target(m, "/any/page", 0, "/only.css");
	offer_manifest_free(m);
	assert_int_equal(released, 2);
}

static void check_all(const struct offer_manifest *m)
{
	static const char *const asked[] = {"/", "/shop/", "/z.html", "/index.html", "/none", ""};
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct offer_manifest_resources r = offer_manifest_find(m, slice_of_string(asked[i]));
		for (size_t j = 0; j < r.count; j++) {
			assert_true(r.list[j].target.len > 0 && r.list[j].as.len <= 32);
			for (size_t k = 0; k < r.list[j].target.len; k++)
				assert_true(r.list[j].target.ptr[k] > ' ' && r.list[j].target.ptr[k] < 0x7f);
		}
	}
}

static void malformed_manifest_is_refused_or_harmless(void **state)
{
	(void)state;
	struct offer_manifest *m = parse(pages);
	struct slice flat = offer_manifest_flat(m);
	uint32_t seed = 1;
	unsigned refused = 0;
	released = 0;
	for (unsigned i = 0; i < MUTATIONS; i++) {
		/* A block of its own, so that a sanitizer sees each byte too many. */
		uint8_t *copy = memcpy(memory_alloc(flat.len), flat.ptr, flat.len);
		size_t length = mutate(copy, flat.len, &seed);
		uint8_t *exact = memcpy(memory_alloc(length + 1), copy, length);
		free(copy);
		struct offer_manifest *other = offer_manifest_of_flat(exact, length, release);
		if (other)
			check_all(other);
		else
			refused++;
		offer_manifest_free(other);
		assert_int_equal(released, i + 1);
	}
	assert_in_range(refused, MUTATIONS / 2, MUTATIONS);
	offer_manifest_free(m);
}

static void manifest_of_too_many_bytes_is_a_mistake(void **state)
{
	(void)state;
	char *errors, *text;
	size_t length, text_length;
	FILE *stream = open_memstream(&errors, &length);
	FILE *out = open_memstream(&text, &text_length);
	/* Each page is long and has many short resources, which are resolved against it. */
	fprintf(out, "{");
	for (int page = 0; page < 4; page++) {
		fprintf(out, "%s\"/%d", page ? ", " : "", page);
		for (int i = 0; i < 2000; i++)
			fputc('x', out);
		fprintf(out, "/\": {");
		for (int i = 0; i < 1000; i++)
			fprintf(out, "%s\"%d\": {}", i ? "," : "", i);
		fprintf(out, "}");
	}
	fprintf(out, "}");
	fclose(out);
	assert_true(text_length < OFFER_MANIFEST_BYTES);
	assert_null(offer_manifest_parse(slice_of(text, text_length), "m.json", stream));
	fclose(stream);
	assert_non_null(strstr(errors, "when they are resolved"));
	free(text);
	free(errors);
}

/* ---- the learned table ---- */

static struct offer_learned *new_table(void)
{
	return offer_learned_new(&(struct offer_learned_options){0}, 1, NULL);
}

static void visits(struct offer_learned *t, const char *page, const char *path, usec *now)
{
	char referer[128], client[16];
	snprintf(referer, sizeof(referer), "https://h.example%s", page);
	for (int i = 0; i < 6; i++) {
		sprintf(client, "c%d", i);
		struct offer_learned_request r = {.authority = SLICE("h.example"),
		    .client = slice_of_string(client),
		    .path = slice_of_string(page),
		    .is_get = true,
		    .is_navigation = true,
		    .status = 200};
		offer_learned_on_navigation(t, &r, *now);
		r.is_navigation = false;
		r.path = slice_of_string(path);
		r.referer = slice_of_string(referer);
		offer_learned_on_request(t, &r, *now);
		*now += 11 * USEC_PER_SEC;
		offer_learned_tick(t, *now);
	}
}

/* All pages, one behind the other; returns the length. */
static size_t export(struct offer_learned *t, uint32_t round, uint8_t *bytes, usec now)
{
	static uint8_t page[OFFER_LEARNED_PAGE_BYTES];
	size_t length = 0;
	for (size_t n; (n = offer_learned_export(t, round, page, now)) > 0; length += n)
		memcpy(bytes + length, page, n);
	return length;
}

static void a_table_says_the_same_from_its_pages(void **state)
{
	(void)state;
	static uint8_t bytes[1 << 16], again[1 << 16];
	usec now = 500 * USEC_PER_SEC;
	struct offer_learned *t = new_table(), *other = new_table();
	visits(t, "/", "/a.css", &now);
	visits(t, "/shop", "/b.js", &now);
	size_t length = export(t, 1, bytes, now);
	assert_true(length > 0);
	assert_int_equal(export(t, 1, again, now), 0); /* each page once in a round */
	assert_int_equal(export(t, 2, again, now), length);
	assert_null(offer_learned_import(other, slice_of(bytes, length), now));
	assert_int_equal(offer_learned_stats(other).pages, 2);
	struct offer_learned_item item[OFFER_LEARNED_RESOURCES];
	assert_int_equal(offer_learned_offers(other, SLICE("h.example"), SLICE("/shop"), item, now), 1);
	assert_true(slice_equal(item[0].path, SLICE("/b.js")));
	assert_int_equal(export(other, 1, again, now), length);
	assert_memory_equal(again, bytes, length);
	/* What the table has already is left out. */
	assert_null(offer_learned_import(other, slice_of(bytes, length), now));
	assert_int_equal(offer_learned_stats(other).pages, 2);
	offer_learned_free(t);
	offer_learned_free(other);
}

static void malformed_pages_are_refused_or_harmless(void **state)
{
	(void)state;
	static uint8_t bytes[1 << 16];
	usec now = 500 * USEC_PER_SEC;
	uint32_t seed = 7;
	unsigned refused = 0;
	struct offer_learned *t = new_table();
	visits(t, "/", "/a.css", &now);
	visits(t, "/", "/b.js", &now);
	visits(t, "/shop", "/c.png", &now);
	size_t length = export(t, 1, bytes, now);
	for (unsigned i = 0; i < MUTATIONS / 4; i++) {
		struct offer_learned *other = new_table();
		uint8_t *copy = memcpy(memory_alloc(length), bytes, length);
		size_t cut = mutate(copy, length, &seed);
		uint8_t *exact = memcpy(memory_alloc(cut + 1), copy, cut);
		free(copy);
		if (offer_learned_import(other, slice_of(exact, cut), now))
			refused++;
		free(exact);
		assert_in_range(offer_learned_stats(other).pages, 0, 3);
		offer_learned_free(other);
	}
	assert_in_range(refused, MUTATIONS / 16, MUTATIONS / 4);
	offer_learned_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_manifest_says_the_same_from_its_bytes),
	    cmocka_unit_test(malformed_manifest_is_refused_or_harmless),
	    cmocka_unit_test(manifest_of_too_many_bytes_is_a_mistake),
	    cmocka_unit_test(a_table_says_the_same_from_its_pages),
	    cmocka_unit_test(malformed_pages_are_refused_or_harmless),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
