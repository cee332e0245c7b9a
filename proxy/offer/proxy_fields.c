/* SPDX-License-Identifier: MIT */
/*
 * Fields about proxies and the clients behind them: what proxies before us say of the client (Forwarded, RFC 7239,
 * and X-Forwarded-…), and in forward mode what is between the client and us alone (RFC 9110 11.7).
 */
#include "proxy/offer/offer.h"

#include "proxy/base/rare.h"

/* ---- Forwarded ---- */

static const uint8_t claims[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_FORWARDED] = 1,
    [HTTP_TOKEN_X_FORWARDED_FOR] = 1,
    [HTTP_TOKEN_X_FORWARDED_PROTO] = 1,
    [HTTP_TOKEN_X_FORWARDED_HOST] = 1,
    [HTTP_TOKEN_X_REAL_IP] = 1,
};

/* To the end of the last line: a list may have several (RFC 9110 5.3), but not every origin knows. */
static void append_member(struct http_head *head, enum http_token token, struct slice member)
{
	for (uint32_t i = head->count; i > 0; i--) {
		struct http_field *f = &head->fields[i - 1];
		if (f->token != token)
			continue;
		f->value = f->value.len == 0 ? member
					     : arena_printf(&head->arena, "%.*s, %.*s",
						   SLICE_ARG(f->value), SLICE_ARG(member));
		f->hash = 0;
		return;
	}
	http_head_add_token(head, token, member);
}

static void set_once(struct http_head *head, enum http_token token, struct slice value)
{
	if (!http_head_find(head, token))
		http_head_add_token(head, token, value);
}

/* RFC 7239 6: an IPv6 address has brackets, and with them quotes. A unix socket has no address. */
static void add_client(struct http_head *head, const struct exchange *x)
{
	char text[64];
	const struct address *client = &x->context.client;
	struct arena *a = &head->arena;
	const char *node = client->family ? address_format(client, text, sizeof(text)) : "unknown";
	bool is_v6 = client->family == 6;
	struct slice host = x->request->authority;
	if (host.len > 0) /* not of a request in HTTP/1.0 that names none */
		host = arena_printf(a, ";host=\"%.*s\"", SLICE_ARG(host));
	append_member(head, HTTP_TOKEN_FORWARDED,
	    arena_printf(a, "for=%s%s%s%.*s;proto=%.*s", is_v6 ? "\"[" : "", node,
		is_v6 ? "]\"" : "", SLICE_ARG(host), SLICE_ARG(x->request->scheme)));
	if (client->family)
		append_member(head, HTTP_TOKEN_X_FORWARDED_FOR, arena_printf(a, "%s", node));
}

static enum conf_forwarded forwarded_of(const struct exchange *x)
{
	enum conf_forwarded as_written = x->context.route->forwarded;
	if (as_written != CONF_FORWARDED_AUTO)
		return as_written;
	return conf_listen_is_forward(x->context.listen) ? CONF_FORWARDED_REMOVE
							 : CONF_FORWARDED_KEEP;
}

/* Only what a peer in `trusted` says of its own client is passed on with what we say of the peer. */
static void set_forwarded(struct http_head *head, const struct exchange *x)
{
	enum conf_forwarded what = forwarded_of(x);
	const struct conf_listen *l = x->context.listen;
	if (what == CONF_FORWARDED_KEEP)
		return;
	if (what == CONF_FORWARDED_REMOVE || !l || !conf_listen_trusts(l, &x->context.client))
		http_head_remove_all(head, claims);
	if (what == CONF_FORWARDED_REMOVE)
		return;
	add_client(head, x);
	set_once(head, HTTP_TOKEN_X_FORWARDED_PROTO, x->request->scheme);
	if (x->request->authority.len > 0)
		set_once(head, HTTP_TOKEN_X_FORWARDED_HOST, x->request->authority);
}

/* ---- between the client and its proxy ---- */

static const uint8_t proxy_authentication[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = 1,
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = 1,
    [HTTP_TOKEN_PROXY_AUTHENTICATION_INFO] = 1,
};

void offer_request_of_proxy(const struct exchange *x, struct http_head *head)
{
	set_forwarded(head, x);
	if (conf_listen_is_forward(x->context.listen))
		http_head_remove_all(head, proxy_authentication);
}

static RARE void hide_proxy_authentication(const struct offer_env *env, struct http_head *head)
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

void offer_response_of_proxy(
    const struct offer_env *env, const struct exchange *x, struct http_head *head)
{
	if (conf_listen_is_forward(x->context.listen))
		hide_proxy_authentication(env, head);
}

bool offer_changes_claims(const struct exchange *x)
{
	return forwarded_of(x) != CONF_FORWARDED_KEEP;
}
