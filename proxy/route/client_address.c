/* SPDX-License-Identifier: MIT */
/*
 * The client of a request: the peer, or the address that a field of a trusted peer names (option client-address). Each
 * proxy adds an address at the end of the field, that of whoever it has the request from. So the members are counted
 * from the right, and those before them, which a client may have made up, are not looked at.
 */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"

static bool is_named_field(const struct conf_client_address *from, const struct http_field *f)
{
	return from->token != HTTP_TOKEN_NONE ? f->token == from->token
					      : slice_equal(f->name, from->field);
}

bool route_has_client_field(const struct conf_listen *l, const struct http_head *request)
{
	for (uint32_t i = 0; i < request->count; i++)
		if (is_named_field(&l->client_address, &request->fields[i]))
			return true;
	return false;
}

/* The member of the line that is *back members from its end; the first one if it has fewer: *back is what is missing. */
static struct slice find_member(struct slice line, bool has_quotes, uint32_t *back)
{
	struct slice member, found = SLICE("");
	while (*back > 0 && peer_last_member(&line, &member, has_quotes)) {
		found = member;
		--*back;
	}
	return found;
}

/* Lines are one list (RFC 9110 5.3). If it has fewer members than there are proxies, the first one counts: a proxy has
 * added it. False: the request has no such field. */
static bool find_node(const struct request_facts *f, struct slice *node)
{
	const struct conf_client_address *from = &f->listener->client_address;
	uint32_t back = from->hops;
	bool is_forwarded = from->token == HTTP_TOKEN_FORWARDED, has_field = false;
	for (uint32_t i = f->head->count; i > 0 && back > 0; i--) {
		const struct http_field *field = &f->head->fields[i - 1];
		if (!is_named_field(from, field))
			continue;
		uint32_t before = back;
		struct slice found = find_member(field->value, is_forwarded, &back);
		has_field = true;
		if (back < before)
			*node = is_forwarded ? peer_forwarded_value(found, SLICE("for=")) : found;
	}
	return has_field;
}

RARE void route_find_named_client(struct request_facts *f)
{
	struct slice node = SLICE("");
	if (!conf_listen_trusts(f->listener, &f->peer) || !find_node(f, &node))
		return;
	(void)peer_node_read(node, &f->client);
	f->is_named = true;
}
