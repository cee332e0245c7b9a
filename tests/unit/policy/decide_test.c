/* SPDX-License-Identifier: MIT */
/* Which verdict an offer gets, and for which reason. */
#include "tests/unit/policy/offer.h"

static int setup(void **state)
{
	*state = malloc(sizeof(struct scene));
	scene_init(*state);
	return 0;
}

static int teardown(void **state)
{
	scene_fini(*state);
	free(*state);
	return 0;
}

static void offer_without_rules_gets_the_default(void **state)
{
	struct scene *s = *state;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	s->set.fallback = POLICY_DROP;
	assert_decided(s, POLICY_DROP, &policy_reason_DEFAULT, NULL);
}

static void first_rule_that_matches_decides(void **state)
{
	struct scene *s = *state;
	struct slice other = SLICE("/other");
	struct policy_rule *narrow = scene_rule(s, "narrow", POLICY_FORWARD);
	struct policy_rule *second = scene_rule(s, "second", POLICY_DROP);
	scene_rule(s, "third", POLICY_FORWARD);
	narrow->paths = (struct policy_patterns){&other, NULL, 1};
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, second);
	narrow->paths.count = 0;
	assert_decided(s, POLICY_FORWARD, &policy_reason_RULE, narrow);
}

static void promise_that_is_malformed_is_dropped(void **state)
{
	struct scene *s = *state;
	s->offer.promised = NULL;
	assert_decided(s, POLICY_DROP, &policy_reason_MALFORMED, NULL);
	s->offer.promised = s->promised;
	s->promised->authority.len = 0;
	assert_decided(s, POLICY_DROP, &policy_reason_MALFORMED, NULL);
	s->promised->authority = SLICE("www.example.com");
	s->promised->path = SLICE("*");
	assert_decided(s, POLICY_DROP, &policy_reason_MALFORMED, NULL);
	s->promised->path = SLICE("");
	assert_decided(s, POLICY_DROP, &policy_reason_MALFORMED, NULL);
	s->promised->path = SLICE("/");
	s->promised->scheme.len = 0;
	assert_decided(s, POLICY_DROP, &policy_reason_MALFORMED, NULL);
}

static void promise_of_another_method_is_dropped(void **state)
{
	struct scene *s = *state;
	static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"};
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		scene_promise(s, methods[i], "/a");
		assert_decided(s, POLICY_DROP, &policy_reason_METHOD, NULL);
	}
	scene_promise(s, "HEAD", "/a");
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
}

static void promise_with_a_body_is_dropped(void **state)
{
	struct scene *s = *state;
	s->promised->content_length = 1;
	assert_decided(s, POLICY_DROP, &policy_reason_BODY, NULL);
	s->promised->content_length = 0;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	s->promised->content_length = HTTP_LENGTH_UNKNOWN;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	http_head_add(s->promised, SLICE("expect"), SLICE("100-continue"));
	assert_decided(s, POLICY_DROP, &policy_reason_BODY, NULL);
	scene_promise(s, "GET", "/a");
	http_head_add_token(s->promised, HTTP_TOKEN_TRANSFER_ENCODING, SLICE("chunked"));
	assert_decided(s, POLICY_DROP, &policy_reason_BODY, NULL);
}

static void each_fact_of_the_offer_has_its_guard(void **state)
{
	struct scene *s = *state;
	struct {
		bool *fact, harmless;
		const struct policy_reason *reason;
	} rows[] = {
	    {&s->offer.parent_is_push, false, &policy_reason_PARENT_PUSHED},
	    {&s->offer.parent_gone, false, &policy_reason_PARENT_GONE},
	    {&s->offer.outside_prefix, false, &policy_reason_OUTSIDE_PREFIX},
	    {&s->offer.origin_may_promise, true, &policy_reason_AUTHORITY},
	    {&s->offer.listener_covers, true, &policy_reason_DOWNSTREAM_AUTHORITY},
	    {&s->offer.access_denied, false, &policy_reason_ACCESS_DENIED},
	    {&s->offer.promise_rate_exceeded, false, &policy_reason_PROMISE_RATE},
	    {&s->offer.is_proposal, false, &policy_reason_REMEMBERED_PROPOSAL},
	    {&s->offer.client_going_away, false, &policy_reason_CLIENT_GOING_AWAY},
	    {&s->offer.client_push_enabled, true, &policy_reason_PUSH_DISABLED},
	    {&s->offer.client_accepts_streams, true, &policy_reason_NO_STREAMS},
	    {&s->offer.duplicate, false, &policy_reason_DUPLICATE},
	};
	size_t count = sizeof rows / sizeof *rows;
	/* Alone, and with all that come later: the order of the rows is the order of the guards. */
	for (size_t i = 0; i < count; i++) {
		*rows[i].fact = !rows[i].harmless;
		assert_decided(s, POLICY_DROP, rows[i].reason, NULL);
		*rows[i].fact = rows[i].harmless;
	}
	for (size_t i = count; i-- > 0;) {
		*rows[i].fact = !rows[i].harmless;
		assert_decided(s, POLICY_DROP, rows[i].reason, NULL);
	}
}

