/* SPDX-License-Identifier: MIT */
/*
 * Tells whether one rule's conditions match one offer. Cheap conditions are checked first; nothing
 * is allocated.
 */
#include "policy/rules.h"
#include "proxy/base/glob.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"

static struct slice host_of(struct slice authority)
{
	size_t len = authority.len;
	/* Cut the port, but not inside an IPv6 literal's brackets. */
	for (size_t i = len; i > 0 && authority.ptr[i - 1] != ']'; i--) {
		if (authority.ptr[i - 1] == ':') {
			len = i - 1;
			break;
		}
	}
	if (len > 0 && authority.ptr[len - 1] == '.')
		len--;
	return slice_sub(authority, 0, len);
}

void policy_facts_init(struct policy_facts *f, const struct policy_offer *offer)
{
	*f = (struct policy_facts){.offer = offer, .own = effort_of(LIMIT_EFFORT_OF_REQUEST)};
	f->effort = offer->effort ? offer->effort : &f->own;
	if (offer->parent) {
		const struct http_field *agent =
		    http_head_find(offer->parent, HTTP_TOKEN_USER_AGENT);
		f->version = offer->parent->version;
		f->host = host_of(offer->parent->authority);
		f->path = policy_path_without_query(offer->parent->path);
		if (agent)
			f->user_agent = slice_sub(agent->value, 0, LIMIT_USER_AGENT_BYTES);
	}
	if (offer->promised) {
		f->promised_path = policy_path_without_query(offer->promised->path);
		f->type = policy_type_of_offer(offer->as, f->promised_path);
	}
}

static bool bits_match(uint32_t wanted, unsigned value)
{
	/* uncovered: no source, type, method, version or purpose has such a number; a shift by it would be undefined */
	return wanted == 0 || (value < 32 && (wanted >> value & 1u));
}

static bool clients_match(const struct policy_rule *rule, const struct address *client)
{
	for (size_t i = 0; i < rule->client_count; i++)
		if (cidr_contains(&rule->clients[i], client))
			return true;
	return rule->client_count == 0;
}

static bool users_match(const struct policy_rule *rule, struct slice user)
{
	return rule->user_count == 0 ||
	       (user.len > 0 && (slice_is_among(user, rule->users, rule->user_count) ||
				    slice_is_among(SLICE("*"), rule->users, rule->user_count)));
}

static bool certs_match(
    const struct policy_rule *rule, const struct client_certificate *certificate)
{
	return rule->cert_count == 0 ||
	       client_certificate_is_among(certificate, rule->certs, rule->cert_count);
}

static bool destinations_match(const struct policy_rule *rule, const struct policy_facts *f)
{
	struct policy_destination d;
	struct http_authority asked = {0};
	const struct http_head *parent = f->offer->parent;

	if (rule->destination_count == 0)
		return true;
	if (parent)
		http_authority_parse(parent->authority, parent->scheme, &asked);
	for (size_t i = 0; i < rule->destination_count; i++)
		if (policy_destination_of(rule->destinations[i], &d) &&
		    (d.port == 0 || d.port == asked.port) &&
		    glob_match_within(d.host, f->host, true, f->effort))
			return true;
	return false;
}

static bool switch_matches(enum policy_tristate wanted, bool is_on)
{
	return wanted == POLICY_ANY || is_on == (wanted == POLICY_YES);
}

static bool navigation_matches(enum policy_tristate wanted, enum policy_navigation is)
{
	return wanted == POLICY_ANY ||
	       is == (wanted == POLICY_YES ? POLICY_NAVIGATION_YES : POLICY_NAVIGATION_NO);
}

static bool rtt_matches(const struct policy_rule *rule, usec rtt)
{
	if (rule->rtt_compare == POLICY_COMPARE_NONE)
		return true;
	return rule->rtt_compare == POLICY_COMPARE_BELOW ? rtt != 0 && rtt < rule->rtt_usec
							 : rtt > rule->rtt_usec;
}

static bool patterns_take(const struct policy_patterns *patterns, struct slice text, bool is_nocase,
    const struct policy_facts *f)
{
	return patterns->count == 0 || policy_patterns_take(patterns, text, is_nocase, f->effort);
}

/* Conditions that may change with the next offer of the request; they cost little. */
static bool takes_moment(const struct policy_rule *rule, const struct policy_facts *f)
{
	const struct policy_offer *offer = f->offer;

	return bits_match(rule->sources, offer->source) && bits_match(rule->versions, f->version) &&
	       bits_match(rule->purposes, offer->purpose) &&
	       switch_matches(rule->push_enabled, offer->client_push_enabled) &&
	       switch_matches(rule->save_data, offer->save_data) &&
	       navigation_matches(rule->navigation, offer->navigation) &&
	       rtt_matches(rule, offer->rtt_usec) &&
	       (rule->share == 0 || offer->draw < rule->share);
}

/* Conditions that are the same for each offer of the request. */
static bool takes_texts(const struct policy_rule *rule, const struct policy_facts *f)
{
	return clients_match(rule, &f->offer->client) && users_match(rule, f->offer->user) &&
	       certs_match(rule, f->offer->certificate) && destinations_match(rule, f) &&
	       patterns_take(&rule->hosts, f->host, true, f) &&
	       patterns_take(&rule->paths, f->path, false, f) &&
	       patterns_take(&rule->user_agents, f->user_agent, true, f);
}

bool policy_rule_takes_request(const struct policy_rule *rule, const struct policy_facts *f)
{
	return takes_moment(rule, f) && takes_texts(rule, f);
}

bool policy_rule_takes_remembered(
    const struct policy_rules *rules, const struct policy_rule *rule, const struct policy_facts *f)
{
	struct policy_request *known = f->offer->request;

	if (!takes_moment(rule, f))
		return false;
	if (!known || known->rule_count != rules->count) /* of other rules */
		return takes_texts(rule, f);
	uint8_t *match = &known->matches[rule - rules->rules];
	if (*match == POLICY_MATCH_UNKNOWN) {
		bool takes = takes_texts(rule, f);
		if (f->effort->is_used_up) /* the result is unknown */
			return false;
		*match = takes ? POLICY_MATCH_YES : POLICY_MATCH_NO;
	}
	return *match == POLICY_MATCH_YES;
}

bool policy_rule_takes_promise(const struct policy_rule *rule, const struct policy_facts *f)
{
	return bits_match(rule->types, f->type) &&
	       bits_match(rule->methods, f->offer->promised->method_token) &&
	       patterns_take(&rule->promised_paths, f->promised_path, false, f);
}

bool policy_rule_asks_promise(const struct policy_rule *rule)
{
	return rule->types != 0 || rule->methods != 0 || rule->promised_paths.count != 0;
}

bool policy_rule_takes(const struct policy_rule *rule, const struct policy_offer *facts)
{
	struct policy_facts f;

	policy_facts_init(&f, facts);
	return policy_rule_takes_request(rule, &f) && !f.effort->is_used_up;
}
