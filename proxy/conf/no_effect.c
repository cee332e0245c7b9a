/* SPDX-License-Identifier: MIT */
/*
 * Warnings about what changes nothing: origins without a route, rules whose pushes never come, hosts that no
 * certificate covers, and unused_options.c. Each configuration that gets here is without mistakes.
 */
#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"
#include "proxy/http/authority.h"
#include <inttypes.h>
#include <unistd.h>

/* ---- [origin NAME] ---- */

static void check_origin(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_origin *o = s->object;
	struct address ip;

	if (o->tls_name && o->kind == CONF_ORIGIN_TLS &&
	    address_parse(slice_of_string(o->tls_name), &ip))
		conf_warning(l, s->file, conf_option_line(s, "tls-name"),
		    "tls-name is an IP address: it is not sent as SNI, and the origin's "
		    "certificate must have it as iPAddress; write the certificate's host name");
	if (!conf_any(r, l->conf->routes, l->conf->route_count, conf_route_uses(r, o)))
		conf_warning(l, s->file, s->line,
		    "%s is used by no route; add origin = %s to one, or remove the section",
		    conf_section_title(l, s), s->name);
}

/* ---- rules and preloads whose conditions match no request ---- */

static bool is_literal(const struct policy_patterns *p, size_t i)
{
	return !p->regexes[i] && slice_find(p->globs[i], '*') == p->globs[i].len &&
	       slice_find(p->globs[i], '?') == p->globs[i].len;
}

static bool may_be_host(const struct policy_patterns *hosts, const struct conf_route *route)
{
	if (hosts->count == 0 || route->host_count == 0)
		return true;
	for (size_t i = 0; i < hosts->count; i++)
		if (!is_literal(hosts, i) || conf_any(h, route->hosts, route->host_count,
						 http_host_matches(*h, hosts->globs[i])))
			return true;
	return false;
}

/* The route has paths below its prefix: can one of them match the pattern? */
static bool may_be_below(const struct policy_patterns *paths, size_t i, struct slice prefix)
{
	struct slice glob = paths->globs[i];
	size_t end = 0;

	while (end < glob.len && glob.ptr[end] != '*' && glob.ptr[end] != '?')
		end++;
	struct slice fixed = slice_sub(glob, 0, end);
	return paths->regexes[i] || slice_starts_with(fixed, prefix) ||
	       (end < glob.len && slice_starts_with(prefix, fixed));
}

static bool may_be_path(const struct policy_patterns *paths, const struct conf_route *route)
{
	if (paths->count == 0 || route->path_count == 0)
		return true;
	for (size_t i = 0; i < paths->count; i++)
		if (conf_any(p, route->paths, route->path_count, may_be_below(paths, i, *p)))
			return true;
	return false;
}

static bool is_without_route(const struct conf *c, const struct policy_rule *when)
{
	/* A route that answers by itself pushes nothing. */
	return !conf_any(r, c->routes, c->route_count,
	    r->side_count > 0 && may_be_host(&when->hosts, r) && may_be_path(&when->paths, r));
}

static void check_conditions(
    struct conf_loader *l, const struct conf_section *s, const struct policy_rule *when)
{
	if (when->user_count > 0 && !conf_has_users(l->conf))
		conf_warning(l, s->file, conf_option_line(s, "user"),
		    "%s never matches, because no [access NAME] has users, so that no user is "
		    "known; add them there, or remove the section",
		    conf_section_title(l, s));

	if (is_without_route(l->conf, when))
		conf_warning(l, s->file, conf_line_of(s, "host path"),
		    "%s never matches, because no route has such a host and path; correct them or "
		    "remove the section",
		    conf_section_title(l, s));
}

/* A manifest may come later, but not one whose name is misspelt. */
static void check_manifests(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_preload *p = s->object;

	for (size_t i = 0; l->opens_files && i < p->manifest_count; i++) {
		const char *path = p->manifests[i];
		const char *near = access(path, F_OK) != 0 ? conf_suggest_file(l, path) : NULL;
		if (near)
			conf_warning(l, s->file, conf_option_line(s, "manifest"),
			    "there is no manifest '%s'; did you mean '%s'?", path, near);
	}
}

static bool has_no_gateway(const struct conf *c)
{
	return !conf_any(l, c->listens, c->listen_count, l->mode == CONF_MODE_GATEWAY);
}