static void no_rule_overrules_a_guard(void **state)
{
	struct scene *s = *state;
	scene_rule(s, "all", POLICY_FORWARD);
	s->offer.client_push_enabled = false;
	assert_decided(s, POLICY_DROP, &policy_reason_PUSH_DISABLED, NULL);
	s->offer.parent_is_push = true;
	assert_decided(s, POLICY_DROP, &policy_reason_PARENT_PUSHED, NULL);
}

static void disabled_push_only_forbids_forwarding(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "all", POLICY_DROP);
	s->offer.client_push_enabled = false;
	s->offer.client_accepts_streams = false;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
}

static void drop_of_a_rule_says_so_whatever_the_caps(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "all", POLICY_DROP);
	s->offer.parent_pushes = s->offer.connection_pushes = 1000000;
	s->offer.duplicate = s->offer.client_going_away = true;
	s->offer.known = POLICY_KNOWN_VALIDATOR;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
}

/* What the origin says about revalidation and other names of its own, routing has judged. */
static void relayed_promise_is_never_stale_or_foreign_by_itself(void **state)
{
	struct scene *s = *state;
	s->offer.parent_revalidates = s->offer.cross_origin = true;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	s->offer.source = POLICY_LINK;
	assert_decided(s, POLICY_DROP, &policy_reason_CROSS_ORIGIN, NULL);
	s->offer.cross_origin = false;
	assert_decided(s, POLICY_DROP, &policy_reason_REVALIDATION, NULL);
}

static void caps_hold_from_their_number_on(void **state)
{
	struct scene *s = *state;
	s->offer.parent_pushes = 99;
	s->offer.connection_pushes = 255;
	s->offer.connection_push_bytes = (4 << 20) - 1;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	s->offer.connection_push_bytes++;
	assert_decided(s, POLICY_DROP, &policy_reason_BYTES_CAP, NULL);
	s->offer.connection_pushes++;
	assert_decided(s, POLICY_DROP, &policy_reason_CONNECTION_CAP, NULL);
	s->offer.parent_pushes++;
	assert_decided(s, POLICY_DROP, &policy_reason_PARENT_CAP, NULL);
	s->offer.parent_pushes_ever = 999;
	assert_decided(s, POLICY_DROP, &policy_reason_PARENT_CAP, NULL);
	s->offer.parent_pushes_ever++;
	assert_decided(s, POLICY_DROP, &policy_reason_PARENT_LIFE_CAP, NULL);
	s->offer.is_expected = true;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
}

static void cap_of_a_rule_names_the_rule(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "few", POLICY_FORWARD);
	rule->max_per_parent = 3;
	s->offer.parent_pushes_ever = 2;
	assert_decided(s, POLICY_FORWARD, &policy_reason_RULE, rule);
	s->offer.parent_pushes_ever = 3;
	assert_decided(s, POLICY_DROP, &policy_reason_PARENT_CAP, rule);
}

