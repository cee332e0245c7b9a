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

/* In quotes, a backslash makes the quote behind it a part of the text (RFC 9110 5.6.4). */
static bool is_escaped(struct slice text, size_t at)
{
	size_t from = at;
	while (from > 0 && text.ptr[from - 1] == '\\')
		from--;
	return (at - from) % 2 == 1;
}

/* Where the last member begins. Quotes are counted from the right too: those that a client has opened, and not closed,
 * would join its text to what the proxy has added. */
static size_t last_begin(struct slice list, bool has_quotes)
{
	bool is_quoted = false;
	for (size_t i = list.len; i > 0; i--) {
		char c = list.ptr[i - 1];
		if (has_quotes && c == '"' && !(is_quoted && is_escaped(list, i - 1)))
			is_quoted = !is_quoted;
		else if (c == ',' && !is_quoted)
			return i;
	}
	return 0;
}

/* Takes the last member off. False: there is none left. */
static bool last_member(struct slice *list, struct slice *member, bool has_quotes)
{
	do {
		size_t from = last_begin(*list, has_quotes);
		*member = slice_trim(slice_from(*list, from));
		*list = slice_sub(*list, 0, from > 0 ? from - 1 : 0);
	} while (member->len == 0 && list->len > 0);
	return member->len > 0;
}

/* The member of the line that is *back members from its end; the first one if it has fewer: *back is what is missing. */
static struct slice find_member(struct slice line, bool has_quotes, uint32_t *back)
{
	struct slice member, found = SLICE("");
	while (*back > 0 && last_member(&line, &member, has_quotes)) {
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
			*node = is_forwarded ? peer_forwarded_for(found) : found;
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
