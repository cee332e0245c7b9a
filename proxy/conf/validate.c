/* SPDX-License-Identifier: MIT */
/*
 * Checks what involves more than one line: missing options, pairs of files, references to missing
 * sections, rules that no offer can reach. Then moves the sections' objects into the snapshot's
 * arrays.
 */
#include "proxy/conf/setters.h"
#include <inttypes.h>

/* A route is shown an origin that is there. */
static const char *example_for(
    const struct conf_loader *l, const struct conf_option *o, char *buffer, size_t size)
{
	conf_for_each_section (l, s, CONF_SECTION_ORIGIN) {
		if (strcmp(o->key, "origin") == 0)
			return s->name;
	}
	return conf_option_example(o, buffer, size);
}

/* A route that needs no origin, or has one from [routes]. */
static bool needs_no_origin(const struct conf_loader *l, const struct conf_section *s)
{
	return s->kind == CONF_SECTION_ROUTE && (conf_option_line(s, "redirect answer files") ||
						    conf_has_default(l, CONF_ROUTE_ACTIONS));
}

static void check_required(struct conf_loader *l, const struct conf_section *s)
{
	char example[256];

	conf_for_each_option (o, s->kind) {
		if (o->is_required && conf_option_line(s, o->key) == 0 && !s->has_misspelt &&
		    !needs_no_origin(l, s))
			conf_mistake(l, s->file, s->line,
			    "%s has no %s; add a line such as %s = %s", conf_section_title(l, s),
			    o->key, o->key, example_for(l, o, example, sizeof example));
	}
}

/* ---- [listen] ---- */

/* Port 0 stands for any free port, so two addresses with port 0 are not equal. */
static bool address_equal(const struct net_address *a, const struct net_address *b)
{
	return net_address_equal(a, b) && (a->any.sa_family == AF_UNIX || net_address_port(a) != 0);
}

static void check_address(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;

	conf_for_each_section (l, earlier, CONF_SECTION_LISTEN) {
		const struct conf_listen *other = earlier->object;
		if (earlier == s)
			return;
		if (!listen->address_text || !other->address_text ||
		    !address_equal(&listen->address, &other->address))
			continue;
		conf_mistake(l, s->file, conf_option_line(s, "address"),
		    "%s is already used by %s at %s:%" PRIu32 "; choose another address",
		    listen->address_text, conf_section_title(l, earlier), earlier->file,
		    conf_option_line(earlier, "address"));
		return;
	}
}

/* ---- [origin] ---- */

/* Warns of a limit that is lower than another option allows. */
static void check_limits(struct conf_loader *l, const struct conf_section *s,
    const struct conf_limits *limits, uint32_t max_header_list_bytes)
{
	if (limits->field_block_bytes < max_header_list_bytes)
		conf_warning(l, s->file, conf_line_of(s, "max-field-block max-header-list"),
		    "max-field-block is smaller than max-header-list, so that a large head ends "
		    "the connection; set it to at least the same size");
}

/* Options that only TLS, or only cleartext, can have. */
static void check_tls_options(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;
	bool is_tls = conf_is_over_tls(s);

	if (is_tls && listen->redirect_to_https)
		conf_mistake(l, s->file, conf_option_line(s, "redirect-to-https"),
		    "redirect-to-https is for cleartext, but the section has a certificate; put it "
		    "into a [listen NAME] without one");
	if (listen->tls.least > listen->tls.most)
		conf_mistake(l, s->file, conf_line_of(s, "tls-min tls-max"),
		    "tls-min is above tls-max, so that no client can connect; write tls-max = 1.3");
	if (!is_tls && listen->hsts)
		conf_mistake(l, s->file, conf_option_line(s, "hsts"),
		    "hsts is for TLS, but the section has no certificate (browsers ignore it in "
		    "cleartext); put it into the [listen NAME] with the certificate");
}

/* What peers say of others is believed of some alone. */
static void check_peers(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;
	if (listen->proxy_protocol.is_required && listen->trusted_count == 0)
		conf_mistake(l, s->file, conf_option_line(s, "proxy-protocol"),
		    "proxy-protocol takes headers of peers in trusted alone, and the section has "
		    "none; "
		    "add trusted = with the addresses of the balancer");
	if (conf_listen_names_clients(listen) && listen->trusted_count == 0)
		conf_mistake(l, s->file, conf_option_line(s, "client-address"),
		    "client-address believes peers in trusted alone, and the section has none; add "
		    "trusted = with the addresses of the proxies in front");
}

