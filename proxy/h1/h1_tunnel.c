/* SPDX-License-Identifier: MIT */
/*
 * Requests that ask for a tunnel, and answers that open one (RFC 9110 7.8 and 9.3.6). The fields of the
 * handshake are for one hop: Connection, Upgrade and WebSocket's keys (RFC 6455 1.3) are taken out of what
 * comes, and output.c makes those of the next hop.
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ascii.h"

#define KEY_BYTES (H1_WEBSOCKET_KEY - 1)
#define ACCEPT_FIELD SLICE("sec-websocket-accept")
#define KEY_FIELD SLICE("sec-websocket-key")

bool h1_is_websocket(struct slice protocol)
{
	return slice_equal_nocase(protocol, SLICE("websocket"));
}

bool h1_is_websocket_key(struct slice name)
{
	return slice_equal(name, KEY_FIELD) || slice_equal(name, ACCEPT_FIELD);
}

/* The value of the only field with this name; empty: there is none, or another one. */
static struct slice only_value(const struct http_head *head, struct slice name)
{
	struct slice value = {"", 0};
	uint32_t count = 0;
	for (uint32_t i = 0; i < head->count; i++) {
		if (!slice_equal(head->fields[i].name, name))
			continue;
		value = head->fields[i].value;
		count++;
	}
	return count == 1 ? value : (struct slice){"", 0};
}

static void remove_keys(struct http_head *head)
{
	http_head_keep(head, field, !h1_is_websocket_key(field->name));
}

/* ---- server ---- */

/* RFC 6455 4.1: 16 bytes in base64. */
static bool is_key(struct slice key)
{
	if (key.len != KEY_BYTES || !slice_equal(slice_from(key, KEY_BYTES - 2), SLICE("==")))
		return false;
	for (size_t i = 0; i < KEY_BYTES - 2; i++)
		if (!ascii_is(key.ptr[i], ASCII_ALNUM) && key.ptr[i] != '+' && key.ptr[i] != '/')
			return false;
	return true;
}

/* Remembers the key of a request that may become a WebSocket. */
static bool take_key(struct h1_conn *c, struct http_head *head)
{
	struct slice key = only_value(head, KEY_FIELD);
	if (!c->config->websocket || !is_key(key))
		return false;
	memcpy(c->websocket_key, key.ptr, KEY_BYTES);
	c->websocket_key[KEY_BYTES] = '\0';
	remove_keys(head);
	return true;
}

static bool has_websocket(struct slice list)
{
	struct slice member;
	while (slice_next_member(&list, &member))
		if (h1_is_websocket(member))
			return true;
	return false;
}

static struct slice join_upgrades(struct http_head *head, const struct h1_hop *hop)
{
	struct slice list = hop->upgrades[0];
	for (uint32_t i = 1; i < hop->upgrade_count; i++)
		list = arena_printf(
		    &head->arena, "%.*s, %.*s", SLICE_ARG(list), SLICE_ARG(hop->upgrades[i]));
	return list;
}

/* A request with content would have to be read before the answer, so that it is an ordinary one, as is
 * one in HTTP/1.0, where Upgrade has no meaning (RFC 9110 7.8). */
void h1_tunnel_offered(struct h1_conn *c, struct http_head *head, const struct h1_hop *hop)
{
	c->websocket_key[0] = '\0';
	if (!h1_hop_upgrades(hop) || hop->upgrade_count > H1_UPGRADES_MOST ||
	    head->version != HTTP_VERSION_1_1 || head->method_token != HTTP_METHOD_GET ||
	    c->reading != H1_READ_DONE)
		return;
	struct slice list = join_upgrades(head, hop);
	if (!has_websocket(list) || take_key(c, head))
		head->upgrade = list;
}

/* ---- client ---- */

/* RFC 6455 4.1, step 4 of the checks of a server's answer. */
static bool is_accepted(const struct h1_conn *c, const struct http_head *head)
{
	char accept[H1_WEBSOCKET_ACCEPT];
	c->config->websocket->accept(slice_of_string(c->websocket_key), accept);
	return slice_equal(only_value(head, ACCEPT_FIELD), slice_of_string(accept));
}

static struct slice asked_protocol(const struct h1_conn *c)
{
	return slice_of(c->asked_protocol.bytes, c->asked_protocol.length);
}

const struct session_fault *h1_tunnel_answer(
    struct h1_conn *c, struct http_head *head, const struct h1_hop *hop)
{
	struct slice asked = asked_protocol(c);
	if (asked.len == 0)
		return h1_fault(UPGRADE_UNASKED);
	if (hop->codings > 0)
		return h1_fault(CODING_FORBIDDEN);
	if (head->version != HTTP_VERSION_1_1 || !hop->names_upgrade || hop->upgrade_count != 1 ||
	    !slice_equal_nocase(hop->upgrades[0], asked))
		return h1_fault(UPGRADE_WRONG);
	if (h1_is_websocket(asked)) {
		if (!is_accepted(c, head))
			return h1_fault(WEBSOCKET_ACCEPT);
		remove_keys(head);
	}
	head->fields[0].value = SLICE("200");
	return NULL;
}

void h1_tunnel_opened(struct h1_conn *c, struct http_head *head)
{
	/* RFC 9110 9.3.6: the length of a tunnel is ignored. */
	http_head_drop_length(head);
	head->opens_tunnel = true;
	head->protocol = arena_copy(&head->arena, asked_protocol(c));
	c->reading = H1_READ_TUNNEL;
	c->writing = H1_WRITE_TUNNEL;
	c->keeps = false;
}
