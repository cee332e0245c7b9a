/* SPDX-License-Identifier: MIT */
/* Manifests: both forms, how keys are resolved, and how each mistake is told. */
/* covers: P-src-manifest */
#include "proxy/base/memory.h"
#include "proxy/offer/json.h"
#include "proxy/offer/offer.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct parsed {
	struct offer_manifest *manifest;
	char *errors;
	size_t length;
};

static struct parsed parse(const char *text)
{
	struct parsed p = {0};
	FILE *errors = open_memstream(&p.errors, &p.length);
	p.manifest = offer_manifest_parse(slice_of_string(text), "push.json", errors);
	fclose(errors);
	assert_int_equal(p.manifest == NULL, p.length > 0);
	return p;
}

static void done(struct parsed *p)
{
	offer_manifest_free(p->manifest);
	free(p->errors);
}

static void assert_slice(struct slice s, const char *expected)
{
	assert_int_equal(s.len, strlen(expected));
	assert_memory_equal(s.ptr, expected, s.len);
}

static struct offer_manifest_resources find(const struct parsed *p, const char *path)
{
	return offer_manifest_find(p->manifest, slice_of_string(path));
}

static void single_form_belongs_to_every_page_in_its_order(void **state)
{
	(void)state;
	struct parsed p = parse("{\"/css/app.css\": {\"type\": \"style\", \"weight\": 1},\n"
				" \"/js/app.js\": {\"type\": \"script\", \"weight\": 16},\n"
				" \"img/logo.svg\": {\"type\": \"\"}}");
	assert_non_null(p.manifest);
	struct offer_manifest_resources r = find(&p, "/any/page?x=1");
	assert_int_equal(r.count, 3);
	assert_slice(r.list[0].target, "/css/app.css");
	assert_slice(r.list[0].as, "style");
	assert_slice(r.list[1].target, "/js/app.js");
	assert_slice(r.list[1].as, "script");
	assert_slice(r.list[2].target, "/img/logo.svg");
	assert_slice(r.list[2].as, "image");
	assert_int_equal(find(&p, "/").count, 3);
	done(&p);
}

static void multi_form_gives_each_page_its_own(void **state)
{
	(void)state;
	struct parsed p =
	    parse("{\"index.html\": {\"/css/app.css\": {\"type\": \"style\", \"weight\": 1}},"
		  " \"page.html\": {\"/css/page.css\": {\"type\": \"style\"}, \"/a.js\": {}},"
		  " \"bare.html\": {}}");
	assert_non_null(p.manifest);
	assert_int_equal(find(&p, "/index.html").count, 1);
	assert_int_equal(find(&p, "/page.html").count, 2);
	assert_slice(find(&p, "/page.html?q=/x").list[1].as, "script");
	assert_int_equal(find(&p, "/bare.html").count, 0);
	assert_int_equal(find(&p, "/other.html").count, 0);
	assert_int_equal(find(&p, "").count, 0);
	done(&p);
}

static void index_html_is_its_directory(void **state)
{
	(void)state;
	struct parsed p = parse("{\"index.html\": {\"/r.css\": {}}, \"/shop/\": {\"/s.css\": {}}}");
	assert_non_null(p.manifest);
	assert_slice(find(&p, "/").list[0].target, "/r.css");
	assert_slice(find(&p, "/index.html").list[0].target, "/r.css");
	assert_slice(find(&p, "/?a").list[0].target, "/r.css");
	assert_slice(find(&p, "/shop/index.html?b").list[0].target, "/s.css");
	assert_int_equal(find(&p, "/shop").count, 0);
	assert_int_equal(find(&p, "/myindex.html").count, 0);
	done(&p);
}

static void resources_are_resolved_from_their_page(void **state)
{
	(void)state;
	struct parsed p =
	    parse("{\"/a/b/page.html\": {\"c.css\": {}, \"../d.js?v=2\": {}, \"/e.png#f\": {},"
		  " \"https://cdn.example/g.woff2\": {\"crossorigin\": \"anonymous\"},"
		  " \"//CDN.example:443/h.css\": {\"crossorigin\": \"use-credentials\"}}}");
	assert_non_null(p.manifest);
	struct offer_manifest_resources r = find(&p, "/a/b/page.html");
	assert_int_equal(r.count, 5);
	assert_slice(r.list[0].target, "/a/b/c.css");
	assert_slice(r.list[1].target, "/a/d.js?v=2");
	assert_slice(r.list[2].target, "/e.png");
	assert_slice(r.list[3].target, "https://cdn.example/g.woff2");
	assert_slice(r.list[3].as, "font");
	assert_slice(r.list[3].crossorigin, "anonymous");
	assert_slice(r.list[4].target, "https://cdn.example/h.css");
	assert_slice(r.list[4].crossorigin, "use-credentials");
	assert_int_equal(r.list[0].crossorigin.len, 0);
	done(&p);
}

