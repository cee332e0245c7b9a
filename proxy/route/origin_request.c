/* SPDX-License-Identifier: MIT */
/*
 * The request as its origin gets it: an overlay of the client's request. The client's request itself never
 * changes: holds, diary, memory of pages, Vary, rules and log read it.
 */
#include "proxy/route/route.h"

#include "proxy/base/ascii.h"
#include "proxy/base/rare.h"
#include "proxy/http/via.h"

/* Larger values of Max-Forwards count as this one. */
#define HOPS_MAX UINT32_MAX

bool route_max_forwards(struct slice value, uint64_t *left)
{
	if (value.len == 0 || !ascii_all(value, ASCII_DIGIT))
		return false;
	if (!slice_to_number(value, HOPS_MAX, left))
		*left = HOPS_MAX;
	return true;
}

/* Reduces Max-Forwards by one (RFC 9110 7.6.2). */
static void count_hop(struct http_head *head)
{
	uint64_t left;
	if (head->method_token != HTTP_METHOD_OPTIONS && head->method_token != HTTP_METHOD_TRACE)
		return;
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_MAX_FORWARDS);
	if (!f || !route_max_forwards(f->value, &left) || left == 0)
		return;
	http_head_remove(head, HTTP_TOKEN_MAX_FORWARDS);
	http_head_add_token(
	    head, HTTP_TOKEN_MAX_FORWARDS, arena_printf(&head->arena, "%u", (unsigned)(left - 1)));
}

static bool is_basic(struct slice value)
{
	size_t end = slice_find(value, ' '), tab = slice_find(value, '\t');
	return slice_equal_nocase(slice_sub(value, 0, end < tab ? end : tab), SLICE("basic"));
}

/*
 * A gateway whose rules ask for users asks for Basic credentials: those of a request are for it, right or wrong, and
 * beside others too. Other schemes are the origin's.
 */
static RARE void drop_authorization(const struct request_facts *facts, struct http_head *head)
{
	for (uint32_t i = 0; i < facts->head->count; i++) {
		const struct http_field *f = &facts->head->fields[i];
		if (f->token != HTTP_TOKEN_AUTHORIZATION || !is_basic(f->value))
			continue;
		http_head_remove(head, HTTP_TOKEN_AUTHORIZATION);
		return;
	}
}

/* The Host of a request in HTTP/1.0 that names none: that of the first server, as a client of it would write. */
static RARE struct slice host_of_origin(const struct conf_origin *o, struct arena *arena)
{
	const struct conf_origin_server *s = &o->servers[0];
	const char *host = s->tls_name; /* without the labels of an SRV record */
	if (!host)
		return SLICE("localhost"); /* a unix socket */
	bool is_ipv6 = strchr(host, ':') != NULL;
	struct slice name = is_ipv6 ? arena_printf(arena, "[%s]", host) : slice_of_string(host);
	if (s->port == 0 || s->port == (o->kind == CONF_ORIGIN_TLS ? 443 : 80))
		return name;
	return arena_printf(arena, "%.*s:%u", SLICE_ARG(name), (unsigned)s->port);
}

struct http_head *route_origin_request(
    const struct route_env *env, const struct request_facts *f, const struct relay_place *p)
{
	const struct conf_origin *o = p->origin;
	struct http_head *head = http_head_overlay(f->head);
	if (access_takes_authorization(f->listener))
		drop_authorization(f, head);
	route_drop_spellings(f->listener, p->route, head);
	if (f->request_id.len > 0) {
		http_head_remove(head, HTTP_TOKEN_X_REQUEST_ID);
		http_head_add_token(head, HTTP_TOKEN_X_REQUEST_ID, f->request_id);
	}
	count_hop(head);
	http_via_add(head, &env->via);
	route_request_of_proxy(env, f, p->route, head);
	if (f->certificate)
		route_set_client_cert(f, p->route, head);
	if (p->route->rewrite.is_given)
		head->path = route_origin_path(p->route, head->path, &head->arena);
	route_apply_fields(&p->route->request_fields, f, head);
	if (head->authority.len == 0)
		head->authority = host_of_origin(o, &head->arena);
	if (o->host_override)
		head->authority = slice_of_string(o->host_override);
	if (o->scheme == CONF_SCHEME_HOP)
		head->scheme = o->kind == CONF_ORIGIN_TLS ? SLICE("https") : SLICE("http");
	/* COPY and MOVE are among the other methods. */
	if (f->head->method_token == HTTP_METHOD_OTHER || p->route->maps_referer)
		route_map_urls(f, p, head);
	return head;
}
