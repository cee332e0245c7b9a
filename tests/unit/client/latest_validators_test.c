/* SPDX-License-Identifier: MIT */
/* The latest validators of resources: what replaces one, and which responses count. */
#include "proxy/gateway/gateway_private.h"
#include "tests/unit/http/heads.h"

#define KEY UINT64_C(77)
/* All in one set. */
#define KEY_OF_SET(i) (KEY + ((uint64_t)(i) << 32))
#define OTHER_KEY KEY_OF_SET(1)

enum { FIRST = 1, SECOND, THIRD };
enum { ANY_CODING, BR, GZIP };

/* Learns a response with this validator and the field `more`; takes the request. */
static bool learn(struct latest_validators *l, uint64_t key, uint32_t coding, uint32_t validator,
    struct http_head *request, const char *more)
{
	struct http_head *response = RESPONSE("etag: \"any\"", more);
	bool is_learned = latest_validators_learn(l, key, coding, validator, request, response);
	http_head_free(request);
	http_head_free(response);
	return is_learned;
}

/* The same with a plain request and no further field. */
static bool learn_plain(struct latest_validators *l, uint64_t key, uint32_t validator)
{
	return learn(l, key, ANY_CODING, validator, BARE_REQUEST(), "x: y");
}

#define UNKNOWN UINT32_MAX

static uint32_t found(const struct latest_validators *l, uint64_t key, uint32_t coding)
{
	uint32_t validator;
	return latest_validators_find(l, key, coding, &validator) ? validator : UNKNOWN;
}

static void latest_validator_replaces_the_one_before(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	assert_int_equal(found(&l, KEY, ANY_CODING), UNKNOWN);
	assert_true(learn_plain(&l, KEY, FIRST));
	assert_true(learn_plain(&l, KEY, FIRST));
	assert_int_equal(found(&l, KEY, ANY_CODING), FIRST);
	assert_true(learn_plain(&l, KEY, SECOND));
	assert_int_equal(found(&l, KEY, ANY_CODING), SECOND);
	latest_validators_fini(&l);
}

static void response_without_a_validator_takes_no_slot(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	assert_false(learn_plain(&l, KEY, 0));
	assert_null(l.entries);
	learn_plain(&l, KEY, FIRST);
	assert_false(learn_plain(&l, OTHER_KEY, 0));
	assert_int_equal(found(&l, KEY, ANY_CODING), FIRST);
	assert_int_equal(found(&l, OTHER_KEY, ANY_CODING), UNKNOWN);
	latest_validators_fini(&l);
}

static void resource_that_has_lost_its_validator_is_known_to_have_none(void **state)
{
	(void)state;
	static const char *const fields[] = {"x: y", "cache-control: no-store", "cache-control: no-cache"};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct latest_validators l = {0};
		learn_plain(&l, KEY, FIRST);
		assert_false(learn(&l, KEY, ANY_CODING, 0, BARE_REQUEST(), fields[i]));
		assert_int_equal(found(&l, KEY, ANY_CODING), 0);
		assert_true(learn_plain(&l, KEY, SECOND));
		latest_validators_fini(&l);
	}
}

/* Keys of one set: the four that were learned last are there. */
static void newer_key_replaces_the_one_that_was_learned_longest_ago(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	for (unsigned i = 0; i < 4; i++)
		learn_plain(&l, KEY_OF_SET(i), FIRST);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(found(&l, KEY_OF_SET(i), ANY_CODING), FIRST);
	learn_plain(&l, KEY_OF_SET(0), SECOND);
	learn_plain(&l, KEY_OF_SET(4), THIRD);
	assert_int_equal(found(&l, KEY_OF_SET(0), ANY_CODING), SECOND);
	assert_int_equal(found(&l, KEY_OF_SET(1), ANY_CODING), UNKNOWN);
	assert_int_equal(found(&l, KEY_OF_SET(2), ANY_CODING), FIRST);
	assert_int_equal(found(&l, KEY_OF_SET(3), ANY_CODING), FIRST);
	assert_int_equal(found(&l, KEY_OF_SET(4), ANY_CODING), THIRD);
	latest_validators_fini(&l);
}

