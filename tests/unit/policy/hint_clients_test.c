/* SPDX-License-Identifier: MIT */
/* Which clients are known to mishandle a 103, and that the User-Agent is looked at once for a request. */
#include "policy/hint_clients.h"
#include "tests/unit/policy/offer.h"

static void versions_with_the_mistake_are_known(void **state)
{
	(void)state;
	static const struct {
		const char *user_agent;
		bool is_known;
	} rows[] = {
	    {"", false},
	    {"okhttp", false},
	    {"okhttp/", false},
	    {"okhttp/3.14.9", true},
	    {"okhttp/4.9.3", true},
	    {"okhttp/4.11.0", true},
	    {"okhttp/4.11.99999999999999999999", true},
	    {"okhttp/4.12.0", false},
	    {"okhttp/4.12", false},
	    {"okhttp/4.12.0-beta", false},
	    {"okhttp/5.0.0-alpha.11", false},
	    {"okhttp/10", false},
	    {"okhttp/4294967297", false},
	    {"okhttp/4.9:3", true},
	    {"okhttp/4..12", true},
	    {"okhttp-fork/4.9.3", false},
	    {"OkHttp/4.9.3", false},
	    {"Mozilla/5.0 okhttp/4.9.3", false},
	    {"Java-http-client/11.0.24", true},
	    {"Java-http-client/11.0.25", false},
	    {"Java-http-client/11.0.25.1", false},
	    {"Java-http-client/12", true},
	    {"Java-http-client/17.0.12", true},
	    {"Java-http-client/17.0.13", false},
	    {"Java-http-client/18.0.2", true},
	    {"Java-http-client/19.0.2.1", true},
	    {"Java-http-client/20", false},
	    {"Java-http-client/21.0.1", false},
	    {"Java/1.8.0_391", true},
	    {"Java/17.0.15", true},
	    {"Java/21.0.1", false},
	    {"Python-urllib/3.11", true},
	    {"Python-urllib", true},
	    {"Python-urllibx/3.11", false},
	    {"python-urllib3/2.2.1", true},
	    {"python-requests/2.34.2", true},
	    {"python-requestsx", false},
	    {"hackney/1.25.0", true},
	    {"hackney/2.0.0", false},
	    {"mint/1.7.1", true},
	    {"mint/1.8.0", false},
	    {"Debian APT-HTTP/1.3 (2.6.1)", true},
	    {"curl/8.5.0", false},
	    {"Wget/1.21.3", false},
	    {"Go-http-client/1.1", false},
	    {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
	     "Chrome/131.0.0.0 Safari/537.36",
		false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (policy_hint_client_is_known(slice_of_string(rows[i].user_agent)) !=
		    rows[i].is_known)
			fail_msg("%s", rows[i].user_agent);
}

static void user_agent_is_looked_at_once_for_a_request(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	assert_false(policy_mishandles_hints(&s.offer));
	struct policy_request *known = calloc(1, policy_request_bytes(&s.set));
	policy_request_init(known, &s.set, s.parent, &s.offer.client);
	s.offer.request = known;
	assert_int_equal(known->mishandles_hints, POLICY_MATCH_UNKNOWN);
	assert_false(policy_mishandles_hints(&s.offer));
	assert_int_equal(known->mishandles_hints, POLICY_MATCH_NO);
	known->mishandles_hints = POLICY_MATCH_YES;
	assert_true(policy_mishandles_hints(&s.offer));
	/* Another request of such a client. */
	struct http_head_pool *pool = http_head_pool_new(2);
	struct http_head *head = head_request(pool, "GET", "a.example", "/");
	http_head_add(head, SLICE("user-agent"), SLICE("okhttp/4.9.3"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	s.offer.parent = head;
	policy_request_init(known, &s.set, head, &s.offer.client);
	assert_true(policy_mishandles_hints(&s.offer));
	assert_int_equal(known->mishandles_hints, POLICY_MATCH_YES);
	http_head_free(head);
	http_head_pool_free(pool);
	free(known);
	scene_fini(&s);
}

static void request_without_user_agent_is_no_known_client(void **state)
{
	(void)state;
	struct http_head_pool *pool = http_head_pool_new(2);
	struct http_head *head = head_request(pool, "GET", "a.example", "/");
	struct policy_offer offer = {.parent = head};
	assert_false(policy_mishandles_hints(&offer));
	http_head_add(head, SLICE("user-agent"), SLICE("okhttp/4.9.3"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_true(policy_mishandles_hints(&offer));
	http_head_free(head);
	http_head_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_with_the_mistake_are_known),
	    cmocka_unit_test(user_agent_is_looked_at_once_for_a_request),
	    cmocka_unit_test(request_without_user_agent_is_no_known_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