/* Each condition with a value that holds and one that does not, on an otherwise empty rule. */
static void each_condition_is_asked(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP), empty = *rule;
	struct slice yes, no;
	struct cidr in, out;
	assert_null(cidr_parse(SLICE("192.0.2.0/24"), &in));
	assert_null(cidr_parse(SLICE("2001:db8::/32"), &out));

	rule->sources = 1u << POLICY_LINK | 1u << POLICY_REMEMBERED;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->sources |= 1u << POLICY_RELAYED;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	rule->types = 1u << POLICY_TYPE_FONT;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->types |= 1u << POLICY_TYPE_STYLE;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	rule->methods = 1u << HTTP_METHOD_HEAD;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->methods = 1u << HTTP_METHOD_GET;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	s->parent->version = HTTP_VERSION_1_1;
	rule->versions = 1u << HTTP_VERSION_2;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->versions |= 1u << HTTP_VERSION_1_1;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	rule->clients = &out;
	rule->client_count = 1;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->clients = &in;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	rule->save_data = POLICY_YES;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->save_data = POLICY_NO;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	*rule = empty;
	rule->push_enabled = POLICY_NO;
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->push_enabled = POLICY_YES;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);

	static const struct {
		size_t offset;
		const char *yes, *no;
	} patterns[] = {
	    {offsetof(struct policy_rule, hosts), "*.EXAMPLE.com", "*:8443"},
	    {offsetof(struct policy_rule, paths), "/shop/*.html", "/Shop/*"},
	    {offsetof(struct policy_rule, promised_paths), "*.css", "*v=2"},
	    {offsetof(struct policy_rule, promised_paths), "\\/css/a.cs\\s", "\\*.css"},
	    {offsetof(struct policy_rule, promised_paths), "?css/a.cs?", "/css/a.cs\\?"},
	    {offsetof(struct policy_rule, hosts), "WWW.example.COM", "ww.example.com"},
	    {offsetof(struct policy_rule, user_agents), "example/1.* (x*", "example"},
	};
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		*rule = empty;
		struct policy_patterns *list = (void *)((char *)rule + patterns[i].offset);
		yes = slice_of_string(patterns[i].yes);
		no = slice_of_string(patterns[i].no);
		*list = (struct policy_patterns){&no, NULL, 1};
		assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
		*list = (struct policy_patterns){&yes, NULL, 1};
		assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
	}
}

static void navigation_that_is_unknown_is_neither(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	static const enum policy_action expected[3][3] = {
	    /* any, no, yes */
	    [POLICY_NAVIGATION_UNKNOWN] = {POLICY_DROP, POLICY_FORWARD, POLICY_FORWARD},
	    [POLICY_NAVIGATION_NO] = {POLICY_DROP, POLICY_DROP, POLICY_FORWARD},
	    [POLICY_NAVIGATION_YES] = {POLICY_DROP, POLICY_FORWARD, POLICY_DROP},
	};
	for (unsigned is = 0; is < 3; is++) {
		for (unsigned wanted = 0; wanted < 3; wanted++) {
			s->offer.navigation = (enum policy_navigation)is;
			rule->navigation = (enum policy_tristate)wanted;
			assert_int_equal(
			    policy_decide(&s->set, &s->offer).action, expected[is][wanted]);
		}
	}
}

static void speculative_load_is_for_rules_that_name_its_purpose(void **state)
{
	struct scene *s = *state;
	for (int source = 0; source < POLICY_SOURCE_COUNT; source++) {
		s->offer.source = (enum policy_source)source;
		s->set.count = 0;
		s->offer.purpose = POLICY_PURPOSE_NONE;
		assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
		s->offer.purpose = POLICY_PURPOSE_PREFETCH;
		assert_decided(s, POLICY_DROP, &policy_reason_SPECULATIVE, NULL);
		assert_false(policy_wants_pushes(&s->set, &s->offer));
		struct policy_rule *rule = scene_rule(s, "one", POLICY_HINT_HOLD);
		*rule = (struct policy_rule){.name = "one", .action = POLICY_HINT_HOLD};
		assert_decided(s, POLICY_DROP, &policy_reason_SPECULATIVE, rule);
		assert_false(policy_wants_offers(&s->set, &s->offer));
		rule->purposes = 1u << POLICY_PURPOSE_PRERENDER;
		assert_decided(s, POLICY_DROP, &policy_reason_SPECULATIVE, NULL);
		s->offer.purpose = POLICY_PURPOSE_PRERENDER;
		assert_decided(s, POLICY_HINT_HOLD, &policy_reason_RULE, rule);
		assert_true(policy_wants_offers(&s->set, &s->offer));
		rule->purposes |= 1u << POLICY_PURPOSE_NONE;
		s->offer.purpose = POLICY_PURPOSE_NONE;
		assert_decided(s, POLICY_HINT_HOLD, &policy_reason_RULE, rule);
	}
}

