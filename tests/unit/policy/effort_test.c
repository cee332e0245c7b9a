/* SPDX-License-Identifier: MIT */
/* What patterns cost is bounded, for one match and for all offers of a request together. */
#include "policy/policy.h"
#include "proxy/limits.h"
#include "tests/unit/policy/offer.h"

enum { LONG = 60000, OFFERS = 1500 };

/* A scene whose request has a long path and a long User-Agent. */
struct long_scene {
	struct scene s;
	struct policy_request *request;
	struct effort effort;
	char *path, *agent;
};

static char *text_of(char first, const char *words)
{
	char *text = malloc(LONG + 1);
	assert_non_null(text);
	for (size_t i = 0; i < LONG; i++)
		text[i] = words[i % strlen(words)];
	text[0] = first;
	text[LONG] = '\0';
	return text;
}

static void long_init(struct long_scene *l, const char *path, const char *agent)
{
	scene_init(&l->s);
	l->path = text_of('/', path);
	l->agent = text_of(agent[0], agent);
	http_head_free(l->s.parent);
	l->s.parent = head_request(l->s.pool, "GET", "www.example.com", l->path);
	http_head_add(l->s.parent, SLICE("user-agent"), slice_of_string(l->agent));
	assert_null(http_head_validate(l->s.parent, HTTP_REQUEST));
	l->s.offer.parent = l->s.parent;
	l->effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
	l->s.offer.effort = &l->effort;
}

/* When all rules are there. */
static void long_remember(struct long_scene *l)
{
	l->request = malloc(policy_request_bytes(&l->s.set));
	assert_non_null(l->request);
	policy_request_init(l->request, &l->s.set, l->s.parent, &l->s.offer.client);
	l->s.offer.request = l->request;
}

static void long_fini(struct long_scene *l)
{
	scene_fini(&l->s);
	free(l->request);
	free(l->path);
	free(l->agent);
}

static uint64_t spent(const struct long_scene *l)
{
	return LIMIT_EFFORT_OF_REQUEST - l->effort.left;
}

static void texts_of_a_request_are_compared_once_for_all_its_offers(void **state)
{
	(void)state;
	struct slice agents[] = {SLICE("*Googlebot/*")}, paths[] = {SLICE("*ab?c*")};
	struct long_scene l = {0};
	long_init(&l, "ab", "Googlebot-");
	scene_rule(&l.s, "bots", POLICY_DROP)->user_agents =
	    (struct policy_patterns){agents, NULL, 1};
	scene_rule(&l.s, "paths", POLICY_DROP)->paths = (struct policy_patterns){paths, NULL, 1};
	scene_rule(&l.s, "all", POLICY_FORWARD);
	long_remember(&l);
	for (unsigned i = 0; i < OFFERS; i++)
		assert_decided(&l.s, POLICY_FORWARD, &policy_reason_RULE, &l.s.rules[2]);
	assert_in_range(
	    spent(&l), LIMIT_USER_AGENT_BYTES + LONG - 10, LIMIT_USER_AGENT_BYTES + LONG);
	long_fini(&l);
}

/* The same verdict with and without it, for each of the conditions that are found out once. */
static void what_is_remembered_changes_no_verdict(void **state)
{
	(void)state;
	struct slice texts[] = {SLICE("*example.com"), SLICE("/shop/*"), SLICE("nobody*")};
	struct slice users[] = {SLICE("alice")};
	struct cidr net;
	struct scene s;
	assert_null(cidr_parse(SLICE("198.51.100.0/24"), &net));
	for (unsigned condition = 0; condition < 6; condition++) {
		scene_init(&s);
		struct policy_rule *rule = scene_rule(&s, "one", POLICY_DROP);
		struct policy_patterns *lists[] = {&rule->hosts, &rule->paths, &rule->user_agents};
		if (condition < 3)
			*lists[condition] = (struct policy_patterns){&texts[condition], NULL, 1};
		rule->clients = condition == 3 ? &net : NULL;
		rule->client_count = condition == 3;
		rule->users = users;
		rule->user_count = condition == 4;
		rule->destinations = texts;
		rule->destination_count = condition == 5;
		const enum policy_action alone = policy_decide(&s.set, &s.offer).action;
		struct policy_request *request = malloc(policy_request_bytes(&s.set));
		assert_non_null(request);
		policy_request_init(request, &s.set, s.parent, &s.offer.client);
		s.offer.request = request;
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(policy_decide(&s.set, &s.offer).action, alone);
		assert_int_equal(
		    request->matches[0], alone == POLICY_DROP ? POLICY_MATCH_YES : POLICY_MATCH_NO);
		/* What may be another with the next offer is not remembered. */
		rule->rtt_compare = POLICY_COMPARE_ABOVE;
		rule->rtt_usec = 1000;
		assert_int_equal(policy_decide(&s.set, &s.offer).action, POLICY_FORWARD);
		s.offer.rtt_usec = 2000;
		assert_int_equal(policy_decide(&s.set, &s.offer).action, alone);
		free(request);
		scene_fini(&s);
	}
}