static void private_and_varying_responses_are_not_learned(void **state)
{
	(void)state;
	static const char *const fields[] = {
	    "cache-control: private", "cache-control: no-store", "vary: cookie", "vary: *"};
	struct latest_validators l = {0};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		assert_false(learn(&l, KEY, ANY_CODING, SECOND, BARE_REQUEST(), fields[i]));
		assert_int_equal(found(&l, KEY, ANY_CODING), UNKNOWN);
		/* Nor is the version of all the latest one of this client's. */
		learn_plain(&l, KEY, FIRST);
		assert_true(learn(&l, KEY, ANY_CODING, FIRST, BARE_REQUEST(), fields[i]));
		assert_int_equal(found(&l, KEY, ANY_CODING), FIRST);
		assert_false(learn(&l, KEY, ANY_CODING, SECOND, BARE_REQUEST(), fields[i]));
		assert_int_equal(found(&l, KEY, ANY_CODING), UNKNOWN);
	}
	assert_false(
	    learn(&l, KEY, ANY_CODING, SECOND, REQUEST("authorization: Basic eA=="), "x: y"));
	assert_true(learn(&l, KEY, ANY_CODING, SECOND, BARE_REQUEST(), "vary: Accept-Encoding"));
	latest_validators_fini(&l);
}

static void all_fields_of_vary_count(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	struct http_head *request = BARE_REQUEST(),
			 *two = RESPONSE("vary: accept-encoding", "vary: cookie"),
			 *same = RESPONSE("vary: accept-encoding , ", "vary: Accept-Encoding");
	assert_false(latest_validators_learn(&l, KEY, ANY_CODING, FIRST, request, two));
	assert_int_equal(found(&l, KEY, ANY_CODING), UNKNOWN);
	assert_true(latest_validators_learn(&l, KEY, ANY_CODING, FIRST, request, same));
	http_head_free(request);
	http_head_free(two);
	http_head_free(same);
	latest_validators_fini(&l);
}

static void client_that_stores_nothing_takes_the_validator_from_nobody(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	learn_plain(&l, KEY, FIRST);
	assert_false(learn(&l, KEY, ANY_CODING, 0, REQUEST("cache-control: no-store"), "x: y"));
	assert_int_equal(found(&l, KEY, ANY_CODING), FIRST);
	latest_validators_fini(&l);
}

static void each_coding_has_its_own(void **state)
{
	(void)state;
	struct latest_validators l = {0};
	learn(&l, KEY, BR, FIRST, BARE_REQUEST(), "vary: accept-encoding");
	learn(&l, KEY, GZIP, SECOND, BARE_REQUEST(), "vary: accept-encoding");
	assert_int_equal(found(&l, KEY, BR), FIRST);
	assert_int_equal(found(&l, KEY, GZIP), SECOND);
	assert_int_equal(found(&l, KEY, ANY_CODING), UNKNOWN);
	latest_validators_fini(&l);
}

static void coding_is_the_requests_else_its_parents(void **state)
{
	(void)state;
	struct http_head *bare = BARE_REQUEST(), *br = REQUEST("accept-encoding: br"),
			 *gzip = REQUEST("accept-encoding: gzip");
	assert_int_equal(latest_validators_coding(bare, NULL), 0);
	assert_int_equal(latest_validators_coding(bare, bare), 0);
	assert_int_not_equal(latest_validators_coding(br, NULL), 0);
	assert_int_equal(latest_validators_coding(bare, br), latest_validators_coding(br, gzip));
	assert_int_not_equal(
	    latest_validators_coding(br, NULL), latest_validators_coding(gzip, NULL));
	http_head_free(bare);
	http_head_free(br);
	http_head_free(gzip);
}

static void validator_is_the_opaque_tag_else_last_modified(void **state)
{
	(void)state;
	struct http_head *none = BARE_RESPONSE(), *weak = RESPONSE("etag: W/\"a\""),
			 *strong = RESPONSE("etag: \"a\"", "last-modified: x"),
			 *dated = RESPONSE("last-modified: x"), *later = RESPONSE("last-modified: y");
	assert_int_equal(latest_validator_of(none), 0);
	assert_int_not_equal(latest_validator_of(strong), 0);
	assert_int_equal(latest_validator_of(weak), latest_validator_of(strong));
	assert_int_not_equal(latest_validator_of(dated), 0);
	assert_int_not_equal(latest_validator_of(dated), latest_validator_of(later));
	http_head_free(none);
	http_head_free(weak);
	http_head_free(strong);
	http_head_free(dated);
	http_head_free(later);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(latest_validator_replaces_the_one_before),
	    cmocka_unit_test(response_without_a_validator_takes_no_slot),
	    cmocka_unit_test(resource_that_has_lost_its_validator_is_known_to_have_none),
	    cmocka_unit_test(newer_key_replaces_the_one_that_was_learned_longest_ago),
	    cmocka_unit_test(private_and_varying_responses_are_not_learned),
	    cmocka_unit_test(all_fields_of_vary_count),
	    cmocka_unit_test(client_that_stores_nothing_takes_the_validator_from_nobody),
	    cmocka_unit_test(each_coding_has_its_own),
	    cmocka_unit_test(coding_is_the_requests_else_its_parents),
	    cmocka_unit_test(validator_is_the_opaque_tag_else_last_modified),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
