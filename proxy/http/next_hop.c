/* SPDX-License-Identifier: MIT */
/* What is for one hop alone is removed before a head goes to the next (RFC 9110 7.6.1). */
#include "proxy/http/head.h"

/* Options of Connection that are looked at: each is compared with every field. */
#define NOMINATED_MAX 32u

enum hop_class {
	END_TO_END,
	ONE_HOP,
	ONE_HOP_IN_REQUESTS, /* Host: :authority says the same, and must be the only one (RFC 9113
				8.3.1) */
	NOMINATES,           /* Connection, which names others */
	TE,                  /* stays as "trailers" */
};

static const uint8_t class_of[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_CONNECTION] = NOMINATES,
    [HTTP_TOKEN_KEEP_ALIVE] = ONE_HOP,
    [HTTP_TOKEN_PROXY_CONNECTION] = ONE_HOP,
    [HTTP_TOKEN_TRANSFER_ENCODING] = ONE_HOP,
    [HTTP_TOKEN_UPGRADE] = ONE_HOP,
    [HTTP_TOKEN_HTTP2_SETTINGS] = ONE_HOP,
    [HTTP_TOKEN_HOST] = ONE_HOP_IN_REQUESTS,
    [HTTP_TOKEN_TE] = TE,
};

/* ---- Connection ---- */

struct nominated {
	struct slice options[NOMINATED_MAX];
	uint32_t count;
};

static void collect_nominated(const struct http_head *head, struct nominated *n)
{
	n->count = 0;
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token != HTTP_TOKEN_CONNECTION)
			continue;
		struct slice rest = head->fields[i].value, option;
		while (n->count < NOMINATED_MAX && slice_next_member(&rest, &option))
			n->options[n->count++] = option;
	}
}

/* A sender cannot nominate a field that frames or routes the message. */
static bool is_nominated(const struct nominated *n, const struct http_field *field)
{
	if (field->token == HTTP_TOKEN_HOST || field->token == HTTP_TOKEN_CONTENT_LENGTH ||
	    field->token == HTTP_TOKEN_TE)
		return false;
	for (uint32_t i = 0; i < n->count; i++) {
		if (slice_equal_nocase(n->options[i], field->name))
			return true;
	}
	return false;
}

/* ---- TE ---- */

bool http_te_says_trailers(struct slice value)
{
	struct slice member;
	while (slice_next_member(&value, &member)) {
		if (slice_equal_nocase(member, SLICE("trailers")))
			return true;
	}
	return false;
}

static bool is_request(const struct http_head *head)
{
	return head->kind == HTTP_REQUEST || head->kind == HTTP_PROMISE;
}

/* True when the field stays; its value becomes "trailers". */
static bool keep_te(const struct http_head *head, struct http_field *field, bool *had_te)
{
	if (!is_request(head) || *had_te || !http_te_says_trailers(field->value))
		return false;
	*had_te = true;
	if (!slice_equal(field->value, SLICE("trailers"))) {
		field->value = SLICE("trailers");
		field->hash = 0;
	}
	return true;
}

/* ---- heads ---- */

/* True when a field stays although it is not end-to-end; TE's value may be cut down. */
static bool stays(const struct http_head *head, struct http_field *field, bool *had_te)
{
	switch ((enum hop_class)class_of[field->token]) {
	case END_TO_END:
		return true;
	case TE:
		return keep_te(head, field, had_te);
	case ONE_HOP_IN_REQUESTS:
		return !is_request(head);
	case ONE_HOP:
	case NOMINATES:
		return false;
	}
	return false;
}

static bool is_end_to_end(const struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++)
		if (class_of[head->fields[i].token] != END_TO_END)
			return false;
	return true;
}

static void strip(struct http_head *head, bool keeps_host)
{
	struct nominated nominated;
	bool had_te = false;
	uint32_t kept = 0;
	if (is_end_to_end(head)) /* the usual head */
		return;
	collect_nominated(head, &nominated);
	for (uint32_t i = 0; i < head->count; i++) {
		struct http_field *field = &head->fields[i];
		bool is_kept_host = field->token == HTTP_TOKEN_HOST && keeps_host;
		if (is_nominated(&nominated, field) ||
		    (!is_kept_host && !stays(head, field, &had_te)))
			continue;
		if (kept != i)
			head->fields[kept] = *field;
		kept++;
	}
	head->count = kept;
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
