/* SPDX-License-Identifier: MIT */
/* What the head of a page names, each page in one piece and byte by byte; parse5.test.mjs has the wide comparison. */
#include "proxy/limits.h"
#include "proxy/markup/markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

struct list {
	char text[16384];
	size_t length;
	unsigned count;
};

static void note(const struct markup_resource *r, void *context)
{
	struct list *list = context;
	list->count++;
	list->length +=
	    (size_t)snprintf(list->text + list->length, sizeof(list->text) - list->length,
		"%u/%u %.*s://%.*s%.*s %.*s|", r->uses, r->marks, SLICE_ARG(r->target.scheme),
		SLICE_ARG(r->target.authority), SLICE_ARG(r->target.path), SLICE_ARG(r->as));
}

static const struct http_target page = {
    SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/d/p?q")};

static enum markup_state read_in(struct slice text, size_t piece, struct list *list)
{
	list->length = list->count = 0;
	list->text[0] = '\0';
	struct markup_head *head = markup_head_new(&page, (struct markup_sink){note, list});
	enum markup_state state = MARKUP_READS;
	for (size_t at = 0; at < text.len; at += piece)
		state = markup_head_read(head, slice_sub(text, at, piece));
	markup_head_free(head);
	return state;
}

static void check_state(const char *text, enum markup_state want_state, const char *want)
{
	static const size_t pieces[] = {1, 2, 7, 65536};
	struct list list;
	for (size_t i = 0; i < 4; i++) {
		enum markup_state state = read_in(slice_of_string(text), pieces[i], &list);
		assert_string_equal(list.text, want);
		assert_int_equal(state, want_state);
	}
}

static void check(const char *text, const char *want)
{
	check_state(text, MARKUP_READS, want);
}

static void links_and_scripts_are_found(void **state)
{
	(void)state;
	check("<!doctype html><html><head><link rel=stylesheet href=a.css>"
	      "<script src='/b.js' defer></script><link rel=modulepreload href=//c.example/m.js>",
	    "1/0 https://a.example/d/a.css style|16/2 https://a.example/b.js script|"
	    "4/0 https://c.example/m.js script|");
	check("<link as=font crossorigin rel='preload preconnect' href=f.woff2>",
	    "10/8 https://a.example/d/f.woff2 font|");
	check("<script type=module async src=m></script>", "16/5 https://a.example/d/m script|");
}

static void what_no_browser_fetches_is_not_found(void **state)
{
	(void)state;
	check("<link rel='alternate stylesheet' href=a><link rel=stylesheet disabled href=a>"
	      "<link rel=stylesheet type=text/less href=a><link rel=preload href=a><link rel=icon "
	      "href=a>"
	      "<link rel=stylesheet href=''><link rel=stylesheet href='#x'><link rel=stylesheet>",
	    "");
	check("<script type=text/x-template src=a></script><script nomodule src=a></script>"
	      "<script language=vbscript src=a></script>",
	    "");
	check("<noscript><link rel=stylesheet href=a></noscript><template><link rel=stylesheet "
	      "href=a>"
	      "</template><!--<link rel=stylesheet href=a>--><title><link rel=stylesheet "
	      "href=a></title>",
	    "");
}

static void the_body_ends_the_reading(void **state)
{
	(void)state;
	static const char *const ends[] = {"<body>", "x", "</body>", "</br>", "<p>", "&nbsp;", "<1",
	    "</head>x", "</head><noscript>", "<svg>", "</html>", "&ampx"};
	char text[200];
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(text, sizeof(text),
		    "<link rel=stylesheet href=a>%s <link rel=stylesheet href=b>", ends[i]);
		check_state(text, MARKUP_ENDED, "1/0 https://a.example/d/a style|");
	}
	check("<link rel=stylesheet href=a></head> &#32;<!--x--></p><link rel=stylesheet href=b>",
	    "1/0 https://a.example/d/a style|1/0 https://a.example/d/b style|");
}

