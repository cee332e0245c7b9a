/* SPDX-License-Identifier: MIT */
/* Checks [access NAME] sections, and finds those that the listeners name. */
#include "proxy/conf/load.h"
#include <inttypes.h>

static struct conf_access_rule built_in_rule = {.action = CONF_ACCESS_ALLOW, .text = "allow = all"};
const struct conf_access conf_access_built_in = {.rules = &built_in_rule, .rule_count = 1};

static bool has_conditions(const struct conf_access_rule *r)
{
	return conf_blocks_are_given(&r->clients) || conf_blocks_are_given(&r->addresses) ||
	       r->user_count + r->cert_count > 0 || r->method_count > 0 || r->path_count > 0 ||
	       r->minutes || !http_host_set_is_empty(&r->hosts) || r->port_count > 0;
}

/* ---- listeners ---- */

/* A gateway has origins: what they are reached at is not the client's choice. */
static void check_for_gateway(
    struct conf_loader *l, const struct conf_section *s, const struct conf_access *a)
{
	const struct conf_access_rule *rule = conf_first(
	    r, a->rules, a->rule_count, r->port_count > 0 || conf_blocks_are_given(&r->addresses));

	if (rule)
		conf_mistake(l, s->file, conf_option_line(s, "access"),
		    "[access %s] has a rule with %s at %s:%" PRIu32
		    ", but only forward mode has destinations; give %s rules without it",
		    a->name, rule->port_count > 0 ? "port=" : "address=", rule->file, rule->line,
		    conf_section_title(l, s));
}

static bool is_for_all_clients(const struct conf_access_rule *r)
{
	return (r->clients.words & CONF_BLOCKS_ANY) != 0 ||
	       conf_any(b, r->clients.blocks, r->clients.count, b->bits == 0);
}

/* Clients of all the world reach destinations of all the world. */
static void warn_of_open_proxy(
    struct conf_loader *l, const struct conf_section *s, const struct conf_access *a)
{
	const struct conf_access_rule *rule = conf_first(r, a->rules, a->rule_count,
	    r->action == CONF_ACCESS_ALLOW
		? is_for_all_clients(r) && r->user_count + r->cert_count == 0 &&
		      http_host_set_is_empty(&r->hosts)
		: !has_conditions(r));

	if (rule && rule->action == CONF_ACCESS_ALLOW)
		conf_warning(l, rule->file, rule->line,
		    "%s is an open proxy by this rule: it takes clients of any address without a "
		    "user; name clients (client=ADDRESS/BITS), or put ask = all before it and add "
		    "user=*",
		    conf_section_title(l, s));
}

static const struct conf_access_rule *find_action(
    const struct conf_access *a, enum conf_access_action action)
{
	return conf_first(r, a->rules, a->rule_count, r->action == action);
}

/* Only programs on this machine can connect to it. */
static bool is_local(const struct net_address *at)
{
	static const struct address ipv6_loopback = {{[15] = 1}, 6};
	struct address ip;

	net_address_ip(at, &ip);
	return at->any.sa_family == AF_UNIX ||
	       (ip.family == 4 ? ip.bytes[0] == 127 : memcmp(&ip, &ipv6_loopback, sizeof ip) == 0);
}

/* Its pages are for operators: the configuration must name the clients that may see them. */
static void check_for_admin(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;
	const struct conf_access *a = listen->access;

	if (!listen->address_text || is_local(&listen->address) ||
	    (a && find_action(a, CONF_ACCESS_ALLOW)))
		return;
	conf_mistake(l, s->file, conf_line_of(s, a ? "access" : "address"),
	    "%s has mode = admin and listens for other machines on %s, but %s; allow clients "
	    "there (allow = client=ADDRESS/BITS), or listen on 127.0.0.1:PORT or unix:/PATH",
	    conf_section_title(l, s), listen->address_text,
	    a ? "its access has no allow" : "it has no access");
}

void conf_find_access(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_listen *listen = s->object;
	bool is_forward = listen->mode == CONF_MODE_FORWARD;

	if (!listen->access_name) {
		listen->access = is_forward ? &conf_access_built_in : NULL;
		if (listen->mode == CONF_MODE_ADMIN)
			check_for_admin(l, s);
		return;
	}
	const struct conf_section *found =
	    conf_find_section(l, CONF_SECTION_ACCESS, slice_of_string(listen->access_name));
	listen->access = found ? found->object : NULL;
	if (!found) {
		conf_no_section(l, s, CONF_SECTION_ACCESS, listen->access_name);
	} else if (is_forward) {
		warn_of_open_proxy(l, s, listen->access);
	} else {
		check_for_gateway(l, s, listen->access);
		if (listen->mode == CONF_MODE_ADMIN)
			check_for_admin(l, s);
	}
}

