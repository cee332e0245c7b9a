/* SPDX-License-Identifier: MIT */
/* Warnings about options that another option makes idle. */
#include "proxy/conf/load.h"

static bool has_action(const struct conf *c, enum policy_action a, enum policy_action b)
{
	if (c->policy.fallback == a || c->policy.fallback == b)
		return true;
	for (size_t i = 0; i < c->policy.count; i++)
		if (c->policy.rules[i].action == a || c->policy.rules[i].action == b)
			return true;
	return false;
}

static bool nothing_holds(const struct conf *c, const void *object)
{
	(void)object;
	return !has_action(c, POLICY_HOLD, POLICY_HINT_HOLD);
}

static bool nothing_hints(const struct conf *c, const void *object)
{
	(void)object;
	return !has_action(c, POLICY_HINT, POLICY_HINT_HOLD);
}

static bool no_cookie(const struct conf *c, const void *object)
{
	(void)object;
	return !c->server.diary_cookie;
}

static bool nothing_learns(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->preload_count; i++)
		if (c->preloads[i].learned != CONF_LEARNED_OFF)
			return false;
	return true;
}

bool conf_all_refuse(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->origin_count; i++)
		if (c->origins[i].push != CONF_PUSH_REFUSE)
			return false;
	return true;
}

/* HTTP/1.1 has no pushes. */
bool conf_no_origin_promises(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->origin_count; i++)
		if (c->origins[i].push != CONF_PUSH_REFUSE && c->origins[i].protocols != CONF_HTTP1)
			return false;
	return true;
}

static bool clients_speak_http1(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_listen *)object)->protocols == CONF_HTTP1;
}

static bool is_cleartext(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_listen *)object)->certificate_count == 0;
}

static bool repeats_nothing(const struct conf_route *route)
{
	const struct conf_retry_on *on = &route->retry_on;
	return !on->lost && !on->late && !memchr(on->statuses, 1, sizeof on->statuses);
}

static bool reaches_several_servers(const struct conf_route *route)
{
	for (size_t i = 0; i < route->side_count; i++)
		if (!conf_has_one_server(NULL, route->sides[i].origin))
			return true;
	return false;
}

static bool repeats_to_one_server(const struct conf *c, const void *object)
{
	const struct conf_route *route = object;
	(void)c;
	return !reaches_several_servers(route) && !repeats_nothing(route) && route->retries > 0;
}

static bool never_repeats(const struct conf *c, const void *object)
{
	(void)c;
	return repeats_nothing(object);
}

static bool has_no_retries(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_route *)object)->retries == 0;
}

static bool has_no_repeating_route(const struct conf *c, const void *object)
{
	for (size_t i = 0; i < c->route_count; i++)
		if (conf_route_uses(&c->routes[i], object) && !repeats_nothing(&c->routes[i]) &&
		    c->routes[i].retries > 0)
			return false;
	return true;
}

static bool subscribes_to_nothing(const struct conf *c, const void *object)
{
	const struct conf_route *route = object;
	(void)c;
	bool any_pushes = false;
	for (size_t i = 0; i < route->side_count; i++)
		any_pushes = any_pushes || route->sides[i].origin->push != CONF_PUSH_REFUSE;
	return route->subscription && !any_pushes;
}

static bool subscribes_over_http1(const struct conf *c, const void *object)
{
	const struct conf_route *route = object;
	(void)c;
	bool any_http2 = false;
	for (size_t i = 0; i < route->side_count; i++)
		any_http2 = any_http2 || route->sides[i].origin->protocols != CONF_HTTP1;
	return route->subscription && !any_http2;
}

static bool has_no_origin(const struct conf *c, const void *object)
{
	(void)c;
	return ((const struct conf_route *)object)->side_count == 0;
}

/* Those of forward mode take CONNECT. */
static bool may_tunnel(const struct conf_route *route)
{
	return route->upgrade_count > 0 || route->is_forward;
}

static bool opens_no_tunnels(const struct conf *c, const void *object)
{
	(void)c;
	return !may_tunnel(object);
}

static bool knows_no_users(const struct conf *c, const void *object)
{
	const struct conf_route *route = object;
	for (size_t i = 0; i < c->listen_count; i++)
		if (conf_listen_is_forward(&c->listens[i]) == route->is_forward &&
		    c->listens[i].access_name)
			return false;
	return true;
}

static bool has_no_names(const struct conf *c, const void *object)
{
	(void)object;
	return !conf_has_names(c);
}

static bool has_own_resolvers(const struct conf *c, const void *object)
{
	(void)object;
	return c->server.resolver_count > 0;
}

