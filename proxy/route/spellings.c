/* SPDX-License-Identifier: MIT */
/* Fields of requests that an origin may take for others, because of their names (http/spelling.h). */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"
#include "proxy/http/spelling.h"

/* Between the client and us, in forward mode. */
static bool is_proxy_authentication(enum http_token token)
{
	return token == HTTP_TOKEN_PROXY_AUTHENTICATE ||
	       token == HTTP_TOKEN_PROXY_AUTHENTICATION_INFO ||
	       token == HTTP_TOKEN_PROXY_AUTHORIZATION;
}

static bool is_dropped(
    const struct conf_listen *l, const struct conf_route *route, struct slice name)
{
	if (!http_name_is_marked(name))
		return false;
	if (route && route->underscores == CONF_UNDERSCORES_DROP)
		return true;
	return http_name_is_forwarding(name) ||
	       (conf_listen_is_forward(l) && is_proxy_authentication(http_token_alike(name)));
}

static RARE void drop(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token || !is_dropped(l, route, f->name))
			head->fields[kept++] = *f;
	}
	head->count = kept;
}

void route_drop_spellings(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head)
{
	if (head->noted & HTTP_NOTED_NAMES)
		drop(l, route, head);
}
