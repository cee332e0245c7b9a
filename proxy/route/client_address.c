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

/* Takes the last member off a list without quotes. False: there is none left. */
static bool last_member(struct slice *list, struct slice *member)
{
	do {
		size_t from = list->len;
		while (from > 0 && list->ptr[from - 1] != ',')
			from--;
		*member = slice_trim(slice_from(*list, from));
		*list = slice_sub(*list, 0, from > 0 ? from - 1 : 0);
	} while (member->len == 0 && list->len > 0);
	return member->len > 0;
}

/* Member number `back` from the end, or the first one if there are fewer. *count: of all. A line of Forwarded is read
 * from the left, because of its quotes. */
static struct slice forwarded_element(struct slice line, uint32_t back, uint32_t *count)
{
	struct slice rest = line, element = SLICE("");
	*count = 0;
	while (slice_next_member(&rest, &element))
		++*count;
	rest = line;
	(void)slice_next_member(&rest, &element);
	for (uint32_t i = back; i < *count; i++)
		(void)slice_next_member(&rest, &element);
	return element;
}

/* Quotes that do not close would join what a client has written to what the proxy has added. */
static bool closes_quotes(struct slice line)
{
	bool is_quoted = false;
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '"')
			is_quoted = !is_quoted;
		else if (is_quoted && line.ptr[i] == '\\')
			i++;
	}
	return !is_quoted;
}

/* The node that the line names, *back members from its end; the first one if it has fewer: *back is what is missing. */
static struct slice node_of_forwarded(struct slice line, uint32_t *back)
{
	uint32_t count;
	if (!closes_quotes(line)) {
		*back = 0;
		return SLICE("");
	}
	struct slice element = forwarded_element(line, *back, &count);
	*back -= count < *back ? count : *back;
	return peer_forwarded_for(element);
}

static struct slice node_of_list(struct slice line, uint32_t *back)
{
	struct slice member, node = SLICE("");
	while (*back > 0 && last_member(&line, &member)) {
		node = member;
		--*back;
	}
	return node;
}

/* Lines are one list (RFC 9110 5.3). If it has fewer members than there are proxies, the first one counts: a proxy has
 * added it. False: the request has no such field. */
static bool find_node(const struct request_facts *f, struct slice *node)
{
	const struct conf_client_address *from = &f->listener->client_address;
	uint32_t back = from->hops;
	bool has_field = false;
	for (uint32_t i = f->head->count; i > 0 && back > 0; i--) {
		const struct http_field *field = &f->head->fields[i - 1];
		if (!is_named_field(from, field))
			continue;
		uint32_t before = back;
		struct slice found = from->token == HTTP_TOKEN_FORWARDED
					 ? node_of_forwarded(field->value, &back)
					 : node_of_list(field->value, &back);
		has_field = true;
		if (back < before)
			*node = found;
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