static void check_listen(struct conf_loader *l, struct conf_section *s)
{
	const struct conf_listen *listen = s->object;

	conf_check_acme(l, s);
	conf_check_certificates(l, s);
	conf_check_client_auth(l, s);
	check_address(l, s);
	check_tls_options(l, s);
	check_peers(l, s);
	conf_check_forward(l, s);
	check_limits(l, s, &listen->limits, listen->max_header_list_bytes);
	if ((listen->protocols & CONF_HTTP2) &&
	    listen->limits.resets.burst < listen->max_concurrent_streams)
		conf_warning(l, s->file, conf_line_of(s, "limit-resets max-concurrent-streams"),
		    "the burst of limit-resets is smaller than max-concurrent-streams, so that a "
		    "client may not cancel all its requests at once; make it larger");
	conf_find_access(l, s);
}

/* A PROXY header is about a connection, so that all of its requests must have the same client. */
static void check_private(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_origin *o = s->object;
	if (o->is_private && (o->protocols != CONF_HTTP1 || o->kind == CONF_ORIGIN_FORWARD))
		conf_mistake(l, s->file, conf_option_line(s, "connections"),
		    "connections = private needs servers in HTTP/1.1 alone; write server = "
		    "http://HOST:PORT, https1://HOST:PORT or h1+unix:/PATH");
	if (o->send_proxy != PEER_VERSION_NONE && !o->is_private)
		conf_mistake(l, s->file, conf_option_line(s, "send-proxy"),
		    "a PROXY header names one client for a whole connection, and the connections "
		    "of this origin are shared by all clients; add connections = private");
}

static void check_origin(struct conf_loader *l, struct conf_section *s)
{
	const struct conf_origin *o = s->object;

	if (s->is_broken)
		return;
	conf_check_forward(l, s);
	if (o->max_stream_window_bytes < o->stream_window_bytes)
		conf_mistake(l, s->file, conf_line_of(s, "max-stream-window stream-window"),
		    "max-stream-window is smaller than stream-window; make it at least as large");
	bool is_http1 = o->protocols == CONF_HTTP1;
	if (o->spare_connections > (is_http1 ? o->max_http1_connections : o->max_connections))
		conf_mistake(l, s->file, conf_option_line(s, "spare-connections"),
		    "spare-connections is larger than %s; make it at most as large",
		    is_http1 ? "max-http1-connections" : "max-connections");
	check_private(l, s);
	conf_check_own_servers(l, s);
	conf_check_balance(l, s);
	conf_check_source(l, s);
	conf_check_proxies(l, s);
	check_limits(l, s, &o->limits, o->max_header_list_bytes);
	if (!is_http1 && o->limits.promises.per_second < l->conf->server.promise_rate)
		conf_warning(l, s->file, conf_line_of(s, "limit-promises"),
		    "limit-promises is below promise-rate of [server], so that it ends the "
		    "connection before promise-rate refuses promises; make it larger");
}

/* ---- [push] ---- */

/* An interim response goes with a request, whatever is pushed with it. */
static void check_interim(struct conf_loader *l, const struct conf_section *s)
{
	const struct policy_rule *rule = s->object;

	if (rule->interim != POLICY_ANY &&
	    (rule->sources || rule->types || rule->methods || rule->promised_paths.count > 0))
		conf_mistake(l, s->file, conf_option_line(s, "interim"),
		    "interim is for whole requests, but this rule has source, type, method or "
		    "promised-path; write a rule without them");
}

static void check_rule(struct conf_loader *l, struct conf_section *s)
{
	if (s->is_broken)
		return;
	check_interim(l, s);
	conf_for_each_section (l, earlier, CONF_SECTION_PUSH) {
		if (earlier == s)
			return;
		if (earlier->is_broken)
			continue;
		const char *title = conf_section_title(l, s);
		const char *hider = conf_section_title(l, earlier);
		if (policy_rule_hides(earlier->object, s->object)) {
			conf_mistake(l, s->file, s->line,
			    "%s is never reached, because %s at %s:%" PRIu32
			    " matches all its offers; put it first or remove it",
			    title, hider, earlier->file, earlier->line);
			return;
		}
		if (policy_rule_may_hide(earlier->object, s->object)) {
			conf_warning(l, s->file, s->line,
			    "%s is probably never reached, because %s at %s:%" PRIu32
			    " looks wider; put the narrower rule first",
			    title, hider, earlier->file, earlier->line);
			return;
		}
	}
}

/* ---- [preload], [server] ---- */

