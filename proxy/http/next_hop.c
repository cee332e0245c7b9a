/* SPDX-License-Identifier: MIT */
/*
 * Removes the fields for one hop alone before a head goes to the next hop (RFC 9110 7.6.1). The fields that
 * Connection nominates are gone by then: h1/framing.c takes it out, and http_head_validate refuses Connection and
 * the fields that it must nominate. Proxy is no field of HTTP: CGI programs take it for the proxy that they shall
 * use. Which heads have the fields of proxy authentication, and forwarding fields, is for route/proxy_fields.c to
 * say.
 */
#include "proxy/http/head.h"

/* Bits. */
enum hop_class {
	END_TO_END = 0,
	ONE_HOP = 1,
	ONE_HOP_IN_REQUESTS =
	    2, /* Host: :authority says the same, and must be the only one (RFC 9113
				    8.3.1) */
	ONE_HOP_IN_TRAILERS = 4,
	TE = 8,          /* stays once, in requests */
	FORWARDING = 16, /* stays, and is noted */
};

static const uint8_t class_of[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_HTTP2_SETTINGS] = ONE_HOP,
    [HTTP_TOKEN_PROXY] = ONE_HOP,
    [HTTP_TOKEN_PROXY_CONNECTION] = ONE_HOP,
    /* RFC 9440 2: what the end of TLS tells its origin. No client may say it, and no response has it. */
    [HTTP_TOKEN_CLIENT_CERT] = ONE_HOP,
    [HTTP_TOKEN_CLIENT_CERT_CHAIN] = ONE_HOP,
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = ONE_HOP_IN_TRAILERS,
    [HTTP_TOKEN_PROXY_AUTHENTICATION_INFO] = ONE_HOP_IN_TRAILERS,
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = ONE_HOP_IN_TRAILERS,
    [HTTP_TOKEN_HOST] = ONE_HOP_IN_REQUESTS,
    [HTTP_TOKEN_TE] = TE,
    [HTTP_TOKEN_FORWARDED] = FORWARDING,
    [HTTP_TOKEN_X_FORWARDED_FOR] = FORWARDING,
    [HTTP_TOKEN_X_FORWARDED_PROTO] = FORWARDING,
    [HTTP_TOKEN_X_FORWARDED_HOST] = FORWARDING,
    [HTTP_TOKEN_X_FORWARDED_PORT] = FORWARDING,
    [HTTP_TOKEN_X_REAL_IP] = FORWARDING,
};

static bool is_request(const struct http_head *head)
{
	return head->kind == HTTP_REQUEST || head->kind == HTTP_PROMISE;
}

/* True when a field stays although it is not end-to-end. */
static bool stays(const struct http_head *head, const struct http_field *field, bool *had_te)
{
	bool had = *had_te;
	switch ((enum hop_class)class_of[field->token]) {
	case END_TO_END:
	case FORWARDING:
		return true;
	case TE:
		*had_te = true;
		return is_request(head) && !had;
	case ONE_HOP_IN_REQUESTS:
		return !is_request(head);
	case ONE_HOP_IN_TRAILERS:
		return head->kind != HTTP_TRAILERS;
	case ONE_HOP:
		return false;
	}
	return false;
}

static unsigned classes_of(const struct http_head *head)
{
	unsigned classes = 0;
	for (uint32_t i = 0; i < head->count; i++)
		classes |= class_of[head->fields[i].token];
	return classes;
}

static void strip(struct http_head *head, bool keeps_host)
{
	bool had_te = false;
	unsigned classes = classes_of(head);
	if (classes & FORWARDING)
		head->noted |= HTTP_NOTED_FORWARDING;
	if ((classes & ~(unsigned)FORWARDING) == 0) /* the usual head */
		return;
	http_head_keep(head, field,
	    (keeps_host && field->token == HTTP_TOKEN_HOST) || stays(head, field, &had_te));
}

void http_head_strip_hop(struct http_head *head)
{
	strip(head, true);
}

struct http_head *http_head_overlay(const struct http_head *head)
{
	struct http_head *overlay = http_head_new_like(head);
	memcpy(overlay->fields, head->fields, head->count * sizeof(*overlay->fields));
	overlay->count = head->count;
	overlay->authority_from_host = false; /* Host is not among the fields any more */
	strip(overlay, false);
	return overlay;
}
