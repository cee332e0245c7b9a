/* SPDX-License-Identifier: MIT */
/* See templates.h. */
#include "proxy/upstream/templates.h"

#include "proxy/base/memory.h"
#include "proxy/upstream/destination.h"

struct templates {
	struct upstream *upstream;
	struct template
	    *direct; /* TEMPLATE_KINDS for each origin, by its index; those of others are empty */
	struct template **proxied; /* by origin: PROXIED_KINDS for each of its upstream proxies */
};

static const struct session_protocol *const tunnel_protocols[] = {&session_raw, NULL};

static const struct {
	enum conf_origin_kind kind;
	uint32_t protocols;
} kinds[TEMPLATE_KINDS] = {
    [TEMPLATE_HTTP] = {CONF_ORIGIN_PLAIN, CONF_HTTP1},
    [TEMPLATE_HTTPS] = {CONF_ORIGIN_TLS, CONF_HTTP1 | CONF_HTTP2},
    [TEMPLATE_TUNNEL] = {CONF_ORIGIN_PLAIN, CONF_HTTP1},
};

/* Workers share the health of configured addresses alone. */
static bool open_template(struct upstream *u, struct template *t, const struct conf_origin *o,
    enum template_kind kind, char *error, size_t error_size)
{
	char alpn[64];
	t->conf = *o;
	t->conf.kind = kinds[kind].kind;
	t->conf.protocols = kinds[kind].protocols;
	t->conf.check.kind = CONF_CHECK_OFF;
	t->conf.eject.failures = t->conf.eject.percent = 0;
	for (unsigned push = 0; push < 2; push++)
		t->plans[push] = session_plans_for_origin(
		    kind == TEMPLATE_TUNNEL ? tunnel_protocols : u->env->protocols, &t->conf,
		    push == 1);
	if (t->conf.kind != CONF_ORIGIN_TLS)
		return true;
	session_alpn_list(t->plans[0], false, alpn, sizeof(alpn));
	const struct net_tls_client_options options = {.ca_file = o->tls_ca,
	    .verify = o->tls_verify,
	    .alpn = alpn,
	    .files = u->env->conf->sealed};
	t->tls = net_tls_client_new(&options, error, error_size);
	t->owns_tls = true;
	return t->tls != NULL;
}

/* Files of authorities are read once: what is like another one has its TLS. */
static bool open_proxy_tls(struct template *t, const struct template *others, size_t count,
    const struct sealed *files, char *error, size_t error_size)
{
	const struct conf_origin *o = &t->conf;
	for (size_t i = 0; i < count && !t->tls; i++)
		if (others[i * PROXIED_KINDS].conf.proxy->is_tls)
			t->tls = others[i * PROXIED_KINDS].tls;
	if (t->tls)
		return true;
	const struct net_tls_client_options options = {
	    .ca_file = o->tls_ca, .verify = o->tls_verify, .alpn = "http/1.1", .files = files};
	t->tls = net_tls_client_new(&options, error, error_size);
	t->owns_tls = true;
	return t->tls != NULL;
}

static void copy_template(struct template *t, const struct template *from,
    const struct conf_upstream_proxy *p, struct upstream *u)
{
	t->conf = from->conf;
	t->conf.proxy = p;
	for (unsigned push = 0; push < 2; push++)
		t->plans[push] = session_plans_for_origin(u->env->protocols, &t->conf, push == 1);
	t->tls = from->tls;
}

/* The templates of an origin's upstream proxies. */
static bool open_proxied(
    struct templates *all, const struct conf_origin *origin, char *error, size_t error_size)
{
	const struct template *direct = &all->direct[origin->index * TEMPLATE_KINDS];
	const struct conf_chain *chain = &origin->chain;
	struct template *t = memory_zalloc((chain->proxy_count * PROXIED_KINDS + 1) * sizeof(*t));
	all->proxied[origin->index] = t;
	for (size_t i = 0; i < chain->proxy_count; i++) {
		const struct conf_upstream_proxy *p = &chain->proxies[i];
		struct template *own = &t[i * PROXIED_KINDS];
		copy_template(&own[PROXIED_NONE], &direct[TEMPLATE_HTTP], p, all->upstream);
		copy_template(&own[PROXIED_HTTPS], &direct[TEMPLATE_HTTPS], p, all->upstream);
		copy_template(&own[PROXIED_UPGRADE], &direct[TEMPLATE_HTTP], p, all->upstream);
		if (!p->is_tls)
			continue;
		own[PROXIED_NONE].conf.kind = CONF_ORIGIN_TLS;
		/* uncovered: it was read before, from the same sealed bytes */
		if (!open_proxy_tls(&own[PROXIED_NONE], t, i, all->upstream->env->conf->sealed,
			error, error_size))
			return false;
		own[PROXIED_HTTPS].proxy_tls = own[PROXIED_UPGRADE].proxy_tls =
		    own[PROXIED_NONE].tls;
	}
	return true;
}

static void close_template(struct template *t)
{
	session_plans_free(t->plans[0]);
	session_plans_free(t->plans[1]);
	if (t->owns_tls)
		net_tls_free(t->tls);
}

static bool open_all(struct templates *t, char *error, size_t error_size)
{
	const struct conf *conf = t->upstream->env->conf;
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_origin *o = &conf->origins[i];
		struct template *direct = &t->direct[i * TEMPLATE_KINDS];
		if (o->kind != CONF_ORIGIN_FORWARD)
			continue;
		for (unsigned kind = 0; kind < TEMPLATE_KINDS; kind++)
			if (!open_template(t->upstream, &direct[kind], o, kind, error, error_size))
				return false;
		if (o->chain.proxy_count > 0 && !open_proxied(t, o, error, error_size))
			return false;
	}
	return true;
}

struct templates *templates_open(struct upstream *u, char *error, size_t error_size)
{
	size_t origins = u->env->conf->origin_count;
	struct templates *t = memory_new(struct templates);
	t->upstream = u;
	t->direct = memory_zalloc(origins * TEMPLATE_KINDS * sizeof(*t->direct));
	t->proxied = memory_zalloc(origins * sizeof(struct template *));
	if (open_all(t, error, error_size))
		return t;
	templates_free(t);
	return NULL;
}

void templates_free(struct templates *t)
{
	if (!t)
		return;
	const struct conf *conf = t->upstream->env->conf;
	for (size_t i = 0; i < conf->origin_count * TEMPLATE_KINDS; i++)
		close_template(&t->direct[i]);
	for (size_t i = 0; i < conf->origin_count; i++) {
		size_t count = conf->origins[i].chain.proxy_count * PROXIED_KINDS;
		for (size_t k = 0; t->proxied[i] && k < count; k++)
			close_template(&t->proxied[i][k]);
		free(t->proxied[i]);
	}
	free(t->proxied);
	free(t->direct);
	free(t);
}

const struct template *templates_get(
    const struct templates *t, const struct conf_origin *origin, enum template_kind kind)
{
	return &t->direct[origin->index * TEMPLATE_KINDS + kind];
}

const struct template *templates_proxied(const struct templates *t,
    const struct conf_origin *origin, const struct conf_upstream_proxy *p, enum proxied_kind kind)
{
	return &t->proxied[origin->index][p->index * PROXIED_KINDS + kind];
}
