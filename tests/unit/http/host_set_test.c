/* SPDX-License-Identifier: MIT */
/* Sets of host patterns: whole names, names below a wildcard, addresses, and sets of which one host has all keys. */
#include "proxy/http/host_set.h"

#include "proxy/base/hash.h"
#include "tests/unit/http/heads.h"

#define MOST 8u

struct scene {
	struct arena arena;
	struct http_host_set set;
};

static struct scene with(uint64_t seed, const char *const patterns[MOST])
{
	struct scene s = {0};
	struct slice slices[MOST];
	size_t count = 0;
	for (; count < MOST && patterns[count]; count++) {
		slices[count] = slice_of_string(patterns[count]);
		assert_true(http_host_pattern_is_valid(slices[count]));
	}
	arena_init(&s.arena, NULL, 0);
	http_host_set_fill(&s.set, &s.arena, seed, slices, count);
	return s;
}

static bool has(const struct scene *s, const char *host)
{
	struct http_host_keys keys;
	http_host_keys_init(&keys, slice_of_string(host), http_host_set_seed(&s->set));
	return http_host_set_has(&s->set, &keys);
}

static void a_name_is_that_name_alone(void **state)
{
	(void)state;
	struct scene s = with(
	    hash_random_seed(), (const char *const[MOST]){"Www.Example.", "192.0.2.1", "[::1]"});
	assert_false(http_host_set_is_empty(&s.set));
	assert_true(has(&s, "www.example"));
	assert_true(has(&s, "192.0.2.1"));
	assert_true(has(&s, "::1"));
	assert_false(has(&s, "example"));
	assert_false(has(&s, "a.www.example"));
	assert_false(has(&s, ".www.example"));
	assert_false(has(&s, "192.0.2.11"));
	assert_false(has(&s, ""));
	arena_fini(&s.arena);
}

static void a_wildcard_is_each_name_below(void **state)
{
	(void)state;
	struct scene s = with(hash_random_seed(), (const char *const[MOST]){"*.b.example", "*.c"});
	assert_true(has(&s, "a.b.example"));
	assert_true(has(&s, "x.a.b.example"));
	assert_true(has(&s, "a.c"));
	assert_false(has(&s, "b.example"));
	assert_false(has(&s, "c"));
	assert_false(has(&s, "ab.example"));
	assert_false(has(&s, "a.b.example.org"));
	arena_fini(&s.arena);
}

static void a_star_is_each_host_and_no_pattern_none(void **state)
{
	(void)state;
	struct scene s = with(hash_random_seed(), (const char *const[MOST]){"a.example", "*"});
	assert_true(has(&s, "a.example"));
	assert_true(has(&s, "anything"));
	assert_true(has(&s, ""));
	arena_fini(&s.arena);

	struct http_host_set none = {0};
	struct http_host_keys keys;
	http_host_keys_init(&keys, SLICE("a.example"), 0);
	assert_true(http_host_set_is_empty(&none));
	assert_false(http_host_set_has(&none, &keys));
}

static void a_name_of_many_labels_is_below_its_wildcard(void **state)
{
	(void)state;
	char host[2 * HTTP_HOST_LABELS], pattern[2 * HTTP_HOST_LABELS];
	for (unsigned labels = 60; labels <= 125; labels++) {
		size_t at = 0;
		for (unsigned i = 0; i < labels; i++, at += 2)
			memcpy(pattern + at, i == 0 ? "*." : "b.", 2);
		pattern[at - 1] = 0;
		memcpy(host, "a.a.", 4);
		memcpy(host + 4, pattern + 2, at - 2);
		struct scene s = with(labels, (const char *const[MOST]){pattern});
		assert_true(has(&s, host));
		assert_true(has(&s, host + 2));
		assert_false(has(&s, host + 4));
		arena_fini(&s.arena);
	}
}

static void what_is_no_pattern(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "a.example:80", "*.192.0.2.1", "*.[::1]",
	    "*.*.example", "a*.example", "127.1", "0x7f.0.0.1", "a..example", "%61.example", "*."};
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		assert_false(http_host_pattern_is_valid(slice_of_string(texts[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_that_name_alone),
	    cmocka_unit_test(a_wildcard_is_each_name_below),
	    cmocka_unit_test(a_star_is_each_host_and_no_pattern_none),
	    cmocka_unit_test(a_name_of_many_labels_is_below_its_wildcard),
	    cmocka_unit_test(what_is_no_pattern),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