static void round_trip_time_counts_only_when_it_was_measured(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	static const struct {
		usec rtt;
		bool is_below, is_above;
	} rows[] = {
	    {0, false, false}, {79999, true, false}, {80000, false, false}, {80001, false, true}};
	rule->rtt_usec = 80 * USEC_PER_MSEC;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		s->offer.rtt_usec = rows[i].rtt;
		rule->rtt_compare = POLICY_COMPARE_BELOW;
		assert_int_equal(
		    policy_decide(&s->set, &s->offer).action == POLICY_DROP, rows[i].is_below);
		rule->rtt_compare = POLICY_COMPARE_ABOVE;
		assert_int_equal(
		    policy_decide(&s->set, &s->offer).action == POLICY_DROP, rows[i].is_above);
	}
}

static void user_is_known_by_name(void **state)
{
	struct scene *s = *state;
	struct slice two[] = {SLICE("alice"), SLICE("bob")}, any = SLICE("*");
	static const struct {
		const char *user;
		bool is_named, is_known;
	} rows[] = {{"", false, false}, {"alice", true, true}, {"bob", true, true}, {"Alice", false, true},
	    {"alic", false, true}, {"carol", false, true}, {"*", false, true}};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		s->offer.user = slice_of_string(rows[i].user);
		rule->users = two;
		rule->user_count = 2;
		assert_int_equal(policy_decide(&s->set, &s->offer).action == POLICY_DROP, rows[i].is_named);
		rule->users = &any;
		rule->user_count = 1;
		assert_int_equal(policy_decide(&s->set, &s->offer).action == POLICY_DROP, rows[i].is_known);
		rule->user_count = 0;
		assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
	}
}

static void certificate_is_known_by_its_names(void **state)
{
	struct scene *s = *state;
	struct slice patterns[] = {SLICE("cn:carol"), SLICE("dns:*.example")}, any = SLICE("*");
	static const struct client_certificate bob = {.names = SLICE_INIT("cn:bob\ndns:b.example\n")},
					       eve = {.names = SLICE_INIT("cn:dns:x.example\n")};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	const struct client_certificate *shown[] = {NULL, &bob, &eve};
	for (size_t i = 0; i < 3; i++) {
		s->offer.certificate = shown[i];
		rule->certs = patterns;
		rule->cert_count = 2;
		assert_int_equal(policy_decide(&s->set, &s->offer).action == POLICY_DROP, i == 1);
		rule->certs = &any;
		rule->cert_count = 1;
		assert_int_equal(policy_decide(&s->set, &s->offer).action == POLICY_DROP, i > 0);
		rule->cert_count = 0;
		assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
	}
}

static void destination_is_host_and_port_of_the_request(void **state)
{
	struct scene *s = *state;
	static const struct {
		const char *scheme, *authority, *pattern;
		bool holds;
	} rows[] = {
	    {"https", "www.example.com:8443", "*.Example.com", true},
	    {"https", "www.example.com:8443", "*.example.com:8443", true},
	    {"https", "www.example.com:8443", "*.example.com:443", false},
	    {"https", "www.example.com:8443", "example.com:8443", false},
	    {"https", "a.example", "a.example:443", true},
	    {"http", "a.example", "a.example:443", false},
	    {"http", "a.example", "a.example:80", true},
	    {"http", "a.example.", "a.example", true},
	    {"http", "a.example", "*:80", true},
	    {"http", "a.example:81", "*:80", false},
	    {"http", "[2001:db8::1]:81", "[2001:db8::1]", true},
	    {"http", "[2001:db8::1]:81", "[2001:db8::1]:81", true},
	    {"http", "[2001:db8::1]", "[2001:db8::1]:81", false},
	    {"http", "192.0.2.1:8080", "192.0.2.*:8080", true},
	};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slice patterns[] = {SLICE("never.example"), slice_of_string(rows[i].pattern)};
		s->parent->scheme = slice_of_string(rows[i].scheme);
		s->parent->authority = slice_of_string(rows[i].authority);
		rule->destinations = patterns;
		rule->destination_count = 2;
		if ((policy_decide(&s->set, &s->offer).action == POLICY_DROP) != rows[i].holds)
			fail_msg("%s %s %s", rows[i].scheme, rows[i].authority, rows[i].pattern);
		rule->destination_count = 1;
		assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	}
}

