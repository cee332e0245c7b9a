/* SPDX-License-Identifier: MIT */
/*
 * The forwarding fields: what proxies tell origins of the client (Forwarded, RFC 7239; X-Forwarded-… and X-Real-IP,
 * which applications read more often). Only what a peer in `trusted` says of its own client is passed on, and only by
 * forwarded = append; of all others pushgate tells what it knows itself.
 */
#include "proxy/route/forwarding_values.h"

#include "proxy/base/rare.h"
#include "proxy/http/spelling.h"

static const uint8_t forwarding[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_FORWARDED] = 1,
    [HTTP_TOKEN_X_FORWARDED_FOR] = 1,
    [HTTP_TOKEN_X_FORWARDED_PROTO] = 1,
    [HTTP_TOKEN_X_FORWARDED_HOST] = 1,
    [HTTP_TOKEN_X_FORWARDED_PORT] = 1,
    [HTTP_TOKEN_X_REAL_IP] = 1,
};

/* ---- removing ---- */

static RARE void remove_noted(struct http_head *head)
{
	http_head_keep(head, field,
	    !(field->token ? forwarding[field->token] : http_name_is_forwarding(field->name)));
}

void route_remove_forwarding(struct http_head *head)
{
	if (head->noted)
		remove_noted(head);
}

/* ---- what pushgate says ---- */

/* The head borrows the values until the next request is made. */
static void tell(const struct route_env *env, struct http_head *head, const struct request_facts *f)
{
	const struct forwarding_values *v = forwarding_values_of(env->forwarding, &head->arena, f);
	http_head_reserve_fields(head, head->count + v->count);
	memcpy(&head->fields[head->count], v->fields, v->count * sizeof(*v->fields));
	head->count += v->count;
}

/* ---- what a trusted peer says, and what pushgate says of that peer ---- */

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

static void add_once(struct http_head *head, enum http_token token, struct slice value)
{
	if (!http_head_find(head, token))
		http_head_add_token(head, token, value);
}

static RARE void add_to_trusted(struct http_head *head, const struct request_facts *f)
{
	struct slice node;
	append_member(head, HTTP_TOKEN_FORWARDED, forwarding_element(&head->arena, f, &node));
	if (node.len > 0)
		append_member(head, HTTP_TOKEN_X_FORWARDED_FOR, node);
	add_once(head, HTTP_TOKEN_X_FORWARDED_PROTO, f->head->scheme);
	if (f->head->authority.len > 0)
		add_once(head, HTTP_TOKEN_X_FORWARDED_HOST, f->head->authority);
}

/* ---- a request ---- */

static enum conf_forwarded forwarded_of(const struct conf_listen *l, const struct conf_route *route)
{
	enum conf_forwarded as_written = route->forwarded;
	if (as_written != CONF_FORWARDED_AUTO)
		return as_written;
	return conf_listen_is_forward(l) ? CONF_FORWARDED_REMOVE : CONF_FORWARDED_APPEND;
}

static bool is_trusted(const struct request_facts *f)
{
	const struct conf_listen *l = f->listener;
	return l && l->trusted_count > 0 && conf_listen_trusts(l, &f->peer);
}

void route_set_forwarding(const struct route_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head)
{
	enum conf_forwarded what = forwarded_of(f->listener, route);
	if (what == CONF_FORWARDED_KEEP)
		return;
	if (what == CONF_FORWARDED_APPEND && is_trusted(f)) {
		add_to_trusted(head, f);
		return;
	}
	route_remove_forwarding(head);
	if (what != CONF_FORWARDED_REMOVE)
		tell(env, head, f);
}

bool route_changes_forwarding(const struct conf_listen *l, const struct conf_route *route)
{
	return forwarded_of(l, route) != CONF_FORWARDED_KEEP;
}