/* On a proxy for every site a resource of one site would be asked of all of them. */
static void check_sites(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_preload *p = s->object;
	uint32_t line = conf_option_line(s, p->add_count > 0 ? "add" : "manifest");

	if (p->add_count + p->manifest_count == 0 || p->when.hosts.count > 0 ||
	    p->when.destination_count > 0)
		return;
	if (!has_no_gateway(l->conf))
		return;
	conf_warning(l, s->file, line,
	    "%s is for no site: no [listen NAME] has mode = gateway, and each site would be "
	    "asked for these resources; name theirs with host, or remove the section",
	    conf_section_title(l, s));
}

/* ---- routes that no listener uses, and protocols that no client asks for ---- */

static void check_modes(struct conf_loader *l)
{
	if (!has_no_gateway(l->conf))
		return;
	conf_for_each_section (l, s, CONF_SECTION_ROUTE) {
		const struct conf_route *route = s->object;
		if (!route->is_forward)
			conf_warning(l, s->file, s->line,
			    "%s never matches, because no [listen NAME] has mode = gateway; add "
			    "one, or remove the section",
			    conf_section_title(l, s));
	}
}

/* Any protocol may be named, but there is hardly one that is so like this one. */
static bool resembles_websocket(struct slice protocol)
{
	const struct slice websocket = SLICE("websocket");
	char text[16];

	if (slice_equal_nocase(protocol, websocket) || protocol.len >= sizeof text)
		return false;
	ascii_lower_copy(text, protocol);
	struct slice lower = slice_of(text, protocol.len);
	return slice_equal(lower, SLICE("ws")) || slice_equal(lower, SLICE("wss")) ||
	       slice_distance(lower, websocket, 3) <= 2;
}

static void check_upgrades(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_route *route = s->object;

	/* The upgrades of [routes] are checked with that section. */
	for (size_t i = 0; conf_option_line(s, "upgrade") && i < route->upgrade_count; i++)
		if (resembles_websocket(route->upgrades[i]))
			conf_warning(l, s->file, conf_option_line(s, "upgrade"),
			    "no client asks for the protocol %.*s; did you mean upgrade = "
			    "websocket?",
			    SLICE_ARG(route->upgrades[i]));
}

/* ---- sources ---- */

static bool has_source(const struct conf *c, enum policy_source source)
{
	if (source == POLICY_RELAYED)
		return !conf_no_origin_promises(c);
	return conf_any(p, c->preloads, c->preload_count,
	    (source == POLICY_LINK && p->link) || (source == POLICY_CONFIG && p->add_count > 0) ||
		(source == POLICY_MANIFEST && p->manifest_count > 0) ||
		(source == POLICY_REMEMBERED && p->remembered != CONF_REMEMBERED_OFF));
}

/* How to make a source yield pushes. */
static const char *const source_remedies[POLICY_SOURCE_COUNT] = {
    [POLICY_RELAYED] = "each origin has push = refuse; set push = auto in one",
    [POLICY_LINK] = "no [preload NAME] has link = yes; add one",
    [POLICY_CONFIG] = "no [preload NAME] has add; add one",
    [POLICY_MANIFEST] = "no [preload NAME] has a manifest; add one",
    [POLICY_REMEMBERED] = "no [preload NAME] has remembered = apply; add one",
};

static void check_sources(struct conf_loader *l, const struct conf_section *s)
{
	const struct policy_rule *rule = s->object;
	int first = -1;

	for (int source = 0; source < POLICY_SOURCE_COUNT; source++) {
		if ((rule->sources & 1u << source) == 0)
			continue;
		if (has_source(l->conf, (enum policy_source)source))
			return;
		first = first < 0 ? source : first;
	}
	if (first >= 0)
		conf_warning(l, s->file, conf_option_line(s, "source"),
		    "%s never matches, because no push has the source %s: %s, or remove the rule",
		    conf_section_title(l, s), policy_source_name((enum policy_source)first),
		    first == POLICY_RELAYED && !conf_all_refuse(l->conf) ? CONF_NO_PROMISES
			"; make one an https://, h2:// or h2c:// server"
									 : source_remedies[first]);
}

/* ---- rules of [access NAME] ---- */

static bool has_proxies(const struct conf *c)
{
	return conf_any(o, c->origins, c->origin_count,
	    o->kind == CONF_ORIGIN_FORWARD && o->chain.proxy_count > 0);
}