static void check_preload(struct conf_loader *l, struct conf_section *s)
{
	const struct conf_preload *p = s->object;

	if (!s->is_broken && !p->link && p->remembered == CONF_REMEMBERED_OFF &&
	    p->manifest_count == 0 && p->add_count == 0)
		conf_warning(l, s->file, s->line,
		    "%s offers nothing; add link = yes, add = /PATH or another source",
		    conf_section_title(l, s));
}

/* Without checks a server is known to be good after its first request alone, and no client is sent here before. */
static bool is_known_of(const struct conf_origin *o)
{
	return o->kind == CONF_ORIGIN_DEMO || o->check.kind != CONF_CHECK_OFF;
}

static void check_server(struct conf_loader *l, struct conf_section *s)
{
	const struct conf_server *server = &l->conf->server;
	const struct conf *c = l->conf;

	if (server->ready_when == CONF_READY_SERVERS &&
	    !conf_any(o, c->origins, c->origin_count, is_known_of(o)))
		conf_mistake(l, s->file, conf_line_of(s, "ready-when"),
		    "ready-when = servers waits for a health check, and no [origin NAME] has one; "
		    "add health-check = /PATH or health-check = connect to one");
	if (server->connection_memory_bytes > server->memory_bytes)
		conf_mistake(l, s->file, conf_line_of(s, "connection-memory memory"),
		    "connection-memory is larger than memory; make it at most as large");
	else if (server->connection_memory_bytes >= server->memory_bytes / 2)
		/*
		 * Data within the flow-control windows may need as much memory again
		 * (relay/charge.c).
		 */
		conf_warning(l, s->file, conf_line_of(s, "connection-memory memory"),
		    "connection-memory is half of memory or more, so that a single connection can "
		    "use up a worker's memory; make it smaller, or memory larger");
	if (server->diary_cookie && server->diary_key_count == 0)
		conf_mistake(l, s->file, conf_line_of(s, "diary-cookie"),
		    "diary-cookie has no key; add diary-cookie-key = FILE");
	if (server->diary_cookie && server->diary_entries == 0)
		conf_mistake(l, s->file, conf_line_of(s, "diary-cookie"),
		    "diary-cookie needs a diary; set diary-entries to more than 0");
	if (server->hold_max_bytes > server->connection_memory_bytes)
		conf_warning(l, s->file, conf_line_of(s, "hold-max-bytes connection-memory"),
		    "hold-max-bytes is larger than connection-memory, which is reached first; make "
		    "it smaller");
	if (conf_dns_min_ttl(server, false) > server->dns_max_ttl)
		conf_mistake(l, s->file, conf_line_of(s, "dns-min-ttl dns-max-ttl"),
		    "dns-min-ttl is longer than dns-max-ttl; make it at most as long");
}

/* ---- the whole ---- */

/*
 * Moves the objects of one kind into an array, in the order of the file. The sections then point
 * into it.
 */
static void *collect(struct conf_loader *l, enum conf_kind kind, size_t *count)
{
	size_t bytes = conf_section_types[kind].object_bytes;
	char *array, *at;

	*count = 0;
	conf_for_each_section (l, s, kind)
		(*count)++;
	if (*count == 0)
		return NULL;
	array = at = arena_alloc(&l->conf->arena, *count * bytes);
	conf_for_each_section (l, s, kind) {
		memcpy(at, s->object, bytes);
		s->object = at;
		at += bytes;
	}
	return array;
}

static void set_arms(struct conf_loader *l, struct conf_section *s, uint32_t index)
{
	struct conf_preload *p = s->object;

	p->when.name = s->name;
	if (p->share == CONF_SHARE_OFF)
		return;
	l->conf->has_arms = true;
	for (unsigned is_on = 0; is_on < 2; is_on++)
		p->arms[is_on] = (struct conf_arm){
		    .text =
			arena_printf(&l->conf->arena, "%s=%s", s->name, is_on ? "on" : "off").ptr,
		    .preload = index,
		    .is_on = is_on,
		};
}

/* Sets name, file, line and index of a section's object. */
static void set_position(struct conf_loader *l, struct conf_section *s, uint32_t index)
{
	if (s->kind == CONF_SECTION_LISTEN) {
		struct conf_listen *listen = s->object;
		listen->name = s->name, listen->file = s->file, listen->line = s->line;
	} else if (s->kind == CONF_SECTION_ACCESS) {
		struct conf_access *access = s->object;
		access->name = s->name, access->index = index;
	} else if (s->kind == CONF_SECTION_ORIGIN) {
		struct conf_origin *origin = s->object;
		origin->name = s->name, origin->index = index;
	} else if (s->kind == CONF_SECTION_ROUTE) {
		((struct conf_route *)s->object)->name = s->name;
	} else if (s->kind == CONF_SECTION_PUSH) {
		struct policy_rule *rule = s->object;
		rule->name = s->name, rule->file = s->file, rule->line = s->line;
		rule->index = index;
	} else if (s->kind == CONF_SECTION_PRELOAD) {
		set_arms(l, s, index);
	}
}

