/* SPDX-License-Identifier: MIT */
/*
 * Whether one rule's conditions hold for one offer. Cheap conditions are asked first; nothing is
 * allocated. What follows from a match is policy.c's business.
 */
#include "policy/rules.h"
#include "proxy/base/glob.h"

static struct slice host_of(struct slice authority)
{
	size_t len = authority.len;
	/* The port, unless the last colon stands inside an IPv6 literal's brackets. */
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
	*f = (struct policy_facts){.offer = offer};
	if (offer->parent) {
		const struct http_field *agent =
		    http_head_find(offer->parent, HTTP_TOKEN_USER_AGENT);
		f->host = host_of(offer->parent->authority);
		f->path = policy_path_without_query(offer->parent->path);
		if (agent)
			f->user_agent = agent->value;
	}
	if (offer->promised) {
		f->promised_path = policy_path_without_query(offer->promised->path);
		f->type = policy_type_of_offer(offer->as, f->promised_path);
	}
}

static bool bits_take(uint32_t wanted, unsigned value)
{
	return wanted == 0 || (value < 32 && (wanted >> value & 1u));
}

static bool is_plain(char c)
{
	return c != '*' && c != '?' && c != '\\';
}

/* Most patterns fail at an end already. Case is left open, so this serves both comparisons. */
static bool ends_fit(struct slice glob, struct slice text)
{
	if (glob.len == 0 || text.len == 0)
		return true;
	char first = glob.ptr[0], last = glob.ptr[glob.len - 1];
	return (!is_plain(first) || ((first ^ text.ptr[0]) & ~0x20) == 0) &&
	       (!is_plain(last) || ((last ^ text.ptr[text.len - 1]) & ~0x20) == 0);
}

static bool patterns_take(const struct policy_patterns *p, struct slice text)
{
	for (size_t i = 0; i < p->count; i++)
		if (ends_fit(p->globs[i], text) && glob_match(p->globs[i], text))
			return true;
	return p->count == 0;
}

static bool patterns_take_nocase(const struct policy_patterns *p, struct slice text)
{
	for (size_t i = 0; i < p->count; i++)
		if (ends_fit(p->globs[i], text) && glob_match_nocase(p->globs[i], text))
			return true;
	return p->count == 0;
}

static bool clients_take(const struct policy_rule *rule, const struct address *client)
{
	for (size_t i = 0; i < rule->client_count; i++)
		if (cidr_contains(&rule->clients[i], client))
			return true;
	return rule->client_count == 0;
}

static bool push_enabled_takes(enum policy_tristate wanted, bool enabled)
{
	switch (wanted) {
	case POLICY_ANY:
		return true;
	case POLICY_NO:
		return !enabled;
	case POLICY_YES:
		return enabled;
	}
	return false;
}

bool policy_rule_takes_request(const struct policy_rule *rule, const struct policy_facts *f)
{
	return bits_take(rule->sources, f->offer->source) &&
	       push_enabled_takes(rule->push_enabled, f->offer->client_push_enabled) &&
	       clients_take(rule, &f->offer->client) &&
	       patterns_take_nocase(&rule->hosts, f->host) &&
	       patterns_take(&rule->paths, f->path) &&
	       patterns_take_nocase(&rule->user_agents, f->user_agent);
}

bool policy_rule_takes_promise(const struct policy_rule *rule, const struct policy_facts *f)
{
	return bits_take(rule->types, f->type) &&
	       bits_take(rule->methods, f->offer->promised->method_token) &&
	       patterns_take(&rule->promised_paths, f->promised_path);
}

bool policy_rule_asks_promise(const struct policy_rule *rule)
{
	return rule->types != 0 || rule->methods != 0 || rule->promised_paths.count != 0;
}