static bool is_of_forward_listener(const struct conf *c, const struct conf_access *a)
{
	return conf_any(
	    l, c->listens, c->listen_count, l->access == a && conf_listen_is_forward(l));
}

static void check_proxied_rules(struct conf_loader *l)
{
	const struct conf *c = l->conf;
	for (size_t i = 0; has_proxies(c) && i < c->access_count; i++) {
		const struct conf_access *a = &c->accesses[i];
		const struct conf_access_rule *rule =
		    conf_first(r, a->rules, a->rule_count, r->addresses.count > 0);
		if (rule && is_of_forward_listener(c, a))
			conf_warning(l, rule->file, rule->line,
			    "this line takes no name that goes through an upstream-proxy, because "
			    "the proxy looks it up; it takes what is written as an address, and "
			    "what no-proxy names");
	}
}

/* ---- certificates and the hosts of the routes ---- */

/*
 * In forward mode they have nothing in common: the certificate is for the proxy's own name, the hosts are those of
 * others. Nor have they at an admin listener.
 */
static bool certificate_covers_route(
    const struct conf_loader *l, const struct net_tls *tls, size_t i)
{
	return conf_any(r, l->conf->routes, l->conf->route_count,
	    !r->is_forward &&
		conf_any(h, r->hosts, r->host_count, net_tls_certificate_covers(tls, i, *h)));
}

/*
 * The first certificate is for clients that name no host: it should be one of those that are served.
 * A route for any host serves it too.
 */
static void check_default(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;

	if (listen->tls.strict_sni || conf_any(r, l->conf->routes, l->conf->route_count,
					  !r->is_forward && conf_route_has_host(r, SLICE("*"))))
		return;
	/* Those of folders are behind the others, in no order that anybody has chosen. */
	for (size_t i = 1; i < s->chain_count; i++) {
		if (certificate_covers_route(l, s->tls, 0) ||
		    !certificate_covers_route(l, s->tls, i))
			continue;
		conf_warning(l, s->file, s->chains[0].line,
		    "the first certificate is the default, for clients that name no host (SNI) or "
		    "an unknown one, and it covers no host of a route; put that of line %" PRIu32
		    " first",
		    s->chains[i].line);
		return;
	}
}

static bool is_covered(const struct conf_loader *l, struct slice host)
{
	conf_for_each_section (l, s, CONF_SECTION_LISTEN) {
		const struct conf_listen *listen = s->object;
		if (listen->mode != CONF_MODE_GATEWAY)
			continue;
		size_t count = s->tls ? net_tls_certificate_count(s->tls) : 0;
		for (size_t i = 0; i < count; i++)
			if (net_tls_certificate_covers(s->tls, i, host))
				return true;
	}
	return false;
}

/* Of a long list, which has probably the wrong file, only the first hosts are named. */
#define HOSTS_NAMED 10u

static void check_hosts_of(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_route *route = s->object;
	uint32_t line = conf_option_line(s, "host host-file");
	size_t found = 0;

	if (line == 0)
		return; /* hosts of [routes] are named there */
	for (size_t h = 0; h < route->host_count; h++) {
		struct slice host = route->hosts[h];
		if (slice_equal(host, SLICE("*")) || is_covered(l, host) || ++found > HOSTS_NAMED)
			continue;
		conf_warning(l, s->file, line,
		    "no certificate covers %.*s, so that clients refuse it over TLS; add one that "
		    "has this name to [listen NAME]",
		    SLICE_ARG(host));
	}
	if (found > HOSTS_NAMED)
		conf_warning(l, s->file, line,
		    "nor does one cover %zu more hosts of %s; add one that has them",
		    found - HOSTS_NAMED, conf_section_title(l, s));
}

static void check_covered_hosts(struct conf_loader *l)
{
	bool has_tls = false;

	conf_for_each_section (l, s, CONF_SECTION_LISTEN) {
		const struct conf_listen *listen = s->object;
		if (listen->mode != CONF_MODE_GATEWAY)
			continue;
		/* Something in front ends TLS for all hosts. */
		if (listen->certificate_count == 0 && listen->trusted_count > 0)
			return;
		if (s->tls)
			check_default(l, s);
		has_tls = has_tls || s->tls;
	}
	conf_for_each_section (l, s, CONF_SECTION_ROUTES) {
		if (has_tls)
			check_hosts_of(l, s);
	}
	conf_for_each_section (l, s, CONF_SECTION_ROUTE) {
		if (has_tls && !((const struct conf_route *)s->object)->is_forward)
			check_hosts_of(l, s);
	}
}

