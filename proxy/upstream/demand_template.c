/* SPDX-License-Identifier: MIT */
/* See demand_template.h. */
#include "proxy/upstream/demand_template.h"

#include "proxy/base/memory.h"
#include "proxy/upstream/private.h"

/* What a connection carries, and so which protocols it speaks. */
enum demand_kind { DEMAND_HTTP, DEMAND_HTTPS, DEMAND_TUNNEL, DEMAND_KINDS };
/* The same with an upstream proxy. That one itself gets requests for http, and CONNECTs; the connections of the others
 * begin with a CONNECT. */
enum proxied_kind { PROXIED_NONE, PROXIED_HTTPS, PROXIED_UPGRADE, PROXIED_KINDS };

static const struct session_protocol *const tunnel_protocols[] = {&session_raw, NULL};

static const struct {
	enum conf_origin_kind kind;
	uint32_t protocols;
} kinds[DEMAND_KINDS] = {
    [DEMAND_HTTP] = {CONF_ORIGIN_PLAIN, CONF_HTTP1},
    [DEMAND_HTTPS] = {CONF_ORIGIN_TLS, CONF_HTTP1 | CONF_HTTP2},
    [DEMAND_TUNNEL] = {CONF_ORIGIN_PLAIN, CONF_HTTP1},
};

/* Addresses that nobody has configured have no health that workers could share. */
static bool open_template(const struct upstream *u, struct demand_template *t,
    const struct conf_origin *o, enum demand_kind kind, char *error, size_t error_size)
{
	char alpn[64];
	t->conf = *o;
	t->conf.kind = kinds[kind].kind;
	t->conf.protocols = kinds[kind].protocols;
	t->conf.check.kind = CONF_CHECK_OFF;
	t->conf.eject.failures = t->conf.eject.percent = 0;
	for (unsigned push = 0; push < 2; push++)
		t->plans[push] = session_plans_for_origin(
		    kind == DEMAND_TUNNEL ? tunnel_protocols : u->env->protocols, &t->conf,
		    push == 1);
	if (t->conf.kind != CONF_ORIGIN_TLS)
		return true;
	session_alpn_list(t->plans[0], false, alpn, sizeof(alpn));
	const struct net_tls_client_options options = {
	    .ca_file = o->tls_ca, .verify = o->tls_verify, .alpn = alpn};
	t->tls = net_tls_client_new(&options, error, error_size);
	t->owns_tls = true;
	return t->tls != NULL;
}

/* Files of authorities are read once: what is like another one has its TLS. */
static bool open_proxy_tls(struct demand_template *t, const struct demand_template *others,
    size_t count, char *error, size_t error_size)
{
	const struct conf_origin *o = &t->conf;
	for (size_t i = 0; i < count && !t->tls; i++)
		if (others[i * PROXIED_KINDS].conf.proxy->is_tls)
			t->tls = others[i * PROXIED_KINDS].tls;
	if (t->tls)
		return true;
	const struct net_tls_client_options options = {
	    .ca_file = o->tls_ca, .verify = o->tls_verify, .alpn = "http/1.1"};
	t->tls = net_tls_client_new(&options, error, error_size);
	t->owns_tls = true;
	return t->tls != NULL;
}

static void copy_template(struct demand_template *t, const struct demand_template *from,
    const struct conf_upstream_proxy *p, const struct upstream *u)
{
	t->conf = from->conf;
	t->conf.proxy = p;
	for (unsigned push = 0; push < 2; push++)
		t->plans[push] = session_plans_for_origin(u->env->protocols, &t->conf, push == 1);
	t->tls = from->tls;
}

