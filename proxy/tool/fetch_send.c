/* SPDX-License-Identifier: MIT */
/* The requests of `pushgate fetch`: the page, and the assets that a browser would get with it. */
#include "proxy/http/link.h"
#include "proxy/limits.h"
#include "proxy/tool/fetch_state.h"

static struct http_head *make_head(struct fetch *f, struct slice method, struct slice path)
{
	const struct fetch_request *r = f->request;
	struct http_head *head = http_head_new(f->heads);
	head->kind = HTTP_REQUEST;
	head->method = method;
	head->method_token = (uint16_t)http_method_find(head->method);
	head->scheme = r->is_https ? SLICE("https") : SLICE("http");
	head->authority = r->authority;
	head->path = path;
	for (size_t i = 0; i < r->headers.count; i++)
		http_head_add(head, r->headers.list[i].name, r->headers.list[i].value);
	if (!tool_find_field(&r->headers, SLICE("user-agent")))
		http_head_add_token(
		    head, HTTP_TOKEN_USER_AGENT, SLICE("pushgate-fetch/" PUSHGATE_VERSION));
	if (!tool_find_field(&r->headers, SLICE("accept")))
		http_head_add_token(head, HTTP_TOKEN_ACCEPT, SLICE("*/*"));
	return head;
}

void fetch_send_request(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	struct http_head *head = make_head(f, slice_of_string(r->method), r->path);
	bool has_body = r->has_body && r->body.len > 0;
	if (r->has_body) {
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH,
		    arena_printf(&head->arena, "%zu", r->body.len));
		head->content_length = r->body.len;
	}
	f->sent = net_now(f->loop);
	f->unsent = r->body;
	uint32_t id = f->protocol->request(f, head, has_body);
	http_head_free(head);
	if (id == 0) {
		fetch_fail(f, FETCH_PROTOCOL, "the request cannot be sent: it is too large");
		fetch_finish(f);
		return;
	}
	fetch_add_item(f, id, r->path);
}

void fetch_copy_body(struct fetch *f, struct net_out *out, size_t bytes)
{
	net_out_copy(out, f->unsent.ptr, bytes);
	f->unsent = slice_from(f->unsent, bytes);
}

/* ---- assets ---- */

static void get_asset(struct fetch *f, size_t at)
{
	if (f->is_requested[at] || f->protocol->room(f) == 0)
		return;
	struct slice path = slice_of_string(f->request->assets[at]);
	struct http_head *head = make_head(f, SLICE("GET"), path);
	uint32_t id = f->protocol->request(f, head, false);
	http_head_free(head);
	if (id == 0)
		return;
	f->is_requested[at] = true;
	fetch_add_item(f, id, path)->start = fetch_since_sent(f);
}

void fetch_get_assets(struct fetch *f)
{
	for (size_t i = 0; i < f->request->asset_count; i++)
		get_asset(f, i);
}

static void follow_link(struct fetch *f, struct http_head *base, struct slice reference)
{
	struct http_target target;
	if (!http_target_resolve(&base->arena, base, reference, &target) ||
	    !slice_equal(target.authority, base->authority))
		return;
	for (size_t i = 0; i < f->request->asset_count; i++)
		if (slice_equal(target.path, slice_of_string(f->request->assets[i])))
			get_asset(f, i);
}

void fetch_follow_links(struct fetch *f, const struct http_head *interim)
{
	if (f->request->asset_count == 0)
		return;
	struct http_head *base = make_head(f, SLICE("GET"), f->request->path);
	for (size_t i = 0; i < interim->count; i++) {
		struct slice rest = interim->fields[i].value;
		struct http_link link;
		while (interim->fields[i].token == HTTP_TOKEN_LINK && http_link_next(&rest, &link))
			if (link.is_preload)
				follow_link(f, base, link.target);
	}
	http_head_free(base);
}
