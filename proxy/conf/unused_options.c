/* SPDX-License-Identifier: MIT */
/*
 * Warnings about options that change nothing, because another option, a version of HTTP or a mode
 * takes their effect away. One table says what each option needs: see `rows`.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"

/* ---- conditions: whether the options of a row are unused ---- */

/*
 * A condition looks at the whole configuration and at the object of the option's section: WHEN
 * defines one of a single expression, in which c is the configuration and o the object.
 */
#define WHEN(name, type, expression)                                                               \
	static bool name(const struct conf *c, const void *object)                                 \
	{                                                                                          \
		const type *o = object;                                                            \
		(void)c, (void)o;                                                                  \
		return expression;                                                                 \
	}
#define WHEN_NO_ORIGIN(name, expression)                                                           \
	WHEN(name, void, !conf_any(i, c->origins, c->origin_count, expression))
#define WHEN_NO_ROUTE(name, type, expression)                                                      \
	WHEN(name, type, !conf_any(i, c->routes, c->route_count, expression))
#define WHEN_NO_LISTEN(name, type, expression)                                                     \
	WHEN(name, type, !conf_any(i, c->listens, c->listen_count, expression))
#define WHEN_NO_SIDE(name, expression)                                                             \
	WHEN(name, struct conf_route, !conf_any(i, o->sides, o->side_count, expression))

/* [server] */
static bool has_action(const struct conf *c, enum policy_action a, enum policy_action b)
{
	return c->policy.fallback == a || c->policy.fallback == b ||
	       conf_any(r, c->policy.rules, c->policy.count, r->action == a || r->action == b);
}

/* Routes of forward mode take CONNECT. */
static bool may_tunnel(const struct conf_route *route)
{
	return route->upgrade_count > 0 || route->is_forward;
}

WHEN(nothing_holds, void, !has_action(c, POLICY_HOLD, POLICY_HINT_HOLD))
WHEN(nothing_hints, void, !has_action(c, POLICY_HINT, POLICY_HINT_HOLD))
WHEN(no_cookie, void, !c->server.diary_cookie)
WHEN(has_no_names, void, !conf_has_names(c) && !conf_tracing_has_name(c) && !conf_acme_has_name(c))
WHEN(traces_nothing, void, !c->server.tracing.collector)
WHEN(has_no_acme, void, !c->server.acme.directory)
WHEN(has_own_resolvers, void, c->server.resolver_count > 0)
WHEN(limits_no_requests, void, c->request_limit_count == 0)
WHEN(nothing_remembers, void, !conf_remembers(c))
WHEN(has_no_users, void, !conf_has_users(c))
WHEN_NO_LISTEN(nobody_shares, void, conf_listen_shares(i))
WHEN_NO_LISTEN(judges_nobody, void, i->access)
WHEN_NO_LISTEN(asks_for_no_certificate, void, i->client_auth)
WHEN_NO_LISTEN(has_no_admin, void, i->mode == CONF_MODE_ADMIN)
WHEN_NO_ORIGIN(all_refuse, i->push != CONF_PUSH_REFUSE)
WHEN_NO_ORIGIN(none_promises, i->push != CONF_PUSH_REFUSE && i->protocols != CONF_HTTP1)
WHEN_NO_ROUTE(nothing_tunnels, void, may_tunnel(i))

/* [listen NAME], [access NAME] */
WHEN(is_gateway, struct conf_listen, o->mode == CONF_MODE_GATEWAY)
WHEN(is_admin, struct conf_listen, o->mode == CONF_MODE_ADMIN)
WHEN(is_cleartext, struct conf_listen, o->certificate_count == 0)
WHEN(names_no_clients, struct conf_listen, !conf_listen_names_clients(o))
WHEN(takes_no_headers, struct conf_listen, !o->proxy_protocol.is_required)
WHEN(has_tls12_alone, struct conf_listen, o->tls.most == NET_TLS_1_2)
WHEN(has_tls13_alone, struct conf_listen, o->tls.least == NET_TLS_1_3)
WHEN(clients_speak_http1, struct conf_listen, o->protocols == CONF_HTTP1)
WHEN(asks_for_no_user, struct conf_access, (o->needs & CONF_ACCESS_USER) == 0)