static void an_empty_object_is_a_manifest_of_nothing(void **state)
{
	(void)state;
	struct parsed p = parse("{}");
	assert_non_null(p.manifest);
	assert_int_equal(find(&p, "/").count, 0);
	done(&p);
}

static void properties_that_are_not_known_are_left_alone(void **state)
{
	(void)state;
	struct parsed p = parse(
	    "{\"/a.css\": {\"type\": \"style\", \"note\": [1, {\"x\": null}], \"size\": 3.5}}");
	assert_non_null(p.manifest);
	assert_int_equal(find(&p, "/").count, 1);
	done(&p);
}

static void each_mistake_has_its_line_and_column(void **state)
{
	(void)state;
	static const struct {
		const char *text, *error;
	} rows[] = {
	    {"", "push.json:1:1: is not JSON: '[' or '{' expected near end of file\n"},
	    {"{\"/a\": {},}", "push.json:1:11: is not JSON: string or '}' expected near '}'\n"},
	    {"{\n  \"/a\": x}", "push.json:2:9: is not JSON: invalid token near 'x'\n"},
	    {"{\"/a\": {}, \"/a\": {}}", "push.json:1:"},
	    {"[]", "push.json:1:1: a manifest is an object"},
	    {"{\"/a.css\": {\"type\": \"style\"},\n  \"/b.css\": 7}",
		"push.json:2:3: \"/b.css\" must be an object like"},
	    {"{\"/a.css\": {\"weight\": 257}}",
		"push.json:1:13: \"weight\" must be a whole number"},
	    {"{\"/a.css\": {\"weight\": 1.5}}", "push.json:1:13: \"weight\" must be"},
	    {"{\"/a.css\": {\"weight\": \"1\"}}", "push.json:1:13: \"weight\" must be"},
	    {"{\"/a.css\": {\"weight\": -1}}", "push.json:1:13: \"weight\" must be"},
	    {"{\"p\": {\"/x\": {}, \"/y\":\n {\"weight\" :1, \"type\": \"a b\"}}}",
		"push.json:2:16: \"type\" must be what stands in as="},
	    {"{\"p\": {\"/x\": {\"a\":\"}\\\"{\", \"type\": null}}}",
		"push.json:1:27: \"type\" must be"},
	    {"{\"p\": {\"/x\": {\"crossorigin\": \"yes\"}}}",
		"push.json:1:15: \"crossorigin\" must be"},
	    {"{\"p\": {\"/x\": {}},\n\t\"q\": {\"type\": \"style\"}}",
		"push.json:2:2: \"q\" must be a page, an object of resources"},
	    {"{\"p\": {\"/x\": {}, \"type\": \"style\"}}",
		"push.json:1:18: \"type\" must be an object"},
	    {"{\"p\": {\"/x y\": {}}}", "push.json:1:8: \"/x y\" is no URI reference"},
	    {"{\"p\": {\"\": {}}}", "push.json:1:8: \"\" is no URI reference"},
	    {"{\"p\": {\"#top\": {}}}", "push.json:1:8: \"#top\" is no URI reference"},
	    {"{\"p\": {\"/\xc3\xa4\": {}}}", "push.json:1:8: \"/??\" is no URI reference"},
	    {"{\"p\": {\"ftp://h/x\": {}}}", "push.json:1:8: \"ftp://h/x\" is no URI reference"},
	    {"{\"p\": {\"/a\": {}, \"a\": {}}}",
		"push.json:1:18: \"a\" names a resource that this page has"},
	    {"{\"/\": {\"/a\": {}}, \"index.html\": {\"/b\": {}}}",
		"push.json:1:19: \"index.html\" names a page that is there already"},
	    {"{\"https://h/p\": {\"/a\": {}}}", "push.json:1:2: \"https://h/p\" is no page"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct parsed p = parse(rows[i].text);
		if (strncmp(p.errors, rows[i].error, strlen(rows[i].error)) != 0)
			fail_msg("row %zu: %s", i, p.errors);
		assert_null(p.manifest);
		done(&p);
	}
}

static void every_mistake_is_told_up_to_a_bound(void **state)
{
	(void)state;
	struct parsed p = parse("{\"/a\": {\"weight\": -1, \"type\": 3},\n\"/b\": 1}");
	size_t lines = 0;
	for (const char *c = p.errors; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 3);
	done(&p);

	char text[4096] = "{", *at = text + 1;
	for (int i = 0; i < 100; i++)
		at += sprintf(at, "%s\"/%d\": {\"weight\": -1}", i ? "," : "", i);
	strcpy(at, "}");
	p = parse(text);
	lines = 0;
	for (const char *c = p.errors; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, OFFER_JSON_MISTAKES + 1);
	done(&p);
}

/* n resources of one page, with `pad` bytes of space in front. */
static char *many(size_t n, size_t pad)
{
	char *text = memory_alloc(n * 24 + pad + 16), *at = text;
	memset(at, ' ', pad);
	at += pad;
	at += sprintf(at, "{\"p\": {");
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, "%s\"/r%zu\": {}", i ? "," : "", i);
	strcpy(at, "}}");
	return text;
}

