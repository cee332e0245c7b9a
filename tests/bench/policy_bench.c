/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds for one decision against 50 rules of which the last matches, and for the question
 * whether a request wants pushes at all. Usage: policy_bench [rounds]
 */
#include "tests/support/decide.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RULES = 50 };

static struct http_head *request(struct http_head_pool *pool, struct slice path)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("www.example.com"));
	http_head_add(head, SLICE(":path"), path);
	http_head_add(head, SLICE("user-agent"),
	    SLICE("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"));
	if (http_head_validate(head, HTTP_REQUEST))
		abort();
	return head;
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Rules as people write them: each asks for a part of the site, in one of five ways. */
static void fill(struct policy_rule *rules, struct slice *globs, char texts[][32], struct cidr *net)
{
	for (size_t i = 0; i < RULES; i++) {
		struct policy_rule *rule = &rules[i];
		struct policy_patterns *lists[] = {
		    &rule->paths, &rule->promised_paths, &rule->hosts, &rule->user_agents};
		static const char *const forms[] = {
		    "/part%zu/*", "/static/%zu/*.css", "*.site%zu.example", "agent%zu/*"};
		*rule = (struct policy_rule){.name = "rule", .index = (uint32_t)i, .urgency = -1};
		if (i % 5 == 4) {
			rule->clients = net;
			rule->client_count = 1;
		} else if (i + 1 < RULES) {
			snprintf(texts[i], sizeof texts[i], forms[i % 5], i);
			globs[i] = slice_of_string(texts[i]);
			*lists[i % 5] = (struct policy_patterns){&globs[i], NULL, 1};
		}
	}
	rules[RULES - 1].client_count = 0;
}

/* A decision that one regular expression must refuse first. */
static double expression_ns(
    const struct policy_rules *set, const struct policy_offer *offer, long rounds)
{
	static struct policy_rule rules[2];
	struct slice text = SLICE("~^/static/[0-9]+/.*[.]css$");
	struct policy_regexes *all = policy_regexes_new();
	char what[80];
	size_t at;
	const struct policy_regex *regex =
	    policy_regex_compile(all, text, false, &at, what, sizeof what);
	struct policy_rules two = {rules, 2, set->caps, POLICY_DROP};

	rules[0] =
	    (struct policy_rule){.promised_paths = {&text, &regex, 1}, .action = POLICY_DROP};
	rules[1] = (struct policy_rule){.action = POLICY_FORWARD};
	double start = now_ns();
	for (long i = 0; i < rounds; i++)
		if (policy_decide(&two, offer).action != POLICY_FORWARD)
			abort();
	double spent = now_ns() - start;
	policy_regexes_free(all);
	return spent / (double)rounds;
}

int main(int argc, char **argv)
{
	static struct policy_rule rules[RULES];
	static struct slice globs[RULES];
	static char texts[RULES][32];
	struct cidr net;
	long rounds = argc > 1 ? atol(argv[1]) : 1000000;
	size_t forwarded = 0, wanted = 0;

	if (cidr_parse(SLICE("198.51.100.0/24"), &net))
		return 1;
	fill(rules, globs, texts, &net);
	struct policy_rules set = {rules, RULES, {100, 1000, 256, 4 << 20}, POLICY_DROP};
	struct http_head_pool *pool = http_head_pool_new(2);
	struct http_head *parent = request(pool, SLICE("/shop/index.html?id=17"));
	struct http_head *promised = request(pool, SLICE("/assets/app/main-5f3c2a.js"));
	struct policy_offer offer = {.parent = parent,
	    .promised = promised,
	    .origin_may_promise = true,
	    .listener_covers = true,
	    .client = {{192, 0, 2, 7}, 4},
	    .client_push_enabled = true,
	    .client_accepts_streams = true,
	    .now = 1};

	double start = now_ns();
	for (long i = 0; i < rounds; i++) {
		offer.parent_pushes = (uint32_t)i & 63;
		forwarded += policy_decide(&set, &offer).action == POLICY_FORWARD;
	}
	double middle = now_ns();
	for (long i = 0; i < rounds; i++) {
		offer.parent_pushes = (uint32_t)i & 63;
		wanted += policy_wants_pushes(&set, &offer);
	}
	double end = now_ns();
	printf("decide, %d rules: %.0f ns (%zu forwarded)\n", RULES,
	    (middle - start) / (double)rounds, forwarded);
	printf("wants pushes, %d rules: %.0f ns (%zu)\n", RULES, (end - middle) / (double)rounds,
	    wanted);
	printf("decide, an expression and a rule: %.0f ns\n", expression_ns(&set, &offer, rounds));
	http_head_free(parent);
	http_head_free(promised);
	http_head_pool_free(pool);
	return forwarded == (size_t)rounds ? 0 : 1;
}