/* ---- placeholders that stand for nothing ---- */

static bool has_id(const struct conf_listen *l)
{
	return l->request_id != CONF_REQUEST_ID_OFF;
}

static bool asks_for_users(const struct conf_listen *l)
{
	return l->access_name != NULL;
}

static bool has_tls(const struct conf_listen *l)
{
	return l->certificate_count > 0;
}

static bool asks_for_certificates(const struct conf_listen *l)
{
	return l->client_auth != NULL;
}

#define CLIENT_CA "client-ca; add it, or remove the placeholder"

static const struct {
	enum conf_placeholder placeholder;
	const char *text;
	bool (*is_known)(const struct conf_listen *l);
	const char *remedy;
} needs[] = {
    {CONF_PLACEHOLDER_REQUEST_ID, "{request-id}", has_id, "request-id; add request-id = make"},
    {CONF_PLACEHOLDER_USER, "{user}", asks_for_users, "access; add one that asks for users"},
    {CONF_PLACEHOLDER_TLS, "{tls}", has_tls, "a certificate; remove it"},
    {CONF_PLACEHOLDER_CLIENT_CERT, "{client-cert}", asks_for_certificates, CLIENT_CA},
    {CONF_PLACEHOLDER_CLIENT_CERT_SUBJECT, "{client-cert-subject}", asks_for_certificates,
	CLIENT_CA},
    {CONF_PLACEHOLDER_CLIENT_CERT_ISSUER, "{client-cert-issuer}", asks_for_certificates, CLIENT_CA},
    {CONF_PLACEHOLDER_CLIENT_CERT_CN, "{client-cert-cn}", asks_for_certificates, CLIENT_CA},
    {CONF_PLACEHOLDER_CLIENT_CERT_FINGERPRINT, "{client-cert-fingerprint}", asks_for_certificates,
	CLIENT_CA},
};

static bool has_placeholder(const struct conf_fields *f, enum conf_placeholder p)
{
	for (size_t i = 0; i < f->count; i++)
		if (conf_any(part, f->fields[i].parts.parts, f->fields[i].parts.count,
			part->placeholder == p))
			return true;
	return false;
}

static void check_placeholders(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_route *route = s->object;
	const struct conf *c = l->conf;
	enum conf_listen_mode mode = route->is_forward ? CONF_MODE_FORWARD : CONF_MODE_GATEWAY;
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
		if (!has_placeholder(&route->request_fields, needs[i].placeholder) &&
		    !has_placeholder(&route->response_fields, needs[i].placeholder))
			continue;
		if (!conf_any(listen, c->listens, c->listen_count,
			listen->mode == mode && needs[i].is_known(listen)))
			conf_warning(l, s->file, s->line,
			    "%s of %s stands for nothing, because no [listen NAME] that it serves "
			    "has %s",
			    needs[i].text, conf_section_title(l, s), needs[i].remedy);
	}
}

/* ---- the whole ---- */

void conf_check_effects(struct conf_loader *l)
{
	check_covered_hosts(l);
	check_modes(l);
	check_proxied_rules(l);
	conf_check_cert_conditions(l);
	for (const struct conf_section *s = l->first; s; s = s->next) {
		conf_check_unused_options(l, s);
		if (s->kind == CONF_SECTION_ROUTE || s->kind == CONF_SECTION_ROUTES)
			check_upgrades(l, s);
		if (s->kind == CONF_SECTION_ROUTE)
			check_placeholders(l, s);
		if (s->kind == CONF_SECTION_ROUTES)
			conf_check_unused_defaults(l, s);
		if (s->kind == CONF_SECTION_ORIGIN)
			check_origin(l, s);
		if (s->kind == CONF_SECTION_PUSH) {
			check_sources(l, s);
			check_conditions(l, s, s->object);
		}
		if (s->kind == CONF_SECTION_PRELOAD) {
			check_conditions(l, s, &((const struct conf_preload *)s->object)->when);
			check_manifests(l, s);
			check_sites(l, s);
		}
	}
}
