/* SPDX-License-Identifier: MIT */
/* The last and former ETags of resources: what counts as a change, and which responses count. */
#include "proxy/gateway/private.h"
#include "tests/unit/http/heads.h"

#define KEY UINT64_C(77)
/* Has the same slot as KEY. */
#define OTHER_KEY (KEY + (UINT64_C(1) << 32))

enum { FIRST = 1, SECOND, THIRD };

/* Learns a response with this ETag and the field `more`; takes the request. */
static void learn(
    struct latest_etags *e, uint64_t key, uint32_t etag, struct http_head *request, const char *more)
{
	struct http_head *response = RESPONSE("etag: \"any\"", more);
	latest_etags_learn(e, key, etag, request, response);
	http_head_free(request);
	http_head_free(response);
}

/* The same with a plain request and no further field. */
static void learn_plain(struct latest_etags *e, uint64_t key, uint32_t etag)
{
	learn(e, key, etag, BARE_REQUEST(), "x: y");
}

/* Takes both heads. */
static uint32_t former(
    const struct latest_etags *e, uint64_t key, struct http_head *promised, struct http_head *parent)
{
	uint32_t etag = latest_etags_former(e, key, promised, parent);
	http_head_free(promised);
	http_head_free(parent);
	return etag;
}

static uint32_t former_plain(const struct latest_etags *e, uint64_t key)
{
	return former(e, key, BARE_REQUEST(), BARE_REQUEST());
}

static void former_etag_is_returned_after_a_change(void **state)
{
	(void)state;
	struct latest_etags e = {0};
	assert_int_equal(former_plain(&e, KEY), 0);
	learn_plain(&e, KEY, FIRST);
	learn_plain(&e, KEY, FIRST);
	assert_int_equal(former_plain(&e, KEY), 0);
	learn_plain(&e, KEY, SECOND);
	assert_int_equal(former_plain(&e, KEY), FIRST);
	learn_plain(&e, KEY, SECOND);
	assert_int_equal(former_plain(&e, KEY), FIRST);
	learn_plain(&e, KEY, THIRD);
	assert_int_equal(former_plain(&e, KEY), SECOND);
	latest_etags_fini(&e);
}

static void responses_without_an_etag_take_no_memory(void **state)
{
	(void)state;
	struct latest_etags e = {0};
	learn_plain(&e, KEY, 0);
	assert_null(e.entries);
	latest_etags_fini(&e);
}

static void newer_key_replaces_the_one_in_its_slot(void **state)
{
	(void)state;
	struct latest_etags e = {0};
	learn_plain(&e, KEY, FIRST);
	learn_plain(&e, KEY, SECOND);
	learn_plain(&e, OTHER_KEY, THIRD); /* another resource: its ETag has no former one */
	assert_int_equal(former_plain(&e, KEY), 0);
	assert_int_equal(former_plain(&e, OTHER_KEY), 0);
	learn_plain(&e, KEY, THIRD);
	assert_int_equal(former_plain(&e, KEY), 0);
	latest_etags_fini(&e);
}

static void private_and_varying_responses_are_ignored(void **state)
{
	(void)state;
	static const char *const fields[] = {
	    "cache-control: private", "cache-control: no-store", "vary: cookie", "vary: *"};
	struct latest_etags e = {0};
	learn_plain(&e, KEY, FIRST);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		learn(&e, KEY, SECOND, BARE_REQUEST(), fields[i]);
	learn(&e, KEY, SECOND, REQUEST("authorization: Basic eA=="), "x: y");
	assert_int_equal(former_plain(&e, KEY), 0);
	learn(&e, KEY, SECOND, BARE_REQUEST(), "vary: Accept-Encoding");
	assert_int_equal(former_plain(&e, KEY), FIRST);
	latest_etags_fini(&e);
}

static void each_coding_has_its_own(void **state)
{
	(void)state;
	struct latest_etags e = {0};
	learn(&e, KEY, FIRST, REQUEST("accept-encoding: br"), "vary: accept-encoding");
	learn(&e, KEY, SECOND, REQUEST("accept-encoding: br"), "vary: accept-encoding");
	learn(&e, KEY, THIRD, REQUEST("accept-encoding: gzip"), "vary: accept-encoding");
	assert_int_equal(former_plain(&e, KEY), 0);
	assert_int_equal(former(&e, KEY, REQUEST("accept-encoding: br"), BARE_REQUEST()), FIRST);
	/* The promised request does not say, its parent does. */
	assert_int_equal(former(&e, KEY, BARE_REQUEST(), REQUEST("accept-encoding: br")), FIRST);
	assert_int_equal(
	    former(&e, KEY, REQUEST("accept-encoding: gzip"), REQUEST("accept-encoding: br")), 0);
	latest_etags_fini(&e);
}

static void etag_hash_uses_only_the_opaque_tag(void **state)
{
	(void)state;
	struct http_head *none = BARE_RESPONSE(), *weak = RESPONSE("etag: W/\"a\""),
			 *strong = RESPONSE("etag: \"a\"");
	assert_int_equal(latest_etag_of(none), 0);
	assert_int_not_equal(latest_etag_of(strong), 0);
	assert_int_equal(latest_etag_of(weak), latest_etag_of(strong));
	http_head_free(none);
	http_head_free(weak);
	http_head_free(strong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(former_etag_is_returned_after_a_change),
	    cmocka_unit_test(responses_without_an_etag_take_no_memory),
	    cmocka_unit_test(newer_key_replaces_the_one_in_its_slot),
	    cmocka_unit_test(private_and_varying_responses_are_ignored),
	    cmocka_unit_test(each_coding_has_its_own),
	    cmocka_unit_test(etag_hash_uses_only_the_opaque_tag),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