/* No section of this kind is there, unless it is one whose header is misspelt. */
static void tell_missing(struct conf_loader *l, enum conf_kind kind, const char *with)
{
	if (!conf_has_misspelt(l, kind))
		conf_mistake(l, l->conf->file, 1, "there is no [%s NAME]; add one with %s",
		    conf_section_types[kind].word, with);
}

/* Checks by kind. Sections of the other kinds are checked when all listeners are known, or line by line. */
static void (*const checks[CONF_SECTION_COUNT])(struct conf_loader *l, struct conf_section *s) = {
    [CONF_SECTION_LISTEN] = check_listen,
    [CONF_SECTION_ORIGIN] = check_origin,
    [CONF_SECTION_ROUTE] = conf_check_route,
    [CONF_SECTION_ROUTES] = conf_check_routes,
    [CONF_SECTION_PUSH] = check_rule,
    [CONF_SECTION_PRELOAD] = check_preload,
    [CONF_SECTION_SERVER] = check_server,
};

/* Which clients are told that they may ask for tunnels follows from the routes. */
static void note_tunnels(struct conf *c)
{
	bool any[2] = {false, false};

	for (size_t i = 0; i < c->route_count; i++)
		any[c->routes[i].is_forward] |= c->routes[i].upgrade_count > 0;
	for (size_t i = 0; i < c->listen_count; i++)
		c->listens[i].takes_tunnels = c->listens[i].mode != CONF_MODE_ADMIN &&
					      any[c->listens[i].mode == CONF_MODE_FORWARD];
}

/* A route changes fields because its origin relies on them. */
static void decide_underscores(struct conf *c)
{
	for (size_t i = 0; i < c->route_count; i++) {
		struct conf_route *r = &c->routes[i];
		bool drops = r->forwarded == CONF_FORWARDED_REMOVE ||
			     r->forwarded == CONF_FORWARDED_APPEND ||
			     r->forwarded == CONF_FORWARDED_REPLACE;
		if (r->underscores != CONF_UNDERSCORES_AUTO)
			continue;
		for (size_t k = 0; k < r->request_fields.count; k++)
			drops |= r->request_fields.fields[k].change != CONF_FIELD_ADD;
		r->underscores = drops ? CONF_UNDERSCORES_DROP : CONF_UNDERSCORES_PASS;
	}
}

void conf_finish(struct conf_loader *l)
{
	struct conf *c = l->conf;
	uint32_t indexes[CONF_SECTION_COUNT] = {0};

	c->listens = collect(l, CONF_SECTION_LISTEN, &c->listen_count);
	c->accesses = collect(l, CONF_SECTION_ACCESS, &c->access_count);
	c->origins = collect(l, CONF_SECTION_ORIGIN, &c->origin_count);
	c->routes = collect(l, CONF_SECTION_ROUTE, &c->route_count);
	c->policy.rules = collect(l, CONF_SECTION_PUSH, &c->policy.count);
	c->preloads = collect(l, CONF_SECTION_PRELOAD, &c->preload_count);
	for (struct conf_section *s = l->first; s; s = s->next)
		set_position(l, s, indexes[s->kind]++);
	for (struct conf_section *s = l->first; s; s = s->next) {
		check_required(l, s);
		if (checks[s->kind])
			checks[s->kind](l, s);
	}
	conf_for_each_section (l, s, CONF_SECTION_ACCESS)
		conf_check_access(l, s);
	note_tunnels(c);
	conf_read_system_authorities(l);
	decide_underscores(c);
	if (c->listen_count == 0)
		tell_missing(l, CONF_SECTION_LISTEN, "an address");
	/* Forward mode has a route of its own, unless another mistake prevents that. */
	if (c->route_count == 0 && !conf_has_forward_listener(l))
		tell_missing(l, CONF_SECTION_ROUTE, "an origin");
	if (l->mistakes == 0)
		conf_check_effects(l);
	conf_for_each_section (l, s, CONF_SECTION_LISTEN) {
		net_tls_free(s->tls);
		s->tls = NULL;
	}
}
