/* SPDX-License-Identifier: MIT */
/*
 * In forward mode: the fields that are between a client and its proxy alone (RFC 9110 11.7). In all modes: fields of
 * requests that an origin may take for others, because of their names (http/spelling.h).
 */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"
#include "proxy/http/spelling.h"

static const uint8_t proxy_authentication[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = 1,
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = 1,
    [HTTP_TOKEN_PROXY_AUTHENTICATION_INFO] = 1,
};

void route_request_of_proxy(const struct route_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head)
{
	route_set_forwarding(env, f, route, head);
	if (conf_listen_is_forward(f->listener))
		http_head_remove_all(head, proxy_authentication);
}

static RARE void hide_proxy_authentication(const struct route_env *env, struct http_head *head)
{
	http_head_remove_all(head, proxy_authentication);
	if (head->status != 407)
		return;
	const struct http_own_answer answer = {
	    .status = 502,
	    .pseudonym = env->pseudonym,
	    .error = "http_protocol_error; received-status=407",
	    .details = "a server asked for the credentials of a proxy",
	};
	head->status = answer.status;
	http_add_proxy_status(head, &answer);
}

void route_response_of_proxy(
    const struct route_env *env, const struct conf_listen *l, struct http_head *head)
{
	if (conf_listen_is_forward(l))
		hide_proxy_authentication(env, head);
}

/* ---- spellings ---- */

static bool is_dropped(
    const struct conf_listen *l, const struct conf_route *route, const struct http_field *f)
{
	if (f->token || !http_name_is_marked(f->name))
		return false;
	if (route && route->underscores == CONF_UNDERSCORES_DROP)
		return true;
	if (http_name_is_forwarding(f->name))
		return true;
	enum http_token token = http_token_alike(f->name);
	return token == HTTP_TOKEN_CLIENT_CERT || token == HTTP_TOKEN_CLIENT_CERT_CHAIN ||
	       (token == HTTP_TOKEN_X_REQUEST_ID && l && l->request_id != CONF_REQUEST_ID_OFF) ||
	       (conf_listen_is_forward(l) && proxy_authentication[token]);
}

static RARE void drop(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head)
{
	http_head_keep(head, field, !is_dropped(l, route, field));
}

void route_drop_spellings(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head)
{
	if (head->noted & HTTP_NOTED_NAMES)
		drop(l, route, head);
}
