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

/* Sends a request with f->unsent as its body if it has one. Returns the id of its item; 0: it cannot be sent. */
static uint32_t send_head(struct fetch *f, struct http_head *head, bool has_body)
{
	struct fetch_wire *w = &f->wire;
	struct session_stream *stream = session_request(w->link.session, head, !has_body, NULL);
	http_head_free(head);
	if (!stream)
		return 0;
	if (has_body)
		session_offer(w->link.session, stream, f->unsent.len, true);
	link_wake(&w->link);
	w->requests++;
	return w->is_http2 ? h2_stream_id(stream) : w->requests;
}

void fetch_send_request(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	struct http_head *head = make_head(f, slice_of_string(r->method), r->path);
	if (r->has_body) {
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH,
		    arena_printf(&head->arena, "%zu", r->body.len));
		head->content_length = r->body.len;
	}
	f->sent = net_now(f->loop);
	f->unsent = r->body;
	uint32_t id = send_head(f, head, r->has_body && r->body.len > 0);
	if (id == 0) {
		fetch_fail(f, FETCH_PROTOCOL, "the request cannot be sent: it is too large");
		fetch_finish(f);
		return;
	}
	fetch_add_item(f, id, r->path);
}

void fetch_copy_body(void *fetch, struct net_out *out, const struct session_output *part)
{
	struct fetch *f = fetch;
	net_out_copy(out, f->unsent.ptr, part->length);
	f->unsent = slice_from(f->unsent, part->length);
}

/* ---- assets ---- */

static void get_asset(struct fetch *f, size_t at)
{
	if (f->is_requested[at] || session_request_room(f->wire.link.session) == 0)
		return;
	struct slice path = slice_of_string(f->request->assets[at]);
	uint32_t id = send_head(f, make_head(f, SLICE("GET"), path), false);
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