static bool nothing_tunnels(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->route_count; i++)
		if (may_tunnel(&c->routes[i]))
			return false;
	return true;
}

static bool limits_no_requests(const struct conf *c, const void *object)
{
	(void)object;
	return c->request_limit_count == 0;
}

static bool has_no_users(const struct conf *c, const void *object)
{
	(void)object;
	for (size_t i = 0; i < c->access_count; i++)
		if (c->accesses[i].users)
			return false;
	return true;
}

static bool asks_for_no_user(const struct conf *c, const void *object)
{
	const struct conf_access *a = object;
	(void)c;
	return (a->needs & CONF_ACCESS_USER) == 0;
}

/* Clients on a unix socket have no address. */
static bool counts_nobody(const struct conf *c, const void *object)
{
	const struct conf_route *route = object;
	for (size_t i = 0; i < c->listen_count; i++)
		if (c->listens[i].address.storage.ss_family != AF_UNIX)
			return false;
	for (size_t i = 0; i < route->request_limit_count; i++)
		if (route->request_limits[i].key != CONF_LIMIT_CLIENT)
			return false;
	return true;
}

#define HOLDS "no rule and no default-action holds responses"
#define REFUSES "the origin has push = refuse"
#define NO_UPGRADE "the section has no upgrade"
#define NO_ORIGIN "pushgate answers by itself (redirect, answer)"
#define DROPS "the rule drops its pushes"
#define HTTP1 "the origin speaks HTTP/1.1 alone (http://, h1+unix:)"
#define CLIENTS_HTTP1 "protocols is http/1.1"
#define ONE_SERVER "the origin has one server"
#define NOT_TLS "server is not https:// or h2://"
#define FORWARD "server is forward:, and pushgate keeps no health of servers that requests name"
#define NO_NAMES "no server has a name"
#define NO_EJECT "eject-failures and eject-percent are 0"
#define NO_CHECK "health-check is off"
#define CONNECTS "health-check = connect sends no request"
#define REPEATS_TO_ONE "its origin has one server, and a request is not sent to the same one again"
#define NOBODY_SHARES "every [listen NAME] has mode = forward without shares = yes"
#define HINTS "no response follows a hint"

