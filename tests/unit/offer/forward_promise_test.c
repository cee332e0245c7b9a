/* SPDX-License-Identifier: MIT */
/* What an origin may promise through a forward proxy, by scheme, authority and certificate. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/offer/offer.h"

#include <string.h>

static char asked_for[300]; /* the last host that the certificate was looked at for */

static bool covers(const struct exchange *parent, struct slice host)
{
	(void)parent;
	snprintf(asked_for, sizeof(asked_for), "%.*s", SLICE_ARG(host));
	return !slice_equal(host, SLICE("other.example"));
}

static bool may_reach(const struct exchange *parent, const struct request_facts *asked, struct effort *effort)
{
	(void)parent, (void)asked, (void)effort;
	return true;
}

static const struct offer_promiser promiser = {.covers = covers, .may_reach = may_reach};

static struct http_head *request(struct http_head_pool *heads, const char *scheme, const char *authority)
{
	struct http_head *head = http_head_new(heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), slice_of_string(scheme));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	return head;
}

/* covers: P-fwd-own P-fwd-certificate */
static void origin_speaks_for_the_authority_of_its_request(void **state)
{
	(void)state;
	static const struct {
		const char *scheme, *parent, *promised_scheme, *promised;
		const char *authority; /* of the promise afterwards; NULL: it is refused */
	} rows[] = {
	    {"https", "a.example", "https", "a.example", "a.example"},
	    {"https", "a.example", "HTTPS", "A.example", "a.example"},
	    {"https", "a.example", "https", "a.example:443", "a.example"},
	    {"https", "a.example:443", "https", "a.example.", "a.example:443"},
	    {"https", "a.example:8443", "https", "a.example:8443", "a.example:8443"},
	    {"https", "a.example:8443", "https", "a.example", NULL},
	    {"https", "a.example", "http", "a.example", NULL},
	    {"http", "a.example", "https", "a.example", NULL},
	    {"http", "a.example", "http", "a.example:80", "a.example"},
	    {"https", "[2001:db8::1]", "https", "[2001:db8::1]:443", "[2001:db8::1]"},
	    /* other names */
	    {"https", "a.example", "https", "b.example", "b.example"},
	    {"https", "a.example", "https", "B.example.", "B.example."},
	    {"https", "a.example:8443", "https", "b.example:8443", "b.example:8443"},
	    {"https", "a.example", "https", "b.example:8443", NULL},
	    {"https", "a.example", "https", "other.example", NULL},
	    {"http", "a.example", "http", "b.example", NULL},
	    /* no names, whatever the certificate says */
	    {"https", "a.example", "https", "192.0.2.1", NULL},
	    {"https", "a.example", "https", "[2001:db8::1]", NULL},
	    {"https", "a.example", "https", "0x7f000001", NULL},
	    {"https", "a.example", "https", "127.1", NULL},
	};
	struct http_head_pool *heads = http_head_pool_new(4);
	const struct offer_env env = {.promiser = &promiser}, without = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct exchange parent = {.request = request(heads, rows[i].scheme, rows[i].parent)};
		struct http_head *promised = request(heads, "https", rows[i].promised);
		promised->scheme = slice_of_string(rows[i].promised_scheme);
		http_head_add(promised, SLICE("host"), slice_of_string(rows[i].promised));
		bool may = offer_may_promise_forward(&env, &parent, promised);
		if (may != (rows[i].authority != NULL))
			fail_msg("%s://%s promises %s://%s", rows[i].scheme, rows[i].parent, rows[i].promised_scheme,
			    rows[i].promised);
		if (may) {
			assert_true(slice_equal(promised->authority, slice_of_string(rows[i].authority)));
			assert_true(slice_equal(promised->scheme, slice_of_string(rows[i].scheme)));
			assert_null(http_head_find(promised, HTTP_TOKEN_HOST));
			/* Nothing is known of a certificate without a connection. */
			bool is_own = strcmp(rows[i].authority, rows[i].parent) == 0;
			assert_int_equal(offer_may_promise_forward(&without, &parent, promised), is_own);
		}
		http_head_free(promised);
		http_head_free((struct http_head *)(uintptr_t)parent.request);
	}
	http_head_pool_free(heads);
}

/* As certificates have them. */
static void certificate_is_asked_for_a_name_in_lower_case(void **state)
{
	(void)state;
	struct http_head_pool *heads = http_head_pool_new(4);
	const struct offer_env env = {.promiser = &promiser};
	struct exchange parent = {.request = request(heads, "https", "a.example")};
	struct http_head *promised = request(heads, "https", "B.Example.");
	assert_true(offer_may_promise_forward(&env, &parent, promised));
	assert_string_equal(asked_for, "b.example");
	http_head_free(promised);
	http_head_free((struct http_head *)(uintptr_t)parent.request);
	http_head_pool_free(heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(origin_speaks_for_the_authority_of_its_request),
	    cmocka_unit_test(certificate_is_asked_for_a_name_in_lower_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
