/* SPDX-License-Identifier: MIT */
/* References that are resolved without the library get the same result as with it. */
#include "proxy/limits.h"
#include "proxy/markup/reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ROUNDS = 20000, MOST = 24 };

static uint32_t drawn;

static uint32_t draw(uint32_t below)
{
	drawn = drawn * 1664525u + 1013904223u;
	return (drawn >> 8) % below;
}

/* Of characters that browsers neither escape nor take out, and without digits: no host is a number. */
static struct slice draw_reference(char *to)
{
	static const char *const begins[] = {
	    "", "/", "/", "//h.example", "https://h.example", "HTTP://a.example", "../", "./"};
	static const char marks[] = "ab../:?@-=&,;+~$!(*)_B";
	const char *begin = begins[draw(sizeof(begins) / sizeof(begins[0]))];
	size_t length = strlen(begin), most = length + draw(MOST);
	memcpy(to, begin, length);
	while (length < most)
		to[length++] = marks[draw(sizeof(marks) - 1)];
	return slice_of(to, length);
}

static void assert_same(const struct http_target *base, struct slice reference)
{
	const struct http_head head = {
	    .scheme = base->scheme, .authority = base->authority, .path = base->path};
	struct http_target got, want;
	struct arena a;
	arena_init(&a, NULL, 0);
	bool is_got = markup_reference_resolve(&a, base, base, reference, &got);
	bool is_wanted = http_target_resolve(&a, &head, reference, &want);
	if (is_got != is_wanted || (is_got && !http_target_equal(&got, &want)))
		fail_msg("%.*s at %.*s%.*s: %.*s, not %.*s", SLICE_ARG(reference),
		    SLICE_ARG(base->authority), SLICE_ARG(base->path),
		    SLICE_ARG(is_got ? got.path : SLICE("none")),
		    SLICE_ARG(is_wanted ? want.path : SLICE("none")));
	arena_fini(&a);
}

static void usual_references_are_resolved_as_by_the_library(void **state)
{
	(void)state;
	static const struct http_target bases[] = {
	    {SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/")},
	    {SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/d/e/p?q/r")},
	    {SLICE_INIT("http"), SLICE_INIT("a.example:8080"), SLICE_INIT("/@d/p")},
	    {SLICE_INIT("https"), SLICE_INIT("A.example"), SLICE_INIT("//d/./p")},
	    {SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/d%20e/it's/p")},
	};
	char text[64];
	for (size_t b = 0; b < sizeof(bases) / sizeof(bases[0]); b++)
		for (unsigned i = 0; i < ROUNDS; i++) {
			struct slice reference = draw_reference(text);
			if (reference.len > 0)
				assert_same(&bases[b], reference);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(usual_references_are_resolved_as_by_the_library),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
