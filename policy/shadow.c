/* SPDX-License-Identifier: MIT */
/*
 * Tells whether a rule can never be reached, for the configuration's checks. `hides` is certain.
 * `may_hide` compares patterns as text, which proves nothing.
 */
#include "policy/policy.h"
#include "proxy/base/glob.h"

enum { ALL_SOURCES = (1u << POLICY_SOURCE_COUNT) - 1, ALL_TYPES = (1u << POLICY_TYPE_COUNT) - 1 };
enum { ALL_METHODS = 1u << HTTP_METHOD_GET | 1u << HTTP_METHOD_HEAD };
enum {
	ALL_PURPOSES = 1u << POLICY_PURPOSE_NONE | 1u << POLICY_PURPOSE_PREFETCH |
		       1u << POLICY_PURPOSE_PRERENDER
};
enum { ALL_VERSIONS = 1u << HTTP_VERSION_1_0 | 1u << HTTP_VERSION_1_1 | 1u << HTTP_VERSION_2 };

/* Without a bit a condition takes all. */
static bool bits_cover(uint32_t earlier, uint32_t later, uint32_t all)
{
	return earlier == 0 || ((later == 0 ? all : later & all) & ~earlier) == 0;
}

static bool patterns_are_any(const struct policy_patterns *p)
{
	return p->count == 0 || slice_is_among(SLICE("*"), p->globs, p->count);
}

/* Regular expressions cannot be compared: only equal ones cover each other. */
static bool pattern_covers(
    struct slice earlier, struct slice later, bool (*covers)(struct slice, struct slice))
{
	if (policy_pattern_is_regex(earlier) || policy_pattern_is_regex(later))
		return slice_equal(earlier, later);
	return covers(earlier, later);
}

static bool patterns_cover(const struct policy_patterns *earlier,
    const struct policy_patterns *later, bool (*covers)(struct slice, struct slice))
{
	if (patterns_are_any(earlier))
		return true;
	if (patterns_are_any(later))
		return false;
	for (size_t i = 0; i < later->count; i++) {
		bool is_covered = false;
		for (size_t j = 0; j < earlier->count && !is_covered; j++)
			is_covered = pattern_covers(earlier->globs[j], later->globs[i], covers);
		if (!is_covered)
			return false;
	}
	return true;
}

/* Two rules, and the members of a list of each. */
struct pair {
	const struct policy_rule *earlier, *later;
	bool (*host_covers)(struct slice, struct slice);
};

/* Whether each member of the later list is covered by one of the earlier list; an empty list stands for all. */
static bool list_covers(const struct pair *p, size_t earlier_count, size_t later_count,
    bool (*covers)(const struct pair *p, size_t earlier, size_t later))
{
	for (size_t i = 0; earlier_count > 0 && i < later_count; i++) {
		size_t j = 0;
		while (j < earlier_count && !covers(p, j, i))
			j++;
		if (j == earlier_count)
			return false;
	}
	return earlier_count == 0 || later_count > 0;
}

static bool client_covers(const struct pair *p, size_t earlier, size_t later)
{
	const struct cidr *outer = &p->earlier->clients[earlier];
	const struct cidr *inner = &p->later->clients[later];
	return outer->bits <= inner->bits && cidr_contains(outer, &inner->base);
}

static bool user_covers(const struct pair *p, size_t earlier, size_t later)
{
	struct slice user = p->earlier->users[earlier];
	return slice_equal(user, SLICE("*")) || slice_equal(user, p->later->users[later]);
}

static bool cert_covers(const struct pair *p, size_t earlier, size_t later)
{
	struct slice cert = p->earlier->certs[earlier];
	return slice_equal(cert, SLICE("*")) || slice_equal(cert, p->later->certs[later]);
}

static bool destination_covers(const struct pair *p, size_t earlier, size_t later)
{
	struct policy_destination outer, inner;

	return policy_destination_of(p->earlier->destinations[earlier], &outer) &&
	       policy_destination_of(p->later->destinations[later], &inner) &&
	       (outer.port == 0 || outer.port == inner.port) &&
	       (slice_equal(outer.host, SLICE("*")) || p->host_covers(outer.host, inner.host));
}

static bool tristate_covers(enum policy_tristate earlier, enum policy_tristate later)
{
	return earlier == POLICY_ANY || earlier == later;
}

static bool rtt_covers(const struct policy_rule *earlier, const struct policy_rule *later)
{
	if (earlier->rtt_compare == POLICY_COMPARE_NONE)
		return true;
	return earlier->rtt_compare == later->rtt_compare &&
	       (earlier->rtt_compare == POLICY_COMPARE_BELOW
		       ? earlier->rtt_usec >= later->rtt_usec
		       : earlier->rtt_usec <= later->rtt_usec);
}

/* All rules use the same draw of a request, so a larger share contains a smaller one. */
static bool share_covers(uint32_t earlier, uint32_t later)
{
	return earlier == 0 || earlier >= POLICY_DRAWS || (later != 0 && earlier >= later);
}

/*
 * Whether `earlier` matches every offer that `later` matches, as far as `exact` and `nocase` can
 * tell.
 */
static bool rule_covers(const struct policy_rule *earlier, const struct policy_rule *later,
    bool (*exact)(struct slice, struct slice), bool (*nocase)(struct slice, struct slice))
{
	const struct pair p = {earlier, later, nocase};

	/* A shadow rule does not hide live rules after it. */
	return (!earlier->shadow || later->shadow) &&
	       bits_cover(earlier->sources, later->sources, ALL_SOURCES) &&
	       bits_cover(earlier->types, later->types, ALL_TYPES) &&
	       bits_cover(earlier->methods, later->methods, ALL_METHODS) &&
	       bits_cover(earlier->versions, later->versions, ALL_VERSIONS) &&
	       bits_cover(earlier->purposes, later->purposes, ALL_PURPOSES) &&
	       tristate_covers(earlier->push_enabled, later->push_enabled) &&
	       tristate_covers(earlier->save_data, later->save_data) &&
	       tristate_covers(earlier->navigation, later->navigation) &&
	       rtt_covers(earlier, later) && share_covers(earlier->share, later->share) &&
	       list_covers(&p, earlier->client_count, later->client_count, client_covers) &&
	       list_covers(&p, earlier->user_count, later->user_count, user_covers) &&
	       list_covers(&p, earlier->cert_count, later->cert_count, cert_covers) &&
	       list_covers(
		   &p, earlier->destination_count, later->destination_count, destination_covers) &&
	       patterns_cover(&earlier->hosts, &later->hosts, nocase) &&
	       patterns_cover(&earlier->paths, &later->paths, exact) &&
	       patterns_cover(&earlier->promised_paths, &later->promised_paths, exact) &&
	       patterns_cover(&earlier->user_agents, &later->user_agents, nocase);
}

/* Certain: compares patterns for equality, and bit sets and address blocks for containment. */
bool policy_rule_hides(const struct policy_rule *earlier, const struct policy_rule *later)
{
	return rule_covers(earlier, later, slice_equal, slice_equal_nocase);
}

bool policy_rule_may_hide(const struct policy_rule *earlier, const struct policy_rule *later)
{
	return rule_covers(earlier, later, glob_match, glob_match_nocase);
}
