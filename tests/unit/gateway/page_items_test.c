/* SPDX-License-Identifier: MIT */
/* What is remembered of the tags of a page, and of the rules of a stylesheet. */
#include "proxy/gateway/gateway_private.h"
#include "proxy/markup/markup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct http_target page = {
    SLICE_INIT("https"), SLICE_INIT("a.example"), SLICE_INIT("/d/p")};

static enum conf_scripts scripts;

struct text {
	char bytes[4096];
	size_t length;
};

static void note(const struct markup_resource *r, void *context)
{
	static const char *const sources[] = {"link", "head", "style", "asked"};
	static const char *const rels[] = {"preload", "modulepreload", "preconnect"};
	static const char *const crossorigins[] = {"", " anonymous", " credentials"};
	struct text *t = context;
	struct remembered_item items[PAGE_ITEMS_MOST];
	struct arena a;
	arena_init(&a, NULL, 0);
	size_t count = page_items_of(&a, &page, r, scripts, items);
	for (size_t i = 0; i < count; i++)
		t->length += (size_t)snprintf(t->bytes + t->length, sizeof(t->bytes) - t->length,
		    "%s %s %.*s %.*s%s [%.*s]\n", sources[items[i].source], rels[items[i].rel],
		    SLICE_ARG(items[i].target), SLICE_ARG(items[i].as),
		    crossorigins[items[i].crossorigin], SLICE_ARG(items[i].attributes));
	arena_fini(&a);
}

static void check(const char *html, const char *want)
{
	struct text t = {.length = 0};
	struct markup_head *head = markup_head_new(&page, (struct markup_sink){note, &t});
	assert_int_equal(markup_head_read(head, slice_of_string(html)), MARKUP_READS);
	markup_head_free(head);
	assert_string_equal(t.bytes, want);
}

static void check_css(const char *css, const char *want)
{
	struct text t = {.length = 0};
	struct markup_css *reader = markup_css_new(&page, (struct markup_sink){note, &t});
	assert_int_equal(markup_css_read(reader, slice_of_string(css)), MARKUP_READS);
	markup_css_free(reader);
	assert_string_equal(t.bytes, want);
}

static void links_keep_what_a_hint_needs(void **state)
{
	(void)state;
	check("<link rel=stylesheet href=/a.css type=text/css integrity=sha256-x fetchpriority=high>",
	    "head preload /a.css style [fetchpriority=\"high\"; integrity=\"sha256-x\"]\n");
	check("<link rel=preload as=FONT crossorigin type=font/woff2 href=//c.example/f.woff2>",
	    "head preload https://c.example/f.woff2 font anonymous [type=\"font/woff2\"]\n");
	check("<link rel=preload as=image href=b imagesrcset='b 1x, c 2x' imagesizes=1px media='(a)'>",
	    "head preload /d/b image [imagesizes=\"1px\"; imagesrcset=\"b 1x, c 2x\"; media=\"(a)\"]\n");
	check("<link rel=modulepreload href=m.js crossorigin=use-credentials>",
	    "head modulepreload /d/m.js script credentials []\n");
	check("<link rel='preconnect stylesheet' href=https://c.example/x>",
	    "head preconnect https://c.example/x  []\nhead preload https://c.example/x style []\n");
}

static void scripts_that_a_page_waits_for_are_remembered(void **state)
{
	(void)state;
	check("<script src=a.js></script><script src=b.js defer></script><script async src=c.js></script>"
	      "<script type=module defer src=m.js></script><script type=module async src=n.js></script>",
	    "head preload /d/a.js script []\nhead modulepreload /d/m.js script []\n");
	scripts = CONF_SCRIPTS_ALL;
	check("<script src=b.js defer></script><script async type=module src=n.js></script>",
	    "head preload /d/b.js script []\nhead modulepreload /d/n.js script []\n");
	scripts = CONF_SCRIPTS_BLOCKING;
}

static void what_is_in_doubt_is_not_remembered(void **state)
{
	(void)state;
	check("<link rel=stylesheet href=a media=print><link rel=stylesheet href=b media='(x)'>"
	      "<link rel=stylesheet href=c media=' SCREEN'>",
	    "head preload /d/c style []\n");
	check("<script src=a nonce=x></script><link rel=stylesheet href=b nonce=''>", "");
	check("<link rel=preconnect href=https://a.example>", "");
	check("<link rel=preload as=image href=a imagesrcset='a\" 1x'>"
	      "<link rel=preload as=image href=b type='a\\b'>"
	      "<link rel=preload as=abcdefghijklmnopq href=c>",
	    "");
	char long_value[400];
	snprintf(long_value, sizeof(long_value),
	    "<link rel=preload as=image href=a imagesrcset='%0250d'>", 1);
	check(long_value, "");
}

static void stylesheets_name_fonts_and_imports(void **state)
{
	(void)state;
	check_css("@import 'a.css';@import 'b.css' print;@font-face{src:url(/f.woff2)}"
		  "@font-face{src:url(/g.woff2);unicode-range:U+1}",
	    "style preload /d/a.css style []\nstyle preload /f.woff2 font anonymous []\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(links_keep_what_a_hint_needs),
	    cmocka_unit_test(scripts_that_a_page_waits_for_are_remembered),
	    cmocka_unit_test(what_is_in_doubt_is_not_remembered),
	    cmocka_unit_test(stylesheets_name_fonts_and_imports),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