/* [route NAME] */
static bool repeats_nothing(const struct conf_route *route)
{
	const struct conf_retry_on *on = &route->retry_on;
	return !on->lost && !on->late && !memchr(on->statuses, 1, sizeof on->statuses);
}

static bool is_forward_origin(const struct conf_origin *o)
{
	return o->kind == CONF_ORIGIN_FORWARD;
}

static bool serves(const struct conf_listen *l, const struct conf_route *route)
{
	return l->mode == (route->is_forward ? CONF_MODE_FORWARD : CONF_MODE_GATEWAY);
}

/* A name that requests name may have several addresses. */
static bool is_one_server(const struct conf_origin *o)
{
	return !is_forward_origin(o) && !conf_origin_is_fleet(o);
}

static bool is_reached_by_ip(const struct conf_origin *o)
{
	return is_forward_origin(o) ||
	       conf_any(i, o->servers, o->server_count, conf_server_has_ip(i));
}

WHEN(answers_itself, struct conf_route, o->side_count == 0)
WHEN(is_forward_route, struct conf_route, o->is_forward)
WHEN(is_gateway_route, struct conf_route, !o->is_forward)
WHEN(opens_no_tunnels, struct conf_route, !may_tunnel(o))
WHEN(never_repeats, struct conf_route, repeats_nothing(o))
WHEN(speculates_not, struct conf_route, o->speculation.kind == SPECULATION_OFF)
WHEN(has_no_retries, struct conf_route, o->retries == 0)
WHEN_NO_SIDE(reaches_one_server, !is_one_server(i->origin))
WHEN(repeats_to_one_server, struct conf_route,
    reaches_one_server(c, o) && !repeats_nothing(o) && o->retries > 0)
WHEN_NO_SIDE(subscribes_to_nothing, !o->subscription || i->origin->push != CONF_PUSH_REFUSE)
WHEN_NO_SIDE(subscribes_over_http1, !o->subscription || i->origin->protocols != CONF_HTTP1)
WHEN_NO_LISTEN(knows_no_users, struct conf_route, serves(i, o) && i->access_name)
/* Clients on a unix socket have no address. */
WHEN_NO_LISTEN(has_no_addresses, struct conf_route,
    i->mode != CONF_MODE_ADMIN && i->address.any.sa_family != AF_UNIX)
WHEN(counts_nobody, struct conf_route,
    has_no_addresses(c, o) &&
	!conf_any(i, o->request_limits, o->request_limit_count, i->key != CONF_LIMIT_CLIENT))

/* [origin NAME] */
WHEN(is_forward, struct conf_origin, is_forward_origin(o))
WHEN(is_not_forward, struct conf_origin, !is_forward_origin(o))
WHEN(has_no_proxy, struct conf_origin, o->chain.proxy_count == 0)
WHEN(has_one_server, struct conf_origin, is_one_server(o))
WHEN(is_not_tls, struct conf_origin, o->kind != CONF_ORIGIN_TLS && !is_forward_origin(o))
WHEN(is_not_verified, struct conf_origin, !o->tls_verify)
WHEN(speaks_http1, struct conf_origin, o->protocols == CONF_HTTP1)
WHEN(is_private, struct conf_origin, o->is_private)
WHEN(speaks_http2, struct conf_origin, o->protocols == CONF_HTTP2)
WHEN(refuses_pushes, struct conf_origin, o->push == CONF_PUSH_REFUSE)
WHEN(never_ejects, struct conf_origin, o->eject.failures == 0 && o->eject.percent == 0)
WHEN(ejects_longer, struct conf_origin, o->eject.time_max < o->eject.time)
WHEN(needs_no_ip, struct conf_origin, !is_reached_by_ip(o))
WHEN(is_demo, struct conf_origin, o->kind == CONF_ORIGIN_DEMO)
WHEN(checks_nothing, struct conf_origin, o->check.kind == CONF_CHECK_OFF)
WHEN(asks_nothing, struct conf_origin, o->check.kind == CONF_CHECK_CONNECT)
WHEN_NO_ROUTE(has_no_speculation, struct conf_origin,
    i->speculation.kind != SPECULATION_OFF && conf_route_uses(i, o))