/* ---- sections ---- */

static void check_users(struct conf_loader *l, const struct conf_access *a)
{
	const struct conf_access_rule *rule = conf_first(
	    r, a->rules, a->rule_count, r->action == CONF_ACCESS_ASK || r->user_count > 0);

	if (rule && !a->users)
		conf_mistake(l, rule->file, rule->line,
		    "[access %s] has no users, so that nobody has a name; add users = FILE",
		    a->name);
}

/* Whether all listeners that name the section are gateways, whose allow has no usual conditions. */
static bool is_of_gateways(const struct conf *c, const struct conf_access *a)
{
	return !conf_any(l, c->listens, c->listen_count,
	    l->access_name && strcmp(l->access_name, a->name) == 0 && conf_listen_is_forward(l));
}

/* A rule that takes all that gets to it hides those behind it. An ask does not: it asks those without a user. */
static bool warn_of_hidden_rule(struct conf_loader *l, const struct conf_access *a)
{
	bool is_of_all = is_of_gateways(l->conf, a);
	const struct conf_access_rule *rule = conf_first(r, a->rules, a->rule_count,
	    (r->action == CONF_ACCESS_DENY || (r->action == CONF_ACCESS_ALLOW && is_of_all)) &&
		!has_conditions(r));

	if (!rule || rule + 1 == a->rules + a->rule_count)
		return false;
	conf_warning(l, rule[1].file, rule[1].line,
	    "the rule is never reached, because that at %s:%" PRIu32
	    " takes all requests; put it before that one",
	    rule->file, rule->line);
	return true;
}

/* A request that no line takes is denied: behind the last allow no rule denies or asks for anything more. */
static void warn_of_late_rule(
    struct conf_loader *l, const struct conf_access *a, const struct conf_access_rule *last_allow)
{
	for (const struct conf_access_rule *r = a->rules + a->rule_count; --r > last_allow;) {
		if (r->action == CONF_ACCESS_DENY && !has_conditions(r))
			continue;
		conf_warning(l, r->file, r->line,
		    r->action == CONF_ACCESS_ASK
			? "ask lets nobody in, because no allow is behind it; put it before that "
			  "at %s:%" PRIu32
			: "deny has no effect, because no allow is behind it, and what no line "
			  "takes is denied; put it before that at %s:%" PRIu32,
		    last_allow->file, last_allow->line);
		return;
	}
}

/* Browsers send a password when they were asked for it, and not before. */
static void warn_of_users_not_asked(struct conf_loader *l, const struct conf_access *a)
{
	const struct conf_access_rule *rule = conf_first(
	    r, a->rules, a->rule_count, r->action == CONF_ACCESS_ALLOW && r->user_count > 0);

	if (rule && !find_action(a, CONF_ACCESS_ASK))
		conf_warning(l, rule->file, rule->line,
		    "nobody is asked for a password, and browsers send none that was not asked "
		    "for; put ask = all before this line");
}

static void check_order(struct conf_loader *l, const struct conf_access *a)
{
	const struct conf_access_rule *last = find_action(a, CONF_ACCESS_ALLOW);

	if (warn_of_hidden_rule(l, a) || !last)
		return;
	for (size_t i = 0; i < a->rule_count; i++)
		if (a->rules[i].action == CONF_ACCESS_ALLOW)
			last = &a->rules[i];
	warn_of_late_rule(l, a, last);
	if (a->users)
		warn_of_users_not_asked(l, a);
}

/* Rules of pushes ask for users too. */
static void note_users_of_rules(struct conf_loader *l, struct conf_access *a)
{
	bool is_asked = false;

	conf_for_each_section (l, s, CONF_SECTION_PUSH)
		is_asked |= ((const struct policy_rule *)s->object)->user_count > 0;
	conf_for_each_section (l, s, CONF_SECTION_PRELOAD)
		is_asked |= ((const struct conf_preload *)s->object)->when.user_count > 0;
	if (is_asked && a->users)
		a->needs |= CONF_ACCESS_USER;
}

void conf_check_access(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_access *a = s->object;

	if (s->is_broken)
		return;
	note_users_of_rules(l, a);
	check_users(l, a);
	if (!find_action(a, CONF_ACCESS_ALLOW))
		conf_warning(l, s->file, s->line,
		    "%s has no allow, so that every request is denied; add one",
		    conf_section_title(l, s));
	check_order(l, a);
	if (!conf_any(listen, l->conf->listens, l->conf->listen_count, listen->access == a))
		conf_warning(l, s->file, s->line,
		    "%s is used by no listener; add access = %s to one, or remove the section",
		    conf_section_title(l, s), s->name);
}
