/* SPDX-License-Identifier: MIT */
/* Names, types and the reason table. */
#include "tests/unit/policy/offer.h"
#include <ctype.h>

static void every_reason_is_complete_and_found_by_its_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICY_REASON_COUNT; i++) {
		const struct policy_reason *r = policy_reason_table[i];
		assert_int_equal(policy_reason_position(r), i);
		assert_ptr_equal(policy_reason_find(r->code), r); /* so no code is there twice */
		for (const char *c = r->code; *c; c++)
			assert_true(islower((unsigned char)*c) || *c == '-');
		assert_int_equal(r->sentence[strlen(r->sentence) - 1], '.');
		assert_int_equal(r->advice[strlen(r->advice) - 1], '.');
	}
	assert_ptr_equal(
	    policy_reason_table[POLICY_REASON_INDEX_BYTES_CAP], &policy_reason_BYTES_CAP);
	assert_null(policy_reason_find("no-such-code"));
}

static void sources_and_actions_have_names(void **state)
{
	(void)state;
	assert_string_equal(policy_source_name(POLICY_REMEMBERED), "remembered");
	assert_string_equal(policy_action_name(POLICY_HINT_HOLD), "hint+hold");
}

static void paths_tell_types_by_their_ending(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		enum policy_type type;
	} rows[] = {
	    {"/", POLICY_TYPE_DOCUMENT},
	    {"/a/", POLICY_TYPE_DOCUMENT},
	    {"/index.html", POLICY_TYPE_DOCUMENT},
	    {"/a.CSS?x=.js", POLICY_TYPE_STYLE},
	    {"/a.min.js", POLICY_TYPE_SCRIPT},
	    {"/b.woff2", POLICY_TYPE_FONT},
	    {"/b.svg", POLICY_TYPE_IMAGE},
	    {"/b.json", POLICY_TYPE_JSON},
	    {"/b.mp4", POLICY_TYPE_MEDIA},
	    {"/css", POLICY_TYPE_UNKNOWN},
	    {"/a.css/b", POLICY_TYPE_UNKNOWN},
	    {"/a.", POLICY_TYPE_UNKNOWN},
	    {"", POLICY_TYPE_UNKNOWN},
	    {"css", POLICY_TYPE_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_int_equal(policy_type_of_path(slice_of_string(rows[i].path)), rows[i].type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_reason_is_complete_and_found_by_its_code),
	    cmocka_unit_test(sources_and_actions_have_names),
	    cmocka_unit_test(paths_tell_types_by_their_ending),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