static void a_page_has_at_most_a_thousand_resources(void **state)
{
	(void)state;
	char *text = many(OFFER_MANIFEST_RESOURCES, 0);
	struct parsed p = parse(text);
	assert_non_null(p.manifest);
	assert_int_equal(find(&p, "/p").count, OFFER_MANIFEST_RESOURCES);
	done(&p);
	free(text);
	text = many(OFFER_MANIFEST_RESOURCES + 1, 0);
	p = parse(text);
	assert_string_equal(
	    p.errors, "push.json:1:2: a page has 1001 resources, and 1000 are the most\n");
	done(&p);
	free(text);
}

static void a_manifest_over_a_mebibyte_is_refused(void **state)
{
	(void)state;
	char *text = many(1, OFFER_MANIFEST_BYTES - 18);
	text[OFFER_MANIFEST_BYTES] = '\0';
	assert_true(strlen(text) <= OFFER_MANIFEST_BYTES);
	struct parsed p = parse(text);
	assert_non_null(p.manifest);
	done(&p);
	free(text);
	text = many(1, OFFER_MANIFEST_BYTES);
	p = parse(text);
	assert_string_equal(p.errors, "push.json:1:1: is larger than 1048576 bytes\n");
	done(&p);
	free(text);
}

static void nesting_without_end_is_a_mistake(void **state)
{
	(void)state;
	char *text = memory_alloc(400001);
	memset(text, '[', 400000);
	text[400000] = '\0';
	struct parsed p = parse(text);
	assert_non_null(strstr(p.errors, "is not JSON"));
	done(&p);
	free(text);
}

static void mistakes_keep_what_terminals_obey_out(void **state)
{
	(void)state;
	struct parsed p = parse("{\"p\": {\"\\u001b[2J\\u007f\": {}}}");
	assert_non_null(strstr(p.errors, "\"?[2J?\""));
	assert_null(strchr(p.errors, '\x1b'));
	done(&p);
	p = parse("{\x1b[2J");
	assert_null(p.manifest);
	assert_null(strchr(p.errors, '\x1b'));
	done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(single_form_belongs_to_every_page_in_its_order),
	    cmocka_unit_test(multi_form_gives_each_page_its_own),
	    cmocka_unit_test(index_html_is_its_directory),
	    cmocka_unit_test(resources_are_resolved_from_their_page),
	    cmocka_unit_test(an_empty_object_is_a_manifest_of_nothing),
	    cmocka_unit_test(properties_that_are_not_known_are_left_alone),
	    cmocka_unit_test(each_mistake_has_its_line_and_column),
	    cmocka_unit_test(every_mistake_is_told_up_to_a_bound),
	    cmocka_unit_test(a_page_has_at_most_a_thousand_resources),
	    cmocka_unit_test(a_manifest_over_a_mebibyte_is_refused),
	    cmocka_unit_test(nesting_without_end_is_a_mistake),
	    cmocka_unit_test(mistakes_keep_what_terminals_obey_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