static void user_agent_counts_up_to_a_bound(void **state)
{
	(void)state;
	struct slice glob = SLICE("*END*");
	struct long_scene l = {0};
	long_init(&l, "a", "x");
	scene_rule(&l.s, "end", POLICY_DROP)->user_agents =
	    (struct policy_patterns){&glob, NULL, 1};
	memcpy(l.agent + LIMIT_USER_AGENT_BYTES - 3, "END", 3);
	struct http_field *field =
	    (struct http_field *)(uintptr_t)http_head_find(l.s.parent, HTTP_TOKEN_USER_AGENT);
	field->value = slice_of(l.agent, LONG);
	assert_decided(&l.s, POLICY_DROP, &policy_reason_RULE, &l.s.rules[0]);
	memcpy(l.agent + LIMIT_USER_AGENT_BYTES - 3, "xEND", 4);
	assert_decided(&l.s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	long_fini(&l);
}

static void offers_are_dropped_once_the_effort_is_used_up(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	struct slice text = SLICE("~^/(a+)+(b|c)"), shop = SLICE("/aa*");
	char what[80];
	size_t at, decided = 0;
	struct long_scene l = {0};
	const struct policy_regex *regex =
	    policy_regex_compile(all, text, false, &at, what, sizeof what);
	assert_non_null(regex);
	long_init(&l, "a", "x");
	scene_rule(&l.s, "costly", POLICY_DROP)->promised_paths =
	    (struct policy_patterns){&text, &regex, 1};
	scene_rule(&l.s, "interim", POLICY_FORWARD)->interim = POLICY_NO;
	l.s.rules[1].paths = (struct policy_patterns){&shop, NULL, 1};
	long_remember(&l);
	scene_promise(&l.s, "GET", "/aaaaaaaaa");
	for (unsigned i = 0; i < OFFERS; i++) {
		struct policy_verdict v = policy_decide(&l.s.set, &l.s.offer);
		if (v.reason == &policy_reason_MATCH_LIMIT)
			break;
		assert_int_equal(v.action, POLICY_FORWARD);
		decided++;
	}
	assert_in_range(decided, 1, OFFERS - 1);
	assert_int_equal(l.effort.left, 0);
	/* Now all are, and nothing more is spent; no push is wanted, and interim responses are kept back. */
	assert_decided(&l.s, POLICY_DROP, &policy_reason_MATCH_LIMIT, NULL);
	assert_false(policy_wants_pushes(&l.s.set, &l.s.offer));
	assert_int_equal(policy_interim(&l.s.set, &l.s.offer), POLICY_NO);
	assert_false(policy_rule_takes(&l.s.rules[1], &l.s.offer));
	/* The next loop pass has its own. */
	l.effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_decided(&l.s, POLICY_FORWARD, &policy_reason_RULE, &l.s.rules[1]);
	long_fini(&l);
	policy_regexes_free(all);
}

static void what_nobody_knows_is_not_remembered(void **state)
{
	(void)state;
	struct slice glob = SLICE("*ab?b*");
	struct long_scene l = {0};
	long_init(&l, "a", "x");
	scene_rule(&l.s, "paths", POLICY_DROP)->paths = (struct policy_patterns){&glob, NULL, 1};
	long_remember(&l);
	memcpy(l.path + LONG - 10, "abab", 4);
	l.s.parent->path = slice_of(l.path, LONG);
	l.effort = effort_of(100);
	assert_decided(&l.s, POLICY_DROP, &policy_reason_MATCH_LIMIT, NULL);
	assert_int_equal(l.request->matches[0], POLICY_MATCH_UNKNOWN);
	l.effort = effort_of(LONG);
	assert_decided(&l.s, POLICY_DROP, &policy_reason_RULE, &l.s.rules[0]);
	long_fini(&l);
}

/* One match has its own bound too, which is smaller if the request has little left. */
static void expression_stops_at_the_effort_that_is_left(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	static const char *const texts[] = {"~a+[bc]", "~(a+)+[bc]", "~(a|aa)+[bc]"};
	char what[80], *subject = text_of('a', "a");
	size_t at;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const struct policy_regex *regex = policy_regex_compile(
		    all, slice_of_string(texts[i]), false, &at, what, sizeof what);
		assert_non_null(regex);
		struct effort little = effort_of(10000);
		assert_false(policy_regex_match(regex, slice_of(subject, 3000), &little));
		assert_true(little.is_used_up);
		struct effort enough = effort_of(10000);
		assert_false(policy_regex_match(regex, slice_of(subject, 3), &enough));
		assert_false(enough.is_used_up);
		assert_in_range(enough.left, 1, 9900);
		struct effort none = effort_of(POLICY_REGEX_EFFORT - 1);
		assert_false(policy_regex_match(regex, SLICE("ab"), &none));
		assert_true(none.is_used_up);
	}
	free(subject);
	policy_regexes_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(texts_of_a_request_are_compared_once_for_all_its_offers),
	    cmocka_unit_test(what_is_remembered_changes_no_verdict),
	    cmocka_unit_test(user_agent_counts_up_to_a_bound),
	    cmocka_unit_test(offers_are_dropped_once_the_effort_is_used_up),
	    cmocka_unit_test(what_nobody_knows_is_not_remembered),
	    cmocka_unit_test(expression_stops_at_the_effort_that_is_left),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