WHEN_NO_ROUTE(has_no_subscription, struct conf_origin, i->subscription &&conf_route_uses(i, o))
WHEN_NO_ROUTE(has_no_tunnels, struct conf_origin,
    is_forward_origin(o) || (i->upgrade_count > 0 && conf_route_uses(i, o)))
/* The only server of an origin may get a request a third time. */
WHEN_NO_ROUTE(has_no_repeating_route, struct conf_origin,
    conf_route_uses(i, o) && (is_one_server(o) || (!repeats_nothing(i) && i->retries > 0)))

/* [push NAME] */
WHEN(drops, struct policy_rule, o->action == POLICY_DROP)
WHEN(only_hints, struct policy_rule, o->action == POLICY_HINT)
WHEN(does_not_hint, struct policy_rule, o->action != POLICY_HINT && o->action != POLICY_HINT_HOLD)
WHEN(is_for_relayed, struct policy_rule, o->sources == 1u << POLICY_RELAYED)
WHEN(never_pauses, struct policy_rule, o->min_used == 0)
WHEN(remembers_nothing, struct conf_preload, o->remembered == CONF_REMEMBERED_OFF)

bool conf_has_users(const struct conf *c)
{
	return conf_any(a, c->accesses, c->access_count, a->users);
}

bool conf_all_refuse(const struct conf *c)
{
	return all_refuse(c, NULL);
}

bool conf_no_origin_promises(const struct conf *c)
{
	return none_promises(c, NULL);
}

/* ---- the table ---- */

#define LIMITS_OF_HTTP2                                                                            \
	"limit-faults limit-pings limit-settings limit-priorities limit-empty-frames "             \
	"limit-window-updates limit-field-blocks max-continuations max-control-output"
#define EJECTS "eject-failures eject-percent eject-time eject-time-max eject-most failure-status"
#define NOBODY_SHARES "no [listen NAME] has mode = gateway, or shares = yes"
#define REMEMBERED "remembered-file remembered-clients remembered-ignored-query"
#define NO_TUNNELS "the section has no upgrade"
#define NEVER_COME "the pushes that it waits for never come: its origin "

/* A section's options, separated by spaces, and why they are unused when the condition holds. Of
 * the rows that have an option, the first whose condition holds is reported. */
