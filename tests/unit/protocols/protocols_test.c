/* SPDX-License-Identifier: MIT */
/* The list of protocols: which one a connection has, and what each of them is given to work with. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/scripted_session.h"

#include <stdlib.h>

/* Two protocols whose first bytes begin alike: "shared one\n" and "shared two\n". */
static enum protocols_match match_text(const char *text, const uint8_t *bytes, size_t n)
{
	size_t most = strlen(text), compared = n < most ? n : most;
	if (memcmp(bytes, text, compared) != 0)
		return PROTOCOLS_MATCH_NO;
	return n < most ? PROTOCOLS_MATCH_MORE : PROTOCOLS_MATCH_YES;
}

static enum protocols_match match_one(const uint8_t *bytes, size_t n)
{
	return match_text("shared one\n", bytes, n);
}

static enum protocols_match match_two(const uint8_t *bytes, size_t n)
{
	return match_text("shared two\n", bytes, n);
}

static const char *one_fault(size_t row)
{
	return row == 0 ? "only" : NULL;
}

/* A configuration that shows what it was made of. */
static void *config_of(char role)
{
	char *config = malloc(1);
	assert_non_null(config);
	*config = role;
	return config;
}

static void *for_clients(const struct conf_listen *conf)
{
	assert_non_null(conf);
	return config_of('c');
}

static void *for_origin(const struct conf_origin *conf, bool push)
{
	assert_non_null(conf);
	return config_of(push ? 'p' : 'o');
}

static const struct session_protocol one = {.alpn = "one",
    .name = "One",
    .fault_name = one_fault,
    .match = match_one,
    .for_clients = for_clients,
    .for_origin = for_origin};
static const struct session_protocol two = {.alpn = "two",
    .name = "Two",
    .fault_name = one_fault,
    .match = match_two,
    .for_clients = for_clients,
    .for_origin = for_origin};
static const struct session_protocol *const both[] = {&one, &two, NULL};
static const struct session_protocol *const none[] = {NULL};

static struct session_plan *plans_new(const struct session_protocol *const *protocols)
{
	static const struct conf_listen conf = {.protocols = CONF_HTTP2 | CONF_HTTP1};
	return protocols_plans_for_clients(protocols, &conf);
}

static const struct session_protocol *matched(
    const struct session_plan *plans, const char *text, size_t n, bool *more)
{
	const struct session_plan *plan = protocols_match(plans, (const uint8_t *)text, n, more);
	return plan ? plan->protocol : NULL;
}

/* ---- by first bytes ---- */

static void protocols_with_a_shared_prefix_are_told_apart_by_the_byte_that_differs(void **state)
{
	(void)state;
	struct session_plan *plans = plans_new(both);
	static const char *const texts[] = {"shared one\n", "shared two\n"};
	bool more;
	for (size_t i = 0; i < 2; i++) {
		for (size_t n = 0; n < strlen(texts[i]); n++) {
			assert_null(matched(plans, texts[i], n, &more));
			assert_true(more);
		}
		assert_ptr_equal(matched(plans, texts[i], strlen(texts[i]), &more), both[i]);
		assert_false(more && i == 0);
	}
	protocols_plans_free(plans);
}

static void bytes_behind_the_first_ones_do_not_matter(void **state)
{
	(void)state;
	struct session_plan *plans = plans_new(both);
	bool more;
	assert_ptr_equal(matched(plans, "shared two\nand more", 19, &more), &two);
	protocols_plans_free(plans);
}

static void first_bytes_of_none_are_refused_at_the_first_that_fits_none(void **state)
{
	(void)state;
	struct session_plan *plans = plans_new(both);
	bool more;
	assert_null(matched(plans, "shared x", 7, &more));
	assert_true(more);
	assert_null(matched(plans, "shared x", 8, &more));
	assert_false(more);
	assert_null(matched(plans, "GET", 3, &more));
	assert_false(more);
	protocols_plans_free(plans);
	plans = plans_new(none);
	assert_null(matched(plans, "", 0, &more));
	assert_false(more);
	protocols_plans_free(plans);
}

