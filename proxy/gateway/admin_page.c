/* SPDX-License-Identifier: MIT */
/*
 * The pages of listeners with mode = admin: a table. These listeners have no routes, and no other listener serves the
 * pages. A web page that someone looks at must not read them by way of the browser: whatever name that page's host has
 * in the DNS (DNS rebinding), its Host is not one of ours.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/http/authority.h"

#define TEXT_OK SLICE("ok\n")

/* ---- /readyz ---- */

static bool server_passes(const struct gateway *g)
{
	const struct conf *c = g->env.conf;
	const struct health_table *table = g->env.health_table;
	for (size_t i = 0; i < c->origin_count; i++)
		if (c->origins[i].kind == CONF_ORIGIN_DEMO)
			return true;
	for (size_t i = 0; table && i < table->capacity; i++) {
		size_t origin;
		const struct server_entry *e = health_table_entry(table, i, &origin);
		if (e && server_entry_check(e).state == SERVER_CHECK_PASSES)
			return true;
	}
	return false;
}

/* NULL: clients may come. */
static const char *why_not_ready(struct gateway *g)
{
	struct readiness *r = g->readiness;
	if (atomic_load(&r->will_drain))
		return "draining";
	/* A worker of an older generation is asked on connections that were open before. */
	if (list_is_empty(&g->sockets) && atomic_load(&r->accepting) == 0)
		return "no worker accepts";
	if (atomic_load(&r->was_ready))
		return NULL;
	if (g->env.conf->server.ready_when == CONF_READY_SERVERS && !server_passes(g))
		return "no server has passed its health check yet";
	atomic_store(&r->was_ready, true);
	return NULL;
}

static void answer_ready(struct gateway *g, struct exchange *x, struct http_own_answer *answer)
{
	answer->details = why_not_ready(g);
	if (!answer->details) {
		answer->body = TEXT_OK;
		return;
	}
	answer->status = 503;
	x->ending.detail = answer->details; /* for the log */
}

/* ---- /livez ---- */

static void answer_live(struct gateway *g, struct exchange *x, struct http_own_answer *answer)
{
	(void)g, (void)x;
	answer->body = TEXT_OK;
}

/* ---- the table ---- */

static const struct page {
	struct slice path;
	struct slice methods; /* as in Allow */
	/* The status is 200 unless the function sets another. */
	void (*answer)(struct gateway *g, struct exchange *x, struct http_own_answer *answer);
} pages[] = {
    {SLICE_INIT("/livez"), SLICE_INIT("GET, HEAD"), answer_live},
    {SLICE_INIT("/readyz"), SLICE_INIT("GET, HEAD"), answer_ready},
};

static const struct page *find_page(const struct http_head *request)
{
	struct slice path = slice_sub(request->path, 0, slice_find(request->path, '?'));
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (slice_equal(pages[i].path, path))
			return &pages[i];
	return NULL;
}

static bool takes_method(const struct page *page, struct slice method)
{
	struct slice methods = page->methods, m;
	while (slice_next_member(&methods, &m))
		if (slice_equal(m, method))
			return true;
	return false;
}

void admin_page_answer(struct gateway *g, struct exchange *x, struct http_own_answer *answer)
{
	const struct page *page = find_page(x->request);
	answer->details = NULL;
	answer->content_type = "text/plain";
	answer->is_momentary = true;
	if (!page) {
		answer->status = 404;
		answer->details = x->ending.detail = "no such page";
	} else if (takes_method(page, x->request->method)) {
		page->answer(g, x, answer);
	} else {
		answer->status = 405;
		answer->allow = page->methods;
	}
}

/* ---- requests ---- */

/* The host of a route, or a name that a line allow of the listener's access has. */
static bool is_configured_name(const struct gateway *g, const struct exchange *x, struct slice host)
{
	const struct conf_access *a = x->facts.listener->access;
	if (router_has_host(g->router, host))
		return true;
	if (!a)
		return false;
	struct http_host_keys keys;
	http_host_keys_init(&keys, host, a->host_seed);
	for (size_t i = 0; i < a->rule_count; i++) {
		const struct conf_access_rule *r = &a->rules[i];
		if (r->action == CONF_ACCESS_ALLOW && http_host_set_has(&r->hosts, &keys) &&
		    !http_host_set_has_any(&r->hosts))
			return true;
	}
	return false;
}

static bool names_us(const struct gateway *g, const struct exchange *x)
{
	struct http_authority authority;
	struct address address;
	struct client_facts facts;
	char name[HTTP_HOST_TEXT];
	const struct http_head *request = x->request;
	if (request->authority.len == 0) /* HTTP/1.0: no browser leaves Host out */
		return true;
	if (!http_authority_parse(request->authority, request->scheme, &authority))
		return false;
	switch (http_host_read(authority.host, name, &address)) {
	case HTTP_HOST_ADDRESS:
		return true;
	case HTTP_HOST_STRANGE:
		return false;
	case HTTP_HOST_NAME:
		break;
	}
	struct slice host = slice_of_string(name);
	const struct client_facts *client = client_facts(x, &facts);
	return conf_is_localhost(host, NULL) || is_configured_name(g, x, host) ||
	       (x->facts.listener->certificate_count > 0 && client->covers(client->listener, host));
}

static bool is_cross_site(const struct http_head *request)
{
	const struct http_field *site = http_head_find(request, HTTP_TOKEN_SEC_FETCH_SITE);
	return site && slice_equal(site->value, SLICE("cross-site"));
}

void admin_page_request(struct gateway *g, struct exchange *x)
{
	if (!names_us(g, x))
		exchange_refuse(x, &relay_cause_MISDIRECTED,
		    "the host is no address, and no name of the configuration");
	else if (is_cross_site(x->request))
		exchange_refuse(x, &relay_cause_ACCESS_DENIED, "cross-site request");
	else
		exchange_refuse(x, &relay_cause_ADMIN_PAGE, NULL);
}