/* The templates of an origin's upstream proxies. */
static bool open_proxied(
    struct demand_templates *all, const struct conf_origin *origin, char *error, size_t error_size)
{
	const struct demand_template *direct = &all->direct[origin->index * DEMAND_KINDS];
	const struct conf_chain *chain = &origin->chain;
	struct demand_template *t =
	    memory_zalloc((chain->proxy_count * PROXIED_KINDS + 1) * sizeof(*t));
	all->proxied[origin->index] = t;
	for (size_t i = 0; i < chain->proxy_count; i++) {
		const struct conf_upstream_proxy *p = &chain->proxies[i];
		struct demand_template *own = &t[i * PROXIED_KINDS];
		copy_template(&own[PROXIED_NONE], &direct[DEMAND_HTTP], p, all->upstream);
		copy_template(&own[PROXIED_HTTPS], &direct[DEMAND_HTTPS], p, all->upstream);
		copy_template(&own[PROXIED_UPGRADE], &direct[DEMAND_HTTP], p, all->upstream);
		if (!p->is_tls)
			continue;
		own[PROXIED_NONE].conf.kind = CONF_ORIGIN_TLS;
		/* uncovered: what the direct ones read was read again */
		if (!open_proxy_tls(&own[PROXIED_NONE], t, i, error, error_size))
			return false;
		own[PROXIED_HTTPS].proxy_tls = own[PROXIED_UPGRADE].proxy_tls =
		    own[PROXIED_NONE].tls;
	}
	return true;
}

static void close_template(struct demand_template *t)
{
	session_plans_free(t->plans[0]);
	session_plans_free(t->plans[1]);
	if (t->owns_tls)
		net_tls_free(t->tls);
}

static bool open_origin(
    struct demand_templates *t, const struct conf_origin *o, char *error, size_t error_size)
{
	for (unsigned kind = 0; kind < DEMAND_KINDS; kind++)
		if (!open_template(t->upstream, &t->direct[o->index * DEMAND_KINDS + kind], o, kind,
			error, error_size))
			return false;
	return o->chain.proxy_count == 0 || open_proxied(t, o, error, error_size);
}

bool demand_templates_open(
    struct demand_templates *t, const struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	t->upstream = u;
	t->direct = memory_zalloc(conf->origin_count * DEMAND_KINDS * sizeof(*t->direct));
	t->proxied = memory_zalloc(conf->origin_count * sizeof(*t->proxied));
	for (size_t i = 0; i < conf->origin_count; i++)
		if (conf->origins[i].kind == CONF_ORIGIN_FORWARD &&
		    !open_origin(t, &conf->origins[i], error, error_size))
			return false;
	return true;
}

void demand_templates_close(struct demand_templates *t)
{
	const struct conf *conf = t->upstream->env->conf;
	for (size_t i = 0; i < conf->origin_count * DEMAND_KINDS; i++)
		close_template(&t->direct[i]);
	for (size_t i = 0; i < conf->origin_count; i++) {
		size_t count = conf->origins[i].chain.proxy_count * PROXIED_KINDS;
		for (size_t k = 0; t->proxied[i] && k < count; k++)
			close_template(&t->proxied[i][k]);
		free(t->proxied[i]);
	}
	free(t->proxied);
	free(t->direct);
}

const struct demand_template *demand_template_of(
    const struct demand_templates *t, const struct exchange *x, struct offer_target *target)
{
	const struct conf_origin *origin = x->context.origin;
	const struct conf_upstream_proxy *p = conf_upstream_proxy_for(
	    origin, slice_of_string(target->host), target->is_address ? &target->address : NULL);
	enum demand_kind kind = target->is_tunnel ? DEMAND_TUNNEL
				: target->is_tls  ? DEMAND_HTTPS
						  : DEMAND_HTTP;
	if (!p)
		return &t->direct[origin->index * DEMAND_KINDS + kind];
	const struct demand_template *own = &t->proxied[origin->index][p->index * PROXIED_KINDS];
	if (kind == DEMAND_HTTPS)
		return &own[PROXIED_HTTPS];
	if (kind == DEMAND_HTTP && x->tunnel.is_asked) /* RFC 6455 4.1 */
		return &own[PROXIED_UPGRADE];
	target->host[0] = '\0'; /* all have the same connections */
	target->port = 0;
	return &own[PROXIED_NONE];
}