static void base_changes_what_follows_it(void **state)
{
	(void)state;
	check("<link rel=stylesheet href=a><base target=x><base href=/e/><base href=/f/>"
	      "<link rel=stylesheet href=b>",
	    "1/0 https://a.example/d/a style|1/0 https://a.example/e/b style|");
	/* Of a base that is not understood, only what does not need it is found. */
	check("<base href='/|/'><link rel=stylesheet href=/a><link rel=stylesheet "
	      "href=http://b.example/>",
	    "1/0 http://b.example/ style|");
}

static void character_references_are_decoded(void **state)
{
	(void)state;
	check("<link rel=stylesheet href='a?b&amp;c&copy=d&ampe&#x2f;&#47&sol;&lt'>",
	    "1/0 https://a.example/d/a?b&c&copy=d&ampe///%3C style|");
	check("<link rel=stylesheet href='/&eacute;&#128;&#0;&#xd800;'>",
	    "1/0 https://a.example/%C3%A9%E2%82%AC%EF%BF%BD%EF%BF%BD style|");
	check("<link rel=stylesheet href='/&notin;'>", "");
}

static void a_value_is_as_long_as_it_is_decoded(void **state)
{
	(void)state;
	enum { MARKS = 900 };
	char text[8192] = "<script src='/", want[2048] = "16/0 https://a.example/";
	for (unsigned i = 0; i < MARKS; i++) {
		strcat(text, "&amp;");
		strcat(want, "&");
	}
	check(strcat(text, "'></script>"), strcat(want, " script|"));
}

static void references_are_read_as_browsers_do(void **state)
{
	(void)state;
	check("<link rel=stylesheet href=' \n/a b\\c\td\"{'>",
	    "1/0 https://a.example/a%20b/cd%22%7B style|");
	check("<link rel=stylesheet href='/a%2e/b'><link rel=stylesheet href=http:b>"
	      "<link rel=stylesheet href=data:,><link rel=stylesheet href=//1.2/>"
	      "<link rel=stylesheet href=//u@b.example/>",
	    "");
}

static void folders_and_hosts_are_resolved_in_either_way(void **state)
{
	(void)state;
	check("<link rel=stylesheet href=../a><link rel=stylesheet href=../../b/../c>"
	      "<link rel=stylesheet href=./d><link rel=stylesheet href=e//f?../g>"
	      "<link rel=stylesheet href='?h'>",
	    "1/0 https://a.example/a style|1/0 https://a.example/c style|"
	    "1/0 https://a.example/d/d style|1/0 https://a.example/d/e//f?../g style|"
	    "1/0 https://a.example/d/p?h style|");
	check("<link rel=stylesheet href=..//b.example/c><link rel=stylesheet href=.//d>"
	      "<link rel=stylesheet href=../..//e>",
	    "1/0 https://a.example//b.example/c style|1/0 https://a.example/d//d style|"
	    "1/0 https://a.example//e style|");
	check("<link rel=stylesheet href=https://B.example:443/a><link rel=stylesheet "
	      "href=http://a.example/../b><link rel=stylesheet href=https://b.example?c>"
	      "<link rel=stylesheet href=https://a.example//d>",
	    "1/0 https://b.example/a style|1/0 http://a.example/b style|"
	    "1/0 https://b.example/?c style|1/0 https://a.example//d style|");
	check("<base href=/x/./y/><link rel=stylesheet href=../a>",
	    "1/0 https://a.example/x/a style|");
	check("<base href=//x/y/><link rel=stylesheet href=../../../a>", "1/0 https://x/a style|");
}

