/* SPDX-License-Identifier: MIT */
/*
 * The protocols, TLS and configuration that dynamic destinations share: for each [origin] with server = forward: those
 * of http, https and CONNECT, and the same through each of its upstream proxies.
 */
#include "proxy/upstream/dynamic_destination.h"

#include "proxy/base/memory.h"

struct templates {
	struct upstream *upstream;
	/* For each origin, by its index, TEMPLATE_KINDS without an upstream proxy and as many for each of its proxies; NULL:
	 * it is not forward:. */
	struct template **of_origin;
};

static const struct session_protocol *const tunnel_protocols[] = {&protocols_raw, NULL};

static size_t count_of(const struct conf_origin *o)
{
	return (1 + o->chain.proxy_count) * TEMPLATE_KINDS;
}

static void open_plans(
    struct template *t, const struct upstream *u, const struct session_protocol *const *protocols)
{
	for (unsigned push = 0; push < 2; push++)
		t->plans[push] = protocols_plans_for_origin(
		    protocols ? protocols : u->env->protocols, &t->conf, push == 1);
}

/* Workers share the health of configured addresses alone. */
static bool open_direct(struct upstream *u, struct template *t, const struct conf_origin *o,
    enum template_kind kind, char *error, size_t error_size)
{
	bool is_tls = kind == TEMPLATE_HTTPS;
	t->conf = *o;
	t->conf.kind = is_tls ? CONF_ORIGIN_TLS : CONF_ORIGIN_PLAIN;
	t->conf.protocols = is_tls ? CONF_HTTP1 | CONF_HTTP2 : CONF_HTTP1;
	t->conf.check.kind = CONF_CHECK_OFF;
	t->conf.eject.failures = t->conf.eject.percent = 0;
	open_plans(t, u, kind == TEMPLATE_TUNNEL ? tunnel_protocols : NULL);
	t->owns_tls = is_tls;
	t->tls = is_tls ? origins_tls_new(&u->origins, o, t->plans[0], error, error_size) : NULL;
	return t->tls || !is_tls;
}

/* Files of authorities are read once: a proxy takes the TLS of one before it, among those of the origin. */
static struct net_tls *find_proxy_tls(const struct template *first, const struct template *end)
{
	for (; first < end; first += TEMPLATE_KINDS)
		if (first->tls)
			return first->tls;
	return NULL;
}

static bool open_proxied(struct upstream *u, struct template *direct, struct template *own,
    const struct conf_upstream_proxy *p, char *error, size_t error_size)
{
	for (unsigned kind = 0; kind < TEMPLATE_KINDS; kind++) {
		const struct template *from =
		    &direct[kind == TEMPLATE_HTTPS ? TEMPLATE_HTTPS : TEMPLATE_HTTP];
		own[kind].conf = from->conf;
		own[kind].conf.proxy = p;
		own[kind].tls = from->tls;
		open_plans(&own[kind], u, NULL);
	}
	if (!p->is_tls)
		return true;
	struct template *to_proxy = &own[TEMPLATE_HTTP];
	to_proxy->conf.kind = CONF_ORIGIN_TLS;
	to_proxy->tls = find_proxy_tls(direct + TEMPLATE_KINDS, own);
	to_proxy->owns_tls = !to_proxy->tls;
	if (!to_proxy->tls)
		to_proxy->tls =
		    origins_tls_new(&u->origins, &to_proxy->conf, NULL, error, error_size);
	own[TEMPLATE_HTTPS].proxy_tls = own[TEMPLATE_TUNNEL].proxy_tls = to_proxy->tls;
	return to_proxy->tls != NULL;
}

static bool open_origin(
    struct templates *all, const struct conf_origin *o, char *error, size_t error_size)
{
	struct template *t = memory_zalloc(count_of(o) * sizeof(*t));
	all->of_origin[o->index] = t;
	for (unsigned kind = 0; kind < TEMPLATE_KINDS; kind++)
		if (!open_direct(all->upstream, &t[kind], o, kind, error, error_size))
			return false;
	for (size_t i = 0; i < o->chain.proxy_count; i++)
		/* uncovered: the file was read before, from the same sealed bytes */
		if (!open_proxied(all->upstream, t, &t[(i + 1) * TEMPLATE_KINDS],
			&o->chain.proxies[i], error, error_size))
			return false;
	return true;
}

struct templates *templates_open(struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	struct templates *t = memory_new(struct templates);
	t->upstream = u;
	t->of_origin = memory_zalloc(conf->origin_count * sizeof(struct template *));
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_origin *o = &conf->origins[i];
		if (o->kind == CONF_ORIGIN_FORWARD && !open_origin(t, o, error, error_size)) {
			templates_free(t);
			return NULL;
		}
	}
	return t;
}

bool templates_renew_tls(const struct templates *t, char *error, size_t error_size)
{
	const struct conf *conf = t->upstream->env->conf;
	bool is_good = true;
	for (size_t i = 0; i < conf->origin_count; i++)
		for (size_t k = 0; t->of_origin[i] && k < count_of(&conf->origins[i]); k++) {
			const struct template *one = &t->of_origin[i][k];
			if (one->owns_tls &&
			    !net_tls_renew(one->tls, conf->sealed, error, error_size))
				is_good = false;
		}
	return is_good;
}

static void close_template(struct template *t)
{
	protocols_plans_free(t->plans[0]);
	protocols_plans_free(t->plans[1]);
	if (t->owns_tls)
		net_tls_free(t->tls);
}

void templates_free(struct templates *t)
{
	if (!t)
		return;
	const struct conf *conf = t->upstream->env->conf;
	for (size_t i = 0; i < conf->origin_count; i++) {
		for (size_t k = 0; t->of_origin[i] && k < count_of(&conf->origins[i]); k++)
			close_template(&t->of_origin[i][k]);
		free(t->of_origin[i]);
	}
	free(t->of_origin);
	free(t);
}

const struct template *templates_get(const struct templates *t, const struct conf_origin *origin,
    const struct conf_upstream_proxy *p, enum template_kind kind)
{
	return &t->of_origin[origin->index][(p ? p->index + 1u : 0) * TEMPLATE_KINDS + kind];
}
