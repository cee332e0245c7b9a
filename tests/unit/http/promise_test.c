/* SPDX-License-Identifier: MIT */
/* Promised requests and hints of our own making. */
#include "proxy/http/promise.h"
#include "tests/unit/http/heads.h"

struct rig {
	struct http_head *parent;
	struct http_resource css;
};

static int rig_up(void **state)
{
	static struct rig r;
	start(state);
	r.parent = decoded(LINES(":method: GET", ":scheme: https", ":authority: example.com",
	    ":path: /page?x=1", "user-agent: test/1", "accept: text/html",
	    "accept-encoding: br, gzip", "accept-language: de", "cookie: a=1", "cookie: b=2",
	    "authorization: Basic eA==", "range: bytes=0-1", "if-none-match: \"x\"",
	    "expect: 100-continue", "priority: u=1", "sec-fetch-mode: navigate"));
	if (http_head_validate(r.parent, HTTP_REQUEST))
		return 1;
	r.css = (struct http_resource){
	    .target = {SLICE("https"), SLICE("example.com"), SLICE("/a.css?v=2")},
	    .as = SLICE("style")};
	*state = &r;
	return 0;
}

static int rig_down(void **state)
{
	struct rig *r = *state;
	http_head_free(r->parent);
	return stop(state);
}

static void promise_has_what_selects_the_variant_and_nothing_else(void **state)
{
	struct rig *r = *state; /* covers: R79 P-make-request-fields */
	struct http_head *h = http_promise_make(r->parent, &r->css, false);
	assert_non_null(h);
	assert_int_equal(h->method_token, HTTP_METHOD_GET);
	assert_slice(h->scheme, "https");
	assert_slice(h->authority, "example.com");
	assert_slice(h->path, "/a.css?v=2");
	assert_slice(http_head_find(h, HTTP_TOKEN_ACCEPT)->value, "text/css,*/*;q=0.1");
	assert_slice(http_head_find(h, HTTP_TOKEN_ACCEPT_ENCODING)->value, "br, gzip");
	assert_slice(http_head_find(h, HTTP_TOKEN_ACCEPT_LANGUAGE)->value, "de");
	assert_slice(http_head_find(h, HTTP_TOKEN_USER_AGENT)->value, "test/1");
	assert_int_equal(h->count, 4);
	http_head_free(h);
}

static void cookies_go_along_only_where_asked(void **state)
{
	struct rig *r = *state;
	struct http_head *h = http_promise_make(r->parent, &r->css, true);
	assert_int_equal(h->count, 6);
	assert_slice(h->fields[4].value, "a=1");
	assert_slice(h->fields[5].value, "b=2");
	http_head_free(h);
}

static void unknown_destination_accepts_anything(void **state)
{
	struct rig *r = *state;
	r->css.as = SLICE("fetch");
	struct http_head *h = http_promise_make(r->parent, &r->css, false);
	assert_slice(http_head_find(h, HTTP_TOKEN_ACCEPT)->value, "*/*");
	http_head_free(h);
}

static void target_that_is_no_request_gives_none(void **state)
{
	struct rig *r = *state;
	r->css.target.path = SLICE("no-slash");
	assert_null(http_promise_make(r->parent, &r->css, false));
	r->css.target.path = SLICE("/a b");
	assert_null(http_promise_make(r->parent, &r->css, false));
	assert_int_equal(http_head_pool_out(pool), 1);
}

static void hint_names_the_resource_and_how_it_is_wanted(void **state)
{
	struct rig *r = *state;
	struct arena a;
	arena_init(&a, NULL, 0);
	assert_slice(http_hint_make(&a, r->parent, &r->css), "</a.css?v=2>; rel=preload; as=style");
	r->css.type = SLICE("text/css");
	r->css.has_crossorigin = true;
	r->css.fetchpriority = SLICE("high");
	r->css.media = SLICE("(min-width: 600px)");
	assert_slice(http_hint_make(&a, r->parent, &r->css),
	    "</a.css?v=2>; rel=preload; as=style; type=\"text/css\"; crossorigin; "
	    "fetchpriority=high; media=\"(min-width: 600px)\"");
	r->css.media = SLICE("print");
	r->css.crossorigin = SLICE("use-credentials");
	r->css.type = SLICE("a\"b");
	r->css.target.authority = SLICE("cdn.example.com");
	r->css.is_module = true;
	assert_slice(http_hint_make(&a, r->parent, &r->css),
	    "<https://cdn.example.com/a.css?v=2>; rel=modulepreload; as=style; "
	    "crossorigin=use-credentials; "
	    "fetchpriority=high; media=print");
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		promise_has_what_selects_the_variant_and_nothing_else, rig_up, rig_down),
	    cmocka_unit_test_setup_teardown(cookies_go_along_only_where_asked, rig_up, rig_down),
	    cmocka_unit_test_setup_teardown(unknown_destination_accepts_anything, rig_up, rig_down),
	    cmocka_unit_test_setup_teardown(target_that_is_no_request_gives_none, rig_up, rig_down),
	    cmocka_unit_test_setup_teardown(
		hint_names_the_resource_and_how_it_is_wanted, rig_up, rig_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
