/* SPDX-License-Identifier: MIT */
/* What rules ask of a client's certificate. */
#include "proxy/base/client_certificate.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void copies_live_as_long_as_somebody_holds_them(void **state)
{
	(void)state;
	char names[] = "cn:a\nsubject:CN=a\n";
	struct client_certificate *c =
	    client_certificate_new(slice_of_string(names), SLICE(":YQ==:"), SLICE(""));
	names[0] = 'x';
	assert_ptr_equal(client_certificate_hold(c), c);
	client_certificate_release(c);
	assert_true(slice_equal(client_certificate_name(c, SLICE("cn:")), SLICE("a")));
	assert_true(slice_equal(client_certificate_name(c, SLICE("subject:")), SLICE("CN=a")));
	assert_int_equal(client_certificate_name(c, SLICE("dns:")).len, 0);
	assert_int_equal(client_certificate_name(NULL, SLICE("cn:")).len, 0);
	assert_true(slice_equal(c->leaf, SLICE(":YQ==:")));
	assert_int_equal(c->chain.len, 0);
	client_certificate_release(c);
	assert_null(client_certificate_hold(NULL));
	client_certificate_release(NULL);
}

static void a_pattern_takes_a_whole_name(void **state)
{
	(void)state;
	static const struct client_certificate c = {
	    .names = SLICE_INIT("subject:CN=a,O=dns:b\ncn:a\nuri:spiffe://x/y\n")};
	static const struct {
		const char *pattern;
		bool takes;
	} rows[] = {{"cn:a", true}, {"cn:A", false}, {"cn:", false}, {"cn:?", true}, {"cn:*", true}, {"n:a", false},
	    {"*", true}, {"dns:b", false}, {"dns:*", false}, {"subject:CN=a,*", true}, {"subject:CN=a", false},
	    {"uri:spiffe://x/*", true}, {"uri:*cn:a*", false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct slice two[] = {SLICE("cn:nobody"), slice_of_string(rows[i].pattern)};
		if (client_certificate_is_among(&c, two, 2) != rows[i].takes)
			fail_msg("%s", rows[i].pattern);
		assert_false(client_certificate_is_among(&c, two, 1));
		assert_false(client_certificate_is_among(NULL, two, 2));
	}
}

static void a_pattern_names_a_known_kind(void **state)
{
	(void)state;
	static const char *const good[] = {"*", "cn:a", "dns:*.a", "email:a@b", "uri:*", "ip:192.0.2.*",
	    "subject:CN=a", "issuer:*", "sha256:0*"};
	static const char *const bad[] = {"", "a", "cn:", "CN:a", "cn=a", "ou:x", "**", "*cn:a"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(client_certificate_pattern_is_valid(slice_of_string(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(client_certificate_pattern_is_valid(slice_of_string(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_live_as_long_as_somebody_holds_them),
	    cmocka_unit_test(a_pattern_takes_a_whole_name),
	    cmocka_unit_test(a_pattern_names_a_known_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