static void http2_is_recognised_by_its_preface_and_all_else_is_http1(void **state)
{
	(void)state;
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	struct session_plan *plans = plans_new(protocols_all);
	bool more;
	assert_int_equal(strlen(preface), PROTOCOLS_MATCH_BYTES);
	for (size_t n = 0; n < PROTOCOLS_MATCH_BYTES; n++) {
		char other[PROTOCOLS_MATCH_BYTES];
		assert_null(matched(plans, preface, n, &more));
		assert_true(more);
		memcpy(other, preface, n);
		other[n] = preface[n] == 'x' ? 'y' : 'x';
		assert_ptr_equal(matched(plans, other, n + 1, &more), &protocols_http1);
	}
	assert_ptr_equal(matched(plans, preface, PROTOCOLS_MATCH_BYTES, &more), &protocols_h2);
	protocols_plans_free(plans);
}

/* What the listener does not speak has no plan, and is not agreed on by ALPN. */
static void protocols_are_those_of_the_listener(void **state)
{
	(void)state;
	static const struct {
		uint32_t protocols;
		const struct session_protocol *first, *second;
		const char *alpn;
	} cases[] = {
	    {CONF_HTTP2, &protocols_h2, NULL, "h2"},
	    {CONF_HTTP1, &protocols_http1, NULL, "http/1.1"},
	    {CONF_HTTP2 | CONF_HTTP1, &protocols_h2, &protocols_http1, "h2,http/1.1"},
	};
	for (size_t i = 0; i < 3; i++) {
		char alpn[32];
		struct conf_listen conf = {.protocols = cases[i].protocols};
		struct session_plan *plans = protocols_plans_for_clients(protocols_all, &conf);
		assert_ptr_equal(plans[0].protocol, cases[i].first);
		assert_ptr_equal(plans[1].protocol, cases[i].second);
		protocols_alpn_list(plans, false, alpn, sizeof(alpn));
		assert_string_equal(alpn, cases[i].alpn);
		protocols_plans_free(plans);
	}
}

/* ---- by ALPN ---- */

static void alpn_names_one_protocol_exactly(void **state)
{
	(void)state;
	struct session_plan *plans = plans_new(both);
	assert_ptr_equal(protocols_by_alpn(plans, SLICE("one")), &plans[0]);
	assert_ptr_equal(protocols_by_alpn(plans, SLICE("two")), &plans[1]);
	assert_null(protocols_by_alpn(plans, SLICE("")));
	assert_null(protocols_by_alpn(plans, SLICE("on")));
	assert_null(protocols_by_alpn(plans, SLICE("one1")));
	assert_null(protocols_by_alpn(plans, SLICE("ONE")));
	protocols_plans_free(plans);
}

/* A peer without ALPN speaks HTTP/1.1. */
static void no_alpn_is_http1(void **state)
{
	(void)state;
	struct session_plan *plans = plans_new(protocols_all);
	assert_ptr_equal(protocols_by_alpn(plans, SLICE(""))->protocol, &protocols_http1);
	assert_ptr_equal(protocols_by_alpn(plans, SLICE("http/1.1"))->protocol, &protocols_http1);
	assert_ptr_equal(protocols_by_alpn(plans, SLICE("http/1.0"))->protocol, &protocols_http1);
	assert_null(protocols_by_alpn(plans, SLICE("http/0.9")));
	protocols_plans_free(plans);
}

static void old_alpn_names_are_for_clients(void **state)
{
	(void)state;
	char text[64];
	struct session_plan *plans = plans_new(protocols_all);
	protocols_alpn_list(plans, false, text, sizeof(text));
	assert_string_equal(text, "h2,http/1.1");
	protocols_alpn_list(plans, true, text, sizeof(text));
	assert_string_equal(text, "h2,http/1.1,http/1.0");
	protocols_plans_free(plans);
}

