/* SPDX-License-Identifier: MIT */
/* What a stylesheet names, each sheet in one piece and byte by byte. */
#include "proxy/limits.h"
#include "proxy/markup/markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct list {
	char text[8192];
	size_t length;
	unsigned count;
};

static void note(const struct markup_resource *r, void *context)
{
	struct list *list = context;
	list->count++;
	list->length += (size_t)snprintf(list->text + list->length,
	    sizeof(list->text) - list->length, "%u/%u %.*s%.*s %.*s|", r->uses, r->marks,
	    SLICE_ARG(r->target.authority), SLICE_ARG(r->target.path), SLICE_ARG(r->media));
}

static enum markup_state read_in(struct slice text, size_t piece, struct list *list)
{
	static const struct http_target sheet = {
	    SLICE_INIT("https"), SLICE_INIT("a"), SLICE_INIT("/d/s.css")};
	enum markup_state state = MARKUP_READS;
	struct markup_css *css = markup_css_new(&sheet, (struct markup_sink){note, list});
	*list = (struct list){.length = 0};
	for (size_t at = 0; at < text.len; at += piece)
		state = markup_css_read(css, slice_sub(text, at, piece));
	markup_css_free(css);
	return state;
}

static void check(const char *text, const char *want)
{
	static const size_t pieces[] = {1, 2, 7, 65536};
	struct list list;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(read_in(slice_of_string(text), pieces[i], &list), MARKUP_READS);
		assert_string_equal(list.text, want);
	}
}

static void imports_are_found_before_rules(void **state)
{
	(void)state;
	check("@charset 'utf-8'; /* ; @import 'no'; */ @layer a, b;@import \"x.css\";"
	      "@IMPORT url( '../y.css' ) layer(a) print; @import/**/url(z.css)screen and "
	      "(min-width:1px);"
	      "p { color: red } @import 'late.css';",
	    "32/0 a/d/x.css |32/0 a/y.css print|32/0 a/d/z.css screen and (min-width:1px)|");
	check("@import 'x' supports(display:grid);@import 'a\\62';@imports 'b';@import c;", "");
}

static void fonts_are_found(void **state)
{
	(void)state;
	check("a{b:url(x)}@font-face{font-family:x;src:url(x.eot);src:url(x.eot?#i) "
	      "format('embedded-opentype'),url('x.woff2')format(\"woff2\"),url(x.ttf)}",
	    "64/8 a/d/x.woff2 |");
	check(
	    "@font-face{src:local('x'),url(/x)}@layer a{@font-face{unicode-range:U+1;src:url(/y)}}",
	    "64/24 a/x |64/24 a/y |");
}

static void what_depends_on_a_condition_is_skipped(void **state)
{
	(void)state;
	check("@media print{@font-face{src:url(x)}}@supports (a:b){@font-face{src:url(x)}}"
	      "@font-face{src:url(data:font/woff2;base64,AA==)}",
	    "");
	check("}@font-face{src:url(x)}@font-face{a{src:url(x);}}", "");
	check("a{b:'}@font-face{src:url(x)}';c:url(}@font-face{src:x)}/*@font-face{src:url(x)}*/"
	      "a[b='{'] {c:\\}} @font-face{src:url(y)}",
	    "64/8 a/d/y |");
}

static void reading_is_bounded(void **state)
{
	(void)state;
	struct list list;
	char *text = malloc(LIMIT_MARKUP_BYTES + 100);
	assert_non_null(text);
	memset(text, ' ', LIMIT_MARKUP_BYTES + 100);
	assert_int_equal(
	    read_in(slice_of(text, LIMIT_MARKUP_BYTES + 100), 999, &list), MARKUP_AT_LIMIT);
	for (unsigned i = 0; i <= LIMIT_MARKUP_RESOURCES; i++)
		memcpy(text + i * 12, "@import 'x';", 12);
	assert_int_equal(
	    read_in(slice_of(text, LIMIT_MARKUP_RESOURCES * 12 + 12), 999, &list), MARKUP_TOO_MANY);
	assert_int_equal(list.count, LIMIT_MARKUP_RESOURCES);
	memset(text, 'x', 10000);
	memcpy(text, "@import '", 9);
	memcpy(text + 10000, "';@import 'y';", 14);
	assert_int_equal(read_in(slice_of(text, 10014), 999, &list), MARKUP_READS);
	assert_string_equal(list.text, "32/0 a/d/y |");
	/* White space before a rule is no part of it. */
	memset(text, ' ', 10000);
	memcpy(text + 10000, "@import 'z';", 12);
	assert_int_equal(read_in(slice_of(text, 10012), 999, &list), MARKUP_READS);
	assert_string_equal(list.text, "32/0 a/d/z |");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(imports_are_found_before_rules),
	    cmocka_unit_test(fonts_are_found),
	    cmocka_unit_test(what_depends_on_a_condition_is_skipped),
	    cmocka_unit_test(reading_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