/* The first row that holds for an option is reported. */
static const struct idle {
	enum conf_kind section;
	const char *key;
	bool (*is_idle)(const struct conf *c, const void *object);
	const char *why;
} idles[] = {
    {CONF_SECTION_SERVER, "diary-cookie-key", no_cookie, "diary-cookie is off"},
    {CONF_SECTION_SERVER, "diary-cookie-age", no_cookie, "diary-cookie is off"},
    {CONF_SECTION_SERVER, "hold-max-count", nothing_holds, HOLDS},
    {CONF_SECTION_SERVER, "hold-max-bytes", nothing_holds, HOLDS},
    {CONF_SECTION_SERVER, "hold-max-age", nothing_holds, HOLDS},
    {CONF_SECTION_SERVER, "hold-shared", nothing_holds, HOLDS},
    {CONF_SECTION_SERVER, "hold-shared", conf_nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_SERVER, "diary-cookie", conf_nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_SERVER, "learned-file", conf_nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_PRELOAD, "learned", conf_nobody_shares, NOBODY_SHARES},
    {CONF_SECTION_LISTEN, "shares", conf_is_gateway, "mode is gateway"},
    {CONF_SECTION_SERVER, "hint-wait", nothing_hints, "no rule and no default-action hints"},
    {CONF_SECTION_SERVER, "learned-file", nothing_learns,
	"no [preload NAME] has learned = propose or learned = apply"},
    {CONF_SECTION_SERVER, "resolver", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "dns-min-ttl", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "dns-max-ttl", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "dns-negative-ttl", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "dns-timeout", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "hosts-file", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "resolv-conf", has_no_names, NO_NAMES},
    {CONF_SECTION_SERVER, "resolv-conf", has_own_resolvers, "resolver is given"},
    {CONF_SECTION_SERVER, "tunnel-drain-timeout", nothing_tunnels, "no route has upgrade"},
    {CONF_SECTION_SERVER, "promise-rate", conf_all_refuse, "each origin has push = refuse"},
    {CONF_SECTION_SERVER, "promise-refusals", conf_all_refuse, "each origin has push = refuse"},
    {CONF_SECTION_SERVER, "reset-rate", conf_all_refuse, "each origin has push = refuse"},
    {CONF_SECTION_SERVER, "promise-rate", conf_no_origin_promises, CONF_NO_PROMISES},
    {CONF_SECTION_SERVER, "promise-refusals", conf_no_origin_promises, CONF_NO_PROMISES},
    {CONF_SECTION_SERVER, "reset-rate", conf_no_origin_promises, CONF_NO_PROMISES},
    {CONF_SECTION_SERVER, "limit-table", limits_no_requests, "no route has limit-requests"},
    {CONF_SECTION_SERVER, "user-failures", has_no_users, "no [access NAME] has users"},
    {CONF_SECTION_SERVER, "users-cache-time", has_no_users, "no [access NAME] has users"},
    {CONF_SECTION_ACCESS, "users", asks_for_no_user, "no rule asks for users or looks at them"},
    {CONF_SECTION_LISTEN, "pac", conf_is_gateway, "mode is gateway"},
    {CONF_SECTION_LISTEN, "tls-timeout", is_cleartext, "the section has no certificate"},
    {CONF_SECTION_LISTEN, "max-concurrent-streams", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "connection-window", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "header-table", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "settings-timeout", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-resets", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-faults", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-pings", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-settings", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-priorities", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-empty-frames", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-window-updates", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "limit-field-blocks", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "max-continuations", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_LISTEN, "max-control-output", clients_speak_http1, CLIENTS_HTTP1},
    {CONF_SECTION_ORIGIN, "upstream-proxy", conf_is_not_forward, NO_FORWARD},
    {CONF_SECTION_ORIGIN, "no-proxy", conf_is_not_forward, NO_FORWARD},
    {CONF_SECTION_ORIGIN, "no-proxy", conf_has_no_proxy, "the section has no upstream-proxy"},
    {CONF_SECTION_ORIGIN, "balance", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "hash", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "slow-start", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "affinity-cookie", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "tls-ca", conf_is_not_tls, NOT_TLS},
    {CONF_SECTION_ORIGIN, "tls-verify", conf_is_not_tls, NOT_TLS},
    {CONF_SECTION_ORIGIN, "tls-name", conf_is_not_tls, NOT_TLS},
    {CONF_SECTION_ORIGIN, "tls-ca", conf_is_not_verified, "tls-verify is no"},
    {CONF_SECTION_ORIGIN, "push", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-concurrent-pushes", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-connections", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-subscriptions", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "connection-window", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "settings-timeout", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-promises", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-reserved-pushes", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-faults", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-pings", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-settings", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-priorities", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-empty-frames", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-window-updates", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "limit-field-blocks", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-continuations", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-control-output", conf_speaks_http1, HTTP1},
    {CONF_SECTION_ORIGIN, "max-http1-connections", conf_speaks_http2,
	"the origin speaks HTTP/2 alone (h2://, h2c://, h2c+unix:)"},
    {CONF_SECTION_ORIGIN, "max-concurrent-pushes", conf_refuses_pushes, REFUSES},
    {CONF_SECTION_ORIGIN, "max-reserved-pushes", conf_refuses_pushes, REFUSES},
    {CONF_SECTION_ORIGIN, "limit-promises", conf_refuses_pushes, REFUSES},
    {CONF_SECTION_ORIGIN, "max-subscriptions", conf_has_no_subscription,
	"no route to it has subscription = yes"},
    {CONF_SECTION_ORIGIN, "max-tunnels", conf_has_no_tunnels, "no route to it has upgrade"},
    {CONF_SECTION_ORIGIN, "eject-failures", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "eject-percent", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "eject-time", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "eject-time-max", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "eject-most", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "failure-status", conf_is_forward, FORWARD},
    {CONF_SECTION_ORIGIN, "eject-failures", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "eject-percent", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "eject-time", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "eject-time-max", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "eject-most", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "failure-status", conf_has_one_server, ONE_SERVER},
    {CONF_SECTION_ORIGIN, "eject-time", conf_never_ejects, NO_EJECT},
    {CONF_SECTION_ORIGIN, "eject-time-max", conf_never_ejects, NO_EJECT},
    {CONF_SECTION_ORIGIN, "eject-most", conf_never_ejects, NO_EJECT},
    {CONF_SECTION_ORIGIN, "failure-status", conf_never_ejects, NO_EJECT},
    {CONF_SECTION_ORIGIN, "eject-time-max", conf_ejects_longer, "it is below eject-time"},
    {CONF_SECTION_ORIGIN, "max-destinations", conf_is_not_forward, "server is not forward:"},
    {CONF_SECTION_ORIGIN, "health-check", conf_is_demo, "the demo site always works"},
    {CONF_SECTION_ORIGIN, "health-host", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-interval", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-timeout", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-rise", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-fall", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-status", conf_checks_nothing, NO_CHECK},
    {CONF_SECTION_ORIGIN, "health-host", conf_asks_nothing, CONNECTS},
    {CONF_SECTION_ORIGIN, "health-status", conf_asks_nothing, CONNECTS},
    {CONF_SECTION_ROUTE, "retry-on", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "retries", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "connect-timeout", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "response-timeout", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "request-timeout", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ORIGIN, "retry-budget", has_no_repeating_route,
	"no route to it has retry-on and retries"},
    {CONF_SECTION_ROUTE, "retry-on", has_no_retries, "retries is 0"},
    {CONF_SECTION_ROUTE, "retry-on", repeats_to_one_server, REPEATS_TO_ONE},
    {CONF_SECTION_ROUTE, "retries", never_repeats, "retry-on is off"},
    {CONF_SECTION_ROUTE, "retries", repeats_to_one_server, REPEATS_TO_ONE},
    {CONF_SECTION_ROUTE, "stream-idle-timeout", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "streaming", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "upgrade", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "subscription", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "rewrite", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "map-referer", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "map-referer", conf_is_forward_only,
	"hosts stay as they are in forward mode"},
    {CONF_SECTION_ROUTE, "forwarded", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "underscores", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "request-set", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "request-add", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "request-remove", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "limit-requests", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "response-set", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "response-add", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "response-remove", has_no_origin, NO_ORIGIN},
    {CONF_SECTION_ROUTE, "tunnel-idle-timeout", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "tunnel-half-closed-timeout", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "tunnel-age", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "tunnel-bytes", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "max-tunnels-per-client", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "max-tunnels-per-user", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "max-tunnels-per-user", knows_no_users,
	"no listener that it serves has access"},
    {CONF_SECTION_ROUTE, "tunnel-rate", opens_no_tunnels, NO_UPGRADE},
    {CONF_SECTION_ROUTE, "subscription", subscribes_to_nothing,
	"the pushes that it waits for never come: its origin has push = refuse"},
    {CONF_SECTION_ROUTE, "subscription", subscribes_over_http1,
	"the pushes that it waits for never come: its origin speaks HTTP/1.1 alone"},
    {CONF_SECTION_ROUTE, "limit-requests", counts_nobody,
	"clients on unix sockets, and there are no others, have no address to be counted by"},
    {CONF_SECTION_PUSH, "max-per-parent", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "max-bytes", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "status", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "content-type", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "urgency", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "min-used", conf_rule_drops, DROPS},
    {CONF_SECTION_PUSH, "max-bytes", conf_rule_only_hints, HINTS},
    {CONF_SECTION_PUSH, "status", conf_rule_only_hints, HINTS},
    {CONF_SECTION_PUSH, "content-type", conf_rule_only_hints, HINTS},
    {CONF_SECTION_PUSH, "urgency", conf_rule_only_hints, HINTS},
    {CONF_SECTION_PUSH, "hint-clients", conf_rule_does_not_hint, "the rule does not hint"},
    {CONF_SECTION_PUSH, "cross-origin", conf_rule_is_for_relayed,
	"it is for pushes that pushgate offers"},
    {CONF_SECTION_PUSH, "on-revalidation", conf_rule_is_for_relayed,
	"it is for pushes that pushgate offers"},
    {CONF_SECTION_PUSH, "min-sample", conf_rule_never_pauses, "min-used is 0%"},
};

const char *conf_why_idle(
    const struct conf *c, enum conf_kind kind, const char *key, const void *object)
{
	for (size_t i = 0; i < sizeof idles / sizeof *idles; i++)
		if (idles[i].section == kind && strcmp(idles[i].key, key) == 0 &&
		    idles[i].is_idle(c, object))
			return idles[i].why;
	return NULL;
}

/* The rows of one option may be apart: it is looked at for the first of them. */
static bool is_first(const struct idle *row)
{
	for (const struct idle *earlier = idles; earlier < row; earlier++)
		if (earlier->section == row->section && strcmp(earlier->key, row->key) == 0)
			return false;
	return true;
}

void conf_check_idle_options(struct conf_loader *l, const struct conf_section *s)
{
	for (size_t i = 0; i < sizeof idles / sizeof *idles; i++) {
		const struct idle *row = &idles[i];
		uint32_t line = row->section == s->kind ? conf_changed_line(s, row->key) : 0;
		const char *why = line && is_first(row)
				      ? conf_why_idle(l->conf, s->kind, row->key, s->object)
				      : NULL;
		if (why)
			conf_warning(l, s->file, line, "%s has no effect, because %s; remove it",
			    row->key, why);
	}
}