/* Nothing is asked for: only a rule for any host is for it. One that cannot be read is for none. */
static void destination_of_nothing_is_any_host(void **state)
{
	struct scene *s = *state;
	static const struct {
		const char *pattern;
		bool has_parent, holds;
	} rows[] = {
	    {"*", false, true},
	    {"*:443", false, false},
	    {"www.example.com", false, false},
	    {"*", true, true},
	    {"*:https", true, false},
	    {"", true, false},
	};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slice pattern = slice_of_string(rows[i].pattern);
		struct policy_offer offer = s->offer;
		if (!rows[i].has_parent)
			offer.parent = NULL;
		rule->destinations = &pattern;
		rule->destination_count = 1;
		if (policy_rule_takes(rule, &offer) != rows[i].holds)
			fail_msg("%s", rows[i].pattern);
	}
	rule->destination_count = 0;
}

static void share_takes_the_draws_below_it(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "canary", POLICY_DROP);
	rule->share = 1000; /* 10 % */
	unsigned taken = 0;
	for (s->offer.draw = 0; s->offer.draw < POLICY_DRAWS; s->offer.draw++)
		taken += policy_decide(&s->set, &s->offer).action == POLICY_DROP;
	assert_int_equal(taken, 1000);
	rule->share = 0;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
}

static void list_holds_when_one_member_does(void **state)
{
	struct scene *s = *state;
	struct slice globs[] = {SLICE("/a"), SLICE("/b"), SLICE("/shop/*")};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	rule->paths = (struct policy_patterns){globs, NULL, 2};
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	rule->paths.count = 3;
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
}

static void hosts_lose_port_and_trailing_dot(void **state)
{
	struct scene *s = *state;
	static const struct {
		const char *authority, *host;
	} rows[] = {{"a.example", "a.example"}, {"a.example.", "a.example"},
	    {"a.example.:80", "a.example"}, {"[2001:db8::1]", "[2001:db8::1]"},
	    {"[2001:db8::1]:443", "[2001:db8::1]"}, {"A:1", "a"}};
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct slice host = slice_of_string(rows[i].host);
		rule->hosts = (struct policy_patterns){&host, NULL, 1};
		s->parent->authority = slice_of_string(rows[i].authority);
		assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
	}
}

static void as_tells_the_type_before_the_path_does(void **state)
{
	struct scene *s = *state;
	struct policy_rule *rule = scene_rule(s, "one", POLICY_DROP);
	rule->types = 1u << POLICY_TYPE_FONT;
	s->offer.as = SLICE("font");
	assert_decided(s, POLICY_DROP, &policy_reason_RULE, rule);
	s->offer.as = SLICE("fetch");
	assert_decided(s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
}

#define DECIDE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    DECIDE_TEST(offer_without_rules_gets_the_default),
	    DECIDE_TEST(first_rule_that_matches_decides),
	    DECIDE_TEST(promise_that_is_malformed_is_dropped),
	    DECIDE_TEST(promise_of_another_method_is_dropped),
	    DECIDE_TEST(promise_with_a_body_is_dropped),
	    DECIDE_TEST(each_fact_of_the_offer_has_its_guard),
	    DECIDE_TEST(no_rule_overrules_a_guard),
	    DECIDE_TEST(disabled_push_only_forbids_forwarding),
	    DECIDE_TEST(drop_of_a_rule_says_so_whatever_the_caps),
	    DECIDE_TEST(relayed_promise_is_never_stale_or_foreign_by_itself),
	    DECIDE_TEST(caps_hold_from_their_number_on),
	    DECIDE_TEST(cap_of_a_rule_names_the_rule),
	    DECIDE_TEST(each_condition_is_asked),
	    DECIDE_TEST(navigation_that_is_unknown_is_neither),
	    DECIDE_TEST(speculative_load_is_for_rules_that_name_its_purpose),
	    DECIDE_TEST(round_trip_time_counts_only_when_it_was_measured),
	    DECIDE_TEST(user_is_known_by_name),
	    DECIDE_TEST(certificate_is_known_by_its_names),
	    DECIDE_TEST(destination_is_host_and_port_of_the_request),
	    DECIDE_TEST(destination_of_nothing_is_any_host),
	    DECIDE_TEST(share_takes_the_draws_below_it),
	    DECIDE_TEST(list_holds_when_one_member_does),
	    DECIDE_TEST(hosts_lose_port_and_trailing_dot),
	    DECIDE_TEST(as_tells_the_type_before_the_path_does),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