static void tags_end_where_the_standard_says(void **state)
{
	(void)state;
	check_state("<meta \"a>\"<link rel=stylesheet href=a>", MARKUP_ENDED, "");
	check_state("<meta =\">\"<link rel=stylesheet href=a>", MARKUP_ENDED, "");
	check("<meta a=b/><meta a = '>' b>\n<link rel=stylesheet =x href==/a>",
	    "1/0 https://a.example/d/=/a style|");
	check(
	    "<meta a='>'/ =b>\n<link rel=stylesheet =x href='/a'=b><link/rel=stylesheet/href=/b/>",
	    "1/0 https://a.example/a style|");
	check("<link/ rel=stylesheet a/href=/b/>", "1/0 https://a.example/b/ style|");
}

static void the_first_attribute_of_a_name_counts(void **state)
{
	(void)state;
	check("<link REL='stylesheet'/href=/no rel=preload HREF = \"/a\"href=/b>",
	    "1/0 https://a.example/no style|");
}

static void scripts_end_where_the_standard_says(void **state)
{
	(void)state;
	check("<script><!--<script></script><link rel=stylesheet href=a>--></script>"
	      "<script></scripty></script x><link rel=stylesheet href=b>",
	    "1/0 https://a.example/d/b style|");
}

static void a_byte_order_mark_is_no_text(void **state)
{
	(void)state;
	check("\xef\xbb\xbf<link rel=stylesheet href=a>", "1/0 https://a.example/d/a style|");
	check_state("\xef\xbb<link rel=stylesheet href=a>", MARKUP_ENDED, "");
	check_state("\xff\xfe<link rel=stylesheet href=a>", MARKUP_ENDED, "");
}

/* `count` times `text`, and then `end`. */
static struct slice repeated(const char *text, unsigned count, const char *end)
{
	size_t length = strlen(text);
	char *all = malloc(length * count + strlen(end) + 1);
	assert_non_null(all);
	for (unsigned i = 0; i < count; i++)
		memcpy(all + i * length, text, length);
	strcpy(all + length * count, end);
	return slice_of(all, length * count + strlen(end));
}

static void reading_is_bounded(void **state)
{
	(void)state;
	static const char link[] = "<link rel=stylesheet href=a>";
	struct list list;
	struct slice text = repeated("<!--x-->", LIMIT_MARKUP_BYTES / 8, link);
	assert_int_equal(read_in(text, 1000, &list), MARKUP_AT_LIMIT);
	assert_int_equal(list.count, 0);
	free((void *)text.ptr);
	text = repeated(link, LIMIT_MARKUP_RESOURCES + 1, "");
	assert_int_equal(read_in(text, 1000, &list), MARKUP_TOO_MANY);
	assert_int_equal(list.count, LIMIT_MARKUP_RESOURCES);
	free((void *)text.ptr);
	text = repeated("x", LIMIT_MARKUP_TAG_BYTES, "'><link rel=stylesheet href=b>");
	struct markup_head *head = markup_head_new(&page, (struct markup_sink){note, &list});
	list.length = list.count = 0;
	markup_head_read(head, SLICE("<link rel=stylesheet href=a media='"));
	assert_int_equal(markup_head_read(head, text), MARKUP_READS);
	assert_string_equal(list.text, "1/0 https://a.example/d/b style|");
	markup_head_free(head);
	free((void *)text.ptr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(links_and_scripts_are_found),
	    cmocka_unit_test(what_no_browser_fetches_is_not_found),
	    cmocka_unit_test(the_body_ends_the_reading),
	    cmocka_unit_test(base_changes_what_follows_it),
	    cmocka_unit_test(character_references_are_decoded),
	    cmocka_unit_test(a_value_is_as_long_as_it_is_decoded),
	    cmocka_unit_test(references_are_read_as_browsers_do),
	    cmocka_unit_test(folders_and_hosts_are_resolved_in_either_way),
	    cmocka_unit_test(tags_end_where_the_standard_says),
	    cmocka_unit_test(the_first_attribute_of_a_name_counts),
	    cmocka_unit_test(scripts_end_where_the_standard_says),
	    cmocka_unit_test(a_byte_order_mark_is_no_text),
	    cmocka_unit_test(reading_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