static void the_alpn_list_has_the_preferred_first(void **state)
{
	(void)state;
	char text[16];
	struct session_plan *plans = plans_new(both), *empty = plans_new(none);
	protocols_alpn_list(plans, false, text, sizeof(text));
	assert_string_equal(text, "one,two");
	protocols_alpn_list(empty, false, text, sizeof(text));
	assert_string_equal(text, "");
	protocols_plans_free(plans);
	protocols_plans_free(empty);
}

/* ---- plans ---- */

static void each_protocol_has_a_plan_of_its_own_for_each_use(void **state)
{
	(void)state;
	struct conf_listen *listen = calloc(1, sizeof(*listen));
	struct conf_origin *origin = calloc(1, sizeof(*origin));
	struct session_plan *plans[] = {protocols_plans_for_clients(both, listen),
	    protocols_plans_for_origin(both, origin, true), protocols_plans_for_origin(both, origin, false)};
	for (size_t i = 0; i < 3; i++) {
		for (size_t j = 0; j < 2; j++) {
			assert_ptr_equal(plans[i][j].protocol, both[j]);
			assert_int_equal(*(const char *)plans[i][j].config, "cpo"[i]);
		}
		assert_null(plans[i][2].protocol);
		protocols_plans_free(plans[i]);
	}
	protocols_plans_free(NULL);
	free(listen);
	free(origin);
}

/* ---- faults ---- */

static void the_faults_of_all_protocols_are_one_table(void **state)
{
	(void)state;
	static const struct session_protocol *const three[] = {&one, &protocols_h2, &two, NULL};
	static const struct session_protocol *const h2_alone[] = {&protocols_h2, NULL};
	struct session_plan *plans = plans_new(three);
	size_t h2 = protocols_fault_count(h2_alone), all = protocols_fault_count(protocols_all);
	assert_int_equal(plans[0].first_fault, 0);
	assert_int_equal(plans[1].first_fault, 1);
	assert_int_equal(plans[2].first_fault, 1 + h2);
	assert_int_equal(protocols_fault_count(three), 2 + h2);
	assert_int_equal(protocols_fault_count(none), 0);
	for (size_t i = 0; i < h2; i++)
		assert_string_equal(protocols_fault_name(i), protocols_h2.fault_name(i));
	for (size_t i = h2; i < all; i++)
		assert_string_equal(protocols_fault_name(i), protocols_http1.fault_name(i - h2));
	assert_null(protocols_fault_name(all));
	protocols_plans_free(plans);
}

/* ---- none of them ---- */

static void the_refusal_names_all_protocols(void **state)
{
	(void)state;
	char text[PROTOCOLS_REFUSAL_BYTES];
	struct session_plan *plans = plans_new(both);
	size_t n = protocols_refusal(plans, text, sizeof(text));
	assert_int_equal(n, strlen(text));
	assert_string_equal(text, "HTTP/1.1 505 HTTP Version Not Supported\r\n"
				  "content-type: text/plain\r\n"
				  "content-length: 31\r\n"
				  "connection: close\r\n\r\n"
				  "This endpoint speaks One, Two.\n");
	protocols_plans_free(plans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(protocols_with_a_shared_prefix_are_told_apart_by_the_byte_that_differs),
	    cmocka_unit_test(bytes_behind_the_first_ones_do_not_matter),
	    cmocka_unit_test(first_bytes_of_none_are_refused_at_the_first_that_fits_none),
	    cmocka_unit_test(http2_is_recognised_by_its_preface_and_all_else_is_http1),
	    cmocka_unit_test(protocols_are_those_of_the_listener),
	    cmocka_unit_test(alpn_names_one_protocol_exactly),
	    cmocka_unit_test(no_alpn_is_http1),
	    cmocka_unit_test(old_alpn_names_are_for_clients),
	    cmocka_unit_test(the_alpn_list_has_the_preferred_first),
	    cmocka_unit_test(each_protocol_has_a_plan_of_its_own_for_each_use),
	    cmocka_unit_test(the_faults_of_all_protocols_are_one_table),
	    cmocka_unit_test(the_refusal_names_all_protocols),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