static const struct row {
	enum conf_kind section;
	const char *keys;
	bool (*is_unused)(const struct conf *c, const void *object);
	const char *why;
} rows[] = {
    {CONF_SECTION_SERVER, "diary-cookie-key diary-cookie-age", no_cookie, "diary-cookie is off"},
    {CONF_SECTION_SERVER, "hold-max-count hold-max-bytes hold-max-age hold-shared", nothing_holds,
	"no rule and no default-action holds responses"},
    {CONF_SECTION_SERVER, "hold-shared diary-cookie " REMEMBERED, nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_SERVER, REMEMBERED, nothing_remembers,
	"no [preload NAME] has remembered = propose or remembered = apply"},
    {CONF_SECTION_SERVER, "hint-wait", nothing_hints, "no rule and no default-action hints"},
    {CONF_SECTION_SERVER,
	"resolver dns-min-ttl dns-max-ttl dns-negative-ttl dns-timeout hosts-file resolv-conf",
	has_no_names, "no server has a name"},
    {CONF_SECTION_SERVER, "resolv-conf", has_own_resolvers, "resolver is given"},
    {CONF_SECTION_SERVER, "ready-when page-records", has_no_admin,
	"no [listen NAME] has mode = admin"},
    {CONF_SECTION_SERVER, "tunnel-drain-timeout", nothing_tunnels, "no route has upgrade"},
    {CONF_SECTION_SERVER, "access-recheck", nothing_tunnels, "no route has upgrade"},
    {CONF_SECTION_SERVER, "access-recheck", judges_nobody, "no [listen NAME] has access"},
    {CONF_SECTION_SERVER, "promise-rate promise-refusals reset-rate", all_refuse,
	"each origin has push = refuse"},
    {CONF_SECTION_SERVER, "promise-rate promise-refusals reset-rate", none_promises,
	CONF_NO_PROMISES},
    {CONF_SECTION_SERVER, "tracing-ratio tracing-parent", traces_nothing, "tracing is off"},
    {CONF_SECTION_SERVER, "acme-dir acme-email acme-ca acme-challenge", has_no_acme,
	"no [listen NAME] has acme"},
    {CONF_SECTION_SERVER, "limit-table", limits_no_requests, "no route has limit-requests"},
    {CONF_SECTION_SERVER, "user-failures users-cache-time", has_no_users,
	"no [access NAME] has users"},

    {CONF_SECTION_LISTEN, "shares pac", is_gateway, "mode is gateway"},
    {CONF_SECTION_LISTEN, "shares pac clients record-pages request-id", is_admin, "mode is admin"},
    {CONF_SECTION_LISTEN, "record-pages", has_no_admin, "no [listen NAME] has mode = admin"},
    {CONF_SECTION_LISTEN, "proxy-protocol-timeout proxy-protocol-https-port", takes_no_headers,
	"proxy-protocol is off"},
    {CONF_SECTION_LISTEN, "client-hops", names_no_clients, "client-address is peer"},
    {CONF_SECTION_LISTEN, "tls-timeout tls-min tls-max ciphers groups strict-sni ech-keys",
	is_cleartext, "the section has no certificate"},
    {CONF_SECTION_LISTEN, "ciphers", has_tls13_alone, "tls-min is 1.3"},
    {CONF_SECTION_LISTEN, "ech-keys", has_tls12_alone, "tls-max is 1.2"},
    {CONF_SECTION_LISTEN,
	"max-concurrent-streams connection-window header-table settings-timeout "
	"limit-resets " LIMITS_OF_HTTP2,
	clients_speak_http1, "protocols is http/1.1"},
    {CONF_SECTION_ACCESS, "users", asks_for_no_user, "no rule asks for users or looks at them"},

    {CONF_SECTION_ORIGIN, "upstream-proxy no-proxy", is_not_forward,
	"the origin is not server = forward:"},
    {CONF_SECTION_ORIGIN, "no-proxy", has_no_proxy, "the section has no upstream-proxy"},
    {CONF_SECTION_ORIGIN, "source-address", needs_no_ip, "the servers are reached without IP"},
    {CONF_SECTION_ORIGIN, "max-destinations", is_not_forward, "server is not forward:"},
    {CONF_SECTION_ORIGIN, "tls-ca tls-verify tls-name client-certificate", is_not_tls,
	"server is not https:// or h2://"},
    {CONF_SECTION_ORIGIN, "tls-ca", is_not_verified, "tls-verify is no"},
    {CONF_SECTION_ORIGIN,
	"push max-concurrent-pushes max-connections max-subscriptions connection-window "
	"settings-timeout limit-promises max-reserved-pushes " LIMITS_OF_HTTP2,
	speaks_http1, "the origin speaks HTTP/1.1 alone (http://, h1+unix:)"},
    {CONF_SECTION_ORIGIN, "spare-connections", is_private,
	"connections is private, and none is opened before its client is known"},
    {CONF_SECTION_ORIGIN, "max-http1-connections", speaks_http2,
	"the origin speaks HTTP/2 alone (h2://, h2c://, h2c+unix:)"},
    {CONF_SECTION_ORIGIN, "max-concurrent-pushes max-reserved-pushes limit-promises",
	refuses_pushes, "the origin has push = refuse"},
    {CONF_SECTION_ORIGIN, "max-subscriptions", has_no_subscription,
	"no route to it has subscription = yes"},
    {CONF_SECTION_ORIGIN, "speculation-share", has_no_speculation,
	"no route to it has speculation"},
    {CONF_SECTION_ORIGIN, "max-tunnels", has_no_tunnels, "no route to it has upgrade"},
    {CONF_SECTION_ORIGIN, EJECTS, is_forward,
	"server is forward:, and pushgate keeps no health of servers that requests name"},
    {CONF_SECTION_ORIGIN, "balance hash slow-start affinity-cookie " EJECTS, has_one_server,
	"the origin has one server"},
    {CONF_SECTION_ORIGIN, "eject-time eject-time-max eject-most failure-status", never_ejects,
	"eject-failures and eject-percent are 0"},
    {CONF_SECTION_ORIGIN, "eject-time-max", ejects_longer, "it is below eject-time"},
    {CONF_SECTION_ORIGIN, "health-check", is_demo, "the demo site always works"},
    {CONF_SECTION_ORIGIN,
	"health-host health-interval health-timeout health-rise health-fall health-status",
	checks_nothing, "health-check is off"},
    {CONF_SECTION_ORIGIN, "health-host health-status", asks_nothing,
	"health-check = connect sends no request"},
    {CONF_SECTION_ORIGIN, "retry-budget", has_no_repeating_route,
	"no route to it has retry-on and retries"},

    {CONF_SECTION_ROUTE,
	"retry-on retries connect-timeout response-timeout request-timeout stream-idle-timeout "
	"max-request-body "
	"streaming upgrade subscription rewrite map-referer forwarded underscores request-set "
	"request-add request-remove limit-requests response-set response-add response-remove "
	"server-timing speculation speculation-eagerness speculation-deny",
	answers_itself, "pushgate answers by itself (redirect, answer, files)"},
    {CONF_SECTION_ROUTE, "speculation-eagerness speculation-deny", speculates_not,
	"speculation is off"},
    {CONF_SECTION_ROUTE, "retry-on", has_no_retries, "retries is 0"},
    {CONF_SECTION_ROUTE, "retries", never_repeats, "retry-on is off"},
    {CONF_SECTION_ROUTE, "retry-on retries", repeats_to_one_server,
	"its origin has one server, and a request is not sent to the same one again"},
    {CONF_SECTION_ROUTE, "tunnel-sni", is_gateway_route,
	"the route's origin is not server = forward:"},
    {CONF_SECTION_ROUTE, "map-referer", is_forward_route, "hosts stay as they are in forward mode"},
    {CONF_SECTION_ROUTE,
	"tunnel-idle-timeout tunnel-half-closed-timeout tunnel-age tunnel-bytes tunnel-rate "
	"max-tunnels-per-client max-tunnels-per-user",
	opens_no_tunnels, NO_TUNNELS},
    {CONF_SECTION_ROUTE, "client-cert", asks_for_no_certificate, "no [listen NAME] has client-ca"},
    {CONF_SECTION_ROUTE, "max-tunnels-per-user", knows_no_users,
	"no listener that it serves has access"},
    {CONF_SECTION_ROUTE, "subscription", subscribes_to_nothing, NEVER_COME "has push = refuse"},
    {CONF_SECTION_ROUTE, "subscription", subscribes_over_http1, NEVER_COME "speaks HTTP/1.1 alone"},
    {CONF_SECTION_ROUTE, "limit-requests", counts_nobody,
	"clients on unix sockets, and there are no others, have no address to be counted by"},

    {CONF_SECTION_PUSH, "max-per-parent max-bytes status content-type urgency min-used", drops,
	"the rule drops its pushes"},
    {CONF_SECTION_PUSH, "max-bytes status content-type urgency", only_hints,
	"no response follows a hint"},
    {CONF_SECTION_PUSH, "hint-clients", does_not_hint, "the rule does not hint"},
    {CONF_SECTION_PUSH, "cross-origin on-revalidation", is_for_relayed,
	"it is for pushes that pushgate offers"},
    {CONF_SECTION_PUSH, "min-sample", never_pauses, "min-used is 0%"},
    {CONF_SECTION_PRELOAD, "remembered", nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_PRELOAD, "remembered-scripts", remembers_nothing, "remembered is off"},
};

const char *conf_next_why_unused(enum conf_kind kind, const char *key, size_t *at)
{
	while (*at < sizeof rows / sizeof *rows) {
		const struct row *r = &rows[(*at)++];
		if (r->section == kind && value_choice(slice_of_string(key), r->keys) >= 0)
			return r->why;
	}
	return NULL;
}

const char *conf_why_unused(
    const struct conf *c, enum conf_kind kind, const char *key, const void *object)
{
	const struct row *row = conf_first(r, rows, sizeof rows / sizeof *rows,
	    r->section == kind && value_choice(slice_of_string(key), r->keys) >= 0 &&
		r->is_unused(c, object));
	return row ? row->why : NULL;
}

void conf_check_unused_options(struct conf_loader *l, const struct conf_section *s)
{
	conf_for_each_option (o, s->kind) {
		uint32_t line = conf_changed_line(s, o->key);
		const char *why =
		    line ? conf_why_unused(l->conf, s->kind, o->key, s->object) : NULL;
		if (why)
			conf_warning(l, s->file, line, "%s has no effect, because %s; remove it",
			    o->key, why);
	}
}
