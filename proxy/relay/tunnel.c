/* SPDX-License-Identifier: MIT */
/* How a request becomes a tunnel (tunnel.h), how the tunnel opens, and how it is refused. */
#include "proxy/relay/relay_private.h"

/* Keys are of one hop: a session makes its own where its version has them (RFC 8441 5.1). */
static void drop_keys(struct http_head *head)
{
	http_head_keep(head, field,
	    !slice_equal(field->name, SLICE("sec-websocket-key")) &&
		!slice_equal(field->name, SLICE("sec-websocket-accept")));
}

static bool is_http1(const struct http_head *head)
{
	return head->version == HTTP_VERSION_1_0 || head->version == HTTP_VERSION_1_1;
}

void exchange_ask_for_tunnel(struct exchange *x, struct slice upgrade)
{
	struct http_head *head = (struct http_head *)(uintptr_t)x->request;
	ensure(exchange_is_in(x, PHASE_BIT(EXCHANGE_NEW)));
	if (upgrade.len > 0) { /* its bytes are the configuration's */
		head->method = SLICE("CONNECT");
		head->method_token = HTTP_METHOD_CONNECT;
		head->protocol = upgrade;
		head->upgrade = SLICE("");
		x->method = HTTP_METHOD_CONNECT;
		x->tunnel.is_upgrade = true;
	}
	x->tunnel.came_whole = x->tunnel.is_upgrade || is_http1(head);
	if (x->tunnel.came_whole)
		x->upload.source_ended = false;
	drop_keys(head);
	http_head_drop_length(head); /* of a request without a body; a tunnel has no length */
	x->tunnel.is_asked = true;
	x->terms.is_streaming = true;
	x->terms.upload_limit_bytes = 0;
}

bool exchange_tunnel_is_first(const struct list *legs)
{
	const struct leg *leg = list_first(legs, struct leg, link);
	return leg && exchange_is_tunnel(leg->exchange);
}

bool exchange_may_change(const struct exchange *x)
{
	return !http_method_is_safe(x->method) && !x->tunnel.is_asked;
}

static bool is_owed(const struct flow *f)
{
	return f->owed > 0 && !f->source_ended && f->source->ops;
}

static size_t give_credit(struct exchange *x, struct flow *f, size_t most)
{
	size_t n = f->owed < most ? f->owed : most;
	bool is_kept = f->body.bytes > 0 && flow_is_short(x, f); /* transfer.c gives it */
	if (is_kept || !is_owed(f))
		return 0;
	f->owed -= n;
	f->source->ops->credit(f->source, n);
	return n;
}

bool exchange_give_credit(struct exchange *x, size_t most, size_t *given)
{
	*given = give_credit(x, &x->upload, most) + give_credit(x, &x->download, most);
	return is_owed(&x->upload) || is_owed(&x->download);
}

static void open_tunnel(struct exchange *x, struct http_head *head)
{
	usec now = x->relay->now;
	head->protocol = x->request->protocol; /* lent: the request lives as long as the exchange */
	x->tunnel.is_open = true;
	x->tunnel.opened = now;
	flow_begin(&x->upload, now);
	if (x->upload.source_ended)
		tunnel_note_end(x, &x->upload);
}

void tunnel_refused(struct exchange *x)
{
	exchange_discard_upload(x);
	if (x->tunnel.came_whole) /* and what came behind it is dropped with the connection */
		x->upload.source_ended = true;
}

bool tunnel_answer(struct exchange *x, struct http_head *head)
{
	drop_keys(head);
	if (head->opens_tunnel) {
		open_tunnel(x, head);
		return true;
	}
	/* A client that sent a CONNECT takes every 2xx for an opening. */
	bool is_misleading = head->status < 300 && !x->tunnel.is_upgrade;
	if (!is_misleading)
		tunnel_refused(x);
	return !is_misleading;
}

/* A tunnel may be open for days, and of its request little is asked for by then. The request stays as it
 * is if something of the exchange lies in its arena (exchange_arena). */
void tunnel_compact_request(struct exchange *x)
{
	struct slice *const texts[] = {&x->facts.request_id, &x->facts.sni};
	if (x->hints.capacity > 0 || x->ending.missed)
		return;
	x->facts.target = NULL;
	x->pushes.request = NULL;
	x->request = http_head_compact(
	    (struct http_head *)(uintptr_t)x->request, texts, sizeof(texts) / sizeof(texts[0]));
	x->facts.head = x->request;
	exchange_charge(x);
}

bool tunnel_has_served(const struct exchange *x)
{
	return exchange_is_tunnel(x) && x->upload.received > 0 && x->download.received > 0 &&
	       x->upload.body.bytes == 0;
}

bool tunnel_is_too_long(const struct exchange *x)
{
	uint64_t most = x->tunnel.bytes_most;
	return most > 0 && exchange_is_tunnel(x) &&
	       x->upload.received + x->download.received > most;
}
